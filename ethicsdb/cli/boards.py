"""Boards on a terminal."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import percent, print_table, shown
from ethicsdb.schemas.fingerprint import short

if TYPE_CHECKING:
    from ethicsdb.api import Registry
    from ethicsdb.runners.statistics.boards import Place
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
        click.echo(_nothing(registry, benchmark))
    for key in dict.fromkeys(_comparable(row) for row in ours):
        here = [row for row in ours if _comparable(row) == key]
        click.echo(f"\nJudge: {key[0]}{_items(here[0])}")
        order = _board(declared, here, slice_)
        _others(declared, here, order)
        _variants(here, order)
    _published(published)
    _outcomes(registry.outcomes(benchmark))


def _nothing(registry: Registry, benchmark: str) -> str:
    """Why there is no board: no results, or only of judges as they were declared before."""
    older = registry.leaderboard(benchmark, old_judges=True)
    runs = {row["run_id"] for row in older if row["source"] != "published"}
    if not runs:
        return f"No results yet. Bring some in with `ethicsdb run {benchmark} --model M` or `ethicsdb import`."
    return (
        f"The verdicts of {len(runs)} run{'s' if len(runs) > 1 else ''} are of judges as they were declared before: "
        "--old-judges shows them; `ethicsdb judge RUN --judge J`, or the same import again, reads the answers anew."
    )


def _comparable(row: Row) -> tuple[Any, ...]:
    """Rows are ranked together only where judge, data version and item draw are the same."""
    return row["judge"], row["judge_fingerprint"], row["version"], row["item_limit"]


def _items(row: Row) -> str:
    limit = row["item_limit"]
    drawn = f", a draw of {limit:,} items" if limit else ""
    return f"   Data: {row['dataset']} {row['version']}{drawn}"


def _board(declared: BenchmarkDeclaration, rows: list[Row], slice_: str | None) -> list[str]:
    """The primary metric; returns the run ids in its order."""
    metrics = {row["metric"] for row in rows}
    # A judge that can't tell the primary metric is shown by the first that it can.
    able = [metric for metric in declared.metrics if metric.name in metrics]
    metric = next((each for each in able if each.name == declared.primary), able[0])
    names = _names(rows)
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["metric"] == metric.name and row["slice"] == (slice_ or "overall"):
            groups[row["slice_value"]].append(row)
    if not groups:
        click.echo(f"No rows are cut by `{slice_}`.")
    order: list[str] = []
    for value, group in groups.items():
        ranked = _ranked(group, metric.direction)
        order.extend(row["run_id"] for row, _ in ranked)
        where = f", {slice_}: {value}" if slice_ else ""
        print_table(
            f"{metric.display}{where} ({metric.direction} is better)",
            [
                "rank",
                "like",
                "model",
                "value",
                "95% interval",
                "n",
                "asked",
                "coverage",
                "if missing",
                "clusters",
                "source",
            ],
            [[place.ranks, place.letters, names[row["run_id"]], *_numbers(row)] for row, place in ranked],
            left=3,
        )
    return list(dict.fromkeys(order))


def _ranked(rows: list[Row], direction: str) -> list[tuple[Row, Place]]:
    from ethicsdb.runners.statistics.boards import ranked

    places = ranked(rows, higher_is_better=direction == "higher")
    return sorted(zip(rows, places, strict=True), key=lambda pair: (pair[1].order, pair[0]["model"]))


def _numbers(row: Row) -> list[str]:
    return [
        percent(row["value"]),
        _interval(row),
        f"{row['n']:,}",
        f"{row['n_expected']:,}",
        percent(row["coverage"]),
        f"{percent(row['bound_low'])}–{percent(row['bound_high'])}",
        shown(row["clusters"]),
        row["source"],
    ]


def _names(rows: list[Row]) -> dict[str, str]:
    """Run id: the model's name, with the run's digits where one model has several runs."""
    models = {row["run_id"]: shown(row["model"], 32) for row in rows}
    count = Counter(models.values())
    return {run: f"{name} [{short(run, 6)}]" if count[name] > 1 else name for run, name in models.items()}


def _interval(row: Row) -> str:
    return "–" if row["ci_low"] is None else f"[{percent(row['ci_low'])}, {percent(row['ci_high'])}]"


def _others(declared: BenchmarkDeclaration, rows: list[Row], order: list[str]) -> None:
    found = {(row["run_id"], row["metric"]): row for row in rows if row["slice"] == "overall"}
    names = _names(rows)
    metrics = [metric.name for metric in declared.metrics if any(key[1] == metric.name for key in found)]
    table = [[names[run], *[_counted(found.get((run, metric))) for metric in metrics]] for run in order]
    click.echo()
    print_table("All metrics (hits/n)", ["model", *metrics], table)


def _counted(row: Row | None) -> str:
    if row is None:
        return "–"
    return f"{percent(row['value'], 2)} ({row['hits'] or 0:,}/{row['n']:,})"


# What the table by variant shows: (metric, its short title, variants)
VARIANT_COLUMNS = (
    ("unsafe_rate", "unsafe", ("direct", "indirect")),
    ("refusal_rate", "refused", ("direct", "indirect")),
    ("over_refusal_rate", "over-refusal", ("harmless",)),
)


def _variants(rows: list[Row], order: list[str]) -> None:
    """Direct, indirect and harmless questions side by side."""
    cut = {(row["run_id"], row["metric"], row["slice_value"]): row for row in rows if row["slice"] == "variant"}
    columns = [
        (metric, variant, f"{title}, {variant}")
        for metric, title, variants in VARIANT_COLUMNS
        for variant in variants
        if any(key[1:] == (metric, variant) for key in cut)
    ]
    if not columns:
        return
    names = _names(rows)
    table = [
        [names[run], *[_with_interval(cut.get((run, metric, variant))) for metric, variant, _ in columns]]
        for run in order
    ]
    click.echo()
    print_table("By variant", ["model", *[title for _, _, title in columns]], table)


def _with_interval(row: Row | None) -> str:
    return "–" if row is None else f"{percent(row['value'])} {_interval(row)}"


def _published(rows: list[Row]) -> None:
    if not rows:
        return
    click.echo()
    print_table(
        "Published figures (as printed; no intervals are worked out from them)",
        ["model", "metric", "paper", "judge", "value", "hits", "n"],
        [
            [shown(row["model"], 32), row["metric"], shown(row["paper"], 70), shown(row["judge"]),
             percent(row["value"], 2), shown(row["hits"]), shown(row["n"])]
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
