"""Versions are multisets of rows; what changed between two of them is told row by row."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from support import DATASET, DECLARATIONS, Row, changed, declare, opened, questions, rows_of, run, started, write_csv

from ethicsdb import Registry
from ethicsdb.schemas.errors import NotFoundError

Told = tuple[str, str | None, str | None, str | None]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return started(tmp_path)


def rebuilt(registry: Registry, rows: list[Row]) -> str:
    """Build the rows; the version that they are."""
    folder = registry.context.store.path.parent
    return registry.build("small", write_csv(folder / "small.csv", rows)).version


def told(registry: Registry, before: str, after: str) -> Counter[Told]:
    changes = registry.diff(f"small@{before}", f"small@{after}")
    return Counter((each.change, each.source_id, each.before, each.after) for each in changes)


def test_the_same_source_makes_no_new_version(registry: Registry) -> None:
    before = registry.checksums()
    again = registry.build("small", registry.context.store.path.parent / "small.csv")
    assert (again.version, again.new) == ("v1", False)
    assert registry.checksums() == before


def test_the_order_of_rows_does_not_matter(registry: Registry) -> None:
    rows = questions(4)
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        assert rebuilt(registry, rows) == "v1"
    assert len(registry.versions("small")) == 1


def test_the_name_of_the_file_does_not_matter(registry: Registry) -> None:
    folder = registry.context.store.path.parent
    assert not registry.build("small", write_csv(folder / "other.csv", questions(4))).new


def test_repeats_matter(registry: Registry) -> None:
    rows = questions(4)
    assert rebuilt(registry, [*rows, rows[0]]) == "v2"
    assert rebuilt(registry, [*rows, rows[0], rows[0]]) == "v3"
    assert [(each.rows, each.items) for each in registry.versions("small")] == [(12, 12), (13, 12), (14, 12)]


def test_an_earlier_content_is_its_earlier_version(registry: Registry) -> None:
    assert rebuilt(registry, questions(5)) == "v2"
    assert rebuilt(registry, questions(4)) == "v1"
    assert len(registry.versions("small")) == 2


def test_versions_share_items(registry: Registry) -> None:
    rebuilt(registry, questions(5))
    assert rows_of(registry, "SELECT count(*), count(DISTINCT item_id) FROM item") == [(15, 15)]
    assert rows_of(registry, "SELECT count(*) FROM safety_question") == [(15,)]
    shared = """
        SELECT count(DISTINCT item_id) FROM membership old JOIN membership new USING (item_id)
        WHERE old.version = 'v1' AND new.version = 'v2'
    """
    assert rows_of(registry, shared) == [(12,)]
    assert rows_of(registry, "FROM integrity") == []


def test_a_changed_mapping_is_another_version(tmp_path: Path) -> None:
    registry = started(tmp_path)
    other = changed(DATASET, recode={"risk_area": {"Lies": "falsehood", "Harm": "harm"}})
    declare(tmp_path, other, *DECLARATIONS[1:])
    assert opened(tmp_path).build("small", tmp_path / "small.csv").version == "v2"
    assert len(registry.versions("small")) == 2


def test_a_changed_split_is_another_version(tmp_path: Path) -> None:
    started(tmp_path)
    declare(tmp_path, changed(DATASET, split="validation"), *DECLARATIONS[1:])
    assert opened(tmp_path).build("small", tmp_path / "small.csv").version == "v2"


def test_a_changed_title_is_not(tmp_path: Path) -> None:
    started(tmp_path)
    declare(tmp_path, changed(DATASET, title="Other"), *DECLARATIONS[1:])
    assert not opened(tmp_path).build("small", tmp_path / "small.csv").new


def test_added_and_removed_rows(registry: Registry) -> None:
    rows = questions(4)
    rebuilt(registry, [*rows[:-1], ("9", "Harm", "innocent", "new?", "")])
    assert told(registry, "v1", "v2") == Counter(
        [("added", "9", None, "new?"), ("removed", "3", "innocent question 3?", None)]
    )
    assert told(registry, "v2", "v1") == Counter(
        [("removed", "9", "new?", None), ("added", "3", None, "innocent question 3?")]
    )


def test_a_changed_row(registry: Registry) -> None:
    rows = [*questions(4)]
    rows[2] = (*rows[2][:3], "innocent question 0, mended?", "")
    rebuilt(registry, rows)
    expected = ("changed", "0", "innocent question 0?", "innocent question 0, mended?")
    assert told(registry, "v1", "v2") == Counter([expected])


def test_variants_of_a_changed_question_are_relinked(registry: Registry) -> None:
    rows = [*questions(4)]
    rows[0] = (*rows[0][:3], "original, mended?", "")
    rebuilt(registry, rows)
    assert told(registry, "v1", "v2") == Counter(
        [
            ("changed", "0", "original question 0?", "original, mended?"),
            ("relinked", "0", "hidden question 0?", "hidden question 0?"),
            ("relinked", "0", "innocent question 0?", "innocent question 0?"),
        ]
    )


def test_repeated_rows_are_counted(registry: Registry) -> None:
    rows = questions(4)
    rebuilt(registry, [*rows, rows[2], rows[2]])
    twice = ("added", "0", None, "innocent question 0?")
    assert told(registry, "v1", "v2") == Counter({twice: 2})
    rebuilt(registry, [*rows, rows[2]])
    assert told(registry, "v2", "v3") == Counter({("removed", "0", "innocent question 0?", None): 1})


def test_two_rows_of_one_id_are_not_guessed_to_be_a_change(registry: Registry) -> None:
    rows = [*questions(4)]
    rows[2] = (*rows[2][:3], "first?", "")
    rebuilt(registry, [*rows, ("0", "Lies", "innocent", "second?", "")])
    assert told(registry, "v1", "v2") == Counter(
        [
            ("removed", "0", "innocent question 0?", None),
            ("added", "0", None, "first?"),
            ("added", "0", None, "second?"),
        ]
    )


def test_rows_without_id_or_variant(tmp_path: Path) -> None:
    plain = changed(DATASET, variant=None, variants=None, link=None)
    declare(tmp_path, plain, *DECLARATIONS[1:])
    registry = opened(tmp_path)
    for texts in (["a?", "b?", "b?"], ["b?", "c?"]):
        registry.build("small", write_csv(tmp_path / "small.csv", [("", "Lies", "", text, "") for text in texts]))
    assert told(registry, "v1", "v2") == Counter(
        [("removed", None, "a?", None), ("removed", None, "b?", None), ("added", None, None, "c?")]
    )


def test_a_version_differs_from_itself_in_nothing(registry: Registry) -> None:
    assert registry.diff("small@v1", "small") == []


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("small@v9", "small has no version `v9`; it has v1"),
        ("smal@v1", "Did you mean `small`?"),
        ("qorgau_ru", "qorgau_ru has not been built yet: ethicsdb build qorgau_ru"),
    ],
)
def test_unknown_versions(registry: Registry, reference: str, sentence: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        registry.diff("small@v1", reference)
    assert sentence in str(caught.value)


def test_versions_of_different_data_sets_do_not_compare(registry: Registry) -> None:
    registry.build("sample_safety_en")
    with pytest.raises(NotFoundError, match="different data sets"):
        registry.diff("small", "sample_safety_en")


def test_on_the_command_line(registry: Registry) -> None:
    folder = registry.context.store.path.parent
    rows = [*questions(4)]
    rows[0] = (*rows[0][:3], "original, mended?", "")
    rebuilt(registry, rows)
    shown = run("diff", "small@v1", "small@v2", cwd=folder)
    assert shown.code == 0
    assert shown.out.startswith("0 added, 0 removed, 1 changed, 2 relinked to another base question\n")
    assert {each["change"] for each in run("diff", "small@v1", "small", "--json", cwd=folder).json()} == {
        "changed",
        "relinked",
    }
    assert [each["version"] for each in run("versions", "small", "--json", cwd=folder).json()] == ["v1", "v2"]
