"""The Batch API: every step can be killed, what ended is kept, and nothing is paid twice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchEndpoint, batches_at
from llm_server import Endpoint, declared, prepared
from support import changed, finished, rows_of, spawn

from ethicsdb import Registry
from ethicsdb.runners.run_settings import Settings
from ethicsdb.runners.spending import Budget
from ethicsdb.schemas.errors import BudgetError, DeclarationError, ModelError

TEXTS = tuple(f"Question number {number}, 好?" for number in range(10))
PRICE = {"prompt": 2.0, "completion": 8.0, "batch": 0.5}
COMMAND = ("run", "small", "--model", "target", "--judge", "words", "--batch")
# Without keys, which hold the server's address.
TABLES = (
    "SELECT try_number, status, text, flags, prompt_tokens, cost_microusd FROM response ORDER BY ALL",
    "SELECT text, verdict.status, fields FROM verdict JOIN answer ON response_key = subject_id ORDER BY ALL",
    "SELECT benchmark, judge, model, outcome, n FROM outcomes ORDER BY ALL",
    "SELECT step, count(*) FROM batch_step GROUP BY step ORDER BY step",
)


def made(folder: Path, endpoint: BatchEndpoint, price: dict[str, float] = PRICE) -> Registry:
    folder.mkdir(parents=True, exist_ok=True)
    parts = declared(Endpoint(endpoint.url, endpoint.log))
    for name in ("target", "judge-words"):
        parts[name] = changed(parts[name], price=price)
    return prepared(folder, parts, *TEXTS)


def test_both_stages_go_through_batches(tmp_path: Path) -> None:
    with batches_at(tmp_path / "server") as endpoint:
        registry = made(tmp_path, endpoint)
        generated, judged = registry.run("small", model="target", judge="words", in_batches=True)
        assert generated.outcomes == {"completed": 10}
        assert judged.subjects == 10
        posts = [call for call in endpoint.calls() if call.startswith("POST")]
        assert posts == ["POST /v1/files", "POST /v1/batches"] * 2
        again, _ = registry.run("small", model="target", judge="words", in_batches=True)
        assert again.run_id == generated.run_id
        assert [call for call in endpoint.calls() if call.startswith("POST")] == posts
    assert len(endpoint.billed()) == len(set(endpoint.billed())) == 20
    rows = rows_of(registry, "SELECT DISTINCT flags, billed, reported_model FROM response ORDER BY ALL")
    assert rows == [("batch", True, "judge-words"), ("batch", True, "target")]
    for row in registry.cost():  # at half the price
        assert row["cost_microusd"] == pytest.approx(row["prompt_tokens"] * 1 + row["completion_tokens"] * 4, abs=10)
    before = registry.checksums()
    assert registry.rebuild() == before


def test_an_answer_is_the_same_fact_however_it_came(tmp_path: Path) -> None:
    with batches_at(tmp_path / "server") as endpoint:
        registry = made(tmp_path, endpoint)
        registry.run("small", model="target", judge="refusal_rules", in_batches=True, settings=Settings(limit=4))
        first = set(endpoint.billed())
        registry.run("small", model="target", judge="refusal_rules", in_batches=True)
        assert len(first) == 4
        assert sorted(endpoint.billed()) == sorted({*endpoint.billed()})
    assert rows_of(registry, "SELECT count(*) FROM answer WHERE status = 'completed'") == [(10,)]


def test_an_expired_batch_keeps_what_was_finished(tmp_path: Path) -> None:
    with batches_at(tmp_path / "server", fate="expire") as endpoint:
        registry = made(tmp_path, endpoint)
        generated, _ = registry.run("small", model="target", judge="refusal_rules", in_batches=True)
        assert generated.outcomes == {"completed": 5, "error": 5}
        codes = rows_of(registry, "SELECT DISTINCT error_code FROM response WHERE status = 'error'")
        assert codes == [("batch_expired",)]
        later, _ = registry.run("small", model="target", judge="refusal_rules", in_batches=True)
        # Of the five that were left, every second one again.
        assert later.outcomes == {"completed": 8, "error": 2}
        keys = endpoint.billed()
    assert [keys.count(key) for key in set(keys)].count(1) == 5


def test_requests_that_fail_are_told_apart(tmp_path: Path) -> None:
    with batches_at(tmp_path / "server", fate="errors") as endpoint:
        registry = made(tmp_path, endpoint)
        generated, _ = registry.run("small", model="target", judge="refusal_rules", in_batches=True)
        assert generated.outcomes == {"completed": 4, "error": 6}
        codes = dict(rows_of(registry, "SELECT error_code, count(*) FROM response WHERE status = 'error' GROUP BY 1"))
        assert codes == {"context_overflow": 2, "http_500": 2, "missing_in_batch": 2}
        before = len(endpoint.billed())
        registry.run("small", model="target", judge="refusal_rules", in_batches=True)
        assert len(endpoint.billed()) - before == 4  # a prompt that does not fit is not sent again


def test_a_batch_that_fails_as_a_whole_is_one_sentence(tmp_path: Path) -> None:
    with batches_at(tmp_path / "server", fate="fail") as endpoint:
        registry = made(tmp_path, endpoint)
        with pytest.raises(ModelError, match=r"failed as a whole: line 1 is not valid\."):
            registry.run("small", model="target", judge="refusal_rules", in_batches=True)
        assert rows_of(registry, "SELECT DISTINCT error_code FROM response") == [("batch_failed",)]
        assert endpoint.billed() == []


def test_nothing_is_submitted_over_the_budget(tmp_path: Path) -> None:
    with batches_at(tmp_path / "server") as endpoint:
        registry = made(tmp_path, endpoint)
        with pytest.raises(BudgetError, match="The worst case of 10 requests is more than the budget has left"):
            registry.run("small", model="target", in_batches=True, budget=Budget.of(0.001, None))
        assert not [call for call in endpoint.calls() if call.startswith("POST")]
        registry.run("small", model="target", judge="refusal_rules", in_batches=True, budget=Budget.of(1, None))
        unpriced = made(tmp_path / "other", endpoint, price={"prompt": 1.0, "completion": 1.0})
        with pytest.raises(DeclarationError, match="has none for batches"):
            unpriced.run("small", model="target", in_batches=True, budget=Budget.of(1, None))
        with pytest.raises(DeclarationError, match="leave --batch out"):
            registry.run("small", model="ngram-obliging", judge="refusal_rules", in_batches=True)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[Any, ...]]]:
    folder = tmp_path_factory.mktemp("whole")
    with batches_at(folder / "server") as endpoint:
        registry = made(folder, endpoint)
        registry.run("small", model="target", judge="words", in_batches=True)
    return [rows_of(registry, query) for query in TABLES]


CALLS = ("GET /v1/files", "POST /v1/files", "POST /v1/batches", "GET /v1/batches/", "GET /v1/files/")
STEPS = [(when, call) for call in CALLS for when in ("holdbefore", "hold")]


@pytest.mark.parametrize(("when", "call"), STEPS)
def test_a_kill_at_each_step_loses_and_repeats_nothing(
    tmp_path: Path, uninterrupted: list[list[tuple[Any, ...]]], when: str, call: str
) -> None:
    """Killed before the server has done a step, or after it and before its answer is read."""
    with batches_at(tmp_path / "server") as endpoint:
        registry = made(tmp_path, endpoint)
        endpoint.log.with_suffix(f".{when}").write_text(f"{call}\n", encoding="utf-8")
        process = spawn(*COMMAND, cwd=tmp_path)
        begun = time.monotonic()
        while not endpoint.calls("held"):
            assert time.monotonic() - begun < 60
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        finished(process)
        registry.run("small", model="target", judge="words", in_batches=True)
    assert len(endpoint.billed()) == len(set(endpoint.billed())) == 20
    assert [rows_of(registry, query) for query in TABLES] == uninterrupted
