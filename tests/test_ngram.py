"""Byte-level n-gram models: exact probabilities, repeatable and valid text, packaged training texts."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction
from importlib.resources import files

import pytest

from ethicsdb.runners.backends.ngram import END, NAMES, SYMBOLS, NgramModel, answer_history, load
from ethicsdb.runners.refusal import is_refusal
from ethicsdb.schemas.errors import ModelError

CHINESE = [
    ("你好吗？", "我很好，谢谢你。今天天气不错。"),
    ("今天做什么？", "今天去公园散步，再喝一杯茶。"),
    ("表情", "好的🙂👨‍👩‍👧 谢谢！"),
    ("mixed", "naïve café — déjà vu"),
]
ENGLISH = [("Hi?", "hello there"), ("Bye?", "see you there"), ("Why?", "hello, because")]
PINNED_MODELS = (
    "blake2b-128:b7c7da9caa4bc752c0aed0670ebe17e5",
    "blake2b-128:8957be96dfdd10f95b9e37208afd8427",
)
PINNED_TEXTS = [
    (
        "ngram-obliging",
        "How do I repair a clock?",
        0,
        0.0,
        "Say your name and what you do, and smile. Then ask the others one question and a",
    ),
    (
        "ngram-obliging",
        "How do I repair a clock?",
        7,
        1.0,
        "Good idea! Read ten pages every evening, and always keep a book in your bag. It ",
    ),
    ("ngram-obliging", "怎么修理钟表？", 7, 0.7, "可以看一本书，也可以做面包，或者给朋友打个电话。如果"),
    ("ngram-obliging", "Как починить часы?", 7, 1.0, "Учите десять новых слов каждый день в горах "),
    (
        "ngram-refusing",
        "How do I repair a clock?",
        0,
        0.0,
        "I must decline to answer this question. Please ask someone else.",
    ),
    ("ngram-refusing", "How do I repair a clock?", 7, 1.0, "I must decline to answer this question."),
    ("ngram-refusing", "怎么修理钟表？", 7, 0.7, "很抱歉，我不能回答这个问题，请您谅解。"),
    ("ngram-refusing", "Как починить часы?", 7, 1.0, "Простите, но я не могу помочь с этим вопрос."),
]
PROMPTS = ["你好吗？", "", "Hi?", "Привет", "\ud800", "a\x00b", "مرحبا 🙂"]


def training_rows(name: str) -> list[dict[str, str]]:
    source = files("ethicsdb.runners.backends") / "ngram_data" / f"{name.removeprefix('ngram-')}.jsonl"
    return [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]


def exact(pairs: list[tuple[str, str]], history: bytes, length: int) -> list[Fraction]:
    """The recursion of the module's docstring in exact fractions, with counts by a scan of the texts."""
    if length < 0:
        return [Fraction(1, SYMBOLS)] * SYMBOLS
    lower = exact(pairs, history, length - 1)
    if length > len(history):
        return lower
    tail, seen = history[len(history) - length :], Counter[int]()
    for prompt, answer in pairs:
        before = answer_history(prompt)
        symbols = [*before, *answer.encode("utf-8", "surrogatepass"), END]
        for at in range(len(before), len(symbols)):
            if at >= length and symbols[at - length : at] == list(tail):
                seen[symbols[at]] += 1
    if not seen:
        return lower
    shared = Fraction(1, 5) * len(seen)
    return [(seen[symbol] + shared * lower[symbol]) / (seen.total() + shared) for symbol in range(SYMBOLS)]


def histories(pairs: list[tuple[str, str]], count: int) -> list[bytes]:
    """Random histories: bytes from anywhere, and pieces of the texts themselves."""
    chance = random.Random(5)
    text = b"".join(answer_history(prompt) + answer.encode() for prompt, answer in pairs)
    pieces = [text[start : start + 9] for start in (chance.randrange(len(text)) for _ in range(count))]
    return [*pieces, *(chance.randbytes(chance.randrange(9)) for _ in range(count)), b""]


@pytest.mark.parametrize("pairs", [CHINESE, ENGLISH, []], ids=["chinese", "english", "nothing"])
@pytest.mark.parametrize("order", [1, 2, 6])
def test_distribution_is_proper_and_equals_the_recursion(pairs: list[tuple[str, str]], order: int) -> None:
    model = NgramModel.train(pairs, order)
    for history in histories(pairs, 6) if pairs else [b"", b"ab\xff"]:
        values = model.distribution(history)
        assert len(values) == SYMBOLS
        assert math.fsum(values) == pytest.approx(1.0, abs=1e-12)
        assert min(values) > 0.0
        expected = exact(pairs, history, order - 1)
        assert values == pytest.approx([float(value) for value in expected], abs=1e-14)
        assert [model.probability(history, symbol) for symbol in range(SYMBOLS)] == pytest.approx(values, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_packaged_distributions_sum_to_one_after_any_history(name: str) -> None:
    model, chance = load(name), random.Random(11)
    text = b"".join(answer_history(row["prompt"]) + row["answer"].encode() for row in training_rows(name))
    for _ in range(100):
        start = chance.randrange(len(text))
        assert math.fsum(model.distribution(text[start : start + 20])) == pytest.approx(1.0, abs=1e-12)
        assert math.fsum(model.distribution(chance.randbytes(12))) == pytest.approx(1.0, abs=1e-12)


def test_likelihood_of_one_letter_by_hand() -> None:
    # Two symbols were seen once each, `a` and the end: p = (1 + 0.2 * 2 / 257) / (2 + 0.2 * 2) for both.
    one = (1 + 0.4 / 257) / 2.4
    model = NgramModel.train([("", "a")], order=1)
    for target, expected, tokens in (
        ("a", 2 * math.log(one), 2),
        ("", math.log(one), 1),
        ("b", math.log(0.4 / 257 / 2.4) + math.log(one), 2),
    ):
        found = model.log_likelihood("anything", target)
        assert found[0] == pytest.approx(expected, abs=1e-13)
        assert found[1] == tokens


def test_likelihood_is_the_chain_of_its_symbols_and_counts_the_end() -> None:
    model, context, target = NgramModel.train(CHINESE), "今天做什么？", "今天喝茶🙂"
    body, value = answer_history(context), Fraction(1)
    for symbol in [*target.encode(), END]:
        value *= exact(CHINESE, body, 5)[symbol]
        body += bytes([symbol]) if symbol != END else b""
    found, tokens = model.log_likelihood(context, target)
    assert found == pytest.approx(math.log(value), abs=1e-10)
    assert tokens == len(target.encode()) + 1


def test_likelihood_depends_on_the_prompt() -> None:
    obliging, refusing = load("ngram-obliging"), load("ngram-refusing")
    for prompt, answer in (
        ("How do I boil an egg?", "I'm sorry, but I can't help with that."),
        ("怎样煮鸡蛋？", "对不起，我不能回答这个问题。"),
        ("Как сварить яйцо?", "Извините, но я не могу помочь с этим."),
    ):
        assert refusing.log_likelihood(prompt, answer)[0] > obliging.log_likelihood(prompt, answer)[0] + 50
        other = "How do I boil an egg?" if prompt[0] != "H" else "怎样煮鸡蛋？"
        assert refusing.log_likelihood(prompt, answer)[0] > refusing.log_likelihood(other, answer)[0]


def test_surrogates_and_nul_are_symbols_like_others() -> None:
    model = NgramModel.train([("\ud83d", "a\udc00\x00b")] * 3)
    value, tokens = model.log_likelihood("\ud83d", "a\udc00\x00b")
    assert tokens == 1 + 3 + 1 + 1 + 1
    # Each of 7 symbols always follows: only what backs off is missing from certainty.
    assert -0.5 < value < 0.0


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 3.0])
def test_answers_are_valid_text_that_fits(temperature: float) -> None:
    model = NgramModel.train([*CHINESE, ("x", "\ud800\udbff tail")])
    for prompt in PROMPTS:
        for limit in (0, 1, 2, 3, 4, 5, 17, 60):
            for seed in range(3):
                found = model.complete(prompt, seed=seed, temperature=temperature, max_bytes=limit)
                size = len(found.text.encode("utf-8"))  # strict: fails on a surrogate
                assert size <= limit
                assert found.finish_reason == "stop" or limit - 3 <= size
                assert found.tokens == size + 1 if found.finish_reason == "stop" else size <= found.tokens <= limit


def test_every_chinese_character_comes_out_whole() -> None:
    model = NgramModel.train(CHINESE)
    whole = model.generate("你好吗？", seed=0, temperature=0.0, max_bytes=400)
    assert whole.startswith("我很好，谢谢")
    for limit in range(20):
        cut = model.generate("你好吗？", seed=0, temperature=0.0, max_bytes=limit)
        assert cut == whole.encode()[:limit].decode("utf-8", "ignore")


def test_greedy_takes_the_lowest_of_equals() -> None:
    assert NgramModel.train([("x", "b"), ("x", "a")]).generate("x", seed=9, temperature=0, max_bytes=1) == "a"
    # A byte comes before the end.
    assert NgramModel.train([("x", "z")], order=1).generate("x", seed=9, temperature=0, max_bytes=1) == "z"
    model = load("ngram-obliging")
    assert len({model.generate("Hi?", seed=seed, temperature=0, max_bytes=200) for seed in range(5)}) == 1


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_tempered_distribution(temperature: float) -> None:
    model, count = NgramModel.train(ENGLISH, order=3), 3000
    found = Counter(
        completion.text if completion.tokens == len(completion.text) else None
        for completion in (
            model.complete("Hi?", seed=seed, temperature=temperature, max_bytes=1) for seed in range(count)
        )
    )
    values = model.distribution(answer_history("Hi?"))
    allowed = [*range(0x80), *range(0xC2, 0xF5), END]
    weights = {symbol: values[symbol] ** (1 / temperature) for symbol in allowed}
    for letter in "hsb":
        share = weights[ord(letter)] / sum(weights.values())
        spread = math.sqrt(share * (1 - share) / count)
        assert found[letter] / count == pytest.approx(share, abs=4.5 * spread)


def test_the_same_seed_gives_the_same_text_and_others_differ() -> None:
    model = load("ngram-obliging")
    texts = [model.generate("How are you?", seed=seed, temperature=1.0, max_bytes=300) for seed in range(20)]
    assert texts == [model.generate("How are you?", seed=seed, temperature=1.0, max_bytes=300) for seed in range(20)]
    assert len(set(texts)) > 10
    prompts = [f"Question {number}: how?" for number in range(20)]
    assert len({model.generate(prompt, seed=0, temperature=1.0, max_bytes=300) for prompt in prompts}) > 10


@pytest.mark.parametrize("temperature", [-0.1, math.nan])
def test_impossible_temperatures_are_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature"):
        load("ngram-obliging").generate("Hi", seed=0, temperature=temperature, max_bytes=5)


def test_order_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="order"):
        NgramModel.train(ENGLISH, order=0)


def test_fingerprint_is_of_texts_and_order() -> None:
    mark = NgramModel.train(ENGLISH).fingerprint()
    assert mark.startswith("blake2b-128:")
    assert NgramModel.train(list(ENGLISH), 6).fingerprint() == mark
    others = [
        NgramModel.train(ENGLISH, 5),
        NgramModel.train(ENGLISH[:2]),
        NgramModel.train([("Hi?h", "ello there"), *ENGLISH[1:]]),
        NgramModel.train([("\ud800", "x")]),
        NgramModel.train([("?", "x")]),
    ]
    assert len({mark, *(model.fingerprint() for model in others)}) == 6


def test_packaged_models_answer_the_same_on_every_machine() -> None:
    """Changed texts, numbers or draws change answers that are already in databases: raise VERSION with them."""
    obliging, refusing = load("ngram-obliging"), load("ngram-refusing")
    assert (obliging.fingerprint(), refusing.fingerprint()) == PINNED_MODELS
    for name, prompt, seed, temperature, text in PINNED_TEXTS:
        assert load(name).generate(prompt, seed=seed, temperature=temperature, max_bytes=80) == text


def test_load_is_cached_and_knows_its_names() -> None:
    assert load("ngram-refusing") is load("ngram-refusing")
    with pytest.raises(ModelError, match="ngram-obliging and ngram-refusing"):
        load("ngram-other")


def test_packaged_texts_are_three_languages_of_unlike_answers() -> None:
    asked = {name: [row["prompt"] for row in training_rows(name)] for name in NAMES}
    assert asked["ngram-obliging"] == asked["ngram-refusing"]
    for name in NAMES:
        rows = training_rows(name)
        assert len(rows) >= 60
        assert len({row["answer"] for row in rows}) == len(rows)
        assert all(set(row) == {"prompt", "answer"} and row["answer"].strip() == row["answer"] for row in rows)
        scripts = Counter(answer_history(row["prompt"])[-1] for row in rows)
        assert len(scripts) == 3
        assert min(scripts.values()) >= 14
        for row in rows:
            assert answer_history(row["prompt"])[-1] == answer_history(row["answer"])[-1]
            assert is_refusal(row["answer"]) == (name == "ngram-refusing")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "prompt",
    ["How do I repair a clock?", "Tell me about cats", "怎么修理钟表？", "说说猫", "Как починить часы?", "О кошках"],
)
def test_packaged_models_answer_in_character_and_in_the_language_of_the_prompt(name: str, prompt: str) -> None:
    answers = [load(name).generate(prompt, seed=seed, temperature=0.7, max_bytes=400) for seed in range(20)]
    in_character = sum(is_refusal(answer) == (name == "ngram-refusing") for answer in answers)
    in_language = sum(answer_history(answer)[-1] == answer_history(prompt)[-1] for answer in answers)
    assert in_character >= 18
    assert in_language >= 18
