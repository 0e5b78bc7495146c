"""Which targets go through a model together: by token budget, longest first, same contexts once.

Rows are only ever padded on the right, where a causal model does not look, and contexts that share a pass are split at
the same position. So no row has a gap, and positions, sliding windows and relative biases are those of the text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ethicsdb.runners.likelihood.encoding import Encoded

__all__ = ["Batch", "Budget", "Group", "Row", "chunks", "groups", "plan"]

# Fewer context tokens saved than this do not pay for a second pass.
_WORTH_SHARING = 48
# Contexts whose lengths differ by at most this share of the longest are split at the shortest.
_SIMILAR = 1 / 16


@dataclass(frozen=True)
class Budget:
    """How much goes through a model at once.

    Attributes:
        tokens: padded tokens of one pass.
        logits: positions times vocabulary of one pass.
        cache_bytes: key-value cache of the rows of one pass.
    """

    tokens: int
    logits: int
    cache_bytes: int

    @classmethod
    def of(cls, device: str) -> Budget:
        """What suits a device: more on a processor only costs memory, less on a GPU leaves it idle."""
        if device == "cpu":
            return cls(tokens=1024, logits=1 << 26, cache_bytes=1 << 29)
        return cls(tokens=16384, logits=1 << 28, cache_bytes=1 << 33)


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
    positions = max(1, budget.logits // vocabulary)
    batches = [*_whole_batches(whole, budget.tokens, positions), *_split_batches(split, budget.tokens)]
    return sorted(batches, key=lambda batch: -batch.longest)


def _whole_batches(single: list[Group], tokens: int, positions: int) -> list[Batch]:
    rows = sorted((group.rows[0] for group in single), key=lambda row: (-len(row.encoded.ids), row.encoded.start))
    return [Batch(tuple(Group((row,), 0) for row in part), 0) for part in chunks(rows, 0, tokens, positions)]


def _split_batches(split: list[Group], tokens: int) -> list[Batch]:
    batches: list[Batch] = []
    taken: list[Group] = []
    for group in sorted(split, key=lambda group: -group.shared):
        if taken and (group.shared < taken[0].shared * (1 - _SIMILAR) or (len(taken) + 1) * taken[0].shared > tokens):
            batches.append(Batch(tuple(taken), taken[-1].shared))
            taken = []
        taken.append(group)
    return [*batches, Batch(tuple(taken), taken[-1].shared)] if taken else batches


def chunks(rows: Sequence[Row], extra: int, tokens: int, positions: int) -> list[list[Row]]:
    """Rows in the given order, cut into parts. A row that is over by itself is a part by itself.

    Args:
        extra: tokens that each row holds besides its ids; negative where so many of its first ids are not read.
        tokens: the most tokens of a part whose rows are padded to its longest.
        positions: the most scored ids of a part.
    """
    parts: list[list[Row]] = []
    longest = scored = 0
    for row in rows:
        longest = max(longest, len(row.encoded.ids) + extra)
        scored += row.encoded.scored
        if not parts or (len(parts[-1]) + 1) * longest > tokens or scored > positions:
            parts.append([])
            longest, scored = len(row.encoded.ids) + extra, row.encoded.scored
        parts[-1].append(row)
    return parts
