"""Boards of a few rows, against numbers worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import (
    BENCHMARK,
    DECLARATIONS,
    JUDGE,
    PUBLISHED,
    REFUSED,
    SAFE,
    UNREADABLE,
    UNSAFE,
    changed,
    declare,
    judged,
    opened,
    questions,
    rows_of,
    run,
    started,
    write_csv,
)

from ethicsdb import Registry
from ethicsdb.runners.statistics.intervals import rate

N = 12  # rows: four questions, each direct, indirect and harmless, in this order
Record = dict[str, Any]


def bring(registry: Registry, model: str, texts: list[str], judge: str = "small_judge") -> None:
    folder = registry.context.store.path.parent
    path = judged(folder / f"{model}.jsonl", texts)
    registry.import_judge_outputs(path, benchmark="small", judge=judge, model=model)


def rows(registry: Registry, metric: str, slice_: str = "overall", **more: Any) -> list[Record]:
    found = registry.leaderboard("small", **more)
    return [row for row in found if (row["metric"], row["slice"]) == (metric, slice_) and row["source"] != "published"]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return started(tmp_path)


def test_a_board_by_hand(registry: Registry) -> None:
    # Questions 0 to 3: direct, indirect, harmless.
    texts = [
        UNSAFE, SAFE, SAFE,
        REFUSED, REFUSED, REFUSED,
        SAFE, UNSAFE, UNREADABLE,
        UNSAFE, UNSAFE, SAFE,
    ]  # fmt: skip
    bring(registry, "M", texts)
    by_metric = {row["metric"]: row for row in registry.leaderboard("small") if row["slice"] == "overall"}
    counted = {name: (row["hits"], row["n"], row["n_expected"]) for name, row in by_metric.items()}
    assert counted == {
        "unsafe_rate": (4, 11, 12),
        "unsafe_rate_published": (4, 12, 12),
        "safe_rate_published": (8, 12, 12),
        "refusal_rate": (2, 8, 8),
        "over_refusal_rate": (1, 3, 4),
    }
    unsafe = by_metric["unsafe_rate"]
    assert unsafe["value"] == 4 / 11
    assert unsafe["coverage"] == 11 / 12
    assert (unsafe["bound_low"], unsafe["bound_high"]) == (4 / 12, 5 / 12)
    assert unsafe["clusters"] == 4
    # The same interval as the statistics in Python, clustered by question.
    scored = [(number // 3, text) for number, text in enumerate(texts) if text != UNREADABLE]
    wanted = rate([float(text == UNSAFE) for _, text in scored], [question for question, _ in scored])
    assert wanted is not None
    for column, value in (("value", wanted.value), ("ci_low", wanted.low), ("ci_high", wanted.high), ("df", wanted.df)):
        assert unsafe[column] == pytest.approx(value, rel=1e-12)
    assert unsafe["method"] == wanted.method
    cut = {row["slice_value"]: (row["hits"], row["n"]) for row in rows(registry, "unsafe_rate", "variant")}
    assert cut == {"direct": (2, 4), "indirect": (2, 4), "harmless": (0, 3)}
    areas = {row["slice_value"]: (row["hits"], row["n"]) for row in rows(registry, "unsafe_rate", "risk_area")}
    assert areas == {"lies": (2, 5), "harm": (2, 6)}


def test_slices_add_up(registry: Registry) -> None:
    for model, seed in (("A", 0), ("B", 5)):
        bring(registry, model, [(SAFE, UNSAFE, REFUSED, UNREADABLE)[(number * 7 + seed) % 4] for number in range(N)])
    board = registry.leaderboard("small")
    for whole in [row for row in board if row["slice"] == "overall" and row["source"] != "published"]:
        for slice_ in ("variant", "risk_area", "language"):
            parts = [
                row
                for row in board
                if (row["run_id"], row["metric"], row["slice"]) == (whole["run_id"], whole["metric"], slice_)
            ]
            assert sum(row["n"] for row in parts) == whole["n"]
            assert sum(row["hits"] for row in parts) == whole["hits"]
            assert sum(row["n_expected"] for row in parts) == whole["n_expected"]


def test_an_empty_denominator_is_no_number(registry: Registry) -> None:
    """Nothing of the harmless rows could be read: no rate, and certainly not 0."""
    bring(registry, "M", [UNREADABLE if number % 3 == 2 else SAFE for number in range(N)])
    (row,) = rows(registry, "over_refusal_rate")
    assert (row["hits"], row["n"], row["n_expected"], row["coverage"]) == (0, 0, 4, 0.0)
    assert row["value"] is row["ci_low"] is row["ci_high"] is row["stderr"] is row["rank"] is None
    assert (row["bound_low"], row["bound_high"]) == (0.0, 1.0)
    shown = run("leaderboard", "small", cwd=registry.context.store.path.parent)
    assert shown.code == 0
    assert re.search(r"over_refusal_rate .* M +– +– +0/0 +0.0%", shown.out)


def test_nothing_at_all_could_be_read(registry: Registry) -> None:
    bring(registry, "M", [UNREADABLE] * N)
    bring(registry, "Other", [SAFE] * N)
    by_model = {row["model"]: row for row in rows(registry, "unsafe_rate")}
    assert by_model["M"]["value"] is by_model["M"]["rank"] is None
    assert by_model["M"]["n_expected"] == N
    assert by_model["Other"]["rank"] == 1
    # By the published rule an output without an answer is safe, and every row counts.
    published = {row["model"]: row["value"] for row in rows(registry, "unsafe_rate_published")}
    assert published == {"M": 0.0, "Other": 0.0}
    assert run("leaderboard", "small", cwd=registry.context.store.path.parent).code == 0


@pytest.mark.parametrize("order", ["ABC", "BCA", "CAB"])
def test_ties_share_a_rank_whatever_the_order(registry: Registry, order: str) -> None:
    texts = {
        "A": [UNSAFE, *[SAFE] * (N - 1)],
        "B": [*[SAFE] * (N - 1), UNSAFE],
        "C": [UNSAFE, UNSAFE, *[SAFE] * (N - 2)],
    }
    for model in order:
        bring(registry, model, texts[model])
    board = [row for row in registry.leaderboard("small") if row["slice"] == "overall"]
    # Unsafe answers: lower is better. Safe answers: higher is better, and the order is the same.
    for metric in ("unsafe_rate", "safe_rate_published"):
        assert {row["model"]: row["rank"] for row in board if row["metric"] == metric} == {"A": 1, "B": 1, "C": 3}


def test_tables_list_models_as_the_board_does(registry: Registry) -> None:
    bring(registry, "Worst", [UNSAFE] * N)
    bring(registry, "Middle", [UNSAFE] * 6 + [SAFE] * 6)
    bring(registry, "Best", [SAFE] * N)
    out = run("leaderboard", "small", cwd=registry.context.store.path.parent).out
    for title in ("Unsafe answers (lower is better)", "All metrics", "By variant"):
        table = out[out.index(title) :].split("\n\n")[0]
        places = [table.index(model) for model in ("Best", "Middle", "Worst")]
        assert places == sorted(places)


COUNTED = {
    "model": "M",
    "values": {"unsafe_rate": 0.25, "unsafe_rate@variant=direct": 0.5},
    "hits": {"unsafe_rate": 3},
    "n": 12,
}


def test_published_rows_are_marked_and_never_ranked(tmp_path: Path) -> None:
    registry = started(tmp_path)
    declare(tmp_path, *DECLARATIONS, changed(PUBLISHED, rows=[COUNTED]))
    registry = opened(tmp_path)
    bring(registry, "M", [SAFE] * N)
    found = [row for row in registry.leaderboard("small") if row["source"] == "published"]
    assert [(row["slice"], row["slice_value"], row["value"], row["hits"], row["n"]) for row in found] == [
        ("overall", "", 0.25, 3, 12),
        ("variant", "direct", 0.5, None, None),
    ]
    for row in found:
        assert row["paper"] == "Us (2025), Table 1"
        assert row["ci_low"] is row["ci_high"] is row["stderr"] is row["rank"] is row["coverage"] is None
    assert [row["rank"] for row in rows(registry, "unsafe_rate")] == [1]
    out = run("leaderboard", "small", cwd=tmp_path).out
    assert "Published figures (as printed; no intervals are worked out from them)" in out


def test_a_published_figure_that_is_withdrawn_goes(tmp_path: Path) -> None:
    started(tmp_path)
    declare(tmp_path, *DECLARATIONS, changed(PUBLISHED, rows=[COUNTED]))
    assert len([row for row in opened(tmp_path).leaderboard("small") if row["source"] == "published"]) == 2
    declare(tmp_path)
    assert opened(tmp_path).leaderboard("small") == []


def test_a_changed_declaration_shows_at_once(tmp_path: Path) -> None:
    registry = started(tmp_path)
    bring(registry, "M", [UNSAFE] * N)
    metric = {
        "name": "harm_only",
        "display": "Harm",
        "description": "x",
        "direction": "lower",
        "attribute": "safety",
        "positive": ["unsafe"],
        "source": "x",
    }
    mine = changed(BENCHMARK, metrics=[metric], metric_sets=None, primary="harm_only")
    declare(tmp_path, *DECLARATIONS[:-1], mine)
    assert {row["metric"] for row in opened(tmp_path).leaderboard("small")} == {"harm_only"}
    assert run("leaderboard", "small", cwd=tmp_path).code == 0
    assert opened(tmp_path).rebuild() == opened(tmp_path).checksums()


def test_majors_are_never_mixed(tmp_path: Path) -> None:
    registry = started(tmp_path)
    bring(registry, "Old", [UNSAFE] * N)
    declare(tmp_path, *DECLARATIONS[:-1], changed(BENCHMARK, version="2-A"))
    registry = opened(tmp_path)
    assert registry.leaderboard("small") == []
    assert registry.outcomes("small") == []
    bring(registry, "New", [SAFE] * N)
    assert {(row["model"], row["major"]) for row in registry.leaderboard("small")} == {("New", 2)}
    # Both stand in the file, each under its number, and ranks do not compare them.
    query = (
        "SELECT model, major, rank FROM leaderboard WHERE metric = 'unsafe_rate' AND slice = 'overall' ORDER BY major"
    )
    assert rows_of(registry, query) == [("Old", 1, 1), ("New", 2, 1)]
    # A change of the letter alone keeps the board.
    declare(tmp_path, *DECLARATIONS[:-1], changed(BENCHMARK, version="2-B"))
    assert {row["model"] for row in opened(tmp_path).leaderboard("small")} == {"New"}


def test_versions_of_the_data_are_ranked_apart(tmp_path: Path) -> None:
    registry = started(tmp_path)
    bring(registry, "A", [UNSAFE] * N)
    registry.build("small", write_csv(tmp_path / "small.csv", questions(5)))
    bring(registry, "B", [UNSAFE] * (N + 3))
    found = {row["model"]: (row["version"], row["rank"]) for row in rows(registry, "unsafe_rate")}
    assert found == {"A": ("v1", 1), "B": ("v2", 1)}
    out = run("leaderboard", "small", cwd=tmp_path).out
    assert "Data: small v1" in out
    assert "Data: small v2" in out


def test_two_names_for_one_judge_do_not_double_the_board(tmp_path: Path) -> None:
    started(tmp_path)
    declare(tmp_path, *DECLARATIONS, changed(JUDGE, name="same_judge"))
    registry = opened(tmp_path)
    bring(registry, "M", [SAFE] * N)
    assert len(rows(registry, "unsafe_rate")) == 1
    assert sum(row["n"] for row in registry.outcomes("small")) == N
    people = write_csv(
        tmp_path / "p.csv", [("original question 0?", "M", "a", "safe")], ("question", "model", "response", "label")
    )
    registry.import_labels(people, benchmark="small")
    path = judged(tmp_path / "out.jsonl", [SAFE])
    registry.import_judge_outputs(path, benchmark="small", judge="same_judge", rows_of="p")
    assert (
        len([row for row in registry.agreement("small") if (row["slice"], row["rule"]) == ("overall", "strict")]) == 1
    )


def test_an_unknown_slice_gets_a_suggestion(registry: Registry) -> None:
    bring(registry, "M", [SAFE] * N)
    folder = registry.context.store.path.parent
    done = run("leaderboard", "small", "--slice", "varient", cwd=folder)
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: No row of this board is cut by `varient`; did you mean `variant`?\n"
    cut = run("leaderboard", "small", "--slice", "variant", cwd=folder)
    assert cut.code == 0
    for variant in ("direct", "indirect", "harmless"):
        assert f"Unsafe answers, variant: {variant} (lower is better)" in cut.out


def test_a_board_without_results(registry: Registry) -> None:
    done = run("leaderboard", "small", cwd=registry.context.store.path.parent)
    assert done.code == 0
    assert "No results yet. Bring some in with `ethicsdb run small --model M` or `ethicsdb import`." in done.out
    assert run("agreement", "small", cwd=registry.context.store.path.parent).out.startswith(
        "No answer of small has both a person's label and a verdict"
    )
