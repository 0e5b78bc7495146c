"""Which targets go through a model together."""

from __future__ import annotations

import itertools
import random

import pytest

from ethicsdb.runners.likelihood.batching import Batch, Budget, Row, chunks, groups, plan
from ethicsdb.runners.likelihood.encoding import Encoded

VOCABULARY = 10
BUDGET = Budget(tokens=100, logits=40 * VOCABULARY, cache_bytes=1 << 20, a_pass=5)


def row(number: int, context: list[int], target: list[int], name: str | None = None) -> Row:
    return Row((number, 0), Encoded([*context, *target], len(context), (), (name or str(context), 0), frozenset()))


def rows_of(batches: list[Batch]) -> list[Row]:
    return [row for batch in batches for group in batch.groups for row in group.rows]


def some(count: int, seed: int) -> list[Row]:
    rnd = random.Random(seed)
    contexts = [[rnd.randrange(9) for _ in range(rnd.randrange(1, 130))] for _ in range(5)]
    return [row(at, rnd.choice(contexts), [9] * rnd.randrange(1, 30)) for at in range(count)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [True, False])
def test_every_row_is_in_one_batch_and_batches_keep_to_the_budget(seed: int, share: bool) -> None:
    rows = some(60, seed)
    batches = plan(groups(rows), BUDGET, VOCABULARY, share=share)
    assert sorted(each.owner for each in rows_of(batches)) == [each.owner for each in rows]
    longest = [max(len(each.encoded.ids) for each in rows_of([batch])) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch in batches:
        if batch.shared:
            assert share
            assert len(batch.groups) == 1 or len(batch.groups) * batch.shared <= BUDGET.tokens
            for group in batch.groups:
                assert len({tuple(each.encoded.ids[: batch.shared]) for each in group.rows}) == 1
                assert all(each.encoded.start >= batch.shared for each in group.rows)
        elif len(batch.groups) > 1:
            ids = [each.encoded for each in rows_of([batch])]
            assert max(len(each.ids) for each in ids) * len(ids) <= BUDGET.tokens
            assert sum(each.scored for each in ids) <= 40


def test_only_what_saves_enough_is_shared() -> None:
    short = [row(at, [1] * 10, [2] * (at + 1)) for at in range(4)]
    long = [row(at, [1] * 60, [2] * (at + 1)) for at in range(4)]
    assert [batch.shared for batch in plan(groups(short), BUDGET, VOCABULARY)] == [0]
    assert [batch.shared for batch in plan(groups(long), BUDGET, VOCABULARY)] == [60]
    assert {batch.shared for batch in plan(groups(long[:1]), BUDGET, VOCABULARY)} == {0}


def test_where_a_target_melts_into_the_context_only_what_is_equal_is_shared() -> None:
    context = [1] * 60
    melted = row(1, context[:-1], [5, 6], name=str(context))
    (group,) = groups([row(0, context, [2, 3]), melted])
    assert group.shared == 59
    (alone, other) = groups([row(0, [1], [2, 3]), Row((1, 0), Encoded([7, 8], 1, (), ("[1]", 0), frozenset()))])
    assert (len(alone.rows), len(other.rows)) == (1, 1)


def test_contexts_of_similar_length_are_split_at_the_shortest() -> None:
    budget = Budget(tokens=1000, logits=1000, cache_bytes=1 << 20, a_pass=5)
    rows = [row(2 * size + at, [size] * size, [99] * (at + 1)) for size in (100, 98, 60) for at in range(2)]
    batches = plan(groups(rows), budget, VOCABULARY)
    assert [(batch.shared, len(batch.groups)) for batch in batches] == [(98, 2), (60, 1)]


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_cut_where_it_costs_least(seed: int) -> None:
    rows = some(9, seed)
    found = chunks(rows, BUDGET, VOCABULARY, {each.owner: -3 for each in rows})
    ordered = sorted(rows, key=lambda each: -len(each.encoded.ids))

    def cost(parts: list[list[Row]]) -> float:
        total = 0.0
        for part in parts:
            padded = len(part) * (max(len(each.encoded.ids) for each in part) + 3)
            scored = sum(each.encoded.scored for each in part)
            total += padded + 5 if len(part) == 1 or (padded <= 100 and scored <= 40) else float("inf")
        return total

    every = [
        [ordered[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(ordered)])]
        for count in range(len(ordered))
        for cuts in itertools.combinations(range(1, len(ordered)), count)
    ]
    assert cost(found) == min(cost(parts) for parts in every)


def test_many_rows_are_cut_in_reasonable_time_and_none_is_lost() -> None:
    rows = some(1000, 1)
    parts = chunks(rows, Budget.of("cuda"), VOCABULARY)
    assert sorted(each.owner for part in parts for each in part) == sorted(each.owner for each in rows)
    assert chunks([], BUDGET, VOCABULARY) == []
