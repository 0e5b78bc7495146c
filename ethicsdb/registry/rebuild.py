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
from ethicsdb.registry.store import DamagedError, ForeignLockError, Store
from ethicsdb.schemas.errors import StoreError

if TYPE_CHECKING:
    import duckdb

__all__ = ["checksums", "fold", "folded_copy", "rebuild"]

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
        yield fold(store, rows, Path(folder))


def fold(store: Store, rows: MirrorRows, folder: Path) -> Store:
    """A new database in a folder, made from the journals as they are now."""
    copy = Store(folder / store.path.name)
    journal.copy_all(store.journals, copy.journals)
    ingest(copy, rows)
    return copy


def rebuild(store: Store, rows: MirrorRows) -> dict[str, tuple[int, str]]:
    """Replace the database file by one made from the journals; returns the new file's checksums.

    The old file is replaced only when the new one is whole, under the writers' lock. A damaged one is kept under
    another name.

    Raises:
        ForeignLockError: another program holds the file.
        StoreError: a journal that the old file was made from is gone, so that the new one would lack its rows.
    """
    with folded_copy(store, rows) as copy:
        with copy.reader() as connection:
            sums = checksums(connection)
        with store.exclusive():
            if store.exists():
                _give_up_old(store)
            fresh = store.path.with_name(f".{store.path.name}.rebuilt")
            shutil.copyfile(copy.path, fresh)
            store.replace(fresh)
    # Journals may have grown meanwhile.
    ingest(store, rows)
    return sums


def _give_up_old(store: Store) -> None:
    """See that nothing is lost with the old file."""
    try:
        gone = [name for name in store.journals_read() if not (store.journals / name).exists()]
    except DamagedError:
        if not journal.paths(store.journals):
            raise  # never ours
        store.path.replace(store.path.with_name(store.path.name + ".damaged"))
        return
    except ForeignLockError:
        raise ForeignLockError(
            f"{store.path.name} is held open by another program; close it there, then rebuild again"
        ) from None
    if gone:
        raise StoreError(
            f"{store.journals / gone[0]} is gone, and a new database would lack its rows; put it back from a copy. "
            f"{store.path.name} was left as it is."
        )
