"""Text that DuckDB and Arrow refuse, kept without loss.

A lone surrogate (half of a UTF-16 pair, as broken scrapers write) has no UTF-8 form. The text column then holds a
readable form with U+FFFD in its place, and a BLOB column beside it the exact bytes in the `surrogatepass` form.
"""

from __future__ import annotations

import re

__all__ = ["exact_bytes", "has_surrogate", "restore", "storable"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def has_surrogate(text: str) -> bool:
    """Whether the text holds a lone surrogate."""
    return not text.isascii() and _SURROGATE.search(text) is not None


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
