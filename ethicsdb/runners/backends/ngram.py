"""Byte-level n-gram language models: exact likelihoods and repeatable answers with nothing installed.

A pair of prompt and answer is one sequence of symbols: the mark 0xFF, the bytes of the prompt, the mark of the answer,
the bytes of the answer, and an end symbol. No mark occurs in UTF-8 text. Only the symbols after the answer's mark are
learnt. The answer's mark tells the script in which the prompt is mostly written, since an n-gram forgets the prompt
after a few bytes and would answer in any language.

Estimation is interpolated Witten-Bell (method C of Witten and Bell, The zero-frequency problem, IEEE Transactions on
Information Theory 37(4), 1991, as interpolated in Chen and Goodman, An empirical study of smoothing techniques for
language modeling, Computer Speech & Language 13(4), 1999, section 2.4):

    p(s | h) = (c(h, s) + w T(h) p(s | h')) / (c(h) + w T(h)),      p(s | unseen h) = p(s | h')

where c counts, T(h) is the number of different symbols seen after h, h' is h without its first symbol, and the
distribution below the empty history is uniform over the 257 symbols. Witten and Bell's own weight w is 1; ours is 0.2,
since w = 1 gives so much to short histories that answers drawn after a few dozen training texts are garbled.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate

from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["END", "NAMES", "SYMBOLS", "Completion", "NgramModel", "answer_history", "load"]

VERSION = 1  # raised whenever the same training texts would give other numbers or other answers
END = 256
SYMBOLS = 257
NAMES = ("ngram-obliging", "ngram-refusing")

_PROMPT = b"\xff"
_ANSWER = {"other": b"\xfe", "han": b"\xfd", "cyrillic": b"\xfc"}
_BACKOFF = 0.2
_PACKAGED_ORDER = 12  # a history of three Chinese or five Russian letters


@dataclass(frozen=True)
class Completion:
    """An answer.

    Attributes:
        text: valid Unicode, at most `max_bytes` long in UTF-8.
        finish_reason: `stop` where the model ended, `length` where it was cut off.
        tokens: symbols drawn, the end symbol and the bytes of a character that was cut off included.
    """

    text: str
    finish_reason: str
    tokens: int


class NgramModel:
    """A trained model; `train` makes one."""

    def __init__(self, order: int, counts: dict[bytes, dict[int, int]], mark: str) -> None:
        self.order = order
        self._counts = counts
        self._totals = {history: sum(after.values()) for history, after in counts.items()}
        self._fingerprint = mark

    @classmethod
    def train(cls, pairs: Sequence[tuple[str, str]], order: int = 6) -> NgramModel:
        """Count all histories of 0 to `order` - 1 symbols before each symbol of each answer.

        Raises:
            ValueError: `order` is below 1. Without pairs the model is uniform.
        """
        if order < 1:
            raise ValueError(f"an n-gram model has order 1 or more, not {order}")
        counts: dict[bytes, dict[int, int]] = {}
        for prompt, answer in pairs:
            history = answer_history(prompt)
            start, body = len(history), history + _encode(answer)
            for at, symbol in enumerate([*body[start:], END], start):
                for length in range(min(order, at + 1)):
                    after = counts.setdefault(body[at - length : at], {})
                    after[symbol] = after.get(symbol, 0) + 1
        return cls(order, counts, fingerprint(["byte-ngram", VERSION, order, [list(pair) for pair in pairs]]))

    def fingerprint(self) -> str:
        """What the model is: its training pairs in their order, its order and the version of this code."""
        return self._fingerprint

    def probability(self, history: bytes, symbol: int) -> float:
        """p(symbol | history), in (0, 1); only the last `order` - 1 bytes of the history matter."""
        levels, rest = self._levels(history)
        return rest + math.fsum(weight * after.get(symbol, 0) for after, weight in levels)

    def distribution(self, history: bytes) -> list[float]:
        """p(. | history) over all 257 symbols, bytes first and then the end; it sums to 1."""
        levels, rest = self._levels(history)
        values = [rest] * SYMBOLS
        for after, weight in levels:
            for symbol, count in after.items():
                values[symbol] += weight * count
        return values

    def log_likelihood(self, context: str, target: str) -> tuple[float, int]:
        """log p(target, end | context) in nats, and the number of symbols it sums over.

        The context is a prompt. The end symbol counts, so that over all targets the probabilities sum to 1; the number
        is therefore the UTF-8 length of the target (3 bytes for a lone surrogate) plus 1, and 1 for an empty target.
        """
        history = answer_history(context)
        start, body = len(history), history + _encode(target)
        steps = [math.log(self.probability(body[:at], body[at])) for at in range(start, len(body))]
        steps.append(math.log(self.probability(body, END)))
        return math.fsum(steps), len(steps)

    def generate(self, prompt: str, *, seed: int, temperature: float, max_bytes: int) -> str:
        """The text of `complete`."""
        return self.complete(prompt, seed=seed, temperature=temperature, max_bytes=max_bytes).text

    def complete(self, prompt: str, *, seed: int, temperature: float, max_bytes: int) -> Completion:
        """Draw an answer of at most `max_bytes` bytes.

        Symbols that would not continue valid UTF-8 are left out before each draw. The same prompt, seed and settings
        give the same text everywhere; another prompt gets draws of its own from the same seed.

        Args:
            seed: any integer.
            temperature: probabilities are raised to 1 / temperature; 0 takes the likeliest symbol, lowest of equals.
            max_bytes: a character that does not fit any more is left out, and the answer is `length`.

        Raises:
            ValueError: the temperature is negative or no number.
        """
        if not temperature >= 0.0:
            raise ValueError(f"a temperature is 0 or more, not {temperature}")
        draws = random.Random(_draw_seed(seed, prompt))
        history = bytearray(answer_history(prompt))
        start = whole = len(history)
        while len(history) - start < max_bytes:
            allowed = _allowed(bytes(history[whole:]))
            weights = self._weights(bytes(history[-self.order :]), allowed, temperature)
            symbol = _pick(allowed, weights, draws)
            if symbol == END:
                return Completion(history[start:].decode("utf-8"), "stop", len(history) - start + 1)
            history.append(symbol)
            if not _expects_more(bytes(history[whole:])):
                whole = len(history)
        return Completion(history[start:whole].decode("utf-8"), "length", len(history) - start)

    def _weights(self, history: bytes, allowed: tuple[int, ...], temperature: float) -> list[float]:
        """Weights of the allowed symbols; at temperature 0 the first likeliest has them all."""
        whole = self.distribution(history)
        values = [whole[symbol] for symbol in allowed]
        top = max(values)
        if temperature == 0.0:
            best = values.index(top)
            return [1.0 if at == best else 0.0 for at in range(len(values))]
        if temperature == 1.0:
            return values
        return [(value / top) ** (1.0 / temperature) for value in values]

    def _levels(self, history: bytes) -> tuple[list[tuple[dict[int, int], float]], float]:
        """The recursion written as a sum: what was seen after each end of the history, longest first, with the weight
        of one count, and what every symbol gets from the uniform distribution."""
        levels, left = [], 1.0
        for length in range(min(self.order - 1, len(history)), -1, -1):
            tail = history[len(history) - length :]
            after = self._counts.get(tail)
            if after is not None:
                shared = _BACKOFF * len(after)
                scale = self._totals[tail] + shared
                levels.append((after, left / scale))
                left *= shared / scale
        return levels, left / SYMBOLS


@lru_cache(maxsize=len(NAMES))
def load(name: str) -> NgramModel:
    """One of the packaged models: `ngram-obliging` answers, `ngram-refusing` declines whatever is asked.

    Both were trained on everyday questions with answers in English, Chinese and Russian.

    Raises:
        ModelError: there is no such model.
    """
    if name not in NAMES:
        raise ModelError(f"`{name}` is no n-gram model; there are {' and '.join(NAMES)}.")
    source = files("ethicsdb.runners.backends") / "ngram_data" / f"{name.removeprefix('ngram-')}.jsonl"
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    return NgramModel.train([(row["prompt"], row["answer"]) for row in rows], _PACKAGED_ORDER)


def answer_history(prompt: str) -> bytes:
    """The symbols before an answer: the prompt between its mark and the mark of an answer in its script."""
    return _PROMPT + _encode(prompt) + _ANSWER[_script(prompt)]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _script(text: str) -> str:
    """The script that takes most bytes of UTF-8 in a text: `han`, `cyrillic` or `other`."""
    han = sum(3 for sign in text if "\u3400" <= sign <= "\u9fff" or "\U00020000" <= sign <= "\U0003ffff")
    cyrillic = sum(2 for sign in text if "\u0400" <= sign <= "\u052f")
    other = sum(1 for sign in text if sign.isascii() and sign.isalpha())
    if han > max(cyrillic, other):
        return "han"
    return "cyrillic" if cyrillic > other else "other"


def _draw_seed(seed: int, prompt: str) -> int:
    """Seed of one answer's draws: with the bare seed, different prompts would get the same answer."""
    digest = hashlib.blake2b(f"{seed}\n".encode() + _encode(prompt), digest_size=16)
    return int.from_bytes(digest.digest(), "big")


def _pick(symbols: tuple[int, ...], weights: list[float], draws: random.Random) -> int:
    """One symbol, by its weight."""
    sums = list(accumulate(weights))
    at = bisect_right(sums, draws.random() * sums[-1])
    # Rounding may reach the very end; the likeliest symbol is then the one that is never wrong.
    return symbols[at] if at < len(symbols) else symbols[weights.index(max(weights))]


_FIRST_ALLOWED = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


@lru_cache(maxsize=4096)
def _allowed(pending: bytes) -> tuple[int, ...]:
    """Symbols that continue valid UTF-8 (RFC 3629, section 4) after the bytes of an unfinished character."""
    if not pending:
        return (*range(0x80), *range(0xC2, 0xF5), END)
    low, high = _FIRST_ALLOWED.get(pending[0], (0x80, 0xBF)) if len(pending) == 1 else (0x80, 0xBF)
    return tuple(range(low, high + 1))


def _expects_more(character: bytes) -> bool:
    """Whether the bytes of a character are not all there yet."""
    first = character[0]
    return len(character) < 1 + (first >= 0xC2) + (first >= 0xE0) + (first >= 0xF0)
