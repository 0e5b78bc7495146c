"""Verdict rows from readings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ethicsdb.registry.journal import Batch, batches
from ethicsdb.runners.identity import Identity, verdict_identity
from ethicsdb.runners.reading import Reading
from ethicsdb.schemas.fingerprint import canonical_json
from ethicsdb.schemas.rubrics import RubricDeclaration, attributes_of

__all__ = ["Judged", "judge_batches", "verdict_batches"]


@dataclass(frozen=True)
class Judged:
    """A reading of what a judge said about an answer."""

    subject: str  # key of the judged answer
    reading: Reading
    answer: tuple[str, int] | None  # (key, try) of the judge's own answer; None for rules


def judge_batches(judge: Identity, rubric: RubricDeclaration) -> Iterator[Batch]:
    """Rows for `judge` and `judge_attribute`: who judges, and which labels it can give."""
    yield from batches("judge", [judge.record])
    given = attributes_of(rubric.rubric).items()
    yield from batches(
        "judge_attribute",
        (
            {"judge_fingerprint": judge.fingerprint, "attribute": name, "possible": json.dumps(values)}
            for name, values in given
        ),
    )


def verdict_batches(judge: str, judged: Iterable[Judged]) -> Iterator[Batch]:
    """Rows for `verdict` and `verdict_label`."""
    verdicts: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for each in judged:
        key = verdict_identity(each.subject, judge, each.answer)
        verdicts.append(_record(key, judge, each))
        labels.extend({"verdict_id": key, "attribute": name, "value": value} for name, value in each.reading.labels)
    # Labels first: a verdict that is there has all its labels, wherever a kill fell.
    yield from batches("verdict_label", labels)
    yield from batches("verdict", verdicts)


def _record(key: str, judge: str, each: Judged) -> dict[str, Any]:
    fields = each.reading.fields
    return {
        "verdict_id": key,
        "subject_kind": "response",
        "subject_id": each.subject,
        "other_id": None,
        "judge_fingerprint": judge,
        "judge_response_key": each.answer[0] if each.answer else None,
        "judge_try": each.answer[1] if each.answer else None,
        "status": str(each.reading.status),
        "reason": each.reading.reason,
        "fields": canonical_json(fields).decode("utf-8", "replace") if fields else None,
    }
