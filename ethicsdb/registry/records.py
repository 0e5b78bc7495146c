"""Rows of a plain table (delimited text, JSON lines, a JSON list, Parquet), read strictly or refused by place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ethicsdb.registry.tabular import decode, read_delimited
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.formats import Format

__all__ = ["object_of", "objects", "parsed", "read_records"]


def read_records(
    name: str, raw: bytes, form: Format, outcome: str, encoding: str = "utf-8"
) -> Iterator[dict[str, Any]]:
    """Rows of a table in order, as values by column name; cells of delimited text are texts.

    Args:
        name: the file's name, for messages.
        outcome: what a fault means: "Nothing was loaded."
        encoding: of the text; Parquet has its own.

    Raises:
        SourceError: the bytes are not of that format or encoding.
    """
    if form == "parquet":
        return _parquet(name, raw, outcome)
    text = decode(name, raw, encoding, outcome)
    if form in ("csv", "tsv"):
        return read_delimited(name, text, "\t" if form == "tsv" else ",", outcome)
    return objects(name, text, outcome) if form == "jsonl" else _listed(name, text, outcome)


def objects(name: str, text: str, outcome: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, empty lines aside. Raises SourceError with the line."""
    # Not splitlines(): a line of JSON may hold U+2028 or a form feed inside a string.
    for line_number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{name}, line {line_number}"
            yield object_of(where, parsed(where, line, outcome), outcome)


def _listed(name: str, text: str, outcome: str) -> Iterator[dict[str, Any]]:
    value = parsed(name, text, outcome)
    if not isinstance(value, list):
        raise SourceError(f"{name}: expected a JSON list of objects, found {type(value).__name__}. {outcome}")
    for number, row in enumerate(value, start=1):
        yield object_of(f"{name}, row {number}", row, outcome)


def _parquet(name: str, raw: bytes, outcome: str) -> Iterator[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(raw))
        columns = file.schema_arrow.names
        doubled = [column for column in columns if columns.count(column) > 1]
        if doubled:
            raise SourceError(f"{name}: column `{doubled[0]}` stands twice; rename one. {outcome}")
        for batch in file.iter_batches():
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise SourceError(f"{name}: not readable Parquet ({' '.join(str(error).split())}). {outcome}") from error


def object_of(where: str, value: Any, outcome: str) -> dict[str, Any]:
    """The value, which must be a JSON object. Raises SourceError."""
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a JSON object, found {type(value).__name__}. {outcome}")
    return value


def parsed(where: str, text: str, outcome: str) -> Any:
    """A JSON value in which no key stands twice.

    Raises:
        SourceError: it is not such JSON; the message begins with `where`.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise SourceError(f"{where}: not valid JSON ({error.msg} at {place}column {error.colno}). {outcome}") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not readable JSON ({error}). {outcome}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which a doubled key is an error instead of the last one silently winning."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(name for name in names if names.count(name) > 1)}` stands twice in one object")
    return found


# One for all rows: making it anew takes longer than its work on a short text.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
