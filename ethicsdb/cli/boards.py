"""Boards on a terminal."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import percent, print_table, shown

if TYPE_CHECKING:
    from ethicsdb.api import Registry
    from ethicsdb.schemas.declared import BenchmarkDeclaration

__all__ = ["print_boards"]

Row = dict[str, Any]


def print_boards(registry: Registry, benchmark: str, rows: list[Row], slice_: str | None) -> None:
    """Every judge's board of a benchmark, with outcomes below."""
    declared = registry.declarations.benchmark(benchmark)
    click.echo(click.style(f"{declared.title}  ({declared.name} {declared.version})", bold=True))
    ours = [row for row in rows if row["source"] != "published"]
    published = [row for row in rows if row["source"] == "published"]
    if not ours:
        click.echo(f"No results yet. Bring some in with `ethicsdb run {benchmark} --model M` or `ethicsdb import`.")
    for judge in dict.fromkeys((row["judge"], row["judge_fingerprint"]) for row in ours):
        here = [row for row in ours if (row["judge"], row["judge_fingerprint"]) == judge]
        click.echo(f"\nJudge: {judge[0]}")
        _board(declared, here, slice_)
        _others(declared, here)
        _variants(here)
    _published(published)
    _outcomes(registry.outcomes(benchmark))


def _board(declared: BenchmarkDeclaration, rows: list[Row], slice_: str | None) -> None:
    metrics = {row["metric"] for row in rows}
    # A judge that can't tell the primary metric is shown by the first that it can.
    name = declared.primary if declared.primary in metrics else next(m.name for m in declared.metrics if m.name in metrics)
    metric = next(each for each in declared.metrics if each.name == name)
    chosen = [row for row in rows if row["metric"] == name and row["slice"] == (slice_ or "overall")]
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in chosen:
        groups[row["slice_value"]].append(row)
    if not groups:
        click.echo(f"No rows are cut by `{slice_}`.")
    for value, group in groups.items():
        where = f", {slice_}: {value}" if slice_ else ""
        print_table(
            f"{metric.display}{where} ({metric.direction} is better)",
            ["rank", "like", "model", "value", "95% interval", "n", "asked", "coverage", "if missing", "clusters", "source"],
            _ranked(group, metric.direction),
            left=3,
        )


def _ranked(rows: list[Row], direction: str) -> list[list[str]]:
    from ethicsdb.runners.statistics.boards import ranked

    places = ranked(rows, higher_is_better=direction == "higher")
    cells = []
    for row, place in sorted(zip(rows, places, strict=True), key=lambda pair: (pair[1].order, pair[0]["model"])):
        cells.append(
            [place.ranks, place.letters, _model(row), percent(row["value"]), _interval(row), f"{row['n']:,}",
             f"{row['n_expected']:,}", percent(row["coverage"]), f"{percent(row['bound_low'])}–{percent(row['bound_high'])}",
             shown(row["clusters"]), row["source"]]
        )  # fmt: skip
    return cells


def _model(row: Row) -> str:
    return f"{shown(row['model'], 32)} ({row['version']})" if row["version"] != "v1" else shown(row["model"], 32)


def _interval(row: Row) -> str:
    return "–" if row["ci_low"] is None else f"[{percent(row['ci_low'])}, {percent(row['ci_high'])}]"


def _others(declared: BenchmarkDeclaration, rows: list[Row]) -> None:
    overall = [row for row in rows if row["slice"] == "overall"]
    names = [metric for metric in declared.metrics if any(row["metric"] == metric.name for row in overall)]
    runs = dict.fromkeys((row["run_id"], _model(row)) for row in overall)
    found = {(row["run_id"], row["metric"]): row for row in overall}
    table = []
    for run_id, model in runs:
        cells = [model]
        for metric in names:
            row = found.get((run_id, metric.name))
            cells.append("–" if row is None else f"{percent(row['value'], 2)} ({row['hits']:,}/{row['n']:,})")
        table.append(cells)
    click.echo()
    print_table("All metrics (hits/n)", ["model", *[metric.name for metric in names]], table)


def _variants(rows: list[Row]) -> None:
    """Direct, indirect and harmless questions side by side."""
    cut = {
        (row["run_id"], row["metric"], row["slice_value"]): row
        for row in rows
        if row["slice"] == "variant" and row["metric"] in ("unsafe_rate", "refusal_rate", "over_refusal_rate")
    }
    columns = [
        (name, variant)
        for name, variants in (
            ("unsafe_rate", ("direct", "indirect")),
            ("refusal_rate", ("direct", "indirect")),
            ("over_refusal_rate", ("harmless",)),
        )
        for variant in variants
        if any(key[1:] == (name, variant) for key in cut)
    ]
    if not columns:
        return
    titles = {"unsafe_rate": "unsafe", "refusal_rate": "refused", "over_refusal_rate": "over-refusal"}
    runs = dict.fromkeys((row["run_id"], _model(row)) for row in rows)
    table = []
    for run_id, model in runs:
        cells = [model]
        for name, variant in columns:
            row = cut.get((run_id, name, variant))
            cells.append("–" if row is None else f"{percent(row['value'])} {_interval(row)}")
        table.append(cells)
    click.echo()
    print_table("By variant", ["model", *[f"{titles[name]}, {variant}" for name, variant in columns]], table)


def _published(rows: list[Row]) -> None:
    if not rows:
        return
    click.echo()
    print_table(
        "Published figures (as printed; no intervals are worked out from them)",
        ["model", "metric", "paper", "judge", "value", "hits", "n"],
        [
            [shown(row["model"], 32), row["metric"], shown(row["paper"], 70), shown(row["judge"]), percent(row["value"], 2),
             shown(row["hits"]), shown(row["n"])]
            for row in rows
        ],
        left=4,
    )  # fmt: skip


def _outcomes(rows: list[Row]) -> None:
    if not rows:
        return
    click.echo()
    print_table(
        "Outcomes (they add up to the asked-for items)",
        ["judge", "model", "outcome", "why", "items", "asked"],
        [
            [shown(row["judge"]), shown(row["model"], 32), row["outcome"], shown(row["reason"], 40), f"{row['n']:,}",
             f"{row['n_expected']:,}"]
            for row in rows
        ],
        left=4,
    )  # fmt: skip
