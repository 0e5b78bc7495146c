"""How many calls may be in flight: found by trying, since providers do not say what they permit.

As a TCP sender finds the capacity of a line: the number doubles until something gives, then grows by one a round trip,
and is cut when the provider says that it is too much (additive increase, multiplicative decrease: Chiu & Jain 1989). It
stops growing where more calls bring no more answers a second, as at a server that queues. A provider that says when to
come back (`Retry-After`) is taken at its word by all calls alike.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable

from ethicsdb.runners.backends.base import Reply

__all__ = ["LONGEST_ASKED_PAUSE", "Gate"]

START = 8  # calls in flight to begin with, where so many are allowed
CUT = 0.85  # of the calls, where the provider says that it is too much
BETTER = 1.05  # times the answers a second: what more calls must bring to be worth it
BEYOND = 1.25  # times the calls that brought most; further growth is taken back
WINDOW = 0.25  # seconds that answers are counted over, at least
FADING = 0.98  # of the best rate a window, so that a provider that became slower or faster is found out
LONGEST_PAUSE = 60.0
LONGEST_ASKED_PAUSE = 600.0  # an endpoint that asks for more gets its error into the journal instead


class Gate:
    """Lets calls in while there is room, and learns from their replies how much room there is.

    Args:
        ceiling: calls in flight at most.
        clock: seconds, ever rising.
    """

    def __init__(self, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.ceiling = max(1, ceiling)
        self.limit = float(min(START, self.ceiling))
        self.in_flight = 0
        self.holds = 0  # times in a row that the provider said that it was too much
        self._clock = clock
        self._opens = 0.0  # when calls may begin again
        self._cut_at = float("-inf")
        self._doubling = True
        self._best, self._best_limit = 0.0, self.limit
        self._answers, self._since, self._from = 0, clock(), self.limit
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, stop: asyncio.Event) -> bool:
        """Wait for room and take it; False where everything stops. A call that entered has to `leave`."""
        while not stop.is_set():
            shut = self._opens - self._clock()
            if shut > 0:
                await _rest(stop, shut)
            elif self.in_flight < int(self.limit):
                self.in_flight += 1
                return True
            else:
                place = asyncio.get_running_loop().create_future()
                self._waiting.append(place)
                await place
        return False

    def leave(self, begun: float, reply: Reply | None) -> None:
        """Give the room back, and learn from the reply.

        Args:
            begun: when the call began, by the clock.
            reply: None for a call that was never made.
        """
        self.in_flight -= 1
        if reply is not None and reply.held:
            self._hold(begun, reply)
        elif reply is not None and not reply.silent:
            self._grow()
        self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)

    def _hold(self, begun: float, reply: Reply) -> None:
        now = self._clock()
        self._doubling = False
        if begun >= self._cut_at:  # calls that began before the cut say nothing about the number after it
            self.limit = max(1.0, self.limit * CUT)
            self._cut_at = now
            self.holds += 1
        pause = reply.retry_after
        if pause is None:
            pause = min(LONGEST_PAUSE, 0.5 * 2.0 ** (self.holds - 1)) * random.uniform(0.5, 1.0)
        self._opens = max(self._opens, now + min(LONGEST_ASKED_PAUSE, pause))
        self._answers, self._since, self._from = 0, self._opens, self.limit

    def _grow(self) -> None:
        self.holds = 0
        self.limit = min(float(self.ceiling), self.limit + (1.0 if self._doubling else 1.0 / self.limit))
        self._answers += 1
        now = self._clock()
        if self._answers < self._from or now - self._since < WINDOW:
            return
        rate = self._answers / (now - self._since)
        self._best *= FADING
        if rate > self._best * BETTER:
            self._best, self._best_limit = rate, self._from
        elif self.limit > self._best_limit * BEYOND:
            self.limit, self._doubling = max(1.0, self._best_limit), False
        self._answers, self._since, self._from = 0, now, self.limit


async def _rest(stop: asyncio.Event, seconds: float) -> None:
    """Wait, but not when everything stops."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
