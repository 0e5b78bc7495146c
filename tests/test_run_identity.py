"""What makes an answer or a verdict another one, and what does not: one change at a time, calls and rows counted.

All cases share one folder: rows are content-addressed, so that what one case leaves there can't matter to another.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llm_server import Endpoint, declared, prepared, serving
from support import rows_of

from ethicsdb import Registry
from ethicsdb.registry.declared import load_declarations
from ethicsdb.runners import refusal
from ethicsdb.runners.parsers import numbered
from ethicsdb.runners.run_settings import Settings

TEXTS = ("First question?", "Second question?", "Third question?", "Fourth question?")
N = len(TEXTS)
AREA = "misinformation"  # of the first question
Parts = dict[str, dict[str, Any]]


@dataclass
class World:
    """A folder in which the base was run, and its server."""

    folder: Path
    endpoint: Endpoint
    base: Parts

    def run(self, parts: Parts, *texts: str, **how: Any) -> tuple[Registry, str, dict[str, int]]:
        """Declare, build where there are texts, and run; returns the run's id, and calls and rows that were new."""
        registry = prepared(self.folder, parts, *texts)
        before = self.counted(registry)
        options = {"model": "target", "judge": "words", **how}
        generated, _ = registry.run("small", **options)
        after = self.counted(registry)
        return registry, generated.run_id, {name: after[name] - before[name] for name in after}

    def counted(self, registry: Registry) -> dict[str, int]:
        tables = {name: rows_of(registry, f"SELECT count(*) FROM {name}")[0][0] for name in ("run", "verdict")}
        calls = {"asked": len(self.endpoint.events(model="target")), "all": self.endpoint.count()}
        return {**tables, "asked": calls["asked"], "judged": calls["all"] - calls["asked"]}


def base_of(endpoint: Endpoint) -> Parts:
    """The declarations of all tests here, with a rubric of our own that can be changed."""
    parts = declared(endpoint)
    rubric = load_declarations([]).rubric("do_not_answer_en").model_dump(mode="json", exclude_none=True)
    rubric["rubric"]["areas"][AREA]["unsafe_at"] = 2  # within reach whether or not question 1 counts
    parts["rubric"] = {**rubric, "name": "own"}
    parts["words"]["rubric"] = parts["schema"]["rubric"] = "own"
    parts["benchmark"]["judges"] = ["refusal_rules", "words"]
    return parts


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("identity")
    with serving(folder / "server") as endpoint:
        found = World(folder, endpoint, base_of(endpoint))
        _, _, new = found.run(found.base, *TEXTS)
        assert new == {"run": 1, "verdict": N, "asked": N, "judged": N}
        yield found


def changed(parts: Parts, *path: str, value: Any) -> Parts:
    """The declarations with one value replaced, or added."""
    out = copy.deepcopy(parts)
    place: Any = out
    for step in path[:-1]:
        place = place.setdefault(step, {})
    place[path[-1]] = value
    return out


def localhost(parts: Parts) -> Parts:
    return changed(parts, "target", "base_url", value=parts["target"]["base_url"].replace("127.0.0.1", "localhost"))


def with_(*path: str, value: Any) -> Callable[[Parts], Parts]:
    return lambda parts: changed(parts, *path, value=value)


def other_question(parts: Parts) -> Parts:
    questions = list(parts["rubric"]["rubric"]["areas"][AREA]["questions"])
    questions[1] += " Really?"
    return changed(parts, "rubric", "rubric", "areas", AREA, "questions", value=questions)


def other_prompt(parts: Parts) -> Parts:
    return changed(parts, "rubric", "rubric", "prompt", value=parts["rubric"]["rubric"]["prompt"] + " Please.")


ANSWERS = {
    "model.revision": with_("target", "revision", value="2026-11-30"),
    "model.endpoint": localhost,
    "model.id": with_("target", "id", value="target-2"),
    "prompt.template": with_("benchmark", "prompt", "template", value="{question} Be honest."),
    "prompt.system": with_("benchmark", "prompt", "system", value="You are honest."),
    "sampling.temperature": with_("benchmark", "sampling", "temperature", value=0.3),
    "sampling.top_p": with_("benchmark", "sampling", "top_p", value=0.9),
    "sampling.seed": with_("benchmark", "sampling", "seed", value=7),
    "sampling.max_tokens": with_("benchmark", "sampling", "max_tokens", value=99),
}


@pytest.mark.parametrize("field", ANSWERS)
def test_change_that_could_change_answers_asks_for_all_of_them(world: World, field: str) -> None:
    registry, run, new = world.run(ANSWERS[field](world.base))
    assert {name: new[name] for name in ("run", "verdict")} == {"run": 1, "verdict": N}
    assert new["asked"] == (N if field != "model.id" else 0)
    if field == "model.id":
        assert world.endpoint.count("target-2") == N
    nearest = registry.why(run, "1")["samples"][0]["nearest"]
    assert list(nearest["differs"]) == [field]


def test_samples_are_drawn_beyond_the_first(world: World) -> None:
    registry, run, new = world.run(world.base, settings=Settings(samples=2))
    assert (new["run"], new["verdict"], new["asked"]) == (1, N, N)
    first, second = registry.why(run, "1")["samples"]
    assert second["nearest"]["differs"] == {"sample_number": [1, 0]}
    assert first["response_key"] == second["nearest"]["response_key"]


def test_changed_row_asks_for_that_row(world: World) -> None:
    texts = (*TEXTS[:2], "Third question, in other words?", TEXTS[3])
    registry, run, new = world.run(world.base, *texts)
    assert new == {"run": 1, "verdict": 1, "asked": 1, "judged": 1}
    nearest = registry.why(run, "3")["samples"][0]["nearest"]
    assert nearest["differs"] == {"question": ["Third question, in other words?", TEXTS[2]]}
    # The first version is there under its name, and costs nothing.
    reference = next(version for version in registry.versions("small") if version.number == 1)
    before = world.endpoint.count()
    registry.run(f"small@{reference.version}", model="target", judge="words")
    assert world.endpoint.count() == before


ASKED_AGAIN = {
    "model.revision": with_("judge-words", "revision", value="2"),
    "model.id": with_("judge-words", "id", value="judge-words-2"),
    "sampling.temperature": with_("words", "sampling", value={"max_tokens": 256, "temperature": 0.5}),
    "sampling.max_tokens": with_("words", "sampling", value={"max_tokens": 77}),
    "sampling.seed": with_("words", "sampling", value={"max_tokens": 256, "seed": 3}),
    "json_schema": with_("judge-words", "json_schema", value=True),
    "rubric.prompt": other_prompt,
    "rubric.system": with_("rubric", "rubric", "system", value="You check."),
    f"rubric.areas.{AREA}.questions": other_question,
}
READ_AGAIN = {
    f"rubric.areas.{AREA}.expected": with_("rubric", "rubric", "areas", AREA, "expected", value=[True, False, False]),
    f"rubric.areas.{AREA}.unsafe_at": with_("rubric", "rubric", "areas", AREA, "unsafe_at", value=1),
    "rubric.first_counts": with_("rubric", "rubric", "first_counts", value=False),
}


def judged_by(registry: Registry, run: str, mark: str) -> dict[str, Any]:
    """What `why` says of a judge beside its nearest other."""
    sample = registry.why(run, "1")["samples"][0]
    at = next(n for n, verdict in enumerate(sample["verdicts"]) if verdict["judge_fingerprint"] == mark)
    found: dict[str, Any] = sample["judges"][at]
    return found


@pytest.mark.parametrize("field", ASKED_AGAIN)
def test_change_of_what_the_judge_is_asks_the_judge_only(world: World, field: str) -> None:
    registry, run, new = world.run(ASKED_AGAIN[field](world.base))
    part = field.endswith("questions")  # of one of the two areas
    assert new == {"run": 0, "verdict": N, "asked": 0, "judged": N // 2 if part else N}
    told = judged_by(registry, run, registry.context.current_judges["words"])
    assert list(told["differs"]) == [field]


@pytest.mark.parametrize("field", READ_AGAIN)
def test_change_of_the_counting_reads_again_what_the_judge_said(world: World, field: str) -> None:
    registry, run, new = world.run(READ_AGAIN[field](world.base))
    assert new == {"run": 0, "verdict": N, "asked": 0, "judged": 0}
    told = judged_by(registry, run, registry.context.current_judges["words"])
    assert list(told["differs"]) == [field]
    outcomes = [row for row in registry.outcomes("small") if row["run_id"] == run and row["judge"] == "words"]
    assert sum(row["n"] for row in outcomes) == N  # boards show the rubric as it stands, and only that


def test_changed_parser_reads_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered, "PARSER_VERSION", "next")
    registry, run, new = world.run(world.base)
    assert new == {"run": 0, "verdict": N, "asked": 0, "judged": 0}
    told = judged_by(registry, run, registry.context.current_judges["words"])
    assert told["differs"] == {"parser_version": ["next", "1"]}


def test_changed_rules_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.run(world.base, judge="refusal_rules")[2] == {"run": 0, "verdict": N, "asked": 0, "judged": 0}
    before = refusal.RULES_VERSION
    monkeypatch.setattr(refusal, "RULES_VERSION", "next")
    registry, run, new = world.run(world.base, judge="refusal_rules")
    assert new == {"run": 0, "verdict": N, "asked": 0, "judged": 0}
    told = judged_by(registry, run, registry.context.current_judges["refusal_rules"])
    assert told["differs"] == {"parser_version": ["next", before]}


NOTHING = {
    "benchmark title": with_("benchmark", "title", value="Another title"),
    "benchmark notes": with_("benchmark", "notes", value="Notes."),
    "benchmark interface version": with_("benchmark", "version", value="1-B"),
    "benchmark judges": with_("benchmark", "judges", value=["words", "refusal_rules", "classes"]),
    "dataset title": with_("dataset", "title", value="Another title"),
    "dataset licence": with_("dataset", "licence", value={"name": "CC BY 4.0", "redistribution": True, "note": "New."}),
    "dataset citation": with_("dataset", "citation", value="Somebody."),
    "dataset notes": with_("dataset", "notes", value="Notes."),
    "model title": with_("target", "title", value="The target"),
    "model concurrency": with_("target", "concurrency", value=2),
    "model price": with_("target", "price", value={"prompt": 1, "completion": 2}),
    "model context": with_("target", "context", value=4096),
    "model key's variable": with_("target", "api_key_env", value="HOME"),
    "model's schemas": with_("target", "json_schema", value=True),
    "judge title": with_("words", "title", value="Another title"),
    "judge model title": with_("judge-words", "title", value="Another title"),
    "judge model concurrency": with_("judge-words", "concurrency", value=1),
    "rubric title": with_("rubric", "title", value="Another title"),
    "rubric notes": with_("rubric", "notes", value="Other notes."),
    "rubric source": with_("rubric", "source", value="Another source"),
}


def test_change_that_can_not_matter_asks_for_nothing(world: World) -> None:
    """All at once: each alone could do no more."""
    parts = world.base
    for change in NOTHING.values():
        before, parts = parts, change(parts)
        assert parts != before
    assert world.run(parts, *TEXTS)[2] == {"run": 0, "verdict": 0, "asked": 0, "judged": 0}


def test_other_names_ask_for_nothing(world: World) -> None:
    parts = changed(world.base, "target", "name", value="renamed")
    parts = changed(parts, "words", "name", value="renamed")
    parts = changed(parts, "rubric", "name", value="renamed")
    parts["words"]["rubric"] = parts["schema"]["rubric"] = "renamed"
    parts["benchmark"]["judges"] = ["renamed", "refusal_rules"]
    _, _, new = world.run(parts, model="renamed", judge="renamed")
    assert new == {"run": 0, "verdict": 0, "asked": 0, "judged": 0}


def test_model_by_its_address_is_the_declared_one(world: World) -> None:
    spec = f"openai:target@{world.endpoint.url}"
    assert world.run(world.base, model=spec)[2] == {"run": 0, "verdict": 0, "asked": 0, "judged": 0}


def test_concurrency_of_the_command_asks_for_nothing(world: World) -> None:
    assert world.run(world.base, concurrency=1)[2] == {"run": 0, "verdict": 0, "asked": 0, "judged": 0}


def test_new_major_is_a_run_of_its_own_with_the_same_answers(world: World) -> None:
    registry, run, new = world.run(changed(world.base, "benchmark", "version", value="2-A"))
    assert new == {"run": 1, "verdict": 0, "asked": 0, "judged": 0}
    assert {row["run_id"] for row in registry.outcomes("small")} == {run}


def test_settings_of_the_command_are_those_of_the_declaration(world: World) -> None:
    """What a flag changes and what a declaration changes is one and the same."""
    sampling = {"temperature": 1.25, "max_tokens": 33, "seed": 5}
    declared_ = changed(world.base, "benchmark", "sampling", value=sampling)
    declared_ = changed(declared_, "benchmark", "prompt", value={"system": "Short."})
    _, run, new = world.run(declared_)
    assert new["asked"] == N
    settings = Settings(temperature=1.25, max_tokens=33, seed=5, system="Short.")
    _, again, new = world.run(world.base, settings=settings)
    assert (again, new) == (run, {"run": 0, "verdict": 0, "asked": 0, "judged": 0})


def test_nothing_was_ever_asked_twice(world: World) -> None:
    """Over all of the above: equal bodies went out twice only where they were meant for another model identity."""
    registry, _, new = world.run(world.base)
    assert new == {"run": 0, "verdict": 0, "asked": 0, "judged": 0}
    assert rows_of(registry, "FROM integrity") == []
    assert rows_of(registry, "FROM conflict") == []
    assert rows_of(registry, "SELECT max(try_number) FROM response") == [(1,)]
    assert rows_of(registry, "SELECT count(*) FROM response") == [(world.endpoint.count(),)]
