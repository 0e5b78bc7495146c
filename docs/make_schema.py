"""Write docs/schema.md from a live database: every table and view with its columns and what it is for.

python docs/make_schema.py
"""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path

from ethicsdb.registry.arrow import all_shapes
from ethicsdb.registry.migrations import view_texts
from ethicsdb.registry.store import Store

HEAD = """# Tables and views

Written by `python docs/make_schema.py` from a live database; a test fails where it drifts.

Views use built-in functions only, so any DuckDB client from 1.5 on can open the file and query them. Rates are
fractions from 0 to 1, money is in micro-USD, durations are in seconds, times are UTC.
"""


def schema_text() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "schema.db").writer() as connection:
        columns: dict[str, list[tuple[str, str]]] = {}
        for table, name, kind in connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY column_index"
        ).fetchall():
            columns.setdefault(table, []).append((name, kind))
    parts = [HEAD, "## Views\n"]
    for name, text in view_texts().items():
        parts.append(_section(name, _comment(text), columns[name]))
    parts.append("## Tables\n")
    for shape in sorted(all_shapes(), key=lambda shape: shape.name):
        parts.append(_section(shape.name, inspect.cleandoc(shape.model.__doc__ or ""), columns[shape.name]))
    return "\n".join(parts)


def _section(name: str, words: str, columns: list[tuple[str, str]]) -> str:
    rows = "\n".join(f"| `{column}` | {kind} |" for column, kind in columns)
    return f"### `{name}`\n\n{words}\n\n| column | type |\n|---|---|\n{rows}\n"


def _comment(text: str) -> str:
    """The comment at the head of a view's file, up to its first empty line."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--") or line == "--":
            break
        lines.append(line.removeprefix("--").strip())
    return "\n".join(lines)


if __name__ == "__main__":
    Path(__file__).with_name("schema.md").write_text(schema_text(), encoding="utf-8")
