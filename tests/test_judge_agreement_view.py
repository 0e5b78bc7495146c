"""The view of agreement with people gives the numbers of the Python form, and counts what it should."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
import numpy as np
import pytest

from ethicsdb.registry.arrow import as_arrow, table_class
from ethicsdb.registry.migrations import migrate
from ethicsdb.runners.statistics.agreement import Agreement, agreement
from ethicsdb.runners.statistics.intervals import Interval

Rows = dict[tuple[Any, ...], dict[str, Any]]
Pair = tuple[str, str, str, float | None]  # person's label, judge's label, cluster, sampling probability

MODELS = ("model-a", "модель-б", "模型丙")
KEY = ("benchmark", "major", "judge", "judge_fingerprint", "annotator", "attribute", "rule", "slice", "slice_value")
CONFUSION = ("both_negative", "judge_only", "person_only", "both_positive")


class Board:
    """A database to which labelled and judged answers are added."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        migrate(self.connection)
        self.arriving: dict[str, list[dict[str, Any]]] = {}
        self.given: set[tuple[str, str]] = set()
        for name in MODELS:
            self.add("model", fingerprint=f"m:{name}", name=name, backend="import", model_id=name, identity="{}")
            self.run("harm", name)
        for name in ("judge", "other"):
            self.judge(name, f"j:{name}")

    def add(self, table: str, *records: dict[str, Any], **record: Any) -> None:
        self.arriving.setdefault(table, []).extend([*records, *([record] if record else [])])

    def run(self, benchmark: str, model: str, name: str = "run", role: str = "annotation_sample") -> None:
        self.add(
            "run",
            run_id=f"{name}:{benchmark}:{model}",
            benchmark=benchmark,
            major=1,
            dataset="d",
            version="v1",
            model_fingerprint=f"m:{model}",
            sampling="{}",
            n_expected=0,
            role=role,
            source="import",
            started_at="2024-01-01T00:00:00",
        )

    def judge(self, name: str, fingerprint: str) -> None:
        told = {"rubric": "r", "rubric_fingerprint": "r:1", "parser": "p", "parser_version": "1", "identity": "{}"}
        self.add("judge", fingerprint=fingerprint, name=name, **told)

    def stand(self, keys: Iterable[str], model: str, benchmark: str = "harm", name: str = "run") -> None:
        run = f"{name}:{benchmark}:{model}"
        rows = [
            {"run_id": run, "row": row, "item_id": f"i:{key}", "sample_number": 0, "response_key": key}
            for row, key in enumerate(keys)
        ]
        self.add("run_item", *rows)

    def label(self, key: str, value: str, group: str, **more: Any) -> None:
        given = {"annotator": "people", "attribute": "safety", "source": "sheet"} | more
        self.add("annotation", subject_kind="response", subject_id=key, value=value, group_id=group, **given)

    def verdict(self, key: str, *labels: tuple[str, str], judge: str = "j:judge", **more: Any) -> None:
        name = f"v:{key}:{judge}:{more.get('judge_try')}:{more.get('other_id')}"
        given = {"subject_kind": "response", "status": "parsed" if labels else "unparsable"} | more
        self.add("verdict", verdict_id=name, subject_id=key, judge_fingerprint=judge, **given)
        if labels:
            new = {(judge, attribute) for attribute, _ in labels} - self.given
            self.given |= new
            told = [{"judge_fingerprint": who, "attribute": name, "possible": "[]"} for who, name in sorted(new)]
            self.add("judge_attribute", *told)
            self.add("verdict_label", *({"verdict_id": name, "attribute": a, "value": v} for a, v in labels))

    def ask(self, query: str) -> duckdb.DuckDBPyRelation:
        for table, records in self.arriving.items():
            shape = table_class(table)
            columns = ", ".join(f'"{name}"' for name in shape.columns)
            self.connection.register("arriving", as_arrow(shape, records))
            self.connection.execute(f'INSERT INTO "{table}" ({columns}) SELECT {columns} FROM arriving')
        self.arriving.clear()
        return self.connection.sql(query)

    def rows(self) -> Rows:
        found = self.ask("SELECT * FROM judge_agreement")
        records = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        keyed = {tuple(record[name] for name in KEY): record for record in records}
        assert len(keyed) == len(records)
        return keyed

    def row(self, **wanted: str) -> dict[str, Any]:
        wanted = {"judge": "judge", "annotator": "people", "rule": "strict", "slice": "overall"} | wanted
        (found,) = (row for row in self.rows().values() if wanted.items() <= row.items())
        return found


def key_of(**parts: str) -> tuple[Any, ...]:
    whole: dict[str, Any] = {"benchmark": "harm", "major": 1, "judge": "judge", "annotator": "people"}
    whole |= {"attribute": "safety", "rule": "strict", "slice": "overall", "slice_value": ""}
    whole |= parts
    whole.setdefault("judge_fingerprint", f"j:{whole['judge']}")
    return tuple(whole[name] for name in KEY)


def near(found: float | None, wanted: float | None, error: float = 0.0) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= error + 1e-9


def same_interval(found: tuple[Any, ...], wanted: Interval | None) -> None:
    value, low, high, method = found
    if wanted is None:
        assert found == (None, None, None, None)
        return
    assert method == wanted.method
    assert near(value, wanted.value)
    for limit, exact in ((low, wanted.low), (high, wanted.high)):
        # The table of t quantiles is good to 2e-7; a score limit feels at most twice of that.
        assert near(limit, exact, 4e-7 * abs((exact or 0) - wanted.value)), (found, wanted)


def same(row: dict[str, Any], pairs: list[Pair], positive: str = "unsafe") -> Agreement:
    """The row holds what `agreement` finds for the pairs."""
    weights = None
    if any(pair[3] is not None for pair in pairs):
        weights = [1.0 if pair[3] is None else 1 / pair[3] for pair in pairs]
    persons, judges, clusters = ([pair[part] for pair in pairs] for part in range(3))
    wanted = agreement(persons, judges, clusters, positive, weights)
    assert (row["n"], row["clusters"]) == (wanted.n, wanted.clusters)
    names = ("accuracy", "accuracy_low", "accuracy_high", "accuracy_method"), ("kappa", "ci_low", "ci_high", "method")
    same_interval(tuple(row[name] for name in names[0]), wanted.accuracy)
    same_interval(tuple(row[name] for name in names[1]), wanted.kappa)
    assert near(row["stderr"], None if wanted.kappa is None else wanted.kappa.stderr)
    return wanted


def choose(rng: np.random.Generator, labels: tuple[str, ...], other: str) -> str:
    """Another's label in 7 of 10 cases, else any."""
    return other if rng.random() < 0.7 else labels[int(rng.integers(len(labels)))]


SAFETY, ACTION = ("safe", "unsafe"), ("0", "1", "2", "不", "Отказ")


def simulate(board: Board, seed: int, groups: int, weighted: bool) -> dict[tuple[str, str, str], list[Pair]]:
    """Label and judge answers of all models to `groups` questions, each asked once or twice.

    Returns the pairs that can be compared by (attribute, rule, model). A part of the verdicts is unparsable: these give
    the published label only.
    """
    rng = np.random.default_rng(seed)
    pairs: dict[tuple[str, str, str], list[Pair]] = {}
    for model in MODELS:
        keys = [f"{model}:{group}:{i}" for group in range(groups) for i in range(1 + group % 2)]
        board.stand(keys, model)
        for key in keys:
            group, p = f"q{key.split(':')[1]}", float(rng.choice([0.25, 0.5])) if weighted else None
            safety, action = str(rng.choice(SAFETY, p=[0.7, 0.3])), str(rng.choice(ACTION))
            board.label(key, safety, group, sampling_probability=p)
            board.label(key, action, group, attribute="action", sampling_probability=p)
            labels = [("safety_published", choose(rng, SAFETY, safety))]
            if rng.random() < 0.9:
                labels += [("safety", choose(rng, SAFETY, safety)), ("action", choose(rng, ACTION[:4], action))]
            board.verdict(key, *labels, status="unparsable" if len(labels) == 1 else "parsed")
            for name, value in labels:
                attribute, _, rule = name.partition("_")
                person = action if attribute == "action" else safety
                pairs.setdefault((attribute, rule or "strict", model), []).append((person, value, group, p))
    return pairs


@pytest.mark.parametrize(("seed", "groups", "weighted"), [(1, 25, False), (2, 6, False), (3, 20, True), (4, 2, True)])
def test_simulated_labels_give_the_numbers_of_python(seed: int, groups: int, weighted: bool) -> None:
    board = Board()
    pairs = simulate(board, seed, groups, weighted)
    rows = board.rows()
    labelled = sum(1 + group % 2 for group in range(groups))
    assert len(rows) == 3 * (1 + len(MODELS))
    methods = set()
    for attribute, rule in (("safety", "strict"), ("safety", "published"), ("action", "strict")):
        whole = []
        for model in MODELS:
            part = pairs.get((attribute, rule, model), [])
            whole += part
            row = rows[key_of(attribute=attribute, rule=rule, slice="model", slice_value=model)]
            same(row, part)
            assert (row["n_expected"], row["coverage"]) == (labelled, len(part) / labelled)
        row = rows[key_of(attribute=attribute, rule=rule)]
        wanted = same(row, whole)
        assert row["n_expected"] == 3 * labelled
        methods.add(row["accuracy_method"])
        counts = tuple(row[name] for name in CONFUSION)
        if attribute == "safety":
            assert counts == tuple(count for line in wanted.confusion for count in line)
        else:
            assert counts == (None,) * 4
    assert "cr2_score" in methods


def fill(board: Board, pairs: list[Pair], attribute: str = "safety", benchmark: str = "harm") -> None:
    """Answers of one model that a person and a judge labelled so."""
    keys = [f"{benchmark}:{i}" for i in range(len(pairs))]
    board.stand(keys, MODELS[0], benchmark)
    for key, (person, judge, group, p) in zip(keys, pairs, strict=True):
        board.label(key, person, group, attribute=attribute, sampling_probability=p)
        board.verdict(key, (attribute, judge))


def pairs_of(persons: str, judges: str, groups: str, probability: float | None = None) -> list[Pair]:
    """Pairs from letters: `u` is unsafe, `s` safe, and the letter of `groups` the cluster."""
    names = {"u": "unsafe", "s": "safe"}
    return [(names[a], names[b], group, probability) for a, b, group in zip(persons, judges, groups, strict=True)]


def test_every_method() -> None:
    cases: list[tuple[list[Pair], tuple[str, str | None]]] = [
        (pairs_of("uussssus", "usssusus", "abcdefgh"), ("wilson", "cr2_t")),
        (pairs_of("uussssus", "uussssus", "abcdefgh"), ("rule_of_three", "rule_of_three")),
        (pairs_of("ususu", "susus", "abcde"), ("rule_of_three", "cr2_t")),
        (pairs_of("uussssus", "uussssus", "aabbccdd"), ("exact_clusters", "exact_clusters")),
        (pairs_of("uussssus", "usssusus", "aaaaaaaa"), ("none", "none")),
        (pairs_of("uussssus", "uussssus", "aaaaaaaa"), ("none", "none")),
        (pairs_of("ssss", "ssss", "aabb"), ("exact_clusters", None)),
        (pairs_of("ssss", "ssss", "abcd"), ("rule_of_three", None)),
        (pairs_of("usss", "ssss", "abcd"), ("wilson", "none")),
        (pairs_of("ssss", "usss", "aabb"), ("cr2_score", "none")),
        (pairs_of("uussuussuuss", "ususususus" + "us", "aaaabbbbcccc"), ("exact_clusters", "none")),
        (pairs_of("uussss", "usssus", "abcdef", 0.5), ("cr2_score", "cr2_t")),
        (pairs_of("us", "us", "ab", 0.5), ("exact_clusters", "exact_clusters")),
        (pairs_of("u", "u", "a"), ("rule_of_three", None)),
        (pairs_of("uss", "uss", "aab", 0.5) + pairs_of("us", "us", "cd"), ("exact_clusters", "exact_clusters")),
        (pairs_of("ussus", "ussuu", "aaabc", 0.125) + pairs_of("us", "us", "cd"), ("cr2_score", "cr2_t")),
        # Clusters alike but for rounding.
        (pairs_of("uusss" * 6, "ususs" * 6, "aaaaa" + "b" * 10 + "c" * 15, 0.1875), ("exact_clusters", "none")),
        # One cluster that stands for nearly everything.
        (pairs_of("uss", "uus", "aaa", 2.0**-30) + pairs_of("uuss", "usus", "bbcc", 1.0), ("cr2_score", "cr2_t")),
        (pairs_of("us" * 300 + "us", "us" * 280 + "u" * 40 + "su", "a" * 600 + "bc"), ("cr2_score", "cr2_t")),
    ]
    board = Board()
    for number, (pairs, _) in enumerate(cases):
        board.run(f"case {number}", MODELS[0])
        fill(board, pairs, benchmark=f"case {number}")
    rows = board.rows()
    for number, (pairs, methods) in enumerate(cases):
        row = rows[key_of(benchmark=f"case {number}")]
        same(row, pairs)
        assert (row["accuracy_method"], row["method"]) == methods, number


def test_labels_the_judge_cannot_give_still_count() -> None:
    pairs: list[Pair] = [("5", "4", "a", None), ("1", "1", "b", None), ("4", "4", "c", None), ("5", "1", "c", None)]
    board = Board()
    fill(board, pairs, "action")
    row = board.row(attribute="action")
    same(row, pairs)
    assert row["accuracy"] == 0.5
    assert tuple(row[name] for name in CONFUSION) == (None,) * 4


def test_refusal_has_yes_as_its_positive_label() -> None:
    labels: list[Pair] = [("yes", "no", "a", None), ("yes", "yes", "b", None), ("no", "no", "c", None)]
    board = Board()
    fill(board, [*labels, ("no", "no", "d", None), ("no", "yes", "e", None), ("yes", "no", "e", None)], "refusal")
    row = board.row()
    assert tuple(row[name] for name in CONFUSION) == (2, 1, 2, 1)


def test_unread_verdicts_lower_coverage_and_missing_ones_do_not_count() -> None:
    board = Board()
    board.stand("abcdef", MODELS[0])
    for key in "abcdef":
        board.label(key, "safe", key)
    board.verdict("a", ("safety", "safe"), ("safety_published", "safe"))
    board.verdict("b", ("safety", "unsafe"), ("safety_published", "safe"))
    board.verdict("c", ("safety_published", "safe"), status="unparsable")
    board.verdict("d", status="error")
    board.verdict("e", ("safety", "safe"), judge="j:other")
    row = board.row()
    assert (row["n"], row["n_expected"], row["coverage"], row["both_negative"], row["judge_only"]) == (2, 4, 0.5, 1, 1)
    assert board.row(rule="published")["n"] == 3
    assert board.row(judge="other")["n_expected"] == 1


def test_a_slice_without_a_readable_verdict_has_no_figures() -> None:
    board = Board()
    board.stand("a", MODELS[0])
    board.stand("b", MODELS[1])
    board.label("a", "safe", "q")
    board.label("b", "safe", "q")
    board.verdict("a", ("safety", "safe"))
    board.verdict("b")
    row = board.row(slice="model", slice_value=MODELS[1])
    assert (row["n"], row["n_expected"], row["coverage"], row["clusters"]) == (0, 1, 0.0, 0)
    figures = ("accuracy", "accuracy_low", "accuracy_high", "accuracy_method", "kappa", "stderr", "ci_low", "ci_high")
    assert {row[name] for name in (*figures, "method")} == {None}
    assert tuple(row[name] for name in CONFUSION) == (0, 0, 0, 0)


def test_the_verdict_that_counts_is_compared() -> None:
    board = Board()
    board.stand("a", MODELS[0])
    board.label("a", "unsafe", "q")
    board.verdict("a", judge_try=0, status="error")
    board.verdict("a", ("safety", "unsafe"), judge_try=1)
    board.verdict("a", ("safety", "safe"), judge_try=2)
    board.verdict("a", ("safety", "safe"), other_id="b")
    assert [board.row()[name] for name in ("n", "n_expected", "both_positive")] == [1, 1, 1]


def test_an_answer_in_several_runs_counts_once_a_benchmark() -> None:
    board = Board()
    board.run("harm", MODELS[0], "again", "evaluation")
    board.run("other", MODELS[0])
    board.stand("ab", MODELS[0])
    board.stand("aba", MODELS[0], name="again")
    board.stand("a", MODELS[0], "other")
    for key in "ab":
        board.label(key, "safe", key)
        board.verdict(key, ("safety", "safe"))
    assert board.row(benchmark="harm")["n"] == 2
    assert board.row(benchmark="other")["n"] == 1


def test_people_and_judges_stay_apart() -> None:
    board = Board()
    board.judge("judge", "j:older")
    board.stand("a", MODELS[0])
    board.label("a", "safe", "q", annotator="анна")
    board.label("a", "unsafe", "q", annotator="安")
    board.label("a", "safe", "q", annotator="安", source="sheet, second reading")
    board.verdict("a", ("safety", "safe"))
    board.verdict("a", ("safety", "unsafe"), judge="j:older")
    accuracy = {
        (row["judge_fingerprint"], row["annotator"]): (row["n"], row["accuracy"])
        for row in board.rows().values()
        if row["slice"] == "overall"
    }
    assert accuracy == {
        ("j:judge", "анна"): (1, 1),
        ("j:judge", "安"): (1, 0),
        ("j:older", "анна"): (1, 0),
        ("j:older", "安"): (1, 1),
    }


def test_several_values_in_a_verdict_form_one_label() -> None:
    board = Board()
    board.stand("ab", MODELS[0])
    board.label("a", "1", "a", attribute="action")
    board.label("b", "1 + 4", "b", attribute="action")
    board.verdict("a", ("action", "4"), ("action", "1"))
    board.verdict("b", ("action", "4"), ("action", "1"))
    assert [board.row()[name] for name in ("n", "accuracy")] == [2, 0.5]
    listed = board.ask("SELECT person_label, judge_label FROM judge_pair ORDER BY ALL").fetchall()
    assert listed == [("1", "1 + 4"), ("1 + 4", "1 + 4")]


def test_nothing_labelled_gives_no_rows() -> None:
    board = Board()
    board.stand("a", MODELS[0])
    board.verdict("a", ("safety", "safe"))
    assert board.rows() == {}
