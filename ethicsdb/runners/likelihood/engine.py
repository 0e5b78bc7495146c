"""Requests in, scores out: encodes, batches, runs and puts the results together again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice

from ethicsdb.runners.likelihood.base import NOT_FINITE, Request, RequestScore, TargetScore, failed
from ethicsdb.runners.likelihood.batching import Budget, Row
from ethicsdb.runners.likelihood.causal import CausalRunner
from ethicsdb.runners.likelihood.encoding import Encoded
from ethicsdb.runners.likelihood.loading import Loaded
from ethicsdb.runners.likelihood.seq2seq import Seq2SeqRunner
from ethicsdb.schemas.errors import ModelError

__all__ = ["Scorer"]

WINDOW = 2048  # requests that are encoded and sorted together


class Scorer:
    """Scores targets under a loaded model.

    A score depends on its context and target alone: not on the other requests, nor on their order, nor on the budget
    (float32: to 2e-5 nats; 8-bit quantisation does depend on the batch, since its outlier columns do).
    """

    def __init__(self, loaded: Loaded, budget: Budget | None = None) -> None:
        """`budget` is how much goes through the model at once; by default what suits its device.

        Raises ModelError for a masked language model; see `masked`.
        """
        prepared = loaded.prepared
        if prepared.kind == "masked":
            raise ModelError(f"{prepared.spec.id} is a masked language model; it gives no likelihood of a text.")
        self._encoder = prepared.encoder
        budget = budget or Budget.of(prepared.device)
        self._runner: CausalRunner | Seq2SeqRunner
        if prepared.kind == "causal":
            self._runner = CausalRunner(loaded.model, budget, prepared.limit)
        else:
            self._runner = Seq2SeqRunner(loaded.model, budget)

    def score(self, requests: Iterable[Request]) -> Iterator[RequestScore]:
        """The scores of each request as soon as all its targets have run; in no particular order.

        Requests are taken from the iterable a window at a time.
        """
        left = iter(requests)
        while window := list(islice(left, WINDOW)):
            yield from self._window(window)

    def _window(self, requests: list[Request]) -> Iterator[RequestScore]:
        pending = [_Pending(request, self._encoder.encode(request)) for request in requests]
        rows = [Row((at, number), target) for at, each in enumerate(pending) for number, target in each.open.items()]
        yield from (each.finished() for each in pending if not each.open)
        for scored in self._runner.run(rows):
            touched = dict.fromkeys(at for at, _ in scored)
            for (at, number), total in scored.items():
                pending[at].put(number, total)
            yield from (pending[at].finished() for at in touched if not pending[at].open)


class _Pending:
    """A request with the outcomes it has and the targets that still run."""

    def __init__(self, request: Request, targets: list[Encoded | TargetScore]) -> None:
        self._id = request.id
        self.open = {at: each for at, each in enumerate(targets) if isinstance(each, Encoded)}
        self._scores = [each if isinstance(each, TargetScore) else None for each in targets]

    def put(self, number: int, total: float) -> None:
        target = self.open.pop(number)
        known = math.isfinite(total)
        self._scores[number] = TargetScore(total, target.scored, target.flags) if known else failed(NOT_FINITE)

    def finished(self) -> RequestScore:
        return RequestScore(self._id, tuple(score for score in self._scores if score is not None))
