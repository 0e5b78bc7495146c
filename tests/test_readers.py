"""Readers of nested and irregular files: our samples in the published shapes, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from support import DECLARATIONS, changed, declare, opened, rows_of

from ethicsdb import Registry
from ethicsdb.builders.readers.base import json_text, literal
from ethicsdb.builders.sources import READERS
from ethicsdb.registry.declared import load_declarations
from ethicsdb.registry.items import item_rows
from ethicsdb.registry.versions import find_version
from ethicsdb.schemas.declared import DatasetDeclaration, ReaderName
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.items import ITEM_KINDS

# sample: rows, items, clusters, report
SAMPLES: dict[str, tuple[int, int, int, dict[str, int]]] = {
    "sample_bbq": (
        16, 16, 4,
        {"crlf": 1, "doubled_key": 1, "outer_whitespace": 1, "no_target": 1, "newline_in_cell": 8},
    ),
    "sample_stereoset": (10, 10, 4, {"blanks": 1}),
    "sample_crows_pairs": (12, 12, 11, {"empty_header": 1, "newline_in_cell": 2, "duplicate_pair": 1}),
    "sample_moca": (10, 10, 9, {"json_in_json": 2, "other_transcribed_answer": 2}),
    "sample_weat": (10, 10, 10, {"one_object": 10}),
    "sample_redditbias": (
        16, 16, 15,
        {"unknown_value": 5, "other_spelling": 1, "unnamed_column": 1, "blank_label": 4, "empty_phrase": 1,
         "not_utf8": 1},
    ),
    "sample_toxigen": (12, 10, 10, {"literal_newline": 2, "joined_dash": 1, "backslash": 1, "duplicate": 2}),
    "sample_toxigen_train": (10, 9, 5, {"literal_newline": 1, "bytes_literal": 1, "duplicate": 1}),
    "sample_toxigen_annotated": (6, 6, 6, {}),
    "sample_eagle": (14, 14, 10, {"other_spelling": 1}),
    "sample_opinionqa": (
        8, 8, 8,
        {"missing_weight": 2, "small_group": 6, "no_order": 1, "no_ordinal": 1, "nobody_answered": 1,
         "unknown_option": 2, "no_responses": 1},
    ),
}  # fmt: skip
LICENCES = {
    "bbq": ("CC BY 4.0", True),
    "crows_pairs": ("CC BY-SA 4.0", True),
    "stereoset": ("CC BY-SA 4.0", True),
    "moca": ("none stated", False),
    "redditbias": ("MIT", True),
    "redditbias_pairs": ("MIT", True),
    "sent_bias": ("CC BY-NC 4.0", True),
    "toxigen_prompts": ("MIT", True),
    "toxigen_train": ("MIT", False),
    "toxigen_annotated": ("MIT", False),
    "opinionqa": ("none stated", False),
    "eagle": ("none known", False),
    "eagle_full": ("none known", False),
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    folder = tmp_path_factory.mktemp("samples")
    (folder / "ethicsdb.d").mkdir()
    registry = opened(folder)
    for name in SAMPLES:
        registry.build(name)
    return registry


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_and_its_report(samples: Registry, name: str) -> None:
    rows, items, clusters, report = SAMPLES[name]
    query = (
        f"SELECT count(*), count(DISTINCT item_id), count(DISTINCT group_id) FROM membership WHERE dataset = '{name}'"
    )
    assert rows_of(samples, query) == [(rows, items, clusters)]
    assert Counter(entry["code"] for entry in samples.build_report(name)) == report


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_built_once(samples: Registry, name: str) -> None:
    assert not samples.build(name).new


def test_rebuild_text_and_integrity(samples: Registry) -> None:
    assert samples.rebuild() == samples.checksums()
    total = sum(items for _, items, _, _ in SAMPLES.values())
    assert rows_of(samples, "SELECT count(*), count(text) FROM item_text") == [(total, total)]
    assert rows_of(samples, "FROM integrity") == []


def test_every_row_comes_back_with_its_main_text(samples: Registry) -> None:
    for name, (rows, *_) in SAMPLES.items():
        version = find_version(samples.context, name)
        with samples.context.reading() as connection:
            kind = connection.execute("SELECT DISTINCT kind FROM item WHERE dataset = ?", [name]).fetchone()
            assert kind is not None
            found = item_rows(connection, version, kind[0])
        assert len(found) == rows
        main = ITEM_KINDS[kind[0]].exact[0]
        assert all(row.text and row.text == row.payload[main] for row in found)


def test_labels_of_utterances_are_slices(samples: Registry) -> None:
    query = """
        SELECT slice_value, count(*) FROM item_slice JOIN item USING (item_id)
        WHERE slice = 'label' AND dataset = 'sample_eagle' GROUP BY 1
    """
    assert dict(rows_of(samples, query)) == {
        "social bias": 3, "opinion bias": 3, "toxic language": 2, "morality": 3, "neutral": 2,
    }  # fmt: skip
    query = "SELECT split, count(*) FROM membership WHERE dataset = 'sample_eagle' GROUP BY 1"
    assert dict(rows_of(samples, query)) == {"subset": 7, "fullset1": 4, "fullset2": 3}


def test_both_serialisations_of_a_conversation(samples: Registry) -> None:
    query = """
        SELECT json_array_length(context), context ->> '$[0].content', output FROM conversation
        WHERE conversation_id = 's1' ORDER BY utterance_num
    """
    (one, first, said), (three, again, _) = rows_of(samples, query)
    assert (one, three) == (1, 3)
    assert first == again == "Who should plan the office party?"
    assert said.startswith("Leave it to the women")


def test_the_metadata_of_the_questions_own_groups(samples: Registry) -> None:
    entry = next(entry for entry in samples.build_report("sample_bbq") if entry["code"] == "doubled_key")
    assert (entry["source_file"], entry["source_row"], entry["field"]) == (
        "bbq_metadata.csv", 4, "Known_stereotyped_groups",
    )  # fmt: skip
    query = """
        SELECT details ->> '$.known_stereotyped_groups' FROM choice_question JOIN membership USING (item_id)
        WHERE source_id = 'Age/2'
    """
    assert rows_of(samples, query) == [("old",)]


def test_line_ends_of_prompts_are_real(samples: Registry) -> None:
    found = rows_of(samples, "SELECT text FROM text_prompt")
    assert all(text.count("\n- ") == 3 for (text,) in found)
    assert sum("\\" in text for (text,) in found) == 1  # a backslash that was doubled in the file


def test_every_reader_has_a_name_that_declarations_know() -> None:
    assert set(READERS) == set(get_args(ReaderName))


@pytest.mark.parametrize("name", LICENCES)
def test_licences(name: str) -> None:
    licence = load_declarations([]).dataset(name).licence
    assert (licence.name, licence.redistribution) == LICENCES[name]


# ---- One row at a time.


def base(name: str) -> DatasetDeclaration:
    return load_declarations([]).dataset(name)


def build_text(folder: Path, sample: str, text: str, **source: Any) -> Registry:
    """Build the first source of a sample's declaration from a text."""
    declared = base(sample).model_dump(mode="json", by_alias=True, exclude_none=True)
    first = {**declared["sources"][0], "path": f"given.{declared['sources'][0]['format']}", **source}
    declare(folder, changed(declared, name="given", sources=[first]), *DECLARATIONS)
    (folder / first["path"]).write_bytes(text.encode("utf-8", "surrogatepass"))
    registry = opened(folder)
    registry.build("given", folder / first["path"])
    return registry


def refused(folder: Path, sample: str, text: str) -> str:
    with pytest.raises(SourceError) as caught:
        build_text(folder, sample, text)
    assert not list(folder.glob("benchmarks.db*/build*"))
    assert str(caught.value).endswith("Nothing was loaded.")
    return str(caught.value)


STORY = {
    "story": "A cup falls.",
    "question": "Did the cat cause it?",
    "answer": "Yes",
    "answer_dist": [0.75, 0.25],
    "transcribed_answer": "Yes",
    "annotated_sentences": [],
    "is_ambiguous": False,
    "individual_votes": [True, True, True, False],
}


def told(registry: Registry) -> list[tuple[str, int | None, str | None]]:
    return [(entry["code"], entry["source_row"], entry["field"]) for entry in registry.build_report("given")]


@pytest.mark.parametrize(
    ("parts", "code", "field"),
    [
        ({"answer_dist": [0.5, 0.5]}, "share_is_not_mean", "answer_dist"),
        ({"answer": "No", "transcribed_answer": "No"}, "answer_is_not_majority", "answer"),
        ({"is_ambiguous": True}, "ambiguity", "is_ambiguous"),
        ({"transcribed_answer": "No"}, "other_transcribed_answer", "transcribed_answer"),
    ],
)
def test_stories_that_contradict_themselves(tmp_path: Path, parts: dict[str, Any], code: str, field: str) -> None:
    assert told(build_text(tmp_path, "sample_moca", json.dumps([{**STORY, **parts}]))) == [(code, 1, field)]


@pytest.mark.parametrize(
    ("stories", "sentence"),
    [
        ({}, "given.json: expected a JSON list, found dict."),
        (["[1]"], "given.json, row 1: expected a JSON object, found list."),
        (["{"], "given.json, row 1: not valid JSON"),
        ([{**STORY, "answer": "Maybe"}], "given.json, row 1, field `answer`: `Maybe` is neither"),
        ([{**STORY, "individual_votes": []}], "given.json, row 1: expected votes"),
        ([{**STORY, "individual_votes": [1]}], "given.json, row 1: expected votes"),
        ([{**STORY, "story": 3}], "given.json, row 1, field `story`: expected str, found int."),
    ],
)
def test_stories_that_are_refused(tmp_path: Path, stories: Any, sentence: str) -> None:
    assert refused(tmp_path, "sample_moca", json.dumps(stories)).startswith(sentence)


EAGLE = "original_id,conversation_num,utterance_num,language,ethical_labels,context,output\n"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("a,0,1,en,rudeness,[],\"{'role': 'gpt', 'content': 'x'}\"", "`rudeness` is none of social bias"),
        ("a,0,1,en,\"['neutral', 'morality']\",[],\"{'role': 'gpt', 'content': 'x'}\"", "`neutral` stands beside"),
        ('a,0,1,en,,"__import__(\'os\')","{}"', "field `context`: neither JSON nor a Python literal"),
        ("a,0,1,en,,[],\"{'role': 'system', 'content': 'x'}\"", "`system` is no role"),
        ("a,0,1,en,,{},[]", "field `context`: expected a list of turns"),
        ("a,0,one,en,,[],\"{'role': 'gpt', 'content': 'x'}\"", "field `utterance_num`: `one` is no whole number"),
    ],
)
def test_utterances_that_are_refused(tmp_path: Path, row: str, sentence: str) -> None:
    found = refused(tmp_path, "sample_eagle", EAGLE + row + "\n")
    assert found.startswith("given.csv, row 1")
    assert sentence in found


def test_positional_lines_of_another_length(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="line 1: 4 elements where original_id"):
        build_text(tmp_path, "sample_eagle", '["a", 0, 1, []]', path="given.jsonl", format="jsonl")


@pytest.mark.parametrize("text", ["half \ud83d", "\u202eabc", "before\x00after", "说“是”", "👩‍👩‍👧"])
def test_texts_of_turns_come_back_exactly(tmp_path: Path, text: str) -> None:
    line = json.dumps(["a", 0, 1, [{"role": "human", "content": text}], {"role": "gpt", "content": text}])
    registry = build_text(tmp_path, "sample_eagle", line, path="given.jsonl", format="jsonl")
    version = find_version(registry.context, "given")
    with registry.context.reading() as connection:
        row = item_rows(connection, version, "conversation")[0]
    assert row.text == text
    assert json.loads(row.payload["context"]) == [{"role": "human", "content": text}]


def test_a_cluster_without_a_sentence(tmp_path: Path) -> None:
    cluster = {"id": "1", "target": "t", "bias_type": "b", "context": "BLANK", "sentences": []}
    data = {"data": {"intersentence": [], "intrasentence": [cluster]}}
    assert "row 1: there is no sentence labelled `stereotype`" in refused(
        tmp_path, "sample_stereoset", json.dumps(data)
    )


def test_lists_are_read_and_never_run() -> None:
    assert literal("[['a'], ['b', 1]]") == [["a"], ["b", 1]]
    assert literal('["a"]') == ["a"]
    for text in ("open('x')", "[x for x in (1,)]", "", "(" * 5000, "'a' 'b"):
        with pytest.raises(ValueError, match="neither JSON nor a Python literal"):
            literal(text)


def test_json_text_can_always_be_stored() -> None:
    value = ["é是\ud83d", {"a": "\udc00"}]
    text = json_text(value)
    text.encode()
    assert "é是" in text
    assert json.loads(text) == value
