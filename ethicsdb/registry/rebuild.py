"""Making the database anew from declarations and journals, and proving that it is the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ethicsdb.registry import journal
from ethicsdb.registry.ingest import ingest
from ethicsdb.registry.mirror import MirrorRows
from ethicsdb.registry.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["checksums", "folded_copy", "rebuild"]

# What a file knows of itself is no content: when it was migrated, and how far it has read.
OWN_TABLES = ("migration", "journal", "meta")


def checksums(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    """Table name: (rows, checksum). The order of rows does not matter, their repetition does."""
    found = {}
    tables = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
    ).fetchall()
    for (table,) in tables:
        if table in OWN_TABLES:
            continue
        row = connection.execute(
            f'SELECT count(*), coalesce(sum(hash(each)::HUGEINT), 0)::VARCHAR FROM "{table}" each'
        ).fetchone()
        assert row is not None
        found[table] = (int(row[0]), str(row[1]))
    return found


@contextmanager
def folded_copy(store: Store, rows: MirrorRows) -> Iterator[Store]:
    """A temporary database that holds what the journals hold."""
    with tempfile.TemporaryDirectory(prefix="ethicsdb-") as folder:
        copy = Store(Path(folder) / store.path.name)
        copy.journals.mkdir()
        for path in journal.paths(store.journals):
            shutil.copyfile(path, copy.journals / path.name)
        ingest(copy, rows)
        yield copy


def rebuild(store: Store, rows: MirrorRows) -> dict[str, tuple[int, str]]:
    """Replace the database file by one made from the journals; returns the new file's checksums.

    The old file is replaced only when the new one is whole, under the writers' lock.
    """
    with folded_copy(store, rows) as copy:
        with copy.reader() as connection:
            sums = checksums(connection)
        fresh = store.path.with_name(f".{store.path.name}.rebuilt")
        shutil.copyfile(copy.path, fresh)
    with store.exclusive():
        fresh.replace(store.path)
        store.path.with_name(store.path.name + ".wal").unlink(missing_ok=True)
    # Journals may have grown meanwhile.
    ingest(store, rows)
    return sums
