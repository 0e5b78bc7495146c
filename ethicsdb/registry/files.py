"""A source file's bytes, and what a file looks like that is not what it was taken for."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.formats import FORMAT_WORDS, Format

__all__ = ["Look", "looks_like", "read_bytes"]

ONE_OBJECT = "one JSON object"

# What files begin with that are no table of text, and what to do with them.
_SAVE = "save it as CSV, TSV, JSON lines or JSON"
_KINDS = (
    (b"PK\x03\x04", "an Excel workbook or another ZIP archive", _SAVE),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", _SAVE),
    (b"\x1f\x8b", "a gzip file", "let its name end in .gz"),
    (b"BZh", "a bzip2 file", "unpack it"),
    (b"\xfd7zXZ", "an xz file", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it"),
    (b"%PDF", "a PDF", _SAVE),
    (b"SQLite format 3", "an SQLite database", _SAVE),
    (b"version https://git-lfs", "a Git LFS pointer in place of the file", "`git lfs pull` fetches it"),
    (b"<", "a web page or XML", "get the file itself"),
)


class Look(NamedTuple):
    """What a file looks like."""

    words: str
    advice: str  # what to do with a file of another kind; empty for a plain format
    form: Format | None = None  # of a plain format


def read_bytes(path: Path, outcome: str) -> bytes:
    """The bytes of a file, unpacked where its name ends in `.gz`.

    Args:
        outcome: what a fault means: "Nothing was loaded."

    Raises:
        SourceError: it can't be read or unpacked.
    """
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.name.lower().endswith(".gz") else raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{path.name}: not a whole gzip file ({error}); get it again. {outcome}") from error
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}. {outcome}") from error


def looks_like(raw: bytes, form: Format | None) -> Look | None:
    """What a file that could not be read looks like; None where that is what it was read as, or can't be told.

    Args:
        form: what it was read as; None where a reader of its own read it.
    """
    if raw.startswith(b"PAR1"):
        return None if form == "parquet" else Look("a Parquet file", _SAVE if form is None else "", "parquet")
    start = raw.removeprefix(b"\xef\xbb\xbf").lstrip()
    for mark, words, advice in _KINDS:
        if start.startswith(mark):
            return Look(words, advice)
    if form is None:
        return None
    found = _json_form(start) if start[:1] in (b"{", b"[") else _delimited_form(start)
    # An object in one line is JSON lines with one row; of a broken list the first fault says more.
    if found in (None, form) or (found == ONE_OBJECT and form in ("jsonl", "json")):
        return None
    for known, words in FORMAT_WORDS.items():
        if found == known:
            return Look(words, "", known)
    return Look(found, f"save it as {FORMAT_WORDS[form]}")


def _json_form(start: bytes) -> str | None:
    line, _, rest = start.partition(b"\n")
    first = _value(line)
    if isinstance(first, dict):
        return "jsonl" if rest.strip() else ONE_OBJECT
    if isinstance(first, list) and rest.strip():
        return "lines of JSON lists"
    whole = first if first is not None else _value(start)
    if isinstance(whole, list):
        return "json" if any(isinstance(each, dict) for each in whole) else None
    return "one JSON object over several lines" if isinstance(whole, dict) else None


def _value(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _delimited_form(start: bytes) -> str | None:
    """By the header's delimiters: the text below may hold any of them."""
    header = start.partition(b"\n")[0]
    commas, tabs, semicolons = header.count(b","), header.count(b"\t"), header.count(b";")
    if tabs > commas:
        return "tsv"
    if semicolons > commas:
        return "text separated by semicolons"
    return "csv" if commas > tabs else None
