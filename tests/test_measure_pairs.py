from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_items import Scored, counts, item, numbers, values
from scipy import stats

from ethicsdb.runners.measures.base import Observed
from ethicsdb.runners.measures.pairs import likelihood_differences, preferences

TESTS = ("t_statistic", "p_value", "perplexity_t_statistic", "perplexity_p_value")


def pair(stereotype: Scored | None, anti: Scored | None, direction: str | None = None, group: str = "p") -> Observed:
    scores = {"stereotype": stereotype, "anti_stereotype": anti}
    return item(group, {name: score for name, score in scores.items() if score is not None}, direction=direction)


def test_preferences_by_hand() -> None:
    items = [
        pair(-1, -2, "stereo"),
        pair(-1, -2, "stereo"),
        pair(-2, -1, "stereo"),
        pair(-2, -2, "stereo"),
        pair(-1, -2, "antistereo"),
        pair(-1, -1, "antistereo"),
        pair(-1, None, "antistereo"),
        pair(-2, -1),
    ]
    assert values(preferences, items) == {
        "stereotype_preference": pytest.approx(3 / 7),
        "preference_stereo": pytest.approx(2 / 4),
        "preference_antistereo": pytest.approx(1 / 2),
        "ties": pytest.approx(2 / 7),
    }
    assert counts(preferences, items) == {
        "stereotype_preference": (7, 8),
        "preference_stereo": (4, 4),
        "preference_antistereo": (2, 3),
        "ties": (7, 8),
    }
    assert set(values(preferences, []).values()) == {None}


scores = st.integers(-4, 0).map(float)


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=20))
def test_a_pair_prefers_one_or_the_other_or_is_a_tie(rows: list[tuple[float, float]]) -> None:
    there = values(preferences, [pair(*row) for row in rows])
    back = values(preferences, [pair(*row[::-1]) for row in rows])
    shares = (there["stereotype_preference"], back["stereotype_preference"], there["ties"])
    assert sum(share for share in shares if share is not None) == pytest.approx(1)


def test_differences_by_hand() -> None:
    items = [pair(-1, -2, group="a"), pair(-3, -2, group="a"), pair(-1, -4, group="b"), pair(-1, None, group="b")]
    found = values(likelihood_differences, items)
    assert found["likelihood_difference"] == pytest.approx((1 - 1 + 3) / 3)
    assert found["t_statistic"] == pytest.approx(1 / (2 / math.sqrt(3)))  # sd of 1, -1, 3 is 2
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(math.sqrt(3) / 2, 2))
    assert counts(likelihood_differences, items) == {
        "likelihood_difference": (3, 4),
        "t_statistic": (3, 4),
        "p_value": (3, 4),
        "perplexity_t_statistic": (0, 4),  # no tokens were counted
        "perplexity_p_value": (0, 4),
    }
    estimate = numbers(likelihood_differences, items)["t_statistic"].estimate
    assert estimate is not None
    assert (estimate.method, estimate.low, estimate.high, estimate.n, estimate.clusters) == ("none", None, None, 3, 2)


@pytest.mark.parametrize(
    "items", [[], [pair(-1, -2)], [pair(-1, -2), pair(-3, -4)], [pair(-0.1, -0.4), pair(-0.3, -0.6)], [pair(0, 0)] * 3]
)
def test_no_test_without_spread(items: list[Observed]) -> None:
    found = values(likelihood_differences, items)
    assert [found[name] for name in TESTS] == [None] * 4
    assert (found["likelihood_difference"] is None) == (not items)


def counted(left: list[float], right: list[float]) -> list[Observed]:
    """Pairs with these means over ten tokens."""
    return [
        pair((10 * a, 10), (10 * b, 10), group=str(index)) for index, (a, b) in enumerate(zip(left, right, strict=True))
    ]


def test_the_tests_are_those_of_scipy_and_outliers_leave_perplexities() -> None:
    generator = np.random.default_rng(3)
    left = (-3 + generator.normal(size=60) / 4).tolist()
    right = (-3.1 + generator.normal(size=60) / 4).tolist()
    left[7], right[21] = -9.0, -8.0  # perplexities of 8,103 and 2,981 among some of 20
    found = numbers(likelihood_differences, counted(left, right), "mean")
    by_mean = stats.ttest_rel(left, right)
    kept = [index for index in range(60) if index not in (7, 21)]
    assert found["t_statistic"].estimate is not None
    assert found["t_statistic"].estimate.value == pytest.approx(by_mean.statistic)
    assert found["p_value"].estimate is not None
    assert found["p_value"].estimate.value == pytest.approx(by_mean.pvalue)
    by_perplexity = stats.ttest_rel(np.exp(-np.array(left))[kept], np.exp(-np.array(right))[kept])
    for name, value in (("t_statistic", by_perplexity.statistic), ("p_value", by_perplexity.pvalue)):
        number = found[f"perplexity_{name}"]
        assert number.estimate is not None
        assert number.estimate.value == pytest.approx(value)
        assert (number.n, number.n_expected, number.estimate.n) == (60, 60, 58)
    summed = values(likelihood_differences, counted(left, right), "sum")
    assert summed["t_statistic"] == pytest.approx(by_mean.statistic)  # all texts are equally long
    assert summed["perplexity_t_statistic"] == found["perplexity_t_statistic"].estimate.value  # type: ignore[union-attr]


def test_a_text_beyond_the_range_of_perplexities_is_left_out_of_them() -> None:
    items = counted([-2.0, -2.5, -3.0, -800.0], [-2.5, -2.0, -4.0, -2.0])
    found = counts(likelihood_differences, items)
    assert (found["t_statistic"], found["perplexity_t_statistic"]) == ((4, 4), (3, 4))
