"""OpinionQA's shape: weighted shares against an independent computation, refusals, groups, and files that don't fit."""

from __future__ import annotations

import ast
import csv
import json
import random
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import wasserstein_distance
from support import DECLARATIONS, changed, declare, opened, rows_of

from ethicsdb import Registry
from ethicsdb.builders.readers.people import GROUPS, MIN_PEOPLE
from ethicsdb.registry.declared import load_declarations
from ethicsdb.registry.items import item_rows
from ethicsdb.registry.versions import find_version
from ethicsdb.runners.measures.base import Observed
from ethicsdb.runners.measures.opinion import opinion
from ethicsdb.schemas.errors import SourceError

SAMPLE = Path(str(files("ethicsdb.builders").joinpath("samples", "opinionqa")))
HEAD = ["key", "question", "references", "option_ordinal"]
OPTIONS = ["Agree", "Disagree", "Neither", "Refused"]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, head: list[str], rows: list[list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([head, *rows])


def build(folder: Path, name: str = "given", **parts: Any) -> Registry:
    """Build the wave in `folder`/W1."""
    declared = (
        load_declarations([]).dataset("sample_opinionqa").model_dump(mode="json", by_alias=True, exclude_none=True)
    )
    source = {"path": "W1/info.csv", "reader": "opinionqa", "companion": "W1/responses.csv"}
    declare(folder, changed(declared, name=name, sources=[source], **parts), *DECLARATIONS)
    registry = opened(folder)
    registry.build(name, folder)
    return registry


def wave(
    folder: Path, people: list[list[Any]], *, head: tuple[str, ...] = ("WEIGHT_W1", "SEX", "Q_W1"), **info: str
) -> Registry:
    record = {"key": "Q_W1", "question": "Well?", "references": repr(OPTIONS), "option_ordinal": "[1.0, 2.0, 1.5]"}
    write(folder / "W1" / "info.csv", HEAD, [list({**record, **info}.values())])
    write(folder / "W1" / "responses.csv", list(head), people)
    return build(folder)


def only(registry: Registry) -> tuple[list[float | None] | None, int | None, dict[str, Any]]:
    query = (
        "SELECT distribution, answer, details FROM choice_question JOIN item USING (item_id) WHERE dataset = 'given'"
    )
    [(shares, answer, details)] = rows_of(registry, query)
    return shares and json.loads(shares), answer, json.loads(details)


def told(registry: Registry) -> list[tuple[str, str, int, str]]:
    return [
        (entry["code"], entry["source_file"], entry["source_row"], entry["detail"])
        for entry in registry.build_report("given")
    ]


# ---- The sample against exact arithmetic.


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    folder = tmp_path_factory.mktemp("opinionqa")
    (folder / "ethicsdb.d").mkdir()
    registry = opened(folder)
    registry.build("sample_opinionqa")
    return registry


def exact(people: list[dict[str, str]], key: str, weight: str, options: list[str], refusals: list[str]) -> Any:
    """(number of people, exact shares) in fractions; shares are None where nobody answered."""
    sums = dict.fromkeys(options, Fraction(0))
    counted = [each for each in people if each[key] in options and each[key] not in refusals]
    for each in counted:
        sums[each[key]] += Fraction(each[weight])
    whole = sum(sums.values())
    shares = [None if option in refusals else float(sums[option] / whole) for option in options] if whole else None
    return len(counted), shares


@pytest.mark.parametrize("number", [901, 902])
def test_shares_are_the_weighted_ones(sample: Registry, number: int) -> None:
    folder = SAMPLE / f"American_Trends_Panel_W{number}"
    weight = f"WEIGHT_W{number}"
    people = [each for each in table(folder / "responses.csv") if each[weight] and float(each[weight]) >= 0]
    stored = {
        key: (shares and json.loads(shares), json.loads(details), category)
        for key, shares, details, category in rows_of(
            sample, "SELECT template, distribution, details, category FROM choice_question"
        )
    }
    checked = 0
    for question in table(folder / "info.csv"):
        key, options = question["key"], ast.literal_eval(question["references"])
        shares, details, category = stored[key]
        assert (category, details["wave"], details["key"]) == (f"W{number}", number, key)
        if key not in people[0]:
            continue
        ordinal = json.loads(question["option_ordinal"] or "null") or options[:-1]
        refusals = options[len(ordinal) :]
        n, expected = exact(people, key, weight, options, refusals)
        assert details["n"] == n
        assert shares == (expected and pytest.approx(expected, abs=1e-12))
        for attribute in ("AGE", "SEX", "POLPARTY"):
            for value in GROUPS[attribute]:
                members = [each for each in people if each[attribute] == value]
                n, expected = exact(members, key, weight, options, refusals)
                found = details["groups"].get(attribute, {}).get(value)
                if n < MIN_PEOPLE:
                    assert found is None
                    continue
                assert (found["n"], found["shares"]) == (n, pytest.approx(expected, abs=1e-12))
                checked += 1
        assert set(details["groups"]) <= {"AGE", "SEX", "POLPARTY"}
    assert checked > 10


def test_weights_matter_in_the_sample(sample: Registry) -> None:
    people = [each for each in table(SAMPLE / "American_Trends_Panel_W901" / "responses.csv") if each["WEIGHT_W901"]]
    plain = [{**each, "WEIGHT_W901": "1"} for each in people]
    options = ["Every day", "Some days", "Hardly ever", "Never", "Refused"]
    _, unweighted = exact(plain, "TEABAG_W901", "WEIGHT_W901", options, ["Refused"])
    [(found,)] = rows_of(sample, "SELECT distribution FROM choice_question WHERE template = 'TEABAG_W901'")
    assert abs(json.loads(found)[0] - unweighted[0]) > 0.02


def test_a_share_stands_at_its_option(sample: Registry) -> None:
    query = """
        SELECT json_array_length(options) = json_array_length(distribution),
               json_array_length(options) = json_array_length(details -> '$.ordinal'), answer
        FROM choice_question WHERE distribution IS NOT NULL
    """
    found = rows_of(sample, query)
    assert len(found) == 6
    assert all(shares and positions and answer is not None for shares, positions, answer in found)


def test_the_measure_of_alignment_reads_what_is_stored(sample: Registry) -> None:
    """A model that always gives the last option, by SciPy's distance over the furthest one, as the authors divide."""
    with sample.context.reading() as connection:
        rows = item_rows(connection, find_version(sample.context, "sample_opinionqa"), "choice_question")
    payloads = [row.decoded("choice_question") for row in rows]
    expected = []
    for payload in payloads:
        places = [place for place in payload["details"]["ordinal"] if place is not None]
        if payload["distribution"] and len(set(places)) > 1:
            people = payload["distribution"][: len(places)]
            last = [0.0] * (len(places) - 1) + [1.0]
            expected.append(1 - wasserstein_distance(places, places, last, people) / (max(places) - min(places)))
    observed = [
        Observed(row.group_id, payload, choice=sum(place is not None for place in payload["details"]["ordinal"]) - 1)
        for row, payload in zip(rows, payloads, strict=True)
    ]
    [number] = opinion(observed, "mean")
    assert (number.n, number.n_expected) == (len(expected), len(expected)) == (4, 4)
    assert number.estimate is not None
    assert number.estimate.value == pytest.approx(sum(expected) / len(expected), abs=1e-12)


# ---- One wave at a time.


def test_a_distribution_by_hand(tmp_path: Path) -> None:
    people = [[2, "Male", "Agree"], [1, "Female", "Disagree"], [1, "Female", "Disagree"], [4, "Male", "Refused"],
              [1, "", "Neither"], [0, "Male", "Agree"], [7, "Male", ""]]  # fmt: skip
    shares, answer, details = only(wave(tmp_path, people))
    assert shares == [0.4, 0.4, 0.2, None]
    assert answer is None  # two options have the largest share
    assert details == {
        "wave": 1, "key": "Q_W1", "ordinal": [1.0, 2.0, 1.5, None], "n": 5, "refused_share": pytest.approx(4 / 9),
        "groups": {},
    }  # fmt: skip


def test_groups_are_weighted_within_and_small_ones_left_out(tmp_path: Path) -> None:
    people = [[1 + number, "Male", OPTIONS[number % 2]] for number in range(MIN_PEOPLE)]
    people += [[1, "Female", "Agree"]] * (MIN_PEOPLE - 1) + [[5, "Refused", "Agree"]] * 20
    registry = wave(tmp_path, people)
    _, answer, details = only(registry)
    odd, even = sum(range(1, MIN_PEOPLE + 1, 2)), sum(range(2, MIN_PEOPLE + 1, 2))
    assert details["groups"] == {
        "SEX": {"Male": {"n": MIN_PEOPLE, "shares": [odd / (odd + even), even / (odd + even), 0.0, None]}}
    }
    assert answer == 0
    assert [(code, detail) for code, _, _, detail in told(registry)] == [
        ("small_group", f"fewer than {MIN_PEOPLE} people, left out: SEX=Female ({MIN_PEOPLE - 1})")
    ]


def test_the_order_of_people_does_not_matter(tmp_path: Path) -> None:
    rng = random.Random(5)
    people = [[rng.random() * 3, rng.choice(["Male", "Female"]), rng.choice(OPTIONS)] for _ in range(500)]
    registry = wave(tmp_path, people)
    rng.shuffle(people)
    write(tmp_path / "W1" / "responses.csv", ["WEIGHT_W1", "SEX", "Q_W1"], people)
    assert not registry.build("given", tmp_path).new


def test_options_after_the_positions_refuse(tmp_path: Path) -> None:
    options = [*OPTIONS[:2], "Don't know", "Refused"]
    people = [[1, "", "Agree"], [1, "", "Don't know"], [2, "", "Refused"]]
    shares, answer, details = only(wave(tmp_path, people, references=repr(options), option_ordinal="[1.0, 2.0]"))
    assert (shares, answer, details["refused_share"]) == ([1.0, 0.0, None, None], 0, 0.75)
    assert details["ordinal"] == [1.0, 2.0, None, None]


@pytest.mark.parametrize("cell", ["", "nan", "[]", "['a', 'b', 'c']", "[1.0, 2.0, 3.0, 4.0, 5.0]"])
def test_questions_without_positions(tmp_path: Path, cell: str) -> None:
    registry = wave(tmp_path, [[1, "", "Agree"], [1, "", "Refused"]], option_ordinal=cell)
    shares, answer, details = only(registry)
    assert (shares, answer, details["ordinal"]) == ([1.0, 0.0, 0.0, None], 0, [None] * 4)
    assert ("no_ordinal", "W1/info.csv", 1) in [entry[:3] for entry in told(registry)]


def test_answers_that_are_no_option(tmp_path: Path) -> None:
    people = [[1, "", "Agree"], [3, "", "agree"], [1, "", "None"], [1, "", "None"]]
    registry = wave(tmp_path, people)
    shares, _, details = only(registry)
    assert (shares, details["n"], details["refused_share"]) == ([1.0, 0.0, 0.0, None], 1, 0.0)
    assert [(code, detail) for code, _, _, detail in told(registry)] == [
        ("unknown_option", "`None` (2 people) is none of the options; left out"),
        ("unknown_option", "`agree` (1 people) is none of the options; left out"),
    ]


@pytest.mark.parametrize("cell", ["", "x", "nan", "inf", "-0.5"])
def test_people_without_a_weight(tmp_path: Path, cell: str) -> None:
    registry = wave(tmp_path, [[1, "", "Agree"], [cell, "", "Disagree"]])
    assert only(registry)[0] == [1.0, 0.0, 0.0, None]
    assert told(registry) == [
        ("missing_weight", "W1/responses.csv", 2, f"`{cell}` is no weight; the person is left out")
    ]


@pytest.mark.parametrize("people", [[[1, "", ""]], [[1, "", "Refused"]], [[0, "", "Agree"]]])
def test_questions_that_nobody_answered(tmp_path: Path, people: list[list[Any]]) -> None:
    registry = wave(tmp_path, people)
    shares, answer, _ = only(registry)
    assert (shares, answer) == (None, None)
    assert told(registry)[0][0] == "nobody_answered"


def test_a_doubled_option(tmp_path: Path) -> None:
    registry = wave(tmp_path, [[1, "", "Agree"]], references=repr(["Agree", "Agree", "No", "Refused"]))
    assert only(registry)[0] == [1.0, 0.0, 0.0, None]
    assert told(registry)[0][0] == "doubled_option"


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"references": "open('x')"}, "W1/info.csv, row 1, field `references`: neither JSON nor a Python literal"),
        ({"references": "'a'"}, "W1/info.csv, row 1, field `references`: expected a list, found str."),
        ({"references": "[]"}, "W1/info.csv, row 1, field `references`: expected a list of texts"),
        ({"head": ("WEIGHT", "SEX", "Q_W1")}, "W1/responses.csv: 0 columns are called WEIGHT_W and a number"),
        ({"head": ("WEIGHT_W1", "WEIGHT_W2", "Q_W1")}, "W1/responses.csv: 2 columns are called WEIGHT_W and a number"),
    ],
)
def test_waves_that_are_refused(tmp_path: Path, parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SourceError) as caught:
        wave(tmp_path, [[1, "", "Agree"]], **parts)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith("Nothing was loaded.")


def test_a_wave_without_its_responses(tmp_path: Path) -> None:
    write(tmp_path / "W1" / "info.csv", HEAD, [["Q_W1", "Well?", repr(OPTIONS), "[1, 2, 3]"]])
    with pytest.raises(SourceError, match=r"responses\.csv: no such file"):
        build(tmp_path)


def test_the_published_groups() -> None:
    assert sum(map(len, GROUPS.values())) == 60  # as the paper counts them
