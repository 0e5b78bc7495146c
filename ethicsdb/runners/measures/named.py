"""Measures by the names that benchmarks call them."""

from __future__ import annotations

from importlib import import_module
from typing import get_args

from ethicsdb.runners.measures.base import Measure
from ethicsdb.schemas.asks import MeasureName

__all__ = ["VERSION", "measure_named"]

# Enters the key of every score: raise it when a formula, an interval or a rule of counting changes.
VERSION = "measures-1"


def measure_named(name: MeasureName) -> Measure:
    """The measure of a name: the function of that name in the module of that name in this room."""
    if name not in get_args(MeasureName):
        raise ValueError(f"no measure is called `{name}`")
    found: Measure = getattr(import_module(f"ethicsdb.runners.measures.{name}"), name)
    return found
