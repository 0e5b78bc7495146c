"""What a type annotation of a declaration's key holds."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

__all__ = ["members", "models_in"]


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Models that a value is, or that its entries are."""
    found = []
    for each in members(annotation):
        if isinstance(each, type) and issubclass(each, BaseModel):
            found.append(each)
        elif get_origin(each) in (list, dict):
            found += models_in(get_args(each)[-1])
    return found


def members(annotation: Any) -> list[Any]:
    """The members of a union, without what is written beside a type; a literal has none."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [member for each in get_args(annotation) for member in members(each)]
    return [] if origin is Literal else [annotation]
