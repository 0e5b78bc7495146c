"""`ethicsdb agreement BENCHMARK`."""

from __future__ import annotations

from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, percent, print_table, shown

__all__ = ["command"]


@click.command("agreement")
@click.argument("benchmark")
@json_option
@click.pass_context
def command(context: click.Context, benchmark: str, json_: bool) -> None:
    """Show how judges agree with people.

    Intervals respect clusters (answers to one question are not independent). In SQL: the view `judge_agreement`.
    """
    registry = open_registry(context)
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
