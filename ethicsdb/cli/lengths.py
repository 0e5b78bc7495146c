"""`ethicsdb lengths DATASET --tokenizer NAME`."""

from __future__ import annotations

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, print_table, shown

__all__ = ["command"]


@click.command("lengths")
@click.argument("dataset")
@click.option("--tokenizer", required=True, help="`words`, `characters`, a folder, or ID@REVISION of the Hub.")
@json_option
@click.pass_context
def command(context: click.Context, dataset: str, tokenizer: str, json_: bool) -> None:
    """Count the instances and lengths of conversations.

    DATASET is `NAME` for the newest version or `NAME@v1`. Prints instances per label and their mean tokens of the
    context, mean tokens of the output, and mean turns, in the tokens of the named tokenizer (Eagle, Table 1). In SQL:
    the view `conversation_lengths`.
    """
    registry = open_registry(context)
    rows = registry.lengths(dataset, tokenizer)
    notices(registry)
    if json_:
        click.echo(as_json(rows))
        return
    print_table(
        f"Instances of {dataset}, lengths in tokens of {tokenizer}",
        ["split", "label", "instances", "context tokens", "output tokens", "turns"],
        [
            [row["split"], row["label"], f"{row['instances']:,}", _mean(row["mean_context_tokens"]),
             _mean(row["mean_output_tokens"]), _mean(row["mean_turns"])]
            for row in rows
        ],
        left=2,
    )  # fmt: skip


def _mean(value: float | None) -> str:
    return shown(None) if value is None else f"{value:,.1f}"
