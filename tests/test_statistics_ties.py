from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from ethicsdb.runners.statistics.intervals import Interval, clustered_mean, proportion, rate
from ethicsdb.runners.statistics.ties import (
    RankInterval,
    difference_p,
    holm,
    rank_intervals,
    surely_above,
    tie_groups,
)


def normal(value: float, stderr: float, df: float = 1e6) -> Interval:
    half = stats.t.ppf(0.975, df) * stderr
    return Interval(value, stderr, value - half, value + half, "cr2_t", 100, 50, df)


def counted(hits: int, n: int) -> Interval:
    found = proportion(hits, n)
    assert found is not None
    return found


UNKNOWN = Interval(0.7, None, None, None, "none", 3, 1, None)


def test_two_means_are_compared_by_welch() -> None:
    rng = np.random.default_rng(8)
    one, two = rng.normal(0, 1, 9), rng.normal(1, 3, 14)
    first, second = clustered_mean(one, range(9)), clustered_mean(two, range(14))
    assert first is not None
    assert second is not None
    assert difference_p(first, second) == pytest.approx(stats.ttest_ind(one, two, equal_var=False).pvalue, rel=1e-10)
    assert difference_p(first, second) == difference_p(second, first)


@pytest.mark.parametrize(("hits", "others"), [((40, 100), (25, 90)), ((9, 10), (3, 10)), ((1, 30), (12, 30))])
def test_two_rates_are_compared_by_newcombe(hits: tuple[int, int], others: tuple[int, int]) -> None:
    p = difference_p(counted(*hits), counted(*others))
    low, high = confint_proportions_2indep(*hits, *others, method="newcomb")
    difference = hits[0] / hits[1] - others[0] / others[1]
    facing = difference - low if difference > 0 else high - difference
    assert p == pytest.approx(2 * stats.norm.sf(abs(difference) / facing * stats.norm.ppf(0.975)), rel=1e-6)
    assert (p < 0.05) == (low > 0 or high < 0)


def test_rates_in_clusters_are_compared_by_the_limits_that_face_each_other() -> None:
    clusters = np.repeat(range(9), 2)
    rare = rate([1, 0, 0, 1, 0, 0] + [0] * 12, clusters)
    frequent = rate([1, 1, 0, 1, 1, 1, 0, 0, 1] * 2, clusters)
    assert rare is not None
    assert frequent is not None
    assert (rare.method, frequent.method) == ("cr2_score", "cr2_score")
    errors = np.array([rare.high - rare.value, frequent.value - frequent.low]) / stats.t.ppf(0.975, 8)  # type: ignore[operator]
    df = (errors**2).sum() ** 2 / (errors**4 / 8).sum()
    wanted = 2 * stats.t.sf((frequent.value - rare.value) / math.sqrt((errors**2).sum()), df)
    assert difference_p(rare, frequent) == difference_p(frequent, rare) == pytest.approx(wanted, rel=1e-10)


def test_no_hits_at_all_are_still_uncertain() -> None:
    assert difference_p(counted(0, 4), counted(2, 4)) > 0.05
    assert difference_p(counted(0, 400), counted(200, 400)) < 1e-6
    whole, none = rate([1] * 8, [1, 1, 2, 2, 3, 3, 4, 4]), rate([0] * 8, [1, 1, 2, 2, 3, 3, 4, 4])
    assert whole is not None
    assert none is not None
    assert 0.01 < difference_p(whole, none) < 0.05


def test_equal_values_are_no_difference() -> None:
    assert difference_p(counted(1, 3), counted(200, 600)) == 1
    assert difference_p(counted(0, 3), counted(0, 600)) == 1


def test_an_estimate_without_an_interval_is_not_compared() -> None:
    with pytest.raises(ValueError, match="without an interval"):
        difference_p(UNKNOWN, normal(0, 1))


def test_holm_is_that_of_statsmodels() -> None:
    p_values = np.array([0.2, 0.001, 0.04, 0.04, 0.9, 0.012])
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], rel=1e-12)
    assert holm(p_values)[2] == holm(p_values)[3]
    assert holm(np.array([])).shape == (0,)


def test_rank_intervals_and_letters_of_a_small_board() -> None:
    board = [normal(0.9, 0.01), normal(0.5, 0.01), normal(0.89, 0.01), normal(0.1, 0.01)]
    assert rank_intervals(board) == [RankInterval(1, 2), RankInterval(3, 3), RankInterval(1, 2), RankInterval(4, 4)]
    assert tie_groups(board) == ["a", "b", "a", "c"]
    assert rank_intervals(board, higher_is_better=False)[3] == RankInterval(1, 1)
    assert tie_groups(board, higher_is_better=False) == ["c", "b", "c", "a"]


def test_a_model_between_two_groups_has_both_letters() -> None:
    board = [normal(0.60, 0.02), normal(0.55, 0.02), normal(0.50, 0.02)]
    assert tie_groups(board) == ["a", "ab", "b"]
    assert rank_intervals(board) == [RankInterval(1, 2), RankInterval(1, 3), RankInterval(2, 3)]


def test_a_model_without_an_interval_may_have_any_rank() -> None:
    board = [normal(0.9, 0.01), UNKNOWN, None, normal(0.1, 0.01)]
    assert rank_intervals(board) == [RankInterval(1, 3), RankInterval(1, 4), RankInterval(1, 4), RankInterval(2, 4)]
    assert tie_groups(board) == ["a", "ab", "ab", "b"]
    assert tie_groups([None, UNKNOWN]) == ["a", "a"]


def test_boards_of_no_and_one_model() -> None:
    assert (rank_intervals([]), tie_groups([])) == ([], [])
    assert (rank_intervals([normal(1, 1)]), tie_groups([normal(1, 1)])) == ([RankInterval(1, 1)], ["a"])


def test_letters_go_on_after_z() -> None:
    board = [normal(float(i), 0.001) for i in range(30)]
    letters = tie_groups(board, higher_is_better=False)
    assert letters[25:28] == ["z", "a1", "b1"]
    assert len(set(letters)) == 30


estimates = st.one_of(
    st.none(),
    st.just(UNKNOWN),
    st.builds(counted, st.integers(0, 12), st.sampled_from([12, 40, 400])),
    st.builds(normal, st.sampled_from([0.0, 0.2, 0.5, 0.55, 1.0]), st.sampled_from([0.01, 0.1]), st.just(20.0)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(estimates, max_size=9), st.randoms(use_true_random=False), st.booleans())
def test_order_never_breaks_a_tie(board: list[Interval | None], random: Random, higher: bool) -> None:
    order = list(range(len(board)))
    random.shuffle(order)
    shuffled = [board[i] for i in order]
    ranks, letters = rank_intervals(board, higher), tie_groups(board, higher)
    assert rank_intervals(shuffled, higher) == [ranks[i] for i in order]
    assert tie_groups(shuffled, higher) == [letters[i] for i in order]
    for i, one in enumerate(board):
        for j, two in enumerate(board):
            if one == two:
                assert (ranks[i], letters[i]) == (ranks[j], letters[j])


@settings(max_examples=150, deadline=None)
@given(st.lists(estimates, min_size=1, max_size=9))
def test_sharing_a_letter_means_not_told_apart(board: list[Interval | None]) -> None:
    above, letters = surely_above(board), tie_groups(board)
    assert all(letters)
    for i in range(len(board)):
        for j in range(len(board)):
            assert bool(set(letters[i]) & set(letters[j])) == (not above[i, j] and not above[j, i])


def test_equal_models_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(12)
    false = 0
    for _ in range(400):
        board = [counted(int(hits), 60) for hits in rng.binomial(60, 0.3, 5)]
        false += bool(surely_above(board).any())
    assert false / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
