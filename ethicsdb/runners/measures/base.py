"""What a measure is given, item by item, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ethicsdb.runners.statistics.intervals import Interval

__all__ = ["Compare", "Likelihood", "Measure", "Number", "Observed"]

Compare: TypeAlias = Literal["mean", "sum"]  # which likelihood is compared: a token's on average, or the whole text's


@dataclass(frozen=True)
class Likelihood:
    """How likely a model finds a text: summed log-probability in nats, and over how many tokens.

    `tokens` is None for a released score, whose scale is its author's own; it is then both sum and mean.
    """

    total: float
    tokens: int | None

    def value(self, compare: Compare) -> float:
        """The mean over tokens, or the sum."""
        return self.total / self.tokens if compare == "mean" and self.tokens else self.total


@dataclass(frozen=True)
class Observed:
    """What is known of one asked-for item.

    Attributes:
        group: its cluster.
        payload: the item's fields by name; lists and objects are decoded.
        scores: likelihoods by target (unethical, refusal, choice_0, stereotype, ...); one that ended in an error is
            not there.
        vectors: of an association test, by text; one that the model does not know is not there.
        choice: index of the option that was chosen, where answers are read instead of likelihoods; None: none of them.
    """

    group: str
    payload: Mapping[str, Any]
    scores: Mapping[str, Likelihood] = field(default_factory=dict)
    choice: int | None = None
    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Number:
    """One number of a measure.

    Attributes:
        metric: its name.
        estimate: value and interval; None where there is nothing to divide by.
        n: items that have a value.
        n_expected: asked-for items that the metric is about; n / n_expected is the coverage.
    """

    metric: str
    estimate: Interval | None
    n: int
    n_expected: int


# Numbers of some items (all, or a slice), of which every item is one that was asked for.
Measure: TypeAlias = Callable[[Sequence[Observed], Compare], list[Number]]
