"""Runs that are killed, stopped, doubled or torn: nothing is lost, and at most the calls in flight are paid twice."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from llm_server import Endpoint, declared, prepared, serving
from support import opened, rows_of

from ethicsdb import Registry

CONCURRENCY = 4
TEXTS = tuple(f"Question number {number}?" for number in range(30))
COMMAND = ("run", "small", "--model", "target", "--judge", "words", "--concurrency", str(CONCURRENCY))
# What differs between an interrupted and an uninterrupted run: times, and the numbers of tries that came to nothing.
TABLES = {
    "answers": "SELECT response_key, status, text, text_exact, flags, error_code, prompt_tokens FROM answer",
    "verdicts": "SELECT subject_id, judge_fingerprint, status, reason, fields FROM verdict",
    "labels": "SELECT subject_id, judge_fingerprint, label.* EXCLUDE (verdict_id) "
    "FROM verdict_label label JOIN verdict USING (verdict_id)",
    "outcomes": "FROM outcomes",
    "board": "FROM leaderboard WHERE benchmark = 'small'",
    "run": "SELECT * EXCLUDE (started_at) FROM run",
    "items": "FROM run_item",
    "requests": "FROM request",
    "judges": "FROM judge",
    "models": "FROM model",
}

# Processes that start warm: each is a real one, with its own id, that runs the command and can be killed.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    ["ethicsdb.api", "ethicsdb.cli.run", "ethicsdb.runners.judging", "ethicsdb.registry.arrow", "ethicsdb.registry.ddl",
     "ethicsdb.schemas.catalog", "ethicsdb.schemas.facts", "ethicsdb.schemas.items", "openai", "duckdb", "pyarrow",
     "pandas", "anyio._backends._asyncio", "llm_server", "support"]
)  # fmt: skip


@dataclass
class Started:
    """A command that runs."""

    process: ForkServerProcess
    log: Path

    @property
    def code(self) -> int:
        """The exit code, once it has ended."""
        self.process.join(60)
        assert self.process.exitcode is not None
        return self.process.exitcode

    @property
    def said(self) -> str:
        """Everything that it has written."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        assert self.process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)


def _main(folder: str, log: str, arguments: tuple[str, ...]) -> None:
    from ethicsdb.cli.main import main

    os.chdir(folder)
    sys.argv = ["ethicsdb", *arguments]
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    main()


_logs = iter(range(10**6))


def start(folder: Path, *arguments: str) -> Started:
    log = folder.parent / f"{folder.name}-{next(_logs)}.log"
    process = processes.Process(target=_main, args=(str(folder), str(log), arguments or COMMAND))
    process.start()
    return Started(process, log)


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    with serving(tmp_path / "server", delay=0.04) as found:
        yield found


def made(tmp_path: Path, name: str, endpoint: Endpoint) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    prepared(folder, declared(endpoint), *TEXTS)
    return folder


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    registry = opened(folder)
    assert rows_of(registry, "FROM integrity") == []
    assert rows_of(registry, "FROM conflict") == []
    return {name: sorted(rows_of(registry, query), key=repr) for name, query in TABLES.items()}


def wait_for(ran: Started, what: Callable[[], bool]) -> bool:
    """Wait until something has come about; whether it did before the command ended."""
    end = time.monotonic() + 60
    while not what():
        if not ran.process.is_alive():
            return what()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)
    return True


def test_kills_at_random_moments_leave_what_an_uninterrupted_run_leaves(tmp_path: Path, endpoint: Endpoint) -> None:
    whole = made(tmp_path, "whole", endpoint)
    assert start(whole).code == 0
    before = endpoint.count()
    assert before == 2 * len(TEXTS)
    folder, chance, kills = made(tmp_path, "killed", endpoint), random.Random(20), 0
    while kills < 50:
        ran = start(folder)
        wait_for(ran, ran.log.exists)
        if kills % 4 == 3:  # anywhere: at the start, in an ingest, between the stages
            time.sleep(chance.uniform(0, 0.8))
        else:  # amid calls
            goal = endpoint.count() + chance.randint(1, 4)
            wait_for(ran, lambda goal=goal: endpoint.count() >= goal)  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.05))
        ran.signal(signal.SIGKILL)
        assert ran.code in (-signal.SIGKILL, 0), ran.said
        kills += 1
    ran = start(folder)
    assert ran.code == 0, ran.said
    assert tables(folder) == tables(whole)
    registry = opened(folder)
    lost = len(
        rows_of(
            registry, "SELECT response_key, try_number FROM call ANTI JOIN response USING (response_key, try_number)"
        )
    )
    assert endpoint.repeated(before) <= lost <= CONCURRENCY * kills
    assert lost > 0  # else the kills met nothing
    # What came was never asked for again.
    assert rows_of(registry, "SELECT response_key FROM response GROUP BY ALL HAVING count(*) > 1") == []
    assert endpoint.count() - before - endpoint.repeated(before) == 2 * len(TEXTS)
    rebuilt = registry.checksums()
    assert registry.rebuild() == rebuilt
    assert start(folder).code == 0
    assert endpoint.count() - before - endpoint.repeated(before) == 2 * len(TEXTS)


def test_same_command_twice_at_once_does_the_work_once(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = made(tmp_path, "work", endpoint)
    both = [start(folder), start(folder)]
    assert [ran.code for ran in both] == [0, 0], [ran.said for ran in both]
    assert (endpoint.count(), endpoint.repeated()) == (2 * len(TEXTS), 0)
    results = {line for ran in both for line in ran.said.splitlines() if line.startswith("run ")}
    assert len(results) == 1
    found = tables(folder)
    assert len(found["verdicts"]) == len(found["answers"]) // 2 == len(TEXTS)
    assert len(found["run"]) == 1


def test_smaller_run_beside_the_whole_one_pays_nothing_twice(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = made(tmp_path, "work", endpoint)
    both = [start(folder, *COMMAND, "--limit", "15"), start(folder)]
    assert [ran.code for ran in both] == [0, 0], [ran.said for ran in both]
    assert (endpoint.count(), endpoint.repeated()) == (2 * len(TEXTS), 0)
    tables(folder)


def test_ctrl_c_ends_with_one_sentence_and_keeps_what_came(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = made(tmp_path, "work", endpoint)
    ran = start(folder)
    assert wait_for(ran, lambda: endpoint.count() >= 10), ran.said
    ran.signal(signal.SIGINT)
    assert ran.code == 130
    progress, sentence = ran.said.splitlines()
    assert progress.startswith("small answers: ")
    assert sentence == "error: Stopped; every answer that came is kept, and the same command goes on from here."
    registry = opened(folder)
    begun = endpoint.count()
    assert 10 <= begun <= 10 + 2 * CONCURRENCY
    # Calls in flight got to end.
    assert rows_of(registry, "SELECT count(*) FROM response WHERE status = 'completed'") == [(begun,)]
    assert rows_of(registry, "SELECT count(*) FROM call") == [(begun,)]
    ran = start(folder)
    assert ran.code == 0
    assert endpoint.repeated() == 0
    assert len(tables(folder)["verdicts"]) == len(TEXTS)


def test_ctrl_c_does_not_wait_for_pauses_between_tries(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        folder = tmp_path / "work"
        folder.mkdir()
        prepared(folder, declared(endpoint), "[[html]]")  # tried again after half a second, one, two, four
        ran = start(folder)
        assert wait_for(ran, lambda: endpoint.count() >= 3), ran.said
        begun = time.monotonic()
        ran.signal(signal.SIGINT)
        assert ran.code == 130
        assert time.monotonic() - begun < 1.5
        assert endpoint.count() == 3


def test_second_ctrl_c_ends_calls_that_hang(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as endpoint:
        folder = tmp_path / "work"
        folder.mkdir()
        prepared(folder, declared(endpoint), "[[slow 50]]", "Quick?")
        ran = start(folder)
        assert wait_for(ran, lambda: len(endpoint.events("end")) == 1), ran.said
        ran.signal(signal.SIGINT)
        time.sleep(0.3)
        assert ran.process.is_alive()
        ran.signal(signal.SIGINT)
        assert ran.code == 130
        assert "Traceback" not in ran.said
        registry = opened(folder)
        assert rows_of(registry, "SELECT status FROM response") == [("completed",)]
        assert rows_of(registry, "SELECT count(*) FROM call") == [(2,)]


def test_ctrl_c_at_any_moment_is_no_crash(tmp_path: Path, endpoint: Endpoint) -> None:
    folder, chance, codes = made(tmp_path, "work", endpoint), random.Random(4), []
    for _ in range(12):
        ran = start(folder)
        wait_for(ran, ran.log.exists)  # before that it is no command of ours yet
        time.sleep(chance.uniform(0.02, 0.8))
        ran.signal(signal.SIGINT)
        codes.append(ran.code)
        assert "Traceback" not in ran.said, ran.said
        assert codes[-1] in (0, 130), ran.said
        if codes[-1] == 130:
            assert ran.said.splitlines()[-1].endswith("the same command goes on from here.") or ran.said.endswith(
                "stopped; the same command goes on from here\n"
            ), ran.said
    assert 130 in codes
    assert start(folder).code == 0
    assert endpoint.repeated() == 0
    assert len(tables(folder)["verdicts"]) == len(TEXTS)


def test_torn_last_line_is_dropped_and_said(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = made(tmp_path, "work", endpoint)
    assert start(folder, *COMMAND, "--limit", "6").code == 0
    (journal,) = (folder / "benchmarks.db.journal").glob("answers-*.jsonl")
    whole = journal.read_bytes()
    torn = b'{"table":"response","columns":["response_key","try_number","status"],"rows":[["blake2b-128:ab'
    journal.write_bytes(whole + torn)
    ran = start(folder)
    assert ran.code == 0, ran.said
    assert f"note: dropped the {len(torn)} bytes of an unfinished line that a kill left in {journal.name}" in ran.said
    assert journal.read_bytes().startswith(whole + b'{"sum":')
    assert endpoint.repeated() == 0
    assert len(tables(folder)["verdicts"]) == len(TEXTS)


def test_answer_whose_line_was_torn_is_asked_for_again(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = made(tmp_path, "work", endpoint)
    ran = start(folder)
    assert wait_for(ran, lambda: endpoint.count() >= 8), ran.said
    ran.signal(signal.SIGKILL)
    assert ran.code == -signal.SIGKILL
    (journal,) = (folder / "benchmarks.db.journal").glob("answers-*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-20])
    registry: Registry = opened(folder)
    known = rows_of(registry, "SELECT count(*) FROM response WHERE status = 'completed'")[0][0]
    begun = endpoint.count()
    assert start(folder).code == 0
    assert endpoint.count() - begun == len(TEXTS) - known + len(TEXTS)
    assert len(tables(folder)["verdicts"]) == len(TEXTS)
