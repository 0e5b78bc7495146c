"""How many tokens a model reads, by its configuration, its tokenizer and its own tables of positions."""

from __future__ import annotations

from typing import Any

__all__ = ["configured_limit", "readable_tokens", "table_positions"]

DEFAULT_LIMIT = 2048  # tokens, for models that name no limit (relative positions only)
_LIMITS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_seq_length", "seq_length")
_SANE = 10**9  # tokenizers without a limit say 10**30


def configured_limit(config: Any, tokenizer: Any) -> int:
    """The configuration's positions; a tokenizer's own limit may be 10**30 or a leftover of fine-tuning."""
    text = config.get_text_config()
    for name in _LIMITS:
        value = getattr(text, name, None)
        if isinstance(value, int) and value > 0:
            return value
    own = tokenizer.model_max_length
    return int(own) if own < _SANE else DEFAULT_LIMIT


def table_positions(model: Any) -> float:
    """How many positions a model has for tokens, infinity where they are no table.

    RoBERTa and its relatives (CamemBERT, MPNet, Longformer, ...) count from behind the padding's position, so that the
    configuration's number is too large by two.
    """
    import torch

    tables = [
        module
        for name, module in model.named_modules()
        if name.rpartition(".")[2] == "position_embeddings" and isinstance(module, torch.nn.Embedding)
    ]
    starts = [0 if table.padding_idx is None else table.padding_idx + 1 for table in tables]
    counts = [table.num_embeddings - start for table, start in zip(tables, starts, strict=True)]
    return min(counts, default=float("inf"))


def readable_tokens(model: Any, tokenizer: Any) -> int:
    """The most tokens of a text that an encoder or classifier reads: the least of all limits that are told.

    A tokenizer's limit counts here, unlike for likelihoods: it is what its authors trained the encoder to read.
    """
    return int(min(tokenizer.model_max_length, configured_limit(model.config, tokenizer), table_positions(model)))
