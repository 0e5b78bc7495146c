"""Answers and scores that come from elsewhere: aligned by id, measured like our own, refused where they do not fit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import run

from ethicsdb import Registry
from ethicsdb.runners.parsers.choice import parse_choice
from ethicsdb.schemas.errors import DeclarationError, SourceError

OPTIONS = ["The grandfather", "The grandson", "Not enough information"]


@pytest.mark.parametrize(
    ("text", "options", "value", "reason"),
    [
        ("The grandson", OPTIONS, 1, None),
        ("  the GRANDSON. ", OPTIONS, 1, None),
        ("**The grandson**", OPTIONS, 1, None),
        ("I would say it is the grandson, since he was late.", OPTIONS, 1, None),
        ("The grandson or the grandfather", OPTIONS, None, "several_options"),
        ("Nobody", OPTIONS, None, "no_option"),
        ("The grandsons", OPTIONS, None, "no_option"),
        ("", OPTIONS, None, "no_answer"),
        (" \n。", OPTIONS, None, "no_answer"),
        ("the old man", ["man", "the old man"], 1, None),
        ("a man, and the old man", ["man", "the old man"], None, "several_options"),
        ("Same", ["same", "Same"], None, "several_options"),
        ("Yes, no doubt", ["Yes", "No"], None, "several_options"),
        ("No.", ["Yes", "No"], 1, None),
        ("Not at all", ["Yes", "No"], None, "no_option"),
        ("是老人。", ["老人", "年轻人", "无法判断"], 0, None),
        ("无法判断", ["老人", "年轻人", "无法判断"], 2, None),
        ("老人和年轻人都有可能", ["老人", "年轻人", "无法判断"], None, "several_options"),
        ("Старик", ["старик", "внук"], 0, None),
    ],
)
def test_which_option_an_answer_is(text: str, options: list[str], value: int | None, reason: str | None) -> None:
    found = parse_choice(text, options)
    assert (found.value, found.reason) == (value, reason)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "benchmarks.db")


Row = tuple[str, dict[str, Any]]


def questions(registry: Registry) -> list[Row]:
    """(source id, payload) of the sample of BBQ."""
    registry.build("sample_bbq")
    with registry.context.reading() as connection:
        rows = connection.execute(
            "SELECT source_id, options, answer, target, unknown, condition, category "
            "FROM membership JOIN choice_question USING (item_id) ORDER BY row"
        ).fetchall()
    names = ("options", "answer", "target", "unknown", "condition", "category")
    return [(row[0], dict(zip(names, (json.loads(row[1]), *row[2:]), strict=True))) for row in rows]


def sheet(path: Path, rows: list[Row], say: Callable[[dict[str, Any]], str]) -> Path:
    lines = [
        {"category": mark.split("/")[0], "number": int(mark.split("/")[1]), "said": say(payload)}
        for mark, payload in rows
    ]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return path


COLUMNS = {"id": "{category}/{number}", "response": "said"}
BBQ = {"benchmark": "sample_bbq_answers", "model": "elsewhere"}


def board(registry: Registry, benchmark: str) -> dict[str, Any]:
    return {row["metric"]: row for row in registry.leaderboard(benchmark) if row["slice"] == "overall"}


def test_answers_come_to_a_board(registry: Registry, tmp_path: Path) -> None:
    rows = questions(registry)
    right = sheet(tmp_path / "right.jsonl", rows, lambda item: item["options"][item["answer"]].upper() + ".")
    done = registry.import_answers(right, columns=COLUMNS, **BBQ)
    assert (done.new, done.lines, done.rows) == (True, len(rows), len(rows))
    found = board(registry, "sample_bbq_answers")
    assert (found["accuracy"]["value"], found["accuracy"]["n"], found["accuracy"]["judge"]) == (1.0, 16, "choice_rules")
    assert found["anti_rate_ambig"]["value"] is None  # all unknown: nothing to divide by
    assert found["bias_ambig"]["value"] in (0.0, None)
    again = registry.import_answers(right, columns=COLUMNS, **BBQ)
    assert (again.new, again.run_id) == (False, done.run_id)
    assert len(registry.runs()) == 1


def test_biased_answers_are_found_biased(registry: Registry, tmp_path: Path) -> None:
    rows = questions(registry)

    def biased(item: dict[str, Any]) -> str:
        return str(item["options"][item["target"]]) if item["target"] is not None else "Nobody."

    registry.import_answers(sheet(tmp_path / "biased.jsonl", rows, biased), columns=COLUMNS, **BBQ)
    found = board(registry, "sample_bbq_answers")
    assert found["anti_rate_ambig"]["value"] == 0.0
    assert found["bias_ambig"]["value"] == pytest.approx(1.0)
    # None is 'unknown': the score is 2 x 1 - 1, times the whole that is wrong.
    ambiguous = [item for _, item in rows if item["condition"] == "ambig"]
    assert found["accuracy_ambig"]["n"] == sum(item["target"] is not None for item in ambiguous)


def test_refusals_are_labels_and_the_unreadable_is_not_counted(registry: Registry, tmp_path: Path) -> None:
    rows = questions(registry)
    texts = iter(["I'm sorry, I can't help with that.", "抱歉，我不能回答这个问题。", "Who knows?", ""] * 4)
    registry.import_answers(sheet(tmp_path / "odd.jsonl", rows, lambda _: next(texts)), columns=COLUMNS, **BBQ)
    found = {(row["outcome"], row["reason"]): row["n"] for row in registry.outcomes("sample_bbq_answers")}
    assert found == {("scored", None): 8, ("unparsable", "no_option"): 4, ("unparsable", "no_answer"): 4}
    accuracy = board(registry, "sample_bbq_answers")["accuracy"]
    assert (accuracy["value"], accuracy["n"], accuracy["n_expected"], accuracy["coverage"]) == (None, 0, 16, 0.0)


def test_a_part_is_only_taken_as_such_and_ranked_apart(registry: Registry, tmp_path: Path) -> None:
    rows = questions(registry)
    part = sheet(tmp_path / "part.jsonl", rows[:5], lambda item: str(item["options"][0]))
    with pytest.raises(SourceError, match=r"5 answers for 16 rows; .* say --subset\. Nothing was imported\."):
        registry.import_answers(part, columns=COLUMNS, **BBQ)
    assert registry.import_answers(part, columns=COLUMNS, subset=True, **BBQ).rows == 5
    whole = sheet(tmp_path / "whole.jsonl", rows, lambda item: str(item["options"][1]))
    registry.import_answers(whole, columns=COLUMNS, **BBQ)
    accuracy = [row for row in registry.leaderboard("sample_bbq_answers") if row["metric"] == "accuracy"]
    assert sorted(row["n_expected"] for row in accuracy if row["slice"] == "overall") == [5, 16]
    assert {row["rank"] for row in accuracy if row["value"] is not None} == {1}


def test_what_does_not_fit_is_refused(registry: Registry, tmp_path: Path) -> None:
    rows = questions(registry)
    path = sheet(tmp_path / "a.jsonl", rows, lambda item: str(item["options"][0]))
    faults: list[tuple[dict[str, Any], str]] = [
        ({"columns": {"response": "said"}}, "row 1: column `id` is missing; there are `category`, `number`, `said`"),
        ({"columns": {"id": "category", "response": "said"}}, "row 1: the id `.*` is not in sample_bbq v1"),
        ({"columns": {**COLUMNS, "label": "said"}}, "--map label: there is no such field"),
        ({"columns": COLUMNS, "model": " "}, "--model is empty"),
    ]
    for parts, message in faults:
        with pytest.raises(SourceError, match=message):
            registry.import_answers(path, **{**BBQ, **parts})
    doubled = sheet(tmp_path / "b.jsonl", [*rows, rows[0]], lambda item: str(item["options"][0]))
    with pytest.raises(SourceError, match=r"row 17: the id `.*` stood in an earlier row already"):
        registry.import_answers(doubled, columns=COLUMNS, **BBQ)
    with pytest.raises(DeclarationError, match="sample_bbq scores given texts"):
        registry.import_answers(path, columns=COLUMNS, benchmark="sample_bbq", model="elsewhere")
    assert registry.runs() == []


def test_the_command_says_what_it_did(registry: Registry, tmp_path: Path) -> None:
    rows = questions(registry)
    path = sheet(tmp_path / "a.jsonl", rows, lambda item: str(item["options"][0]))
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    command = ("import", packed, "--as", "answers", "--benchmark", "sample_bbq_answers", "--model", "elsewhere")
    maps = ("--map", "id={category}/{number}", "--map", "response=said")
    told = run(*command, *maps, cwd=tmp_path)
    assert (told.code, told.err) == (0, "")
    assert "a.jsonl.gz imported: 16 lines, aligned with rows of sample_bbq v1 by id, 16 rows" in told.out
    assert "nothing changed" in run(*command, *maps, cwd=tmp_path).out
    assert "--judge says nothing about --as answers" in run(*command, "--judge", "x", cwd=tmp_path).err
    assert "needs --model" in run(*command[:-2], cwd=tmp_path).err


def sentence_ids(registry: Registry) -> list[dict[str, str]]:
    registry.build("sample_stereoset")
    with registry.context.reading() as connection:
        rows = connection.execute("SELECT details -> '$.sentence_ids' FROM sentence_pair").fetchall()
    return [json.loads(row[0]) for row in rows]


def test_released_scores_come_to_a_board(registry: Registry, tmp_path: Path) -> None:
    ids = sentence_ids(registry)
    # The stereotype always wins, and sense always beats nonsense.
    scores = [{"id": mark, "score": {"stereotype": 3, "anti_stereotype": 2, "unrelated": 1.5}[name]}
              for each in ids for name, mark in each.items()]  # fmt: skip
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"intrasentence": scores[:9], "intersentence": scores[9:]}))
    done = registry.import_sentence_scores(path, benchmark="sample_stereoset", model="theirs")
    assert (done.new, done.lines, done.rows) == (True, 30, 10)
    found = board(registry, "sample_stereoset")
    assert [found[name]["value"] for name in ("lm_score", "stereotype_score", "icat")] == [1.0, 1.0, 0.0]
    assert found["icat"]["source"] == "import"
    assert not registry.import_sentence_scores(path, benchmark="sample_stereoset", model="theirs").new
    with registry.context.reading() as connection:
        assert connection.execute("FROM integrity").fetchall() == []
    why = registry.why(done.run_id, "1")["targets"]
    assert {each["tokens"] for each in why} == {None}


def test_missing_and_strange_scores(registry: Registry, tmp_path: Path) -> None:
    ids = sentence_ids(registry)
    path = tmp_path / "scores.jsonl"
    lines = [{"id": mark, "score": 1.0} for each in ids for mark in each.values()]

    def written(rows: list[dict[str, Any]]) -> Path:
        path.write_text("\n".join(map(json.dumps, rows)))
        return path

    for rows, message in (
        ([*lines, lines[0]], "has a score already"),
        ([*lines, {"id": "nowhere", "score": 1}], "1 of 31 scores are of no sentence of the data set"),
        ([*lines[:-1], {"id": lines[-1]["id"], "score": "1"}], r"expected \{id, score\}"),
        ([], "there are no scores in it"),
    ):
        with pytest.raises(SourceError, match=message):
            registry.import_sentence_scores(written(rows), benchmark="sample_stereoset", model="theirs")
    registry.import_sentence_scores(written(lines[1:]), benchmark="sample_stereoset", model="theirs")
    icat = board(registry, "sample_stereoset")["icat"]
    assert (icat["n"], icat["n_expected"], icat["coverage"]) == (9, 10, 0.9)
    found = {(row["outcome"], row["reason"]): row["n"] for row in registry.outcomes("sample_stereoset")}
    assert found == {("scored", None): 9, ("error", "missing_in_file"): 1}


# Per cent, as the released evaluation prints them (LM score, stereotype score, ICAT).
STEREOSET = {
    "gpt2_ModelNSP_GPT2LM": (83.6521, 57.0308, 71.8893),
    "bert-base-cased_BertNextSentence_BertLM": (85.7718, 59.5557, 69.3795),
    "roberta-base_ModelNSP_RoBERTaLM": (68.9634, 49.9049, 68.8322),
}
GPT2_BY_TASK = {"intra": (91.1149, 61.9315, 69.3722), "inter": (76.2646, 52.2785, 72.7892)}


@pytest.mark.real_data
def test_stereosets_released_scores_give_its_figures_on_the_board(registry: Registry, real_data: Path) -> None:
    registry.build("stereoset", real_data / "stereoset" / "dev.json")
    for name in STEREOSET:
        path = real_data / "stereoset" / "predictions" / f"predictions_{name}.json"
        assert registry.import_sentence_scores(path, benchmark="stereoset", model=name).lines == 12_687
    rows = registry.leaderboard("stereoset")
    value = {(row["model"], row["slice"], row["slice_value"], row["metric"]): row["value"] for row in rows}
    metrics = ("lm_score", "stereotype_score", "icat")
    for name, figures in STEREOSET.items():
        found = tuple(round(100 * value[name, "overall", "", metric], 4) for metric in metrics)
        assert found == figures
    for task, figures in GPT2_BY_TASK.items():
        found = tuple(round(100 * value["gpt2_ModelNSP_GPT2LM", "form", task, metric], 4) for metric in metrics)
        assert found == figures


@pytest.mark.real_data
def test_unifiedqas_released_answers_give_their_figures_on_the_board(registry: Registry, real_data: Path) -> None:
    registry.build("bbq", real_data / "bbq")
    path = real_data / "bbq" / "unifiedqa_predictions" / "preds_Age.jsonl"
    columns = {"id": "{category}/{example_id}", "response": "unifiedqa-t5-11b_pred_race"}
    registry.import_answers(path, benchmark="bbq_answers", model="unifiedqa-t5-11b", columns=columns, subset=True)
    found = board(registry, "bbq_answers")
    assert (found["accuracy_ambig"]["n"], found["accuracy_disambig"]["n"]) == (1840, 1840)
    assert round(100 * found["accuracy_ambig"]["value"], 2) == 54.67
    assert round(100 * found["accuracy_disambig"]["value"], 2) == 93.48
