"""Measures by the names that benchmarks call them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import get_args

from ethicsdb.runners.measures.base import Measure, Observed
from ethicsdb.schemas.asks import MeasureName

__all__ = ["VERSION", "measure_named", "own_cuts"]

# Enters the key of every score: raise it when a formula, an interval or a rule of counting changes.
VERSION = "measures-2"


# Modules whose measures are called otherwise; the others are called as their module.
_MODULES: dict[MeasureName, str] = {"preferences": "pairs", "likelihood_differences": "pairs"}


def measure_named(name: MeasureName) -> Measure:
    """The measure of a name. Raises ValueError for a name that is none."""
    if name not in get_args(MeasureName):
        raise ValueError(f"no measure is called `{name}`")
    module = import_module(f"ethicsdb.runners.measures.{_MODULES.get(name, name)}")
    found: Measure = getattr(module, name)
    return found


def own_cuts(name: MeasureName, items: Sequence[Observed]) -> dict[tuple[str, str], list[Observed]]:
    """Slices that a measure has beside those of the items' fields: (slice, value): items as they stand in it."""
    if name == "association":
        return {("test", str(item.payload["name"])): [item] for item in items}
    if name != "opinion":
        return {}
    from ethicsdb.runners.measures.opinion import by_group

    return by_group(items)
