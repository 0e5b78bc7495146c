"""Versions of data sets, and what changed between two of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ethicsdb.registry.context import Context
from ethicsdb.schemas.errors import NotFoundError

if TYPE_CHECKING:
    import duckdb

    from ethicsdb.registry.declared import Declarations

__all__ = ["Change", "Version", "diff", "find_version", "find_versions", "read_sql", "version_in"]


def read_sql(name: str) -> str:
    """A packaged query, `schemas/sql/queries/NAME.sql`."""
    return files("ethicsdb.schemas").joinpath(f"sql/queries/{name}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Version:
    """A row of `dataset_version`, without the declaration."""

    dataset: str
    version: str
    number: int
    fingerprint: str
    rows: int
    items: int
    source: str
    source_sha256: str
    built_at: Any


@dataclass(frozen=True)
class Change:
    """A row that differs between two versions."""

    change: str  # added | removed | changed | relinked (same content, other cluster or base question)
    source_id: str | None
    variant: str | None
    before: str | None
    after: str | None


def find_versions(context: Context, dataset: str) -> list[Version]:
    """All versions of a data set, oldest first; none where it was never built."""
    with context.reading() as connection:
        return _versions(connection, dataset)


def _versions(connection: duckdb.DuckDBPyConnection, dataset: str) -> list[Version]:
    return [Version(*row) for row in connection.execute(read_sql("versions"), {"dataset": dataset}).fetchall()]


def find_version(context: Context, reference: str) -> Version:
    """The version that `NAME` (the newest) or `NAME@vN` refers to.

    Raises:
        NotFoundError: no such data set, or no such version of it.
    """
    with context.reading() as connection:
        return version_in(connection, context.declarations, reference)


def version_in(connection: duckdb.DuckDBPyConnection, declarations: Declarations, reference: str) -> Version:
    """As `find_version`, over a connection that is open."""
    name, _, wanted = reference.partition("@")
    versions = _versions(connection, name)
    if not versions:
        if name not in declarations.names("dataset"):
            declarations.dataset(name)  # raises with a suggestion
        raise NotFoundError(f"{name} has not been built yet: ethicsdb build {name}")
    if not wanted:
        return versions[-1]
    for version in versions:
        if version.version == wanted:
            return version
    have = [version.version for version in versions]
    near = difflib.get_close_matches(wanted, have, n=1)
    raise NotFoundError(
        f"{name} has no version `{wanted}`; it has {', '.join(have)}"
        + (f" (did you mean `{near[0]}`?)" if near else "")
    )


def diff(context: Context, before: str, after: str) -> list[Change]:
    """Rows added, removed, changed and relinked from one version to another, by content.

    A row is changed where both versions hold exactly one row of that source id and variant, with different content.
    Repeats count: a row that stands twice and then once is removed once.

    Raises:
        NotFoundError: a version does not exist, or they are of different data sets.
    """
    old, new = find_version(context, before), find_version(context, after)
    if old.dataset != new.dataset:
        raise NotFoundError(f"{before} and {after} are different data sets; diff compares versions of one")
    with context.reading() as connection:
        rows = connection.execute(
            read_sql("diff"), {"dataset": old.dataset, "before": old.version, "after": new.version}
        ).fetchall()
    return [Change(*row) for row in rows]
