"""How far a stage is: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import Any

__all__ = ["Progress"]

LINE_EVERY = 10.0  # seconds between lines of a log


class Progress:
    """Counts what is done; shows rate and time left on stderr.

    Args:
        what: what is counted: "answers", "verdicts".
        total: how many there will be.
        before: how many were there already; they do not count for the rate.
    """

    def __init__(self, what: str, total: int, before: int = 0) -> None:
        self.what = what
        self.total = total
        self.before = before
        self.done = 0
        self.kinds: Counter[str] = Counter()
        self.cost: int | None = None  # millionths of a US dollar; None where nobody knows
        self.in_flight = 0  # calls that may be, where more than one
        self._start = self._said = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
            )  # fmt: skip
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.what, total=self.total, completed=self.before, rate="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self.done:
            sys.stderr.write(self.line() + "\n")

    def begin(self) -> None:
        """The first of them begins now."""
        self._start = self._said = time.monotonic()

    def count(self, kind: str) -> None:
        """One more is done, of a kind: completed, error, ..."""
        self.done += 1
        self.kinds[kind] += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, rate=f"{self.rate():.1f}/s{self._money()}")
        elif time.monotonic() - self._said >= LINE_EVERY:
            self._said = time.monotonic()
            sys.stderr.write(self.line() + "\n")
            sys.stderr.flush()

    def waiting(self, told: str) -> None:
        """How far that is which is waited for."""
        if self._bar is not None:
            self._bar.update(self._task, rate=told)
        elif time.monotonic() - self._said >= LINE_EVERY:
            self._said = time.monotonic()
            sys.stderr.write(f"{self.what}: {told}\n")
            sys.stderr.flush()

    def spent(self, microusd: int | None, in_flight: int) -> None:
        """What the calls have cost so far, and how many may be in flight."""
        self.cost, self.in_flight = microusd, in_flight

    def rate(self) -> float:
        """Items a second since the start."""
        return self.done / max(time.monotonic() - self._start, 1e-9)

    def line(self) -> str:
        """Where the stage stands, in a line."""
        faults = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.kinds.items()) if kind != "completed")
        left = self.total - self.before - self.done
        end = f", about {_duration(left / self.rate())} left" if left > 0 and self.done else ""
        return (
            f"{self.what}: {self.before + self.done:,} of {self.total:,}"
            f"{f' ({faults})' if faults else ''}, {self.rate():.1f}/s{self._money()}{end}"
        )

    def _money(self) -> str:
        cost = f", ${self.cost / 1e6:,.4f}" if self.cost else ""
        return f"{cost}, {self.in_flight} at a time" if self.in_flight > 1 else cost


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
