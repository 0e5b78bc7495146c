"""`ethicsdb bootstrap NAME --model M`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table

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
@click.option("--concurrency", type=click.IntRange(1, 1024), help="Calls at a time.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    name: str,
    model: str,
    rounds: int | None,
    out: Path | None,
    concurrency: int | None,
    json_: bool,
) -> None:
    """Let a model write a data set out of demonstrations.

    NAME is a declared bootstrap (`ethicsdb list bootstrap`). Every candidate is kept or dropped with its reason (the
    table `candidate`); the kept ones become a version of the data set. The same command goes on where it was, and with
    more rounds from there.
    """
    registry = open_registry(context)
    try:
        done = registry.bootstrap(name, model=model, rounds=rounds, out=out, concurrency=concurrency)
    finally:
        notices(registry)
    if json_:
        click.echo(as_json(done))
        return
    _show(done)


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
