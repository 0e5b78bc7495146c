"""ToxiGen's Hub release and Parquet sources: the same content in any format, labels, and rows that are refused."""

from __future__ import annotations

import csv
import gzip
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from support import DATASET, DECLARATIONS, changed, declare, opened, rows_of

from ethicsdb import Registry
from ethicsdb.builders.readers.toxigen import ANNOTATED_COLUMNS
from ethicsdb.registry.declared import load_declarations
from ethicsdb.schemas.errors import SourceError

SAMPLES = Path(str(files("ethicsdb.builders").joinpath("samples")))
NUMBERS = ("prompt_label", "roberta_prediction", "intent", "toxicity_ai", "toxicity_human")
ROW = {
    "prompt": "- a\n-", "generation": "b", "generation_method": "TopK", "group": "g", "prompt_label": 1,
    "roberta_prediction": 0.5,
}  # fmt: skip


def sample_rows(name: str) -> list[dict[str, Any]]:
    """A sample's rows with the types of the data set's card."""
    with (SAMPLES / name).open(encoding="utf-8", newline="") as stream:
        rows: list[dict[str, Any]] = list(csv.DictReader(stream))
    for row in rows:
        for column in set(NUMBERS) & set(row):
            row[column] = float(row[column]) if row[column] else None
    return rows


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def build(folder: Path, like: str, path: Path, name: str = "given") -> Registry:
    declared = load_declarations([]).dataset(like).model_dump(mode="json", by_alias=True, exclude_none=True)
    source = {"path": path.name, "reader": declared["sources"][0].get("reader"), "split": "train"}
    declare(folder, changed(declared, name=name, sources=[source]), *DECLARATIONS)
    registry = opened(folder)
    registry.build(name, path)
    return registry


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("like", ["sample_toxigen_train", "sample_toxigen_annotated"])
def test_one_content_in_every_format_is_one_version(tmp_path: Path, like: str) -> None:
    name = {"sample_toxigen_train": "toxigen_train.csv", "sample_toxigen_annotated": "toxigen_annotated_train.csv"}[
        like
    ]
    rows = sample_rows(name)
    packed = tmp_path / "packed.parquet.gz"
    packed.write_bytes(gzip.compress(parquet(tmp_path / "c.parquet", rows).read_bytes()))
    registry = build(tmp_path, like, SAMPLES / name)
    for path in (tmp_path / "c.parquet", packed, jsonl(tmp_path / "d.jsonl", rows)):
        build(tmp_path, like, path)
    assert rows_of(registry, "SELECT version, rows FROM dataset_version WHERE dataset = 'given'") == [("v1", len(rows))]


def test_generations_are_conversations(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d").mkdir()
    registry = opened(tmp_path)
    registry.build("sample_toxigen_train")
    query = """
        SELECT labels, count(*), count(DISTINCT conversation_id), bool_and(context ->> '$[0].role' = 'human'),
               bool_and(json_array_length(context) = 1), bool_and(contains(context ->> '$[0].content', chr(10)))
        FROM conversation JOIN membership USING (item_id) GROUP BY 1 ORDER BY 1
    """
    assert rows_of(registry, query) == [
        ('["neutral"]', 5, 2, True, True, True), ('["toxic language"]', 5, 3, True, True, True),
    ]  # fmt: skip
    assert rows_of(registry, "SELECT output FROM conversation WHERE output LIKE '%never%'") == [
        ("commuters, they say, “never” look up",)
    ]
    query = (
        "SELECT details ->> '$.generation_method', sum((details ->> '$.roberta_prediction')::DOUBLE) FROM conversation"
    )
    assert rows_of(registry, f"{query} GROUP BY 1 ORDER BY 1") == [
        ("ALICE", pytest.approx(0.62 + 0.41 + 0.11 + 0.11)), ("TopK", pytest.approx(0.91 + 0.97 + 0.88 + 0.02 + 0.05))
    ]  # fmt: skip
    query = "SELECT DISTINCT slice_value FROM item_slice WHERE slice = 'target_group'"
    assert rows_of(registry, query) == [("commuters",)]


def test_all_thirteen_columns_of_rated_texts_are_kept(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d").mkdir()
    registry = opened(tmp_path)
    registry.build("sample_toxigen_annotated")
    rows = rows_of(registry, "SELECT text, target_group, details, label FROM labelled_text")
    found = {text: {"text": text, "target_group": group, **json.loads(details)} for text, group, details, _ in rows}
    given = [*sample_rows("toxigen_annotated_train.csv"), *sample_rows("toxigen_annotated_test.csv")]
    assert {len(row) for row in given} == {13} == {len(ANNOTATED_COLUMNS)}
    assert found == {row["text"]: {key: value or None for key, value in row.items()} for row in given}
    assert {label for *_, label in rows} == {None}
    query = "SELECT split, count(*) FROM membership GROUP BY 1 ORDER BY 1"
    assert rows_of(registry, query) == [("test", 2), ("train", 4)]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"prompt_label": 2}, "row 1, field `prompt_label`: `2` is neither 0 nor 1."),
        ({"prompt_label": None}, "row 1, field `prompt_label`: `None` is neither 0 nor 1."),
        ({"prompt_label": "toxic"}, "row 1, field `prompt_label`: `toxic` is no number."),
        ({"roberta_prediction": 91.0}, "row 1, field `roberta_prediction`: 91.0 is no share from 0 to 1."),
        ({"generation": 3}, "row 1, field `generation`: expected str, found int."),
    ],
)
def test_generations_that_are_refused(tmp_path: Path, parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SourceError) as caught:
        build(tmp_path, "sample_toxigen_train", jsonl(tmp_path / "a.jsonl", [{**ROW, **parts}]))
    assert str(caught.value) == f"a.jsonl, {sentence} Nothing was loaded."
    if parts != {"prompt_label": "toxic"}:
        with pytest.raises(SourceError) as caught:
            build(tmp_path, "sample_toxigen_train", parquet(tmp_path / "a.parquet", [{**ROW, **parts}]))
        assert str(caught.value) == f"a.parquet, {sentence} Nothing was loaded."


def test_a_missing_column_and_a_rating_off_the_scale(tmp_path: Path) -> None:
    few = {key: value for key, value in ROW.items() if key != "group"}
    with pytest.raises(SourceError, match=r"row 1: `group` is missing; there are 'prompt', 'generation'"):
        build(tmp_path, "sample_toxigen_train", parquet(tmp_path / "a.parquet", [few]))
    rows = sample_rows("toxigen_annotated_test.csv")
    with pytest.raises(SourceError, match=r"row 1, field `intent`: 6\.0 is no rating from 1 to 5"):
        build(tmp_path, "sample_toxigen_annotated", parquet(tmp_path / "b.parquet", [{**rows[0], "intent": 6.0}]))


@pytest.mark.parametrize("text", ["b'unclosed", "b'\\xff'", "b'x' and b'y'", 'b"'])
def test_text_that_only_looks_like_bytes_stays(tmp_path: Path, text: str) -> None:
    registry = build(tmp_path, "sample_toxigen_train", jsonl(tmp_path / "a.jsonl", [{**ROW, "generation": text}]))
    assert rows_of(registry, "SELECT output FROM conversation") == [(text,)]
    assert registry.build_report("given") == []


def test_equal_prompts_are_one_cluster_and_prompts_may_be_empty(tmp_path: Path) -> None:
    rows = [{**ROW, "generation": text} for text in ("b", "c")]
    rows += [{**ROW, "prompt": "- a\\n-", "generation": "d"}, {**ROW, "prompt": " "}]
    registry = build(tmp_path, "sample_toxigen_train", jsonl(tmp_path / "a.jsonl", rows))
    assert rows_of(registry, "SELECT count(DISTINCT group_id) FROM membership WHERE row < 3") == [(1,)]
    assert [(entry["code"], entry["source_row"]) for entry in registry.build_report("given")] == [
        ("literal_newline", None), ("empty_prompt", 4),
    ]  # fmt: skip


# ---- Parquet as a plain format.


def plain(folder: Path, path: Path) -> Registry:
    declare(folder, changed(DATASET, sources=[{"path": path.name}]), *DECLARATIONS[1:])
    registry = opened(folder)
    registry.build("small", path)
    return registry


SMALL = {"id": "1", "area": "Lies", "form": "original", "text": "¿a? 说", "english": ""}


def test_a_plain_table_in_parquet(tmp_path: Path) -> None:
    registry = plain(tmp_path, parquet(tmp_path / "a.parquet", [SMALL, {**SMALL, "id": "2", "text": "b?"}]))
    assert rows_of(registry, "SELECT question FROM safety_question ORDER BY 1") == [("b?",), ("¿a? 说",)]


def test_parquet_that_is_refused(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "a.parquet", [SMALL]).read_bytes()
    doubled = pyarrow.table([pyarrow.array(["1"])] * 2, names=["id", "id"])
    pyarrow.parquet.write_table(doubled, tmp_path / "d.parquet")
    cases = {
        "cut.parquet": (whole[:-20], "cut.parquet: not readable Parquet ("),
        "named.parquet": (b"id,area\n1,2\n", "named.parquet: taken for Parquet, but it looks like CSV"),
        "a.csv": (whole, "a.csv: taken for CSV (comma-separated text), but it looks like a Parquet file; let its name"),
        "d.parquet": ((tmp_path / "d.parquet").read_bytes(), "d.parquet: column `id` stands twice"),
        "n.parquet": (
            parquet(tmp_path / "n.parquet", [{**SMALL, "text": 3.5}]).read_bytes(),
            "n.parquet, row 1, field `text`: expected text, found float; write it as a string.",
        ),
        "e.parquet": (
            parquet(tmp_path / "e.parquet", [{"id": "1"}]).read_bytes(), "e.parquet: column `text` is missing;"
        ),
    }  # fmt: skip
    for name, (raw, sentence) in cases.items():
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(SourceError) as caught:
            plain(tmp_path, tmp_path / name)
        assert str(caught.value).startswith(sentence)
        assert str(caught.value).endswith("Nothing was loaded.")


def test_readers_of_text_say_that_they_read_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.parquet: the reader `toxigen` reads no Parquet; save it as the text"):
        build(tmp_path, "sample_toxigen", parquet(tmp_path / "a.parquet", [{"prompt": "- a\\n-"}]))


def test_eagle_in_parquet_has_lists_or_texts(tmp_path: Path) -> None:
    turn = {"role": "human", "content": "你好"}
    row = {
        "original_id": "a", "conversation_num": 0, "utterance_num": 1, "language": "zh",
        "ethical_labels": ["morality", "social bias"], "context": [turn], "output": {"role": "gpt", "content": "x"},
    }  # fmt: skip
    written = {key: repr(value) if isinstance(value, (list, dict)) else value for key, value in row.items()}
    registry = build(tmp_path, "sample_eagle", parquet(tmp_path / "a.parquet", [row]))
    build(tmp_path, "sample_eagle", parquet(tmp_path / "b.parquet", [written]))
    assert rows_of(registry, "SELECT version FROM dataset_version") == [("v1",)]
    assert rows_of(registry, "SELECT labels, context ->> '$[0].content' FROM conversation") == [
        ('["social bias", "morality"]', "你好")
    ]
