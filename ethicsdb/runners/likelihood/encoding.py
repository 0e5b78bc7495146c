"""From a request to token ids: the joint encoding of context and target, cut to what the model can read.

Which tokens are the target's (causal models): context and target are encoded as one text, and every token that holds at
least one character of the target counts, judged by character offsets. So a token that reaches over the join ("Answer: "
+ "yes" is `Answer`, `:`, ` yes` for most tokenizers; two Chinese characters may become one token) counts whole, is
conditioned on the tokens before it, and the target is never empty only because its text melted into the context.
Where the tokens before the first counted one are not those of the context alone, the score is flagged
`boundary_unstable`: it then includes the probability of the context's last characters.

An encoder-decoder model reads the context in its encoder and the target in its decoder, so nothing can melt.

Over the limit, the context loses its oldest turns, whole ones first; a leading system turn is kept. Where the last turn
alone is still too long, the oldest tokens after the beginning-of-sequence token go, a system turn's among them. Room is
made for each target by itself, so that a score depends on its context and target only. The target is never cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ethicsdb.runners.likelihood.base import (
    BOUNDARY_UNSTABLE,
    CONTEXT_TRUNCATED,
    EMPTY_TARGET,
    LONE_SURROGATE,
    NO_CONTEXT,
    TARGET_TOO_LONG,
    TEMPLATE_REFUSED,
    Context,
    Request,
    TargetScore,
    failed,
)
from ethicsdb.runners.likelihood.rendering import Refused, Rendered, Renderer
from ethicsdb.runners.likelihood.tokens import Tokens
from ethicsdb.schemas.text import has_surrogate

__all__ = ["CausalEncoder", "Encoded", "Encoder", "Seq2SeqEncoder"]


@dataclass(frozen=True)
class Encoded:
    """A target that is ready to be scored.

    Attributes:
        ids: what the model (an encoder-decoder's decoder) reads, and last the id that it only predicts: `ids[start:]`
            are scored, each given all ids before it.
        start: index of the first scored id, at least 1.
        source: what the encoder reads; empty for a causal model.
        context: equal for targets whose contexts are the same text cut in the same way.
        flags: see `base`.
    """

    ids: list[int]
    start: int
    source: tuple[int, ...]
    context: tuple[str, int]
    flags: frozenset[str]

    @property
    def scored(self) -> int:
        """How many ids are scored."""
        return len(self.ids) - self.start


class Encoder(ABC):
    """From requests to ids, for one model; the two kinds of model differ in where the context goes."""

    def __init__(self, tokens: Tokens, renderer: Renderer, limit: int) -> None:
        """`limit` is the most tokens that the model reads at once."""
        self.tokens = tokens
        self.renderer = renderer
        self.limit = limit

    def rendered(self, context: Context) -> str | None:
        """The whole text that stands before a target, nothing cut, to key scores by; None where the model's template
        does not take these turns."""
        try:
            return self.renderer.render(context).text
        except Refused:
            return None

    def encode(self, request: Request) -> list[Encoded | TargetScore]:
        """Each target ready to be scored, or the outcome that says why it can't be."""
        if _broken(request.context):
            return [failed(LONE_SURROGATE)] * len(request.targets)
        try:
            forms = _Forms(self.renderer, request.context)
        except Refused as refused:
            return [failed(TEMPLATE_REFUSED, str(refused))] * len(request.targets)
        return [self._target(forms, target) for target in request.targets]

    def _target(self, forms: _Forms, target: str) -> Encoded | TargetScore:
        if has_surrogate(target):
            return failed(LONE_SURROGATE)
        encoded = self._whole(forms.full, target)
        if isinstance(encoded, TargetScore) or self._excess(encoded) <= 0:
            return encoded
        dropped = self._fewest_dropped(forms, target)
        if dropped is not None:
            encoded = replace(dropped, flags=dropped.flags | {CONTEXT_TRUNCATED})
        excess = self._excess(encoded)
        return encoded if excess <= 0 else self._cut(encoded, excess)

    def _fewest_dropped(self, forms: _Forms, target: str) -> Encoded | None:
        """The longest form with fewer turns that fits, or else the shortest there is; None where no turn can go."""
        low, high, found = 0, len(forms.shorter) - 1, None
        while low <= high:
            middle = (low + high) // 2
            encoded = self._whole(forms.shorter[middle], target)
            fits = isinstance(encoded, Encoded) and self._excess(encoded) <= 0
            if isinstance(encoded, Encoded) and (fits or middle == len(forms.shorter) - 1):
                found = encoded
            low, high = (low, middle - 1) if fits else (middle + 1, high)
        return found

    @abstractmethod
    def _whole(self, form: Rendered, target: str) -> Encoded | TargetScore:
        """The target after an uncut context."""

    @abstractmethod
    def _excess(self, encoded: Encoded) -> int:
        """How many context tokens must go."""

    @abstractmethod
    def _cut(self, encoded: Encoded, excess: int) -> Encoded | TargetScore:
        """The same without that many of the oldest tokens of the context."""


class CausalEncoder(Encoder):
    """Context and target as one text."""

    def _whole(self, form: Rendered, target: str) -> Encoded | TargetScore:
        ids, start = self.tokens.split(form.text + target, len(form.text))
        if not target or start == len(ids):
            return failed(EMPTY_TARGET)
        stable = any(ids[:start] == self.tokens.ids(text) for text in {form.settled, form.text})
        lead: tuple[int, ...] = () if self.tokens.lead(ids[:start]) else self.tokens.prefix
        if not start and not lead:
            if self.tokens.start is None:
                return failed(NO_CONTEXT)
            lead = (self.tokens.start,)
        flags = frozenset() if stable else frozenset({BOUNDARY_UNSTABLE})
        return Encoded([*lead, *ids], start + len(lead), (), (form.text, 0), flags)

    def _excess(self, encoded: Encoded) -> int:
        return len(encoded.ids) - 1 - self.limit  # the last id is predicted, not read

    def _cut(self, encoded: Encoded, excess: int) -> Encoded | TargetScore:
        kept = self.tokens.lead(encoded.ids)
        if encoded.start - excess < max(kept, 1):
            return failed(TARGET_TOO_LONG)
        ids = encoded.ids[:kept] + encoded.ids[kept + excess :]
        context = (encoded.context[0], excess)
        flags = encoded.flags | {CONTEXT_TRUNCATED}
        return replace(encoded, ids=ids, start=encoded.start - excess, context=context, flags=flags)


class Seq2SeqEncoder(Encoder):
    """The context for the encoder, the target for the decoder."""

    def __init__(self, tokens: Tokens, renderer: Renderer, limit: int, decoder_start: int) -> None:
        """`decoder_start` is the id that the decoder begins with."""
        super().__init__(tokens, renderer, limit)
        self._lead = (decoder_start, *tokens.prefix)

    def _whole(self, form: Rendered, target: str) -> Encoded | TargetScore:
        ids = self.tokens.ids(target)
        if not ids:
            return failed(EMPTY_TARGET)
        if len(self._lead) + len(ids) - 1 > self.limit:
            return failed(TARGET_TOO_LONG)
        source = (*self.tokens.prefix, *self.tokens.ids(form.text), *self.tokens.suffix)
        return Encoded([*self._lead, *ids], len(self._lead), source, (form.text, 0), frozenset())

    def _excess(self, encoded: Encoded) -> int:
        return len(encoded.source) - self.limit

    def _cut(self, encoded: Encoded, excess: int) -> Encoded:
        kept = len(self.tokens.prefix)
        source = encoded.source[:kept] + encoded.source[kept + excess :]
        flags = encoded.flags | {CONTEXT_TRUNCATED}
        return replace(encoded, source=source, context=(encoded.context[0], excess), flags=flags)


class _Forms:
    """A context in full and, made only when needed, without its oldest turns."""

    def __init__(self, renderer: Renderer, context: Context) -> None:
        self._renderer = renderer
        self._context = context
        self.full = renderer.render(context)

    @cached_property
    def shorter(self) -> Sequence[Rendered]:
        """Without one turn, two, ... all but the last; forms that the model's template refuses are left out."""
        if isinstance(self._context, str):
            return []
        kept = 1 if self._context and self._context[0].role == "system" else 0
        found = []
        for first in range(kept + 1, len(self._context)):
            try:
                found.append(self._renderer.render(self._context[:kept] + self._context[first:]))
            except Refused:
                continue
        return found


def _broken(context: Context) -> bool:
    texts = [context] if isinstance(context, str) else [turn.content for turn in context]
    return any(has_surrogate(text) for text in texts)
