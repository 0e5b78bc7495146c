"""The plain formats: delimited text, JSON lines, a JSON list of objects, Parquet."""

from __future__ import annotations

from collections.abc import Iterator

from ethicsdb.builders.readers.base import SourceFile, SourceRow, records_of

__all__ = ["read_table"]


def read_table(file: SourceFile) -> Iterator[SourceRow]:
    """Rows of a file in its format, as they are."""
    name = file.path.name
    for number, cells in enumerate(records_of(file), start=1):
        yield SourceRow(name, number, cells)
