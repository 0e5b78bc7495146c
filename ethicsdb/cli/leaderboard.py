"""`ethicsdb leaderboard BENCHMARK`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry
from ethicsdb.schemas.errors import NotFoundError

__all__ = ["command"]


@click.command("leaderboard")
@click.argument("benchmark")
@click.option("--slice", "slice_", help="Cut the board by this field: variant, risk_area, harm_type, language.")
@click.option("--major", type=click.IntRange(min=1), help="Results of an earlier N of the benchmark's version N-X.")
@click.option("--old-judges", is_flag=True, help="Also verdicts of judges as they were declared before.")
@json_option
@click.pass_context
def command(
    context: click.Context, /, benchmark: str, slice_: str | None, json_: bool, major: int | None, old_judges: bool
) -> None:
    """Show the board of a benchmark.

    Every number has n, coverage and a 95% interval that respects clusters. Models that share a letter can't be told
    apart. Runs that differ in prompt, sampling, samples, data version or draw are ranked apart. Published figures stand
    beside ours and are marked. In SQL: the view `leaderboard`; every column is explained in docs/boards.md.
    """
    from ethicsdb.registry.declared import near

    registry = open_registry(context)
    rows = registry.leaderboard(benchmark, major=major, old_judges=old_judges)
    known = list(dict.fromkeys(row["slice"] for row in rows if row["slice"] != "overall"))
    if slice_ and rows and slice_ not in known:
        raise NotFoundError(f"No row of this board is cut by `{slice_}`{near(slice_, known)}")
    if json_:
        notices(registry)
        click.echo(as_json(rows))
        return
    from ethicsdb.cli.boards import print_boards

    print_boards(registry, benchmark, rows, slice_, major)
    notices(registry)
