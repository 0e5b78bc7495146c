"""Lengths of conversations in the tokens of a named tokenizer, as Table 1 of Eagle has them.

Kaneko et al. (2024), Table 1: instances, and their mean tokens of a context, mean tokens of an output and mean turns.
The paper names no tokenizer, and two tokenizers do not measure one thing: a count is always of one tokenizer, known by
its files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow, item_rows
from ethicsdb.registry.journal import batches
from ethicsdb.registry.versions import read_sql, version_in
from ethicsdb.runners.stage import open_stage
from ethicsdb.schemas.errors import DeclarationError, ModelError
from ethicsdb.schemas.fingerprint import fingerprint, sha256_file
from ethicsdb.schemas.text import storable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Counter", "TokenCount", "count_tokens", "keep_token_counts", "open_counter"]

BATCH = 512  # items that are counted in one call of a tokenizer
# Files that make a tokenizer what it is; templates of chats do not change what a text's tokens are.
_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "vocab.txt", "merges.txt", "*.model", "*.tiktoken",
)  # fmt: skip


@dataclass(frozen=True)
class Counter:
    """Counts tokens of texts.

    Attributes:
        name: as it was asked for.
        fingerprint: of the SHA-256 of the tokenizer's files, or of the plain name.
        count: the number of tokens of each text; nothing is put before or after a text.
    """

    name: str
    fingerprint: str
    count: Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True)
class TokenCount:
    """The lengths of one item.

    Attributes:
        tokenizer: the counter's fingerprint.
        context_tokens: tokens of all turns of the context, each turn counted alone, without roles or a chat's template.
        output_tokens: tokens of the output; None where the item has none.
        turns: utterances of the instance, of people and of the system: the context's turns and the output.
    """

    tokenizer: str
    item_id: str
    context_tokens: int
    output_tokens: int | None
    turns: int


def open_counter(name: str) -> Counter:
    """The counter of that name.

    Args:
        name: `words` (parts between whitespace; not for languages that write none, such as Chinese), `characters`
            (Unicode code points), a folder with a tokenizer's files, or `ID@REVISION` of the Hugging Face Hub.

    Raises:
        ModelError: there is no such tokenizer, its revision is not given, or transformers is not installed.
    """
    if name == "words":
        return Counter(name, fingerprint({"tokenizer": name}), lambda texts: [len(text.split()) for text in texts])
    if name == "characters":
        return Counter(name, fingerprint({"tokenizer": name}), lambda texts: [len(text) for text in texts])
    path = Path(name).expanduser()
    folder = path if path.is_dir() else _download(name)
    files = sorted({each for pattern in _FILES for each in folder.glob(pattern) if each.is_file()})
    if not files:
        raise ModelError(f"{name}: {folder} holds no tokenizer (`tokenizer.json`, `*.model`, `vocab.*`).")
    tokenizer = _load(name, folder)
    mark = fingerprint({"tokenizer": {each.name: sha256_file(each) for each in files}})
    return Counter(name, mark, lambda texts: _lengths(tokenizer, texts))


def count_tokens(rows: Iterable[ItemRow], counter: Counter) -> Iterator[TokenCount]:
    """The lengths of conversations, a row an item in the order of first appearance.

    Args:
        rows: of a version of a data set whose items are conversations; rows that share an item are counted once.
    """
    distinct = list({row.item_id: row for row in rows}.values())
    for some in (distinct[start : start + BATCH] for start in range(0, len(distinct), BATCH)):
        contexts = [[turn["content"] for turn in json.loads(row.payload["context"])] for row in some]
        outputs = [row.payload["output"] for row in some]
        texts = [text for turns in contexts for text in turns] + [text for text in outputs if text is not None]
        counts = iter(counter.count(texts))
        sums = [sum(next(counts) for _ in turns) for turns in contexts]
        for row, turns, whole, output in zip(some, contexts, sums, outputs, strict=True):
            said = None if output is None else next(counts)
            yield TokenCount(counter.fingerprint, row.item_id, whole, said, len(turns) + 1)


def keep_token_counts(context: Context, dataset: str, name: str) -> list[dict[str, Any]]:
    """Count a version's conversations in a tokenizer's tokens, and give Table 1 of it (view `conversation_lengths`).

    Items that were counted before, in whatever version, are not counted again.

    Args:
        dataset: `NAME` for the newest version, or `NAME@v1`.
        name: of the tokenizer, see `open_counter`.

    Raises:
        NotFoundError: no such version.
        DeclarationError: its items are no conversations.
        ModelError: there is no such tokenizer.
    """
    kind = context.declarations.dataset(dataset.partition("@")[0]).schema_
    if kind != "conversation":
        raise DeclarationError(f"{dataset} holds items of kind {kind}; lengths are counted of conversations.")
    counter = open_counter(name)
    with open_stage(context, "tokens", dataset.partition("@")[0], ["tokens", counter.fingerprint]) as stage:
        with context.reading() as connection:
            version = version_in(connection, context.declarations, dataset)
            query = "SELECT item_id FROM token_count WHERE tokenizer_fingerprint = ?"
            known = {row[0] for row in connection.execute(query, [counter.fingerprint]).fetchall()}
            rows = [row for row in item_rows(connection, version, kind) if row.item_id not in known]
        records = [
            {"tokenizer": counter.name, "tokenizer_fingerprint": each.tokenizer, "item_id": each.item_id,
             "context_tokens": each.context_tokens, "output_tokens": each.output_tokens, "turns": each.turns}
            for each in count_tokens(rows, counter)
        ]  # fmt: skip
        stage.journal.append(batches("token_count", records))
    with context.reading() as connection:
        found = connection.execute(
            read_sql("conversation_lengths"),
            {"dataset": version.dataset, "version": version.version, "tokenizer": counter.fingerprint},
        )
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _lengths(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[int]:
    if not texts:  # a tokenizer refuses an empty batch
        return []
    plain = [storable(text) for text in texts]  # no tokenizer takes a lone surrogate
    encoded: Any = tokenizer(plain, add_special_tokens=False, return_attention_mask=False, verbose=False)
    return [len(ids) for ids in encoded["input_ids"]]


def _load(name: str, folder: Path) -> PreTrainedTokenizerBase:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise ModelError(f'{name} needs transformers, which is not installed: pip install "ethicsdb[local]"') from error
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{name}: no tokenizer can be read from {folder}: {error}") from error
    return tokenizer


def _download(name: str) -> Path:
    repository, _, revision = name.partition("@")
    if not revision or name.startswith((".", "/", "~")):
        raise ModelError(
            f"{name}: no tokenizer; expected `words`, `characters`, a folder, or ID@REVISION of the Hugging Face Hub."
        )
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(repository, revision=revision, allow_patterns=[*_FILES, "config.json"]))
    except ImportError as error:
        raise ModelError(f'{name} needs huggingface-hub: pip install "ethicsdb[local]"') from error
    except Exception as error:  # the client raises its own, the HTTP library's and the system's errors
        raise ModelError(f"{name} can't be had from the Hugging Face Hub: {error}") from error
