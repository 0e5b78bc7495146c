"""`ethicsdb check`."""

from __future__ import annotations

from pathlib import Path

import click

from ethicsdb.cli.common import say

__all__ = ["command"]


@click.command("check")
@click.pass_context
def command(context: click.Context) -> None:
    """Check every declaration; names file and line of each fault."""
    from ethicsdb.registry.declared import problems
    from ethicsdb.registry.settings import load_settings

    options = context.find_root().obj
    settings = load_settings(options["database"], options["declarations"])
    folders = [Path(folder) for folder in settings.declarations] if settings.declarations else None
    declarations, faults = problems(folders)
    for fault in faults:
        say(fault, err=True)
    total = sum(len(found) for found in declarations.by_kind.values())
    if faults:
        click.echo(f"{len(faults)} fault{'s' if len(faults) > 1 else ''}; {total} declarations are sound", err=True)
        context.exit(1)
    counts = ", ".join(f"{len(found)} {kind}" for kind, found in declarations.by_kind.items() if found)
    click.echo(f"{total} declarations are sound: {counts}")
