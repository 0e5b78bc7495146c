"""What a declaration may say of the tables, beyond its own form: fields that exist, and all that must be filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from ethicsdb.registry.benchmark_checks import benchmark_faults
from ethicsdb.registry.declared import Declarations, Found, near
from ethicsdb.schemas.declared import DatasetDeclaration, JudgeDeclaration
from ethicsdb.schemas.items import ITEM_KINDS
from ethicsdb.schemas.plausible import endpoint_fault
from ethicsdb.schemas.rubrics import ChoiceRubric, ClassifierRubric, LabelsRubric, RefusalRubric, Rubric

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
    """Faults of data sets, judges and benchmarks that show only beside the item kinds, each `file:line: sentence`."""
    for found in declarations.by_kind["dataset"].values():
        for fault in dataset_faults(found.declaration):
            yield _placed(found, fault)
    for found in declarations.by_kind["judge"].values():
        faults = [*_judge_faults(found.declaration, declarations.rubric(found.declaration.rubric).rubric)]
        for fault in (*faults, *_screen_faults(declarations, found.declaration)):
            yield _placed(found, fault)
    for found in declarations.by_kind["benchmark"].values():
        dataset = declarations.dataset(found.declaration.dataset)
        if dataset.schema_ in ITEM_KINDS:
            known = payload_fields(dataset.schema_)
            for fault in benchmark_faults(declarations, found.declaration, known):
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
    return faults + _main_faults(dataset, known) + _language_faults(dataset)


def _main_faults(dataset: DatasetDeclaration, known: Sequence[str]) -> list[str]:
    """The main text, without which there is nothing to ask, and the fields that make clusters."""
    main = ITEM_KINDS[dataset.schema_].exact[0]
    faults = []
    if main not in dataset.fields:
        faults.append(
            f"fields: no column is mapped to `{main}`, the main text of {dataset.schema_}; add `{main}: COLUMN`"
        )
    anywhere = {*dataset.fields, *dataset.constants, *(name for source in dataset.sources for name in source.values)}
    named = {"group": dataset.group, "link.within": dataset.link.within if dataset.link else []}
    faults += [
        f"{where}: nothing fills `{name}`, so all rows would agree in it; map a column in `fields`"
        for where, names in named.items()
        for name in names
        if name in known and name not in anywhere
    ]
    return faults


def _language_faults(dataset: DatasetDeclaration) -> list[str]:
    """Languages that rows are said to have and the data set is not."""
    said = [("constants", dataset.constants.get("language"))]
    said += [("sources.values", source.values.get("language")) for source in dataset.sources]
    said += [("recode", value) for value in dataset.recode.get("language", {}).values()]
    return [
        f"{where}: language `{value}` is none of `languages` ({', '.join(dataset.languages)}); add or mend it"
        for where, value in dict.fromkeys(said)
        if value is not None and value not in dataset.languages
    ]


def _judge_faults(judge: JudgeDeclaration, rubric: Rubric) -> Iterator[str]:
    if isinstance(rubric, (RefusalRubric, ChoiceRubric)):
        if judge.model is not None:
            yield f"model: the rubric `{judge.rubric}` is rules, which ask nobody; leave `model` out"
    elif judge.model is None:
        yield f"rubric: `{judge.rubric}` is applied by a model; name it in `model` (`ethicsdb list model`)"
    elif isinstance(rubric, ClassifierRubric):
        return
    elif judge.model.startswith("openai:"):
        fault = endpoint_fault("http" + judge.model.partition("@http")[2])
        if fault:
            yield f"model: {fault}"


def _screen_faults(declarations: Declarations, judge: JudgeDeclaration) -> Iterator[str]:
    """Why a judge can't be the screen of another: what it calls `none` must be one of the other's verdicts."""
    if judge.screen is None:
        return
    screen = declarations.judge(judge.screen)
    own, first = (declarations.rubric(each.rubric).rubric for each in (judge, screen))
    if screen.screen is not None:
        yield f"screen: `{screen.name}` has a screen itself; name its judge `{screen.screen}` or write one without"
    if not isinstance(own, LabelsRubric) or not isinstance(first, LabelsRubric):
        which = judge.rubric if not isinstance(own, LabelsRubric) else screen.rubric
        yield f"screen: a screen and its judge need rubrics of the form `labels`; `{which}` is of another"
    elif (own.attribute, [*own.labels], own.none) != (first.attribute, [*first.labels], first.none):
        yield f"screen: the rubrics `{screen.rubric}` and `{judge.rubric}` differ in `attribute`, `labels` or `none`"
