"""Confidence intervals of rates and means whose items come in clusters.

Items that share a base question, a conversation or a seed are not independent, so the unit of evidence is the cluster.
`schemas/sql/scoring/interval.sql` computes the same numbers inside the database.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ethicsdb.schemas.quantiles import LEVEL, t_quantile

__all__ = [
    "METHODS",
    "Floats",
    "Interval",
    "Labels",
    "Numbers",
    "clustered_mean",
    "cr2_variance",
    "exact_bound",
    "group_codes",
    "list_labels",
    "proportion",
    "rate",
    "satterthwaite_df",
    "score_limits",
]

Floats: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = Sequence[float] | NDArray[Any]
Labels: TypeAlias = Iterable[Hashable] | NDArray[Any]

METHODS = {
    "wilson": "Wilson score interval; every cluster has one item",
    "rule_of_three": "exact binomial bound; every cluster has one item, and none or all are hits",
    "cr2_score": "score interval of values with bounds, from the cluster-robust (CR2) variance and Satterthwaite df",
    "cr2_t": "cluster-robust (CR2) t interval with Satterthwaite degrees of freedom; values without bounds",
    "exact_clusters": "exact binomial bound on the number of clusters; all clusters have the same mean",
    "cluster_bootstrap": "expanded percentiles of 2,000 seeded resamples of whole clusters; numbers that are no mean",
    "stratified_bootstrap": "expanded percentiles of 2,000 seeded resamples of units within each of several sets",
    "none": "no interval: one cluster only, no spread at all in values without bounds, or the figure of a test",
}
"""Stable names of the methods, as stored, with a sentence for each."""

_NO_SPREAD = 1e-12  # relative: what is left of equal cluster means after rounding


@dataclass(frozen=True)
class Interval:
    """An estimate with its two-sided confidence interval, in the units of the values.

    `stderr` is None where the estimated variance would be zero (a lie) or can't be estimated; `low` and `high` are None
    together, exactly where `method` is "none". `df` is None except for the cluster-robust (CR2) methods. `n` counts
    items, `clusters` the groups they came in. Methods are the keys of `METHODS`.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None
    method: str
    n: int
    clusters: int
    df: float | None
    level: float = LEVEL


def proportion(hits: int, n: int, level: float = LEVEL) -> Interval | None:
    """Interval of a rate hits / n over independent items; None where n is 0.

    Wilson's score interval (Wilson 1927): with z the normal quantile and p = hits / n,
    centre (p + z^2/2n) / (1 + z^2/n), half-width z sqrt(p(1-p)/n + z^2/4n^2) / (1 + z^2/n).
    Where hits is 0 or n, the exact (Clopper & Pearson 1934) bound `exact_bound(n)`: about 3.7 / n at 95%. The classic
    rule of three, 3 / n, is one-sided: beside two-sided intervals it would look more certain than it is.
    Raises ValueError unless 0 <= hits <= n.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"hits must lie between 0 and n, not {hits} of {n}")
    if n == 0:
        return None
    p = hits / n
    if hits in (0, n):
        bound = exact_bound(n, level)
        low, high = (0.0, bound) if hits == 0 else (1 - bound, 1.0)
        return Interval(p, None, low, high, "rule_of_three", n, n, None, level)
    stderr = math.sqrt(p * (1 - p) / n)
    low, high = score_limits(p, t_quantile(None, level) * stderr)
    return Interval(p, stderr, low, high, "wilson", n, n, None, level)


def score_limits(p: float, half: float) -> tuple[float, float]:
    """Limits of Wilson's score interval (Wilson 1927) round a share p that would be p +- half if it were symmetric.

    With half = t sqrt(V) and n_eff = p(1-p) / V, they are those of `proportion` at t in place of z and n_eff in place
    of n: the two pi with (p - pi)^2 = t^2 pi(1-pi) / n_eff. Always 0 <= low <= p <= high <= 1.
    Needs 0 <= p <= 1 and half > 0.
    """
    room, square = p * (1 - p), half * half
    root = math.sqrt(square * room * room + square * square / 4)
    # Roots of a quadratic by their product, from either end of the range: nothing cancels, nothing leaves the range.
    low = p * p * room / (p * room + square / 2 + root)
    high = 1 - (1 - p) * (1 - p) * room / ((1 - p) * room + square / 2 + root)
    return low, high


def exact_bound(n: float, level: float = LEVEL) -> float:
    """Upper bound of a probability of which n independent trials showed nothing: 1 - (alpha/2)^(1/n).

    The bound of a two-sided interval (Clopper & Pearson 1934; Hanley & Lippman-Hand 1983). `n` may be fractional, an
    effective number of trials (Korn & Graubard 1998).
    """
    return -math.expm1(math.log((1 - level) / 2) / n)


def cr2_variance(residual_sums: Floats, sizes: Floats) -> float:
    """CR2 (bias-reduced) variance of a mean, from one residual sum and one size (or sum of weights) a cluster.

    V = sum_g E_g^2 / (1 - h_g) / n^2, with n = sum n_g, h_g = n_g / n and E_g = s_g - n_g * mean. This is the closed
    form, for a regression on a constant, of Bell & McCaffrey (2002) and Pustejovsky & Tipton (2018): the
    adjustment of cluster g acts on the constant alone, as 1 / sqrt(1 - h_g). It is unbiased for independent items
    (with weights: items whose variance is inverse to the weight). Needs two clusters.
    """
    total = float(sizes.sum())
    return float((residual_sums**2 * total / (total - sizes)).sum()) / total**2


def satterthwaite_df(sizes: Floats) -> float:
    """Degrees of freedom of the CR2 variance of a mean: tr(O)^2 / tr(O^2), from one size a cluster.

    O_gh = a_g' (I - H) a_h with a_g = 1_g / (n sqrt(1 - h_g)) (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018,
    working model of independent items). For a mean, O_gg = h_g / n and O_gh^2 = q_g q_h / n^2 with
    q_g = h_g^2 / (1 - h_g), so that df = 1 / (sum h_g^2 + (sum q_g)^2 - sum q_g^2). It is G - 1 for G equal clusters
    and falls towards 1 as one cluster comes to hold nearly all items. Needs two clusters.
    """
    total = float(sizes.sum())
    shares = sizes / total
    q = sizes**2 / (total * (total - sizes))
    # The one cluster that may hold most items has a huge q: its square would cancel, so it is kept apart.
    major = 2 * sizes > total
    small, large = q[~major], float(q[major].sum())
    cross = 2 * large * float(small.sum()) + float(small.sum()) ** 2 - float((small**2).sum())
    return 1 / (float((shares**2).sum()) + cross)


def clustered_mean(
    values: Numbers,
    clusters: Labels,
    weights: Numbers | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = LEVEL,
) -> Interval | None:
    """Mean (or weighted mean) of values that come in clusters, with its CR2 interval; None where there are no values.

    With V of `cr2_variance` and t the quantile at the df of `satterthwaite_df`: without bounds the mean m +- t sqrt(V)
    ("cr2_t"). With `bounds` (lo, hi), the range that a value can have, `score_limits` of m on the scale from lo = 0 to
    hi = 1 ("cr2_score"): Wilson's interval at n_eff = (m - lo)(hi - m) / V, which never leaves the range.
    `weights` are positive, such as 1 / sampling probability.

    No interval (method "none") comes from one cluster. Where all cluster means are equal, V is 0 and says nothing: with
    bounds the interval is exact on the number of clusters G. With u = `exact_bound(G)`, at most a share u of
    clusters differs from those seen, by at most the distance to the bounds: [m - u (m - lo), m + u (hi - m)]; with
    unequal weights G is divided by their design effect (Kish 1992), n sum w^2 / (sum w)^2. Without bounds there is
    no interval.
    Raises ValueError for lengths that differ, values that are not finite or out of bounds, or weights <= 0.
    """
    data, weight = _checked(values, weights, bounds)
    codes, known = group_codes(clusters)
    count = len(known)
    if len(codes) != len(data):
        raise ValueError(f"{len(data)} values but {len(codes)} cluster labels")
    if len(data) == 0:
        return None
    sizes, sums, magnitudes = (_sums(codes, part) for part in (weight, weight * data, weight * np.abs(data)))
    value = _clip(float(sums.sum() / sizes.sum()), bounds)
    n = len(data)
    if count > 1 and not _equal_means(sums, sizes, magnitudes):
        stderr, df = _cr2(sums, sizes)
        half = t_quantile(df, level) * stderr
        if bounds is None:
            return Interval(value, stderr, value - half, value + half, "cr2_t", n, count, df, level)
        low, high = _bounded_limits(value, half, bounds)
        return Interval(value, stderr, low, high, "cr2_score", n, count, df, level)
    if count > 1 and bounds is not None:
        design_effect = n * float((weight**2).sum()) / float(weight.sum()) ** 2
        share = exact_bound(count / design_effect, level)
        low, high = value - share * (value - bounds[0]), value + share * (bounds[1] - value)
        return Interval(value, None, low, high, "exact_clusters", n, count, None, level)
    return Interval(value, None, None, None, "none", n, count, None, level)


def rate(hits: Numbers, clusters: Labels, weights: Numbers | None = None, level: float = LEVEL) -> Interval | None:
    """Rate of hits (0 or 1, or a share in between) with the interval that fits the clusters; None where there are none.

    `proportion` (Wilson, or the exact bound at 0 and n) where every cluster has one item, hits are 0 or 1 and nothing
    is weighted; else `clustered_mean` within [0, 1]. Raises ValueError like `clustered_mean`.
    """
    data, _ = _checked(hits, weights, (0.0, 1.0))
    codes, known = group_codes(clusters)
    independent = len(known) == len(codes) == len(data) and weights is None
    if independent and bool(((data == 0) | (data == 1)).all()):
        return proportion(int(data.sum()), len(data), level)
    return clustered_mean(data, codes, weights, (0.0, 1.0), level)


def list_labels(labels: Labels) -> list[Hashable]:
    """Labels as Python objects, which keep all of a text (numpy's text arrays drop trailing NULs)."""
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


def group_codes(labels: Labels) -> tuple[NDArray[np.intp], list[Hashable]]:
    """Number the distinct labels 0, 1, ... by first appearance; returns the codes and the labels in that order.

    Raises ValueError for a missing label (None or NaN): such items would silently form one group.
    """
    listed = list_labels(labels)
    known: dict[Hashable, int] = {}
    codes = np.fromiter((known.setdefault(label, len(known)) for label in listed), np.intp, len(listed))
    if any(label is None or label != label for label in known):
        raise ValueError("a label is missing (None or NaN)")
    return codes, list(known)


def _checked(values: Numbers, weights: Numbers | None, bounds: tuple[float, float] | None) -> tuple[Floats, Floats]:
    """Values and weights as arrays of equal length, once they are known to be usable."""
    data = np.asarray(values, np.float64)
    weight = np.ones(len(data)) if weights is None else np.asarray(weights, np.float64)
    if data.ndim != 1 or weight.shape != data.shape:
        raise ValueError(f"values and weights must be two equally long lists, not {data.shape} and {weight.shape}")
    if not (np.isfinite(data).all() and np.isfinite(weight).all() and (weight > 0).all()):
        raise ValueError("values must be finite, weights finite and positive")
    if bounds is not None and not ((data >= bounds[0]) & (data <= bounds[1])).all():
        raise ValueError(f"values lie outside of [{bounds[0]}, {bounds[1]}]")
    return data, weight


def _sums(codes: NDArray[np.intp], values: Floats) -> Floats:
    """Sum of the values of each code."""
    return np.bincount(codes, values).astype(np.float64)


def _equal_means(sums: Floats, sizes: Floats, magnitudes: Floats) -> bool:
    """Whether all clusters have the same mean, but for rounding (exact where sums and sizes are counts)."""
    total = sizes.sum()
    difference = np.abs(sums * total - sizes * sums.sum())
    return bool((difference <= _NO_SPREAD * (magnitudes * total + sizes * magnitudes.sum())).all())


def _cr2(sums: Floats, sizes: Floats) -> tuple[float, float]:
    """Standard error of the mean and its degrees of freedom, from the clusters' sums and sizes."""
    total = sizes.sum()
    # One division, last: residual sums of counts are then exact before it.
    residual_sums = (sums * total - sizes * sums.sum()) / total
    return math.sqrt(cr2_variance(residual_sums, sizes)), satterthwaite_df(sizes)


def _bounded_limits(value: float, half: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """`score_limits` of a mean of values between bounds."""
    lo, width = bounds[0], bounds[1] - bounds[0]
    low, high = score_limits((value - lo) / width, half / width)
    return lo + low * width, lo + high * width


def _clip(value: float, bounds: tuple[float, float] | None) -> float:
    return value if bounds is None else min(max(value, bounds[0]), bounds[1])
