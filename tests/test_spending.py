"""Money: what calls cost, what may be spent at most, and what it would cost before a call is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_server import Endpoint, declared, prepared, serving
from support import changed, execute

from ethicsdb import Registry
from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.runners.run_settings import Settings
from ethicsdb.runners.spending import Budget, Purse, cost_of, most_prompt_tokens
from ethicsdb.schemas.declared import Price, Sampling
from ethicsdb.schemas.errors import BudgetError, DeclarationError

PRICE = {"prompt": 2.5, "completion": 10.0}  # US dollars for a million tokens
TEXTS = tuple(f"Question number {number}, 好?" for number in range(12))
LIMIT = 120  # tokens of an answer; the server counts characters


def priced(folder: Path, endpoint: Endpoint, *texts: str, price: Any = PRICE) -> Registry:
    """A registry whose target and judge cost money."""
    parts = declared(endpoint)
    if price is not None:
        parts["target"] = changed(parts["target"], price=price)
        parts["judge-words"] = changed(parts["judge-words"], price=price)
    parts["benchmark"] = changed(parts["benchmark"], sampling={"max_tokens": LIMIT})
    return prepared(folder, parts, *(texts or TEXTS))


def test_cost_is_tokens_times_price() -> None:
    price = Price(**PRICE)
    reply = Reply("completed", text="x", prompt_tokens=1000, completion_tokens=100, billed=True)
    assert cost_of(price, reply) == 1000 * 2.5 + 100 * 10
    assert cost_of(None, reply) is None
    assert cost_of(price, Reply("completed", text="x", prompt_tokens=5, billed=True)) is None
    assert cost_of(price, Reply("error", error_code="http_500")) is None


@pytest.mark.parametrize("text", ["plain", "字" * 50, "😀\ud83d", ""])
def test_no_tokenizer_makes_more_tokens_than_the_worst_case(text: str) -> None:
    ask = Ask([{"role": "user", "content": text}], Sampling(), 0)
    assert most_prompt_tokens(ask) >= len(text.encode("utf-8", "surrogatepass")) + 16
    assert most_prompt_tokens(Ask(ask.messages, Sampling(), 0, {"type": "object"})) > most_prompt_tokens(ask)


def test_a_purse_sets_the_worst_case_aside() -> None:
    ask = Ask([{"role": "user", "content": "x" * 68}], Sampling(max_tokens=100), 0)
    worst = most_prompt_tokens(ask)
    money = round(worst * 2.5) + 1000
    purse = Purse(Price(**PRICE), Budget.of(2 * money / 1e6, None))
    holds = [purse.hold(ask), purse.hold(ask), purse.hold(ask)]
    assert holds[2] is None
    assert holds[0] is not None
    assert holds[1] is not None
    purse.settle(holds[0], Reply("completed", text="x", prompt_tokens=20, completion_tokens=10, billed=True))
    assert purse.budget.spent_microusd == 150
    purse.settle(holds[1], None)  # it was cut short: it may have cost all of it
    assert purse.budget.spent_microusd == 150 + holds[1].microusd
    assert (purse.budget.held_microusd, purse.budget.held_tokens) == (0, 0)
    third = purse.hold(ask)
    assert third is None  # what is left is less than the worst case
    assert (purse.calls, purse.billed, purse.cost_microusd) == (2, 1, 150)


def test_the_ledger_is_what_the_server_counted(tmp_path: Path) -> None:
    texts = [*TEXTS[:6], "[[status 400]] refused", "[[once 429]] later", "[[once 500]] later", "[[odd]] no counts",
             "[[filtered]] withheld"]  # fmt: skip
    with serving(tmp_path / "server") as endpoint:
        registry = priced(tmp_path, endpoint, *texts)
        generated, judged = registry.run("small", model="target", judge="words")
        again, _ = registry.run("small", model="target", judge="words", settings=Settings(limit=4))
        sent = {model: endpoint.usage(model) for model in ("target", "judge-words")}
    rows = {(row["model"], row["purpose"]): row for row in registry.cost()}
    assert set(rows) == {("target", "answers"), ("judge-words", "verdicts")}
    for (model, _), row in rows.items():
        prompt, completion = sent[model]
        assert (row["prompt_tokens"], row["completion_tokens"]) == (prompt, completion)
        assert row["cost_microusd"] == pytest.approx(prompt * 2.5 + completion * 10, abs=row["billed"])
        assert row["in_flight"] == 0
    answers = rows["target", "answers"]
    assert answers["calls"] > answers["billed"] > 8
    assert answers["uncosted"] >= 1  # the reply that counted nothing
    assert rows["judge-words", "verdicts"]["billed"] == judged.subjects
    of_run = {row["part"]: row for row in registry.cost(generated.run_id)}
    assert of_run["answers"]["cost_microusd"] == answers["cost_microusd"]
    assert of_run["answers"]["shared"] == 4
    assert {row["part"]: row["answers"] for row in registry.cost(again.run_id)}["answers"] == 4
    told = execute("cost", cwd=tmp_path)
    assert told.code == 0
    assert "uncosted" in told.out
    assert json.loads(execute("cost", generated.run_id, "--json", cwd=tmp_path).out)[0]["part"] == "answers"


def test_a_budget_is_never_overspent_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        registry = priced(tmp_path, endpoint)
        stopped = execute("run", "small", "--model", "target", "--judge", "words", "--budget", "0.004", cwd=tmp_path)
        assert stopped.code == 3
        assert "error: Stopped at the budget: $0.00" in stopped.err
        assert "the same command with a larger budget goes on" in stopped.err
        first = endpoint.count()
        assert 1 <= first < 12
        cost = sum(row["cost_microusd"] for row in registry.cost())
        assert 0 < cost <= 4000
        done = execute("run", "small", "--model", "target", "--judge", "words", "--budget", "1", cwd=tmp_path)
        assert done.code == 0, done.err
        assert "spent by this command: " in done.out
        assert endpoint.repeated() == 0


def test_a_budget_of_tokens_holds_over_both_stages(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        registry = priced(tmp_path, endpoint, price=None)
        _, judged = registry.run("small", model="target", judge="words", budget=Budget.of(None, 10**6))
        assert judged.subjects == 12
        spent = sum(row["prompt_tokens"] + row["completion_tokens"] for row in registry.cost())
        (tmp_path / "other").mkdir()
        other = priced(tmp_path / "other", endpoint, price=None)
        budget = Budget.of(None, spent // 2)
        with pytest.raises(BudgetError, match=f"of {spent // 2:,} tokens are spent"):
            other.run("small", model="target", judge="words", budget=budget)
        assert 0 < budget.spent_tokens <= spent // 2
        with pytest.raises(DeclarationError, match="A budget in money needs a price, and target has none"):
            other.run("small", model="target", budget=Budget.of(1.0, None))


def test_a_dry_run_needs_no_key(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        parts = declared(endpoint)
        parts["target"] = changed(parts["target"], price=PRICE, api_key_env="NOT_SET_ANYWHERE")
        registry = prepared(tmp_path, parts, *TEXTS)
        (answers,) = registry.estimate_run("small", model="target", judge="refusal_rules")
        assert (answers.to_ask, endpoint.count()) == (12, 0)


def test_a_dry_run_asks_and_writes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        registry = priced(tmp_path, endpoint)
        before = (registry.checksums(), sorted(path.name for path in registry.context.store.journals.iterdir()))
        dry = ("run", "small", "--model", "target", "--judge", "words", "--dry-run", "--json")
        answers, verdicts = json.loads(execute(*dry, cwd=tmp_path).out)
        assert endpoint.count() == 0
        assert (registry.checksums(), sorted(path.name for path in registry.context.store.journals.iterdir())) == before
        assert (answers["requests"], answers["there"], answers["completion_tokens_at_most"]) == (12, 0, 12 * LIMIT)
        assert (verdicts["requests"], verdicts["guessed"]) == (12, True)
        registry.run("small", model="target", judge="words")
        paid = {row["purpose"]: row for row in registry.cost()}
        for stage, purpose in ((answers, "answers"), (verdicts, "verdicts")):
            assert paid[purpose]["prompt_tokens"] <= stage["prompt_tokens_at_most"]
            assert paid[purpose]["cost_microusd"] / 1e6 <= stage["usd_at_most"]
            assert stage["usd"] <= stage["usd_at_most"]
        calls = endpoint.count()
        answers, verdicts = json.loads(execute(*dry, cwd=tmp_path).out)
        assert (answers["there"], answers["usd"], verdicts["there"], verdicts["usd_at_most"]) == (12, 0, 12, 0)
        (other,) = json.loads(
            execute(
                "judge", registry.runs()[0]["run_id"], "--judge", "classes", "--dry-run", "--json", cwd=tmp_path
            ).out
        )
        assert (other["requests"], other["there"], other["guessed"]) == (12, 0, False)
        assert endpoint.count() == calls
    table = execute(*dry[:-1], cwd=tmp_path)
    assert table.code == 0
    assert "Nothing was asked and nothing was written" in table.out
