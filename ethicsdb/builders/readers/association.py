"""Word and sentence association tests (Caliskan et al. 2017; May et al. 2019), as released with `sent-bias`."""

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
    object_of,
    parsed,
    text_of,
)
from ethicsdb.schemas.errors import SourceError

__all__ = ["read_association"]

SETS = ("targ1", "targ2", "attr1", "attr2")


def read_association(file: SourceFile) -> Iterator[SourceRow]:
    """The one test of a file, which is named for it; the file is one JSON object, whatever its ending says.

    Cells: `name`, and for each of targ1, targ2, attr1, attr2 `SET` (JSON list of texts) and `SET_category`.

    Raises:
        SourceError: a set is missing or empty, or holds something else than texts.
    """
    name = file.path.name
    record = object_of(name, parsed(name, text_of(file)))
    cells: dict[str, Any] = {"name": file.path.stem}
    notes = []
    if name.endswith(".jsonl"):
        told = "named as JSON lines, and holds one JSON object"
        notes.append(Note("note", "one_object", told, place=(name, None)))
    for key in SETS:
        where = f"{name}, `{key}`"
        part = field_of(name, record, key, dict)
        examples = field_of(where, part, "examples", list)
        if not examples or not all(isinstance(example, str) for example in examples):
            raise SourceError(f"{where}: expected a list of texts that is not empty. {OUTCOME}")
        cells[key] = json_text(examples)
        cells[f"{key}_category"] = field_of(where, part, "category")
        if len(set(examples)) < len(examples):
            told = f"{len(examples) - len(set(examples))} of its texts stand twice; kept"
            notes.append(Note("suspicious", "doubled_example", told, key))
    yield SourceRow(name, 1, cells, tuple(notes))
