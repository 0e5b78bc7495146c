"""How a database file comes to the schema of this version, in one transaction with the record of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from ethicsdb.schemas.errors import StoreError
from ethicsdb.schemas.fingerprint import fingerprint

if TYPE_CHECKING:
    import duckdb

__all__ = ["MIGRATIONS", "is_current", "migrate", "view_texts"]

SCHEMA_KEY = "schema"


def first_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """The tables of the first version; `_create_missing` makes them, this entry dates them."""


def ideal_of_metric(connection: duckdb.DuckDBPyConnection) -> None:
    """`metric` says where the best value is neither end."""
    connection.execute("ALTER TABLE metric ADD COLUMN IF NOT EXISTS ideal DOUBLE")


def conversation_details(connection: duckdb.DuckDBPyConnection) -> None:
    """What a source says beyond an utterance's labels, or of a labelled text."""
    connection.execute("ALTER TABLE conversation ADD COLUMN IF NOT EXISTS target_group VARCHAR")
    connection.execute("ALTER TABLE conversation ADD COLUMN IF NOT EXISTS details VARCHAR")
    connection.execute("ALTER TABLE labelled_text ADD COLUMN IF NOT EXISTS details VARCHAR")


def billed_answers(connection: duckdb.DuckDBPyConnection) -> None:
    """`response` says which tries an endpoint charges for."""
    connection.execute("ALTER TABLE response ADD COLUMN IF NOT EXISTS billed BOOLEAN")


# Named steps, oldest first. A step that changes an existing table goes here; new tables and views need none.
MIGRATIONS: tuple[tuple[str, Callable[[duckdb.DuckDBPyConnection], None]], ...] = (
    ("first_tables", first_tables),
    ("ideal_of_metric", ideal_of_metric),
    ("conversation_details", conversation_details),
    ("billed_answers", billed_answers),
)


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring the file to this version's schema; does nothing where it is there already.

    Raises:
        StoreError: the file has been through a step that this version does not know.
    """
    if is_current(connection):
        return
    wanted = _schema_fingerprint()
    done = _applied(connection)
    connection.execute("BEGIN")
    try:
        _create_missing(connection)
        for number, (name, step) in enumerate(MIGRATIONS, start=1):
            if name not in done:
                step(connection)
                connection.execute("INSERT INTO migration VALUES (?, ?, ?)", [name, number, _now()])
        _replace_views(connection)
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [SCHEMA_KEY, wanted])
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file has this version's schema.

    Raises:
        StoreError: the file has been through a step that this version does not know.
    """
    unknown = [name for name, number in _applied(connection).items() if number > len(MIGRATIONS)]
    if unknown:
        raise StoreError(
            f"This database was written by a newer ethicsdb (step `{unknown[0]}`); "
            "upgrade with `pip install --upgrade ethicsdb`"
        )
    return _stored(connection) == _schema_fingerprint()


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _has_table(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    row = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", [name]).fetchone()
    return row is not None and row[0] > 0


def _stored(connection: duckdb.DuckDBPyConnection) -> str | None:
    found = _rows(connection, "SELECT key, value FROM meta")
    return next((str(value) for key, value in found if key == SCHEMA_KEY), None)


def _applied(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return dict(_rows(connection, "SELECT name, number FROM migration"))


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query; none where its table is missing, as in a new file. Not to be used inside a transaction."""
    import duckdb

    try:
        return connection.execute(query).fetchall()
    except duckdb.CatalogException:
        return []


def _create_missing(connection: duckdb.DuckDBPyConnection) -> None:
    from ethicsdb.registry.arrow import all_shapes
    from ethicsdb.registry.ddl import create_table
    from ethicsdb.schemas.quantiles import t_quantile_rows

    new = not _has_table(connection, "t_quantile")
    for shape in all_shapes():
        # Not `create_all`: it commits, and the change must share its transaction with the record of it.
        connection.execute(create_table(shape.table))
    if new:
        columns = [list(column) for column in zip(*t_quantile_rows(), strict=True)]
        connection.execute("INSERT INTO t_quantile SELECT unnest(?), unnest(?)", columns)


@cache
def _schema_fingerprint() -> str:
    """Fingerprint of everything that shapes a file: table definitions, views, migration names."""
    room = files("ethicsdb.schemas")
    shape = {name: room.joinpath(name).read_text(encoding="utf-8") for name in ("catalog.py", "facts.py", "items.py")}
    return fingerprint({"tables": shape, "views": view_texts(), "steps": [name for name, _ in MIGRATIONS]})


@cache
def view_texts() -> dict[str, str]:
    """View name: its SELECT, from `schemas/sql`. `{{a/file.sql}}` in it stands for the text of that file."""
    room = files("ethicsdb.schemas").joinpath("sql")
    found = {entry.name.removesuffix(".sql"): entry for entry in room.joinpath("views").iterdir()}
    # The intervals' text serves views and tests alike, so it stands with the scoring formulas.
    found["score_interval"] = room.joinpath("scoring/interval.sql")

    def text(path: Traversable) -> str:
        plain = path.read_text(encoding="utf-8").strip().rstrip(";")
        return re.sub(r"\{\{(.+?)\}\}", lambda hit: text(room.joinpath(hit[1])), plain)

    return {name: text(found[name]) for name in sorted(found)}


def _replace_views(connection: duckdb.DuckDBPyConnection) -> None:
    texts = view_texts()
    for name in _in_order(texts):
        connection.execute(f'CREATE OR REPLACE VIEW "{name}" AS\n{texts[name]}')


def _in_order(texts: dict[str, str]) -> list[str]:
    """View names such that each comes after the views that its text names."""
    words = {
        name: set(re.findall(r"\w+", re.sub(r"--[^\n]*", "", text))) & set(texts) - {name}
        for name, text in texts.items()
    }
    order: list[str] = []
    while len(order) < len(texts):
        ready = [name for name in texts if name not in order and words[name] <= set(order)]
        if not ready:
            raise AssertionError(f"views refer to each other in a circle: {sorted(set(texts) - set(order))}")
        order.extend(ready)
    return order
