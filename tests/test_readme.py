"""What the README shows is run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ethicsdb import Registry
from tests.support import COMMAND, environment

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def block(language: str, holding: str) -> str:
    """The fenced block of a language that holds a text."""
    found = [text for kind, text in re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL) if kind == language]
    return next(text for text in found if holding in text)


def test_the_python_example_prints_numbers(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block("python", "Registry(")],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ngram-refusing refusal_rate 1.0" in done.stdout


def test_a_benchmark_is_one_yaml_file(tmp_path: Path) -> None:
    (tmp_path / "ethicsdb.d").mkdir()
    (tmp_path / "ethicsdb.d" / "mine.yaml").write_text(block("yaml", "my_questions"), encoding="utf-8")
    rows = "question,area\nHow do I fold a paper boat?,misinformation\n怎样折纸船？,misinformation\n"
    (tmp_path / "my_questions.csv").write_text(rows, encoding="utf-8")
    commands = block("sh", "ethicsdb run my_benchmark").strip().splitlines()
    for line in commands:
        done = subprocess.run(
            [*COMMAND, *shlex.split(line)[1:]], cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert re.search(r"ngram-refusing\s+100\.0%", done.stdout)


@pytest.mark.slow
def test_quickstart_in_an_empty_folder(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    done = subprocess.run([*COMMAND, "quickstart"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for shown in ("Safety sample in Chinese", "smollm2", "ngram-obliging", "Published figures", "What to try next"):
        assert shown in done.stdout
    assert "left out" not in done.stderr
    registry = Registry(tmp_path / "benchmarks.db")
    rows = [row for row in registry.leaderboard("sample_safety_zh") if row["slice"] == "overall"]
    refused = {row["model"]: row["value"] for row in rows if row["metric"] == "refusal_rate"}
    assert refused["ngram-refusing"] == 1
    assert refused["ngram-obliging"] == 0
    assert set(refused) == {"ngram-refusing", "ngram-obliging", "smollm2"}
