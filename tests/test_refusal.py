"""The rule-based refusal classifier: golden cases, robustness, and what real judges and models wrote."""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethicsdb.runners.parsers.numbered import parse_numbered
from ethicsdb.runners.refusal import RULES_VERSION, classify, is_refusal

CASES = json.loads((Path(__file__).parent / "cases" / "refusal.json").read_text(encoding="utf-8"))
REFUSALS = [case["answer"] for case in CASES if case["label"] == "refusal"]


def test_enough_cases_of_every_kind() -> None:
    count = Counter((case["language"], case["label"]) for case in CASES)
    assert len(CASES) >= 120
    for language in ("en", "zh", "ru"):
        assert count[language, "refusal"] >= 25
        assert count[language, "compliance"] >= 25
        assert count[language, "partial"] >= 5


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['label']}: {case['answer'][:60]!a}")
def test_golden(case: dict[str, str]) -> None:
    found = classify(case["answer"])
    assert (found.label, found.language) == (case["label"], case["language"])
    assert (found.evidence is not None) == (case["label"] in ("refusal", "partial"))
    assert is_refusal(case["answer"]) == (case["label"] == "refusal")
    if found.evidence is not None:
        assert found.evidence in case["answer"]


@pytest.mark.parametrize("answer", REFUSALS[:30])
def test_decoration_does_not_hide_a_refusal(answer: str) -> None:
    assert is_refusal(f"\n\n  {answer}\r\n")
    assert is_refusal(answer.replace("'", "\u2019"))


def test_evidence_is_the_declining_sentence_as_written() -> None:
    answer = "Hello there. I’m sorry, but I can’t help with that. Please call a lawyer."
    assert classify(answer).evidence == "I’m sorry, but I can’t help with that."


def test_a_remark_deep_inside_a_long_answer_is_no_refusal() -> None:
    story = "The road was long and the night was cold. " * 60
    sentence = "I can't help you with that. "
    assert classify(story + sentence + story).label == "compliance"
    assert classify(sentence + story).label == "partial"


def test_version_is_a_string_for_fingerprints() -> None:
    assert isinstance(RULES_VERSION, str)


PIECES = st.sampled_from(
    [
        *(
            "I can't help with that. ",
            "Sorry, ",
            "but ",
            "One way is to run. ",
            "\n\n",
            "1. ",
            "- ",
            "```",
            '"',
            "“",
            "”",
        ),
        *(
            "对不起，",
            "我无法回答。",
            "不过",
            "首先，",
            "你可以",
            "我不能",
            "Я не могу помочь. ",
            "Однако ",
            "вот как ",
            "«",
            "»",
        ),
        *("\ud800", "\x00", "'", "User: ", "AI: ", "> ", ".", "\r\n", "無法", "\u202e"),
    ]
)


@given(st.one_of(st.text(alphabet=st.characters(exclude_categories=())), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_gets_a_label(answer: str) -> None:
    found = classify(answer)
    assert found.label in ("refusal", "partial", "compliance", "empty")
    assert (found.evidence is not None) == (found.label in ("refusal", "partial"))
    assert found.language in ("en", "zh", "ru", "und")
    assert is_refusal(answer) == (found.label == "refusal")


SIZE = 5_000_000
LONG = {
    "refusals": "I can't help with that. " * (SIZE // 24),
    "one word": "x" * SIZE,
    "spaces": "I can't " + " " * SIZE + "help",
    "newlines": "\n" * SIZE + "no",
    "nul": "\x00" * SIZE,
    "quotation marks": '"' * SIZE,
    "opening marks": "“ a" * (SIZE // 3),
    "apostrophes": " 'a" * (SIZE // 3),
    "backticks": "`" * SIZE,
    "commas": "sorry" + ", " * (SIZE // 2),
    "adverbs": "I can't" + " really" * (SIZE // 7),
    "hyphens": "дать-" * (SIZE // 5),
    "Chinese": "我不能" * (SIZE // 3),
    "Russian": "не могу " * (SIZE // 8),
    "items": "1. " * (SIZE // 3),
    "surrogates": "\ud800" * SIZE,
}


@pytest.mark.parametrize("name", LONG)
def test_time_is_linear(name: str) -> None:
    start = time.process_time()
    classify(LONG[name])
    assert time.process_time() - start < 2


JUDGES = {  # judge outputs without a Russian answer, and how many of them answer in Kazakh
    "yandex_gpt_response-RU": (8, 2),
    "claude_response-RU": (1, 1),
    "gpt4o_response-RU": (3, 0),
    "aya101_RU": (3, 0),
    "LLama-3.1-KazLLM-1.0-8B_RU": (18, 0),
}


@pytest.mark.real_data
@pytest.mark.parametrize("model", JUDGES)
def test_judges_without_an_answer_refused(real_data: Path, model: str) -> None:
    folder = real_data / "qorgau_ru" / "judge_outputs"
    outputs = []
    for line in (folder / f"{model}_gpt-4o_output.jsonl").read_text("utf-8").splitlines():
        outputs.append(json.loads(line)["response"]["body"]["choices"][0]["message"]["content"])
    silent = [text for text in outputs if parse_numbered(text, 8, ["ru"]).reason == "no_answer"]
    kazakh = [text for text in silent if "Жоқ" in text]
    assert (len(silent), len(kazakh)) == JUDGES[model]
    assert all(classify(text).label == "refusal" for text in silent if text not in kazakh)
    assert not any(is_refusal(text) for text in outputs if text not in silent or text in kazakh)


@pytest.mark.real_data
def test_agrees_with_a_judge_on_real_russian_answers(real_data: Path) -> None:
    """1,000 answers of five models; the judge's first question is whether the answer refuses.

    The judge also counts missing knowledge as a refusal, which the rules do not, so that fewer are found than it says.
    The counts are those of docs/refusals.md.
    """
    folder = real_data / "qorgau_ru"
    with (folder / "Ru-sample-annotate-binary.csv").open(encoding="utf-8", newline="") as file:
        answers = [row["response"] for row in csv.DictReader(file)]
    judge: dict[int, bool | None] = {}
    outputs = folder / "judge_outputs" / "ru-all-human-annotated-samples_gpt-4o_output.jsonl"
    for line in outputs.read_text("utf-8").splitlines():
        row = json.loads(line)
        text = row["response"]["body"]["choices"][0]["message"]["content"]
        judge[int(row["custom_id"].rpartition("-")[2])] = parse_numbered(text, 8, ["ru"]).answers[0]
    table = Counter((judge[index], is_refusal(answer)) for index, answer in enumerate(answers))
    assert table.total() == 1000
    assert (table[True, True], table[False, True], table[True, False]) == (157, 8, 56)
