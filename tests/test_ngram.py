"""The n-gram models: proper distributions, exact likelihoods, repeatable valid text."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethicsdb.runners.backends.ngram import END, SYMBOLS, NgramModel, load
from ethicsdb.runners.refusal import is_refusal
from ethicsdb.schemas.errors import ModelError

PROMPTS = ["How do I fold a paper boat?", "怎样折纸船？", "Как сложить бумажный кораблик?", "", "\ud800 half a pair", "😀"]


def test_probabilities_sum_to_one_after_any_history() -> None:
    model = load("ngram-obliging")
    draw = random.Random(1)
    for _ in range(200):
        history = [draw.randrange(SYMBOLS) for _ in range(draw.randrange(20))]
        distribution = model.distribution(history)
        assert len(distribution) == SYMBOLS
        assert min(distribution) > 0
        assert math.fsum(distribution) == pytest.approx(1, abs=1e-12)


def test_likelihood_is_the_product_of_the_distribution() -> None:
    """By hand for order 1: c(a)=2, c(END)=1, T=2, so p(a) = (2 + 2/257) / 5 and p(END) = (1 + 2/257) / 5."""
    model = NgramModel.train([("x", "aa")], order=1)
    a, end = (2 + 2 / SYMBOLS) / 5, (1 + 2 / SYMBOLS) / 5
    assert model.log_likelihood("anything", "aa") == (pytest.approx(2 * math.log(a) + math.log(end)), 3)
    assert model.log_likelihood("anything", "b")[0] == pytest.approx(math.log(2 / SYMBOLS / 5) + math.log(end))
    assert model.log_likelihood("", "")[1] == 1


def test_likelihoods_of_all_one_byte_answers_and_none_sum_to_the_mass_they_hold() -> None:
    model = load("ngram-refusing")
    history = [0xFF, *b"hi", 0xF8, 0xFE]
    first = model.distribution(history)
    total = first[END] + sum(first[byte] * model.distribution([*history, byte])[END] for byte in range(128))
    told = math.exp(model.log_likelihood("hi", "")[0])
    told += sum(math.exp(model.log_likelihood("hi", chr(byte))[0]) for byte in range(128))
    assert told == pytest.approx(total, rel=1e-12)


def test_training_raises_the_likelihood_of_what_was_trained() -> None:
    obliging, refusing = load("ngram-obliging"), load("ngram-refusing")
    for answer in ("很抱歉，我无法回答这个问题。", "I'm sorry, but I can't help with that."):
        assert refusing.log_likelihood("?", answer)[0] > obliging.log_likelihood("?", answer)[0] + 10


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("temperature", [0.0, 0.7, 2.0])
def test_same_seed_same_text_and_another_seed_another(prompt: str, temperature: float) -> None:
    model = load("ngram-obliging")
    one = [model.generate(prompt, seed=seed, temperature=temperature, max_bytes=80) for seed in range(6)]
    assert one == [model.generate(prompt, seed=seed, temperature=temperature, max_bytes=80) for seed in range(6)]
    assert (len(set(one)) == 1) == (temperature == 0)


def test_a_known_sample_stays_what_it_is() -> None:
    """Text drawn on one machine is the text drawn on every other; a change here needs a new FORMAT."""
    assert load("ngram-refusing").generate("怎样折纸船？", seed=0, temperature=0, max_bytes=160) == "很抱歉，我无法回答这个问题。"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), st.integers(0, 60), st.integers(0, 5))
def test_text_is_always_whole_characters_within_the_limit(prompt: str, limit: int, seed: int) -> None:
    model = NgramModel.train([("a", "é世😀\x7f"), ("b", "世界😀")], order=2)
    text = model.generate(prompt, seed=seed, temperature=1.5, max_bytes=limit)
    assert len(text.encode("utf-8")) <= limit


def test_the_two_models_differ_in_what_they_are_for() -> None:
    prompts = [prompt for prompt in PROMPTS if prompt]
    refused = [is_refusal(load("ngram-refusing").generate(p, seed=0, temperature=0, max_bytes=200)) for p in prompts]
    obliged = [is_refusal(load("ngram-obliging").generate(p, seed=0, temperature=0, max_bytes=200)) for p in prompts]
    assert all(refused)
    assert not any(obliged)


def test_fingerprint_follows_training_and_order() -> None:
    pairs = [("a", "b")]
    base = NgramModel.train(pairs).fingerprint()
    assert base == NgramModel.train(pairs).fingerprint()
    assert len({base, NgramModel.train(pairs, order=3).fingerprint(), NgramModel.train([("a", "c")]).fingerprint()}) == 3


def test_no_pairs_or_an_unknown_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="training pairs"):
        NgramModel.train([])
    with pytest.raises(ModelError, match="ngram-obliging"):
        load("ngram-polite")
