"""Kills, crowds and strangers: whatever happens around a command, the tables come out the same."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from support import (
    SAFE,
    UNSAFE,
    declare,
    environment,
    execute,
    finished,
    held_open,
    judged,
    opened,
    questions,
    rows_of,
    run,
    spawn,
    started,
    write_csv,
)

from ethicsdb import Registry
from ethicsdb.registry.journal import Journal, batches, journal_lock
from ethicsdb.schemas.errors import StoreError

SEED = 20250311
COUNT = 300  # questions: 900 rows
TIMES = ("built_at", "started_at", "created_at", "applied_at")  # when something was done, not what
OWN = ("journal", "meta", "migration")  # what a file knows of itself

Tables = dict[str, tuple[int, str]]


def tables(folder: Path) -> Tables:
    """Rows and checksum of every table, times aside."""
    registry, found = opened(folder), {}
    with registry.context.reading() as connection:
        columns = connection.execute(
            "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE NOT internal GROUP BY 1"
        )
        kept = {name: [each for each in names if each not in TIMES] for name, names in columns.fetchall()}
        names = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        for (name,) in names:
            if name not in OWN:
                row = ", ".join(f'"{each}"' for each in sorted(kept[name]))
                query = f'SELECT count(*), sum(hash(row({row}))::HUGEINT)::VARCHAR FROM "{name}"'
                found[name] = connection.execute(query).fetchone()
        assert connection.execute("FROM integrity").fetchall() == []
        assert connection.execute("FROM conflict").fetchall() == []
    return found


BUILD = ["build", "small"]
IMPORT = [
    "import",
    "out.jsonl",
    "--as",
    "judge-outputs",
    "--benchmark",
    "small",
    "--judge",
    "small_judge",
    "--model",
    "M",
]


def prepare(folder: Path) -> None:
    declare(folder)
    write_csv(folder / "small.csv", questions(COUNT))
    judged(folder / "out.jsonl", [(SAFE, UNSAFE)[number % 2] for number in range(3 * COUNT)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after an uninterrupted build and import."""
    folder = tmp_path_factory.mktemp("whole")
    prepare(folder)
    assert execute(*BUILD, cwd=folder).code == 0
    shutil.copytree(folder, folder / "built")
    assert execute(*IMPORT, cwd=folder).code == 0
    return folder


def kill(process: subprocess.Popen[bytes]) -> bool:
    """End a process without warning; whether it was still running."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    return process.returncode == -signal.SIGKILL


def killed_when(arguments: list[str], folder: Path, pattern: str, delay: float) -> bool:
    """Kill a command a moment after a file appears."""
    process = spawn(*arguments, cwd=folder)
    while process.poll() is None and not list(folder.glob(pattern)):
        time.sleep(0.001)
    time.sleep(delay)
    return kill(process)


# What a build and an import leave on the disk, in the order in which it appears.
BUILD_EVENTS = (
    ".benchmarks.db.new",
    ".benchmarks.db.new.wal",
    "benchmarks.db.journal/.build*.partial",
    "benchmarks.db.journal/build*",
    "benchmarks.db.wal",
)
IMPORT_EVENTS = ("benchmarks.db.journal/.import*.partial", "benchmarks.db.journal/import*", "benchmarks.db.wal")


@pytest.mark.parametrize("event", BUILD_EVENTS)
def test_a_killed_build_is_done_by_the_same_command(whole: Path, tmp_path: Path, event: str) -> None:
    prepare(tmp_path)
    assert killed_when(BUILD, tmp_path, event, random.Random(f"{SEED}{event}").uniform(0, 0.02))
    assert run(*BUILD, cwd=tmp_path).code == 0
    assert tables(tmp_path) == tables(whole / "built")
    assert [each.version for each in opened(tmp_path).versions("small")] == ["v1"]


@pytest.mark.parametrize("event", IMPORT_EVENTS)
def test_a_killed_import_is_done_by_the_same_command(whole: Path, tmp_path: Path, event: str) -> None:
    shutil.copytree(whole / "built", tmp_path, dirs_exist_ok=True)
    assert killed_when(IMPORT, tmp_path, event, random.Random(f"{SEED}{event}").uniform(0, 0.02))
    assert run(*IMPORT, cwd=tmp_path).code == 0
    assert tables(tmp_path) == tables(whole)
    assert opened(tmp_path).leaderboard("small")


def test_kill_after_kill(whole: Path, tmp_path: Path) -> None:
    """Kills at random moments in one folder, then both commands to their end."""
    prepare(tmp_path)
    begun = time.perf_counter()
    execute("list", cwd=tmp_path)
    least = time.perf_counter() - begun  # what starting takes
    chance, kills = random.Random(SEED), 0
    for number in range(8):
        process = spawn(*(BUILD if number < 5 else IMPORT), cwd=tmp_path)
        time.sleep(least * chance.uniform(0.8, 2.5))
        kills += kill(process)
        if number % 3 == 2:  # whatever was left, a reader finds a sound database
            assert rows_of(opened(tmp_path), "FROM integrity") == []
    assert kills >= 3
    assert run(*BUILD, cwd=tmp_path).code == 0
    assert run(*IMPORT, cwd=tmp_path).code == 0
    assert tables(tmp_path) == tables(whole)
    assert opened(tmp_path).rebuild() == opened(tmp_path).checksums()


def test_a_killed_rebuild_leaves_a_whole_file(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    before = opened(tmp_path).checksums()
    assert killed_when(["rebuild"], tmp_path, ".benchmarks.db.rebuilt", 0)
    assert opened(tmp_path).checksums() == before
    assert opened(tmp_path).rebuild() == before


# ---- Several of us at once.


def script(folder: Path, body: str) -> subprocess.Popen[bytes]:
    """A process that runs commands in a loop, without paying for a start each time."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += f"from pathlib import Path\nfrom support import run\nfolder = Path({str(folder)!r})\n{body}"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=folder
    )


READER = """
commands = {commands}
done = 0
while not (folder / "enough").exists():
    for arguments in commands:
        ran = run(*arguments, cwd=folder)
        assert (ran.code, ran.err) == (0, ""), (arguments, ran)
        done += 1
print(done)
"""
WRITER = """
for number in range({count}):
    ran = run("import", f"{{number}}.jsonl", "--as", "judge-outputs", "--benchmark", "small", "--judge", "small_judge",
              "--model", f"M{{number}}", "--same-outputs", cwd=folder)
    assert (ran.code, ran.err) == (0, ""), ran
print("written")
"""


def test_writers_and_readers_do_not_shut_each_other_out(tmp_path: Path) -> None:
    started(tmp_path)
    count = 5
    for number in range(count):
        judged(tmp_path / f"{number}.jsonl", [SAFE] * 12)
    boards = script(tmp_path, READER.format(commands=[["leaderboard", "small"], ["versions", "small"]]))
    queries = script(tmp_path, READER.format(commands=[["sql", "select count(*) from verdict"]]))
    writer = script(tmp_path, WRITER.format(count=count))
    written = finished(writer)
    (tmp_path / "enough").touch()
    read = [finished(boards), finished(queries)]
    assert (written.code, written.out, written.err) == (0, "written\n", "")
    for reader in read:
        assert (reader.code, reader.err) == (0, "")
        assert int(reader.out) > 1
    assert rows_of(opened(tmp_path), "SELECT count(DISTINCT run_id), count(*) FROM run_item") == [(count, 12 * count)]
    assert rows_of(opened(tmp_path), "FROM integrity") == []


def test_two_equal_builds_at_once_make_one_version(tmp_path: Path) -> None:
    prepare(tmp_path)
    done = [finished(process) for process in [spawn(*BUILD, "--json", cwd=tmp_path) for _ in range(2)]]
    assert [(each.code, each.err) for each in done] == [(0, "")] * 2
    told = [each.json() for each in done]
    assert sorted(each["new"] for each in told) == [False, True]
    assert {each["version"] for each in told} == {"v1"}
    assert len(opened(tmp_path).versions("small")) == 1


def test_two_different_builds_at_once_make_two_versions(tmp_path: Path) -> None:
    prepare(tmp_path)
    write_csv(tmp_path / "other.csv", questions(COUNT + 1))
    done = [
        finished(spawn_)
        for spawn_ in [spawn(*BUILD, "--from", name, "--json", cwd=tmp_path) for name in ("small.csv", "other.csv")]
    ]
    assert sorted(each.json()["version"] for each in done) == ["v1", "v2"]
    assert sorted(each.rows for each in opened(tmp_path).versions("small")) == [3 * COUNT, 3 * COUNT + 3]
    assert rows_of(opened(tmp_path), "FROM integrity") == []


def test_two_equal_imports_at_once_are_one(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "built", tmp_path, dirs_exist_ok=True)
    done = [finished(process) for process in [spawn(*IMPORT, "--json", cwd=tmp_path) for _ in range(2)]]
    assert sorted(each.json()["new"] for each in done) == [False, True]
    assert tables(tmp_path) == tables(whole)


# ---- Strangers that hold the file.


@pytest.fixture(params=[False, True], ids=["to write", "to read"])
def stranger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder whose database another program holds open."""
    started(tmp_path)
    write_csv(tmp_path / "more.csv", questions(5))
    judged(tmp_path / "out.jsonl", [SAFE] * 15)
    with held_open(tmp_path / "benchmarks.db", read_only=request.param):
        yield tmp_path


def test_every_command_works_while_a_stranger_holds_the_file(stranger: Path) -> None:
    build = run("build", "small", "--from", "more.csv", cwd=stranger)
    assert build.code == 0
    assert build.out.startswith("small v2 made: 15 rows")
    assert "note: benchmarks.db is held open by another program" in build.err
    imported = run(*IMPORT, cwd=stranger)
    assert imported.code == 0
    assert imported.out.startswith("out imported: 15 lines")
    board = run("leaderboard", "small", "--json", cwd=stranger)
    assert board.code == 0
    assert "its journals instead" in board.err
    row = next(row for row in board.json() if (row["metric"], row["slice"]) == ("unsafe_rate", "overall"))
    assert (row["version"], row["n"], row["value"]) == ("v2", 15, 0.0)
    asked = run("sql", "select count(*) as n from verdict", "--json", cwd=stranger)
    assert (asked.code, asked.json()) == (0, [{"n": 15}])


def test_after_the_stranger_has_gone_the_file_has_everything(tmp_path: Path) -> None:
    started(tmp_path)
    write_csv(tmp_path / "more.csv", questions(5))
    judged(tmp_path / "out.jsonl", [SAFE] * 15)
    with held_open(tmp_path / "benchmarks.db"):
        assert run("build", "small", "--from", "more.csv", cwd=tmp_path).code == 0
        assert run(*IMPORT, cwd=tmp_path).code == 0
    done = run("sql", "select count(*) as n from verdict", "--json", cwd=tmp_path)
    assert (done.code, done.err, done.json()) == (0, "", [{"n": 15}])
    with duckdb.connect(str(tmp_path / "benchmarks.db"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM dataset_version").fetchone() == (2,)
        assert connection.execute("FROM integrity").fetchall() == []


def test_a_notebook_that_holds_the_file_itself(tmp_path: Path) -> None:
    registry = started(tmp_path)
    write_csv(tmp_path / "more.csv", questions(5))
    with duckdb.connect(str(tmp_path / "benchmarks.db")):
        assert registry.build("small", tmp_path / "more.csv").version == "v2"
        assert len(registry.versions("small")) == 2
        assert [row[0] for row in registry.sql("SELECT count(*) FROM dataset_version").rows()] == [2]
        assert any("held open" in notice for notice in registry.context.notices)
    assert len(opened(tmp_path).versions("small")) == 2


def test_a_path_that_speaks_of_locks(tmp_path: Path) -> None:
    """A fault must not pass for a held file because of the file's name."""
    folder = tmp_path / "Could not set lock on file"
    folder.mkdir()
    (folder / "lock.db").write_text("no database\n" * 500)
    with pytest.raises(StoreError, match="can't be opened as a database"):
        Registry(folder / "lock.db", []).leaderboard("qorgau_ru")


# ---- Journals that are not whole.


def newest(folder: Path) -> Path:
    return max((folder / "benchmarks.db.journal").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def test_a_torn_last_line_is_left_alone_and_then_dropped(tmp_path: Path) -> None:
    registry = started(tmp_path)
    before = registry.checksums()
    path = newest(tmp_path)
    size = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(b'{"table":"item","columns":["item_id","kind","da')
    assert opened(tmp_path).checksums() == before
    assert run("sql", "from integrity", cwd=tmp_path).code == 0
    assert opened(tmp_path).rebuild() == before
    # Whoever goes on writing drops it, and knows how much that was.
    log = Journal(path)
    assert log.torn == 47
    assert path.stat().st_size == size
    log.append(batches("item", [{"item_id": "x", "kind": "safety_question", "dataset": "small"}]))
    log.close()
    assert rows_of(opened(tmp_path), "SELECT count(*) FROM item WHERE item_id = 'x'") == [(1,)]


def test_any_torn_line(tmp_path: Path) -> None:
    before = started(tmp_path).checksums()
    path = newest(tmp_path)
    for tail in (b"{", b"\0" * 4096, b'{"table":"item"}', "是".encode()[:2]):
        with path.open("ab") as stream:
            stream.write(tail)
        assert opened(tmp_path).checksums() == before
        log = Journal(path)
        log.close()
        assert log.torn == len(tail)
    assert opened(tmp_path).checksums() == before


def test_a_damaged_line_is_a_sentence(tmp_path: Path) -> None:
    registry = started(tmp_path)
    path = newest(tmp_path)
    size = path.stat().st_size
    number = path.read_bytes().count(b"\n") + 1
    ragged = b'{"table":"item","columns":["item_id"],"rows":[[1,2]]}\n'
    unsigned = b'{"table":"item","columns":["item_id","kind","dataset"],"rows":[["x","safety_question","small"]]}\n'
    for line in (b"{broken}\n", b"[]\n", b'{"table":"item"}\n', ragged, b"\0\0\n", unsigned):
        with path.open("ab") as stream:
            stream.write(line)
        with pytest.raises(StoreError) as caught:
            registry.leaderboard("small")
        said = f"{path}: line {number} is damaged, or lines before it are missing; put the file back from a copy."
        assert str(caught.value).startswith(said)
        os.truncate(path, size)
    assert registry.leaderboard("small") == []


def altered(lines: list[bytes]) -> list[bytes]:
    return [lines[0].replace(b"small", b"smell"), *lines[1:]]


def without(*gone: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [line for at, line in enumerate(lines) if at not in gone]


def swapped(lines: list[bytes]) -> list[bytes]:
    return [lines[1], lines[0], *lines[2:]]


def written_again(lines: list[bytes]) -> list[bytes]:
    """By a program that spaces JSON in its own way."""
    return [json.dumps(json.loads(line)).encode() + b"\n" for line in lines]


@pytest.mark.parametrize("change", [altered, without(0), without(1), swapped, written_again])
def test_a_journal_that_was_changed_stops_a_rebuild(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    """Also where every line of it is still whole."""
    before = started(tmp_path).checksums()
    path = newest(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) > 2
    path.write_bytes(b"".join(change(lines)))
    done = run("rebuild", cwd=tmp_path)
    assert done.code == 1
    assert f"{path}: line " in done.err
    assert "put the file back from a copy" in done.err
    path.write_bytes(b"".join(lines))
    assert opened(tmp_path).checksums() == before
    assert run("rebuild", cwd=tmp_path).code == 0


def test_a_journal_that_was_cut_stops_a_rebuild(tmp_path: Path) -> None:
    before = started(tmp_path).checksums()
    path = newest(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    told = run("leaderboard", "small", cwd=tmp_path)
    assert told.code == 0
    assert f"{path} is shorter than what the database has read from it" in told.err
    done = run("rebuild", cwd=tmp_path)
    assert done.code == 1
    assert re.search(r"would lack what benchmarks\.db has: ([\d,]+ of the rows of `\w+`(; |\. ))+", done.err)
    assert "put it back from a copy" in done.err
    assert "benchmarks.db was left as it is" in done.err
    assert opened(tmp_path).checksums() == before


def test_a_journal_that_is_gone_is_told_by_every_command(tmp_path: Path) -> None:
    before = started(tmp_path).checksums()
    path = newest(tmp_path)
    path.unlink()
    for arguments in (["leaderboard", "small"], ["build", "sample_safety_en"], ["sql", "from integrity"]):
        done = run(*arguments, cwd=tmp_path)
        assert done.code == 0
        assert f"{path} is gone; put it back from a copy. The database still has the rows" in done.err
    assert before["membership"][0] < opened(tmp_path).checksums()["membership"][0]


@pytest.mark.parametrize("left", [0, 0.5, None])
def test_nothing_is_written_after_lines_that_are_missing(tmp_path: Path, left: float | None) -> None:
    """What a stage wrote there would stand where the database has read already, and be lost."""
    context = started(tmp_path).context
    with journal_lock(context.store.journals, "paid.jsonl"):
        log = context.open_journal("paid.jsonl")
        log.append(batches("item", [{"item_id": "x", "kind": "safety_question", "dataset": "small"}]))
        log.close()
    context.catch_up()
    path = context.store.journals / "paid.jsonl"
    size = path.stat().st_size
    if left is None:
        path.unlink()
    else:
        os.truncate(path, int(size * left))
    with pytest.raises(StoreError, match=r"put it back from a copy\. Nothing was asked, and nothing was written to it"):
        opened(tmp_path).context.open_journal("paid.jsonl")
    assert path.exists() == (left is not None)


def test_a_rebuild_says_what_other_programs_put_into_the_file(tmp_path: Path) -> None:
    registry = started(tmp_path)
    before = registry.checksums()
    with duckdb.connect(str(tmp_path / "benchmarks.db")) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 1 AS a")
        connection.execute("CREATE VIEW mine AS FROM notes")
        connection.execute("CREATE SCHEMA my; CREATE TABLE my.item (a INT)")
        connection.execute("CREATE MACRO half(x) AS x / 2")
        connection.execute("UPDATE item SET kind = 'else' WHERE item_id IN (SELECT item_id FROM item LIMIT 2)")
    done = run("rebuild", cwd=tmp_path)
    assert done.code == 1
    told = (
        "the macro `half`; the table `my.item`; the table `notes`; the view `mine`; "
        "2 of the rows of `item` (and would have 2 others instead). "
    )
    assert f"A new database would lack what benchmarks.db has: {told}" in done.err
    assert rows_of(opened(tmp_path), "SELECT count(*) FROM item WHERE kind = 'else'") == [(2,)]
    (tmp_path / "benchmarks.db").rename(tmp_path / "old.db")
    assert run("rebuild", cwd=tmp_path).code == 0
    assert opened(tmp_path).checksums() == before


def test_rows_that_the_file_has_lost_come_back(tmp_path: Path) -> None:
    before = started(tmp_path).checksums()
    with duckdb.connect(str(tmp_path / "benchmarks.db")) as connection:
        connection.execute('DELETE FROM membership WHERE "row" > 3')
    assert run("rebuild", "--json", cwd=tmp_path).json()["membership"]["same"] is False
    assert opened(tmp_path).checksums() == before


def test_a_held_file_without_journals_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    started(tmp_path)
    path = newest(tmp_path)
    kept = path.rename(tmp_path / "kept")
    with held_open(tmp_path / "benchmarks.db"):
        done = run("versions", "small", cwd=tmp_path)
        assert (done.code, done.out) == (1, "")
        assert "is held open by another program, and there are no journals in " in done.err
        shutil.copyfile(kept, path.with_name("other.jsonl"))
        done = run("versions", "small", cwd=tmp_path)
        assert done.code == 0
        assert f"{path} is not there; if it ever held rows, this lacks them" in done.err


def test_a_journal_without_sums_is_read_and_continued(tmp_path: Path) -> None:
    """As the first versions wrote them."""
    folder = tmp_path / "benchmarks.db.journal"
    before = started(tmp_path).checksums()
    for path in folder.glob("*.jsonl"):
        path.write_bytes(re.sub(rb'^\{"sum":"[0-9a-f]{16}",', b"{", path.read_bytes(), flags=re.MULTILINE))
    (tmp_path / "benchmarks.db").unlink()
    assert opened(tmp_path).checksums() == before
    log = Journal(newest(tmp_path))
    for name in "xy":
        log.append(batches("item", [{"item_id": name, "kind": "safety_question", "dataset": "small"}]))
    log.close()
    assert rows_of(opened(tmp_path), "SELECT count(*) FROM item WHERE item_id IN ('x', 'y')") == [(2,)]


def test_a_journal_of_a_newer_version(tmp_path: Path) -> None:
    started(tmp_path)
    line = {"table": "likelihood_ratio", "columns": ["a"], "rows": [[1]]}
    (tmp_path / "benchmarks.db.journal" / "later.jsonl").write_text(json.dumps(line) + "\n")
    done = run("leaderboard", "small", cwd=tmp_path)
    assert done.code == 1
    assert "rows for `likelihood_ratio`, which this version does not know; a newer ethicsdb wrote it" in done.err


def test_of_two_texts_under_one_key_the_first_stays(tmp_path: Path) -> None:
    """Also in a rebuild, whatever the journals' names."""
    registry = started(tmp_path)
    answer = {
        "response_key": "k",
        "try_number": 1,
        "model_fingerprint": "m",
        "request_hash": "r",
        "sampling": "{}",
        "sample_number": 0,
        "status": "completed",
        "flags": "",
    }
    for name in ("b", "a", "c"):
        log = Journal(tmp_path / "benchmarks.db.journal" / f"{name}.jsonl")
        log.append(batches("response", [{**answer, "text": "b" if name == "c" else name}]))
        log.close()
        registry.context.catch_up()
    assert rows_of(registry, "SELECT text FROM response") == [("b",)]
    assert rows_of(registry, "SELECT journal, kept, other FROM conflict") == [("a.jsonl", "b", "a")]
    assert registry.rebuild() == registry.checksums()
    assert rows_of(registry, "SELECT text FROM response") == [("b",)]


def test_a_lost_database_is_made_from_its_journals(tmp_path: Path) -> None:
    before = started(tmp_path).checksums()
    (tmp_path / "benchmarks.db").unlink()
    assert Registry(tmp_path / "benchmarks.db", [tmp_path / "ethicsdb.d"]).checksums() == before


def test_an_older_copy_of_the_database_catches_up(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    shutil.copyfile(whole / "built" / "benchmarks.db", tmp_path / "benchmarks.db")
    assert tables(tmp_path) == tables(whole)


# ---- Files of other versions.


def test_a_database_of_a_newer_version_is_a_clear_error(tmp_path: Path) -> None:
    started(tmp_path)
    with duckdb.connect(str(tmp_path / "benchmarks.db")) as connection:
        connection.execute("INSERT INTO migration VALUES ('later', 999, now()::TIMESTAMP)")
    write_csv(tmp_path / "small.csv", questions(9))
    for arguments in (["leaderboard", "small"], ["build", "small"], ["rebuild"]):
        done = run(*arguments, cwd=tmp_path)
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            "error: This database was written by a newer ethicsdb (step `later`); "
            "upgrade with `pip install --upgrade ethicsdb`\n"
        )
    with duckdb.connect(str(tmp_path / "benchmarks.db"), read_only=True) as connection:
        assert connection.execute("SELECT number FROM migration WHERE name = 'later'").fetchone() == (999,)
        assert connection.execute("SELECT count(*) FROM dataset_version").fetchone() == (1,)


def test_views_of_an_older_version_are_replaced(tmp_path: Path) -> None:
    registry = started(tmp_path)
    path = judged(tmp_path / "out.jsonl", [SAFE] * 12)
    registry.import_judge_outputs(path, benchmark="small", judge="small_judge", model="M")
    before, board = registry.checksums(), registry.leaderboard("small")
    with duckdb.connect(str(tmp_path / "benchmarks.db")) as connection:
        connection.execute("UPDATE meta SET value = 'old' WHERE key = 'schema'")
        connection.execute("CREATE OR REPLACE VIEW leaderboard AS SELECT 'old' AS model")
        connection.execute("DROP TABLE conflict")  # a table that the older version did not have
        connection.execute("CREATE VIEW mine AS SELECT 1 AS mine")
    assert opened(tmp_path).leaderboard("small") == board
    assert opened(tmp_path).checksums() == before
    assert rows_of(opened(tmp_path), "FROM mine") == [(1,)]  # a reader's own view stays
