"""User SQL over a DuckDB file, in a separate process that can only read and that always ends.

An interrupt inside the process does not stop every query, so the query runs in a child of its own, which is killed at
its time limit. The child opens the file read-only with external access off and the configuration locked, has none of
this process's environment, and hands its rows over in a file: a large result is never held twice, nor all in memory.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ethicsdb.registry import sandbox_worker
from ethicsdb.registry.sandbox_worker import distinct
from ethicsdb.schemas.errors import QueryError, QueryLimitError

__all__ = ["Answer", "DatabaseBusyError", "Limits", "OutputFormat", "distinct", "run_sql"]

OutputFormat = Literal["arrow", "parquet"]


class DatabaseBusyError(QueryError):
    """Another program holds the database file open for writing; the same query can be tried again later."""


@dataclass(frozen=True)
class Limits:
    """What one query may use.

    Attributes:
        seconds: wall-clock time from start to last row, the start of the process (about 0.25 s) included.
        memory_mb: memory of DuckDB's operators in MiB; the process as a whole gets 512 MiB more, for long texts.
        output_mb: size of the result file in MiB, and likewise of what is spilled to disk on the way.
    """

    seconds: float = 60.0
    memory_mb: int = 4096
    output_mb: int = 2048

    def __post_init__(self) -> None:
        if not all(math.isfinite(limit) and limit > 0 for limit in (self.seconds, self.memory_mb, self.output_mb)):
            raise ValueError("the limits of a query must be finite and greater than zero")


@dataclass(frozen=True)
class Answer:
    """The rows of a query, read from their file piece by piece.

    Attributes:
        columns: names in order; they may be doubled, except in Parquet (`a`, `a_1`).
        types: DuckDB's name of each column's type. UHUGEINT, BIGNUM, BIT, TIMETZ and VARIANT have no exact Arrow form
            and are carried as text, alone or nested; in Parquet also INTERVAL, UNION and empty structs.
        row_count: number of rows.
        path: the file that was asked for, or None.
    """

    columns: list[str]
    types: list[str]
    row_count: int
    path: Path | None
    _file: Any = field(repr=False, compare=False)
    _format: OutputFormat = field(repr=False)

    def batches(self) -> Iterator[Any]:
        """The rows as `pyarrow.RecordBatch`es, mapped from the file and not copied (Parquet is decoded)."""
        if self._format == "parquet":
            import pyarrow.parquet

            yield from pyarrow.parquet.ParquetFile(self._file).iter_batches()
        else:
            import pyarrow.ipc

            reader = pyarrow.ipc.open_file(self._file)
            yield from (reader.get_batch(index) for index in range(reader.num_record_batches))

    def table(self) -> Any:
        """All rows as one `pyarrow.Table`."""
        if self._format == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(self._file).read()
        import pyarrow.ipc

        return pyarrow.ipc.open_file(self._file).read_all()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples of Python values: HUGEINT as int, structs as dict, maps as lists of pairs.

        Raises:
            QueryError: a value that Python can't hold, such as an infinite date.
        """
        for batch in self.batches():
            yield from zip(*map(self._values, range(len(self.columns)), batch.columns), strict=True)

    def _values(self, index: int, array: Any) -> list[Any]:
        try:
            values: list[Any] = array.to_pylist()
        except (ArithmeticError, AttributeError, LookupError, ValueError):
            name = self.columns[index]
            raise QueryError(
                f"Column {name!r} ({self.types[index]}) holds a value that Python can't; select it as text with CAST."
            ) from None
        if self.types[index] == "HUGEINT":
            return [None if value is None else int(value) for value in values]
        return values


def run_sql(
    database: Path,
    sql: str,
    *,
    limits: Limits = Limits(),  # frozen
    output: Path | None = None,
    output_format: OutputFormat = "arrow",
) -> Answer:
    """Run one reading statement over a database file.

    Args:
        database: a DuckDB file; it is opened read-only, for this query alone.
        sql: exactly one SELECT, FROM, WITH, VALUES, PIVOT, DESCRIBE, SHOW or SUMMARIZE, or EXPLAIN of these.
            TIMESTAMPTZ is shown in UTC on every machine.
        limits: time, memory and size after which the query is ended.
        output: where to keep the rows; written whole or not at all. Without it they go with the `Answer`.
        output_format: an Arrow IPC file or Parquet (zstd).

    Raises:
        QueryError: the statement was refused, is not SQL, or failed.
        QueryLimitError: it needed more than its limits.
        DatabaseBusyError: another program has the file open for writing.
    """
    for name, text in (("SQL", sql), ("database's path", str(database)), ("result's path", str(output))):
        check_text(name, text)
    if not database.is_file():
        raise QueryError(f"There is no database file {database}.")
    scratch = new_scratch(database, output)
    try:
        request = make_request(database, sql, limits, scratch)
        request["format"] = output_format
        reply = ask_worker(request)
        if "error" in reply:
            raise to_error(reply, request)
        file = open_result(Path(request["result"]), output)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Answer(reply["columns"], reply["types"], reply["rows"], output, file, output_format)


def check_text(name: str, text: str) -> None:
    """Refuse text that has no UTF-8 form, which DuckDB does not take."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code, position = ord(text[error.start]), error.start + 1
        raise QueryError(
            f"The {name} is not valid Unicode: half a character (lone surrogate U+{code:04X}) at character {position}."
        ) from None


def new_scratch(database: Path, output: Path | None) -> Path:
    """A private directory for the result and for spilled rows; beside the output, so that it can be renamed there."""
    if output and (output.is_dir() or (output.exists() and output.samefile(database))):
        raise QueryError(f"The result can't be written to {output}; name a file of its own for it.")
    try:
        return Path(tempfile.mkdtemp(prefix=".ethicsdb-sql-", dir=output.absolute().parent if output else None))
    except OSError as error:
        place = output or "the temporary directory (TMPDIR)"
        raise QueryError(f"The result can't be written to {place}: {error.strerror}.") from None


def make_request(database: Path, sql: str, limits: Limits, scratch: Path) -> dict[str, Any]:
    """What the child is asked for."""
    specs = (find_spec(name) for name in ("duckdb", "pyarrow"))
    return {
        "database": str(database.absolute()),
        "sql": sql,
        "scratch": str(scratch),
        "result": str(scratch / "result"),
        "seconds": limits.seconds,
        "memory_mb": limits.memory_mb,
        "output_mb": limits.output_mb,
        "parent": os.getpid(),
        "libraries": [str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin],
    }


def ask_worker(request: dict[str, Any]) -> dict[str, Any]:
    """Run the child and return its reply; whatever ends this wait also ends the child."""
    # Only what an interpreter may need to find its own libraries: no keys, no proxies, no home.
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    child = subprocess.Popen(
        [sys.executable, "-I", sandbox_worker.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**kept, "TZ": "UTC"},  # times look the same on every machine
        start_new_session=True,  # a Ctrl-C comes to this process, which then ends the child
    )
    with child:
        try:
            output, _ = child.communicate(json.dumps(request).encode(), timeout=request["seconds"])
        except subprocess.TimeoutExpired:
            raise out_of_time(request) from None
        finally:
            end(child)
    if child.returncode == 0:
        reply: dict[str, Any] = json.loads(output)
        return reply
    raise early_end(child.returncode, request)


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's process group unless it has ended."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def out_of_time(request: dict[str, Any]) -> QueryLimitError:
    """The error of a query that took too long."""
    return QueryLimitError(f"The query was stopped at its time limit of {request['seconds']:g} s.")


def out_of_memory(request: dict[str, Any]) -> QueryLimitError:
    """The error of a query that took too much memory."""
    return QueryLimitError(f"The query was stopped at its memory limit of {request['memory_mb']} MB.")


def early_end(status: int, request: dict[str, Any]) -> QueryError:
    """The error that a child's end without a reply stands for."""
    if status == -signal.SIGXCPU:
        return out_of_time(request)
    if status == sandbox_worker.OUT_OF_MEMORY:
        return out_of_memory(request)
    if status == -signal.SIGKILL:
        return QueryLimitError("The system killed the query's process, as it does when the machine's memory runs out.")
    reason = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    return QueryError(f"The process that ran the query broke off ({reason}).")


def to_error(reply: dict[str, Any], request: dict[str, Any]) -> QueryError:
    """The error with a sentence for a person."""
    text = one_line(reply["text"].replace(request["scratch"], "the temporary directory"))
    if reply["error"] == sandbox_worker.MEMORY:
        return out_of_memory(request)
    if reply["error"] == sandbox_worker.SIZE:
        return QueryLimitError(
            f"The query was stopped at its size limit of {request['output_mb']} MB for the result and for what it"
            " spills to disk; narrow it, or add a LIMIT."
        )
    if reply["error"] == sandbox_worker.REFUSED:
        return QueryError(f"{COMMAND} {text}. {ALLOWED}")
    if text.startswith("IO Error: Could not set lock on file"):
        holder = re.search(r"held in (.+ \(PID \d+\))", text)
        name = f"another program, {holder[1]}," if holder else "another program"
        return DatabaseBusyError(
            f"The database {request['database']} is held by {name} and can't be read until it ends."
        )
    for start, meaning in REFUSALS.items():
        if text.startswith(start):
            return QueryError(f"{COMMAND} only reads: {meaning} ({text}).")
    return QueryError(text + place(request["sql"], reply["position"]))


COMMAND = "`ethicsdb sql`"
ALLOWED = "Allowed are SELECT, FROM, WITH, VALUES, PIVOT, DESCRIBE, SHOW, SUMMARIZE, and EXPLAIN of one of these."
REFUSALS = {  # how DuckDB's refusals start, and what they mean here
    "Permission Error: ": "files, the network and extensions are out of reach",
    "Invalid Input Error: Cannot execute statement of type": "nothing can be changed",
    "Invalid Input Error: Cannot change configuration option": "settings can't be changed",
}


def one_line(text: str, length: int = 500) -> str:
    """Text without line breaks and control characters, which may come from a query's own strings."""
    text = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text).strip()
    return text if len(text) <= length else text[:length] + "…"


def place(sql: str, position: int | None) -> str:
    """Line, column and nearby text of a byte offset in the SQL; line and column count from 1, in characters."""
    if position is None:
        return ""
    before = sql.encode()[:position].decode(errors="ignore")
    line, start = before.count("\n") + 1, before.rfind("\n") + 1
    near = one_line(sql[max(start, len(before) - 20) : len(before) + 30].partition("\n")[0])
    return f" (line {line}, column {len(before) - start + 1}{near and ': '}{near})"


def open_result(result: Path, output: Path | None) -> Any:
    """The result file, mapped; moved to its place, or left to vanish when nothing reads it any more."""
    import pyarrow as pa

    if output is not None:
        try:
            os.replace(result, output)
        except OSError as error:
            raise QueryError(f"The result can't be written to {output}: {error.strerror}.") from None
    return pa.memory_map(str(output or result), "r")
