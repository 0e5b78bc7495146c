"""Reading a sheet of answers that people labelled: its cells as texts, its questions as items."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ethicsdb.registry.files import looks_like, read_bytes
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.records import read_records
from ethicsdb.runners.imports.common import OUTCOME, Target
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.formats import FORMAT_WORDS, Format, format_of
from ethicsdb.schemas.text import is_blank

__all__ = ["COLUMNS", "LabelSheet", "SheetRow", "read_sheet"]

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
class SheetRow:
    """A row of a sheet."""

    number: int  # 1 for the first data row
    item: ItemRow
    model: str
    response: str
    label: str
    annotator: str


def read_sheet(sheet: LabelSheet, columns: dict[str, str], target: Target) -> list[SheetRow]:
    """The rows of a sheet.

    Args:
        columns: sheet field: its column.

    Raises:
        SourceError: see `import_labels`.
    """
    unknown = sorted(set(sheet.columns) - set(COLUMNS))
    if unknown:
        raise SourceError(f"--map {unknown[0]}: there is no such field; a sheet has {', '.join(COLUMNS)}. {OUTCOME}")
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
    records = list(read_records(file, read_bytes(sheet.path, OUTCOME), form, OUTCOME))
    if not records:
        raise SourceError(f"{file}: there are no rows in it. {OUTCOME}")
    needed = [*REQUIRED, *(name for name in sheet.columns if name not in REQUIRED)]
    for number, record in enumerate(records, start=1):
        for name in needed:
            if columns[name] not in record:
                have = ", ".join(f"`{column}`" for column in record)
                where = file if form in ("csv", "tsv", "parquet") else f"{file}, row {number}"
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


def _check_labels(file: str, rows: list[SheetRow]) -> None:
    """One person says one thing of one answer."""
    first: dict[tuple[str, ...], SheetRow] = {}
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


def _row(name: str, number: int, record: dict[str, str], columns: dict[str, str], find: _Finder) -> SheetRow:
    where = f"{name}, row {number}"
    for needed in ("question", "model", "label", "annotator"):
        # A sheet without a column of annotators is one person's; one with an empty cell there is nobody's.
        if is_blank(record.get(columns[needed], needed)):
            article = "an" if needed == "annotator" else "a"
            raise SourceError(
                f"{where}, field `{columns[needed]}`: the cell is empty; expected {article} {needed}. {OUTCOME}"
            )
    return SheetRow(
        number=number,
        item=find(where, record[columns["question"]]),
        model=record[columns["model"]].strip(),
        response=record[columns["response"]],
        label=record[columns["label"]].strip(),
        annotator=record.get(columns["annotator"], "people").strip(),
    )
