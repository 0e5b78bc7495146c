"""Reading delimited text strictly: a file is read as it is, or refused with file, row, line and how to mend it."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from typing import Any

from ethicsdb.schemas.errors import SourceError

__all__ = ["decode", "read_delimited"]


def decode(name: str, raw: bytes, encoding: str, outcome: str) -> str:
    """The text of a file, without a byte order mark.

    Bytes of a lone surrogate are kept in the UTF encodings (`surrogatepass`); any other fault is an error.

    Args:
        name: the file's name, for the message.
        outcome: what a fault means: "Nothing was loaded."

    Raises:
        SourceError: the bytes are not of that encoding.
    """
    errors = "surrogatepass" if encoding.lower().startswith("utf") else "strict"
    try:
        return raw.decode(encoding, errors).removeprefix("\ufeff")
    except ValueError as error:  # UnicodeError is one
        raise SourceError(f"{name}{_fault(raw, encoding, error)} {outcome}") from error


def _fault(raw: bytes, encoding: str, error: ValueError) -> str:
    if not isinstance(error, UnicodeDecodeError):
        return f": the text is not {encoding} ({error}); correct `encoding` in the declaration."
    looks = "it looks like UTF-16; " if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    line = raw.count(b"\n", 0, error.start) + 1
    byte = f"byte 0x{raw[error.start]:02x}" if error.start < len(raw) else "the end"
    return (
        f", line {line}: {byte} is not {encoding}; {looks}save the file as UTF-8, or name its encoding in the "
        "declaration (`encoding: gb18030`, say)."
    )


def read_delimited(name: str, text: str, delimiter: str, outcome: str) -> Iterator[dict[str, Any]]:
    """Rows below the header, as cells by column name. Line ends inside quoted cells are part of the text.

    Args:
        outcome: what a fault means: "Nothing was loaded."

    Raises:
        SourceError: there is no header, a column stands twice in it, a row has another number of cells, or quotes do
            not match.
    """
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    number, line = 0, 1
    try:
        for cells in reader:
            if header is None:
                header = _header(name, cells, outcome)
            elif cells:  # an empty line is no row
                number += 1
                if len(cells) != len(header):
                    raise SourceError(
                        f"{name}, row {number} (line {line}): {len(cells)} cells where the header has {len(header)}; "
                        f"put quotes around cells that hold a delimiter or a line end. {outcome}"
                    )
                yield dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        what = "a quote is opened and never closed" if "end of data" in str(error) else str(error)
        raise SourceError(f"{name}, row {number + 1} (line {line}): not valid CSV ({what}). {outcome}") from error
    if header is None:
        raise SourceError(f"{name}: the file is empty; expected a header and rows. {outcome}")


def _header(name: str, cells: list[str], outcome: str) -> list[str]:
    doubled = sorted({cell for cell in cells if cells.count(cell) > 1})
    if doubled:
        raise SourceError(f"{name}: column `{doubled[0]}` stands twice in the header; rename one. {outcome}")
    return cells
