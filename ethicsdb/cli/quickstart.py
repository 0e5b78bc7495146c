"""`ethicsdb quickstart`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from ethicsdb.cli.common import notices, open_registry

if TYPE_CHECKING:
    from ethicsdb.api import Registry

__all__ = ["command"]

# Benchmark: how many of its items are asked, the same for every model. The real model writes some 60 tokens a second on
# two cores, and the whole should end within a minute and a half.
BENCHMARKS = {"sample_safety_en": 16, "sample_safety_zh": 8, "sample_safety_ru": 6}
MODELS = ("ngram-obliging", "ngram-refusing", "smollm2")
# Boards of papers whose data sets are fetched by hand; their published rows show what ours will stand beside.
PUBLISHED = "do_not_answer_en"

NEXT = """
What to try next
  ethicsdb sql "from leaderboard where slice = 'risk_area'"     every number is a row
  ethicsdb runs                                                 then: ethicsdb why RUN ROW (a row of the file)
  ethicsdb leaderboard sample_safety_zh --slice risk_area
  ethicsdb run sample_safety_en --model openai:MODEL@http://127.0.0.1:8080/v1     any endpoint
  ethicsdb list                                                 data sets, benchmarks, judges, models
  ethicsdb build qorgau_ru --from questions_ru.csv              a published data set
"""


@click.command("quickstart")
@click.pass_context
def command(context: click.Context) -> None:
    """Build, run, judge and show boards with nothing but this package.

    Builds the sample question sets, runs a real small model and two tiny ones, judges the answers by rules in English,
    Chinese and Russian, and prints boards. Needs no key, no network and no GPU; about a minute on two cores.
    """
    from ethicsdb.cli.boards import print_boards

    start = time.monotonic()
    registry = open_registry(context)
    for benchmark in BENCHMARKS:
        built = registry.build(registry.declarations.benchmark(benchmark).dataset)
        click.echo(f"built {built.dataset} {built.version}: {built.rows} questions")
    for model in MODELS:
        _run(registry, model)
    click.echo()
    for benchmark in BENCHMARKS:
        print_boards(registry, benchmark, registry.leaderboard(benchmark))
        click.echo()
    print_boards(registry, PUBLISHED, registry.leaderboard(PUBLISHED))
    notices(registry)
    click.echo(f"\nDone in {time.monotonic() - start:.0f} s. Everything is in {registry.context.store.path.name}.")
    click.echo(NEXT.rstrip())


def _run(registry: Registry, model: str) -> None:
    """Run a model over all samples; one whose package is missing is said and left out."""
    from ethicsdb.runners.run_settings import Settings
    from ethicsdb.schemas.errors import ModelError

    for benchmark, limit in BENCHMARKS.items():
        try:
            generated, _ = registry.run(benchmark, model=model, settings=Settings(limit=limit))
        except ModelError as error:
            click.echo(f"{model} was left out: {error}", err=True)
            return
        click.echo(f"{model} answered {generated.outcomes.get('completed', 0)} of {generated.asked} of {benchmark}")
