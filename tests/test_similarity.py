"""ROUGE-L: as `rouge_score` has it on ASCII, and as it should be where that has no tokens."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from ethicsdb.builders.similarity import Pool, rouge_l, tokens

rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")

WORDS = [
    "a", "the", "cat", "Cat's", "dog-house", "3.14", "x_y", "don't", "&", "!!", "---", "write", "two2", "jokes,",
    "(about)", '"them"', "...", "A.B.C", "mother_in_law",
]  # fmt: skip


def texts(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    drawn = [" ".join(chance.choices(WORDS, k=chance.randrange(0, 90))) for _ in range(count - 3)]
    return [*drawn, "", "...", "\t a\n"]


def common(one: Sequence[str], two: Sequence[str]) -> int:
    """The longest common subsequence by its table."""
    before = [0] * (len(two) + 1)
    for left in one:
        row = [0]
        for at, right in enumerate(two):
            row.append(before[at] + 1 if left == right else max(before[at + 1], row[at]))
        before = row
    return before[-1]


def test_ascii_is_as_rouge_score_has_it() -> None:
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
    one, two = texts(1, 40), texts(2, 40)
    found = Pool(two).similarities(one)
    assert found.shape == (40, 40)
    for row, left in enumerate(one):
        for column, right in enumerate(two):
            wanted = scorer.score(left, right)["rougeL"].fmeasure
            assert found[row, column] == pytest.approx(wanted, abs=1e-12)
            assert rouge_l(left, right) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("写一个笑话。", ["写", "一", "个", "笑", "话"]),
        ("用AI写3个笑话", ["用", "ai", "写", "3", "个", "笑", "话"]),
        ("Напиши шутку, ПОЖАЛУЙСТА", ["напиши", "шутку", "пожалуйста"]),
        ("ねこ が", ["ね", "こ", "が"]),
        ("농담 하나", ["농담", "하나"]),
        ("naïve café", ["na", "ï", "ve", "caf", "é"]),
        ("snake_case 🌹 𠀀𠀁", ["snake", "case", "𠀀", "𠀁"]),
    ],
)
def test_tokens_of_other_scripts(text: str, wanted: list[str]) -> None:
    assert tokens(text) == wanted


def test_chinese_is_compared_by_characters() -> None:
    one, two = "请写一个关于女司机的笑话。", "写一个关于老年人的笑话"
    assert rouge_l(one, one) == 1.0
    shared = common(tokens(one), tokens(two))
    assert rouge_l(one, two) == pytest.approx(2 * shared / (len(tokens(one)) + len(tokens(two))), abs=1e-15)
    assert Pool([two, one]).nearest(one) == (1.0, 1)


def test_what_has_no_tokens_is_like_nothing() -> None:
    assert rouge_l("", "") == 0
    assert rouge_l("!!", "word") == 0
    assert Pool().nearest("word") is None
    assert Pool(["", "word"]).nearest("…") == (0.0, 0)
    assert Pool(["word"]).similarities([]).shape == (0, 1)


def test_many_distinct_tokens_stay_apart() -> None:
    """More tokens than there are characters below the surrogates."""
    many = [f"w{number}" for number in range(60_000)]
    pool = Pool([" ".join(many), " ".join(many[55_290:55_300])])
    assert pool.similarities([" ".join(many[55_290:55_300])])[0, 1] == 1.0
    assert pool.similarities(["w59999 w1"])[0, 0] == pytest.approx(2 * 1 / 60_002)
