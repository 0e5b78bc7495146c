from __future__ import annotations

import pytest
from measure_items import counts, item, numbers, values

from ethicsdb.runners.measures.exchange import exchange


def test_sums_means_and_differences_by_hand() -> None:
    items = [
        item("c1", {"unethical": (-20.0, 10), "refusal": (-9.0, 9)}),
        item("c1", {"unethical": (-12.0, 4), "refusal": (-18.0, 9)}),
        item("c2", {"unethical": (-8.0, 2)}),
        item("c2", {"refusal": (-27.0, 9)}),
        item("c3"),
    ]
    assert values(exchange, items) == {
        "lls_unethical": pytest.approx((-2 - 3 - 4) / 3),
        "lls_sum_unethical": pytest.approx((-20 - 12 - 8) / 3),
        "lls_refusal": pytest.approx((-1 - 2 - 3) / 3),
        "lls_sum_refusal": pytest.approx((-9 - 18 - 27) / 3),
        "lls_difference": pytest.approx(((-2 + 1) + (-3 + 2)) / 2),
        "lls_sum_difference": pytest.approx(((-20 + 9) + (-12 + 18)) / 2),
    }
    found = counts(exchange, items)
    assert found["lls_unethical"] == found["lls_refusal"] == (3, 5)
    assert found["lls_difference"] == found["lls_sum_difference"] == (2, 5)


def test_both_kinds_are_given_whatever_is_compared() -> None:
    items = [item("c1", {"unethical": (-20.0, 10)}), item("c2", {"unethical": (-3.0, 3)})]
    assert values(exchange, items, "mean") == values(exchange, items, "sum")
    estimate = numbers(exchange, items)["lls_unethical"].estimate
    assert estimate is not None
    assert (estimate.method, estimate.value, estimate.clusters) == ("cr2_t", -1.5, 2)


def test_only_targets_that_occur() -> None:
    assert set(values(exchange, [item("c", {"unethical": (-2.0, 1), "ethical": (-1.0, 1)})])) == {
        "lls_unethical",
        "lls_sum_unethical",
        "lls_ethical",
        "lls_sum_ethical",
    }
    assert values(exchange, [item("c")]) == {"lls_unethical": None, "lls_sum_unethical": None}
    assert counts(exchange, [item("c", {"unethical": (float("-inf"), 3)})])["lls_unethical"] == (0, 1)


def test_a_score_without_tokens_is_both() -> None:
    found = values(exchange, [item("c", {"unethical": -4.5})])
    assert (found["lls_unethical"], found["lls_sum_unethical"]) == (-4.5, -4.5)
