"""A model on this machine: who it is, and its weights only when something is to be computed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ethicsdb.runners.identity import Identity
from ethicsdb.runners.likelihood.base import LocalModel
from ethicsdb.schemas.declared import LocalSettings, ModelDeclaration
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint

if TYPE_CHECKING:
    from ethicsdb.runners.likelihood.engine import Scorer
    from ethicsdb.runners.likelihood.loading import Prepared
    from ethicsdb.runners.likelihood.masked import MaskedScorer
    from ethicsdb.runners.vectors.base import VectorBackend
    from ethicsdb.schemas.asks import LikelihoodAsk

__all__ = ["LocalBackend", "open_local", "open_vectors"]

PACKAGE = "package:"  # before the name of an installed package that brings one GGUF file


class LocalBackend:
    """A local model, prepared: its files are found and hashed, its weights are on the disk."""

    def __init__(self, model: ModelDeclaration, prepared: Prepared) -> None:
        self.prepared = prepared
        self.identity = _identity(model, prepared)

    def check(self, ask: LikelihoodAsk) -> None:
        """See that the model gives what is asked for. Raises ModelError."""
        name, masked = self.identity.record["name"], self.prepared.kind == "masked"
        if masked and ask.form != "shared_tokens":
            raise ModelError(
                f"{name} is a masked language model, which gives no likelihood of a text; a benchmark of the form "
                f"`{ask.form}` needs a causal or encoder-decoder model."
            )
        if not masked and ask.form == "shared_tokens":
            raise ModelError(f"{name} is no masked language model, whose guesses of shared tokens are compared here.")

    @contextmanager
    def loaded(self) -> Iterator[Scorer | MaskedScorer]:
        """The model in memory, for as long as the block lasts."""
        from ethicsdb.runners.likelihood.engine import Scorer
        from ethicsdb.runners.likelihood.loading import load
        from ethicsdb.runners.likelihood.masked import MaskedScorer

        model = load(self.prepared)
        yield MaskedScorer(model) if self.prepared.kind == "masked" else Scorer(model)


def open_local(model: ModelDeclaration) -> LocalBackend:
    """Find a model's files and read its tokenizer.

    Raises:
        ModelError: a package is missing, or the model can't be found or gives no likelihoods.
    """
    from ethicsdb.runners.likelihood.loading import prepare

    local = model.local or LocalSettings()
    how = local.model_dump(exclude={"pooling", "lower"})  # which are of vectors
    place = str(_packaged(model)) if model.id.startswith(PACKAGE) else model.id
    return LocalBackend(model, prepare(LocalModel(id=place, revision=model.revision, **how)))


def open_vectors(model: ModelDeclaration) -> VectorBackend:
    """A model that turns texts into vectors: a file of word vectors, or a sentence encoder.

    Raises:
        ModelError: a package is missing, or the file or model can't be found.
    """
    if model.backend == "vectors":
        from ethicsdb.runners.vectors.words import WordVectors

        return WordVectors(model)
    from ethicsdb.runners.vectors.sentences import SentenceEncoder

    return SentenceEncoder(model)


def _packaged(model: ModelDeclaration) -> Path:
    """The folder made once from the GGUF file that an installed package brings, which takes half a minute."""
    from ethicsdb.runners.likelihood.gguf import converted

    package = model.id.removeprefix(PACKAGE)
    spec = importlib.util.find_spec(package)
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec is not None and spec.origin else []
    if len(found) != 1:
        raise ModelError(f"{model.name} comes out of the package {package.replace('_', '-')}, which is not installed.")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return converted(found[0], cache / "ethicsdb")


def _identity(model: ModelDeclaration, prepared: Prepared) -> Identity:
    """What the files hold makes a model what it is, and not where they lie: a folder may move."""
    identity = {"backend": model.backend, "kind": prepared.kind, **prepared.parts}
    mark = fingerprint(identity)
    record = {
        "fingerprint": mark,
        "name": model.name,
        "backend": model.backend,
        "model_id": Path(model.id).name if Path(model.id).exists() else model.id,
        "revision": model.revision,
        "identity": canonical_json(identity).decode("utf-8", "surrogatepass"),
    }
    return Identity(mark, record)
