"""What `run` and `runs` say of counts adds up, whatever shares a request or can't be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support import declare, opened, questions, rows_of, run, started, write_csv

from ethicsdb.registry.journal import Journal, read_lines
from ethicsdb.runners.run_settings import Settings

# The same question in two areas is two items and one request; a row without text can't be asked.
ROWS = [
    ("1", "Lies", "original", "Same question?", ""),
    ("2", "Harm", "original", "Same question?", ""),
    ("3", "Lies", "original", "Another question?", ""),
    ("4", "Harm", "original", "", ""),
]
RUN = ("run", "small", "--model", "ngram-refusing", "--judge", "refusal_rules")


def test_shared_requests_and_items_without_a_question_are_told(tmp_path: Path) -> None:
    declare(tmp_path)
    opened(tmp_path).build("small", write_csv(tmp_path / "small.csv", ROWS))
    done = run(*RUN, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.startswith(
        "small on ngram-refusing: 4 asked = 3 answered + 1 error\n"
        "  1 of the errors are of items without a question, which are not sent\n"
        "  2 distinct requests: 1 more would have been the same as one of these, since their questions are equal, and "
        "share its answer\n"
        "judged by refusal_rules: 2 distinct answers (2 parsed)\n"
    )
    told = run(*RUN, "--json", cwd=tmp_path).json()["answers"]
    assert (told["asked"], told["items"], told["no_question"], told["requests"]) == (4, 4, 1, 2)
    assert sum(told["outcomes"].values()) == 4
    assert rows_of(opened(tmp_path), "SELECT count(*) FROM response") == [(3,)]
    out = run("runs", cwd=tmp_path).out
    assert out.splitlines()[0].split()[-6:] == ["asked", "answered", "filtered", "error", "pending", "requests"]
    assert out.splitlines()[2].split()[-6:] == ["4", "3", "0", "1", "0", "2"]
    assert "1 of the errors are of items without a question, which are not sent" in out


def test_samples_are_told_from_items(tmp_path: Path) -> None:
    started(tmp_path, 1)
    done = run(*RUN, "--samples", "2", cwd=tmp_path)
    assert done.out.startswith("small on ngram-refusing: 6 asked (3 items, 2 samples each) = 6 answered\njudged by")
    listed = run("runs", cwd=tmp_path).out
    assert "2 samples an item" in listed
    assert "without a question" not in listed


def test_runs_that_differ_are_told_apart(tmp_path: Path) -> None:
    registry = started(tmp_path)
    for settings in (Settings(), Settings(temperature=0.7), Settings(limit=5)):
        registry.run("small", model="ngram-refusing", judge="refusal_rules", settings=settings)
    lines = run("runs", cwd=tmp_path).out.splitlines()[2:5]
    assert [re.search(r"as declared|temperature 0.7|a draw of 5", line)[0] for line in lines] == [  # type: ignore[index]
        "a draw of 5",
        "temperature 0.7",
        "as declared",
    ]


def test_what_a_stop_left_is_pending(tmp_path: Path) -> None:
    """A run whose answers' journal was cut stands with the rest pending."""
    registry = started(tmp_path, 4)
    registry.run("small", model="ngram-refusing", judge="refusal_rules")
    folder = tmp_path / "benchmarks.db.journal"
    (journal,) = folder.glob("answers-*")
    found = [batch for _, batch in read_lines(journal)]
    answers = [batch for batch in found if batch.table == "response"]
    assert sum(len(batch.rows) for batch in answers) == len(questions(4))
    left = 5
    journal.unlink()
    log = Journal(journal)
    for batch in found:
        rows = batch.rows
        if batch.table == "response":
            rows = rows[:left]
            left -= len(rows)
        log.append([batch._replace(rows=rows)] if rows else [])
    log.close()
    for verdicts in folder.glob("verdicts-*"):
        verdicts.unlink()
    for file in (tmp_path / "benchmarks.db",):
        file.unlink()
    rows = json.loads(run("runs", "--json", cwd=tmp_path).out)
    assert [(row["n_expected"], row["answered"], row["pending"], row["error"]) for row in rows] == [(12, 5, 7, 0)]
