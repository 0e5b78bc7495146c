from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_items import counts, item, numbers, values
from sklearn.metrics import roc_auc_score

from ethicsdb.runners.measures.base import Observed
from ethicsdb.runners.measures.human_votes import human_votes

METRICS = ("agreement", "agreement_clear", "auroc", "mean_absolute_error")


def story(votes: list[int], group: str = "s", p: float | None = None, **other: Any) -> Observed:
    """People's votes (0 Yes, 1 No), and the model's probability of Yes, as likelihoods."""
    share = votes.count(0) / len(votes)
    scores = None if p is None else {"choice_0": math.log(p) - 7, "choice_1": math.log(1 - p) - 7}
    payload = {
        "options": ["Yes", "No"],
        "answer": 0 if share > 0.5 else 1,
        "distribution": [share, 1 - share],
        "votes": votes,
        "condition": "ambiguous" if 0.4 <= share <= 0.6 else "clear",
        **other,
    }
    choice = payload.pop("choice", None)
    return item(group, scores, choice, **payload)


YES, MOSTLY, NO = [0, 0, 0, 0], [0, 0, 1, 0, 1], [1, 1, 1, 0]


def test_numbers_by_hand() -> None:
    items = [story(YES, p=0.9), story(MOSTLY, p=0.3), story(NO, p=0.4)]
    found = values(human_votes, items)
    assert found["agreement"] == pytest.approx(2 / 3)
    assert found["agreement_clear"] == 1
    assert found["auroc"] == pytest.approx(1 / 2)  # 0.9 > 0.4, but 0.3 < 0.4
    assert found["mean_absolute_error"] == pytest.approx((0.1 + 0.3 + 0.15) / 3)
    assert counts(human_votes, items) == dict(zip(METRICS, [(3, 3), (2, 2), (3, 3), (3, 3)], strict=True))


def test_choices_without_scores() -> None:
    items = [story(YES, choice=0), story(MOSTLY, choice=1), story(NO, choice=1), story(NO)]
    found = values(human_votes, items)
    assert found["agreement"] == pytest.approx(2 / 3)
    assert found["auroc"] == pytest.approx((1 + 0.5) / 2)  # Yes above No; No beside No
    assert found["mean_absolute_error"] is None
    assert counts(human_votes, items) == dict(zip(METRICS, [(3, 4), (2, 3), (3, 4), (0, 4)], strict=True))


def test_one_class_no_votes_and_nothing() -> None:
    assert values(human_votes, [story(YES, p=0.9), story(MOSTLY, p=0.2)])["auroc"] is None
    assert counts(human_votes, [story(YES, p=0.9), story(MOSTLY, p=0.2)])["auroc"] == (2, 2)
    tied = story([0, 1], p=0.5)
    assert counts(human_votes, [tied]) == dict(zip(METRICS, [(0, 1), (0, 0), (0, 0), (1, 1)], strict=True))
    unknown = item("s", choice=0, options=["Yes", "No"], answer=None, votes=None, distribution=None)
    assert counts(human_votes, [unknown]) == dict.fromkeys(METRICS, (0, 0))
    assert values(human_votes, []) == dict.fromkeys(METRICS)


def test_an_item_that_lacks_a_score_has_no_probability() -> None:
    half = item("s", {"choice_0": -1.0}, options=["Yes", "No"], answer=0, votes=YES, distribution=[1.0, 0.0])
    assert counts(human_votes, [half]) == dict(zip(METRICS, [(0, 1), (0, 0), (0, 1), (0, 1)], strict=True))


stories = st.lists(
    st.tuples(st.sampled_from([YES, MOSTLY, NO]), st.sampled_from("abcde"), st.sampled_from([0.1, 0.3, 0.5, 0.8])),
    min_size=1,
    max_size=25,
)


@given(stories)
def test_the_area_is_that_of_scikit_learn(rows: list[tuple[list[int], str, float]]) -> None:
    items = [story(*row) for row in rows]
    found = numbers(human_votes, items)["auroc"].estimate
    yes = [votes is not NO for votes, _, _ in rows]
    if len(set(yes)) == 1:
        assert found is None
        return
    assert found is not None
    assert found.value == pytest.approx(roc_auc_score(yes, [p for _, _, p in rows]))
    assert found.n == len(rows)
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
    again = numbers(human_votes, items[::-1])["auroc"].estimate
    assert again is not None
    assert (again.low, again.high) == (found.low, found.high)


def test_the_interval_of_the_area_counts_clusters() -> None:
    generated = [
        (YES if number % 3 else NO, str(number), 0.2 + 0.6 * ((number * 7) % 10) / 10) for number in range(120)
    ]
    single = numbers(human_votes, [story(*row) for row in generated])["auroc"].estimate
    doubled = numbers(human_votes, [story(*row) for row in generated * 2])["auroc"].estimate
    assert single is not None
    assert doubled is not None
    assert single.method == "cluster_bootstrap"
    # The same stories once more, in the same clusters, tell nothing new.
    assert (doubled.value, doubled.low, doubled.high) == pytest.approx((single.value, single.low, single.high))
    assert (doubled.n, doubled.clusters) == (240, 120)


@pytest.mark.real_data
def test_people_agree_with_themselves(real_data: Path) -> None:
    stories = []
    for name in ("causal", "moral"):
        text = (real_data / "moca" / f"{name}_dataset_v1.json").read_text(encoding="utf-8")
        for each in map(json.loads, json.loads(text)):
            votes = [0 if vote else 1 for vote in each["individual_votes"]]
            told = {"answer": ["Yes", "No"].index(each["answer"]), "distribution": each["answer_dist"]}
            condition = "ambiguous" if each["is_ambiguous"] else "clear"
            p = min(max(each["answer_dist"][0], 1e-9), 1 - 1e-9)
            stories.append((votes, each["story"], p, {**told, "condition": condition}))
    people = [story(votes, group, p, **told) for votes, group, p, told in stories]
    found = numbers(human_votes, people)
    assert counts(human_votes, people)["auroc"] == (206, 206)
    assert values(human_votes, people) == {
        "agreement": 1,
        "agreement_clear": 1,
        "auroc": 1,
        "mean_absolute_error": pytest.approx(0, abs=1e-6),
    }
    clear = sum(told["condition"] == "clear" for _, _, _, told in stories)
    assert found["agreement_clear"].n == clear
    always_yes = values(human_votes, [story(votes, group, choice=0, **told) for votes, group, _, told in stories])
    share = sum(told["answer"] == 0 for _, _, _, told in stories) / len(stories)
    assert (always_yes["agreement"], always_yes["auroc"]) == (pytest.approx(share), 0.5)
    # Turned round, everything is wrong.
    opposite = values(human_votes, [story(votes, group, 1 - p, **told) for votes, group, p, told in stories])
    assert (opposite["agreement"], opposite["auroc"]) == (0, 0)
