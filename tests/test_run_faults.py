"""Endpoints that fail in every way, texts that nobody expects, and secrets that must not get out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llm_server
import pytest
from llm_server import Endpoint, declared, prepared, serving
from support import changed, declare, execute, opened, rows_of

from ethicsdb import Registry
from ethicsdb.runners import asking
from ethicsdb.runners.judge_prompt import judge_messages
from ethicsdb.runners.reading import read_verdict
from ethicsdb.runners.run_settings import Settings
from ethicsdb.schemas.errors import DeclarationError, ModelError
from ethicsdb.schemas.rubrics import NumberedRubric
from ethicsdb.schemas.text import restore

KEY = "sk-test-0123456789abcdef"
ODD = "half \ud83d, NUL \x00, whole \U0001f600, \u202eright to left, 安全, опасно"
# mark: (status, error code, tries) of the answer in the end
FAULTS = {
    "plain": ("completed", None, 1),
    "[[status 500]]": ("error", "http_500", 5),
    "[[once 429]]": ("completed", None, 2),
    "[[once 503]]": ("completed", None, 2),
    "[[empty]]": ("completed", None, 1),
    "[[long 70000]]": ("completed", None, 1),
    "[[null]]": ("error", "no_text", 5),
    "[[list]]": ("error", "no_text", 5),
    "[[mute]]": ("error", "cut_before_text", 1),
    "[[broken]]": ("error", "bad_body", 5),
    "[[odd]]": ("error", "bad_body", 5),
    "[[drop]]": ("error", "dropped", 5),
    "[[drop]] again": ("error", "dropped", 5),
    "[[overflow]]": ("error", "context_overflow", 1),
    "[[filtered]]": ("filtered", "content_filter", 1),
    "[[flagged]]": ("filtered", "content_filter", 1),
    "[[cut]]": ("completed", None, 1),
    "[[surrogate]]": ("completed", None, 1),
    "[[ansi]]": ("completed", None, 1),
    f"[[echo]]{ODD}": ("completed", None, 1),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, Endpoint, str]]:
    """One run that meets every fault."""
    folder = tmp_path_factory.mktemp("faults")
    with serving(folder / "server") as endpoint, pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "LONGEST_PAUSE", 0.05)
        registry = prepared(folder, declared(endpoint), *FAULTS)
        generated, _ = registry.run("small", model="target")
        yield registry, endpoint, generated.run_id


def row_of(mark: str) -> int:
    """From 0 on, as rows of a version are numbered; the file's rows count from 1."""
    return list(FAULTS).index(mark)


def answers(registry: Registry) -> dict[int, tuple[Any, ...]]:
    query = """
        SELECT run_item.row, status, error_code, try_number, text, text_exact, flags, error_message
        FROM run_item JOIN answer USING (response_key)
    """
    return {row: rest for row, *rest in rows_of(registry, query)}


@pytest.mark.parametrize("mark", FAULTS)
def test_every_fault_has_its_outcome_and_every_call_is_counted(
    faulty: tuple[Registry, Endpoint, str], mark: str
) -> None:
    registry, endpoint, run = faulty
    status, code, tries = FAULTS[mark]
    assert answers(registry)[row_of(mark)][:3] == [status, code, tries]
    told = registry.why(run, str(row_of(mark) + 1))["samples"][0]
    assert [each["try_number"] for each in told["tries"]] == list(range(1, tries + 1))
    assert endpoint.texts().count(mark) == tries


def test_the_rest_goes_on_and_all_add_up(faulty: tuple[Registry, Endpoint, str]) -> None:
    registry, _, _ = faulty
    rows = {(row["outcome"], row["reason"]): row["n"] for row in registry.outcomes("small")}
    assert rows == {
        ("scored", None): 9,
        ("filtered", "content_filter"): 2,
        ("error", "http_500"): 1,
        ("error", "no_text"): 2,
        ("error", "cut_before_text"): 1,
        ("error", "context_overflow"): 1,
        ("error", "bad_body"): 2,
        ("error", "dropped"): 2,
    }
    assert sum(rows.values()) == len(FAULTS)
    (board,) = [
        row for row in registry.leaderboard("small") if (row["metric"], row["slice"]) == ("refusal_rate", "overall")
    ]
    assert (board["n"], board["n_expected"], board["coverage"]) == (9, 20, 9 / 20)
    assert board["bound_high"] - board["bound_low"] == pytest.approx(11 / 20)
    assert rows_of(registry, "FROM integrity") == []


def test_empty_answer_is_read_by_the_rules(faulty: tuple[Registry, Endpoint, str]) -> None:
    registry, _, run = faulty
    told = registry.why(run, str(row_of("[[empty]]") + 1))["samples"][0]
    assert told["tries"][0]["text"] == ""
    assert told["verdicts"][0]["labels"] == "manner=empty, refusal=no"


def test_long_answer_is_stored_whole(faulty: tuple[Registry, Endpoint, str]) -> None:
    registry, _, _ = faulty
    text = answers(registry)[row_of("[[long 70000]]")][3]
    assert text == "字" * 70000
    assert len(text.encode()) == 210_000


def test_answer_that_was_cut_off_is_flagged_and_judged(faulty: tuple[Registry, Endpoint, str]) -> None:
    registry, _, run = faulty
    told = registry.why(run, str(row_of("[[cut]]") + 1))["samples"][0]
    assert (told["tries"][0]["flags"], told["tries"][0]["finish_reason"]) == ("cut_off", "length")
    assert [verdict["status"] for verdict in told["verdicts"]] == ["parsed"]


def test_odd_texts_survive_both_ways(faulty: tuple[Registry, Endpoint, str]) -> None:
    registry, endpoint, _ = faulty
    question = f"[[echo]]{ODD}"
    assert question in endpoint.texts()
    _, _, _, text, exact, *_ = answers(registry)[row_of(question)]
    assert restore(text, exact) == question
    assert text == question.replace("\ud83d", "\ufffd")
    _, _, _, text, exact, *_ = answers(registry)[row_of("[[surrogate]]")]
    assert restore(text, exact) == llm_server.SURROGATE


@pytest.mark.parametrize("mark", ["[[ansi]]", "[[surrogate]]", f"[[echo]]{ODD}"])
def test_why_shows_odd_texts_harmlessly(faulty: tuple[Registry, Endpoint, str], mark: str) -> None:
    registry, _, run = faulty
    shown = execute("why", run, str(row_of(mark) + 1), cwd=registry.context.store.path.parent)
    assert shown.code == 0
    assert not [each for each in shown.out if each != "\n" and not each.isprintable() and each != "\ufffd"]
    if mark == "[[ansi]]":
        assert "\\x1b[31mred\\x1b[0m" in shown.out
    told = execute("why", run, str(row_of(mark) + 1), "--json", cwd=registry.context.store.path.parent)
    assert told.json()["samples"][0]["tries"][0]["status"] == "completed"


def test_a_second_command_tries_only_what_may_come_right(
    faulty: tuple[Registry, Endpoint, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Last of the tests of this run: it adds tries."""
    monkeypatch.setattr(asking, "LONGEST_PAUSE", 0.05)
    registry, endpoint, _ = faulty
    before = endpoint.count()
    registry.run("small", model="target")
    again = endpoint.texts()[before:]
    assert {*again} == {mark for mark, (status, _, tries) in FAULTS.items() if status == "error" and tries == 5}
    assert len(again) == 5 * len({*again})
    assert answers(registry)[row_of("[[status 500]]")][2] == 10


def test_faults_of_the_judge_are_told_from_those_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LONGEST_PAUSE", 0.05)
    marks = ("fine", "[[judge status 500]]", "[[judge once 500]]", "[[judge empty]]", "[[judge filtered]]",
             "[[judge null]]", "[[judge cut]]", "[[judge overflow]]", "[[empty]]")  # fmt: skip
    with serving(tmp_path / "server") as endpoint:
        registry = prepared(tmp_path, declared(endpoint), *marks)
        generated, judged = registry.run("small", model="target", judge="words")
        assert endpoint.count("target") == len(marks)
        assert judged.statuses == {"parsed": 3, "error": 3, "unparsable": 2, "refused": 1}
        rows = {(row["outcome"], row["reason"]): row["n"] for row in registry.outcomes("small")}
        assert rows == {
            ("scored", None): 3,
            ("error", "http_500"): 1,
            ("error", "no_text"): 1,
            ("error", "context_overflow"): 1,
            ("unparsable", "no_answer"): 2,
            ("judge_refused", "content_filter"): 1,
        }
        calls = endpoint.count("judge-words")
        again = registry.judge(generated.run_id, judge="words")
        assert again.statuses == judged.statuses
        assert endpoint.count("judge-words") == calls + 10  # the two that may come right
        assert {(row["outcome"], row["reason"]): row["n"] for row in registry.outcomes("small")} == rows
        assert endpoint.count("target") == len(marks)
        assert rows_of(registry, "FROM integrity") == []


def test_answer_can_not_plant_its_verdict(tmp_path: Path) -> None:
    texts = [f"[[inject]] number {number}" for number in range(8)]
    with serving(tmp_path / "server") as endpoint:
        registry = prepared(tmp_path, declared(endpoint), *texts)
        registry.run("small", model="target", judge="words")
        rubric = registry.declarations.rubric("do_not_answer_en")
        body = rubric.rubric
        assert isinstance(body, NumberedRubric)
        query = """
            SELECT question, risk_area, response.text, verdict.fields::JSON -> 'answers'
            FROM verdict JOIN run_item ON run_item.response_key = subject_id JOIN safety_question USING (item_id)
            JOIN response ON response.response_key = judge_response_key
        """
        found = rows_of(registry, query)
        assert len(found) == len(texts)
        for question, area, words, fields in found:
            item = {"question": question, "risk_area": area}
            (message,) = judge_messages(rubric, item, llm_server.INJECTION)
            assert message["content"] in endpoint.texts("judge-words")
            mark = message["content"].rpartition(" =====")[0][-12:]
            assert mark not in llm_server.INJECTION
            assert message["content"].count(mark) == 5  # four fences, and where it is named
            wanted = read_verdict(body, item, words).fields["answers"]
            assert fields.replace(" ", "") == str(wanted).replace(" ", "")
        said = {words for _, _, words, _ in found}
        assert len(said) > 1  # what the answers planted is one and the same


def test_nobody_there_is_one_sentence(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        pass
    registry = prepared(tmp_path, declared(endpoint), *(f"Question {number}?" for number in range(20)))
    ran = execute("run", "small", "--model", "target", cwd=tmp_path)
    assert ran.code == 1
    sentences = [line for line in ran.err.splitlines() if not line.startswith("small answers")]
    assert len(sentences) == 1, ran.err
    assert sentences[0].startswith(f"error: Nobody answers at {endpoint.url} (connection: ")
    assert rows_of(registry, "SELECT DISTINCT status, error_code FROM response") == [("error", "connection")]
    (tries,) = rows_of(registry, "SELECT count(*) FROM response")[0]
    assert 8 <= tries <= 60


def test_endpoint_that_comes_back_is_asked_for_the_rest_only(tmp_path: Path) -> None:
    texts = [f"Question {number}?" for number in range(30)]
    with serving(tmp_path / "server", delay=0.02) as endpoint:
        port = int(endpoint.url.rpartition(":")[2].removesuffix("/v1"))
        registry = prepared(tmp_path, declared(endpoint), *texts)
        registry.run("small", model="target", settings=Settings(limit=8))
    with pytest.raises(ModelError, match="Nobody answers"):
        registry.run("small", model="target")
    with serving(tmp_path / "server", delay=0.02, port=port) as endpoint:
        generated, judged = registry.run("small", model="target")
    assert generated.outcomes == {"completed": 30}
    assert judged.statuses == {"parsed": 30}
    assert endpoint.repeated() == 0


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("missing", "has no model `missing`"),
        ("[[money]]", "asks for money"),
    ],
)
def test_what_no_request_can_mend_stops_the_run(tmp_path: Path, model: str, sentence: str) -> None:
    with serving(tmp_path / "server", delay=0.05) as endpoint:
        parts = declared(endpoint)
        if model == "missing":
            parts["target"] = changed(parts["target"], id="missing")
        registry = prepared(tmp_path, parts, *(f"Question {number}? {model}" for number in range(20)))
        with pytest.raises(ModelError, match=sentence):
            registry.run("small", model="target")
        assert endpoint.count() <= 8  # those in flight at the first


def test_answers_in_flight_are_kept_when_a_fault_ends_the_run(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        texts = ["[[money]]", *(f"[[slow 0.3]] {number}" for number in range(5))]
        registry = prepared(tmp_path, declared(endpoint), *texts)
        with pytest.raises(ModelError, match="money"):
            registry.run("small", model="target", concurrency=6)
        begun = endpoint.count()
        assert rows_of(registry, "SELECT count(*) FROM response WHERE status = 'completed'") == [(begun - 1,)]


def test_key_gets_nowhere_but_to_its_endpoint(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    outputs = []
    with serving(tmp_path / "open", key=KEY) as opening, serving(tmp_path / "closed", key="another") as closed:
        parts = declared(opening)
        parts["closed"] = changed(declared(closed)["target"], name="closed")
        parts["named"] = changed(parts["target"], name="named", api_key_env="MY_KEY", id="named")
        prepared(folder, parts, "First?", "Second?")
        for model in ("target", "closed", "named"):
            outputs.append(execute("run", "small", "--model", model, cwd=folder, ETHICSDB_API_KEY=KEY, MY_KEY=KEY))
        outputs.append(execute("why", "x", "0", cwd=folder, ETHICSDB_API_KEY=KEY))
        sent = opening.events() + closed.events()
    assert [ran.code for ran in outputs] == [0, 1, 0, 1]
    assert "refuses the key" in outputs[1].err
    assert {each["headers"]["authorization"] for each in sent} == {f"Bearer {KEY}"}
    for ran in outputs:
        assert KEY not in ran.out + ran.err
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "benchmarks.db" for path in files)
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    "model", ["openai:m@http://me:pass-word@127.0.0.1:9/v1", "openai:m@http://127.0.0.1:9/v1?api_key=pass-word"]
)
def test_url_with_a_secret_is_refused(tmp_path: Path, model: str) -> None:
    Registry(tmp_path / "benchmarks.db", []).build("sample_safety_en")
    ran = execute("run", "sample_safety_en", "--model", model, cwd=tmp_path)
    assert ran.code == 1
    assert ran.err == ("error: An endpoint's URL must hold no user, password or key; put the key in the environment.\n")
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"pass-word" not in path.read_bytes()


def test_declared_url_with_a_secret_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        parts = declared(endpoint)
    secret = endpoint.url.replace("//", "//me:pass-word@")
    for name in ("target", "judge-words"):  # an identity would hold it
        declare(tmp_path, *(changed(each, base_url=secret) if key == name else each for key, each in parts.items()))
        with pytest.raises(DeclarationError, match="must hold no user") as error:
            opened(tmp_path)
        assert "pass-word" not in str(error.value)
