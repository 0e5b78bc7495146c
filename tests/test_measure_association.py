from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethicsdb.runners.measures import association
from ethicsdb.runners.measures.association import (
    DRAWS,
    associations,
    effect_interval,
    effect_size,
    permutation_p,
)

Array = np.ndarray
Sets = tuple[Array, Array, Array, Array]

# Sizes of the four sets, dimension and seed of their vectors: effect size that wefe 1.0.1 gives.
WEFE = {((8, 8, 8, 8), 20, 1): 0.9559572647312354, ((5, 7, 4, 3), 6, 2): 0.25755581909182623}


def drawn(sizes: tuple[int, ...], dimension: int, seed: int) -> Sets:
    """Four sets of vectors, in the precision in which word vectors are stored."""
    generator = np.random.default_rng(seed)
    x, y, a, b = (generator.normal(size=(size, dimension)).astype(np.float32) for size in sizes)
    return x, y, a, b


def one_by_one(w: Array, a: Array, b: Array) -> float:
    """s(w, A, B), a pair of vectors at a time."""

    def cosine(u: Array, v: Array) -> float:
        pairs = [(float(p), float(q)) for p, q in zip(u, v, strict=True)]
        lengths = math.sqrt(sum(p * p for p, _ in pairs)) * math.sqrt(sum(q * q for _, q in pairs))
        return sum(p * q for p, q in pairs) / lengths

    return sum(cosine(w, each) for each in a) / len(a) - sum(cosine(w, each) for each in b) / len(b)


def straightforward(sets: Sets, ddof: int) -> float:
    x, y, a, b = sets
    left, right = [one_by_one(w, a, b) for w in x], [one_by_one(w, a, b) for w in y]
    mean = sum(left + right) / len(left + right)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in left + right) / (len(left + right) - ddof))
    return (sum(left) / len(left) - sum(right) / len(right)) / deviation


@pytest.mark.parametrize(("case", "expected"), WEFE.items())
def test_effect_sizes_are_those_of_wefe(case: tuple[tuple[int, ...], int, int], expected: float) -> None:
    sets = drawn(*case)
    assert effect_size(*sets, ddof=0) == pytest.approx(expected, abs=1e-6)
    for ddof in (0, 1):
        assert effect_size(*sets, ddof=ddof) == pytest.approx(straightforward(sets, ddof), abs=1e-12)


@pytest.mark.parametrize("case", WEFE)
def test_wefe_itself_agrees(case: tuple[tuple[int, ...], int, int]) -> None:
    weat = pytest.importorskip("wefe.metrics", reason="wefe is not installed: it needs numpy < 2")
    from gensim.models import KeyedVectors
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    sets = drawn(*case)
    names = [[f"{name}{index}" for index in range(len(vectors))] for name, vectors in zip("xyab", sets, strict=True)]
    words = KeyedVectors(case[1])
    words.add_vectors(list(itertools.chain(*names)), np.concatenate(sets))
    query = Query(names[:2], names[2:], ["x", "y"], ["a", "b"])
    found = weat.WEAT().run_query(query, WordEmbeddingModel(words, "drawn"), return_effect_size=True)
    assert effect_size(*sets, ddof=0) == pytest.approx(found["effect_size"], abs=1e-6)


def test_associations_by_hand() -> None:
    a, b = np.array([[2.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -3.0]])
    found = associations(np.array([[1.0, 0.0], [1.0, 1.0], [-5.0, 0.0]]), a, b)
    assert found == pytest.approx([1, math.sqrt(0.5), -1])
    for bad in (np.zeros((1, 2)), np.array([[np.nan, 1.0]])):
        with pytest.raises(ValueError, match="no direction"):
            associations(bad, a, b)
    with pytest.raises(ValueError, match="empty"):
        associations(a, a, b[:0])


def test_fully_parted_targets_have_the_greatest_size_and_the_least_p() -> None:
    a, b = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    x, y = np.repeat(a, 4, axis=0), np.repeat(b, 4, axis=0)
    assert effect_size(x, y, a, b, ddof=0) == pytest.approx(2)
    assert effect_size(x, y, a, b, ddof=1) == pytest.approx(2 * math.sqrt(7 / 8))
    found = permutation_p(x, y, a, b)
    assert found is not None
    assert (found.value, found.exact, found.partitions) == (pytest.approx(1 / 70), True, 70)
    opposite = permutation_p(y, x, a, b)
    assert opposite is not None
    assert opposite.value == 1


def test_where_there_is_nothing_to_tell() -> None:
    a, b = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    same = np.repeat(np.array([[1.0, 0.3]]), 3, axis=0)
    assert effect_size(same, same, a, b, ddof=1) is None
    assert effect_interval(same, same, a, b, ddof=1) is None
    equal = permutation_p(same, same, a, b)
    assert equal is not None
    assert equal.value == 1
    for empty in ((same[:0], same), (same, same[:0])):
        assert effect_size(*empty, a, b, ddof=0) is None
        assert effect_interval(*empty, a, b, ddof=0) is None
        assert permutation_p(*empty, a, b) is None


def enumerated(sets: Sets) -> float:
    """Share of all partitions with at least the observed S, rounded so that rounding parts no ties."""
    x, y, a, b = sets
    s = [one_by_one(w, a, b) for w in np.concatenate([x, y])]
    sums = []
    for inside in itertools.combinations(range(len(s)), len(x)):
        sums.append(round(sum(s[i] if i in inside else -s[i] for i in range(len(s))), 10))
    return sum(each >= sums[0] for each in sums) / len(sums)


@pytest.mark.parametrize("sizes", [(5, 5, 3, 3), (3, 7, 2, 4), (7, 3, 2, 4), (1, 6, 2, 2), (8, 8, 8, 8)])
def test_exact_p_is_a_full_enumeration(sizes: tuple[int, ...]) -> None:
    for seed in range(3):
        x, y, a, b = drawn(sizes, 5, seed)
        y[0] = x[0]  # the same text in both sets: partitions tie
        found = permutation_p(x, y, a, b)
        assert found is not None
        assert found.exact
        assert found.value == pytest.approx(enumerated((x, y, a, b)), abs=1e-12)


def test_drawn_partitions_come_near_and_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = drawn((6, 9, 4, 4), 5, 11)
    exact = permutation_p(*sets)
    assert exact is not None
    monkeypatch.setattr(association, "EXACT_UP_TO", 10)
    found = permutation_p(*sets)
    assert found is not None
    assert (found.exact, found.partitions) == (False, DRAWS + 1)
    assert found.value == pytest.approx(exact.value, abs=4 * math.sqrt(exact.value * (1 - exact.value) / DRAWS))
    assert found == permutation_p(*sets)


def test_many_texts_are_drawn_and_p_is_never_zero() -> None:
    a, b = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    generator = np.random.default_rng(0)
    x, y = a + generator.normal(size=(25, 2)) / 20, b + generator.normal(size=(25, 2)) / 20
    found = permutation_p(x, y, a, b)
    assert found is not None
    assert (found.value, found.exact) == (1 / (DRAWS + 1), False)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_interval_is_about_the_size(ddof: Literal[0, 1]) -> None:
    few, many = (drawn((size, size, 5, 5), 8, 4) for size in (8, 200))
    widths = []
    for x, y, a, b in (few, many):
        moved = x + 0.3 * a.mean(axis=0)
        found = effect_interval(moved, y, a, b, ddof=ddof)
        assert found is not None
        assert found.value == pytest.approx(effect_size(moved, y, a, b, ddof=ddof), abs=1e-9)
        assert (found.method, found.n) == ("stratified_bootstrap", 2 * len(x))
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 3
    single = effect_interval(few[0][:1], few[1], few[2], few[3], ddof=ddof)
    assert single is not None
    assert single.method == "none"


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_symmetries_and_bounds(seed: int, size: int) -> None:
    x, y, a, b = drawn((size, size, 3, 2), 4, seed)
    found = effect_size(x, y, a, b, ddof=0)
    assert found is not None
    assert abs(found) <= 2 + 1e-9
    assert effect_size(y, x, a, b, ddof=0) == pytest.approx(-found)
    assert effect_size(x, y, b, a, ddof=0) == pytest.approx(-found)
    assert effect_size(x * np.float32(8), y, a, b * np.float32(0.25), ddof=0) == pytest.approx(found)
    there, back = permutation_p(x, y, a, b), permutation_p(y, x, a, b)
    assert there is not None
    assert back is not None
    assert 0 < there.value <= 1
    assert there.value + back.value >= 1 - 1e-12  # ties, the observed partition among them, count on both sides
