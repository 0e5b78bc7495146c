"""A source file's bytes, and what a file looks like that is not what it was taken for."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.formats import FORMAT_WORDS, Format

__all__ = ["mistaken", "read_bytes"]

# What files begin with that are no table of text. Of ZIP archives, workbooks are those that people mistake for one.
_KINDS = (
    (b"PK\x03\x04", "an Excel workbook or another ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x1f\x8b", "a gzip file; let its name end in .gz"),
    (b"BZh", "a bzip2 file; unpack it"),
    (b"\xfd7zXZ", "an xz file; unpack it"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; unpack it"),
    (b"PAR1", "a Parquet file"),
    (b"%PDF", "a PDF"),
    (b"SQLite format 3", "an SQLite database"),
    (b"version https://git-lfs", "a Git LFS pointer in place of the file; `git lfs pull` fetches it"),
    (b"<", "a web page or XML"),
)


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


def mistaken(raw: bytes, form: Format | None) -> str | None:
    """What a file that could not be read looks like, with what to do; None where it looks like what it was read as.

    Args:
        form: what it was read as; None where a reader of its own read it.
    """
    start = raw.removeprefix(b"\xef\xbb\xbf").lstrip()
    kind = next((words for mark, words in _KINDS if start.startswith(mark)), None)
    if kind is not None:
        advice = "" if ";" in kind else "; save it as CSV, TSV, JSON lines or JSON"
        return f"it looks like {kind}{advice}"
    if form is None:
        return None
    found = _json_form(start) if start[:1] in (b"{", b"[") else _delimited_form(start)
    # An object in one line is JSON lines with one row; of a broken list the first fault says more.
    if found in (None, form) or (found == "one JSON object" and form in ("jsonl", "json")):
        return None
    if found in FORMAT_WORDS:
        told = f"it looks like {FORMAT_WORDS[found]}; let its name end in .{found}"
        return f"{told}, or say `format: {found}` where the file is declared"
    return f"it looks like {found}; save it as {FORMAT_WORDS[form]}"


def _json_form(start: bytes) -> str | None:
    line, _, rest = start.partition(b"\n")
    first = _value(line)
    if isinstance(first, dict):
        return "jsonl" if rest.strip() else "one JSON object"
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
