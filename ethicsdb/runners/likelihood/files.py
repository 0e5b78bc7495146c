"""Where a model's files are, and what they hash to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ethicsdb.runners.likelihood.base import LocalModel
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import sha256_file

__all__ = ["Located", "hashes", "locate"]

# What shapes tokens and computation besides the weights.
_TEXT_FILES = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "chat_template.jinja", "chat_template.json", "*.model", "*.tiktoken",
)  # fmt: skip
_UNPINNED = (None, "", "main", "master", "HEAD")


@dataclass(frozen=True)
class Located:
    """A model's folder on this machine and the files in it that make the model what it is."""

    folder: Path
    gguf_file: str | None
    files: tuple[Path, ...]


def locate(spec: LocalModel) -> Located:
    """The model's folder, downloaded first where it is a Hub id that is not in the cache.

    Raises:
        ModelError: there is no such folder, it holds no weights, the revision is not pinned, or the Hub has no such
            model or can't be reached.
    """
    path = Path(spec.id).expanduser()
    if path.is_dir():
        return _located(path, spec.gguf_file)
    if path.is_file() and path.suffix == ".gguf":
        return _located(path.parent, path.name)
    if path.is_absolute() or spec.id.startswith((".", "~")):
        raise ModelError(f"{spec.id}: there is no such model folder or `.gguf` file.")
    if spec.revision in _UNPINNED:
        raise ModelError(
            f"{spec.id} is no folder here; as a model of the Hugging Face Hub it needs a pinned revision "
            "(a commit from its page's history), so that the same name stays the same model."
        )
    return _located(_download(spec), spec.gguf_file)


def _located(folder: Path, gguf_file: str | None) -> Located:
    if gguf_file is not None:
        weights = _matching(folder, [gguf_file])  # tokenizer and configuration are in the file as well
        if not weights:
            raise ModelError(f"{folder} has no file {gguf_file}.")
        return Located(folder, gguf_file, weights)
    weights = _matching(folder, ["*.safetensors"]) or _matching(folder, ["*.bin"])
    if not weights:
        raise ModelError(f"{folder} holds no weights (`*.safetensors` or `*.bin`); for GGUF name the file.")
    return Located(folder, None, (*_matching(folder, _TEXT_FILES), *weights))


def _matching(folder: Path, patterns: Iterable[str]) -> tuple[Path, ...]:
    return tuple(sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}))


def _download(spec: LocalModel) -> Path:
    from huggingface_hub import snapshot_download

    def fetch(*patterns: str) -> Path:
        # Folders inside a repository hold the same weights in other formats.
        kept = {"allow_patterns": list(patterns), "ignore_patterns": None if spec.gguf_file else ["*/*"]}
        return Path(snapshot_download(spec.id, revision=spec.revision, **kept))

    try:
        if spec.gguf_file:
            return fetch(spec.gguf_file)
        folder = fetch(*_TEXT_FILES, "generation_config.json", "*.safetensors*")
        if not any(folder.glob("*.safetensors")):
            fetch("*.bin*")
    except Exception as error:  # the client raises its own, the HTTP library's and the system's errors
        raise ModelError(f"{spec.id}@{spec.revision} can't be had from the Hugging Face Hub: {error}") from error
    return folder


def hashes(located: Located) -> dict[str, str]:
    """SHA-256 of every file by name. A file is read again in this process only where its size or time changed."""
    found = {}
    for path in located.files:
        stat = path.stat()
        found[path.name] = _sha256(path.resolve(), stat.st_size, stat.st_mtime_ns)
    return found


@lru_cache(maxsize=4096)
def _sha256(path: Path, _size: int, _mtime_ns: int) -> str:
    return sha256_file(path)
