"""How alike two texts are by ROUGE-L, against a whole pool at once.

ROUGE-L (Lin 2004) of texts with m and n tokens whose longest common subsequence has L: precision L / m, recall L / n,
and F-measure (beta 1) 2 L / (m + n), from 0 to 1. On ASCII it is that of `rouge_score` without its stemmer. There,
Chinese has no tokens at all and scores 0; here each character of a script that is written without spaces is one.

The subsequences are counted by `rapidfuzz`, 64 tokens a machine word, over texts whose tokens are single characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

__all__ = ["Pool", "rouge_l", "tokens"]

# Thai, Lao, Myanmar, Khmer, kana, and Chinese characters: scripts that are written without spaces.
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_NO_SPACES}]|[a-z0-9]+|(?:(?![a-z0-9{_NO_SPACES}])[^\W_])+")
_SURROGATES = (0xD800, 0x800)  # where they begin and how many there are: no characters, and stepped over


def tokens(text: str) -> list[str]:
    """The tokens of a text in lower case: words, and single characters of scripts that are written without spaces."""
    return _TOKEN.findall(text.lower())


def rouge_l(one: str, two: str) -> float:
    """F-measure of ROUGE-L, from 0 to 1; 0 where a text has no tokens."""
    left, right = tokens(one), tokens(two)
    if not left or not right:
        return 0.0
    return 2 * LCSseq.similarity(left, right) / (len(left) + len(right))


class Pool:
    """Texts that new ones are compared with."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """A pool that holds some texts already."""
        self._numbers: dict[str, int] = {}
        self._encoded: list[str] = []
        self._lengths: list[int] = []
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._encoded)

    def add(self, text: str) -> None:
        """Put a text into the pool."""
        encoded = self._encode(text)
        self._encoded.append(encoded)
        self._lengths.append(len(encoded))

    def similarities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """F-measures of each text with each of the pool: an array of (texts, pool)."""
        rows = [self._encode(text) for text in texts]
        shared = process.cdist(rows, self._encoded, scorer=LCSseq.similarity, dtype=np.uint32)
        both = np.add.outer([len(row) for row in rows], np.asarray(self._lengths, np.int64)).reshape(shared.shape)
        return np.asarray(2 * shared.astype(np.float64) / np.maximum(both, 1), np.float64)

    def nearest(self, text: str) -> tuple[float, int] | None:
        """The largest F-measure with a text of the pool, and which one it is (the first of several); None if empty."""
        if not self._encoded:
            return None
        found = self.similarities([text])[0]
        at = int(found.argmax())
        return float(found[at]), at

    def _encode(self, text: str) -> str:
        """A character for each token, the same for equal ones."""
        numbers = (self._numbers.setdefault(token, len(self._numbers)) for token in tokens(text))
        first, count = _SURROGATES
        return "".join(chr(number if number < first else number + count) for number in numbers)
