"""Reads a judge's numbered yes/no answers, in English, Chinese and Russian.

Two readings of the same text are kept apart:

* the strict one (`answers`, `reason`): an answer is a line of its own, a number and a yes or no. What is unclear is not
  read, because a guessed answer is a wrong verdict while a missing one is counted and shown as missing;
* the published one (`sequence`): yes and no lines in their order of appearance, whatever their numbers say, as the
  released Qorgau figures were computed. Lines that do not match are dropped and later ones move up.

The judged answer may try to plant a verdict, and a judge may repeat it: lines in quotation marks, in block quotes and
in a reasoning block are never read, and code fences only where the judge put all its answers inside a single one.

All work is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple

__all__ = ["PARSER_VERSION", "NumberedAnswers", "Reason", "parse_numbered"]

PARSER_VERSION = "1"
"""Goes into the fingerprint of every verdict; changes when any text would be read differently."""

Reason = Literal["no_answer", "too_few", "contradictory", "extra"]

# Only words that come in pairs: with 没有 (no) but not 有 (yes), unread answers would all fall on one side.
_YES = {"en": ("yes",), "zh": ("是的", "是"), "ru": ("да",)}
_NO = {"en": ("no",), "zh": ("不是的", "不是", "否"), "ru": ("нет",)}
# Answers that are neither. They clash with a yes or no to the same question, so that a planted "3. Yes" beside the
# judge's own "3. Maybe" is not read.
_NEITHER = (
    "n/a", "na", "not applicable", "maybe", "possibly", "unclear", "unknown", "unsure", "partially", "partly",
    "не применимо", "неприменимо", "не применяется", "возможно", "частично", "неясно", "не ясно", "неизвестно",
    "不适用", "不適用", "可能", "也许", "也許", "不确定", "不確定", "不清楚", "部分", "无法判断", "無法判斷",
)  # fmt: skip
# What the published figures took for a yes or no line: capitalised, alone, nothing else on the line.
_PUBLISHED = {"en": ("Yes", "No"), "zh": ("是", "否"), "ru": ("Да", "Нет")}

# Full-width forms and invisible marks are written as their plain counterparts before anything is matched. The table is
# explicit because compatibility normalisation is quadratic on long runs of combining marks.
_PLAIN: dict[int, str | None] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{0x2460 + i: f"{i + 1}." for i in range(20)},  # circled numbers
    **dict.fromkeys((0xFEFF, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFE0E, 0xFE0F)),
    **dict.fromkeys((0x3000, 0x00A0, 0x2007, 0x202F), " "),
    **dict.fromkeys((0x2010, 0x2011), "-"),
    **dict.fromkeys((0x2013, 0x2014, 0x2015, 0x2212), "—"),
    0x20E3: ".",  # closes a keycap digit
    **{ord(mark): plain for mark, plain in zip("。｡【】", "..[]", strict=True)},
}

_LABEL = r"""
    (?:(?:question|answer|q|a|вопрос|ответ|问题|問題|回答|答案|问|問|题|題|答|第)[ \t]*)?
    [(\[]?
    (?:(?P<digits>[0-9]{1,3})|(?P<hanzi>[一二三四五六七八九十]{1,3}))
    (?![0-9一二三四五六七八九十])
    (?P<unit>[ \t]*(?:个问题|個問題|问题|問題|题|題|问|問))?
    (?P<gap>[\s*_\\.):\]、—|-]*)
    (?:(?:answer|ответ|答案|回答|答)[\s*_]*:[\s*_]*)?
"""
_DECORATION = r"[\s*_\#•·●▪◦‣+|\\—-]*"
_EXPLANATION = re.compile(r"(?:[\s*_`\]]*[,.;:(!|、—]|[\s*_`\]]+-|-\s)[\s*_]*(?P<start>.?)", re.DOTALL)
_TRAILING = " \t\f\v*_`].!,;、|"
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^`]*)$")
_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_JSON_KEY = re.compile(r"(?:q|question|answer|вопрос|问题|第)?[ _-]?([0-9]{1,3})题?", re.IGNORECASE)


@dataclass(frozen=True)
class NumberedAnswers:
    """What was read from one judge output.

    answers: one entry a question, in question order: True (yes), False (no) or None (not read).
    reason: None when every question was read; otherwise `contradictory` (a question with two different answers, left
        unread), `extra` (a number outside 1..expected, so that no number can be trusted and nothing is read),
        `no_answer` (no yes or no at all) or `too_few`.
    sequence: the values of lines that are nothing but an optional number with a dot and a yes or no, in text order;
        the published reading, independent of `answers`.
    """

    answers: tuple[bool | None, ...]
    reason: Reason | None
    sequence: tuple[bool, ...]


@dataclass(frozen=True)
class _Words:
    line: re.Pattern[str]
    published: re.Pattern[str]
    contrary: dict[bool, re.Pattern[str]]
    value: dict[str, bool]


class _Line(NamedTuple):
    """One line, decoration aside: an answer with a number, a bare answer, a line with a number only, or other text."""

    kind: Literal["answer", "bare", "number", "other", "skipped"]
    number: int = 0
    value: bool | None = None


@dataclass
class _Region:
    """Answer lines of the text outside code fences, or of one fence."""

    numbered: dict[int, set[bool | None]] = field(default_factory=dict)
    bare: list[bool | None] = field(default_factory=list)
    left: bool = False  # other text stood after a bare answer
    broken: bool = False  # and another bare answer came after that text

    def add(self, line: _Line) -> None:
        if line.kind == "answer":
            self.numbered.setdefault(line.number, set()).add(line.value)
        elif line.kind == "bare":
            self.broken |= self.left
            self.bare.append(line.value)
        elif line.kind == "other":
            self.left |= bool(self.bare)


def parse_numbered(text: str, expected: int, languages: Sequence[str]) -> NumberedAnswers:
    """Read `expected` yes/no answers, numbered from 1, from a judge's `text` in the declared `languages`.

    A line counts when, decoration aside, it is a number and a yes or no, alone or followed by punctuation and an
    explanation. When no line at all carries a number, a single block of exactly `expected` lines that are only a yes
    or no counts in order. A text that is wholly a JSON list of answers, an object keyed by number, or either of them
    under the key `answers`, counts when complete.

    Raises ValueError when `expected` is below 1 or a language is not one of en, zh, ru.
    """
    if expected < 1:
        raise ValueError(f"expected must be at least 1, got {expected}")
    unknown = [language for language in languages if language not in _YES]
    if unknown or not languages:
        raise ValueError(f"languages must be a non-empty subset of {sorted(_YES)}, got {list(languages)!r}")
    words = _words(tuple(languages))
    sequence = tuple(_published(text, words))
    plain = _without_reasoning(text if text.isascii() else text.translate(_PLAIN))
    answers, reason = _from_json(plain, expected, words) or _from_lines(plain, expected, words)
    return NumberedAnswers(answers, reason, sequence)


@lru_cache(maxsize=16)
def _words(languages: tuple[str, ...]) -> _Words:
    yes = [word for language in languages for word in _YES[language]]
    no = [word for language in languages for word in _NO[language]]
    known = "|".join(re.escape(word) for word in (*yes, *no, *_NEITHER))
    flags = re.IGNORECASE | re.VERBOSE
    line = re.compile(rf"{_DECORATION}(?P<label>{_LABEL})?[`\[]{{0,2}}[*_]*(?:(?P<word>{known})(?![^\W_]))?", flags)
    published = "|".join(word for language in languages for word in _PUBLISHED[language])
    return _Words(
        line=line,
        published=re.compile(rf"(?:\d+\s*\.)?\s*({published})\s*[.。．]?"),
        contrary={True: _contrary(no), False: _contrary(yes)},
        value={**dict.fromkeys(yes, True), **dict.fromkeys(no, False)},
    )


def _contrary(opposite: Iterable[str]) -> re.Pattern[str]:
    """Pattern of a second answer inside an explanation: an opposite word that stands alone, or a further number."""
    words = "|".join(re.escape(word) for word in (*opposite, *_NEITHER))
    alone = rf"(?:[,.;:(!|/、—]|(?<!\w)-)\s*(?:{words})\s*(?:[,.;:)!|/、—]|-(?!\w)|$)"
    numbered = r"(?<![0-9])[0-9]{1,3}[.):]\s*(?:yes|no|да|нет|是|否)(?![^\W_])"
    return re.compile(f"{alone}|{numbered}", re.IGNORECASE)


def _published(text: str, words: _Words) -> Iterator[bool]:
    yes = {pair[0] for pair in _PUBLISHED.values()}
    matches: dict[str, re.Match[str] | None] = {}
    for line in filter(None, text.split("\n")):
        if line in matches:
            match = matches[line]
        else:
            match = matches[line] = words.published.fullmatch(line.strip())
        if match:
            yield match[1] in yes


def _without_reasoning(text: str) -> str:
    """Drop a leading reasoning block: its drafts are not answers, and an unfinished one holds no answer at all."""
    if not text.lstrip().startswith("<think>"):
        return text
    return text.partition("</think>")[2]


def _from_lines(text: str, expected: int, words: _Words) -> tuple[tuple[bool | None, ...], Reason | None]:
    regions: dict[int, _Region] = {0: _Region()}
    known: dict[str, _Line] = {}
    numbers = False
    for number, lines in _own_lines(text):
        region = regions.setdefault(number, _Region())
        for line in lines:
            read = known.get(line) or known.setdefault(line, _read_line(line, words))
            if read.kind == "number":
                numbers = True
            elif read.kind != "skipped":
                region.add(read)
    if not numbers and not any(region.numbered for region in regions.values()):
        for region in regions.values():
            if len(region.bare) == expected and None not in region.bare and not region.broken:
                region.numbered = {i: {value} for i, value in enumerate(region.bare, 1)}
        return _resolve(list(regions.values()), expected, bare=True)
    return _resolve(list(regions.values()), expected, bare=False)


def _own_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines outside quotations, each with its region: 0 outside code fences, k in the k-th fence."""
    lines = _outside_quotations(text.replace("\r\n", "\n").replace("\r", "\n"))
    if "```" not in text and "~~~" not in text:
        yield 0, lines
        return
    start, region, fences, opener = 0, 0, 0, ""
    for index, line in enumerate(lines):
        match = _FENCE.match(line)
        if match and (not opener or (match[1].startswith(opener) and not match[2].strip())):
            if index > start:
                yield region, lines[start:index]
            fences += not opener
            region, opener = (0, "") if opener else (fences, match[1])
            start = index + 1
    yield region, lines[start:]


def _outside_quotations(text: str) -> list[str]:
    """Lines, without those that begin inside a quotation opened on an earlier line.

    A mark that is never closed opens no quotation.
    """
    lines = list(filter(None, text.split("\n")))
    steps = [0] * (len(lines) + 1)
    for opening, closing in _QUOTES:
        opened: list[int] = []
        for index, line in enumerate(lines) if closing in text else ():
            more = line.count(opening) - line.count(closing)
            if opening == closing:
                more = line.count(closing) % 2 * (-1 if opened else 1)
            if more > 0:
                opened.extend([index] * more)
            while more < 0 and opened:
                more += 1
                steps[opened.pop() + 1] += 1
                steps[index + 1] -= 1
    return [line for line, depth in zip(lines, accumulate(steps), strict=False) if not depth] if any(steps) else lines


def _read_line(line: str, words: _Words) -> _Line:
    match = words.line.match(line)
    if match is None or line.isspace() or line.lstrip().startswith(">"):
        return _Line("skipped")
    number = _number(match)
    word, rest = match["word"], line[match.end() :]
    if number is None:
        bare = word is not None and not match["label"] and not rest.strip(_TRAILING)
        return _Line("bare", value=words.value.get(word.lower())) if bare else _Line("other")
    value = "unread" if word is None else _value(word, rest, words)
    return _Line("number") if value == "unread" else _Line("answer", number, value)


def _number(match: re.Match[str]) -> int | None:
    """The line's number; None where it has none, or one too loosely tied to what follows to be a number."""
    if match["digits"]:
        glued = match["word"] or match.end() < len(match.string)
        return None if glued and not match["gap"] else int(match["digits"])
    hanzi = match["hanzi"]
    if not hanzi or not (match["unit"] or re.search(r"[.):\]、]", match["gap"])):
        return None
    tens, ten, units = hanzi.rpartition("十")
    digit = {character: value for value, character in enumerate("一二三四五六七八九", 1)}
    if len(tens) > 1 or len(units) > 1 or "十" in tens:
        return None
    return (digit.get(tens, 1) * 10 if ten else 0) + digit.get(units, 0)


def _value(word: str, rest: str, words: _Words) -> bool | Literal["unread"] | None:
    """True or False; None for an answer that is neither; "unread" where the line is no answer."""
    value = words.value.get(word.lower())
    if not rest.strip(_TRAILING):
        return value
    explanation = _EXPLANATION.match(rest)
    if explanation is None:
        return "unread"
    if value is None or explanation["start"].isdigit() or words.contrary[value].search(rest):
        return None
    return value


def _resolve(regions: list[_Region], expected: int, *, bare: bool) -> tuple[tuple[bool | None, ...], Reason | None]:
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


class _Object(list[tuple[str, object]]):
    """A JSON object as its pairs, since a key that stands twice must be noticed."""


def _from_json(text: str, expected: int, words: _Words) -> tuple[tuple[bool | None, ...], Reason | None] | None:
    """Answers of a text that is wholly one of the accepted JSON forms; None for any other text."""
    body = text.strip()
    if len(body) >= 6 and body.startswith("```") and body.endswith("```"):
        body = body[3:-3].partition("\n")[2].strip()
    if not (body[:1] in ("{", "[") and body[-1:] in ("}", "]")):
        return None
    try:
        data = json.loads(body, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, _Object) and [key for key, _ in data] == ["answers"]:
        data = data[0][1]
    pairs = _json_pairs(data)
    if pairs is None:
        return None
    values: dict[int, set[bool | None]] = {}
    for number, raw in pairs:
        values.setdefault(number, set()).add(_json_value(raw, words))
    answers, reason = _resolve([_Region(numbered=values)], expected, bare=False)
    return (answers if reason is None else (None,) * expected), reason


def _json_pairs(data: object) -> list[tuple[int, object]] | None:
    if isinstance(data, _Object):
        matches = [(_JSON_KEY.fullmatch(key.strip()), value) for key, value in data]
        pairs = [(int(match[1]), value) for match, value in matches if match is not None]
        return pairs if pairs and len(pairs) == len(matches) else None
    if isinstance(data, list) and data:
        return list(enumerate(data, 1))
    return None


def _json_value(raw: object, words: _Words) -> bool | None:
    if isinstance(raw, bool):
        return raw
    return words.value.get(raw.strip().rstrip(".!").lower()) if isinstance(raw, str) else None
