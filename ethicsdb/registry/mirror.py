"""The declarations as rows, so that the database alone says what its numbers mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ethicsdb.schemas.declared import BenchmarkDeclaration, DatasetDeclaration, PublishedDeclaration
from ethicsdb.schemas.fingerprint import fingerprint

if TYPE_CHECKING:
    import duckdb

    from ethicsdb.registry.declared import Declarations

__all__ = ["MirrorRows", "benchmark_rows", "dataset_row", "metric_rows", "mirror", "mirror_rows", "mirrored"]

MirrorRows = dict[str, list[dict[str, Any]]]

KEY = "declarations"


def mirror(connection: duckdb.DuckDBPyConnection, rows: MirrorRows) -> None:
    """Bring the mirrored tables up to the declarations; rows of benchmark majors that are gone stay.

    Of a benchmark's declared major, figures that it no longer reports go: they must not stand beside the others.
    """
    if mirrored(connection, rows):
        return
    connection.execute("BEGIN")
    try:
        connection.execute("DELETE FROM published_result")
        connection.execute("DELETE FROM current_judge")
        for benchmark in rows["benchmark"]:
            parameters = [benchmark["name"], benchmark["major"]]
            connection.execute("DELETE FROM metric WHERE benchmark = ? AND major = ?", parameters)
        # What neither a declaration nor a run or version speaks of any more goes, as a rebuild would not make it.
        for statement in _FORGET:
            connection.execute(statement)
        for table, records in rows.items():
            _upsert(connection, table, records)
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [KEY, fingerprint(rows)])
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def mirrored(connection: duckdb.DuckDBPyConnection, rows: MirrorRows) -> bool:
    """Whether the file mirrors these rows already."""
    held = connection.execute("SELECT value FROM meta WHERE key = ?", [KEY]).fetchone()
    return held is not None and held[0] == fingerprint(rows)


def _upsert(connection: duckdb.DuckDBPyConnection, table: str, records: list[dict[str, Any]]) -> None:
    from ethicsdb.registry.arrow import as_arrow, table_class

    connection.register("mirrored", as_arrow(table_class(table), records))
    connection.execute(f'INSERT OR REPLACE INTO "{table}" BY NAME SELECT * FROM mirrored')
    connection.unregister("mirrored")


_FORGET = (
    "DELETE FROM benchmark WHERE (name, major) NOT IN (SELECT (benchmark, major) FROM run)",
    "DELETE FROM metric WHERE (benchmark, major) NOT IN (SELECT (benchmark, major) FROM run)",
    "DELETE FROM dataset WHERE name NOT IN (SELECT dataset FROM dataset_version)",
)


def mirror_rows(declarations: Declarations, current_judges: dict[str, str]) -> MirrorRows:
    """Rows by table.

    Args:
        current_judges: judge name: fingerprint that it has now.
    """
    datasets = [declarations.dataset(name) for name in declarations.names("dataset")]
    benchmarks = [declarations.benchmark(name) for name in declarations.names("benchmark")]
    return {
        "dataset": [dataset_row(dataset) for dataset in datasets],
        "benchmark": [row for benchmark in benchmarks for row in benchmark_rows(benchmark)],
        "metric": [row for benchmark in benchmarks for row in metric_rows(benchmark)],
        "current_judge": [{"name": name, "fingerprint": mark} for name, mark in current_judges.items()],
        "published_result": [row for table in declarations.published() for row in _published_rows(table)],
    }


def dataset_row(dataset: DatasetDeclaration) -> dict[str, Any]:
    """The `dataset` row of a declaration."""
    return {
        "name": dataset.name,
        "title": dataset.title,
        "kind": dataset.schema_,
        "languages": ",".join(dataset.languages),
        "licence": dataset.licence.name,
        "access": dataset.access,
        "citation": dataset.citation,
        "declaration": _json(dataset),
    }


def benchmark_rows(benchmark: BenchmarkDeclaration) -> list[dict[str, Any]]:
    """The `benchmark` row of a declaration."""
    return [
        {
            "name": benchmark.name,
            "major": benchmark.major,
            "minor": benchmark.minor,
            "title": benchmark.title,
            "dataset": benchmark.dataset,
            "primary_metric": benchmark.primary,
            "declaration": _json(benchmark),
        }
    ]


def metric_rows(benchmark: BenchmarkDeclaration) -> list[dict[str, Any]]:
    """The `metric` rows of a benchmark's declaration."""
    return [
        {
            "benchmark": benchmark.name,
            "major": benchmark.major,
            "metric": metric.name,
            "display": metric.display,
            "description": metric.description,
            "direction": metric.direction,
            "unit": metric.unit,
            "attribute": metric.attribute if metric.quantity is None else metric.quantity,
            "positive": json.dumps(metric.positive, ensure_ascii=False),
            "denominator": metric.denominator,
            "variants": json.dumps(metric.variants) if metric.variants else None,
            "rule": metric.rule,
            "source": metric.source,
            "ideal": metric.ideal,
        }
        for metric in benchmark.metrics
    ]


def _published_rows(table: PublishedDeclaration) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        for key, value in row.values.items():
            metric, _, where = key.partition("@")
            slice_, _, slice_value = where.partition("=")
            yield {
                "paper": table.paper,
                "table_name": table.table,
                "benchmark": table.benchmark,
                "major": table.major,
                "model": row.model,
                "metric": metric,
                "slice": slice_ or "overall",
                "slice_value": slice_value,
                "judge": table.judge,
                "value": value,
                "hits": row.hits.get(key),
                "n": None if where else row.n,  # a row's n is that of its whole
                "note": row.note,
            }


def _json(declaration: Any) -> str:
    return str(declaration.model_dump_json(by_alias=True, exclude_none=True))
