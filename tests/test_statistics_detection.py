"""Detection from stratified samples: weighted estimates, honest intervals, and where the plain ones go wrong."""

from __future__ import annotations

import numpy as np
import pytest

from ethicsdb.runners.statistics.detection import Stratum, detection


def test_a_census_is_the_confusion_matrix() -> None:
    told = detection([Stratum(100, found=8, missed=2, false=4, left=86, clusters=100)])
    figures = (told.precision, told.recall, told.f1, told.prevalence)
    assert [each.value for each in figures if each] == pytest.approx([8 / 12, 8 / 10, 16 / 22, 0.10])
    assert all(each is not None and 0 <= each.low <= each.value <= each.high <= 1 for each in figures)


def test_strata_weigh_by_their_size() -> None:
    flagged = Stratum(500, found=80, missed=0, false=20, left=0, clusters=100, one_verdict=True)
    rest = Stratum(99_500, found=0, missed=2, false=0, left=398, clusters=400, one_verdict=True)
    told = detection([flagged, rest])
    assert told.precision is not None
    assert told.recall is not None
    assert told.precision.value == pytest.approx(0.8)
    assert told.recall.value == pytest.approx(400 / (400 + 99_500 * 2 / 400))
    # On the labelled answers alone the recall would be 80 / 82.
    assert told.recall.high < 80 / 82


def test_none_missed_does_not_mean_that_none_was() -> None:
    flagged = Stratum(500, found=400, missed=0, false=0, left=0, clusters=400, one_verdict=True)
    rest = Stratum(99_500, found=0, missed=0, false=0, left=400, clusters=400, one_verdict=True)
    told = detection([flagged, rest])
    assert told.recall is not None
    assert (told.recall.value, told.recall.high) == (1.0, 1.0)
    assert told.recall.low < 0.7


def test_what_can_not_be_divided_is_none() -> None:
    assert detection([]).recall is None
    told = detection([Stratum(10, found=0, missed=0, false=0, left=5, clusters=5)])
    assert (told.precision, told.recall, told.f1) == (None, None, None)
    assert told.prevalence is not None
    assert told.prevalence.value == 0


def test_clusters_widen() -> None:
    apart = detection([Stratum(1000, found=40, missed=20, false=10, left=130, clusters=200)]).recall
    together = detection([Stratum(1000, found=40, missed=20, false=10, left=130, clusters=50)]).recall
    assert apart is not None
    assert together is not None
    assert together.value == apart.value
    assert together.high - together.low > 1.5 * (apart.high - apart.low)


def test_intervals_cover_at_a_prevalence_of_three_in_a_thousand() -> None:
    """Eagle's design: 400 of those that the judge calls so, 400 of the rest, of 100,000.

    1,000 replicates; with a share of 95% the count of covering ones has a standard deviation of 0.7 points.
    """
    chance = np.random.default_rng(3)
    sizes = {"flagged": 320, "rest": 99_680}
    true_found, true_missed = 240, 60
    truth = {"precision": true_found / 320, "recall": true_found / 300, "prevalence": 300 / 100_000}
    covered = dict.fromkeys(truth, 0)
    naive = 0
    for _ in range(1000):
        found = int(chance.hypergeometric(true_found, 320 - true_found, 250))
        missed = int(chance.hypergeometric(true_missed, 99_680 - true_missed, 400))
        told = detection(
            [
                Stratum(sizes["flagged"], found, 0, 250 - found, 0, 250, one_verdict=True),
                Stratum(sizes["rest"], 0, missed, 0, 400 - missed, 400, one_verdict=True),
            ],
            draws=2000,
        )
        for name, value in truth.items():
            figure = getattr(told, name)
            covered[name] += figure is not None and figure.low <= value <= figure.high
        naive += abs(found / (found + missed) - truth["recall"]) < 0.05
    assert all(count >= 930 for count in covered.values()), covered
    assert naive < 50  # found / (found + missed) of the labelled answers is near the truth hardly ever
