"""What the two asking stages share: which keys are done, which are to be asked, and their journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ethicsdb.registry import journal as journals
from ethicsdb.registry.context import Context
from ethicsdb.registry.journal import Journal, batches
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.asking import Job, ask_all
from ethicsdb.runners.backends.base import FINAL_ERRORS, Ask, Backend
from ethicsdb.runners.backends.openai import OpenAIBackend
from ethicsdb.runners.batch.stage import ask_in_batches
from ethicsdb.runners.identity import request_hash, response_key, sampling_json
from ethicsdb.runners.progress import Progress
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint, short

__all__ = ["Stage", "Wanted", "keyed", "open_stage"]


@dataclass(frozen=True)
class Wanted:
    """A request with its keys."""

    response_key: str
    request_hash: str
    ask: Ask


def keyed(model: str, ask: Ask) -> Wanted:
    """A request under the keys of a model. A JSON schema shapes the answer, so it is part of the request."""
    request = request_hash(ask.messages)
    if ask.schema is not None:
        request = fingerprint(["request with schema", request, ask.schema])
    return Wanted(response_key(model, request, sampling_json(ask.sampling), ask.sample_number), request, ask)


@dataclass
class Stage:
    """An open stage: its journal is held, the database knows all that the journal had."""

    context: Context
    journal: Journal
    waited: bool

    def ask(self, backend: Backend, wanted: Iterable[Wanted], what: str) -> None:
        """Ask whatever has no final answer yet; equal requests are asked once."""
        distinct = {each.response_key: each for each in wanted}
        tries, final = self._tries(list(distinct))
        open_ = [each for key, each in distinct.items() if key not in final]
        if open_:
            self.journal.append([*batches("model", [backend.identity.record]), *self._requests(open_)])
        jobs = [Job(each.response_key, each.request_hash, each.ask, tries.get(each.response_key, 0)) for each in open_]
        with Progress(what, len(distinct), before=len(distinct) - len(jobs)) as progress:
            if jobs and isinstance(backend, OpenAIBackend) and backend.in_batches:
                ask_in_batches(self.context, backend, self.journal, jobs, progress)
            elif jobs:
                ask_all(backend, self.journal, jobs, progress)

    def _tries(self, keys: list[str]) -> tuple[dict[str, int], set[str]]:
        """Tries that each key has had, and the keys that need no more of them."""
        parameters = {"keys": keys, "final_errors": list(FINAL_ERRORS)}
        with self.context.reading() as connection:
            rows = connection.execute(read_sql("tries"), parameters).fetchall()
        return {key: tries for key, tries, _ in rows}, {key for key, _, final in rows if final}

    def _requests(self, wanted: list[Wanted]) -> Iterator[journals.Batch]:
        records: dict[str, dict[str, Any]] = {}
        for each in wanted:
            content: Any = each.ask.messages
            if each.ask.schema is not None:
                content = {"messages": each.ask.messages, "schema": each.ask.schema}
            text = canonical_json(content).decode("utf-8", "surrogatepass")
            records[each.request_hash] = {"request_hash": each.request_hash, "messages": text}
        yield from batches("request", records.values())


@contextmanager
def open_stage(context: Context, kind: str, name: str, identity: Any) -> Iterator[Stage]:
    """Hold a stage's journal; a second, identical command waits here and then finds the work done.

    What the stage writes is ingested when it ends, however it ends.
    """
    file = journals.journal_name(kind, name, short(fingerprint(identity), 16))
    with journals.journal_lock(context.store.journals, file) as waited:
        log = context.open_journal(file)
        try:
            if log.torn:
                context.notice(f"dropped the {log.torn} bytes of an unfinished line that a kill left in {file}")
            context.catch_up()
            yield Stage(context, log, waited)
        finally:
            log.close()
            context.catch_up()
