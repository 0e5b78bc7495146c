"""Importing a sheet of answers that people labelled: a row an answer, with question, model, answer and label."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ethicsdb.registry import journal
from ethicsdb.registry.context import Context
from ethicsdb.registry.faults import near
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.identity import Identity, model_identity, request_hash
from ethicsdb.runners.imports.common import (
    OUTCOME,
    Imported,
    Target,
    answer_record,
    import_journal,
    label_values,
    open_target,
    run_records,
    store_import,
)
from ethicsdb.runners.imports.sheets import COLUMNS, LabelSheet, SheetRow, read_sheet
from ethicsdb.runners.render import render
from ethicsdb.runners.withdrawals import is_withdrawn, withdrawal
from ethicsdb.schemas.errors import NotFoundError, SourceError
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint
from ethicsdb.schemas.formats import plain_name
from ethicsdb.schemas.text import is_blank, restore, single_spaced

__all__ = ["LabelSheet", "import_labels"]


def import_labels(context: Context, sheet: LabelSheet) -> Imported:
    """Import labelled answers as answers and annotations; a second time changes nothing.

    The cluster of a label is its question, since the answers of several models to one question are not independent.

    Raises:
        SourceError: a column is missing, a cell is empty, a label is none of the attribute's, a question is not in the
            benchmark's data, one person gives one answer two labels, here or in an earlier import that is not replaced,
            or another import has the name already.
    """
    target = open_target(context, sheet.benchmark)
    columns = {name: sheet.columns.get(name, name) for name in COLUMNS}
    allowed = label_values(context, target.benchmark, sheet.attribute)
    rows = read_sheet(sheet, columns, target)
    _check_values(sheet, columns["label"], rows, allowed)
    name = Path(plain_name(sheet.path.name)).stem if sheet.name is None else sheet.name
    if is_blank(name):
        raise SourceError(f"--name is empty; give the import a name, by which it can be found again. {OUTCOME}")
    identity = {
        "import": "labels",
        "file": hashlib.sha256(read_bytes(sheet.path, OUTCOME)).hexdigest(),  # packed or not, it is the same
        "name": name,
        "benchmark": [target.benchmark.name, target.benchmark.major],
        "version": target.version.fingerprint,
        "attribute": sheet.attribute,
        "columns": columns,
    }
    mark = fingerprint(identity)
    # The same columns of the same file are the same answers, whatever else is read from it.
    source = {"file": identity["file"], "columns": [columns[each] for each in ("question", "model", "response")]}
    with journal.journal_lock(context.store.journals, journal.journal_name("import", "name", name)):
        if not import_journal(context, "labels", mark).exists():
            _check_name(context, name, sheet.replaces)
            _check_earlier(context, target, sheet, rows)

        def brought() -> Iterator[Batch]:
            # In one journal with what it replaces: a kill leaves both or neither.
            if sheet.replaces is not None:
                yield from batches("withdrawal", [withdrawal("import", sheet.replaces)])
            yield from _batches(target, rows, (name, sheet.attribute, source))

        new = store_import(context, "labels", mark, brought)
    counts = Counter(f"{row.model}: {row.label}" for row in rows)
    warnings = list(_warnings(context, name, sheet.replaces if new else None, rows))
    return Imported(name, new, len(rows), dict(counts), _alignment(target), len(rows), warnings=warnings)


def _warnings(context: Context, name: str, replaced: str | None, rows: list[SheetRow]) -> Iterator[str]:
    empty = [row.number for row in rows if is_blank(row.response)]
    if empty:
        yield f"answers that are empty: {len(empty):,} (row {empty[0]} is the first); they count as answers"
    if replaced is not None:
        yield (
            f"judge outputs about rows of `{replaced}` are not about this import; import them again with "
            f"--rows-of {name}"
        )
    if is_withdrawn(context, "import", name):
        yield f"this import stands withdrawn, and agreement leaves it out; ethicsdb withdraw {name} --undo puts it back"


def _meant(name: str, known: list[str]) -> str:
    end = near(name, known)
    return end if end.endswith("?") else f"{end}."


def _check_values(sheet: LabelSheet, column: str, rows: list[SheetRow], allowed: list[str]) -> None:
    for row in rows:
        if row.label not in allowed:
            raise SourceError(
                f"{sheet.path.name}, row {row.number}, field `{column}`: `{row.label}` is no value of "
                f"`{sheet.attribute}`{_meant(row.label, allowed)} "
                f"A label of something else needs its --attribute. {OUTCOME}"
            )


def _check_earlier(context: Context, target: Target, sheet: LabelSheet, rows: list[SheetRow]) -> None:
    """Nobody's label of one answer may count twice, whatever file it comes in."""
    parameters = {"benchmark": target.benchmark.name, "major": target.benchmark.major, "attribute": sheet.attribute}
    with context.reading() as connection:
        found = connection.execute(read_sql("labels_before"), parameters).fetchall()
    before = {
        (annotator, item, model, single_spaced(restore(text, exact) or "")): source
        for annotator, item, model, text, exact, source in found
        if source != sheet.replaces
    }
    for row in rows:
        source = before.get((row.annotator, row.item.item_id, row.model, single_spaced(row.response)))
        if source is not None:
            raise SourceError(
                f"{sheet.path.name}, row {row.number}: the import `{source}` holds `{row.annotator}`'s label of this "
                f"answer already. If this sheet corrects it, say --replaces {source}; if it is another person's, "
                f"--map annotator=COLUMN. {OUTCOME}"
            )


def _check_name(context: Context, name: str, replaces: str | None) -> None:
    """Rows of an import are found by its name, so that two can't share one."""
    with context.reading() as connection:
        known = {row[0] for row in connection.execute("SELECT DISTINCT import_name FROM import_row").fetchall()}
    if replaces is not None and replaces not in known:
        raise NotFoundError(f"No import is called `{replaces}`{_meant(replaces, sorted(known))} {OUTCOME}")
    if name in known:
        raise SourceError(f"Another import is called `{name}` already; give this one a --name of its own. {OUTCOME}")


def _alignment(target: Target) -> str:
    return f"{target.version.dataset} {target.version.version} by the question's text"


def _batches(target: Target, rows: list[SheetRow], what: tuple[str, str, dict[str, Any]]) -> Iterator[Batch]:
    name, attribute, source = what
    by_model: dict[str, list[SheetRow]] = defaultdict(list)
    for row in rows:
        by_model[row.model].append(row)
    keys: dict[int, tuple[str, str]] = {}
    for model_name, labelled in by_model.items():
        model = model_identity(model_name, "import", model_name, "unknown", {"answers": source})
        yield from _one_model(target, model, source["file"], labelled, keys)
    yield from batches(
        "import_row",
        (
            {
                "import_name": name,
                "row": row.number - 1,
                "run_id": keys[row.number][0],
                "response_key": keys[row.number][1],
            }
            for row in rows
        ),
    )
    yield from batches("annotation", (_annotation(row, keys[row.number][1], attribute, name) for row in rows))


def _one_model(
    target: Target, model: Identity, sha256: str, rows: list[SheetRow], keys: dict[int, tuple[str, str]]
) -> Iterator[Batch]:
    """Answers of one model. The same answer labelled by several people is one answer, another text another sample."""
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    run_items = []
    samples: Counter[str] = Counter()
    distinct = {(row.item.item_id, row.response) for row in rows}
    run_id, found = run_records(target, model, sha256, len(distinct), "annotation_sample")
    for row in rows:
        place = (row.item.item_id, row.response)
        if place not in answers:
            sample = samples[row.item.item_id]
            samples[row.item.item_id] += 1
            answers[place] = answer_record(target, row.item, model, sample, text=row.response)
            run_items.append(
                {
                    "run_id": run_id,
                    "row": row.item.row,
                    "item_id": row.item.item_id,
                    "sample_number": sample,
                    "response_key": answers[place]["response_key"],
                }
            )
        keys[row.number] = (run_id, answers[place]["response_key"])
    yield from found
    yield from batches("request", _requests(target, rows))
    yield from batches("response", answers.values())
    yield from batches("run_item", run_items)


def _requests(target: Target, rows: list[SheetRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        messages = render(target.benchmark.prompt, row.item.payload)
        text = canonical_json(messages).decode("utf-8", "surrogatepass")
        yield {"request_hash": request_hash(messages), "messages": text}


def _annotation(row: SheetRow, key: str, attribute: str, source: str) -> dict[str, Any]:
    return {
        "subject_kind": "response",
        "subject_id": key,
        "annotator": row.annotator,
        "attribute": attribute,
        "value": row.label,
        "sampling_probability": None,
        "group_id": row.item.item_id,
        "source": source,
    }
