"""What a measure makes of a run: its numbers, whole and by slice, kept with what they rest on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import item_rows
from ethicsdb.registry.journal import batches
from ethicsdb.registry.versions import read_sql, version_in
from ethicsdb.runners.identity import score_key
from ethicsdb.runners.measures.base import Likelihood, Number, Observed
from ethicsdb.runners.measures.named import VERSION, measure_named, own_cuts
from ethicsdb.runners.stage import open_stage
from ethicsdb.schemas.declared import BenchmarkDeclaration
from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.text import restore

if TYPE_CHECKING:
    import duckdb

__all__ = ["score_run"]

WHOLE = ("overall", "")
Place = tuple[str, str]  # slice, value of the slice


def score_run(context: Context, benchmark: BenchmarkDeclaration, run_id: str, judge: str | None = None) -> int:
    """Compute and keep the numbers of a run's measure; returns how many there are (0 where the benchmark has none).

    Numbers whose inputs and statistics are those of ones that are kept already are not computed again.

    Args:
        judge: fingerprint of the judge whose labels say which option each answer chose; None: likelihoods say it.
    """
    if benchmark.measure is None:
        return 0
    with open_stage(context, "scores", benchmark.name, ["scores", benchmark.name, benchmark.major]) as stage:
        compare = benchmark.likelihood.compare if benchmark.likelihood else "mean"
        with context.reading() as connection:
            observed, found = _observed(context, connection, run_id, judge)
            inputs = fingerprint([found, benchmark.measure, compare])
            held = connection.execute(read_sql("scores_held"), _where(run_id, judge, inputs)).fetchone()
            if held and held[0]:
                return int(held[0])
            places = _places(connection, run_id)
        measure = measure_named(benchmark.measure)
        cuts = {place: [observed[row] for row in members] for place, members in places.items()}
        cuts |= own_cuts(benchmark.measure, cuts[WHOLE])
        rows = []
        for place, members in cuts.items():
            numbers = measure(members, compare)
            rows += [_record(number, place, _where(run_id, judge, inputs)) for number in numbers]
        stage.journal.append(batches("score", rows))
    return len(rows)


def _where(run_id: str, judge: str | None, inputs: str) -> dict[str, Any]:
    return {"run": run_id, "judge": judge, "inputs": inputs, "statistics": VERSION}


def _observed(
    context: Context, connection: duckdb.DuckDBPyConnection, run_id: str, judge: str | None
) -> tuple[dict[int, Observed], str]:
    """What is known of each asked-for row, and the fingerprint of all of it."""
    run = connection.execute("SELECT dataset, version, benchmark FROM run WHERE run_id = ?", [run_id]).fetchone()
    dataset, version_name, _ = run or ("", "", "")
    kind = context.declarations.dataset(dataset).schema_
    version = version_in(connection, context.declarations, f"{dataset}@{version_name}")
    scores: dict[int, dict[str, Likelihood]] = defaultdict(dict)
    choices: dict[int, int | None] = {}
    vectors: dict[int, dict[str, list[float]]] = defaultdict(dict)
    if context.declarations.benchmark(run[2] if run else "").runner == "vectors":
        found = connection.execute(read_sql("run_vectors"), {"run": run_id}).fetchall()
        for row, text, exact, vector in found:
            if vector is not None:
                vectors[row][str(restore(text, exact))] = json.loads(vector)
    elif judge is None:
        found = connection.execute(read_sql("run_likelihoods"), {"run": run_id}).fetchall()
        for row, target, total, tokens in found:
            if total is not None:
                scores[row][target] = Likelihood(total, tokens)
    else:
        found = connection.execute(read_sql("run_choices"), {"run": run_id, "judge": judge}).fetchall()
        choices = {row: None if choice is None else int(choice) for row, choice in found}
    asked = {row[0] for row in found}
    observed = {
        row.row: Observed(row.group_id, row.decoded(kind), scores[row.row], choices.get(row.row), vectors[row.row])
        for row in item_rows(connection, version, kind)
        if row.row in asked
    }
    return observed, fingerprint([[version.fingerprint, run_id, judge], sorted(map(list, found), key=str)])


def _places(connection: duckdb.DuckDBPyConnection, run_id: str) -> dict[Place, list[int]]:
    """Rows of the run by slice, the whole first."""
    found: dict[Place, list[int]] = {WHOLE: []}
    for row, slice_, value in connection.execute(read_sql("run_slices"), {"run": run_id}).fetchall():
        found.setdefault((slice_, value), []).append(row)
    return found


def _record(number: Number, place: Place, where: Mapping[str, Any]) -> dict[str, Any]:
    estimate = number.estimate
    return {
        "score_key": score_key(
            where["run"], where["judge"], (number.metric, *place), where["inputs"], where["statistics"]
        ),
        "run_id": where["run"],
        "judge_fingerprint": where["judge"],
        "quantity": number.metric,
        "slice": place[0],
        "slice_value": place[1],
        "value": estimate and estimate.value,
        "stderr": estimate and estimate.stderr,
        "df": estimate and estimate.df,
        "ci_low": estimate and estimate.low,
        "ci_high": estimate and estimate.high,
        "method": estimate and estimate.method,
        "n": number.n,
        "n_expected": number.n_expected,
        "clusters": estimate.clusters if estimate else 0,
        "inputs": where["inputs"],
        "statistics": where["statistics"],
        "computed_at": datetime.now(UTC).isoformat(),
    }
