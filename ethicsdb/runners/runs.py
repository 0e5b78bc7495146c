"""Finding runs by the names that people use."""

from __future__ import annotations

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql
from ethicsdb.schemas.errors import NotFoundError
from ethicsdb.schemas.fingerprint import TAG

__all__ = ["find_run"]


def find_run(context: Context, wanted: str) -> str:
    """The run whose id starts with the given digits.

    Raises:
        NotFoundError: none or several do.
    """
    with context.reading() as connection:
        found = connection.execute(read_sql("find_run"), {"start": wanted.removeprefix(TAG)}).fetchall()
    if len(found) == 1:
        return str(found[0][0])
    if not found:
        raise NotFoundError(f"No run's id starts with `{wanted}`; `ethicsdb runs` lists them.")
    raise NotFoundError(f"{len(found)} runs' ids start with `{wanted}`; give more digits.")
