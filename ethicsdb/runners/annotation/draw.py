"""Which answers people label, by chance: so many of each stratum, without replacement, each with its probability.

The draw follows from the seed and the answers' content, not from the order of rows or a generator's version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["Answer", "Drawn", "draw"]


@dataclass(frozen=True)
class Answer:
    """An answer that may be drawn."""

    response_key: str
    item_id: str
    group_id: str
    stratum: str
    question: str
    text: str


@dataclass(frozen=True)
class Drawn:
    """A drawn answer: out of how many of its stratum, and who labels it."""

    answer: Answer
    population: int
    drawn: int
    annotators: tuple[str, ...]

    @property
    def probability(self) -> float:
        """With which it was drawn: n_h / N_h of its stratum."""
        return self.drawn / self.population


def draw(answers: Sequence[Answer], n: int, annotators: Sequence[str], overlap: int, seed: int) -> list[Drawn]:
    """At most `n` of each stratum; each goes to `overlap` people in turn, so that shares are even in each stratum."""
    strata: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        strata[answer.stratum].append(answer)
    found = []
    for name in sorted(strata):
        there = sorted(strata[name], key=lambda each: fingerprint(["draw", seed, each.response_key]))
        for at, answer in enumerate(there[:n]):
            who = tuple(annotators[(at * overlap + each) % len(annotators)] for each in range(overlap))
            found.append(Drawn(answer, len(there), min(n, len(there)), who))
    return found
