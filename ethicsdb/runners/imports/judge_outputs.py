"""Importing a judge's outputs about a named model's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.identity import Identity, model_identity, response_key
from ethicsdb.runners.imports.batch import BatchLine, content_mark, read_batch
from ethicsdb.runners.imports.common import (
    NOT_ASKED_HERE,
    OUTCOME,
    Imported,
    Target,
    answer_record,
    occurrences,
    open_target,
    run_records,
    store_import,
)
from ethicsdb.runners.imports.doubts import about_alignment, about_other_runs, about_reading
from ethicsdb.runners.models import judge_of
from ethicsdb.runners.reading import Reading, read_verdict
from ethicsdb.runners.verdicts import Judged, judge_batches, verdict_batches
from ethicsdb.runners.withdrawals import is_withdrawn, verdicts_name
from ethicsdb.schemas.errors import NotFoundError, SourceError
from ethicsdb.schemas.fingerprint import fingerprint, short
from ethicsdb.schemas.formats import plain_name
from ethicsdb.schemas.outcomes import VerdictStatus
from ethicsdb.schemas.rubrics import RubricDeclaration
from ethicsdb.schemas.text import is_blank

__all__ = ["JudgeOutputs", "import_judge_outputs"]

NOT_RELEASED = "text_not_released"


@dataclass(frozen=True)
class JudgeOutputs:
    """What an import of judge outputs is told.

    Either `model` names whose answers were judged, and line k is about row k of the data set; or `rows_of` names an
    earlier import of answers, and line k is about its row k.

    Args:
        partial: rows may lack a line; they end as `error`.
        same_outputs: these outputs were imported as another model's already, and are meant to be this one's too.
    """

    path: Path
    benchmark: str
    judge: str
    model: str | None = None
    revision: str | None = None
    rows_of: str | None = None
    partial: bool = False
    same_outputs: bool = False


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

    Rows without a line in a partial file get the outcome `error` (`missing_in_file`), so that outcomes add up to n.

    Raises:
        NotFoundError: an unknown benchmark, judge, or import.
        SourceError: the file is broken, lacks rows, was written by another model than the judge declares, or was
            imported as another model's before.
    """
    if (what.model is None) == (what.rows_of is None):
        raise SourceError(
            f"Say whose answers were judged: either --model NAME or --rows-of IMPORT, not both. {OUTCOME}"
        )
    if what.model is not None:
        what = replace(what, model=what.model.strip())  # a name that looks the same is the same
    target = open_target(context, what.benchmark)
    judge = _judge(context, what.judge)
    lines = read_batch(what.path)
    _check_writer(what, lines, judge.model)
    content = content_mark(lines)
    if what.model is not None:
        _check_model(context, target, what, content)
    mark = fingerprint(
        ["judge outputs", content, target.benchmark.name, target.benchmark.major, target.version.fingerprint,
         what.model, what.revision or "unknown", what.rows_of, judge.identity.fingerprint]
    )  # fmt: skip
    run_id, base = None, list[Batch]()
    if what.model is not None:
        run_id, base, subjects = _answers_unseen(target, what, content)
    else:
        subjects = _earlier_rows(context, target, str(what.rows_of))
    _check_rows(what, lines, len(subjects))
    judged = list(_readings(judge, subjects, lines, content))

    def rows() -> Iterator[Batch]:
        yield from base
        yield from batches("model", [judge.model.record])
        yield from judge_batches(judge.identity, judge.rubric)
        yield from batches("response", (_own_words(judge.model, line, content) for line in lines))
        yield from verdict_batches(judge.identity.fingerprint, judged)

    new = store_import(context, "verdicts", mark, rows)
    undo = f"take it back: ethicsdb withdraw {short(run_id) if run_id else what.rows_of} --judge {what.judge}"
    done = _told(what, judged, lines, new, _alignment(target, what))
    done.warnings = [f"{doubt} If it is wrong, {undo}" for doubt in done.warnings]
    if run_id is not None:
        done.warnings.extend(_on_the_board(context, run_id, judge.identity.fingerprint, what.judge))
    return done


def _on_the_board(context: Context, run_id: str, judge: str, name: str) -> list[str]:
    """Whether what was imported is shown at all, and what is shown beside it."""
    place = short(run_id)
    if is_withdrawn(context, "run", run_id):
        return [f"the run stands withdrawn, so that no board shows it; ethicsdb withdraw {place} --undo puts it back"]
    if is_withdrawn(context, "verdicts", verdicts_name(run_id, judge)):
        told = f"ethicsdb withdraw {place} --judge {name} --undo puts them back"
        return [f"these verdicts stand withdrawn, so that no board shows them; {told}"]
    return about_other_runs(context, run_id)


def _told(what: JudgeOutputs, judged: list[Judged], lines: list[BatchLine], new: bool, aligned: str) -> Imported:
    """What to tell of the import, with what makes one doubt it."""
    by_row = {line.row: line for line in lines}
    read = [each.reading for row, each in enumerate(judged) if row in by_row]
    counts = Counter(str(reading.status) for reading in read)
    return Imported(
        name=Path(plain_name(what.path.name)).stem,
        new=new,
        rows=len(judged),
        counts=dict(counts),
        aligned_with=aligned,
        lines=len(lines),
        missing=len(judged) - len(lines),
        custom_id=lines[0].custom_id,
        warnings=[*about_reading(what.judge, read), *about_alignment(lines, read)],
    )


def _check_model(context: Context, target: Target, what: JudgeOutputs, content: str) -> None:
    """One file of outputs is about one model's answers."""
    if is_blank(str(what.model)):
        raise SourceError(f"--model is empty; name the model whose answers were judged. {OUTCOME}")
    if what.same_outputs:
        return
    parameters: dict[str, Any] = {"content": content, "model": what.model, "revision": what.revision or "unknown"}
    parameters |= {"benchmark": target.benchmark.name, "major": target.benchmark.major}
    with context.reading() as connection:
        found = connection.execute(read_sql("outputs_of_others"), parameters).fetchone()
    if found:
        raise SourceError(
            f"{what.path.name}: these very outputs were imported as those about `{found[0]}` (revision {found[1]}). "
            f"If that name was wrong, take it back first (`ethicsdb withdraw {short(found[2])}`); if both are meant, "
            f"say --same-outputs. {OUTCOME}"
        )


def _alignment(target: Target, what: JudgeOutputs) -> str:
    if what.rows_of:
        return f"rows of the import {what.rows_of}"
    version = target.version
    return f"rows of {version.dataset} {version.version} in the order of {version.source}"


def _judge(context: Context, name: str) -> _Judge:
    parts = judge_of(context.declarations, name)
    if parts.model is None:
        raise SourceError(f"The judge `{name}` is a set of rules and has no outputs to import. {OUTCOME}")
    if parts.screen is not None:
        raise SourceError(
            f"The judge `{name}` is put to what its screen `{parts.screen.declaration.name}` kept, and has no outputs "
            f"of its own to import; name a judge without a screen. {OUTCOME}"
        )
    return _Judge(parts.identity, parts.model, parts.rubric)


def _check_writer(what: JudgeOutputs, lines: list[BatchLine], model: Identity) -> None:
    for line in lines:
        if line.model is not None and line.model != model.record["model_id"]:
            raise SourceError(
                f"{what.path.name}, row {line.row}: written by `{line.model}`, but the judge `{what.judge}` is "
                f"`{model.record['model_id']}`; declare a judge with that model. {OUTCOME}"
            )


def _check_rows(what: JudgeOutputs, lines: list[BatchLine], expected: int) -> None:
    last = lines[-1].row
    beyond = [line.custom_id for line in lines if line.row >= expected]
    if beyond:
        shown = ", ".join(f"`{custom_id}`" for custom_id in beyond[:3]) + (", …" if len(beyond) > 3 else "")
        # Numbers from 1 to n look like this: the last is one too high, and nothing is numbered 0.
        other = (
            "are the rows numbered from 1 instead of 0?"
            if last == expected and lines[0].row == 1
            else ("is this the file of another data set, or another version?")
        )
        raise SourceError(
            f"{what.path.name}: {len(beyond):,} of {len(lines):,} lines are about no row ({shown}); there are "
            f"{expected:,} rows, 0 to {expected - 1}; {other} {OUTCOME}"
        )
    if len(lines) < expected and not what.partial:
        present = {line.row for line in lines}
        first = next(row for row in range(expected) if row not in present)
        # Rows that end early are those of a file that was cut off, or of one about something shorter.
        cut = "; was the file cut off, or is it about other data, or a sheet (--rows-of)?" if first > last else "."
        raise SourceError(
            f"{what.path.name}: {len(lines):,} lines for {expected:,} rows; row {first} is the first that is missing"
            f"{cut} If the file is whole as it is, say --partial: its missing rows then end as errors. {OUTCOME}"
        )


def _answers_unseen(target: Target, what: JudgeOutputs, content: str) -> tuple[str, list[Batch], list[_Subject]]:
    """A run whose answers were not released: known to exist, their text is not."""
    model = model_identity(
        str(what.model), "import", str(what.model), what.revision or "unknown", {"judge_outputs": content}
    )
    run_id, found = run_records(target, model, content, len(target.rows), "evaluation")
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
    return run_id, [*found, *batches("response", answers), *batches("run_item", run_items)], subjects


def _earlier_rows(context: Context, target: Target, name: str) -> list[_Subject]:
    payloads = {row.item_id: row.payload for row in target.rows}
    if is_withdrawn(context, "import", name):
        raise SourceError(
            f"The import `{name}` stands withdrawn; name the one that took its place, or put it back: "
            f"ethicsdb withdraw {name} --undo. {OUTCOME}"
        )
    with context.reading() as connection:
        rows = connection.execute(read_sql("import_rows"), {"name": name}).fetchall()
        known = [row[0] for row in connection.execute("SELECT DISTINCT import_name FROM import_row").fetchall()]
    if not rows:
        have = f"there are {', '.join(sorted(known))}" if known else "none has been made"
        raise NotFoundError(f"No import of answers is called `{name}`; {have}. {OUTCOME}")
    missing = [row for row, _, item in rows if item not in payloads]
    if missing:
        raise SourceError(
            f"The import {name} is about items that {target.version.dataset} {target.version.version} lacks. {OUTCOME}"
        )
    return [_Subject(key, payloads[item]) for _, key, item in rows]


def _own_key(model: Identity, line: BatchLine, content: str) -> str:
    """Key of the judge's own answer: what it was asked is not in the file, so the file's line stands for it."""
    request = fingerprint(["imported line", content, line.row])
    return response_key(model.fingerprint, request, NOT_ASKED_HERE, 0)


def _own_words(model: Identity, line: BatchLine, content: str) -> dict[str, Any]:
    return {
        "response_key": _own_key(model, line, content),
        "try_number": 1,
        "model_fingerprint": model.fingerprint,
        "request_hash": fingerprint(["imported line", content, line.row]),
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


def _readings(judge: _Judge, subjects: list[_Subject], lines: list[BatchLine], content: str) -> Iterator[Judged]:
    by_row = {line.row: line for line in lines}
    for row, subject in enumerate(subjects):
        line = by_row.get(row)
        if line is None:
            yield Judged(subject.response_key, Reading(VerdictStatus.ERROR, "missing_in_file"), None)
            continue
        own = (_own_key(judge.model, line, content), 1)
        yield Judged(subject.response_key, _reading(judge.rubric, subject, line), own)


def _reading(rubric: RubricDeclaration, subject: _Subject, line: BatchLine) -> Reading:
    if line.status == "error":
        return Reading(VerdictStatus.ERROR, line.error_code)
    if line.status == "filtered":
        return Reading(VerdictStatus.REFUSED, "content_filter")
    return read_verdict(rubric.rubric, subject.payload, line.text or "", cut_off=line.finish_reason == "length")
