"""`ethicsdb import FILE --as KIND`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, say
from ethicsdb.schemas.fingerprint import short

if TYPE_CHECKING:
    from ethicsdb.api import Registry
    from ethicsdb.runners.imports.answers import ImportedAnswers

__all__ = ["command"]

# Options that say something about each kind of import.
OPTIONS = {
    "judge-outputs": ("judge", "model", "revision", "rows_of", "partial", "same_outputs"),
    "labels": ("attribute", "columns", "name", "replaces"),
    "answers": ("model", "revision", "columns", "subset"),
    "sentence-scores": ("model", "revision"),
}


def _mapping(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, column = value.partition("=")
        if not (name and equals and column):
            raise click.BadParameter(f"`{value}` is not FIELD=COLUMN")
        found[name] = column
    return found


def _check_options(context: click.Context, kind: str, options: Iterable[str]) -> None:
    """An option of another kind of import would be passed over, and its wish with it."""
    for name in options:
        if (
            name not in (*OPTIONS[kind], "benchmark")
            and context.get_parameter_source(name) is not ParameterSource.DEFAULT
        ):
            shown = "--map" if name == "columns" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{shown} says nothing about --as {kind}; leave it out")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--as", "kind", required=True, type=click.Choice(list(OPTIONS)), help="What it holds.")
@click.option("--benchmark", required=True, help="The benchmark (or NAME@v1) whose items it is about.")
@click.option("--judge", help="judge-outputs: the declared judge that wrote them.")
@click.option("--model", help="The model that answered; of judge-outputs, whose answers were judged row by row.")
@click.option("--revision", help="The model's revision (default: unknown).")
@click.option("--partial", is_flag=True, help="judge-outputs: the file lacks rows; they end as errors.")
@click.option(
    "--same-outputs",
    is_flag=True,
    help="judge-outputs: outputs imported as another model's are this one's too.",
)
@click.option("--rows-of", help="judge-outputs: the import of answers whose rows were judged.")
@click.option("--attribute", default="safety", show_default=True, help="labels: what the label is about.")
@click.option(
    "--map",
    "columns",
    multiple=True,
    callback=_mapping,
    help="labels: FIELD=COLUMN for question, model, response, label, annotator. answers: for id, question, response; "
    "a COLUMN may be a template such as {category}/{number}.",
)
@click.option("--subset", is_flag=True, help="answers: the file is about some rows only; the others were not asked.")
@click.option("--name", help="labels: name of this import (default: the file's name).")
@click.option("--replaces", help="labels: the earlier import that this one corrects; it is withdrawn.")
@json_option
@click.pass_context
def command(context: click.Context, /, file: Path, kind: str, json_: bool, **options: object) -> None:
    """Bring in judge outputs, people's labels, answers or scores made elsewhere.

    judge-outputs: OpenAI Batch output (JSONL); the number at the end of each custom_id is the row.
    labels: a table (CSV, TSV, JSON lines or JSON, as its name ends) with a row an answer and the columns question,
    model, response, label (or --map).
    answers: a table with a row an answer and the columns id (or question) and response (or --map).
    sentence-scores: JSON with lists of {id, score}, as StereoSet's predictions are released.
    Any may be packed (.gz). A second import of the same file changes nothing.
    """
    _check_options(context, kind, options)
    registry = open_registry(context)
    given = {name: value for name, value in options.items() if value is not None}
    wanted: dict[str, Any] = {name: given[name] for name in ("benchmark", *OPTIONS[kind]) if name in given}
    if kind == "judge-outputs" and "judge" not in wanted:
        raise click.UsageError("--as judge-outputs needs --judge NAME (`ethicsdb list judge`)")
    if kind in ("answers", "sentence-scores"):
        if "model" not in wanted:
            raise click.UsageError(f"--as {kind} needs --model NAME, whose they are")
        bring = registry.import_answers if kind == "answers" else registry.import_sentence_scores
        _told(registry, bring(file, **wanted), json_)
        return
    done = (
        registry.import_judge_outputs(file, **wanted)
        if kind == "judge-outputs"
        else registry.import_labels(file, **wanted)
    )
    notices(registry)
    for sentence in done.warnings:
        say(f"WARNING: {sentence}", err=True)
    if json_:
        click.echo(as_json(done))
        return
    state = "imported" if done.new else "was imported already, nothing changed"
    say(f"{done.name} {state}: {done.lines:,} lines, aligned with {done.aligned_with}")
    if done.custom_id:
        read = done.counts.get("parsed", 0)
        missing = f"{done.missing:,} missing in the file" + (", which end as errors" if done.missing else "")
        say(f"  of {done.rows:,} rows {read:,} read, {done.lines - read:,} not read, {missing}")
        say(f"  first custom_id: {done.custom_id}")
    for name, count in sorted(done.counts.items()):
        say(f"  {name}: {count:,}")


def _told(registry: Registry, done: ImportedAnswers, json_: bool) -> None:
    notices(registry)
    if json_:
        click.echo(as_json(done))
        return
    state = "imported" if done.new else "was imported already, nothing changed"
    say(f"{done.name} {state}: {done.lines:,} lines, aligned with {done.aligned_with}, {done.rows:,} rows")
    say(f"run {short(done.run_id)}")
