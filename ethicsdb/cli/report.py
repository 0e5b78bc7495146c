"""`ethicsdb report DATASET`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, say, shown
from ethicsdb.schemas.errors import NotFoundError

__all__ = ["command"]


@click.command("report")
@click.argument("dataset")
@click.option("--code", help="Only entries of this code.")
@click.option("--rows", default=20, show_default=True, type=click.IntRange(min=0), help="Entries to print; 0 for all.")
@json_option
@click.pass_context
def command(context: click.Context, dataset: str, code: str | None, rows: int, json_: bool) -> None:
    """Show why rows of a version were dropped, mended or look odd.

    DATASET is `NAME` for the newest version or `NAME@v1`. In SQL: the table `build_report`.
    """
    registry = open_registry(context)
    entries = _of_code(registry.build_report(dataset), code)
    notices(registry)
    if json_:
        click.echo(as_json(entries))
        return
    if not entries:
        click.echo("every row was taken as it is")
        return
    for (severity, each), count in Counter((entry["severity"], entry["code"]) for entry in entries).items():
        say(f"{severity}: {count:,} {each}")
    listed = entries[:rows] if rows else entries
    if listed:
        click.echo()
        print_table(
            "",
            ["code", "file", "row", "field", "detail"],
            [
                [e["code"], e["source_file"], shown(e["source_row"]), shown(e["field"]), shown(e["detail"], 70)]
                for e in listed
            ],
            left=5,
        )
    if len(listed) < len(entries):
        click.echo(f"… {len(entries) - len(listed):,} more (--rows 0 shows all, --code CODE one kind)")


def _of_code(entries: list[dict[str, Any]], code: str | None) -> list[dict[str, Any]]:
    """Entries of one code. Where others are there and none of it, it was mistyped as likely as not."""
    found = [entry for entry in entries if code in (None, entry["code"])]
    if entries and not found:
        raise NotFoundError(
            f"No entry has the code `{code}`; there are {', '.join(dict.fromkeys(entry['code'] for entry in entries))}."
        )
    return found
