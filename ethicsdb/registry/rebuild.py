"""Making the database anew from declarations and journals, and proving that it is the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ethicsdb.registry import journal
from ethicsdb.registry.ingest import ingest
from ethicsdb.registry.mirror import MirrorRows
from ethicsdb.registry.store import DamagedError, ForeignLockError, Store, unusable
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
        found[table] = _checksum(connection, f'"{table}"')
    return found


def _checksum(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[int, str]:
    row = connection.execute(
        f"SELECT count(*), coalesce(sum(hash(each)::HUGEINT), 0)::VARCHAR FROM {table} each"
    ).fetchone()
    assert row is not None
    return int(row[0]), str(row[1])


@contextmanager
def folded_copy(store: Store, rows: MirrorRows) -> Iterator[Store]:
    """A temporary database that holds what the journals hold."""
    with tempfile.TemporaryDirectory(prefix="ethicsdb-") as folder:
        yield fold(store, rows, Path(folder))


def fold(store: Store, rows: MirrorRows, folder: Path) -> Store:
    """A new database in a folder, made from the journals as they are now.

    Raises:
        StoreError: a journal is damaged.
    """
    copy = Store(folder / store.path.name)
    journal.copy_all(store.journals, copy.journals)
    try:
        ingest(copy, rows)
    except StoreError as error:
        raise StoreError(str(error).replace(str(copy.journals), str(store.journals))) from error
    return copy


def rebuild(store: Store, rows: MirrorRows) -> dict[str, tuple[int, str]]:
    """Replace the database file by one made from the journals; returns the new file's checksums.

    The old file is replaced only when the new one is whole and lacks none of its rows, under the writers' lock. A
    damaged one is kept under another name.

    Raises:
        ForeignLockError: another program holds the file.
        StoreError: a journal is damaged, cut or gone, so that the new file would lack rows of the old one.
    """
    with suppress(DamagedError):
        if store.exists() and ingest(store, rows).deferred:
            raise _held(store)
    with folded_copy(store, rows) as copy:
        with copy.reader() as connection:
            sums = checksums(connection)
        with store.exclusive():
            if store.exists():
                _give_up_old(store, copy)
            fresh = store.path.with_name(f".{store.path.name}.rebuilt")
            shutil.copyfile(copy.path, fresh)
            store.replace(fresh)
    # Journals may have grown meanwhile.
    ingest(store, rows)
    return sums


def _held(store: Store) -> ForeignLockError:
    return ForeignLockError(f"{store.path.name} is held open by another program; close it there, then rebuild again")


def _give_up_old(store: Store, copy: Store) -> None:
    """See that nothing is lost with the old file."""
    try:
        gone = [name for name in store.journals_read() if not (store.journals / name).exists()]
        lost = {} if gone else _lost(store, copy)
    except DamagedError:
        if not journal.paths(store.journals):
            raise  # never ours
        store.path.replace(store.path.with_name(store.path.name + ".damaged"))
        return
    except ForeignLockError:
        raise _held(store) from None
    if gone:
        raise StoreError(
            f"{store.journals / gone[0]} is gone, and a new database would lack its rows; put it back from a copy. "
            f"{store.path.name} was left as it is."
        )
    if lost:
        told = ", ".join(f"{count:,} of `{table}`" for table, count in lost.items())
        raise StoreError(
            f"The journals lack rows that {store.path.name} has: {told}. A journal in {store.journals} was cut or "
            f"replaced; put it back from a copy. {store.path.name} was left as it is; to do without these rows, move "
            "it away and rebuild."
        )


def _lost(store: Store, copy: Store) -> dict[str, int]:
    """Table name: how many rows of the old file the new one has not, as they are."""
    import duckdb

    found = {}
    try:
        with duckdb.connect(config={"python_enable_replacements": False}) as connection:
            for name, path in (("old", store.path), ("new", copy.path)):
                text = str(path).replace("'", "''")
                connection.execute(f"ATTACH '{text}' AS {name} (READ_ONLY)")
            for table in _shared_tables(connection):
                here, there = (_checksum(connection, f'{name}."{table}"') for name in ("old", "new"))
                if here != there:
                    count = connection.execute(
                        f'SELECT count(*) FROM (FROM old."{table}" EXCEPT ALL FROM new."{table}")'
                    ).fetchone()
                    if count and count[0]:
                        found[table] = int(count[0])
    except duckdb.IOException as error:
        raise unusable(store.path, error) from error
    return found


def _shared_tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'old' AND NOT internal "
        "INTERSECT SELECT table_name FROM duckdb_tables() WHERE database_name = 'new' ORDER BY 1"
    ).fetchall()
    return [name for (name,) in rows if name not in OWN_TABLES]
