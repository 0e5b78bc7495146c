"""Every command: its help, its JSON, its exit code, and what it says when a name or a place is wrong."""

from __future__ import annotations

import csv
import ctypes
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet
import pytest
from support import (
    COMMAND,
    DATASET,
    DECLARATIONS,
    SAFE,
    UNSAFE,
    Ran,
    declare,
    environment,
    execute,
    held_open,
    judged,
    opened,
    questions,
    run,
    spawn,
    started,
    write_csv,
)

from ethicsdb import Registry
from ethicsdb.cli.main import COMMANDS, cli
from ethicsdb.registry.journal import Journal, batches
from ethicsdb.schemas.errors import NotFoundError

# With every name that a person might mistype; commands about runs and models have tests of their own.
READING = {
    "list": ["list"],
    "show": ["show", "small"],
    "versions": ["versions", "small"],
    "diff": ["diff", "small@v1", "small"],
    "report": ["report", "small"],
    "leaderboard": ["leaderboard", "small"],
    "agreement": ["agreement", "small"],
    "sql": ["sql", "select 1 as one, null as none"],
    "rebuild": ["rebuild"],
    "build": ["build", "small"],
    "runs": ["runs"],
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry with a run, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("shared")
    registry = started(folder)
    path = judged(folder / "M.jsonl", [SAFE, UNSAFE] * 6)
    registry.import_judge_outputs(path, benchmark="small", judge="small_judge", model="M")
    return folder


@pytest.fixture
def folder(shared: Path, tmp_path: Path) -> Path:
    """A registry with a run, for this test alone."""
    shutil.copytree(shared, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, tmp_path: Path) -> None:
    for flag in ("--help", "-h"):
        done = run(name, flag, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"Usage: ethicsdb {name} ")
        assert COMMANDS[name][1].split(";")[0] in " ".join(done.out.split())
    assert list(tmp_path.iterdir()) == []


def test_the_overview_lists_every_command(tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in done.out
        assert line in " ".join(done.out.split())
    assert run(cwd=tmp_path).code == 2
    assert run("--version", cwd=tmp_path).out.startswith("ethicsdb, version ")


@pytest.mark.parametrize("name", READING)
def test_json_for_programs(name: str, shared: Path) -> None:
    done = run(*READING[name], "--json", cwd=shared)
    assert (done.code, done.err) == (0, "")
    assert isinstance(done.json(), (list, dict))


@pytest.mark.parametrize("name", READING)
def test_words_for_people(name: str, shared: Path) -> None:
    done = run(*READING[name], cwd=shared)
    assert (done.code, done.err) == (0, "")
    assert done.out.strip()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "smal"], "No declaration is called `smal`. Did you mean `small`?"),
        (["build", "smal"], "No dataset is called `smal`. Did you mean `small`?"),
        (["versions", "smal"], "No dataset is called `smal`. Did you mean `small`?"),
        (["diff", "smal@v1", "small"], "No dataset is called `smal`. Did you mean `small`?"),
        (["diff", "small@v1", "small@v2"], "small has no version `v2`; it has v1"),
        (["report", "smal"], "No dataset is called `smal`. Did you mean `small`?"),
        (["report", "qorgau_ru"], "qorgau_ru has not been built yet: ethicsdb build qorgau_ru"),
        (["leaderboard", "smal"], "No benchmark is called `smal`. Did you mean `small`?"),
        (["agreement", "smal"], "No benchmark is called `smal`. Did you mean `small`?"),
        (
            ["build", "small", "--from", "nowhere.csv"],
            "nowhere.csv: no such file; say where it is: ethicsdb build small",
        ),
    ],
)
def test_an_unknown_name_gets_a_suggestion(shared: Path, arguments: list[str], sentence: str) -> None:
    done = run(*arguments, cwd=shared)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {sentence}")
    assert done.err.count("\n") == 1


def test_unknown_commands_and_options(tmp_path: Path) -> None:
    done = run("leaderbord", "small", cwd=tmp_path)
    assert done.code == 2
    assert done.err.splitlines()[-1] == "Error: There is no command `leaderbord`. Did you mean `leaderboard`?"
    assert "`ethicsdb --help` lists them." in run("zzz", cwd=tmp_path).err
    for arguments in (["list", "--jsn"], ["list", "datasets"], ["build"], ["sql", "select 1", "--json", "--csv"]):
        done = run(*arguments, cwd=tmp_path)
        assert (done.code, done.out) == (2, "")
        assert "Error: " in done.err


def test_a_data_set_that_was_never_built(tmp_path: Path) -> None:
    declare(tmp_path)
    done = run("versions", "small", cwd=tmp_path)
    assert (done.code, done.out) == (0, "small has not been built yet: ethicsdb build small\n")
    assert run("versions", "small", "--json", cwd=tmp_path).json() == []


def test_report_by_code(tmp_path: Path) -> None:
    declare(tmp_path)
    rows = [
        ("1", "Lies", "original", " a? ", ""),
        ("2", "Else", "original", "b?", ""),
        ("3", "Else", "original", "c?", ""),
    ]
    opened(tmp_path).build("small", write_csv(tmp_path / "small.csv", rows))
    done = run("report", "small", cwd=tmp_path)
    assert done.out.startswith("suspicious: 1 outer_whitespace\nsuspicious: 2 unknown_value\n")
    done = run("report", "small@v1", "--code", "unknown_value", "--rows", "1", cwd=tmp_path)
    assert "outer_whitespace" not in done.out
    assert done.out.endswith("… 1 more (--rows 0 shows all, --code CODE one kind)\n")
    for more in ([], ["--json"]):
        said = sentence(run("report", "small", "--code", "unknown", *more, cwd=tmp_path))
        assert said == "error: No entry has the code `unknown`; there are outer_whitespace, unknown_value.\n"
    opened(tmp_path).build("small", write_csv(tmp_path / "small.csv", questions(1)))
    assert run("report", "small", "--code", "unknown", cwd=tmp_path).out == "every row was taken as it is\n"


def numbers() -> Iterator[tuple[str, click.Parameter]]:
    """Every number that a command takes."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for option in command.params:
            number = isinstance(option.type, (click.types.IntParamType, click.types.FloatParamType))
            if number and option.name != "seed":  # endpoints take any
                yield name, option


@pytest.mark.parametrize(("name", "option"), list(numbers()), ids=lambda given: getattr(given, "name", given))
def test_every_number_has_a_range(name: str, option: click.Parameter, shared: Path) -> None:
    assert isinstance(option.type, (click.IntRange, click.FloatRange))
    arguments = {"diff": ["small@v1", "small@v2"], "sql": ["select 1"], "judge": ["abc", "--judge", "small_judge"]}
    rest = arguments.get(name, ["small", *(["--model", "judge-1"] if name == "run" else [])])
    done = run(name, *rest, option.opts[0], "-1", cwd=shared)
    assert (done.code, done.out) == (2, "")
    assert f"Invalid value for '{option.opts[0]}': -1" in done.err


# ---- User SQL.


def test_sql_in_every_form(folder: Path) -> None:
    query = "SELECT model, n, value FROM leaderboard WHERE metric = 'unsafe_rate' AND slice = 'overall'"
    assert run("sql", query, "--json", cwd=folder).json() == [{"model": "M", "n": 12, "value": 0.5}]
    assert run("sql", query, "--csv", cwd=folder).out == "model,n,value\r\nM,12,0.5\r\n"
    assert run("sql", query, cwd=folder).out.endswith("(1 rows)\n")
    done = run("sql", query, "--parquet", folder / "out.parquet", cwd=folder)
    assert done.out == f"wrote {folder}/out.parquet\n"
    import duckdb

    with duckdb.connect() as connection:
        assert connection.execute(f"FROM '{folder}/out.parquet'").fetchall() == [("M", 12, 0.5)]


def test_sql_from_standard_input(shared: Path) -> None:
    process = subprocess.run(
        [*COMMAND, "sql", "-", "--csv"],
        input=b"SELECT count(*) AS n FROM run_item",
        capture_output=True,
        cwd=shared,
        env=environment(),
        check=True,
    )
    assert process.stdout == b"n\r\n12\r\n"


@pytest.mark.parametrize(
    "query", ["selct 1", "drop table item", "select * from nowhere", "select 1; select 2", "attach 'x'"]
)
def test_sql_that_is_refused(shared: Path, query: str) -> None:
    before = opened(shared).checksums()
    done = run("sql", query, cwd=shared)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert opened(shared).checksums() == before


def test_sql_before_there_is_a_database(tmp_path: Path) -> None:
    done = run("sql", "select 1", cwd=tmp_path)
    assert done.code == 1
    assert f"There is no database at {tmp_path}/benchmarks.db yet" in done.err
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_table_are_limited_and_said(shared: Path) -> None:
    out = run("sql", "from range(10)", "--rows", "3", cwd=shared).out
    assert out.endswith("(10 rows, 7 not shown: --rows 0)\n")
    assert len(out.splitlines()) == 6


# ---- Texts and terminals.

TEXTS = ("怎样处理旧电池？", "Что это?", "👩‍👧 emoji", "مرحبا \u202eabc", "bell \x07 \x1b[31m", "half \ud83d")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    declare(folder)
    rows = [(str(number), "Lies", "original", text, "") for number, text in enumerate(TEXTS)]
    opened(folder).build("small", write_csv(folder / "small.csv", rows))
    return folder


QUERY = 'SELECT question FROM membership JOIN safety_question USING (item_id) ORDER BY "row"'
STORED = [text.replace("\ud83d", "\ufffd") for text in TEXTS]


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("locale", [PLAIN, {"PYTHONIOENCODING": "gb18030"}])
def test_all_of_unicode_under_any_locale(texts: Path, locale: dict[str, str]) -> None:
    """A program gets exactly what is stored."""
    process = spawn("sql", QUERY, "--json", cwd=texts, **locale)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    text = out.decode(locale.get("PYTHONIOENCODING", "utf-8"))
    assert [row["question"] for row in json.loads(text)] == STORED


def test_tables_under_a_plain_locale(texts: Path) -> None:
    done = execute("sql", QUERY, cwd=texts, **PLAIN)
    assert (done.code, done.err) == (0, "")
    for text in TEXTS[:3]:
        assert text in done.out


def test_texts_can_not_move_the_cursor(texts: Path) -> None:
    out = run("sql", QUERY, cwd=texts).out
    assert TEXTS[0] in out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\u202e" not in out
    assert "bell \\x07 \\x1b[31m" in out


EVIL = "\x1b]0;x\x07\x1b[2J\x9b\u202e\u2028"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all that others may name or write moves the cursor."""
    folder = tmp_path_factory.mktemp("hostile")
    titles = [{**each, "title": f"{EVIL}title"} if "title" in each else each for each in DECLARATIONS]
    declare(folder, *titles)
    registry = opened(folder)
    for number, name in enumerate(("one", "two")):
        rows = [("1", "Lies", "original", f"{EVIL}question {number}? ", "")]
        registry.build("small", write_csv(folder / f"{EVIL}{name}.csv", rows))
    outputs = judged(folder / "out.jsonl", [f"{SAFE} {EVIL}"])
    registry.import_judge_outputs(outputs, benchmark="small", judge="small_judge", model=f"{EVIL}M", revision=EVIL)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"], ["show", "small"], ["versions", "small"], ["report", "small"], ["diff", "small@v1", "small@v2"],
        ["runs"], ["leaderboard", "small"], ["leaderboard", "small", "--slice", "risk_area"], ["why", "RUN", "1"],
        ["sql", f'select question, source_file as "{EVIL}\n\t{EVIL}" from safety_question, membership'],
        ["withdraw", "RUN"],
    ],
    ids=lambda given: given[0],
)  # fmt: skip
def test_nothing_that_others_wrote_moves_the_cursor(hostile: Path, arguments: list[str]) -> None:
    (row,) = opened(hostile).runs()
    digits = row["run_id"].partition(":")[2]
    done = run(*[digits if each == "RUN" else each for each in arguments], cwd=hostile)
    assert done.code == 0
    assert not (set(EVIL) - set("]0;x[2J")) & set(done.out + done.err)
    if arguments[0] not in ("show", "withdraw"):
        assert "\\x1b" in done.out


def test_what_is_wrong_with_a_declaration_moves_no_cursor(tmp_path: Path) -> None:
    declare(tmp_path, {**DATASET, f"{EVIL}key": 1}, {**DATASET, "name": "other", "access": EVIL})
    done = run("check", cwd=tmp_path)
    assert done.code == 1
    assert not (set(EVIL) - set("]0;x[2J")) & set(done.out + done.err)


def test_columns_line_up_with_wide_characters(texts: Path) -> None:
    from rich.cells import cell_len

    lines = run("sql", f"SELECT question, 'x' AS x FROM ({QUERY})", cwd=texts).out.splitlines()
    ends = {cell_len(line) for line in lines[2:4]}
    assert len(ends) == 1


def test_a_reader_that_has_gone(shared: Path) -> None:
    for arguments in (["list"], ["sql", "from range(300000)", "--csv"]):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.run(
            [*COMMAND, *arguments], stdout=write, stderr=subprocess.PIPE, cwd=shared, env=environment(), check=False
        )
        os.close(write)
        assert (process.returncode, process.stderr) == (141, b"")


# ---- Places that can't be.


def sentence(done: Ran) -> str:
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    return done.err


def test_a_database_that_is_a_folder(tmp_path: Path) -> None:
    declare(tmp_path)
    (tmp_path / "benchmarks.db").mkdir()
    for arguments in (["leaderboard", "small"], ["sql", "select 1"], ["rebuild"]):
        done = run(*arguments, cwd=tmp_path)
        assert f"{tmp_path}/benchmarks.db is a folder; name a file in it for the database" in sentence(done)
    assert run("--database", tmp_path, "list", cwd=tmp_path).code == 2
    assert (tmp_path / "benchmarks.db").is_dir()


def test_a_database_that_is_none(tmp_path: Path) -> None:
    declare(tmp_path)
    write_csv(tmp_path / "small.csv", questions(1))
    (tmp_path / "benchmarks.db").write_text("dear diary\n" * 1000)
    for arguments in (["leaderboard", "small"], ["sql", "select 1"], ["build", "small"], ["rebuild"]):
        assert f"{tmp_path}/benchmarks.db can't be opened as a database" in sentence(run(*arguments, cwd=tmp_path))
    # It may be somebody's, and stays.
    assert (tmp_path / "benchmarks.db").read_text() == "dear diary\n" * 1000


def test_a_database_that_was_damaged_is_made_anew(folder: Path) -> None:
    before = opened(folder).checksums()
    database = folder / "benchmarks.db"
    database.write_bytes(b"\0" * 5000)
    said = sentence(run("leaderboard", "small", cwd=folder))
    assert f"`ethicsdb --database {database} rebuild` makes it anew from its journals" in said
    done = run("rebuild", cwd=folder)
    assert done.code == 0
    assert "the old file is kept as benchmarks.db.damaged" in done.err
    assert (folder / "benchmarks.db.damaged").read_bytes() == b"\0" * 5000
    assert opened(folder).checksums() == before


def test_a_journal_that_is_gone_stops_a_rebuild(folder: Path) -> None:
    before = opened(folder).checksums()
    gone = next((folder / "benchmarks.db.journal").glob("import-*"))
    kept = gone.read_bytes()
    gone.unlink()
    said = sentence(run("rebuild", cwd=folder))
    assert f"{gone} is gone, and a new database would lack its rows" in said
    assert opened(folder).checksums() == before
    gone.write_bytes(kept)
    assert run("rebuild", cwd=folder).code == 0
    assert opened(folder).checksums() == before


def test_a_rebuild_while_another_program_looks(folder: Path) -> None:
    before = opened(folder).checksums()
    for read_only in (True, False):
        with held_open(folder / "benchmarks.db", read_only=read_only):
            done = run("rebuild", cwd=folder)
            assert done.code == 1
            assert "benchmarks.db is held open by another program; close it there, then rebuild again" in done.err
    assert opened(folder).checksums() == before


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("--database", "file/mine.db", "build", "sample_safety_en", cwd=tmp_path)
    assert "file" in sentence(done)


WITHOUT_DATABASE = (
    ["leaderboard", "small"], ["runs"], ["sql", "select 1"], ["report", "small"], ["agreement", "small"],
    ["why", "abc", "1"], ["diff", "small@v1", "small@v2"], ["withdraw", "abc"],
    ["judge", "abc", "--judge", "small_judge"], ["run", "small", "--model", "judge-1"],
    ["import", "ethicsdb.d/small.yaml", "--as", "labels", "--benchmark", "small"],
)  # fmt: skip


@pytest.mark.parametrize("arguments", WITHOUT_DATABASE, ids=lambda given: given[0])
def test_commands_that_read_make_no_database(tmp_path: Path, arguments: list[str]) -> None:
    declare(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    said = sentence(run(*arguments, cwd=tmp_path))
    assert said.startswith(f"error: There is no database at {tmp_path / 'benchmarks.db'} yet; ")
    assert sorted(tmp_path.rglob("*")) == before


def test_calls_that_read_make_no_database(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "benchmarks.db", [declare(tmp_path)])
    before = sorted(tmp_path.rglob("*"))
    calls: dict[str, Callable[[], object]] = {
        "runs": registry.runs,
        "checksums": registry.checksums,
        "leaderboard": lambda: registry.leaderboard("small"),
        "outcomes": lambda: registry.outcomes("small"),
        "agreement": lambda: registry.agreement("small"),
        "build_report": lambda: registry.build_report("small"),
        "diff": lambda: registry.diff("small@v1", "small@v2"),
        "why": lambda: registry.why("abc", "1"),
        "sql": lambda: registry.sql("select 1"),
    }
    for name, call in calls.items():
        with pytest.raises(NotFoundError, match="There is no database at"):
            call()
        assert sorted(tmp_path.rglob("*")) == before, name
    assert registry.versions("small") == []


@pytest.mark.parametrize(
    "arguments", [["list"], ["show", "small"], ["check"], ["versions", "small"]], ids=lambda given: given[0]
)
def test_declarations_are_read_without_a_database(tmp_path: Path, arguments: list[str]) -> None:
    declare(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = run(*arguments, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert sorted(tmp_path.rglob("*")) == before


def bound(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command without the superuser's right to write where permissions forbid it."""
    libc = ctypes.CDLL(None)

    def give_up() -> None:
        for right in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
            libc.prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP: gone after the next exec

    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("permissions do not bind the superuser here")
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=give_up if os.geteuid() == 0 else None,
    )  # fmt: skip


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder with a database that nobody may write to."""
    started(tmp_path)
    for path in [*tmp_path.rglob("*"), tmp_path]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield tmp_path
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("locks", [True, False])
def test_a_read_only_folder_is_read(read_only: Path, locks: bool) -> None:
    if not locks:
        (read_only / "benchmarks.db.journal").chmod(0o755)
        for name in (".lock", ".gate"):
            (read_only / "benchmarks.db.journal" / name).unlink(missing_ok=True)
        (read_only / "benchmarks.db.journal").chmod(0o555)
    before = sorted(read_only.rglob("*"))
    asked = bound(read_only, "sql", "--json", "select count(*) as n from membership")
    assert (asked.returncode, json.loads(asked.stdout or "0")) == (0, [{"n": 12}]), asked.stderr
    assert bound(read_only, "leaderboard", "small").returncode == 0
    assert bound(read_only, "versions", "small").returncode == 0
    assert bound(read_only, "--declarations", "/nowhere", "runs").returncode == 1
    for arguments in (["build", "sample_safety_en"], ["rebuild"]):
        done = bound(read_only, *arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "held open" not in done.stderr
    assert sorted(read_only.rglob("*")) == before


def test_a_read_only_file_is_read_as_a_copy_where_it_is_behind(read_only: Path, tmp_path_factory: Any) -> None:
    """Declarations that it does not have yet, and no journals beside it, as when a file was passed on alone."""
    read_only.chmod(0o755)
    shutil.rmtree(read_only / "benchmarks.db.journal")
    read_only.chmod(0o555)
    mine = declare(tmp_path_factory.mktemp("mine"), *DECLARATIONS, {**DATASET, "name": "mine"})
    query = "select count(*) as rows, (select count(*) from dataset where name = 'mine') as mine from membership"
    asked = bound(read_only, "--declarations", str(mine), "sql", "--json", query)
    assert (asked.returncode, json.loads(asked.stdout or "0")) == (0, [{"rows": 12, "mine": 1}]), asked.stderr
    assert "benchmarks.db can't be written to; reading a copy that is up to its journals instead" in asked.stderr
    assert [path.name for path in read_only.iterdir() if "benchmarks" in path.name] == ["benchmarks.db"]


def test_rows_that_a_read_only_file_has_not_read_yet_are_there(read_only: Path) -> None:
    read_only.chmod(0o755)
    folder = read_only / "benchmarks.db.journal"
    folder.chmod(0o755)
    log = Journal(folder / "more.jsonl")
    log.append(batches("item", [{"item_id": "x", "kind": "safety_question", "dataset": "small"}]))
    log.close()
    folder.chmod(0o555)
    read_only.chmod(0o555)
    asked = bound(read_only, "sql", "--json", "select kind from item where item_id = 'x'")
    assert json.loads(asked.stdout or "0") == [{"kind": "safety_question"}], asked.stderr


def test_json_that_strict_readers_take(tmp_path: Path) -> None:
    started(tmp_path)
    query = """
        SELECT 1 AS a, 2 AS a, 3 AS a_1, 'nan'::DOUBLE AS n, ['-inf'::DOUBLE, 1] AS l, {'x': 'inf'::FLOAT} AS s,
               TIMESTAMPTZ '2024-01-01 00:00:00+02' AS z, TIMESTAMP '2024-01-01 00:00:00' AS t,
               INTERVAL 3 DAY + INTERVAL 2 HOUR AS i, 1.50::DECIMAL(9, 2) AS d, 'ab'::BLOB AS b
    """
    done = run("sql", "--json", query, cwd=tmp_path)

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    assert json.loads(done.out, parse_constant=refuse) == [
        {
            "a": 1, "a_2": 2, "a_1": 3, "n": "NaN", "l": ["-Infinity", 1.0], "s": {"x": "Infinity"},
            "z": "2023-12-31T22:00:00Z", "t": "2024-01-01T00:00:00Z", "i": "P0M3DT7200S", "d": "1.50", "b": "6162",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("INTERVAL '3661.123456 seconds'", "P0M0DT3661.123456S"),
        ("INTERVAL '-3 days -0.5 seconds'", "P0M-3DT-0.5S"),
        ("[INTERVAL 1 MONTH]", ["P1M0DT0S"]),
        ("170141183460469231731687303715884105727::HUGEINT", 170141183460469231731687303715884105727),
        ("340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455"),
        ("[1.50::DECIMAL(38, 20)]", ["1.50000000000000000000"]),
        ("{'b': 'ab'::BLOB, 'z': TIMESTAMPTZ '2024-01-01 00:00:00+02'}", {"b": "6162", "z": "2023-12-31T22:00:00Z"}),
        ("{'d': DATE '2024-01-02', 't': TIME '01:02:03'}", {"d": "2024-01-02", "t": "01:02:03"}),
        ("MAP {1.5::DOUBLE: 'nan'::DOUBLE}", [[1.5, "NaN"]]),
        ("MAP {['ab'::BLOB]: DATE '2024-01-02'}", [[["6162"], "2024-01-02"]]),
        ("'2f1a5a0c-58ee-4e2b-8a6e-8f2c6f2f9d11'::UUID", "2f1a5a0c-58ee-4e2b-8a6e-8f2c6f2f9d11"),
        ("union_value(k := '-inf'::DOUBLE)", "-Infinity"),
        ("['中文', NULL]", ["中文", None]),
    ],
)
def test_every_type_has_its_form(shared: Path, query: str, told: Any) -> None:
    """In JSON as a value, and in CSV and tables with what is nested as JSON in a cell."""
    done = run("sql", "--json", f"select {query} as x", cwd=shared)
    assert done.json() == [{"x": told}]
    if isinstance(told, (list, dict)) or str(told).startswith("P"):
        cell = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        (_, (written,)) = csv.reader(io.StringIO(run("sql", "--csv", f"select {query}", cwd=shared).out))
        assert written == cell
        assert cell in run("sql", f"select {query}", cwd=shared).out


def test_no_column_is_lost_to_another_of_its_name(shared: Path, tmp_path: Path) -> None:
    query = "select 1 as a, 2 as a, 3 as a_1, 4 as a"
    told = ["a", "a_2", "a_1", "a_3"]
    assert run("sql", "--json", query, cwd=shared).json() == [dict(zip(told, [1, 2, 3, 4], strict=True))]
    assert run("sql", "--csv", query, cwd=shared).out.splitlines() == [",".join(told), "1,2,3,4"]
    assert run("sql", "--parquet", tmp_path / "a.parquet", query, cwd=shared).code == 0
    assert pyarrow.parquet.read_schema(tmp_path / "a.parquet").names == told


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files is met as a full disk is: a write fails half-way."""
    declare(tmp_path)
    write_csv(tmp_path / "small.csv", [(str(n), "Lies", "original", f"{n} " + "long " * 400, "") for n in range(400)])

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    process = subprocess.run(
        [*COMMAND, "build", "small"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        preexec_fn=limited,
        check=False,
    )
    done = Ran(process.returncode, process.stdout.decode(), process.stderr.decode())
    said = sentence(done)
    assert "File too large" in said or "the database failed" in said or "can't be opened" in said
    # With room again the same command does it.
    again = execute("build", "small", cwd=tmp_path)
    assert (again.code, again.err) == (0, "")
    assert "small v1 made: 400 rows" in again.out
    assert run("sql", "from integrity", cwd=tmp_path).out.endswith("(0 rows)\n")


def test_the_folder_below_us_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = f"import os, sys; os.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); "
    code += "sys.argv = ['ethicsdb', 'list']; from ethicsdb.cli.main import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
    )
    assert process.returncode == 1
    assert process.stderr == "error: No such file or directory\n"


def test_interrupted(shared: Path) -> None:
    """Ctrl-C ends a command at once, with the exit code that shells expect."""
    import signal
    import time

    process = spawn("sql", "select count(*) from range(100000000000)", cwd=shared)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert err.strip().endswith(b"stopped; the same command goes on from here")


def test_more_than_one_python_api_call_a_command(folder: Path) -> None:
    """A registry that stays open sees what other processes bring."""
    registry = opened(folder)
    assert len(registry.versions("small")) == 1
    assert execute("build", "small", "--from", write_csv(folder / "more.csv", questions(5)), cwd=folder).code == 0
    assert len(registry.versions("small")) == 2
    found: list[dict[str, Any]] = registry.leaderboard("small")
    assert {row["version"] for row in found} == {"v1"}
