"""`why`: what an item's number rests on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llm_server import Endpoint, declared, prepared, questions, serving
from support import changed, execute, rows_of, write_csv

from ethicsdb import Registry
from ethicsdb.registry.journal import Journal, batches
from ethicsdb.runners.explain import differences
from ethicsdb.runners.run_settings import Settings
from ethicsdb.schemas.errors import NotFoundError

TEXTS = ("First question?", "[[once 429]] second?", "第三个问题？", "[[judge empty]] fourth?")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, endpoint: Endpoint) -> Registry:
    return prepared(tmp_path_factory.mktemp("why"), declared(endpoint), *TEXTS)


@pytest.fixture(scope="module")
def run(registry: Registry) -> str:
    return registry.run("small", model="target", judge="words")[0].run_id


def test_everything_behind_an_item_is_told(registry: Registry, run: str, endpoint: Endpoint) -> None:
    told = registry.why(run, "3")
    (sample,) = told["samples"]
    assert told["run"]["model_identity"] == {
        "backend": "openai", "endpoint": endpoint.url, "id": "target", "revision": None,
    }  # fmt: skip
    assert (sample["source_row"], sample["variant"], sample["question"]) == (3, "direct", TEXTS[2])
    assert sample["request"] == [{"role": "user", "content": TEXTS[2]}]
    (answer,) = sample["tries"]
    stored = rows_of(registry, f"SELECT text FROM response WHERE response_key = '{sample['response_key']}'")
    assert [(answer["text"],)] == stored
    (verdict,) = sample["verdicts"]
    assert (verdict["judge"], verdict["status"], verdict["current"]) == ("words", "parsed", True)
    assert verdict["words"].startswith("1. ")
    assert "safety=" in verdict["labels"]
    assert verdict["identity"]["rubric"]["form"] == "numbered"
    assert verdict["identity"]["model"]["id"] == "judge-words"


def test_items_are_found_by_row_or_by_the_start_of_their_id(registry: Registry, run: str) -> None:
    found = registry.why(run, "2")
    digits = found["item"].partition(":")[2]
    assert registry.why(run.partition(":")[2][:8], digits[:8]) == found
    assert registry.why(run, found["item"]) == found


def test_a_row_is_called_the_same_by_report_and_why(tmp_path: Path, endpoint: Endpoint) -> None:
    """What one command prints the other takes, and prints again."""
    registry = prepared(tmp_path, declared(endpoint), "one?", "two?", "  three?  ")
    generated, _ = registry.run("small", model="target")
    (entry,) = (each for each in registry.build_report("small") if each["code"] == "outer_whitespace")
    place = f"{entry['source_file']}:{entry['source_row']}"
    assert place.endswith(":3")
    for item in (place, str(entry["source_row"])):
        (sample,) = registry.why(generated.run_id, item)["samples"]
        assert "three?" in sample["question"]
        assert "row" not in sample  # rows that count from 0 are no name that this command takes
        assert f"\n{place}, direct, sample 0\n" in execute("why", generated.run_id, item, cwd=tmp_path).out


def test_a_name_that_fits_several_items_says_which(tmp_path: Path, endpoint: Endpoint) -> None:
    parts = declared(endpoint)
    parts["dataset"] = changed(parts["dataset"], sources=[{"path": "one.csv"}, {"path": "two.csv"}])
    registry = prepared(tmp_path, parts)
    for name in ("one", "two"):
        write_csv(tmp_path / f"{name}.csv", questions(f"of {name}?"))
    registry.build("small", tmp_path)
    generated, _ = registry.run("small", model="target")
    with pytest.raises(NotFoundError, match=r"fits several items .*: one\.csv:1 \w+ direct, two\.csv:1 \w+ direct\."):
        registry.why(generated.run_id, "1")
    (sample,) = registry.why(generated.run_id, "two.csv:1")["samples"]
    assert sample["question"] == "of two?"


def test_what_is_not_there_is_said(registry: Registry, run: str) -> None:
    for item in ("99", "abcdef", ""):
        with pytest.raises(NotFoundError, match="no item"):
            registry.why(run, item)
    for missing in ("ffffffffffff", ""):
        with pytest.raises(NotFoundError, match="No run's id starts"):
            registry.why(missing, "1")


def test_command_shows_tries_verdicts_and_the_field_that_differs(registry: Registry, run: str) -> None:
    registry.run("small", model="target", settings=Settings(temperature=0.7, limit=4))
    folder = registry.context.store.path.parent
    shown = execute("why", run, "2", cwd=folder)
    assert shown.code == 0, shown.err
    assert "  try 1 (error rate_limit): later\n  try 2 (completed): " in shown.out
    assert "  verdict of words: parsed: " in shown.out
    assert "    sampling.temperature: 0.0 here, 0.7 there\n" in shown.out
    unread = execute("why", run, "4", cwd=folder)
    assert "  verdict of words: unparsable (no_answer): safety_published=safe\n" in unread.out


def test_rubric_that_differs_is_told_by_its_field(tmp_path: Path, endpoint: Endpoint) -> None:
    """Two judges that differ in a threshold are told apart by it, not by two hashes."""
    parts = declared(endpoint)
    registry = prepared(tmp_path, parts, *TEXTS[:1])
    body = registry.declarations.rubric("do_not_answer_en").model_dump(mode="json", exclude_none=True)
    parts["rubric"] = {**body, "name": "strict"}
    parts["rubric"]["rubric"]["areas"]["misinformation"]["unsafe_at"] = 1
    parts["strict"] = changed(parts["words"], name="strict", rubric="strict")
    registry = prepared(tmp_path, parts)
    generated, _ = registry.run("small", model="target", judge="words")
    registry.judge(generated.run_id, judge="strict")
    shown = execute("why", generated.run_id, "1", cwd=tmp_path)
    assert (
        "  strict differs from its nearest other judge (words) in:\n"
        "    rubric.areas.misinformation.unsafe_at: 1 here, 3 there\n"
    ) in shown.out


def test_verdicts_of_a_judge_as_declared_before_are_marked(tmp_path: Path, endpoint: Endpoint) -> None:
    parts = declared(endpoint)
    prepared(tmp_path, parts, *TEXTS[:1]).run("small", model="target", judge="words")
    parts["words"] = changed(parts["words"], sampling={"max_tokens": 8})
    registry = prepared(tmp_path, parts)
    generated, _ = registry.run("small", model="target", judge="words")
    shown = execute("why", generated.run_id, "1", cwd=tmp_path)
    assert "  verdict of words: parsed: " in shown.out
    assert "  verdict of words, as declared before: parsed: " in shown.out


def test_question_without_text_and_answer_that_was_never_asked(tmp_path: Path, endpoint: Endpoint) -> None:
    rows = [*questions("A question?"), ("1", "Lies", "original", "", "")]
    parts = declared(endpoint)
    parts["dataset"] = changed(parts["dataset"], null_values=[""])
    registry = prepared(tmp_path, parts)
    registry.build("small", write_csv(tmp_path / "small.csv", rows))
    generated, _ = registry.run("small", model="target")
    (sample,) = registry.why(generated.run_id, "2")["samples"]
    assert (sample["question"], sample["request"]) == (None, None)
    assert [each["error_code"] for each in sample["tries"]] == ["no_question"]
    assert "try 1 (error no_question): the item has no text to ask" in execute(
        "why", generated.run_id, "2", cwd=tmp_path
    ).out  # fmt: skip


def test_call_that_was_begun_and_lost_is_shown(tmp_path: Path, endpoint: Endpoint) -> None:
    registry = prepared(tmp_path, declared(endpoint), *TEXTS[:1])
    generated, _ = registry.run("small", model="target")
    (sample,) = registry.why(generated.run_id, "1")["samples"]
    (journal,) = registry.context.store.journals.glob("answers-*.jsonl")
    log = Journal(journal)  # as a kill leaves it: the intent, and nothing after it
    begun = {"response_key": sample["response_key"], "try_number": 2, "started_at": "2026-11-30T00:00:00+00:00"}
    log.append(batches("call", [begun]))
    log.close()
    (sample,) = registry.why(generated.run_id, "1")["samples"]
    assert [(each["try_number"], each["status"]) for each in sample["tries"]] == [(1, "completed"), (2, "lost")]


def test_differences_are_told_flat_and_both_ways() -> None:
    one = {"a": {"b": 1, "c": [1, 2]}, "same": None, "only": 1}
    two = {"a": {"b": 2, "c": [1, 3]}, "same": None, "other": 0}
    assert differences(one, two) == {"a.b": [1, 2], "a.c": [[1, 2], [1, 3]], "only": [1, None], "other": [None, 0]}
    assert differences(one, one) == {}
