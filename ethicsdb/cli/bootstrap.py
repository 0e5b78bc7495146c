"""`ethicsdb bootstrap NAME --model M`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table
from ethicsdb.cli.spending import Limits, spending_options, spent

if TYPE_CHECKING:
    from ethicsdb.builders.bootstrap.loop import Bootstrapped

__all__ = ["command"]


@click.command("bootstrap")
@click.argument("name")
@click.option("--model", required=True, help="Who writes: a declared model, openai:ID@URL or embedded:NAME.")
@click.option("--rounds", type=click.IntRange(min=1), help="Limit of rounds instead of the declared one.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="File for the kept prompts (default: as declared)."
)
@spending_options
@json_option
@click.pass_context
def command(context: click.Context, /, name: str, model: str, limits: Limits, json_: bool, **options: Any) -> None:
    """Let a model write a data set out of demonstrations.

    NAME is a declared bootstrap (`ethicsdb list bootstrap`). Every candidate is kept or dropped with its reason (the
    table `candidate`); the kept ones become a version of the data set. The same command goes on where it was, and with
    more rounds from there.
    """
    registry = open_registry(context)
    try:
        done = registry.bootstrap(name, model=model, concurrency=limits.concurrency, budget=limits.budget, **options)
    finally:
        notices(registry)
    if json_:
        click.echo(as_json(done))
        return
    _show(done)
    click.echo(spent(limits), nl=False)


def _show(done: Bootstrapped) -> None:
    reasons = sorted({reason for counts in done.outcomes.values() for reason in counts} - {"kept"})
    print_table(
        f"{done.name} by {done.model}, {done.rounds} rounds",
        ["type", "candidates", "kept", f"taken of {done.target}", *reasons],
        [
            [kind, *(str(number) for number in (sum(counts.values()), counts.get("kept", 0), done.taken[kind])),
             *(str(counts.get(reason, 0)) for reason in reasons)]
            for kind, counts in done.outcomes.items()
        ],
    )  # fmt: skip
    if done.built is None:
        click.echo("nothing was kept, so there is no version")
        return
    short = [kind for kind, count in done.taken.items() if count < done.target]
    built = done.built
    click.echo(f"{built.dataset} {built.version} {'made' if built.new else 'is there already'}: {built.rows:,} rows")
    if short:
        click.echo(f"{len(short)} of {len(done.taken)} types have fewer than {done.target}: go on with more --rounds")
