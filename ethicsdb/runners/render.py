"""From an item to the messages that are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Formatter
from typing import Any

from ethicsdb.schemas.declared import Prompt
from ethicsdb.schemas.errors import DeclarationError

__all__ = ["Messages", "fill", "render", "shown_options"]

Messages = list[dict[str, str]]


def render(prompt: Prompt, payload: dict[str, Any]) -> Messages:
    """The messages that put an item to a model; the item's text enters unchanged.

    Raises:
        DeclarationError: the template names a field that the item does not have.
    """
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return [*messages, {"role": "user", "content": fill(prompt.template, shown_options(payload))}]


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
