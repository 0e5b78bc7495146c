"""Making a version of a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ethicsdb.builders.links import evaluate_formula_ids, link_variants
from ethicsdb.builders.report import Report
from ethicsdb.builders.rows import Draft, drafts, item_id
from ethicsdb.builders.sources import SourceFile, locate
from ethicsdb.registry import journal
from ethicsdb.registry.bulk import many_objects
from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.mirror import dataset_row
from ethicsdb.registry.versions import find_versions
from ethicsdb.schemas.declared import DatasetDeclaration
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint, fingerprint_rows

__all__ = ["Built", "build"]


@dataclass
class Built:
    """What a build made, or found made already."""

    dataset: str
    version: str
    new: bool
    rows: int
    items: int
    report: list[tuple[str, str, int]]  # (severity, code, entries)
    variants: dict[str, int] = field(default_factory=dict)
    linked: int = 0
    waited: bool = False


def build(context: Context, name: str, given: Path | None = None) -> Built:
    """Make a version of a data set from its source; the same content makes no new version.

    The order of the source's rows does not matter to the version's fingerprint. The version appears whole or not at
    all; every row that was dropped, mended or looks odd stands in `build_report`.

    Args:
        given: file or folder to read instead of the declared paths.

    Raises:
        NotFoundError: no data set has that name.
        DeclarationError: its declaration maps fields that its items do not have.
        SourceError: the source does not hold what the declaration says; nothing was loaded.
    """
    with many_objects():
        return _build(context, context.declarations.dataset(name), given)


def _build(context: Context, dataset: DatasetDeclaration, given: Path | None) -> Built:
    files = locate(dataset, given)
    report = Report()
    rows = list(drafts(dataset, files, report))
    _finish(dataset, rows, report)
    mark = fingerprint_rows(_membership(draft) for draft in rows)
    with journal.journal_lock(context.store.journals, f"build-{dataset.name}") as waited:
        context.catch_up()
        versions = find_versions(context, dataset.name)
        same = next((version for version in versions if version.fingerprint == mark), None)
        number = same.number if same else len(versions) + 1
        if same is None:
            _write(context, dataset, files, rows, report, (number, mark))
            context.catch_up()
    return _summary(dataset, f"v{number}", rows, report, new=same is None, waited=waited)


def _finish(dataset: DatasetDeclaration, rows: list[Draft], report: Report) -> None:
    for draft in rows:
        draft.item_id = item_id(dataset, draft.payload)
    evaluate_formula_ids(rows, report)
    link_variants(dataset, rows, report)
    first: dict[str, Draft] = {}
    for draft in rows:
        before = first.setdefault(draft.item_id, draft)
        if before is not draft:
            report.add(
                "note",
                "duplicate",
                f"equal to row {before.number} of {before.file}; both rows are kept",
                row=(draft.file, draft.number),
            )


def _membership(draft: Draft) -> list[Any]:
    return [draft.item_id, draft.split, draft.group_id, draft.variant, draft.base_item, draft.source_id]


def _write(
    context: Context,
    dataset: DatasetDeclaration,
    files: list[SourceFile],
    rows: list[Draft],
    report: Report,
    version: tuple[int, str],
) -> None:
    number, mark = version
    path = context.store.journals / journal.journal_name("build", dataset.name, f"v{number}")
    row = {
        "dataset": dataset.name,
        "version": f"v{number}",
        "number": number,
        "fingerprint": mark,
        "rows": len(rows),
        "items": len({draft.item_id for draft in rows}),
        "source": ", ".join(name for name, _ in _sources(files)),
        "source_sha256": ",".join(mark for _, mark in _sources(files)),
        "declaration_fingerprint": fingerprint(dataset.model_dump(mode="json", by_alias=True)),
        "declaration": canonical_json(dataset.model_dump(mode="json", by_alias=True, exclude_none=True)).decode(),
        "built_at": datetime.now(UTC).isoformat(),
    }
    journal.write_whole(path, _batches(dataset, rows, report, row))


def _sources(files: list[SourceFile]) -> list[tuple[str, str]]:
    """(name, SHA-256) of every file that was read, companions last."""
    beside = [(file.companion.name, str(file.companion_sha256)) for file in files if file.companion is not None]
    return [*((file.path.name, file.sha256) for file in files), *dict.fromkeys(beside)]


def _batches(dataset: DatasetDeclaration, rows: list[Draft], report: Report, row: dict[str, Any]) -> Iterator[Batch]:
    version = row["version"]
    yield from batches("dataset", [dataset_row(dataset)])
    distinct = {draft.item_id: draft for draft in reversed(rows)}
    yield from batches("item", ({"item_id": key, "kind": dataset.schema_, "dataset": dataset.name} for key in distinct))
    yield from batches(dataset.schema_, ({"item_id": key, **draft.payload} for key, draft in distinct.items()))
    yield from batches("membership", (_membership_record(dataset, version, draft) for draft in rows))
    yield from batches("build_report", report.records(dataset.name, version))
    yield from batches("dataset_version", [row])


def _membership_record(dataset: DatasetDeclaration, version: str, draft: Draft) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "version": version,
        "row": draft.position,
        "item_id": draft.item_id,
        "split": draft.split,
        "group_id": draft.group_id,
        "variant": draft.variant,
        "base_item": draft.base_item,
        "source_id": draft.source_id,
        "source_file": draft.file,
        "source_row": draft.number,
    }


def _summary(
    dataset: DatasetDeclaration, version: str, rows: list[Draft], report: Report, *, new: bool, waited: bool
) -> Built:
    return Built(
        dataset=dataset.name,
        version=version,
        new=new,
        rows=len(rows),
        items=len({draft.item_id for draft in rows}),
        report=report.counts(),
        variants=dict(Counter(draft.variant for draft in rows if draft.variant)),
        linked=sum(draft.base_item is not None for draft in rows),
        waited=waited,
    )
