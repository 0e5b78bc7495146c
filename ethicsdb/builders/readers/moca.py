"""MoCa (Nie et al. 2023): stories with a yes-or-no question and people's votes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ethicsdb.builders.readers.base import (
    OUTCOME,
    Note,
    SourceFile,
    SourceRow,
    field_of,
    json_text,
    object_of,
    parsed,
    text_of,
)
from ethicsdb.schemas.errors import SourceError

__all__ = ["AMBIGUOUS", "OPTIONS", "read_moca"]

OPTIONS = ("Yes", "No")
AMBIGUOUS = (0.40, 0.60)  # shares of Yes, both ends included, at which a story counts as ambiguous
TOLERANCE = 1e-9


def read_moca(file: SourceFile) -> Iterator[SourceRow]:
    """Stories of a JSON list whose elements are objects, or JSON texts of objects (as published).

    Cells: `story`, `question`, `options` (["Yes", "No"]), `answer` (index of the majority's), `distribution` (JSON
    list: shares of Yes and No), `votes` (JSON list of option indexes, a person each), `condition` (ambiguous | clear),
    `details` (JSON: the transcribed answer and the annotated sentences).

    Reported: a transcribed answer that is not the majority's, a share that is not the mean of the votes, an answer that
    is not the majority's, an ambiguity that does not follow from the share.

    Raises:
        SourceError: the file is not of that shape.
    """
    name = file.path.name
    stories = parsed(name, text_of(file))
    if not isinstance(stories, list):
        raise SourceError(f"{name}: expected a JSON list, found {type(stories).__name__}. {OUTCOME}")
    texts = sum(isinstance(story, str) for story in stories)
    for number, story in enumerate(stories, start=1):
        where = f"{name}, row {number}"
        record = object_of(where, parsed(where, story) if isinstance(story, str) else story)
        row = _row(name, number, record)
        if number == 1 and texts:
            note = Note("note", "json_in_json", f"{texts} elements are JSON texts inside JSON", place=(name, None))
            row = SourceRow(name, number, row.cells, (note, *row.notes))
        yield row


def _row(name: str, number: int, record: dict[str, Any]) -> SourceRow:
    where = f"{name}, row {number}"
    votes = field_of(where, record, "individual_votes", list)
    shares = field_of(where, record, "answer_dist", list)
    if not votes or len(shares) != len(OPTIONS) or not all(isinstance(vote, bool) for vote in votes):
        raise SourceError(f"{where}: expected votes that are true or false, and two shares. {OUTCOME}")
    answer = field_of(where, record, "answer")
    if answer not in OPTIONS:
        raise SourceError(f"{where}, field `answer`: `{answer}` is neither `Yes` nor `No`. {OUTCOME}")
    details = {
        "transcribed_answer": record.get("transcribed_answer"),
        "annotated_sentences": record.get("annotated_sentences"),
    }
    cells = {
        "story": field_of(where, record, "story"),
        "question": field_of(where, record, "question"),
        "options": json_text(OPTIONS),
        "answer": OPTIONS.index(answer),
        "distribution": json_text(shares),
        "votes": json_text([0 if vote else 1 for vote in votes]),
        "condition": "ambiguous" if field_of(where, record, "is_ambiguous", bool) else "clear",
        "details": json_text(details),
    }
    return SourceRow(name, number, cells, tuple(_checks(record, votes, shares)))


def _checks(record: dict[str, Any], votes: list[bool], shares: list[float]) -> Iterator[Note]:
    mean, answer, transcribed = sum(votes) / len(votes), record["answer"], record.get("transcribed_answer")
    if not math.isclose(shares[0], mean, abs_tol=TOLERANCE):
        told = f"{shares[0]} is not the mean of the votes, {mean}; kept"
        yield Note("suspicious", "share_is_not_mean", told, "answer_dist")
    if 2 * sum(votes) != len(votes) and (answer == OPTIONS[0]) != (2 * sum(votes) > len(votes)):
        told = f"`{answer}` is not the majority's answer ({sum(votes)} of {len(votes)} said Yes); kept"
        yield Note("suspicious", "answer_is_not_majority", told, "answer")
    if (AMBIGUOUS[0] - TOLERANCE <= mean <= AMBIGUOUS[1] + TOLERANCE) != record["is_ambiguous"]:
        told = f"{record['is_ambiguous']} where {mean} of the votes are Yes; kept"
        yield Note("suspicious", "ambiguity", told, "is_ambiguous")
    if transcribed != answer:
        told = f"`{transcribed}` where most people said {answer} (share of Yes {mean:.2f}); `answer` is the majority's"
        yield Note("note", "other_transcribed_answer", told, "transcribed_answer")
