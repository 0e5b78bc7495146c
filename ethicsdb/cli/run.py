"""`ethicsdb run BENCHMARK --model M`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry
from ethicsdb.schemas.fingerprint import short

__all__ = ["command"]


@click.command("run")
@click.argument("benchmark")
@click.option("--model", required=True, help="A declared model, openai:ID@URL, or embedded:NAME.")
@click.option("--judge", help="A declared judge (default: the benchmark's first).")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many items, an even draw that is always the same.")
@click.option("--samples", type=click.IntRange(1, 100), help="Answers an item.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="Instead of the declared temperature.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Instead of the declared length limit.")
@click.option("--seed", type=int, help="Instead of the declared seed.")
@click.option("--system", help="Instead of the declared system prompt.")
@click.option("--concurrency", type=click.IntRange(1, 1024), help="Calls at a time.")
@json_option
@click.pass_context
def command(
    context: click.Context, /, benchmark: str, model: str, judge: str | None, json_: bool, **options: object
) -> None:
    """Put a benchmark to a model and judge the answers.

    Repeat the same command after a stop: it goes on where it was, and pays for nothing twice. A changed prompt, model,
    setting, judge or rubric makes new rows; the old ones stay.
    """
    from ethicsdb.runners.generate import Settings

    registry = open_registry(context)
    concurrency = options.pop("concurrency")
    settings = Settings(**options)  # type: ignore[arg-type]  # click has checked them
    try:
        generated, judged = registry.run(
            benchmark,
            model=model,
            judge=judge,
            settings=settings,
            concurrency=concurrency,  # type: ignore[arg-type]  # likewise
        )
    finally:
        notices(registry)
    if json_:
        click.echo(as_json({"answers": generated, "verdicts": judged}))
        return
    told = ", ".join(f"{count:,} {status}" for status, count in generated.outcomes.items())
    click.echo(f"{generated.benchmark} on {generated.model}: {generated.asked:,} asked ({told})")
    told = ", ".join(f"{count:,} {status}" for status, count in sorted(judged.statuses.items())) or "none"
    click.echo(f"judged by {judged.judge}: {told}")
    click.echo(f"run {short(generated.run_id)}; see it: ethicsdb leaderboard {generated.benchmark}")
