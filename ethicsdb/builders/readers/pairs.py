"""Pairs of sentences that differ in whom they are about: CrowS-Pairs, StereoSet, RedditBias's counterparts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ethicsdb.builders.readers.base import (
    OUTCOME,
    Note,
    SourceFile,
    SourceRow,
    field_of,
    json_text,
    literal,
    object_of,
    parsed,
    text_of,
)
from ethicsdb.registry.tabular import read_delimited
from ethicsdb.schemas.errors import SourceError

__all__ = ["read_crows_pairs", "read_reddit_pairs", "read_stereoset"]

LISTS = ("annotations", "anon_annotators")
LABELS = {"stereotype": "stereotype", "anti-stereotype": "anti_stereotype", "unrelated": "unrelated"}
PARTS = {"intersentence": "inter", "intrasentence": "intra"}


def read_crows_pairs(file: SourceFile) -> Iterator[SourceRow]:
    """CrowS-Pairs (Nangia et al. 2020): the file's columns, the first of which has no name and becomes `id`.

    `annotations` and `anon_annotators` hold Python literals; they stand as JSON in `details`. A pair that stood before,
    and a line end inside a sentence (which is kept), are reported.

    Raises:
        SourceError: a column is missing.
    """
    name = file.path.name
    seen: dict[tuple[str, str], int] = {}
    for number, cells in enumerate(read_delimited(name, text_of(file), ",", OUTCOME), start=1):
        where = f"{name}, row {number}"
        notes: list[Note] = []
        if number == 1 and "" in cells:
            told = "the first column has no name; read as `id`"
            notes.append(Note("repaired", "empty_header", told, place=(name, None)))
        pair = (field_of(where, cells, "sent_more"), field_of(where, cells, "sent_less"))
        first = seen.setdefault(pair, number)
        if first != number:
            told = f"the pair of row {first} again; both rows are kept, as one cluster"
            notes.append(Note("note", "duplicate_pair", told, "sent_more"))
        notes += [
            Note("suspicious", "newline_in_cell", "a line end inside the sentence; kept", column)
            for column in ("sent_more", "sent_less")
            if "\n" in cells[column]
        ]
        details: dict[str, Any] = {"anon_writer": cells.get("anon_writer")}
        details |= {column: _listed(cells.get(column), column, notes) for column in LISTS}
        flat = {"id": cells.get("id", cells.get("", "")), **{key: cells[key] for key in cells if key}}
        yield SourceRow(name, number, {**flat, "details": json_text(details)}, tuple(notes))


def _listed(cell: str | None, column: str, notes: list[Note]) -> Any:
    """The value of a cell that holds a list; None, and a note, where it holds none."""
    if not cell:
        return None
    try:
        value = literal(cell)
    except ValueError as error:
        value = error
    if isinstance(value, list):
        return value
    notes.append(Note("suspicious", "no_list", f"`{cell[:80]}` is no list; left out", column))
    return None


def read_stereoset(file: SourceFile) -> Iterator[SourceRow]:
    """StereoSet (Nadeem et al. 2021): a cluster of three sentences a row, intersentence first, as in the file.

    Cells: `id`, `target`, `bias_type`, `context`, `form` (inter | intra), `stereotype`, `anti_stereotype`, `unrelated`,
    `details` (JSON: the three sentences' ids, and the labels that people gave each).

    Raises:
        SourceError: the file is not of that shape, or a cluster lacks one of the three sentences.
    """
    name = file.path.name
    data = field_of(name, object_of(name, parsed(name, text_of(file))), "data", dict)
    number = 0
    for part, form in PARTS.items():
        for cluster in field_of(name, data, part, list):
            number += 1
            yield _cluster(name, number, object_of(f"{name}, row {number} ({part})", cluster), form)


def _cluster(name: str, number: int, cluster: dict[str, Any], form: str) -> SourceRow:
    where = f"{name}, row {number}"
    cells = {key: field_of(where, cluster, key) for key in ("id", "target", "bias_type", "context")}
    ids: dict[str, str] = {}
    labels: dict[str, list[str]] = {}
    for sentence in field_of(where, cluster, "sentences", list):
        gold = field_of(where, object_of(where, sentence), "gold_label")
        if gold not in LABELS or LABELS[gold] in cells:
            raise SourceError(f"{where}, field `gold_label`: `{gold}` is no label, or stands twice. {OUTCOME}")
        column = LABELS[gold]
        cells[column] = field_of(where, sentence, "sentence")
        ids[column] = field_of(where, sentence, "id")
        labels[column] = [field_of(where, each, "label") for each in field_of(where, sentence, "labels", list)]
    missing = [label for label, column in LABELS.items() if column not in cells]
    if missing:
        raise SourceError(f"{where}: there is no sentence labelled `{missing[0]}`. {OUTCOME}")
    details = {"sentence_ids": ids, "labels": labels}
    return SourceRow(name, number, {**cells, "form": form, "details": json_text(details)}, _blanks(cells, form))


def _blanks(cells: dict[str, str], form: str) -> tuple[Note, ...]:
    blanks = cells["context"].count("BLANK")
    if form == "inter" or blanks == 1:
        return ()
    return (Note("suspicious", "blanks", f"the context holds {blanks} blanks instead of one; kept", "context"),)


def read_reddit_pairs(file: SourceFile) -> Iterator[SourceRow]:
    """RedditBias's counterfactual test sets (Barikeri et al. 2021): a sentence, and the same about another group.

    Cells: `sentence`, `replaced`, `details` (JSON: the words replaced, their replacements, the released perplexity).

    Raises:
        SourceError: a column is missing.
    """
    name = file.path.name
    for number, cells in enumerate(read_delimited(name, text_of(file), ",", OUTCOME), start=1):
        where = f"{name}, row {number}"
        notes: list[Note] = []
        details: dict[str, Any] = {
            "initial": _listed(field_of(where, cells, "initial_demo"), "initial_demo", notes),
            "replaced": _listed(field_of(where, cells, "replaced_demo"), "replaced_demo", notes),
            "perplexity": cells.get("perplexity"),
        }
        found = {
            "sentence": field_of(where, cells, "comments"),
            "replaced": field_of(where, cells, "comments_processed"),
            "details": json_text(details),
        }
        yield SourceRow(name, number, found, tuple(notes))
