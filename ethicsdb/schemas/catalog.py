"""Catalog tables: what is declared and what was made, a row each."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint
from sqlmodel import Field

from ethicsdb.schemas.tables import Catalog

__all__ = [
    "Benchmark",
    "CurrentJudge",
    "Dataset",
    "DatasetVersion",
    "Journal",
    "Judge",
    "Meta",
    "Metric",
    "Migration",
    "Model",
    "Prompt",
    "PublishedResult",
    "Run",
    "TQuantile",
]


class Dataset(Catalog, table=True):
    """A declared data set; the row mirrors its declaration, versions keep the one they were built under."""

    name: str = Field(primary_key=True)
    title: str
    kind: str  # the item kind, and the name of the table that holds its payloads
    languages: str  # comma-separated BCP 47 codes
    licence: str
    access: str  # open | gated | agreement
    citation: str
    declaration: str  # JSON, so that a reader of the file alone sees how it was built

    __table_args__ = (CheckConstraint("access in ('open', 'gated', 'agreement')", name="dataset_access"),)


class DatasetVersion(Catalog, table=True):
    """One version of a data set: a multiset of rows, whatever their order in the source."""

    dataset: str = Field(primary_key=True)
    version: str = Field(primary_key=True)  # v1, v2, ...
    number: int
    fingerprint: str
    rows: int  # occurrences
    items: int  # distinct items
    source: str  # file name(s) as given
    source_sha256: str
    declaration_fingerprint: str
    declaration: str
    built_at: datetime

    __tablename__ = "dataset_version"
    __table_args__ = (
        CheckConstraint("rows >= 0 and items >= 0 and items <= rows", name="dataset_version_counts"),
        CheckConstraint("number >= 1", name="dataset_version_number"),
    )


class Prompt(Catalog, table=True):
    """How an item becomes a request."""

    fingerprint: str = Field(primary_key=True)
    template: str
    system: str | None = None


class Model(Catalog, table=True):
    """An identity that answers; any change of weights, template or precision is another row."""

    fingerprint: str = Field(primary_key=True)
    name: str  # as declared, or as given to the import
    backend: str  # openai | embedded | import | hf
    model_id: str
    revision: str | None = None
    identity: str  # JSON of every field that enters the fingerprint


class Judge(Catalog, table=True):
    """A judge: a model (or rules) with a rubric and a parser."""

    fingerprint: str = Field(primary_key=True)
    name: str
    rubric: str
    rubric_fingerprint: str
    model_fingerprint: str | None = None  # NULL for rules, which ask nobody
    parser: str
    parser_version: str
    identity: str


class CurrentJudge(Catalog, table=True):
    """The identity that each declared judge has now; boards show these unless asked for older ones."""

    name: str = Field(primary_key=True)
    fingerprint: str

    __tablename__ = "current_judge"


class Benchmark(Catalog, table=True):
    """A declared benchmark. Results of different `major` numbers are never compared."""

    name: str = Field(primary_key=True)
    major: int = Field(primary_key=True)
    minor: str
    title: str
    dataset: str
    primary_metric: str
    declaration: str


class Metric(Catalog, table=True):
    """A number that a benchmark reports, and by which rule."""

    benchmark: str = Field(primary_key=True)
    major: int = Field(primary_key=True)
    metric: str = Field(primary_key=True)
    display: str
    description: str
    direction: str  # lower | higher: which is better
    unit: str
    attribute: str  # the verdict label that is counted
    positive: str  # JSON list of the label's values that count as 1
    denominator: str  # scored: outcomes that were scored; all: every asked-for item
    variants: str | None = None  # JSON list: only these variants; NULL: all rows
    rule: str  # strict | published
    source: str

    __table_args__ = (
        CheckConstraint("direction in ('lower', 'higher')", name="metric_direction"),
        CheckConstraint("denominator in ('scored', 'all')", name="metric_denominator"),
        CheckConstraint("rule in ('strict', 'published')", name="metric_rule"),
    )


class Run(Catalog, table=True):
    """One model on one version of one benchmark's data."""

    run_id: str = Field(primary_key=True)
    benchmark: str
    major: int
    dataset: str
    version: str
    model_fingerprint: str
    prompt_fingerprint: str | None = None
    sampling: str  # JSON
    item_limit: int | None = None  # asked only so many items, drawn by their hash; NULL: all
    n_expected: int
    role: str  # evaluation | annotation_sample (answers that people labelled: on agreement boards only)
    source: str  # run | import
    started_at: datetime

    __table_args__ = (
        CheckConstraint("role in ('evaluation', 'annotation_sample')", name="run_role"),
        CheckConstraint("source in ('run', 'import')", name="run_source"),
        CheckConstraint("n_expected >= 0", name="run_n_expected"),
    )


class PublishedResult(Catalog, table=True):
    """A figure as a paper prints it. Intervals stay NULL and counts are never worked back from rounded rates."""

    paper: str = Field(primary_key=True)
    table_name: str = Field(primary_key=True)
    benchmark: str = Field(primary_key=True)
    major: int = Field(primary_key=True)
    model: str = Field(primary_key=True)
    metric: str = Field(primary_key=True)
    slice: str = Field(primary_key=True)
    slice_value: str = Field(primary_key=True)
    judge: str
    value: float
    hits: int | None = None
    n: int | None = None
    note: str | None = None

    __tablename__ = "published_result"


class Journal(Catalog, table=True):
    """How far each journal has been read into this file; moves in the same transaction as the rows."""

    name: str = Field(primary_key=True)
    byte_offset: int


class Migration(Catalog, table=True):
    """A change of the schema that this file has been through."""

    name: str = Field(primary_key=True)
    number: int
    applied_at: datetime


class TQuantile(Catalog, table=True):
    """0.975 quantiles of Student's t, so that views need nothing but built-in functions."""

    df: float = Field(primary_key=True)
    q: float

    __tablename__ = "t_quantile"


class Meta(Catalog, table=True):
    """What this file knows of itself: the fingerprint of the schema and of the declarations that it mirrors."""

    key: str = Field(primary_key=True)
    value: str
