"""From an item to the messages that are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Formatter
from typing import Any

from ethicsdb.schemas.declared import Prompt
from ethicsdb.schemas.errors import DeclarationError
from ethicsdb.schemas.plausible import template_fields

__all__ = ["ROLES", "Messages", "fill", "is_conversation", "render", "shown_options"]

ROLES = {"human": "user", "gpt": "assistant"}
Messages = list[dict[str, str]]


def render(prompt: Prompt, payload: dict[str, Any]) -> Messages:
    """The messages that put an item to a model; the item's text enters unchanged.

    Of a conversation, the template `{context}` stands for its turns, each a message of its own; none are sent where
    the context is empty.

    Raises:
        DeclarationError: the template names a field that the item does not have, or wraps a conversation's context.
    """
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    if is_conversation(payload) and "context" in template_fields(prompt.template):
        if prompt.template.strip() != "{context}":
            raise DeclarationError(
                "A conversation's `{context}` is sent turn by turn, so that a template can be nothing else; what a "
                "model is to be told besides goes into `system`."
            )
        turns = json.loads(payload["context"])
        spoken = [{"role": ROLES[turn["role"]], "content": turn["content"]} for turn in turns]
        return [*messages, *spoken] if spoken else []
    return [*messages, {"role": "user", "content": fill(prompt.template, shown_options(payload))}]


def is_conversation(payload: Mapping[str, Any]) -> bool:
    """Whether an item is a conversation, whose context is a list of turns; other kinds' contexts are texts."""
    return "conversation_id" in payload


def shown_options(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with its options, where it has any, as lines: `- option`."""
    options = payload.get("options")
    if options is None:
        return dict(payload)
    listed = json.loads(options) if isinstance(options, str) else options
    return {**payload, "options": "\n".join(f"- {option}" for option in listed)}


def fill(template: str, values: dict[str, Any]) -> str:
    """The template with its `{fields}` replaced; a field without a value is replaced by nothing.

    Raises:
        DeclarationError: the template names an unknown field, or more than a plain name.
    """
    parts = []
    for literal, name, form, conversion in Formatter().parse(template):
        parts.append(literal)
        if name is None:
            continue
        if name not in values or form or conversion:
            raise DeclarationError(
                f"`{{{name}}}` in a template is no field here; there are {', '.join(sorted(values))}"
            )
        value = values[name]
        parts.append("" if value is None else str(value))
    return "".join(parts)
