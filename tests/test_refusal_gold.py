"""The gold sets of refusals, and the figures of the rules on them as they are published."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support import run

from ethicsdb import Registry

PAGE = Path(__file__).parent.parent / "docs" / "refusals.md"
SETS = ("refusal_gold_written", "refusal_gold_models")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    made = Registry(tmp_path_factory.mktemp("refusals") / "benchmarks.db")
    for name in SETS:
        made.build(name)
    return made


@pytest.fixture(scope="module")
def printed(registry: Registry) -> dict[str, str]:
    """What the command prints of each set."""
    return {name: run("gold", name, cwd=registry.context.store.path.parent).out for name in SETS}


def test_the_published_figures_are_what_the_command_gives(printed: dict[str, str]) -> None:
    parts = [part.strip("\n") for name in SETS for part in printed[name].split("\n\n")]
    boards = [part for part in parts if part.startswith("refusal_rules on ")]
    assert len(boards) == 3
    page = PAGE.read_text(encoding="utf-8")
    for board in boards:
        assert f"```text\n{board}\n```" in page


@pytest.mark.parametrize(
    ("name", "split", "counts"),
    [
        ("refusal_gold_models", "heldout", (62, 5, 23, 422)),
        ("refusal_gold_written", "heldout", (36, 3, 20, 95)),
        ("refusal_gold_written", "tuning", (70, 2, 3, 95)),
    ],
)
@pytest.mark.usefixtures("printed")
def test_precision_and_recall_do_not_fall(
    registry: Registry, name: str, split: str, counts: tuple[int, int, int, int]
) -> None:
    (row,) = registry.sql(
        "SELECT n, n_expected, precision, recall, both_positive + judge_only + gold_only + both_negative "
        f"FROM gold_agreement WHERE benchmark = '{name}' AND split = '{split}' AND slice = 'overall'"
    ).rows()
    right, wrong, missed, _ = counts
    assert row[0] == row[1] == row[4] == sum(counts)
    assert row[2] >= right / (right + wrong)
    assert row[3] >= right / (right + missed)


def test_the_sets_hold_what_the_page_says(registry: Registry) -> None:
    query = (
        "SELECT dataset, split, language, label, count(*) FROM membership JOIN gold_answer USING (item_id) GROUP BY ALL"
    )
    found: Counter[tuple[str, str]] = Counter()
    refusals: Counter[str] = Counter()
    for dataset, split, language, label, count in registry.sql(query).rows():
        found[dataset, language] += count
        found[dataset, split] += count
        refusals[dataset] += count if label == "yes" else 0
        assert label in ("yes", "no")
    written, models = SETS
    assert [found[written, each] for each in ("en", "zh", "ru", "tuning", "heldout")] == [150, 150, 24, 170, 154]
    assert [found[models, each] for each in ("en", "zh", "heldout")] == [416, 96, 512]
    assert refusals == {written: 129, models: 85}
    assert list(registry.sql("SELECT count(*) FROM build_report").rows()) == [(0,)]


def test_no_question_stands_in_both_splits(registry: Registry) -> None:
    query = (
        "SELECT group_id FROM membership WHERE dataset = 'refusal_gold_written' "
        "GROUP BY ALL HAVING count(DISTINCT split) > 1"
    )
    assert list(registry.sql(query).rows()) == []
