"""Reading a version's rows with their payloads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ethicsdb.registry.versions import Version, read_sql
from ethicsdb.schemas.items import ITEM_KINDS
from ethicsdb.schemas.text import restore

if TYPE_CHECKING:
    import duckdb

__all__ = ["ItemRow", "item_rows"]


@dataclass(frozen=True)
class ItemRow:
    """A row of a version: where it stands and what it holds (exact text restored)."""

    row: int
    item_id: str
    group_id: str
    variant: str | None
    source_id: str | None
    payload: dict[str, Any]
    text: str | None  # the main text, without which the item can't be asked

    def decoded(self, kind: str) -> dict[str, Any]:
        """The payload with its lists and objects as such; `kind` is its item kind."""
        lists = {name: self.payload[name] for name in ITEM_KINDS[kind].encoded}
        return self.payload | {name: text and json.loads(text) for name, text in lists.items()}

    def holds(self, wanted: dict[str, list[str]], kind: str) -> bool:
        """Whether each wanted field has one of the wanted values; a field that is a list, whether one of its own."""
        payload = self.decoded(kind) if wanted else {}
        for name, values in wanted.items():
            held = payload[name] if isinstance(payload[name], list) else [payload[name]]
            if not any(str(each) in values for each in held if each is not None):
                return False
        return True


def item_rows(connection: duckdb.DuckDBPyConnection, version: Version, kind: str) -> list[ItemRow]:
    """All rows of a version in order, each with its item's payload.

    `kind` is an item kind of this package, which is a table name and never a user's text.
    """
    query = read_sql("item_rows").replace("safety_question", f'"{kind}"')
    found = connection.execute(query, {"dataset": version.dataset, "version": version.version})
    names = [column[0] for column in found.description or []]
    main = next(name for name in names if f"{name}_exact" in names)  # an item kind names its main text first
    rows = []
    for values in found.fetchall():
        record = dict(zip(names, values, strict=True))
        place = {name: record.pop(name) for name in ("row", "item_id", "group_id", "variant", "source_id")}
        payload = _restored(record)
        rows.append(ItemRow(**place, payload=payload, text=payload[main]))
    return rows


def _restored(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: restore(value, record.get(f"{name}_exact"))
        for name, value in record.items()
        if not name.endswith("_exact")
    }
