"""Judges that are classifiers on this machine: a label with its probability for each text, and nobody is asked."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethicsdb.runners.identity import Identity, model_identity
from ethicsdb.runners.likelihood.base import LocalModel
from ethicsdb.runners.likelihood.files import hashes, locate
from ethicsdb.runners.likelihood.loading import INSTALL, as_model_error, quiet
from ethicsdb.runners.likelihood.positions import readable_tokens
from ethicsdb.schemas.declared import ModelDeclaration
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.text import storable

__all__ = ["Classified", "Classifier", "check_classifier", "classifier_identity"]

BATCH_TOKENS = 4096
RULES = "classifier-2"  # part of a classifier's identity


@dataclass(frozen=True)
class Classified:
    """What a classifier says of a text: its likeliest label, that label's probability, and whether the text was cut."""

    label: str
    probability: float
    cut: bool


def classifier_identity(model: ModelDeclaration) -> Identity:
    """Who a classifier is: a folder by what its files hold, a model of the Hub by its id and pinned revision."""
    folder = Path(model.id).expanduser()
    local = {"rules": RULES, "max_length": model.local.max_length if model.local else None}
    if not folder.is_dir():
        return model_identity(model.name, model.backend, model.id, model.revision, local)
    files = hashes(locate(LocalModel(id=model.id)))
    return model_identity(model.name, model.backend, folder.name, model.revision, {"files": files, **local})


def check_classifier(model: ModelDeclaration, known: Collection[str]) -> None:
    """See that a classifier is here, and gives no labels but the known ones, before answers are paid for.

    Raises:
        ModelError: a package is missing, the model can't be found, or it has other labels.
    """
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(f"{model.name} needs {' and '.join(missing)}, which is not installed: {INSTALL}")
    from transformers import AutoConfig

    folder = str(locate(LocalModel(id=model.id, revision=model.revision)).folder)
    with as_model_error(model.name):
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
    labels = [str(label) for label in config.id2label.values()]
    if len(labels) < 2 or config.problem_type in ("multi_label_classification", "regression"):
        raise ModelError(
            f"{model.name} does not choose one of several labels ({config.problem_type or 'regression'}, "
            f"{len(labels)} label{'s' * (len(labels) != 1)}), which is what a classifier that judges does."
        )
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise ModelError(
            f"{model.name} gives the labels {', '.join(labels)}; its rubric does not say what {unknown[0]} stands for."
        )


class Classifier:
    """A sequence classifier of transformers, in float32. Raises ModelError where it can't be loaded."""

    def __init__(self, model: ModelDeclaration) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        folder = str(locate(LocalModel(id=model.id, revision=model.revision)).folder)
        with quiet(), as_model_error(model.name):
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            loaded, info = AutoModelForSequenceClassification.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
            )
        if info["missing_keys"]:
            raise ModelError(f"{model.name} is no classifier: its files lack {min(map(str, info['missing_keys']))}.")
        self._model = loaded.eval()
        self._tokenizer.truncation_side = "right"
        readable = readable_tokens(loaded, self._tokenizer)
        self._limit = min((model.local and model.local.max_length) or readable, readable)
        # Heads on causal models find a text's end by this token; without it they read one text at a time.
        self._padding: int | None = loaded.config.get_text_config().pad_token_id

    def classify(self, texts: Sequence[str]) -> Iterator[tuple[str, Classified]]:
        """Each distinct text with what is said of it, the shortest first; batch by batch.

        A text over the limit is cut at its end, and told. Half a UTF-16 pair is read as U+FFFD.
        """
        encoded = {text: self._tokenizer(storable(text))["input_ids"] for text in dict.fromkeys(texts)}
        order = sorted(encoded, key=lambda text: len(encoded[text]))
        batch: list[str] = []
        for text in order:
            longest = min(len(encoded[text]), self._limit)
            if batch and (self._padding is None or (len(batch) + 1) * longest > BATCH_TOKENS):
                yield from self._batch(batch, encoded)
                batch = []
            batch.append(text)
        if batch:
            yield from self._batch(batch, encoded)

    def _batch(self, texts: list[str], encoded: dict[str, list[int]]) -> Iterator[tuple[str, Classified]]:
        import torch

        rows = [self._kept(text, encoded[text]) for text in texts]
        ids = torch.full((len(rows), max(map(len, rows))), self._padding or 0)
        mask = torch.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = torch.tensor(row)
            mask[at, : len(row)] = 1
        with torch.inference_mode():
            shares = self._model(input_ids=ids, attention_mask=mask).logits.double().softmax(dim=-1)
        for text, row in zip(texts, shares, strict=True):
            best = int(row.argmax())
            label = str(self._model.config.id2label[best])
            yield text, Classified(label, float(row[best]), len(encoded[text]) > self._limit)

    def _kept(self, text: str, ids: list[int]) -> list[int]:
        """The first tokens of a text up to the limit, with those that the tokenizer puts around every text."""
        if len(ids) <= self._limit:
            return ids
        kept: list[int] = self._tokenizer(storable(text), truncation=True, max_length=self._limit)["input_ids"]
        return kept
