"""`annotate import`: take a sheet back that somebody filled in."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.faults import near
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.tabular import decode, read_delimited
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.annotation.cells import shown_mark
from ethicsdb.runners.imports.common import OUTCOME, Imported, store_import
from ethicsdb.runners.parsers.fields import YES_NO_WORDS
from ethicsdb.runners.withdrawals import withdrawal
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import fingerprint, short

__all__ = ["import_sheet"]

NEEDED = ("unit", "question", "answer", "label")


@dataclass(frozen=True)
class _Unit:
    """A unit as it was drawn."""

    sheet_id: str
    sheet: str
    run_id: str
    attribute: str
    allowed: list[str]
    response_key: str
    group_id: str
    probability: float
    annotators: list[str]
    shown: str


def import_sheet(context: Context, path: Path, annotator: str, *, replace: bool = False) -> Imported:
    """Take somebody's labels of a sheet. Rows without a label are left for a later time; a second time changes nothing.

    Args:
        replace: the labels of this person and sheet that came in before were wrong: they are withdrawn.

    Raises:
        SourceError: a unit is none of the sheet's or of this person's, or stands twice; a question or answer was
            edited; a label is none that is allowed, or another than before.
    """
    rows = _rows(path)
    units = _units(context, [row["unit"].strip() for row in rows])
    labels = _labels(path, rows, units, annotator)
    if not labels:
        raise SourceError(f"{path.name}: no row has a label yet. {OUTCOME}")
    first = units[next(iter(labels))]
    before = _before(context, first, annotator)
    sources = sorted({source for source, _ in before.values()}) if replace else []
    new = dict(labels) if replace else _new(path, labels, units, before)
    if replace and all(before.get(units[unit].response_key, ("", ""))[1] == value for unit, value in labels.items()):
        new, sources = {}, []
    count = f"{len(labels):,} of {len(rows):,}"
    name = f"{first.sheet}-{annotator}-{short(fingerprint(sorted(labels.items())), 6)}"
    told = Imported(
        name, False, len(rows), dict(Counter(labels.values())), f"sheet {first.sheet}, {count} labelled", len(rows)
    )
    if new:
        mark = fingerprint(["sheet labels", first.sheet_id, annotator, sorted(new.items()), sources])
        told.new = store_import(context, "labels", mark, lambda: _batches(name, (new, units), annotator, sources))
    return told


def _rows(path: Path) -> list[dict[str, Any]]:
    text = decode(path.name, read_bytes(path, OUTCOME), "utf-8", OUTCOME)
    # Some spreadsheet programs write the separator of their country.
    delimiter = ";" if ";" in text.partition("\n")[0] and "," not in text.partition("\n")[0] else ","
    rows = list(read_delimited(path.name, text, delimiter, OUTCOME))
    missing = [name for name in NEEDED if rows and name not in rows[0]]
    if not rows or missing:
        what = f"column `{missing[0]}` is missing" if missing else "there are no rows in it"
        raise SourceError(f"{path.name}: {what}; a sheet has the columns {', '.join(NEEDED)}. {OUTCOME}")
    return rows


def _units(context: Context, names: list[str]) -> dict[str, _Unit]:
    with context.reading() as connection:
        found = connection.execute(read_sql("sheet_units"), {"units": names}).fetchall()
    units = {}
    for name, sheet_id, sheet, run_id, attribute, allowed, key, group, probability, annotators, shown in found:
        people = json.loads(annotators)
        units[name] = _Unit(
            sheet_id, sheet, run_id, attribute, json.loads(allowed), key, group, probability, people, shown
        )  # fmt: skip
    return units


def _labels(path: Path, rows: list[dict[str, Any]], units: dict[str, _Unit], annotator: str) -> dict[str, str]:
    """Unit: label, of the rows that have one."""
    seen: set[str] = set()
    labels: dict[str, str] = {}
    sheets = {each.sheet for each in units.values()}
    if len(sheets) > 1:
        raise SourceError(
            f"{path.name}: rows of {len(sheets)} sheets ({', '.join(sorted(sheets))}) stand in it. {OUTCOME}"
        )
    for number, row in enumerate(rows, start=1):
        name = row["unit"].strip()
        where = f"{path.name}, row {number}"
        unit = units.get(name)
        if unit is None:
            raise SourceError(f"{where}: no sheet of this database has the unit `{name}`. {OUTCOME}")
        if name in seen:
            raise SourceError(f"{where}: the unit `{name}` stands above already. {OUTCOME}")
        seen.add(name)
        if annotator not in unit.annotators:
            who = ", ".join(unit.annotators)
            raise SourceError(f"{where}: this unit was given to {who}, not to {annotator}. {OUTCOME}")
        if shown_mark(row["question"], row["answer"]) != unit.shown:
            raise SourceError(f"{where}: the question or the answer was edited; label the sheet as it was. {OUTCOME}")
        if row["label"].strip():
            labels[name] = _value(where, row["label"], unit)
    return labels


def _value(where: str, told: str, unit: _Unit) -> str:
    """The allowed value that a cell means: as written, or as spreadsheets and other languages write yes and no."""
    word = unicodedata.normalize("NFKC", told).strip().casefold()
    for value in unit.allowed:
        if word == value.casefold() or word in YES_NO_WORDS.get(value, ()):
            return value
    meant = near(word, unit.allowed)
    raise SourceError(f"{where}, field `label`: `{told.strip()}` is no value of `{unit.attribute}`{meant} {OUTCOME}")


def _before(context: Context, unit: _Unit, annotator: str) -> dict[str, tuple[str, str]]:
    """Answer: (import, value) that this person gave before; withdrawn imports aside."""
    parameters = {"sheet": unit.sheet_id, "annotator": annotator, "attribute": unit.attribute}
    with context.reading() as connection:
        rows = connection.execute(read_sql("sheet_labels"), parameters).fetchall()
    return {key: (source, value) for key, source, value in rows}


def _new(
    path: Path, labels: dict[str, str], units: dict[str, _Unit], before: dict[str, tuple[str, str]]
) -> dict[str, str]:
    """The labels that are not there yet."""
    for unit, value in labels.items():
        source, earlier = before.get(units[unit].response_key, ("", value))
        if earlier != value:
            raise SourceError(
                f"{path.name}: the unit `{unit}` is labelled `{value}` here and `{earlier}` in the import `{source}`. "
                f"If this sheet corrects it, say --replace. {OUTCOME}"
            )
    return {unit: value for unit, value in labels.items() if units[unit].response_key not in before}


def _batches(
    name: str, what: tuple[dict[str, str], dict[str, _Unit]], annotator: str, replaced: list[str]
) -> Iterator[Batch]:
    labels, units = what
    # In one journal with what it replaces: a kill leaves both or neither.
    yield from batches("withdrawal", (withdrawal("import", each) for each in replaced))
    rows = [(units[unit], value) for unit, value in sorted(labels.items())]
    yield from batches(
        "import_row",
        (
            {"import_name": name, "row": at, "run_id": unit.run_id, "response_key": unit.response_key}
            for at, (unit, _) in enumerate(rows)
        ),
    )
    yield from batches("annotation", (_annotation(unit, value, annotator, name) for unit, value in rows))


def _annotation(unit: _Unit, value: str, annotator: str, source: str) -> dict[str, Any]:
    return {
        "subject_kind": "response",
        "subject_id": unit.response_key,
        "annotator": annotator,
        "attribute": unit.attribute,
        "value": value,
        "sampling_probability": unit.probability,
        "group_id": unit.group_id,
        "source": source,
    }
