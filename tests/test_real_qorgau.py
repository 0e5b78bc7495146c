"""Qorgau's released files, from an empty folder to the figures that the paper prints."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import opened, rows_of, run

from ethicsdb import Registry
from ethicsdb.runners.imports.batch import read_batch
from ethicsdb.runners.statistics.agreement import agreement

pytestmark = pytest.mark.real_data

# model: (file, safe, unsafe, printed % safe, outputs without an answer, outputs with too few answers)
MODELS = {
    "YandexGPT": ("yandex_gpt_response-RU", 4101, 282, 93.57, 8, 3),
    "Claude": ("claude_response-RU", 4100, 283, 93.54, 1, 5),
    "GPT-4o": ("gpt4o_response-RU", 3839, 544, 87.59, 3, 2),
    "Aya-101": ("aya101_RU", 3705, 678, 84.53, 3, 2),
    "KazLLM-8B": ("LLama-3.1-KazLLM-1.0-8B_RU", 3419, 964, 78.01, 18, 4),
}
ROWS = 4383
Record = dict[str, Any]


def outputs(data: Path, stem: str) -> Path:
    return data / "qorgau_ru" / "judge_outputs" / f"{stem}_gpt-4o_output.jsonl"


def bring_in(registry: Registry, data: Path) -> list[bool]:
    """Build and import everything; says of each step whether it was new."""
    folder = data / "qorgau_ru"
    new = [registry.build("qorgau_ru", folder / "questions_ru.csv").new]
    for model, (stem, *_) in MODELS.items():
        file = outputs(data, stem)
        done = registry.import_judge_outputs(file, benchmark="qorgau_ru", judge="qorgau_gpt4o", model=model)
        new.append(done.new)
    labels, columns = folder / "Ru-sample-annotate-binary.csv", {"label": "safe_unsafe"}
    sheet = registry.import_labels(labels, benchmark="qorgau_ru", columns=columns, name="ru_sheet")
    said = outputs(data, "ru-all-human-annotated-samples")
    judged = registry.import_judge_outputs(said, benchmark="qorgau_ru", judge="qorgau_gpt4o", rows_of="ru_sheet")
    return [*new, sheet.new, judged.new]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, real_data: Path) -> Registry:
    registry = opened(empty_folder(tmp_path_factory))
    assert all(bring_in(registry, real_data))
    return registry


def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qorgau")
    (folder / "ethicsdb.d").mkdir()
    return folder


@pytest.fixture(scope="module")
def board(registry: Registry) -> list[Record]:
    return registry.leaderboard("qorgau_ru")


def row_of(board: list[Record], model: str, metric: str, slice_value: str = "") -> Record:
    wanted = (model, metric, "variant" if slice_value else "overall", slice_value)
    found = [row for row in board if (row["model"], row["metric"], row["slice"], row["slice_value"]) == wanted]
    ours = [row for row in found if row["source"] != "published"]
    assert len(ours) == 1
    return ours[0]


@pytest.mark.parametrize("model", MODELS)
def test_published_counts_and_percentages(board: list[Record], model: str) -> None:
    _, safe, unsafe, percent, *_ = MODELS[model]
    kept, broken = row_of(board, model, "safe_rate_published"), row_of(board, model, "unsafe_rate_published")
    assert (kept["hits"], kept["n"], kept["n_expected"]) == (safe, ROWS, ROWS)
    assert (broken["hits"], broken["n"], broken["n_expected"]) == (unsafe, ROWS, ROWS)
    assert kept["value"] == safe / ROWS
    assert f"{100 * kept['value']:.2f}" == f"{percent:.2f}"
    assert kept["ci_low"] < kept["value"] < kept["ci_high"]


@pytest.mark.parametrize("model", MODELS)
def test_published_rows_stand_beside_ours(board: list[Record], model: str) -> None:
    printed = [row for row in board if row["source"] == "published" and row["model"] == model]
    assert len(printed) == 1
    ours = row_of(board, model, "safe_rate_published")
    assert (printed[0]["hits"], printed[0]["n"]) == (ours["hits"], ours["n"])
    assert printed[0]["value"] == round(ours["value"], 4)
    assert printed[0]["ci_low"] is printed[0]["ci_high"] is printed[0]["rank"] is None
    assert "Qorgau" in printed[0]["paper"]


@pytest.mark.parametrize("model", MODELS)
def test_strict_accounting(registry: Registry, board: list[Record], model: str) -> None:
    *_, unread, few = MODELS[model]
    outcomes = [row for row in registry.outcomes("qorgau_ru") if row["model"] == model]
    assert sum(row["n"] for row in outcomes) == ROWS
    assert {row["n_expected"] for row in outcomes} == {ROWS}
    reasons = Counter({row["reason"]: 0 for row in outcomes})
    for row in outcomes:
        reasons[row["reason"]] += row["n"]
    assert reasons == {None: ROWS - unread - few, "no_answer": unread, "too_few": few}
    strict = row_of(board, model, "unsafe_rate")
    assert (strict["n"], strict["n_expected"]) == (ROWS - unread - few, ROWS)
    assert strict["coverage"] == strict["n"] / ROWS
    assert strict["bound_low"] == strict["hits"] / ROWS
    assert strict["bound_high"] == (strict["hits"] + unread + few) / ROWS


@pytest.mark.parametrize("model", MODELS)
def test_over_refusal_beside_unsafe_answers(board: list[Record], model: str) -> None:
    parts = {variant: row_of(board, model, "unsafe_rate", variant) for variant in ("direct", "indirect", "harmless")}
    assert [row["n_expected"] for row in parts.values()] == [1447, 1489, 1447]
    whole = row_of(board, model, "unsafe_rate")
    assert sum(row["hits"] for row in parts.values()) == whole["hits"]
    assert sum(row["n"] for row in parts.values()) == whole["n"]
    refused = row_of(board, model, "over_refusal_rate")
    assert refused["n_expected"] == 1447
    assert refused["hits"] == row_of(board, model, "over_refusal_rate", "harmless")["hits"]
    risky = row_of(board, model, "refusal_rate")
    assert risky["n_expected"] == 1447 + 1489
    assert risky["n"] + refused["n"] == whole["n"]


def test_one_glance_holds_both(registry: Registry, board: list[Record]) -> None:
    query = "SELECT model, unsafe_direct, unsafe_indirect, over_refusal FROM leaderboard_safeguards"
    found = {model: values for model, *values in rows_of(registry, query)}
    for model in MODELS:
        wanted = [("unsafe_rate", "direct"), ("unsafe_rate", "indirect"), ("over_refusal_rate", "harmless")]
        assert found[model] == [row_of(board, model, metric, variant)["value"] for metric, variant in wanted]


def test_build_report(registry: Registry) -> None:
    counted = Counter((entry["severity"], entry["code"]) for entry in registry.build_report("qorgau_ru"))
    assert counted == {
        ("suspicious", "colliding_id"): 98,
        ("suspicious", "null_question"): 1,
        ("repaired", "other_spelling"): 1344,
        ("repaired", "formula_id"): 1344,
        ("suspicious", "outer_whitespace"): 37,
        ("note", "duplicate"): 9,
    }


def test_every_row_is_kept_and_every_variant_linked(registry: Registry) -> None:
    version = registry.versions("qorgau_ru")[0]
    assert (version.version, version.rows, version.items) == ("v1", ROWS, ROWS - 9)
    variants = dict(rows_of(registry, "SELECT variant, count(*) FROM membership GROUP BY variant"))
    assert variants == {"direct": 1447, "indirect": 1489, "harmless": 1447}
    query = "SELECT count(*), count(base_item), count(DISTINCT source_id) FROM membership"
    assert rows_of(registry, query) == [(ROWS, 1489 + 1447, 1349)]
    wrong = """
        SELECT count(*) FROM membership varied JOIN membership base
        ON base.item_id = varied.base_item AND base.source_id <> varied.source_id AND base.variant = 'direct'
        WHERE (base.item_id, varied.source_id) NOT IN (SELECT (item_id, source_id) FROM membership)
    """
    assert rows_of(registry, wrong) == [(0,)]
    assert rows_of(registry, "SELECT count(DISTINCT group_id) FROM membership") == [(1447,)]


def test_judge_against_people(registry: Registry) -> None:
    rows = [row for row in registry.agreement("qorgau_ru") if row["slice"] == "overall"]
    by_rule = {row["rule"]: row for row in rows}
    assert set(by_rule) == {"strict", "published"}
    found = by_rule["published"]
    cells = ("both_negative", "judge_only", "person_only", "both_positive")
    assert [found[cell] for cell in cells] == [848, 37, 54, 61]
    assert (found["n"], found["n_expected"], found["clusters"]) == (1000, 1000, 200)
    assert (round(found["accuracy"], 3), round(found["kappa"], 3)) == (0.909, 0.522)
    strict = by_rule["strict"]
    assert (strict["n"], strict["n_expected"]) == (999, 1000)  # one output could not be read


def test_the_agreement_view_is_the_python_statistic(registry: Registry) -> None:
    query = """
        SELECT person_label, judge_label, group_id FROM judge_pair
        WHERE attribute = 'safety' AND rule = 'published' AND judge_label IS NOT NULL
    """
    people, judge, groups = zip(*rows_of(registry, query), strict=True)
    wanted = agreement(list(people), list(judge), list(groups), positive="unsafe")
    assert wanted.labels == ("safe", "unsafe")
    assert wanted.confusion == ((848, 37), (54, 61))
    found = next(
        row for row in registry.agreement("qorgau_ru") if (row["slice"], row["rule"]) == ("overall", "published")
    )
    assert wanted.accuracy is not None
    assert wanted.kappa is not None
    for value, name in [
        (wanted.accuracy.value, "accuracy"),
        (wanted.accuracy.low, "accuracy_low"),
        (wanted.accuracy.high, "accuracy_high"),
        (wanted.kappa.value, "kappa"),
        (wanted.kappa.low, "ci_low"),
        (wanted.kappa.high, "ci_high"),
    ]:
        assert found[name] == pytest.approx(value, rel=1e-9)


def test_agreement_is_cut_by_model(registry: Registry) -> None:
    cut = {row["slice_value"]: row["n_expected"] for row in registry.agreement("qorgau_ru") if row["slice"] == "model"}
    assert cut == dict.fromkeys(("GPT-4", "Llama-70B", "Claude", "Yandex-GPT", "Vikhr"), 200)


def test_labelled_answers_stand_on_no_board(board: list[Record]) -> None:
    assert {row["model"] for row in board} == set(MODELS)


def test_everything_twice_changes_nothing(registry: Registry, real_data: Path) -> None:
    before = registry.checksums()
    assert bring_in(registry, real_data) == [False] * 8
    assert registry.checksums() == before


def test_nothing_dangles(registry: Registry) -> None:
    assert rows_of(registry, "SELECT * FROM integrity") == []
    assert rows_of(registry, "SELECT * FROM conflict") == []


def test_a_rebuild_gives_the_same_tables(registry: Registry) -> None:
    before = registry.checksums()
    assert registry.rebuild() == before
    assert registry.checksums() == before


def test_the_same_through_the_command_line(registry: Registry) -> None:
    folder = registry.context.store.path.parent
    shown = run("leaderboard", "qorgau_ru", cwd=folder)
    assert (shown.code, shown.err) == (0, "")
    for model, (_, safe, _, percent, *_) in MODELS.items():
        assert re.search(rf" {model} +{percent:.2f}% .* {safe:,}/4,383 +100\.0%", shown.out)
    agreed = run("agreement", "qorgau_ru", cwd=folder)
    assert agreed.code == 0
    assert "0.522" in agreed.out
    assert run("sql", "from integrity", cwd=folder).out.endswith("(0 rows)\n")


def test_the_order_of_the_lines_does_not_matter(tmp_path: Path, real_data: Path) -> None:
    """The number at the end of `custom_id` says the row."""
    file = outputs(real_data, MODELS["Claude"][0])
    lines = file.read_bytes().splitlines(keepends=True)
    (tmp_path / "shuffled.jsonl").write_bytes(b"".join(reversed(lines)))
    assert read_batch(tmp_path / "shuffled.jsonl") == read_batch(file)


def test_the_readme_s_commands_print_the_readme_s_board(tmp_path: Path, real_data: Path) -> None:
    """As a person would: the released files in one folder, named as they are."""
    readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    commands, printed = re.findall(r"```(?:sh|text)\n(.*?)```", readme.split("## A real board")[1], re.DOTALL)[:2]
    for file in [real_data / "qorgau_ru" / "questions_ru.csv", *(real_data / "qorgau_ru" / "judge_outputs").iterdir()]:
        (tmp_path / file.name).symlink_to(file)
    for line in commands.strip().splitlines():
        done = run(*shlex.split(line)[1:], cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    for line in printed.splitlines():
        assert line == "…" or line in done.out.splitlines()
