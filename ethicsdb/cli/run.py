"""`ethicsdb run BENCHMARK --model M`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry
from ethicsdb.cli.spending import Limits, show_estimates, spending_options, spent
from ethicsdb.schemas.fingerprint import short

if TYPE_CHECKING:
    from ethicsdb.api import Registry
    from ethicsdb.runners.generate import Generated
    from ethicsdb.runners.likelihood_run import ScoredRun
    from ethicsdb.runners.run_settings import Settings

__all__ = ["command"]


@click.command("run")
@click.argument("benchmark")
@click.option(
    "--model",
    required=True,
    help="A declared model, openai:ID@URL, embedded:NAME, hf:ID@REV, hf:FOLDER or vectors:FILE.",
)
@click.option("--judge", help="A declared judge (default: the benchmark's first).")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many items, an even draw that is always the same.")
@click.option("--samples", type=click.IntRange(1, 100), help="Answers an item.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="Instead of the declared temperature.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Instead of the declared length limit.")
@click.option("--seed", type=int, help="Instead of the declared seed.")
@click.option("--system", help="Instead of the declared system prompt.")
@click.option("--shots", type=click.IntRange(min=0), help="Ethical examples before each item (likelihood benchmarks).")
@click.option("--pool", help="The declared pool that examples are drawn from, by --seed.")
@spending_options
@click.option("--batch", is_flag=True, help="Through OpenAI's Batch API, model and judge alike: cheaper and later.")
@click.option("--dry-run", is_flag=True, help="Only say what would be asked and what it would cost.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    benchmark: str,
    model: str,
    judge: str | None,
    limits: Limits,
    json_: bool,
    **options: object,
) -> None:
    """Put a benchmark to a model.

    Answers are drawn and judged. The texts of a likelihood benchmark are scored instead, by a model on this machine.

    Repeat the same command after a stop: it goes on where it was, and pays for nothing twice. A changed prompt, model,
    setting, judge or rubric makes new rows; the old ones stay.
    """
    from ethicsdb.runners.run_settings import Settings

    registry = open_registry(context)
    dry, in_batches = options.pop("dry_run"), bool(options.pop("batch"))
    settings = Settings(**options)  # type: ignore[arg-type]  # click has checked them
    if registry.declarations.benchmark(benchmark.partition("@")[0]).runner != "generate":
        _score(registry, (benchmark, model), settings, judge or dry or in_batches or limits.given, json_)
        return
    if dry:
        estimates = registry.estimate_run(benchmark, model=model, judge=judge, settings=settings)
        click.echo(as_json(estimates)) if json_ else show_estimates(estimates)
        return
    try:
        generated, judged = registry.run(
            benchmark,
            model=model,
            judge=judge,
            settings=settings,
            concurrency=limits.concurrency,
            budget=limits.budget,
            in_batches=in_batches,
        )
    finally:
        notices(registry)
    if json_:
        click.echo(as_json({"answers": generated, "verdicts": judged}))
        return
    click.echo(_asked(generated))
    told = ", ".join(f"{count:,} {status}" for status, count in sorted(judged.statuses.items())) or "none"
    click.echo(f"judged by {judged.judge}: {judged.subjects:,} distinct answers ({told})")
    click.echo(spent(limits), nl=False)
    click.echo(f"run {short(generated.run_id)}; see it: ethicsdb leaderboard {generated.benchmark}")


def _score(registry: Registry, what: tuple[str, str], settings: Settings, foreign: object, json_: bool) -> None:
    if foreign:
        raise click.UsageError(
            f"{what[0]} scores given texts: it asks nobody and pays nobody, so that --judge, --concurrency, "
            "--budget, --token-budget, --batch and --dry-run do not fit."
        )
    try:
        scored = registry.score(what[0], model=what[1], settings=settings)
    finally:
        notices(registry)
    if json_:
        click.echo(as_json(scored))
        return
    click.echo(_scored(scored))
    click.echo(f"run {short(scored.run_id)}; see it: ethicsdb leaderboard {scored.benchmark}")


def _scored(scored: ScoredRun) -> str:
    told = " + ".join(f"{count:,} {outcome}" for outcome, count in sorted(scored.outcomes.items(), reverse=True))
    lines = [f"{scored.benchmark} on {scored.model}: {scored.asked:,} items = {told}"]
    lines += [f"  {count:,} of the errors: {reason}" for reason, count in scored.reasons.items()]
    lines.append(f"  {scored.targets:,} texts, {scored.computed:,} computed now; {scored.scores:,} numbers")
    return "\n".join(lines)


def _asked(generated: Generated) -> str:
    """What was asked and what came of it, as a sum that adds up."""
    samples = generated.asked // max(generated.items, 1)
    of = f" ({generated.items:,} items, {samples} samples each)" if samples > 1 else ""
    words = {"completed": "answered"}
    told = " + ".join(f"{count:,} {words.get(status, status)}" for status, count in generated.outcomes.items())
    lines = [f"{generated.benchmark} on {generated.model}: {generated.asked:,} asked{of} = {told}"]
    if generated.no_question:
        lines.append(f"  {generated.no_question:,} of the errors are of items without a question, which are not sent")
    shared = generated.asked - generated.no_question - generated.requests
    if shared:
        lines.append(
            f"  {generated.requests:,} distinct requests: {shared:,} more would have been the same as one of these, "
            "since their questions are equal, and share its answer"
        )
    return "\n".join(lines)
