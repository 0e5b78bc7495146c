"""From journals into the database, exactly once: rows and (journal, byte offset) move in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ethicsdb.registry import journal, journal_order
from ethicsdb.registry.arrow import ORDINAL, batches_as_arrow, table_class
from ethicsdb.registry.bulk import many_objects
from ethicsdb.registry.journal import Batch
from ethicsdb.registry.mirror import MirrorRows, mirror
from ethicsdb.registry.store import ForeignLockError, Store
from ethicsdb.schemas.errors import StoreError

if TYPE_CHECKING:
    import duckdb

__all__ = ["Ingested", "cut", "ingest", "pending"]

ROWS_AT_ONCE = 50_000
BYTES_AT_ONCE = 64_000_000  # of journal; texts can be long


@dataclass
class Ingested:
    """What an ingest did."""

    rows: int = 0
    conflicts: int = 0
    deferred: str = ""  # why the file could not be written; the journals keep everything meanwhile
    journals: list[str] = field(default_factory=list)


def pending(store: Store, connection: duckdb.DuckDBPyConnection) -> list[Path]:
    """Journals with bytes that this database has not read yet."""
    offsets = dict(connection.execute("SELECT name, byte_offset FROM journal").fetchall())
    return [path for path in journal_order.paths(store.journals) if path.stat().st_size > offsets.get(path.name, 0)]


def cut(store: Store, connection: duckdb.DuckDBPyConnection) -> list[tuple[Path, str]]:
    """Journals that lack what this database has read from them, each with what has become of it."""
    found = []
    for name, offset in connection.execute("SELECT name, byte_offset FROM journal ORDER BY name").fetchall():
        path = store.journals / name
        if not path.exists():
            found.append((path, "is gone"))
        elif path.stat().st_size < offset:
            found.append((path, "is shorter than what the database has read from it: it was cut or replaced"))
    return found


def ingest(store: Store, rows: MirrorRows | None = None) -> Ingested:
    """Read every journal's new lines into the database and mirror the declarations.

    Where another program holds the file nothing is lost: the result says `deferred` and a later call catches up.
    """
    done = Ingested()
    try:
        with store.writer() as connection, many_objects():
            for path in pending(store, connection):
                _ingest_one(connection, path, done)
            if rows is not None:
                mirror(connection, rows)
    except ForeignLockError as error:
        done.deferred = str(error)
    return done


def _ingest_one(connection: duckdb.DuckDBPyConnection, path: Path, done: Ingested) -> None:
    row = connection.execute("SELECT byte_offset FROM journal WHERE name = ?", [path.name]).fetchone()
    offset = row[0] if row else 0
    waiting: dict[str, list[Batch]] = {}
    held, start = 0, offset
    connection.execute("BEGIN")
    try:
        for end, batch in journal.read_lines(path, offset):
            waiting.setdefault(batch.table, []).append(batch)
            held += len(batch.rows)
            offset = end
            if held >= ROWS_AT_ONCE or offset - start >= BYTES_AT_ONCE:
                _insert_all(connection, path.name, waiting, done)
                waiting, held, start = {}, 0, offset
        _insert_all(connection, path.name, waiting, done)
        connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?)", [path.name, offset])
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    done.journals.append(path.name)


def _insert_all(
    connection: duckdb.DuckDBPyConnection, name: str, waiting: dict[str, list[Batch]], done: Ingested
) -> None:
    for table, found in waiting.items():
        done.rows += _insert(connection, table, found)
        done.conflicts += _note_conflicts(connection, name, table)
        connection.unregister("incoming")


def _insert(connection: duckdb.DuckDBPyConnection, table: str, batches: list[Batch]) -> int:
    """Insert rows; where several journals may bring a row, one that is there already stays as it is.

    Identifiers come from our own table definitions and never from a user.
    """
    try:
        model = table_class(table)
    except KeyError:
        raise StoreError(
            f"A journal holds rows for `{table}`, which this version does not know; a newer ethicsdb wrote it: "
            "upgrade with `pip install --upgrade ethicsdb`"
        ) from None
    connection.register("incoming", batches_as_arrow(model, batches))
    keys = model.identity()
    if not model.shared_rows():
        found = connection.execute(
            f'INSERT INTO "{table}" BY NAME SELECT * EXCLUDE ({ORDINAL}) FROM incoming'
        ).fetchone()
    else:
        same = " AND ".join(f'held."{key}" IS NOT DISTINCT FROM incoming."{key}"' for key in keys)
        once = ", ".join(f'incoming."{key}"' for key in keys)
        found = connection.execute(
            f'INSERT INTO "{table}" BY NAME '
            f"SELECT * EXCLUDE ({ORDINAL}) FROM incoming WHERE {ORDINAL} IN "
            f"(SELECT min({ORDINAL}) FROM incoming "
            f'WHERE NOT EXISTS (SELECT 1 FROM "{table}" held WHERE {same}) GROUP BY {once})'
        ).fetchone()
    return int(found[0]) if found else 0


def _note_conflicts(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> int:
    """One key, two texts: the first stays, both are written down."""
    if table != "response":
        return 0  # every other key is a hash of the content, which leaves nothing to differ
    found = connection.execute(
        "INSERT INTO conflict SELECT 'response', incoming.response_key || '/' || incoming.try_number, ?, "
        "coalesce(held.text, held.status), coalesce(incoming.text, incoming.status) "
        "FROM incoming JOIN response held USING (response_key, try_number) "
        "WHERE (held.status, held.text, held.text_exact) "
        "IS DISTINCT FROM (incoming.status, incoming.text, incoming.text_exact)",
        [name],
    ).fetchone()
    return int(found[0]) if found else 0
