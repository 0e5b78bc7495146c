"""`ethicsdb agreement BENCHMARK`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, percent, print_table, shown

if TYPE_CHECKING:
    from ethicsdb.api import Registry
    from ethicsdb.runners.statistics.detection import Bounded

__all__ = ["command"]


@click.command("agreement")
@click.argument("benchmark")
@click.option("--sheets", is_flag=True, help="What sheets drawn at random say: precision, recall, people together.")
@json_option
@click.pass_context
def command(context: click.Context, benchmark: str, sheets: bool, json_: bool) -> None:
    """Show how judges agree with people.

    Intervals respect clusters (answers to one question are not independent). In SQL: the view `judge_agreement`.
    """
    registry = open_registry(context)
    if sheets:
        _sheets(registry, benchmark, json_)
        return
    rows = registry.agreement(benchmark)
    notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    if not rows:
        click.echo(f"No answer of {benchmark} has both a person's label and a verdict; see `ethicsdb import --help`.")
        return
    for key in dict.fromkeys((row["judge"], row["annotator"], row["attribute"], row["rule"]) for row in rows):
        judge, annotator, attribute, rule = key
        here = [row for row in rows if (row["judge"], row["annotator"], row["attribute"], row["rule"]) == key]
        print_table(
            f"{judge} against {annotator}: {attribute}, {rule} rule",
            ["answers of", "accuracy", "95% interval", "kappa", "95% interval", "n", "labelled", "clusters",
             "neither", "judge only", "person only", "both"],
            [_cells(row) for row in here],
        )  # fmt: skip
        click.echo()
    click.echo(
        "neither / judge only / person only / both: who called the answer unsafe (safety) or a refusal (refusal)."
    )


def _sheets(registry: Registry, benchmark: str, json_: bool) -> None:
    judges, people = registry.detection(benchmark), registry.people(benchmark)
    notices(registry)
    if json_:
        click.echo(as_json({"judges": judges, "people": people}))
        return
    if not people:
        click.echo(f"No sheet of {benchmark} has a label yet; see `ethicsdb annotate --help`.")
        return
    for key in dict.fromkeys((each.sheet, each.judge, each.attribute) for each in judges):
        print_table(
            f"{key[1]} against the majority of people: {key[2]}, sheet {key[0]}",
            ["value", "precision", "95% interval", "recall", "95% interval", "F1", "95% interval", "prevalence",
             "95% interval", "n", "tied", "without verdict", "clusters"],
            [[each.value, *_bounds(each.precision), *_bounds(each.recall), *_bounds(each.f1), *_bounds(each.prevalence),
              *(shown(count) for count in (each.n, each.tied, each.without_verdict, each.clusters))]
             for each in judges if (each.sheet, each.judge, each.attribute) == key],
        )  # fmt: skip
        click.echo()
    print_table(
        "People among themselves, on answers that two or more labelled",
        ["sheet", "people", "answers", "Krippendorff's alpha", "Cohen's kappa", "why not"],
        [[each.sheet, ", ".join(each.people), shown(each.units), _number(each.alpha), _number(each.kappa),
          each.reason or ("" if each.kappa is not None else "kappa is of two people")] for each in people],
        left=2,
    )  # fmt: skip
    click.echo("Figures are estimates for all answers that a sheet was drawn from, not for the sheet.")


def _bounds(figure: Bounded | None) -> list[str]:
    if figure is None:
        return ["–", "–"]
    return [percent(figure.value), f"[{percent(figure.low)}, {percent(figure.high)}]"]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _cells(row: dict[str, Any]) -> list[str]:
    kappa, low = row["kappa"], row["ci_low"]
    around = [percent(row["accuracy_low"]), percent(row["accuracy_high"])]
    return [
        "all" if row["slice"] == "overall" else shown(row["slice_value"]),
        percent(row["accuracy"]),
        "–" if row["accuracy_low"] is None else f"[{', '.join(around)}]",
        "–" if kappa is None else f"{kappa:.3f}",
        "–" if low is None else f"[{low:.3f}, {row['ci_high']:.3f}]",
        *[shown(row[name]) for name in ("n", "n_expected", "clusters")],
        *[shown(row[name]) for name in ("both_negative", "judge_only", "person_only", "both_positive")],
    ]
