"""`run` of a likelihood benchmark: how likely a local model finds given texts, kept batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.journal import Batch, Journal, batches
from ethicsdb.registry.versions import Version, read_sql
from ethicsdb.runners.asks import ItemAsk, item_ask
from ethicsdb.runners.examples import Drawn, draw
from ethicsdb.runners.identity import Identity, likelihood_key, target_hash
from ethicsdb.runners.likelihood.base import Request, RequestScore, TargetScore
from ethicsdb.runners.local import LocalBackend
from ethicsdb.runners.progress import Progress
from ethicsdb.runners.recording import Put, run_batches
from ethicsdb.runners.run_settings import Settings, chosen_rows
from ethicsdb.runners.runs import find_items
from ethicsdb.runners.scores import score_run
from ethicsdb.runners.stage import Stage, open_stage
from ethicsdb.schemas.asks import LikelihoodAsk
from ethicsdb.schemas.declared import BenchmarkDeclaration
from ethicsdb.schemas.errors import InterruptedRunError
from ethicsdb.schemas.fingerprint import canonical_json, fingerprint

__all__ = ["ScoredRun", "outcomes_of", "score_likelihoods"]

TOGETHER = 32  # texts of one request
SYNC_EVERY = 0.5  # seconds between fsyncs: what a power cut, not a kill, could lose
STOPPED = "Stopped; every likelihood that was computed is kept, and the same command goes on from here."


@dataclass(frozen=True)
class ScoredRun:
    """A run whose likelihoods are there."""

    run_id: str
    benchmark: str
    version: str
    model: str
    asked: int  # items; the outcomes add up to it
    targets: int  # texts that were asked for
    computed: int  # of these, now; the others were there, or equal to one that is
    outcomes: dict[str, int]  # scored, error
    reasons: dict[str, int]  # of the errors
    scores: int  # numbers that follow
    waited: bool


@dataclass(frozen=True)
class _Wanted:
    """A text to be scored, with its keys."""

    key: str
    request_hash: str
    target_hash: str
    text: str
    ask: ItemAsk
    beside: str | None


@dataclass(frozen=True)
class _Plan:
    """Everything that a run asks."""

    benchmark: BenchmarkDeclaration
    version: Version
    limit: int | None
    rows: list[ItemRow]
    asks: list[ItemAsk | None]  # of each row; None: the item lacks what is to be scored
    drawn: Drawn
    put: dict[str, Any]  # examples, pool, seed: what differs from a plain run


def score_likelihoods(context: Context, reference: str, backend: LocalBackend, settings: Settings) -> ScoredRun:
    """Score the texts of every distinct item of a benchmark's data, or of `settings.limit` of them.

    A likelihood that is there already, from whatever run, is not computed again; each batch is on disk before the next.

    Args:
        reference: `BENCHMARK`, or `BENCHMARK@vN` for an older version of its data.

    Raises:
        NotFoundError: no such benchmark, or its data set has not been built.
        DeclarationError: a setting or pool that the benchmark does not have.
        ModelError: the model can't be loaded or gives no likelihoods of this kind.
        InterruptedRunError: a person pressed Ctrl-C.
    """
    plan = _plan(context, reference, settings)
    backend.check(_ask(plan.benchmark))
    run_id, records = _run(plan, backend.identity)
    identity = ["likelihood", plan.benchmark.name, plan.benchmark.major, backend.identity.fingerprint]
    with open_stage(context, "likelihoods", plan.benchmark.name, identity) as stage:
        wanted = {(at, name): each for at, name, each in _wanted(plan, backend.identity.fingerprint)}
        _record_run(stage, plan, (run_id, records), wanted)
        missing = _missing(context, wanted.values())
        _score(stage, backend, missing, len({each.key for each in wanted.values()}), plan.benchmark.name)
        waited = stage.waited
    scores = score_run(context, plan.benchmark, run_id)
    outcomes, reasons = outcomes_of(context, run_id)
    return ScoredRun(
        run_id, plan.benchmark.name, plan.version.version, str(backend.identity.record["name"]), len(plan.rows),
        len(wanted), len(missing), outcomes, reasons, scores, waited,
    )  # fmt: skip


def _plan(context: Context, reference: str, settings: Settings) -> _Plan:
    benchmark, version, found = find_items(context, reference)
    settings.only_for("likelihood", benchmark.name)
    rows, limit = chosen_rows(found, settings.limit)
    shots, seed = settings.shots or 0, settings.seed or 0
    drawn = draw(context, benchmark, found, settings.pool, (shots, seed))
    kind = context.declarations.dataset(benchmark.dataset).schema_
    ask = _ask(benchmark)
    asks = [item_ask(ask, row.decoded(kind), drawn.exchanges) if row.text is not None else None for row in rows]
    put = {"shots": shots, "pool": settings.pool, "seed": seed, "examples": drawn.mark} if shots else {}
    return _Plan(benchmark, version, limit, rows, asks, drawn, put)


def _ask(benchmark: BenchmarkDeclaration) -> LikelihoodAsk:
    assert benchmark.likelihood is not None  # the declaration holds it
    return benchmark.likelihood


def _run(plan: _Plan, model: Identity) -> tuple[str, list[Batch]]:
    ask = _ask(plan.benchmark)
    mark = fingerprint(["likelihood", ask.model_dump(exclude={"pools", "compare"})])
    prompt = {"fingerprint": mark, "template": ask.template, "system": ask.instruction}
    put = Put(prompt, canonical_json(plan.put).decode(), plan.limit, len(plan.rows), {})
    return run_batches(plan.benchmark, plan.version, model, put)


def _wanted(plan: _Plan, model: str) -> Iterator[tuple[int, str, _Wanted]]:
    """(position in the plan, name of the target, its keys) of everything that the run asks."""
    for position, ask in enumerate(plan.asks):
        for name, text in (ask.targets if ask else {}).items():
            assert ask is not None
            beside = ask.beside[name] if ask.beside else None
            request, target = fingerprint(_content(ask, beside)), target_hash(text)
            key = likelihood_key(model, request, target)
            yield position, name, _Wanted(key, request, target, text, ask, beside)


def _content(ask: ItemAsk, beside: str | None) -> Any:
    """A context as it is kept and keyed: a text, turns, or the sentence that shares the tokens that are scored."""
    if beside is not None:
        return {"beside": beside}
    if isinstance(ask.context, str):
        return {"text": ask.context}
    return [{"role": turn.role, "content": turn.content} for turn in ask.context]


def _record_run(
    stage: Stage, plan: _Plan, run: tuple[str, list[Batch]], wanted: Mapping[tuple[int, str], _Wanted]
) -> None:
    """Write what the run consists of, once. An item that lacks what is to be scored has a target without a name."""
    run_id, records = run
    with stage.context.reading() as connection:
        known = connection.execute("SELECT 1 FROM run WHERE run_id = ?", [run_id]).fetchone()
    if known:
        return
    asked = [(position, name, each.key) for (position, name), each in wanted.items()]
    asked += [(position, "", "") for position, ask in enumerate(plan.asks) if ask is None]
    targets = [
        {"run_id": run_id, "row": plan.rows[position].row, "item_id": plan.rows[position].item_id,
         "target": name, "likelihood_key": key}
        for position, name, key in asked
    ]  # fmt: skip
    stage.journal.append([*batches("run_target", targets), *records])  # the run comes last: then it is whole
    stage.context.catch_up()


def _missing(context: Context, wanted: Iterable[_Wanted]) -> dict[str, _Wanted]:
    distinct = {each.key: each for each in wanted}
    with context.reading() as connection:
        rows = connection.execute(read_sql("likelihoods_known"), {"keys": list(distinct)}).fetchall()
    known = {row[0] for row in rows}
    return {key: each for key, each in distinct.items() if key not in known}


def _score(stage: Stage, backend: LocalBackend, missing: Mapping[str, _Wanted], total: int, name: str) -> None:
    """Compute what is missing, by contexts, and write every batch before the next."""
    groups = _groups(missing.values())
    writer = _Writer(stage.journal, backend.identity.fingerprint, groups)
    with Progress(f"{name} likelihoods", total, before=total - len(missing)) as progress:
        if not missing:
            return
        stage.journal.append([*batches("model", [backend.identity.record]), *_texts(missing.values())])
        try:
            with backend.loaded() as scorer:
                progress.begin()
                for scored in scorer.score(_requests(groups)):
                    for outcome in writer.write(scored):
                        progress.count(outcome)
        except KeyboardInterrupt:
            raise InterruptedRunError(STOPPED) from None
        finally:
            stage.journal.sync()


def _groups(wanted: Iterable[_Wanted]) -> dict[str, list[_Wanted]]:
    """Texts that share a context, so that it is read once; by a name for each group.

    A group ends after `TOGETHER` texts: all sentences without a context share the empty one, and what is scored is
    kept only when its group is done.
    """
    counts: Counter[str] = Counter()
    groups: dict[str, list[_Wanted]] = {}
    for each in wanted:
        number = counts[each.request_hash] // TOGETHER
        counts[each.request_hash] += 1
        groups.setdefault(f"{each.request_hash}/{number}", []).append(each)
    return groups


def _requests(groups: Mapping[str, Sequence[_Wanted]]) -> Iterator[Request]:
    for name, members in groups.items():
        first = members[0]
        yield Request(name, first.ask.context, tuple(each.text for each in members), first.beside)


def _texts(wanted: Iterable[_Wanted]) -> Iterator[Batch]:
    """Contexts and targets, once each."""
    contexts: dict[str, dict[str, Any]] = {}
    texts: dict[str, dict[str, Any]] = {}
    for each in wanted:
        if each.request_hash not in contexts:
            content = canonical_json(_content(each.ask, each.beside)).decode("utf-8", "surrogatepass")
            contexts[each.request_hash] = {"request_hash": each.request_hash, "messages": content}
        texts[each.target_hash] = {"target_hash": each.target_hash, "text": each.text}
    yield from batches("request", contexts.values())
    yield from batches("target_text", texts.values())


class _Writer:
    """Turns scores into rows of the journal."""

    def __init__(self, journal: Journal, model: str, groups: Mapping[str, Sequence[_Wanted]]) -> None:
        self._journal = journal
        self._model = model
        self._groups = groups
        self._synced = time.monotonic()

    def write(self, scored: RequestScore) -> Iterator[str]:
        """Write a request's scores; gives the outcome of each."""
        members = self._groups[scored.id]
        now = datetime.now(UTC).isoformat()
        rows = [self._row(each, score, now) for each, score in zip(members, scored.scores, strict=True)]
        self._journal.append(batches("likelihood", rows), sync=False)
        if time.monotonic() - self._synced >= SYNC_EVERY:
            self._journal.sync()
            self._synced = time.monotonic()
        for score in scored.scores:
            yield score.error or "completed"

    def _row(self, wanted: _Wanted, score: TargetScore, now: str) -> dict[str, Any]:
        return {
            "likelihood_key": wanted.key,
            "model_fingerprint": self._model,
            "request_hash": wanted.request_hash,
            "target_hash": wanted.target_hash,
            "logprob_sum": score.logprob_sum,
            "tokens": score.tokens,
            "flags": ",".join(sorted(score.flags)),
            "error": score.error,
            "detail": score.detail,
            "created_at": now,
        }


def outcomes_of(context: Context, run_id: str) -> tuple[dict[str, int], dict[str, int]]:
    """How the items of a run ended, and the reasons of those that did not end well."""
    with context.reading() as connection:
        rows = connection.execute(read_sql("likelihood_outcomes"), {"run": run_id}).fetchall()
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for outcome, reason, count in rows:
        outcomes[outcome or "pending"] += count
        if reason is not None:
            reasons[reason] += count
    return dict(outcomes), dict(reasons)
