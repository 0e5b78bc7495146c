"""Importing a sheet of answers that people labelled: a row an answer, with question, model, answer and label."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ethicsdb.registry import journal
from ethicsdb.registry.context import Context
from ethicsdb.registry.faults import near
from ethicsdb.registry.files import looks_like, read_bytes
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.records import read_records
from ethicsdb.registry.tabular import decode
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.identity import Identity, model_identity, request_hash
from ethicsdb.runners.imports.common import (
    OUTCOME,
    Imported,
    Target,
    answer_record,
    import_journal,
    open_target,
    run_records,
    store_import,
)
from ethicsdb.runners.render import render
from ethicsdb.runners.withdrawals import withdraw
from ethicsdb.schemas.errors import NotFoundError, SourceError
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint
from ethicsdb.schemas.formats import FORMAT_WORDS, Format, format_of, plain_name
from ethicsdb.schemas.rubrics import attributes_of
from ethicsdb.schemas.text import is_blank, restore

__all__ = ["COLUMNS", "LabelSheet", "import_labels"]

COLUMNS = ("question", "model", "response", "label", "annotator")
REQUIRED = COLUMNS[:4]


@dataclass(frozen=True)
class LabelSheet:
    """What an import of labels is told.

    Args:
        columns: sheet field (question, model, response, label, annotator): column; a field is its own column by
            default. Without an annotator column all labels are of one annotator, `people`.
        attribute: what the label is about, as the judge's label is called: `safety`, `refusal`.
        replaces: the name of an earlier import, which this one corrects: it is withdrawn.
    """

    path: Path
    benchmark: str
    attribute: str = "safety"
    columns: dict[str, str] = field(default_factory=dict)
    name: str | None = None
    replaces: str | None = None


@dataclass(frozen=True)
class _Row:
    number: int  # 1 for the first data row
    item: ItemRow
    model: str
    response: str
    label: str
    annotator: str


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
    allowed = _allowed(context, target, sheet.attribute)
    rows = _read(sheet, columns, target)
    _check_values(sheet, columns["label"], rows, allowed)
    name = sheet.name or Path(plain_name(sheet.path.name)).stem
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
        new = store_import(context, "labels", mark, lambda: _batches(target, rows, (name, sheet.attribute, source)))
        if new and sheet.replaces is not None:
            withdraw(context, "import", sheet.replaces)
    counts = Counter(f"{row.model}: {row.label}" for row in rows)
    empty = [row.number for row in rows if is_blank(row.response)]
    told = [f"{len(empty):,} answers are empty (row {empty[0]} is the first); they count as answers"] if empty else []
    return Imported(name, new, len(rows), dict(counts), _alignment(target), len(rows), warnings=told)


def _allowed(context: Context, target: Target, attribute: str) -> list[str]:
    """The values that judges of the benchmark can give an attribute, which people's labels are compared with."""
    known: dict[str, list[str]] = {}
    for judge in target.benchmark.judges:
        rubric = context.declarations.rubric(context.declarations.judge(judge).rubric).rubric
        for name, values in attributes_of(rubric).items():
            if not name.endswith("_published"):
                known.setdefault(name, []).extend(value for value in values if value not in known.get(name, []))
    if attribute not in known:
        raise SourceError(
            f"--attribute {attribute}: no judge of {target.benchmark.name} gives that label"
            f"{_meant(attribute, sorted(known))} {OUTCOME}"
        )
    return known[attribute]


def _meant(name: str, known: list[str]) -> str:
    end = near(name, known)
    return end if end.endswith("?") else f"{end}."


def _check_values(sheet: LabelSheet, column: str, rows: list[_Row], allowed: list[str]) -> None:
    for row in rows:
        if row.label not in allowed:
            raise SourceError(
                f"{sheet.path.name}, row {row.number}, field `{column}`: `{row.label}` is no value of "
                f"`{sheet.attribute}`{_meant(row.label, allowed)} "
                f"A label of something else needs its --attribute. {OUTCOME}"
            )


def _check_earlier(context: Context, target: Target, sheet: LabelSheet, rows: list[_Row]) -> None:
    """Nobody's label of one answer may count twice, whatever file it comes in."""
    parameters = {"benchmark": target.benchmark.name, "major": target.benchmark.major, "attribute": sheet.attribute}
    with context.reading() as connection:
        found = connection.execute(read_sql("labels_before"), parameters).fetchall()
    before = {
        (annotator, item, model, restore(text, exact)): source
        for annotator, item, model, text, exact, source in found
        if source != sheet.replaces
    }
    for row in rows:
        source = before.get((row.annotator, row.item.item_id, row.model, row.response))
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


def _read(sheet: LabelSheet, columns: dict[str, str], target: Target) -> list[_Row]:
    unknown = sorted(set(sheet.columns) - set(COLUMNS))
    if unknown:
        raise SourceError(f"--map {unknown[0]}: there is no such field; a sheet has {', '.join(COLUMNS)}.")
    file = sheet.path.name
    form = format_of(file) or "csv"
    try:
        cells = _cells(sheet, columns, form)
    except SourceError as error:
        look = looks_like(read_bytes(sheet.path, OUTCOME), form)
        if look is None:
            raise
        advice = look.advice or f"let its name end in .{look.form}"
        raise SourceError(
            f"{file}: taken for {FORMAT_WORDS[form]}, but it looks like {look.words}; {advice}. {OUTCOME}"
        ) from error
    find = _Finder(target)
    rows = [_row(file, number, record, columns, find) for number, record in enumerate(cells, start=1)]
    _check_labels(file, rows)
    return rows


def _cells(sheet: LabelSheet, columns: dict[str, str], form: Format) -> list[dict[str, str]]:
    """The sheet's rows, with texts in the columns that are used."""
    file = sheet.path.name
    text = decode(file, read_bytes(sheet.path, OUTCOME), "utf-8", OUTCOME)
    records = list(read_records(file, text, form, OUTCOME))
    if not records:
        raise SourceError(f"{file}: there are no rows in it. {OUTCOME}")
    needed = [*REQUIRED, *(name for name in sheet.columns if name not in REQUIRED)]
    for number, record in enumerate(records, start=1):
        for name in needed:
            if columns[name] not in record:
                have = ", ".join(f"`{column}`" for column in record)
                where = file if form in ("csv", "tsv") else f"{file}, row {number}"
                raise SourceError(
                    f"{where}: column `{columns[name]}` is missing; the file has {have}. "
                    f"Say which it is: --map {name}=COLUMN. {OUTCOME}"
                )
    used = [columns[name] for name in COLUMNS]
    return [
        {
            column: _text(f"{file}, row {number}, field `{column}`", record[column])
            for column in used
            if column in record
        }
        for number, record in enumerate(records, start=1)
    ]


def _text(where: str, value: object) -> str:
    """A cell's text; JSON may hold a whole number, as for a class, but nothing that would have to be guessed."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    found = "null" if value is None else type(value).__name__
    raise SourceError(f"{where}: expected text, found {found}; an empty answer is written as an empty text. {OUTCOME}")


def _check_labels(file: str, rows: list[_Row]) -> None:
    """One person says one thing of one answer."""
    first: dict[tuple[str, ...], _Row] = {}
    for row in rows:
        before = first.setdefault((row.annotator, row.model, row.item.item_id, row.response), row)
        if before.label != row.label:
            raise SourceError(
                f"{file}, rows {before.number} and {row.number}: `{row.annotator}` calls one answer both "
                f"`{before.label}` and `{row.label}`; tell people apart: --map annotator=COLUMN. {OUTCOME}"
            )


class _Finder:
    """Finds the item of a question: by its exact text, else by its text without outer whitespace."""

    def __init__(self, target: Target) -> None:
        self.exact: dict[str, list[ItemRow]] = defaultdict(list)
        self.stripped: dict[str, list[ItemRow]] = defaultdict(list)
        self.where = f"{target.version.dataset} {target.version.version}"
        for row in target.rows:
            question = row.payload.get("question")
            if question is not None:
                self.exact[question].append(row)
                self.stripped[question.strip()].append(row)

    def __call__(self, where: str, question: str) -> ItemRow:
        found = self.exact.get(question) or self.stripped.get(question.strip()) or []
        items = {row.item_id for row in found}
        if len(items) == 1:
            return found[0]
        what = f"stands for {len(items)} different items of" if items else "is not in"
        raise SourceError(f"{where}: the question `{question[:60]}` {what} {self.where}. {OUTCOME}")


def _row(name: str, number: int, record: dict[str, Any], columns: dict[str, str], find: _Finder) -> _Row:
    where = f"{name}, row {number}"
    for needed in ("question", "model", "label", "annotator"):
        # A sheet without a column of annotators is one person's; one with an empty cell there is nobody's.
        if is_blank(record.get(columns[needed], needed)):
            article = "an" if needed == "annotator" else "a"
            raise SourceError(
                f"{where}, field `{columns[needed]}`: the cell is empty; expected {article} {needed}. {OUTCOME}"
            )
    return _Row(
        number=number,
        item=find(where, record[columns["question"]]),
        model=record[columns["model"]].strip(),
        response=record[columns["response"]],
        label=record[columns["label"]].strip(),
        annotator=record.get(columns["annotator"], "people").strip(),
    )


def _batches(target: Target, rows: list[_Row], what: tuple[str, str, dict[str, Any]]) -> Iterator[Batch]:
    name, attribute, source = what
    by_model: dict[str, list[_Row]] = defaultdict(list)
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
    target: Target, model: Identity, sha256: str, rows: list[_Row], keys: dict[int, tuple[str, str]]
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


def _requests(target: Target, rows: list[_Row]) -> Iterator[dict[str, Any]]:
    for row in rows:
        messages = render(target.benchmark.prompt, row.item.payload)
        text = canonical_json(messages).decode("utf-8", "surrogatepass")
        yield {"request_hash": request_hash(messages), "messages": text}


def _annotation(row: _Row, key: str, attribute: str, source: str) -> dict[str, Any]:
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
