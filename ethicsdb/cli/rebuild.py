"""`ethicsdb rebuild`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table

if TYPE_CHECKING:
    from ethicsdb.api import Registry

__all__ = ["command"]


@click.command("rebuild")
@json_option
@click.pass_context
def command(context: click.Context, json_: bool) -> None:
    """Make the database anew from declarations and journals.

    Prints rows and checksum of every table, and whether each equals the table it replaces.
    """
    registry = open_registry(context)
    before = _before(registry)
    after = registry.rebuild()
    notices(registry)
    same = {name: before.get(name) == sums for name, sums in after.items()}
    if json_:
        found = {name: {"rows": n, "checksum": mark, "same": same[name]} for name, (n, mark) in after.items()}
        click.echo(as_json(found))
        return
    state = {name: "same" if same[name] else "brought up to date" if name in before else "new" for name in after}
    rows = [[name, state[name], f"{count:,}", mark] for name, (count, mark) in after.items()]
    print_table("", ["table", "against the old file", "rows", "checksum"], rows, left=2)


def _before(registry: Registry) -> dict[str, tuple[int, str]]:
    """Checksums of the file that is there; none of one that can't be read any more."""
    from ethicsdb.registry.store import DamagedError

    store = registry.context.store
    try:
        return registry.checksums() if store.exists() else {}
    except DamagedError as error:
        registry.context.notice(f"{error}; the old file is kept as {store.path.name}.damaged")
        return {}
