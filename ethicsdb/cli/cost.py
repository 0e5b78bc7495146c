"""`ethicsdb cost [RUN]`."""

from __future__ import annotations

import csv
import io
from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, shown

__all__ = ["command"]

COLUMNS = ("calls", "billed", "prompt_tokens", "completion_tokens", "cost_microusd", "uncosted", "in_flight")


@click.command("cost")
@click.argument("run", required=False)
@click.option("--csv", "csv_", is_flag=True, help="Print CSV.")
@json_option
@click.pass_context
def command(context: click.Context, run: str | None, csv_: bool, json_: bool) -> None:
    """Show what calls cost: all of them, or those for a run.

    Without RUN every call stands in one row, by model and purpose (view `cost`). With RUN, what its answers and
    verdicts cost, whoever asked for them first (view `run_cost`): answers that runs share stand in each of them.
    """
    registry = open_registry(context)
    rows = registry.cost(run)
    notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    if csv_:
        click.echo(_as_csv(rows), nl=False)
        return
    if not rows:
        click.echo("No call has been made." if run is None else "No call was made for this run; its answers came in.")
        return
    names = [name for name in rows[0] if name in COLUMNS]
    lead = ["model", "purpose"] if run is None else ["part", "judge", "answers", "shared"]
    print_table(
        "",
        [*lead, *(_heading(name) for name in names)],
        [[*(shown(row[name]) for name in lead), *(_cell(name, row[name]) for name in names)] for row in rows],
        left=2,
    )
    if any(row["uncosted"] for row in rows):
        click.echo("uncosted: billed calls whose price or token counts nobody knows; the cost leaves them out")
    if any(row.get("in_flight") for row in rows):
        click.echo("in flight: calls that were begun and have no reply; the endpoint may charge for them all the same")


def _heading(name: str) -> str:
    return "cost ($)" if name == "cost_microusd" else name.replace("_", " ")


def _cell(name: str, value: Any) -> str:
    if name == "cost_microusd":
        return "–" if value is None else f"{value / 1e6:,.6f}"
    return shown(value)


def _as_csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()
