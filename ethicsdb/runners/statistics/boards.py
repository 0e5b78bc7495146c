"""Ranks of a board's rows: where each may stand, and which can't be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


def ranked(rows: Sequence[dict[str, Any]], *, higher_is_better: bool) -> list[Place]:
    """Places of rows of the view `leaderboard` that belong to one metric and slice.

    The rows are compared from their intervals alone, as independent estimates; see `ties`.
    """
    estimates = [_interval(row) for row in rows]
    ranks = rank_intervals(estimates, higher_is_better)
    letters = tie_groups(estimates, higher_is_better)
    sign = -1.0 if higher_is_better else 1.0
    return [
        Place(
            f"{rank.best}" if rank.best == rank.worst else f"{rank.best}–{rank.worst}",
            letter,
            float("inf") if row["value"] is None else sign * row["value"],
        )
        for row, rank, letter in zip(rows, ranks, letters, strict=True)
    ]


def _interval(row: dict[str, Any]) -> Interval | None:
    if row["value"] is None:
        return None
    return Interval(
        value=row["value"],
        stderr=row["stderr"],
        low=row["ci_low"],
        high=row["ci_high"],
        method=row["method"],
        n=row["n"],
        clusters=row["clusters"],
        df=row["df"],
    )
