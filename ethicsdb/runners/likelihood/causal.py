"""Scoring with a causal model: one pass over whole rows, or one over shared contexts and one over what follows them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from ethicsdb.runners.likelihood.batching import Batch, Budget, Group, Row, chunks, groups, plan
from ethicsdb.runners.likelihood.logits import token_logprobs

__all__ = ["CausalRunner"]

Scored = dict[tuple[int, int], float]


class CausalRunner:
    """Runs batches through a causal model.

    A context that several targets share is read once and its key-value cache laid under every target. That needs a
    cache that is nothing but keys and values by position: models with recurrent layers read every row whole.
    """

    def __init__(self, model: Any, budget: Budget) -> None:
        """The model must be in evaluation mode."""
        self._model = model
        self._budget = budget
        self._vocabulary = int(model.config.get_text_config().vocab_size)
        self._takes = frozenset(inspect.signature(model.forward).parameters)
        self._flattens = self._logits_by_mask()
        self.shares = self._cache_is_plain()

    def run(self, rows: Sequence[Row]) -> Iterator[Scored]:
        """Summed log-probabilities by owner, in nats, a batch at a time."""
        import torch

        for batch in plan(groups(rows), self._budget, self._vocabulary, share=self.shares):
            with torch.inference_mode():
                yield self._split(batch) if batch.shared else self._whole(batch)

    def _whole(self, batch: Batch) -> Scored:
        rows = [group.rows[0] for group in batch.groups]
        return dict(zip([row.owner for row in rows], self._sums(rows, 0, None), strict=True))

    def _split(self, batch: Batch) -> Scored:
        cache = self._new_cache()
        first = self._read_contexts(batch, cache)
        scored: Scored = {}
        following: list[tuple[Row, int]] = []  # rows with more to read, and the place of their context
        for place, group in enumerate(batch.groups):
            begun = self._first_tokens(group, batch.shared, first[place])
            scored.update(begun)
            following += [(row, place) for row in group.rows if len(row.encoded.ids) - 1 > batch.shared]
        places = {row.owner: place for row, place in following}
        for part in self._row_chunks([row for row, _ in following], batch, cache):
            laid = _laid(cache, [places[row.owner] for row in part], len(batch.groups))
            for row, total in zip(part, self._sums(part, batch.shared, laid), strict=True):
                scored[row.owner] = scored.get(row.owner, 0.0) + total
        return scored

    def _row_chunks(self, rows: list[Row], batch: Batch, cache: Any) -> list[list[Row]]:
        held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers if layer.is_initialized)
        a_row = max(1, held // len(batch.groups))
        most = max(1, self._budget.cache_bytes // a_row)
        parts = chunks(rows, -batch.shared - 1, self._budget, self._vocabulary)
        return [part[at : at + most] for part in parts for at in range(0, len(part), most)]

    def _read_contexts(self, batch: Batch, cache: Any) -> Any:
        """Read the shared ids into the cache; the logits after the last of them, [contexts, vocabulary]."""
        import torch

        ids = torch.tensor([group.rows[0].encoded.ids[: batch.shared] for group in batch.groups])
        wanted = torch.zeros_like(ids, dtype=torch.bool)
        wanted[:, -1] = True
        return self._logits(ids, torch.ones_like(ids), wanted, cache)

    def _first_tokens(self, group: Group, shared: int, logits: Any) -> Scored:
        """Log-probability of the first token of every target that begins right after the shared ids."""
        import torch

        rows = [row for row in group.rows if row.encoded.start == shared]
        if not rows:
            return {}
        targets = torch.tensor([[row.encoded.ids[shared] for row in rows]])
        found = token_logprobs(logits[None], targets)[0]
        return dict(zip([row.owner for row in rows], found.tolist(), strict=True))

    def _sums(self, rows: Sequence[Row], skip: int, cache: Any) -> list[float]:
        """Summed log-probability of each row's scored ids that are predicted from position `skip` on."""
        import torch

        size = max(len(row.encoded.ids) for row in rows) - 1 - skip
        ids = torch.zeros((len(rows), size), dtype=torch.long)
        mask = torch.zeros((len(rows), skip + size), dtype=torch.long)
        wanted = torch.zeros((len(rows), size), dtype=torch.bool)
        targets: list[int] = []
        counts = []
        for at, row in enumerate(rows):
            read = row.encoded.ids[skip:-1]
            begin = max(row.encoded.start - 1, skip)  # position that predicts the first id scored here
            ids[at, : len(read)] = torch.tensor(read)
            mask[at, : skip + len(read)] = 1
            wanted[at, begin - skip : len(read)] = True
            targets += row.encoded.ids[begin + 1 :]
            counts.append(len(row.encoded.ids) - 1 - begin)
        found = token_logprobs(self._logits(ids, mask, wanted, cache), torch.tensor(targets))
        return [float(part.sum()) for part in found.cpu().split(counts)]

    def _logits(self, ids: Any, mask: Any, wanted: Any, cache: Any) -> Any:
        """Logits at the wanted positions, row by row, [wanted, vocabulary].

        `wanted` stays on the processor, since the layers of a large model may lie on several devices.
        """
        import torch

        device = self._model.device
        given: dict[str, Any] = {"input_ids": ids.to(device), "attention_mask": mask.to(device), "use_cache": False}
        if cache is not None:
            given["use_cache"] = True
            given["cache" if "cache" in self._takes else "past_key_values"] = cache
        if "position_ids" in self._takes:
            past = mask.shape[1] - ids.shape[1]
            given["position_ids"] = torch.arange(past, mask.shape[1], device=device).expand(len(ids), -1)
        if self._flattens:
            return self._model(**given, logits_to_keep=wanted).logits
        if "logits_to_keep" not in self._takes:
            return self._model(**given).logits[wanted]
        columns = wanted.any(dim=0).nonzero().squeeze(-1)
        return self._model(**given, logits_to_keep=columns).logits[wanted[:, columns]]

    def _logits_by_mask(self) -> bool:
        """Whether `logits_to_keep` takes a mask, one position more or less a row; older models take only columns."""
        import torch

        if "logits_to_keep" not in self._takes:
            return False
        ids = torch.tensor([[0, 1], [1, 0]], device=self._model.device)
        mask = torch.tensor([[False, True], [True, True]])
        try:
            with torch.inference_mode():
                logits = self._model(input_ids=ids, logits_to_keep=mask, use_cache=False).logits
        except (IndexError, RuntimeError, TypeError, ValueError):
            return False
        return logits.ndim == 2 and len(logits) == 3

    def _new_cache(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._model.config)

    def _cache_is_plain(self) -> bool:
        import torch
        from transformers import cache_utils

        plain = (cache_utils.DynamicLayer, cache_utils.DynamicSlidingWindowLayer)
        if not {"cache", "past_key_values"} & self._takes:
            return False
        cache = self._new_cache()
        if any(type(layer) not in plain for layer in cache.layers):
            return False
        ids = torch.tensor([[0, 1]])
        with torch.inference_mode():
            self._logits(ids, torch.ones_like(ids), ids == 1, cache)
        return any(layer.is_initialized for layer in cache.layers) and all(
            type(layer) in plain for layer in cache.layers
        )


def _laid(cache: Any, places: list[int], contexts: int) -> Any:
    """A cache with one row for every place, the row of the context at that place; the given one stays as it is."""
    import torch

    laid = copy.copy(cache)
    laid.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in laid.layers:
        if not layer.is_initialized:
            continue
        for name in ("keys", "values"):
            held = getattr(layer, name)
            # Of one context a view is enough: the cache grows by concatenation, which copies.
            index = torch.tensor(places, device=held.device)
            setattr(layer, name, held.expand(len(places), -1, -1, -1) if contexts == 1 else held[index])
    return laid
