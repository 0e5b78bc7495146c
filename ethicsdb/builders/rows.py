"""From source rows to items: field mapping, recoding, variants, and what to report on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ethicsdb.builders.report import Report
from ethicsdb.builders.sources import SourceFile, SourceRow, read_rows
from ethicsdb.schemas.declared import DatasetDeclaration
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.items import ITEM_KINDS
from ethicsdb.schemas.tables import Fact
from ethicsdb.schemas.text import has_surrogate

__all__ = ["Draft", "drafts", "payload_fields"]


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
    position: int = field(default=0)  # among all rows of the version, from 0


def payload_fields(kind: str) -> list[str]:
    """The fields of an item kind that a declaration may fill.

    Raises:
        SourceError: there is no such kind.
    """
    model = _model(kind)
    return [name for name in model.model_fields if name != "item_id" and not name.endswith("_exact")]


def _model(kind: str) -> type[Fact]:
    if kind not in ITEM_KINDS:
        raise SourceError(f"`{kind}` is no item kind; there are: {', '.join(ITEM_KINDS)}")
    return ITEM_KINDS[kind]


def drafts(dataset: DatasetDeclaration, files: list[SourceFile], report: Report) -> Iterator[Draft]:
    """All rows of all files as drafts; nothing is dropped here.

    Raises:
        SourceError: the declaration maps an unknown field, or a file does not hold what it should.
    """
    known = payload_fields(dataset.schema_)
    strange = sorted((set(dataset.fields) | set(dataset.constants)) - set(known))
    if strange:
        raise SourceError(f"{dataset.name}: {dataset.schema_} has no field `{strange[0]}`; it has {', '.join(known)}")
    position = 0
    for file in files:
        if file.source.sha256 and file.source.sha256 != file.sha256:
            report.add(
                "note",
                "other_source",
                f"the file's SHA-256 is {file.sha256}, not the declared {file.source.sha256}",
                row=(file.path.name, None),
            )
        for row in read_rows(file, _needed(dataset)):
            draft = _draft(dataset, file, row, report)
            draft.position = position
            position += 1
            yield draft


def _needed(dataset: DatasetDeclaration) -> list[str]:
    extra = [dataset.variant] if dataset.variant else []
    link = [dataset.link.id] if dataset.link else []
    return list(dict.fromkeys([*dataset.fields.values(), *extra, *link]))


def _draft(dataset: DatasetDeclaration, file: SourceFile, row: SourceRow, report: Report) -> Draft:
    payload: dict[str, Any] = dict.fromkeys(payload_fields(dataset.schema_))
    payload.update(dataset.constants)
    payload.update(file.source.values)
    for name, column in dataset.fields.items():
        payload[name] = _recoded(dataset, name, _cell(dataset, row, column), row, report)
    _look_closely(dataset, payload, row, report)
    variant = _variant(dataset, row)
    source_id = _cell(dataset, row, dataset.link.id) if dataset.link else None
    return Draft(row.file, row.number, payload, variant, source_id)


def _cell(dataset: DatasetDeclaration, row: SourceRow, column: str) -> str | None:
    value = row.cells[column]
    if value is None or value == "" or value in dataset.null_values:
        return None
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise SourceError(
        f"{row.file}, row {row.number}, field `{column}`: expected text, found {type(value).__name__}. Nothing was loaded."
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
    main = _model(dataset.schema_).exact[0]
    where = (row.file, row.number)
    if payload[main] is None:
        report.add(
            "suspicious",
            f"null_{main}",
            "the cell is empty; the row is kept and can't be asked",
            row=where,
            column=main,
        )
    for name, value in payload.items():
        if not isinstance(value, str):
            continue
        if has_surrogate(value):
            report.add("note", "lone_surrogate", "kept byte for byte beside a readable form", row=where, column=name)
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
    if value not in dataset.variants:
        known = ", ".join(f"`{each}`" for each in dataset.variants)
        raise SourceError(
            f"{row.file}, row {row.number}, field `{dataset.variant}`: `{value}` is no variant; expected one of {known}. "
            "Nothing was loaded."
        )
    return str(dataset.variants[value])


def item_id(dataset: DatasetDeclaration, payload: dict[str, Any]) -> str:
    """Content address of an item: equal payloads of one data set are one item."""
    return fingerprint({"kind": dataset.schema_, "dataset": dataset.name, "payload": payload})
