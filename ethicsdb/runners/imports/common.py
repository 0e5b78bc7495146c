"""What every import shares: it is journalled whole, named by its content, and done once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ethicsdb.registry import journal
from ethicsdb.registry.context import Context
from ethicsdb.registry.faults import near
from ethicsdb.registry.items import ItemRow, item_rows
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.mirror import benchmark_rows, metric_rows
from ethicsdb.registry.versions import Version, find_version
from ethicsdb.runners.identity import Identity, prompt_identity, request_hash, response_key, run_identity
from ethicsdb.runners.render import render
from ethicsdb.schemas.declared import BenchmarkDeclaration
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import short
from ethicsdb.schemas.rubrics import attributes_of

__all__ = [
    "NOT_ASKED_HERE",
    "OUTCOME",
    "Imported",
    "Target",
    "answer_record",
    "import_journal",
    "label_values",
    "occurrences",
    "open_target",
    "run_records",
    "store_import",
]

OUTCOME = "Nothing was imported."
NOT_ASKED_HERE = '{"imported":true}'  # settings of answers that others drew are unknown, and no settings of ours


@dataclass
class Imported:
    """What an import brought. `counts` are of what the file holds; `rows` are those that it could be about."""

    name: str
    new: bool
    rows: int
    counts: dict[str, int] = field(default_factory=dict)
    aligned_with: str = ""
    lines: int = 0  # of the file
    missing: int = 0  # rows without a line
    custom_id: str = ""  # of the first row's line in judge outputs
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Target:
    """What an import is aligned with: a benchmark on a version of its data."""

    benchmark: BenchmarkDeclaration
    version: Version
    rows: list[ItemRow]


def open_target(context: Context, name: str) -> Target:
    """The benchmark `NAME`, or `NAME` on a version: `NAME@v2`.

    Raises:
        NotFoundError: no such benchmark or version, or its data set has not been built.
    """
    name, _, wanted = name.partition("@")
    benchmark = context.declarations.benchmark(name)
    reference = benchmark.dataset + (f"@{wanted}" if wanted else "")
    version = find_version(context, reference)
    kind = context.declarations.dataset(benchmark.dataset).schema_
    with context.reading() as connection:
        return Target(benchmark, version, item_rows(connection, version, kind))


def label_values(context: Context, benchmark: BenchmarkDeclaration, attribute: str) -> list[str]:
    """The values that judges of a benchmark give an attribute, which people's labels are compared with.

    Raises:
        SourceError: none of them gives it.
    """
    known: dict[str, list[str]] = {}
    for judge in benchmark.judges:
        rubric = context.declarations.rubric(context.declarations.judge(judge).rubric).rubric
        for name, values in attributes_of(rubric).items():
            if not name.endswith("_published"):
                known.setdefault(name, []).extend(value for value in values if value not in known.get(name, []))
    if attribute not in known:
        end = near(attribute, sorted(known))
        end += "" if end.endswith("?") else "."
        raise SourceError(f"--attribute {attribute}: no judge of {benchmark.name} gives that label{end} {OUTCOME}")
    return known[attribute]


def run_records(
    target: Target, model: Identity, file_sha256: str, n_expected: int, role: str, drawn: str | None = None
) -> tuple[str, list[Batch]]:
    """A run's identity and the catalog rows that an imported run brings.

    Args:
        drawn: fingerprint of the rows where they are not all, so that runs of other rows do not share a rank.
    """
    prompt = prompt_identity(target.benchmark.prompt)
    keys = {"prompt": prompt.fingerprint, "sampling": NOT_ASKED_HERE, "file": file_sha256}
    version = (target.version.version, target.version.fingerprint)
    run_id = run_identity(target.benchmark, version, model.fingerprint, keys, role)
    run = {
        "run_id": run_id,
        "benchmark": target.benchmark.name,
        "major": target.benchmark.major,
        "dataset": target.version.dataset,
        "version": target.version.version,
        "model_fingerprint": model.fingerprint,
        "prompt_fingerprint": prompt.fingerprint,
        "sampling": NOT_ASKED_HERE if drawn is None else json.dumps({"imported": True, "rows": drawn}),
        "item_limit": None if drawn is None else n_expected,
        "n_expected": n_expected,
        "role": role,
        "source": "import",
        "started_at": datetime.now(UTC).isoformat(),
    }
    brought = {
        "benchmark": benchmark_rows(target.benchmark),
        "metric": metric_rows(target.benchmark),
        "model": [model.record],
        "prompt": [prompt.record],
        "run": [run],
    }
    return run_id, [batch for table, records in brought.items() for batch in batches(table, records)]


def answer_record(target: Target, row: ItemRow, model: Identity, sample_number: int, **answer: Any) -> dict[str, Any]:
    """A `response` row for an imported answer to an item.

    Rows that share an item are answers to one request; they are told apart as samples, in the file's order.
    """
    request = request_hash(render(target.benchmark.prompt, row.payload))
    return {
        "response_key": response_key(model.fingerprint, request, NOT_ASKED_HERE, sample_number),
        "try_number": 1,
        "model_fingerprint": model.fingerprint,
        "request_hash": request,
        "sampling": NOT_ASKED_HERE,
        "sample_number": sample_number,
        "status": answer.get("status", "completed"),
        "text": answer.get("text"),
        "flags": answer.get("flags", ""),
        "error_code": answer.get("error_code"),
        "created_at": None,
    }


def occurrences(item_ids: Iterable[str]) -> list[int]:
    """For each item its number among the equal ones before it: 0 for the first."""
    seen: Counter[str] = Counter()
    out = []
    for item in item_ids:
        out.append(seen[item])
        seen[item] += 1
    return out


def import_journal(context: Context, kind: str, identity: str) -> Path:
    """Where the journal of an import stands, or will stand."""
    return context.store.journals / journal.journal_name("import", kind, short(identity, 16))


def store_import(context: Context, kind: str, identity: str, make: Callable[[], Iterable[Batch]]) -> bool:
    """Write an import's journal, once; returns whether it was new."""
    path = import_journal(context, kind, identity)
    with journal.journal_lock(context.store.journals, path.name):
        new = not path.exists()
        if new:
            journal.write_whole(path, make())
    context.catch_up()
    return new
