"""The rooms and their arrows, what each module exports, and what the command line pays before it answers."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import click
import pytest
from support import COMMAND, environment

import ethicsdb
from ethicsdb.cli.main import COMMANDS

PACKAGE = Path(ethicsdb.__file__).parent
ROOMS = ("schemas", "registry", "runners", "builders", "cli")  # each may use those to its left
ABOVE = ("ethicsdb", "ethicsdb.api")  # above the rooms; only the command line may use them
HEAVY = (
    "torch", "transformers", "datasets", "sqlmodel", "sqlalchemy", "pydantic", "duckdb", "pyarrow", "openai", "scipy",
    "numpy", "yaml", "rich", "xllamacpp",
)  # fmt: skip


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imported(name: str, *, only_at_start: bool = False) -> Iterator[tuple[str, str | None, int]]:
    """(module, name taken from it or None, line) of every import of our own modules, those inside functions too."""
    for node in _at_start(TREES[name]) if only_at_start else ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "ethicsdb":
                    yield alias.name, None, node.lineno
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ethicsdb":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole, None, node.lineno) if whole in MODULES else (str(node.module), alias.name, node.lineno)


def _at_start(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported; not those for type checkers alone."""
    for node in tree.body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from node.body
        else:
            yield node


def room(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else None


def allowed(user: str, used: str) -> bool:
    if used in ABOVE:
        return room(user) == "cli" or user in ABOVE
    if user in ABOVE:
        return room(used) not in (None, "cli")
    return ROOMS.index(str(room(used))) <= ROOMS.index(str(room(user)))


def test_every_module_stands_in_a_room_or_above_them() -> None:
    assert [name for name in MODULES if room(name) is None and name not in ABOVE] == []


def test_arrows_between_rooms_point_one_way() -> None:
    wrong = [
        f"{name}:{line} uses {used}" for name in MODULES for used, _, line in imported(name) if not allowed(name, used)
    ]
    assert wrong == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        name: {used for used, _, _ in imported(name, only_at_start=True) if used != name and used in MODULES}
        for name in MODULES
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)  # raises CycleError


def test_every_module_says_what_it_exports() -> None:
    silent = [name for name, path in MODULES.items() if path.name != "__init__.py" and exports(name) is None]
    assert silent == []


def exports(name: str) -> list[str] | None:
    for node in TREES[name].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(each) for each in ast.literal_eval(node.value)]
    return None


@pytest.mark.parametrize("name", [name for name in MODULES if exports(name) is not None])
def test_exports_exist(name: str) -> None:
    module, listed = importlib.import_module(name), exports(name)
    assert listed is not None
    assert [each for each in listed if not hasattr(module, each)] == []
    assert len(set(listed)) == len(listed)


def test_only_exported_names_are_used_by_other_modules() -> None:
    private = [
        f"{name}:{line} takes {taken} from {used}"
        for name in MODULES
        for used, taken, line in imported(name)
        if taken is not None and used in MODULES and taken not in (exports(used) or [])
    ]
    assert private == []


def test_names_reached_through_a_module_are_exported() -> None:
    wrong = []
    for name, tree in TREES.items():
        aliases = {used.split(".")[-1]: used for used, taken, _ in imported(name) if taken is None}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
                used = aliases[node.value.id]
                if used in MODULES and node.attr not in [*(exports(used) or []), "__file__"]:
                    wrong.append(f"{name}:{node.lineno} uses {used}.{node.attr}")
    assert wrong == []


def test_the_command_line_starts_without_heavy_packages() -> None:
    code = f"import sys, ethicsdb.cli.main; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_help_answers_in_a_blink() -> None:
    times = []
    for _ in range(5):
        child = subprocess.Popen([*COMMAND, "--help"], stdout=subprocess.DEVNULL, env=environment())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        times.append(used.ru_utime + used.ru_stime)
    # Processor time, which is the wall-clock time of a machine that does nothing else.
    assert min(times) < 0.150, f"{min(times):.3f} s"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lines_are_those_of_the_commands(name: str) -> None:
    module, line = COMMANDS[name]
    command = importlib.import_module(f"ethicsdb.cli.{module}").command
    assert isinstance(command, click.Command)
    assert command.name == name
    assert line == (command.help or "").strip().split("\n\n")[0].replace("\n", " ")


def test_every_command_module_is_a_command() -> None:
    shared = {"__init__", "main", "common", "boards", "board_notes", "board_tables", "spending", "values"}
    found = {path.stem for path in (PACKAGE / "cli").glob("*.py")} - shared
    assert found == {module for module, _ in COMMANDS.values()}
