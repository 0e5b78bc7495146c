"""Ranks that say what is known: rank intervals and tie groups of the models on a board.

Models are compared here from their estimates alone, as if these were independent. Where two models answered the same
items, a paired comparison on those items sees smaller differences and is to be preferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ethicsdb.runners.statistics.intervals import Floats, Interval
from ethicsdb.schemas.quantiles import LEVEL, t_quantile

__all__ = ["RankInterval", "difference_p", "holm", "rank_intervals", "surely_above", "tie_groups"]

Relation = NDArray[np.bool_]


@dataclass(frozen=True)
class RankInterval:
    """Ranks that a model may have: 1 is best; `best` <= `worst`; both count all models of the board."""

    best: int
    worst: int


def difference_p(one: Interval, two: Interval) -> float:
    """Two-sided p-value of the difference of two independent estimates; 1 where the values are equal.

    Welch's t (Welch 1947): t = |v1 - v2| / sqrt(e1^2 + e2^2), df = (e1^2 + e2^2)^2 / (e1^4 / df1 + e2^4 / df2).
    e is the standard error of a symmetric interval ("cr2_t"). Other intervals are not symmetric, and at 0 or 1 have no
    standard error: their e is the distance from the value to the limit that faces the other estimate, over the t
    quantile of their df, which is infinite where they have none (square-and-add: Newcombe 1998, method 10;
    Zou & Donner 2008).
    Raises ValueError where an estimate has no interval.
    """
    if one.value == two.value:
        return 1.0
    upper, lower = (one, two) if one.value > two.value else (two, one)
    variances = np.array([_spread(upper, downwards=True) ** 2, _spread(lower, downwards=False) ** 2])
    inverse_df = np.array([1 / estimate.df if estimate.df is not None else 0.0 for estimate in (upper, lower)])
    total = float(variances.sum())
    statistic = (upper.value - lower.value) / total**0.5
    shortfall = float((variances**2 * inverse_df).sum()) / total**2
    tail = special.ndtr(-statistic) if shortfall == 0 else special.stdtr(1 / shortfall, -statistic)
    return float(2 * tail)


def holm(p_values: Floats) -> Floats:
    """Step-down adjusted p-values (Holm 1979): max over j <= i of min(1, (m - j + 1) p_(j)); equal p stay equal.

    Rejecting those <= alpha keeps the chance of any false rejection in the family at alpha or below.
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def surely_above(estimates: Sequence[Interval | None], level: float = LEVEL) -> Relation:
    """Matrix whose [i, j] says that the value of i is surely above that of j: p <= 1 - level after Holm.

    The family is all pairs of estimates that have an interval; the others are above and below nobody.
    """
    known = [(i, estimate) for i, estimate in enumerate(estimates) if estimate is not None and estimate.low is not None]
    pairs = [(i, j, one, two) for rank, (i, one) in enumerate(known) for j, two in known[rank + 1 :]]
    above = np.zeros((len(estimates), len(estimates)), bool)
    adjusted = holm(np.array([difference_p(one, two) for _, _, one, two in pairs]))
    for (i, j, one, two), p in zip(pairs, adjusted, strict=True):
        if p <= 1 - level:
            winner, loser = (i, j) if one.value > two.value else (j, i)
            above[winner, loser] = True
    return above


def rank_intervals(
    estimates: Sequence[Interval | None], higher_is_better: bool = True, level: float = LEVEL
) -> list[RankInterval]:
    """Rank interval of each of N models: [1 + how many are surely better, N - how many are surely worse].

    With probability `level` all true ranks lie within them at once (Holm over all pairs; Mogstad et al. 2024). A model
    without an interval may have any rank: [1, N]. The order of the models does not matter, and equal estimates get
    equal ranks.
    """
    above = surely_above(estimates, level)
    better = above if higher_is_better else above.T
    count = len(estimates)
    return [RankInterval(1 + int(better[:, i].sum()), count - int(better[i].sum())) for i in range(count)]


def tie_groups(estimates: Sequence[Interval | None], higher_is_better: bool = True, level: float = LEVEL) -> list[str]:
    """Compact letter display (Piepho 2004): two models share a letter exactly where neither is surely better.

    Letters are the maximal sets of models that can't be told apart, "a" the one that holds the best value; after "z"
    come "a1" to "z1", and so on. A model without an interval can't be told from any and has every letter. The order of
    the models does not matter, and equal estimates get equal letters.
    """
    above = surely_above(estimates, level)
    sets = _maximal_sets(~(above | above.T))
    sign = -1.0 if higher_is_better else 1.0
    sets.sort(key=lambda members: _best_first(members, estimates, sign))
    letters = [""] * len(estimates)
    for position, members in enumerate(sets):
        for i in members:
            letters[i] += _letter(position)
    return letters


def _spread(estimate: Interval, downwards: bool) -> float:
    """Standard error towards one side, on which the true value would lie nearer to another estimate."""
    if estimate.low is None or estimate.high is None:
        raise ValueError("an estimate without an interval can't be compared")
    if estimate.method == "cr2_t" and estimate.stderr is not None:
        return estimate.stderr
    distance = estimate.value - estimate.low if downwards else estimate.high - estimate.value
    return distance / t_quantile(estimate.df, estimate.level)


def _maximal_sets(alike: Relation) -> list[frozenset[int]]:
    """Maximal sets of indices that are all alike pairwise (Bron & Kerbosch 1973, with a pivot)."""
    near = [frozenset(np.flatnonzero(row).tolist()) - {i} for i, row in enumerate(alike)]
    found: list[frozenset[int]] = []

    def extend(members: frozenset[int], candidates: frozenset[int], seen: frozenset[int]) -> None:
        if not candidates and not seen:
            found.append(members)
            return
        pivot = max(candidates | seen, key=lambda i: len(near[i] & candidates))
        for i in candidates - near[pivot]:
            extend(members | {i}, candidates & near[i], seen & near[i])
            candidates, seen = candidates - {i}, seen | {i}

    if near:
        extend(frozenset(), frozenset(range(len(near))), frozenset())
    return found


def _best_first(members: frozenset[int], estimates: Sequence[Interval | None], sign: float) -> list[tuple[float, ...]]:
    """Sort key of a set of models that depends on their estimates, not on their order."""
    keys = []
    for i in members:
        estimate = estimates[i]
        if estimate is not None and estimate.low is not None and estimate.high is not None:
            keys.append((sign * estimate.value, estimate.low, estimate.high))
    return sorted(keys)


def _letter(position: int) -> str:
    turn, place = divmod(position, 26)
    return chr(ord("a") + place) + (str(turn) if turn else "")
