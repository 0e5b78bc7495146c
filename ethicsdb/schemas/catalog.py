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
    "JudgeAttribute",
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

    name: str = Field(primary_key=True)  # as declared
    title: str  # for people
    kind: str  # the item kind, and the name of the table that holds its payloads
    languages: str  # comma-separated BCP 47 codes
    licence: str  # the source's terms
    access: str  # open | gated | agreement
    citation: str  # whom to cite
    declaration: str  # JSON, so that a reader of the file alone sees how it was built

    __table_args__ = (CheckConstraint("access in ('open', 'gated', 'agreement')", name="dataset_access"),)


class DatasetVersion(Catalog, table=True):
    """One version of a data set: a multiset of rows, whatever their order in the source."""

    dataset: str = Field(primary_key=True)  # name of the data set
    version: str = Field(primary_key=True)  # v1, v2, ...
    number: int  # 1, 2, ...
    fingerprint: str  # of the rows, whatever their order
    rows: int  # occurrences
    items: int  # distinct items
    source: str  # file name(s) as given
    source_sha256: str  # checksum of the file(s)
    declaration_fingerprint: str  # of the declaration that it was built under
    declaration: str  # JSON
    built_at: datetime  # when

    __tablename__ = "dataset_version"
    __table_args__ = (
        CheckConstraint("rows >= 0 and items >= 0 and items <= rows", name="dataset_version_counts"),
        CheckConstraint("number >= 1", name="dataset_version_number"),
    )


class Prompt(Catalog, table=True):
    """How an item becomes a request."""

    fingerprint: str = Field(primary_key=True)  # of template and system prompt
    template: str  # with item fields in braces
    system: str | None = None  # the system prompt; NULL: none


class Model(Catalog, table=True):
    """An identity that answers; any change of weights, template or precision is another row."""

    fingerprint: str = Field(primary_key=True)  # of everything that makes it what it is
    name: str  # as declared, or as given to the import
    backend: str  # openai | embedded | import | hf
    model_id: str  # the id at its endpoint, or the embedded model's name
    revision: str | None = None  # as declared
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


class JudgeAttribute(Catalog, table=True):
    """A label that a judge can give: metrics over it have a row under this judge, if without a number."""

    judge_fingerprint: str = Field(primary_key=True)
    attribute: str = Field(primary_key=True)
    possible: str  # JSON list: the values that the label can have

    __tablename__ = "judge_attribute"


class CurrentJudge(Catalog, table=True):
    """The identity that each declared judge has now; boards show these unless asked for older ones."""

    name: str = Field(primary_key=True)  # as declared
    fingerprint: str  # of the judge as it is declared now

    __tablename__ = "current_judge"


class Benchmark(Catalog, table=True):
    """A declared benchmark. Results of different `major` numbers are never compared."""

    name: str = Field(primary_key=True)  # as declared
    major: int = Field(primary_key=True)  # N of the version N-X
    minor: str  # X of the version N-X
    title: str  # for people
    dataset: str  # name of its data set
    primary_metric: str  # by which its board ranks
    declaration: str  # JSON


class Metric(Catalog, table=True):
    """A number that a benchmark reports, and by which rule."""

    benchmark: str = Field(primary_key=True)  # whose metric it is
    major: int = Field(primary_key=True)  # N of the version N-X
    metric: str = Field(primary_key=True)  # its name
    display: str  # the title of its board
    description: str  # what it is a share of
    direction: str  # lower | higher: which is better
    unit: str  # share, nats, ...
    attribute: str  # the verdict label that is counted; of a measure's number, what the measure calls it
    positive: str  # JSON list of the label's values that count as 1
    denominator: str  # scored: outcomes that were scored; all: every asked-for item
    variants: str | None = None  # JSON list: only these variants; NULL: all rows
    rule: str  # strict | published
    source: str  # where it comes from
    ideal: float | None = None  # the best value, where neither end is: `lower` is then the distance to it

    __table_args__ = (
        CheckConstraint("direction in ('lower', 'higher')", name="metric_direction"),
        CheckConstraint("denominator in ('scored', 'all')", name="metric_denominator"),
        CheckConstraint("rule in ('strict', 'published')", name="metric_rule"),
    )


class Run(Catalog, table=True):
    """One model on one version of one benchmark's data."""

    run_id: str = Field(primary_key=True)  # fingerprint of all that shapes the run
    benchmark: str  # what was asked
    major: int  # N of the version N-X
    dataset: str  # name of the data set
    version: str  # v1, v2, ... of the data set
    model_fingerprint: str  # who was asked
    prompt_fingerprint: str | None = None  # how items became requests
    sampling: str  # JSON
    item_limit: int | None = None  # asked only so many items, drawn by their hash; NULL: all
    n_expected: int  # asked-for answers: items times samples
    role: str  # evaluation | annotation_sample (answers that people labelled: on agreement boards only)
    source: str  # run | import
    started_at: datetime  # when the run was first begun, or imported

    __table_args__ = (
        CheckConstraint("role in ('evaluation', 'annotation_sample')", name="run_role"),
        CheckConstraint("source in ('run', 'import')", name="run_source"),
        CheckConstraint("n_expected >= 0", name="run_n_expected"),
    )


class PublishedResult(Catalog, table=True):
    """A figure as a paper prints it. Intervals stay NULL and counts are never worked back from rounded rates."""

    paper: str = Field(primary_key=True)  # short name and year
    table_name: str = Field(primary_key=True)  # which table of it
    benchmark: str = Field(primary_key=True)  # on whose board it stands
    major: int = Field(primary_key=True)  # N of the version N-X
    model: str = Field(primary_key=True)  # as the paper calls it
    metric: str = Field(primary_key=True)  # the metric that it is a figure of
    slice: str = Field(primary_key=True)  # overall, or the field that the board is cut by
    slice_value: str = Field(primary_key=True)  # value of that field; empty where overall
    judge: str  # who judged, in words
    value: float  # as printed, as a fraction
    hits: int | None = None  # count, where the paper prints it
    n: int | None = None  # items, where the paper prints them
    note: str | None = None  # for people

    __tablename__ = "published_result"


class Journal(Catalog, table=True):
    """How far each journal has been read into this file; moves in the same transaction as the rows."""

    name: str = Field(primary_key=True)  # file in the folder of journals
    byte_offset: int  # how many of its bytes are in this file


class Migration(Catalog, table=True):
    """A change of the schema that this file has been through."""

    name: str = Field(primary_key=True)  # the step
    number: int  # 1, 2, ...
    applied_at: datetime  # when


class TQuantile(Catalog, table=True):
    """0.975 quantiles of Student's t, so that views need nothing but built-in functions."""

    df: float = Field(primary_key=True)  # degrees of freedom
    q: float  # the quantile

    __tablename__ = "t_quantile"


class Meta(Catalog, table=True):
    """What this file knows of itself: the fingerprint of the schema and of the declarations that it mirrors."""

    key: str = Field(primary_key=True)  # schema | declarations | ...
    value: str  # a fingerprint
