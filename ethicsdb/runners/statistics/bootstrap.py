"""Intervals of numbers that are no mean: resampling whole clusters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ethicsdb.runners.statistics.intervals import Floats, Interval, Labels, Numbers, group_codes
from ethicsdb.schemas.quantiles import LEVEL, t_quantile

__all__ = ["REPLICATES", "SEED", "cluster_bootstrap", "cluster_codes", "cluster_sums", "stratified_bootstrap"]

REPLICATES = 2000
SEED = 20220527  # any; fixed, so that the same data give the same interval
_CELLS = 4_000_000  # weights held at once


def cluster_codes(clusters: Labels) -> tuple[NDArray[np.intp], int]:
    """Each item's cluster as a number, in the order of the labels' text, and how many there are.

    The order of items then has no part in which clusters a resample draws. Raises ValueError for a missing label.
    """
    codes, known = group_codes(clusters)
    ranks = np.empty(len(known), np.intp)
    ranks[sorted(range(len(known)), key=lambda code: str(known[code]))] = np.arange(len(known))
    return ranks[codes], len(known)


def cluster_sums(columns: Sequence[Numbers], codes: NDArray[np.intp]) -> Floats:
    """Sums of each column over each cluster: one row a cluster and one column a column.

    `weights @ cluster_sums(...)` are then the columns' sums in each resample.
    """
    return np.stack([np.bincount(codes, np.asarray(column, np.float64)) for column in columns], axis=1)


def cluster_bootstrap(
    statistic: Callable[[Floats], Floats], clusters: int, n: int, level: float = LEVEL
) -> Interval | None:
    """A statistic with the expanded percentile interval of resamples of whole clusters (Hesterberg 2015).

    The ends are the quantiles of the resamples (Davison & Hinkley 1997, 5.3) at a and 1 - a, with
    a = Phi(-t sqrt(G / (G - 1))), Phi the normal distribution and t the two-sided quantile at G - 1 degrees of freedom,
    G clusters. The plain a = 0.025 is the limit of many clusters; of few, resamples spread too little.

    Args:
        statistic: from weights, one row a resample and one column a cluster (how often it was drawn), to the
            statistic of each row; NaN where it has no value there.
        clusters: how many there are.
        n: items in them.

    Returns:
        The value at weights of 1; None where that is NaN. `method` is "cluster_bootstrap", or "none" for fewer than two
        clusters, no spread at all, or a statistic that more than one resample in twenty leaves without value:
        what remains of them would be a biased draw.
    """
    return _bootstrap(statistic, [clusters], n, "cluster_bootstrap", level)


def stratified_bootstrap(
    statistic: Callable[[Floats], Floats], strata: Sequence[int], level: float = LEVEL
) -> Interval | None:
    """Like `cluster_bootstrap`, drawing single units, and from each stratum as many as it has.

    Args:
        statistic: as there; its columns are the units, stratum by stratum.
        strata: units of each. The smallest is G; of fewer than two, there is no interval.

    Returns:
        As there, with `method` "stratified_bootstrap" and all units as `n` and `clusters`.
    """
    return _bootstrap(statistic, strata, sum(strata), "stratified_bootstrap", level)


def _bootstrap(
    statistic: Callable[[Floats], Floats], strata: Sequence[int], n: int, method: str, level: float
) -> Interval | None:
    units = sum(strata)
    value = float(statistic(np.ones((1, units)))[0]) if units else float("nan")
    if np.isnan(value):
        return None
    bare = Interval(value, None, None, None, "none", n, units, None, level)
    if min(strata) < 2:
        return bare
    draws = _draws(statistic, strata)
    known = draws[~np.isnan(draws)]
    if len(known) < 0.95 * len(draws) or np.ptp(known) <= 1e-12 * max(1.0, abs(value)):
        return bare
    tail = _tail(min(strata), level)
    low, high = np.quantile(known, [tail, 1 - tail])
    stderr = float(known.std(ddof=1))
    # A skewed statistic may lie outside of its own resamples.
    low, high = min(float(low), value), max(float(high), value)
    return Interval(value, stderr, low, high, method, n, units, None, level)


def _tail(units: int, level: float) -> float:
    """Share of resamples beyond either end, with as few units as the smallest stratum has."""
    return math.erfc(t_quantile(units - 1, level) * math.sqrt(units / (units - 1)) / math.sqrt(2)) / 2


def _draws(statistic: Callable[[Floats], Floats], strata: Sequence[int]) -> Floats:
    generator = np.random.default_rng(SEED)
    rows = max(1, min(REPLICATES, _CELLS // sum(strata)))
    found = []
    for start in range(0, REPLICATES, rows):
        count = min(rows, REPLICATES - start)
        drawn = [generator.multinomial(units, np.full(units, 1 / units), size=count) for units in strata]
        found.append(statistic(np.concatenate(drawn, axis=1).astype(np.float64)))
    return np.concatenate(found)
