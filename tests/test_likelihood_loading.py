"""Which model is loaded, what its fingerprint is made of, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from likelihood_models import CHATML, byte_pairs, config_of, made, saved, scores, torch, transformers

from ethicsdb.runners.likelihood.base import LocalModel, Request
from ethicsdb.runners.likelihood.engine import Scorer
from ethicsdb.runners.likelihood.loading import load, prepare
from ethicsdb.schemas.errors import ModelError

ASKED = [Request("1", "User: hello\nAssistant: hello, how are you?\nAnswer:", (" yes", " no, I don't know."))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = byte_pairs(template=CHATML)
    return saved(tmp_path / "model", config_of("llama", len(tokenizer)), tokenizer)


@pytest.mark.parametrize("revision", [None, "", "main"])
def test_a_hub_id_needs_a_pinned_revision(revision: str | None) -> None:
    with pytest.raises(ModelError, match="pinned revision"):
        prepare(LocalModel("gpt2", revision=revision))


@pytest.mark.parametrize("name", ["/no/such/model", "./none", "~/none-at-all"])
def test_a_path_that_is_none_is_not_looked_for_on_the_hub(name: str) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        prepare(LocalModel(name, revision="0" * 40))


def test_a_hub_id_is_taken_from_the_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, cache = "0123456789abcdef" * 2 + "01234567", tmp_path / "cache"
    snapshot = cache / "models--some--model" / "snapshots" / commit
    snapshot.parent.mkdir(parents=True)
    folder.rename(snapshot)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    loaded = load(LocalModel("some/model", revision=commit, device="cpu"))
    assert loaded.prepared.parts == prepare(LocalModel(str(snapshot))).parts
    with pytest.raises(ModelError, match=r"some/other@v1 can't be had from the Hugging Face Hub"):
        prepare(LocalModel("some/other", revision="v1"))


def test_a_folder_needs_weights(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ModelError, match="holds no weights"):
        prepare(LocalModel(str(tmp_path)))
    with pytest.raises(ModelError, match=r"no file x\.gguf"):
        prepare(LocalModel(str(folder), gguf_file="x.gguf"))


def test_a_broken_configuration_is_one_sentence(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="can't be loaded"):
        prepare(LocalModel(str(folder)))


def test_masked_language_models_give_no_likelihood(tmp_path: Path) -> None:
    tokenizer = byte_pairs()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="masked language model"):
        Scorer(load(LocalModel(str(tmp_path))))


def test_weights_that_would_be_random_are_refused(tmp_path: Path) -> None:
    tokenizer = byte_pairs()
    transformers.LlamaModel(config_of("llama", len(tokenizer))).save_pretrained(tmp_path)  # no head
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="lack weights of LlamaForCausalLM"):
        load(LocalModel(str(tmp_path)))


def test_a_gpu_that_is_not_there_is_refused(folder: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ModelError, match="no GPU"):
        prepare(LocalModel(str(folder), device="cuda"))


def test_templates_are_chosen_as_asked(folder: Path, tmp_path: Path) -> None:
    chat, plain = (prepare(LocalModel(str(folder), template=each)) for each in ("auto", "plain"))
    assert chat.parts["chat_template"].startswith("blake2b-128:")
    assert plain.parts["chat_template"] == "plain-1"
    bare = saved(tmp_path / "bare", config_of("llama", 460), byte_pairs())
    assert prepare(LocalModel(str(bare))).parts["chat_template"] == "plain-1"
    with pytest.raises(ModelError, match="no chat template"):
        prepare(LocalModel(str(bare), template="chat"))


def test_the_parts_change_with_all_that_a_score_depends_on(folder: Path) -> None:
    spec = LocalModel(str(folder), device="cpu")
    parts = prepare(spec).parts
    assert json.loads(json.dumps(parts)) == parts
    assert parts["dtype"] == "float32"
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(parts["files"])
    changes: list[dict[str, Any]] = [
        {"dtype": "bfloat16"}, {"template": "plain"}, {"bos": "always"}, {"max_length": 10},
    ]  # fmt: skip
    for change in changes:
        assert prepare(dataclasses.replace(spec, **change)).parts != parts
    assert prepare(spec).parts == parts


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer_config.json", "config.json"])
def test_a_file_that_changed_is_hashed_again(folder: Path, name: str) -> None:
    spec = LocalModel(str(folder), device="cpu")
    before = prepare(spec).parts["files"]
    path = folder / name
    path.write_bytes(path.read_bytes() + (b" " if name.endswith("json") else b""))
    if not name.endswith("json"):
        weights = bytearray(path.read_bytes())
        weights[-1] ^= 1
        path.write_bytes(weights)
    after = prepare(spec).parts["files"]
    assert {each for each in before if before[each] != after[each]} == {name}


def test_a_folder_that_moved_is_the_same_model(folder: Path, tmp_path: Path) -> None:
    before = prepare(LocalModel(str(folder))).parts
    moved = folder.rename(tmp_path / "elsewhere")
    assert prepare(LocalModel(str(moved))).parts == before


@pytest.mark.parametrize(("quantisation", "close"), [("int8", 1.0), ("int4", 8.0)])
def test_bitsandbytes_scores_roughly_the_same(tmp_path: Path, quantisation: Any, close: float) -> None:
    pytest.importorskip("bitsandbytes", reason="the extra `local` (bitsandbytes) is not installed")
    exact = scores(made(tmp_path, "llama"), ASKED)
    loaded = load(LocalModel(str(tmp_path), template="plain", device="cpu", quantisation=quantisation))
    assert any("bit" in type(each).__name__.lower() for each in loaded.model.modules())
    assert loaded.prepared.parts["quantisation"] == quantisation
    for score, right in zip(scores(loaded, ASKED), exact, strict=True):
        assert score.logprob_sum == pytest.approx(right.logprob_sum, abs=close)
        assert score.logprob_sum != right.logprob_sum


def test_half_precision_is_taken_when_asked_for(folder: Path) -> None:
    loaded = load(LocalModel(str(folder), dtype="bfloat16", device="cpu"))
    assert loaded.model.dtype == torch.bfloat16
    assert all(score.error is None for score in scores(loaded, ASKED))


def test_loading_says_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    capfd.readouterr()
    load(LocalModel(str(folder), device="cpu"))
    assert tuple(capfd.readouterr()) == ("", "")
    assert logging.is_progress_bar_enabled()
