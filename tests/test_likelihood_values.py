"""Scores of causal models against a one-by-one float64 oracle, whatever is in the batch with them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from likelihood_models import POSITIONS, byte_level_ids, byte_pairs, in_float64, made, oracle, scores, torch

from ethicsdb.runners.likelihood.base import BOUNDARY_UNSTABLE, CONTEXT_TRUNCATED, Request
from ethicsdb.runners.likelihood.batching import Budget
from ethicsdb.runners.likelihood.causal import CausalRunner

FAMILIES = ["llama", "gpt2", "mistral", "gemma", "gemma2", "gemma3", "mpt", "bloom", "mamba"]
SMALL = Budget(tokens=40, logits=1 << 13, cache_bytes=1 << 13, a_pass=1)  # few rows a pass
LARGE = Budget(tokens=1 << 14, logits=1 << 26, cache_bytes=1 << 28, a_pass=1000)  # all in one, much padding

# The limit is 96 tokens; the Chinese characters that the tokenizer has not seen are three tokens each.
CONTEXTS = [
    "The answer is", "Answer: ", "你好，请问", "我不知道这个问题怎么回答，请问你能帮助我吗？", "do", "Он не может",
    "User: hello\nAssistant: hello, how are you?\nUser: I don't know, I can't say, and I won't.\nAssistant:",
    "See http://example.org/a and https", "I'm sorry, I cannot fulfill this request. " * 12, "请尊重所有人。" * 30,
]  # fmt: skip
TARGETS = (" yes", "不能回答", "n't know, I'm sorry.", "://example.org", " the man was kind; the woman was kind.")


def requests() -> list[Request]:
    return [Request(str(at), context, TARGETS[: 1 + at % 5]) for at, context in enumerate(CONTEXTS)]


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_the_oracle(tmp_path: Path, family: str) -> None:
    tokenizer = byte_pairs(bos=family.startswith("gemma"))
    loaded = made(tmp_path, family, tokenizer, max_length=POSITIONS)
    exact, asked = in_float64(loaded), requests()
    pairs = [(request.context, target) for request in asked for target in request.targets]
    found = scores(loaded, asked)
    for (context, target), score in zip(pairs, found, strict=True):
        ids, start = byte_level_ids(tokenizer, str(context), target)
        lead = [0] if family.startswith("gemma") or start == 0 else []
        over = max(0, len(lead) + len(ids) - 1 - POSITIONS)
        expected = oracle(exact, lead + ids[over:], len(lead) + start - over)
        assert score.logprob_sum == pytest.approx(expected, abs=1e-4)
        assert score.tokens == len(ids) - start
        assert (CONTEXT_TRUNCATED in score.flags) == (over > 0)
        alone = tokenizer(str(context), add_special_tokens=False)["input_ids"]
        assert (BOUNDARY_UNSTABLE in score.flags) == (ids[:start] != alone)
    assert {flag for score in found for flag in score.flags} == {CONTEXT_TRUNCATED, BOUNDARY_UNSTABLE}


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_depend_on_neither_batch_nor_order(tmp_path: Path, family: str) -> None:
    loaded = made(tmp_path, family, max_length=POSITIONS)
    asked = [
        Request(f"{name}{request.id}", request.context, request.targets) for request in requests() for name in "ab"
    ]
    plain = scores(loaded, asked)
    mixed = random.Random(5).sample(asked, len(asked))
    alone = {
        (request.id, target): scores(loaded, [Request("one", request.context, (target,))])[0]
        for request in asked[::2]
        for target in request.targets
    }
    for budget in (SMALL, LARGE):
        found = dict(zip([each.id for each in mixed], _by_request(mixed, scores(loaded, mixed, budget)), strict=True))
        again = [score for request in asked for score in found[request.id]]
        assert [each.logprob_sum for each in again] == pytest.approx([each.logprob_sum for each in plain], abs=2e-5)
        assert [each.flags for each in again] == [each.flags for each in plain]
    for request, several in zip(asked, _by_request(asked, plain), strict=True):
        for target, score in zip(request.targets, several, strict=True):
            if request.id.startswith("a"):
                assert score.logprob_sum == pytest.approx(alone[request.id, target].logprob_sum, abs=2e-5)


def _by_request(asked: list[Request], found: list) -> list:
    left = iter(found)
    return [[next(left) for _ in request.targets] for request in asked]


@pytest.mark.parametrize(("family", "shares"), [("llama", True), ("mistral", True), ("gemma3", True), ("mamba", False)])
def test_contexts_are_shared_where_the_cache_allows(tmp_path: Path, family: str, shares: bool) -> None:
    assert CausalRunner(made(tmp_path, family).model, LARGE, POSITIONS).shares is shares


def test_one_token_targets_need_no_second_pass(tmp_path: Path) -> None:
    loaded = made(tmp_path, "llama")
    context = "User: hello\nAssistant: hello, how are you?\nUser: I don't know, I can't say.\nAnswer:" * 2
    passes: list[tuple[int, ...]] = []
    loaded.model.register_forward_pre_hook(
        lambda _, __, given: passes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    two, three = (Request("1", context, targets) for targets in ((" yes", " no"), (" yes", " no", " yes, yes")))
    found = scores(loaded, [two])
    length = len(loaded.prepared.tokenizer(context)["input_ids"])
    assert passes[-1] == (1, length)
    again = scores(loaded, [three])
    assert passes[-2:] == [(1, length), (1, again[2].tokens - 1)]  # one row is left to read after the context
    assert [each.logprob_sum for each in again[:2]] == pytest.approx([each.logprob_sum for each in found], abs=2e-5)


def test_equal_contexts_of_different_requests_are_read_once(tmp_path: Path) -> None:
    loaded = made(tmp_path, "llama")
    context = "I'm sorry, I cannot fulfill this request. Please respond to the user's input. " * 2
    asked = [Request(str(at), context, (target,)) for at, target in enumerate(TARGETS)]
    read: list[int] = []
    scores(loaded, asked[:1])
    loaded.model.register_forward_pre_hook(
        lambda _, __, given: read.append(given["input_ids"].numel()), with_kwargs=True
    )
    scores(loaded, asked)
    assert sum(read) < 2 * len(loaded.prepared.tokenizer(context)["input_ids"])


def test_an_answer_that_is_not_a_number_is_an_error(tmp_path: Path) -> None:
    loaded = made(tmp_path, "llama")
    with torch.no_grad():
        loaded.model.model.norm.weight.fill_(float("nan"))
    (score,) = scores(loaded, [Request("1", "The answer is", (" yes",))])
    assert (score.logprob_sum, score.tokens, score.error) == (None, 0, "not_finite")


def test_results_come_as_batches_complete(tmp_path: Path) -> None:
    from ethicsdb.runners.likelihood.engine import Scorer

    loaded = made(tmp_path, "llama")
    runs = 0

    def count(*_: object) -> None:
        nonlocal runs
        runs += 1

    loaded.model.register_forward_hook(count)
    scorer = Scorer(loaded, SMALL)
    asked = [Request(str(at), "The answer is" + " yes" * at, (" no",)) for at in range(20)]
    before = runs
    stream = scorer.score(asked)
    next(stream)
    first = runs - before
    list(stream)
    assert first == 1 < runs - before
