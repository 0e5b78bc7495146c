"""What is wrong with a declaration, in a sentence that says where it stands and what was expected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ethicsdb.schemas.annotations import members, models_in
from ethicsdb.schemas.rubrics import Rubric

__all__ = ["near", "sentences"]

Where = Sequence[int | str]

# Forms of texts, by the pattern that they have to match.
_FORMS = {
    "^[a-z0-9][a-z0-9_.-]*$": "a name of lower-case letters, digits, `_`, `.` and `-`, such as my_questions",
    "^[1-9][0-9]*-[A-Z]$": "N-X such as 1-A: N changes when results stop comparing",
    "^[0-9a-f]{64}$": "64 lower-case hexadecimal digits, as `sha256sum FILE` prints them",
}
_EXPECTED = {
    "string_type": "must be text; write it in quotes",
    "int_type": "must be a whole number, without quotes",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number, without quotes",
    "bool_type": "must be true or false, without quotes",
    "dict_type": "must be keys with values, such as {a: b}",
    "finite_number": "must be a finite number",
    "union_tag_not_found": "`form` is missing; expected one of numbered, classes, refusal_rules",
}


def near(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: what was probably meant, or what there is."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join(known) or 'none'}"


def sentences(model: type[BaseModel], node: yaml.Node, path: Path, error: ValidationError) -> list[str]:
    """Every fault of a declaration, each `file:line: key: what is wrong`.

    Args:
        model: what the declaration had to be.
        node: its YAML, which knows the lines.
    """
    out = []
    for fault in error.errors():
        where = _spelled(fault["loc"])
        name = ".".join(str(part) for part in where) or "the declaration"
        told = _told(fault, model, where)
        # A fault of several keys together names them; the first says the line.
        about = re.match(r"`(\w+)`", told)
        line = _line_of(node, [*where, about[1]] if about and fault["type"] == "value_error" else where)
        out.append(f"{path}:{line}: {name}: {told}")
    return out


def _spelled(where: Where) -> list[int | str]:
    """The place as it stands in the file: Pydantic adds the tag of a union behind the key `rubric`."""
    forms = _forms()
    return [part for i, part in enumerate(where) if not (i and where[i - 1] == "rubric" and part in forms)]


def _told(fault: ErrorDetails, model: type[BaseModel], where: Where) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind in ("list_type", "model_type", "model_attributes_type"):
        return _shape(fault, model, where)
    if kind == "extra_forbidden":
        return f"is not a known key{near(str(where[-1]), _keys(model, where[:-1], fault['loc']))}"
    if kind == "missing":
        return "is missing; add it"
    if kind in ("literal_error", "enum"):
        return f"`{fault['input']}` is not allowed; expected {context['expected']}{_meant(fault['input'], context)}"
    if kind == "union_tag_invalid":
        return f"form `{context['tag']}` is not allowed; expected {context['expected_tags']}"
    if kind == "string_pattern_mismatch":
        return f"must be {_FORMS[context['pattern']]}"
    if kind == "too_short":
        return f"must hold at least {context['min_length']} of them"
    bounds = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    limit = next((f"must be {word} {context[key]:g}" for key, word in bounds.items() if key in context), None)
    return limit or fault["msg"].removeprefix("Value error, ")


def _shape(fault: ErrorDetails, model: type[BaseModel], where: Where) -> str:
    """What a list or a group of keys should look like here."""
    inside = [each for found in _types(model, where) for each in models_in(found)]
    needed = [f.alias or name for each in inside[:1] for name, f in each.model_fields.items() if f.is_required()]
    keys = ", ".join(f"{key}: ..." for key in needed)
    if fault["type"] != "list_type":
        return f"must be keys with values: {{{keys or 'key: value'}}}"
    given = fault["input"] if isinstance(fault["input"], (str, int, float)) else "a, b"
    return f"must be a list of entries with keys: [{{{keys}}}]" if inside else f"must be a list: [{given}]"


def _meant(given: Any, context: Mapping[str, Any]) -> str:
    allowed = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
    close = difflib.get_close_matches(str(given), allowed, n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""


def _forms() -> dict[str, type[BaseModel]]:
    """Rubric form: its model."""
    return {get_args(each.model_fields["form"].annotation)[0]: each for each in models_in(Rubric)}


def _keys(model: type[BaseModel], where: Where, place: Where) -> list[str]:
    """The keys that may stand at a place of a declaration."""
    here = _types(model, where)
    form = next((_forms()[str(part)] for part in place if str(part) in _forms()), None)
    models = [each for found in here for each in models_in(found)]
    chosen = [form] if form in models else models
    return [field.alias or name for each in chosen if each for name, field in each.model_fields.items()]


def _types(model: type[BaseModel], where: Where) -> list[Any]:
    here: list[Any] = [model]
    for part in where:
        here = [inner for each in here for inner in _inner(each, part)]
    return here


def _inner(annotation: Any, part: int | str) -> list[Any]:
    """Types of a part of a value: of a key of a model, a value of a mapping, an entry of a list."""
    found = []
    for each in members(annotation):
        if isinstance(each, type) and issubclass(each, BaseModel):
            found += [f.annotation for name, f in each.model_fields.items() if part in (name, f.alias)]
        elif get_origin(each) in (list, dict):
            found.append(get_args(each)[-1])
    return found


def _line_of(node: yaml.Node, where: Where) -> int:
    """Line of the deepest part of `where` that stands in the file."""
    line = node.start_mark.line + 1
    for part in where:
        step = _child(node, part)
        if step is None:
            continue
        line, node = step
    return line


def _child(node: yaml.Node, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line + 1, node.value[part]
    return None
