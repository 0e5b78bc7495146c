"""Scores of encoder-decoder models against a one-by-one float64 oracle, and the ways to get them wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from likelihood_models import byte_pairs, in_float64, pieces, scores, torch, transformers

from ethicsdb.runners.likelihood.base import CONTEXT_TRUNCATED, LocalModel, Request, Turn
from ethicsdb.runners.likelihood.batching import Budget
from ethicsdb.runners.likelihood.loading import Loaded, load
from ethicsdb.schemas.errors import ModelError

LIMIT = 64
SMALL = Budget(tokens=70, logits=1 << 13, cache_bytes=1 << 13, a_pass=1)
CONTEXTS = [
    "Answer: ",
    "你好，请问你能帮助我吗？",
    "I don't know, I can't say, and I won't.",
    "",
    "Please respond. " * 30,
]
TARGETS = ("yes", "不能回答", "I'm sorry, I cannot fulfill this request.")


def t5(folder: Path, tokenizer: Any = None, **spec: Any) -> Loaded:
    tokenizer = tokenizer or pieces(end=True)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, pad_token_id=1,
        eos_token_id=1, decoder_start_token_id=1, n_positions=LIMIT, relative_attention_num_buckets=8,
        initializer_factor=1.0, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(LocalModel(str(folder), **{"device": "cpu", **spec}))


def bart(folder: Path) -> Loaded:
    tokenizer = byte_pairs(bos=True)
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=LIMIT, init_std=0.25,
        pad_token_id=1, bos_token_id=0, eos_token_id=1, decoder_start_token_id=1, forced_eos_token_id=None,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(LocalModel(str(folder), device="cpu"))


def oracle(exact: Any, source: list[int], decoder: list[int], start: int) -> float:
    """Summed log p of decoder[start:], one sequence, nothing padded, float64 throughout."""
    with torch.no_grad():
        logits = exact(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([decoder[:-1]])).logits[0]
    rows = torch.log_softmax(logits, dim=-1)
    return sum(rows[at - 1, decoder[at]].item() for at in range(start, len(decoder)))


@pytest.mark.parametrize(("build", "prefix", "suffix"), [(t5, [], [1]), (bart, [0], [])])
def test_scores_are_those_of_the_oracle(tmp_path: Path, build: Any, prefix: list[int], suffix: list[int]) -> None:
    loaded = build(tmp_path)
    assert (loaded.prepared.kind, loaded.prepared.limit) == ("seq2seq", LIMIT)
    exact, tokenizer = in_float64(loaded), loaded.prepared.tokenizer
    asked = [Request(str(at), context, TARGETS[: 1 + at % 3]) for at, context in enumerate(CONTEXTS)]
    found = scores(loaded, asked)
    small = scores(loaded, asked[::-1], SMALL)
    small = [score for at in range(len(asked)) for score in _of(asked[::-1], small, str(at))]
    pairs = [(str(request.context), target) for request in asked for target in request.targets]
    for (context, target), score, other in zip(pairs, found, small, strict=True):
        body = tokenizer(context, add_special_tokens=False)["input_ids"]
        cut = max(0, len(prefix) + len(body) + len(suffix) - LIMIT)
        ids = tokenizer(target, add_special_tokens=False)["input_ids"]
        expected = oracle(exact, prefix + body[cut:] + suffix, [1, *prefix, *ids], 1 + len(prefix))
        assert score.logprob_sum == pytest.approx(expected, abs=1e-4)
        assert other.logprob_sum == pytest.approx(score.logprob_sum, abs=2e-5)
        assert score.tokens == len(ids)
        assert score.flags == ({CONTEXT_TRUNCATED} if cut else set())
    assert any(score.flags for score in found)


def _of(asked: list[Request], found: list[Any], name: str) -> list[Any]:
    at = 0
    for request in asked:
        if request.id == name:
            return found[at : at + len(request.targets)]
        at += len(request.targets)
    raise KeyError(name)


def test_a_wrong_decoder_start_or_unmasked_padding_is_another_number(tmp_path: Path) -> None:
    loaded = t5(tmp_path)
    exact, tokenizer = in_float64(loaded), loaded.prepared.tokenizer
    source = tokenizer(CONTEXTS[0])["input_ids"]
    ids = tokenizer(TARGETS[2], add_special_tokens=False)["input_ids"]
    found = scores(loaded, [Request("1", CONTEXTS[0], TARGETS[2:]), Request("2", CONTEXTS[2], TARGETS[2:])])
    right = oracle(exact, source, [1, *ids], 1)
    assert found[0].logprob_sum == pytest.approx(right, abs=1e-4)
    assert abs(oracle(exact, source, [0, *ids], 1) - right) > 0.05
    assert abs(oracle(exact, source + [1] * 20, [1, *ids], 1) - right) > 0.05


def test_turns_go_before_tokens_in_the_encoder_too(tmp_path: Path) -> None:
    loaded = t5(tmp_path, template="plain")
    turns = tuple(Turn(("user", "assistant")[at % 2], "I don't know.") for at in range(9))
    (found,) = loaded.prepared.encoder.encode(Request("1", turns, ("yes",)))
    decoded = loaded.prepared.tokenizer.decode(found.source)
    assert len(found.source) <= LIMIT
    assert decoded.strip().startswith(("User:", "Assistant:"))
    assert decoded.endswith("Assistant:\n</s>")
    assert found.flags == {CONTEXT_TRUNCATED}


def test_targets_that_can_not_be_scored_are_outcomes(tmp_path: Path) -> None:
    found = scores(t5(tmp_path), [Request("1", "Answer:", ("", " yes" * LIMIT, "\ud800", "yes"))])
    assert [each.error for each in found] == ["empty_target", "target_too_long", "lone_surrogate", None]


def test_a_decoder_start_must_be_known(tmp_path: Path) -> None:
    t5(tmp_path)
    config = transformers.T5Config.from_pretrained(tmp_path)
    config.decoder_start_token_id = None
    config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="decoder_start_token_id"):
        load(LocalModel(str(tmp_path), device="cpu"))
