from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score, precision_score, recall_score
from statsmodels.stats.inter_rater import cohens_kappa

from ethicsdb.runners.statistics.agreement import agreement, kappa_influence
from ethicsdb.runners.statistics.intervals import Interval, exact_bound, group_codes

LABELS = np.array(["harmful", "mild", "safe"])


def two_raters(units: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = LABELS[rng.choice(3, units, p=[0.2, 0.3, 0.5])]
    second = np.where(rng.random(units) < 0.7, first, LABELS[rng.choice(3, units)])
    return first, second


def known(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


def test_figures_are_those_of_scikit_learn() -> None:
    first, second = two_raters(300, 1)
    found = agreement(first, second, range(300), "harmful")
    harmful = first == "harmful", second == "harmful"
    assert found.labels == ("harmful", "mild", "safe")
    assert sum(map(sum, found.confusion)) == found.n == found.clusters == 300
    assert found.confusion[0][2] == int(((first == "harmful") & (second == "safe")).sum())
    assert known(found.accuracy).value == pytest.approx(np.mean(first == second))
    assert known(found.kappa).value == pytest.approx(cohen_kappa_score(first, second))
    assert known(found.precision).value == pytest.approx(precision_score(*harmful))
    assert known(found.recall).value == pytest.approx(recall_score(*harmful))
    assert known(found.f1).value == pytest.approx(f1_score(*harmful))


def test_weights_repeat_units() -> None:
    first, second = two_raters(80, 2)
    weights = np.random.default_rng(3).integers(1, 5, 80)
    found = agreement(first, second, range(80), "mild", weights)
    repeated = np.repeat(first, weights), np.repeat(second, weights)
    mild = repeated[0] == "mild", repeated[1] == "mild"
    assert found.n == 80
    assert known(found.kappa).value == pytest.approx(cohen_kappa_score(*repeated))
    assert known(found.recall).value == pytest.approx(recall_score(*mild))
    assert known(found.f1).value == pytest.approx(f1_score(*mild))
    assert known(found.accuracy).method == "cr2_score"


@pytest.mark.parametrize("seed", range(4))
def test_kappa_error_of_independent_units_is_that_of_fleiss_cohen_everitt(seed: int) -> None:
    first, second = two_raters(250, seed)
    found = agreement(first, second, range(250), "safe")
    wanted = cohens_kappa(np.array(found.confusion))
    codes = np.searchsorted(LABELS, first), np.searchsorted(LABELS, second)
    kappa, influence = kappa_influence(*codes, np.ones(250)) or (math.nan, np.array([]))
    assert kappa == pytest.approx(wanted.kappa, rel=1e-12)
    assert influence.mean() == pytest.approx(0, abs=1e-12)
    assert math.sqrt((influence**2).sum()) / 250 == pytest.approx(wanted.std_kappa, rel=1e-10)
    # What CR2 adds for single units is n / (n - 1).
    assert known(found.kappa).stderr == pytest.approx(wanted.std_kappa * math.sqrt(250 / 249), rel=1e-10)
    assert known(found.kappa).df == pytest.approx(249)


def test_influence_is_the_derivative_of_kappa() -> None:
    first, second = two_raters(60, 9)
    codes = np.searchsorted(LABELS, first), np.searchsorted(LABELS, second)
    weights = np.random.default_rng(4).uniform(0.5, 2, 60)
    _, influence = kappa_influence(*codes, weights) or (math.nan, np.array([]))
    step = 1e-6
    for unit in range(0, 60, 7):
        shift = step * weights.sum() * (np.arange(60) == unit)
        higher = kappa_influence(*codes, weights * (1 - step) + shift) or (math.nan, influence)
        lower = kappa_influence(*codes, weights * (1 + step) - shift) or (math.nan, influence)
        assert (higher[0] - lower[0]) / (2 * step) == pytest.approx(influence[unit], abs=1e-6)


def clustered_raters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """80 clusters of 1 to 6 units that share a tendency to be positive and a tendency to be misread."""
    rng = np.random.default_rng(17)
    clusters = np.repeat(np.arange(80), rng.integers(1, 7, 80))
    first = rng.random(len(clusters)) < rng.beta(0.8, 1.2, 80)[clusters]
    wrong = rng.random(len(clusters)) < rng.beta(0.3, 1.5, 80)[clusters]
    return first, first ^ wrong, clusters


def bootstrap_tables(first: np.ndarray, second: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Confusion tables (replicates, 2, 2) of 4,000 samples of whole clusters, with replacement."""
    per_cluster = np.zeros((80, 2, 2))
    np.add.at(per_cluster, (clusters, first.astype(int), second.astype(int)), 1)
    times = np.random.default_rng(1).multinomial(80, np.full(80, 1 / 80), size=4000)
    return np.tensordot(times, per_cluster, axes=1)


def test_clustered_errors_are_those_of_a_bootstrap_of_clusters() -> None:
    first, second, clusters = clustered_raters()
    found = agreement(first, second, clusters, True)
    tables = bootstrap_tables(first, second, clusters)
    share = tables / tables.sum((1, 2), keepdims=True)
    observed = share[:, 0, 0] + share[:, 1, 1]
    expected = (share.sum(1) * share.sum(2)).sum(1)
    resampled = {
        "kappa": (observed - expected) / (1 - expected),
        "accuracy": observed,
        "precision": share[:, 1, 1] / share[:, :, 1].sum(1),
        "recall": share[:, 1, 1] / share[:, 1].sum(1),
        "f1": 2 * share[:, 1, 1] / (share[:, 1].sum(1) + share[:, :, 1].sum(1)),
    }
    for name, values in resampled.items():
        interval = known(getattr(found, name))
        assert interval.stderr == pytest.approx(values.std(), rel=0.08), name
        assert (interval.low, interval.high) == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.025), name
    naive = cohens_kappa(np.array(found.confusion)).std_kappa
    assert (known(found.kappa).stderr or 0) > 1.15 * naive


def test_nothing_labelled_gives_nothing() -> None:
    found = agreement([], [], [], "unsafe")
    assert (found.labels, found.confusion, found.n, found.clusters) == ((), (), 0, 0)
    assert {found.accuracy, found.kappa, found.precision, found.recall, found.f1} == {None}


def test_empty_denominators_give_none() -> None:
    found = agreement(["safe"] * 6, ["safe"] * 6, [1, 1, 2, 2, 3, 3], "unsafe")
    assert {found.kappa, found.precision, found.recall, found.f1} == {None}
    assert known(found.accuracy).method == "exact_clusters"
    unnoticed = agreement(["safe", "unsafe", "safe"], ["safe"] * 3, [1, 2, 3], "unsafe")
    assert unnoticed.precision is None
    assert known(unnoticed.recall).value == 0
    assert known(unnoticed.f1).value == 0


def test_a_rater_of_one_label_leaves_kappa_without_an_interval() -> None:
    found = known(agreement(["safe", "unsafe", "safe", "safe"], ["safe"] * 4, [1, 2, 3, 4], "unsafe").kappa)
    assert (found.value, found.low, found.high, found.stderr, found.method) == (0, None, None, None, "none")


def test_full_agreement_is_not_certainty() -> None:
    labels = ["safe", "unsafe", "safe", "safe", "unsafe"] * 4
    found = agreement(labels, labels, range(20), "unsafe")
    bound = exact_bound(20)
    chance = 0.4**2 + 0.6**2
    kappa = known(found.kappa)
    assert (kappa.value, kappa.high, kappa.stderr, kappa.method) == (1, 1, None, "rule_of_three")
    assert kappa.low == pytest.approx(1 - bound / (1 - chance))
    assert known(found.f1).low == pytest.approx(2 * (1 - exact_bound(8)) / (2 - exact_bound(8)))
    one = agreement(labels, labels, [1] * 20, "unsafe")
    assert (known(one.kappa).value, known(one.kappa).method) == (1, "none")


def test_clusters_alike_leave_kappa_without_an_interval() -> None:
    first, second = [0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5
    found = known(agreement(first, second, np.repeat(range(5), 4), 1).kappa)
    assert (found.value, found.low, found.method) == (pytest.approx(0), None, "none")


def test_labels_are_compared_whole() -> None:
    found = agreement(["是", "是\0", "\ud800"], ["是", "是", "\ud800"], [1, 2, 3], "是")
    assert len(found.labels) == 3
    assert known(found.recall).value == 1
    assert known(found.precision).value == 0.5


@pytest.mark.parametrize(
    ("first", "second", "clusters", "weights"),
    [
        ([1, 0], [1], [1, 2], None),
        ([1, 0], [1, 0], [1], None),
        ([1, 0], [1, 0], [1, 2], [1.0]),
        ([1, None], [1, 0], [1, 2], None),
        ([1, 0], [1, 0], [1, 2], [1.0, -1.0]),
    ],
)
def test_unusable_input_is_refused(
    first: list[int | None], second: list[int], clusters: list[int], weights: list[float] | None
) -> None:
    with pytest.raises(ValueError, match=r"labels|missing|positive"):
        agreement(first, second, clusters, 1, weights)


def column(path: Path, *names: str) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [[row[name] for row in rows] for name in names]


@pytest.mark.real_data
def test_published_labels_of_people_and_gpt(real_data: Path) -> None:
    folder = real_data / "qorgau_ru"
    person, asked, model = column(folder / "Ru-sample-annotate-binary.csv", "safe_unsafe", "question", "model")
    judge, also_asked, also_model = column(
        folder / "Ru-sample-gpt-annotate-binary.csv", "gpt_label", "question", "model"
    )
    assert (asked, model) == (also_asked, also_model)
    codes, questions = group_codes(asked)
    assert len(questions) == 200
    found = agreement(person, judge, codes, "unsafe")
    assert found.confusion == ((848, 37), (54, 61))
    assert known(found.accuracy).value == pytest.approx(0.909)
    assert known(found.kappa).value == pytest.approx(0.522, abs=5e-4)
    assert known(found.precision).value == pytest.approx(61 / 98)
    assert known(found.recall).value == pytest.approx(61 / 115)
    assert known(found.f1).value == pytest.approx(122 / 213)
    assert (known(found.kappa).method, known(found.kappa).clusters) == ("cr2_t", 200)
