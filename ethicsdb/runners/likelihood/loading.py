"""From a model's name to what can be asked: files, tokenizer and limits first, weights when they are needed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from ethicsdb.runners.likelihood.base import MASKED_RULES, RULES, LocalModel
from ethicsdb.runners.likelihood.encoding import CausalEncoder, Encoder, Seq2SeqEncoder
from ethicsdb.runners.likelihood.files import Located, hashes, locate
from ethicsdb.runners.likelihood.positions import configured_limit
from ethicsdb.runners.likelihood.rendering import FIXED_DATE, PLAIN, Renderer
from ethicsdb.runners.likelihood.tokens import Tokens
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["INSTALL", "Loaded", "Prepared", "as_model_error", "load", "prepare", "quiet"]

INSTALL = 'pip install "ethicsdb[local]"'

Kind = Literal["causal", "seq2seq", "masked"]


@dataclass(frozen=True)
class Prepared:
    """All of a model but its weights: enough to know who it is and how it reads a request.

    Attributes:
        spec: what was asked for.
        located: where its files are.
        kind: `causal`, `seq2seq` (encoder-decoder) or `masked`.
        limit: the most tokens that it reads at once (an encoder-decoder in its encoder, and again in its decoder).
        device: `cpu` or `cuda`.
        dtype: floating type of its weights.
        parts: all that a score depends on, for the model's fingerprint: file hashes, template, dtype, quantisation ...
        versions: of the packages that compute; values agree across them up to rounding, so that they are in no key.
        encoder: from requests to token ids.
        tokenizer: the model's tokenizer (transformers).
        config: the model's configuration (transformers).
    """

    spec: LocalModel
    located: Located
    kind: Kind
    limit: int
    device: str
    dtype: str
    parts: dict[str, Any]
    versions: dict[str, str]
    encoder: Encoder
    tokenizer: Any
    config: Any


@dataclass(frozen=True)
class Loaded:
    """A model in memory, in evaluation mode."""

    prepared: Prepared
    model: Any


def prepare(spec: LocalModel) -> Prepared:
    """Find a model, hash its files and read its tokenizer; its weights stay on the disk.

    Raises:
        ModelError: a package is missing, the model can't be found or is not one that gives likelihoods.
    """
    _need_packages(spec)
    located = locate(spec)
    with quiet(), as_model_error(spec.id):
        config, tokenizer = _text_side(located)
    kind = _kind(config)
    device = _device(spec)
    dtype = _dtype(spec, config, device)
    template = _template(spec, tokenizer)
    limit = spec.max_length or configured_limit(config, tokenizer)
    tokens = Tokens(tokenizer, spec.bos, config.model_type)
    parts = {
        "rules": MASKED_RULES if kind == "masked" else RULES,
        "files": hashes(located),
        "chat_template": fingerprint(template) if template else PLAIN,
        "template_date": FIXED_DATE if template and "strftime_now" in template else None,
        "prefix": list(tokens.prefix),
        "limit": limit,
        "dtype": dtype,
        "quantisation": spec.quantisation,
    }
    encoder = _encoder(spec.id, config, tokens, Renderer(tokenizer, template), limit)
    return Prepared(spec, located, kind, limit, device, dtype, parts, _versions(), encoder, tokenizer, config)


def load(model: LocalModel | Prepared) -> Loaded:
    """Read a model's weights, once it is prepared.

    Raises:
        ModelError: as `prepare`, or the files can't be read or lack weights that the model has (they would be random).
    """
    prepared = model if isinstance(model, Prepared) else prepare(model)
    import torch
    import transformers

    spec, located = prepared.spec, prepared.located
    which: Any = {
        "causal": transformers.AutoModelForCausalLM,
        "seq2seq": transformers.AutoModelForSeq2SeqLM,
        "masked": transformers.AutoModelForMaskedLM,
    }[prepared.kind]
    given: dict[str, Any] = {"dtype": getattr(torch, prepared.dtype), "local_files_only": True}
    if located.gguf_file:
        given["gguf_file"] = located.gguf_file
    if spec.quantisation:
        given["quantization_config"] = _bits(spec.quantisation, given["dtype"])
    if spec.quantisation or prepared.device == "cuda":
        given["device_map"] = "auto" if prepared.device == "cuda" else {"": "cpu"}
    with quiet(), as_model_error(spec.id):
        weights, info = which.from_pretrained(str(located.folder), output_loading_info=True, **given)
    if info["missing_keys"] or info["mismatched_keys"]:
        lacking = ", ".join(sorted(str(key) for key in info["missing_keys"] or info["mismatched_keys"])[:3])
        raise ModelError(f"{spec.id}: the files lack weights of {type(weights).__name__} ({lacking} ...).")
    return Loaded(prepared, weights.eval())


def _need_packages(spec: LocalModel) -> None:
    needed = {"torch": INSTALL, "transformers": INSTALL, "accelerate": INSTALL}
    if spec.quantisation:
        needed["bitsandbytes"] = INSTALL
    if spec.gguf_file or spec.id.endswith(".gguf"):
        needed["gguf"] = f"{INSTALL} gguf"
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        command = next((needed[name] for name in missing if needed[name] != INSTALL), INSTALL)
        raise ModelError(f"{spec.id} needs {' and '.join(missing)}, which is not installed: {command}")


def _text_side(located: Located) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoTokenizer

    given: dict[str, Any] = {"local_files_only": True}
    if located.gguf_file:
        given["gguf_file"] = located.gguf_file
    folder = str(located.folder)
    return AutoConfig.from_pretrained(folder, **given), AutoTokenizer.from_pretrained(folder, **given)


def _kind(config: Any) -> Kind:
    """By the architecture that the configuration names, else by what models of its type are.

    Encoders are published with none (`bert_uncased_L-2_H-128_A-2`) or as `BertForPreTraining`. Transformers loads them
    as causal models too, and they then see the very token that they are to predict.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    named = config.architectures or []
    if any(each.endswith("ForMaskedLM") for each in named):
        return "masked"
    if config.is_encoder_decoder:
        return "seq2seq"
    generates = any(each.endswith(("ForCausalLM", "LMHeadModel")) for each in named)
    encodes = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False)
    return "masked" if encodes and not generates else "causal"


def _device(spec: LocalModel) -> str:
    import torch

    if spec.device == "cuda" and not torch.cuda.is_available():
        raise ModelError(f"{spec.id}: torch sees no GPU here.")
    return "cuda" if spec.device != "cpu" and torch.cuda.is_available() else "cpu"


def _dtype(spec: LocalModel, config: Any, device: str) -> str:
    """On a processor float32: half precision is slower there and up to half a nat off."""
    if spec.dtype != "auto":
        return spec.dtype
    own = getattr(config, "dtype", None)
    return "float32" if device == "cpu" or own is None else str(own).removeprefix("torch.")


def _template(spec: LocalModel, tokenizer: Any) -> str | None:
    if spec.template == "plain":
        return None
    if tokenizer.chat_template:
        with as_model_error(spec.id):
            template: str = tokenizer.get_chat_template()
        return template
    if spec.template == "chat":
        raise ModelError(f"{spec.id} has no chat template; ask for `plain` or `auto`.")
    return None


def _encoder(name: str, config: Any, tokens: Tokens, renderer: Renderer, limit: int) -> Encoder:
    if not config.is_encoder_decoder:
        return CausalEncoder(tokens, renderer, limit)
    start = getattr(config, "decoder_start_token_id", None)
    if start is None:
        raise ModelError(f"{name} does not say which token its decoder starts with (`decoder_start_token_id`).")
    return Seq2SeqEncoder(tokens, renderer, limit, int(start))


def _bits(quantisation: str, dtype: Any) -> Any:
    from transformers import BitsAndBytesConfig

    if quantisation == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "transformers", "tokenizers")}


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars of the library's own."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def as_model_error(name: str) -> Iterator[None]:
    """What the libraries raise about a model's files, as one sentence."""
    try:
        yield
    except ModelError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{name} can't be loaded: {lines[0]}") from error
