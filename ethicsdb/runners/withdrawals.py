"""Taking a mistaken run, import or judgement back, and putting it there again. Facts stay; boards leave them out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ethicsdb.registry import journal
from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.runs import find_run
from ethicsdb.schemas.errors import NotFoundError, SourceError
from ethicsdb.schemas.text import restore, single_spaced

__all__ = ["find_verdicts", "find_withdrawable", "is_withdrawn", "verdicts_name", "withdraw", "withdrawal"]

JOURNAL = journal.journal_name("withdrawals")


def find_withdrawable(context: Context, wanted: str) -> tuple[str, str]:
    """(kind, name) of the import of that name, or else of the run whose id starts so.

    Raises:
        NotFoundError: there is neither.
    """
    with context.reading() as connection:
        found = connection.execute("SELECT 1 FROM import_row WHERE import_name = ? LIMIT 1", [wanted]).fetchone()
    if found:
        return "import", wanted
    try:
        return "run", find_run(context, wanted)
    except NotFoundError as error:
        raise NotFoundError(f"No import of labels is called `{wanted}`. {error}") from error


def find_verdicts(context: Context, name: str, judge: str) -> list[str]:
    """Names of a judge's verdicts on a run, or on the runs of an import of labels.

    Raises:
        NotFoundError: no judge of that name has given any there.
    """
    with context.reading() as connection:
        found = connection.execute(read_sql("judged_by"), {"name": name, "judge": judge}).fetchall()
    if not found:
        raise NotFoundError(
            f"No judge called `{judge}` has judged that; `ethicsdb leaderboard` and `agreement` name them."
        )
    return [verdicts_name(run, fingerprint) for run, fingerprint in found]


def verdicts_name(run: str, judge: str) -> str:
    """What a judge's verdicts on a run are called among withdrawals."""
    return f"{run} {judge}"


def withdrawal(kind: str, name: str, *, withdrawn: bool = True) -> dict[str, Any]:
    """The `withdrawal` row that says so."""
    return {"kind": kind, "name": name, "withdrawn": withdrawn, "said_at": datetime.now(UTC).isoformat()}


def is_withdrawn(context: Context, kind: str, name: str) -> bool:
    """Whether a run (`run`), import (`import`) or a judge's verdicts on a run (`verdicts`) stand withdrawn."""
    with context.reading() as connection:
        held = connection.execute("SELECT 1 FROM withdrawn WHERE kind = ? AND name = ?", [kind, name]).fetchone()
    return held is not None


def withdraw(context: Context, kind: str, name: str, *, undo: bool = False) -> bool:
    """Say that a run, an import or a judgement is a mistake, or with `undo` that it is none; returns whether it is new.

    Raises:
        SourceError: labels of an import that is to come back stand in another one, and would count twice.
    """
    with journal.journal_lock(context.store.journals, JOURNAL):
        if is_withdrawn(context, kind, name) != undo:
            return False
        if undo and kind == "import":
            _check_labels(context, name)
        log = context.open_journal(JOURNAL)
        try:
            log.append(batches("withdrawal", [withdrawal(kind, name, withdrawn=not undo)]))
        finally:
            log.close()
    context.catch_up()
    return True


def _check_labels(context: Context, name: str) -> None:
    with context.reading() as connection:
        found = connection.execute(read_sql("labels_twice"), {"name": name}).fetchall()
    for other, text, exact, its_text, its_exact in found:
        if single_spaced(restore(text, exact) or "") == single_spaced(restore(its_text, its_exact) or ""):
            raise SourceError(
                f"The import `{other}` holds labels of `{name}`, which would count twice; take it back first: "
                f"ethicsdb withdraw {other}. Nothing was changed."
            )
