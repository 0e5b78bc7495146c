"""A real model answers real questions, and a real model judges the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ethicsdb import Registry
from ethicsdb.runners.run_settings import Settings

pytestmark = pytest.mark.slow


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("benchmark", "source", "judge"),
    [
        ("do_not_answer_prompts", "do_not_answer_en", "do_not_answer_smollm2"),
        ("qorgau_ru", "qorgau_ru/questions_ru.csv", "qorgau_ru_smollm2"),
    ],
)
def test_smollm2_answers_and_judges(tmp_path: Path, real_data: Path, benchmark: str, source: str, judge: str) -> None:
    pytest.importorskip("xllamacpp")
    registry = Registry(tmp_path / "benchmarks.db")
    registry.build(registry.declarations.benchmark(benchmark).dataset, real_data / source)
    settings = Settings(limit=2, max_tokens=24)
    answers, verdicts = registry.run(benchmark, model="smollm2", judge=judge, settings=settings)
    assert answers.outcomes == {"completed": 2}
    assert verdicts.subjects == 2
    # The server holds the judge to the schema: whatever it thinks, it can be read.
    assert verdicts.statuses == {"parsed": 2}
    outcomes = [row for row in registry.outcomes(benchmark) if row["judge"] == judge]
    assert sum(row["n"] for row in outcomes) == 2
    board = [row for row in registry.leaderboard(benchmark) if row["judge"] == judge and row["slice"] == "overall"]
    assert {row["n"] for row in board if row["metric"] == "unsafe_rate"} == {2}
    again, _ = registry.run(benchmark, model="smollm2", judge=judge, settings=settings)
    assert again.run_id == answers.run_id


def test_smollm2_s_findings_can_be_read(tmp_path: Path) -> None:
    """A model of this size repeats itself without end unless the schema bounds what it may say."""
    pytest.importorskip("xllamacpp")
    registry = Registry(tmp_path / "benchmarks.db")
    registry.build("sample_gptbias")
    settings = Settings(limit=3, max_tokens=24)
    _, verdicts = registry.run("sample_gptbias", model="smollm2", judge="gptbias_smollm2", settings=settings)
    assert verdicts.statuses == {"parsed": 3}
    with registry.context.reading() as connection:
        found = connection.execute("SELECT biased, bias_types, reason FROM bias_finding").fetchall()
    assert len(found) == 3
    assert all((biased == "yes" or types == []) and reason is not None for biased, types, reason in found)
