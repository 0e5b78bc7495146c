"""Finding source files and reading them row by row, with errors that say file, row, field and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from ethicsdb.builders.readers.association import read_association
from ethicsdb.builders.readers.base import OUTCOME, Note, Reader, SourceFile, SourceRow
from ethicsdb.builders.readers.bbq import read_bbq
from ethicsdb.builders.readers.eagle import read_eagle
from ethicsdb.builders.readers.moca import read_moca
from ethicsdb.builders.readers.opinionqa import read_opinionqa
from ethicsdb.builders.readers.pairs import read_crows_pairs, read_reddit_pairs, read_stereoset
from ethicsdb.builders.readers.prompts import read_toxigen
from ethicsdb.builders.readers.redditbias import read_redditbias
from ethicsdb.builders.readers.safety_prompts import read_safety_prompts
from ethicsdb.builders.readers.tables import read_table
from ethicsdb.builders.readers.toxigen import read_toxigen_annotated, read_toxigen_generations
from ethicsdb.registry.files import looks_like, read_bytes
from ethicsdb.schemas.declared import DatasetDeclaration, ReaderName, Source
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import sha256_file
from ethicsdb.schemas.formats import FORMAT_WORDS

__all__ = ["OUTCOME", "READERS", "Note", "SourceFile", "SourceRow", "locate", "read_rows"]

SAMPLE = "sample:"
# By the name that a declaration gives; a source without one is a plain table.
READERS: dict[ReaderName, Reader] = {
    "association": read_association,
    "bbq": read_bbq,
    "crows_pairs": read_crows_pairs,
    "eagle": read_eagle,
    "moca": read_moca,
    "opinionqa": read_opinionqa,
    "redditbias": read_redditbias,
    "redditbias_pairs": read_reddit_pairs,
    "safety_prompts": read_safety_prompts,
    "stereoset": read_stereoset,
    "toxigen": read_toxigen,
    "toxigen_annotated": read_toxigen_annotated,
    "toxigen_generations": read_toxigen_generations,
}


def locate(dataset: DatasetDeclaration, given: Path | None) -> list[SourceFile]:
    """The files of a data set: those given with `--from`, or the declared paths.

    Args:
        given: a folder that holds the declared file names, or, for a data set of one file, that file.

    Raises:
        SourceError: a file is missing; the message says where the data set can be had.
    """
    marks: dict[Path, str] = {}  # several sources may share a companion
    found = []
    for source in dataset.sources:
        path = _present(dataset, source.path, given)
        beside = _beside(dataset, source, given)
        for each in (path, beside):
            if each is not None and each not in marks:
                marks[each] = _sha256(each)
        found.append(SourceFile(source, path, marks[path], beside, marks[beside] if beside else None))
    return found


def _present(dataset: DatasetDeclaration, declared: str, given: Path | None) -> Path:
    path = _path_of(dataset, declared, given)
    if not path.is_file():
        where = f"get it at {dataset.homepage} and " if dataset.homepage else ""
        raise SourceError(f"{path}: no such file; {where}say where it is: ethicsdb build {dataset.name} --from PATH")
    return path


def _beside(dataset: DatasetDeclaration, source: Source, given: Path | None) -> Path | None:
    """The companion's file; it stands in the folder of a file that was given alone."""
    if source.companion is None:
        return None
    return _present(dataset, source.companion, given.parent if given is not None and given.is_file() else given)


def _sha256(path: Path) -> str:
    try:
        return sha256_file(path)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}. {OUTCOME}") from error


def _path_of(dataset: DatasetDeclaration, declared: str, given: Path | None) -> Path:
    if declared.startswith(SAMPLE):
        return Path(str(files("ethicsdb.builders").joinpath("samples", declared.removeprefix(SAMPLE))))
    if given is None:
        return Path(declared)
    if given.is_dir():
        return given / declared
    if len(dataset.sources) > 1:
        names = ", ".join(each.path for each in dataset.sources)
        raise SourceError(f"{given}: {dataset.name} has {len(dataset.sources)} files ({names}); give their folder")
    return given


def read_rows(file: SourceFile, needed: Sequence[str]) -> Iterator[SourceRow]:
    """Rows of a file in order, read by the source's reader, or as a plain table of its format.

    Args:
        needed: the columns that the declaration names.

    Raises:
        SourceError: the file can't be decoded or parsed, has no rows, lacks a needed column, has a ragged row,
            or is of another kind than it was taken for.
    """
    try:
        yield from _rows(file, needed)
    except SourceError as error:
        form = None if file.source.reader and file.form != "parquet" else file.form
        look = looks_like(read_bytes(file.path, OUTCOME), form)
        if look is None:
            raise
        taken = f"taken for {FORMAT_WORDS[form]}, but it" if form else "not the file that was expected; it"
        advice = look.advice or f"let its name end in .{look.form}, or declare `format: {look.form}`"
        raise SourceError(f"{file.path.name}: {taken} looks like {look.words}; {advice}. {OUTCOME}") from error


def _rows(file: SourceFile, needed: Sequence[str]) -> Iterator[SourceRow]:
    name, form, reader = file.path.name, file.form, file.source.reader
    in_each_row = reader is None and form in ("jsonl", "json")
    number = 0
    for number, row in enumerate(READERS[reader](file) if reader else read_table(file), start=1):
        if number == 1 or in_each_row:
            missing = [column for column in needed if column not in row.cells]
            if missing:
                where = f"{name}, row {number}" if in_each_row else name
                raise SourceError(_missing(where, missing[0], list(row.cells)))
        yield row
    if not number:
        raise SourceError(f"{name}: there are no rows in it. {OUTCOME}")


def _missing(where: str, column: str, present: list[str]) -> str:
    return (
        f"{where}: column `{column}` is missing; the file has {', '.join(f'`{c}`' for c in present) or 'none'}. "
        f"Rename the column, or map it in a declaration's `fields`. {OUTCOME}"
    )
