"""RedditBias's annotated comments (Barikeri et al. 2021): CSV files whose columns and labels are not quite alike."""

from __future__ import annotations

from collections.abc import Iterator

from ethicsdb.builders.readers.base import OUTCOME, Note, SourceFile, SourceRow, field_of, text_of
from ethicsdb.registry.tabular import read_delimited

__all__ = ["read_redditbias"]

LABELS = ("bias_sent", "bias_phrase")


def read_redditbias(file: SourceFile) -> Iterator[SourceRow]:
    """Comments with the phrase cut out of them and two labels, as they are in the file.

    Cells: `id` (empty where the file has none), `comment`, `phrase`, `in_window`, `bias_sent`, `bias_phrase`. Reported:
    blank labels, an empty phrase, a value in the column without a name, and text that is not UTF-8.

    Raises:
        SourceError: a column is missing.
    """
    name = file.path.name
    utf8 = file.source.encoding.lower().replace("-", "") in ("utf8", "utf8sig")
    for number, cells in enumerate(read_delimited(name, text_of(file), ",", OUTCOME), start=1):
        where = f"{name}, row {number}"
        found = {
            "id": cells.get("id"),
            "comment": field_of(where, cells, "comment"),
            "phrase": field_of(where, cells, "phrase"),
            "in_window": field_of(where, cells, "attribute_in_window"),
            **{label: field_of(where, cells, label) for label in LABELS},
        }
        notes = list(_notes(found, cells.get("")))
        if not utf8 and not "".join(cells.values()).isascii():
            told = f"not UTF-8; read as {file.source.encoding}"
            column = next(key for key, value in cells.items() if not value.isascii())
            notes.append(Note("repaired", "not_utf8", told, column))
        yield SourceRow(name, number, found, tuple(notes))


def _notes(cells: dict[str, str], unnamed: str | None) -> Iterator[Note]:
    for label in LABELS:
        if not cells[label].strip():
            yield Note("note", "blank_label", "not annotated", label)
    if not cells["phrase"].strip():
        yield Note("suspicious", "empty_phrase", "there is no phrase; the comment is kept", "phrase")
    if unnamed:
        yield Note("suspicious", "unnamed_column", f"`{unnamed}` in a column without a name; left out")
