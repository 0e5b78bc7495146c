"""A flag wins over the environment, that over `ethicsdb.toml`, that over the default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import DATASET, DECLARATIONS, declare, environment, execute, questions, run, write_csv

from ethicsdb import Registry
from ethicsdb.registry.settings import Settings, load_settings
from ethicsdb.schemas.errors import DeclarationError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("ETHICSDB_"):
            monkeypatch.delenv(name)


def test_defaults() -> None:
    assert load_settings() == Settings(Path("benchmarks.db"), None)


def test_the_file(tmp_path: Path) -> None:
    Path("ethicsdb.toml").write_text('database = "data/mine.db"\ndeclarations = ["a", "b"]\n')
    assert load_settings() == Settings(Path("data/mine.db"), (Path("a"), Path("b")))


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ethicsdb.toml").write_text('database = "file.db"\ndeclarations = ["file"]\n')
    monkeypatch.setenv("ETHICSDB_DATABASE", "environment.db")
    assert load_settings() == Settings(Path("environment.db"), (Path("file"),))
    monkeypatch.setenv("ETHICSDB_DECLARATIONS", os.pathsep.join(["one", "two", ""]))
    assert load_settings() == Settings(Path("environment.db"), (Path("one"), Path("two")))


def test_a_flag_wins_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ethicsdb.toml").write_text('database = "file.db"\n')
    monkeypatch.setenv("ETHICSDB_DATABASE", "environment.db")
    monkeypatch.setenv("ETHICSDB_DECLARATIONS", "environment")
    assert load_settings(Path("flag.db"), [Path("flag")]) == Settings(Path("flag.db"), (Path("flag"),))


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETHICSDB_DATABASE", "")
    monkeypatch.setenv("ETHICSDB_DECLARATIONS", "")
    assert load_settings() == Settings(Path("benchmarks.db"), None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("databse = 'x'\n", "ethicsdb.toml:1: `databse` is not a known setting; did you mean `database`?"),
        (
            "# mine\n\ncolour = 'x'\n",
            "ethicsdb.toml:3: `colour` is not a known setting; there are database, declarations",
        ),
        ("database = 3\n", "ethicsdb.toml:1: `database` must be text"),
        ("\ndeclarations = 'mine'\n", "ethicsdb.toml:2: `declarations` must be a list of folders"),
        ("declarations = ['mine', 3]\n", "ethicsdb.toml:1: `declarations` must be a list of folders"),
        ("database = 'x'\n\ndatabase = 'y'\n", "ethicsdb.toml:3: not valid TOML: "),
        ("database = 'x\n", "ethicsdb.toml:1: not valid TOML: "),
    ],
)
def test_a_broken_file(text: str, sentence: str) -> None:
    Path("ethicsdb.toml").write_text(text)
    with pytest.raises(DeclarationError) as caught:
        load_settings()
    assert str(caught.value).startswith(sentence)


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    Path("ethicsdb.toml").write_bytes(b"database = '\xff'\n")
    assert run("list", cwd=tmp_path).err.startswith("error: ethicsdb.toml:1: not UTF-8")
    Path("ethicsdb.toml").unlink()
    Path("ethicsdb.toml").mkdir()
    assert run("list", cwd=tmp_path).err == "error: ethicsdb.toml: Is a directory\n"


def test_commands_and_api_follow_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    declare(tmp_path / "mine", DATASET, *DECLARATIONS[1:])
    source = write_csv(tmp_path / "small.csv", questions(1))
    Path("ethicsdb.toml").write_text('database = "file.db"\ndeclarations = ["mine/ethicsdb.d"]\n')
    assert run("build", "small", "--from", source, cwd=tmp_path).code == 0
    assert Path("file.db").is_file()
    assert execute("build", "small", cwd=tmp_path, ETHICSDB_DATABASE="environment.db").code == 0
    assert Path("environment.db").is_file()
    assert run("--database", "flag.db", "build", "small", cwd=tmp_path).code == 0
    assert Path("flag.db").is_file()
    assert [each.version for each in Registry().versions("small")] == ["v1"]
    monkeypatch.setenv("ETHICSDB_DATABASE", "flag.db")
    assert Registry().context.store.path == tmp_path / "flag.db"
    assert "ETHICSDB_DATABASE" not in environment()
    assert not Path("benchmarks.db").exists()


def test_a_database_in_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    declare(tmp_path)
    write_csv(tmp_path / "small.csv", questions(1))
    assert run("--database", "new/deep/mine.db", "build", "small", cwd=tmp_path).code == 0
    assert Path("new/deep/mine.db").is_file()
