"""Models on this machine that write answers: greedy answers are an oracle's, drawn ones repeat, limits are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import rows_of

from ethicsdb import Registry
from ethicsdb.runners.run_settings import Settings
from ethicsdb.schemas.errors import ModelError

torch = pytest.importorskip("torch", reason="the extra `local` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `local` is not installed")

from likelihood_models import CHATML, byte_pairs, config_of, saved  # noqa: E402


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = byte_pairs(template=CHATML)
    config = config_of("llama", len(tokenizer))
    config.max_position_embeddings = 512
    return saved(tmp_path_factory.mktemp("models") / "tiny-chat", config, tokenizer)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(tmp_path / "benchmarks.db")
    registry.build("sample_safety_zh")
    return registry


def answers(registry: Registry, run: str) -> list[tuple[Any, ...]]:
    return rows_of(
        registry,
        "SELECT messages, answer.text, finish_reason, completion_tokens FROM run_item JOIN answer USING (response_key) "
        f"JOIN request USING (request_hash) WHERE run_id = '{run}' ORDER BY row, run_item.sample_number",
    )


def test_greedy_answers_are_an_oracles(registry: Registry, chat: Path) -> None:
    settings = Settings(limit=4, max_tokens=12)
    generated, _ = registry.run("sample_safety_zh", model=f"hf:{chat}", settings=settings)
    tokenizer = transformers.AutoTokenizer.from_pretrained(chat)
    exact = transformers.AutoModelForCausalLM.from_pretrained(chat).eval()
    found = answers(registry, generated.run_id)
    assert len(found) == 4
    for messages, text, reason, count in found:
        prompt = tokenizer.apply_chat_template(json.loads(messages), tokenize=False, add_generation_prompt=True)
        ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        written: list[int] = []
        while len(written) < 12 and tokenizer.eos_token_id not in written:
            with torch.no_grad():
                written.append(int(exact(input_ids=torch.tensor([[*ids, *written]])).logits[0, -1].argmax()))
        assert text == tokenizer.decode(written, skip_special_tokens=True)
        assert (reason, count) == ("stop" if tokenizer.eos_token_id in written else "length", len(written))


def test_drawn_answers_differ_by_sample_and_repeat_by_seed(registry: Registry, chat: Path, tmp_path: Path) -> None:
    settings = Settings(limit=2, max_tokens=8, temperature=1.0, samples=3, seed=7)
    first, _ = registry.run("sample_safety_zh", model=f"hf:{chat}", settings=settings)
    texts = [row[1] for row in answers(registry, first.run_id)]
    assert len(set(texts)) > 2
    other = Registry(tmp_path / "other.db")
    other.build("sample_safety_zh")
    again, _ = other.run("sample_safety_zh", model=f"hf:{chat}", settings=settings)
    assert [row[1] for row in answers(other, again.run_id)] == texts


def test_likelihoods_and_answers_are_of_one_model(registry: Registry, chat: Path) -> None:
    registry.run("sample_safety_zh", model=f"hf:{chat}", settings=Settings(limit=1, max_tokens=2))
    registry.build("sample_eagle")
    registry.score("sample_eagle", model=f"hf:{chat}", settings=Settings(limit=1))
    assert rows_of(registry, "SELECT count(DISTINCT model_fingerprint) FROM run") == [(1,)]


def test_a_request_that_does_not_fit_is_an_error_of_its_item(registry: Registry, chat: Path) -> None:
    settings = Settings(limit=2, max_tokens=600)
    generated, _ = registry.run("sample_safety_zh", model=f"hf:{chat}", settings=settings)
    assert generated.outcomes == {"error": 2}
    assert rows_of(registry, "SELECT DISTINCT error_code FROM response") == [("context_overflow",)]


def test_what_writes_no_answers_is_told(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "words.vec").write_text("1 2\na 1 2\n")
    with pytest.raises(ModelError, match="which writes no answers"):
        registry.run("sample_safety_zh", model=f"vectors:{tmp_path / 'words.vec'}")
