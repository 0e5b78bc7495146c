"""`run`: put a benchmark's items to a model and keep the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.versions import Version, read_sql
from ethicsdb.runners.backends.base import Ask, Backend
from ethicsdb.runners.identity import Identity, prompt_identity, sampling_json
from ethicsdb.runners.recording import Put, run_batches
from ethicsdb.runners.render import render
from ethicsdb.runners.run_settings import Settings, chosen_rows
from ethicsdb.runners.runs import find_items
from ethicsdb.runners.stage import Stage, Wanted, keyed, open_stage
from ethicsdb.schemas.declared import BenchmarkDeclaration, Prompt, Sampling

__all__ = ["Generated", "generate", "requests_of"]


@dataclass(frozen=True)
class Generated:
    """A run whose answers are there."""

    run_id: str
    benchmark: str
    version: str
    model: str
    asked: int  # items times samples; the outcomes add up to it
    items: int
    outcomes: dict[str, int]  # completed, filtered, error, pending; without those that are 0
    no_question: int  # of the errors, those of items that ask nothing, which are not sent
    requests: int  # distinct ones that could be sent: equal questions share theirs
    waited: bool


@dataclass(frozen=True)
class _Plan:
    """Everything that a run asks."""

    benchmark: BenchmarkDeclaration
    version: Version
    prompt: Prompt
    sampling: Sampling
    limit: int | None
    rows: list[ItemRow]


def generate(context: Context, reference: str, backend: Backend, settings: Settings) -> Generated:
    """Ask a model every distinct item of a benchmark's data, or `settings.limit` of them.

    An answer that is there already, from whatever run, is not asked for again. Items without text,
    and conversations that do not end with a user's turn, are `error` with `no_question` and cost nothing.

    Args:
        reference: `BENCHMARK`, or `BENCHMARK@vN` for an older version of its data.

    Raises:
        NotFoundError: no such benchmark, or its data set has not been built.
        ModelError, InterruptedRunError: see `asking.ask_all`; the same command goes on.
    """
    plan = _plan(context, reference, settings)
    run_id, records = _run(plan, backend.identity)
    identity = ["generate", plan.benchmark.name, plan.benchmark.major, backend.identity.fingerprint]
    identity += [prompt_identity(plan.prompt).fingerprint, sampling_json(plan.sampling)]
    with open_stage(context, "answers", plan.benchmark.name, identity) as stage:
        wanted = dict(_wanted(plan, backend.identity))
        _record_run(stage, plan, (run_id, records), wanted)
        askable = [each for place, each in wanted.items() if _askable(plan, place[0], each)]
        stage.ask(backend, askable, f"{plan.benchmark.name} answers")
        waited = stage.waited
    return Generated(
        run_id=run_id,
        benchmark=plan.benchmark.name,
        version=plan.version.version,
        model=str(backend.identity.record["name"]),
        waited=waited,
        **_counts(context, run_id),
    )


def requests_of(context: Context, reference: str, model: Identity, settings: Settings) -> list[tuple[ItemRow, Wanted]]:
    """Every request that a run would send, with its item; nothing is asked or written. Raises as `generate`."""
    plan = _plan(context, reference, settings)
    wanted = _wanted(plan, model)
    return [(plan.rows[place[0]], each) for place, each in wanted if _askable(plan, place[0], each)]


def _plan(context: Context, reference: str, settings: Settings) -> _Plan:
    benchmark, version, rows = find_items(context, reference)
    settings.only_for("generate", benchmark.name)
    chosen, limit = chosen_rows(rows, settings.limit)
    prompt, sampling = settings.prompt(benchmark.prompt), settings.sampling(benchmark.sampling)
    return _Plan(benchmark, version, prompt, sampling, limit, chosen)


def _askable(plan: _Plan, position: int, wanted: Wanted) -> bool:
    """Whether there is something to ask: the item has text, and a conversation is at the model's turn."""
    messages = wanted.ask.messages
    return plan.rows[position].text is not None and bool(messages) and messages[-1]["role"] == "user"


def _run(plan: _Plan, model: Identity) -> tuple[str, list[Batch]]:
    samples = plan.sampling.samples
    put = Put(
        prompt=prompt_identity(plan.prompt).record,
        sampling=sampling_json(plan.sampling),
        limit=plan.limit,
        n_expected=len(plan.rows) * samples,
        keys={"samples": samples},
    )
    return run_batches(plan.benchmark, plan.version, model, put)


def _wanted(plan: _Plan, model: Identity) -> Iterator[tuple[tuple[int, int], Wanted]]:
    """((position in the plan, sample number), request) of everything that the run asks."""
    for position, row in enumerate(plan.rows):
        messages = render(plan.prompt, row.payload)
        for sample in range(plan.sampling.samples):
            yield (position, sample), keyed(model.fingerprint, Ask(messages, plan.sampling, sample))


def _record_run(stage: Stage, plan: _Plan, run: tuple[str, list[Batch]], wanted: dict[tuple[int, int], Wanted]) -> None:
    """Write what the run consists of, once."""
    run_id, records = run
    model = next(record["model_fingerprint"] for batch in records if batch.table == "run" for record in batch.records())
    with stage.context.reading() as connection:
        known = connection.execute("SELECT 1 FROM run WHERE run_id = ?", [run_id]).fetchone()
    if known:
        return
    items = [
        {
            "run_id": run_id,
            "row": plan.rows[position].row,
            "item_id": plan.rows[position].item_id,
            "sample_number": sample,
            "response_key": each.response_key,
        }
        for (position, sample), each in wanted.items()
    ]
    unaskable = _unaskable(plan, wanted, model)
    stage.journal.append(
        [*batches("run_item", items), *batches("response", unaskable), *records]  # the run comes last: then it is whole
    )
    stage.context.catch_up()


def _unaskable(plan: _Plan, wanted: dict[tuple[int, int], Wanted], model: str) -> list[dict[str, Any]]:
    """Error rows for items without text."""
    return [
        {
            "response_key": each.response_key,
            "try_number": 1,
            "model_fingerprint": model,
            "request_hash": each.request_hash,
            "sampling": sampling_json(plan.sampling),
            "sample_number": sample,
            "status": "error",
            "flags": "",
            "error_code": "no_question",
            "error_message": "the item has no text to ask",
        }
        for (position, sample), each in wanted.items()
        if not _askable(plan, position, each)
    ]


def _counts(context: Context, run_id: str) -> dict[str, Any]:
    with context.reading() as connection:
        found = connection.execute(read_sql("run_counts"), {"run": run_id})
        names = [column[0] for column in found.description or []]
        counts = dict(zip(names, found.fetchone() or (), strict=True))
    outcomes = {name: counts.pop(name) for name in ("completed", "filtered", "error", "pending")}
    return {**counts, "outcomes": {name: count for name, count in outcomes.items() if count}}
