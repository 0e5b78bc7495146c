"""Boards: what the views say, as records."""

from __future__ import annotations

import json
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql
from ethicsdb.schemas.errors import NotFoundError

__all__ = [
    "agreement",
    "board_runs",
    "build_report",
    "cost",
    "gold_agreement",
    "head",
    "judges_compared",
    "leaderboard",
    "outcomes",
    "runs",
    "safeguards",
]

Record = dict[str, Any]


def leaderboard(
    context: Context, benchmark: str, *, major: int | None = None, old_judges: bool = False
) -> list[Record]:
    """Rows of the view `leaderboard` for one major of a benchmark, by default the declared one.

    Raises:
        NotFoundError: no such benchmark, or nothing of it under that major.
    """
    number = head(context, benchmark, major)["major"]
    return _records(context, "leaderboard", {"benchmark": benchmark, "major": number, "old_judges": old_judges})


def head(context: Context, benchmark: str, major: int | None = None) -> Record:
    """A benchmark's declaration with its `major`: as it is now, or as it was when that major was last declared.

    Raises:
        NotFoundError: no such benchmark, or nothing of it under that major.
    """
    declared = context.declarations.benchmark(benchmark)
    if major in (None, declared.major):
        return {**declared.model_dump(mode="json"), "major": declared.major}
    found = _records(context, "board_head", {"benchmark": benchmark, "major": major})
    if not found:
        there = sorted({declared.major, *(row["major"] for row in board_runs(context, benchmark))})
        raise NotFoundError(
            f"{benchmark} has no major {major}; {declared.version} is declared, and there "
            f"{'are majors' if len(there) > 1 else 'is major'} {', '.join(map(str, there))}."
        )
    return {**json.loads(found[0]["declaration"]), "major": major}


def board_runs(context: Context, benchmark: str) -> list[Record]:
    """The runs that a benchmark's boards could show, of every major, a row for each judge of each."""
    context.declarations.benchmark(benchmark)
    return _records(context, "board_runs", {"benchmark": benchmark})


def safeguards(context: Context, benchmark: str) -> list[Record]:
    """Rows of `leaderboard_safeguards`: direct, indirect and harmless questions side by side."""
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "safeguards", {"benchmark": benchmark, "major": declared.major})


def outcomes(context: Context, benchmark: str, *, major: int | None = None) -> list[Record]:
    """Rows of `outcomes`: how every asked-for item ended, under the declared major or another."""
    return _records(context, "outcomes", {"benchmark": benchmark, "major": head(context, benchmark, major)["major"]})


def agreement(context: Context, benchmark: str) -> list[Record]:
    """Rows of `judge_agreement`: judges against people."""
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "agreement", {"benchmark": benchmark, "major": declared.major})


def gold_agreement(context: Context, benchmark: str, version: str, judge: str) -> list[Record]:
    """Rows of `gold_agreement` of one judge on one version of a gold set."""
    declared = context.declarations.benchmark(benchmark)
    which = {"benchmark": benchmark, "major": declared.major, "version": version, "judge": judge}
    return _records(context, "gold_agreement", which)


def judges_compared(context: Context, benchmark: str) -> list[Record]:
    """Rows of `judge_beside_judge`: which of two judges finds how much more."""
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "judges_compared", {"benchmark": benchmark, "major": declared.major})


def cost(context: Context, run_id: str | None) -> list[Record]:
    """Rows of `cost`, or of `run_cost` for a run."""
    if run_id is None:
        return _records(context, "cost", {})
    return _records(context, "run_cost", {"run": run_id})


def runs(context: Context) -> list[Record]:
    """Every run, newest first."""
    return _records(context, "runs", {})


def build_report(context: Context, dataset: str, version: str) -> list[Record]:
    """Rows of `build_report` for a version."""
    return _records(context, "build_report", {"dataset": dataset, "version": version})


def _records(context: Context, query: str, parameters: dict[str, Any]) -> list[Record]:
    with context.reading() as connection:
        found = connection.execute(read_sql(query), parameters)
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
