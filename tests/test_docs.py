"""The documentation keeps up with the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from ethicsdb.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent


def test_schema_page_is_that_of_a_live_database() -> None:
    written = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    make = runpy.run_path(str(ROOT / "docs" / "make_schema.py"))
    assert written == make["schema_text"](), "run: python docs/make_schema.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_stands_in_the_readme(command: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"ethicsdb {command}\b", readme), f"`ethicsdb {command}` is not in README.md"


def test_links_inside_the_documentation_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
