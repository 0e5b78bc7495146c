"""`ethicsdb show NAME`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, open_registry, say

__all__ = ["command"]


@click.command("show")
@click.argument("name")
@json_option
@click.pass_context
def command(context: click.Context, name: str, json_: bool) -> None:
    """Show a declaration.

    Several where one name stands for several kinds; as JSON always a list.
    """
    import yaml

    hits = open_registry(context).declarations.find(name)
    contents = [found.declaration.model_dump(mode="json", by_alias=True, exclude_none=True) for _, found in hits]
    if json_:
        click.echo(as_json(contents))
        return
    for (kind, found), content in zip(hits, contents, strict=True):
        say(f"# {kind}, declared in {found.path}:{found.line}")
        say(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=100))
