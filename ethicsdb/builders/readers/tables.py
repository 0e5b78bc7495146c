"""The plain formats: delimited text, JSON lines, a JSON list of objects."""

from __future__ import annotations

from collections.abc import Iterator

from ethicsdb.builders.readers.base import OUTCOME, SourceFile, SourceRow, text_of
from ethicsdb.registry.records import read_records

__all__ = ["read_table"]


def read_table(file: SourceFile) -> Iterator[SourceRow]:
    """Rows of a file in its format, as they are."""
    name = file.path.name
    for number, cells in enumerate(read_records(name, text_of(file), file.form, OUTCOME), start=1):
        yield SourceRow(name, number, cells)
