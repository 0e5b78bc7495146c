"""Importing answers that a model gave elsewhere, a row each, so that judges and measures can read them here."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.records import read_records
from ethicsdb.runners.identity import Identity, model_identity, request_hash
from ethicsdb.runners.imports.common import (
    OUTCOME,
    Target,
    answer_record,
    occurrences,
    open_target,
    run_records,
    store_import,
)
from ethicsdb.runners.render import fill, render
from ethicsdb.schemas.errors import DeclarationError, SourceError
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint
from ethicsdb.schemas.formats import format_of

__all__ = ["AnswerSheet", "ImportedAnswers", "import_answers"]

FIELDS = ("id", "question", "response")
SHOWN = 3  # ids that a message names


@dataclass(frozen=True)
class AnswerSheet:
    """What an import of answers is told.

    Args:
        columns: sheet field (id, question, response): its column, or a template of columns in braces, such as
            `{category}/{example_id}`. Rows are found by their id, as the source has it, where the sheet has that field,
            else by the question's text.
        subset: the file is about some rows of the data set only; the others were not asked.
    """

    path: Path
    benchmark: str
    model: str
    revision: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    subset: bool = False


@dataclass
class ImportedAnswers:
    """What an import of answers or scores brought."""

    name: str
    new: bool
    run_id: str
    lines: int
    rows: int  # of the data set that were asked
    aligned_with: str
    warnings: list[str] = field(default_factory=list)


def import_answers(context: Context, sheet: AnswerSheet) -> ImportedAnswers:
    """Import answers as a run of their model; a second time changes nothing.

    Raises:
        NotFoundError: no such benchmark or version, or its data set has not been built.
        DeclarationError: the benchmark scores likelihoods, or a template of columns is broken.
        SourceError: the file is broken, a line is about no row or one that another line is about, or rows lack a line.
    """
    target = open_target(context, sheet.benchmark)
    if target.benchmark.runner != "generate":
        raise DeclarationError(f"{target.benchmark.name} scores given texts: it has no answers to import. {OUTCOME}")
    if not sheet.model.strip():
        raise SourceError(f"--model is empty; name the model that answered. {OUTCOME}")
    raw = read_bytes(sheet.path, OUTCOME)
    answers = _aligned(sheet, target, _records(sheet, raw))
    _check_whole(sheet, target, answers)
    sha256 = hashlib.sha256(raw).hexdigest()
    identity = {"file": sha256, "columns": sheet.columns}
    model = model_identity(sheet.model, "import", sheet.model, sheet.revision or "unknown", {"answers": identity})
    rows = [row for row in target.rows if row.row in answers]
    run_id, records = run_records(target, model, sha256, len(rows), "evaluation", _drawn(target, rows))
    mark = fingerprint(
        ["answers", model.fingerprint, target.benchmark.name, target.benchmark.major, target.version.fingerprint]
    )
    new = store_import(context, "answers", mark, lambda: _batches(target, (run_id, model), rows, answers, records))
    told = f"rows of {target.version.dataset} {target.version.version} by {'id' if _by_id(sheet) else 'question'}"
    return ImportedAnswers(sheet.path.name, new, run_id, len(answers), len(rows), told)


def _drawn(target: Target, rows: Sequence[ItemRow]) -> str | None:
    """What tells a part of the rows from another; None for all of them."""
    return None if len(rows) == len(target.rows) else fingerprint([row.row for row in rows])


def _by_id(sheet: AnswerSheet) -> bool:
    return "id" in sheet.columns or "question" not in sheet.columns


def _records(sheet: AnswerSheet, raw: bytes) -> list[dict[str, Any]]:
    unknown = sorted(set(sheet.columns) - set(FIELDS))
    if unknown:
        raise SourceError(f"--map {unknown[0]}: there is no such field; answers have {', '.join(FIELDS)}. {OUTCOME}")
    name = sheet.path.name
    records = list(read_records(name, raw, format_of(name) or "csv", OUTCOME))
    if not records:
        raise SourceError(f"{name}: there are no rows in it. {OUTCOME}")
    return records


def _aligned(sheet: AnswerSheet, target: Target, records: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Answers by the row of the data set that they are about."""
    key = "id" if _by_id(sheet) else "question"
    find: dict[str, list[int]] = defaultdict(list)
    for row in target.rows:
        value = row.source_id if key == "id" else row.payload.get("question")
        if value is not None:
            find[value].append(row.row)
    found: dict[int, str] = {}
    for number, record in enumerate(records, start=1):
        where = f"{sheet.path.name}, row {number}"
        value, text = _cell(sheet, key, where, record), _cell(sheet, "response", where, record)
        rows = find.get(value, [])
        if len(rows) != 1:
            what = f"stands for {len(rows)} rows of" if rows else "is not in"
            raise SourceError(
                f"{where}: the {key} `{value[:60]}` {what} {target.version.dataset} {target.version.version}; "
                f"--map says which columns tell a row: id or question. {OUTCOME}"
            )
        if rows[0] in found:
            raise SourceError(f"{where}: the {key} `{value[:60]}` stood in an earlier row already. {OUTCOME}")
        found[rows[0]] = text
    return found


def _cell(sheet: AnswerSheet, name: str, where: str, record: Mapping[str, Any]) -> str:
    """A field's text, from its column or from a template of columns."""
    column = sheet.columns.get(name, name)
    if "{" in column:
        return fill(column, dict(record))
    if column not in record:
        have = ", ".join(f"`{each}`" for each in record)
        raise SourceError(
            f"{where}: column `{column}` is missing; there are {have}. Say which it is: --map {name}=COLUMN. {OUTCOME}"
        )
    value = record[column]
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise SourceError(f"{where}, field `{column}`: expected text, found {type(value).__name__}. {OUTCOME}")
    return str(value)


def _check_whole(sheet: AnswerSheet, target: Target, answers: Mapping[int, str]) -> None:
    missing = [row for row in target.rows if row.row not in answers and row.text is not None]
    if missing and not sheet.subset:
        named = ", ".join(f"`{row.source_id or row.row}`" for row in missing[:SHOWN])
        raise SourceError(
            f"{sheet.path.name}: {len(answers):,} answers for {len(target.rows):,} rows; {named} are the first without "
            f"one. If the others were never asked, say --subset. {OUTCOME}"
        )


def _batches(
    target: Target, who: tuple[str, Identity], rows: Sequence[ItemRow], answers: Mapping[int, str], records: list[Batch]
) -> Iterator[Batch]:
    run_id, model = who
    requests, responses, run_items = [], [], []
    for row, sample in zip(rows, occurrences(row.item_id for row in rows), strict=True):
        answer = answer_record(target, row, model, sample, text=answers[row.row])
        messages = render(target.benchmark.prompt, row.payload)
        text = canonical_json(messages).decode("utf-8", "surrogatepass")
        requests.append({"request_hash": request_hash(messages), "messages": text})
        responses.append(answer)
        run_items.append(
            {"run_id": run_id, "row": row.row, "item_id": row.item_id, "sample_number": sample,
             "response_key": answer["response_key"]}
        )  # fmt: skip
    yield from records
    yield from batches("request", requests)
    yield from batches("response", responses)
    yield from batches("run_item", run_items)
