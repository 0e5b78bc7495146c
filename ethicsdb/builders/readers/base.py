"""What readers share: a source's file, the flat rows that they yield, what they note on the way, strict parsing."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethicsdb.builders.report import Severity
from ethicsdb.registry import records
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.tabular import decode
from ethicsdb.schemas.declared import Source
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.formats import Format, format_of

__all__ = [
    "OUTCOME",
    "Note",
    "Reader",
    "SourceFile",
    "SourceRow",
    "field_of",
    "json_text",
    "literal",
    "object_of",
    "objects",
    "parsed",
    "records_of",
    "text_of",
]

OUTCOME = "Nothing was loaded."
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # one for all rows


@dataclass(frozen=True)
class SourceFile:
    """A source and the files that were found for it."""

    source: Source
    path: Path
    sha256: str
    companion: Path | None = None  # the file that the reader joins to the rows
    companion_sha256: str | None = None

    @property
    def form(self) -> Format:
        """How the file holds its rows: as declared, or else as its own name ends, or the declared one."""
        return self.source.format or format_of(self.path.name) or format_of(self.source.path) or "csv"


@dataclass(frozen=True)
class Note:
    """What a reader found; it goes to `build_report`."""

    severity: Severity
    code: str
    detail: str
    column: str | None = None
    place: tuple[str, int | None] | None = None  # (file, row) where it is not the row's own place


@dataclass(frozen=True)
class SourceRow:
    """A row as the file has it; `number` is 1 for the first data row."""

    file: str
    number: int
    cells: dict[str, Any]
    notes: tuple[Note, ...] = ()


Reader = Callable[[SourceFile], Iterator[SourceRow]]


def text_of(file: SourceFile) -> str:
    """The text of a source's file in its declared encoding. Raises SourceError where it is not of that encoding."""
    if file.form == "parquet":
        raise SourceError(
            f"{file.path.name}: the reader `{file.source.reader}` reads no Parquet; save it as the text that was "
            f"published. {OUTCOME}"
        )
    return decode(file.path.name, read_bytes(file.path, OUTCOME), file.source.encoding, OUTCOME)


def records_of(file: SourceFile) -> Iterator[dict[str, Any]]:
    """Rows of a source's file in its plain format, as values by column. Raises SourceError."""
    raw = read_bytes(file.path, OUTCOME)
    return records.read_records(file.path.name, raw, file.form, OUTCOME, file.source.encoding)


def parsed(where: str, text: str) -> Any:
    """A JSON value in which no key stands twice. Raises SourceError; the message begins with `where`."""
    return records.parsed(where, text, OUTCOME)


def object_of(where: str, value: Any) -> dict[str, Any]:
    """The value, which must be a JSON object. Raises SourceError."""
    return records.object_of(where, value, OUTCOME)


def objects(name: str, text: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, empty lines aside. Raises SourceError with the line."""
    return records.objects(name, text, OUTCOME)


def field_of(where: str, record: dict[str, Any], name: str, kind: type | tuple[type, ...] = str) -> Any:
    """A field of a JSON object, which must be there and of that type; a bool is no number.

    Raises:
        SourceError: it is missing or of another type.
    """
    if name not in record:
        raise SourceError(
            f"{where}: `{name}` is missing; there are {', '.join(map(repr, record)) or 'none'}. {OUTCOME}"
        )
    value = record[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(each.__name__ for each in kinds)
        raise SourceError(f"{where}, field `{name}`: expected {wanted}, found {type(value).__name__}. {OUTCOME}")
    return value


def literal(text: str) -> Any:
    """The value of a cell that holds JSON or a Python literal; nothing in it is ever run.

    Raises:
        ValueError: it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of escapes such as `\d` inside the text
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError(f"neither JSON nor a Python literal: {type(error).__name__}") from error


def json_text(value: Any) -> str:
    """JSON text of a value for a column: readable characters as they are, lone surrogates as escapes."""
    text = _ENCODER.encode(value)
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
