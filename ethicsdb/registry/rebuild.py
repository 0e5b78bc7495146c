"""Making the database anew from declarations and journals, and proving that it is the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ethicsdb.registry import journal_order
from ethicsdb.registry.ingest import ingest
from ethicsdb.registry.mirror import MirrorRows
from ethicsdb.registry.store import DamagedError, ForeignLockError, Store, unusable, with_wal
from ethicsdb.registry.versions import read_sql
from ethicsdb.schemas.errors import StoreError

if TYPE_CHECKING:
    import duckdb

__all__ = ["checksums", "fold", "folded_copy", "rebuild", "up_to_date_copy"]

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
    """A database in a folder, brought up to the journals as they are now.

    Raises:
        StoreError: a journal is damaged.
    """
    copy = Store(folder / store.path.name)
    journal_order.copy_all(store.journals, copy.journals)
    try:
        ingest(copy, rows)
    except StoreError as error:
        raise StoreError(str(error).replace(str(copy.journals), str(store.journals))) from error
    return copy


def up_to_date_copy(store: Store, rows: MirrorRows, folder: Path) -> tuple[Store, bool]:
    """A new database in a folder that is up to the journals, and whether it began as a copy of the file.

    The file is copied where it can be read, as in a read-only place: that is quicker than to read all journals again,
    and right also where they did not come along. Where another program writes to it, the journals alone are read.

    Raises:
        StoreError: a journal is damaged.
    """
    copied = False
    if store.exists():
        with suppress(ForeignLockError), store.reader():
            for path in (store.path, with_wal(store.path)):
                if path.exists():
                    shutil.copy(path, folder)
                    (folder / path.name).chmod(0o600)
            copied = True
    return fold(store, rows, folder), copied


def rebuild(store: Store, rows: MirrorRows) -> dict[str, tuple[int, str]]:
    """Replace the database file by one made from the journals; returns the new file's checksums.

    The old file is replaced only when the new one is whole and lacks none of its rows, under the writers' lock. A
    damaged one is kept under another name.

    Raises:
        ForeignLockError: another program holds the file.
        NotWritableError: file or folder are read-only.
        StoreError: a journal is damaged, cut or gone, or the new file would lack rows, tables or views of the old one.
    """
    store.see_writable()
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
        lost = [] if gone else _lost(store, copy)
    except DamagedError:
        if not journal_order.paths(store.journals):
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
        raise StoreError(
            f"A new database would lack what {store.path.name} has: {'; '.join(lost)}. Where rows are "
            f"lacking, a journal in {store.journals} was cut or replaced: put it back from a copy. Tables of your own, "
            "and rows that another program put in, are in no journal: copy them to a file of their own and drop them. "
            f"{store.path.name} was left as it is; to do without all this, move it away and rebuild."
        )


def _lost(store: Store, copy: Store) -> list[str]:
    """What the old file has and the new one has not, a phrase for each table or view."""
    import duckdb

    try:
        with duckdb.connect(config={"python_enable_replacements": False}) as connection:
            for name, path in (("old", store.path), ("new", copy.path)):
                text = str(path).replace("'", "''")
                connection.execute(f"ATTACH '{text}' AS {name} (READ_ONLY)")
            made = connection.execute(read_sql("made_by_others")).fetchall()
            phrases = [f"the {kind} `{name}`" for kind, name in made]
            for table in _shared_tables(connection):
                here, there = (_checksum(connection, f'{name}."{table}"') for name in ("old", "new"))
                if here != there:
                    phrases += _lost_rows(connection, table)
    except duckdb.IOException as error:
        raise unusable(store.path, error) from error
    return phrases


def _lost_rows(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """How many rows the new file lacks, as they are, and how many it has instead."""
    lost, new = (
        connection.execute(f'SELECT count(*) FROM (FROM {one}."{table}" EXCEPT ALL FROM {other}."{table}")').fetchall()
        for one, other in (("old", "new"), ("new", "old"))
    )
    if not lost[0][0]:
        return []  # only more rows than before
    instead = f" (and would have {new[0][0]:,} others instead)" if new[0][0] else ""
    return [f"{lost[0][0]:,} of the rows of `{table}`{instead}"]


def _shared_tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'old' AND schema_name = 'main' AND NOT internal "
        "INTERSECT SELECT table_name FROM duckdb_tables() WHERE database_name = 'new' ORDER BY 1"
    ).fetchall()
    return [name for (name,) in rows if name not in OWN_TABLES]
