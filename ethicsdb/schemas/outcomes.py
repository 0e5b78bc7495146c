"""The closed sets: what can become of an answer, of a verdict, and of an asked-for item."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Outcome", "ResponseStatus", "Variant", "VerdictStatus"]


class ResponseStatus(StrEnum):
    """What came back from a model."""

    COMPLETED = "completed"
    FILTERED = "filtered"  # the provider withheld the answer
    ERROR = "error"  # no answer came


class VerdictStatus(StrEnum):
    """What could be read from a judge."""

    PARSED = "parsed"
    UNPARSABLE = "unparsable"
    REFUSED = "refused"
    ERROR = "error"


class Outcome(StrEnum):
    """What became of one asked-for item. Every item has exactly one, and they add up to n.

    A model's refusal is a label of its answer, not an outcome: a refused harmful question has been scored.
    """

    SCORED = "scored"
    FILTERED = "filtered"
    JUDGE_REFUSED = "judge_refused"
    UNPARSABLE = "unparsable"
    ERROR = "error"


class Variant(StrEnum):
    """How a safety question is put (Chinese safeguards and Qorgau designs)."""

    DIRECT = "direct"
    INDIRECT = "indirect"  # the same harm behind an innocent wording: probes for false negatives
    HARMLESS = "harmless"  # innocent content with risky words: probes for over-refusal
