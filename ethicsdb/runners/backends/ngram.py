"""A byte-level n-gram language model: exact likelihoods, seeded sampling, trained in the blink of an eye.

It is no model of language worth the name. It is here so that every path of the registry runs, and is tested, with
nothing but this package: a model that obliges and one that declines, both deterministic on every machine.

Probabilities interpolate all orders down to the uniform distribution (Witten & Bell 1991, method C): with c(h, s) how
often symbol s followed history h, c(h) = sum_s c(h, s) and T(h) the number of different symbols seen after h,

    p(s | h) = (c(h, s) + T(h) p(s | h')) / (c(h) + T(h)),   h' = h without its first symbol,   p(s) base = 1 / 257.

Symbols are the 256 bytes and the end of an answer; text is UTF-8. Bytes that UTF-8 never uses mark the prompt (0xFF),
the answer (0xFE), and before the answer the prompt's script, so that an answer is in the prompt's language.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files

from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["END", "NAMES", "SYMBOLS", "NgramModel", "load"]

NAMES = ("ngram-obliging", "ngram-refusing")
END = 256
SYMBOLS = 257
PROMPT, ANSWER = 0xFF, 0xFE
# Script of a prompt: the first and last character of its block, and its mark.
SCRIPTS = (("\u4e00", "\u9fff", 0xF9), ("\u0400", "\u04ff", 0xFA), ("A", "z", 0xF8))
OTHER_SCRIPT = 0xFB
FORMAT = "ngram-1"  # changes when the same training pairs would give other probabilities or samples

_History = tuple[int, ...]


class NgramModel:
    """An n-gram model of answers to prompts.

    Args:
        counts: history: {symbol: how often it followed}, for histories of 0 to `order - 1` symbols.
        order: the longest history, plus one.
        mark: fingerprint of what it was trained on.
    """

    def __init__(self, counts: dict[_History, dict[int, int]], order: int, mark: str) -> None:
        self.order = order
        self._counts = counts
        self._totals = {history: sum(after.values()) for history, after in counts.items()}
        self._mark = mark

    @classmethod
    def train(cls, pairs: Sequence[tuple[str, str]], order: int = 12) -> NgramModel:
        """A model of (prompt, answer) pairs. Only answers are predicted; prompts are history.

        Raises:
            ValueError: no pairs, or an order below 1.
        """
        if not pairs or order < 1:
            raise ValueError("an n-gram model needs training pairs and an order of at least 1")
        counts: dict[_History, dict[int, int]] = {}
        for prompt, answer in pairs:
            symbols = _history_of(prompt)
            for symbol in [*_bytes(answer), END]:
                for length in range(order):
                    history = tuple(symbols[len(symbols) - length :])
                    after = counts.setdefault(history, {})
                    after[symbol] = after.get(symbol, 0) + 1
                symbols.append(symbol)
        return cls(counts, order, fingerprint([FORMAT, order, [list(pair) for pair in pairs]]))

    def fingerprint(self) -> str:
        """Identity: training pairs, order and format."""
        return self._mark

    def distribution(self, history: Sequence[int]) -> list[float]:
        """Probabilities of all 257 symbols after a history; they sum to 1."""
        probabilities = [1.0 / SYMBOLS] * SYMBOLS
        start = max(0, len(history) - self.order + 1)
        for length in range(len(history) - start + 1):
            after = self._counts.get(tuple(history[len(history) - length :]))
            if after is None:
                break  # a longer history was not seen either
            total, types = self._totals[tuple(history[len(history) - length :])], len(after)
            share = types / (total + types)
            probabilities = [share * p for p in probabilities]
            for symbol, count in after.items():
                probabilities[symbol] += count / (total + types)
        return probabilities

    def log_likelihood(self, context: str, target: str) -> tuple[float, int]:
        """log p(target, end | context) in nats, and the number of symbols: the target's bytes and the end.

        The sum is over all of them; the mean per symbol is the quotient.
        """
        history = _history_of(context)
        total, symbols = 0.0, [*_bytes(target), END]
        for symbol in symbols:
            total += math.log(self.distribution(history[-self.order :])[symbol])
            history.append(symbol)
        return total, len(symbols)

    def generate(self, prompt: str, *, seed: int, temperature: float, max_bytes: int) -> str:
        """An answer of at most `max_bytes` bytes, always whole UTF-8 characters.

        The draw depends on prompt and seed alone. At temperature 0 the likeliest byte is taken, the lowest of equals.
        """
        digest = blake2b(_bytes(prompt) + b"\xff" + str(seed).encode(), digest_size=16).digest()
        draw = random.Random(int.from_bytes(digest, "big"))
        history = _history_of(prompt)
        out = bytearray()
        while len(out) < max_bytes:
            allowed = list(_allowed(out, max_bytes - len(out)))
            symbol = _choose(self.distribution(history[-self.order :]), allowed, temperature, draw)
            if symbol == END:
                break
            out.append(symbol)
            history.append(symbol)
        return out.decode("utf-8")


def _history_of(prompt: str) -> list[int]:
    """The symbols in front of an answer."""
    counts = {mark: sum(first <= each <= last for each in prompt) for first, last, mark in SCRIPTS}
    script = max(counts, key=lambda mark: counts[mark])
    return [PROMPT, *_bytes(prompt), script if counts[script] else OTHER_SCRIPT, ANSWER]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _choose(probabilities: list[float], allowed: list[int], temperature: float, draw: random.Random) -> int:
    if temperature == 0:
        return max(allowed, key=lambda symbol: (probabilities[symbol], -symbol))
    weights = [probabilities[symbol] ** (1.0 / temperature) for symbol in allowed]
    point = draw.random() * math.fsum(weights)
    for symbol, weight in zip(allowed, weights, strict=True):
        point -= weight
        if point < 0:
            return symbol
    return allowed[-1]


def _allowed(out: bytearray, room: int) -> Iterator[int]:
    """Symbols that keep the text valid UTF-8 (Unicode 16, table 3-7) and leave room to finish a character."""
    lead, seen = _unfinished(out)
    if lead is None:
        yield from range(0x01, 0x80)
        for first, last, size in ((0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4)):
            if room >= size:
                yield from range(first, last + 1)
        yield END
        return
    low, high = 0x80, 0xBF
    if seen == 1:
        low = {0xE0: 0xA0, 0xF0: 0x90}.get(lead, low)
        high = {0xED: 0x9F, 0xF4: 0x8F}.get(lead, high)
    yield from range(low, high + 1)


def _unfinished(out: bytearray) -> tuple[int | None, int]:
    """The lead byte of an unfinished last character and how many of its bytes are there; (None, 0) if none is open."""
    for seen in range(1, min(3, len(out)) + 1):
        byte = out[-seen]
        if byte >= 0xC0:
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return (byte, seen) if seen < size else (None, 0)
        if byte < 0x80:
            break
    return None, 0


@cache
def load(name: str) -> NgramModel:
    """One of our two models, trained now from the pairs that ship with the package.

    Raises:
        ModelError: there is no such model.
    """
    if name not in NAMES:
        raise ModelError(f"`{name}` is no n-gram model; there are {', '.join(NAMES)}.")
    file = files("ethicsdb.runners.backends").joinpath(f"ngram_data/{name.removeprefix('ngram-')}.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return NgramModel.train([(row["prompt"], row["answer"]) for row in rows])
