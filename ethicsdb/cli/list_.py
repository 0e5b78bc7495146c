"""`ethicsdb list`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, open_registry, print_table, shown

__all__ = ["command"]

KINDS = ("dataset", "bootstrap", "benchmark", "metrics", "model", "judge", "rubric", "published")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@json_option
@click.pass_context
def command(context: click.Context, kind: str | None, json_: bool) -> None:
    """List what is declared."""
    found = open_registry(context).declarations.by_kind
    rows = [
        {
            "kind": each,
            "name": name,
            "title": getattr(entry.declaration, "title", None) or getattr(entry.declaration, "paper", None),
            "declared_in": f"{entry.path}:{entry.line}",
        }
        for each in ([kind] if kind else KINDS)
        for name, entry in sorted(found[each].items())
    ]
    if json_:
        click.echo(as_json(rows))
        return
    print_table(
        "",
        ["kind", "name", "title"],
        [[str(row["kind"]), str(row["name"]), shown(row["title"], 80)] for row in rows],
        left=3,
    )
