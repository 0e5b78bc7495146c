"""Measuring judges against gold sets: answers whose labels people gave before any judge read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.runners.identity import Identity, model_identity, request_hash
from ethicsdb.runners.imports.common import Target, answer_record, open_target, run_records, store_import
from ethicsdb.runners.render import render
from ethicsdb.schemas.errors import DeclarationError, SourceError
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint
from ethicsdb.schemas.rubrics import attributes_of

__all__ = ["check_gives", "gold_target", "store_gold"]

KIND = "gold_answer"
ANNOTATOR = "gold"
KEPT = "Nothing was kept."


def gold_target(context: Context, benchmark: str) -> Target:
    """A benchmark, or `NAME@v1`, on a gold set.

    Raises:
        NotFoundError: no such benchmark or version, or its data set has not been built.
        SourceError: its data set is of another kind, or a row lacks its question.
    """
    target = open_target(context, benchmark)
    dataset = context.declarations.dataset(target.benchmark.dataset)
    if dataset.schema_ != KIND:
        known = (context.declarations.benchmark(name) for name in context.declarations.names("benchmark"))
        sets = [each.name for each in known if context.declarations.dataset(each.dataset).schema_ == KIND]
        raise SourceError(
            f"{target.benchmark.name} is no gold set: its data set {dataset.name} holds no labelled answers. "
            f"Gold sets: {', '.join(sets)}. {KEPT}"
        )
    for row in target.rows:
        if row.text is None:
            raise SourceError(f"{dataset.name}, row {row.row + 1}: the question is empty; give it one. {KEPT}")
    return target


def check_gives(context: Context, target: Target, judge: str) -> None:
    """See that a judge can give every label that a gold set has.

    Raises:
        DeclarationError: it does not give such labels.
        SourceError: a label is none that it can give, so that no verdict could ever agree with it.
    """
    rubric = context.declarations.rubric(context.declarations.judge(judge).rubric).rubric
    given = attributes_of(rubric)
    for row in target.rows:
        attribute, label = row.payload["attribute"], row.payload["label"]
        if attribute not in given:
            raise DeclarationError(
                f"The judge `{judge}` gives no label `{attribute}`, which {target.benchmark.name} is about; it gives "
                f"{', '.join(given)}. {KEPT}"
            )
        if label not in given[attribute]:
            raise SourceError(
                f"{target.version.dataset}, row {row.row + 1}, field `label`: `{label}` is no value of `{attribute}`, "
                f"which the judge `{judge}` gives as {', '.join(given[attribute])}. {KEPT}"
            )


def store_gold(context: Context, target: Target) -> list[str]:
    """Keep a gold set's answers as answers and its labels as annotations, so that judges can read and be compared.

    A version's rows are stored once; the cluster of a label is that of its row, as the data set declares it.

    Returns:
        ids of the runs that hold the answers, one for each model that gave any.
    """
    name = f"{target.benchmark.name}@{target.version.version}"
    mark = fingerprint({"gold": name, "major": target.benchmark.major, "version": target.version.fingerprint})
    by_model: dict[str, list[ItemRow]] = defaultdict(list)
    for row in target.rows:
        by_model[row.payload["model"]].append(row)
    made = [_one_model(target, model, rows, name) for model, rows in by_model.items()]
    store_import(context, "gold", mark, lambda: (batch for _, found in made for batch in found))
    return [run for run, _ in made]


def _one_model(target: Target, name: str, rows: list[ItemRow], source: str) -> tuple[str, list[Batch]]:
    model = model_identity(name, "import", name, "unknown", {"answers": target.version.fingerprint})
    answers = list(_answers(target, model, rows))
    run_id, brought = run_records(target, model, target.version.fingerprint, len(rows), "annotation_sample")
    placed = [
        {
            "run_id": run_id,
            "row": row.row,
            "item_id": row.item_id,
            "sample_number": 0,
            "response_key": answer["response_key"],
        }
        for row, answer in zip(rows, answers, strict=True)
    ]
    labels = [_annotation(row, answer["response_key"], source) for row, answer in zip(rows, answers, strict=True)]
    tables = {"request": list(_requests(target, rows)), "response": answers, "run_item": placed, "annotation": labels}
    return run_id, [*brought, *(batch for table, records in tables.items() for batch in batches(table, records))]


def _answers(target: Target, model: Identity, rows: list[ItemRow]) -> Iterator[dict[str, Any]]:
    """Several answers to one question are samples of one request, in the order of the rows."""
    seen: Counter[str] = Counter()
    for row in rows:
        request = request_hash(render(target.benchmark.prompt, row.payload))
        yield answer_record(target, row, model, seen[request], text=row.payload["answer"] or "")
        seen[request] += 1


def _requests(target: Target, rows: list[ItemRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        messages = render(target.benchmark.prompt, row.payload)
        text = canonical_json(messages).decode("utf-8", "surrogatepass")
        yield {"request_hash": request_hash(messages), "messages": text}


def _annotation(row: ItemRow, key: str, source: str) -> dict[str, Any]:
    return {
        "subject_kind": "response",
        "subject_id": key,
        "annotator": ANNOTATOR,
        "attribute": row.payload["attribute"],
        "value": row.payload["label"],
        "sampling_probability": None,
        "group_id": row.group_id,
        "source": source,
    }
