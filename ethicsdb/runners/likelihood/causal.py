"""Scoring with a causal model: one pass over whole rows, or one over shared contexts and one over what follows them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ethicsdb.runners.likelihood.batching import Batch, Budget, Group, Row, chunks, groups, plan
from ethicsdb.runners.likelihood.caches import Held, held_bytes, is_plain, lay, new_cache
from ethicsdb.runners.likelihood.logits import token_logprobs

__all__ = ["CausalRunner"]

Scored = dict[tuple[int, int], float]


@dataclass(frozen=True)
class _Following:
    """A row that goes on from a context that was read, with the log-probability of what was scored there."""

    row: Row
    held: Held
    place: int
    begun: float

    @property
    def left(self) -> int:
        """Ids that are still to be read."""
        return len(self.row.encoded.ids) - 1 - self.held.shared


class CausalRunner:
    """Runs batches through a causal model.

    A context that several targets share is read once and its key-value cache laid under every target. That needs a
    cache that is nothing but keys and values by position: models with recurrent layers read every row whole.
    """

    def __init__(self, model: Any, budget: Budget, limit: int) -> None:
        """The model must be in evaluation mode; `limit` is the most tokens that it reads at once."""
        self._model = model
        self._budget = budget
        self._limit = limit
        self._vocabulary = int(model.config.get_text_config().vocab_size)
        self._takes = frozenset(inspect.signature(model.forward).parameters)
        self._flattens = self._logits_by_mask()
        self.shares = self._cache_is_plain()

    def run(self, rows: Sequence[Row]) -> Iterator[Scored]:
        """Summed log-probabilities by owner, in nats, a batch at a time."""
        waiting: list[_Following] = []
        for batch in plan(groups(rows), self._budget, self._vocabulary, share=self.shares):
            if not batch.shared:
                yield self._whole([group.rows[0] for group in batch.groups])
                continue
            scored, following = self._begin(batch)
            if waiting and not self._fit_together([*waiting, *following]):
                yield self._follow(waiting)
                waiting = []
            waiting += following
            yield scored
        if waiting:
            yield self._follow(waiting)

    def _fit_together(self, following: list[_Following]) -> bool:
        """Whether rows may wait for one pass: their contexts for memory's sake, and padded rows for the limit's."""
        contexts = {(id(each.held), each.place): held_bytes(each.held) for each in following}
        longest = max(each.held.shared for each in following) + max(each.left for each in following)
        tokens = sum(each.left for each in following)
        return (
            longest <= self._limit
            and tokens <= self._budget.tokens
            and sum(contexts.values()) <= self._budget.cache_bytes
        )

    def _whole(self, rows: list[Row]) -> Scored:
        return dict(zip([row.owner for row in rows], self._sums(rows, [0] * len(rows), None), strict=True))

    def _begin(self, batch: Batch) -> tuple[Scored, list[_Following]]:
        """Read the shared ids of each group: the rows that are scored by that alone, and those that go on."""
        import torch

        cache = new_cache(self._model)
        ids = torch.tensor([group.rows[0].encoded.ids[: batch.shared] for group in batch.groups])
        wanted = torch.zeros_like(ids, dtype=torch.bool)
        wanted[:, -1] = True
        with torch.inference_mode():
            logits = self._logits(ids, torch.ones_like(ids), wanted, cache)
        held = Held(cache, batch.shared, len(batch.groups))
        scored: Scored = {}
        following = []
        for place, group in enumerate(batch.groups):
            first = self._first_tokens(group, batch.shared, logits[place])
            for row in group.rows:
                begun = first.get(row.owner, 0.0)
                each = _Following(row, held, place, begun)
                if each.left:
                    following.append(each)
                else:
                    scored[row.owner] = begun
        return scored, following

    def _first_tokens(self, group: Group, shared: int, logits: Any) -> Scored:
        """Log-probability of the first token of every target that begins right after the shared ids."""
        import torch

        rows = [row for row in group.rows if row.encoded.start == shared]
        if not rows:
            return {}
        targets = torch.tensor([[row.encoded.ids[shared] for row in rows]])
        with torch.inference_mode():
            found = token_logprobs(logits[None], targets)[0]
        return dict(zip([row.owner for row in rows], found.tolist(), strict=True))

    def _follow(self, waiting: list[_Following]) -> Scored:
        """Read what follows the contexts."""
        by_owner = {each.row.owner: each for each in waiting}
        skipped = {owner: each.held.shared for owner, each in by_owner.items()}
        bytes_a_row = max(held_bytes(each.held) for each in waiting)
        most = max(1, self._budget.cache_bytes // max(1, bytes_a_row))
        scored: Scored = {}
        for part in chunks([each.row for each in waiting], self._budget, self._vocabulary, skipped):
            for at in range(0, len(part), most):
                rows = part[at : at + most]
                going = [by_owner[row.owner] for row in rows]
                cache = lay([(each.held, each.place) for each in going])
                sums = self._sums(rows, [each.held.shared for each in going], cache)
                scored.update({each.row.owner: each.begun + total for each, total in zip(going, sums, strict=True)})
        return scored

    def _sums(self, rows: Sequence[Row], skips: list[int], cache: Any) -> list[float]:
        """Summed log-probability of each row's scored ids that are predicted from its position `skip` on; the ids
        before that are in the cache, which is as long as the largest skip."""
        import torch

        size = max(len(row.encoded.ids) - 1 - skip for row, skip in zip(rows, skips, strict=True))
        past = max(skips)
        ids = torch.zeros((len(rows), size), dtype=torch.long)
        mask = torch.zeros((len(rows), past + size), dtype=torch.long)
        wanted = torch.zeros((len(rows), size), dtype=torch.bool)
        targets: list[int] = []
        counts = []
        for at, (row, skip) in enumerate(zip(rows, skips, strict=True)):
            read = row.encoded.ids[skip:-1]
            begin = max(row.encoded.start - 1, skip)  # position that predicts the first id scored here
            ids[at, : len(read)] = torch.tensor(read)
            mask[at, past - skip : past + len(read)] = 1
            wanted[at, begin - skip : len(read)] = True
            targets += row.encoded.ids[begin + 1 :]
            counts.append(len(row.encoded.ids) - 1 - begin)
        with torch.inference_mode():
            positions = torch.tensor(skips)[:, None] + torch.arange(size)
            found = token_logprobs(self._logits(ids, mask, wanted, cache, positions), torch.tensor(targets))
        return [float(part.sum()) for part in found.cpu().split(counts)]

    def _logits(self, ids: Any, mask: Any, wanted: Any, cache: Any, positions: Any = None) -> Any:
        """Logits at the wanted positions, row by row, [wanted, vocabulary].

        `wanted` stays on the processor, since the layers of a large model may lie on several devices. Positions count
        from 0 where none are given.
        """
        import torch

        device = self._model.device
        given: dict[str, Any] = {"input_ids": ids.to(device), "attention_mask": mask.to(device), "use_cache": False}
        if cache is not None:
            given["use_cache"] = True
            given["cache" if "cache" in self._takes else "past_key_values"] = cache
        if "position_ids" in self._takes:
            from_start = torch.arange(ids.shape[1]).expand(len(ids), -1)
            given["position_ids"] = (from_start if positions is None else positions).to(device)
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

    def _cache_is_plain(self) -> bool:
        import torch

        if not {"cache", "past_key_values"} & self._takes:
            return False
        cache = new_cache(self._model)
        if not is_plain(cache):
            return False
        ids = torch.tensor([[0, 1]])
        with torch.inference_mode():
            self._logits(ids, torch.ones_like(ids), ids == 1, cache)
        return is_plain(cache) and any(layer.is_initialized for layer in cache.layers)
