"""`ethicsdb withdraw RUN_OR_IMPORT`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, say
from ethicsdb.schemas.fingerprint import TAG, short

__all__ = ["command"]


@click.command("withdraw")
@click.argument("name")
@click.option("--judge", help="Only this judge's verdicts on the run, or on the answers of the import.")
@click.option("--undo", is_flag=True, help="Put it back on the boards.")
@json_option
@click.pass_context
def command(context: click.Context, name: str, judge: str | None, undo: bool, json_: bool) -> None:
    """Take a mistaken run, import of labels or judgement off the boards.

    NAME is an import's name, or a run's id or its first digits. Nothing is deleted: the rows stay, and --undo puts them
    back.
    """
    registry = open_registry(context)
    kind, found, new = registry.withdraw(name, judge=judge, undo=undo)
    notices(registry)
    if json_:
        click.echo(as_json({"kind": kind, "name": found, "judge": judge, "withdrawn": not undo, "new": new}))
        return
    place = short(found) if found.startswith(TAG) else found
    shown = f"judge {judge} on {place}" if kind == "verdicts" else f"{kind} {place}"
    state = "stands on the boards" if undo else "is withdrawn"
    say(f"{shown} {state}{' again' if undo and new else '' if new else ' already'}")
