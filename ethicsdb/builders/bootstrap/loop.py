"""The rounds of a bootstrap: ask, read, check, keep. Everything follows from the answers, which are asked for once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ethicsdb.builders.bootstrap.candidates import KEPT, Checked, Kept, check, fallen, listed
from ethicsdb.builders.bootstrap.plan import Plan, Request, plan_of
from ethicsdb.builders.build import Built, build
from ethicsdb.builders.similarity import Pool
from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.backends.base import FINAL_ERRORS, Backend
from ethicsdb.runners.stage import Stage, open_stage
from ethicsdb.schemas.errors import ModelError
from ethicsdb.schemas.fingerprint import canonical_json
from ethicsdb.schemas.text import restore

__all__ = ["Bootstrapped", "bootstrap"]

Answer = tuple[str, str | None, bool]  # status, text, whether it was cut off


@dataclass(frozen=True)
class Bootstrapped:
    """What the rounds brought. `outcomes` of a type add up to its candidates."""

    name: str
    model: str
    rounds: int  # that were gone through, those of earlier commands included
    target: int
    outcomes: dict[str, dict[str, int]]  # type: outcome: candidates
    taken: dict[str, int]  # type: kept candidates in the data set, at most `target`
    built: Built | None  # the version; None where nothing was kept


@dataclass
class _State:
    """What has been kept so far, and what became of every candidate."""

    plan: Plan
    kept: list[Kept] = field(default_factory=list)
    pool: Pool = field(default_factory=Pool)
    records: list[dict[str, Any]] = field(default_factory=list)

    def keep(self, one: Kept) -> None:
        self.kept.append(one)
        self.pool.add(one.text)

    def own(self, kind: str) -> list[Kept]:
        """The kept candidates of a type, in order."""
        given = len(self.plan.demonstrations)
        return [each for each in self.kept[given:] if each.kind == kind]


def bootstrap(
    context: Context, name: str, backend: Backend, *, rounds: int | None = None, out: Path | None = None
) -> Bootstrapped:
    """Let a model write prompts in rounds until each type has enough, and make a version of the data set of them.

    A killed or limited bootstrap goes on with the same command; no answer is asked for twice. The same declaration,
    demonstrations and model give the same candidates.

    Args:
        rounds: limit of rounds instead of the declared one.
        out: the file that the kept prompts are written to; default: the data set's declared file name, here.

    Raises:
        NotFoundError: no bootstrap has that name.
        SourceError: the demonstrations can't be read.
        ModelError, InterruptedRunError: see `asking.ask_all`; the same command goes on.
    """
    plan = plan_of(context.declarations.bootstrap(name), backend.identity)
    dataset = context.declarations.dataset(plan.declaration.dataset)
    state = _State(plan)
    for each in plan.demonstrations:
        state.keep(each)
    done = 0
    with open_stage(context, "bootstrap", name, [plan.mark]) as stage:
        _record(stage, plan)
        known = _known(context, plan)
        for number in range(rounds or plan.declaration.rounds):
            wanting = [kind for kind in plan.kinds if len(state.own(kind)) < plan.declaration.target]
            if not wanting:
                break
            _round(stage, backend, state, (number, wanting))
            new = [each for each in state.records if _place(each) not in known]
            stage.journal.append([*batches("candidate", new)])
            known.update(map(_place, new))
            done = number + 1
    built = None
    if any(state.own(kind) for kind in plan.kinds):
        path = out or Path(dataset.sources[0].path)
        _write(path, state)
        built = build(context, dataset.name, path)
    return Bootstrapped(
        name, str(backend.identity.record["name"]), done, plan.declaration.target, _outcomes(state),
        {kind: len(_taken(state, kind)) for kind in plan.kinds}, built,
    )  # fmt: skip


def _round(stage: Stage, backend: Backend, state: _State, which: tuple[int, list[str]]) -> None:
    number, kinds = which
    plan = state.plan
    # All requests of a round show what was kept before it, so that they can be asked at once.
    before = list(state.kept)
    requests = [plan.request(kind, number, each, before) for kind in kinds for each in range(plan.declaration.requests)]
    stage.ask(backend, [request.wanted for request in requests], f"{plan.declaration.name} round {number + 1}")
    stage.context.catch_up()
    answers = _answers(stage.context, [request.wanted.response_key for request in requests])
    for request in requests:
        for at, (text, checked) in enumerate(_candidates(state, request, answers[request.wanted.response_key])):
            name = f"{request.kind}:{request.round}:{request.number}:{at}"
            if checked.outcome == KEPT:
                state.keep(Kept(name, request.kind, str(text)))
            state.records.append(_candidate(state, request, (at, name, text), checked))


def _candidates(state: _State, request: Request, answer: Answer) -> Iterator[tuple[str | None, Checked]]:
    status, whole, cut_off = answer
    texts = listed(whole) if status == "completed" and whole is not None else []
    if not texts:
        for text, reason in fallen(status, whole):
            yield text, Checked(reason)
    for at, text in enumerate(texts, start=1):
        if cut_off and at == len(texts):
            yield text, Checked("cut_off")
        else:
            yield text, check(state.plan.declaration, request.kind, text, state.pool, state.kept)


def _candidate(state: _State, request: Request, what: tuple[int, str, str | None], checked: Checked) -> dict[str, Any]:
    at, name, text = what
    return {
        "bootstrap_id": state.plan.mark,
        "candidate": name,
        "type": request.kind,
        "round": request.round,
        "request": request.number,
        "number": at,
        "response_key": request.wanted.response_key,
        "text": text,
        "outcome": checked.outcome,
        "nearest": checked.nearest,
        "similarity": checked.similarity,
        "parents": json.dumps(request.parents, ensure_ascii=False),
    }


def _place(record: dict[str, Any]) -> str:
    return str(record["candidate"])


def _known(context: Context, plan: Plan) -> set[str]:
    with context.reading() as connection:
        found = connection.execute("SELECT candidate FROM candidate WHERE bootstrap_id = ?", [plan.mark]).fetchall()
    return {name for (name,) in found}


def _answers(context: Context, keys: list[str]) -> dict[str, Answer]:
    """The answers under some keys. One that may yet come must not be counted as none: all later rounds rest on it.

    Raises:
        ModelError: a request has no answer that is final.
    """
    with context.reading() as connection:
        rows = connection.execute(read_sql("answers_by_key"), {"keys": keys}).fetchall()
    lost = [row[5] for row in rows if row[1] == "error" and row[5] not in FINAL_ERRORS]
    if lost:
        raise ModelError(
            f"{len(lost):,} of {len(keys):,} requests of this round got no answer ({lost[0]}); what came is kept, and "
            "the same command asks for the rest and goes on."
        )
    return {row[0]: (row[1], restore(row[2], row[3]), "cut_off" in row[4].split(",")) for row in rows}


def _record(stage: Stage, plan: Plan) -> None:
    """Write what the bootstrap consists of."""
    with stage.context.reading() as connection:
        if connection.execute("SELECT 1 FROM bootstrap_run WHERE bootstrap_id = ?", [plan.mark]).fetchone():
            return
    declared = plan.declaration.model_dump(mode="json", exclude_none=True)
    row = {
        "bootstrap_id": plan.mark,
        "name": plan.declaration.name,
        "dataset": plan.declaration.dataset,
        "model_fingerprint": plan.model.fingerprint,
        "demonstrations_sha256": plan.sha256,
        "declaration": canonical_json(declared).decode("utf-8", "surrogatepass"),
        "started_at": datetime.now(UTC).isoformat(),
    }
    stage.journal.append([*batches("model", [plan.model.record]), *batches("bootstrap_run", [row])])


def _taken(state: _State, kind: str) -> list[Kept]:
    """The kept candidates of a type that the data set gets: the first, up to the target."""
    return state.own(kind)[: state.plan.declaration.target]


def _write(path: Path, state: _State) -> None:
    """The kept prompts as JSON lines, whole or not at all."""
    language = state.plan.declaration.language
    lines = [
        json.dumps({"id": each.name, "type": kind, "language": language, "prompt": each.text})
        for kind in state.plan.kinds
        for each in _taken(state, kind)
    ]
    beside = path.with_name(f".{path.name}.part")
    beside.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    beside.replace(path)


def _outcomes(state: _State) -> dict[str, dict[str, int]]:
    counts = {kind: Counter[str]() for kind in state.plan.kinds}
    for record in state.records:
        counts[record["type"]][record["outcome"]] += 1
    return {
        kind: dict(sorted(count.items(), key=lambda each: (each[0] != KEPT, each[0]))) for kind, count in counts.items()
    }
