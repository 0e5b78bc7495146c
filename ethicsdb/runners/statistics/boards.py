"""Ranks of a board's rows: where each may stand, and which can't be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ethicsdb.runners.statistics.intervals import Interval
from ethicsdb.runners.statistics.ties import rank_intervals, tie_groups

__all__ = ["Place", "ranked"]


@dataclass(frozen=True)
class Place:
    """Where a row stands. `order` sorts rows for reading; equal values have equal order."""

    ranks: str  # "1", or "1–3"
    letters: str  # rows that share a letter can't be told apart
    order: float


def ranked(rows: Sequence[dict[str, Any]]) -> list[Place]:
    """Places of rows of the view `leaderboard` that belong to one metric and slice.

    The rows are compared from their intervals alone, as independent estimates; see `ties`. Where a metric has an ideal
    value, they are compared by their distances from it.
    """
    higher_is_better = any(row["direction"] == "higher" for row in rows)
    estimates = [_interval(row) for row in rows]
    ranks = rank_intervals(estimates, higher_is_better)
    letters = tie_groups(estimates, higher_is_better)
    sign = -1.0 if higher_is_better else 1.0
    return [
        Place(
            f"{rank.best}" if rank.best == rank.worst else f"{rank.best}–{rank.worst}",
            letter,
            float("inf") if estimate is None else sign * estimate.value,
        )
        for estimate, rank, letter in zip(estimates, ranks, letters, strict=True)
    ]


def _interval(row: dict[str, Any]) -> Interval | None:
    if row["value"] is None:
        return None
    estimate = Interval(
        value=row["value"],
        stderr=row["stderr"],
        low=row["ci_low"],
        high=row["ci_high"],
        method=row["method"],
        n=row["n"],
        clusters=row["clusters"],
        df=row["df"],
    )
    return estimate if row["ideal"] is None else _distance(estimate, row["ideal"])


def _distance(estimate: Interval, ideal: float) -> Interval:
    """The distance of an estimate from an ideal value; its interval reaches to 0 where the ideal is possible."""
    value = abs(estimate.value - ideal)
    if estimate.low is None or estimate.high is None:
        return replace(estimate, value=value)
    ends = sorted((abs(estimate.low - ideal), abs(estimate.high - ideal)))
    low = 0.0 if estimate.low <= ideal <= estimate.high else ends[0]
    # Not symmetric any more: `ties` then goes by the limits instead of the standard error.
    return replace(estimate, value=value, low=low, high=ends[1], method="distance", stderr=None)
