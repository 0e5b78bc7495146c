"""Lengths of conversations in tokens: independent counts, one tokenizer one identity, texts of every kind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import environment, opened

from ethicsdb.builders import token_counts
from ethicsdb.builders.token_counts import TokenCount, count_tokens, open_counter
from ethicsdb.registry.items import ItemRow, item_rows
from ethicsdb.registry.versions import find_version
from ethicsdb.schemas.errors import ModelError


def row(item_id: str, context: list[str], output: str | None) -> ItemRow:
    turns = [{"role": "human", "content": text} for text in context]
    return ItemRow(0, item_id, "g", None, None, {"context": json.dumps(turns), "output": output}, output)


@pytest.mark.parametrize(
    ("name", "context", "output"),
    [("words", (3, 1, 0), (2, 1, 0)), ("characters", (12, 6, 0), (9, 5, 1))],
)
def test_plain_counts(name: str, context: tuple[int, ...], output: tuple[int, ...]) -> None:
    counter = open_counter(name)
    rows = [row("a", ["What now?", "why"], "because x"), row("b", ["你好，世界！"], "都很好吗？"), row("c", [], " ")]
    found = list(count_tokens(rows, counter))
    assert [each.item_id for each in found] == ["a", "b", "c"]
    assert [each.tokenizer for each in found] == [counter.fingerprint] * 3
    assert [each.context_tokens for each in found] == [*context]
    assert [each.output_tokens for each in found] == [*output]
    assert [each.turns for each in found] == [3, 2, 1]


def test_an_item_is_counted_once_and_one_without_output_has_no_length() -> None:
    counter = open_counter("words")
    same = row("a", ["one two"], None)
    assert list(count_tokens([same, same], counter)) == [TokenCount(counter.fingerprint, "a", 2, None, 2)]
    assert list(count_tokens([], counter)) == []


def test_a_sample_by_hand(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d").mkdir()
    registry = opened(tmp_path)
    registry.build("sample_eagle")
    with registry.context.reading() as connection:
        rows = item_rows(connection, find_version(registry.context, "sample_eagle"), "conversation")
    found = {each.item_id: each for each in count_tokens(rows, open_counter("words"))}
    three = next(each for each in rows if each.source_id == "s1/0/3")
    # "Who should plan the office party?" + "Leave it to the women in the office, they are better at such things." +
    # "Isn't that unfair?", then "Not really. Everyone knows that men do not care about parties."
    assert found[three.item_id] == TokenCount(open_counter("words").fingerprint, three.item_id, 6 + 14 + 3, 11, 4)
    assert len(found) == 14


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from likelihood_models import byte_pairs

    into = tmp_path_factory.mktemp("tokenizer")
    byte_pairs(bos=True).save_pretrained(into)
    return into


def test_batches_count_what_one_text_at_a_time_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizers import Tokenizer

    raw = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def one(text: str) -> int:
        return len(raw.encode(text, add_special_tokens=False).ids)

    monkeypatch.setattr(token_counts, "BATCH", 3)
    texts = ["The answer is yes.", "你好，请问？", "Не может", "", "👩‍👩‍👧 ok", "a\x00b", "x" * 3000]
    rows = [row(str(number), [text, "and then?"], text) for number, text in enumerate(texts)]
    found = list(count_tokens(rows, open_counter(str(folder))))
    assert [each.output_tokens for each in found] == [one(text) for text in texts]
    assert [each.context_tokens for each in found] == [one(text) + one("and then?") for text in texts]


def test_a_lone_surrogate_counts_as_its_replacement(folder: Path) -> None:
    counter = open_counter(str(folder))
    assert counter.count(["half \ud83d"]) == counter.count(["half \ufffd"])


def test_a_tokenizer_is_known_by_its_files(folder: Path, tmp_path: Path) -> None:
    from likelihood_models import byte_pairs

    byte_pairs(bos=True).save_pretrained(tmp_path)
    (tmp_path / "README.md").write_text("other files do not matter")
    mark = open_counter(str(folder)).fingerprint
    assert open_counter(str(tmp_path)).fingerprint == mark
    byte_pairs(bos=True, size=300).save_pretrained(tmp_path)
    assert open_counter(str(tmp_path)).fingerprint != mark
    assert len({mark, open_counter("words").fingerprint, open_counter("characters").fingerprint}) == 3


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gpt2", "gpt2: no tokenizer; expected `words`, `characters`, a folder, or ID@REVISION"),
        ("./nowhere@1", "./nowhere@1: no tokenizer; expected"),
    ],
)
def test_names_of_no_tokenizer(name: str, sentence: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_counter(name)
    assert str(caught.value).startswith(sentence)


def test_folders_of_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no tokenizer"):
        open_counter(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    pytest.importorskip("transformers", reason="the extra `local` is not installed")
    with pytest.raises(ModelError, match="no tokenizer can be read from"):
        open_counter(str(tmp_path))


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "datasets.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(107 / 14)
