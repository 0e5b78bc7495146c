"""Few-shot mitigation: ethical examples that stand before an item, none of which is an item that is asked (Eagle)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow, item_rows
from ethicsdb.registry.versions import version_in
from ethicsdb.runners.asks import Exchange, exchange_of
from ethicsdb.schemas.declared import BenchmarkDeclaration
from ethicsdb.schemas.errors import DeclarationError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["Drawn", "draw"]


@dataclass(frozen=True)
class Drawn:
    """Examples in the order in which they stand, and the fingerprint of what they say."""

    exchanges: tuple[Exchange, ...] = ()
    mark: str | None = None


def draw(
    context: Context,
    benchmark: BenchmarkDeclaration,
    asked: Sequence[ItemRow],
    pool: str | None,
    wanted: tuple[int, int],
) -> Drawn:
    """Examples for a run, the same for all of its items.

    Data sets of the pool take turns, each in an order that the seed shuffles, so that the first m examples of one seed
    are the same however many are drawn. Nothing is drawn that is asked, or shares a cluster or a question with it.

    Args:
        asked: the rows that the benchmark asks.
        pool: a name under `likelihood.pools`.
        wanted: (how many, seed).

    Raises:
        DeclarationError: the benchmark has no such pool, or the pool holds too few ethical examples.
        NotFoundError: a data set of the pool has not been built.
    """
    shots, seed = wanted
    if shots == 0:
        return Drawn()
    pools = benchmark.likelihood.pools if benchmark.likelihood else {}
    if pool not in pools:
        have = ", ".join(pools) or "none"
        raise DeclarationError(f"{shots} examples of which pool? {benchmark.name} declares: {have} (--pool).")
    columns = [list(_candidates(context, benchmark, name, asked, seed)) for name in pools[pool]]
    found = [column[turn] for turn in range(shots) for column in columns if turn < len(column)][:shots]
    if len(found) < shots:
        raise DeclarationError(
            f"The pool `{pool}` of {benchmark.name} holds {sum(map(len, columns))} ethical examples that are not asked "
            f"themselves; {shots} were wanted."
        )
    told = [[[turn.role, turn.content] for turn in each.context] + [each.ethical] for each in found]
    return Drawn(tuple(found), fingerprint(told))


def _candidates(
    context: Context, benchmark: BenchmarkDeclaration, source: str, asked: Sequence[ItemRow], seed: int
) -> Iterator[Exchange]:
    """Ethical exchanges of another benchmark's data that share nothing with what is asked, in the seed's order."""
    of = context.declarations.benchmark(source)
    kind = context.declarations.dataset(of.dataset).schema_
    with context.reading() as connection:
        rows = item_rows(connection, version_in(connection, context.declarations, of.dataset), kind)
    groups = {row.group_id for row in asked} if of.dataset == benchmark.dataset else set()
    texts = {row.text for row in asked}
    seen: set[str] = set()
    for row in sorted(rows, key=lambda row: fingerprint(["example", seed, row.item_id])):
        if row.item_id in seen or row.group_id in groups or row.text in texts or of.likelihood is None:
            continue
        seen.add(row.item_id)
        exchange = exchange_of(of.likelihood, row.decoded(kind))
        if exchange.ethical is not None:
            yield exchange
