"""JSON that stands on lines of its own in a judge's text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Found", "json_values", "unique"]

Hook = Callable[[list[tuple[str, Any]]], Any]

_BEGINS = re.compile(
    r"^[ \t\ufeff]*(?:(?:`{3,}|~{3,})(?:json)?[ \t]*)?(?:[*_]*(?:final |my )?"
    r"(?:answer|verdict|finding|result|output|judge?ment|classification|json|答案|结果|判断|结论|输出|ответ|результат|вывод)"
    r"[*_]*[ \t]*[:：][ \t*_]*)?(?=[{\[])",
    re.IGNORECASE | re.MULTILINE,
)
_GOES_ON = re.compile(r"[ \t]*,?[ \t]*(?=[{\[])")
_ENDS = re.compile(r"[ \t]*(?:[.。,;]|`{3,}|~{3,})?[ \t]*(?:\n|$)")
_MEANT = re.compile(r"\{|\[\s*[{\[\"]")  # what begins so is meant as JSON; `[1]` or `[x]` need not be
_MOST_FAILURES = 200  # beginnings that are no JSON; each may cost a look at much that follows


@dataclass(frozen=True)
class Found:
    """A value, with the numbers of its first and last line, from 0 on."""

    value: Any
    first: int
    last: int


def json_values(text: str, hook: Hook | None = None) -> tuple[list[Found], bool]:
    """Objects and lists that begin a line, a label such as `Answer:` aside, and end one; whether any is broken.

    JSON inside a sentence is not the sentence's verdict. An object inside a broken one may be anything (a quotation, an
    example, what the answer planted), so that nothing is found where a brace begins a line and opens no JSON.

    Args:
        hook: what an object becomes, given its pairs; a ValueError that it raises says that the object is broken.
    """
    if "{" not in text and "[" not in text:
        return [], False
    decoder = json.JSONDecoder(object_pairs_hook=hook)
    found: list[Found] = []
    at, line, counted, failures = 0, 0, 0, 0
    while match := _BEGINS.search(text, at):
        values, end = _values(decoder, text, match.end())
        if end is None:
            failures += 1
            if _MEANT.match(text, match.end()) or failures > _MOST_FAILURES:
                return [], True
            at = _next_line(text, match.end())
            continue
        line, counted = line + text.count("\n", counted, match.end()), match.end()
        last = line + text.count("\n", match.end(), end)
        found.extend(Found(value, line, last) for value in values)
        at = _next_line(text, end)
    return found, False


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A hook that takes no object in which a key stands twice."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _values(decoder: json.JSONDecoder, text: str, at: int) -> tuple[list[Any], int | None]:
    """The values that begin here, one behind the other, and their end; None where more follows on the line."""
    values: list[Any] = []
    while True:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [], None
        values.append(value)
        if more := _GOES_ON.match(text, at):
            at = more.end()
            continue
        return values, at if _ENDS.match(text, at) else None


def _next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
