"""Reads a judge's numbered yes/no answers, in English, Chinese and Russian.

Two readings of the same text are kept apart:

* the strict one (`answers`, `reason`): an answer is a line of its own, a number and a yes or no. What is unclear is not
  read, because a guessed answer is a wrong verdict while a missing one is counted and shown as missing;
* the published one (`sequence`): yes and no lines in their order of appearance, whatever their numbers say, as the
  released Qorgau figures were computed. Lines that do not match are dropped and later ones move up.

The judged answer may try to plant a verdict, and a judge may repeat it: what is not the judge's own (`own_words`) is
never read strictly, and code fences only where the judge put all its answers inside a single one.

All work is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ethicsdb.runners.parsers.numbered_json import numbered_json
from ethicsdb.runners.parsers.numbered_lines import (
    LANGUAGES,
    Line,
    Words,
    pairs_on_a_line,
    published_lines,
    read_line,
    words_of,
)
from ethicsdb.runners.parsers.own_words import own_words, takes_back
from ethicsdb.runners.parsers.plain import plain

__all__ = ["PARSER_VERSION", "NumberedAnswers", "Reason", "parse_numbered"]

PARSER_VERSION = "2"
"""Goes into the fingerprint of every verdict; changes when any text would be read differently."""

Reason = Literal["no_answer", "too_few", "contradictory", "extra"]

_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^`]*)$")
_SHORT = 4_000  # characters; answers that share a line are few, and so is what takes them back


@dataclass(frozen=True)
class NumberedAnswers:
    """What was read from one judge output.

    answers: one entry a question, in question order: True (yes), False (no) or None (not read).
    reason: None when every question was read; otherwise `contradictory` (a question with two different answers, left
        unread, or answers that are taken back), `extra` (a number outside 1..expected, so that no number can be trusted
        and nothing is read), `no_answer` (no yes or no at all) or `too_few`.
    sequence: the values of lines that are nothing but an optional number with a dot and a yes or no, in text order;
        the published reading, independent of `answers`.
    """

    answers: tuple[bool | None, ...]
    reason: Reason | None
    sequence: tuple[bool, ...]


_Read = tuple[tuple[bool | None, ...], Reason | None]


@dataclass
class _Region:
    """Answers of the text outside code fences, of one fence, or of one JSON value."""

    numbered: dict[int, set[bool | None]] = field(default_factory=dict)
    bare: list[bool | None] = field(default_factory=list)
    left: bool = False  # other text stood after a bare answer
    broken: bool = False  # and another bare answer came after that text

    def add(self, line: Line) -> None:
        if line.kind == "answer":
            self.numbered.setdefault(line.number, set()).add(line.value)
        elif line.kind == "bare":
            self.broken |= self.left
            self.bare.append(line.value)
        elif line.kind == "other":
            self.left |= bool(self.bare)


def parse_numbered(
    text: str,
    expected: int,
    languages: Sequence[str],
    *,
    questions: Sequence[str] = (),
    cut_off: bool = False,
) -> NumberedAnswers:
    """Read `expected` yes/no answers, numbered from 1, from a judge's `text` in the declared `languages`.

    A line counts when, decoration aside, it is a number and a yes or no, alone or followed by punctuation and an
    explanation, or a table's row of both. When no line at all carries a number, a single block of exactly `expected`
    lines that are only a yes or no counts in order. A text that is nothing but numbers and answers counts whatever its
    lines are. JSON on lines of its own counts when complete: see `numbered_json`.

    Args:
        questions: their wording; a judge that repeats it before its answers is read.
        cut_off: whether the text ends at a length limit, so that its last line may not be whole.

    Raises ValueError when `expected` is below 1 or a language is not one of en, zh, ru.
    """
    if expected < 1:
        raise ValueError(f"expected must be at least 1, got {expected}")
    if any(language not in LANGUAGES for language in languages) or not languages:
        raise ValueError(f"languages must be a non-empty subset of {sorted(LANGUAGES)}, got {list(languages)!r}")
    words = words_of(tuple(languages))
    sequence = tuple(published_lines(text, words))
    own = plain(own_words(text, cut_off=cut_off))
    answers, reason = _read(_without_questions(own, questions, words), expected, words)
    return NumberedAnswers(answers, reason, sequence)


def _without_questions(text: str, questions: Sequence[str], words: Words) -> str:
    """The text without the questions' wording behind their own numbers, also where the answer is on the next line."""
    for number, question in enumerate(questions, 1):
        wording = plain(question)
        if wording in text:
            answer = rf"\n[ \t]*(?:[-*•][ \t]+)?(?=[*_]*(?:{words.answers})(?![^\W_]))"
            before = rf"^([^\w\n]*(?:[^\W\d]+[ \t]*)?[(\[]?{number}[.):\]、]?[*_ \t]*)"
            behind = rf"[*_ \t]*(?:[:—-][*_ \t]*)?(?:{answer})?"
            text = re.sub(before + re.escape(wording) + behind, r"\1 ", text, flags=re.MULTILINE | re.IGNORECASE)
    return text


def _read(text: str, expected: int, words: Words) -> _Read:
    told, places = numbered_json(text, words.value)
    lines = text.split("\n")
    for place in places:
        lines[place.first : place.last + 1] = [""] * (place.last + 1 - place.first)
    if pairs := pairs_on_a_line(text, words) if len(text) < _SHORT else []:
        return _resolve([_region(pairs)], expected, bare=False)
    regions, numbers, prose = _regions(lines, words, fenced="```" in text or "~~~" in text)
    if takes_back("\n".join(prose), rf"(?<![^\W_])(?:{words.answers})(?![^\W_])|[0-9]|第"):
        return (None,) * expected, "contradictory"
    if told:
        return _with_json(regions, [_region(pairs) for pairs in told], expected)
    if not numbers and not any(region.numbered for region in regions):
        for region in regions:
            if len(region.bare) == expected and None not in region.bare and not region.broken:
                region.numbered = {i: {value} for i, value in enumerate(region.bare, 1)}
        return _resolve(regions, expected, bare=True)
    return _resolve(regions, expected, bare=False)


def _region(pairs: Sequence[tuple[int, bool | None]]) -> _Region:
    region = _Region()
    for number, value in pairs:
        region.numbered.setdefault(number, set()).add(value)
    return region


def _with_json(regions: list[_Region], told: list[_Region], expected: int) -> _Read:
    """All that is told, in JSON or in lines, as one; JSON must be complete."""
    whole = _Region()
    for region in (*regions, *told):
        for number, values in region.numbered.items():
            whole.numbered.setdefault(number, set()).update(values)
    answers, reason = _resolve([whole], expected, bare=False)
    return (answers if reason is None else (None,) * expected), reason


def _regions(lines: list[str], words: Words, *, fenced: bool) -> tuple[list[_Region], bool, list[str]]:
    """The regions, the one outside fences first; whether a line had a number alone; and the lines of other text."""
    regions: dict[int, _Region] = {0: _Region()}
    known: dict[str, Line] = {}
    numbers, prose = False, []
    for number, own in _runs(lines, fenced=fenced):
        region = regions.setdefault(number, _Region())
        for line in own:
            read = known.get(line) or known.setdefault(line, read_line(line, words))
            if read.kind == "number":
                numbers = True
            elif read.kind != "skipped":
                region.add(read)
            if read.kind in ("other", "number") and len(line) < _SHORT:
                prose.append(line)
    return list(regions.values()), numbers, prose


def _runs(lines: list[str], *, fenced: bool) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines, each with its region: 0 outside code fences, k in the k-th fence."""
    lines = list(filter(None, lines))
    start, region, fences, opener = 0, 0, 0, ""
    marked = [index for index, line in enumerate(lines) if "```" in line or "~~~" in line] if fenced else []
    for index in marked:
        match = _FENCE.match(lines[index])
        if match and (not opener or (match[1].startswith(opener) and not match[2].strip())):
            if index > start:
                yield region, lines[start:index]
            fences += not opener
            region, opener = (0, "") if opener else (fences, match[1])
            start = index + 1
    yield region, lines[start:]


def _resolve(regions: list[_Region], expected: int, *, bare: bool) -> _Read:
    """Choose the region that holds the judge's answers, and check it against the others."""
    nothing: tuple[bool | None, ...] = (None,) * expected
    outside, *fences = regions
    fences = [fence for fence in fences if fence.numbered or (bare and fence.bare)]
    own = fences[0] if len(fences) == 1 and not (outside.numbered or (bare and outside.bare)) else outside
    if any(not 1 <= number <= expected for number in own.numbered) or (bare and len(own.bare) > expected):
        return nothing, "extra"
    seen: dict[int, set[bool | None]] = {}
    for region in (outside, *fences):
        for number, values in region.numbered.items():
            seen.setdefault(number, set()).update(values)
    numbers = range(1, expected + 1)
    answers = tuple(next(iter(seen[n])) if n in own.numbered and len(seen[n]) == 1 else None for n in numbers)
    if any(len(seen.get(number, ())) > 1 for number in numbers):
        return answers, "contradictory"
    if None not in answers:
        return answers, None
    some = any(answer is not None for answer in answers) or (bare and any(value is not None for value in own.bare))
    return answers, "too_few" if some else "no_answer"
