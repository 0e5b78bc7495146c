"""`ethicsdb runs`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, shown
from ethicsdb.schemas.fingerprint import short

__all__ = ["command"]


@click.command("runs")
@json_option
@click.pass_context
def command(context: click.Context, json_: bool) -> None:
    """List the runs, newest first."""
    registry = open_registry(context)
    rows = registry.runs()
    notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    print_table(
        "",
        ["run", "benchmark", "model", "data", "source", "started (UTC)", "answers", "asked"],
        [
            [short(row["run_id"]), f"{row['benchmark']} {row['major']}", shown(row["model"], 32), row["version"],
             row["source"], f"{row['started_at']:%Y-%m-%d %H:%M}", f"{row['answers']:,}", f"{row['n_expected']:,}"]
            for row in rows
        ],
        left=6,
    )  # fmt: skip
