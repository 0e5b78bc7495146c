"""`ethicsdb judges BENCHMARK`."""

from __future__ import annotations

from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, percent, print_table, shown

__all__ = ["command"]


@click.command("judges")
@click.argument("benchmark")
@click.option("--by", "slice_", default="overall", metavar="FIELD", help="A row for each value of an item's field.")
@json_option
@click.pass_context
def command(context: click.Context, benchmark: str, slice_: str, json_: bool) -> None:
    """Show how much more one judge finds than another.

    Counted are the answers that both judges scored. In SQL: the view `judge_beside_judge`.
    """
    registry = open_registry(context)
    rows = registry.judges_compared(benchmark)
    notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    if not rows:
        click.echo(f"No answer of {benchmark} was scored by two judges; see `ethicsdb judge --help`.")
        return
    known = sorted({row["slice"] for row in rows})
    if slice_ not in known:
        raise click.UsageError(f"--by {slice_}: items of {benchmark} have {', '.join(known)}.")
    # Each pair once, the judge that finds more in front.
    wanted = [row for row in rows if row["slice"] == slice_ and _leads(row)]
    for metric in dict.fromkeys(row["metric"] for row in wanted):
        print_table(
            metric,
            ["answers of", *([slice_] if slice_ != "overall" else []), "judge", "finds", "judge", "finds",
             "times as much", "95% interval", "both", "n", "clusters"],
            [_cells(row) for row in wanted if row["metric"] == metric],
        )  # fmt: skip
        click.echo()


def _leads(row: dict[str, Any]) -> bool:
    ahead = row["hits"] - row["other_hits"]
    return bool(ahead > 0 or (ahead == 0 and row["judge_fingerprint"] < row["other_fingerprint"]))


def _cells(row: dict[str, Any]) -> list[str]:
    around = row["ratio_low"] is not None
    return [
        shown(row["model"]),
        *([shown(row["slice_value"])] if row["slice"] != "overall" else []),
        shown(row["judge"]),
        percent(row["share"]),
        shown(row["other_judge"]),
        percent(row["other_share"]),
        "–" if row["ratio"] is None else f"{row['ratio']:.2f}",
        f"[{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]" if around else "–",
        *[shown(row[name]) for name in ("both", "n", "clusters")],
    ]
