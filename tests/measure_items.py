"""Items as measures get them, and their numbers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ethicsdb.runners.measures.base import Compare, Likelihood, Measure, Number, Observed

Scored = float | tuple[float, int | None]


def item(group: str, scores: Mapping[str, Scored] | None = None, choice: int | None = None, **payload: Any) -> Observed:
    """An item; a score is (sum, tokens), or a bare released one."""
    likelihoods = {
        target: Likelihood(*score) if isinstance(score, tuple) else Likelihood(score, None)
        for target, score in (scores or {}).items()
    }
    return Observed(group, payload, likelihoods, choice)


def numbers(measure: Measure, items: Sequence[Observed], compare: Compare = "sum") -> dict[str, Number]:
    """What a measure gives, by metric."""
    found = measure(items, compare)
    by_metric = {number.metric: number for number in found}
    assert len(by_metric) == len(found)
    return by_metric


def values(measure: Measure, items: Sequence[Observed], compare: Compare = "sum") -> dict[str, float | None]:
    """The estimates' values, by metric."""
    found = numbers(measure, items, compare)
    return {metric: number.estimate.value if number.estimate else None for metric, number in found.items()}


def counts(measure: Measure, items: Sequence[Observed], compare: Compare = "sum") -> dict[str, tuple[int, int]]:
    """(n, n_expected), by metric."""
    found = numbers(measure, items, compare)
    return {metric: (number.n, number.n_expected) for metric, number in found.items()}
