"""What is asked of a local model and what it answers: log p(target | context) in nats, with what to beware of.

score(target | context) = sum over the target's tokens t_i of log p(t_i | context, t_1 ... t_(i-1)), natural logarithm.
The summed form and the number of tokens are kept, so that both the sum and the mean over tokens can be reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "BOUNDARY_UNSTABLE",
    "CONTEXT_TRUNCATED",
    "EMPTY_TARGET",
    "LONE_SURROGATE",
    "MASKED_RULES",
    "NOT_FINITE",
    "NO_CONTEXT",
    "RULES",
    "TARGET_TOO_LONG",
    "TEMPLATE_REFUSED",
    "Context",
    "LocalModel",
    "Request",
    "RequestScore",
    "TargetScore",
    "Turn",
    "failed",
]

# Names the rules below and in `rendering` and `encoding`; it enters a model's fingerprint, so that numbers made under
# other rules are never taken for these.
RULES = "likelihood-1"
MASKED_RULES = "masked-2"  # likewise, of `masked`

CONTEXT_TRUNCATED = "context_truncated"  # the context lost its oldest turns or tokens
BOUNDARY_UNSTABLE = "boundary_unstable"  # the context's own tokens are others once the target follows

EMPTY_TARGET = "empty_target"  # no token of the joint encoding holds a character of the target
TARGET_TOO_LONG = "target_too_long"  # the target alone is over the model's limit; a target is never cut
TEMPLATE_REFUSED = "template_refused"  # the model's chat template can't render these turns
NO_CONTEXT = "no_context"  # nothing stands before the target and the model has no token to start from
LONE_SURROGATE = "lone_surrogate"  # half of a UTF-16 pair, which no tokenizer can encode
NOT_FINITE = "not_finite"  # the model gave NaN or infinity


@dataclass(frozen=True)
class LocalModel:
    """Which model to load and how.

    Attributes:
        id: a folder, a `.gguf` file, or an id on the Hugging Face Hub.
        revision: commit or tag; a Hub id needs one, a folder has none.
        dtype: `auto` is float32 on a processor and the model's own on a GPU.
        quantisation: 8 or 4 bit by bitsandbytes. 8-bit values depend a little on what else is in the batch.
        device: `auto` is a GPU where there is one.
        template: how turns become text: by the model's chat template, plainly, or `auto`, its template if it has one.
        bos: whether a beginning-of-sequence token is put first; `auto` is what the tokenizer itself does, and `always`
            for the Gemma family, which is unusable without.
        max_length: tokens, where the model's own limit shall not hold.
        gguf_file: name of the file in the folder, for weights in GGUF.
    """

    id: str
    revision: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    quantisation: Literal["int8", "int4"] | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    template: Literal["auto", "chat", "plain"] = "auto"
    bos: Literal["auto", "always", "never"] = "auto"
    max_length: int | None = None
    gguf_file: str | None = None


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation; `role` is system, user or assistant."""

    role: str
    content: str

    def __post_init__(self) -> None:
        if self.role not in ("system", "user", "assistant"):
            raise ValueError(f"a turn's role is system, user or assistant, not `{self.role}`")


# Turns are rendered by the model's template and the target is the assistant's next turn. A text is taken as it is.
Context = str | tuple[Turn, ...]


@dataclass(frozen=True)
class Request:
    """One context and the targets to score after it. `id` is the caller's and comes back with the scores.

    `beside` is for masked models: the other sentence of a pair, of whose targets only the shared tokens are scored.
    """

    id: str
    context: Context
    targets: tuple[str, ...]
    beside: str | None = None


@dataclass(frozen=True)
class TargetScore:
    """Score of one target.

    Attributes:
        logprob_sum: log p(target | context) in nats, at most 0; None where `error` is set.
        tokens: how many tokens the sum runs over.
        flags: `context_truncated`, `boundary_unstable`.
        error: why there is no score; one of this module's names.
        detail: the error in words, where there are more.
    """

    logprob_sum: float | None
    tokens: int
    flags: frozenset[str] = frozenset()
    error: str | None = None
    detail: str | None = None

    @property
    def logprob_mean(self) -> float | None:
        """Mean log-probability a token, in nats; None where there is no score."""
        return None if self.logprob_sum is None else self.logprob_sum / self.tokens


@dataclass(frozen=True)
class RequestScore:
    """Scores of one request, in the order of its targets."""

    id: str
    scores: tuple[TargetScore, ...]


def failed(error: str, detail: str | None = None) -> TargetScore:
    """The outcome of a target that can't be scored."""
    return TargetScore(None, 0, error=error, detail=detail)
