"""A user's SQL over the registry's database."""

from __future__ import annotations

from pathlib import Path

from ethicsdb.registry.context import Context
from ethicsdb.registry.sandbox import Answer, DatabaseBusyError, Limits, OutputFormat, run_sql

__all__ = ["query_database"]


def query_database(
    context: Context,
    sql: str,
    limits: Limits | None = None,
    output: Path | None = None,
    output_format: OutputFormat = "arrow",
) -> Answer:
    """Run one reading statement over the database as its journals have it.

    Where another program holds the file for writing, a copy folded from the journals answers instead.

    Raises:
        NotFoundError: there is no database yet.
        QueryError: the statement was refused or failed.
        QueryLimitError: it needed more time or memory than its limits.
    """
    limits = limits or Limits()
    try:
        with context.current() as store, store.shared():
            return run_sql(store.path, sql, limits=limits, output=output, output_format=output_format)
    except DatabaseBusyError as error:  # the other program came in between
        with context.folded_copy(str(error).rstrip(".")) as copy, copy.shared():
            return run_sql(copy.path, sql, limits=limits, output=output, output_format=output_format)
