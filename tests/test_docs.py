"""The documentation keeps up with the code."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import click
import pytest

from ethicsdb.cli.main import COMMANDS, cli
from ethicsdb.schemas.declared import BY_KIND

ROOT = Path(__file__).resolve().parent.parent


def test_schema_page_is_that_of_a_live_database() -> None:
    written = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    make = runpy.run_path(str(ROOT / "docs" / "make_schema.py"))
    assert written == make["schema_text"](), "run: python docs/make_schema.py"


@pytest.mark.parametrize("page", ["commands.md", "declarations.md"])
def test_reference_pages_are_those_of_the_code(page: str) -> None:
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    make = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))
    assert written == make["page"](page), "run: python docs/make_reference.py"
    names = [f"command-{name}" for name in COMMANDS] if page == "commands.md" else [f"kind-{kind}" for kind in BY_KIND]
    for name in names:
        assert f"<!-- from the code: {name} -->\n\n" in written


def test_what_columns_mean_is_taken_from_their_comments() -> None:
    from ethicsdb.schemas.facts import Response
    from ethicsdb.schemas.items import ChoiceQuestion

    meanings = runpy.run_path(str(ROOT / "docs" / "make_schema.py"))["meanings"]
    assert meanings(Response)["reported_model"] == "the model id in the endpoint's own reply"
    assert meanings(ChoiceQuestion)["target"].startswith("Index of the option that bias would choose")
    assert "unknown" in meanings(ChoiceQuestion)
    assert "item_id" not in meanings(ChoiceQuestion)


def test_every_column_of_the_board_is_explained() -> None:
    schema = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    section = schema.split("### `leaderboard`\n")[1].split("\n### ")[0]
    columns = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    told = (ROOT / "docs" / "boards.md").read_text(encoding="utf-8")
    assert len(columns) > 30
    assert [column for column in columns if f"`{column}`" not in told] == []


PAGES = ["README.md", *(f"docs/{name}.md" for name in ("commands", "importing", "local_models", "annotating"))]


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_shown_have_these_options(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.replace("\\\n", "").splitlines()
    ]
    shown = [shlex.split(line)[1:] for line in lines if line.startswith("ethicsdb ")]
    assert shown
    for words in shown:
        while words[0].startswith("--"):
            assert words[0] in ("--database", "--declarations")
            words = words[2:]
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None, words[0]
        if isinstance(command, click.Group):
            command = command.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, words


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_stands_in_the_readme(command: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"ethicsdb {command}\b", readme), f"`ethicsdb {command}` is not in README.md"


def test_links_inside_the_documentation_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
