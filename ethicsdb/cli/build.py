"""`ethicsdb build DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry

if TYPE_CHECKING:
    from ethicsdb.builders.build import Built

__all__ = ["command"]


@click.command("build")
@click.argument("dataset")
@click.option("--from", "source", type=click.Path(path_type=Path), help="File or folder that holds the source.")
@json_option
@click.pass_context
def command(context: click.Context, dataset: str, source: Path | None, json_: bool) -> None:
    """Make a version of a data set.

    The same content makes no new version, whatever the order of its rows. Every row that was dropped, mended or looks
    odd has its reason in `ethicsdb report DATASET`.
    """
    registry = open_registry(context)
    built = registry.build(dataset, source)
    notices(registry)
    click.echo(as_json(built) if json_ else _sentences(built))


def _sentences(built: Built) -> str:
    state = "made" if built.new else "is there already, nothing changed"
    lines = [f"{built.dataset} {built.version} {state}: {built.rows:,} rows, {built.items:,} distinct items"]
    if built.variants:
        counts = ", ".join(f"{count:,} {variant}" for variant, count in sorted(built.variants.items()))
        lines.append(f"  {counts}; {built.linked:,} linked to their direct question")
    lines.extend(f"  {severity}: {count:,} {code}" for severity, code, count in built.report)
    if built.report:
        lines.append(f"  each with its row: ethicsdb report {built.dataset}@{built.version}")
    return "\n".join(lines)
