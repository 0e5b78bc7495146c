"""Write the parts of docs/commands.md and docs/declarations.md that the code itself knows.

python docs/make_reference.py

Options of commands come from the commands, keys of declarations from the models that read them. A part stands between
`<!-- from the code: NAME -->` and `<!-- end -->`; what is around it is written by hand.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ethicsdb.cli.main import cli
from ethicsdb.schemas.annotations import members, models_in
from ethicsdb.schemas.declared import BY_KIND
from ethicsdb.schemas.items import ITEM_KINDS
from ethicsdb.schemas.rubrics import Rubric

PAGES = ("commands.md", "declarations.md")
_PART = re.compile(r"(<!-- from the code: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false"}
# Forms of texts, by the validator or the beginning of the pattern that holds them.
_FORMS = {
    "_line": "text", "_language": "language code (BCP 47)", "_encoding": "name of a text encoding",
    "_url": "web address", "_endpoint": "URL of an endpoint, without a key", "_variable": "name of a variable",
    "^[a-z0-9][a-z0-9": "name (a-z, 0-9, `_.-`)", "^[1-9][0-9]*-": "`N-X`", "^[0-9a-f]{64}": "64 hex digits",
}  # fmt: skip
KEYS = "keys below"
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def page(name: str) -> str:
    """A page with its parts from the code renewed."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return _PART.sub(lambda hit: f"{hit[1]}\n{_part(hit['name'])}\n{hit[3]}", text)


def _part(name: str) -> str:
    kind, _, name = name.partition("-")
    if kind == "command":
        return _options(name)
    if kind == "form":
        return _keys({get_args(m.model_fields["form"].annotation)[0]: m for m in models_in(Rubric)}[name], "rubric.")
    return _keys(BY_KIND[name])


def _options(name: str) -> str:
    context = click.Context(cli, info_name="ethicsdb", help_option_names=["-h", "--help"])
    command = cli.get_command(context, name)
    assert command is not None
    inner = click.Context(command, info_name=name, parent=context, max_content_width=100, terminal_width=100)
    helps = [command.get_help(inner)]
    if isinstance(command, click.Group):
        for part, each in command.commands.items():
            own = click.Context(each, info_name=part, parent=inner, max_content_width=100, terminal_width=100)
            helps.append(each.get_help(own))
    return "\n\n".join(f"```text\n{text.rstrip()}\n```" for text in helps)


def _keys(model: type[BaseModel], prefix: str = "") -> str:
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *_rows(model, prefix)])


def _rows(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        inner = models_in(field.annotation)
        if len(inner) > 1:
            yield f"| `{key}` | a rubric, by its `form` | {_default(field)} | {field.description or ''} |"
            continue
        words = (
            ", ".join(f"`{kind}`" for kind in ITEM_KINDS)
            if key == "schema"
            else _value(field.annotation, field.metadata)
        )
        yield f"| `{key}` | {words} | {_default(field)} | {field.description or ''} |"
        if inner:
            yield from _rows(inner[0], f"{key}{_step(field.annotation)}")


def _step(annotation: Any) -> str:
    origins = [get_origin(each) for each in members(annotation)]
    return "[]." if list in origins else ".*." if dict in origins else "."


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    if field.default is PydanticUndefined or field.default is None:
        return ""
    default = field.default
    if isinstance(default, BaseModel):
        changed = default.model_dump(exclude_unset=True)
        return f"`{json.dumps(changed)}`" if changed else ""
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def _value(annotation: Any, metadata: list[Any] | tuple[Any, ...] = ()) -> str:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        return _value(inner, [each for one in more for each in (one.metadata if isinstance(one, FieldInfo) else [one])])
    if origin in (Union, types.UnionType):
        return " or ".join(_value(each, metadata) for each in get_args(annotation) if each is not type(None))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in get_args(annotation))
    if origin is list:
        inner = _value(get_args(annotation)[0])
        return f"list, {inner}" if inner == KEYS else f"list of {inner}"
    if origin is dict:
        return " to ".join(_value(each) for each in get_args(annotation))
    if hasattr(annotation, "__members__"):
        return ", ".join(f"`{each}`" for each in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return KEYS
    return _form(metadata) or ", ".join([_PLAIN[annotation], *_limits(metadata)])


def _form(metadata: list[Any] | tuple[Any, ...]) -> str | None:
    for each in metadata:
        mark = getattr(getattr(each, "func", None), "__name__", None) or getattr(each, "pattern", None) or ""
        for start, words in _FORMS.items():
            if str(mark).startswith(start):
                return words
    return None


def _limits(metadata: list[Any] | tuple[Any, ...]) -> list[str]:
    return [
        f"{word} {getattr(each, key):g}" for each in metadata for key, word in _BOUNDS.items() if hasattr(each, key)
    ]


if __name__ == "__main__":
    for each in PAGES:
        text = page(each)
        Path(__file__).with_name(each).write_text(text, encoding="utf-8")
