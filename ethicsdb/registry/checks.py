"""What a declaration may say of the tables, beyond its own form: fields that exist, and all that must be filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from string import Formatter

from ethicsdb.registry.declared import Declarations, Found, near
from ethicsdb.schemas.declared import BenchmarkDeclaration, DatasetDeclaration
from ethicsdb.schemas.items import ITEM_KINDS
from ethicsdb.schemas.rubrics import NumberedRubric

__all__ = ["dataset_faults", "field_faults", "payload_fields", "required_fields"]


@cache
def payload_fields(kind: str) -> tuple[str, ...]:
    """The fields of an item kind that a declaration may fill."""
    return tuple(name for name in ITEM_KINDS[kind].model_fields if name != "item_id" and not name.endswith("_exact"))


@cache
def required_fields(kind: str) -> tuple[str, ...]:
    """The fields of an item kind that every row must have."""
    return tuple(name for name in payload_fields(kind) if ITEM_KINDS[kind].model_fields[name].is_required())


def field_faults(declarations: Declarations) -> Iterator[str]:
    """Faults of data sets and benchmarks that show only beside the item kinds, each `file:line: sentence`."""
    for found in declarations.by_kind["dataset"].values():
        for fault in dataset_faults(found.declaration):
            yield _placed(found, fault)
    for found in declarations.by_kind["benchmark"].values():
        dataset = declarations.dataset(found.declaration.dataset)
        if dataset.schema_ in ITEM_KINDS:
            for fault in _benchmark_faults(declarations, found.declaration, payload_fields(dataset.schema_)):
                yield _placed(found, fault)


def _placed(found: Found, fault: str) -> str:
    key, _, rest = fault.partition(": ")
    return f"{found.at(key)}: {rest}"


def dataset_faults(dataset: DatasetDeclaration) -> list[str]:
    """What is wrong with a data set's mapping; empty where it can be built."""
    if dataset.schema_ not in ITEM_KINDS:
        return [f"schema: `{dataset.schema_}` is no item kind{near(dataset.schema_, list(ITEM_KINDS))}"]
    known = payload_fields(dataset.schema_)
    named: dict[str, list[str]] = {
        "fields": [*dataset.fields],
        "constants": [*dataset.constants],
        "sources.values": [name for source in dataset.sources for name in source.values],
        "group": [*dataset.group],
        "link.within": [*dataset.link.within] if dataset.link else [],
    }
    faults = [
        f"{where}: {dataset.schema_} has no field `{name}`{near(name, known)}"
        for where, names in named.items()
        for name in dict.fromkeys(names)
        if name not in known
    ]
    faults += [f"recode: `{name}` is none of `fields`" for name in dataset.recode if name not in dataset.fields]
    for source in dataset.sources:
        filled = {*dataset.fields, *dataset.constants, *source.values}
        faults += [
            f"fields: nothing fills `{name}` for {source.path}; map a column, or set it in `constants`"
            for name in required_fields(dataset.schema_)
            if name not in filled
        ]
    return faults


def _benchmark_faults(
    declarations: Declarations, benchmark: BenchmarkDeclaration, known: Sequence[str]
) -> Iterator[str]:
    for name in _template_fields(benchmark.prompt.template):
        if name not in known:
            yield f"prompt.template: the items have no field `{name}`{near(name, known)}"
    for judge in benchmark.judges:
        rubric = declarations.rubric(declarations.judge(judge).rubric).rubric
        if isinstance(rubric, NumberedRubric) and rubric.by not in known:
            yield f"judges: the rubric of `{judge}` goes by `{rubric.by}`, a field that the items do not have"


def _template_fields(template: str) -> list[str]:
    """Names in the braces of a template."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]
