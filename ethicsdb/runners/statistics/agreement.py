"""Agreement of a judge with people (or of two judges): confusion, accuracy, kappa, precision, recall and F1.

Every figure comes with an interval by cluster. With weights (1 / sampling probability) all figures are estimates for
the whole that the labelled sample was drawn from; the confusion matrix stays a count of what was labelled.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ethicsdb.runners.statistics.intervals import (
    Floats,
    Interval,
    Labels,
    Numbers,
    clustered_mean,
    group_codes,
    list_labels,
    rate,
)

__all__ = ["Agreement", "agreement", "kappa_influence"]

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Agreement:
    """How far `other` (say, a judge) agrees with `reference` (say, people) on the same units.

    `confusion[i][j]` counts units that the reference calls `labels[i]` and the other `labels[j]`; labels are ordered
    by their text form. Figures are None where their denominator is empty: nothing labelled (`accuracy`), chance
    agreement of 1 (`kappa`), nothing called positive by the other (`precision`), by the reference (`recall`) or by
    either (`f1`). `kappa` ranges from -1 to 1, the others from 0 to 1.
    """

    labels: tuple[Hashable, ...]
    confusion: tuple[tuple[int, ...], ...]
    n: int
    clusters: int
    accuracy: Interval | None
    kappa: Interval | None
    precision: Interval | None
    recall: Interval | None
    f1: Interval | None


def agreement(
    reference: Labels, other: Labels, clusters: Labels, positive: Hashable, weights: Numbers | None = None
) -> Agreement:
    """Compare two labellings of the same units, which come in clusters; labels may be any number of names.

    accuracy = share of equal labels; precision = share of the reference's positives among the other's; recall = share
    of the other's among the reference's: each a `rate` over the units of its denominator, clustered as given.
    F1 = 2 TP / (2 TP + FP + FN) = 2 J / (1 + J), with J = TP / (TP + FP + FN) the share of units called positive by
    both among those called so by either: the interval of J, itself a rate, is carried over.
    Raises ValueError for lists of different length, missing labels (leave such units out and report how many) and
    weights that are not positive.
    """
    first, second, labels = _paired_codes(reference, other)
    groups, known = group_codes(clusters)
    weight = np.ones(len(first)) if weights is None else np.asarray(weights, np.float64)
    if not len(first) == len(groups) == len(weight):
        raise ValueError(f"{len(first)} units, but {len(groups)} cluster labels and {len(weight)} weights")
    sample = _Sample(first, second, groups, weight, weights is not None)
    code = labels.index(positive) if positive in labels else -1
    by_reference, by_other = first == code, second == code
    jaccard = sample.rate(by_reference & by_other, by_reference | by_other)
    return Agreement(
        labels=labels,
        confusion=_counts(first, second, len(labels)),
        n=len(first),
        clusters=len(known),
        accuracy=sample.rate(first == second, np.ones(len(first), bool)),
        kappa=_kappa(sample),
        precision=sample.rate(by_reference, by_other),
        recall=sample.rate(by_other, by_reference),
        f1=None if jaccard is None else _f1(jaccard),
    )


def kappa_influence(first: Codes, second: Codes, weights: Floats) -> tuple[float, Floats] | None:
    """Cohen's kappa and each unit's influence on it; None where chance agreement is 1 (one label, used by both).

    kappa = (p_o - p_e) / (1 - p_e) with p_o = sum_k p_kk, p_e = sum_k p_k. p_.k (Cohen 1960). A unit of cell (a, b)
    has IF = [(1{a=b} - p_o)(1 - p_e) - (1 - p_o)(p_.a + p_b. - 2 p_e)] / (1 - p_e)^2, the derivative of kappa in the
    direction of that cell. The (weighted) mean of IF is 0, and for independent units the mean of IF^2 over n is the
    large-sample variance of Fleiss, Cohen & Everitt (1969). Labels are codes 0, 1, ...
    """
    share = weights / weights.sum()
    size = int(max(first.max(), second.max())) + 1
    rows, columns = np.bincount(first, share, size), np.bincount(second, share, size)
    expected = float(rows @ columns)
    if len(np.union1d(first, second)) < 2:
        return None
    agrees = (first == second).astype(np.float64)
    observed = float(share @ agrees)
    chance = columns[first] + rows[second] - 2 * expected
    influence = ((agrees - observed) * (1 - expected) - (1 - observed) * chance) / (1 - expected) ** 2
    return (observed - expected) / (1 - expected), influence


@dataclass(frozen=True)
class _Sample:
    """Two labellings as codes, with cluster codes and weights."""

    first: Codes
    second: Codes
    groups: Codes
    weight: Floats
    weighted: bool

    def rate(self, hits: NDArray[np.bool_], among: NDArray[np.bool_]) -> Interval | None:
        """Rate of hits among the chosen units."""
        weights = self.weight[among] if self.weighted else None
        return rate(hits[among].astype(np.float64), self.groups[among], weights)


def _kappa(sample: _Sample) -> Interval | None:
    """Kappa with a cluster-robust interval: that of the mean of the units' pseudo-values, kappa + IF.

    Its variance sums the influence by cluster, with the CR2 correction and degrees of freedom of `clustered_mean`
    (clusters - 1 where they are equal). Two cases have no spread that could be measured: full agreement
    (`_full_agreement`), and a rater who used one label only: kappa is then 0 whatever the other does, which says
    nothing, so that there is no interval.
    """
    found = kappa_influence(sample.first, sample.second, sample.weight) if len(sample.first) else None
    if found is None:
        return None
    kappa, influence = found
    if bool((sample.first == sample.second).all()):
        return _full_agreement(sample)
    weights = sample.weight if sample.weighted else None
    estimate = clustered_mean(kappa + influence, sample.groups, weights)
    if estimate is None or estimate.low is None or estimate.high is None or _one_label(sample):
        return Interval(kappa, None, None, None, "none", len(influence), len(set(sample.groups.tolist())), None)
    return replace(estimate, value=kappa, low=max(estimate.low, -1.0), high=min(estimate.high, 1.0))


def _full_agreement(sample: _Sample) -> Interval | None:
    """Kappa 1 >= 1 - u / (1 - p_e), with u the exact bound on the share of disagreement and p_e as it was found."""
    share = np.bincount(sample.first, sample.weight) / sample.weight.sum()
    accuracy = sample.rate(sample.first == sample.second, np.ones(len(sample.first), bool))
    if accuracy is None or accuracy.low is None:
        return accuracy
    return replace(accuracy, low=max(1 - (1 - accuracy.low) / (1 - float(share @ share)), -1.0))


def _one_label(sample: _Sample) -> bool:
    return bool((sample.first == sample.first[0]).all() or (sample.second == sample.second[0]).all())


def _f1(jaccard: Interval) -> Interval:
    """F1 = 2 J / (1 + J), which rises with J: ends are carried over, the standard error by the derivative."""
    stderr = None if jaccard.stderr is None else jaccard.stderr * 2 / (1 + jaccard.value) ** 2
    low, high = (None if end is None else 2 * end / (1 + end) for end in (jaccard.low, jaccard.high))
    value = 2 * jaccard.value / (1 + jaccard.value)
    return replace(jaccard, value=value, stderr=stderr, low=low, high=high)


def _paired_codes(reference: Labels, other: Labels) -> tuple[Codes, Codes, tuple[Hashable, ...]]:
    """Both labellings as codes into one list of labels, which is ordered by text form."""
    first, second = list_labels(reference), list_labels(other)
    if len(first) != len(second):
        raise ValueError(f"{len(first)} labels of the reference, but {len(second)} of the other")
    codes, known = group_codes(first + second)
    order = sorted(range(len(known)), key=lambda code: str(known[code]))
    rank = np.empty(len(known), np.intp)
    rank[order] = np.arange(len(known))
    codes = rank[codes]
    return codes[: len(first)], codes[len(first) :], tuple(known[code] for code in order)


def _counts(first: Codes, second: Codes, size: int) -> tuple[tuple[int, ...], ...]:
    """Confusion matrix as nested tuples of counts."""
    flat = np.bincount(first * size + second, minlength=size * size)
    return tuple(tuple(int(count) for count in row) for row in flat.reshape(size, size))
