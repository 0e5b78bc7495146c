"""GGUF weights as a plain folder, which loads in seconds where the original takes half a minute of conversion."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ethicsdb.runners.likelihood.base import LocalModel
from ethicsdb.runners.likelihood.loading import Loaded, load
from ethicsdb.schemas.fingerprint import sha256_file

__all__ = ["converted", "save_converted"]


def converted(gguf: Path, cache: Path) -> Path:
    """The folder in `cache` that holds a GGUF file's model in float32; made once, named after the file's SHA-256.

    Raises:
        ModelError: a package is missing or the file can't be read.
    """
    folder = cache / f"{gguf.stem}-{sha256_file(gguf)[:16]}-float32"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as making:
            made = Path(making) / "model"
            save_converted(load(LocalModel(str(gguf), dtype="float32", device="cpu")), made)
            if not folder.is_dir():  # another process may have been faster
                made.rename(folder)
    return folder


def save_converted(loaded: Loaded, folder: Path) -> None:
    """Write a model that was loaded from GGUF, with its tokenizer, as safetensors; its logits stay the same.

    The library refuses to save a model whose configuration still says that it is quantised, so the weights are put
    into a model of the same configuration without that.
    """
    model = loaded.model
    config = model.config.to_dict()
    config.pop("quantization_config", None)
    plain = type(model)(type(model.config).from_dict(config))
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(folder)
    loaded.prepared.tokenizer.save_pretrained(folder)
