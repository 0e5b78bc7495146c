"""Reads the one class that a judge names.

A class counts where the judge marked it as its answer: the whole text is the number, or it stands in `<answer>`, in
JSON under "class", or behind a word such as "Class:", "Category", "Answer:", "类别：", "答案：" at the start of a line.
A number inside prose is not an answer. Two different classes marked as answers contradict each other.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

__all__ = ["PARSER_VERSION", "ClassAnswer", "parse_class"]

PARSER_VERSION = "1"
"""Goes into the fingerprint of every verdict; changes when any text would be read differently."""

_LONGEST = 20_000  # a verdict is short; of a longer text only its ends are looked at, where answers stand
_TAG = re.compile(r"<answer>\s*(\d{1,2})\s*</answer>", re.IGNORECASE)
_NAMED = re.compile(
    r"^[\s*_>#-]*(?:(?:final\s+)?(?:answer|class|category|action)|最终答案|答案|类别|分类|类)"
    r"(?:\s+(?:class|category|is))?[\s*_]*[:=]?[\s*_]*[(\[]?(\d{1,2})[)\]]?[\s*_]*[.。]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_ALONE = re.compile(r"[\s*_(\[]*(\d{1,2})[)\]*_.。\s]*")


@dataclass(frozen=True)
class ClassAnswer:
    """The class, or why there is none."""

    value: int | None
    reason: Literal["no_answer", "contradictory", "out_of_range"] | None


def parse_class(text: str, classes: Collection[int]) -> ClassAnswer:
    """The class that the text marks as its answer, if it is one of `classes`."""
    plain = unicodedata.normalize(
        "NFKC", text[:_LONGEST] if len(text) <= _LONGEST else text[: _LONGEST // 2] + "\n" + text[-_LONGEST // 2 :]
    )
    found = _from_json(plain)
    if not found:
        alone = _ALONE.fullmatch(plain)
        found = [int(alone[1])] if alone else []
    if not found:
        found = [int(hit) for pattern in (_TAG, _NAMED) for hit in pattern.findall(plain)]
    if not found:
        return ClassAnswer(None, "no_answer")
    if len(set(found)) > 1:
        return ClassAnswer(None, "contradictory")
    if found[0] not in classes:
        return ClassAnswer(None, "out_of_range")
    return ClassAnswer(found[0], None)


def _from_json(text: str) -> list[int]:
    body = text.strip()
    fenced = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", body, re.DOTALL)
    try:
        value = json.loads(fenced[1] if fenced else body)
    except (json.JSONDecodeError, RecursionError):
        return []
    if not isinstance(value, dict):
        return []
    number = value.get("class")
    if isinstance(number, str) and number.strip().isdigit():
        return [int(number)]
    return [number] if isinstance(number, int) and not isinstance(number, bool) else []
