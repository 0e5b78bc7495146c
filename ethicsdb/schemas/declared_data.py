"""Declarations of data sets, and what all declarations share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ethicsdb.schemas.formats import Format, format_of
from ethicsdb.schemas.outcomes import Variant
from ethicsdb.schemas.plausible import Encoding, Language, Line, Sha256, Url

__all__ = ["DatasetDeclaration", "Licence", "Link", "Name", "ReaderName", "Source", "Strict", "VariantName"]

ReaderName = Literal[
    "association",
    "bbq",
    "crows_pairs",
    "eagle",
    "moca",
    "opinionqa",
    "redditbias",
    "redditbias_pairs",
    "safety_prompts",
    "stereoset",
    "toxigen",
    "toxigen_annotated",
    "toxigen_generations",
]
NAME = r"^[a-z0-9][a-z0-9_.-]*$"
Name = Annotated[str, Field(pattern=NAME, max_length=64)]
VariantName = Annotated[Variant, Field(strict=False)]  # YAML has texts, not members of an enum


class Strict(BaseModel):
    """A part of a declaration: no unknown keys, no silent conversion of text to numbers."""

    # Inputs are hidden in errors: what was written for a key's name may be the key.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class Source(Strict):
    """A file of a data set."""

    path: Line = Field(description="file name; `sample:NAME` is a small sample that ships with ethicsdb")
    format: Format | None = Field(
        default=None, description="how the file holds its rows; left out: as its name ends, `.gz` aside, or else csv"
    )
    reader: ReaderName | None = Field(default=None, description="makes flat rows of a file that is no plain table")
    companion: Line | None = Field(default=None, description="a second file that the reader joins to the rows")
    companion_sha256: Sha256 | None = Field(
        default=None, description="the companion's checksum; another is told in the build report"
    )
    split: Line | None = Field(default=None, description="the split of this file's rows, where files are splits")
    encoding: Encoding = Field(default="utf-8", description="how its text is encoded")
    sha256: Sha256 | None = Field(default=None, description="the file's checksum; another is told in the build report")
    values: dict[str, str] = Field(default_factory=dict, description="item field: one value for all rows of the file")

    @model_validator(mode="after")
    def _plain_table(self) -> Source:
        named = format_of(self.path)
        if self.reader is None and self.format is not None and named not in (None, self.format):
            raise ValueError(f"`{self.path}` would be read as {self.format}; write `format: {named}`, or leave it out")
        return self


class Licence(Strict):
    """Under which terms the data stands, and whether it may be passed on."""

    name: Line = Field(description="the licence's name, as the source states it")
    url: Url | None = Field(default=None, description="the licence's text")
    redistribution: bool = Field(description="may the rows be published again?")
    note: str | None = Field(default=None, description="for people")


class Link(Strict):
    """How a variant finds the direct question that it varies."""

    id: Line = Field(description="the column whose value the variants of one question share")
    within: list[str] = Field(default_factory=list, description="fields that must agree too, where ids collide")


class DatasetDeclaration(Strict):
    """A data set: where it comes from, what its rows are, what may be done with it."""

    kind: Literal["dataset"]
    name: Name = Field(description="its name in commands and other declarations")
    title: Line = Field(description="for people")
    schema_: str = Field(alias="schema", description="the item kind")
    sources: list[Source] = Field(min_length=1)
    homepage: Url | None = Field(default=None, description="where the source is had; named where a file is missing")
    fields: dict[str, Line] = Field(description="item field: source column")
    constants: dict[str, str] = Field(default_factory=dict, description="item field: one value for all rows")
    recode: dict[str, dict[str, str]] = Field(default_factory=dict, description="item field: {source value: value}")
    null_values: list[str] = Field(default_factory=list, description="cells that mean 'no value'")
    id: Line | None = Field(default=None, description="column that names a row; `link` has its own")
    group: list[str] = Field(default_factory=list, description="fields: rows that agree in them are one cluster")
    variant: Line | None = Field(default=None, description="column that tells direct, indirect and harmless apart")
    variants: dict[str, VariantName] = Field(default_factory=dict, description="value of that column: variant")
    link: Link | None = Field(default=None, description="how variants find their direct question, and make a cluster")
    split: Line = Field(default="test", description="the split of all rows, where files are not splits")
    languages: list[Language] = Field(min_length=1, description="the languages of the items; `mul` for many")
    licence: Licence = Field(description="the source's terms")
    access: Literal["open", "gated", "agreement"] = Field(description="how the source is had")
    citation: Line = Field(description="whom to cite")
    notes: str | None = Field(default=None, description="for people")

    @model_validator(mode="after")
    def _variant_values(self) -> DatasetDeclaration:
        if self.variant and not self.variants:
            raise ValueError("`variant` names a column, so `variants` must say what its values mean")
        if self.variants and not self.variant:
            raise ValueError("`variants` says what a column's values mean, so `variant` must name that column")
        if self.link and (self.id or self.group):
            raise ValueError("`link` names rows and makes clusters, so `id` and `group` can't stand beside it")
        if any(source.companion and source.reader is None for source in self.sources):
            raise ValueError("`companion` is joined by a `reader`; a plain table has none")
        places = [(source.path, source.split) for source in self.sources]
        doubled = [path for path, _ in places if [each for each, _ in places].count(path) > 1]
        if len(set(places)) < len(places) and all(s.reader is None for s in self.sources if s.path in doubled):
            raise ValueError(f"`sources` names {doubled[0]} twice, so its rows would count twice")
        overlap = set(self.fields) & set(self.constants)
        if overlap:
            raise ValueError(f"{sorted(overlap)[0]} is both a field and a constant")
        return self
