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
    if told["targets"]:
        _targets(told["targets"])


def _targets(targets: list[dict[str, Any]]) -> None:
    """Of a likelihood run: the context once, then each text with its likelihood."""
    first = targets[0]
    variant = f", {first['variant']}" if first["variant"] else ""
    say(f"\n{first['source_file']}:{first['source_row']}{variant}")
    _line("item", first["question"])
    context = None
    for each in targets:
        if each["request"] != context:
            context = each["request"]
            _context(context)
        if each["likelihood_key"] == "":
            _line("nothing to score", "the item lacks the texts that the benchmark asks for")
            continue
        _line(f"{each['target']} ({_likelihood(each)})", each["text"])
        _line("  key", each["likelihood_key"])


def _context(request: Any) -> None:
    if isinstance(request, dict):
        name, text = next(iter(request.items()))
        _line("after" if name == "text" else "sharing tokens with", text or "(nothing)")
        return
    for turn in request or []:
        _line(f"after ({turn['role']})", turn["content"])


def _likelihood(target: dict[str, Any]) -> str:
    if target["logprob_sum"] is None:
        return f"error {target['error']}" if target["error"] else "not computed yet"
    flags = f", {target['flags']}" if target["flags"] else ""
    if target["tokens"] is None:
        return f"released score {target['logprob_sum']:.6g}{flags}"
    mean = f"{target['logprob_mean']:.4f} a token"
    return f"{target['logprob_sum']:.4f} nats over {target['tokens']} tokens, {mean}{flags}"


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
