"""Reads a judge's finding: named fields, as one JSON object or as lines `Name: value`.

Strict: every required field once, with a value that the rubric knows. What is missing, doubled with different values,
unknown, or at odds with itself is no finding. Prose around the one object is passed over; prose instead of it is not.
What is not the judge's own (`own_words`) is no finding either.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ethicsdb.runners.parsers.json_values import json_values, unique
from ethicsdb.runners.parsers.own_words import own_words, takes_back
from ethicsdb.runners.parsers.plain import INVISIBLE

if TYPE_CHECKING:
    from ethicsdb.schemas.rubrics import FieldsRubric, FindingField

__all__ = ["PARSER_VERSION", "YES_NO_WORDS", "Finding", "parse_finding"]

PARSER_VERSION = "fields-3"

YES_NO_WORDS = {
    "yes": ("yes", "true", "是", "有", "да"),
    "no": ("no", "false", "否", "没有", "无", "нет"),
}
_LONGEST = 100_000  # characters; a finding is short
_LINE = re.compile(r"^[\s*_>#-]*(?:\d{1,2}[.、)]\s*)?[*_\"“]*([^:：\n]{1,60}?)[*_\"”]*\s*[:：]\s*(.*?)\s*$")
_WRAPPERS = (
    "finding", "result", "verdict", "output", "judgment", "judgement", "analysis", "evaluation", "assessment",
    "结果", "判断",
)  # fmt: skip
_NONE = ("", "none", "n/a", "无", "没有", "нет")
_SEPARATORS = re.compile(r"[,;、，；/]|\band\b|\bи\b|和")


class ContradictionError(Exception):
    """A named line stands twice with other words."""


@dataclass(frozen=True)
class Finding:
    """Values by field (yes | no, a list of values, a text or texts), or why there are none."""

    values: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None


def parse_finding(text: str, rubric: FieldsRubric, *, cut_off: bool = False) -> Finding:
    """The finding that a text is, under a rubric.

    `reason` is no_answer (no object and no named line), too_few (a required field is missing), contradictory (two
    objects or lines say different things, values are at odds, or a line takes them back), or unknown_value.

    Args:
        cut_off: whether the text ends at a length limit, so that its last line may not be whole.
    """
    own = own_words(text[:_LONGEST], cut_off=cut_off or len(text) > _LONGEST)
    try:
        objects, prose = _objects(own)
        lines = _lines(prose, rubric)
    except ContradictionError:
        return Finding(reason="contradictory")
    found = objects or lines
    if not found:
        return Finding(reason="no_answer")
    read = [_read(each, rubric) for each in found]
    faults = [each for each in read if isinstance(each, str)]
    if faults:
        return Finding(reason=faults[0])
    values = [each for each in read if not isinstance(each, str)]
    differ = any(each != values[0] for each in values) or any(_at_odds(values[0], each, rubric) for each in lines)
    if differ or takes_back(prose, _mention(rubric)):
        return Finding(reason="contradictory")
    return _consistent(values[0], rubric)


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """Every JSON object on lines of its own, of the outermost level or in a list, and the text without them."""
    values, _ = json_values(text, unique)
    if not values and not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        values, _ = json_values(text, unique)
    lines = text.split("\n")
    for each in values:
        lines[each.first : each.last + 1] = [""] * (each.last + 1 - each.first)
    listed = [part for each in values for part in (each.value if isinstance(each.value, list) else [each.value])]
    return [_unwrapped(each) for each in listed if isinstance(each, dict)], "\n".join(lines)


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """The object inside an object that holds nothing else and names it a finding: `{"finding": {...}}`."""
    name, inner = next(iter(value.items())) if len(value) == 1 else ("", None)
    return inner if isinstance(inner, dict) and _key(name) in _WRAPPERS else value


def _at_odds(values: dict[str, Any], line: dict[str, Any], rubric: FieldsRubric) -> bool:
    """Whether named lines say something else than an object does."""
    fixed = {name: each for name, each in rubric.fields.items() if each.kind in ("yes_no", "several")}
    return any(name in line and _value(line[name], each) != values[name] for name, each in fixed.items())


def _mention(rubric: FieldsRubric) -> str:
    """Pattern of what a finding is made of: the names of its fixed fields, and yes and no."""
    fixed = {name: each for name, each in rubric.fields.items() if each.kind in ("yes_no", "several")}
    names = [other for name, each in fixed.items() for other in (name, *each.also)]
    return rf"\b(?:yes|no|да|нет)\b|{'|'.join(re.escape(name) for name in names)}"


def _lines(text: str, rubric: FieldsRubric) -> list[dict[str, Any]]:
    """Named lines as one object; none where braces stand in the text, which is JSON that can't be read.

    Raises:
        ContradictionError: a name stands twice with other words.
    """
    found: dict[str, Any] = {}
    if "{" in text:
        return []
    for line in text.split("\n"):
        hit = _LINE.match(line)
        name = _named(hit[1], rubric) if hit else None
        if hit is None or name is None:
            continue
        value = hit[2].strip(' *_"“”')
        if not value:  # it may stand on the lines below, in any form
            continue
        if name in found and found[name] != value:
            raise ContradictionError
        found[name] = value
    return [found] if found else []


def _named(name: str, rubric: FieldsRubric) -> str | None:
    """The field that a name is, by its own name or one of its other ones."""
    wanted = _key(name)
    for field_name, each in rubric.fields.items():
        if wanted in {_key(field_name), *(_key(other) for other in each.also)}:
            return field_name
    return None


def _key(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(INVISIBLE)
    return re.sub(r"[\s_-]+", " ", plain).strip().casefold()


def _read(told: Mapping[str, Any], rubric: FieldsRubric) -> dict[str, Any] | str:
    """Values of the rubric's fields, or a reason."""
    by_name: dict[str, Any] = {}
    for name, value in told.items():
        known = _named(str(name), rubric)
        if known is not None:
            if known in by_name and by_name[known] != value:
                return "contradictory"
            by_name[known] = value
    values: dict[str, Any] = {}
    for name, each in rubric.fields.items():
        if name not in by_name:
            if each.required:
                return "too_few" if by_name else "no_answer"
            values[name] = None
            continue
        value = _value(by_name[name], each)
        if value is None and each.kind in ("yes_no", "several"):
            return "unknown_value"
        values[name] = value
    return values


def _value(told: Any, each: FindingField) -> Any:
    """A field's value in its own form; None where it has none that is known."""
    if each.kind == "yes_no":
        return _yes_no(told)
    if each.kind == "several":
        return _several(told, each)
    if each.kind == "texts":
        listed = told if isinstance(told, list) else _parts(str(told))
        return [str(part) for part in listed if part is not None and str(part).strip()]
    return None if told is None else str(told)


def _yes_no(told: Any) -> str | None:
    if isinstance(told, bool):
        return "yes" if told else "no"
    word = _key(told).strip(' .。!*_"“”') if isinstance(told, str) else ""
    return next((name for name, words in YES_NO_WORDS.items() if word in words), None)


def _several(told: Any, each: FindingField) -> list[str] | None:
    """Values that are named, in the rubric's order; None where one is not known."""
    listed = told if isinstance(told, list) else _parts(told if isinstance(told, str) else "?")
    known = {_key(name): value for value, names in each.values.items() for name in (value, *names)}
    if all(isinstance(part, str) and part.strip().casefold() in _NONE for part in listed):
        return []
    found = [known.get(_key(str(part).strip(' .。*_"“”'))) for part in listed if str(part).strip()]
    if any(value is None for value in found):
        return None
    return [value for value in each.values if value in found]


def _parts(text: str) -> list[str]:
    return [] if text.strip(" .。").casefold() in _NONE else [part.strip() for part in _SEPARATORS.split(text)]


def _consistent(values: dict[str, Any], rubric: FieldsRubric) -> Finding:
    """The finding, unless it names values of a field while the field that this depends on says no."""
    for name, each in rubric.fields.items():
        if each.only_if is not None and values[name] and values[each.only_if] == "no":
            return Finding(reason="contradictory")
    return Finding(values)
