"""Importing scores of sentences that someone else computed (StereoSet's released predictions)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.files import read_bytes
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.records import object_of, objects, parsed
from ethicsdb.registry.tabular import decode
from ethicsdb.runners.identity import likelihood_key, model_identity, target_hash
from ethicsdb.runners.imports.answers import ImportedAnswers
from ethicsdb.runners.imports.common import OUTCOME, Target, open_target, run_records, store_import
from ethicsdb.runners.scores import score_run
from ethicsdb.schemas.errors import DeclarationError, SourceError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["SentenceScores", "import_sentence_scores"]

FLAG = "released_score"  # of its author's own scale: no log-probability


@dataclass(frozen=True)
class SentenceScores:
    """What an import of scores is told: whose they are, and the benchmark of sentences that they are about."""

    path: Path
    benchmark: str
    model: str
    revision: str | None = None


def import_sentence_scores(context: Context, what: SentenceScores) -> ImportedAnswers:
    """Import scores of sentences as likelihoods of their model, and measure them; a second time changes nothing.

    The file is JSON: lists of {id, score} under any names (StereoSet's are intrasentence and intersentence), or JSON
    lines of such objects. `id` is a sentence's as the data set has it; a higher score means that the model prefers it.
    A sentence without a score is missing from the numbers, and their coverage says so.

    Raises:
        NotFoundError: no such benchmark, or its data set has not been built.
        DeclarationError: the benchmark is not one of sentences.
        SourceError: the file is broken, or scores a sentence twice or one that the data set lacks.
    """
    target = open_target(context, what.benchmark)
    ask = target.benchmark.likelihood
    if ask is None or ask.form != "sentences":
        raise DeclarationError(f"{target.benchmark.name} is not a benchmark of sentences (form `sentences`). {OUTCOME}")
    raw = read_bytes(what.path, OUTCOME)
    scores = _scores(what.path.name, decode(what.path.name, raw, "utf-8", OUTCOME))
    kind = context.declarations.dataset(target.benchmark.dataset).schema_
    places = _places(target, kind)
    _check_known(what.path.name, scores, {each for _, _, each, _ in places})
    sha256 = hashlib.sha256(raw).hexdigest()
    revision = what.revision or "unknown"
    model = model_identity(what.model, "import", what.model, revision, {"scores": sha256})
    run_id, records = run_records(target, model, sha256, len(target.rows), "evaluation")
    mark = fingerprint(["scores", sha256, what.model, revision, target.benchmark.name, target.benchmark.major,
                        target.version.fingerprint])  # fmt: skip

    def brought() -> Iterator[Batch]:
        yield from records
        yield from _batches((run_id, model.fingerprint, sha256), places, scores)

    new = store_import(context, "scores", mark, brought)
    score_run(context, target.benchmark, run_id)
    told = f"sentences of {target.version.dataset} {target.version.version} by their ids"
    return ImportedAnswers(what.path.name, new, run_id, len(scores), len(target.rows), told)


def _scores(name: str, text: str) -> dict[str, float]:
    if name.removesuffix(".gz").endswith(".jsonl"):
        rows = list(objects(name, text, OUTCOME))
    else:
        lists = object_of(name, parsed(name, text, OUTCOME), OUTCOME).values()
        rows = [object_of(name, row, OUTCOME) for each in lists if isinstance(each, list) for row in each]
    found: dict[str, float] = {}
    for number, row in enumerate(rows, start=1):
        where = f"{name}, score {number}"
        mark, score = row.get("id"), row.get("score")
        if not isinstance(mark, str) or isinstance(score, bool) or not isinstance(score, (int, float)):
            raise SourceError(f"{where}: expected {{id, score}} with a text and a number, found {row}. {OUTCOME}")
        if mark in found:
            raise SourceError(f"{where}: the sentence `{mark}` has a score already. {OUTCOME}")
        found[mark] = float(score)
    if not found:
        raise SourceError(f"{name}: there are no scores in it. {OUTCOME}")
    return found


Place = tuple[tuple[int, str], str, str, str]  # (row, item), target, sentence id, text


def _places(target: Target, kind: str) -> list[Place]:
    places = []
    for row in target.rows:
        payload = row.decoded(kind)
        ids: Mapping[str, Any] = (payload.get("details") or {}).get("sentence_ids") or {}
        places += [((row.row, row.item_id), name, mark, payload[name]) for name, mark in ids.items()]
    if not places:
        raise SourceError(f"The sentences of {target.version.dataset} have no ids to find scores by. {OUTCOME}")
    return places


def _check_known(name: str, scores: Mapping[str, float], known: set[str]) -> None:
    unknown = [mark for mark in scores if mark not in known]
    if unknown:
        raise SourceError(
            f"{name}: {len(unknown):,} of {len(scores):,} scores are of no sentence of the data set "
            f"(`{unknown[0]}`); is this the file of other data? {OUTCOME}"
        )


def _batches(who: tuple[str, str, str], places: list[Place], scores: Mapping[str, float]) -> Iterator[Batch]:
    run_id, model, sha256 = who
    now = datetime.now(UTC).isoformat()
    targets, texts, likelihoods = [], {}, {}
    for (row, item), name, mark, text in places:
        request = fingerprint(["released score", sha256, mark])
        key = likelihood_key(model, request, target_hash(text))
        targets.append(
            {"run_id": run_id, "row": row, "item_id": item, "target": name, "likelihood_key": key}
        )  # fmt: skip
        texts[target_hash(text)] = {"target_hash": target_hash(text), "text": text}
        score = scores.get(mark)
        likelihoods[key] = {
            "likelihood_key": key,
            "model_fingerprint": model,
            "request_hash": request,
            "target_hash": target_hash(text),
            "logprob_sum": score,
            "tokens": None,
            "flags": FLAG,
            "error": "missing_in_file" if score is None else None,
            "created_at": now,
        }
    yield from batches("target_text", texts.values())
    yield from batches("likelihood", likelihoods.values())
    yield from batches("run_target", targets)
