"""A stage's requests through batches: planned, uploaded, created, waited for, collected; each step is kept.

After a kill the same command goes on. An upload or a creation whose answer was lost is looked for at the provider
before it is made again: a file by its name, a batch by its metadata, both named by the requests that they hold.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import Journal, batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.asking import STOPPED, Job, response_record
from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.runners.backends.openai import OpenAIBackend
from ethicsdb.runners.batch.provider import ENDED, Provider, State
from ethicsdb.runners.batch.wire import Line, input_line, lines_of, reply_of
from ethicsdb.runners.identity import sampling_json
from ethicsdb.runners.progress import Progress
from ethicsdb.schemas.declared import Sampling
from ethicsdb.schemas.errors import BudgetError, InterruptedRunError, ModelError
from ethicsdb.schemas.fingerprint import fingerprint, short
from ethicsdb.schemas.text import restore

__all__ = ["ask_in_batches"]

MOST_REQUESTS = 50_000  # in a batch, and
MOST_BYTES = 190_000_000  # in its file, by OpenAI's documentation (200 MB)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between two looks
ON_ITS_WAY = 10.0  # seconds that a creation which was cut off by a kill may take to show
MISSING = "missing_in_batch"


@dataclass(frozen=True)
class _Planned:
    """A batch that was planned: its name, its requests by key, and the steps that were taken."""

    name: str
    jobs: dict[str, Job]
    steps: dict[str, str]  # step: file id, batch id, ...


def ask_in_batches(
    context: Context, backend: OpenAIBackend, journal: Journal, jobs: Sequence[Job], progress: Progress
) -> None:
    """Ask jobs in batches, and wait until they have ended. Requests without an answer are open for the next command.

    Raises:
        BudgetError: the worst case of what is to be submitted is more than the budget has left; nothing was submitted.
        ModelError: the endpoint refuses a step, or a batch as a whole; the same command goes on.
        InterruptedRunError: a person pressed Ctrl-C; batches go on at the provider, and the same command collects them.
    """
    try:
        asyncio.run(_Run(context, backend, journal, {job.response_key: job for job in jobs}, progress).all())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise InterruptedRunError(
            f"{STOPPED} Batches that were created go on at the provider, and are collected by it."
        ) from None


class _Run:
    """The batches of one command."""

    def __init__(
        self, context: Context, backend: OpenAIBackend, journal: Journal, jobs: dict[str, Job], progress: Progress
    ) -> None:
        self._context = context
        self._backend = backend
        self._journal = journal
        self._jobs = jobs
        self._progress = progress
        self._provider = Provider(backend)

    async def all(self) -> None:
        """Earlier batches first, then what no batch holds."""
        self._progress.begin()
        try:
            earlier = self._open_batches()
            held = {key for planned in earlier for key in planned.jobs}
            rest = [job for key, job in self._jobs.items() if key not in held]
            new = list(_split(self._backend, rest))
            self._afford([job for part in new for job, _ in part])
            for part in new:
                earlier.append(self._plan([job for job, _ in part]))
            for planned in earlier:
                await self._submit(planned)
            for planned in earlier:
                await self._collect(planned, await self._ended(planned))
        finally:
            await self._backend.close()

    def _open_batches(self) -> list[_Planned]:
        """Batches with requests of this stage that were not collected yet, whatever else they hold."""
        with self._context.reading() as connection:
            rows = connection.execute(read_sql("open_batches"), {"keys": list(self._jobs)}).fetchall()
        found: dict[str, _Planned] = {}
        for name, key, number, request, sampling, sample, messages, exact, steps in rows:
            planned = found.setdefault(name, _Planned(name, {}, {each["step"]: each["value"] for each in steps}))
            ask = _ask(restore(messages, exact) or "", sampling, sample)
            planned.jobs[key] = Job(key, request, ask, number - 1)
        return list(found.values())

    def _afford(self, jobs: list[Job]) -> None:
        """Set the worst case of all requests aside; a batch can't be stopped in time."""
        purse = self._backend.purse
        for job in jobs:
            if purse.hold(job.ask) is None:
                raise BudgetError(
                    f"The worst case of {len(jobs):,} requests is more than the budget has left "
                    f"({purse.budget.told()} are spent). Nothing was submitted; take a larger budget, or --limit."
                )
        purse.budget.held_microusd = purse.budget.held_tokens = 0

    def _plan(self, jobs: list[Job]) -> _Planned:
        tries = sorted((job.response_key, job.tries + 1) for job in jobs)
        name = f"ethicsdb-{short(fingerprint([self._backend.identity.fingerprint, tries]), 24)}"
        lines = [
            {"batch": name, "response_key": job.response_key, "try_number": job.tries + 1,
             "request_hash": job.request_hash, "sampling": sampling_json(job.ask.sampling),
             "sample_number": job.ask.sample_number}
            for job in jobs
        ]  # fmt: skip
        self._journal.append([*batches("batch_line", lines), *self._step(name, "planned", str(len(jobs)))])
        return _Planned(name, {job.response_key: job for job in jobs}, {"planned": str(len(jobs))})

    def _step(self, name: str, step: str, value: str) -> list[Any]:
        row = {"batch": name, "step": step, "value": value, "taken_at": datetime.now(UTC).isoformat()}
        return list(batches("batch_step", [row]))

    def _note(self, planned: _Planned, step: str, value: str) -> None:
        self._journal.append(self._step(planned.name, step, value))
        planned.steps[step] = value

    async def _submit(self, planned: _Planned) -> None:
        """Upload and create what is not yet there. A batch that was created before is looked for first: it is paid."""
        if "created" in planned.steps:
            return
        batch_id = await self._sought(planned)
        if batch_id is None:
            if "uploaded" not in planned.steps:
                self._note(planned, "uploaded", await self._uploaded(planned))
            if "creating" not in planned.steps:
                self._note(planned, "creating", planned.steps["uploaded"])
            batch_id = await self._provider.create(planned.name, planned.steps["uploaded"])
        self._note(planned, "created", batch_id)

    async def _sought(self, planned: _Planned) -> str | None:
        """The batch that an earlier command may have created; what it sent before a kill may still be on its way."""
        if "uploaded" not in planned.steps:
            return None
        until = time.monotonic() + (ON_ITS_WAY if "creating" in planned.steps else 0)
        while (found := await self._provider.batch_marked(planned.name)) is None and time.monotonic() < until:
            await asyncio.sleep(1)
        return found

    async def _uploaded(self, planned: _Planned) -> str:
        name = f"{planned.name}.jsonl"
        raw = b"".join(input_line(self._backend, job) for job in planned.jobs.values())
        return await self._provider.file_named(name) or await self._provider.upload(name, raw)

    async def _ended(self, planned: _Planned) -> State:
        """Wait until a batch has ended."""
        pause = FIRST_PAUSE
        while True:
            state = await self._provider.state(planned.steps["created"])
            self._progress.waiting(f"batch {state.status}, {state.done + state.failed:,} of {state.total:,}")
            if state.status in ENDED:
                return state
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 1.5)

    async def _collect(self, planned: _Planned, state: State) -> None:
        """Write every answer down, and an error for what has none; then the batch is done with."""
        lines: dict[str, Line] = {}
        for file in (state.output_file, state.error_file):
            for line in lines_of(await self._provider.content(file)) if file else ():
                lines.setdefault(line.custom_id, line)
        records = [self._record(job, lines.get(key), state) for key, job in planned.jobs.items()]
        told = f"{state.status}: {state.done} done, {state.failed} failed, {state.total} in all"
        self._journal.append([*batches("response", records), *self._step(planned.name, "collected", told)])
        self._context.catch_up()
        if state.status == "failed":
            raise ModelError(
                f"The batch {state.batch_id} failed as a whole: {state.faults or 'no reason was given'}. Nothing of it "
                "was answered; mend that, and the same command submits it anew."
            )

    def _record(self, job: Job, line: Line | None, state: State) -> dict[str, Any]:
        if line is None:
            code = f"batch_{state.status}" if state.status != "completed" else MISSING
            reply = Reply("error", error_code=code, error_message=f"the batch {state.batch_id} holds no answer")
        else:
            reply = reply_of(self._backend, line)
        self._backend.purse.account(reply)
        self._progress.count(reply.status if reply.status != "error" else reply.error_code or "error")
        record = response_record(self._backend, job, job.tries + 1, reply, None)
        return {**record, "flags": ",".join(each for each in (record["flags"], "batch") if each)}


def _ask(messages: str, sampling: str, sample: int) -> Ask:
    """A request as it was planned."""
    content = json.loads(messages)
    schema = content["schema"] if isinstance(content, dict) else None
    turns = content["messages"] if isinstance(content, dict) else content
    return Ask(turns, Sampling(**json.loads(sampling)), sample, schema)


def _split(backend: OpenAIBackend, jobs: Sequence[Job]) -> Iterator[list[tuple[Job, int]]]:
    """Jobs in batches that the provider takes, each with the size of its line."""
    part: list[tuple[Job, int]] = []
    size = 0
    for job in jobs:
        length = len(input_line(backend, job))
        if part and (len(part) == MOST_REQUESTS or size + length > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append((job, length))
        size += length
    if part:
        yield part
