"""The SQL form of the intervals gives the numbers of the Python form."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

import ethicsdb.schemas
from ethicsdb.runners.statistics.intervals import Interval, clustered_mean, rate
from ethicsdb.schemas.quantiles import t_quantile_rows

QUERY = (Path(ethicsdb.schemas.__file__).parent / "sql" / "scoring" / "interval.sql").read_text(encoding="utf-8")

VIEW = f"""
CREATE VIEW board AS
WITH cluster_sum AS (
    SELECT board AS k, count(*) AS n_g, sum(value) AS s_g, any_value(lo) AS lo, any_value(hi) AS hi
    FROM fact GROUP BY board, cluster
),
score_interval AS ({QUERY})
SELECT * FROM score_interval
"""

Case = tuple[list[float], list[int], tuple[float, float] | None]


@pytest.fixture
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t_quantile (df DOUBLE, q DOUBLE)")
    dfs, quantiles = zip(*t_quantile_rows(), strict=True)
    connection.execute("INSERT INTO t_quantile SELECT unnest(?), unnest(?)", [list(dfs), list(quantiles)])
    connection.execute("CREATE TABLE fact (board VARCHAR, cluster INTEGER, value DOUBLE, lo DOUBLE, hi DOUBLE)")
    connection.execute(VIEW)
    return connection


def compare(database: duckdb.DuckDBPyConnection, cases: dict[str, Case]) -> dict[str, Interval]:
    """Put all cases on one board; every row must be what Python finds. Returns Python's, by name."""
    for name, (values, clusters, bounds) in cases.items():
        lo, hi = bounds or (None, None)
        database.execute(
            "INSERT INTO fact SELECT ?, unnest(?), unnest(?), ?, ?",
            [name, clusters, [float(v) for v in values], lo, hi],
        )
    rows = {row[0]: row[1:] for row in database.sql("SELECT * FROM board").fetchall()}
    assert rows.keys() == cases.keys()
    found = {}
    for name, (values, clusters, bounds) in cases.items():
        wanted = rate(values, clusters) if bounds == (0, 1) else clustered_mean(values, clusters, bounds=bounds)
        assert wanted is not None
        n, count, value, stderr, df, low, high, method = rows[name]
        assert (n, count, method) == (wanted.n, wanted.clusters, wanted.method), name
        assert near(value, wanted.value), name
        assert near(stderr, wanted.stderr), name
        assert near(df, wanted.df), name
        assert near(low, wanted.low, interpolation(wanted, wanted.low)), name
        assert near(high, wanted.high, interpolation(wanted, wanted.high)), name
        found[name] = wanted
    return found


def interpolation(wanted: Interval, limit: float | None) -> float:
    """Python's t quantile is exact, that of the table good to 2e-7; a score limit feels at most twice of that."""
    return 0.0 if wanted.df is None or limit is None else 4e-7 * abs(limit - wanted.value)


def near(found: float | None, wanted: float | None, error: float = 0.0) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= error + 1e-12 + 1e-9 * abs(wanted)


def test_every_method_on_one_board(database: duckdb.DuckDBPyConnection) -> None:
    cases: dict[str, Case] = {
        "wilson": ([0, 1, 1, 0, 0], [1, 2, 3, 4, 5], (0, 1)),
        "none hit": ([0] * 9, list(range(9)), (0, 1)),
        "one item": ([1], [1], (0, 1)),
        "clustered": ([0, 1, 1, 0, 0, 1, 1], [1, 1, 2, 2, 3, 3, 3], (0, 1)),
        "one hit": ([1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2], (0, 1)),
        "one miss": ([0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2], (0, 1)),
        "all clusters hit": ([1] * 8, [1, 1, 2, 2, 3, 3, 3, 3], (0, 1)),
        "half of each": ([0, 1, 1, 0, 0, 1], [1, 1, 2, 2, 3, 3], (0, 1)),
        "a third of each": ([0, 0, 1] * 7 + [0, 0, 0, 0, 1, 1], [i // 3 for i in range(21)] + [7] * 6, (0, 1)),
        "one cluster": ([1, 0, 1], [4, 4, 4], (0, 1)),
        "shares": ([0.25, 0.5, 1.0, 0.0], [1, 2, 3, 4], (0, 1)),
        "bias": ([-1.0, 0.5, 0.25, 1.0], [1, 1, 2, 3], (-1, 1)),
        "marks": ([1.0, 5.0, 4.5, 5.0, 5.0, 5.0], [1, 1, 2, 3, 3, 4], (1, 5)),
        "almost -1": ([-1.0, -1.0, -1.0 + 1e-9, -1.0], [1, 1, 2, 3], (-1, 1)),
        "always -1": ([-1.0] * 4, [1, 1, 2, 3], (-1, 1)),
        "free mean": ([3.5, -2.0, 7.25, 40.0, 1.0], [1, 1, 2, 3, 3], None),
        "zeros and ones without bounds": ([0, 1, 1], [1, 2, 3], None),
        "constant": ([0.1] * 6, [1, 1, 2, 2, 2, 3], None),
    }
    found = compare(database, cases)
    assert {name: interval.method for name, interval in found.items()} == {
        "wilson": "wilson",
        "none hit": "rule_of_three",
        "one item": "rule_of_three",
        "clustered": "cr2_score",
        "one hit": "cr2_score",
        "one miss": "cr2_score",
        "all clusters hit": "exact_clusters",
        "half of each": "exact_clusters",
        "a third of each": "exact_clusters",
        "one cluster": "none",
        "shares": "cr2_score",
        "bias": "cr2_score",
        "marks": "cr2_score",
        "almost -1": "cr2_score",
        "always -1": "exact_clusters",
        "free mean": "cr2_t",
        "zeros and ones without bounds": "cr2_t",
        "constant": "none",
    }


def test_random_boards(database: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(11)
    cases: dict[str, Case] = {}
    for number in range(60):
        count = int(rng.integers(2, 40))
        clusters = np.repeat(np.arange(count), rng.integers(1, 2 + number % 5, count))
        hits = rng.random(len(clusters)) < rng.beta(0.5, 1, count)[clusters]
        cases[f"rate {number}"] = (hits.astype(float).tolist(), clusters.tolist(), (0, 1))
        marks = np.clip(rng.normal(5, 3, len(clusters)), 1, 7)
        cases[f"mark {number}"] = (marks.tolist(), clusters.tolist(), (1, 7))
        cases[f"mean {number}"] = (rng.normal(5, 3, len(clusters)).tolist(), clusters.tolist(), None)
    found = compare(database, cases)
    fractional = [interval for interval in found.values() if interval.df is not None and interval.df % 1]
    assert len(fractional) > 30


def test_one_cluster_with_nearly_everything(database: duckdb.DuckDBPyConnection) -> None:
    values = [float(i % 3 == 0) for i in range(20_003)]
    compare(database, {"dominant": (values, [0] * 20_000 + [1, 2, 3], (0, 1))})


def test_sql_interpolates_its_table_in_inverse_degrees_of_freedom(database: duckdb.DuckDBPyConnection) -> None:
    values, clusters = [0.0, 1, 1, 5, 2, 9], [1, 1, 1, 2, 3, 3]
    compare(database, {"row": (values, clusters, None)})
    df, stderr, value, low = database.sql("SELECT df, stderr, value, ci_low FROM board").fetchall()[0]
    rows = np.array(t_quantile_rows())[::-1]
    assert df % 1
    assert value - low == pytest.approx(stderr * np.interp(1 / df, 1 / rows[:, 0], rows[:, 1]), rel=1e-9)


def test_empty_clusters_and_null_keys(database: duckdb.DuckDBPyConnection) -> None:
    found = database.sql(
        f"""
        WITH cluster_sum AS (
            SELECT * FROM (VALUES
                ({{'model': 'm', 'slice': NULL}}, 2, 1, 0, 1),
                ({{'model': 'm', 'slice': NULL}}, 1, 1, 0, 1),
                ({{'model': 'm', 'slice': NULL}}, 0, 0, 0, 1),
                (NULL, 1, 1, 0, 1),
                (NULL, 1, 0, 0, 1),
                ({{'model': 'm', 'slice': 'emptied'}}, 0, 0, 0, 1)
            ) AS t (k, n_g, s_g, lo, hi)
        ),
        score_interval AS ({QUERY})
        SELECT k, n, clusters, value, method FROM score_interval ORDER BY n
        """
    ).fetchall()
    assert found == [
        (None, 2, 2, 0.5, "wilson"),
        ({"model": "m", "slice": None}, 3, 2, pytest.approx(2 / 3), "cr2_score"),
    ]
