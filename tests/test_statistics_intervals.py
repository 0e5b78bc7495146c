from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from ethicsdb.runners.statistics.intervals import (
    METHODS,
    Interval,
    clustered_mean,
    cr2_variance,
    group_codes,
    proportion,
    rate,
    satterthwaite_df,
)


def matrix_cr2(values: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """CR2 variance of a weighted mean and its Satterthwaite df from full matrices, by eigenvalues.

    The regression is scaled by sqrt(weight), so that the working model has equal variances.
    """
    x = np.sqrt(weights)[:, None]
    y = np.sqrt(weights) * values
    bread = np.linalg.inv(x.T @ x)
    rest = np.eye(len(values)) - x @ bread @ x.T
    rows = []
    for code in np.unique(codes):
        inside = codes == code
        eigenvalues, vectors = np.linalg.eigh(rest[np.ix_(inside, inside)])
        adjustment = vectors @ np.diag(eigenvalues**-0.5) @ vectors.T
        row = np.zeros(len(values))
        row[inside] = (bread @ x[inside].T @ adjustment).ravel()
        rows.append(row)
    a = np.array(rows)
    omega = a @ rest @ a.T
    return float(((a @ rest @ y) ** 2).sum()), float(np.trace(omega) ** 2 / np.trace(omega @ omega))


def test_wilson_is_that_of_statsmodels() -> None:
    for hits, n in [(1, 2), (3, 10), (37, 1000), (999, 1000)]:
        found = proportion(hits, n)
        assert found is not None
        assert found.method == "wilson"
        assert (found.low, found.high) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12)
        assert found.stderr == pytest.approx(math.sqrt(found.value * (1 - found.value) / n))


@pytest.mark.parametrize("n", [1, 2, 30, 5000])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_no_hits_give_the_exact_two_sided_bound(n: int, level: float) -> None:
    none, full = proportion(0, n, level), proportion(n, n, level)
    assert none is not None
    assert full is not None
    exact = proportion_confint(0, n, alpha=1 - level, method="beta")[1]
    assert (none.low, none.high, none.method, none.stderr) == (
        0,
        pytest.approx(exact, abs=1e-12),
        "rule_of_three",
        None,
    )
    assert (full.low, full.high, full.stderr) == (pytest.approx(1 - exact, abs=1e-12), 1, None)


def test_nothing_counted_is_no_rate() -> None:
    assert proportion(0, 0) is None
    assert rate([], []) is None
    assert clustered_mean([], []) is None


@pytest.mark.parametrize(("hits", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        proportion(hits, n)


@pytest.mark.parametrize("seed", range(6))
def test_cr2_closed_form_is_the_matrix_computation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(2 + seed), rng.integers(1, 7, 2 + seed))
    values = rng.normal(3, 2, len(codes)) + rng.normal(0, 1, 2 + seed)[codes]
    weights = np.ones(len(codes)) if seed % 2 else rng.uniform(0.5, 4, len(codes))
    variance, df = matrix_cr2(values, codes, weights)
    found = clustered_mean(values, codes, weights)
    assert found is not None
    assert found.stderr is not None
    assert found.value == pytest.approx(np.average(values, weights=weights), rel=1e-12)
    assert found.stderr**2 == pytest.approx(variance, rel=1e-10)
    assert found.df == pytest.approx(df, rel=1e-10)
    half = stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), rel=1e-10)


def test_single_items_give_the_ordinary_t_interval() -> None:
    values = np.random.default_rng(2).normal(size=12)
    found = clustered_mean(values, range(12))
    assert found is not None
    wanted = stats.ttest_1samp(values, 0).confidence_interval()
    assert (found.low, found.high, found.df) == pytest.approx((wanted.low, wanted.high, 11), rel=1e-12)


def test_equal_clusters_have_one_degree_of_freedom_less_than_clusters() -> None:
    assert satterthwaite_df(np.full(17, 4.0)) == pytest.approx(16, rel=1e-12)


def test_a_dominant_cluster_leaves_one_degree_of_freedom() -> None:
    sizes = np.array([1e9, 1.0, 1.0, 2.0])
    assert satterthwaite_df(sizes) == pytest.approx(1, abs=1e-6)
    assert cr2_variance(np.array([-4.0, 1, 1, 2]), sizes) > 0


def test_one_cluster_says_nothing_about_spread() -> None:
    for values in ([0, 1, 1], [1, 1, 1]):
        found = rate(values, ["q", "q", "q"])
        assert found == Interval(sum(values) / 3, None, None, None, "none", 3, 1, None)


def test_all_clusters_hit_is_bounded_by_the_number_of_clusters() -> None:
    clusters = [0, 0, 1, 1, 1, 2]
    bound = 1 - 0.025 ** (1 / 3)
    full, none = rate([1] * 6, clusters), rate([0] * 6, clusters)
    assert full is not None
    assert none is not None
    assert (full.method, full.low, full.high, full.stderr) == ("exact_clusters", pytest.approx(1 - bound), 1, None)
    assert (none.method, none.low, none.high) == ("exact_clusters", 0, pytest.approx(bound))


def test_equal_cluster_means_between_the_bounds_keep_a_width() -> None:
    bound = 1 - 0.025 ** (1 / 4)
    found = rate([0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3])
    assert found is not None
    assert (found.value, found.method) == (0.5, "exact_clusters")
    assert (found.low, found.high) == pytest.approx((0.5 - bound / 2, 0.5 + bound / 2))
    thirds = clustered_mean([0.1, 0.3, 0.2] * 5, np.repeat(range(5), 3), bounds=(-1, 1))
    assert thirds is not None
    assert thirds.method == "exact_clusters"


def test_equal_values_without_bounds_have_no_interval() -> None:
    found = clustered_mean([0.1] * 30, np.repeat(range(10), 3))
    assert found is not None
    assert (found.value, found.low, found.method) == (pytest.approx(0.1), None, "none")
    cancelling = clustered_mean([0.1, 0.2, -0.3] * 7, np.repeat(range(7), 3))
    assert cancelling is not None
    assert (cancelling.stderr, cancelling.method) == (None, "none")


def test_weights_widen_the_exact_bound_by_their_design_effect() -> None:
    weights = [1.0] * 90 + [100.0] * 10
    found = rate([1] * 100, range(100), weights)
    effective = sum(weights) ** 2 / sum(w * w for w in weights)
    assert found is not None
    assert found.method == "exact_clusters"
    assert found.low == pytest.approx(0.025 ** (1 / effective))
    assert found.high == 1


@pytest.mark.parametrize("seed", range(4))
def test_score_interval_is_wilsons_at_the_effective_number_and_t(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(12), rng.integers(1, 6, 12))
    values = (rng.random(len(codes)) < rng.beta(0.5, 2, 12)[codes]).astype(float)
    weights = None if seed % 2 else rng.uniform(0.5, 3, len(codes))
    found, symmetric = rate(values, codes, weights), clustered_mean(values, codes, weights)
    assert found is not None
    assert symmetric is not None
    assert (found.method, symmetric.method) == ("cr2_score", "cr2_t")
    assert (found.value, found.stderr, found.df) == (symmetric.value, symmetric.stderr, symmetric.df)
    p, t = found.value, stats.t.ppf(0.975, found.df)
    effective = p * (1 - p) / (found.stderr or math.nan) ** 2
    centre = (p + t * t / (2 * effective)) / (1 + t * t / effective)
    half = t * math.sqrt(p * (1 - p) / effective + t * t / (4 * effective**2)) / (1 + t * t / effective)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), rel=1e-10)


def test_score_interval_follows_the_scale_of_the_values() -> None:
    values, clusters = np.array([0.0, 0.25, 1, 0, 0.5, 0.125]), [1, 1, 2, 2, 3, 4]
    share = clustered_mean(values, clusters, bounds=(0, 1))
    mark = clustered_mean(1 + 4 * values, clusters, bounds=(1, 5))
    mirrored = clustered_mean(1 - values, clusters, bounds=(0, 1))
    assert share is not None
    assert mark is not None
    assert mirrored is not None
    low, high = share.low or math.nan, share.high or math.nan
    assert (mark.low, mark.high) == pytest.approx((1 + 4 * low, 1 + 4 * high), rel=1e-12)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - high, 1 - low), rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1e-9, 0.5, 1 - 1e-9, 1.0]), st.integers(0, 5)), min_size=2))
def test_bounded_values_have_bounded_intervals(units: list[tuple[float, int]]) -> None:
    values, clusters = zip(*units, strict=True)
    for bounds in ((0.0, 1.0), (-0.3, 1.1)):
        found = clustered_mean(values, clusters, bounds=bounds)
        assert found is not None
        assert found.method in {"cr2_score", "exact_clusters", "none"}
        if found.low is not None and found.high is not None:
            assert bounds[0] <= found.low <= found.value <= found.high <= bounds[1]
            assert found.high - found.low > 0


def test_one_hit_is_neither_nothing_nor_everything() -> None:
    found = rate([1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2])
    assert found is not None
    assert found.method == "cr2_score"
    assert found.value == pytest.approx(1 / 6)
    assert 0 < (found.low or 0) < 1 / 6 < (found.high or 1) < 1


def test_rate_chooses_by_the_clusters() -> None:
    chosen = [
        rate([0, 1, 1], [1, 2, 3]),
        rate([1, 1, 1], [1, 2, 3]),
        rate([0, 1, 1], [1, 2, 2]),
        rate([1, 1, 1], [1, 2, 2]),
        rate([1, 1, 0], [1, 1, 1]),
        rate([0, 1, 1], [1, 2, 3], [1, 2, 2]),
        rate([0, 0.5, 1], [1, 2, 3]),
        clustered_mean([0, 0.5, 1], [1, 2, 3]),
    ]
    methods = [found.method for found in chosen if found is not None]
    assert methods == [
        "wilson",
        "rule_of_three",
        "cr2_score",
        "exact_clusters",
        "none",
        "cr2_score",
        "cr2_score",
        "cr2_t",
    ]
    assert {*methods, "cluster_bootstrap", "stratified_bootstrap"} == set(METHODS)


def test_order_and_names_of_clusters_do_not_matter() -> None:
    values, clusters = [0, 1, 1, 0, 1], ["a\0", "a", "b", "b", "是"]
    found = rate(values, clusters)
    assert found is not None
    assert found.clusters == 4
    for same in (rate(values[::-1], clusters[::-1]), rate(values, np.array([7, 3, 1, 1, 0]))):
        assert same is not None
        assert (same.value, same.method) == (found.value, found.method)
        assert (same.low, same.high, same.df) == pytest.approx((found.low, found.high, found.df), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "clusters", "weights"),
    [
        ([0, 1], [1], None),
        ([0, 2], [1, 1], None),
        ([0, math.nan], [1, 2], None),
        ([0, 1], [1, None], None),
        ([0, 1], [1, math.nan], None),
        ([0, 1], [1, 2], [1, 0]),
        ([0, 1], [1, 2], [1]),
    ],
)
def test_unusable_input_is_refused(values: list[float], clusters: list[object], weights: list[float] | None) -> None:
    with pytest.raises(ValueError, match=r"."):
        rate(values, clusters, weights)


def test_labels_are_numbered_by_first_appearance() -> None:
    codes, known = group_codes(["\ud800", "b", "\ud800", "b\0"])
    assert codes.tolist() == [0, 1, 0, 2]
    assert known == ["\ud800", "b", "b\0"]
