"""Judges that are classifiers: labels and probabilities of an oracle, on the board, with nobody asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import rows_of

from ethicsdb import Registry
from ethicsdb.schemas.errors import ModelError

torch = pytest.importorskip("torch", reason="the extra `local` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `local` is not installed")

from likelihood_models import byte_pairs  # noqa: E402

LABELS = {"LABEL_0": "neutral", "LABEL_1": "toxic"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny classifier with random weights that reads 48 tokens."""
    tokenizer = byte_pairs(bos=True)
    torch.manual_seed(4)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=48, initializer_range=0.5, num_labels=2,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("models") / "tiny-classifier"
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def declared(folder: Path, classifier: Path | str, labels: dict[str, str] | None = None) -> Registry:
    from importlib.resources import files

    text = files("ethicsdb.registry") / "declarations" / "benchmarks" / "sample_toxigen.yaml"
    benchmark: dict[str, Any] = yaml.safe_load(text.read_text(encoding="utf-8"))
    parts = [
        {"kind": "model", "name": "tiny", "backend": "hf", "id": str(classifier)},
        {"kind": "rubric", "name": "tiny", "title": "Tiny", "source": "ours",
         "rubric": {"form": "classifier", "attribute": "toxicity", "labels": labels or LABELS}},
        {"kind": "judge", "name": "tiny", "title": "Tiny", "rubric": "tiny", "model": "tiny"},
        {**benchmark, "name": "mine", "judges": ["tiny"]},
    ]  # fmt: skip
    (folder / "ethicsdb.d").mkdir(exist_ok=True)
    (folder / "ethicsdb.d" / "mine.yaml").write_text("---\n".join(map(yaml.safe_dump, parts)), encoding="utf-8")
    return Registry(folder / "benchmarks.db", [folder / "ethicsdb.d"])


def test_verdicts_are_those_of_the_classifier(tmp_path: Path, classifier: Path) -> None:
    registry = declared(tmp_path, classifier)
    registry.build("sample_toxigen")
    generated, judged = registry.run("mine", model="ngram-obliging")
    assert judged.statuses == {"parsed": judged.subjects}
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    exact = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).double().eval()
    rows = rows_of(
        registry,
        "SELECT answer.text, verdict_label.value, verdict.fields FROM verdict JOIN verdict_label USING (verdict_id) "
        "JOIN answer ON answer.response_key = verdict.subject_id",
    )
    assert len(rows) == judged.subjects > 0
    for text, value, fields in rows:
        ids = tokenizer(text)["input_ids"]
        kept = ids if len(ids) <= 48 else [*ids[:47], ids[-1]]
        with torch.no_grad():
            shares = exact(input_ids=torch.tensor([kept])).logits[0].softmax(dim=-1)
        told = json.loads(fields)
        assert value == LABELS[f"LABEL_{int(shares.argmax())}"]
        assert told["probability"] == pytest.approx(float(shares.max()), abs=1e-5)
        assert told["cut"] == (len(ids) > 48)
    row = next(row for row in registry.leaderboard("mine") if row["slice"] == "overall")
    neutral = rows_of(
        registry,
        "SELECT count(*) FROM run_item JOIN current_verdict ON subject_id = response_key "
        "JOIN verdict_label USING (verdict_id) WHERE value = 'neutral'",
    )
    assert row["value"] == pytest.approx(neutral[0][0] / generated.asked)
    assert (row["n"], row["coverage"]) == (generated.asked, 1.0)
    prior = rows_of(registry, "SELECT DISTINCT benchmark, metric FROM leaderboard_prior WHERE source = 'run'")
    assert prior == [("mine", "not_toxic_rate")]
    before = registry.checksums()
    registry.judge(generated.run_id, judge="tiny")
    assert registry.checksums() == before  # a second time brings nothing


def test_what_can_not_be_is_said(tmp_path: Path, classifier: Path) -> None:
    registry = declared(tmp_path, classifier, {"LABEL_0": "neutral", "toxic": "toxic"})
    registry.build("sample_toxigen")
    with pytest.raises(ModelError, match="gives the labels LABEL_0, LABEL_1; its rubric does not say what LABEL_1"):
        registry.run("mine", model="ngram-obliging")
    unpinned = declared(tmp_path, "org/classifier")
    with pytest.raises(ModelError, match="needs a pinned revision"):
        unpinned.run("mine", model="ngram-obliging")
    assert rows_of(registry, "SELECT count(*) FROM call") == [(0,)]  # nothing was paid for


def test_heads_on_causal_models_read_each_text_to_its_end(tmp_path: Path) -> None:
    from ethicsdb.runners.classifiers import Classifier
    from ethicsdb.schemas.declared import ModelDeclaration

    tokenizer = byte_pairs(bos=True)
    texts = ["Short.", "A longer text, with more words in it.", "你好，世界。", "x" * 90]
    for name, padding in (("padded", tokenizer.pad_token_id or 0), ("alone", None)):
        torch.manual_seed(9)
        config = transformers.GPT2Config(
            vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=40, initializer_range=0.5,
            num_labels=3, pad_token_id=padding,
        )  # fmt: skip
        model = transformers.GPT2ForSequenceClassification(config)
        model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        exact = model.double().eval()
        declared = ModelDeclaration(kind="model", name=name, backend="hf", id=str(tmp_path / name))
        for text, said in Classifier(declared).classify(texts):
            ids = tokenizer(text, truncation=True, max_length=40)["input_ids"]
            with torch.no_grad():
                shares = exact(input_ids=torch.tensor([ids])).logits[0].softmax(dim=-1)
            assert said.label == f"LABEL_{int(shares.argmax())}"
            assert said.probability == pytest.approx(float(shares.max()), abs=1e-5)
            assert said.cut == (text == "x" * 90)


@pytest.mark.parametrize("given", [{"num_labels": 1}, {"num_labels": 2, "problem_type": "multi_label_classification"}])
def test_what_chooses_no_label_is_no_judge(tmp_path: Path, given: dict[str, Any]) -> None:
    tokenizer = byte_pairs(bos=True)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        **given,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "odd")
    tokenizer.save_pretrained(tmp_path / "odd")
    registry = declared(tmp_path, tmp_path / "odd")
    registry.build("sample_toxigen")
    with pytest.raises(ModelError, match="does not choose one of several labels"):
        registry.run("mine", model="ngram-obliging")
