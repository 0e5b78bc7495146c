"""Finding runs, and what is asked in them, by the names that people use."""

from __future__ import annotations

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow, item_rows
from ethicsdb.registry.versions import Version, read_sql, version_in
from ethicsdb.schemas.declared import BenchmarkDeclaration
from ethicsdb.schemas.errors import NotFoundError
from ethicsdb.schemas.fingerprint import TAG

__all__ = ["benchmark_of", "find_items", "find_run"]


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


def benchmark_of(context: Context, run_id: str) -> BenchmarkDeclaration:
    """The benchmark that a run is of. Raises NotFoundError where it is declared no more."""
    with context.reading() as connection:
        row = connection.execute("SELECT benchmark FROM run WHERE run_id = ?", [run_id]).fetchone()
    return context.declarations.benchmark(row[0] if row else run_id)


def find_items(context: Context, reference: str) -> tuple[BenchmarkDeclaration, Version, list[ItemRow]]:
    """A benchmark with a version of its data, and the rows of that which it asks.

    Args:
        reference: `BENCHMARK`, or `BENCHMARK@vN` for an older version of its data.

    Raises:
        NotFoundError: no such benchmark, or its data set has not been built.
    """
    name, _, wanted = reference.partition("@")
    benchmark = context.declarations.benchmark(name)
    dataset = context.declarations.dataset(benchmark.dataset)
    with context.reading() as connection:
        version = version_in(connection, context.declarations, dataset.name + (f"@{wanted}" if wanted else ""))
        rows = item_rows(connection, version, dataset.schema_)
    return benchmark, version, [row for row in rows if row.holds(benchmark.items, dataset.schema_)]
