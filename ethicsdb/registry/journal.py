"""Journals: what happened is on disk before anything uses it.

A journal is a file of JSON lines, one stage's own, named by the stage's fingerprint. Each line is a batch of rows for
one table: `{"table": ..., "columns": [...], "rows": [[...], ...]}`. The database is a fold over all journals, which is
why `ethicsdb rebuild` can make it anew. Lines are pure ASCII, so that a lone surrogate travels as its escape.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Batch", "Journal", "batches", "journal_lock", "read_lines", "write_whole"]

ROWS_A_LINE = 2000
SUFFIX = ".jsonl"


class Batch(NamedTuple):
    """Rows for one table."""

    table: str
    columns: tuple[str, ...]
    rows: list[list[Any]]

    def line(self) -> bytes:
        """The journal line of this batch, newline included."""
        body = {"table": self.table, "columns": self.columns, "rows": self.rows}
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))


def batches(table: str, records: Iterable[dict[str, Any]], size: int = ROWS_A_LINE) -> Iterator[Batch]:
    """Group records that share their columns into batches of at most `size` rows."""
    columns: tuple[str, ...] = ()
    rows: list[list[Any]] = []
    for record in records:
        if tuple(record) != columns or len(rows) == size:
            if rows:
                yield Batch(table, columns, rows)
            columns, rows = tuple(record), []
        rows.append(list(record.values()))
    if rows:
        yield Batch(table, columns, rows)


def journal_name(stage: str, *parts: str) -> str:
    """A file name for a stage: readable, and safe on every file system."""
    return "-".join(re.sub(r"[^A-Za-z0-9_.]+", "_", part)[:60] for part in (stage, *parts)) + SUFFIX


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
    """Write a journal that appears complete or not at all, for stages that cost nothing to repeat."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        for batch in batches_:
            stream.write(batch.line())
        stream.flush()
        os.fsync(stream.fileno())
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
        self._stream = path.open("ab")
        if new:
            _sync_folder(path.parent)

    def append(self, found: Iterable[Batch], *, sync: bool = True) -> None:
        """Write batches; with `sync` they are on the disk when this returns."""
        for batch in found:
            self._stream.write(batch.line())
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
        position = size
        while position > 0:
            step = min(1 << 16, position)
            stream.seek(position - step)
            found = stream.read(step).rfind(b"\n")
            if found >= 0:
                position = position - step + found + 1
                break
            position -= step
        if position < size:
            stream.truncate(position)
            os.fsync(stream.fileno())
        return size - position


def read_lines(path: Path, offset: int = 0) -> Iterator[tuple[int, Batch]]:
    """Complete lines from a byte offset on, each with the offset after it; a torn last line is left alone."""
    with path.open("rb") as stream:
        stream.seek(offset)
        for line in stream:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            body = json.loads(line)
            yield offset, Batch(body["table"], tuple(body["columns"]), body["rows"])


def paths(folder: Path) -> list[Path]:
    """All journals, in the order in which a rebuild reads them."""
    return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


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
