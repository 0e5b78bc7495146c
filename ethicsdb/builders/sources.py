"""Reading source files row by row, with errors that say file, row, field and what to do."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ethicsdb.schemas.declared import DatasetDeclaration, Source
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import sha256_file

__all__ = ["SourceFile", "SourceRow", "locate", "read_rows"]

SAMPLE = "sample:"


@dataclass(frozen=True)
class SourceFile:
    """A source and the file that was found for it."""

    source: Source
    path: Path
    sha256: str


@dataclass(frozen=True)
class SourceRow:
    """A row as the file has it; `number` is 1 for the first data row."""

    file: str
    number: int
    cells: dict[str, Any]


def locate(dataset: DatasetDeclaration, given: Path | None) -> list[SourceFile]:
    """The files of a data set: those given with `--from`, or the declared paths.

    Args:
        given: a folder that holds the declared file names, or, for a data set of one file, that file.

    Raises:
        SourceError: a file is missing; the message says where the data set can be had.
    """
    found = []
    for source in dataset.sources:
        path = _path_of(dataset, source, given)
        if not path.is_file():
            where = f"get it at {dataset.homepage} and " if dataset.homepage else ""
            raise SourceError(
                f"{path}: no such file; {where}say where it is: ethicsdb build {dataset.name} --from PATH"
            )
        found.append(SourceFile(source, path, sha256_file(path)))
    return found


def _path_of(dataset: DatasetDeclaration, source: Source, given: Path | None) -> Path:
    if source.path.startswith(SAMPLE):
        return Path(str(files("ethicsdb.builders").joinpath("samples", source.path.removeprefix(SAMPLE))))
    if given is None:
        return Path(source.path)
    if given.is_dir():
        return given / source.path
    if len(dataset.sources) > 1:
        names = ", ".join(each.path for each in dataset.sources)
        raise SourceError(f"{given}: {dataset.name} has {len(dataset.sources)} files ({names}); give their folder")
    return given


def read_rows(file: SourceFile, needed: Sequence[str]) -> Iterator[SourceRow]:
    """Rows of a file in order.

    Args:
        needed: the columns that the declaration names.

    Raises:
        SourceError: the file can't be decoded or parsed, lacks a needed column, or has a ragged row.
    """
    text = _decode(file)
    name = file.path.name
    read = {"csv": _csv, "tsv": _csv, "jsonl": _jsonl, "json": _json}[file.source.format]
    for number, cells in enumerate(read(name, text, file.source.format), start=1):
        if number == 1 or file.source.format in ("jsonl", "json"):
            missing = [column for column in needed if column not in cells]
            if missing:
                raise SourceError(_missing(name, number, missing[0], list(cells), file.source.format))
        yield SourceRow(name, number, cells)


def _missing(name: str, number: int, column: str, present: list[str], form: str) -> str:
    where = f"{name}, row {number}" if form in ("jsonl", "json") else name
    return (
        f"{where}: column `{column}` is missing; the file has {', '.join(f'`{c}`' for c in present) or 'none'}. "
        "Rename the column, or map it in a declaration's `fields`. Nothing was loaded."
    )


def _decode(file: SourceFile) -> str:
    """The file's text. Bytes of a lone surrogate are kept (`surrogatepass`); any other fault is an error."""
    raw = file.path.read_bytes()
    encoding = file.source.encoding
    if raw.startswith(b"\xef\xbb\xbf") and encoding.lower().replace("-", "") == "utf8":
        raw = raw[3:]
    errors = "surrogatepass" if encoding.lower().startswith("utf") else "strict"
    try:
        return raw.decode(encoding, errors)
    except (UnicodeDecodeError, LookupError) as error:
        raise SourceError(_undecodable(file.path.name, raw, encoding, error)) from error


def _undecodable(name: str, raw: bytes, encoding: str, error: UnicodeDecodeError | LookupError) -> str:
    if isinstance(error, LookupError):
        return f"{name}: `{encoding}` is no encoding that Python knows; correct `encoding` in the declaration"
    line = raw.count(b"\n", 0, error.start) + 1
    looks = "it looks like UTF-16; " if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    return (
        f"{name}, line {line}: byte 0x{raw[error.start]:02x} is not {encoding}; {looks}save the file as UTF-8, "
        "or name its encoding in the declaration (`encoding: gb18030`, say). Nothing was loaded."
    )


def _csv(name: str, text: str, form: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(sys.maxsize)
    # newline="": line ends inside quoted cells are part of the text.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if form == "tsv" else ",", strict=True)
    header: list[str] | None = None
    number = 0
    try:
        for cells in reader:
            if header is None:
                header = _header(name, cells)
                continue
            if not cells:
                continue  # an empty line is no row
            number += 1
            if len(cells) != len(header):
                raise SourceError(
                    f"{name}, row {number} (line {reader.line_num}): {len(cells)} cells where the header has "
                    f"{len(header)}; put quotes around cells that hold a comma. Nothing was loaded."
                )
            yield dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise SourceError(
            f"{name}, row {number + 1} (line {reader.line_num}): not valid CSV ({error}); "
            "check its quotes. Nothing was loaded."
        ) from error
    if header is None:
        raise SourceError(f"{name}: the file is empty; expected a header and rows. Nothing was loaded.")


def _header(name: str, cells: list[str]) -> list[str]:
    doubled = sorted({cell for cell in cells if cells.count(cell) > 1})
    if doubled:
        raise SourceError(f"{name}: column `{doubled[0]}` stands twice in the header. Nothing was loaded.")
    return cells


def _jsonl(name: str, text: str, _form: str) -> Iterator[dict[str, Any]]:
    # Not splitlines(): a line of JSON may hold U+2028 or a form feed inside a string.
    for line_number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _object(name, line_number, line)


def _object(name: str, line_number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{name}, line {line_number}: not valid JSON ({error.msg} at column {error.colno}). Nothing was loaded."
        ) from error
    if not isinstance(value, dict):
        raise SourceError(
            f"{name}, line {line_number}: expected a JSON object, found {type(value).__name__}. Nothing was loaded."
        )
    return value


def _json(name: str, text: str, _form: str) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"{name}, line {error.lineno}: not valid JSON ({error.msg}). Nothing was loaded.") from error
    if not isinstance(value, list):
        raise SourceError(f"{name}: expected a JSON list of objects, found {type(value).__name__}. Nothing was loaded.")
    for number, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            raise SourceError(f"{name}, row {number}: expected a JSON object. Nothing was loaded.")
        yield row
