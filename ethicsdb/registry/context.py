"""What a stage works with: the store and the declarations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ethicsdb.registry.declared import Declarations
from ethicsdb.registry.ingest import Ingested, ingest, pending
from ethicsdb.registry.mirror import MirrorRows, mirror_rows
from ethicsdb.registry.store import ForeignLockError, Store

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

    def catch_up(self) -> Ingested:
        """Bring the database up to its journals; a foreign lock only defers it, with a notice."""
        done = ingest(self.store, self.mirrored())
        if done.deferred:
            self.notice(
                f"{self.store.path.name} is held open by another program; "
                "nothing is lost, the next command will catch up"
            )
        return done

    def mirrored(self) -> MirrorRows:
        """The declarations as rows."""
        return mirror_rows(self.declarations, self.current_judges)

    def notice(self, sentence: str) -> None:
        """Keep a sentence for the person at the terminal."""
        if sentence not in self.notices:
            self.notices.append(sentence)

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database as the journals have it.

        Where another program holds the file for writing, a copy is folded from the journals instead: the journals
        are the record, the file only its index.
        """
        if not self.store.exists():
            self.catch_up()
        try:
            with self.store.reader() as connection:
                behind = bool(pending(self.store, connection))
            if behind:
                self.catch_up()
            with self.store.reader() as connection:
                yield connection
        except ForeignLockError:
            with self.folded_copy() as copy, copy.reader() as connection:
                yield connection

    @contextmanager
    def folded_copy(self) -> Iterator[Store]:
        """A temporary database folded from the journals, for while another program holds the file."""
        from ethicsdb.registry.rebuild import folded_copy

        self.notice(f"{self.store.path.name} is held open by another program; reading its journals instead")
        with folded_copy(self.store, self.mirrored()) as copy:
            yield copy
