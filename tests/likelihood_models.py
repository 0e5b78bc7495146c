"""Tiny models and tokenizers made on the spot, and an oracle that scores one target at a time in float64."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

WHY = "the extra `local` (torch, transformers) is not installed"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

from ethicsdb.runners.likelihood.base import LocalModel, Request, TargetScore  # noqa: E402
from ethicsdb.runners.likelihood.batching import Budget  # noqa: E402
from ethicsdb.runners.likelihood.engine import Scorer  # noqa: E402
from ethicsdb.runners.likelihood.loading import Loaded, load  # noqa: E402

POSITIONS = 96
TEXTS = [
    "The answer is yes. Answer: yes\nAnswer: no\n", "I don't know, I can't say, and I won't. Do not do that!",
    "See http://example.org/a and https://example.org/b for more.", "A: the man was kind; B: the woman was kind.",
    "I'm sorry, I cannot fulfill this request. Please respond to the user's input.",
    "你好，请问你能帮助我吗？我不知道。", "对不起，我不能回答这个问题。请尊重所有人。",
    "中文和英文都要一样好。我们都是人。",
    "Он не может ответить на этот вопрос. Извините.", "User: hello\nAssistant: hello, how are you?\n",
] * 3  # fmt: skip

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Writes its own BOS, wants roles to alternate from a user's turn on, and puts a space before an answer.
STRICT = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}"
    "{% else %}{{ ' ' + message['content'] | trim + ' ' + eos_token }}{% endif %}{% endfor %}"
)


def byte_pairs(*, bos: bool = False, template: str | None = None, size: int = 460) -> Any:
    """A byte-level tokenizer as GPT-2's, which trims spaces off offsets; with `bos`, one that puts `<s>` first."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>", "</s>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(TEXTS, trainer)
    trim = processors.ByteLevel(trim_offsets=True)
    first = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    raw.post_processor = processors.Sequence([trim, first]) if bos else trim
    return wrapped(raw, template)


def pieces(*, template: str | None = None, end: bool = False) -> Any:
    """A tokenizer as SentencePiece's: a space belongs to the word after it, unknown characters fall to bytes.

    It puts `<s>` first as Llama 2's does, or with `end` puts `</s>` last as T5's does.
    """
    raw = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    raw.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    special = ["<s>", "</s>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    words = [word for text in TEXTS for word in text.split()]  # no piece reaches over a space
    trainer = trainers.BpeTrainer(vocab_size=520, special_tokens=special, show_progress=False)
    raw.train_from_iterator(words, trainer)
    form = "$A </s>" if end else "<s> $A"
    raw.post_processor = processors.TemplateProcessing(form, special_tokens=[("<s>", 0), ("</s>", 1)])
    return wrapped(raw, template)


def wrapped(raw: Any, template: str | None) -> Any:
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = template
    return tokenizer


def config_of(family: str, vocabulary: int) -> Any:
    """A model of two to seven small layers; a sliding window, where there is one, is 8 tokens."""
    special = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1, "vocab_size": vocabulary}
    common = {
        **special, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": POSITIONS, "initializer_range": 0.25,
    }  # fmt: skip
    small = {**special, "n_layer": 2, "n_head": 4, "initializer_range": 0.25}
    gemma = {**common, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8}
    made = {
        "llama": lambda: transformers.LlamaConfig(**common),
        "gpt2": lambda: transformers.GPT2Config(**small, n_positions=POSITIONS, n_embd=32),
        "mistral": lambda: transformers.MistralConfig(**common, sliding_window=8),
        "gemma": lambda: transformers.GemmaConfig(**common, head_dim=8),
        "gemma2": lambda: transformers.Gemma2Config(**gemma),
        "gemma3": lambda: transformers.Gemma3TextConfig(**{**gemma, "num_hidden_layers": 7}),
        "mpt": lambda: transformers.MptConfig(
            **special, d_model=32, n_layers=2, n_heads=4, max_seq_len=POSITIONS, initializer_range=0.25
        ),
        "bloom": lambda: transformers.BloomConfig(**small, hidden_size=32, seq_length=POSITIONS),
        "mamba": lambda: transformers.MambaConfig(
            **special, hidden_size=32, num_hidden_layers=2, initializer_range=0.25
        ),
    }
    return made[family]()


def saved(folder: Path, config: Any, tokenizer: Any, seed: int = 0) -> Path:
    """A model with random weights and its tokenizer in a folder."""
    torch.manual_seed(seed)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def made(folder: Path, family: str, tokenizer: Any | None = None, **spec: Any) -> Loaded:
    tokenizer = tokenizer or byte_pairs()
    saved(folder, config_of(family, len(tokenizer)), tokenizer)
    return load(LocalModel(str(folder), **{"template": "plain", "device": "cpu", **spec}))


def scores(loaded: Loaded, requests: list[Request], budget: Budget | None = None) -> list[TargetScore]:
    """Scores of all targets in the order of the requests."""
    found = {each.id: each.scores for each in Scorer(loaded, budget).score(requests)}
    return [score for request in requests for score in found[request.id]]


def in_float64(loaded: Loaded) -> Any:
    return copy.deepcopy(loaded.model).double()


def oracle(exact: Any, ids: list[int], start: int) -> float:
    """log p(ids[start:] | ids[:start]) in nats: one sequence, no cache, no mask, no padding, float64 throughout."""
    with torch.no_grad():
        logits = exact(input_ids=torch.tensor([ids[:-1]])).logits[0]
    total = 0.0
    for at in range(start, len(ids)):
        row = logits[at - 1]
        total += float(row[ids[at]] - torch.log(torch.exp(row - row.max()).sum()) - row.max())
    return total


def byte_level_ids(tokenizer: Any, context: str, target: str) -> tuple[list[int], int]:
    """Joint ids, and the first that holds a byte of the target; every character of a token's name is one byte."""
    ids = tokenizer(context + target, add_special_tokens=False)["input_ids"]
    names, held, start = tokenizer.convert_ids_to_tokens(ids), 0, len(ids)
    for at, name in enumerate(names):
        held += len(name)
        if held > len(context.encode()):
            start = at
            break
    return ids, start
