"""Ways to a wrong likelihood that others have walked: each is shown to change the number, and not to change ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from likelihood_models import POSITIONS, byte_pairs, config_of, in_float64, made, oracle, saved, scores, torch

from ethicsdb.runners.likelihood.base import LocalModel, Request
from ethicsdb.runners.likelihood.loading import load
from ethicsdb.runners.likelihood.logits import token_logprobs

CONTEXT, TARGET = "User: hello\nAssistant: hello, how are you?\nAnswer:", " yes, I don't know."


def test_the_score_is_shifted_by_one_token(tmp_path: Path) -> None:
    loaded = made(tmp_path, "llama")
    (score,) = scores(loaded, [Request("1", CONTEXT, (TARGET,))])
    ids, count = loaded.prepared.tokenizer(CONTEXT + TARGET)["input_ids"], score.tokens
    rows = torch.log_softmax(in_float64(loaded)(input_ids=torch.tensor([ids])).logits[0], dim=-1).detach()
    shifted = sum(rows[at - 1, ids[at]].item() for at in range(len(ids) - count, len(ids)))
    unshifted = sum(rows[at, ids[at]].item() for at in range(len(ids) - count, len(ids)))
    assert score.logprob_sum == pytest.approx(shifted, abs=1e-4)
    assert abs(unshifted - shifted) > 1
    assert score.logprob_mean == pytest.approx(shifted / count, abs=1e-4)


@pytest.mark.parametrize("family", ["gemma", "gemma3"])
def test_none_one_and_two_bos_are_three_numbers(tmp_path: Path, family: str) -> None:
    loaded = made(tmp_path, family)  # the tokenizer adds none, which a Gemma does not survive
    (score,) = scores(loaded, [Request("1", CONTEXT, (TARGET,))])
    ids = loaded.prepared.tokenizer(CONTEXT + TARGET, add_special_tokens=False)["input_ids"]
    exact = in_float64(loaded)
    none, one, two = (oracle(exact, [0] * n + ids, n + len(ids) - score.tokens) for n in range(3))
    assert score.logprob_sum == pytest.approx(one, abs=1e-4)
    assert min(abs(none - one), abs(two - one)) > 0.01
    assert loaded.prepared.parts["prefix"] == [0]


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_padding_on_the_left_moves_scores_and_padding_here_does_not(tmp_path: Path, family: str) -> None:
    loaded = made(tmp_path, family)
    long = Request("long", CONTEXT * 2, (TARGET,))
    short = Request("short", "Answer:", (TARGET,))
    both = scores(loaded, [long, short])
    ids = loaded.prepared.tokenizer("Answer:" + TARGET)["input_ids"]
    exact, count = in_float64(loaded), both[1].tokens
    right = oracle(exact, ids, len(ids) - count)
    assert both[1].logprob_sum == pytest.approx(right, abs=1e-4)
    assert abs(oracle(exact, [1] * 20 + ids, 20 + len(ids) - count) - right) > 0.1  # no mask, shifted positions


def test_gpt2_has_no_positions_past_its_last(tmp_path: Path) -> None:
    loaded = made(tmp_path, "gpt2")
    assert loaded.prepared.limit == POSITIONS
    context = CONTEXT * 5
    with pytest.raises(IndexError):
        loaded.model(input_ids=torch.tensor([loaded.prepared.tokenizer(context)["input_ids"]]))
    found = scores(loaded, [Request("1", context, (TARGET, " no"))])
    assert [each.error for each in found] == [None, None]


@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral", "mpt", "bloom", "gemma3"])
def test_the_limit_is_the_configurations_not_the_tokenizers(tmp_path: Path, family: str) -> None:
    tokenizer = byte_pairs()
    tokenizer.model_max_length = 10**30
    assert made(tmp_path, family, tokenizer).prepared.limit == POSITIONS
    assert made(tmp_path, family, tokenizer, max_length=50).prepared.limit == 50


def test_without_any_limit_the_tokenizers_counts_if_it_is_one(tmp_path: Path) -> None:
    tokenizer = byte_pairs()
    assert made(tmp_path / "none", "mamba", tokenizer).prepared.limit == 2048
    tokenizer.model_max_length = 77
    assert made(tmp_path / "some", "mamba", tokenizer).prepared.limit == 77


def test_the_normaliser_is_not_biased_at_a_large_vocabulary() -> None:
    torch.manual_seed(0)
    logits = torch.randn(200, 49152) * 3
    logits[:, 7] += 12 * torch.rand(200)
    targets = torch.full((200,), 7)
    exact = torch.log_softmax(logits.double(), dim=-1)[:, 7]
    difference = token_logprobs(logits.clone(), targets) - exact
    assert difference.abs().max() < 2e-6
    assert difference.mean().abs() < 1e-7


def test_several_targets_a_row_and_parts_of_rows_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    logits, targets = torch.randn(9, 50), torch.randint(0, 50, (9, 3))
    exact = torch.log_softmax(logits.double(), dim=-1).gather(1, targets)
    for at_once in (1, 120, 10**6):
        monkeypatch.setattr("ethicsdb.runners.likelihood.logits._AT_ONCE", at_once)
        assert torch.allclose(token_logprobs(logits.clone(), targets), exact, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", ["mistral", "gemma2", "gemma3"])
def test_a_sliding_window_slides_over_shared_contexts(tmp_path: Path, family: str) -> None:
    """The context is many windows long, so that a cache laid out or masked wrongly shows."""
    loaded = made(tmp_path, family)
    contexts = [CONTEXT * 2, CONTEXT * 2 + " yes", CONTEXT * 3]
    targets = (TARGET, " no", " the man was kind; the woman was kind.")
    found = scores(loaded, [Request(str(at), context, targets) for at, context in enumerate(contexts)])
    exact, lead = in_float64(loaded), loaded.prepared.parts["prefix"]
    for at, score in enumerate(found):
        text = contexts[at // 3] + targets[at % 3]
        ids = lead + loaded.prepared.tokenizer(text, add_special_tokens=False)["input_ids"]
        assert len(ids) > 5 * 8 - 1
        assert score.logprob_sum == pytest.approx(oracle(exact, ids, len(ids) - score.tokens), abs=1e-4)


def test_a_window_of_its_size_matters_to_these_models(tmp_path: Path) -> None:
    tokenizer = byte_pairs()
    narrow, wide = (config_of("mistral", len(tokenizer)) for _ in range(2))
    wide.sliding_window = None
    asked = [Request("1", CONTEXT, (TARGET, " no"))]
    found = []
    for name, config in (("narrow", narrow), ("wide", wide)):
        loaded = load(LocalModel(str(saved(tmp_path / name, config, tokenizer)), template="plain", device="cpu"))
        found.append(scores(loaded, asked)[0].logprob_sum)
    assert abs(found[0] - found[1]) > 0.1
