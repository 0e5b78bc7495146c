"""From source rows to items: field mapping, recoding, variants, and what to report on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import NoneType
from typing import Any, get_args

from ethicsdb.builders.report import Report
from ethicsdb.builders.sources import OUTCOME, SourceFile, SourceRow, read_rows
from ethicsdb.registry.checks import dataset_faults, payload_fields, required_fields
from ethicsdb.schemas.declared import DatasetDeclaration
from ethicsdb.schemas.errors import DeclarationError, SourceError
from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.items import ITEM_KINDS
from ethicsdb.schemas.text import has_surrogate, is_blank

__all__ = ["Draft", "drafts", "item_id"]


@dataclass
class Draft:
    """A row on its way into a version."""

    file: str
    number: int
    payload: dict[str, Any]
    variant: str | None
    source_id: str | None
    item_id: str = ""
    group_id: str = ""
    base_item: str | None = None
    split: str = ""
    position: int = field(default=0)  # among all rows of the version, from 0


def drafts(dataset: DatasetDeclaration, files: list[SourceFile], report: Report) -> Iterator[Draft]:
    """All rows of all files as drafts; nothing is dropped here.

    Raises:
        DeclarationError: the declaration maps an unknown field, or leaves a field empty that every item needs.
        SourceError: a file does not hold what it should.
    """
    faults = dataset_faults(dataset)
    if faults:
        raise DeclarationError(f"{dataset.name}: {faults[0]}")
    position = 0
    for file in files:
        _compare(file, report)
        for row in read_rows(file, _needed(dataset)):
            draft = _draft(dataset, file, row, report)
            draft.position, draft.split = position, file.source.split or dataset.split
            position += 1
            yield draft


def _compare(file: SourceFile, report: Report) -> None:
    """Note that a file is another one than was declared."""
    marks = [(file.path, file.source.sha256, file.sha256)]
    if file.companion:
        marks.append((file.companion, file.source.companion_sha256, str(file.companion_sha256)))
    for path, declared, found in marks:
        if declared and declared != found:
            told = f"the file's SHA-256 is {found}, not the declared {declared}"
            report.add("note", "other_source", told, row=(path.name, None))


def _needed(dataset: DatasetDeclaration) -> list[str]:
    extra = [dataset.variant] if dataset.variant else []
    name = _id_column(dataset)
    return list(dict.fromkeys([*dataset.fields.values(), *extra, *([name] if name else [])]))


def _id_column(dataset: DatasetDeclaration) -> str | None:
    return dataset.link.id if dataset.link else dataset.id


@cache
def _kinds(kind: str) -> dict[str, type]:
    """Payload field: type of its values, None aside."""
    fields = ITEM_KINDS[kind].model_fields
    found = {}
    for name in payload_fields(kind):
        inner = [each for each in get_args(fields[name].annotation) if each is not NoneType]
        found[name] = inner[0] if inner else fields[name].annotation
    return {name: each for name, each in found.items() if isinstance(each, type)}


def _draft(dataset: DatasetDeclaration, file: SourceFile, row: SourceRow, report: Report) -> Draft:
    payload: dict[str, Any] = dict.fromkeys(payload_fields(dataset.schema_))
    for note in row.notes:
        place = note.place or (row.file, row.number)
        report.add(note.severity, note.code, note.detail, row=place, column=note.column)
    payload.update(dataset.constants)
    payload.update(file.source.values)
    for name, column in dataset.fields.items():
        payload[name] = _recoded(dataset, name, _cell(dataset, row, column), row, report)
    _number(payload, _kinds(dataset.schema_), dataset, row)
    for name in required_fields(dataset.schema_):
        if payload[name] is None:
            column = dataset.fields.get(name, name)
            raise SourceError(
                f"{row.file}, row {row.number}, field `{column}`: the cell is empty; "
                f"every row needs a {name}. {OUTCOME}"
            )
    _look_closely(dataset, payload, row, report)
    variant = _variant(dataset, row)
    naming = _id_column(dataset)
    source_id = _cell(dataset, row, naming) if naming else None
    return Draft(row.file, row.number, payload, variant, source_id)


def _number(payload: dict[str, Any], kinds: dict[str, type], dataset: DatasetDeclaration, row: SourceRow) -> None:
    """Whole numbers for the fields that hold them."""
    for name, value in payload.items():
        if kinds[name] is not int or value is None:
            continue
        try:
            payload[name] = int(value)
        except ValueError as error:
            raise SourceError(
                f"{row.file}, row {row.number}, field `{dataset.fields.get(name, name)}`: `{value}` is no whole "
                f"number; {name} needs one. {OUTCOME}"
            ) from error


def _cell(dataset: DatasetDeclaration, row: SourceRow, column: str) -> str | None:
    value = row.cells[column]
    if value is None or value == "" or value in dataset.null_values:
        return None
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise SourceError(
        f"{row.file}, row {row.number}, field `{column}`: expected text, found {type(value).__name__}; "
        f"write it as a string. {OUTCOME}"
    )


def _recoded(dataset: DatasetDeclaration, name: str, value: str | None, row: SourceRow, report: Report) -> str | None:
    table = dataset.recode.get(name)
    if table is None or value is None:
        return value
    if value not in table:
        report.add(
            "suspicious",
            "unknown_value",
            f"`{value}` is none of the declared values; kept as it is",
            row=(row.file, row.number),
            column=name,
        )
        return value
    new = table[value]
    first = next(known for known, meant in table.items() if meant == new)
    if first != value:
        report.add(
            "repaired", "other_spelling", f"`{value}` read as `{first}`", row=(row.file, row.number), column=name
        )
    return new


def _look_closely(dataset: DatasetDeclaration, payload: dict[str, Any], row: SourceRow, report: Report) -> None:
    exact = ITEM_KINDS[dataset.schema_].exact
    main = exact[0]
    where = (row.file, row.number)
    if isinstance(payload[main], str) and is_blank(payload[main]):
        payload[main] = None
    if payload[main] is None:
        report.add(
            "suspicious",
            f"null_{main}",
            "the cell is empty or blank; the row is kept and can't be asked",
            row=where,
            column=main,
        )
    for name, value in payload.items():
        if not isinstance(value, str):
            continue
        if has_surrogate(value) and name in exact:
            report.add("note", "lone_surrogate", "kept byte for byte beside a readable form", row=where, column=name)
        elif has_surrogate(value):
            report.add("repaired", "lone_surrogate", "replaced by U+FFFD in this field", row=where, column=name)
        if "\x00" in value:
            report.add("suspicious", "nul", "the text holds a NUL character; kept", row=where, column=name)
        if name == main and value != value.strip():
            report.add(
                "suspicious",
                "outer_whitespace",
                "the text starts or ends with whitespace; kept",
                row=where,
                column=name,
            )


def _variant(dataset: DatasetDeclaration, row: SourceRow) -> str | None:
    if dataset.variant is None:
        return None
    value = row.cells[dataset.variant]
    if not isinstance(value, str) or value not in dataset.variants:
        known = ", ".join(f"`{each}`" for each in dataset.variants)
        raise SourceError(
            f"{row.file}, row {row.number}, field `{dataset.variant}`: `{value}` is no variant; "
            f"expected one of {known}. {OUTCOME}"
        )
    return str(dataset.variants[value])


def item_id(dataset: DatasetDeclaration, payload: dict[str, Any]) -> str:
    """Content address of an item: equal payloads of one data set are one item."""
    later = ITEM_KINDS[dataset.schema_].later
    kept = {name: value for name, value in payload.items() if value is not None or name not in later}
    return fingerprint({"kind": dataset.schema_, "dataset": dataset.name, "payload": kept})
