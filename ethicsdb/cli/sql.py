"""`ethicsdb sql "SELECT ..."`."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import as_json, notices, open_registry, print_table, shown
from ethicsdb.cli.values import plain

if TYPE_CHECKING:
    from ethicsdb.registry.sandbox import Answer

__all__ = ["command"]

NUMBERS = ("INT", "DECIMAL", "DOUBLE", "FLOAT")


@click.command("sql")
@click.argument("query")
@click.option("--json", "json_", is_flag=True, help="Print a JSON list of records.")
@click.option("--csv", "csv_", is_flag=True, help="Print CSV.")
@click.option("--parquet", type=click.Path(path_type=Path, dir_okay=False), help="Write a Parquet file.")
@click.option(
    "--rows", default=200, show_default=True, type=click.IntRange(min=0), help="Rows of a printed table; 0 for all."
)
@click.option("--seconds", default=60.0, show_default=True, type=click.FloatRange(min=0.1), help="Time limit.")
@click.option("--memory-mb", default=4096, show_default=True, type=click.IntRange(min=64), help="Memory limit.")
@click.pass_context
def command(
    context: click.Context, /, query: str, json_: bool, csv_: bool, parquet: Path | None, **options: float
) -> None:
    """Run a query in a read-only process of its own.

    QUERY is one reading statement, or `-` to read it from standard input. Files, the network, settings and writes are
    out of its reach. `ethicsdb sql "show tables"` lists tables and views.
    """
    if sum((json_, csv_, parquet is not None)) > 1:
        raise click.UsageError("choose one of --json, --csv and --parquet")
    from ethicsdb.registry.query import query_database
    from ethicsdb.registry.sandbox import Limits, distinct

    registry = open_registry(context)
    text = sys.stdin.read() if query == "-" else query
    limits = Limits(seconds=options["seconds"], memory_mb=int(options["memory_mb"]))
    if parquet is not None:
        query_database(registry.context, text, limits, output=parquet, output_format="parquet")
        notices(registry)
        click.echo(f"wrote {parquet}")
        return
    answer = query_database(registry.context, text, limits)
    notices(registry)
    if json_:
        names = distinct(answer.columns)
        click.echo(as_json([dict(zip(names, row, strict=True)) for row in answer.rows()]))
    elif csv_:
        _write_csv(distinct(answer.columns), answer)
    else:
        _print(answer, int(options["rows"]))


def _write_csv(names: list[str], answer: Answer) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(names)
    for row in answer.rows():
        writer.writerow(["" if value is None else _cell(value) for value in row])
        if buffer.tell() > 1 << 16:
            click.echo(buffer.getvalue(), nl=False)
            buffer.seek(0)
            buffer.truncate()
    click.echo(buffer.getvalue(), nl=False)


def _cell(value: Any) -> Any:
    """A value in one cell: what is nested as compact JSON, bytes and intervals as there."""
    if isinstance(value, (list, dict)):
        return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
    return plain(value) if isinstance(value, (bytes, tuple)) else value


def _print(answer: Answer, limit: int) -> None:
    rows: list[list[str]] = []
    more = 0
    for row in answer.rows():
        if limit and len(rows) == limit:
            more += 1
            continue
        rows.append([shown(_cell(value), 80) for value in row])
    # Numbers flush right, wherever they stand.
    numeric = [any(word in kind.upper() for word in NUMBERS) for kind in answer.types]
    header = [shown(name, 80) for name in answer.columns]
    widths = [max([len(cell) for cell in column]) for column in zip(header, *rows, strict=True)]
    padded = [[c.rjust(w) if n else c for c, w, n in zip(row, widths, numeric, strict=True)] for row in rows]
    print_table("", header, padded, left=len(answer.columns))
    click.echo(f"({len(rows) + more:,} rows{f', {more:,} not shown: --rows 0' if more else ''})")
