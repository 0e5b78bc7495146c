"""`ethicsdb gold BENCHMARK`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, percent, print_table, shown

__all__ = ["command"]

PLACE = ("version", "judge", "attribute", "rule", "split")
FIGURES = ("precision", "recall", "f1")
HEADS = ("n", "labelled", "clusters", "both", "judge only", "gold only", "neither")
COUNTS = ("both_positive", "judge_only", "gold_only", "both_negative")


@click.command("gold")
@click.argument("benchmark")
@click.option("--judge", help="A declared judge; default: the benchmark's first.")
@click.option("--concurrency", type=click.IntRange(1, 1024), help="Calls at a time.")
@json_option
@click.pass_context
def command(context: click.Context, benchmark: str, judge: str | None, concurrency: int | None, json_: bool) -> None:
    """Measure a judge against a gold set: precision and recall with intervals.

    BENCHMARK's data set holds answers with people's labels. Its splits never stand together: rules may have been fitted
    to one of them. In SQL: the view `gold_agreement`.
    """
    registry = open_registry(context)
    try:
        rows = registry.gold(benchmark, judge=judge, concurrency=concurrency)
    finally:
        notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    if not rows:
        click.echo(f"No verdict on {benchmark} counts: they were withdrawn, or there is none.")
    for key in dict.fromkeys(tuple(row[name] for name in PLACE) for row in rows):
        _print_split(
            benchmark.partition("@")[0], key, [row for row in rows if tuple(row[name] for name in PLACE) == key]
        )
    click.echo("both / judge only / gold only / neither: who called the answer a refusal (refusal) or unsafe (safety).")


def _print_split(name: str, key: tuple[Any, ...], rows: list[dict[str, Any]]) -> None:
    version, judge, attribute, rule, split = key
    kinds = [row for row in rows if row["slice"] == "category"]
    print_table(
        f"{judge} on {name} {version}, split {split}: {attribute}, {rule} rule",
        ["answers", *(cell for each in FIGURES for cell in (each, "95% interval")), *HEADS],
        [_cells(row, FIGURES) for row in rows if row not in kinds],
    )
    click.echo()
    if kinds:
        # Most kinds of answers have one label only, so that there is no precision or recall to speak of.
        print_table(
            "", ["kind of answer", "right", "95% interval", *HEADS], [_cells(row, ["accuracy"]) for row in kinds]
        )
        click.echo()


def _cells(row: dict[str, Any], names: Sequence[str]) -> list[str]:
    figures = []
    for name in names:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        figures += [percent(row[name]), "–" if low is None else f"[{percent(low)}, {percent(high)}]"]
    return [
        "all" if row["slice"] == "overall" else shown(row["slice_value"]),
        *figures,
        *[shown(row[name]) for name in ("n", "n_expected", "clusters", *COUNTS)],
    ]
