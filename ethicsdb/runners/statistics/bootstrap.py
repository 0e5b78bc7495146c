"""Intervals of numbers that are no mean: resampling whole clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ethicsdb.runners.statistics.intervals import Floats, Interval
from ethicsdb.schemas.quantiles import LEVEL

__all__ = ["REPLICATES", "SEED", "cluster_bootstrap"]

REPLICATES = 2000
SEED = 20220527  # any; fixed, so that the same data give the same interval
_CELLS = 4_000_000  # weights held at once


def cluster_bootstrap(
    statistic: Callable[[Floats], Floats], clusters: int, n: int, level: float = LEVEL
) -> Interval | None:
    """A statistic with the percentile interval of resamples of whole clusters (Davison & Hinkley 1997, 5.3).

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
    value = float(statistic(np.ones((1, clusters)))[0]) if clusters else float("nan")
    if np.isnan(value):
        return None
    bare = Interval(value, None, None, None, "none", n, clusters, None, level)
    if clusters < 2:
        return bare
    draws = _draws(statistic, clusters)
    known = draws[~np.isnan(draws)]
    if len(known) < 0.95 * len(draws) or np.ptp(known) <= 1e-12 * max(1.0, abs(value)):
        return bare
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    stderr = float(known.std(ddof=1))
    # A skewed statistic may lie outside of its own resamples.
    low, high = min(float(low), value), max(float(high), value)
    return Interval(value, stderr, low, high, "cluster_bootstrap", n, clusters, None, level)


def _draws(statistic: Callable[[Floats], Floats], clusters: int) -> Floats:
    generator = np.random.default_rng(SEED)
    rows = max(1, min(REPLICATES, _CELLS // clusters))
    found = []
    for start in range(0, REPLICATES, rows):
        count = min(rows, REPLICATES - start)
        weights = generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=count)
        found.append(statistic(weights.astype(np.float64)))
    return np.concatenate(found)
