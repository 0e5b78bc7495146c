"""Masked language models on pairs of sentences: an oracle's pseudo-log-likelihoods, over shared tokens only."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import pytest
from likelihood_models import byte_pairs, config_of, in_float64, pieces, saved, torch, transformers

from ethicsdb import Registry
from ethicsdb.runners.likelihood.base import (
    EMPTY_TARGET,
    LONE_SURROGATE,
    TARGET_TOO_LONG,
    LocalModel,
    Request,
    TargetScore,
)
from ethicsdb.runners.likelihood.batching import Budget
from ethicsdb.runners.likelihood.loading import Loaded, load, prepare
from ethicsdb.runners.likelihood.masked import MaskedScorer
from ethicsdb.schemas.errors import ModelError

PAIRS = [
    ("The man was kind.", "The woman was kind."),
    ("A: the man was kind; B: the woman was kind.", "A: the woman was kind; B: the man was kind."),
    ("我们都是好人，你好。", "你们都是好人，你好。"),
    ("Do not do that to him!", "Do not do that to her!"),
    ("x", "x"),
]
FAMILIES = ("bert", "roberta")
POSITIONS = 64


def made(folder: Path, family: str) -> Loaded:
    tokenizer = byte_pairs(bos=True) if family == "bert" else pieces()
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    given = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48, "max_position_embeddings": POSITIONS, "initializer_range": 0.3, "pad_token_id": 1,
    }  # fmt: skip
    torch.manual_seed(2)
    config, model = {
        "bert": (transformers.BertConfig, transformers.BertForMaskedLM),
        "roberta": (transformers.RobertaConfig, transformers.RobertaForMaskedLM),
        "camembert": (transformers.CamembertConfig, transformers.CamembertForMaskedLM),
    }[family]
    model(config(**given)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(LocalModel(str(folder), device="cpu"))


@pytest.fixture(scope="module", params=FAMILIES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return made(tmp_path_factory.mktemp("masked") / "tiny", request.param)


def requests() -> list[Request]:
    both = [*PAIRS, *((two, one) for one, two in PAIRS)]
    return [Request(str(number), "", (one,), two) for number, (one, two) in enumerate(both)]


def scores(loaded: Loaded, asked: list[Request], budget: Budget | None = None) -> dict[str, TargetScore]:
    return {each.id: each.scores[0] for each in MaskedScorer(loaded, budget).score(asked)}


def oracle(loaded: Loaded, exact: Any, text: str, beside: str) -> tuple[float, int]:
    """One masked copy at a time in float64, special tokens aside."""
    tokenizer = loaded.prepared.tokenizer
    special = set(tokenizer.all_special_ids)

    def bare(sentence: str) -> list[int]:
        return [token for token in tokenizer(sentence)["input_ids"] if token not in special]

    first, second = sorted((text, beside))
    blocks = difflib.SequenceMatcher(None, bare(first), bare(second), False).get_matching_blocks()
    shared = [(block.a if text == first else block.b) + at for block in blocks for at in range(block.size)]
    whole = tokenizer(text)["input_ids"]
    offset = next(at for at, token in enumerate(whole) if token not in special)
    total = 0.0
    for at in shared:
        ids = list(whole)
        hidden, ids[offset + at] = ids[offset + at], tokenizer.mask_token_id
        with torch.no_grad():
            row = exact(input_ids=torch.tensor([ids])).logits[0, offset + at]
        total += float(row.log_softmax(dim=-1)[hidden])
    return total, len(shared)


def test_scores_are_those_of_the_oracle(loaded: Loaded) -> None:
    found, exact = scores(loaded, requests()), in_float64(loaded)
    for asked in requests():
        total, count = oracle(loaded, exact, asked.targets[0], str(asked.beside))
        assert found[asked.id].tokens == count > 0
        assert found[asked.id].logprob_sum == pytest.approx(total, abs=1e-4)


def test_both_sentences_of_a_pair_share_as_much(loaded: Loaded) -> None:
    found = scores(loaded, requests())
    for number in range(len(PAIRS)):
        assert found[str(number)].tokens == found[str(number + len(PAIRS))].tokens


def test_batches_and_order_do_not_matter(loaded: Loaded) -> None:
    whole = scores(loaded, requests())
    single = scores(loaded, requests()[::-1], Budget(tokens=60, logits=1 << 16, cache_bytes=1))
    for name, score in whole.items():
        assert single[name].logprob_sum == pytest.approx(score.logprob_sum, abs=2e-5)


def test_what_can_not_be_scored_is_told(loaded: Loaded) -> None:
    asked = [
        Request("long", "", ("word " * 200,), "word " * 200),
        Request("apart", "", ("好",), "A"),
        Request("empty", "", ("",), ""),
        Request("half", "", ("\ud83d",), "x"),
    ]
    errors = {name: score.error for name, score in scores(loaded, asked).items()}
    assert errors == {
        "long": TARGET_TOO_LONG, "apart": EMPTY_TARGET, "empty": EMPTY_TARGET, "half": LONE_SURROGATE,
    }  # fmt: skip
    with pytest.raises(ModelError, match="two sentences share"):
        scores(loaded, [Request("one", "", ("x",))])


@pytest.mark.parametrize(("family", "lost"), [("bert", 0), ("roberta", 2), ("camembert", 2)])
def test_every_position_is_used_and_none_more(tmp_path: Path, family: str, lost: int) -> None:
    loaded = made(tmp_path, family)
    tokenizer = loaded.prepared.tokenizer
    added = len(tokenizer("a")["input_ids"]) - len(tokenizer("a", add_special_tokens=False)["input_ids"])
    texts = {len(tokenizer(text)["input_ids"]): text for text in ("好" * 10 + "7" * more for more in range(80))}
    fits, over = (texts[POSITIONS - lost + more] for more in (0, 1))
    found = scores(loaded, [Request("fits", "", (fits,), fits), Request("over", "", (over,), over)])
    assert (found["fits"].error, found["fits"].tokens) == (None, POSITIONS - lost - added)
    assert found["over"].error == TARGET_TOO_LONG


def test_special_tokens_that_a_text_spells_out_are_not_scored(loaded: Loaded) -> None:
    found = scores(loaded, [Request("one", "", ("<mask></s>好",), "<mask></s>好")])
    assert found["one"].tokens == scores(loaded, [Request("one", "", ("好",), "好")])["one"].tokens


@pytest.mark.parametrize("named", [None, ["BertForPreTraining"], ["BertModel"]])
def test_an_encoder_without_that_architecture_is_no_causal_model(tmp_path: Path, named: list[str] | None) -> None:
    made(tmp_path, "bert")
    config = json.loads((tmp_path / "config.json").read_text())
    for given, kind in ((named, "masked"), (["BertLMHeadModel"], "causal")):
        (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": given}))
        assert prepare(LocalModel(str(tmp_path), device="cpu")).kind == kind


def test_it_comes_to_a_board_of_its_own(loaded: Loaded, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "benchmarks.db")
    for dataset in ("sample_crows_pairs", "sample_eagle"):
        registry.build(dataset)
    folder = loaded.prepared.spec.id
    scored = registry.score("sample_crows_pairs_masked", model=f"hf:{folder}")
    assert scored.asked == sum(scored.outcomes.values()) == 12
    rows: dict[str, Any] = {
        row["metric"]: row
        for row in registry.leaderboard("sample_crows_pairs_masked") if row["slice"] == "overall"
    }  # fmt: skip
    assert rows["stereotype_preference"]["n"] == scored.outcomes["scored"] > 0
    assert registry.score("sample_crows_pairs_masked", model=f"hf:{folder}").computed == 0
    for benchmark in ("sample_eagle", "sample_crows_pairs"):
        with pytest.raises(ModelError, match="masked language model, which gives no likelihood of a text"):
            registry.score(benchmark, model=f"hf:{folder}")
    causal = saved(tmp_path / "causal", config_of("llama", len(byte_pairs())), byte_pairs())
    with pytest.raises(ModelError, match="causal is no masked language model"):
        registry.score("sample_crows_pairs_masked", model=f"hf:{causal}")
