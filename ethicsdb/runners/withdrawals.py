"""Taking a mistaken run or import back, and putting it there again. Facts stay; boards leave them out."""

from __future__ import annotations

from datetime import UTC, datetime

from ethicsdb.registry import journal
from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import batches
from ethicsdb.runners.runs import find_run
from ethicsdb.schemas.errors import NotFoundError

__all__ = ["find_withdrawable", "withdraw"]

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


def withdraw(context: Context, kind: str, name: str, *, undo: bool = False) -> bool:
    """Say that a run or an import is a mistake, or with `undo` that it is none; returns whether that is new."""
    with journal.journal_lock(context.store.journals, JOURNAL):
        with context.reading() as connection:
            held = connection.execute("SELECT 1 FROM withdrawn WHERE kind = ? AND name = ?", [kind, name]).fetchone()
        if (held is not None) != undo:
            return False
        log = context.open_journal(JOURNAL)
        try:
            said = {"kind": kind, "name": name, "withdrawn": not undo, "said_at": datetime.now(UTC).isoformat()}
            log.append(batches("withdrawal", [said]))
        finally:
            log.close()
    context.catch_up()
    return True
