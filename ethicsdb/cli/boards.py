"""Boards on a terminal: which results stand together, and what is said of those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.board_notes import missing_primary, other_majors, unshown
from ethicsdb.cli.board_tables import Row, ranking, run_names, variant_table, whole_table
from ethicsdb.cli.common import figure, print_table, shown

if TYPE_CHECKING:
    from ethicsdb.api import Registry

__all__ = ["print_boards"]


def print_boards(
    registry: Registry, benchmark: str, rows: list[Row], slice_: str | None = None, major: int | None = None
) -> None:
    """Every judge's board of a benchmark, with outcomes below.

    Args:
        rows: what `Registry.leaderboard` gives for the benchmark and major.
        slice_: the field that the first table is cut by; default: the whole.
    """
    from ethicsdb.registry.boards import board_runs, head

    told = head(registry.context, benchmark, major)
    runs = board_runs(registry.context, benchmark)
    click.echo(click.style(f"{shown(told['title'], 200)}  ({told['name']} {told['version']})", bold=True))
    ours = [row for row in rows if row["source"] != "published"]
    for sentence in [*unshown(registry.declarations, told, runs, ours), *other_majors(told, runs)]:
        click.echo(sentence)
    for here in _together(ours):
        click.echo(f"\n{_judge(here[0])}{_terms(here[0])}")
        _board(registry, told, here, slice_)
    _published([row for row in rows if row["source"] == "published"])
    _outcomes(registry.outcomes(benchmark, major=major))


def _together(rows: list[Row]) -> list[list[Row]]:
    """Rows that may be ranked together; those with the benchmark's own settings come first."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(_comparable(row), []).append(row)
    return sorted(groups.values(), key=lambda here: (here[0]["judge"] or "", here[0]["settings"] != ""))


def _comparable(row: Row) -> tuple[Any, ...]:
    """Results compare only where judge, data version, item draw, prompt, sampling and samples are the same."""
    judged = row["judge"], row["judge_fingerprint"]
    return *judged, row["version"], row["item_limit"], row["prompt_fingerprint"], row["sampling"], row["samples"]


def _judge(row: Row) -> str:
    return "No judge" if row["judge"] is None else f"Judge: {row['judge']}"


def _terms(row: Row) -> str:
    limit = row["item_limit"]
    drawn = f", a draw of {limit:,} items" if limit else ""
    return (
        f"   Data: {row['dataset']} {row['version']}{drawn}   Settings: {shown(row['settings'] or 'as declared', 200)}"
    )


def _board(registry: Registry, told: dict[str, Any], rows: list[Row], slice_: str | None) -> None:
    metrics = {row["metric"] for row in rows}
    able = [metric for metric in told["metrics"] if metric["name"] in metrics]
    metric = next((each for each in able if each["name"] == told["primary"]), able[0])
    if metric["name"] != told["primary"]:
        click.echo(missing_primary(registry.declarations, told, rows[0], metric["name"]))
    samples = rows[0]["samples"]
    if samples > 1:
        click.echo(f"{samples} samples an item: n and asked count answers, clusters count questions.")
    order = ranking(metric, rows, slice_)
    click.echo()
    whole_table(able, rows)
    variant_table(rows, order)


def _published(rows: list[Row]) -> None:
    if not rows:
        return
    click.echo()
    print_table(
        "Published figures (as printed; no intervals are worked out from them)",
        ["model", "metric", "paper", "judge", "value", "hits", "n"],
        [
            [shown(row["model"], 32), _cut(row), shown(row["paper"], 70), shown(row["judge"]),
             figure(row["value"], row["unit"], 2), shown(row["hits"]), shown(row["n"])]
            for row in rows
        ],
        left=4,
    )  # fmt: skip
    for model, note in dict.fromkeys((row["model"], row["note"]) for row in rows if row["note"]):
        click.echo(f"{shown(model, 32)}: {shown(note, 400)}")


def _cut(row: Row) -> str:
    """A published figure's metric, with the slice that it is of."""
    return (
        str(row["metric"]) if row["slice"] == "overall" else f"{row['metric']} ({row['slice']}: {row['slice_value']})"
    )


def _outcomes(rows: list[Row]) -> None:
    if not rows:
        return
    names = run_names(rows)
    click.echo()
    print_table(
        "Outcomes (those of a judge and run add up to what was asked)",
        ["judge", "model", "outcome", "why", "answers", "asked"],
        [
            [shown(row["judge"]), names[row["run_id"]], row["outcome"], shown(row["reason"], 40), f"{row['n']:,}",
             f"{row['n_expected']:,}"]
            for row in rows
        ],
        left=4,
    )  # fmt: skip
