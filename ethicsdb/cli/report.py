"""`ethicsdb report DATASET`."""

from __future__ import annotations

from collections import Counter

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, say, shown

__all__ = ["command"]


@click.command("report")
@click.argument("dataset")
@click.option("--code", help="Only entries of this code.")
@click.option("--rows", default=20, show_default=True, help="Entries to print; 0 for all.")
@json_option
@click.pass_context
def command(context: click.Context, dataset: str, code: str | None, rows: int, json_: bool) -> None:
    """Show why rows of a version were dropped, mended or look odd.

    DATASET is `NAME` for the newest version or `NAME@v1`. In SQL: the table `build_report`.
    """
    registry = open_registry(context)
    everything = registry.build_report(dataset)
    entries = [entry for entry in everything if code in (None, entry["code"])]
    notices(registry)
    if json_:
        click.echo(as_json(entries))
        return
    if not entries:
        codes = ", ".join(dict.fromkeys(entry["code"] for entry in everything))
        click.echo(f"no entry has the code `{code}`; there are {codes}" if codes else "every row was taken as it is")
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
