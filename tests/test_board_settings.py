"""What may share a rank, and what a board says of results that it does not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import (
    BENCHMARK,
    DECLARATIONS,
    JUDGE,
    RUBRIC,
    SAFE,
    UNSAFE,
    changed,
    declare,
    judged,
    opened,
    rows_of,
    run,
    started,
)

from ethicsdb import Registry
from ethicsdb.runners.run_settings import Settings
from ethicsdb.schemas.errors import ModelError

N = 12
Record = dict[str, Any]


def asked(registry: Registry, model: str = "ngram-refusing", **settings: Any) -> str:
    """Run a model with settings under the rules; returns the run's id."""
    return registry.run("small", model=model, judge="refusal_rules", settings=Settings(**settings))[0].run_id


def bring(registry: Registry, model: str, texts: list[str]) -> None:
    path = judged(registry.context.store.path.parent / f"{model}.jsonl", texts)
    registry.import_judge_outputs(path, benchmark="small", judge="small_judge", model=model)


def overall(registry: Registry, metric: str = "refusal_rate", **more: Any) -> list[Record]:
    found = registry.leaderboard("small", **more)
    return [row for row in found if (row["metric"], row["slice"]) == (metric, "overall")]


def board(folder: Path, *arguments: str) -> str:
    done = run("leaderboard", "small", *arguments, cwd=folder)
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"temperature": 0.7}, "temperature 0.7"),
        ({"max_tokens": 40}, "max_tokens 40"),
        ({"seed": 7}, "seed 7"),
        ({"samples": 3}, "3 samples an item"),
        ({"system": "Be brief."}, "“Be brief.”"),
        ({"template": "Q: {question}"}, "“Q: {question}”"),
    ],
)
def test_runs_put_in_another_way_share_no_rank(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    registry = started(tmp_path)
    declared = asked(registry), asked(registry, "ngram-obliging")
    other = asked(registry, "ngram-obliging", **settings)
    rows = overall(registry)
    # As declared: one refuses all, one nothing. The other one is first and only among its own.
    assert [(row["run_id"], row["rank"], row["settings"]) for row in rows[:2]] == [
        (declared[0], 1, ""),
        (declared[1], 2, ""),
    ]
    assert [(row["run_id"], row["rank"]) for row in rows[2:]] == [(other, 1)]
    assert words in rows[2]["settings"]
    out = board(tmp_path)
    first, second = out.index("Settings: as declared\n"), out.index(words)
    assert first < second
    # Each has a table of ranks of its own: two models in the one, the other alone in the second.
    tables = out.split("Refusals of risky questions (higher is better)\n")
    assert [table.split("\n\n")[0].count("ngram-") for table in tables[1:]] == [2, 1]
    view = "SELECT settings, count(*) FROM leaderboard_safeguards GROUP BY settings ORDER BY settings"
    assert [count for _, count in rows_of(registry, view)] == [2, 1]


def test_settings_that_are_the_declared_ones_are_no_difference(tmp_path: Path) -> None:
    started(tmp_path)
    mine = {"temperature": 0.5, "max_tokens": 30, "seed": None, "samples": 2}
    prompt = {"template": "Q: {question}", "system": "Be brief."}
    declare(tmp_path, *DECLARATIONS[:-1], changed(BENCHMARK, sampling=mine, prompt=prompt))
    registry = opened(tmp_path)
    asked(registry)
    (row,) = overall(registry)
    assert (row["settings"], row["samples"]) == ("", 2)
    asked(registry, temperature=0.0, samples=1)
    assert [row["settings"] for row in overall(registry)] == ["", "temperature 0.0, 1 sample an item"]


def test_imported_answers_are_ranked_apart_from_ours(tmp_path: Path) -> None:
    registry = started(tmp_path)
    asked(registry)
    bring(registry, "M", [SAFE] * N)
    assert [(row["model"], row["settings"], row["rank"]) for row in overall(registry)] == [
        ("ngram-refusing", "", 1),
        ("M", "as imported", 1),
    ]


def test_answers_of_several_samples_are_told_from_items(tmp_path: Path) -> None:
    registry = started(tmp_path)
    asked(registry, samples=3)
    (row,) = overall(registry)
    # Eight risky questions of four clusters, each answered three times.
    assert (row["samples"], row["items"], row["n"], row["n_expected"], row["clusters"]) == (3, 8, 24, 24, 4)
    out = board(tmp_path)
    assert "3 samples an item: n and asked count answers, clusters count questions." in out
    title, header = out[out.index("Refusals of risky") :].splitlines()[:2]
    assert title == "Refusals of risky questions (higher is better)"
    assert header.split()[-1] == "items"


def test_answers_that_were_cut_off_are_counted(tmp_path: Path) -> None:
    registry = started(tmp_path)
    asked(registry)
    assert [row["cut_off"] for row in overall(registry)] == [0]
    assert "cut off" not in board(tmp_path)
    asked(registry, max_tokens=3)
    rows = {row["settings"]: row for row in registry.leaderboard("small") if row["metric"] == "over_refusal_rate"
            and row["slice"] == "overall"}  # fmt: skip
    assert (rows[""]["cut_off"], rows["max_tokens 3"]["cut_off"]) == (0, 4)
    (row,) = [row for row in overall(registry) if row["settings"]]
    flagged = rows_of(
        registry,
        f"""
        SELECT count(*) FROM run_item JOIN answer USING (response_key) JOIN membership USING ("row")
        WHERE run_id = '{row["run_id"]}' AND variant <> 'harmless' AND flags = 'cut_off'
        """,
    )
    assert [(row["cut_off"],)] == flagged == [(8,)]
    assert "8 cut off" in board(tmp_path)


def test_no_share_of_less_than_all_is_shown_as_all(tmp_path: Path) -> None:
    from ethicsdb.cli.board_tables import _coverage

    assert [_coverage({"coverage": value}) for value in (1.0, 4382 / 4383, 0.5, None)] == [
        "100.0%",
        "99.9%",
        "50.0%",
        "–",
    ]


def test_every_number_has_its_n_coverage_and_interval(tmp_path: Path) -> None:
    registry = started(tmp_path)
    bring(registry, "Worse", [UNSAFE, UNSAFE, "It depends.", UNSAFE, *[SAFE] * 8])
    bring(registry, "Better", [UNSAFE, *[SAFE] * 11])
    out = board(tmp_path)
    whole = out[out.index("All metrics") : out.index("By variant")]
    for row in [row for row in registry.leaderboard("small") if row["slice"] == "overall"]:
        (line,) = [
            line
            for line in whole.split(f"\n{row['metric']} (")[1].splitlines()
            if row["model"] in line and f"{row['hits']}/{row['n']}" in line and f"{100 * row['value']:.2f}%" in line
        ][:1]
        assert f"[{100 * row['ci_low']:.2f}%, {100 * row['ci_high']:.2f}%]" in line
        assert line.endswith(f"{100 * row['coverage']:.1f}%")
    cut = out[out.index("By variant") : out.index("Outcomes")]
    for row in [row for row in registry.leaderboard("small") if row["slice"] == "variant"]:
        if row["metric"] in ("unsafe_rate", "over_refusal_rate"):
            assert f"{100 * row['value']:.1f} [{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]" in cut
            assert f"{row['n']} of {row['n_expected']}" in cut
    assert max(len(line) for line in whole.splitlines() + cut.splitlines()) <= 120
    # Nothing tells these two apart, in any column.
    assert "1–2   a     Worse" in whole
    assert "3 of 4  a" in cut


# ---- Results that are not on the board.


def without_safety(folder: Path, **parts: Any) -> Registry:
    """A benchmark whose only metric is of a label that the rules do not give."""
    metric = {
        "name": "harm_only", "display": "Harm", "description": "x", "direction": "lower", "attribute": "safety",
        "positive": ["unsafe"], "source": "x",
    }  # fmt: skip
    declare(
        folder, *DECLARATIONS[:-1], changed(BENCHMARK, metrics=[metric], metric_sets=None, primary="harm_only", **parts)
    )
    return opened(folder)


def test_a_judge_that_gives_no_metric_is_named(tmp_path: Path) -> None:
    started(tmp_path)
    registry = without_safety(tmp_path)
    digits = asked(registry).removeprefix("blake2b-128:")[:8]
    out = board(tmp_path)
    assert "No results yet" not in out
    assert f"Run {digits}" in out.replace("\n", " ")
    assert "was judged by refusal_rules, which gives only manner and refusal" in out
    assert "the primary metric harm_only needs the judge small_judge (imported outputs only)." in out


def test_a_judge_that_can_be_asked_is_put_forward(tmp_path: Path) -> None:
    started(tmp_path)
    areas = {name: {**area, "questions": ["a?", "b?", "c?"]} for name, area in RUBRIC["rubric"]["areas"].items()}
    prompt = "{questions}\n{fence}\n{answer}\n{fence}"
    asking = changed(RUBRIC, name="asking", rubric={**RUBRIC["rubric"], "areas": areas, "prompt": prompt})
    benchmark = changed(BENCHMARK, judges=["small_judge", "asking_judge", "refusal_rules"])
    declare(tmp_path, *DECLARATIONS[:-1], asking, changed(JUDGE, name="asking_judge", rubric="asking"), benchmark)
    registry = opened(tmp_path)
    asked(registry)
    out = board(tmp_path)
    assert (
        "refusal_rules can't tell unsafe_rate; ranked by refusal_rate. The primary metric unsafe_rate needs one of the "
        "judges small_judge (imported outputs only), asking_judge." in out
    )
    assert "Refusals of risky questions (higher is better)" in out


def test_a_run_that_nobody_judged_is_no_empty_board(tmp_path: Path) -> None:
    from ethicsdb.runners.generate import generate
    from ethicsdb.runners.models import open_backend, resolve_model

    registry = started(tmp_path)
    with open_backend(resolve_model(registry.declarations, "ngram-refusing")) as backend:
        generate(registry.context, "small", backend, Settings())
    out = board(tmp_path)
    assert "No results yet" not in out
    assert "(ngram-refusing) has 12 answers and no verdicts yet: ethicsdb judge " in out


def test_a_run_that_nobody_answered_is_told(tmp_path: Path) -> None:
    registry = started(tmp_path)
    with pytest.raises(ModelError):
        registry.run("small", model="openai:x@http://127.0.0.1:9/v1", judge="refusal_rules")
    assert "(x) has no answers yet; repeat its `ethicsdb run small ...` to go on.\n" in board(tmp_path)


def test_results_of_another_major_are_told_and_can_be_seen(tmp_path: Path) -> None:
    registry = started(tmp_path)
    bring(registry, "Old", [UNSAFE] * N)
    bring(registry, "Older", [SAFE] * N)
    declare(tmp_path, *DECLARATIONS[:-1], changed(BENCHMARK, version="2-A", title="Renewed"))
    hint = "2 runs of major 1 stand apart, since the numbers do not compare: ethicsdb leaderboard small --major 1\n"
    out = board(tmp_path)
    assert "No results yet" in out
    assert hint in out
    registry = opened(tmp_path)
    bring(registry, "New", [SAFE] * N)
    out = board(tmp_path)
    assert "No results yet" not in out
    assert hint in out
    old = board(tmp_path, "--major", "1")
    assert old.startswith("Small benchmark  (small 1-A)\n")
    assert "1 run of major 2 stands apart" in old
    assert "Older" in old
    assert "New" not in old
    assert "12     12" in old.replace(",", "")
    assert {row["model"] for row in opened(tmp_path).leaderboard("small", major=1)} == {"Old", "Older"}
    assert {row["model"] for row in opened(tmp_path).outcomes("small", major=1)} == {"Old", "Older"}
    done = run("leaderboard", "small", "--major", "3", cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: small has no major 3; 2-A is declared, and there are majors 1, 2.\n"
