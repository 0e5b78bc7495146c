"""What a benchmark promises and can't keep: fields that nothing fills, metrics that no judge of it can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ethicsdb.registry.declared import Declarations, near
from ethicsdb.schemas.asks import QUANTITIES
from ethicsdb.schemas.declared import BenchmarkDeclaration, DatasetDeclaration, MetricDeclaration
from ethicsdb.schemas.plausible import template_fields
from ethicsdb.schemas.rubrics import NumberedRubric, Rubric, attributes_of

__all__ = ["benchmark_faults"]

# Item kinds that a form of likelihood benchmarks can ask.
FORM_KINDS: dict[str, tuple[str, ...]] = {
    "exchange": ("conversation", "choice_question"),
    "choice": ("choice_question",),
    "sentences": ("sentence_pair",),
    "shared_tokens": ("sentence_pair",),
}
# What a rubric's prompt may name besides the fields of the items.
OF_JUDGING = ("answer", "fence", "questions", "classes", "examples")


def benchmark_faults(
    declarations: Declarations, benchmark: BenchmarkDeclaration, known: Sequence[str]
) -> Iterator[str]:
    """Faults of a benchmark, each `key: sentence`.

    Args:
        known: the fields of its items.
    """
    dataset = declarations.dataset(benchmark.dataset)
    yield from _item_faults(benchmark, known)
    yield from _pool_faults(declarations, benchmark)
    if benchmark.runner == "generate":
        yield from _template_faults("prompt.template", benchmark.prompt.template, dataset, known)
    elif benchmark.likelihood is None:
        if dataset.schema_ != "association_test":
            yield f"runner: `vectors` compares items of kind association_test; {dataset.name} holds {dataset.schema_}"
    elif dataset.schema_ not in FORM_KINDS[benchmark.likelihood.form]:
        kinds = " or ".join(FORM_KINDS[benchmark.likelihood.form])
        yield (
            f"likelihood.form: `{benchmark.likelihood.form}` asks items of kind {kinds}; {dataset.name} holds "
            f"{dataset.schema_}"
        )
    elif dataset.schema_ == "choice_question":
        yield from _template_faults("likelihood.template", benchmark.likelihood.template, dataset, known)
    rubrics = {name: declarations.rubric(declarations.judge(name).rubric).rubric for name in benchmark.judges}
    for judge, rubric in rubrics.items():
        yield from _rubric_faults(judge, rubric, known)
    own = {metric.name for metric in benchmark.metrics} - {
        metric.name
        for each in benchmark.metric_sets
        for metric in declarations.by_kind["metrics"][each].declaration.metrics
    }
    told = {name: attributes_of(rubric) for name, rubric in rubrics.items()}
    for metric in benchmark.metrics:
        faults = _quantity_faults(metric, benchmark) if metric.attribute is None else _metric_faults(metric, told)
        for fault in faults:
            yield f"{'metrics' if metric.name in own else 'metric_sets'}: {fault}"
    yield from _primary_faults(benchmark, dataset, told)


def _item_faults(benchmark: BenchmarkDeclaration, known: Sequence[str]) -> Iterator[str]:
    for name in benchmark.items:
        if name not in known:
            yield f"items: the items have no field `{name}`{near(name, known)}"


def _pool_faults(declarations: Declarations, benchmark: BenchmarkDeclaration) -> Iterator[str]:
    """Pools of examples that name no benchmark whose items are exchanges."""
    found = {name: declarations.benchmark(name).likelihood for name in declarations.names("benchmark")}
    able = [name for name, ask in found.items() if ask is not None and ask.form == "exchange"]
    for pool, names in (benchmark.likelihood.pools if benchmark.likelihood else {}).items():
        for name in names:
            if name not in able:
                yield f"likelihood.pools.{pool}: `{name}` is no benchmark of the form `exchange`{near(name, able)}"


def _template_faults(place: str, template: str, dataset: DatasetDeclaration, known: Sequence[str]) -> Iterator[str]:
    filled = {*dataset.fields, *dataset.constants, *(name for source in dataset.sources for name in source.values)}
    if dataset.schema_ == "conversation" and "context" in template_fields(template) and template.strip() != "{context}":
        yield f"{place}: a conversation's `{{context}}` is sent turn by turn, so that it can only stand alone"
    for name in template_fields(template):
        if name not in known:
            yield f"{place}: the items have no field `{name}`{near(name, known)}"
        elif name not in filled:
            yield f"{place}: nothing fills `{name}` in {dataset.name}; map a column in its `fields`"


def _rubric_faults(judge: str, rubric: Rubric, known: Sequence[str]) -> Iterator[str]:
    if isinstance(rubric, NumberedRubric) and rubric.by not in known:
        yield f"judges: the rubric of `{judge}` goes by `{rubric.by}`, a field that the items do not have"
    prompt = getattr(rubric, "prompt", None)
    for name in template_fields(prompt) if prompt else []:
        if name not in known and name not in OF_JUDGING:
            yield f"judges: the prompt of `{judge}` names `{name}`, a field that the items do not have"


Told = dict[str, dict[str, list[str]]]  # judge: attribute: values


def _metric_faults(metric: MetricDeclaration, told: Told) -> Iterator[str]:
    attribute = str(metric.attribute)
    able = {judge: given[attribute] for judge, given in told.items() if attribute in given}
    if not able:
        there = sorted({attribute for given in told.values() for attribute in given})
        yield (f"`{metric.name}` counts `{attribute}`, which no judge of this benchmark gives{near(attribute, there)}")
        return
    values = list(dict.fromkeys(value for given in able.values() for value in given))
    for value in metric.positive:
        if value not in values:
            yield f"`{metric.name}` counts `{value}`, no value of `{metric.attribute}`{near(value, values)}"


def _quantity_faults(metric: MetricDeclaration, benchmark: BenchmarkDeclaration) -> Iterator[str]:
    given = QUANTITIES[benchmark.measure] if benchmark.measure else ()
    if metric.quantity not in given:
        instead = f"{benchmark.measure}, which gives {', '.join(given)}" if given else "none is named"
        yield f"`{metric.name}` is the number `{metric.quantity}` of a measure; the benchmark's measure: {instead}"


def _primary_faults(benchmark: BenchmarkDeclaration, dataset: DatasetDeclaration, told: Told) -> Iterator[str]:
    primary = next(metric for metric in benchmark.metrics if metric.name == benchmark.primary)
    able = [judge for judge in benchmark.judges if primary.attribute in told[judge]]
    if able and benchmark.judges[0] not in able:
        possible = [each.name for each in benchmark.metrics if each.attribute in told[benchmark.judges[0]]]
        instead = f", or make one of {', '.join(possible)} the primary metric" if possible else ""
        yield (
            f"primary: `{primary.name}` counts `{primary.attribute}`, which the default judge `{benchmark.judges[0]}` "
            f"does not give; put {' or '.join(able)} first in `judges`{instead}"
        )
    have = set(dataset.variants.values())
    if primary.variants and not have & set(primary.variants):
        yield f"primary: `{primary.name}` counts {', '.join(primary.variants)} rows only, and {dataset.name} has none"
