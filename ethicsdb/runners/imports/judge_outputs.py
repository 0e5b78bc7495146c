"""Importing a judge's outputs about a named model's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.identity import (
    Identity,
    model_identity,
    response_key,
)
from ethicsdb.runners.imports.batch import BatchLine, read_batch
from ethicsdb.runners.imports.common import (
    NOT_ASKED_HERE,
    Imported,
    Target,
    answer_record,
    occurrences,
    open_target,
    run_records,
    store_import,
)
from ethicsdb.runners.models import judge_of
from ethicsdb.runners.reading import Reading, read_verdict
from ethicsdb.runners.verdicts import Judged, verdict_batches
from ethicsdb.schemas.errors import NotFoundError, SourceError
from ethicsdb.schemas.fingerprint import fingerprint, sha256_file
from ethicsdb.schemas.outcomes import VerdictStatus
from ethicsdb.schemas.rubrics import RubricDeclaration

__all__ = ["JudgeOutputs", "import_judge_outputs"]

NOT_RELEASED = "text_not_released"


@dataclass(frozen=True)
class JudgeOutputs:
    """What an import of judge outputs is told.

    Either `model` names whose answers were judged, and line k is about row k of the data set; or `rows_of` names an
    earlier import of answers, and line k is about its row k.
    """

    path: Path
    benchmark: str
    judge: str
    model: str | None = None
    revision: str | None = None
    rows_of: str | None = None


@dataclass(frozen=True)
class _Subject:
    """An answer that a line of the file is about."""

    response_key: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class _Judge:
    """A judge that asks a model."""

    identity: Identity
    model: Identity
    rubric: RubricDeclaration


def import_judge_outputs(context: Context, what: JudgeOutputs) -> Imported:
    """Import judge outputs; a second time changes nothing.

    Rows without a line in the file get the outcome `error` (`missing_in_file`), so that outcomes add up to n.

    Raises:
        NotFoundError: an unknown benchmark, judge, or import.
        SourceError: the file is broken, or was written by another model than the judge declares.
    """
    if (what.model is None) == (what.rows_of is None):
        raise SourceError("Say whose answers were judged: either --model NAME or --rows-of IMPORT, not both.")
    target = open_target(context, what.benchmark)
    judge = _judge(context, what.judge)
    lines = read_batch(what.path)
    _check_writer(what, lines, judge.model)
    sha256 = sha256_file(what.path)
    mark = fingerprint(
        ["judge outputs", sha256, target.benchmark.name, target.benchmark.major, target.version.fingerprint, what.model,
         what.revision or "unknown", what.rows_of, judge.identity.fingerprint]
    )  # fmt: skip
    if what.model is not None:
        base, subjects = _answers_unseen(target, what, sha256)
    else:
        base, subjects = [], _earlier_rows(context, target, str(what.rows_of))
    _check_rows(what.path.name, lines, len(subjects))
    judged = list(_readings(judge, subjects, lines, sha256))

    def rows() -> Iterator[Batch]:
        yield from base
        yield from batches("model", [judge.model.record])
        yield from batches("judge", [judge.identity.record])
        yield from batches("response", (_own_words(judge.model, line, sha256) for line in lines))
        yield from verdict_batches(judge.identity.fingerprint, judged)

    new = store_import(context, "verdicts", mark, rows)
    counts = Counter(str(each.reading.status) for each in judged)
    return Imported(what.path.stem, new, len(subjects), dict(counts), _alignment(target, what))


def _alignment(target: Target, what: JudgeOutputs) -> str:
    if what.rows_of:
        return f"rows of the import {what.rows_of}"
    version = target.version
    return f"rows of {version.dataset} {version.version} in the order of {version.source}"


def _judge(context: Context, name: str) -> _Judge:
    parts = judge_of(context.declarations, name)
    if parts.model is None:
        raise SourceError(f"The judge `{name}` is a set of rules and has no outputs to import.")
    return _Judge(parts.identity, parts.model, parts.rubric)


def _check_writer(what: JudgeOutputs, lines: list[BatchLine], model: Identity) -> None:
    for line in lines:
        if line.model is not None and line.model != model.record["model_id"]:
            raise SourceError(
                f"{what.path.name}, row {line.row}: written by `{line.model}`, but the judge `{what.judge}` is "
                f"`{model.record['model_id']}`; declare a judge with that model. Nothing was imported."
            )


def _check_rows(name: str, lines: list[BatchLine], expected: int) -> None:
    last = lines[-1].row
    if last >= expected:
        raise SourceError(
            f"{name}: a line is about row {last}, but there are {expected} rows (0 to {expected - 1}); "
            "is this the file of another data set, or another version? Nothing was imported."
        )


def _answers_unseen(target: Target, what: JudgeOutputs, sha256: str) -> tuple[list[Batch], list[_Subject]]:
    """A run whose answers were not released: known to exist, their text is not."""
    model = model_identity(
        str(what.model), "import", str(what.model), what.revision or "unknown", {"judge_outputs_sha256": sha256}
    )
    run_id, found = run_records(target, model, sha256, len(target.rows), "evaluation")
    answers, run_items, subjects = [], [], []
    for row, sample in zip(target.rows, occurrences(row.item_id for row in target.rows), strict=True):
        answer = answer_record(target, row, model, sample, flags=NOT_RELEASED)
        answers.append(answer)
        run_items.append(
            {
                "run_id": run_id,
                "row": row.row,
                "item_id": row.item_id,
                "sample_number": sample,
                "response_key": answer["response_key"],
            }
        )
        subjects.append(_Subject(answer["response_key"], row.payload))
    return [*found, *batches("response", answers), *batches("run_item", run_items)], subjects


def _earlier_rows(context: Context, target: Target, name: str) -> list[_Subject]:
    payloads = {row.item_id: row.payload for row in target.rows}
    with context.reading() as connection:
        rows = connection.execute(read_sql("import_rows"), {"name": name}).fetchall()
        known = [row[0] for row in connection.execute("SELECT DISTINCT import_name FROM import_row").fetchall()]
    if not rows:
        have = f"there are {', '.join(sorted(known))}" if known else "none has been made"
        raise NotFoundError(f"No import of answers is called `{name}`; {have}.")
    missing = [row for row, _, item in rows if item not in payloads]
    if missing:
        raise SourceError(
            f"The import {name} is about items that {target.version.dataset} {target.version.version} lacks."
        )
    return [_Subject(key, payloads[item]) for _, key, item in rows]


def _own_key(model: Identity, line: BatchLine, sha256: str) -> str:
    """Key of the judge's own answer: what it was asked is not in the file, so the file's line stands for it."""
    request = fingerprint(["imported line", sha256, line.row])
    return response_key(model.fingerprint, request, NOT_ASKED_HERE, 0)


def _own_words(model: Identity, line: BatchLine, sha256: str) -> dict[str, Any]:
    return {
        "response_key": _own_key(model, line, sha256),
        "try_number": 1,
        "model_fingerprint": model.fingerprint,
        "request_hash": fingerprint(["imported line", sha256, line.row]),
        "sampling": NOT_ASKED_HERE,
        "sample_number": 0,
        "status": line.status,
        "text": line.text,
        "flags": "cut_off" if line.finish_reason == "length" else "",
        "finish_reason": line.finish_reason,
        "error_code": line.error_code,
        "prompt_tokens": line.prompt_tokens,
        "completion_tokens": line.completion_tokens,
        "system_fingerprint": line.system_fingerprint,
        "reported_model": line.model,
    }


def _readings(judge: _Judge, subjects: list[_Subject], lines: list[BatchLine], sha256: str) -> Iterator[Judged]:
    by_row = {line.row: line for line in lines}
    for row, subject in enumerate(subjects):
        line = by_row.get(row)
        if line is None:
            yield Judged(subject.response_key, Reading(VerdictStatus.ERROR, "missing_in_file"), None)
            continue
        own = (_own_key(judge.model, line, sha256), 1)
        yield Judged(subject.response_key, _reading(judge.rubric, subject, line), own)


def _reading(rubric: RubricDeclaration, subject: _Subject, line: BatchLine) -> Reading:
    if line.status == "error":
        return Reading(VerdictStatus.ERROR, line.error_code)
    if line.status == "filtered":
        return Reading(VerdictStatus.REFUSED, "content_filter")
    return read_verdict(rubric.rubric, subject.payload, line.text or "")
