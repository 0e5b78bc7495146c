"""`ethicsdb annotate export RUN` and `ethicsdb annotate import SHEET`."""

from __future__ import annotations

from pathlib import Path

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry

__all__ = ["command"]


@click.group("annotate")
def command() -> None:
    """Let people label a run's answers: draw blind sheets, and take them back.

    `annotate export RUN` draws at random, so many of each stratum, and writes a sheet for each person; `annotate import
    SHEET` takes a filled one back. `ethicsdb agreement` then weighs each label by how likely its answer was drawn.
    """


@command.command("export")
@click.argument("run")
@click.option("--attribute", required=True, help="The label that people give: safety, refusal, biased, ...")
@click.option("--annotator", "annotators", multiple=True, required=True, help="A person's name; repeat it.")
@click.option("--n", type=click.IntRange(min=1), default=100, show_default=True, help="Answers of each stratum.")
@click.option("--by", help="Strata: the values of an item field, such as bias_type.")
@click.option("--judge", help="Strata: a judge's label, so that rare ones are drawn too.")
@click.option("--overlap", type=click.IntRange(min=1), help="How many people label each answer (default: all).")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder (default: here).")
@json_option
@click.pass_context
def export(context: click.Context, /, annotators: tuple[str, ...], out: Path, json_: bool, **options: object) -> None:
    """Draw answers of a run and write a blind sheet for each person."""
    from ethicsdb.runners.annotation.export import SheetPlan

    registry = open_registry(context)
    plan = SheetPlan(annotators=annotators, **options)  # type: ignore[arg-type]  # click has checked them
    done = registry.export_sheets(plan, out)
    notices(registry)
    if json_:
        click.echo(as_json(done))
        return
    for name, (drawn, there) in done.strata.items():
        click.echo(f"{name}: {drawn:,} of {there:,} answers drawn")
    for file in done.files:
        click.echo(f"written: {file}")
    click.echo(f"labels may be {', '.join(done.values)}")
    click.echo("take a filled sheet back: ethicsdb annotate import FILE --annotator NAME")


@command.command("import")
@click.argument("sheet", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--annotator", required=True, help="Whose labels they are.")
@click.option("--replace", is_flag=True, help="This person's earlier labels of the sheet were wrong; withdraw them.")
@json_option
@click.pass_context
def import_(context: click.Context, sheet: Path, annotator: str, replace: bool, json_: bool) -> None:
    """Take a filled sheet back. Rows without a label are left for a later time."""
    registry = open_registry(context)
    done = registry.import_sheet(sheet, annotator=annotator, replace=replace)
    notices(registry)
    if json_:
        click.echo(as_json(done))
        return
    told = ", ".join(f"{count:,} {value}" for value, count in sorted(done.counts.items()))
    click.echo(f"{done.aligned_with}: {told}" + ("" if done.new else " (nothing new)"))
