"""Rubrics are data: what a judge is asked, what its answer must look like, and how it becomes labels."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ethicsdb.schemas.plausible import Line, template_fields

__all__ = [
    "Area",
    "ChoiceRubric",
    "ClassRubric",
    "ClassifierRubric",
    "FieldsRubric",
    "FindingField",
    "LabelsRubric",
    "NumberedRubric",
    "RefusalRubric",
    "Rubric",
    "RubricDeclaration",
    "attributes_of",
]

Language = Literal["en", "zh", "ru"]


MOST_OPTIONS = 26  # whose indexes are named as values of the label `choice`


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Area(_Part):
    """The questions of one risk area."""

    expected: list[bool] = Field(min_length=2, description="the answers a safe response gets, question 1 first")
    unsafe_at: int = Field(ge=1, description="number of mismatches that makes a response unsafe")
    questions: list[Line] | None = Field(
        default=None, description="the questions' wording; absent where only published outputs are read"
    )

    @model_validator(mode="after")
    def _one_answer_a_question(self) -> Area:
        if self.questions is not None and len(self.questions) != len(self.expected):
            raise ValueError(f"{len(self.questions)} questions but {len(self.expected)} expected answers")
        if self.unsafe_at > len(self.expected):
            raise ValueError(f"unsafe_at {self.unsafe_at} can't be reached with {len(self.expected)} questions")
        return self


class NumberedRubric(_Part):
    """Numbered yes/no questions that depend on the item's area (Do-Not-Answer's Chinese set, Qorgau).

    A response is unsafe where the judge's answers differ from the expected ones in `unsafe_at` questions or more, and
    it does not refuse (question 1). Whether question 1 itself counts among the mismatches is `first_counts`.
    Labels: safety (safe | unsafe), refusal (yes | no), and safety_published, which reads an output as the authors did:
    lines that are an answer, in their order; an output without one counts as safe.
    """

    form: Literal["numbered"]
    languages: list[Language] = Field(min_length=1, description="in which the judge's yes and no are read")
    by: Line = Field(description="the item field that picks the area")
    first_counts: bool = Field(description="whether question 1 counts among the mismatches")
    areas: dict[str, Area] = Field(min_length=1, description="value of that field: its questions")
    prompt: str | None = Field(default=None, description="template with {question}, {answer} and {questions}")
    system: Line | None = Field(default=None, description="the judge's system prompt")

    @model_validator(mode="after")
    def _can_be_asked(self) -> NumberedRubric:
        _check_prompt(self.prompt, "{questions}")
        for name, area in self.areas.items():
            if self.prompt is not None and area.questions is None:
                raise ValueError(f"there is a prompt, so the area `{name}` needs its `questions`")
            if not self.first_counts and area.unsafe_at >= len(area.expected):
                raise ValueError(
                    f"unsafe_at {area.unsafe_at} of `{name}` can't be reached: question 1 does not count "
                    f"(first_counts), which leaves {len(area.expected) - 1}"
                )
        return self


class ClassRubric(_Part):
    """One class out of a numbered scale (Do-Not-Answer's action classes).

    Labels: `attribute` (the class after `recode`), `attribute`_raw (as the judge gave it, where a recode exists), and
    safety through `safe`.
    """

    form: Literal["classes"]
    attribute: Line = Field(description="the label's name")
    classes: dict[int, Line] = Field(min_length=2, description="class number: what it means")
    recode: dict[int, int] | None = Field(default=None, description="raw class: reported class")
    safe: list[int] = Field(description="reported classes that are safe")
    refusal: list[int] = Field(default_factory=list, description="reported classes that refuse")
    prompt: str | None = Field(default=None, description="template with {question}, {answer} and {classes}")
    system: Line | None = Field(default=None, description="the judge's system prompt")

    @model_validator(mode="after")
    def _recode_covers(self) -> ClassRubric:
        reported = set(self.recode.values()) if self.recode else set(self.classes)
        if self.recode and set(self.recode) != set(self.classes):
            raise ValueError("recode must name every raw class once")
        if not set(self.safe) <= reported or not set(self.refusal) <= reported:
            raise ValueError("safe and refusal may only name reported classes")
        if self.attribute in ("safety", "refusal"):
            raise ValueError(
                f"`{self.attribute}` is a label that `safe` and `refusal` give; name the attribute otherwise"
            )
        _check_prompt(self.prompt, "{classes}")
        return self


class RefusalRubric(_Part):
    """Rules that tell whether an answer refuses; nobody is asked.

    Labels: refusal (yes | no) and manner (refusal | partial | compliance | empty). A refused question is safe; of an
    answer that does not refuse, rules can't tell whether it is.
    """

    form: Literal["refusal_rules"]
    languages: list[Language] = Field(min_length=1, description="for people: the rules know all three at once")


class ChoiceRubric(_Part):
    """Rules that tell which of an item's options an answer is, or names alone; nobody is asked.

    Labels: choice (the option's index from 0 on, or none) and refusal (yes | no). An answer that refuses chose none;
    any other that names no option, or several, is unparsable.
    """

    form: Literal["choice"]


class ClassifierRubric(_Part):
    """The labels of a classifier of texts, which reads the answer alone (ToxiGen's RoBERTa).

    Label: `attribute`, with the value that stands for the classifier's likeliest label.
    """

    form: Literal["classifier"]
    attribute: Line = Field(description="the label's name")
    labels: dict[str, Line] = Field(min_length=2, description="the classifier's label: the value that it stands for")


class FindingField(_Part):
    """One thing that a judge says of an answer."""

    kind: Literal["yes_no", "several", "text", "texts"] = Field(description="several: any of `values`")
    values: dict[str, list[Line]] = Field(default_factory=dict, description="several: value: other names of it")
    also: list[Line] = Field(default_factory=list, description="other names of the field, as in other languages")
    required: bool = Field(default=True, description="whether an output without it can't be read")
    only_if: str | None = Field(default=None, description="a yes_no field; where that says no, this one must be empty")
    longest: int | None = Field(
        default=None, ge=1, le=2000, description="characters of a text, where an endpoint holds answers to a schema"
    )
    at_most: int | None = Field(default=None, ge=1, le=100, description="texts: how many, likewise")

    @model_validator(mode="after")
    def _of_its_kind(self) -> FindingField:
        if bool(self.values) != (self.kind == "several"):
            raise ValueError("`values` belong to the kind `several`, which needs them")
        if self.longest is not None and self.kind not in ("text", "texts"):
            raise ValueError("`longest` belongs to the kinds `text` and `texts`")
        if self.at_most is not None and self.kind != "texts":
            raise ValueError("`at_most` belongs to the kind `texts`")
        return self


class Several(_Part):
    """A label that says whether a field named many values."""

    field: str = Field(description="a field of the kind `several`")
    at_least: int = Field(ge=1, description="how many values make it yes")


class FieldsRubric(_Part):
    """Named fields that a judge fills in, as JSON or as lines (GPTBIAS).

    Labels: each `yes_no` field (yes | no), each `several` field (a label for each of its values that is named), and
    each of `counts` (yes | no). All fields stand in the verdict's `fields`.
    """

    form: Literal["fields"]
    fields: dict[str, FindingField] = Field(min_length=1, description="name of a field: what it is")
    counts: dict[str, Several] = Field(default_factory=dict, description="label: the field whose values are counted")
    prompt: str | None = Field(default=None, description="template with the item's fields and {answer}")
    system: Line | None = Field(default=None, description="the judge's system prompt")

    @model_validator(mode="after")
    def _refers(self) -> FieldsRubric:
        kinds = {name: each.kind for name, each in self.fields.items()}
        for name, each in self.fields.items():
            if each.only_if is not None and kinds.get(each.only_if) != "yes_no":
                raise ValueError(f"`only_if` of `{name}` names `{each.only_if}`, which is no yes_no field")
        for label, count in self.counts.items():
            if kinds.get(count.field) != "several" or label in kinds:
                raise ValueError(f"`{label}` counts `{count.field}`, which must be a `several` field of another name")
        _check_prompt(self.prompt, "{answer}")
        return self


class LabelledExample(_Part):
    """A text with the names that apply to it, shown to a judge before the text that it is to judge."""

    text: str = Field(min_length=1, description="the text")
    labels: list[Line] = Field(min_length=1, description="the names that apply, or the one that excludes them")


class LabelsRubric(_Part):
    """Any of several names, or the one that excludes them, as words separated by commas (Eagle).

    Label: `attribute`, once for each name that applies, or with the value `none`.
    """

    form: Literal["labels"]
    attribute: Line = Field(description="the label's name")
    labels: dict[str, list[Line]] = Field(min_length=1, max_length=8, description="name: other names of it")
    none: Line = Field(description="the name that says that no other applies, and excludes them")
    none_also: list[Line] = Field(default_factory=list, description="other names of `none`")
    examples: list[LabelledExample] = Field(default_factory=list, description="shown to the judge, in this order")
    example: str | None = Field(default=None, description="template of an example, with {text}, {labels}, {fence}")
    prompt: str | None = Field(default=None, description="template with {examples} and {answer}")
    system: Line | None = Field(default=None, description="the judge's system prompt")

    @model_validator(mode="after")
    def _names_once(self) -> LabelsRubric:
        names = [name.casefold() for name in (*self.labels, self.none, *self.none_also)]
        names += [other.casefold() for also in self.labels.values() for other in also]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"`{twice[0]}` stands for two things; a name may stand once in `labels` and `none`")
        for each in self.examples:
            unknown = [name for name in each.labels if name not in (*self.labels, self.none)]
            if unknown:
                raise ValueError(f"an example has the label `{unknown[0]}`, which is none of the rubric's")
            if self.none in each.labels and len(each.labels) > 1:
                raise ValueError(f"an example has `{self.none}` beside other labels, which it excludes")
        return self

    @model_validator(mode="after")
    def _can_be_asked(self) -> LabelsRubric:
        if self.examples:
            _check_prompt(self.prompt, "{examples}")
            shown = template_fields(self.example) if self.example else []
            if self.prompt is not None and not {"text", "labels"} <= set(shown) <= {"text", "labels", "fence"}:
                raise ValueError("`example`, the template of an example, needs {text} and {labels}; else only {fence}")
        else:
            _check_prompt(self.prompt, "{answer}")
        return self


def _check_prompt(prompt: str | None, listed: str) -> None:
    """A prompt that leaves out what is to be judged would be judged all the same."""
    if prompt is None:
        return
    fields = template_fields(prompt)
    for field in ("{answer}", listed):
        if field[1:-1] not in fields:
            raise ValueError(f"the prompt holds no {field}, so the judge would not see it")


Rubric = Annotated[
    NumberedRubric | ClassRubric | RefusalRubric | ChoiceRubric | ClassifierRubric | FieldsRubric | LabelsRubric,
    Field(discriminator="form"),
]


class RubricDeclaration(_Part):
    """A named rubric."""

    kind: Literal["rubric"]
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")
    title: Line = Field(description="for people")
    source: Line = Field(description="paper and section that the counting rule comes from")
    notes: str | None = Field(default=None, description="for people")
    rubric: Rubric


def attributes_of(rubric: Rubric) -> dict[str, list[str]]:
    """The labels that a rubric's verdicts can give: attribute: its possible values.

    A metric over another attribute, or over other values of it, has no number under a judge with this rubric.
    """
    if isinstance(rubric, NumberedRubric):
        return {"safety": ["safe", "unsafe"], "refusal": ["yes", "no"], "safety_published": ["safe", "unsafe"]}
    if isinstance(rubric, RefusalRubric):
        return {"refusal": ["yes", "no"], "manner": ["refusal", "partial", "compliance", "empty"]}
    if isinstance(rubric, FieldsRubric):
        told = {name: each for name, each in rubric.fields.items() if each.kind in ("yes_no", "several")}
        labels = {name: list(each.values) if each.values else ["yes", "no"] for name, each in told.items()}
        return labels | {name: ["yes", "no"] for name in rubric.counts}
    if isinstance(rubric, LabelsRubric):
        return {rubric.attribute: [*rubric.labels, rubric.none]}
    if isinstance(rubric, ClassifierRubric):
        return {rubric.attribute: list(dict.fromkeys(rubric.labels.values()))}
    if isinstance(rubric, ChoiceRubric):
        return {"choice": [*map(str, range(MOST_OPTIONS)), "none"], "refusal": ["yes", "no"]}
    reported = sorted(set(rubric.recode.values()) if rubric.recode else set(rubric.classes))
    found = {rubric.attribute: [str(each) for each in reported], "safety": ["safe", "unsafe"]}
    if rubric.recode:
        found[f"{rubric.attribute}_raw"] = [str(each) for each in sorted(rubric.classes)]
    if rubric.refusal:
        found["refusal"] = ["yes", "no"]
    return found
