"""Declarations: what a YAML file may say. Unknown keys are errors, so that a slip of the pen can't change a number."""

from __future__ import annotations

from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ethicsdb.schemas.outcomes import Variant
from ethicsdb.schemas.rubrics import RubricDeclaration

__all__ = [
    "BY_KIND",
    "BenchmarkDeclaration",
    "DatasetDeclaration",
    "Declaration",
    "JudgeDeclaration",
    "Link",
    "MetricDeclaration",
    "MetricsDeclaration",
    "ModelDeclaration",
    "Prompt",
    "PublishedDeclaration",
    "ReaderName",
    "Sampling",
    "Source",
]

ReaderName = Literal[
    "association",
    "bbq",
    "crows_pairs",
    "eagle",
    "moca",
    "redditbias",
    "redditbias_pairs",
    "stereoset",
    "toxigen",
]
NAME = r"^[a-z0-9][a-z0-9_.-]*$"
Name = Annotated[str, Field(pattern=NAME, max_length=64)]


class Strict(BaseModel):
    """A part of a declaration: no unknown keys, no silent conversion of text to numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Strict):
    """A file of a data set."""

    path: str = Field(description="file name; `sample:NAME` is a small sample that ships with ethicsdb")
    format: Literal["csv", "tsv", "jsonl", "json"] = "csv"
    reader: ReaderName | None = Field(default=None, description="makes flat rows of a file that is no plain table")
    companion: str | None = Field(default=None, description="a second file that the reader joins to the rows")
    companion_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    split: str | None = Field(default=None, description="the split of this file's rows, where files are splits")
    encoding: str = "utf-8"
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    values: dict[str, str] = Field(default_factory=dict, description="fields that are the same for every row")


class Licence(Strict):
    """Under which terms the data stands, and whether it may be passed on."""

    name: str
    url: str | None = None
    redistribution: bool = Field(description="may the rows be published again?")
    note: str | None = None


class Link(Strict):
    """How a variant finds the direct question that it varies."""

    id: str = Field(description="the column whose value the variants of one question share")
    within: list[str] = Field(default_factory=list, description="fields that must agree too, where ids collide")


class DatasetDeclaration(Strict):
    """A data set: where it comes from, what its rows are, what may be done with it."""

    kind: Literal["dataset"]
    name: Name
    title: str
    schema_: str = Field(alias="schema", description="the item kind")
    sources: list[Source] = Field(min_length=1)
    homepage: str | None = None
    fields: dict[str, str] = Field(description="item field: source column")
    constants: dict[str, str] = Field(default_factory=dict, description="item field: one value for all rows")
    recode: dict[str, dict[str, str]] = Field(default_factory=dict, description="item field: {source value: value}")
    null_values: list[str] = Field(default_factory=list, description="cells that mean 'no value'")
    id: str | None = Field(default=None, description="column that names a row; `link` has its own")
    group: list[str] = Field(default_factory=list, description="fields: rows that agree in them are one cluster")
    variant: str | None = Field(default=None, description="column that tells direct, indirect and harmless apart")
    variants: dict[str, Variant] = Field(default_factory=dict)
    link: Link | None = None
    split: str = "test"
    languages: list[str] = Field(min_length=1)
    licence: Licence
    access: Literal["open", "gated", "agreement"]
    citation: str
    notes: str | None = None

    @model_validator(mode="after")
    def _variant_values(self) -> DatasetDeclaration:
        if self.variant and not self.variants:
            raise ValueError("`variant` names a column, so `variants` must say what its values mean")
        if self.link and (self.id or self.group):
            raise ValueError("`link` names rows and makes clusters, so `id` and `group` can't stand beside it")
        if any(source.companion and source.reader is None for source in self.sources):
            raise ValueError("`companion` is joined by a `reader`; a plain table has none")
        overlap = set(self.fields) & set(self.constants)
        if overlap:
            raise ValueError(f"{sorted(overlap)[0]} is both a field and a constant")
        return self


class Prompt(Strict):
    """How an item becomes a request."""

    template: str = "{question}"
    system: str | None = None

    @field_validator("template")
    @classmethod
    def _holds_a_field(cls, value: str) -> str:
        try:
            names = [name for _, name, _, _ in Formatter().parse(value) if name is not None]
        except ValueError as error:
            raise ValueError(f"its braces do not match ({error}); write {{{{ and }}}} for plain ones") from error
        if not names:
            raise ValueError("the template holds no {field}, so every item would be asked the same")
        return value


class Sampling(Strict):
    """How an answer is drawn; every field is part of the answer's identity."""

    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=512, ge=1)
    seed: int | None = 0
    samples: int = Field(default=1, ge=1, le=100, description="answers an item")


class MetricDeclaration(Strict):
    """A share of verdicts: which label counts, out of what, and which way is better."""

    name: Name
    display: str
    description: str
    direction: Literal["lower", "higher"]
    unit: str = "share"
    attribute: str
    positive: list[str] = Field(min_length=1)
    denominator: Literal["scored", "all"] = "scored"
    variants: list[Variant] | None = None
    rule: Literal["strict", "published"] = "strict"
    source: str


class BenchmarkDeclaration(Strict):
    """A benchmark: data, prompt, judge, metrics."""

    kind: Literal["benchmark"]
    name: Name
    version: str = Field(pattern=r"^[1-9][0-9]*-[A-Z]$", description="N-X; N changes when results stop comparing")
    title: str
    dataset: Name
    prompt: Prompt = Prompt()
    runner: Literal["generate"] = "generate"
    sampling: Sampling = Sampling()
    judges: list[Name] = Field(min_length=1, description="the first is used where none is named")
    metric_sets: list[Name] = Field(default_factory=list, description="named sets of metrics, in front of its own")
    metrics: list[MetricDeclaration] = Field(default_factory=list)
    primary: Name
    notes: str | None = None

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
    metrics: list[MetricDeclaration] = Field(min_length=1)


class Price(Strict):
    """Money for a million tokens, in US dollars."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class ModelDeclaration(Strict):
    """Something that answers requests."""

    kind: Literal["model"]
    name: Name
    title: str | None = None
    backend: Literal["openai", "embedded", "import"]
    id: str = Field(description="the model's id at its endpoint, or the embedded model's name")
    revision: str | None = None
    base_url: str | None = None
    api_key_env: str | None = Field(default=None, description="environment variable that holds the key; never the key")
    context: int | None = Field(default=None, ge=1)
    price: Price | None = None
    concurrency: int = Field(default=8, ge=1, le=1024)
    weights_sha256: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="of an embedded model's file"
    )
    json_schema: bool = Field(default=False, description="the endpoint holds answers to a JSON schema")


class JudgeDeclaration(Strict):
    """A rubric and the model that applies it; rules need no model."""

    kind: Literal["judge"]
    name: Name
    title: str
    rubric: Name
    model: str | None = None
    sampling: Sampling = Sampling(max_tokens=256)


class PublishedRow(Strict):
    """A model's figures in a published table."""

    model: str
    values: dict[str, float] = Field(description="metric, or metric@slice=value: figure as printed")
    hits: dict[str, int] = Field(default_factory=dict, description="counts, only where the paper prints them")
    n: int | None = None
    note: str | None = None


class PublishedDeclaration(Strict):
    """A paper's table, kept beside our own rows and marked as the paper's."""

    kind: Literal["published"]
    name: Name
    paper: str
    table: str
    benchmark: Name
    major: int = Field(ge=1)
    judge: str
    rows: list[PublishedRow] = Field(min_length=1)


Declaration = (
    DatasetDeclaration
    | BenchmarkDeclaration
    | MetricsDeclaration
    | ModelDeclaration
    | JudgeDeclaration
    | PublishedDeclaration
    | RubricDeclaration
)
BY_KIND: dict[str, Any] = {
    "dataset": DatasetDeclaration,
    "benchmark": BenchmarkDeclaration,
    "metrics": MetricsDeclaration,
    "model": ModelDeclaration,
    "judge": JudgeDeclaration,
    "published": PublishedDeclaration,
    "rubric": RubricDeclaration,
}
