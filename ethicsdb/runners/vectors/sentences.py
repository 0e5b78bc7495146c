"""Vectors of sentences by an encoder on this machine (transformers)."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from typing import Any

from ethicsdb.runners.identity import Identity
from ethicsdb.runners.likelihood.base import LocalModel
from ethicsdb.runners.likelihood.files import hashes, locate
from ethicsdb.runners.likelihood.loading import INSTALL, as_model_error, quiet
from ethicsdb.runners.likelihood.positions import readable_tokens
from ethicsdb.runners.vectors.base import Vectors
from ethicsdb.schemas.declared import LocalSettings, ModelDeclaration
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.text import has_surrogate

__all__ = ["SentenceEncoder"]

BATCH_TOKENS = 4096
RULES = "sentences-2"


class SentenceEncoder:
    """Pools an encoder's last hidden states into a vector a text, in float32 on a processor.

    `mean` is over the text's tokens (special ones included, padding not), `cls` the first token, `last` the last. Of an
    encoder-decoder (T5) the encoder's states are pooled. A text that is longer than the model reads is None, as is one
    with half of a UTF-16 pair: neither is cut nor guessed.
    """

    def __init__(self, model: ModelDeclaration) -> None:
        """Find the model's files and hash them.

        Raises:
            ModelError: a package is missing, or the model can't be found.
        """
        if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
            raise ModelError(f"{model.id} needs torch and transformers, which are not installed: {INSTALL}")
        local = model.local or LocalSettings()
        self._id = model.id
        self._pooling = local.pooling
        self._limit = local.max_length
        self._located = locate(LocalModel(id=model.id, revision=model.revision))
        identity = {"backend": "hf", "kind": "sentences", "rules": RULES, "files": hashes(self._located),
                    "pooling": self._pooling, "limit": self._limit, "dtype": "float32"}  # fmt: skip
        record = {
            "fingerprint": fingerprint(identity), "name": model.name, "backend": "hf",
            "model_id": self._located.folder.name if model.revision is None else model.id, "revision": model.revision,
            "identity": json.dumps(identity, sort_keys=True),
        }  # fmt: skip
        self.identity = Identity(str(record["fingerprint"]), record)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text; None for one that the model can't read whole.

        Raises:
            ModelError: the files can't be read as a model.
        """
        import torch

        tokenizer, model = self._loaded()
        limit = min(self._limit or readable_tokens(model, tokenizer), readable_tokens(model, tokenizer))
        found: Vectors = dict.fromkeys(texts)
        plain = [text for text in found if not has_surrogate(text)]
        ids = {text: tokenizer(text)["input_ids"] for text in plain}
        readable = sorted((text for text in plain if 0 < len(ids[text]) <= limit), key=lambda text: len(ids[text]))
        with torch.inference_mode():
            for batch in _batches(readable, ids):
                for text, vector in zip(batch, self._pooled(model, [ids[text] for text in batch]), strict=True):
                    found[text] = vector
        return found

    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModel, AutoTokenizer

        folder = str(self._located.folder)
        with quiet(), as_model_error(self._id):
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model, told = AutoModel.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
            )
        # Heads on top of the states are not used; of an encoder-decoder neither is the decoder.
        unused = ("pooler.", "decoder.") if model.config.is_encoder_decoder else ("pooler.",)
        missing = sorted(key for key in map(str, told["missing_keys"]) if not key.startswith(unused))
        if missing:
            raise ModelError(f"{self._id} is no sentence encoder: its files lack {missing[0]}, which would be random.")
        return tokenizer, (model.get_encoder() if model.config.is_encoder_decoder else model).eval()

    def _pooled(self, model: Any, rows: list[list[int]]) -> list[list[float]]:
        import torch

        longest = max(map(len, rows))
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = torch.tensor(row)
            mask[at, : len(row)] = 1
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state.double()
        if self._pooling == "cls":
            pooled = states[:, 0]
        elif self._pooling == "last":
            pooled = states[torch.arange(len(rows)), mask.sum(dim=1) - 1]
        else:
            pooled = (states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        return [[float(value) for value in row] for row in pooled.float()]


def _batches(texts: Sequence[str], ids: dict[str, list[int]]) -> Iterator[list[str]]:
    """Texts from the shortest on, in batches of about `BATCH_TOKENS` tokens."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) + 1) * len(ids[text]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
