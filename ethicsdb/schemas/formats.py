"""The plain formats that a file's rows may stand in, and how a file's name tells which."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal

__all__ = ["FORMAT_WORDS", "Format", "format_of", "plain_name"]

Format = Literal["csv", "tsv", "jsonl", "json", "parquet"]
FORMAT_WORDS: dict[Format, str] = {
    "csv": "CSV (comma-separated text)",
    "tsv": "TSV (tab-separated text)",
    "jsonl": "JSON lines (an object a line)",
    "json": "JSON (one list of objects)",
    "parquet": "Parquet",
}
_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}


def plain_name(name: str) -> str:
    """A file's name without the `.gz` of a compressed one."""
    return name[:-3] if name.lower().endswith(".gz") else name


def format_of(name: str) -> Format | None:
    """The format that a file's name ends in, a `.gz` aside; None where its ending says nothing."""
    return _ENDINGS.get(PurePath(plain_name(name)).suffix.lower())
