"""The child process of `ethicsdb.registry.sandbox`: runs one statement read-only and writes its rows to a file.

Run as a script by an isolated interpreter (`python -I sandbox_worker.py`), never imported by it as part of the package:
only the standard library, duckdb and pyarrow are loaded here, so that a query pays a quarter of a second and no more.

Request: one JSON object on standard input (see `Request`). Reply: one JSON object on standard output, either
`{"columns": [...], "types": [...], "rows": n}` or `{"error": kind, "text": ..., "position": ...}` (see `failure`), of
which the parent makes a sentence. The rows themselves go to the file that the request names.

Two walls stand around the statement. The first is an allow-list of DuckDB's own statement types, which lets a refusal
say what was refused. The second is the connection: read-only, external access off, configuration locked. It holds
alone: what the first would let through by mistake can change nothing outside this process.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import resource
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "FAILED",
    "MEMORY",
    "OUT_OF_MEMORY",
    "REFUSED",
    "SIZE",
    "Request",
    "distinct",
    "main",
    "open_database",
    "read_statement",
]

REFUSED, FAILED, MEMORY, SIZE = "refused", "failed", "memory", "size"
OUT_OF_MEMORY = 75
"""Exit status of a process that its own watch ended for using too much memory."""

MEBIBYTE = 1 << 20
UNCOUNTED_MB = 512  # memory that a query may take beside what DuckDB counts
BATCH_ROWS = 2048  # DuckDB's own step; more at once costs memory where rows are long, and gains no time
GROUP_ROWS, GROUP_BYTES = 122_880, 64 * MEBIBYTE  # a Parquet row group
TEXT_LENGTH = 4000  # of an error, which a query can make as long as it likes

# Types whose Arrow form is wrong or unreadable: UHUGEINT wraps to negative numbers, TIMETZ loses its zone, the others
# are DuckDB's internal bytes. Columns that hold them travel as text.
UNFIT_ARROW = frozenset({"uhugeint", "bignum", "bit", "time with time zone", "variant"})
UNFIT_PARQUET = UNFIT_ARROW | {"interval", "union"}
NESTED = frozenset({"list", "array", "struct", "map", "union", "tuple"})


class Request(TypedDict):
    """What the parent asks for; sizes in MiB, times in seconds."""

    database: str
    sql: str
    scratch: str
    result: str
    format: str
    seconds: float
    memory_mb: int
    output_mb: int
    parent: int
    libraries: list[str]


class RefusedError(Exception):
    """The text is not one statement that may run; the message goes on after the name of the command."""


def limit_process(request: Request) -> None:
    """Bound processor time, file size and core dumps of this process by the kernel.

    The processor limit counts all threads together; it only matters when nobody is left to watch the clock.
    """
    seconds = math.ceil(request["seconds"] * (os.cpu_count() or 1)) + 10
    lower_limit(resource.RLIMIT_CPU, seconds)
    lower_limit(resource.RLIMIT_FSIZE, request["output_mb"] * MEBIBYTE)
    lower_limit(resource.RLIMIT_CORE, 0)


def lower_limit(kind: int, value: int) -> None:
    """Set a soft limit, never above one that is already there."""
    soft, hard = resource.getrlimit(kind)
    bounds = [value, *(bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY)]
    resource.setrlimit(kind, (min(bounds), hard))


def memory_used() -> tuple[int, int]:
    """Address space and resident bytes of this process; elsewhere than on Linux the first is 0."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = file.read().split()
    except OSError:
        return 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(pages[0]) * resource.getpagesize(), int(pages[1]) * resource.getpagesize()


def limit_memory(memory_mb: int) -> int:
    """Bound the address space where the kernel enforces that; return the bound on resident bytes for the watch.

    Both count from what the open database takes, and leave room for what DuckDB's own limit does not count: text under
    construction and Arrow batches. Address space also goes into 64 MiB that the C library reserves for each thread.
    """
    mapped, resident = memory_used()
    allowance = (memory_mb + UNCOUNTED_MB) * MEBIBYTE
    if mapped:
        lower_limit(resource.RLIMIT_AS, mapped + allowance + 64 * MEBIBYTE * (os.cpu_count() or 1))
    return resident + allowance


def watch(parent: int, scratch: str, memory: int) -> None:
    """End this process when its parent is gone or its memory is over the bound.

    Rather a watch than a death signal: that exists on Linux only and would leave the scratch directory behind. The
    memory is watched because macOS does not enforce RLIMIT_AS, and many cores make that bound wide.
    """
    while True:
        if os.getppid() != parent:
            shutil.rmtree(scratch, ignore_errors=True)
            os._exit(1)
        if memory_used()[1] > memory:
            os._exit(OUT_OF_MEMORY)
        time.sleep(0.1)


def open_database(database: str, scratch: str, *, memory_mb: int, output_mb: int) -> duckdb.DuckDBPyConnection:
    """Open a database file so that SQL can read its tables and do nothing else.

    Large sorts and joins may spill, into a directory that goes away with the query and is bounded like the result:
    without it a board over many rows would need all of them in memory. Readable from SQL are that directory and the
    database's own files; DuckDB refuses everything else, and secrets and extensions are never loaded.
    """
    import duckdb

    connection = duckdb.connect(
        database,
        read_only=True,
        config={
            "memory_limit": f"{memory_mb}MiB",
            "temp_directory": os.path.join(scratch, "spill"),
            "max_temp_directory_size": f"{output_mb}MiB",
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_extension_repositories": "forbidden",
            "allow_persistent_secrets": False,
            "arrow_large_buffer_size": True,  # else a batch of long texts ends at 2 GiB
            "errors_as_json": True,  # tells where in the SQL
        },
    )
    # As configuration they would be applied in no fixed order, and each of them forbids to set the others.
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def read_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The one statement of a text, parsed.

    Raises:
        RefusedError: the text holds no statement, several, or one that is not a query.
        duckdb.Error: the text is not SQL.
    """
    statements = parse(connection, sql)
    if len(statements) != 1:
        raise RefusedError(f"runs exactly one statement, and this text holds {len(statements) or 'none'}")
    kind, name = statements[0].type.name, first_word(sql)
    if kind == "EXPLAIN":
        inner = explained_statement(connection, sql)
        kind, name = (inner.type.name, f"EXPLAIN of {first_word(inner.query)}") if inner else (kind, name)
    if kind not in {"SELECT", "MULTI"}:  # PIVOT is several statements to DuckDB
        raise RefusedError(f"only reads: {name} is not allowed")
    return statements[0]


def parse(connection: duckdb.DuckDBPyConnection, sql: str) -> list[duckdb.Statement]:
    """The statements of a text, all of types that the Python package knows."""
    statements = connection.extract_statements(sql)
    try:
        for statement in statements:
            statement.type  # noqa: B018  # raises for the types that have no name in Python, such as UPDATE EXTENSIONS
    except ValueError:
        raise RefusedError(f"only reads: {first_word(sql)} is not allowed") from None
    return statements


def explained_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement | None:
    """The statement inside EXPLAIN, since EXPLAIN ANALYZE runs it: the first rest of the text that parses."""
    import duckdb

    text = sql.encode()
    for start in word_starts(sql)[1:]:
        try:
            return parse(connection, text[start:].decode())[0]
        except (duckdb.Error, IndexError):
            continue
    return None


def word_starts(sql: str) -> list[int]:
    """Byte offsets of the tokens of a text, comments left out."""
    import duckdb

    return [start for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]


def first_word(sql: str) -> str:
    """The word that names a statement."""
    rest = sql.encode()[word_starts(sql)[0] :].decode()
    found = re.match(r"\w+", rest)
    return found[0].upper() if found else rest[:1]


def run(connection: duckdb.DuckDBPyConnection, request: Request) -> dict[str, object]:
    """Run the request's statement and write its rows; the reply tells their names, DuckDB types and number."""
    relation = connection.sql(read_statement(connection, request["sql"]))
    names, types = relation.columns, relation.types
    unfit = UNFIT_PARQUET if request["format"] == "parquet" else UNFIT_ARROW
    as_text = [holds(column_type, unfit) for column_type in types]
    if any(as_text):
        relation = relation.project(", ".join(column(i, as_text[i]) for i in range(len(names))))
    if request["format"] == "parquet":
        names = distinct(names)  # readers of Parquet ask for columns by name
    rows = write_rows(relation.to_arrow_reader(BATCH_ROWS), names, request)
    return {"columns": names, "types": [str(column_type) for column_type in types], "rows": rows}


def distinct(names: list[str]) -> list[str]:
    """Names such that none stands twice: a later one of a name gets `_1`, `_2`, ... that are still free."""
    given: list[str] = []
    for name in names:
        new, number = name, 0
        while new in given or (number and new in names):
            number += 1
            new = f"{name}_{number}"
        given.append(new)
    return given


def column(index: int, as_text: bool) -> str:
    """SQL for the column at a position, since names may be doubled; the written file gets the names back."""
    return f"CAST(#{index + 1} AS VARCHAR) AS c{index}" if as_text else f"#{index + 1} AS c{index}"


def holds(column_type: Any, unfit: frozenset[str]) -> bool:
    """Whether a type is one of these or has one of these inside."""
    if column_type.id in unfit:
        return True
    if column_type.id not in NESTED:
        return False
    parts = [part for _, part in column_type.children if hasattr(part, "id")]
    if not parts:
        return unfit is UNFIT_PARQUET  # it has no struct without fields
    return any(holds(part, unfit) for part in parts)


def write_rows(reader: Any, names: list[str], request: Request) -> int:
    """Write record batches as they come, as an Arrow file or as Parquet; the number of rows."""
    import pyarrow as pa

    # A name may hold a NUL, at which the C strings that DuckDB hands over end.
    schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    rows = 0
    with pa.OSFile(request["result"], "wb") as sink, new_writer(sink, schema, request["format"]) as writer:
        for table in groups(reader, schema):
            writer.write_table(table)
            rows += table.num_rows
    return rows


def new_writer(sink: Any, schema: Any, output_format: str) -> Any:
    """A writer of record batches."""
    if output_format == "parquet":
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(sink, schema, compression="zstd")
    from pyarrow.ipc import new_file

    return new_file(sink, schema)


def groups(reader: Any, schema: Any) -> Iterator[Any]:
    """Batches gathered into tables of the size of a Parquet row group."""
    import pyarrow as pa

    pending: list[Any] = []
    rows = size = 0
    for batch in reader:
        pending.append(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(pending, schema=schema)
            pending, rows, size = [], 0, 0
    if pending:
        yield pa.Table.from_batches(pending, schema=schema)


def failure(error: Exception) -> dict[str, object]:
    """The reply that tells why a statement gave no rows.

    `error` is the kind (`refused`, `memory`, `size` or `failed`), `text` the cause in the words of whoever found it,
    and `position` the byte offset in the SQL that DuckDB points at, or None.
    """
    text, position = details(error)
    kind = FAILED
    if isinstance(error, RefusedError):
        kind = REFUSED
    elif getattr(error, "errno", None) == errno.EFBIG or (text.startswith("IO Error") and "File too large" in text):
        kind = SIZE
    elif isinstance(error, MemoryError) or text.startswith("Out of Memory Error"):
        kind = SIZE if "max_temp_directory_size" in text else MEMORY
    return {"error": kind, "text": text[:TEXT_LENGTH], "position": position}


def details(error: Exception) -> tuple[str, int | None]:
    """An error's text and position.

    DuckDB gives some of its errors as JSON behind their type's name, and those of names and types as plain text. Errors
    among the rows arrive as OSError, so only the text tells their type.
    """
    text = str(error) or type(error).__name__
    prefix, start, rest = text.partition('{"exception_type"')
    try:
        found = json.loads(start + rest) if start else {}
    except ValueError:
        found = {}
    position = int(found["position"]) if "position" in found else None
    return (prefix + found["exception_message"] if "exception_message" in found else text), position


def answer(request: Request) -> dict[str, object]:
    """Open the database, run the statement, and reply, whatever happens."""
    sys.path.extend(path for path in request["libraries"] if path not in sys.path)
    # pyarrow loads numpy when it finds it, which takes longer than all the rest; nothing here needs it.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    import pyarrow  # noqa: F401  # what it maps must be there before the address space is bounded

    try:
        connection = open_database(
            request["database"], request["scratch"], memory_mb=request["memory_mb"], output_mb=request["output_mb"]
        )
        memory = limit_memory(request["memory_mb"])
        threading.Thread(target=watch, args=(request["parent"], request["scratch"], memory), daemon=True).start()
        return run(connection, request)
    except Exception as error:
        return failure(error)


def main() -> None:
    """Read the request, answer it, and leave without waiting for DuckDB's threads."""
    replies = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not be taken for the reply.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    request: Request = json.loads(sys.stdin.buffer.read())
    limit_process(request)
    reply = answer(request)
    replies.write(json.dumps(reply).encode())
    replies.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
