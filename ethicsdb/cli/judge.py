"""`ethicsdb judge RUN --judge J`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry
from ethicsdb.cli.spending import Limits, show_estimates, spending_options, spent

__all__ = ["command"]


@click.command("judge")
@click.argument("run")
@click.option("--judge", required=True, help="A declared judge (`ethicsdb list judge`).")
@spending_options
@click.option("--batch", is_flag=True, help="Through OpenAI's Batch API: cheaper and later.")
@click.option("--dry-run", is_flag=True, help="Only say what would be asked and what it would cost.")
@json_option
@click.pass_context
def command(
    context: click.Context, run: str, judge: str, batch: bool, dry_run: bool, limits: Limits, json_: bool
) -> None:
    """Judge a run's stored answers, without asking its model.

    RUN is a run's id or its first digits (`ethicsdb runs`). Verdicts of all judges stay beside each other.
    """
    registry = open_registry(context)
    if dry_run:
        estimates = registry.estimate_judge(run, judge=judge)
        click.echo(as_json(estimates)) if json_ else show_estimates(estimates)
        return
    try:
        judged = registry.judge(
            run, judge=judge, concurrency=limits.concurrency, budget=limits.budget, in_batches=batch
        )
    finally:
        notices(registry)
    if json_:
        click.echo(as_json(judged))
        return
    told = ", ".join(f"{count:,} {status}" for status, count in sorted(judged.statuses.items())) or "none"
    click.echo(f"judged by {judged.judge}: {judged.subjects:,} answers ({told})")
    if judged.without_text:
        click.echo(f"{judged.without_text:,} answers are known to exist but their text is not here; not judged")
    click.echo(spent(limits), nl=False)
