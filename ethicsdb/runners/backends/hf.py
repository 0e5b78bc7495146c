"""A model on this machine that writes answers, through transformers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.runners.likelihood.base import Turn
from ethicsdb.runners.likelihood.rendering import PLAIN, Refused
from ethicsdb.runners.spending import Purse
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.text import storable

if TYPE_CHECKING:
    from ethicsdb.runners.local import LocalBackend

__all__ = ["HfBackend"]

NEXT_TURN = "\n\nUser:"  # a model without a chat template goes on with the talk; what is the user's is not its answer


class HfBackend:
    """One answer at a time by a causal or encoder-decoder model, greedily at temperature 0, else drawn with the seed.

    The context is rendered as for likelihoods, so that both are about the same model (one fingerprint). Half a UTF-16
    pair is read as U+FFFD, since no tokenizer takes it.
    """

    concurrency = 1
    json_schema = False

    def __init__(self, local: LocalBackend, purse: Purse) -> None:
        """Raises ModelError for a model that writes no answers."""
        if local.prepared.kind == "masked":
            raise ModelError(f"{local.identity.record['name']} is a masked language model, which writes no answers.")
        self.identity = local.identity
        self.purse = purse
        self._prepared = local.prepared
        self._renderer = local.prepared.encoder.renderer
        self._plain = local.prepared.parts["chat_template"] == PLAIN
        self._model: Any = None

    async def open(self) -> None:
        """Load the weights."""
        from ethicsdb.runners.likelihood.loading import load

        if self._model is None:
            self._model = (await asyncio.to_thread(load, self._prepared)).model

    async def ask(self, ask: Ask) -> Reply:
        """Write an answer."""
        turns = tuple(Turn(each["role"], storable(each["content"])) for each in ask.messages)
        try:
            text = self._renderer.render(turns).text
        except Refused as refused:
            return Reply("error", error_code="bad_request", error_message=f"the chat template refuses: {refused}")
        return await asyncio.to_thread(self._answer, text, ask)

    def _answer(self, text: str, ask: Ask) -> Reply:
        import torch

        tokens = self._prepared.encoder.tokens
        ids = tokens.ids(text)
        ids = ids if tokens.lead(ids) else [*tokens.prefix, *ids]
        causal = self._prepared.kind == "causal"
        ids = ids if causal else [*ids, *tokens.suffix]
        longest = self._prepared.limit - (ask.sampling.max_tokens if causal else 0)
        if len(ids) > longest:
            told = f"{len(ids)} tokens and {ask.sampling.max_tokens} for the answer do not fit {self._prepared.limit}"
            return Reply("error", error_code="context_overflow", error_message=told, prompt_tokens=len(ids))
        drawn = ask.sampling.temperature > 0
        given: dict[str, Any] = {"do_sample": drawn, "max_new_tokens": ask.sampling.max_tokens}
        if drawn:
            given |= {"temperature": ask.sampling.temperature, "top_p": ask.sampling.top_p, "top_k": 0}
            torch.manual_seed(ask.seed if ask.seed is not None else torch.seed())
        row = torch.tensor([ids], device=self._model.device)
        with torch.inference_mode():
            out = self._model.generate(row, attention_mask=torch.ones_like(row), pad_token_id=0, **given)[0]
        written = out[len(ids) :] if causal else out[1:]
        return self._reply(written.tolist(), len(ids), ask)

    def _reply(self, written: list[int], read: int, ask: Ask) -> Reply:
        ends = {end for end in [self._prepared.tokenizer.eos_token_id] if end is not None}
        own = self._model.generation_config.eos_token_id
        ends |= set(own if isinstance(own, list) else [own]) - {None}
        finished = any(token in ends for token in written)
        text = self._prepared.tokenizer.decode(written, skip_special_tokens=True)
        if self._plain and NEXT_TURN in text:
            text, finished = text.partition(NEXT_TURN)[0], True
        why = "stop" if finished or len(written) < ask.sampling.max_tokens else "length"
        return Reply(
            "completed", text=text, finish_reason=why, prompt_tokens=read, completion_tokens=len(written), billed=True
        )

    async def close(self) -> None:
        """Let go of the weights."""
        self._model = None
