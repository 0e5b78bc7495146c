"""The tables of a board: every number in them has its n, its coverage and its interval."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import figure, percent, print_table, shown
from ethicsdb.schemas.fingerprint import short

if TYPE_CHECKING:
    from ethicsdb.runners.statistics.boards import Place

__all__ = ["Row", "ranking", "run_names", "variant_table", "whole_table"]

Row = dict[str, Any]

HEADER = (
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
)
# What the table by variant shows: (metric, its short title, variants)
VARIANT_COLUMNS = (
    ("unsafe_rate", "unsafe", ("direct", "indirect")),
    ("refusal_rate", "refused", ("direct", "indirect")),
    ("over_refusal_rate", "over-refusal", ("harmless",)),
)


def ranking(metric: Row, rows: list[Row], slice_: str | None) -> list[str]:
    """Print a metric with ranks, whole or a table a value of `slice_`; returns the run ids in its order."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["metric"] == metric["name"] and row["slice"] == (slice_ or "overall"):
            groups[row["slice_value"]].append(row)
    if not groups:
        click.echo(f"No rows are cut by `{slice_}`.")
    names = run_names(rows)
    order: list[str] = []
    for value, group in groups.items():
        ranked = _ranked(group)
        order.extend(row["run_id"] for row, _ in ranked)
        where = f", {slice_}: {value}" if slice_ else ""
        lines = [[place.ranks, place.letters, names[row["run_id"]], *_numbers(row)] for row, place in ranked]
        title = f"{metric['display']}{where}{_unit(group[0])} ({_better(group[0])})"
        print_table(title, *_with_notes(group, HEADER, lines, ranked), left=3)
    return list(dict.fromkeys(order))


def _with_notes(
    group: list[Row], header: Sequence[str], lines: list[list[str]], ranked: list[tuple[Row, Place]]
) -> tuple[list[str], list[list[str]]]:
    """Columns that stand only where there is something to tell: bounds, items of several samples, answers cut off."""
    full = list(header)
    if all(row["bound_low"] is None for row in group):
        at = full.index("if missing")
        full.pop(at)
        lines = [[*line[:at], *line[at + 1 :]] for line in lines]
    if any(row["samples"] > 1 for row in group):
        full.append("items")
        lines = [[*line, f"{row['items']:,}"] for line, (row, _) in zip(lines, ranked, strict=True)]
    if any(row["cut_off"] for row in group):
        full.append("answers at the length limit")
        lines = [[*line, _cut_off(row)] for line, (row, _) in zip(lines, ranked, strict=True)]
    return full, lines


def _cut_off(row: Row) -> str:
    return f"{row['cut_off']:,} cut off" if row["cut_off"] else ""


def _unit(row: Row) -> str:
    """Shares are shown in per cent, which says it."""
    return "" if row["unit"] == "share" else f", {row['unit']}"


def _better(row: Row) -> str:
    ideal = row["ideal"]
    return f"{row['direction']} is better" if ideal is None else f"nearest to {figure(ideal, row['unit'])} is best"


def _ranked(rows: list[Row]) -> list[tuple[Row, Place]]:
    """Rows of one metric and slice, best first."""
    from ethicsdb.runners.statistics.boards import ranked

    places = ranked(rows)
    return sorted(zip(rows, places, strict=True), key=lambda pair: (pair[1].order, pair[0]["model"]))


def _numbers(row: Row) -> list[str]:
    return [
        figure(row["value"], row["unit"]),
        _interval(row),
        f"{row['n']:,}",
        f"{row['n_expected']:,}",
        _coverage(row),
        "" if row["bound_low"] is None else f"{percent(row['bound_low'])}–{percent(row['bound_high'])}",
        shown(row["clusters"]),
        row["source"],
    ]


def run_names(rows: list[Row]) -> dict[str, str]:
    """Run id: the model's name, with the run's digits where one model has several runs."""
    models = {row["run_id"]: shown(row["model"], 32) for row in rows}
    count = Counter(models.values())
    return {run: f"{name} [{short(run, 6)}]" if count[name] > 1 else name for run, name in models.items()}


def _coverage(row: Row) -> str:
    """100.0% only where nothing is missing: 4,382 of 4,383 would be rounded to it."""
    return percent(row["coverage"] if row["coverage"] in (None, 1.0) else min(row["coverage"], 0.999))


def _interval(row: Row, digits: int = 1) -> str:
    if row["ci_low"] is None:
        return "–"
    return f"[{figure(row['ci_low'], row['unit'], digits)}, {figure(row['ci_high'], row['unit'], digits)}]"


def whole_table(metrics: list[Row], rows: list[Row]) -> None:
    """Every metric over all items, with ranks of its own."""
    names = run_names(rows)
    lines = []
    for metric in metrics:
        group = [row for row in rows if (row["metric"], row["slice"]) == (metric["name"], "overall")]
        for place, (row, where) in enumerate(_ranked(group)):
            counts = f"{row['n']:,}" if row["hits"] is None and row["bound_low"] is None else _hits(row)
            numbers = [figure(row["value"], row["unit"], 2), _interval(row, 2), counts, _coverage(row)]
            title = f"{metric['name']} ({_toward(row)}{_unit(row)})" if place == 0 else ""
            lines.append([title, where.ranks, where.letters, names[row["run_id"]], *numbers])
    counted = "hits/n" if any(row["hits"] is not None for row in rows) else "n"
    header = ["metric (better)", "rank", "like", "model", "value", "95% interval", counted, "coverage"]
    print_table("All metrics", header, lines, left=4)


def _hits(row: Row) -> str:
    return f"{row['hits'] or 0:,}/{row['n']:,}"


def _toward(row: Row) -> str:
    return str(row["direction"]) if row["ideal"] is None else f"near {figure(row['ideal'], row['unit'])}"


def variant_table(rows: list[Row], order: list[str]) -> None:
    """Direct, indirect and harmless questions side by side, two lines a model."""
    cut = {(row["run_id"], row["metric"], row["slice_value"]): row for row in rows if row["slice"] == "variant"}
    columns = [
        (metric, variant, f"{title}, {variant}")
        for metric, title, variants in VARIANT_COLUMNS
        for variant in variants
        if any(key[1:] == (metric, variant) for key in cut)
    ]
    if not columns:
        return
    names, letters = run_names(rows), _variant_letters(cut, columns)
    table = []
    for run in order:
        cells = [cut.get((run, metric, variant)) for metric, variant, _ in columns]
        table.append([names[run], *[_short_interval(row) for row in cells]])
        keys = [(run, metric, variant) for metric, variant, _ in columns]
        table.append(["", *[_support(row, letters.get(key, "")) for row, key in zip(cells, keys, strict=True)]])
    click.echo()
    title = "By variant, in per cent (below each: n of asked, and letters of models that can't be told apart)"
    print_table(title, ["model", *[name for _, _, name in columns]], table)


def _variant_letters(
    cut: dict[tuple[str, str, str], Row], columns: list[tuple[str, str, str]]
) -> dict[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for metric, variant, _ in columns:
        keys = [key for key in cut if key[1:] == (metric, variant)]
        ranked = _ranked([cut[key] for key in keys])
        found |= {(row["run_id"], metric, variant): place.letters for row, place in ranked}
    return found


def _short_interval(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return "–"
    around = "" if row["ci_low"] is None else f" [{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]"
    return f"{100 * row['value']:.1f}{around}"


def _support(row: Row | None, letters: str) -> str:
    return "" if row is None else f"{row['n']:,} of {row['n_expected']:,}  {letters}".rstrip()
