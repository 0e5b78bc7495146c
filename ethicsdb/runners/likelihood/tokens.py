"""A tokenizer without its own additions: ids with the characters they stand for, and what goes before and after them.

The tokenizer's post-processor does two things that must be seen apart: it adds special tokens, and it trims spaces off
the reported character offsets, which hides that a token reaches over a boundary. So texts are encoded by a copy
without it, and what it would put before and after a text is found out once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ethicsdb.schemas.errors import ModelError

__all__ = ["Tokens"]


class Tokens:
    """Encodes texts for one model.

    Attributes:
        prefix: ids that stand once before every text: the beginning-of-sequence token, or none.
        suffix: ids that the tokenizer puts after a text; encoders want them, a causal model's context does not.
        start: id to start from where nothing else stands before a target and there is no prefix (the token that
            separated documents in training), or None.
    """

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    start: int | None

    def __init__(self, tokenizer: Any, bos: str = "auto", model_type: str = "") -> None:
        """`bos` is auto, always or never; `model_type` as in the model's configuration.

        Raises:
            ModelError: the tokenizer gives no offsets, or a beginning-of-sequence token is asked for and there is none.
        """
        self._raw = _without_additions(tokenizer)
        self.prefix, self.suffix = _additions(tokenizer, self._raw)
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        self.start = start
        if bos == "never":
            self.prefix = ()
        elif not self.prefix and (bos == "always" or model_type.startswith("gemma")):
            if tokenizer.bos_token_id is None:
                raise ModelError("The tokenizer knows no beginning-of-sequence token, so none can be put first.")
            self.prefix = (tokenizer.bos_token_id,)

    def ids(self, text: str) -> list[int]:
        """Ids of a text, nothing added; special tokens that the text itself holds are recognised."""
        ids: list[int] = self._raw.encode(text).ids
        return ids

    def split(self, text: str, at: int) -> tuple[list[int], int]:
        """Ids of a text, and the index of the first token that holds a character at or after position `at`.

        A token that reaches over the position counts as after it. The index is the number of ids where there is none.
        """
        encoding = self._raw.encode(text)
        offsets, first = encoding.offsets, len(encoding.ids)
        while first and offsets[first - 1][1] > at:
            first -= 1
        return encoding.ids, first

    def lead(self, ids: Sequence[int]) -> int:
        """How many of the first ids are the prefix already (as a chat template may have written it)."""
        size = len(self.prefix)
        return size if size and tuple(ids[:size]) == self.prefix else 0


def _without_additions(tokenizer: Any) -> Any:
    from tokenizers import Tokenizer

    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise ModelError(
            f"{type(tokenizer).__name__} does not say which characters its tokens stand for; "
            "a model with a `tokenizer.json` is needed."
        )
    content = json.loads(backend.to_str())
    content.update(post_processor=None, truncation=None, padding=None)
    return Tokenizer.from_str(json.dumps(content))


def _additions(tokenizer: Any, raw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What the tokenizer puts before and after a text."""
    text = "a"
    bare, whole = raw.encode(text).ids, tokenizer(text)["input_ids"]
    for at in range(len(whole) - len(bare) + 1):
        if whole[at : at + len(bare)] == bare:
            return tuple(whole[:at]), tuple(whole[at + len(bare) :])
    raise ModelError(f"{type(tokenizer).__name__} encodes texts otherwise than its `tokenizer.json`.")
