"""`ethicsdb runs`."""

from __future__ import annotations

from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, shown
from ethicsdb.schemas.fingerprint import short

__all__ = ["command"]


@click.command("runs")
@json_option
@click.pass_context
def command(context: click.Context, json_: bool) -> None:
    """List the runs, newest first.

    What was asked adds up: answered + filtered + error + pending. Equal questions share a request, which is sent once.
    """
    registry = open_registry(context)
    rows = registry.runs()
    notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    print_table(
        "",
        ["run", "benchmark", "model", "data", "source", "started (UTC)", "settings", "asked", "answered", "filtered",
         "error", "pending", "requests"],
        [_cells(row) for row in rows],
        left=7,
    )  # fmt: skip
    click.echo("asked = answered + filtered + error + pending; requests: distinct ones, equal questions share theirs")
    without = sum(row["no_question"] for row in rows)
    if without:
        click.echo(f"{without:,} of the errors are of items without a question, which are not sent")


def _cells(row: dict[str, Any]) -> list[str]:
    drawn = f"a draw of {row['item_limit']:,}" if row["item_limit"] else ""
    sheet = "labelled answers" if row["role"] == "annotation_sample" else ""
    gone = "withdrawn" if row["withdrawn"] else ""
    settings = ", ".join(each for each in (gone, row["settings"], drawn, sheet) if each)
    counts = ("n_expected", "answered", "filtered", "error", "pending", "requests")
    return [
        short(row["run_id"]),
        f"{row['benchmark']} {row['major']}",
        shown(row["model"], 24),
        row["version"],
        row["source"],
        f"{row['started_at']:%Y-%m-%d %H:%M}",
        shown(settings or "as declared", 40),
        *[f"{row[name]:,}" for name in counts],
    ]
