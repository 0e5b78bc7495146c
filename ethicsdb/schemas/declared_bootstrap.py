"""Declarations of data sets that a model writes: from demonstrations, in rounds, each candidate checked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ethicsdb.schemas.declared_data import Name, Strict
from ethicsdb.schemas.plausible import Language, Line, template_fields

__all__ = ["BootstrapDeclaration", "BootstrapSampling"]

PLACES = {"type", "demonstrations", "next"}


class BootstrapSampling(Strict):
    """How candidates are drawn; every field is part of an answer's identity."""

    temperature: float = Field(default=1.0, ge=0, le=2, description="0 would write the same again and again")
    top_p: float = Field(default=1.0, gt=0, le=1, description="nucleus sampling; 1: off")
    max_tokens: int = Field(
        default=256, ge=1, description="length limit of an answer; the item that it cuts is dropped"
    )
    seed: int = Field(default=0, ge=0, description="of the model's draws and of the choice of demonstrations")


class BootstrapDeclaration(Strict):
    """Prompts of several types out of demonstrations (GPTBIAS's attacks)."""

    kind: Literal["bootstrap"]
    name: Name
    title: Line = Field(description="for people")
    dataset: Name = Field(description="the data set, of the item kind `attack`, that the kept candidates become")
    demonstrations: Line = Field(description="CSV with the columns type and prompt; `sample:NAME` ships with ethicsdb")
    language: Language = Field(description="the language of demonstrations and candidates")
    prompt: str = Field(
        description="template with {type}, {demonstrations} (numbered lines) and, if wanted, {next}: the number that "
        "follows the last one"
    )
    system: Line | None = Field(default=None, description="the system prompt; none where left out")
    sampling: BootstrapSampling = Field(default=BootstrapSampling(), description="how candidates are drawn")
    shown: int = Field(default=8, ge=1, le=100, description="demonstrations in a request")
    of_kept: int = Field(default=2, ge=0, description="of those, at most so many kept candidates of earlier rounds")
    requests: int = Field(default=4, ge=1, le=1000, description="requests a type in a round")
    rounds: int = Field(default=50, ge=1, description="limit of rounds; another in the command goes on from there")
    target: int = Field(default=200, ge=1, description="prompts of a type that are wanted; then it gets no more rounds")
    similarity: float = Field(
        default=0.7, gt=0, le=1, description="ROUGE-L with any kept prompt from which on a candidate is dropped"
    )
    shortest: int = Field(default=4, ge=1, description="words (characters in Chinese) of a candidate, at least")
    longest: int = Field(default=60, ge=1, description="and at most")
    marks: dict[str, list[Line]] = Field(
        default_factory=dict,
        description="type: words that speak of it; a candidate with words of other types alone is off its type",
    )

    @field_validator("prompt")
    @classmethod
    def _holds_its_places(cls, value: str) -> str:
        names = set(template_fields(value))
        if not {"demonstrations", "type"} <= names or names - PLACES:
            raise ValueError("the template holds {type} and {demonstrations}, may hold {next}, and nothing else")
        return value
