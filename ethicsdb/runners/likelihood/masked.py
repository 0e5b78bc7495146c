"""Pseudo-log-likelihoods by masked language models: each token given all the others, one mask at a time.

Of a pair of sentences the tokens that both share are summed: score(S) = sum over shared tokens t of
log P(t | all other tokens of S), so that two sentences are compared by how well each one's own words let the shared
ones be guessed (Nangia et al. 2020, section 3). Special tokens are never masked. This is no likelihood of a text, and
has a benchmark of its own.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ethicsdb.runners.likelihood.base import (
    EMPTY_TARGET,
    LONE_SURROGATE,
    NOT_FINITE,
    TARGET_TOO_LONG,
    Request,
    RequestScore,
    TargetScore,
    failed,
)
from ethicsdb.runners.likelihood.batching import Budget
from ethicsdb.runners.likelihood.logits import token_logprobs
from ethicsdb.runners.likelihood.positions import table_positions
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.text import has_surrogate

if TYPE_CHECKING:
    from ethicsdb.runners.likelihood.loading import Loaded

__all__ = ["MaskedScorer"]

WINDOW = 64  # requests that are sorted together and kept together; each of their shared tokens is a row


@dataclass
class _Target:
    """A text with its special tokens, the positions to mask, and the sum so far."""

    ids: list[int]
    masked: list[int]
    total: float = 0.0
    left: int = 0


class MaskedScorer:
    """Scores the tokens that texts share with those beside them, whatever else is in a batch (to 2e-5 nats)."""

    def __init__(self, loaded: Loaded, budget: Budget | None = None) -> None:
        """Raises ModelError for a tokenizer that has no mask."""
        prepared = loaded.prepared
        mask = prepared.tokenizer.mask_token_id
        if mask is None:
            raise ModelError(f"{prepared.spec.id}: its tokenizer has no token for a mask.")
        self._mask = int(mask)
        self._model = loaded.model
        self._tokens = prepared.encoder.tokens
        # An unknown word is a word of the text; a separator or mask that the text spells out is not.
        self._special = set(prepared.tokenizer.all_special_ids) - {prepared.tokenizer.unk_token_id}
        self._limit = min(prepared.limit, table_positions(loaded.model))
        budget = budget or Budget.of(prepared.device)
        self._budget = min(budget.tokens, budget.positions(int(prepared.config.vocab_size)))

    def score(self, requests: Iterable[Request]) -> Iterator[RequestScore]:
        """The scores of each request once all its targets have run, a window of requests at a time."""
        left = iter(requests)
        while window := list(islice(left, WINDOW)):
            found = [[self._target(request, text) for text in request.targets] for request in window]
            self._run([target for each in found for target in each if isinstance(target, _Target)])
            for request, targets in zip(window, found, strict=True):
                yield RequestScore(request.id, tuple(_scored(target) for target in targets))

    def _target(self, request: Request, text: str) -> _Target | TargetScore:
        if request.beside is None:
            raise ModelError("A masked language model scores the tokens that two sentences share, and there is one.")
        if has_surrogate(text) or has_surrogate(request.beside):
            return failed(LONE_SURROGATE)
        ids, shared = self._shared(text, request.beside)
        masked = [at for at in shared if ids[at] not in self._special]
        if not masked:
            return failed(EMPTY_TARGET)
        prefix, suffix = self._tokens.prefix, self._tokens.suffix
        whole = [*prefix, *ids, *suffix]
        if len(whole) > self._limit:
            return failed(TARGET_TOO_LONG, f"{len(whole)} tokens, and the model reads {self._limit}")
        return _Target(whole, [len(prefix) + at for at in masked], left=len(masked))

    def _shared(self, text: str, beside: str) -> tuple[list[int], list[int]]:
        """The ids of a text, and the positions of those that it shares with another, by their longest common blocks.

        Both sentences of a pair are matched in one order, so that each has as many shared tokens as the other.
        """
        turned = text > beside
        one, two = (self._tokens.ids(each) for each in ((beside, text) if turned else (text, beside)))
        blocks = difflib.SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks()
        starts = [(block.b if turned else block.a, block.size) for block in blocks]
        shared = [at for start, size in starts for at in range(start, start + size)]
        return (two if turned else one), shared

    def _run(self, targets: Sequence[_Target]) -> None:
        """Add up what every mask hides, the longest texts first."""
        rows = [(target, at) for target in targets for at in target.masked]
        rows.sort(key=lambda row: -len(row[0].ids))
        while rows:
            count = max(1, self._budget // len(rows[0][0].ids))
            self._batch(rows[:count])
            rows = rows[count:]

    def _batch(self, rows: Sequence[tuple[_Target, int]]) -> None:
        import torch

        ids = torch.zeros((len(rows), len(rows[0][0].ids)), dtype=torch.long)
        read = torch.zeros_like(ids)
        for number, (target, at) in enumerate(rows):
            ids[number, : len(target.ids)] = torch.tensor(target.ids)
            ids[number, at] = self._mask
            read[number, : len(target.ids)] = 1
        device = self._model.device
        with torch.inference_mode():
            logits: Any = self._model(input_ids=ids.to(device), attention_mask=read.to(device)).logits
        places = torch.tensor([at for _, at in rows])
        hidden = torch.tensor([target.ids[at] for target, at in rows])
        found = token_logprobs(logits[torch.arange(len(rows)), places], hidden).tolist()
        for (target, _), value in zip(rows, found, strict=True):
            target.total += value
            target.left -= 1


def _scored(target: _Target | TargetScore) -> TargetScore:
    if isinstance(target, TargetScore):
        return target
    known = target.total == target.total and abs(target.total) != float("inf")
    return TargetScore(target.total, len(target.masked)) if known else failed(NOT_FINITE)
