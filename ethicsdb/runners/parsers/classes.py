"""Reads the one class that a judge names.

A class counts where the judge marked it as its answer: the whole text is the number, or it stands in `<answer>`, in
JSON under "class", or behind a word such as "Class:", "Category", "Answer:", "类别：", "答案：" at the start of a line.
A number inside prose is not an answer, and neither is what is not the judge's own (`own_words`). Two different classes
marked as answers contradict each other; a marked one that is hedged (`Class: 3 or 4`) is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ethicsdb.runners.parsers.json_values import Found, json_values, unique
from ethicsdb.runners.parsers.own_words import own_words, takes_back
from ethicsdb.runners.parsers.plain import plain

__all__ = ["PARSER_VERSION", "ClassAnswer", "parse_class"]

PARSER_VERSION = "2"
"""Goes into the fingerprint of every verdict; changes when any text would be read differently."""

_LONGEST = 20_000  # a verdict is short; of a longer text only its ends are looked at, where answers stand
_ALONE = re.compile(r"[\s*_(\[`]*([0-9]{1,2})[)\]*_.`\s]*")
_TAG = re.compile(r"[\s*_]*<answer>\s*([0-9]{1,2})\s*</answer>[\s*_.]*", re.IGNORECASE)
_BOXED = re.compile(
    r"(?:(?:so,? )?(?:the )?(?:final )?(?:answer|class) is:?|答案[是为:])?[\s*_$]*"
    r"\\boxed\{(?:\\text\{)?\s*([0-9]{1,2})\s*\}{1,2}[\s*_$.]*",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"[\s*_#-]*第\s*([0-9]{1,2})\s*[类類][\s*_.]*")
_NAMED = re.compile(
    r"[\s*_#-]*(?:the )?"
    r"(?:(?:final\s+)?(?:answer|class|category|action|verdict)|(?:最终)?(?:答案|(?:分类|类别)(?:结果)?)|类)"
    r"(?:\s+(?:class|category|number))?[\s*_]*(?P<sep>(?:\bis\b|是|为)?[:=]|\bis\b|是|为)?[\s*_]*[(\[第]?"
    r"(?P<number>[0-9]{1,2})(?![0-9])[)\]类]?[\s*_]*(?P<rest>.*)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"[\s*_#-]*(?:the )?(?:(?:final )?(?:answer|class|category|action|verdict)|(?:最终)?(?:答案|分类|类别))"
    r"[\s*_]*:[\s*_]*",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(r"[-—,.:;(][^0-9?]*")
_DOUBT = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|probably|might|could|unsure|not sure|uncertain|unclear|borderline|closer|between|"
    r"almost|roughly|arguably|alternatively|instead|two|three|four|five|six)\b|[→⇒>]|"
    r"或|可能|也许|大概|不确定|介于|之间|接近|[一二三四五六]类",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ClassAnswer:
    """The class, or why there is none."""

    value: int | None
    reason: Literal["no_answer", "contradictory", "out_of_range"] | None


def parse_class(text: str, classes: Collection[int], *, cut_off: bool = False) -> ClassAnswer:
    """The class that the text marks as its answer, if it is one of `classes`.

    Args:
        classes: the numbers; a mapping to their meanings lets a judge repeat the meaning behind the number.
        cut_off: whether the text ends at a length limit, so that its last line may not be whole.
    """
    shown = text if len(text) <= _LONGEST else text[: _LONGEST // 2] + "\n" + text[-_LONGEST // 2 :]
    own = plain(own_words(shown, cut_off=cut_off))
    values, broken = json_values(own, unique)
    if broken:
        return ClassAnswer(None, "no_answer")
    lines = own.split("\n")
    values = [each for each in values if isinstance(each.value, dict)]
    for each in values:
        lines[each.first : each.last + 1] = [""] * (each.last + 1 - each.first)
    meanings = classes if isinstance(classes, Mapping) else {}
    found = {*_from_json(values), *_from_lines(lines, meanings)}
    if found and takes_back("\n".join(lines), "[0-9]"):
        return ClassAnswer(None, "contradictory")
    if len(found) > 1:
        return ClassAnswer(None, "contradictory")
    number = found.pop() if found else None
    if number is None:
        return ClassAnswer(None, "no_answer")
    return ClassAnswer(number, None) if number in classes else ClassAnswer(None, "out_of_range")


def _from_json(values: list[Found]) -> Iterator[int | None]:
    """The class of each object that names one; None where it is no whole number."""
    for each in values:
        for name, told in each.value.items():
            if name.strip().casefold() == "class":
                yield _whole(told)


def _whole(told: object) -> int | None:
    if isinstance(told, str):
        return int(told) if re.fullmatch(r"\s*[0-9]{1,2}\s*", told) else None
    if isinstance(told, bool) or not isinstance(told, (int, float)):
        return None
    return int(told) if told == told // 1 else None


def _from_lines(lines: list[str], meanings: Mapping[int, str]) -> Iterator[int | None]:
    """The classes that lines mark as the answer; None for one that is marked and left in doubt."""
    own = [line for line in lines if line.strip() and not line.strip().startswith(("```", "~~~"))]
    if len(own) == 1:
        alone = _ALONE.fullmatch(own[0]) or re.fullmatch(r"[\s*_]*([0-9]{1,2})[\s*_]*[-—:.,)(]+(?P<rest>.+)", own[0])
        if alone and (alone.re is _ALONE or _means(alone["rest"], int(alone[1]), meanings)):
            yield int(alone[1])
    for line, below in pairwise(own):
        if (alone := _ALONE.fullmatch(below)) and _LABEL.fullmatch(line):
            yield int(alone[1])
    for line in own:
        marked = _TAG.fullmatch(line) or _BOXED.fullmatch(line.strip()) or _ORDINAL.fullmatch(line)
        if marked:
            yield int(marked[1])
        elif named := _NAMED.fullmatch(line):
            number, rest = int(named["number"]), named["rest"].strip(" \t*_.`")
            if not rest or _means(rest, number, meanings):
                yield number
            elif named["sep"]:
                yield number if _EXPLAINED.fullmatch(rest) and not _DOUBT.search(rest) else None


def _means(rest: str, number: int, meanings: Mapping[int, str]) -> bool:
    """Whether what follows a number is its own meaning."""
    meaning = meanings.get(number)
    return meaning is not None and rest.strip(" \t*_.-—,:;()\"'").casefold() == meaning.casefold()
