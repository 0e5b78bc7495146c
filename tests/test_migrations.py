"""Steps that bring a file of an earlier version to this one, and what they leave alone."""

from __future__ import annotations

from pathlib import Path

from support import opened, rows_of

from ethicsdb.registry.migrations import is_current
from ethicsdb.registry.store import Store
from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.items import ITEM_KINDS

LATER = {"conversation": ["target_group", "details"], "labelled_text": ["details"]}


def test_columns_that_came_later_are_added(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d").mkdir()
    registry = opened(tmp_path)
    registry.build("sample_eagle")
    before = rows_of(registry, "SELECT * FROM conversation ORDER BY item_id")
    with Store(tmp_path / "benchmarks.db").writer() as connection:
        for name, columns in LATER.items():
            for column in columns:
                connection.execute(f"ALTER TABLE {name} DROP COLUMN {column}")
        connection.execute("DELETE FROM migration WHERE name = 'conversation_details'")
        connection.execute("DELETE FROM meta WHERE key = 'schema'")
        assert not is_current(connection)
    registry = opened(tmp_path)
    registry.build("sample_toxigen_train")  # a writer migrates
    found = "FROM conversation JOIN item USING (item_id) WHERE dataset = 'sample_toxigen_train'"
    assert rows_of(registry, f"SELECT count(*), count(target_group), count(details) {found}") == [(9, 9, 9)]
    assert not registry.build("sample_eagle").new
    query = "SELECT conversation.* FROM conversation JOIN item USING (item_id) WHERE dataset = 'sample_eagle'"
    assert rows_of(registry, f"{query} ORDER BY item_id") == before
    assert registry.rebuild() == registry.checksums()


def test_fields_that_came_later_leave_the_ids_of_items_without_them(tmp_path: Path) -> None:
    assert {name: list(kind.later) for name, kind in ITEM_KINDS.items() if kind.later} == LATER
    (tmp_path / "ethicsdb.d").mkdir()
    registry = opened(tmp_path)
    registry.build("sample_eagle")
    first = (
        "item_id", "output", "context", "labels", "language", "conversation_id", "conversation_num", "utterance_num",
    )  # fmt: skip
    for item_id, *values in rows_of(registry, f"SELECT {', '.join(first)} FROM conversation"):
        payload = dict(zip(first[1:], values, strict=True))
        assert item_id == fingerprint({"kind": "conversation", "dataset": "sample_eagle", "payload": payload})
