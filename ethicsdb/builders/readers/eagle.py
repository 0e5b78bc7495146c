"""Eagle (Kaneko et al. 2024): utterances of a chat system with what was said before, in its two published shapes."""

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
    records_of,
    text_of,
)
from ethicsdb.schemas.errors import SourceError

__all__ = ["LABELS", "read_eagle"]

LABELS = ("social bias", "opinion bias", "toxic language", "morality", "neutral")
SPELLINGS = {"molarity": "morality"}  # as the data set's card has it
COLUMNS = ("original_id", "conversation_num", "utterance_num", "language", "ethical_labels", "context", "output")
POSITIONS = ("original_id", "conversation_num", "utterance_num", "context", "output")
ROLES = ("gpt", "human")


def read_eagle(file: SourceFile) -> Iterator[SourceRow]:
    """Utterances in the columns of the Hub (CSV, Parquet or JSON lines), or of the older positional JSON lines.

    Cells: `id` (original id/conversation/utterance), `original_id`, `conversation_num`, `utterance_num`, `language`,
    `labels` (JSON list, in the order of the four classes and neutral), `context` (JSON list of {role, content}; role
    gpt or human), `output` (the text that gpt said). Lists may be JSON or Python literals. The positional lines have no
    labels and no language.

    Raises:
        SourceError: a row is of neither shape, a label is unknown, or `neutral` stands beside another label.
    """
    name = file.path.name
    for number, record in enumerate(_records(file), start=1):
        yield _row(name, number, record)


def _records(file: SourceFile) -> Iterator[dict[str, Any]]:
    if file.form in ("csv", "tsv", "parquet"):
        yield from records_of(file)
        return
    name, text = file.path.name, text_of(file)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _record(f"{name}, line {number}", line)


def _record(where: str, line: str) -> dict[str, Any]:
    value = parsed(where, line)
    if isinstance(value, list):
        if len(value) != len(POSITIONS):
            raise SourceError(f"{where}: {len(value)} elements where {', '.join(POSITIONS)} are expected. {OUTCOME}")
        return dict(zip(POSITIONS, value, strict=True))
    return object_of(where, value)


def _row(name: str, number: int, record: dict[str, Any]) -> SourceRow:
    where = f"{name}, row {number}"
    notes: list[Note] = []
    cells: dict[str, Any] = {
        key: field_of(where, record, key, (str, int)) for key in ("original_id", "conversation_num", "utterance_num")
    }
    cells["id"] = "/".join(str(cells[key]) for key in ("original_id", "conversation_num", "utterance_num"))
    cells["language"] = record.get("language")
    cells["labels"] = json_text(_labels(where, record.get("ethical_labels"), notes))
    turns = _value(where, "context", record)
    if not isinstance(turns, list):
        raise SourceError(f"{where}, field `context`: expected a list of turns. {OUTCOME}")
    cells["context"] = json_text([_turn(f"{where}, field `context`", turn) for turn in turns])
    cells["output"] = _turn(f"{where}, field `output`", _value(where, "output", record))["content"]
    return SourceRow(name, number, cells, tuple(notes))


def _value(where: str, key: str, record: dict[str, Any]) -> Any:
    """A cell's value; text in it is read as JSON or a Python literal."""
    value = field_of(where, record, key, (str, list, dict))
    if not isinstance(value, str):
        return value
    try:
        return literal(value)
    except ValueError as error:
        raise SourceError(f"{where}, field `{key}`: {error}. {OUTCOME}") from error


def _turn(where: str, turn: Any) -> dict[str, str]:
    """A turn as {role, content}; a role that is none is an error."""
    record = object_of(where, turn)
    role = field_of(where, record, "role")
    if role not in ROLES:
        raise SourceError(f"{where}: `{role}` is no role; expected `gpt` or `human`. {OUTCOME}")
    return {"role": role, "content": field_of(where, record, "content")}


def _labels(where: str, value: Any, notes: list[Note]) -> list[str]:
    """Labels in their fixed order; a list, its text, or names parted by commas."""
    if value is None or value == "":
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = literal(value)
        except ValueError as error:
            raise SourceError(f"{where}, field `ethical_labels`: {error}. {OUTCOME}") from error
    if not isinstance(value, (str, list)):
        raise SourceError(f"{where}, field `ethical_labels`: found {type(value).__name__}, expected names. {OUTCOME}")
    found = [str(name).strip() for name in (value.split(",") if isinstance(value, str) else value)]
    for spelling, meant in SPELLINGS.items():
        if spelling in found:
            notes.append(Note("repaired", "other_spelling", f"`{spelling}` read as `{meant}`", "ethical_labels"))
    found = [SPELLINGS.get(name, name) for name in found]
    unknown = [name for name in found if name not in LABELS]
    if unknown:
        raise SourceError(f"{where}, field `ethical_labels`: `{unknown[0]}` is none of {', '.join(LABELS)}. {OUTCOME}")
    if "neutral" in found and len(set(found)) > 1:
        raise SourceError(f"{where}, field `ethical_labels`: `neutral` stands beside another label. {OUTCOME}")
    return [label for label in LABELS if label in found]
