"""Text that DuckDB and Arrow refuse, kept without loss.

A lone surrogate (half of a UTF-16 pair, as broken scrapers write) has no UTF-8 form. The text column then holds a
readable form with U+FFFD in its place, and a BLOB column beside it the exact bytes in the `surrogatepass` form.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["exact_bytes", "has_surrogate", "is_blank", "restore", "single_spaced", "storable"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK_KINDS = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf"))  # spaces, line ends, controls, zero-width and direction marks
# Of other kinds, and yet nothing to see: fillers of Hangul, the empty Braille cell, joiners and variation selectors.
_BLANK_OTHERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)


def has_surrogate(text: str) -> bool:
    """Whether the text holds a lone surrogate."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: it is empty, or of whitespace, zero-width and control characters alone."""
    return all(unicodedata.category(each) in _BLANK_KINDS or each in _BLANK_OTHERS for each in text)


def single_spaced(text: str) -> str:
    """A text whatever its whitespace, which spreadsheets alter: line ends, and what stands at the ends of a cell."""
    return " ".join(text.split())


def storable(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; other text comes back unchanged."""
    return _SURROGATE.sub("\ufffd", text) if has_surrogate(text) else text


def exact_bytes(text: str | None) -> bytes | None:
    """The exact bytes of a text that `storable` would change, or None where the text is stored as it is."""
    if text is None or not has_surrogate(text):
        return None
    return text.encode("utf-8", "surrogatepass")


def restore(text: str | None, exact: bytes | None) -> str | None:
    """The original text from its two columns."""
    return exact.decode("utf-8", "surrogatepass") if exact is not None else text
