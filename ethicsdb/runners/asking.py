"""Asking many requests: bounded, counted, journalled before anything uses them.

Before a call an intent line is written, and the answer the moment its body is read. After a kill the journal therefore
holds every answer that came, and names the calls that were in flight; at most those are repeated.

How many calls are in flight is the gate's business (`gate`), what they may cost the purse's (`spending`).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ethicsdb.registry.journal import Journal, batches
from ethicsdb.runners.backends.base import Ask, Backend, Reply
from ethicsdb.runners.gate import LONGEST_ASKED_PAUSE, Gate
from ethicsdb.runners.identity import sampling_json
from ethicsdb.runners.progress import Progress
from ethicsdb.runners.spending import Hold, cost_of
from ethicsdb.schemas.errors import BudgetError, EthicsdbError, InterruptedRunError, ModelError

__all__ = ["STOPPED", "Job", "ask_all", "response_record"]

MAX_TRIES = 5  # calls a request in one command, those aside that the endpoint had no room for
MAX_HELD = 30  # such calls of one request: then it is the request that there is no room for
STARVED = 900.0  # seconds without any answer, while the endpoint says that it has no room
SILENT_LIMIT = 8  # calls in a row that reach nobody, or requests in a row without a word, after which we give up
SILENT_TRIES = 3
LONGEST_PAUSE = 60.0
SYNC_EVERY = 0.5  # seconds between fsyncs: what a power cut, not a kill, could lose
STOPPED = "Stopped; every answer that came is kept, and the same command goes on from here."
GRACE = 20.0  # seconds that calls in flight get to end after Ctrl-C or a fault


@dataclass(frozen=True)
class Job:
    """A request to be asked, its key, and the tries that it has had."""

    response_key: str
    request_hash: str
    ask: Ask
    tries: int


@dataclass
class _State:
    """What the workers share."""

    backend: Backend
    journal: Journal
    progress: Progress
    jobs: Iterator[Job]
    gate: Gate
    fault: EthicsdbError | None = None
    loop: asyncio.AbstractEventLoop | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    unreachable: int = 0  # calls in a row that reached nobody
    silent: set[str] = field(default_factory=set)  # requests in a row that nothing came back for
    synced: float = field(default_factory=time.monotonic)
    answered: float = field(default_factory=time.monotonic)  # when the endpoint last had room for a call
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # a call in flight has ended, and its room is free


def ask_all(backend: Backend, journal: Journal, jobs: Sequence[Job], progress: Progress) -> None:
    """Ask every job, at most `backend.concurrency` at a time; each ends in an answer, a filter, or an error.

    Raises:
        BudgetError: the next call might cost more than is left of the budget; what was answered is kept.
        ModelError: no request can succeed, or the endpoint is gone; what was answered is kept.
        InterruptedRunError: a person pressed Ctrl-C; what was answered is kept.
    """
    state = _State(backend, journal, progress, iter(jobs), Gate(backend.concurrency))
    try:
        _run_to_end(state)
    except asyncio.CancelledError:
        raise state.fault or InterruptedRunError(STOPPED) from None
    except BaseExceptionGroup as group:
        raise _first(group) from None
    finally:
        journal.sync()


def _run_to_end(state: _State) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        before = signal.getsignal(signal.SIGINT)
        try:
            asyncio.run(_run(state))
        finally:
            if signal.getsignal(signal.SIGINT) != before:  # a loop leaves Python's own behind
                signal.signal(signal.SIGINT, before)
        return
    # A notebook runs a loop in this thread already, so ours gets a thread of its own.
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(asyncio.run, _run(state))
        try:
            ended.result()
        except KeyboardInterrupt:
            if state.loop is not None:
                state.loop.call_soon_threadsafe(_interrupt, state)
            ended.result()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Several workers meet the same fault of our own code or of the disk; a person needs to hear it once."""
    leaf: BaseException = group
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf


async def _run(state: _State) -> None:
    state.loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # not in the main thread
        state.loop.add_signal_handler(signal.SIGINT, _interrupt, state)
    try:
        await state.backend.open()
        state.progress.begin()
        async with asyncio.TaskGroup() as group:
            for _ in range(state.gate.ceiling):
                group.create_task(_worker(state))
    finally:
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
            state.loop.remove_signal_handler(signal.SIGINT)
        await state.backend.close()
    if state.fault is not None:
        raise state.fault


def _interrupt(state: _State) -> None:
    """First Ctrl-C: no new calls, those in flight may end. Second, or after a while: end now."""
    if state.stop.is_set():
        _cancel()
    _halt(state, InterruptedRunError(STOPPED))


def _halt(state: _State, fault: EthicsdbError) -> None:
    """No new calls. Those in flight may be paid for already, so they get time to end."""
    if not state.stop.is_set():
        state.fault = fault
        state.stop.set()
        state.gate.wake()
        state.settled.set()
        asyncio.get_running_loop().call_later(GRACE, _cancel)


def _cancel() -> None:
    for task in asyncio.all_tasks(asyncio.get_running_loop()):
        task.cancel()


async def _worker(state: _State) -> None:
    for job in state.jobs:
        if state.stop.is_set():
            return
        try:
            await _ask(state, job)
        except EthicsdbError as fault:
            _halt(state, fault)


async def _ask(state: _State, job: Job) -> None:
    tried = held = 0
    number, reply = job.tries, None
    while await state.gate.enter(state.stop):
        number += 1
        reply = await _call(state, job, number)
        if reply is None or reply.final:
            break
        tried, held = tried + (not reply.held), held + reply.held
        _watch(state, job, tried, reply)
        if tried >= MAX_TRIES or held >= MAX_HELD or state.stop.is_set():
            break
        if not reply.held:  # else it is the gate that waits
            await _rest(state, _pause(tried, reply.retry_after))
    if reply is not None:
        failed = reply.status == "error"
        state.progress.count(reply.error_code or "error" if failed else reply.status)


async def _call(state: _State, job: Job, number: int) -> Reply | None:
    """One call: announced, made, paid and written down; None where everything stops before it is made."""
    purse, begun = state.backend.purse, time.monotonic()
    reply: Reply | None = None
    try:
        hold = await _set_aside(state, job)
        if hold is None:
            return None
        at, begun = datetime.now(UTC), time.monotonic()
        intent = {"response_key": job.response_key, "try_number": number, "started_at": at.isoformat()}
        state.journal.append(batches("call", [intent]), sync=False)
        try:
            reply = await state.backend.ask(job.ask)
        finally:
            purse.settle(hold, reply)
            state.settled.set()
    finally:
        state.gate.leave(begun, reply)
    record = response_record(state.backend, job, number, reply, (at, time.monotonic() - begun))
    state.journal.append(batches("response", [record]), sync=False)
    state.progress.spent(purse.cost_microusd if purse.price else None, int(state.gate.limit))
    _sync(state)
    return reply


async def _set_aside(state: _State, job: Job) -> Hold | None:
    """Set the worst case of a call aside; where there is no room, calls in flight may give some back.

    Raises:
        BudgetError: there is no room, and nothing in flight that could make some.
    """
    purse = state.backend.purse
    while not state.stop.is_set():
        hold = purse.hold(job.ask)
        if hold is not None:
            return hold
        if not purse.budget.held_tokens:
            raise BudgetError(
                f"Stopped at the budget: {purse.budget.told()} are spent, and the next call might cost more than is "
                "left. Every answer that came is kept; the same command with a larger budget goes on from here."
            )
        state.settled.clear()
        await state.settled.wait()
    return None


def response_record(
    backend: Backend, job: Job, number: int, reply: Reply, timing: tuple[datetime, float] | None
) -> dict[str, Any]:
    """The `response` row of a reply.

    Args:
        timing: when the call began and how many seconds it took; None where nobody knows.
    """
    return {
        "response_key": job.response_key,
        "try_number": number,
        "model_fingerprint": backend.identity.fingerprint,
        "request_hash": job.request_hash,
        "sampling": sampling_json(job.ask.sampling),
        "sample_number": job.ask.sample_number,
        "status": reply.status,
        "text": reply.text,
        "flags": "cut_off" if reply.finish_reason == "length" else "",
        "finish_reason": reply.finish_reason,
        "error_code": reply.error_code,
        "error_message": reply.error_message,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost_microusd": cost_of(backend.purse.price, reply),
        "billed": reply.billed,
        "system_fingerprint": reply.system_fingerprint,
        "reported_model": reply.reported_model,
        "duration_s": None if timing is None else round(timing[1], 6),
        "created_at": None if timing is None else timing[0].isoformat(),
    }


def _sync(state: _State) -> None:
    if time.monotonic() - state.synced >= SYNC_EVERY:
        state.journal.sync()
        state.synced = time.monotonic()


def _watch(state: _State, job: Job, tried: int, reply: Reply) -> None:
    """Give up on an endpoint that nobody answers at, rather than fail item after item.

    A request that breaks its connection every time says nothing about the endpoint, so those count once each; and one
    moment's fault meets many calls at once, so it has to last for some tries of one request.
    """
    if not reply.held:
        state.answered = time.monotonic()
    elif time.monotonic() - state.answered > STARVED:
        raise ModelError(
            f"{getattr(state.backend, 'url', 'The model')} has had no room for any call for {STARVED / 60:.0f} minutes "
            f"({reply.error_message}). Every answer that came is kept; the same command goes on from here."
        )
    if not reply.silent:
        state.unreachable = 0
        state.silent.clear()
        return
    state.unreachable += reply.unreachable
    state.silent.add(job.response_key)
    if tried >= SILENT_TRIES and max(state.unreachable, len(state.silent)) >= SILENT_LIMIT:
        where = getattr(state.backend, "url", "the model")
        raise ModelError(
            f"Nobody answers at {where} ({reply.error_code}: {reply.error_message}). "
            "Every answer that came is kept; the same command goes on from here."
        )


def _pause(tries: int, asked: float | None) -> float:
    """Seconds before the next try: what the endpoint asks for, else doubling with jitter."""
    if asked is not None:
        return min(LONGEST_ASKED_PAUSE, asked)
    return min(LONGEST_PAUSE, 0.5 * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)


async def _rest(state: _State, seconds: float) -> None:
    """Wait, but not when everything stops."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await state.stop.wait()
