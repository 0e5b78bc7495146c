"""`judge`: let a judge read a run's answers. The model that gave them is not asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import item_rows
from ethicsdb.registry.versions import read_sql, version_in
from ethicsdb.runners.backends.base import Backend
from ethicsdb.runners.classifiers import Classifier, check_classifier
from ethicsdb.runners.identity import verdict_identity
from ethicsdb.runners.judge_core import Subject, judged_by
from ethicsdb.runners.judge_prompt import judge_messages
from ethicsdb.runners.models import JudgeParts, check_model, resolve_model
from ethicsdb.runners.runs import find_items
from ethicsdb.runners.stage import Stage, open_stage
from ethicsdb.runners.verdicts import Judged, judge_batches, verdict_batches
from ethicsdb.schemas.declared import BenchmarkDeclaration
from ethicsdb.schemas.errors import DeclarationError, ModelError, NotFoundError
from ethicsdb.schemas.rubrics import ClassifierRubric
from ethicsdb.schemas.text import restore

__all__ = ["JudgedRun", "check_can_ask", "check_judge", "judge_run", "subjects_of"]


@dataclass(frozen=True)
class JudgedRun:
    """What a judge said of a run."""

    run_id: str
    judge: str
    subjects: int
    without_text: int  # answers known to exist whose text is not here
    statuses: dict[str, int]


def check_judge(context: Context, reference: str, judge: JudgeParts, *, key: bool = True) -> None:
    """See that a judge can be put to work on a benchmark's items, before answers are paid for that it is to read.

    Raises:
        NotFoundError: no such benchmark, or its data set has not been built.
        DeclarationError: the rubric has no prompt, no questions for an area of the items, or names unknown fields.
        ModelError: the judge's model can't be asked from here.
    """
    if judge.declaration.model is None:
        return
    benchmark, _, rows = find_items(context, reference)
    check_can_ask(context, benchmark, judge, key=key)
    body = judge.rubric.rubric
    if isinstance(body, ClassifierRubric):
        return
    for payload in {row.payload.get(getattr(body, "by", "")): row.payload for row in rows}.values():
        judge_messages(judge.rubric, payload, "")
    if judge.screen is not None:
        check_judge(context, reference, judge.screen, key=key)


def check_can_ask(context: Context, benchmark: BenchmarkDeclaration, judge: JudgeParts, *, key: bool = True) -> None:
    """See that a judge with a model can be asked from here; where not, the sentence names judges that can.

    Raises:
        DeclarationError: the rubric has no prompt.
        ModelError: the judge's model can't be asked from here.
    """
    name = judge.declaration.name
    rubric = judge.rubric.rubric
    if isinstance(rubric, ClassifierRubric):
        check_classifier(resolve_model(context.declarations, str(judge.declaration.model)), rubric.labels)
        return
    if getattr(judge.rubric.rubric, "prompt", None) is None:
        raise DeclarationError(
            f"The judge `{name}` can only read outputs that were imported: its rubric `{judge.rubric.name}` has no "
            f"prompt. {_others(context, benchmark, name, asking=True)}"
        )
    model = resolve_model(context.declarations, str(judge.declaration.model))
    if model.backend == "hf":
        raise ModelError(
            f"The judge `{name}` asks {model.name}, a model on this machine, which only a rubric of the form "
            f"`classifier` can; serve it and use openai:ID@URL. {_others(context, benchmark, name, asking=True)}"
        )
    try:
        check_model(model, key=key)
    except ModelError as error:
        raise ModelError(f"{error} {_others(context, benchmark, name, asking=False)}") from error
    if judge.screen is not None:
        check_can_ask(context, benchmark, judge.screen, key=key)


def _others(context: Context, benchmark: BenchmarkDeclaration, name: str, *, asking: bool) -> str:
    """Which of the benchmark's other judges may do: those that can be asked, or those that need nobody."""
    able = []
    for other in benchmark.judges:
        judge = context.declarations.judge(other)
        rules = judge.model is None
        prompt = getattr(context.declarations.rubric(judge.rubric).rubric, "prompt", None)
        if other != name and (rules or (asking and prompt is not None)):
            able.append(f"--judge {other}" + (" (rules, which need no key)" if rules else ""))
    return f"Judges of {benchmark.name} that can: {', '.join(able)}." if able else "`ethicsdb list judge` lists others."


def judge_run(context: Context, run_id: str, judge: JudgeParts, backend: Backend | Classifier | None) -> JudgedRun:
    """Judge every completed answer of a run; verdicts that are there stay, and nothing is asked twice.

    A judge with a screen is put to what the screen kept, and the screen must have been put to the run before
    (`judge_core`). A judge's answer that is there already is read again without a call where only the parser or the
    counting changed.

    Args:
        backend: the judge's model, ready; a classifier on this machine; None for rules.

    Raises:
        NotFoundError: no such run.
        ModelError, InterruptedRunError: see `asking.ask_all`; the same command goes on.
    """
    with open_stage(context, "verdicts", judge.declaration.name, ["judge", judge.identity.fingerprint]) as stage:
        subjects, without_text = _subjects(context, run_id)
        counts = _append_new(stage, run_id, judge, judged_by(stage, judge, backend, subjects))
    return JudgedRun(run_id, judge.declaration.name, len(subjects), without_text, counts)


def _subjects(context: Context, run_id: str) -> tuple[list[Subject], int]:
    with context.reading() as connection:
        run = connection.execute("SELECT dataset, version FROM run WHERE run_id = ?", [run_id]).fetchone()
        if run is None:
            raise NotFoundError(f'No run is called `{run_id}`; `ethicsdb sql "from run"` lists them.')
        found = connection.execute(read_sql("subjects"), {"run": run_id}).fetchall()
        version = version_in(connection, context.declarations, f"{run[0]}@{run[1]}")
        kind = context.declarations.dataset(run[0]).schema_
        payloads = {row.item_id: row.payload for row in item_rows(connection, version, kind)}
    subjects = [
        Subject(key, payloads[item], whole)
        for key, item, text, exact in found
        if (whole := restore(text, exact)) is not None
    ]
    return subjects, len(found) - len(subjects)


def subjects_of(context: Context, run_id: str) -> list[Subject]:
    """A run's answers that are there, for a judge to read."""
    return _subjects(context, run_id)[0]


def _append_new(stage: Stage, run_id: str, judge: JudgeParts, judged: Iterator[Judged]) -> dict[str, int]:
    """Write the verdicts that are not there yet; counts all, new or not."""
    everything = list(judged)
    mark = judge.identity.fingerprint
    parameters = {"run": run_id, "judge": mark}
    with stage.context.reading() as connection:
        known = {row[0] for row in connection.execute(read_sql("judged"), parameters).fetchall()}
    new = [each for each in everything if verdict_identity(each.subject, mark, each.answer) not in known]
    if new:
        stage.journal.append([*judge_batches(judge.identity, judge.rubric), *verdict_batches(mark, new)])
    return dict(Counter(str(each.reading.status) for each in everything))
