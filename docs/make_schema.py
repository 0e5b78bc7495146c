"""Write docs/schema.md from a live database: every table and view with its columns and what it is for.

python docs/make_schema.py
"""

from __future__ import annotations

import inspect
import re
import tempfile
from pathlib import Path

from ethicsdb.registry.arrow import all_shapes
from ethicsdb.registry.migrations import view_texts
from ethicsdb.registry.store import Store

HEAD = """# Tables and views

Written by `python docs/make_schema.py` from a live database; a test fails where it drifts.

Views use built-in functions only, so any DuckDB client from 1.5 on can open the file and query them. Rates are
fractions from 0 to 1, money is in micro-USD, durations are in seconds, times are UTC. Fingerprints and keys begin with
`blake2b-128:`. Columns that end in `_exact` hold the bytes of a text that DuckDB can't hold (one with
lone surrogates) and are NULL else. What the columns of `leaderboard` mean stands in [boards](boards.md).

What a column means is the comment beside its field in `ethicsdb/schemas/`.
"""

_FIELD = re.compile(r"    (\w+): (?!ClassVar)[^#]*(?:# (.*))?")


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
        words = inspect.cleandoc(shape.model.__doc__ or "")
        parts.append(_section(shape.name, words, columns[shape.name], meanings(shape.model)))
    return "\n".join(parts)


def _section(name: str, words: str, columns: list[tuple[str, str]], told: dict[str, str] | None = None) -> str:
    if told is None:
        rows = "\n".join(f"| `{column}` | {kind} |" for column, kind in columns)
        return f"### `{name}`\n\n{words}\n\n| column | type |\n|---|---|\n{rows}\n"
    rows = "\n".join(
        f"| `{column}` | {kind} | {_cell(told.get(column) or _exact(column))} |" for column, kind in columns
    )
    return f"### `{name}`\n\n{words}\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n"


def _exact(column: str) -> str:
    text = column.removesuffix("_exact")
    return f"exact bytes of `{text}` where it holds the replaced form" if text != column else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def meanings(model: type) -> dict[str, str]:
    """Column: the comment behind its field, or the one that stands on lines of its own before it."""
    found: dict[str, str] = {}
    before: list[str] = []
    for line in inspect.getsource(model).splitlines():
        field = _FIELD.match(line)
        if line.startswith("    # "):
            before.append(line.removeprefix("    # "))
            continue
        if field and (field[2] or before):
            found[field[1]] = field[2] or " ".join(before)
        before = []
    return found


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
