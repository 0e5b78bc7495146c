"""Which rows vary the same direct question, and which rows are therefore not independent."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from ethicsdb.builders.report import Report
from ethicsdb.builders.rows import Draft
from ethicsdb.schemas.declared import DatasetDeclaration, Link
from ethicsdb.schemas.fingerprint import fingerprint
from ethicsdb.schemas.outcomes import Variant

__all__ = ["evaluate_formula_ids", "link_variants"]

FORMULA = re.compile(r"=([A-Z]{1,3})([0-9]{1,9})\+([0-9]{1,9})")


def evaluate_formula_ids(rows: list[Draft], report: Report) -> None:
    """Give ids their values where a spreadsheet was saved with its formulas (`=A3038+1`).

    Such an id means 'the id in row 3038 of the sheet, plus 1'; the header is row 1 of the sheet. That is known only
    while the rows stand in the sheet's order, which shows in every formula pointing the same number of rows up.
    Otherwise the ids stay as they are and link nothing. Each file is a sheet of its own.
    """
    sheets: dict[str, list[Draft]] = defaultdict(list)
    for draft in rows:
        sheets[draft.file].append(draft)
    for sheet in sheets.values():
        _evaluate_sheet(sheet, report)


def _evaluate_sheet(rows: list[Draft], report: Report) -> None:
    matches = {draft.position: FORMULA.fullmatch(draft.source_id or "") for draft in rows}
    steps = {draft.number + 1 - int(match[2]) for draft in rows if (match := matches[draft.position])}
    in_order = len(steps) == 1 and min(steps) > 0
    values: dict[int, int | None] = {}  # by data row, which is one less than the sheet's
    for draft in rows:
        match = matches[draft.position]
        if match is None:
            values[draft.number] = _number(draft.source_id)
            continue
        above = values.get(int(match[2]) - 1) if in_order else None
        values[draft.number] = None if above is None else above + int(match[3])
        _note_formula(draft, values[draft.number], report)


def _note_formula(draft: Draft, value: int | None, report: Report) -> None:
    formula, where = draft.source_id, (draft.file, draft.number)
    if value is None:
        told = f"`{formula}` is a spreadsheet formula whose row can't be told; the row is not linked"
        report.add("suspicious", "formula_id", told, row=where, column="id")
        draft.source_id = None
    else:
        report.add("repaired", "formula_id", f"`{formula}` evaluated to {value}", row=where, column="id")
        draft.source_id = str(value)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 16 else None


def link_variants(dataset: DatasetDeclaration, rows: list[Draft], report: Report) -> None:
    """Set each row's cluster, and its base question where there is exactly one.

    Without a link, rows that agree in the fields of `group` are one cluster; where there is none, equal items are.
    With a link, rows are of one cluster where its id and its `within` fields agree. A variant's base is the one direct
    item of its cluster; with several or none the variant is reported and not paired.
    """
    for draft in rows:
        draft.group_id = draft.item_id
    if dataset.group:
        _group(dataset, rows)
    if dataset.link is None:
        return
    _report_collisions(dataset.link, rows, report)
    clusters: dict[tuple[str | None, ...], list[Draft]] = defaultdict(list)
    for draft in rows:
        if draft.source_id is not None:
            key = (draft.source_id, *(draft.payload[name] for name in dataset.link.within))
            clusters[key].append(draft)
    for key, members in clusters.items():
        _link_cluster(fingerprint(["group", dataset.name, *key]), members, report)


def _group(dataset: DatasetDeclaration, rows: list[Draft]) -> None:
    """Clusters of rows that agree in all `group` fields; a row in which one is missing stands alone."""
    known: dict[tuple[Any, ...], str] = {}
    for draft in rows:
        key = tuple(draft.payload[name] for name in dataset.group)
        if None in key:
            continue
        if key not in known:
            known[key] = fingerprint(["group", dataset.name, *key])
        draft.group_id = known[key]


def _link_cluster(group: str, members: list[Draft], report: Report) -> None:
    bases = sorted({draft.item_id for draft in members if draft.variant == Variant.DIRECT})
    for draft in members:
        draft.group_id = group
        if draft.variant in (None, Variant.DIRECT):
            continue
        if len(bases) == 1:
            draft.base_item = bases[0]
            continue
        reason = f"{len(bases)} direct questions share its id" if bases else "no direct question has its id"
        report.add(
            "suspicious",
            "ambiguous_base" if bases else "no_base",
            f"{reason} `{draft.source_id}`; not paired",
            row=(draft.file, draft.number),
            column="id",
        )


def _report_collisions(link: Link, rows: list[Draft], report: Report) -> None:
    """Ids that cover several direct questions."""
    direct: dict[str, list[Draft]] = defaultdict(list)
    for draft in rows:
        if draft.variant == Variant.DIRECT and draft.source_id is not None:
            direct[draft.source_id].append(draft)
    for source_id, drafts in direct.items():
        if len(drafts) > 1:
            told = f"; told apart by {', '.join(link.within)}" if link.within else ""
            report.add(
                "suspicious",
                "colliding_id",
                f"id `{source_id}` covers {len(drafts)} direct questions{told}",
                row=(drafts[0].file, drafts[0].number),
                column=link.id,
            )
