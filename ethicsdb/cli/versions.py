"""`ethicsdb versions DATASET`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, shown
from ethicsdb.schemas.fingerprint import short

__all__ = ["command"]


@click.command("versions")
@click.argument("dataset")
@json_option
@click.pass_context
def command(context: click.Context, dataset: str, json_: bool) -> None:
    """List the versions of a data set."""
    registry = open_registry(context)
    found = registry.versions(dataset)
    notices(registry)
    if json_:
        click.echo(as_json(found))
        return
    if not found:
        click.echo(f"{dataset} has not been built yet: ethicsdb build {dataset}")
        return
    print_table(
        "",
        ["version", "built (UTC)", "source", "fingerprint", "rows", "items"],
        [
            [each.version, f"{each.built_at:%Y-%m-%d %H:%M}", shown(each.source), short(each.fingerprint),
             f"{each.rows:,}", f"{each.items:,}"]
            for each in found
        ],
        left=4,
    )  # fmt: skip
