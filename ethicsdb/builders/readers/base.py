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
from ethicsdb.registry.tabular import decode
from ethicsdb.schemas.declared import Source
from ethicsdb.schemas.errors import SourceError

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
    "read_bytes",
    "text_of",
]

OUTCOME = "Nothing was loaded."
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class SourceFile:
    """A source and the files that were found for it."""

    source: Source
    path: Path
    sha256: str
    companion: Path | None = None  # the file that the reader joins to the rows
    companion_sha256: str | None = None


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


def read_bytes(path: Path) -> bytes:
    """The bytes of a file. Raises SourceError where it can't be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}. {OUTCOME}") from error


def text_of(file: SourceFile) -> str:
    """The text of a source's file in its declared encoding. Raises SourceError where it is not of that encoding."""
    return decode(file.path.name, read_bytes(file.path), file.source.encoding, OUTCOME)


def parsed(where: str, text: str) -> Any:
    """A JSON value in which no key stands twice.

    Raises:
        SourceError: it is not such JSON; the message begins with `where`.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise SourceError(f"{where}: not valid JSON ({error.msg} at {place}column {error.colno}). {OUTCOME}") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not readable JSON ({error}). {OUTCOME}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which a doubled key is an error instead of the last one silently winning."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(name for name in names if names.count(name) > 1)}` stands twice in one object")
    return found


# One of each for all rows: making them anew takes longer than their work on a short text.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def object_of(where: str, value: Any) -> dict[str, Any]:
    """The value, which must be a JSON object. Raises SourceError."""
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a JSON object, found {type(value).__name__}. {OUTCOME}")
    return value


def objects(name: str, text: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, empty lines aside. Raises SourceError with the line."""
    # Not splitlines(): a line of JSON may hold U+2028 or a form feed inside a string.
    for line_number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{name}, line {line_number}"
            yield object_of(where, parsed(where, line))


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
