"""Scoring with an encoder-decoder model: each context once through the encoder, its targets through the decoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ethicsdb.runners.likelihood.batching import Budget, Row, chunks
from ethicsdb.runners.likelihood.logits import token_logprobs

__all__ = ["Seq2SeqRunner"]

Scored = dict[tuple[int, int], float]
Source = tuple[int, ...]


class Seq2SeqRunner:
    """Runs batches through an encoder-decoder model, contexts padded on the right and masked, longest first."""

    def __init__(self, model: Any, budget: Budget) -> None:
        """The model must be in evaluation mode."""
        self._model = model
        self._budget = budget
        self._vocabulary = int(model.config.get_text_config().vocab_size)

    def run(self, rows: Sequence[Row]) -> Iterator[Scored]:
        """Summed log-probabilities by owner, in nats, a batch of contexts at a time."""
        import torch

        by_source: dict[Source, list[Row]] = {}
        for row in rows:
            by_source.setdefault(row.encoded.source, []).append(row)
        for sources in self._source_batches(by_source):
            with torch.inference_mode():
                yield self._batch(sources, [by_source[source] for source in sources])

    def _source_batches(self, sources: Iterable[Source]) -> list[list[Source]]:
        batches: list[list[Source]] = []
        for source in sorted(sources, key=lambda source: -len(source)):
            if not batches or (len(batches[-1]) + 1) * len(batches[-1][0]) > self._budget.tokens:
                batches.append([])
            batches[-1].append(source)
        return batches

    def _batch(self, sources: list[Source], targets: list[list[Row]]) -> Scored:
        import torch

        ids, mask = _padded([list(source) for source in sources])
        ids, mask = ids.to(self._model.device), mask.to(self._model.device)
        states = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        rows = [row for group in targets for row in group]
        places = {row.owner: place for place, group in enumerate(targets) for row in group}
        # Every row carries its context's states, which counts as reading some of it again.
        scored: Scored = {}
        carried = {row.owner: -(ids.shape[1] // 4) for row in rows}
        for part in chunks(rows, self._budget, self._vocabulary, carried):
            index = torch.tensor([places[row.owner] for row in part], device=states.device)
            sums = self._sums(part, states[index], mask[index])
            scored.update(zip([row.owner for row in part], sums, strict=True))
        return scored

    def _sums(self, rows: Sequence[Row], states: Any, mask: Any) -> list[float]:
        """Summed log-probability of each row's scored ids, given the encoder's states of its context."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        ids, read = _padded([row.encoded.ids[:-1] for row in rows])
        wanted = torch.zeros_like(read, dtype=torch.bool)
        for at, row in enumerate(rows):
            wanted[at, row.encoded.start - 1 : len(row.encoded.ids) - 1] = True
        logits = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=mask,
            decoder_input_ids=ids.to(states.device),
            decoder_attention_mask=read.to(states.device),
            use_cache=False,
        ).logits
        targets = [token for row in rows for token in row.encoded.ids[row.encoded.start :]]
        found = token_logprobs(logits[wanted], torch.tensor(targets))
        return [float(part.sum()) for part in found.cpu().split([row.encoded.scored for row in rows])]


def _padded(rows: list[list[int]]) -> tuple[Any, Any]:
    """Ids padded with 0 on the right, and the mask that tells ids from padding."""
    import torch

    ids = torch.zeros((len(rows), max(len(row) for row in rows)), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[at, : len(row)] = 1
    return ids, mask
