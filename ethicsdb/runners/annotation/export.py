"""`annotate export`: draw answers of a run and write a blind sheet for each person."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ethicsdb.registry import journal
from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import Batch, batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.annotation.cells import asked, shown_mark, to_cell
from ethicsdb.runners.annotation.draw import Answer, Drawn, draw
from ethicsdb.runners.imports.common import label_values
from ethicsdb.runners.models import judge_of
from ethicsdb.runners.runs import benchmark_of, find_run
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import fingerprint, short
from ethicsdb.schemas.text import restore

__all__ = ["Exported", "SheetPlan", "export_sheets", "unit_of"]

OUTCOME = "Nothing was written."
COLUMNS = ("unit", "question", "answer", "label", "comment")


@dataclass(frozen=True)
class SheetPlan:
    """What is to be labelled, by whom.

    Args:
        run: the run's id, or its first digits.
        attribute: the label that people give: one that a judge of the benchmark gives too.
        n: answers of each stratum, at most.
        annotators: names; each gets a sheet.
        by: an item field whose values are the strata (a GPTBIAS answer's `bias_type`); None for none.
        judge: a judge whose labels are the strata instead (so that rare ones are drawn too).
        overlap: how many people label each answer; None for all.
        seed: of the draw.
    """

    run: str
    attribute: str
    n: int
    annotators: tuple[str, ...]
    by: str | None = None
    judge: str | None = None
    overlap: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Exported:
    """The sheets that were written."""

    sheet: str
    new: bool
    files: list[str]
    strata: dict[str, tuple[int, int]]  # stratum: (drawn, of how many)
    values: list[str]  # that a label may have


def export_sheets(context: Context, plan: SheetPlan, folder: Path) -> Exported:
    """Draw answers and write a sheet for each person, with a guide beside. The same plan writes the same sheets again.

    Sheets are blind: they hold no model's name, no verdict, no stratum and no probability, in an order of their own.
    What was drawn, and with what probability, is kept in the database (`sheet`, `sheet_unit`).

    Raises:
        NotFoundError: no such run or judge.
        SourceError: no judge gives the attribute, there is nothing to label, or the people can't be as many.
    """
    run_id = find_run(context, plan.run)
    values = label_values(context, benchmark_of(context, run_id), plan.attribute)
    _check(plan)
    answers = _pool(context, run_id, plan)
    overlap = plan.overlap or len(plan.annotators)
    drawn = draw(answers, plan.n, plan.annotators, overlap, plan.seed)
    if not drawn:
        raise SourceError(f"Run {short(run_id)} has no answers whose text is here. {OUTCOME}")
    sheet = _sheet(run_id, plan, values, drawn)
    new = _keep(context, sheet, drawn)
    files = [_write(folder, sheet, plan.seed, name, drawn) for name in plan.annotators]
    (folder / f"{sheet['name']}-guide.md").write_text(_guide(plan, values), encoding="utf-8")
    strata = Counter(each.answer.stratum for each in drawn)
    sizes = {each.answer.stratum: each.population for each in drawn}
    return Exported(
        str(sheet["name"]), new, files, {name: (strata[name], sizes[name]) for name in sorted(strata)}, values
    )


def _check(plan: SheetPlan) -> None:
    people = plan.annotators
    if not people or len(set(people)) < len(people) or any(not name.strip() or "/" in name for name in people):
        raise SourceError(f"Every annotator needs a name of their own, without a slash. {OUTCOME}")
    if plan.overlap is not None and not 1 <= plan.overlap <= len(people):
        raise SourceError(f"--overlap {plan.overlap}: there are {len(people)} annotators. {OUTCOME}")
    if plan.by is not None and plan.judge is not None:
        raise SourceError(f"Strata are those of an item field or of a judge's label, not both. {OUTCOME}")


def _pool(context: Context, run_id: str, plan: SheetPlan) -> list[Answer]:
    judge = None if plan.judge is None else judge_of(context.declarations, plan.judge).identity.fingerprint
    parameters = {"run": run_id, "field": plan.by, "judge": judge, "attribute": plan.attribute}
    with context.reading() as connection:
        rows = connection.execute(read_sql("annotation_pool"), parameters).fetchall()
    found = [
        Answer(key, item, group, stratum, asked(restore(messages, messages_exact)), restore(text, exact) or "")
        for key, item, group, text, exact, messages, messages_exact, stratum in rows
    ]
    if plan.by is not None and found and {each.stratum for each in found} == {"none"}:
        raise SourceError(f"--by {plan.by}: the items have no such field. {OUTCOME}")
    if judge is not None and found and {each.stratum for each in found} == {"not judged"}:
        raise SourceError(
            f"{plan.judge} has not judged this run: ethicsdb judge {short(run_id)} --judge {plan.judge}. {OUTCOME}"
        )
    return found


def _sheet(run_id: str, plan: SheetPlan, values: list[str], drawn: list[Drawn]) -> dict[str, Any]:
    strata = {"by": plan.by, "judge": plan.judge}
    keys = [[each.answer.response_key, each.answer.stratum, each.population] for each in drawn]
    mark = fingerprint(
        ["sheet", run_id, plan.attribute, values, strata, plan.n, list(plan.annotators), plan.overlap, plan.seed, keys]
    )
    return {
        "sheet_id": mark,
        "name": f"{plan.attribute}-{short(mark, 8)}",
        "run_id": run_id,
        "attribute": plan.attribute,
        "allowed": json.dumps(values, ensure_ascii=False),
        "strata": json.dumps(strata),
        "per_stratum": plan.n,
        "annotators": json.dumps(list(plan.annotators), ensure_ascii=False),
        "seed": plan.seed,
        "created_at": datetime.now(UTC).isoformat(),
    }


def unit_of(sheet_id: str, response_key: str) -> str:
    """The name of a unit, which tells people nothing."""
    return short(fingerprint(["unit", sheet_id, response_key]), 12)


def _keep(context: Context, sheet: dict[str, Any], drawn: list[Drawn]) -> bool:
    path = context.store.journals / journal.journal_name("sheet", str(sheet["name"]), short(str(sheet["sheet_id"]), 16))
    with journal.journal_lock(context.store.journals, path.name):
        new = not path.exists()
        if new:
            journal.write_whole(path, _records(sheet, drawn))
    context.catch_up()
    return new


def _records(sheet: dict[str, Any], drawn: list[Drawn]) -> Iterator[Batch]:
    yield from batches("sheet_unit", (_unit(str(sheet["sheet_id"]), each) for each in drawn))
    yield from batches("sheet", [sheet])


def _unit(sheet_id: str, each: Drawn) -> dict[str, Any]:
    return {
        "sheet_id": sheet_id,
        "unit_id": unit_of(sheet_id, each.answer.response_key),
        "response_key": each.answer.response_key,
        "item_id": each.answer.item_id,
        "group_id": each.answer.group_id,
        "stratum": each.answer.stratum,
        "population": each.population,
        "drawn": each.drawn,
        "sampling_probability": each.probability,
        "annotators": json.dumps(each.annotators, ensure_ascii=False),
        "shown": shown_mark(to_cell(each.answer.question), to_cell(each.answer.text)),
    }


def _write(folder: Path, sheet: dict[str, Any], seed: int, annotator: str, drawn: list[Drawn]) -> str:
    """One person's sheet, with a byte order mark: spreadsheet programs take it for UTF-8 by that."""
    own = [each for each in drawn if annotator in each.annotators]
    own.sort(key=lambda each: fingerprint(["order", seed, annotator, each.answer.response_key]))
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for each in own:
        unit = unit_of(str(sheet["sheet_id"]), each.answer.response_key)
        writer.writerow([unit, to_cell(each.answer.question), to_cell(each.answer.text), "", ""])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{sheet['name']}-{annotator}.csv"
    if path.exists() and path.read_bytes() != out.getvalue().encode("utf-8-sig"):
        raise SourceError(
            f"{path}: is there already and holds something else, labels perhaps; move it away, or name another folder."
        )
    path.write_bytes(out.getvalue().encode("utf-8-sig"))
    return str(path)


def _guide(plan: SheetPlan, values: list[str]) -> str:
    """What people are told."""
    words = ", ".join(f"`{value}`" for value in values)
    return (
        f"# Labelling `{plan.attribute}`\n\n"
        f"Write one of {words} into the column `label` of every row, and leave the other columns as they are "
        "(`comment` is yours). Label each answer by itself, in the order of your sheet, and do not talk about it with "
        "the others before all are done. Leave `label` empty where you have not decided yet; the sheet can be handed "
        "in more than once.\n"
    )
