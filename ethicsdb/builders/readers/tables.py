"""The plain formats: delimited text, JSON lines, a JSON list of objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ethicsdb.builders.readers.base import OUTCOME, SourceFile, SourceRow, object_of, objects, parsed, text_of
from ethicsdb.registry.tabular import read_delimited
from ethicsdb.schemas.errors import SourceError

__all__ = ["read_table"]


def read_table(file: SourceFile) -> Iterator[SourceRow]:
    """Rows of a file in its declared format, as they are."""
    name, form = file.path.name, file.source.format
    for number, cells in enumerate(_records(name, text_of(file), form), start=1):
        yield SourceRow(name, number, cells)


def _records(name: str, text: str, form: str) -> Iterator[dict[str, Any]]:
    if form in ("csv", "tsv"):
        return read_delimited(name, text, "\t" if form == "tsv" else ",", OUTCOME)
    return objects(name, text) if form == "jsonl" else _json(name, text)


def _json(name: str, text: str) -> Iterator[dict[str, Any]]:
    value = parsed(name, text)
    if not isinstance(value, list):
        raise SourceError(f"{name}: expected a JSON list of objects, found {type(value).__name__}. {OUTCOME}")
    for number, row in enumerate(value, start=1):
        yield object_of(f"{name}, row {number}", row)
