"""Which targets go through a model together: by token budget, longest first, same contexts once.

Rows are only ever padded on the right, where a causal model does not look, and contexts that are read in one pass are
split at the same position, so that they need no padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ethicsdb.runners.likelihood.encoding import Encoded

__all__ = ["Batch", "Budget", "Group", "Row", "chunks", "groups", "plan"]

# Fewer context tokens saved than this do not pay for a second pass.
_WORTH_SHARING = 48
# The cheapest cuts take quadratic time, so they are sought among so many neighbours.
_NEIGHBOURS = 256


@dataclass(frozen=True)
class Budget:
    """How much goes through a model at once.

    Attributes:
        tokens: padded tokens of one pass.
        logits: positions times vocabulary of one pass.
        cache_bytes: key-value cache of the rows of one pass.
        a_pass: tokens that take as long as what every pass costs by itself; so much padding is borne to save one.
    """

    tokens: int
    logits: int
    cache_bytes: int
    a_pass: int = 32

    @classmethod
    def of(cls, device: str) -> Budget:
        """What suits a device: more on a processor only costs memory, less on a GPU leaves it idle."""
        if device == "cpu":
            return cls(tokens=2048, logits=1 << 26, cache_bytes=1 << 29)
        return cls(tokens=16384, logits=1 << 28, cache_bytes=1 << 33, a_pass=1024)

    def positions(self, vocabulary: int) -> int:
        """The most scored ids of one pass."""
        return max(1, self.logits // vocabulary)


@dataclass(frozen=True)
class Row:
    """A target and whose it is: (request, target) positions in the caller's window."""

    owner: tuple[int, int]
    encoded: Encoded


@dataclass(frozen=True)
class Group:
    """Targets whose first `shared` ids are equal; a single target shares all its context with itself."""

    rows: tuple[Row, ...]
    shared: int

    @property
    def saved(self) -> int:
        """Tokens that need not be read again when the shared ids are read once."""
        return self.shared * (len(self.rows) - 1)


@dataclass(frozen=True)
class Batch:
    """What one pass reads: whole rows where `shared` is 0, else groups split at that many ids."""

    groups: tuple[Group, ...]
    shared: int

    @property
    def longest(self) -> int:
        """Ids of its longest row."""
        return max(len(row.encoded.ids) for group in self.groups for row in group.rows)


def groups(rows: Iterable[Row]) -> list[Group]:
    """Rows with equal contexts together, whatever requests they come from."""
    by_context: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_context.setdefault(row.encoded.context, []).append(row)
    found = []
    for same in by_context.values():
        shared = _shared([row.encoded for row in same])
        if shared:
            found.append(Group(tuple(same), shared))
        else:  # the first token already differs, as where a target melts into a one-token context
            found += [Group((row,), row.encoded.start) for row in same]
    return found


def _shared(same: Sequence[Encoded]) -> int:
    """How many first ids all have, none of them scored. Of sorted lists, the first and last agree the least."""
    first, last = min(each.ids for each in same), max(each.ids for each in same)
    most = min(each.start for each in same)
    return next((at for at in range(most) if first[at] != last[at]), most)


def plan(grouped: Iterable[Group], budget: Budget, vocabulary: int, *, share: bool = True) -> list[Batch]:
    """All groups in batches, the longest rows first, so that what does not fit into memory fails at once.

    Args:
        vocabulary: number of logits a position.
        share: whether contexts may be read once for several targets.
    """
    whole: list[Group] = []
    split: list[Group] = []
    for group in grouped:
        if share and group.saved >= _WORTH_SHARING:
            split.append(group)
        else:
            whole += [Group((row,), group.shared) for row in group.rows]
    batches = [*_whole_batches(whole, budget, vocabulary), *_split_batches(split, budget)]
    return sorted(batches, key=lambda batch: -batch.longest)


def _whole_batches(single: list[Group], budget: Budget, vocabulary: int) -> list[Batch]:
    rows = [group.rows[0] for group in single]
    return [Batch(tuple(Group((row,), 0) for row in part), 0) for part in chunks(rows, budget, vocabulary)]


def chunks(
    rows: Iterable[Row], budget: Budget, vocabulary: int, skipped: Mapping[tuple[int, int], int] | None = None
) -> list[list[Row]]:
    """Rows in parts of similar length, the longest first, each part within the budget where it has more than one row.

    Args:
        vocabulary: number of logits a position.
        skipped: how many of a row's first ids are not read, by owner; where they are negative, so many tokens more are.
    """
    skips = skipped or {}
    sized = sorted(((len(row.encoded.ids) - skips.get(row.owner, 0), row) for row in rows), key=lambda each: -each[0])
    sizes, ordered = [size for size, _ in sized], [row for _, row in sized]
    scored = list(accumulate((row.encoded.scored for row in ordered), initial=0))
    positions = budget.positions(vocabulary)

    def cost(begin: int, end: int) -> int | None:
        padded = sizes[begin] * (end - begin)
        over = padded > budget.tokens or scored[end] - scored[begin] > positions
        return None if over and end - begin > 1 else padded + budget.a_pass

    return [ordered[begin:end] for begin, end in _cheapest(len(ordered), cost)]


def _split_batches(split: list[Group], budget: Budget) -> list[Batch]:
    """Groups split at the shortest of each batch; what is longer is read again for each of a group's rows."""
    ordered = sorted(split, key=lambda group: -group.shared)
    more = [len(group.rows) - 1 for group in ordered]
    times = list(accumulate(more, initial=0))
    tokens = list(accumulate((group.shared * again for group, again in zip(ordered, more, strict=True)), initial=0))

    def cost(begin: int, end: int) -> int | None:
        at = ordered[end - 1].shared
        if end - begin > 1 and (end - begin) * at > budget.tokens:
            return None
        again = tokens[end] - tokens[begin] - at * (times[end] - times[begin])
        return again + budget.a_pass

    return [Batch(tuple(ordered[begin:end]), ordered[end - 1].shared) for begin, end in _cheapest(len(ordered), cost)]


def _cheapest(count: int, cost: Callable[[int, int], int | None]) -> list[tuple[int, int]]:
    """How to cut `count` things in a row into parts of the least total cost: (begin, end) of each.

    Args:
        cost: of the part from begin to end; None where it is too large, as every longer one then is.
    """
    cuts: list[tuple[int, int]] = []
    for first in range(0, count, _NEIGHBOURS):
        size = min(_NEIGHBOURS, count - first)
        best, came_from = [0], [0]
        for end in range(1, size + 1):
            found: tuple[int, int] | None = None
            for begin in range(end - 1, -1, -1):
                price = cost(first + begin, first + end)
                if price is None:
                    break
                if found is None or best[begin] + price < found[0]:
                    found = best[begin] + price, begin
            assert found is not None  # a single thing is never too large
            best.append(found[0])
            came_from.append(found[1])
        end = size
        part: list[tuple[int, int]] = []
        while end:
            part.append((first + came_from[end], first + end))
            end = came_from[end]
        cuts += reversed(part)
    return cuts
