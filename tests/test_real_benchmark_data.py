"""Published files of the likelihood and prior-score benchmarks: exact counts, and what a build reports of each."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import opened, rows_of

from ethicsdb import Registry
from ethicsdb.builders.build import Built

pytestmark = pytest.mark.real_data

# data set: folder, rows, items, clusters, report
DATA: dict[str, tuple[str, int, int, int, dict[str, int]]] = {
    "bbq": (
        "bbq",
        58_492,
        58_416,
        343,
        {
            "suspicious outer_whitespace": 124,
            "note crlf": 5,
            "repaired doubled_key": 64,
            "suspicious no_target": 16,
            "repaired newline_in_cell": 27_120 + 240,
            "note duplicate": 58_492 - 58_416,
        },
    ),
    "crows_pairs": (
        "crows_pairs",
        1508,
        1508,
        1507,
        {"repaired empty_header": 1, "suspicious newline_in_cell": 1, "note duplicate_pair": 1},
    ),
    "stereoset": ("stereoset", 2123 + 2106, 4229, 79, {"suspicious blanks": 2}),
    "moca": ("moca", 144 + 62, 206, 166, {"note json_in_json": 2, "note other_transcribed_answer": 46 + 18}),
    "sent_bias": ("sent_bias", 46, 46, 46, {"note one_object": 46}),
    "redditbias": (
        "redditbias",
        28_131,
        28_094,
        28_061,
        {
            "suspicious unknown_value": 24 + 24 + 23,
            "suspicious unnamed_column": 1,
            "note blank_label": 33_294,
            "suspicious empty_phrase": 186,
            "repaired not_utf8": 1,
            "note duplicate": 37,
        },
    ),
    "redditbias_pairs": (
        "redditbias",
        253 + 235 + 254 + 238 + 236,
        1214,
        1214,
        {"suspicious outer_whitespace": 13, "note duplicate": 2},
    ),
    "toxigen_prompts": (
        "toxigen/prompts",
        31_000,
        28_472,
        28_472,
        {
            "repaired literal_newline": 31,
            "suspicious joined_dash": 159,
            "suspicious backslash": 708,
            "note duplicate": 31_000 - 28_472,
        },
    ),
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    folder = tmp_path_factory.mktemp("published")
    (folder / "ethicsdb.d").mkdir()
    return opened(folder)


@pytest.fixture(scope="module")
def built(registry: Registry, real_data: Path) -> dict[str, Built]:
    return {name: registry.build(name, real_data / folder) for name, (folder, *_) in DATA.items()}


@pytest.mark.parametrize("name", DATA)
def test_counts_and_report(registry: Registry, built: dict[str, Built], name: str) -> None:
    _, rows, items, clusters, report = DATA[name]
    assert (built[name].rows, built[name].items) == (rows, items)
    query = (
        f"SELECT count(*), count(DISTINCT item_id), count(DISTINCT group_id) FROM membership WHERE dataset = '{name}'"
    )
    assert rows_of(registry, query) == [(rows, items, clusters)]
    found = {f"{severity} {code}": count for severity, code, count in built[name].report}
    assert found == report  # no `other_source` among them: the files are the declared ones


@pytest.mark.usefixtures("built")
def test_every_item_has_its_text_and_nothing_dangles(registry: Registry) -> None:
    query = "SELECT count(*), count(text) FROM item_text"
    total = sum(items for _, _, items, _, _ in DATA.values())
    assert rows_of(registry, query) == [(total, total)]
    assert rows_of(registry, "FROM integrity") == []


def entries(registry: Registry, name: str, code: str) -> list[dict[str, Any]]:
    return [entry for entry in registry.build_report(name) if entry["code"] == code]


@pytest.mark.usefixtures("built")
def test_bbq_targets_and_doubled_metadata(registry: Registry) -> None:
    doubled = entries(registry, "bbq", "doubled_key")
    assert {entry["source_file"] for entry in doubled} == {"additional_metadata.csv"}
    assert {entry["field"] for entry in doubled} == {"Known_stereotyped_groups"}
    assert all("whose groups are the question's own" in entry["detail"] for entry in doubled)
    assert min(entry["source_row"] for entry in doubled) == 32_510
    query = """
        SELECT polarity, list_contains(from_json(stereotyped_groups, '["VARCHAR"]'), option_groups ->> target), count(*)
        FROM choice_question JOIN membership USING (item_id) WHERE category = 'Age' GROUP BY ALL ORDER BY 1
    """
    # Bias would choose the stereotyped group in a negative question, and the other one in a question that is not.
    assert rows_of(registry, query) == [("neg", True, 1840), ("nonneg", False, 1840)]
    query = """
        SELECT condition, answer = unknown, count(*) FROM choice_question JOIN membership USING (item_id)
        WHERE dataset = 'bbq' GROUP BY ALL ORDER BY 1
    """
    assert rows_of(registry, query) == [("ambig", True, 29_246), ("disambig", False, 29_246)]
    query = (
        "SELECT count(*) FROM choice_question JOIN membership USING (item_id) WHERE dataset = 'bbq' AND target IS NULL"
    )
    assert rows_of(registry, query) == [(16,)]


@pytest.mark.usefixtures("built")
def test_stereoset_parts(registry: Registry) -> None:
    query = """
        SELECT form, count(*), count(stereotype), count(anti_stereotype), count(unrelated), count(DISTINCT target)
        FROM sentence_pair JOIN item USING (item_id) WHERE dataset = 'stereoset' GROUP BY ALL ORDER BY 1
    """
    assert rows_of(registry, query) == [("inter", *[2123] * 4, 79), ("intra", *[2106] * 4, 79)]


@pytest.mark.usefixtures("built")
def test_crows_pairs_directions_and_lists(registry: Registry) -> None:
    query = """
        SELECT direction, count(*), count(details -> '$.annotations[4]'), count(details -> '$.anon_annotators[4]')
        FROM sentence_pair JOIN item USING (item_id) WHERE dataset = 'crows_pairs' GROUP BY ALL ORDER BY 1
    """
    assert rows_of(registry, query) == [("antistereo", *[218] * 3), ("stereo", *[1290] * 3)]
    assert [entry["source_row"] for entry in entries(registry, "crows_pairs", "newline_in_cell")] == [1294]


@pytest.mark.usefixtures("built")
def test_moca_invariants(registry: Registry) -> None:
    query = "SELECT category, votes, distribution, answer, condition FROM choice_question WHERE votes IS NOT NULL"
    stories = rows_of(registry, query)
    assert Counter(category for category, *_ in stories) == {"causal": 144, "moral": 62}
    for _, votes, shares, answer, condition in stories:
        chosen = json.loads(votes)
        yes = chosen.count(0) / len(chosen)
        assert json.loads(shares)[0] == pytest.approx(yes, abs=1e-12)
        assert answer == (0 if yes > 0.5 else 1)
        assert condition == ("ambiguous" if 0.40 <= yes <= 0.60 else "clear")
    told = Counter(entry["source_file"] for entry in entries(registry, "moca", "other_transcribed_answer"))
    assert told == {"causal_dataset_v1.json": 46, "moral_dataset_v1.json": 18}


@pytest.mark.usefixtures("built")
def test_redditbias_labels_stay_as_they_are(registry: Registry) -> None:
    query = "SELECT label, count(*) FROM labelled_text JOIN membership USING (item_id) GROUP BY ALL"
    found = dict(rows_of(registry, query))
    assert (found["biased"], found["unbiased"], found["2"]) == (
        2033 + 1119 + 1182 + 1099 + 1159,
        943 + 864 + 1438 + 1012 + 643,
        24,
    )
    assert found[None] == 6010 + 380 + 1420 + 8782
    assert sum(found.values()) == 28_131
    assert {"biased?", "re-state", "question", "1 - context needed", "toxic-unrelated", "fact?"} < set(found)
    odd = entries(registry, "redditbias", "not_utf8")[0]
    assert odd["source_file"] == "reddit_comments_religion1_jews_processed_phrase_annotated.csv"
    query = f"""
        SELECT text FROM labelled_text JOIN membership USING (item_id)
        WHERE source_file = '{odd["source_file"]}' AND source_row = {odd["source_row"]}
    """
    assert [text[-6:] for (text,) in rows_of(registry, query)] == ["that\u2019s"]


@pytest.mark.usefixtures("built")
def test_redditbias_report_names_every_label_that_is_not_clean(registry: Registry, real_data: Path) -> None:
    dirty: dict[tuple[str, str], set[tuple[int, str]]] = {}
    for path in sorted((real_data / "redditbias").rglob("*annotated.csv")):
        text = path.read_bytes().decode("mac_roman" if "jews" in path.name else "utf-8-sig")
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), start=1):
            for column in ("bias_sent", "bias_phrase"):
                if row[column] not in ("0", "1"):
                    dirty.setdefault((path.name, column), set()).add((number, row[column]))
    columns = {"label": "bias_sent", "phrase_label": "bias_phrase"}
    told: dict[tuple[str, str], set[tuple[int, str]]] = {}
    for entry in registry.build_report("redditbias"):
        if entry["code"] in ("unknown_value", "other_spelling", "blank_label"):
            value = "" if entry["code"] == "blank_label" else entry["detail"].split("`")[1]
            column = columns.get(entry["field"], entry["field"])
            told.setdefault((entry["source_file"], column), set()).add((entry["source_row"], value))
    assert told == dirty
    assert Counter(value for found in dirty.values() for _, value in found if value) == {
        "2": 48, "biased?": 8, "re-state": 7, "question": 5, "1 - context needed": 1, "toxic-unrelated": 1, "fact?": 1,
    }  # fmt: skip


@pytest.mark.usefixtures("built")
def test_toxigen_demonstrations(registry: Registry) -> None:
    counts = "SELECT label, count(*), count(DISTINCT target_group)"
    query = f"{counts} FROM text_prompt JOIN membership USING (item_id) GROUP BY 1 ORDER BY 1"
    assert rows_of(registry, query) == [("hate", 16_000, 16), ("neutral", 15_000, 15)]
    # What the model goes on from is a dash, on a line of its own but for the joined ones.
    query = """
        SELECT bool_and(ends_with(text, '-')), count(*) FILTER (NOT ends_with(text, chr(10) || '-')),
               count(*) FILTER (NOT contains(text, chr(10)))
        FROM text_prompt JOIN membership USING (item_id)
    """
    assert rows_of(registry, query) == [(True, 159, 0)]


@pytest.mark.usefixtures("built")
def test_association_tests(registry: Registry) -> None:
    counts = "SELECT level, count(*), bool_and(json_array_length(target1) > 3)"
    query = f"{counts} FROM association_test GROUP BY 1 ORDER BY 1"
    assert rows_of(registry, query) == [("sentence", 27, True), ("word", 19, True)]
    query = "SELECT target1_category, attribute1_category FROM association_test WHERE name = 'weat1'"
    assert rows_of(registry, query) == [("Flowers", "Pleasant")]


@pytest.mark.usefixtures("built")
def test_building_again_makes_nothing_new(registry: Registry, real_data: Path) -> None:
    for name in ("crows_pairs", "moca", "sent_bias"):
        assert not registry.build(name, real_data / DATA[name][0]).new
