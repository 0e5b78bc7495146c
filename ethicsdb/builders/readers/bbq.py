"""BBQ (Parrish et al. 2022): questions in JSON lines, and a table of metadata that is joined to them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ethicsdb.builders.readers.base import (
    OUTCOME,
    Note,
    SourceFile,
    SourceRow,
    field_of,
    json_text,
    objects,
    text_of,
)
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.tabular import decode, read_delimited
from ethicsdb.schemas.errors import SourceError

__all__ = ["read_bbq"]

ANSWERS = ("ans0", "ans1", "ans2")
UNKNOWN = "unknown"
KNOWN = "Known_stereotyped_groups"
JOINED = (
    "label_type",
    "Known_stereotyped_race",
    "Known_stereotyped_var2",
    "Relevant_social_values",
    "corr_ans_aligns_var2",
    "corr_ans_aligns_race",
    "full_cond",
    KNOWN,
)
Key = tuple[str, str, str]
Meta = tuple[int, dict[str, str]]


def read_bbq(file: SourceFile) -> Iterator[SourceRow]:
    """Questions with their metadata.

    Cells: `id` (category/example id), `context`, `question`, `options` (JSON list of three texts), `answer`, `target`
    and `unknown` (indexes into the options), `option_groups` and `stereotyped_groups` (JSON lists), `category`,
    `subcategory`, `template`, `condition`, `polarity`, `details` (JSON object of all other metadata).

    `target` is the metadata's `target_loc`: the stereotyped group where the question is negative, the other group where
    it is not, so that choosing it is the biased answer in either case.

    Where a key has several rows of metadata, the row whose groups are the question's own is taken; where none or
    several are, the values in which they differ are left empty. Either is reported, with the metadata's row.

    Raises:
        SourceError: a line is no BBQ question, or the metadata lacks a column.
    """
    name, text = file.path.name, text_of(file)
    if file.companion is None or file.companion_sha256 is None:
        raise SourceError(f"{name}: the reader `bbq` needs `companion`, the metadata's file. {OUTCOME}")
    metadata = _metadata(file.companion, file.companion_sha256)
    crlf = text.count("\r\n")
    for number, record in enumerate(objects(name, text), start=1):
        row = _row(name, number, record, metadata, file.companion.name)
        if number == 1 and crlf:
            note = Note("note", "crlf", f"{crlf} lines end in CR LF", place=(name, None))
            row = SourceRow(row.file, row.number, row.cells, (note, *row.notes))
        yield row


@lru_cache(maxsize=1)  # the files of all categories share one table
def _metadata(path: Path, _sha256: str) -> dict[Key, list[Meta]]:
    name = path.name
    found: dict[Key, list[Meta]] = {}
    text = decode(name, read_bytes(path, OUTCOME), "utf-8", OUTCOME)
    for number, cells in enumerate(read_delimited(name, text, ",", OUTCOME), start=1):
        for column in ("category", "question_index", "example_id", "target_loc", *JOINED):
            if column not in cells:
                raise SourceError(f"{name}: column `{column}` is missing; the reader `bbq` joins it. {OUTCOME}")
        key = (cells["category"], cells["question_index"], cells["example_id"])
        found.setdefault(key, []).append((number, cells))
    return found


def _row(name: str, number: int, record: dict[str, Any], metadata: dict[Key, list[Meta]], companion: str) -> SourceRow:
    where = f"{name}, row {number}"
    own = field_of(where, record, "additional_metadata", dict)
    options = [field_of(where, record, answer) for answer in ANSWERS]
    info = field_of(where, record, "answer_info", dict)
    groups = [str(field_of(where, info, answer, list)[-1]) for answer in ANSWERS]
    category, template = field_of(where, record, "category"), field_of(where, record, "question_index", (str, int))
    example = field_of(where, record, "example_id", (str, int))
    notes = _option_notes(options, groups)
    joined, target = _joined(metadata.get((category, str(template), str(example)), []), own, companion, notes)
    cells = {
        "id": f"{category}/{example}",
        "context": field_of(where, record, "context"),
        "question": field_of(where, record, "question"),
        "options": json_text(options),
        "answer": _answer(where, record),
        "target": target,
        "unknown": groups.index(UNKNOWN) if groups.count(UNKNOWN) == 1 else None,
        "option_groups": json_text(groups),
        "stereotyped_groups": json_text(field_of(where, own, "stereotyped_groups", list)),
        "category": category,
        "subcategory": None if own.get("subcategory") in (None, "None") else own["subcategory"],
        "template": str(template),
        "condition": field_of(where, record, "context_condition"),
        "polarity": field_of(where, record, "question_polarity"),
        "details": json_text({**joined, "version": own.get("version"), "source": own.get("source")}),
    }
    return SourceRow(name, number, cells, tuple(notes))


def _option_notes(options: list[str], groups: list[str]) -> list[Note]:
    notes = [
        Note("suspicious", "outer_whitespace", f"`{option}` starts or ends with whitespace; kept", column)
        for column, option in zip(ANSWERS, options, strict=True)
        if option != option.strip()
    ]
    if groups.count(UNKNOWN) != 1:
        told = f"{groups.count(UNKNOWN)} options mean 'unknown'; biased choices can't be told here"
        notes.append(Note("suspicious", "no_single_unknown", told, "answer_info"))
    return notes


def _joined(
    rows: list[Meta], own: dict[str, Any], companion: str, notes: list[Note]
) -> tuple[dict[str, str | None], int | None]:
    """The metadata of a question, and the index of the option that bias would choose (`target_loc`)."""
    if not rows:
        notes.append(Note("suspicious", "no_metadata", f"{companion} has no row for this question", "target_loc"))
        return {}, None
    values = _one_of(rows, own, companion, notes)
    joined: dict[str, str | None] = {}
    for column in JOINED:
        value = values[column]
        if value is not None and "\n" in value:
            mended = " ".join(value.split())
            told = f"a line end inside the cell; read as `{mended}`"
            notes.append(Note("repaired", "newline_in_cell", told, column, (companion, rows[0][0])))
            value = mended
        joined[column.lower()] = None if value in ("NA", "", None) else value
    return joined, _target(values["target_loc"], (companion, rows[0][0]), notes)


def _one_of(rows: list[Meta], own: dict[str, Any], companion: str, notes: list[Note]) -> dict[str, str | None]:
    """One row's values where a key has several: the row of the question's own groups, or what all agree on."""
    if len(rows) == 1:
        return dict(rows[0][1])
    groups = ", ".join(map(str, own.get("stereotyped_groups") or []))
    same = [(number, cells) for number, cells in rows if cells[KNOWN] == groups]
    numbers = " and ".join(str(number) for number, _ in rows)
    for column in ("target_loc", *JOINED):
        if len({cells[column] for _, cells in rows}) > 1:
            taken = f"row {same[0][0]} taken, whose groups are the question's own" if len(same) == 1 else "left empty"
            told = f"rows {numbers} have one key and other values; {taken}"
            notes.append(Note("repaired", "doubled_key", told, column, (companion, rows[1][0])))
    if len(same) == 1:
        return dict(same[0][1])
    agreed = {column: {cells[column] for _, cells in rows} for column in rows[0][1]}
    return {column: values.pop() if len(values) == 1 else None for column, values in agreed.items()}


def _target(value: str | None, place: tuple[str, int], notes: list[Note]) -> int | None:
    if value in ("0", "1", "2"):
        return int(str(value))
    told = f"`{value}` names no option; biased choices can't be told here"
    notes.append(Note("suspicious", "no_target", told, "target_loc", place))
    return None


def _answer(where: str, record: dict[str, Any]) -> int:
    label = field_of(where, record, "label", int)
    if label not in range(len(ANSWERS)):
        raise SourceError(f"{where}, field `label`: {label} is the index of no answer. {OUTCOME}")
    return int(label)
