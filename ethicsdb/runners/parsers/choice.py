"""Which of an item's options an answer names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["PARSER_VERSION", "Choice", "parse_choice"]

PARSER_VERSION = "choice-1"

_EDGES = " \t\r\n.。!！?？,，;；:：\"'“”‘’「」*_`()（）[]-"


@dataclass(frozen=True)
class Choice:
    """Index of the option, or why there is none: no_answer, no_option, several_options."""

    value: int | None
    reason: str | None = None


def parse_choice(text: str, options: Sequence[str]) -> Choice:
    """The option that an answer is, or the only one that it names.

    Case, whitespace and the punctuation around an answer do not matter. An answer that is an option is that option.
    Else it must hold exactly one of them as words of their own; an option that stands only inside a longer one that is
    held (`man` in `the old man`) does not count. Options that are equal but for case can't be told apart.
    """
    plain = _plain(text)
    if not plain:
        return Choice(None, "no_answer")
    known = [_plain(option) for option in options]
    same = [at for at, option in enumerate(known) if option == plain]
    if len(same) == 1:
        return Choice(same[0])
    named = set(same) or _named(plain, known)
    if len(named) == 1:
        return Choice(named.pop())
    return Choice(None, "several_options" if named else "no_option")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(_EDGES)


def _named(text: str, options: Sequence[str]) -> set[int]:
    """Options that the text holds, longest first; what a longer one covers is gone for the shorter."""
    found: set[int] = set()
    left = text
    for option in sorted({option for option in options if option}, key=len, reverse=True):
        # A script without spaces, such as Chinese, has no word ends to look for.
        edge = r"(?<!\w){}(?!\w)" if option.isascii() else "{}"
        left, count = re.subn(edge.format(re.escape(option)), "\0", left)
        if count:
            found |= {at for at, each in enumerate(options) if each == option}
    return found
