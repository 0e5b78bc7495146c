"""Journals: what happened is on disk before anything uses it.

A journal is a file of JSON lines, one stage's own, named by the stage's fingerprint. Each line is a batch of rows for
one table: `{"sum": ..., "table": ..., "columns": [...], "rows": [[...], ...]}`. The database is a fold over all
journals, which is why `ethicsdb rebuild` can make it anew. Lines are ASCII: a lone surrogate travels as its escape.

`sum` is a checksum of the line and of the sum before it, so that a line that was altered, removed or moved is noticed.
Lines without one stand only before all that have one: earlier versions wrote none.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ethicsdb.registry.journal_order import SUFFIX, enlist
from ethicsdb.schemas.errors import StoreError

__all__ = [
    "Batch",
    "Journal",
    "batches",
    "journal_lock",
    "journal_name",
    "read_lines",
    "read_tables",
    "write_whole",
]

ROWS_A_LINE = 2000
CHARACTERS_A_LINE = 4_000_000
_START = b'{"sum":"'
_SUM_LENGTH = 16  # hexadecimal digits


class Batch(NamedTuple):
    """Rows for one table."""

    table: str
    columns: tuple[str, ...]
    rows: list[list[Any]]

    def line(self, before: bytes) -> bytes:
        """The journal line of this batch, newline included, after a line with the sum `before` (none: empty)."""
        body = {"table": self.table, "columns": self.columns, "rows": self.rows}
        text = json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")
        return b"".join((_START, _sum(before, text), b'",', memoryview(text)[1:], b"\n"))

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))


def _sum(before: bytes, *parts: bytes | memoryview) -> bytes:
    found = hashlib.blake2b(before, digest_size=_SUM_LENGTH // 2)
    for part in parts:  # rather than joined: lines are long
        found.update(part)
    return found.hexdigest().encode("ascii")


def _sum_of(line: bytes) -> bytes:
    """The sum that a line says it has; empty where it has none."""
    return line[len(_START) : len(_START) + _SUM_LENGTH] if line.startswith(_START) else b""


def _fits(line: bytes, before: bytes) -> bool:
    """Whether a line is as it was written, after the line that it was written after."""
    told = _sum_of(line)
    if not told:
        return not before
    return told == _sum(before, b"{", memoryview(line)[len(_START) + _SUM_LENGTH + 2 : -1])


def batches(table: str, records: Iterable[dict[str, Any]], size: int = ROWS_A_LINE) -> Iterator[Batch]:
    """Group records that share their columns into batches of at most `size` rows, fewer where their texts are long."""
    columns: tuple[str, ...] = ()
    rows: list[list[Any]] = []
    held = 0
    for record in records:
        if tuple(record) != columns or len(rows) == size or held > CHARACTERS_A_LINE:
            if rows:
                yield Batch(table, columns, rows)
            columns, rows, held = tuple(record), [], 0
        values = list(record.values())
        rows.append(values)
        held += sum([len(value) for value in values if type(value) is str])
    if rows:
        yield Batch(table, columns, rows)


def journal_name(stage: str, *parts: str) -> str:
    """A file name for a stage: readable, safe on every file system, and different for different parts."""
    return "-".join(_safe(part) for part in (stage, *parts)) + SUFFIX


def _safe(part: str) -> str:
    safe = re.sub(r"[^a-z0-9_.]+", "_", part)[:60]
    if safe == part:
        return part
    return f"{safe}~{hashlib.blake2b(part.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


@contextmanager
def journal_lock(folder: Path, name: str) -> Iterator[bool]:
    """Hold a stage: a second, identical command waits here and then finds the work done.

    Yields:
        Whether there was a wait.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{name}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    waited = False
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = True
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield waited
    finally:
        os.close(descriptor)


def write_whole(path: Path, batches_: Iterable[Batch]) -> None:
    """Write a journal that appears complete or not at all, for stages that cost nothing to repeat.

    Raises:
        StoreError: it is there already; what a journal holds is never replaced.
    """
    if path.exists():
        raise StoreError(f"{path} is there already and is never overwritten; `ethicsdb rebuild` reads it again")
    partial = path.with_name(f".{path.name}.partial")
    before = b""
    with partial.open("wb") as stream:
        for batch in batches_:
            line = batch.line(before)
            before = _sum_of(line)
            stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())
    enlist(path)
    partial.replace(path)
    _sync_folder(path.parent)


class Journal:
    """An open journal of a stage that pays for its rows one at a time; hold its `journal_lock`.

    Opening drops a torn last line (what a kill left half written) and says so in `torn`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = _drop_torn_line(path)
        new = not path.exists()
        if new:
            enlist(path)
        self._before = b"" if new else _last_sum(path, path.stat().st_size)
        self._stream = path.open("ab")
        if new:
            _sync_folder(path.parent)

    def append(self, found: Iterable[Batch], *, sync: bool = True) -> None:
        """Write batches; with `sync` they are on the disk when this returns."""
        for batch in found:
            line = batch.line(self._before)
            self._before = _sum_of(line)
            self._stream.write(line)
        self._stream.flush()
        if sync:
            self.sync()

    def sync(self) -> None:
        """Put all that was appended on the disk."""
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Sync and close."""
        if not self._stream.closed:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()


def _drop_torn_line(path: Path) -> int:
    """Cut an unfinished last line; returns the number of bytes dropped."""
    if not path.exists():
        return 0
    with path.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        position = _line_start(stream, size)
        if position < size:
            stream.truncate(position)
            os.fsync(stream.fileno())
        return size - position


def _line_start(stream: BinaryIO, end: int) -> int:
    """Where the line that reaches to `end` starts: after the last line end before it."""
    position = end
    while position > 0:
        step = min(1 << 16, position)
        stream.seek(position - step)
        found = stream.read(step).rfind(b"\n")
        if found >= 0:
            return position - step + found + 1
        position -= step
    return 0


def _last_sum(path: Path, end: int) -> bytes:
    """The sum of the whole line that ends at `end`; empty at the file's beginning, or where the line has none."""
    if end == 0:
        return b""
    with path.open("rb") as stream:
        stream.seek(_line_start(stream, end - 1))
        return _sum_of(stream.read(len(_START) + _SUM_LENGTH))


def read_lines(path: Path, offset: int = 0) -> Iterator[tuple[int, Batch]]:
    """Complete lines from a byte offset on, each with the offset after it; a torn last line is left alone.

    Raises:
        StoreError: a line was changed, removed or moved by something else than this package.
    """
    before = _last_sum(path, offset)
    with path.open("rb") as stream:
        stream.seek(offset)
        for line in stream:
            if not line.endswith(b"\n"):
                return
            batch = _batch(line) if _fits(line, before) else None
            if batch is None:
                raise StoreError(
                    f"{path}: line {_number(path, offset)} is damaged, or lines before it are missing; put the file "
                    "back from a copy. What was read before is still in the database."
                )
            before = _sum_of(line)
            offset += len(line)
            yield offset, batch


def _number(path: Path, offset: int) -> int:
    """The number of the line at an offset, 1 for the first."""
    with path.open("rb") as stream:
        return 1 + stream.read(offset).count(b"\n")


def _batch(line: bytes) -> Batch | None:
    try:
        body = json.loads(line)
        if "sum" in body and not _sum_of(line):
            return None  # written again by another program: its sum no longer says anything
        batch = Batch(body["table"], tuple(body["columns"]), body["rows"])
        return batch if all(len(row) == len(batch.columns) for row in batch.rows) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def read_tables(path: Path, tables: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records of some tables in a journal."""
    if path.exists():
        for _, batch in read_lines(path):
            if batch.table in tables:
                for record in batch.records():
                    yield batch.table, record


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
