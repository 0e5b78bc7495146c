"""Key-value caches of contexts that were read once, laid under rows that go on from them.

Rows that go on from contexts of different lengths are aligned where the contexts end: the shorter cache is padded on
its left and masked there. So a row has no gap, and what a model derives from the distance of two places (a sliding
window, a relative bias) is what it is in the text alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Held", "held_bytes", "is_plain", "lay", "new_cache"]


@dataclass(frozen=True)
class Held:
    """The cache of contexts of one length that were read in one pass.

    Attributes:
        cache: keys and values of all of them (transformers).
        shared: ids that were read.
        contexts: how many contexts there are.
    """

    cache: Any
    shared: int
    contexts: int


def new_cache(model: Any) -> Any:
    """An empty cache with the layers that the model's configuration asks for."""
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def is_plain(cache: Any) -> bool:
    """Whether a cache is nothing but keys and values by position, which recurrent layers' states are not."""
    from transformers import cache_utils

    plain = (cache_utils.DynamicLayer, cache_utils.DynamicSlidingWindowLayer)
    return all(type(layer) in plain for layer in cache.layers)


def held_bytes(held: Held) -> int:
    """Memory that one of its contexts takes."""
    filled = [layer for layer in held.cache.layers if layer.is_initialized]
    return int(sum(layer.keys.nbytes + layer.values.nbytes for layer in filled)) // held.contexts


def lay(rows: Sequence[tuple[Held, int]]) -> Any:
    """A cache with one row for each (held, place of its context in it); what is held stays as it is.

    Its length is that of the longest context; shorter ones stand at its end.
    """
    longest = max((held for held, _ in rows), key=lambda held: held.shared)
    laid = copy.copy(longest.cache)  # counts of the longest, as a sliding window's layer keeps them
    laid.layers = [copy.copy(layer) for layer in longest.cache.layers]
    one = all(held is longest for held, _ in rows) and longest.contexts == 1
    for at, layer in enumerate(laid.layers):
        if not layer.is_initialized:
            continue
        for name in ("keys", "values"):
            tensor = getattr(layer, name)
            # Of one context a view is enough: a cache grows by concatenation, which copies.
            row_tensor = tensor.expand(len(rows), -1, -1, -1) if one else _aligned(rows, at, name, tensor)
            setattr(layer, name, row_tensor)
    return laid


def _aligned(rows: Sequence[tuple[Held, int]], layer: int, name: str, longest: Any) -> Any:
    laid = longest.new_zeros((len(rows), *longest.shape[1:]))
    for at, (held, place) in enumerate(rows):
        own = getattr(held.cache.layers[layer], name)[place]
        laid[at, :, laid.shape[2] - own.shape[1] :] = own
    return laid
