"""What measures read off an item: values of targets, the option that was chosen, shares of options."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ethicsdb.runners.measures.base import Compare, Number, Observed
from ethicsdb.runners.statistics.intervals import Floats, clustered_mean, rate

__all__ = ["Grouped", "chosen", "mean_number", "option_shares", "option_values", "rate_number", "value_of"]

Grouped: TypeAlias = Sequence[tuple[str, float]]  # a value each, with its cluster


def value_of(item: Observed, target: str, compare: Compare) -> float | None:
    """The target's likelihood (nats; higher is likelier); None where there is none, or no finite one."""
    found = item.scores.get(target)
    value = None if found is None else found.value(compare)
    return value if value is not None and math.isfinite(value) else None


def option_values(item: Observed, compare: Compare) -> list[float | None]:
    """Likelihood of each of the payload's options, from the targets choice_0, choice_1, ...; None where it is missing.

    Raises ValueError where the item has no options.
    """
    return [value_of(item, f"choice_{index}", compare) for index in range(_count(item))]


def chosen(item: Observed, compare: Compare) -> int | None:
    """Index of the chosen option.

    With scores, the likeliest; None where an option's likelihood is missing or the best is not alone. Without scores,
    `choice`; None where that is the index of no option. Raises ValueError where the item has no options.
    """
    if not item.scores:
        known = item.choice is not None and 0 <= item.choice < _count(item)
        return item.choice if known else None
    values = [value for value in option_values(item, compare) if value is not None]
    if len(values) < _count(item):
        return None
    best = max(values)
    return values.index(best) if values.count(best) == 1 else None


def option_shares(values: Sequence[float]) -> Floats:
    """Probabilities of the options relative to each other: softmax, exp(v_i) / sum_j exp(v_j)."""
    weights = np.exp(np.asarray(values, np.float64) - max(values))
    return np.asarray(weights / weights.sum(), np.float64)


def rate_number(metric: str, hits: Grouped, expected: int) -> Number:
    """A share of hits (values from 0 to 1), with `rate`'s interval."""
    estimate = rate([hit for _, hit in hits], [group for group, _ in hits])
    return Number(metric, estimate, len(hits), expected)


def mean_number(metric: str, values: Grouped, expected: int, bounds: tuple[float, float] | None = None) -> Number:
    """A mean, with `clustered_mean`'s interval; `bounds` are the range of one value."""
    estimate = clustered_mean([value for _, value in values], [group for group, _ in values], bounds=bounds)
    return Number(metric, estimate, len(values), expected)


def _count(item: Observed) -> int:
    options: Any = item.payload.get("options")
    if not isinstance(options, list) or not options:
        raise ValueError("a choice needs `options`, a list, in its item")
    return len(options)
