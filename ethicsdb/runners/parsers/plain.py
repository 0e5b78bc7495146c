"""Characters that judges write in place of plain ones."""

from __future__ import annotations

import re

__all__ = ["INVISIBLE", "plain"]

INVISIBLE = dict.fromkeys((0xFEFF, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFE0E, 0xFE0F))
"""Translation that drops what can't be seen: byte order marks, joiners, direction marks, variation selectors."""

# The table is explicit because compatibility normalisation is quadratic on long runs of combining marks, and reads
# more than a person would: superscripts and the digits of other scripts.
_PLAIN: dict[int, str | None] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{first + i: f"{i + 1}." for first in (0x2460, 0x2474, 0x2488) for i in range(20)},  # circled, (1), 1.
    **INVISIBLE,
    **dict.fromkeys((0x3000, 0x00A0, 0x2007, 0x202F), " "),
    **dict.fromkeys((0x2010, 0x2011), "-"),
    **dict.fromkeys((0x2013, 0x2014, 0x2015, 0x2212), "—"),
    0x20E3: ".",  # closes a keycap digit
    **{ord(mark): plain for mark, plain in zip("。｡【】", "..[]", strict=True)},
}
_ANY = re.compile(f"[{''.join(map(re.escape, map(chr, _PLAIN)))}]")


def plain(text: str) -> str:
    """The text with full-width forms, numbers in one sign and invisible marks written as their plain counterparts."""
    return text.translate(_PLAIN) if not text.isascii() and _ANY.search(text) else text
