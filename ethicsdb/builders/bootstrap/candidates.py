"""From a model's answer to candidates, and what is wrong with each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ethicsdb.builders.similarity import Pool, tokens
from ethicsdb.runners.refusal import is_refusal
from ethicsdb.schemas.declared_bootstrap import BootstrapDeclaration

__all__ = ["KEPT", "RULES", "Checked", "Kept", "check", "fallen", "listed"]

RULES = "candidates-1"  # of reading and checking, part of a bootstrap's identity
KEPT = "kept"

_ITEM = re.compile(r"^[\s*_>#]*(?:\(?\d{1,4}\s?[.)、．:：](?!\d)\)?|[-•*–])\s*(\S.*?)\s*$")
_WRAPPED = (('"', '"'), ("“", "”"), ("'", "'"), ("「", "」"), ("**", "**"), ("*", "*"), ("_", "_"))
_PLACEHOLDER = re.compile(r"<\|[^<>|]*\|>|\[[A-Z_ ]{3,}\]|\{[a-z_]+\}|^\W*$")


@dataclass(frozen=True)
class Kept:
    """A demonstration, or a candidate that was kept."""

    name: str  # unique in the bootstrap; TYPE:seed:N, or TYPE:ROUND:REQUEST:N
    kind: str  # the type
    text: str


@dataclass(frozen=True)
class Checked:
    """What became of a candidate: kept, or why it was dropped, and the text that it is nearest to."""

    outcome: str
    nearest: str | None = None
    similarity: float | None = None


def listed(answer: str) -> list[str]:
    """The items of a list with numbers or dashes, without quotation marks and stars around them."""
    found = [hit[1] for line in answer.splitlines() if (hit := _ITEM.match(line))]
    return [_bare(text) for text in found]


def _bare(text: str) -> str:
    for first, last in _WRAPPED * 2:
        inner = text[len(first) : len(text) - len(last)]
        if text.startswith(first) and text.endswith(last) and len(text) > len(first + last) and first not in inner:
            text = inner.strip()
    return text


def check(declaration: BootstrapDeclaration, kind: str, text: str, pool: Pool, kept: list[Kept]) -> Checked:
    """Keep a candidate or say why not.

    malformed: too short, too long, or with a place that nobody filled. refusal: it declines. off_type: it speaks of
    other types alone. duplicate, near_duplicate: its ROUGE-L (F-measure, without stemmer) with a kept text, of whatever
    type, reaches the declared one (Zhao et al. 2023, section 3: kept below 0.7).

    Args:
        pool: the kept texts, in the order of `kept`.
    """
    words = tokens(text)
    if not declaration.shortest <= len(words) <= declaration.longest or _PLACEHOLDER.search(text):
        return Checked("malformed")
    if is_refusal(text):
        return Checked("refusal")
    if _speaks_of_others(declaration, kind, text, words):
        return Checked("off_type")
    nearest = pool.nearest(text)
    if nearest is None:
        return Checked(KEPT)
    similarity, at = nearest
    if similarity >= declaration.similarity:
        outcome = "duplicate" if words == tokens(kept[at].text) else "near_duplicate"
        return Checked(outcome, kept[at].name, similarity)
    return Checked(KEPT, kept[at].name, similarity)


def _speaks_of_others(declaration: BootstrapDeclaration, kind: str, text: str, words: list[str]) -> bool:
    present = set(words)

    def speaks(of: str) -> bool:
        return any(_stands(mark, text.casefold(), present) for mark in declaration.marks.get(of, ()))

    return not speaks(kind) and any(speaks(other) for other in declaration.marks if other != kind)


def _stands(mark: str, text: str, present: set[str]) -> bool:
    """A single word stands as a word; several words, and Chinese ones, stand anywhere."""
    parts = tokens(mark)
    return parts[0] in present if len(parts) == 1 else mark.casefold() in text


def fallen(status: str, answer: str | None) -> Iterator[tuple[str | None, str]]:
    """What stands for an answer that lists nothing: its text, where there is one, and why there are no candidates."""
    if status != "completed" or answer is None:
        yield None, status
    else:
        yield answer, "refusal" if is_refusal(answer) else "malformed"
