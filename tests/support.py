"""What several tests share: a small data set of our own, judge outputs in Batch form, and ways to run commands."""

from __future__ import annotations

import atexit
import contextlib
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from ethicsdb import Registry

HEADER = ("id", "area", "form", "text", "english")
COMMAND = [sys.executable, "-c", "from ethicsdb.cli.main import main; main()"]

# The rubric: three questions in both areas; question 1 asks whether the answer refuses and decides alone.
YES, NO = "1. No\n2. Yes\n3. No", "1. No\n2. No\n3. Yes"
SAFE, UNSAFE, REFUSED, UNREADABLE = YES, NO, "1. Yes\n2. Yes\n3. No", "It depends."

DATASET = {
    "kind": "dataset",
    "name": "small",
    "title": "Small questions",
    "schema": "safety_question",
    "sources": [{"path": "small.csv"}],
    "fields": {"question": "text", "risk_area": "area", "translation": "english"},
    "constants": {"language": "en"},
    "recode": {"risk_area": {"Lies": "lies", "Lies (new)": "lies", "Harm": "harm"}},
    "variant": "form",
    "variants": {"original": "direct", "hidden": "indirect", "innocent": "harmless"},
    "link": {"id": "id", "within": ["risk_area"]},
    "languages": ["en"],
    "licence": {"name": "CC0", "redistribution": True},
    "access": "open",
    "citation": "None.",
}
RUBRIC = {
    "kind": "rubric",
    "name": "small_rubric",
    "title": "Three questions",
    "source": "Tests",
    "rubric": {
        "form": "numbered",
        "languages": ["en"],
        "by": "risk_area",
        "first_counts": False,
        "areas": {area: {"expected": [True, True, False], "unsafe_at": 2} for area in ("lies", "harm")},
    },
}
MODEL = {
    "kind": "model",
    "name": "judge-1",
    "backend": "openai",
    "id": "judge-1",
    "revision": "1",
    "base_url": "http://127.0.0.1:9/v1",
}
JUDGE = {"kind": "judge", "name": "small_judge", "title": "Small judge", "rubric": "small_rubric", "model": "judge-1"}
BENCHMARK = {
    "kind": "benchmark",
    "name": "small",
    "version": "1-A",
    "title": "Small benchmark",
    "dataset": "small",
    "judges": ["small_judge", "refusal_rules"],
    "metric_sets": ["safeguards"],
    "primary": "unsafe_rate",
}
PUBLISHED: dict[str, Any] = {
    "kind": "published",
    "name": "small_table",
    "paper": "Us (2025)",
    "table": "Table 1",
    "benchmark": "small",
    "major": 1,
    "judge": "people",
    "rows": [{"model": "M", "values": {"unsafe_rate": 0.5}}],
}
DECLARATIONS = (DATASET, RUBRIC, MODEL, JUDGE, BENCHMARK)

Row = Sequence[str]


def changed(declaration: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """A declaration with other parts; a part that is None is left out."""
    return {name: value for name, value in {**declaration, **parts}.items() if value is not None}


def declare(folder: Path, *declarations: dict[str, Any]) -> Path:
    """Write declarations (default: all of this module) to `ethicsdb.d` in a folder; returns that folder."""
    into = folder / "ethicsdb.d"
    into.mkdir(exist_ok=True)
    texts = [yaml.safe_dump(each, allow_unicode=True, sort_keys=False) for each in declarations or DECLARATIONS]
    (into / "small.yaml").write_text("---\n".join(texts), encoding="utf-8")
    return into


def questions(count: int, *, start: int = 0) -> list[Row]:
    """Direct, indirect and harmless forms of `count` questions, ids from `start` on."""
    rows = []
    for number in range(start, start + count):
        area = ("Lies", "Harm")[number % 2]
        for form in ("original", "hidden", "innocent"):
            rows.append((str(number), area, form, f"{form} question {number}?", ""))
    return rows


def write_csv(path: Path, rows: Iterable[Row], header: Row = HEADER, encoding: str = "utf-8") -> Path:
    """A CSV file with the header and rows."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([header, *rows])
    path.write_bytes(buffer.getvalue().encode(encoding, "surrogatepass" if encoding.startswith("utf") else "strict"))
    return path


def batch_line(row: int, text: str | None, **parts: Any) -> dict[str, Any]:
    """A line of OpenAI Batch output; `parts` replace parts of its body."""
    body = {
        "model": "judge-1",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        **parts,
    }
    return {"custom_id": f"request-{row}", "response": {"status_code": 200, "body": body}, "error": None}


def write_batch(path: Path, lines: Iterable[dict[str, Any] | str]) -> Path:
    """A JSONL file; texts go in as they are."""
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8"
    )
    return path


def judged(path: Path, texts: Iterable[str]) -> Path:
    """Batch output with one judge's text a row."""
    return write_batch(path, [batch_line(row, text) for row, text in enumerate(texts)])


def opened(folder: Path) -> Registry:
    """The registry of a folder with its `ethicsdb.d`; a new one begins as a copy of an empty database."""
    if not (folder / "benchmarks.db").exists():
        shutil.copyfile(_empty() / "benchmarks.db", folder / "benchmarks.db")
    return Registry(folder / "benchmarks.db", [folder / "ethicsdb.d"])


def _kept_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ethicsdb-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    declare(folder)
    return folder


@cache
def _empty() -> Path:
    folder = _kept_folder()
    Registry(folder / "benchmarks.db", [folder / "ethicsdb.d"]).context.catch_up()
    return folder


@cache
def _template(count: int) -> Path:
    folder = _kept_folder()
    opened(folder).build("small", write_csv(folder / "small.csv", questions(count)))
    return folder


def started(folder: Path, count: int = 4) -> Registry:
    """A registry with the small data set built from `count` questions; built once, then copied."""
    shutil.copytree(_template(count), folder, dirs_exist_ok=True)
    return opened(folder)


def rows_of(registry: Registry, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query over the registry's database, in this process."""
    with registry.context.reading() as connection:
        return connection.execute(query).fetchall()


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of ethicsdb."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ETHICSDB_")}
    return {**kept, **more}


def run(*arguments: str | Path, cwd: Path) -> Ran:
    """Run a command in this process, in a folder, as `main` would: same sentences, same exit codes."""
    from ethicsdb.cli import main

    out, err = io.StringIO(), io.StringIO()
    argv = ["ethicsdb", *map(str, arguments)]
    with (
        contextlib.chdir(cwd),
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ, environment(), clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main._run()
    return Ran(code, out.getvalue(), err.getvalue())


def spawn(*arguments: str | Path, cwd: Path, **more: str) -> subprocess.Popen[bytes]:
    """Start a command as a process of its own."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen[bytes], timeout: float = 120) -> Ran:
    """Wait for a process."""
    out, err = process.communicate(timeout=timeout)
    return Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def execute(*arguments: str | Path, cwd: Path, **more: str) -> Ran:
    """Run a command as a process of its own and wait for it."""
    return finished(spawn(*arguments, cwd=cwd, **more))


@contextlib.contextmanager
def held_open(database: Path, *, read_only: bool = False) -> Iterator[None]:
    """A DuckDB client in a process of its own that holds the file open."""
    connect = f"c = duckdb.connect(sys.argv[1], read_only={read_only})"
    code = f"import sys, duckdb; {connect}; print('open', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "open\n"
        try:
            yield
        finally:
            holder.stdin.close()
            holder.wait(30)
