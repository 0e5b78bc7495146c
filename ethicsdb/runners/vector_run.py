"""`run` of an association benchmark: vectors of all texts of its tests, kept by content, and what follows from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import batches
from ethicsdb.runners.identity import embedding_key, target_hash
from ethicsdb.runners.likelihood_run import ScoredRun, outcomes_of
from ethicsdb.runners.recording import Put, run_batches
from ethicsdb.runners.run_settings import Settings, chosen_rows
from ethicsdb.runners.runs import find_items
from ethicsdb.runners.scores import score_run
from ethicsdb.runners.stage import Stage, open_stage
from ethicsdb.runners.vectors.base import VectorBackend

__all__ = ["score_vectors"]

SETS = ("target1", "target2", "attribute1", "attribute2")


def score_vectors(context: Context, reference: str, backend: VectorBackend, settings: Settings) -> ScoredRun:
    """Turn the texts of every association test of a benchmark's data into vectors, and measure the tests.

    A vector that is there already, from whatever run, is not computed again.

    Args:
        reference: `BENCHMARK`, or `BENCHMARK@vN` for an older version of its data.

    Raises:
        NotFoundError: no such benchmark, or its data set has not been built.
        DeclarationError: a setting that the benchmark does not have.
        ModelError, SourceError: the model can't be read.
    """
    benchmark, version, found = find_items(context, reference)
    settings.only_for("vectors", benchmark.name)
    rows, limit = chosen_rows(found, settings.limit)
    kind = context.declarations.dataset(benchmark.dataset).schema_
    model = backend.identity.fingerprint
    wanted = {
        (row.row, row.item_id, f"{name}_{number}"): text
        for row in rows
        for name in SETS
        for number, text in enumerate(row.decoded(kind)[name])
    }
    run_id, records = run_batches(benchmark, version, backend.identity, Put(None, "{}", limit, len(rows), {}))
    with open_stage(context, "vectors", benchmark.name, ["vectors", benchmark.name, benchmark.major, model]) as stage:
        if not _known(context, "SELECT 1 FROM run WHERE run_id = ?", [run_id]):
            targets = [
                {"run_id": run_id, "row": row, "item_id": item, "target": name,
                 "likelihood_key": embedding_key(model, target_hash(text))}
                for (row, item, name), text in wanted.items()
            ]  # fmt: skip
            stage.journal.append([*batches("run_target", targets), *records])
        computed = _embed(stage, backend, wanted)
        waited = stage.waited
    scores = score_run(context, benchmark, run_id)
    outcomes, reasons = outcomes_of(context, run_id)
    return ScoredRun(
        run_id, benchmark.name, version.version, str(backend.identity.record["name"]), len(rows), len(wanted), computed,
        outcomes, reasons, scores, waited,
    )  # fmt: skip


def _known(context: Context, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    with context.reading() as connection:
        return connection.execute(query, parameters).fetchall()


def _embed(stage: Stage, backend: VectorBackend, wanted: Mapping[Any, str]) -> int:
    """Compute and keep what is missing; returns how many vectors that was."""
    model = backend.identity.fingerprint
    keys = {embedding_key(model, target_hash(text)): text for text in wanted.values()}
    query = "SELECT embedding_key FROM embedding WHERE model_fingerprint = ?"
    known = {row[0] for row in _known(stage.context, query, [model])}
    missing = {key: text for key, text in keys.items() if key not in known}
    if not missing:
        return 0
    vectors = backend.vectors(list(missing.values()))
    now = datetime.now(UTC).isoformat()
    texts = [{"target_hash": target_hash(text), "text": text} for text in missing.values()]
    embeddings = [
        {"embedding_key": key, "model_fingerprint": model, "target_hash": target_hash(text),
         "vector": None if (vector := vectors[text]) is None else json.dumps(vector), "created_at": now}
        for key, text in missing.items()
    ]  # fmt: skip
    stage.journal.append(
        [
            *batches("model", [backend.identity.record]),
            *batches("target_text", texts),
            *batches("embedding", embeddings),
        ]
    )
    return len(missing)
