from __future__ import annotations

import numpy as np
import pytest

from ethicsdb.runners.statistics.bootstrap import (
    cluster_bootstrap,
    cluster_codes,
    cluster_sums,
    stratified_bootstrap,
)
from ethicsdb.runners.statistics.intervals import METHODS, Interval, clustered_mean

Array = np.ndarray


def bootstrapped_mean(values: Array, clusters: list[str]) -> Interval | None:
    codes, count = cluster_codes(clusters)
    sums = cluster_sums([values.tolist(), [1.0] * len(values)], codes)

    def mean(weights: Array) -> Array:
        drawn = weights @ sums
        return drawn[:, 0] / drawn[:, 1]

    return cluster_bootstrap(mean, count, len(values))


def test_sums_are_by_cluster_in_the_order_of_labels() -> None:
    codes, count = cluster_codes(["b", "a\x00", "b", "a"])
    assert (codes.tolist(), count) == ([2, 1, 2, 0], 3)
    assert cluster_sums([[1, 2, 3, 4], [0, 1, 0, 1]], codes).tolist() == [[4, 1], [2, 1], [4, 0]]


def test_the_interval_of_a_mean_is_near_the_robust_one() -> None:
    generator = np.random.default_rng(5)
    clusters = [f"c{index // 3}" for index in range(600)]
    values = generator.normal(size=600) + np.repeat(generator.normal(size=200), 3)
    drawn, robust = bootstrapped_mean(values, clusters), clustered_mean(values, clusters)
    assert drawn is not None
    assert robust is not None
    assert (drawn.method, drawn.n, drawn.clusters, drawn.df) == ("cluster_bootstrap", 600, 200, None)
    assert drawn.value == pytest.approx(robust.value, abs=1e-12)
    assert drawn.stderr == pytest.approx(robust.stderr, rel=0.1)
    assert (drawn.low, drawn.high) == pytest.approx((robust.low, robust.high), abs=0.03)
    assert drawn.method in METHODS


def test_few_clusters_have_the_width_of_a_t_interval() -> None:
    generator = np.random.default_rng(8)
    widths = []
    for _ in range(20):
        values, clusters = generator.normal(size=8), [str(number) for number in range(8)]
        drawn, robust = bootstrapped_mean(values, clusters), clustered_mean(values, clusters)
        assert drawn is not None
        assert robust is not None
        widths.append((drawn.high - drawn.low) / (robust.high - robust.low))  # type: ignore[operator]
    # Plain percentiles would have 1.96 sqrt(7 / 8) / 2.36 = 0.78 of it.
    assert 0.93 < np.mean(widths) < 1.07


def test_the_order_of_items_changes_nothing() -> None:
    generator = np.random.default_rng(1)
    values, clusters = generator.integers(0, 9, 40).astype(float), [f"c{index % 7}" for index in range(40)]
    order = generator.permutation(40)
    shuffled = bootstrapped_mean(values[order], [clusters[index] for index in order])
    assert shuffled == bootstrapped_mean(values, clusters)


def test_where_there_is_no_interval_or_no_value() -> None:
    one, same = bootstrapped_mean(np.array([1.0, 2.0]), ["a", "a"]), bootstrapped_mean(np.ones(3), ["a", "b", "c"])
    for found, value in ((one, 1.5), (same, 1.0)):
        assert found is not None
        assert (found.value, found.method, found.low, found.high, found.stderr) == (value, "none", None, None, None)
    assert cluster_bootstrap(lambda weights: weights[:, 0], 0, 0) is None
    assert cluster_bootstrap(lambda weights: np.full(len(weights), np.nan), 3, 3) is None
    # Where one cluster in three is not drawn, in 8 of 27 resamples, there is nothing to divide by.
    often_empty = cluster_bootstrap(lambda weights: np.where(weights[:, 0] > 0, weights[:, 1], np.nan), 3, 3)
    assert often_empty is not None
    assert often_empty.method == "none"


def test_the_value_lies_within_its_interval() -> None:
    skewed = cluster_bootstrap(lambda weights: weights.max(axis=1), 30, 30)
    assert skewed is not None
    assert (skewed.value, skewed.low) == (1.0, 1.0)
    assert skewed.high is not None
    assert skewed.high > 2


def test_strata_keep_their_sizes() -> None:
    seen: list[Array] = []

    def first(weights: Array) -> Array:
        seen.append(weights)
        return weights[:, 0]

    found = stratified_bootstrap(first, [4, 2])
    assert found is not None
    assert (found.method, found.n, found.clusters) == ("stratified_bootstrap", 6, 6)
    assert found.method in METHODS
    drawn = np.concatenate(seen)
    assert (drawn[:, :4].sum(axis=1) == 4).all()
    assert (drawn[:, 4:].sum(axis=1) == 2).all()
    single = stratified_bootstrap(first, [4, 1])
    assert single is not None
    assert single.method == "none"
