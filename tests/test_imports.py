"""Judge outputs and label sheets from elsewhere: taken whole, once, with every row accounted for, or refused."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import (
    DATASET,
    DECLARATIONS,
    JUDGE,
    MODEL,
    REFUSED,
    RUBRIC,
    SAFE,
    UNREADABLE,
    UNSAFE,
    Row,
    batch_line,
    changed,
    declare,
    judged,
    opened,
    questions,
    rows_of,
    run,
    started,
    write_batch,
    write_csv,
)

from ethicsdb import Registry
from ethicsdb.registry.journal import read_lines
from ethicsdb.registry.journal_order import paths
from ethicsdb.registry.migrations import migrate
from ethicsdb.runners.identity import judge_identity
from ethicsdb.runners.imports.common import Imported
from ethicsdb.schemas.errors import NotFoundError, SourceError
from ethicsdb.schemas.fingerprint import short
from ethicsdb.schemas.rubrics import attributes_of

N = 12  # rows of the small data set of four questions


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return started(tmp_path)


def bring(registry: Registry, path: Path, **parts: Any) -> Imported:
    given = {"benchmark": "small", "judge": "small_judge", "model": "M", **parts}
    return registry.import_judge_outputs(path, **given)


def refused(registry: Registry, path: Path, **parts: Any) -> str:
    before = journals(registry)
    with pytest.raises((SourceError, NotFoundError)) as caught:
        bring(registry, path, **parts)
    assert journals(registry) == before
    return str(caught.value)


def journals(registry: Registry) -> list[tuple[str, int]]:
    """What there is to read; where it stays the same, nothing was brought in."""
    return [(path.name, path.stat().st_size) for path in paths(registry.context.store.journals)]


def ended(registry: Registry, model: str = "M") -> Counter[tuple[str, str | None]]:
    """How the rows of a model's run ended."""
    rows = [row for row in registry.outcomes("small") if row["model"] == model]
    assert {row["n_expected"] for row in rows} == {N}
    assert sum(row["n"] for row in rows) == N
    return Counter({(row["outcome"], row["reason"]): row["n"] for row in rows})


def run_of(registry: Registry, model: str = "M") -> str:
    """The first digits of the run of a model."""
    (mark,) = [row["run_id"] for row in registry.runs() if row["model"] == model]
    return short(mark)


# ---- Judge outputs.


def test_every_row_is_accounted_for(registry: Registry, tmp_path: Path) -> None:
    texts = [SAFE, UNSAFE, REFUSED, UNREADABLE, "1. No\n2. Yes", "I'm sorry, but I can't help with that."] + [SAFE] * 6
    done = bring(registry, judged(tmp_path / "out.jsonl", texts))
    assert (done.name, done.new, done.rows) == ("out", True, N)
    assert done.counts == {"parsed": 9, "unparsable": 2, "refused": 1}
    assert done.aligned_with == "rows of small v1 in the order of small.csv"
    assert ended(registry) == {
        ("scored", None): 9,
        ("unparsable", "no_answer"): 1,
        ("unparsable", "too_few"): 1,
        ("judge_refused", "no_answer"): 1,
    }
    assert rows_of(registry, "FROM integrity") == []


def test_rows_that_the_file_lacks(registry: Registry, tmp_path: Path) -> None:
    lines = [batch_line(row, SAFE) for row in range(N) if row not in (3, 11)]
    path = write_batch(tmp_path / "out.jsonl", lines)
    assert refused(registry, path) == (
        "out.jsonl: 10 lines for 12 rows; row 3 is the first that is missing. If the file is whole as it is, say "
        "--partial: its missing rows then end as errors. Nothing was imported."
    )
    done = bring(registry, path, partial=True)
    assert (done.rows, done.lines, done.missing, done.counts) == (N, N - 2, 2, {"parsed": N - 2})
    assert ended(registry) == {("scored", None): N - 2, ("error", "missing_in_file"): 2}
    row = next(
        row for row in registry.leaderboard("small") if row["metric"] == "unsafe_rate" and row["slice"] == "overall"
    )
    assert (row["n"], row["n_expected"], row["bound_low"], row["bound_high"]) == (N - 2, N, 0.0, 2 / N)


def test_lines_that_failed(registry: Registry, tmp_path: Path) -> None:
    failed: list[dict[str, Any]] = [
        {"custom_id": "r-0", "response": {"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded"}}}},
        {"custom_id": "r-1", "response": {"status_code": 500, "body": {}}, "error": None},
        {"custom_id": "r-2", "response": None, "error": {"code": "batch_expired", "message": "late"}},
        {"custom_id": "r-3", "response": {"status_code": 200, "body": None}, "error": "odd"},
        batch_line(4, None, choices=[{"finish_reason": "content_filter", "message": {"content": None}}]),
        batch_line(5, None, choices=[{"finish_reason": "content_filter", "message": {"content": "1. N"}}]),
        batch_line(6, None, choices=[{"finish_reason": "stop", "message": {"content": None, "refusal": "I can't."}}]),
    ]
    lines = [*failed, *[batch_line(row, SAFE) for row in range(7, N)]]
    bring(registry, write_batch(tmp_path / "out.jsonl", lines))
    found = ended(registry)
    assert found.pop(("judge_refused", "no_answer")) == 1
    assert found == {
        ("error", "rate_limit_exceeded"): 1,
        ("error", "http_500"): 1,
        ("error", "batch_expired"): 1,
        ("error", "failed"): 1,
        ("judge_refused", "content_filter"): 2,
        ("scored", None): 5,
    }


def test_a_second_time_changes_nothing(registry: Registry, tmp_path: Path) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE] * N)
    bring(registry, path)
    before = registry.checksums()
    same = bring(registry, path)
    assert not same.new
    # Other ways of saying the same.
    assert not bring(registry, path, benchmark="small@v1").new
    assert not bring(registry, path, revision="unknown").new
    assert registry.checksums() == before


def test_outputs_of_one_file_are_about_one_model(registry: Registry, tmp_path: Path) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE, *[UNSAFE] * (N - 1)])
    bring(registry, path)
    told = refused(registry, path, model="Other")
    assert told.startswith("out.jsonl: these very outputs were imported as those about `M` (revision unknown).")
    assert refused(registry, path, model=" ") == (
        "--model is empty; name the model whose answers were judged. Nothing was imported."
    )
    assert refused(registry, path, model="\u200b").startswith("--model is empty;")
    assert not bring(registry, path, model=" M ").new
    assert bring(registry, path, model="Other", same_outputs=True).new
    # A run that was brought under a wrong name can be taken back.
    (wrong,) = [row["run_id"] for row in registry.runs() if row["model"] == "Other"]
    assert registry.withdraw(wrong) == ("run", wrong, True)
    assert registry.withdraw(wrong) == ("run", wrong, False)
    assert {row["model"] for row in registry.leaderboard("small") if row["source"] != "published"} == {"M"}
    assert {row["model"] for row in registry.outcomes("small")} == {"M"}
    assert {row["model"]: row["withdrawn"] for row in registry.runs()} == {"M": False, "Other": True}
    assert registry.withdraw(wrong, undo=True) == ("run", wrong, True)
    assert {row["model"] for row in registry.outcomes("small")} == {"M", "Other"}


def test_the_order_of_lines_does_not_matter(registry: Registry, tmp_path: Path) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE, *[UNSAFE] * (N - 1)])
    bring(registry, path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    shuffled = tmp_path / "shuffled.jsonl"
    shuffled.write_text("".join(reversed(lines)), encoding="utf-8")
    assert not bring(registry, shuffled).new
    assert len(registry.runs()) == 1


def test_outputs_that_the_judge_can_not_read(registry: Registry, tmp_path: Path) -> None:
    done = bring(registry, judged(tmp_path / "out.jsonl", ["The answer looks fine to me."] * N))
    assert done.warnings == [
        "only 0 of 12 outputs could be read by the judge `small_judge` (of the others, 12: no_answer); was another "
        "judge or benchmark meant? If it is wrong, take it back: "
        f"ethicsdb withdraw {run_of(registry)} --judge small_judge"
    ]
    board = {row["metric"]: row for row in registry.leaderboard("small") if row["slice"] == "overall"}
    # The strict rate stands without a number, beside that of a published rule that counts such outputs as safe.
    strict = board["unsafe_rate"]
    assert (strict["value"], strict["n"], strict["n_expected"], strict["coverage"]) == (None, 0, N, 0.0)
    assert (strict["bound_low"], strict["bound_high"]) == (0.0, 1.0)


def test_labels_of_judges_whose_journals_do_not_name_them(registry: Registry) -> None:
    """Journals were written before a judge's labels stood in them; its identity holds its rubric."""
    older = {"numbered", "classes", "refusal_rules"}  # other forms came later
    rubrics = [registry.declarations.rubric(name) for name in registry.declarations.names("rubric")]
    rubrics = [rubric for rubric in rubrics if rubric.rubric.form in older]
    assert {rubric.rubric.form for rubric in rubrics} == older
    connection = duckdb.connect()
    migrate(connection)
    wanted = set()
    for rubric in rubrics:
        judge = registry.declarations.judge("small_judge").model_copy(update={"rubric": rubric.name})
        identity = judge_identity(judge, rubric, None)
        columns = ", ".join(identity.record)
        marks = ", ".join("?" for _ in identity.record)
        connection.execute(f"INSERT INTO judge ({columns}) VALUES ({marks})", list(identity.record.values()))
        wanted |= {(identity.fingerprint, attribute) for attribute in attributes_of(rubric.rubric)}
    found = connection.execute("SELECT judge_fingerprint, attribute FROM judge_gives").fetchall()
    assert len(found) == len(wanted)
    assert set(found) == wanted


def test_one_judge_s_verdicts_are_taken_back(registry: Registry, tmp_path: Path) -> None:
    """The outputs that were read by a wrong judge are of the same run as those read by the right one."""
    areas = {area: {"expected": [True] * 5, "unsafe_at": 2} for area in ("lies", "harm")}
    wrong = changed(RUBRIC, name="wrong", rubric={**RUBRIC["rubric"], "areas": areas})
    declare(tmp_path, *DECLARATIONS, wrong, changed(JUDGE, name="wrong_judge", rubric="wrong"))
    registry = opened(tmp_path)
    path = judged(tmp_path / "out.jsonl", [SAFE, *[UNSAFE] * (N - 1)])
    (warning,) = bring(registry, path, judge="wrong_judge").warnings
    run_id = run_of(registry)
    assert warning.endswith(f"If it is wrong, take it back: ethicsdb withdraw {run_id} --judge wrong_judge")
    bring(registry, path)
    assert {row["judge"] for row in registry.outcomes("small")} == {"small_judge", "wrong_judge"}
    kind, found, new = registry.withdraw(run_id, judge="wrong_judge")
    assert (kind, short(found), new) == ("verdicts", run_id, True)
    assert registry.withdraw(run_id, judge="wrong_judge")[2] is False
    ours = [row for row in registry.leaderboard("small") if row["source"] != "published"]
    assert {row["judge"] for row in ours} == {"small_judge"}
    assert {row["judge"] for row in registry.outcomes("small")} == {"small_judge"}
    again = bring(registry, path, judge="wrong_judge")
    assert again.warnings[-1] == (
        "these verdicts stand withdrawn, so that no board shows them; "
        f"ethicsdb withdraw {run_id} --judge wrong_judge --undo puts them back"
    )
    assert registry.rebuild() == registry.checksums()
    assert registry.withdraw(run_id, judge="wrong_judge", undo=True)[2]
    assert {row["judge"] for row in registry.outcomes("small")} == {"small_judge", "wrong_judge"}
    with pytest.raises(NotFoundError, match=r"^No judge called `refusal_rules` has judged that"):
        registry.withdraw(run_id, judge="refusal_rules")


def test_a_judge_s_verdicts_on_labelled_answers_are_taken_back(registry: Registry, tmp_path: Path) -> None:
    registry.import_labels(sheet(tmp_path / "p.csv", labelled()), benchmark="small")
    (warning,) = bring(registry, judged(tmp_path / "out.jsonl", ["?"] * 4), model=None, rows_of="p").warnings
    assert warning.endswith("If it is wrong, take it back: ethicsdb withdraw p --judge small_judge")
    assert len(registry.agreement("small")) > 0
    done = run("withdraw", "p", "--judge", "small_judge", cwd=tmp_path)
    assert (done.code, done.out) == (0, "judge small_judge on p is withdrawn\n")
    assert registry.agreement("small") == []
    done = run("withdraw", "p", "--judge", "small_judge", "--undo", cwd=tmp_path)
    assert done.out == "judge small_judge on p stands on the boards again\n"
    assert len(registry.agreement("small")) > 0


def test_a_withdrawn_run_that_is_imported_again(registry: Registry, tmp_path: Path) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE] * N)
    bring(registry, path)
    run_id = run_of(registry)
    registry.withdraw(run_id)
    assert bring(registry, path).warnings == [
        f"the run stands withdrawn, so that no board shows it; ethicsdb withdraw {run_id} --undo puts it back"
    ]


def test_outputs_about_other_rows(tmp_path: Path) -> None:
    """More answers than a row's area has questions: the lines are about other rows, though most of them can be read."""
    areas = {**RUBRIC["rubric"]["areas"], "lies": {"expected": [True, True], "unsafe_at": 1}}
    rubric = changed(RUBRIC, rubric={**RUBRIC["rubric"], "areas": areas})
    declare(tmp_path, DATASET, rubric, *DECLARATIONS[2:])
    registry = opened(tmp_path)
    registry.build("small", write_csv(tmp_path / "small.csv", questions(4)))
    texts = [text for _ in range(2) for text in [*["1. No\n2. Yes"] * 3, *[SAFE] * 3]]
    assert bring(registry, judged(tmp_path / "right.jsonl", texts)).warnings == []
    done = bring(registry, judged(tmp_path / "shifted.jsonl", [texts[-1], *texts[:-1]]), model="Other")
    assert done.warnings == [
        "2 of 12 outputs answer more questions than the rubric has for their row (row 0 is the first); are the lines "
        "about these rows, in this order? If it is wrong, take it back: "
        f"ethicsdb withdraw {run_of(registry, 'Other')} --judge small_judge"
    ]


def test_outputs_of_several_batches(registry: Registry, tmp_path: Path) -> None:
    names = ["a-RU", "b-RU"]
    lines = [{**batch_line(row, SAFE), "custom_id": f"request-{names[row > 8]}-{row}"} for row in range(N)]
    done = bring(registry, write_batch(tmp_path / "out.jsonl", lines))
    assert done.custom_id == "request-a-RU-0"
    assert done.warnings == [
        "the custom_ids are of 2 forms (`request-a-RU-N` 9 times, `request-b-RU-N` 3 times); is the file made of "
        f"several batches? If it is wrong, take it back: ethicsdb withdraw {run_of(registry)} --judge small_judge"
    ]
    # What the requests were called is nothing that the judge said.
    again = write_batch(tmp_path / "again.jsonl", [batch_line(row, SAFE) for row in range(N)])
    assert not bring(registry, again).new
    assert "these very outputs" in refused(registry, again, model="Other")


def test_a_file_that_ends_early(registry: Registry, tmp_path: Path) -> None:
    told = refused(registry, judged(tmp_path / "out.jsonl", [SAFE] * 5))
    assert told == (
        "out.jsonl: 5 lines for 12 rows; row 5 is the first that is missing; was the file cut off, or is it about "
        "other data, or a sheet (--rows-of)? If the file is whole as it is, say --partial: its missing rows then end "
        "as errors. Nothing was imported."
    )


def test_another_judge_for_the_same_file_does_not_double_the_run(registry: Registry, tmp_path: Path) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE, *[UNSAFE] * (N - 1)])
    bring(registry, path)
    stricter = changed(RUBRIC, name="other", rubric={**RUBRIC["rubric"], "first_counts": True})
    declare(tmp_path, *DECLARATIONS, stricter, changed(JUDGE, name="other_judge", rubric="other"))
    registry = opened(tmp_path)
    bring(registry, path, judge="other_judge")
    assert rows_of(registry, "SELECT count(*) FROM run") == [(1,)]
    assert rows_of(registry, "SELECT count(*) FROM run_item") == [(N,)]
    assert rows_of(registry, "FROM integrity") == []
    rows = [
        row for row in registry.leaderboard("small") if row["metric"] == "unsafe_rate" and row["slice"] == "overall"
    ]
    assert [(row["judge"], row["hits"], row["n"]) for row in rows] == [
        ("other_judge", N - 1, N),
        ("small_judge", N - 1, N),
    ]
    assert registry.rebuild() == registry.checksums()


def test_another_file_about_the_same_model_is_another_run(registry: Registry, tmp_path: Path) -> None:
    bring(registry, judged(tmp_path / "a.jsonl", [SAFE] * N))
    bring(registry, judged(tmp_path / "b.jsonl", [UNSAFE] * N))
    rows = [
        row for row in registry.leaderboard("small") if row["metric"] == "unsafe_rate" and row["slice"] == "overall"
    ]
    assert [(row["model"], row["value"]) for row in rows] == [("M", 0.0), ("M", 1.0)]
    runs = {row["run_id"] for row in rows}
    assert len(runs) == 2
    # Which is told, for the one may be meant in place of the other.
    again = bring(registry, tmp_path / "b.jsonl")
    (warning,) = again.warnings
    assert warning.startswith("an earlier import about `M` stands on the board beside this one (12 answers); if this")
    first = next(mark for mark in runs if warning.endswith(f"ethicsdb withdraw {short(mark)}"))
    registry.withdraw(first)
    assert bring(registry, tmp_path / "b.jsonl").warnings == []


def test_equal_items_are_answered_row_by_row(tmp_path: Path) -> None:
    declare(tmp_path)
    registry = opened(tmp_path)
    twice = [questions(1)[0], questions(1)[0], *questions(1)[1:]]
    registry.build("small", write_csv(tmp_path / "small.csv", twice))
    bring(registry, judged(tmp_path / "out.jsonl", [SAFE, UNSAFE, SAFE, SAFE]))
    row = next(
        row for row in registry.leaderboard("small") if row["metric"] == "unsafe_rate" and row["slice"] == "overall"
    )
    assert (row["hits"], row["n"], row["clusters"]) == (1, 4, 1)


BODY = '{"custom_id": "request-0", "response": {"status_code": 200, "body": %s}}'


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "out.jsonl, line 2: not a line of OpenAI Batch output (Expecting property name"),
        ("[1]", "out.jsonl, line 2: expected a JSON object."),
        ("[" * 100_000, "out.jsonl, line 2: not a line of OpenAI Batch output (not readable as UTF-8 JSON)"),
        ("{}", "out.jsonl, line 2, field `custom_id`: expected text that ends in the row number (`request-0`),"),
        ('{"custom_id": "request"}', "out.jsonl, line 2, field `custom_id`: expected text that ends in the row number"),
        ('{"custom_id": 7}', "out.jsonl, line 2, field `custom_id`: expected text that ends in the row number"),
        ('{"custom_id": "r-%s"}' % ("9" * 5000), "out.jsonl: 1 of 1 lines are about no row (`r-99999"),
        ('{"custom_id": "r-0", "response": "none"}', "out.jsonl, line 2, field `response`: expected an object,"),
        ('{"custom_id": "r-0", "response": [1]}', "out.jsonl, line 2, field `response`: expected an object, found"),
        (BODY % "[]", "out.jsonl, line 2, field `body`: expected an object, found list."),
        (BODY % "{}", "out.jsonl, line 2, field `response.body.choices`: expected a list with an answer in it."),
        (BODY % '{"choices": []}', "out.jsonl, line 2, field `response.body.choices`: expected a list with"),
        (BODY % '{"choices": ["x"]}', "out.jsonl, line 2, field `response.body.choices`: expected a list with"),
        (BODY % '{"choices": {"0": 1}}', "out.jsonl, line 2, field `choices`: expected a list, found dict."),
        (BODY % '{"choices": [{}]}', "out.jsonl, line 2, field `response.body.choices[0].message.content`: expected"),
        (BODY % '{"choices": [{"message": {"content": ["a"]}}]}', "out.jsonl, line 2, field `content`: expected"),
        (BODY % '{"choices": [{"message": {"content": "a"}}], "model": 4}', "out.jsonl, line 2, field `model`:"),
        (
            BODY % '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": "many"}}',
            "out.jsonl, line 2, field `prompt_tokens`: expected a whole number, found str.",
        ),
        (
            BODY % '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 1.5}}',
            "out.jsonl, line 2, field `prompt_tokens`: expected a whole number, found float.",
        ),
    ],
)  # fmt: skip
def test_lines_that_can_not_be_read(registry: Registry, tmp_path: Path, line: str, sentence: str) -> None:
    path = write_batch(tmp_path / "out.jsonl", ["", line])
    found = refused(registry, path)
    assert found.startswith(sentence)
    assert found.endswith("Nothing was imported.")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "out.jsonl: the file holds no lines."),
        (["", "  "], "out.jsonl: the file holds no lines."),
        ([batch_line(3, SAFE), batch_line(3, SAFE)],
         "out.jsonl, lines 1 and 2: row 3 is answered twice (`request-3` and `request-3`); leave one out, or import"),
        ([batch_line(row, SAFE) for row in range(N + 1)],
         "out.jsonl: 1 of 13 lines are about no row (`request-12`); there are 12 rows, 0 to 11; is this the file of"),
        ([batch_line(row, SAFE) for row in range(5, N + 5)],
         "out.jsonl: 5 of 12 lines are about no row (`request-12`, `request-13`, `request-14`, …); there are 12 rows"),
        ([batch_line(row, SAFE) for row in range(1, N + 1)],
         "out.jsonl: 1 of 12 lines are about no row (`request-12`); there are 12 rows, 0 to 11; are the rows numbered"),
        ([batch_line(0, SAFE, model="judge-2")], "out.jsonl, row 0: written by `judge-2`, but the judge"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit(registry: Registry, tmp_path: Path, lines: list[Any], sentence: str) -> None:
    found = refused(registry, write_batch(tmp_path / "out.jsonl", lines))
    assert found.startswith(sentence)
    assert found.endswith("Nothing was imported.")


def test_bytes_that_are_not_text(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(json.dumps(batch_line(0, SAFE)).encode() + b'\n{"custom_id": "\xff"}\n')
    assert refused(registry, path).startswith("out.jsonl, line 2: not a line of OpenAI Batch output (not readable")


def test_a_file_that_was_cut_off_says_so(registry: Registry, tmp_path: Path) -> None:
    whole = judged(tmp_path / "out.jsonl", [SAFE] * N).read_bytes()
    (tmp_path / "out.jsonl").write_bytes(whole[:-30])
    assert "if the file was cut off, download it again" in refused(registry, tmp_path / "out.jsonl")


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"benchmark": "smal"}, "No benchmark is called `smal`. Did you mean `small`?"),
        ({"benchmark": "small@v2"}, "small has no version `v2`; it has v1"),
        ({"benchmark": "qorgau_ru"}, "qorgau_ru has not been built yet: ethicsdb build qorgau_ru"),
        ({"judge": "smal_judge"}, "No judge is called `smal_judge`. Did you mean `small_judge`?"),
        ({"judge": "refusal_rules"}, "The judge `refusal_rules` is a set of rules and has no outputs to import."),
        ({"model": None}, "Say whose answers were judged: either --model NAME or --rows-of IMPORT, not both."),
        ({"rows_of": "sheet"}, "Say whose answers were judged: either --model NAME or --rows-of IMPORT, not both."),
        ({"model": None, "rows_of": "sheet"}, "No import of answers is called `sheet`; none has been made."),
    ],
)  # fmt: skip
def test_what_it_is_told(registry: Registry, tmp_path: Path, parts: dict[str, Any], sentence: str) -> None:
    assert refused(registry, judged(tmp_path / "out.jsonl", [SAFE] * N), **parts).startswith(sentence)


def test_the_judge_s_words_are_kept_exactly(registry: Registry, tmp_path: Path) -> None:
    words = "1. No\n2. Yes\n3. No\n\nПотому что 是 👍 \x00 half \ud83d"
    bring(registry, judged(tmp_path / "out.jsonl", [words]), partial=True)
    found = rows_of(registry, "SELECT text, text_exact, prompt_tokens FROM response WHERE text IS NOT NULL")
    assert found == [(words.replace("\ud83d", "\ufffd"), words.encode("utf-8", "surrogatepass"), 10)]


def test_answers_that_were_not_released_say_so(registry: Registry, tmp_path: Path) -> None:
    bring(registry, judged(tmp_path / "out.jsonl", [SAFE] * N))
    query = """
        SELECT DISTINCT model.name, backend, revision, response.status, text, flags
        FROM run JOIN run_item USING (run_id) JOIN response USING (response_key)
        JOIN model ON model.fingerprint = response.model_fingerprint
    """
    assert rows_of(registry, query) == [("M", "import", "unknown", "completed", None, "text_not_released")]


# ---- Label sheets.

SHEET = ("question", "model", "response", "label")


def sheet(path: Path, rows: list[Row], header: Row = SHEET) -> Path:
    return write_csv(path, rows, header)


def labelled() -> list[Row]:
    """Two models' answers to two direct questions."""
    return [
        (f"original question {number}?", model, f"{model} says {number}", label)
        for number in range(2)
        for model, label in (("A", "safe"), ("B", "unsafe"))
    ]


def label_refused(registry: Registry, path: Path, **parts: Any) -> str:
    before = journals(registry)
    with pytest.raises((SourceError, NotFoundError)) as caught:
        registry.import_labels(path, benchmark="small", **parts)
    assert journals(registry) == before
    return str(caught.value)


def test_labels_and_the_judge_beside_them(registry: Registry, tmp_path: Path) -> None:
    path = sheet(tmp_path / "people.csv", labelled())
    done = registry.import_labels(path, benchmark="small")
    assert (done.name, done.new, done.rows) == ("people", True, 4)
    assert done.counts == {"A: safe": 2, "B: unsafe": 2}
    judge = judged(tmp_path / "out.jsonl", [SAFE, UNSAFE, UNSAFE, UNREADABLE])
    bring(registry, judge, model=None, rows_of="people")
    rows = {row["rule"]: row for row in registry.agreement("small") if row["slice"] == "overall"}
    strict = rows["strict"]
    cells = ("both_negative", "judge_only", "person_only", "both_positive")
    assert [strict[cell] for cell in cells] == [1, 1, 0, 1]
    assert (strict["n"], strict["n_expected"], strict["clusters"]) == (3, 4, 2)
    assert [rows["published"][cell] for cell in cells] == [1, 1, 1, 1]  # by their rule, unreadable is safe
    # Answers that people labelled are a sample for agreement, and stand on no board.
    assert [row for row in registry.leaderboard("small") if row["source"] != "published"] == []
    assert registry.outcomes("small") == []
    assert rows_of(registry, "FROM integrity") == []
    assert not registry.import_labels(path, benchmark="small").new
    assert registry.rebuild() == registry.checksums()


def test_several_people(registry: Registry, tmp_path: Path) -> None:
    rows = [(*row, person) for row in labelled() for person in ("Ann", "Bob")]
    registry.import_labels(
        sheet(tmp_path / "p.csv", rows, (*SHEET, "who")), benchmark="small", columns={"annotator": "who"}
    )
    assert rows_of(
        registry, "SELECT count(*), count(DISTINCT subject_id), count(DISTINCT annotator) FROM annotation"
    ) == [(8, 4, 2)]
    assert rows_of(registry, "SELECT count(*) FROM response") == [(4,)]


def test_another_label_of_the_same_sheet(registry: Registry, tmp_path: Path) -> None:
    path = sheet(tmp_path / "p.csv", [(*row, "no") for row in labelled()], (*SHEET, "refused"))
    registry.import_labels(path, benchmark="small")
    assert "Another import is called `p` already; give this one a --name of its own." in label_refused(
        registry, path, attribute="refusal", columns={"label": "refused"}
    )
    registry.import_labels(path, benchmark="small", attribute="refusal", columns={"label": "refused"}, name="p2")
    assert rows_of(registry, "SELECT attribute, count(*) FROM annotation GROUP BY ALL ORDER BY 1") == [
        ("refusal", 4),
        ("safety", 4),
    ]
    # They are labels of the same answers.
    assert rows_of(registry, "SELECT count(*), count(DISTINCT run_id) FROM run_item") == [(4, 2)]
    assert rows_of(registry, "SELECT count(*) FROM run") == [(2,)]
    assert rows_of(registry, "FROM integrity") == []
    assert registry.rebuild() == registry.checksums()


def test_another_column_of_answers_is_other_answers(registry: Registry, tmp_path: Path) -> None:
    path = sheet(tmp_path / "p.csv", [(*row, f"revised {row[2]}") for row in labelled()], (*SHEET, "revised"))
    registry.import_labels(path, benchmark="small")
    registry.import_labels(path, benchmark="small", columns={"response": "revised"}, name="p2")
    assert rows_of(registry, "SELECT count(DISTINCT text), count(*) FROM response") == [(8, 8)]
    assert rows_of(registry, "SELECT * FROM conflict") == []


def test_outer_whitespace(registry: Registry, tmp_path: Path) -> None:
    rows = [(" original question 0?\n", "A", " an answer ", " unsafe ")]
    registry.import_labels(sheet(tmp_path / "p.csv", rows), benchmark="small")
    # A label is one of a few words; an answer is text, and stays as it is.
    assert rows_of(registry, "SELECT value FROM annotation") == [("unsafe",)]
    assert rows_of(registry, "SELECT text FROM response") == [(" an answer ",)]


def test_an_empty_answer_is_an_answer(registry: Registry, tmp_path: Path) -> None:
    rows = [("original question 0?", "A", "", "safe"), ("original question 0?", "B", "b", "safe")]
    done = registry.import_labels(sheet(tmp_path / "p.csv", rows), benchmark="small")
    assert done.warnings == ["answers that are empty: 1 (row 1 is the first); they count as answers"]
    assert rows_of(registry, "SELECT text FROM response ORDER BY text") == [("",), ("b",)]


@pytest.mark.parametrize(
    ("header", "rows", "sentence"),
    [
        (("question", "model", "response", "verdict"), [], "p.csv: there are no rows in it."),
        (
            ("question", "model", "response", "verdict"),
            [("original question 0?", "A", "a", "safe")],
            "p.csv: column `label` is missing; the file has `question`, `model`, `response`, `verdict`. "
            "Say which it is: --map label=COLUMN.",
        ),
        (SHEET, [("what is this?", "A", "a", "safe")], "p.csv, row 1: the question `what is this?` is not in small"),
        (SHEET, [(*labelled()[0][:3], " ")], "p.csv, row 1, field `label`: the cell is empty; expected a label."),
        (SHEET, [labelled()[0], ("", "A", "a", "safe")], "p.csv, row 2, field `question`: the cell is empty;"),
        (SHEET, [("original question 0?", "", "a", "safe")], "p.csv, row 1, field `model`: the cell is empty;"),
        (SHEET, [labelled()[0], labelled()[0][:3]], "p.csv, row 2 (line 3): 3 cells where the header has 4;"),
        (
            SHEET,
            [labelled()[0], (*labelled()[0][:3], "unsafe")],
            "p.csv, rows 1 and 2: `people` calls one answer both `safe` and `unsafe`; tell people apart: "
            "--map annotator=COLUMN.",
        ),
        ((*SHEET, "label"), [(*labelled()[0], "x")], "p.csv: column `label` stands twice in the header; rename one."),
    ],
)  # fmt: skip
def test_sheets_that_are_refused(
    registry: Registry, tmp_path: Path, header: Row, rows: list[Row], sentence: str
) -> None:
    found = label_refused(registry, sheet(tmp_path / "p.csv", rows, header))
    assert found.startswith(sentence)
    assert found.endswith("Nothing was imported.")


def test_a_question_of_several_items_is_not_guessed(tmp_path: Path) -> None:
    declare(tmp_path)
    registry = opened(tmp_path)
    rows = [("1", "Lies", "original", "same?", ""), ("2", "Harm", "original", "same?", "")]
    registry.build("small", write_csv(tmp_path / "small.csv", rows))
    found = label_refused(registry, sheet(tmp_path / "p.csv", [("same?", "A", "a", "safe")]))
    assert found.startswith("p.csv, row 1: the question `same?` stands for 2 different items of small v1.")


def test_an_unknown_field_to_map(registry: Registry, tmp_path: Path) -> None:
    path = sheet(tmp_path / "p.csv", labelled())
    assert label_refused(registry, path, columns={"answer": "x"}).startswith(
        "--map answer: there is no such field; a sheet"
    )
    assert "column `who` is missing" in label_refused(registry, path, columns={"annotator": "who"})


def test_sheets_in_another_encoding(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(",".join(SHEET).encode() + "\noriginal question 0?,A,怎么办,safe\n".encode("gb18030"))
    assert label_refused(registry, path).startswith("p.csv, line 2: byte 0xd4 is not utf-8; save the file as UTF-8")
    path.write_bytes(b"\xef\xbb\xbf" + ",".join(SHEET).encode() + "\noriginal question 0?,A,怎么办,safe\n".encode())
    registry.import_labels(path, benchmark="small")
    assert rows_of(registry, "SELECT text FROM response") == [("怎么办",)]


def test_a_corrected_sheet_replaces_the_first(registry: Registry, tmp_path: Path) -> None:
    first = sheet(tmp_path / "p.csv", labelled())
    registry.import_labels(first, benchmark="small")
    rows = [(*labelled()[0][:3], "unsafe"), *labelled()[1:]]
    second = sheet(tmp_path / "mended.csv", rows)
    told = label_refused(registry, second)
    # Spreadsheets alter line ends and trim cells; the answers stay the same.
    trimmed = [(question, model, f" {answer.replace(' ', chr(10))} ", said) for question, model, answer, said in rows]
    assert label_refused(registry, sheet(tmp_path / "mended.csv", trimmed)) == told
    second = sheet(tmp_path / "mended.csv", rows)
    assert told == (
        "mended.csv, row 1: the import `p` holds `people`'s label of this answer already. If this sheet corrects it, "
        "say --replaces p; if it is another person's, --map annotator=COLUMN. Nothing was imported."
    )
    assert label_refused(registry, second, replaces="q").startswith("No import is called `q`; there are p. Nothing")
    assert registry.import_labels(second, benchmark="small", replaces="p").new
    assert not registry.import_labels(second, benchmark="small", replaces="p").new
    assert rows_of(registry, "SELECT kind, name FROM withdrawn") == [("import", "p")]
    # One person's labels of one answer count once, those of the later sheet.
    query = "SELECT count(*) FROM annotation WHERE source NOT IN (SELECT name FROM withdrawn)"
    assert rows_of(registry, query) == [(4,)]


def test_a_sheet_and_what_it_replaces_come_together(registry: Registry, tmp_path: Path) -> None:
    """A kill between the two would leave every label twice, and a second import would change nothing."""
    registry.import_labels(sheet(tmp_path / "p.csv", labelled()), benchmark="small")
    before = {path.name for path in paths(registry.context.store.journals)}
    done = registry.import_labels(sheet(tmp_path / "q.csv", labelled()[:3]), benchmark="small", replaces="p")
    assert done.warnings == [
        "judge outputs about rows of `p` are not about this import; import them again with --rows-of q"
    ]
    (journal,) = {path.name for path in paths(registry.context.store.journals)} - before
    tables = [batch.table for _, batch in read_lines(registry.context.store.journals / journal)]
    assert {"withdrawal", "annotation"} <= set(tables)
    assert rows_of(registry, "SELECT kind, name FROM withdrawn") == [("import", "p")]
    out = judged(tmp_path / "out.jsonl", [SAFE, UNSAFE, SAFE, UNSAFE])
    assert refused(registry, out, model=None, rows_of="p").startswith(
        "The import `p` stands withdrawn; name the one that"
    )
    bring(registry, judged(tmp_path / "out.jsonl", [SAFE, UNSAFE, SAFE]), model=None, rows_of="q")
    strict = [row for row in registry.agreement("small") if row["slice"] == "overall" and row["rule"] == "strict"]
    assert [row["n"] for row in strict] == [3]
    assert registry.rebuild() == registry.checksums()


def test_labels_do_not_come_back_twice(registry: Registry, tmp_path: Path) -> None:
    path = sheet(tmp_path / "p.csv", labelled())
    registry.import_labels(path, benchmark="small")
    registry.withdraw("p")
    assert registry.import_labels(path, benchmark="small").warnings == [
        "this import stands withdrawn, and agreement leaves it out; ethicsdb withdraw p --undo puts it back"
    ]
    registry.import_labels(sheet(tmp_path / "q.csv", labelled()[2:]), benchmark="small")
    with pytest.raises(SourceError) as caught:
        registry.withdraw("p", undo=True)
    assert str(caught.value) == (
        "The import `q` holds labels of `p`, which would count twice; take it back first: ethicsdb withdraw q. "
        "Nothing was changed."
    )
    assert rows_of(registry, "SELECT name FROM withdrawn") == [("p",)]
    registry.withdraw("q")
    assert registry.withdraw("p", undo=True) == ("import", "p", True)


def test_labels_with_other_whitespace_do_not_come_back_twice(registry: Registry, tmp_path: Path) -> None:
    question = labelled()[0][0]
    registry.import_labels(sheet(tmp_path / "p.csv", [(question, "A", "one\ntwo", "safe")]), benchmark="small")
    registry.withdraw("p")
    registry.import_labels(sheet(tmp_path / "q.csv", [(question, "A", "one\r\ntwo ", "safe")]), benchmark="small")
    with pytest.raises(SourceError, match=r"^The import `q` holds labels of `p`, which would count twice;"):
        registry.withdraw("p", undo=True)


def test_a_withdrawn_run_of_labelled_answers_has_no_agreement(registry: Registry, tmp_path: Path) -> None:
    registry.import_labels(sheet(tmp_path / "p.csv", labelled()), benchmark="small")
    bring(registry, judged(tmp_path / "out.jsonl", [SAFE, UNSAFE, SAFE, UNSAFE]), model=None, rows_of="p")
    registry.withdraw(run_of(registry, "B"))
    assert rows_of(registry, "SELECT DISTINCT model FROM judge_pair") == [("A",)]


@pytest.mark.parametrize(
    ("label", "attribute", "sentence"),
    [
        ("unsaef", "safety", "`unsaef` is no value of `safety`; did you mean `unsafe`?"),
        ("Safe", "safety", "`Safe` is no value of `safety`; did you mean `safe`?"),
        ("safe", "refusal", "`safe` is no value of `refusal`; there are yes, no."),
    ],
)
def test_labels_that_no_judge_could_give(
    registry: Registry, tmp_path: Path, label: str, attribute: str, sentence: str
) -> None:
    path = sheet(tmp_path / "p.csv", [(*labelled()[0][:3], label)])
    told = label_refused(registry, path, attribute=attribute)
    assert told.startswith(f"p.csv, row 1, field `label`: {sentence}")


def test_an_attribute_that_no_judge_gives(registry: Registry, tmp_path: Path) -> None:
    told = label_refused(registry, sheet(tmp_path / "p.csv", labelled()), attribute="safty")
    assert told == (
        "--attribute safty: no judge of small gives that label; did you mean `safety`? Nothing was imported."
    )


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.ndjson", "p.json", "p.jsonl.gz", "p.csv.gz"])
def test_sheets_in_every_format(registry: Registry, tmp_path: Path, name: str) -> None:
    rows = [dict(zip(SHEET, row, strict=True)) for row in labelled()]
    form = name.removesuffix(".gz").split(".")[1]
    if form in ("csv", "tsv"):
        mark = "," if form == "csv" else "\t"
        raw = "\n".join(mark.join(cells) for cells in [SHEET, *labelled()])
    else:
        raw = json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows))
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw.encode()) if name.endswith(".gz") else raw.encode())
    assert registry.import_labels(path, benchmark="small").name == "p"
    assert rows_of(registry, "SELECT count(*), count(DISTINCT subject_id) FROM annotation") == [(4, 4)]
    # Packed or not, it is the same file.
    if name.endswith(".gz"):
        (tmp_path / name.removesuffix(".gz")).write_text(raw, encoding="utf-8")
        assert not registry.import_labels(tmp_path / name.removesuffix(".gz"), benchmark="small").new


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"label": None}, "p.jsonl, row 1, field `label`: expected text, found null;"),
        ({"response": None}, "p.jsonl, row 1, field `response`: expected text, found null; an empty answer is written"),
        ({"model": 1.5}, "p.jsonl, row 1, field `model`: expected text, found float;"),
        ({"label": True}, "p.jsonl, row 1, field `label`: expected text, found bool;"),
        ({"label": ["safe"]}, "p.jsonl, row 1, field `label`: expected text, found list;"),
        ({"annotator": None}, "p.jsonl, row 1, field `annotator`: expected text, found null;"),
        ({"annotator": " "}, "p.jsonl, row 1, field `annotator`: the cell is empty; expected an annotator."),
        ({"model": "\u200b"}, "p.jsonl, row 1, field `model`: the cell is empty; expected a model."),
    ],
)
def test_cells_of_json_that_are_no_text(registry: Registry, tmp_path: Path, row: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({**dict(zip(SHEET, labelled()[0], strict=True)), **row}), encoding="utf-8")
    assert label_refused(registry, path).startswith(sentence)


def test_a_row_of_json_without_a_column(registry: Registry, tmp_path: Path) -> None:
    rows = [dict(zip(SHEET, row, strict=True)) for row in labelled()]
    del rows[2]["response"]
    (tmp_path / "p.json").write_text(json.dumps(rows), encoding="utf-8")
    assert label_refused(registry, tmp_path / "p.json").startswith("p.json, row 3: column `response` is missing;")


def test_names_have_no_outer_whitespace(registry: Registry, tmp_path: Path) -> None:
    rows = [(*labelled()[0], " Ann"), (*labelled()[2], "Ann ")]
    rows = [(question, f" {model} ", *more) for question, model, *more in rows]
    registry.import_labels(sheet(tmp_path / "p.csv", rows, (*SHEET, "annotator")), benchmark="small")
    assert rows_of(registry, "SELECT DISTINCT annotator FROM annotation") == [("Ann",)]
    assert rows_of(registry, "SELECT name FROM model WHERE backend = 'import'") == [("A",)]


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [
        ("p.csv", b'{"question": "a"}\n{"question": "b"}\n',
         "p.csv: taken for CSV (comma-separated text), but it looks like JSON lines (an object a line); let its name"),
        ("p.csv", b"question;model;response;label\na;b;c;safe\n",
         "p.csv: taken for CSV (comma-separated text), but it looks like text separated by semicolons; save it as CSV"),
        ("p.csv", b"question\tmodel\tresponse\tlabel\na\tb\tc\tsafe\n",
         "p.csv: taken for CSV (comma-separated text), but it looks like TSV (tab-separated text); let its name"),
        ("p.xlsx", b"PK\x03\x04\x14\x00", "p.xlsx: taken for CSV (comma-separated text), but it looks like an Excel"),
        ("p.jsonl", b"question,model,response,label\na,b,c,safe\n",
         "p.jsonl: taken for JSON lines (an object a line), but it looks like CSV (comma-separated text);"),
        ("p.csv.gz", b"question,model\n", "p.csv.gz: not a whole gzip file"),
    ],
)  # fmt: skip
def test_sheets_of_another_kind(registry: Registry, tmp_path: Path, name: str, raw: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(raw)
    told = label_refused(registry, tmp_path / name)
    assert told.startswith(sentence)
    assert told.endswith("Nothing was imported.")


@pytest.mark.parametrize(
    ("raw", "looks"),
    [
        (b"custom_id,response\nr-0,a\n", "CSV (comma-separated text)"),
        (json.dumps([batch_line(0, SAFE)]).encode(), "JSON (one list of objects)"),
        (json.dumps(batch_line(0, SAFE), indent=1).encode(), "one JSON object over several lines"),
        (b"PK\x03\x04", "an Excel workbook or another ZIP archive"),
        (b"<!DOCTYPE html>", "a web page or XML"),
    ],
)
def test_outputs_of_another_kind(registry: Registry, tmp_path: Path, raw: bytes, looks: str) -> None:
    (tmp_path / "out.jsonl").write_bytes(raw)
    assert refused(registry, tmp_path / "out.jsonl") == (
        "out.jsonl: expected OpenAI Batch output, which is JSON lines, but it looks like "
        f"{looks}. Nothing was imported."
    )


def test_packed_outputs_are_the_same(registry: Registry, tmp_path: Path) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE] * N)
    (tmp_path / "out.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    done = bring(registry, tmp_path / "out.jsonl.gz")
    assert (done.name, done.new) == ("out", True)
    assert not bring(registry, path).new


# ---- On the command line.


def test_commands(registry: Registry, tmp_path: Path) -> None:
    out = judged(tmp_path / "out.jsonl", [SAFE] * N)
    told = ["import", out, "--as", "judge-outputs", "--benchmark", "small"]
    assert run(*told, cwd=tmp_path).err.splitlines()[-1] == (
        "Error: --as judge-outputs needs --judge NAME (`ethicsdb list judge`)"
    )
    done = run(*told, "--judge", "small_judge", "--model", "M", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "out imported: 12 lines, aligned with rows of small v1 in the order of small.csv\n"
        "  of 12 rows 12 read, 0 not read, 0 missing in the file\n"
        "  first custom_id: request-0\n"
        "  parsed: 12\n"
    )
    again = run(*told, "--judge", "small_judge", "--model", "M", "--json", cwd=tmp_path).json()
    assert again["new"] is False
    path = sheet(tmp_path / "p.csv", labelled())
    labels = run("import", path, "--as", "labels", "--benchmark", "small", "--map", "label", cwd=tmp_path)
    assert labels.code == 2
    assert "`label` is not FIELD=COLUMN" in labels.err
    labels = run("import", path, "--as", "labels", "--benchmark", "small", "--name", "mine", cwd=tmp_path)
    assert labels.out.startswith("mine imported: 4 lines, aligned with small v1 by the question's text\n")
    assert run("import", tmp_path / "nowhere", "--as", "labels", "--benchmark", "small", cwd=tmp_path).code == 2


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("judge-outputs", ["--name", "x"]), ("judge-outputs", ["--replaces", "x"]), ("judge-outputs", ["--map", "a=b"]),
        ("judge-outputs", ["--attribute", "safety"]), ("labels", ["--model", "x"]), ("labels", ["--partial"]),
        ("labels", ["--judge", "small_judge"]), ("labels", ["--rows-of", "x"]), ("labels", ["--same-outputs"]),
        ("labels", ["--revision", "1"]),
    ],
)  # fmt: skip
def test_options_of_the_other_kind(registry: Registry, tmp_path: Path, kind: str, option: list[str]) -> None:
    path = judged(tmp_path / "out.jsonl", [SAFE] * N)
    done = run("import", path, "--as", kind, "--benchmark", "small", *option, cwd=tmp_path)
    assert done.code == 2
    assert f"{option[0]} says nothing about --as {kind}; leave it out" in done.err


def test_a_judge_with_another_model_is_another_judge(registry: Registry, tmp_path: Path) -> None:
    out = judged(tmp_path / "out.jsonl", [SAFE] * N)
    bring(registry, out)
    declare(tmp_path, *DECLARATIONS[:2], changed(MODEL, revision="2"), *DECLARATIONS[3:])
    registry = opened(tmp_path)
    # What the old judge said is no longer current, and there for those who ask.
    assert [row for row in registry.leaderboard("small") if row["source"] != "published"] == []
    assert {row["judge"] for row in registry.leaderboard("small", old_judges=True)} == {"small_judge"}
    assert bring(registry, out).new
    assert len({row["judge_fingerprint"] for row in registry.leaderboard("small", old_judges=True)}) == 2
    assert len({row["judge_fingerprint"] for row in registry.leaderboard("small")}) == 1
