"""User SQL runs in a process of its own that reads, ends, and leaves nothing behind."""

from __future__ import annotations

import datetime
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from ethicsdb.registry import sandbox_worker
from ethicsdb.registry.sandbox import Answer, DatabaseBusyError, Limits, OutputFormat, run_sql
from ethicsdb.schemas.errors import QueryError, QueryLimitError

ROOT = Path(__file__).resolve().parent.parent
ENDLESS = "select count(*) from range(20000000000) t, range(100)"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a few tables, a view that reaches outside, and a name that is not ASCII."""
    path = tmp_path_factory.mktemp("db") / "基准 🧭.db"
    secret = path.with_name("secret.csv")
    secret.write_text("a\n1\n", encoding="utf-8")
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table item as select range i, 'x' || range t from range(300000)")
        connection.execute("create sequence counter")
        connection.execute(f"create view outside as from read_csv('{secret}')")
    return path


@pytest.fixture(scope="module")
def connection(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The connection of the child, here in this process."""
    spill = tmp_path_factory.mktemp("spill")
    with sandbox_worker.open_database(str(database), str(spill), memory_mb=200, output_mb=10) as opened:
        yield opened


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place for temporary files, which every test must leave empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def one(answer: Answer) -> tuple[Any, ...]:
    (row,) = answer.rows()
    return row


def message(database: Path, sql: str, **options: Any) -> str:
    with pytest.raises(QueryError) as caught:
        run_sql(database, sql, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert "Traceback" not in text
    assert tempfile.gettempdir() not in text
    return text


# Answers


def test_rows_names_and_types_come_back(database: Path) -> None:
    answer = run_sql(database, "select i, t from item order by i desc limit 2")
    assert (answer.columns, answer.types, answer.row_count) == (["i", "t"], ["BIGINT", "VARCHAR"], 2)
    assert list(answer.rows()) == [(299999, "x299999"), (299998, "x299998")]
    assert list(answer.rows()) == list(answer.rows())
    assert answer.table().schema.types == [pa.int64(), pa.large_string()]  # long texts may fill more than 2 GiB


@pytest.mark.parametrize("output_format", ["arrow", "parquet"])
def test_a_large_result_is_read_in_pieces(database: Path, output_format: OutputFormat) -> None:
    sql = "select i, if(i % 2 = 0, 'even', 'odd')::enum('even', 'odd') p from item where i < 130000 order by i"
    answer = run_sql(database, sql, output_format=output_format)
    sizes = [batch.num_rows for batch in answer.batches()]
    assert answer.row_count == sum(sizes) == answer.table().num_rows == 130_000
    assert max(sizes) < 130_000
    assert list(answer.rows()) == [(i, ("even", "odd")[i % 2]) for i in range(130_000)]


@pytest.mark.parametrize("output_format", ["arrow", "parquet"])
def test_no_rows(database: Path, output_format: OutputFormat) -> None:
    answer = run_sql(database, "select i, null n from item where false", output_format=output_format)
    assert (answer.columns, answer.row_count, list(answer.rows())) == (["i", "n"], 0, [])


TYPED: list[tuple[str, str, object]] = [
    ("123.450::decimal(9, 3)", "DECIMAL(9,3)", Decimal("123.450")),
    ("'-9999999999999999999999999999.9999999999'::decimal(38, 10)", "DECIMAL(38,10)",
     Decimal("-9999999999999999999999999999.9999999999")),
    ("170141183460469231731687303715884105727::hugeint", "HUGEINT", 2**127 - 1),
    ("(-170141183460469231731687303715884105728)::hugeint", "HUGEINT", -(2**127)),
    ("sum(i)", "HUGEINT", sum(range(300_000))),
    ("18446744073709551615::ubigint", "UBIGINT", 2**64 - 1),
    ("340282366920938463463374607431768211455::uhugeint", "UHUGEINT", str(2**128 - 1)),
    ("[1::uhugeint, null]", "UHUGEINT[]", "[1, NULL]"),
    ("[1, null, 3]", "INTEGER[]", [1, None, 3]),
    ("{'a': 1, 'b': ['是', null]}", "STRUCT(a INTEGER, b VARCHAR[])", {"a": 1, "b": ["是", None]}),
    ("map {'k': 1}", "MAP(VARCHAR, INTEGER)", [("k", 1)]),
    ("'\\x00\\xFFa'::blob", "BLOB", b"\x00\xffa"),
    ("timestamp '2026-01-02 03:04:05.678901'", "TIMESTAMP", datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)),  # noqa: DTZ001
    ("timestamptz '2026-01-02 03:04:05+08'", "TIMESTAMP WITH TIME ZONE",
     datetime.datetime(2026, 1, 1, 19, 4, 5, tzinfo=datetime.UTC)),
    ("timestamptz '2026-01-02 03:04:05+08'::varchar", "VARCHAR", "2026-01-01 19:04:05+00"),
    ("timetz '01:02:03+05'", "TIME WITH TIME ZONE", "01:02:03+05"),
    ("date '2026-02-28'", "DATE", datetime.date(2026, 2, 28)),
    ("'00000000-0000-0000-0000-00000000002a'::uuid::varchar", "VARCHAR", str(uuid.UUID(int=42))),
    ("'101'::bit", "BIT", "101"),
    ("true", "BOOLEAN", True),
    ("null", '"NULL"', None),
    ("0.1::double", "DOUBLE", 0.1),
    ("'{\"a\": 1}'::json", "JSON", '{"a": 1}'),
    ("'b'::enum('a', 'b')", "ENUM('a', 'b')", "b"),
]  # fmt: skip


@pytest.mark.parametrize("output_format", ["arrow", "parquet"])
def test_types_survive(database: Path, output_format: OutputFormat) -> None:
    answer = run_sql(database, f"select {', '.join(sql for sql, _, _ in TYPED)} from item", output_format=output_format)
    assert answer.types == [name for _, name, _ in TYPED]
    assert one(answer) == tuple(value for _, _, value in TYPED)


def test_parquet_carries_as_text_what_it_has_no_type_for(database: Path) -> None:
    sql = "select interval 1 day, union_value(k := 7), {'d': interval 2 day}, 'nan'::float"
    row = one(run_sql(database, sql, output_format="parquet"))
    assert row[:3] == ("1 day", "7", "{'d': 2 days}")
    assert math.isnan(row[3])
    assert one(run_sql(database, "select union_value(k := 7)")) == (7,)


def test_a_value_that_python_cannot_hold_is_said(database: Path) -> None:
    answer = run_sql(database, "select 'infinity'::date as d")
    with pytest.raises(QueryError, match=r"^Column 'd' \(DATE\) holds a value"):
        list(answer.rows())


@pytest.mark.parametrize("output_format", ["arrow", "parquet"])
def test_doubled_names_and_any_text(database: Path, output_format: OutputFormat) -> None:
    text = "中文 🧭👩‍🔬 שלום\n и 'кавычки' \x00 \x1b"
    literal = text.replace("'", "''")
    answer = run_sql(
        database, f"select '{literal}' as a, 1::uhugeint as a, 3 as \"имя\x00名\"", output_format=output_format
    )
    assert answer.columns == ["a", "a_1" if output_format == "parquet" else "a", "имя\x00名"]
    assert one(answer) == (text, "1", 3)
    assert answer.table().column_names == answer.columns


@pytest.mark.parametrize(
    "sql",
    [
        "from item limit 1",
        "with a as (select 1) select * from a",
        "values (1)",
        "-- a comment\nselect 1 /* another */ ;  -- 终",
        "pivot (from item limit 2) on i using count(*)",
        "describe item",
        "show tables",
        "summarize select 1",
        "explain select 1",
        "EXPLAIN (ANALYZE, FORMAT json) select 1",
        "/* 一 */ explain/* 二 */analyze (select 1)",
        "from pragma_table_info('item')",
        "select 'copy item to ''x''; drop table item'",
    ],
)
def test_reading_statements_run(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert connection.sql(sandbox_worker.read_statement(connection, sql)).fetchall()


@pytest.mark.parametrize("sql", ["explain analyze select 1", "pivot (from item limit 2) on i using count(*)"])
def test_what_is_no_plain_select_comes_back_too(database: Path, sql: str) -> None:
    assert run_sql(database, sql).row_count > 0


# Refusals


OUTSIDE = [
    "from read_csv('/etc/passwd')",
    "from read_text('/etc/passwd')",
    "from read_blob('/etc/passwd')",
    "from read_json('http://127.0.0.1:1/x.json')",
    "from read_parquet('s3://bucket/x.parquet')",
    "from '/etc/passwd.csv'",
    "from glob('/etc/*')",
    "from sniff_csv('/etc/passwd')",
    "from outside",
    "from duckdb_extensions()",
]
CHANGES = [
    "with d as (delete from item returning *) select * from d",
    "select nextval('counter')",
    "select setval('counter', 5)",
]
SETTINGS = [
    "from enable_logging(storage = 'stdout')",
    "from enable_logging('QueryLog', storage = 'file', storage_path = '/tmp/ethicsdb-never')",
    "from enable_profiling()",
]
FORBIDDEN = {  # statement: the word that the refusal names
    "copy item to 'x.csv'": "COPY",
    "copy (select 1) to 'x.parquet' (format parquet)": "COPY",
    "copy item from 'x.csv'": "COPY",
    "/* 嗨 */ COPY item TO '/tmp/x'": "COPY",
    "attach 'other.db' as other": "ATTACH",
    "attach ':memory:' as other": "ATTACH",
    "install httpfs": "INSTALL",
    "force install httpfs from community": "FORCE",
    "load httpfs": "LOAD",
    "update extensions": "UPDATE",
    "set threads = 1": "SET",
    "set lock_configuration = false": "SET",
    "set enable_external_access = true": "SET",
    "reset memory_limit": "RESET",
    "pragma threads = 1": "PRAGMA",
    "pragma memory_limit = '1TB'": "PRAGMA",
    "pragma enable_profiling": "PRAGMA",
    "call enable_logging()": "CALL",
    "create secret (type s3)": "CREATE",
    "create persistent secret (type http)": "CREATE",
    "export database 'folder'": "EXPORT",
    "import database 'folder'": "IMPORT",
    "insert into item values (1, 'a')": "INSERT",
    "update item set i = 1": "UPDATE",
    "delete from item": "DELETE",
    "truncate item": "TRUNCATE",
    "create table t (i int)": "CREATE",
    "create or replace view outside as select 1": "CREATE",
    "create type mood as enum ('a')": "CREATE",
    "create macro m() as 1": "CREATE",
    "drop table item": "DROP",
    "alter table item add column z int": "ALTER",
    "comment on table item is 'x'": "COMMENT",
    "merge into item using item s on true when matched then delete": "MERGE",
    "explain analyze delete from item": "EXPLAIN of DELETE",
    "explain (analyze, format json) copy item to 'x.csv'": "EXPLAIN of COPY",
    "explain analyze set threads = 1": "EXPLAIN of SET",
}
HARMLESS = [  # not queries, so refused too, though they change nothing outside the process
    "begin",
    "checkpoint",
    "vacuum",
    "use item",
    "set variable x = 1",
    "prepare p as select 1",
    "create temp table t (i int)",
    "explain analyze create temp table t as select 1",
    "pragma table_info('item')",
    "call pragma_version()",
]


@pytest.mark.parametrize(("sql", "number"), [("", "none"), (" ; -- 空", "none"), ("select 1; select 2", "2")])
def test_the_first_wall_counts_statements(connection: duckdb.DuckDBPyConnection, sql: str, number: str) -> None:
    with pytest.raises(sandbox_worker.RefusedError, match=f"and this text holds {number}$"):
        sandbox_worker.read_statement(connection, sql)


@pytest.mark.parametrize("sql", [*FORBIDDEN, *HARMLESS])
def test_the_first_wall_knows_statements(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    name = FORBIDDEN.get(sql, sql.split()[0].upper())
    with pytest.raises(sandbox_worker.RefusedError, match=f"^only reads: {name}( of [A-Z]+)? is not allowed$"):
        sandbox_worker.read_statement(connection, sql)


def test_the_second_wall_holds_alone(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    before = contents(database.parent)
    for sql in [*OUTSIDE, *CHANGES, *SETTINGS, *FORBIDDEN]:
        with pytest.raises((duckdb.Error, ValueError)):
            connection.sql(sql).fetchall()
    for suffix in ("", ".wal", ".wal.recovery", ".wal.checkpoint"):
        with pytest.raises(duckdb.Error):
            connection.sql(f"copy item to '{database}{suffix}' (format csv)")
    assert contents(database.parent) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("sql", [OUTSIDE[0], "from outside"])
def test_what_is_outside_is_refused_in_words(database: Path, sql: str) -> None:
    text = message(database, sql)
    assert text.startswith("`ethicsdb sql` only reads: files, the network and extensions are out of reach (")


@pytest.mark.parametrize(
    ("sql", "start"),
    [
        ("copy item to 'x.csv'", "`ethicsdb sql` only reads: COPY is not allowed. Allowed are SELECT,"),
        (CHANGES[0], "`ethicsdb sql` only reads: nothing can be changed ("),
        (SETTINGS[1], "`ethicsdb sql` only reads: settings can't be changed ("),
        (
            "select 1\x00; drop table item",
            "`ethicsdb sql` runs exactly one statement, and this text holds 2. Allowed are",
        ),
        (" -- nothing\n/* 空 */;", "`ethicsdb sql` runs exactly one statement, and this text holds none. Allowed are"),
    ],
)
def test_refusals_say_what_and_what_else(database: Path, sql: str, start: str) -> None:
    assert message(database, sql).startswith(start)


# Mistakes


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "select\r\n '日本🧭',\n  1 +* from item",
            'Parser Error: syntax error at or near "from" (line 3, column 8: 1 +* from item)',
        ),
        (
            "select '日本🧭'::int",
            "Conversion Error: Could not convert string '日本🧭' to INT32 (line 1, column 13: select '日本🧭'::int)",
        ),
        ("from itm", 'Catalog Error: Table with name itm does not exist! Did you mean "item"?'),
        (
            "select case when i = 299999 then error('two\nlines\x1b[31m') end from item",
            "Invalid Input Error: two lines [31m",
        ),
    ],
)
def test_a_mistake_is_one_line_that_points(database: Path, sql: str, text: str) -> None:
    assert message(database, sql) == text


def test_a_long_error_is_cut(database: Path) -> None:
    assert len(message(database, "select error(repeat('x', 10000000))")) < 600


def test_half_a_character_is_refused(database: Path) -> None:
    half = "is not valid Unicode: half a character (lone surrogate U+DCFF) at character"
    assert message(database, "select 'a\udcff'") == f"The SQL {half} 10."
    assert message(Path("a\udcff.db"), "select 1") == f"The database's path {half} 2."
    assert message(database, "select 1", output=Path("\udcff")) == f"The result's path {half} 1."


def test_files_that_are_no_database(tmp_path: Path) -> None:
    missing, text_file = tmp_path / "none.db", tmp_path / "text.db"
    text_file.write_text("hello" * 1000, encoding="utf-8")
    assert message(missing, "select 1") == f"There is no database file {missing}."
    assert message(tmp_path, "select 1") == f"There is no database file {tmp_path}."
    with pytest.raises(QueryError, match="not a valid DuckDB database file"):
        run_sql(text_file, "select 1")


def test_a_writer_elsewhere_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "busy.db"
    script = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); c.execute('create table t as select 1 i');"
    script += "print(flush=True); sys.stdin.read(); import os; os._exit(0)"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(DatabaseBusyError, match=rf"busy\.db is held by another program, .*PID {writer.pid}\),"):
            run_sql(path, "from t")
        writer.communicate()
    # The writer left without a checkpoint: its table is in the write-ahead log, which reading must leave alone.
    before = contents(tmp_path)
    assert "busy.db.wal" in before
    assert one(run_sql(path, "from t")) == (1,)
    run_sql(path, "from checkpoint()")
    assert contents(tmp_path) == before


# Limits


def test_limits_are_numbers_that_limit() -> None:
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="finite and greater than zero"):
            Limits(seconds=wrong)


def test_an_endless_query_ends(database: Path) -> None:
    started = time.monotonic()
    with pytest.raises(QueryLimitError, match=r"^The query was stopped at its time limit of 2 s\.$"):
        run_sql(database, ENDLESS, limits=Limits(seconds=2))
    assert time.monotonic() - started < 4


def test_a_query_of_huge_texts_ends(database: Path) -> None:
    with pytest.raises(QueryLimitError):
        run_sql(database, "select repeat('x', 1000000000) from range(1000)", limits=Limits(seconds=1))


@pytest.mark.parametrize(
    "sql",
    [
        "select repeat('x', 1000000000) from range(1000)",
        "select list(a.i) from item a, range(10000)",
        "select string_agg(t, ',' order by i) from item, range(1000)",
        "select length(repeat('x', 3000000000))",  # DuckDB does not count this one
    ],
)
def test_a_memory_hog_ends(database: Path, sql: str) -> None:
    with pytest.raises(QueryLimitError, match=r"^The query was stopped at its memory limit of 200 MB\.$"):
        run_sql(database, sql, limits=Limits(memory_mb=200, seconds=20))


@pytest.mark.parametrize("output_format", ["arrow", "parquet"])
def test_an_endless_result_ends(database: Path, output_format: OutputFormat, tmp_path: Path) -> None:
    output = tmp_path / "kept"
    output.write_text("as before", encoding="utf-8")
    sql = "select random(), uuid() from range(1000000000000)"
    with pytest.raises(QueryLimitError, match=r"^The query was stopped at its size limit of 3 MB"):
        run_sql(database, sql, limits=Limits(output_mb=3), output=output, output_format=output_format)
    assert contents(tmp_path) == {"kept": b"as before"}


def test_what_is_larger_than_memory_spills(database: Path) -> None:
    sql = "select count(distinct t || repeat('y', 400)) from item"
    assert one(run_sql(database, sql, limits=Limits(memory_mb=100))) == (300_000,)
    with pytest.raises(QueryLimitError, match=r"^The query was stopped at its size limit of 5 MB"):
        run_sql(database, sql, limits=Limits(memory_mb=100, output_mb=5))


def test_the_watch_ends_a_process_that_grows() -> None:
    script = """
import os, runpy, sys, threading
worker = runpy.run_path(sys.argv[1])
bound = worker["memory_used"]()[1] + (100 << 20)
threading.Thread(target=worker["watch"], args=(os.getppid(), sys.argv[2], bound), daemon=True).start()
kept = []
while True:
    kept.append(bytearray(os.urandom(1 << 20)))
"""
    ended = subprocess.run(
        [sys.executable, "-I", "-c", script, sandbox_worker.__file__, "none"], timeout=20, check=False
    )
    assert ended.returncode == sandbox_worker.OUT_OF_MEMORY


def test_a_limit_is_never_raised() -> None:
    script = """
import resource, runpy, sys
lower = runpy.run_path(sys.argv[1])["lower_limit"]
lower(resource.RLIMIT_FSIZE, 1000)
lower(resource.RLIMIT_FSIZE, 2000)
print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])
"""
    command = [sys.executable, "-I", "-c", script, sandbox_worker.__file__]
    assert subprocess.run(command, capture_output=True, check=True).stdout.split() == [b"1000"]


# The child process


def test_the_child_inherits_no_secrets_and_no_arguments(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = tmp_path / "probe.py"
    probe.write_text(
        "import json, os, sys\nrequest = json.load(sys.stdin)\n"
        "seen = [sorted(os.environ), sys.argv[1:], os.getsid(0) == os.getpid(), sys.flags.isolated, request['sql']]\n"
        "print(json.dumps({'error': 'failed', 'text': json.dumps(seen), 'position': None}))\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy")
    monkeypatch.setattr(sandbox_worker, "__file__", str(probe))
    names, arguments, own_session, isolated, sql = json.loads(message(database, "select 42"))
    assert set(names) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} <= {"TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}
    assert (arguments, own_session, isolated, sql) == ([], True, 1, "select 42")


def test_the_child_loads_only_what_it_needs() -> None:
    script = "import runpy, sys; runpy.run_path(sys.argv[1]); print(*sys.modules)"
    command = [sys.executable, "-I", "-c", script, sandbox_worker.__file__]
    loaded = set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())
    assert not loaded & {"ethicsdb", "sqlmodel", "sqlalchemy", "pydantic", "numpy"}


def test_a_crash_is_said(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "crash.py"
    monkeypatch.setattr(sandbox_worker, "__file__", str(worker))
    for name, expected in [
        ("SIGSEGV", r"broke off \(SIGSEGV\)"),
        ("SIGXCPU", "time limit"),
        ("SIGKILL", "memory runs"),
    ]:
        worker.write_text(f"import os, signal\nos.kill(os.getpid(), signal.{name})\n", encoding="utf-8")
        with pytest.raises(QueryError, match=expected):
            run_sql(database, "select 1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_child_ends_with_its_parent(database: Path, scratch: Path, number: signal.Signals) -> None:
    script = (
        "import sys; from pathlib import Path; from ethicsdb.registry.sandbox import run_sql;"
        f"run_sql(Path(sys.argv[1]), {ENDLESS!r})"
    )
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(database)], cwd=ROOT, env=environment, stderr=subprocess.PIPE
    ) as parent:
        child = wait_for(lambda: child_of(parent.pid))
        time.sleep(0.4)  # into the query
        assert list(scratch.iterdir()) != []
        parent.send_signal(number)
        parent.communicate(timeout=10)
    assert parent.returncode == -number
    wait_for(lambda: not is_running(child) and not list(scratch.iterdir()))


def wait_for(condition: Any) -> Any:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("this did not happen within 10 s")


def processes() -> list[list[str]]:
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, check=True, text=True)
    return [line.split() for line in listing.stdout.splitlines()]


def child_of(parent: int) -> str | None:
    return next((pid for pid, ppid, _ in processes() if ppid == str(parent)), None)


def is_running(process: str) -> bool:
    return any(pid == process and not state.startswith("Z") for pid, _, state in processes())


# Files


@pytest.mark.parametrize("output_format", ["arrow", "parquet"])
def test_the_result_is_kept_where_asked(database: Path, tmp_path: Path, output_format: OutputFormat) -> None:
    output = tmp_path / "结果.out"
    answer = run_sql(database, "select i, t from item where i < 3", output=output, output_format=output_format)
    assert answer.path == output
    with pa.memory_map(str(output)) as file:
        table = pa.ipc.open_file(file).read_all() if output_format == "arrow" else pq.read_table(file)
        assert table.to_pydict() == {"i": [0, 1, 2], "t": ["x0", "x1", "x2"]}
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [output.name]
    run_sql(database, "select 1", output=output, output_format=output_format)
    assert list(answer.rows()) == [(0, "x0"), (1, "x1"), (2, "x2")]


def test_duckdb_reads_the_parquet_file(database: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.parquet"
    run_sql(database, "select sum(i) s, list(t order by i)[:2] l from item", output=output, output_format="parquet")
    with duckdb.connect() as connection:
        row = connection.execute("select * from read_parquet(?)", [str(output)]).fetchone()
    assert row == (Decimal(sum(range(300_000))), ["x0", "x1"])


def test_places_where_no_result_can_go(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = database.read_bytes()
    for output in (database, tmp_path):
        assert message(database, "select 1", output=output).startswith(f"The result can't be written to {output};")
    assert database.read_bytes() == before
    assert message(database, "select 1", output=tmp_path / "no" / "x").endswith("x: No such file or directory.")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no"))
    with pytest.raises(QueryError, match=r"temporary directory \(TMPDIR\): No such file or directory"):
        run_sql(database, "select 1")
