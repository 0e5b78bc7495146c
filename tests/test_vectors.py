"""Association tests over word vectors and sentence encoders: files in every format, boards, and what is missing."""

from __future__ import annotations

import gzip
import json
import struct
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import run

from ethicsdb import Registry
from ethicsdb.runners.vectors.words import WordVectors
from ethicsdb.schemas.declared import LocalSettings, ModelDeclaration
from ethicsdb.schemas.errors import DeclarationError, ModelError, SourceError

WORDS = {
    "rose": [1.0, 0.5, -0.25], "Rose": [0.5, 0.5, 2.0], "new_york": [0.0, 1.0, 1.0], "玫瑰": [3.0, -1.0, 0.125],
    "роза": [0.25, 0.25, 0.5], "🌹": [1.0, 1.0, 1.0],
}  # fmt: skip


def text_lines(words: dict[str, list[float]]) -> str:
    return "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in words.items())


def written(folder: Path, form: str, words: dict[str, list[float]] = WORDS) -> Path:
    """The words in one of the formats."""
    dimensions = len(next(iter(words.values())))
    header = f"{len(words)} {dimensions}\n"
    path = folder / f"vectors.{form}"
    if form == "bin":
        records = (word.encode() + b" " + struct.pack(f"<{dimensions}f", *vector) for word, vector in words.items())
        path.write_bytes(header.encode() + b"\n".join(records) + b"\n")
    elif form.endswith(".gz"):
        path.write_bytes(gzip.compress((header + text_lines(words)).encode()))
    else:
        path.write_text((header if form == "vec" else "") + text_lines(words), encoding="utf-8")
    return path


def opened(path: Path, **local: Any) -> WordVectors:
    return WordVectors(
        ModelDeclaration(kind="model", name="words", backend="vectors", id=str(path), local=LocalSettings(**local))
    )


@pytest.mark.parametrize("form", ["vec", "txt", "bin", "vec.gz"])
def test_every_format_gives_the_same_vectors(tmp_path: Path, form: str) -> None:
    found = opened(written(tmp_path, form)).vectors([*WORDS, "new york", "tulip", "ROSE"])
    assert {word: found[word] for word in WORDS} == WORDS
    assert found["new york"] == WORDS["new_york"]
    assert (found["tulip"], found["ROSE"]) == (None, None)


def test_lower_case_is_looked_up_only_where_it_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "vec")
    found = opened(path, lower=True).vectors(["ROSE", "Rose", "New York", "РОЗА"])
    assert found == {"ROSE": WORDS["rose"], "Rose": WORDS["Rose"], "New York": WORDS["new_york"], "РОЗА": WORDS["роза"]}
    assert opened(path, lower=True).identity.fingerprint != opened(path).identity.fingerprint


def test_a_file_is_what_it_holds(tmp_path: Path) -> None:
    one = opened(written(tmp_path, "vec")).identity
    (tmp_path / "moved").mkdir()
    moved = tmp_path / "moved" / "vectors.vec"
    moved.write_bytes((tmp_path / "vectors.vec").read_bytes())
    assert opened(moved).identity.fingerprint == one.fingerprint
    assert str(tmp_path) not in json.dumps(one.record)
    other = written(tmp_path, "vec", WORDS | {"rose": [0.0, 0.5, -0.25]})
    assert opened(other).identity.fingerprint != one.fingerprint


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"rose 1 2 3\nlily 1 2\n", r"a\.txt, line 2: expected a word and 3 numbers"),
        ("a.txt", b"rose 1 2 3\nlily 1 x 3\n", r"a\.txt, line 2: expected a word and 3 numbers"),
        ("a.bin", b"2 3\nrose " + struct.pack("<3f", 1, 2, 3) + b"\nlily \x00\x01", "record 2 of 2: the file ends"),
        ("a.bin", b"9 3\n" + b"\xff\xfe" * 9000, "record 1: expected a word, a space and floats"),
        ("a.gz", b"not packed", "not readable"),
        ("a.gz", gzip.compress(b"rose 1 2 3\n" * 9000, mtime=0)[:40] + b"broken" * 9, "not readable"),
        ("a.txt", b"rose 1 nan 3\n", r"line 1: expected a word and 3 numbers"),
        ("a.txt", b"tulip 1 2 3\nrose 1 inf 3\n", r"line 2: expected a word and 3 numbers"),
        ("a.bin", b"1 3\nrose " + struct.pack("<3f", 1, float("nan"), 3), "record 1: expected 3 numbers"),
        ("a.vec", b"3 3\nrose 1 2 3\nlily 1 2 3\n", "first line says 3 words, and 2 follow"),
        ("a.vec", b"1 3\nrose 1 2 3\nlily 1 2 3\n", "first line says 1 words, and 2 follow"),
        ("a.vec", b"1 300\nrose 1 2 3\n", "line 2: expected a word and 300 numbers"),
        ("a.bin", b"1 3\nrose " + struct.pack("<6f", 1, 2, 3, 4, 5, 6), "first line says 1 words, and more follow"),
    ],
)
def test_broken_files_are_told(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        opened(tmp_path / name).vectors(["rose", "lily"])


def sample_words() -> list[str]:
    """Every word of the sample's tests of words."""
    room = files("ethicsdb.builders") / "samples" / "weat"
    tests = [json.loads(each.read_text(encoding="utf-8")) for each in room.iterdir() if each.name.startswith("sample_")]
    return sorted({text for test in tests for part in test.values() for text in part["examples"]})


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(tmp_path / "benchmarks.db")
    registry.build("sample_weat")
    return registry


def board(registry: Registry, metric: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = registry.leaderboard("sample_weat")
    return {(row["slice"], row["slice_value"]): row for row in rows if row["metric"] == metric}


def effect(vectors: dict[str, list[float]], test: dict[str, Any]) -> float:
    """The effect size of a test by its formula, one cosine at a time."""

    def cosine(one: str, two: str) -> float:
        u, v = np.array(vectors[one]), np.array(vectors[two])
        return float(u @ v / np.sqrt((u @ u) * (v @ v)))

    def association(word: str) -> float:
        sides = [np.mean([cosine(word, each) for each in test[name]["examples"]]) for name in ("attr1", "attr2")]
        return float(sides[0] - sides[1])

    x, y = ([association(word) for word in test[name]["examples"]] for name in ("targ1", "targ2"))
    return float((np.mean(x) - np.mean(y)) / np.std([*x, *y], ddof=1))


def test_word_vectors_come_to_a_board(registry: Registry, tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    vectors = {word: [float(value) for value in generator.normal(size=8).astype("float32")] for word in sample_words()}
    path = written(tmp_path, "bin", vectors)
    scored = registry.score("sample_weat", model=f"vectors:{path}")
    tests = 10
    assert (scored.asked, scored.outcomes) == (tests, {"scored": 6, "error": 4})
    assert scored.reasons == {"texts_without_vector": 4}  # the tests of sentences
    sizes = board(registry, "effect_size")
    room = files("ethicsdb.builders") / "samples" / "weat"
    for name in ("sample_plants", "sample_tools"):
        test = json.loads((room / f"{name}.jsonl").read_text(encoding="utf-8"))
        row = sizes["test", name]
        assert row["value"] == pytest.approx(effect(vectors, test), abs=1e-6)
        assert row["ci_low"] <= row["value"] <= row["ci_high"]
        assert (row["n"], row["n_expected"]) == (1, 1)
        p = board(registry, "p_value")["test", name]["value"]
        assert 0 < p <= 1
    whole = sizes["overall", ""]
    assert (whole["n"], whole["n_expected"]) == (6, tests)
    missing = sizes["test", "sent-sample_plants"]
    assert (missing["value"], missing["n"]) == (None, 0)
    again = registry.score("sample_weat", model=f"vectors:{path}")
    assert (again.computed, again.run_id) == (0, scored.run_id)
    with registry.context.reading() as connection:
        assert connection.execute("FROM integrity").fetchall() == []
        found = connection.execute("SELECT count(*) FROM leaderboard_association WHERE slice = 'test'").fetchone()
    assert found is not None
    assert found[0] == tests * 4
    before = registry.checksums()
    assert registry.rebuild() == before


def test_a_fifth_may_be_missing_and_not_more(registry: Registry, tmp_path: Path) -> None:
    room = files("ethicsdb.builders") / "samples" / "weat"
    test = json.loads((room / "sample_plants.jsonl").read_text(encoding="utf-8"))
    first = test["targ1"]["examples"]
    allowed = len(first) // 5
    generator = np.random.default_rng(6)
    vectors = {word: list(map(float, generator.normal(size=4))) for word in sample_words()}
    for lost, outcome in ((allowed, 1), (allowed + 1, 0)):
        left = {word: vector for word, vector in vectors.items() if word not in first[:lost]}
        folder = tmp_path / str(lost)
        folder.mkdir()
        model = written(folder, "vec", left).rename(folder / f"lost{lost}.vec")
        run_id = registry.score("sample_weat", model=f"vectors:{model}").run_id
        rows = [row for row in registry.leaderboard("sample_weat") if row["run_id"] == run_id]
        row = next(r for r in rows if r["metric"] == "effect_size" and r["slice_value"] == "sample_plants")
        assert row["n"] == outcome


def test_what_can_not_be_is_said(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file of word vectors"):
        registry.score("sample_weat", model=f"vectors:{tmp_path / 'nowhere.vec'}")
    with pytest.raises(DeclarationError, match="sample_weat compares vectors, which ngram-obliging"):
        registry.score("sample_weat", model="ngram-obliging")
    told = run("run", "sample_weat", "--model", f"vectors:{written(tmp_path, 'vec')}", "--shots", "2", cwd=tmp_path)
    assert told.code != 0
    assert "--shots can't be set for sample_weat" in told.err


def test_a_sentence_encoder_pools_what_an_oracle_pools(registry: Registry, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `local` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `local` is not installed")
    from likelihood_models import byte_pairs

    from ethicsdb.runners.vectors.sentences import SentenceEncoder

    tokenizer = byte_pairs(bos=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    model = transformers.BertModel(config)
    folder = tmp_path / "encoder"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    exact = model.double().eval()
    texts = ["A short one.", "你好，世界。", "A much longer sentence, with many more words in it than the others.", "x"]
    for pooling in ("mean", "cls", "last"):
        declared = ModelDeclaration(
            kind="model", name="encoder", backend="hf", id=str(folder), local=LocalSettings(pooling=pooling)
        )
        found = SentenceEncoder(declared).vectors([*texts, "y" * 500, "\ud83d"])
        assert (found["y" * 500], found["\ud83d"]) == (None, None)
        for text in texts:
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            with torch.no_grad():
                states = exact(input_ids=ids).last_hidden_state[0]
            wanted = {"mean": states.mean(dim=0), "cls": states[0], "last": states[-1]}[pooling]
            assert found[text] == pytest.approx(wanted.tolist(), abs=1e-5)
    scored = registry.score("sample_weat", model=f"hf:{folder}")
    assert scored.asked == sum(scored.outcomes.values()) == 10
    assert board(registry, "effect_size")["overall", ""]["n"] == scored.outcomes["scored"]


def tiny_encoder(transformers: Any, torch: Any, folder: Path, kind: str) -> tuple[Path, Any, Any]:
    """An encoder with random weights that reads 32 tokens, or a T5, which has no table of positions."""
    from likelihood_models import byte_pairs, pieces

    tokenizer = byte_pairs(bos=True) if kind == "t5" else pieces()
    torch.manual_seed(1)
    shared = {"vocab_size": len(tokenizer), "initializer_range": 0.3, "pad_token_id": 1}
    if kind == "t5":
        config = transformers.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, **shared)
        model = transformers.T5Model(config)
    else:
        of_bert = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
        made = {"mpnet": transformers.MPNetConfig, "camembert": transformers.CamembertConfig}[kind]
        config = made(max_position_embeddings=34, **of_bert, **shared)
        model = {"mpnet": transformers.MPNetModel, "camembert": transformers.CamembertModel}[kind](config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, model.double().eval(), tokenizer


def encoder_of(folder: Path) -> Any:
    from ethicsdb.runners.vectors.sentences import SentenceEncoder

    return SentenceEncoder(ModelDeclaration(kind="model", name="encoder", backend="hf", id=str(folder)))


@pytest.mark.parametrize("kind", ["mpnet", "camembert", "t5"])
def test_encoders_read_to_their_last_position(tmp_path: Path, kind: str) -> None:
    torch = pytest.importorskip("torch", reason="the extra `local` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `local` is not installed")
    folder, exact, tokenizer = tiny_encoder(transformers, torch, tmp_path / kind, kind)
    by_length = {len(tokenizer(text)["input_ids"]): text for text in ("好" * 4 + "7" * more for more in range(60))}
    texts = [by_length[length] for length in (32, 33)]
    found = encoder_of(folder).vectors(texts)
    assert (found[texts[1]] is None) == (kind != "t5")
    for text in [text for text in texts if found[text] is not None]:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            states = (exact.get_encoder() if kind == "t5" else exact)(input_ids=ids).last_hidden_state[0]
        assert found[text] == pytest.approx(states.mean(dim=0).tolist(), abs=1e-5)


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `local` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `local` is not installed")
    folder, exact, _ = tiny_encoder(transformers, torch, tmp_path / "whole", "mpnet")
    state = {name: value for name, value in exact.float().state_dict().items() if "layer.1" not in name}
    exact.save_pretrained(folder, state_dict=state)
    with pytest.raises(ModelError, match=r"its files lack encoder\.layer\.1"):
        encoder_of(folder).vectors(["rose"])


def test_a_vector_without_direction_is_none(registry: Registry, tmp_path: Path) -> None:
    room = files("ethicsdb.builders") / "samples" / "weat"
    test = json.loads((room / "sample_plants.jsonl").read_text(encoding="utf-8"))
    generator = np.random.default_rng(7)
    vectors = {word: list(map(float, generator.normal(size=4))) for word in sample_words()}
    lost = test["targ1"]["examples"][0]
    boards = []
    for name, own in (("zero", vectors | {lost: [0.0] * 4}), ("none", {w: v for w, v in vectors.items() if w != lost})):
        (tmp_path / name).mkdir()
        run_id = registry.score("sample_weat", model=f"vectors:{written(tmp_path / name, 'vec', own)}").run_id
        rows = [row for row in registry.leaderboard("sample_weat") if row["run_id"] == run_id]
        boards.append([(row["metric"], row["slice_value"], row["value"], row["n"]) for row in rows])
    assert boards[0] == boards[1]
