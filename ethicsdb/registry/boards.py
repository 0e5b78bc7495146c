"""Boards: what the views say, as records."""

from __future__ import annotations

from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql

__all__ = ["agreement", "build_report", "leaderboard", "outcomes", "runs", "safeguards"]

Record = dict[str, Any]


def leaderboard(context: Context, benchmark: str, *, old_judges: bool = False) -> list[Record]:
    """Rows of the view `leaderboard` for one benchmark's declared major.

    Raises:
        NotFoundError: no such benchmark.
    """
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "leaderboard", {"benchmark": benchmark, "major": declared.major, "old_judges": old_judges})


def safeguards(context: Context, benchmark: str) -> list[Record]:
    """Rows of `leaderboard_safeguards`: direct, indirect and harmless questions side by side."""
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "safeguards", {"benchmark": benchmark, "major": declared.major})


def outcomes(context: Context, benchmark: str) -> list[Record]:
    """Rows of `outcomes`: how every asked-for item ended."""
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "outcomes", {"benchmark": benchmark, "major": declared.major})


def agreement(context: Context, benchmark: str) -> list[Record]:
    """Rows of `judge_agreement`: judges against people."""
    declared = context.declarations.benchmark(benchmark)
    return _records(context, "agreement", {"benchmark": benchmark, "major": declared.major})


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
