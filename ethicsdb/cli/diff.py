"""`ethicsdb diff A B`."""

from __future__ import annotations

from collections import Counter

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, shown

__all__ = ["command"]


@click.command("diff")
@click.argument("before")
@click.argument("after")
@click.option("--rows", default=20, show_default=True, type=click.IntRange(min=0), help="Rows to print; 0 for all.")
@json_option
@click.pass_context
def command(context: click.Context, before: str, after: str, rows: int, json_: bool) -> None:
    """Show the rows that differ between two versions.

    BEFORE and AFTER are versions of one data set: `NAME@v1 NAME@v2`. Rows are compared by content.
    """
    registry = open_registry(context)
    changes = registry.diff(before, after)
    notices(registry)
    if json_:
        click.echo(as_json(changes))
        return
    counts = Counter(each.change for each in changes)
    relinked = f", {counts['relinked']} relinked to another base question" if counts["relinked"] else ""
    click.echo(f"{counts['added']} added, {counts['removed']} removed, {counts['changed']} changed{relinked}")
    if not changes:
        return
    listed = changes[:rows] if rows else changes
    print_table(
        "",
        ["change", "id", "variant", "before", "after"],
        [[e.change, shown(e.source_id, 20), shown(e.variant), shown(e.before, 44), shown(e.after, 44)] for e in listed],
        left=5,
    )
    if len(listed) < len(changes):
        click.echo(f"… {len(changes) - len(listed)} more (--rows 0 shows all)")
