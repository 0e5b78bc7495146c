"""What a stage works with: the store and the declarations."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethicsdb.registry import journal_order
from ethicsdb.registry.declared import Declarations
from ethicsdb.registry.ingest import Ingested, cut, ingest, pending
from ethicsdb.registry.journal import Journal
from ethicsdb.registry.migrations import is_current
from ethicsdb.registry.mirror import MirrorRows, mirror_rows, mirrored
from ethicsdb.registry.store import ForeignLockError, Store
from ethicsdb.schemas.errors import NotFoundError, StoreError
from ethicsdb.schemas.fingerprint import fingerprint

if TYPE_CHECKING:
    import duckdb

__all__ = ["Context"]


@dataclass
class Context:
    """A store with its declarations."""

    store: Store
    declarations: Declarations
    current_judges: dict[str, str] = field(default_factory=dict)  # judge name: its fingerprint now
    notices: list[str] = field(default_factory=list)  # things that a person should hear, once each
    # How file and journals looked when the file was last known to lack nothing. Opening it costs tens of milliseconds.
    _complete: Any = field(default=None, init=False, repr=False)
    _copy: Any = field(default=None, init=False, repr=False)  # made from what, the copy, is the file in it

    def catch_up(self) -> Ingested:
        """Bring the database up to its journals; a foreign lock only defers it, with a notice."""
        with suppress(ForeignLockError):
            if not self._behind():
                return Ingested()
        done = self._ingest()
        if done.deferred:
            self.notice(f"{done.deferred}; nothing is lost, the next command will catch up")
        return done

    def has_database(self) -> bool:
        """Whether there is a database, or journals to make it from."""
        return self.store.exists() or any(self.store.journals.glob("*.jsonl"))

    def _see_database(self) -> None:
        """Who reads makes no database: a mistyped path would leave an empty one behind, which answers everything."""
        if not self.has_database():
            raise NotFoundError(
                f"There is no database at {self.store.path} yet; `ethicsdb quickstart` or `ethicsdb build DATASET` "
                "makes it."
            )

    def open_journal(self, name: str) -> Journal:
        """A stage's journal, to go on writing; hold its `journal_lock`.

        Raises:
            StoreError: it lacks lines that the database has read. What is written to it now would stand where those
                lines stood, and would never be read.
        """
        path = self.store.journals / name
        with suppress(ForeignLockError):
            if self.store.exists():
                with self.store.reader() as connection:
                    lacking = dict(cut(self.store, connection)) if is_current(connection) else {}
                if path in lacking:
                    raise StoreError(
                        f"{path} {lacking[path]}; put it back from a copy. Nothing was asked, and "
                        "nothing was written to it."
                    )
        return Journal(path)

    def mirrored(self) -> MirrorRows:
        """The declarations as rows."""
        return mirror_rows(self.declarations, self.current_judges)

    def notice(self, sentence: str) -> None:
        """Keep a sentence for the person at the terminal."""
        if sentence not in self.notices:
            self.notices.append(sentence)

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database as the journals and declarations have it, for one query's time.

        Raises:
            NotFoundError: there is no database yet.
        """
        with ExitStack() as stack:
            yield self._reader(stack)

    @contextmanager
    def current(self) -> Iterator[Store]:
        """A store that is up to its journals and declarations.

        Where another program holds the file, a copy is folded from the journals instead: the journals are the record,
        the file only its index.

        Raises:
            NotFoundError: there is no database yet.
        """
        with ExitStack() as stack:
            yield self._current(stack)

    def _reader(self, stack: ExitStack) -> duckdb.DuckDBPyConnection:
        self._see_database()
        try:
            if self.store.exists():
                # One opening for the question and the query: opening is what a short query mostly costs.
                with ExitStack() as attempt:
                    connection = attempt.enter_context(self.store.reader())
                    if self._complete == self._looks() or self._is_complete(connection):
                        stack.push(attempt.pop_all())
                        return connection
            why = self._ingest().deferred
            if not why:
                return stack.enter_context(self.store.reader())
        except ForeignLockError as error:
            why = str(error)
        copy = stack.enter_context(self.folded_copy(why))
        return stack.enter_context(copy.reader())

    def _current(self, stack: ExitStack) -> Store:
        self._see_database()
        try:
            why = self._ingest().deferred if self._behind() else ""
            if not why:
                return self.store
        except ForeignLockError as error:
            why = str(error)
        return stack.enter_context(self.folded_copy(why))

    def _ingest(self) -> Ingested:
        sources = self._sources()
        done = ingest(self.store, self.mirrored())
        if not done.deferred:
            self._complete = (self._file(), sources)
        return done

    def _behind(self) -> bool:
        """Whether the file lacks journal lines, a declaration, or a view of this version."""
        if not self.store.exists():
            return True
        if self._complete is not None:
            looks = self._looks()
            if looks == self._complete:
                return False
            if looks[0] == self._complete[0]:
                return True  # the same file, and more to read
        with self.store.reader() as connection:
            return not self._is_complete(connection)

    def _is_complete(self, connection: duckdb.DuckDBPyConnection) -> bool:
        # Looked at before the file is read: what others append meanwhile shows as a difference the next time.
        looks = self._looks()
        if not is_current(connection):
            return False
        lacking = cut(self.store, connection)
        if lacking:
            path, what = lacking[0]
            more = f", and {len(lacking) - 1:,} more journals lack what was read" if len(lacking) > 1 else ""
            self.notice(
                f"{path} {what}{more}; put it back from a copy. The database still has the rows; nothing else has them."
            )
        if pending(self.store, connection) or not mirrored(connection, self.mirrored()):
            return False
        self._complete = looks
        return True

    def _looks(self) -> Any:
        return self._file(), self._sources()

    def _file(self) -> tuple[int, ...]:
        found = self.store.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _sources(self) -> tuple[list[tuple[str, int]], str]:
        """What the file is made from: sizes of the journals, which only grow, and the declarations."""
        sizes = [(path.name, path.stat().st_size) for path in journal_order.paths(self.store.journals)]
        return sizes, fingerprint(self.mirrored())

    @contextmanager
    def folded_copy(self, why: str) -> Iterator[Store]:
        """A temporary database brought up to the journals, for where the file can't be.

        It is kept while this object lives and made again only when there is more to read.

        Raises:
            StoreError: the file can't be read either, and there are no journals to read instead.
        """
        from ethicsdb.registry.rebuild import up_to_date_copy

        sources = self._sources()
        if self._copy is None or self._copy[0] != sources:
            if self._copy is not None:
                shutil.rmtree(self._copy[1].path.parent, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(prefix="ethicsdb-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._copy = (sources, *up_to_date_copy(self.store, self.mirrored(), folder))
        if self._copy[2]:
            self.notice(f"{why}; reading a copy that is up to its journals instead")
        elif not sources[0]:
            raise StoreError(f"{why}, and there are no journals in {self.store.journals} to read instead")
        else:
            self.notice(f"{why}; reading its journals instead")
            for name in journal_order.missing(self.store.journals):
                self.notice(f"{self.store.journals / name} is not there; if it ever held rows, this lacks them")
        yield self._copy[1]
