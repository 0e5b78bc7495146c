"""The catalog rows that a run of ours brings: benchmark, metrics, model, prompt, and the run itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.mirror import benchmark_rows, metric_rows
from ethicsdb.registry.versions import Version
from ethicsdb.runners.identity import Identity, run_identity
from ethicsdb.schemas.declared import BenchmarkDeclaration

__all__ = ["Put", "run_batches"]


@dataclass(frozen=True)
class Put:
    """What is put to a model: how, how much, and what else tells runs apart.

    Attributes:
        prompt: the `prompt` row; None where there is none.
        sampling: JSON of the settings.
        limit: of items; None for all.
        n_expected: asked-for answers, or items.
        keys: more that enters the run's identity.
    """

    prompt: dict[str, Any] | None
    sampling: str
    limit: int | None
    n_expected: int
    keys: dict[str, Any]


def run_batches(
    benchmark: BenchmarkDeclaration, version: Version, model: Identity, put: Put
) -> tuple[str, list[Batch]]:
    """A run's id and the batches of its catalog rows; the run's own comes last: then it is whole."""
    prompt = put.prompt["fingerprint"] if put.prompt else None
    keys = {"prompt": prompt, "sampling": put.sampling, **put.keys, "limit": put.limit}
    if benchmark.items:
        keys["items"] = benchmark.items
    run_id = run_identity(benchmark, (version.version, version.fingerprint), model.fingerprint, keys, "evaluation")
    run = {
        "run_id": run_id,
        "benchmark": benchmark.name,
        "major": benchmark.major,
        "dataset": version.dataset,
        "version": version.version,
        "model_fingerprint": model.fingerprint,
        "prompt_fingerprint": prompt,
        "sampling": put.sampling,
        "item_limit": put.limit,
        "n_expected": put.n_expected,
        "role": "evaluation",
        "source": "run",
        "started_at": datetime.now(UTC).isoformat(),
    }
    brought = {
        "benchmark": benchmark_rows(benchmark),
        "metric": metric_rows(benchmark),
        "model": [model.record],
        "prompt": [put.prompt] if put.prompt else [],
        "run": [run],
    }
    return run_id, [batch for table, rows in brought.items() for batch in batches(table, rows)]
