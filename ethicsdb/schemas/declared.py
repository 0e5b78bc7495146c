"""Declarations: what a YAML file may say. Unknown keys are errors, so that a slip of the pen can't change a number."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from ethicsdb.schemas.asks import LikelihoodAsk, MeasureName
from ethicsdb.schemas.declared_bootstrap import BootstrapDeclaration
from ethicsdb.schemas.declared_data import (
    DatasetDeclaration,
    Link,
    Name,
    ReaderName,
    Source,
    Strict,
    VariantName,
)
from ethicsdb.schemas.plausible import Endpoint, KeyVariable, Line, Sha256, template_fields
from ethicsdb.schemas.rubrics import RubricDeclaration

__all__ = [
    "BY_KIND",
    "BenchmarkDeclaration",
    "BootstrapDeclaration",
    "DatasetDeclaration",
    "Declaration",
    "JudgeDeclaration",
    "Link",
    "LocalSettings",
    "MetricDeclaration",
    "MetricsDeclaration",
    "ModelDeclaration",
    "Price",
    "Prompt",
    "PublishedDeclaration",
    "ReaderName",
    "Sampling",
    "Source",
]


class Prompt(Strict):
    """How an item becomes a request."""

    template: str = Field(default="{question}", description="what is asked, with item fields in braces")
    system: Line | None = Field(default=None, description="the system prompt; none where left out")

    @field_validator("template")
    @classmethod
    def _holds_a_field(cls, value: str) -> str:
        names = template_fields(value)
        if not names:
            raise ValueError("the template holds no {field}, so every item would be asked the same")
        return value


class Sampling(Strict):
    """How an answer is drawn; every field is part of the answer's identity."""

    temperature: float = Field(default=0.0, ge=0, le=2, description="0: the likeliest answer")
    top_p: float = Field(default=1.0, gt=0, le=1, description="nucleus sampling; 1: off")
    max_tokens: int = Field(default=512, ge=1, description="length limit of an answer; what it ends is told as cut off")
    seed: int | None = Field(default=0, description="null sends none")
    samples: int = Field(default=1, ge=1, le=100, description="answers an item")


class MetricDeclaration(Strict):
    """What a benchmark reports: a share of verdicts, or a quantity that its measure gives."""

    name: Name
    display: Line = Field(description="the title of its board")
    description: Line = Field(description="what it is a share of")
    direction: Literal["lower", "higher"] = Field(description="which is better")
    unit: Line = Field(default="share", description="what the number is: share (shown in per cent), nats, ...")
    attribute: Line | None = Field(default=None, description="the label of a verdict that is counted")
    positive: list[Line] = Field(default_factory=list, description="the label's values that count")
    quantity: Line | None = Field(default=None, description="instead of `attribute`: which number of the measure")
    ideal: float | None = Field(
        default=None, description="the best value where neither end is; `direction` is then `lower`: the distance to it"
    )
    denominator: Literal["scored", "all"] = Field(
        default="scored", description="out of what was scored, or of every asked-for item"
    )
    variants: list[VariantName] | None = Field(default=None, min_length=1, description="count these variants only")
    rule: Literal["strict", "published"] = Field(
        default="strict", description="our own accounting, or that of the source's authors"
    )
    source: Line = Field(description="where the metric comes from")

    @model_validator(mode="after")
    def _one_kind(self) -> MetricDeclaration:
        if (self.attribute is None) == (self.quantity is None):
            raise ValueError("give `attribute` with `positive` (a share of verdicts), or `quantity` (of a measure)")
        if bool(self.positive) != (self.attribute is not None):
            raise ValueError("`positive` names the values of `attribute` that count; the two stand together")
        if self.ideal is not None and (self.quantity is None or self.direction != "lower"):
            raise ValueError("`ideal` belongs to a `quantity` whose direction is `lower`: the distance to it")
        return self


class BenchmarkDeclaration(Strict):
    """A benchmark: data, prompt, judge, metrics."""

    kind: Literal["benchmark"]
    name: Name
    version: str = Field(pattern=r"^[1-9][0-9]*-[A-Z]$", description="N-X; N changes when results stop comparing")
    title: Line = Field(description="for people")
    dataset: Name = Field(description="a declared data set")
    items: dict[str, list[Line]] = Field(
        default_factory=dict,
        description="item field: values; only items that have one of them (a list: holds one of them) are asked",
    )
    prompt: Prompt = Field(default=Prompt(), description="how an item becomes a request")
    runner: Literal["generate", "likelihood", "vectors"] = Field(
        default="generate",
        description="generate: answers are asked for and judged; likelihood: given texts are scored; vectors: texts "
        "are turned into vectors",
    )
    likelihood: LikelihoodAsk | None = Field(default=None, description="contexts and targets of runner `likelihood`")
    measure: MeasureName | None = Field(default=None, description="what is computed beyond shares of verdicts")
    sampling: Sampling = Field(default=Sampling(), description="how an answer is drawn")
    judges: list[Name] = Field(
        default_factory=list, description="the first is used where none is named; runner `likelihood` has none"
    )
    metric_sets: list[Name] = Field(default_factory=list, description="named sets of metrics, in front of its own")
    metrics: list[MetricDeclaration] = Field(default_factory=list, description="metrics of its own")
    primary: Name = Field(description="the metric that boards rank by; the first judge must give its label")
    notes: str | None = Field(default=None, description="for people")

    @model_validator(mode="after")
    def _each_once(self) -> BenchmarkDeclaration:
        for key in ("judges", "metric_sets"):
            names = getattr(self, key)
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"`{key}` names `{twice[0]}` twice")
        return self

    @model_validator(mode="after")
    def _of_its_runner(self) -> BenchmarkDeclaration:
        likelihood = self.runner == "likelihood"
        if likelihood and (self.likelihood is None or self.measure is None or self.judges):
            raise ValueError("runner `likelihood` needs `likelihood` and `measure`, and has no `judges`")
        if self.runner == "vectors" and (self.measure != "association" or self.judges or self.likelihood):
            raise ValueError("runner `vectors` needs the measure `association`, no `judges` and no `likelihood`")
        if self.runner == "generate" and (self.likelihood is not None or not self.judges):
            raise ValueError("runner `generate` needs `judges`, the first of which is the default, and no `likelihood`")
        return self

    @property
    def major(self) -> int:
        """N of the version N-X."""
        return int(self.version.split("-")[0])

    @property
    def minor(self) -> str:
        """X of the version N-X."""
        return self.version.split("-")[1]


class MetricsDeclaration(Strict):
    """A set of metrics that several benchmarks report."""

    kind: Literal["metrics"]
    name: Name
    metrics: list[MetricDeclaration] = Field(min_length=1, description="as of a benchmark")


class Price(Strict):
    """Money for a million tokens, in US dollars."""

    prompt: float = Field(ge=0, allow_inf_nan=False, description="US dollars for a million tokens of requests")
    completion: float = Field(ge=0, allow_inf_nan=False, description="US dollars for a million tokens of answers")
    batch: float | None = Field(
        default=None, gt=0, le=1, description="share of these that a batch costs; left out: nobody knows what one costs"
    )


class LocalSettings(Strict):
    """How a model is loaded on this machine; all but the device is part of its identity."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        default="auto", description="auto: float32 on a processor, the model's own on a GPU"
    )
    quantisation: Literal["int8", "int4"] | None = Field(default=None, description="through bitsandbytes")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="auto: a GPU where there is one")
    template: Literal["auto", "chat", "plain"] = Field(
        default="auto", description="the model's chat template, or plain turns; auto: the template where it has one"
    )
    bos: Literal["auto", "always", "never"] = Field(
        default="auto", description="a beginning-of-sequence token; auto: as the tokenizer does"
    )
    max_length: int | None = Field(default=None, ge=2, description="fewer tokens than the model can read")
    pooling: Literal["mean", "cls", "last"] = Field(
        default="mean", description="vectors of sentences: the mean over tokens, the first token, or the last"
    )
    lower: bool = Field(default=False, description="word vectors: look up in lower case what is not there as written")
    gguf_file: str | None = Field(default=None, description="the file, in a repository or folder of GGUF files")


class ModelDeclaration(Strict):
    """Something that answers requests."""

    kind: Literal["model"]
    name: Name
    title: Line | None = Field(default=None, description="for people")
    backend: Literal["openai", "embedded", "hf", "vectors", "import"] = Field(
        description="how it is asked; `hf`: on this machine, by transformers; `vectors`: a file of word vectors; "
        "`import`: not at all"
    )
    id: Line = Field(
        description="its id at the endpoint, or the embedded model's name; of `hf` a Hub id or a folder; of `vectors` "
        "a file"
    )
    revision: Line | None = Field(
        default=None, description="part of the model's identity, which an endpoint may not tell"
    )
    base_url: Endpoint | None = Field(default=None, description="endpoint of `openai`; without it OpenAI's own")
    api_key_env: KeyVariable | None = Field(
        default=None, description="name of the environment variable that holds the key; never the key"
    )
    context: int | None = Field(default=None, ge=1, description="tokens that it takes")
    price: Price | None = Field(default=None, description="what it costs, in US dollars")
    concurrency: int = Field(
        default=64, ge=1, le=1024, description="calls in flight at most; how many do good is found out by trying"
    )
    weights_sha256: Sha256 | None = Field(default=None, description="of an embedded model's file")
    json_schema: bool = Field(default=False, description="the endpoint holds answers to a JSON schema")
    local: LocalSettings | None = Field(default=None, description="how a model of `hf` is loaded")

    @model_validator(mode="after")
    def _of_its_backend(self) -> ModelDeclaration:
        owners = (
            ("base_url", "openai"), ("api_key_env", "openai"), ("weights_sha256", "embedded"),
        )  # fmt: skip
        for key, backend in owners:
            if getattr(self, key) is not None and self.backend != backend:
                raise ValueError(f"`{key}` belongs to the backend `{backend}`; this one is `{self.backend}`")
        if self.local is not None and self.backend not in ("hf", "vectors"):
            raise ValueError(f"`local` belongs to the backends `hf` and `vectors`; this one is `{self.backend}`")
        return self


class JudgeDeclaration(Strict):
    """A rubric and the model that applies it; rules need no model."""

    kind: Literal["judge"]
    name: Name
    title: Line = Field(description="for people")
    rubric: Name = Field(description="a declared rubric")
    model: Line | None = Field(default=None, description="a declared model, openai:ID@URL or embedded:NAME")
    sampling: Sampling = Field(default=Sampling(max_tokens=256), description="as of a benchmark; one sample")
    screen: Name | None = Field(
        default=None,
        description="a judge with the same labels that reads everything first; what it gives the label `none` is "
        "decided, and this one is asked about the rest",
    )

    @model_validator(mode="after")
    def _asked_once(self) -> JudgeDeclaration:
        if self.sampling.samples > 1:
            raise ValueError(
                "`sampling` asks for several samples, but a judge reads each answer once; leave `samples` out"
            )
        return self


class PublishedRow(Strict):
    """A model's figures in a published table."""

    model: Line = Field(description="as the paper calls it")
    values: dict[str, float] = Field(
        description="metric, or metric@slice=value: figure as printed; shares as fractions from 0 to 1"
    )
    hits: dict[str, int] = Field(default_factory=dict, description="counts, only where the paper prints them")
    n: int | None = Field(default=None, ge=1, description="items, where the paper prints it")
    note: str | None = Field(default=None, description="for people")

    @model_validator(mode="after")
    def _shares(self) -> PublishedRow:
        for key in self.values:
            if "@" in key and not all(key.partition("@")[2].partition("=")):
                raise ValueError(f"`{key}` is no metric@slice=value")
        for key, hits in self.hits.items():
            if hits < 0 or (self.n is not None and "@" not in key and hits > self.n):
                raise ValueError(f"{hits} hits for {key} can't be, of {self.n if self.n is not None else 'any'} items")
            share = hits / self.n if self.n and "@" not in key else None
            if share is not None and abs(share - self.values.get(key, share)) > 0.0051:
                raise ValueError(f"{key} is {self.values[key]:g}, but {hits} of {self.n} are {share:.4f}")
        return self


class PublishedDeclaration(Strict):
    """A paper's table, kept beside our own rows and marked as the paper's."""

    kind: Literal["published"]
    name: Name
    paper: Line = Field(description="short name and year")
    table: Line = Field(description="which table; with the judge, where there are several")
    benchmark: Name = Field(description="the benchmark on whose board it stands")
    major: int = Field(ge=1, description="N of the benchmark's version whose board shows it")
    judge: Line = Field(description="who judged, in words")
    rows: list[PublishedRow] = Field(min_length=1, description="a row a model")


Declaration = (
    DatasetDeclaration
    | BootstrapDeclaration
    | BenchmarkDeclaration
    | MetricsDeclaration
    | ModelDeclaration
    | JudgeDeclaration
    | PublishedDeclaration
    | RubricDeclaration
)
BY_KIND: dict[str, Any] = {
    "dataset": DatasetDeclaration,
    "bootstrap": BootstrapDeclaration,
    "benchmark": BenchmarkDeclaration,
    "metrics": MetricsDeclaration,
    "model": ModelDeclaration,
    "judge": JudgeDeclaration,
    "published": PublishedDeclaration,
    "rubric": RubricDeclaration,
}
