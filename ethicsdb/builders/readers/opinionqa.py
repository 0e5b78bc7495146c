"""OpinionQA (Santurkar et al. 2023): survey questions, and what weighted shares of people answered, group by group.

Published layout, a folder a wave of Pew's American Trends Panel: `info.csv`, a row a question, and `responses.csv`, a
row a person. Shares follow `extract_human_opinions` in `helpers.py` of the authors' repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ethicsdb.builders.readers.base import (
    OUTCOME,
    Note,
    SourceFile,
    SourceRow,
    field_of,
    json_text,
    literal,
    text_of,
)
from ethicsdb.builders.readers.people import MIN_PEOPLE, People, Shares
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.tabular import decode, read_delimited
from ethicsdb.schemas.errors import SourceError

__all__ = ["read_opinionqa"]

REFUSED = "refused"


@dataclass(frozen=True)
class _Scale:
    """The options of a question, and where each stands on its scale; None for options that refuse to answer."""

    options: list[str]
    positions: list[float | None]
    refusals: list[int]  # indexes


def read_opinionqa(file: SourceFile) -> Iterator[SourceRow]:
    """Questions of a wave with people's weighted answers.

    Cells: `key`, `question`, `options` (JSON list), `distribution` (JSON list, aligned with the options: the weighted
    share of each among answers that do not refuse, which sum to 1; null for options that refuse; empty where nobody
    answered), `answer` (index of the option with the largest share, empty at a tie), `wave` (`W26`), `details` (JSON):
    `wave` (number), `key`, `ordinal` (the options' positions on their scale, null for options that refuse), `n` (people
    counted in the shares), `refused_share` (weight of refusals / weight of all answers) and `groups`:
    {attribute: {value: {n, shares}}} for the attributes and values of the published analysis, shares weighted and
    aligned as above, where at least MIN_PEOPLE people of the group are counted.

    Options that refuse are those after the last one that `option_ordinal` gives a position, as published.

    Reported: an answer that is none of the options (left out), a person without a usable weight (left out), a question
    without positions or whose options all have one position (its alignment can't be computed), a question that nobody
    answered or that `responses.csv` has no column for, groups too small.

    Raises:
        SourceError: a file lacks a column, a cell holds no list, or there is not exactly one column of weights.
    """
    if file.companion is None:
        raise SourceError(f"{file.path.name}: the reader `opinionqa` needs `companion`, the responses. {OUTCOME}")
    folder = file.path.parent.name  # files of all waves have one name
    name, beside = f"{folder}/{file.path.name}", f"{folder}/{file.companion.name}"
    text = decode(beside, read_bytes(file.companion, OUTCOME), file.source.encoding, OUTCOME)
    people = People(beside, read_delimited(beside, text, ",", OUTCOME))
    for number, record in enumerate(read_delimited(name, text_of(file), ",", OUTCOME), start=1):
        row = _row(name, number, record, people)
        yield SourceRow(name, number, row.cells, (*people.notes, *row.notes)) if number == 1 else row


def _row(name: str, number: int, record: dict[str, Any], people: People) -> SourceRow:
    where = f"{name}, row {number}"
    notes: list[Note] = []
    key = field_of(where, record, "key")
    scale = _scale(where, record, notes)
    shares, counted = _answered(key, scale, people, notes)
    cells = {
        "key": key,
        "question": field_of(where, record, "question"),
        "options": json_text(scale.options),
        "distribution": None if shares is None else json_text(shares),
        "answer": _largest(shares),
        "wave": f"W{people.wave}",
        "details": json_text({"wave": people.wave, "key": key, "ordinal": scale.positions, **counted}),
    }
    return SourceRow(name, number, cells, tuple(notes))


def _answered(key: str, scale: _Scale, people: People, notes: list[Note]) -> tuple[Shares | None, dict[str, Any]]:
    """Shares of all people, and what else is counted of a question."""
    if key not in people.columns:
        notes.append(Note("suspicious", "no_responses", f"{people.name} has no column `{key}`", "key"))
        return None, {"n": 0, "refused_share": None, "groups": {}}
    answers = people.answers(key, scale.options)
    for value, count in answers.unknown.items():
        told = f"`{value}` ({count} people) is none of the options; left out"
        notes.append(Note("suspicious", "unknown_option", told, key))
    n, shares = answers.shares(scale.refusals)
    groups, small = answers.groups(scale.refusals)
    if small:
        notes.append(Note("note", "small_group", f"fewer than {MIN_PEOPLE} people, left out: {', '.join(small)}", key))
    if shares is None:
        notes.append(Note("suspicious", "nobody_answered", "no answer with a weight; there are no shares", key))
    return shares, {"n": n, "refused_share": answers.refused_share(scale.refusals), "groups": groups}


def _scale(where: str, record: dict[str, Any], notes: list[Note]) -> _Scale:
    options = _list(where, "references", field_of(where, record, "references"))
    if not options or not all(isinstance(option, str) for option in options):
        raise SourceError(f"{where}, field `references`: expected a list of texts that is not empty. {OUTCOME}")
    if len(set(options)) < len(options):
        told = "an option stands twice; people who chose it are counted at the first"
        notes.append(Note("suspicious", "doubled_option", told, "references"))
    cell = field_of(where, record, "option_ordinal")
    ordinal = _list(where, "option_ordinal", cell) if cell.strip() not in ("", "nan") else []
    usable = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in ordinal)
    if not ordinal or not usable or len(ordinal) > len(options):
        told = f"`{cell}` gives the options no positions; alignment can't be computed here"
        notes.append(Note("suspicious", "no_ordinal", told, "option_ordinal"))
        named = [index for index, option in enumerate(options) if option.strip().lower() == REFUSED]
        return _Scale(options, [None] * len(options), named)
    if len(set(ordinal)) == 1:
        told = "all options have one position, so no distance can be told between answers"
        notes.append(Note("note", "no_order", told, "option_ordinal"))
    rest = range(len(ordinal), len(options))
    return _Scale(options, [*(float(each) for each in ordinal), *(None for _ in rest)], list(rest))


def _list(where: str, column: str, cell: str) -> list[Any]:
    try:
        value = literal(cell)
    except ValueError as error:
        raise SourceError(f"{where}, field `{column}`: {error}. {OUTCOME}") from error
    if not isinstance(value, list):
        raise SourceError(f"{where}, field `{column}`: expected a list, found {type(value).__name__}. {OUTCOME}")
    return value


def _largest(shares: Shares | None) -> int | None:
    known = [share for share in shares or [] if share is not None]
    if shares is None or known.count(max(known)) > 1:
        return None
    return shares.index(max(known))
