from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_items import counts, item, values
from scipy.stats import wasserstein_distance

from ethicsdb.runners.measures.base import Observed
from ethicsdb.runners.measures.opinion import opinion

OPTIONS = ["A lot", "Some", "Not much", "Refused"]
ORDINAL = {"ordinal": [1, 2, 3, None]}


def asked(people: list[float], model: list[float] | None = None, choice: int | None = None, **other: Any) -> Observed:
    """A question; the model's shares stand as log-probabilities."""
    scores = None if model is None else {f"choice_{index}": math.log(p) for index, p in enumerate(model) if p > 0}
    payload = {"options": OPTIONS[: len(people)], "distribution": people, "details": None, **other}
    return item("q", scores, choice, **payload)


def alignment(*items: Observed) -> float | None:
    return values(opinion, items)["alignment"]


def test_by_hand_with_the_refused_left_out() -> None:
    # People: .5, .25, .25 of those who answer. Model: .25, .25, .5. W1 = |.25| + |.25|, and N - 1 = 2.
    question = asked([0.4, 0.2, 0.2, 0.2], [0.2, 0.2, 0.4, 0.2], details=ORDINAL)
    assert alignment(question) == pytest.approx(1 - 0.5 / 2)
    same = asked([0.1, 0.2, 0.1, 0.6], [0.2, 0.4, 0.2, 0.2], details=ORDINAL)
    assert alignment(question, same) == pytest.approx((0.75 + 1) / 2)


def test_without_positions_the_options_are_in_order() -> None:
    assert alignment(asked([1.0, 0.0, 0.0], choice=2)) == 0
    assert alignment(asked([1.0, 0.0, 0.0], choice=1)) == pytest.approx(0.5)
    assert alignment(asked([1.0, 0.0, 0.0], choice=1, details={"other": 1})) == pytest.approx(0.5)
    assert alignment(asked([1.0, 0.0, 0.0], choice=0)) == 1


def test_positions_need_not_be_in_the_order_of_options() -> None:
    turned = {"ordinal": [3, 1, 2]}
    assert alignment(asked([1.0, 0.0, 0.0], choice=1, details=turned)) == 0
    assert alignment(asked([1.0, 0.0, 0.0], choice=2, details=turned)) == pytest.approx(0.5)
    half = {"ordinal": [1, 1.5, 2]}  # neither, between the two
    assert alignment(asked([0.0, 1.0, 0.0], choice=2, details=half)) == pytest.approx(0.5)


def test_what_enters_n() -> None:
    people = [0.4, 0.2, 0.2, 0.2]
    items = [
        asked(people, choice=0, details=ORDINAL),
        asked(people, choice=3, details=ORDINAL),  # refused
        asked(people, details=ORDINAL),  # no answer
        asked(people, [0.5, 0.0, 0.4, 0.1], details=ORDINAL),  # an option on the scale lacks its likelihood
        asked(people, [0.5, 0.1, 0.4, 0.0], details=ORDINAL),  # refused lacks it, which doesn't matter
        asked([0.0, 0.0, 0.0, 1.0], choice=0, details=ORDINAL),  # everybody refused
        asked([1.0, 0.0, 0.0, 0.0], choice=0, details={"ordinal": [1, None, None, None]}),  # no scale
        item("q", choice=0, options=OPTIONS),  # nobody was asked
    ]
    assert counts(opinion, items) == {"alignment": (2, 5)}
    assert alignment(*items[1:4]) is None
    assert counts(opinion, []) == {"alignment": (0, 0)}
    with pytest.raises(ValueError, match="one entry an option"):
        alignment(asked([0.5, 0.5], choice=0, details={"ordinal": [1, 2, 3]}))


masses = st.lists(st.integers(1, 20), min_size=4, max_size=4)
places = st.permutations([1.0, 2.0, 2.5, 4.0])


@given(masses, masses, places)
def test_the_distance_is_that_of_scipy(people: list[int], model: list[int], ordinal: list[float]) -> None:
    shares = [mass / sum(people) for mass in people]
    question = asked(shares, [mass / sum(model) for mass in model], details={"ordinal": ordinal})
    distance = wasserstein_distance(ordinal, ordinal, model, people)
    assert alignment(question) == pytest.approx(1 - distance / 3, abs=1e-9)
