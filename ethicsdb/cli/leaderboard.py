"""`ethicsdb leaderboard BENCHMARK`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry
from ethicsdb.schemas.errors import NotFoundError

__all__ = ["command"]


@click.command("leaderboard")
@click.argument("benchmark")
@click.option("--slice", "slice_", help="Cut the board by this field: variant, risk_area, harm_type, language.")
@click.option("--old-judges", is_flag=True, help="Also verdicts of judges as they were declared before.")
@json_option
@click.pass_context
def command(context: click.Context, benchmark: str, slice_: str | None, old_judges: bool, json_: bool) -> None:
    """Show the board of a benchmark.

    Every number has n, coverage and a 95% interval that respects clusters. Models that share a letter can't be told
    apart. Published figures stand beside ours and are marked. In SQL: the view `leaderboard`.
    """
    from ethicsdb.registry.declared import near

    registry = open_registry(context)
    rows = registry.leaderboard(benchmark, old_judges=old_judges)
    known = list(dict.fromkeys(row["slice"] for row in rows if row["slice"] != "overall"))
    if slice_ and rows and slice_ not in known:
        raise NotFoundError(f"No row of this board is cut by `{slice_}`{near(slice_, known)}")
    if json_:
        notices(registry)
        click.echo(as_json(rows))
        return
    from ethicsdb.cli.boards import print_boards

    print_boards(registry, benchmark, rows, slice_)
    notices(registry)
