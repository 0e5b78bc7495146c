"""Numbered answers as JSON."""

from __future__ import annotations

import re

from ethicsdb.runners.parsers.json_values import Found, json_values

__all__ = ["Pairs", "numbered_json"]

_KEY = re.compile(r"(?:q|question|answer|вопрос|问题|第)?[ _-]?([0-9]{1,3})题?", re.IGNORECASE)
_NUMBER_KEYS = {"question", "number", "id", "no", "q", "question_number", "题号", "问题", "вопрос", "номер"}
_ANSWER_KEYS = {"answer", "verdict", "value", "response", "result", "答案", "回答", "结果", "ответ"}

Pairs = list[tuple[int, bool | None]]
"""Number and answer of each question; None for an answer that is neither yes nor no."""


class _Object(list[tuple[str, object]]):
    """A JSON object as its pairs, since a key that stands twice must be noticed."""


def numbered_json(text: str, value: dict[str, bool]) -> tuple[list[Pairs], list[Found]]:
    """The answers of each JSON object or list that stands on lines of its own, and where those stand.

    An object keyed by number, a list of answers, a list of objects with a number and an answer, or one of these as all
    that an object holds under `answers`. An answer is true, false, a yes or no, or an object with one of these as its
    answer.

    Args:
        value: what each word for yes or no says.
    """
    kept: list[Found] = []
    answers: list[Pairs] = []
    for each in json_values(text, _Object)[0]:
        pairs = _pairs(each.value)
        if pairs:
            kept.append(each)
            answers.append([(number, _answer(raw, value)) for number, raw in pairs])
    return answers, kept


def _pairs(data: object) -> list[tuple[int, object]]:
    if isinstance(data, _Object):
        if [key for key, _ in data] == ["answers"]:
            return _pairs(data[0][1])
        matches = [(_KEY.fullmatch(key.strip()), value) for key, value in data]
        pairs = [(int(match[1]), value) for match, value in matches if match is not None]
        return pairs if len(pairs) == len(matches) else []
    if not isinstance(data, list) or not data:
        return []
    if all(isinstance(each, (str, bool)) for each in data):
        return list(enumerate(data, 1))
    found = [_numbered(each) for each in data]
    return [pair for pair in found if pair is not None] if None not in found else []


def _numbered(data: object) -> tuple[int, object] | None:
    """Number and answer of an object that names its question."""
    if not isinstance(data, _Object):
        return None
    numbers = [value for key, value in data if key.strip().lower() in _NUMBER_KEYS]
    number = numbers[0] if len(numbers) == 1 else None
    match = _KEY.fullmatch(number.strip()) if isinstance(number, str) else None
    if match is not None:
        number = int(match[1])
    return (number, data) if isinstance(number, int) and not isinstance(number, bool) else None


def _answer(raw: object, value: dict[str, bool]) -> bool | None:
    if isinstance(raw, _Object):
        told = [each for key, each in raw if key.strip().lower() in _ANSWER_KEYS]
        raw = told[0] if len(told) == 1 and not isinstance(told[0], _Object) else None
    if isinstance(raw, bool):
        return raw
    return value.get(raw.strip().rstrip(".!").lower()) if isinstance(raw, str) else None
