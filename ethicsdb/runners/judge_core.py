"""A judge put to texts, wherever they come from: by rules, by a classifier, or by a model that is asked.

A judge with a screen is asked only about what the screen kept: the texts that the screen did not give the label `none`.
The screen is a judge of its own, which has been put to the same texts before. Where its answer can't be read, or it
declined, or the endpoint withheld it or will never give it, the text goes on: only a screen that said so decides that
a text is harmless, so that a cheap model's faults cost calls and hide nothing. Where a later try may still bring its
answer, the text waits, and the verdict is the screen's error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.backends.base import FINAL_ERRORS, Ask, Backend
from ethicsdb.runners.classifiers import Classifier
from ethicsdb.runners.judge_prompt import answer_schema, judge_messages
from ethicsdb.runners.models import JudgeParts
from ethicsdb.runners.progress import Progress
from ethicsdb.runners.reading import Reading, read_label, read_verdict
from ethicsdb.runners.stage import Stage, Wanted, keyed
from ethicsdb.runners.verdicts import Judged
from ethicsdb.schemas.outcomes import VerdictStatus
from ethicsdb.schemas.rubrics import ClassifierRubric, LabelsRubric
from ethicsdb.schemas.text import restore

__all__ = ["Subject", "after_screen", "judged_by", "wanted_of"]


@dataclass(frozen=True)
class Subject:
    """A text to judge."""

    key: str  # what the verdict is about
    item: dict[str, Any]  # fields that the rubric's prompt may name
    text: str


def judged_by(
    stage: Stage, judge: JudgeParts, backend: Backend | Classifier | None, subjects: Sequence[Subject]
) -> Iterator[Judged]:
    """What a judge says of texts; nothing is asked twice, and a text whose answer is not there has no verdict.

    Args:
        backend: the judge's model, ready; a classifier on this machine; None for rules.

    Raises:
        ModelError, InterruptedRunError: see `asking.ask_all`; the same call goes on.
    """
    if backend is None:
        return _by_rules(judge, subjects)
    if isinstance(backend, Classifier):
        return _by_classifier(judge, backend, subjects)
    return _by_model(stage, judge, backend, subjects)


def wanted_of(judge: JudgeParts, item: dict[str, Any], answer: str) -> Wanted:
    """The request that puts an answer to a judge's model."""
    assert judge.model is not None
    messages = judge_messages(judge.rubric, item, answer)
    schema = answer_schema(judge.rubric, item) if judge.json_schema else None
    return keyed(judge.model.fingerprint, Ask(messages, judge.declaration.sampling, 0, schema))


def after_screen(
    context: Context, judge: JudgeParts, subjects: Sequence[Subject]
) -> tuple[list[Judged], list[tuple[Subject, Reading | None]], int]:
    """What a judge's screen leaves to the judge.

    Returns:
        Verdicts that the screen decides; the texts that the judge is to be asked about, with what the screen said of
        each (None where there is no screen); and how many texts the screen has not answered yet.
    """
    if judge.screen is None:
        return [], [(each, None) for each in subjects], 0
    said = {each.subject: each for each in _read(context, judge.screen, subjects)}
    told = [(subject, said[subject.key]) for subject in subjects if subject.key in said]
    kept: list[tuple[Subject, Reading | None]] = [
        (subject, each.reading) for subject, each in told if _goes_on(judge, each.reading)
    ]
    decided = [
        replace(each, reading=_staged(each.reading, "screen", None))
        for _, each in told
        if not _goes_on(judge, each.reading)
    ]
    return decided, kept, len(subjects) - len(told)


def _by_rules(judge: JudgeParts, subjects: Sequence[Subject]) -> Iterator[Judged]:
    for subject in subjects:
        yield Judged(subject.key, read_verdict(judge.rubric.rubric, subject.item, subject.text), None)


def _by_classifier(judge: JudgeParts, classifier: Classifier, subjects: Sequence[Subject]) -> Iterator[Judged]:
    rubric = judge.rubric.rubric
    assert isinstance(rubric, ClassifierRubric)  # `check_can_ask` saw to it
    texts = [subject.text for subject in subjects]
    with Progress(f"{judge.declaration.name} verdicts", len(set(texts))) as progress:
        found = {}
        for text, said in classifier.classify(texts):
            found[text] = said
            progress.count("completed")
    for subject in subjects:
        said = found[subject.text]
        fields = {"probability": round(said.probability, 6), "cut": said.cut}
        yield Judged(subject.key, read_label(rubric, said.label, fields), None)


def _by_model(stage: Stage, judge: JudgeParts, backend: Backend, subjects: Sequence[Subject]) -> Iterator[Judged]:
    decided, kept, _ = after_screen(stage.context, judge, subjects)
    yield from decided
    wanted = [wanted_of(judge, each.item, each.text) for each, _ in kept]
    stage.ask(backend, wanted, f"{judge.declaration.name} verdicts")
    stage.context.catch_up()
    before = {each.key: reading for each, reading in kept}
    for said in _read(stage.context, judge, [each for each, _ in kept]):
        first = before[said.subject]
        yield said if first is None else replace(said, reading=_staged(said.reading, "judge", first))


def _goes_on(judge: JudgeParts, said: Reading) -> bool:
    """Whether the judge itself is to be asked after its screen."""
    rubric = judge.rubric.rubric
    assert isinstance(rubric, LabelsRubric)  # as declarations are checked
    if said.status is VerdictStatus.ERROR:
        return said.reason in FINAL_ERRORS
    return (rubric.attribute, rubric.none) not in said.labels


def _staged(reading: Reading, decided: str, first: Reading | None) -> Reading:
    """A reading that tells which stage it comes from, and what the screen said of a text that it kept."""
    fields: dict[str, Any] = {**reading.fields, "decided_by": decided}
    if first is not None:
        fields["screen"] = {"status": str(first.status), "reason": first.reason, **first.fields}
    return replace(reading, fields=fields)


def _read(context: Context, judge: JudgeParts, subjects: Sequence[Subject]) -> Iterator[Judged]:
    """The readings of a judge's answers that are there."""
    keys = [wanted_of(judge, each.item, each.text).response_key for each in subjects]
    with context.reading() as connection:
        rows = connection.execute(read_sql("answers_of_judge"), {"keys": keys}).fetchall()
    answers = {row[0]: row[1:] for row in rows}
    for subject, key in zip(subjects, keys, strict=True):
        if key in answers:
            number, reading = _reading(judge, subject, answers[key])
            yield Judged(subject.key, reading, (key, number))


def _reading(judge: JudgeParts, subject: Subject, found: tuple[Any, ...]) -> tuple[int, Reading]:
    number, status, text, exact, error, flags = found
    if status == "error":
        return number, Reading(VerdictStatus.ERROR, error)
    if status == "filtered":
        return number, Reading(VerdictStatus.REFUSED, "content_filter")
    return number, read_verdict(
        judge.rubric.rubric, subject.item, restore(text, exact) or "", cut_off="cut_off" in flags
    )
