"""`ethicsdb why RUN ITEM`."""

from __future__ import annotations

from typing import Any

import click

from ethicsdb.cli.common import as_json, json_option, notices, open_registry, say, shown
from ethicsdb.schemas.fingerprint import short

__all__ = ["command"]

SHOWN = 8  # differing fields; things that differ in more are just different


@click.command("why")
@click.argument("run")
@click.argument("item")
@json_option
@click.pass_context
def command(context: click.Context, run: str, item: str, json_: bool) -> None:
    """Show what an item's number rests on.

    RUN is a run's id or its first digits; ITEM is a row of the source file as `report` counts them (1 is the first;
    FILE:ROW where there are several files), or an item's id or its first digits. Prints request, every try, answer,
    verdicts and keys, and the identity field that makes it another row than the nearest stored one.
    """
    registry = open_registry(context)
    told = registry.why(run, item)
    notices(registry)
    if json_:
        click.echo(as_json(told))
        return
    info = told["run"]
    data = f"{info['dataset']} {info['version']}"
    say(f"run {short(info['run_id'])}: {info['benchmark']} {info['major']} on {info['model']}, {data}")
    for sample in told["samples"]:
        _sample(sample)


def _sample(sample: dict[str, Any]) -> None:
    variant = f", {sample['variant']}" if sample["variant"] else ""
    # As the command takes it.
    say(f"\n{sample['source_file']}:{sample['source_row']}{variant}, sample {sample['sample_number']}")
    _line("question", sample["question"])
    for message in _messages(sample["request"]):
        _line(f"sent ({message['role']})", message["content"])
    if not sample["tries"]:
        _line("answer", "not asked yet")
    for each in sample["tries"]:
        what = each["text"] if each["text"] is not None else each["error_message"] or _textless(each)
        code = f" {each['error_code']}" if each["error_code"] else ""
        _line(f"try {each['try_number']} ({each['status']}{code})", what)
    for verdict in sample["verdicts"]:
        age = "" if verdict["current"] else ", as declared before"
        reason = f" ({verdict['reason']})" if verdict["reason"] else ""
        labels = f": {verdict['labels']}" if verdict["labels"] else ""
        _line(f"verdict of {verdict['judge']}{age}", f"{verdict['status']}{reason}{labels}")
        if verdict["words"] is not None:
            _line("  its words", verdict["words"])
    _line("key", sample["response_key"])
    _nearest(sample)


def _textless(each: dict[str, Any]) -> str:
    if each["status"] == "lost":
        return "begun, and nothing came back before the run was stopped"
    return "its text was not released" if "text_not_released" in (each["flags"] or "") else ""


def _messages(request: Any) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = request["messages"] if isinstance(request, dict) else request or []
    return messages


def _nearest(sample: dict[str, Any]) -> None:
    if sample["nearest"]:
        say("  the nearest other stored answer to this item differs in:")
        _differences(sample["nearest"]["differs"])
    for judge in sample["judges"]:
        say(f"  {judge['judge']} differs from its nearest other judge ({judge['nearest']}) in:")
        _differences(judge["differs"])


def _differences(found: dict[str, list[Any]]) -> None:
    for name, (here, there) in list(found.items())[:SHOWN]:
        say(f"    {name}: {shown(here)} here, {shown(there)} there")
    if len(found) > SHOWN:
        say(f"    and {len(found) - SHOWN} more (--json shows all)")


def _line(name: str, text: str | None) -> None:
    say(f"  {name}: {shown(text, 2000)}")
