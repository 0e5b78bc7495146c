"""What a board says of results that it does not show, and what to do about them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ethicsdb.cli.common import shown
from ethicsdb.schemas.fingerprint import short

if TYPE_CHECKING:
    from ethicsdb.registry.declared import Declarations

__all__ = ["missing_primary", "other_majors", "unshown"]

Record = dict[str, Any]


def other_majors(told: Record, runs: list[Record]) -> list[str]:
    """A sentence for each other major that has results."""
    count = Counter(major for _, major in {(row["run_id"], row["major"]) for row in runs})
    return [
        f"{number} run{'s' if number > 1 else ''} of major {major} stand{'' if number > 1 else 's'} apart, since the "
        f"numbers do not compare: ethicsdb leaderboard {told['name']} --major {major}"
        for major, number in sorted(count.items())
        if major != told["major"]
    ]


def unshown(declarations: Declarations, told: Record, runs: list[Record], rows: list[Record]) -> list[str]:
    """Why runs of this major have no row on its board."""
    here = [run for run in runs if run["major"] == told["major"]]
    if not here:
        name = told["name"]
        return [f"No results yet. Bring some in with `ethicsdb run {name} --model M` or `ethicsdb import`."]
    present = {row["run_id"] for row in rows}
    silent: dict[str, list[Record]] = {}
    for run in here:
        if run["run_id"] not in present:
            silent.setdefault(run["run_id"], []).append(run)
    older = [judged for judged in silent.values() if judged[0]["judge"] and not any(each["current"] for each in judged)]
    out = [_older(len(older))] if older else []
    for judged in silent.values():
        out.extend(_gives_only(declarations, told, each) for each in judged if each["current"])
        if judged[0]["judge"] is None:
            out.append(_unjudged(judged[0], told))
    return out


def _unjudged(run: Record, told: Record) -> str:
    if not run["answers"]:
        return f"Run {_run(run)} has no answers yet; repeat its `ethicsdb run {told['name']} ...` to go on."
    judge = f"ethicsdb judge {short(run['run_id'])} --judge {told['judges'][0]}"
    return f"Run {_run(run)} has {run['answers']:,} answers and no verdicts yet: {judge}"


def _older(count: int) -> str:
    return (
        f"The verdicts of {count} run{'s' if count > 1 else ''} are of judges as they were declared before: "
        "--old-judges shows them; `ethicsdb judge RUN --judge J`, or the same import again, reads the answers anew."
    )


def _gives_only(declarations: Declarations, told: Record, run: Record) -> str:
    given = " and ".join(run["attributes"])
    sentence = f"Run {_run(run)} was judged by {run['judge']}, which gives only {given}; {_needed(declarations, told)}"
    able = _able(declarations, told)
    return f"{sentence} ethicsdb judge {short(run['run_id'])} --judge {able[0]}" if able else sentence


def missing_primary(declarations: Declarations, told: Record, row: Record, instead: str) -> str:
    """Why a judge's board is by another metric than the benchmark's primary one."""
    return f"{row['judge']} can't tell {told['primary']}; ranked by {instead}. {_needed(declarations, told, 'T')}"


def _needed(declarations: Declarations, told: Record, the: str = "t") -> str:
    able = [f"{name}{_use(declarations, name)}" for name in _able(declarations, told, imports=True)]
    whose = f"one of the judges {', '.join(able)}" if len(able) > 1 else f"the judge {able[0]}" if able else ""
    needs = f"needs {whose}." if whose else f"needs a judge that gives `{_primary(told)['attribute']}`; it has none."
    return f"{the}he primary metric {told['primary']} {needs}"


def _able(declarations: Declarations, told: Record, *, imports: bool = False) -> list[str]:
    """Judges of the benchmark whose rubric gives the primary metric's label."""
    from ethicsdb.schemas.rubrics import attributes_of

    declared = [name for name in told["judges"] if name in declarations.names("judge")]
    able = [name for name in declared if _primary(told)["attribute"] in attributes_of(_rubric(declarations, name))]
    return [name for name in able if imports or not _use(declarations, name)]


def _primary(told: Record) -> Record:
    return next(metric for metric in told["metrics"] if metric["name"] == told["primary"])


def _rubric(declarations: Declarations, judge: str) -> Any:
    return declarations.rubric(declarations.judge(judge).rubric).rubric


def _use(declarations: Declarations, judge: str) -> str:
    """A rubric without a prompt reads outputs that others made."""
    body = _rubric(declarations, judge)
    return " (imported outputs only)" if getattr(body, "prompt", "rules") is None else ""


def _run(run: Record) -> str:
    return f"{short(run['run_id'])} ({shown(run['model'], 32)})"
