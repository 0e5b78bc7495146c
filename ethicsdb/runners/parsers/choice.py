"""Which of an item's options an answer names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ethicsdb.runners.parsers.plain import plain

__all__ = ["PARSER_VERSION", "Choice", "parse_choice"]

PARSER_VERSION = "choice-2"

_EDGES = " \t\r\n.。!！?？,，;；:：\"'“”‘’「」*_`()（）[]-"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
# What, earlier in a clause, says that the option is not the answer, and what does so right behind it.
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|except|besides|rather than|instead of|other than)\b|n't\b)[^.,;:!?\n]{0,30}$|"
    r"(?:不|没|并非|非|除了?|而不)[^.,;:!?、\n]{0,6}$|\b(?:не|ни|кроме|вместо)\s+(?:\w+\s+){0,3}$"
)
_DENIES = re.compile(
    r"\s*(?:(?:is|are|was|were|did|does|do|has|had|have|would|could|can|should|will|may|might)\s+(?:not|never)\b|"
    r"\w+n't\b|cannot\b|not\b|never\b|不是|并不是|不对|не\b)"
)


@dataclass(frozen=True)
class Choice:
    """Index of the option, or why there is none: no_answer, no_option, several_options, denied."""

    value: int | None
    reason: str | None = None


def parse_choice(text: str, options: Sequence[str]) -> Choice:
    """The option that an answer is, or the only one that it names.

    Case, whitespace, full-width forms and the punctuation around an answer do not matter. An answer that is an option
    is that option. Else it must hold exactly one of them as words of their own, and not deny it (`not the grandson`);
    an option that stands only inside a longer one that is held (`man` in `the old man`) does not count. Options that
    are equal but for case can't be told apart.
    """
    whole = _plain(text)
    if not whole:
        return Choice(None, "no_answer")
    known = [_plain(option) for option in options]
    same = [at for at, option in enumerate(known) if option == whole]
    if len(same) == 1:
        return Choice(same[0])
    named, denied = (set(same), False) if same else _named(whole, known)
    if len(named) == 1:
        return Choice(None, "denied") if denied else Choice(named.pop())
    return Choice(None, "several_options" if named else "no_option")


def _plain(text: str) -> str:
    return " ".join(plain(text).replace("’", "'").casefold().split()).strip(_EDGES)


def _named(text: str, options: Sequence[str]) -> tuple[set[int], bool]:
    """Options that the text holds, longest first, and whether it denies one.

    What a longer option covers is gone for the shorter.
    """
    found: set[int] = set()
    denied = False
    left = text
    for option in sorted({option for option in options if option}, key=len, reverse=True):
        places = [match.span() for match in re.finditer(_edged(option), left)]
        if not places:
            continue
        found |= {at for at, each in enumerate(options) if each == option}
        denied |= any(_denies(left, start, end) for start, end in places)
        left = re.sub(_edged(option), "\0", left)
    return found, denied


def _denies(text: str, start: int, end: int) -> bool:
    return bool(_DENIED.search(text[max(0, start - 60) : start]) or _DENIES.match(text, end))


def _edged(option: str) -> str:
    """Pattern of an option as words of its own. Chinese has no word ends, so that it bounds other words, too."""
    letter = rf"[^\W{_HAN}]"
    before = "" if re.match(f"[{_HAN}]", option) else f"(?<!{letter})"
    behind = "" if re.match(f"[{_HAN}]", option[-1]) else f"(?!{letter})"
    return before + re.escape(option) + behind
