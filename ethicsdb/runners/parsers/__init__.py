"""Parsers of what judges write."""

from __future__ import annotations

from ethicsdb.schemas.rubrics import (
    ChoiceRubric,
    ClassifierRubric,
    ClassRubric,
    FieldsRubric,
    LabelsRubric,
    NumberedRubric,
    Rubric,
)

__all__ = ["parser_of"]


def parser_of(rubric: Rubric) -> tuple[str, str]:
    """Name and version of the parser that reads a rubric's answers; both enter the judge's fingerprint."""
    from ethicsdb.runners.parsers import choice, classes, fields, labels, numbered
    from ethicsdb.runners.refusal import RULES_VERSION

    if isinstance(rubric, NumberedRubric):
        return "numbered", numbered.PARSER_VERSION
    if isinstance(rubric, ClassRubric):
        return "classes", classes.PARSER_VERSION
    if isinstance(rubric, FieldsRubric):
        return "fields", fields.PARSER_VERSION
    if isinstance(rubric, LabelsRubric):
        return "labels", labels.PARSER_VERSION
    if isinstance(rubric, ClassifierRubric):
        return "classifier", "classifier-1"
    if isinstance(rubric, ChoiceRubric):
        return "choice", choice.PARSER_VERSION
    return "refusal_rules", RULES_VERSION
