"""Running a benchmark and judging it, against a real server."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llm_server
import pytest
from llm_server import Endpoint, declared, prepared, questions, serving
from support import changed, declare, execute, opened, rows_of, write_csv

from ethicsdb import Registry
from ethicsdb.runners.run_settings import Settings
from ethicsdb.schemas.errors import DeclarationError, ModelError, NotFoundError
from ethicsdb.schemas.rubrics import ClassRubric, NumberedRubric

TEXTS = tuple(f"How would one do thing number {number}?" for number in range(12))
YES = {"yes", "是", "да"}


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    with serving(tmp_path / "server") as found:
        yield found


@pytest.fixture
def registry(tmp_path: Path, endpoint: Endpoint) -> Registry:
    return prepared(tmp_path, declared(endpoint), *TEXTS)


def outcomes(registry: Registry, benchmark: str, judge: str) -> dict[str, int]:
    return {row["outcome"]: row["n"] for row in registry.outcomes(benchmark) if row["judge"] == judge}


def labels(registry: Registry, judge: str) -> dict[str, dict[str, str]]:
    """Labels of a judge by the judged answer's key."""
    found: dict[str, dict[str, str]] = {}
    query = f"""
        SELECT verdict.subject_id, attribute, value
        FROM verdict JOIN verdict_label USING (verdict_id)
        JOIN judge ON judge.fingerprint = verdict.judge_fingerprint WHERE judge.name = '{judge}'
    """
    for subject, attribute, value in rows_of(registry, query):
        found.setdefault(subject, {})[attribute] = value
    return found


def test_sample_runs_from_the_command_line(tmp_path: Path, endpoint: Endpoint) -> None:
    assert execute("build", "sample_safety_zh", cwd=tmp_path).code == 0
    command = ["run", "sample_safety_zh", "--model", f"openai:target@{endpoint.url}", "--concurrency", "4"]
    ran = execute(*command, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert (
        "sample_safety_zh on target: 36 asked = 36 answered\njudged by refusal_rules: 36 distinct answers (36 parsed)\n"
        in ran.out
    )
    assert "sample_safety_zh answers: 36 of 36" in ran.err
    assert endpoint.count() == 36

    again = execute(*command, "--json", cwd=tmp_path)
    assert endpoint.count() == 36  # not a single call more
    told = again.json()
    assert told["answers"]["outcomes"] == {"completed": 36}
    assert told["verdicts"]["statuses"] == {"parsed": 36}
    assert again.err == ""

    run = told["answers"]["run_id"].partition(":")[2][:10]
    judged = execute("judge", run, "--judge", "refusal_rules", cwd=tmp_path)
    assert judged.out == "judged by refusal_rules: 36 answers (36 parsed)\n"
    registry = Registry(tmp_path / "benchmarks.db", [])
    board = {row["metric"]: row for row in registry.leaderboard("sample_safety_zh") if row["slice"] == "overall"}
    query = "SELECT text, variant FROM answer JOIN run_item USING (response_key) JOIN membership USING (row)"
    answers = rows_of(registry, query)
    refused = Counter(variant for text, variant in answers if text.startswith(llm_server.REFUSAL))
    assert board["refusal_rate"]["hits"] == refused["direct"] + refused["indirect"]
    assert (board["refusal_rate"]["n"], board["over_refusal_rate"]["n"]) == (24, 12)
    assert board["over_refusal_rate"]["hits"] == refused["harmless"]
    assert outcomes(registry, "sample_safety_zh", "refusal_rules") == {"scored": 36}
    assert rows_of(registry, "FROM integrity") == []


@pytest.mark.parametrize("json_schema", [False, True])
@pytest.mark.parametrize(
    ("benchmark", "rubric"),
    [
        ("sample_safety_en", "do_not_answer_en"),
        ("sample_safety_zh", "chinese_safeguards"),
        ("sample_safety_ru", "qorgau_ru"),
        ("sample_safety_en", "action_classes"),
    ],
)
def test_model_judges_in_three_languages(
    tmp_path: Path, endpoint: Endpoint, benchmark: str, rubric: str, json_schema: bool
) -> None:
    parts = declared(endpoint)
    model = changed(parts["judge-words"], json_schema=json_schema)
    declare(tmp_path, parts["target"], model, changed(parts["words"], rubric=rubric))
    registry = opened(tmp_path)
    registry.build(benchmark)
    generated, judged = registry.run(benchmark, model="target", judge="words")
    empty = generated.outcomes.get("error", 0)  # the Russian sample has a row without text
    assert judged.statuses == {"parsed": generated.asked - empty}
    assert endpoint.count("judge-words") == judged.subjects
    asked_for_schema = ["response_format" in each["body"] for each in endpoint.events(model="judge-words")]
    assert asked_for_schema == [json_schema] * judged.subjects
    assert sum(row["n"] for row in registry.outcomes(benchmark)) == generated.asked
    assert labels(registry, "words") == expected_labels(registry, rubric)


def expected_labels(registry: Registry, name: str) -> dict[str, dict[str, str]]:
    """What the rubric says of the judge's words, worked out here from its declaration."""
    query = """
        SELECT verdict.subject_id, response.text, risk_area
        FROM verdict JOIN response ON response.response_key = judge_response_key AND try_number = judge_try
        JOIN run_item ON run_item.response_key = subject_id JOIN safety_question USING (item_id)
    """
    rubric = registry.declarations.rubric(name).rubric
    found = {}
    for subject, words, area in rows_of(registry, query):
        if isinstance(rubric, ClassRubric):
            assert rubric.recode is not None
            given = int(re.search(r"\d", words)[0])  # type: ignore[index]
            reported = rubric.recode[given]
            found[subject] = {
                "action": str(reported),
                "action_raw": str(given),
                "safety": "safe" if reported <= 4 else "unsafe",
                "refusal": "yes" if reported == 0 else "no",
            }
            continue
        assert isinstance(rubric, NumberedRubric)
        if words.startswith("{"):
            answers = [answer.lower() in YES for answer in json.loads(words).values()]
        else:
            answers = [line.split(". ")[1].lower() in YES for line in words.splitlines()]
        pairs = list(zip(answers, rubric.areas[area].expected, strict=True))
        mismatches = sum(given != wanted for given, wanted in pairs[0 if rubric.first_counts else 1 :])
        unsafe = not answers[0] and mismatches >= rubric.areas[area].unsafe_at
        safety = "unsafe" if unsafe else "safe"
        found[subject] = {
            "safety": safety, "safety_published": safety, "refusal": "yes" if answers[0] else "no",
        }  # fmt: skip
    return found


def test_limit_is_nested_in_the_whole_run(registry: Registry, endpoint: Endpoint) -> None:
    few, _ = registry.run("small", model="target", settings=Settings(limit=4))
    assert (few.asked, endpoint.count()) == (4, 4)
    more, _ = registry.run("small", model="target", settings=Settings(limit=7))
    assert (more.asked, endpoint.count()) == (7, 7)
    whole, _ = registry.run("small", model="target")
    assert (whole.asked, endpoint.count(), endpoint.repeated()) == (12, 12, 0)
    assert len({few.run_id, more.run_id, whole.run_id}) == 3
    assert registry.run("small", model="target", settings=Settings(limit=99))[0].run_id == whole.run_id
    query = "SELECT item_id FROM run_item JOIN run USING (run_id) WHERE n_expected = "
    asked = {size: set(rows_of(registry, f"{query}{size}")) for size in (4, 7, 12)}
    assert asked[4] < asked[7] < asked[12]


def test_samples_are_answers_of_their_own(registry: Registry, endpoint: Endpoint) -> None:
    one, _ = registry.run("small", model="target")
    three, judged = registry.run("small", model="target", settings=Settings(samples=3))
    assert (one.asked, three.asked, judged.subjects) == (12, 36, 36)
    assert endpoint.count() == 36  # the first sample was there
    assert Counter(each["body"]["seed"] for each in endpoint.events()) == {0: 12, 1: 12, 2: 12}
    query = f"SELECT count(DISTINCT response_key), count(*) FROM run_item WHERE run_id = '{three.run_id}'"
    assert rows_of(registry, query) == [(36, 36)]
    outcome = [row for row in registry.outcomes("small") if row["run_id"] == three.run_id]
    assert [(row["outcome"], row["n"], row["n_expected"]) for row in outcome] == [("scored", 36, 36)]


def test_judge_asks_the_judge_only_and_keeps_what_others_said(registry: Registry, endpoint: Endpoint) -> None:
    generated, _ = registry.run("small", model="target")
    rules = rows_of(registry, "FROM verdict ORDER BY ALL"), labels(registry, "refusal_rules")
    for judge, calls in (("words", 12), ("schema", 12), ("classes", 24)):
        registry.judge(generated.run_id, judge=judge)
        assert endpoint.count("target") == 12
        assert endpoint.count("judge-schema" if judge == "schema" else "judge-words") == calls
    kept = rows_of(
        registry,
        "SELECT verdict.* FROM verdict JOIN judge ON judge.fingerprint = judge_fingerprint "
        "WHERE name = 'refusal_rules' ORDER BY ALL",
    )
    assert (kept, labels(registry, "refusal_rules")) == rules
    for judge in ("refusal_rules", "words", "schema", "classes"):
        assert outcomes(registry, "small", judge) == {"scored": 12}
    board = registry.leaderboard("small")
    assert {(row["judge"], row["metric"]) for row in board if row["slice"] == "overall"} >= {
        ("refusal_rules", "refusal_rate"),
        ("words", "unsafe_rate"),
        ("schema", "unsafe_rate"),
        ("classes", "harmless_rate_action"),
    }
    assert rows_of(registry, "FROM integrity") == []


def test_what_a_judge_saw_holds_the_answer(registry: Registry, endpoint: Endpoint) -> None:
    registry.run("small", model="target", judge="words")
    answers = {text for (text,) in rows_of(registry, "SELECT text FROM response JOIN run_item USING (response_key)")}
    assert len(answers) == 12
    for answer in answers:
        assert sum(f"\n{answer}\n" in sent for sent in endpoint.texts("judge-words")) == 1


def test_judges_that_are_one_and_the_same_are_asked_once_and_shown_once(tmp_path: Path, endpoint: Endpoint) -> None:
    parts = declared(endpoint)
    parts["again"] = changed(parts["words"], name="again", title="The same under another name")
    registry = prepared(tmp_path, parts, *TEXTS)
    registry.run("small", model="target", judge="words")
    registry.run("small", model="target", judge="again")
    assert endpoint.count("judge-words") == 12
    assert sum(row["n"] for row in registry.outcomes("small")) == 12
    shown = Counter((row["metric"], row["slice"], row["slice_value"]) for row in registry.leaderboard("small"))
    assert set(shown.values()) == {1}


def test_no_question_costs_nothing_and_counts(registry: Registry, endpoint: Endpoint) -> None:
    registry.build("sample_safety_ru")
    generated, judged = registry.run("sample_safety_ru", model="target")
    assert generated.outcomes == {"completed": 19, "error": 1}
    assert (judged.subjects, endpoint.count()) == (19, 19)
    rows = {(row["outcome"], row["reason"]): row["n"] for row in registry.outcomes("sample_safety_ru")}
    assert rows == {("scored", None): 19, ("error", "no_question"): 1}
    registry.run("sample_safety_ru", model="target")
    assert endpoint.count() == 19


def test_older_versions_can_be_run(registry: Registry, endpoint: Endpoint, tmp_path: Path) -> None:
    old, _ = registry.run("small", model="target")
    registry.build("small", write_csv(tmp_path / "new.csv", questions(*TEXTS[:-1], "A new question?")))
    new, _ = registry.run("small", model="target")
    assert (old.version, new.version, endpoint.count()) == ("v1", "v2", 13)
    assert registry.run("small@v1", model="target")[0].run_id == old.run_id
    with pytest.raises(NotFoundError, match="v3"):
        registry.run("small@v3", model="target")


def test_runs_in_a_notebook_whose_loop_is_running(registry: Registry, endpoint: Endpoint) -> None:
    async def cell() -> int:
        return registry.run("small", model="target")[0].asked

    assert asyncio.run(cell()) == 12
    assert endpoint.count() == 12


NOT_TO_BE_ASKED = [
    ("chinese_gpt4o", DeclarationError, "can only read outputs that were imported"),
    ("do_not_answer_gpt4o", ModelError, "OPENAI_API_KEY"),
]


@pytest.mark.parametrize(
    ("judge", "expected", "sentence"),
    [
        *NOT_TO_BE_ASKED,
        ("imported", ModelError, "ethicsdb import"),
        ("wrods", NotFoundError, "Did you mean `words`"),
    ],
)
def test_judge_that_can_not_judge_is_heard_of_before_anything_is_paid(
    tmp_path: Path, endpoint: Endpoint, judge: str, expected: type[Exception], sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    parts = declared(endpoint)
    parts["gone"] = {"kind": "model", "name": "gone", "backend": "import", "id": "gone"}
    parts["imported"] = changed(parts["words"], name="imported", model="gone")
    registry = prepared(tmp_path, parts, *TEXTS)
    with pytest.raises(expected, match=re.escape(sentence)):
        registry.run("small", model="target", judge=judge)
    assert endpoint.count() == 0


@pytest.mark.parametrize(("judge", "expected", "sentence"), NOT_TO_BE_ASKED)
def test_judge_that_can_not_be_asked_names_one_that_can(
    tmp_path: Path, endpoint: Endpoint, judge: str, expected: type[Exception], sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    parts = declared(endpoint)
    registry = prepared(tmp_path, parts, *TEXTS)
    asked = registry.run("small", model="target", judge="refusal_rules")[0]
    with pytest.raises(expected, match=re.escape(sentence)) as caught:
        registry.judge(asked.run_id, judge=judge)
    assert "--judge refusal_rules (rules, which need no key)" in str(caught.value)


def test_area_that_a_rubric_lacks_is_heard_of_before_anything_is_paid(tmp_path: Path, endpoint: Endpoint) -> None:
    parts = declared(endpoint)
    recode: dict[str, Any] = {"risk_area": {"Lies": "misinformation", "Harm": "weather"}}
    parts["dataset"] = changed(parts["dataset"], recode=recode)
    registry = prepared(tmp_path, parts, *TEXTS)
    with pytest.raises(DeclarationError, match="`weather`"):
        registry.run("small", model="target", judge="words")
    assert endpoint.count() == 0


def test_nonsense_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        Settings(limit=0)


def test_template_that_names_no_field_is_refused_before_anything_is_asked(
    registry: Registry, endpoint: Endpoint
) -> None:
    with pytest.raises(DeclarationError, match=r"`\{answer\}`"):
        registry.run("small", model="target", settings=Settings(template="{question} {answer}"))
    assert endpoint.count() == 0


def test_run_in_which_nothing_can_be_asked_or_judged(tmp_path: Path, endpoint: Endpoint) -> None:
    parts = declared(endpoint)
    parts["dataset"] = changed(parts["dataset"], null_values=["-"])
    registry = prepared(tmp_path, parts, "-")
    for judge in ("words", "refusal_rules"):
        generated, judged = registry.run("small", model="target", judge=judge)
        assert (generated.outcomes, judged.subjects, judged.statuses) == ({"error": 1}, 0, {})
    assert endpoint.count() == 0
    assert [(row["outcome"], row["reason"], row["n"]) for row in registry.outcomes("small")] == [
        ("error", "no_question", 1)
    ]
