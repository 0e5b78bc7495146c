"""`ethicsdb rebuild`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table

__all__ = ["command"]


@click.command("rebuild")
@json_option
@click.pass_context
def command(context: click.Context, json_: bool) -> None:
    """Make the database anew from declarations and journals.

    Prints rows and checksum of every table, and whether each equals the table it replaces.
    """
    registry = open_registry(context)
    before = registry.checksums() if registry.context.store.exists() else {}
    after = registry.rebuild()
    notices(registry)
    same = {name: before.get(name) == sums for name, sums in after.items()}
    if json_:
        click.echo(as_json({name: {"rows": rows, "checksum": mark, "same": same[name]} for name, (rows, mark) in after.items()}))
        return
    rows = [[name, "same" if same[name] else "new", f"{count:,}", mark] for name, (count, mark) in after.items()]
    print_table("", ["table", "against the old file", "rows", "checksum"], rows, left=2)
