"""What a judge is sent: the rubric's prompt with the judged text fenced, and the shape of its answer."""

from __future__ import annotations

import itertools
import re
from typing import Any

from ethicsdb.runners.reading import area_of
from ethicsdb.runners.render import Messages, fill
from ethicsdb.schemas.errors import DeclarationError
from ethicsdb.schemas.fingerprint import fingerprint, short
from ethicsdb.schemas.rubrics import (
    ClassRubric,
    FieldsRubric,
    FindingField,
    LabelsRubric,
    NumberedRubric,
    RubricDeclaration,
)

__all__ = ["answer_schema", "judge_messages"]

# Turn marks of ChatML, Llama, Gemma, Mistral and their kin, and those of reasoning.
_MARKS = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜]{1,40}｜>|</?s>|<(?:start|end)_of_turn>|<[be]os>|\[/?INST\]|<</?SYS>>|"
    r"</?(?:think|thinking|thought|reasoning|analysis|scratchpad)>",
    re.IGNORECASE,
)
YES_NO = {"en": ["yes", "no"], "zh": ["是", "否"], "ru": ["да", "нет"]}


def judge_messages(rubric: RubricDeclaration, item: dict[str, Any], answer: str) -> Messages:
    """The messages that put an answer to a judge.

    Templates may use every field of the item, `{answer}`, `{questions}` (numbered lines), `{examples}` and `{fence}`:
    a mark drawn from the hash of all that is sent, which neither question nor answer can hold, so that nothing in them
    can close its own fence.

    Raises:
        DeclarationError: the rubric has no prompt or no wording, and can only read outputs that exist.
    """
    body = rubric.rubric
    if not isinstance(body, (NumberedRubric, ClassRubric, FieldsRubric, LabelsRubric)) or body.prompt is None:
        raise DeclarationError(
            f"The rubric `{rubric.name}` has no prompt; it can only read outputs that were imported."
        )
    values = {**{name: _defused(value) for name, value in item.items()}, "answer": _defused(answer), "fence": ""}
    if isinstance(body, NumberedRubric):
        questions = area_of(body, item).questions
        if questions is None:
            raise DeclarationError(f"The rubric `{rubric.name}` has no questions' wording for {item.get(body.by)}.")
        values["questions"] = "\n".join(f"{number}. {text}" for number, text in enumerate(questions, start=1))
    elif isinstance(body, ClassRubric):
        values["classes"] = "\n".join(f"{number}: {meaning}" for number, meaning in body.classes.items())
    elif isinstance(body, LabelsRubric):
        values["examples"] = _examples(body, "")
    values["fence"] = short(fingerprint(["fence", fill(body.prompt, values)]))
    if isinstance(body, LabelsRubric):
        values["examples"] = _examples(body, values["fence"])
    messages = [{"role": "system", "content": body.system}] if body.system else []
    return [*messages, {"role": "user", "content": fill(body.prompt, values)}]


def _examples(rubric: LabelsRubric, fence: str) -> str:
    shown = [{"text": each.text, "labels": ", ".join(each.labels), "fence": fence} for each in rubric.examples]
    return "\n\n".join(fill(rubric.example or "", each) for each in shown)


def _defused(text: Any) -> Any:
    """Text whose chat-template and reasoning marks are broken by a space.

    Servers that tokenise the rendered chat in one go (llama.cpp among them, seen) take `<|im_end|>` inside a message
    for the end of the turn, and what follows for the judge's own words.
    """
    return _MARKS.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text) if isinstance(text, str) else text


def answer_schema(rubric: RubricDeclaration, item: dict[str, Any]) -> dict[str, Any] | None:
    """JSON schema of a judge's answer, for endpoints that hold answers to one; None for rules."""
    body = rubric.rubric
    if isinstance(body, NumberedRubric):
        words = YES_NO[body.languages[0]]
        names = [str(number) for number in range(1, len(area_of(body, item).expected) + 1)]
        return _object({name: {"type": "string", "enum": words} for name in names})
    if isinstance(body, ClassRubric):
        return _object({"class": {"type": "integer", "enum": sorted(body.classes)}})
    if isinstance(body, FieldsRubric):
        return _finding(body)
    if isinstance(body, LabelsRubric):
        return _object({"labels": {"type": "string", "enum": _combinations(body)}})
    return None


def _combinations(rubric: LabelsRubric) -> list[str]:
    """All that may be answered: no schema that endpoints hold answers to can say that `none` excludes the others."""
    names = list(rubric.labels)
    some = [", ".join(each) for many in range(1, len(names) + 1) for each in itertools.combinations(names, many)]
    return [rubric.none, *some]


def _finding(rubric: FieldsRubric) -> dict[str, Any]:
    """An object of all fields; where one says no, those that depend on it are empty.

    Strict schemas allow alternatives inside an object only, so that there the finding stands in one.
    """
    shapes = {name: _shape(each) for name, each in rubric.fields.items()}
    masters = {each.only_if for each in rubric.fields.values() if each.only_if is not None}
    ways = [_object(_decided(shapes, rubric, each)) for each in itertools.product(*_answers(masters))]
    return ways[0] if len(ways) == 1 else _object({"finding": {"anyOf": ways}})


def _answers(masters: set[str]) -> list[list[tuple[str, str]]]:
    """What each field that others depend on may say."""
    return [[(name, word) for word in YES_NO["en"]] for name in sorted(masters)]


def _decided(shapes: dict[str, Any], rubric: FieldsRubric, said: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The shapes of fields once it is said what others depend on."""
    answers = dict(said)
    decided = {}
    for name, each in rubric.fields.items():
        decided[name] = shapes[name]
        if name in answers:
            decided[name] = {"type": "string", "enum": [answers[name]]}
        elif each.only_if is not None and answers[each.only_if] == "no":
            decided[name] = {**shapes[name], "maxItems": 0} if each.kind in ("several", "texts") else {"const": ""}
    return decided


def _shape(each: FindingField) -> dict[str, Any]:
    """A field's shape, bounded: a small model that is held to a schema may repeat itself until it is cut off."""
    if each.kind == "yes_no":
        return {"type": "string", "enum": YES_NO["en"]}
    if each.kind == "several":
        return {"type": "array", "items": {"type": "string", "enum": list(each.values)}, "maxItems": len(each.values)}
    text: dict[str, Any] = {"type": "string"}
    if each.longest is not None:
        # OpenAI's strict schemas know `pattern` and no `maxLength`; this one holds no quotes, which grammars mix up.
        text["pattern"] = rf'^[^"\\\x00-\x1F]{{0,{each.longest}}}$'
    if each.kind == "text":
        return text
    return {"type": "array", "items": text, **({} if each.at_most is None else {"maxItems": each.at_most})}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
