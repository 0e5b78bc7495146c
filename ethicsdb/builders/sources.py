"""Reading source files row by row, with errors that say file, row, field and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ethicsdb.registry.tabular import decode, read_delimited
from ethicsdb.schemas.declared import DatasetDeclaration, Source
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import sha256_file

__all__ = ["OUTCOME", "SourceFile", "SourceRow", "locate", "read_rows"]

SAMPLE = "sample:"
OUTCOME = "Nothing was loaded."


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
        found.append(SourceFile(source, path, _sha256(path)))
    return found


def _sha256(path: Path) -> str:
    try:
        return sha256_file(path)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}. {OUTCOME}") from error


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
        SourceError: the file can't be decoded or parsed, has no rows, lacks a needed column, or has a ragged row.
    """
    name, form = file.path.name, file.source.format
    text = decode(name, _bytes(file.path), file.source.encoding, OUTCOME)
    number = 0
    for number, cells in enumerate(_records(name, text, form), start=1):
        if number == 1 or form in ("jsonl", "json"):
            missing = [column for column in needed if column not in cells]
            if missing:
                raise SourceError(_missing(name, number, missing[0], list(cells), form))
        yield SourceRow(name, number, cells)
    if not number:
        raise SourceError(f"{name}: there are no rows in it. {OUTCOME}")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}. {OUTCOME}") from error


def _missing(name: str, number: int, column: str, present: list[str], form: str) -> str:
    where = f"{name}, row {number}" if form in ("jsonl", "json") else name
    return (
        f"{where}: column `{column}` is missing; the file has {', '.join(f'`{c}`' for c in present) or 'none'}. "
        f"Rename the column, or map it in a declaration's `fields`. {OUTCOME}"
    )


def _records(name: str, text: str, form: str) -> Iterator[dict[str, Any]]:
    if form in ("csv", "tsv"):
        return read_delimited(name, text, "\t" if form == "tsv" else ",", OUTCOME)
    return _jsonl(name, text) if form == "jsonl" else _json(name, text)


def _jsonl(name: str, text: str) -> Iterator[dict[str, Any]]:
    # Not splitlines(): a line of JSON may hold U+2028 or a form feed inside a string.
    for line_number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _object(f"{name}, line {line_number}", _parsed(f"{name}, line {line_number}", line))


def _json(name: str, text: str) -> Iterator[dict[str, Any]]:
    value = _parsed(name, text)
    if not isinstance(value, list):
        raise SourceError(f"{name}: expected a JSON list of objects, found {type(value).__name__}. {OUTCOME}")
    for number, row in enumerate(value, start=1):
        yield _object(f"{name}, row {number}", row)


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique)
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


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a JSON object, found {type(value).__name__}. {OUTCOME}")
    return value
