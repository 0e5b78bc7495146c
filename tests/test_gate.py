"""How many calls are in flight: found out, held for all when the provider says so, and no more than do good."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from llm_server import declared, prepared, serving
from support import rows_of

from ethicsdb.runners.backends.base import Reply
from ethicsdb.runners.gate import CUT, START, Gate

DONE = Reply("completed", text="x", billed=True)
HELD = Reply("error", error_code="rate_limit", retry_after=2.0)


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def entered(gate: Gate) -> bool:
    """Whether a call gets in at once."""

    async def try_() -> bool:
        try:
            async with asyncio.timeout(0.01):
                return await gate.enter(asyncio.Event())
        except TimeoutError:
            return False

    return asyncio.run(try_())


def answered(gate: Gate, clock: Clock, seconds: float, rate: float = float("inf")) -> None:
    """A round of calls that take so long; `rate` is how many answers a second the provider gives at most."""
    count = int(gate.limit)
    for _ in range(count):
        assert entered(gate)
    begun = clock.now
    clock.now += max(seconds, count / rate)
    for _ in range(count):
        gate.leave(begun, DONE)


def test_it_doubles_up_to_the_ceiling() -> None:
    clock = Clock()
    gate = Gate(100, clock)
    seen = []
    for _ in range(6):
        seen.append(int(gate.limit))
        answered(gate, clock, 1.0)
    assert seen == [START, 2 * START, 4 * START, 8 * START, 100, 100]
    assert int(Gate(3, clock).limit) == 3


def test_no_more_get_in_than_there_is_room_for() -> None:
    gate = Gate(2, Clock())
    assert [entered(gate), entered(gate), entered(gate)] == [True, True, False]
    gate.leave(100.0, DONE)
    assert entered(gate)
    assert gate.in_flight == 2


def test_one_cut_for_all_that_were_in_flight_and_all_wait() -> None:
    clock = Clock()
    gate = Gate(64, clock)
    for _ in range(3):
        answered(gate, clock, 1.0)
    before = gate.limit
    begun = clock.now
    for _ in range(10):
        assert entered(gate)
    clock.now += 0.5
    for _ in range(10):
        gate.leave(begun, HELD)
    assert gate.limit == pytest.approx(before * CUT)
    clock.now += 1.9
    assert not entered(gate)
    clock.now += 0.2
    assert entered(gate)
    gate.leave(clock.now, HELD)  # this one began after the cut
    assert gate.limit == pytest.approx(before * CUT * CUT)


def test_it_grows_by_one_a_round_after_a_cut() -> None:
    clock = Clock()
    gate = Gate(64, clock)
    assert entered(gate)
    gate.leave(clock.now, HELD)
    clock.now += 3
    before = gate.limit
    answered(gate, clock, 1.0)
    assert gate.limit == pytest.approx(before + 1, abs=0.25)


def test_it_does_not_flood_a_server_that_queues() -> None:
    clock = Clock()
    gate = Gate(1000, clock)
    for _ in range(60):
        answered(gate, clock, 0.1, rate=100.0)  # ten in flight bring all that it gives
    assert 10 <= gate.limit <= 60


def test_pauses_double_where_the_provider_names_none() -> None:
    clock = Clock()
    gate = Gate(8, clock)
    waits = []
    for _ in range(5):
        assert entered(gate)
        gate.leave(clock.now, Reply("error", error_code="rate_limit"))
        begun = clock.now
        while not entered(gate):
            clock.now += 0.25
        gate.leave(clock.now, None)
        waits.append(clock.now - begun)
    assert waits == sorted(waits)
    assert waits[-1] >= 4.0


def test_a_rate_limit_is_no_fault_of_a_request(tmp_path: Path) -> None:
    """More refusals than a request has tries, and yet an answer."""
    texts = [f"[[busy {number}]] question {number}?" for number in (3, 8, 12)]
    with serving(tmp_path / "server") as endpoint:
        registry = prepared(tmp_path, declared(endpoint), *texts, "plain?")
        begun = time.monotonic()
        generated, _ = registry.run("small", model="target")
        assert time.monotonic() - begun < 30
    assert generated.outcomes == {"completed": 4}
    tries = rows_of(registry, "SELECT max(try_number) FROM response GROUP BY response_key ORDER BY 1")
    assert tries == [(1,), (4,), (9,), (13,)]
    held = rows_of(registry, "SELECT DISTINCT status, error_code, billed FROM response WHERE status = 'error'")
    assert held == [("error", "rate_limit", False)]
