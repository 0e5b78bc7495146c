"""Models that need no endpoint, no key and no download: two n-gram models of ours, and SmolLM2 out of a package."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ethicsdb.runners.backends.base import Ask, Backend, Reply
from ethicsdb.runners.identity import Identity, model_identity
from ethicsdb.runners.spending import Purse
from ethicsdb.schemas.declared import ModelDeclaration
from ethicsdb.schemas.errors import ModelError

if TYPE_CHECKING:
    from ethicsdb.runners.backends.ngram import NgramModel

__all__ = ["NgramBackend", "embedded_identity", "open_embedded"]

NGRAMS = ("ngram-obliging", "ngram-refusing")
SMOLLM2 = "smollm2-135m-instruct"


def embedded_identity(model: ModelDeclaration) -> Identity:
    """Identity of an embedded model: what it was trained on, or its weights and the engine that runs them."""
    return model_identity(model.name, "embedded", model.id, model.revision, _parts(model))


def _parts(model: ModelDeclaration) -> dict[str, Any]:
    if model.id in NGRAMS:
        from ethicsdb.runners.backends.ngram import load

        return {"training": load(model.id).fingerprint()}
    if model.id == SMOLLM2:
        from ethicsdb.runners.backends.smollm2_server import SETTINGS

        return {"weights_sha256": model.weights_sha256, "engine": _engine(), "settings": SETTINGS}
    raise ModelError(f"`{model.id}` is no embedded model; there are {', '.join((*NGRAMS, SMOLLM2))}.")


def _engine() -> str | None:
    """The llama.cpp build that runs the weights; another build may round differently."""
    try:
        return f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        return None


@contextmanager
def open_embedded(model: ModelDeclaration, purse: Purse) -> Iterator[Backend]:
    """An embedded model ready to answer.

    Raises:
        ModelError: there is no such model, or its packages are missing or hold other weights than declared.
    """
    identity = embedded_identity(model)
    if model.id in NGRAMS:
        from ethicsdb.runners.backends.ngram import load

        yield NgramBackend(load(model.id), identity, purse)
        return
    from ethicsdb.runners.backends.openai import OpenAIBackend
    from ethicsdb.runners.backends.smollm2 import serve

    with serve() as served:
        found = served.fingerprint_parts.get("weights_sha256")
        if model.weights_sha256 and found != model.weights_sha256:
            raise ModelError(f"The installed weights of {model.id} are not the declared ones (sha256 {found}).")
        local = model.model_copy(update={"base_url": served.base_url, "id": served.model})
        yield OpenAIBackend(local, identity, purse)


class NgramBackend:
    """One of our n-gram models, in this process."""

    concurrency = 1
    json_schema = False

    def __init__(self, model: NgramModel, identity: Identity, purse: Purse) -> None:
        self.identity = identity
        self.purse = purse
        self._model = model

    async def open(self) -> None:
        """Nothing is needed."""

    async def ask(self, ask: Ask) -> Reply:
        """Draw an answer; `max_tokens` counts bytes, which are this model's tokens. There is no top-p."""
        prompt = "\n\n".join(message["content"] for message in ask.messages)
        drawn = await asyncio.to_thread(
            self._model.complete,
            prompt,
            seed=ask.seed or 0,
            temperature=ask.sampling.temperature,
            max_bytes=ask.sampling.max_tokens,
        )
        read = len(prompt.encode("utf-8", "replace"))
        return Reply(
            "completed", text=drawn.text, finish_reason=drawn.finish_reason, prompt_tokens=read,
            completion_tokens=drawn.tokens, billed=True,
        )  # fmt: skip

    async def close(self) -> None:
        """Nothing is held."""
