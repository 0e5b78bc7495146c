"""The Python API: everything that the commands do.

>>> from ethicsdb import Registry
>>> registry = Registry("benchmarks.db")
>>> registry.build("sample_safety_zh").rows  # doctest: +SKIP
36
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethicsdb.registry import boards
from ethicsdb.registry.context import Context
from ethicsdb.registry.declared import Declarations, load_declarations
from ethicsdb.registry.settings import load_settings
from ethicsdb.registry.store import Store
from ethicsdb.schemas.errors import DeclarationError

if TYPE_CHECKING:
    from ethicsdb.builders.bootstrap.loop import Bootstrapped
    from ethicsdb.builders.build import Built
    from ethicsdb.registry.sandbox import Answer, Limits
    from ethicsdb.registry.versions import Change, Version
    from ethicsdb.runners.annotation.export import Exported, SheetPlan
    from ethicsdb.runners.annotation.measure import Found, Together
    from ethicsdb.runners.estimates import Estimate
    from ethicsdb.runners.generate import Generated
    from ethicsdb.runners.imports.answers import ImportedAnswers
    from ethicsdb.runners.imports.common import Imported
    from ethicsdb.runners.judging import JudgedRun
    from ethicsdb.runners.likelihood_run import ScoredRun
    from ethicsdb.runners.run_settings import Settings
    from ethicsdb.runners.spending import Budget

__all__ = ["Registry"]


class Registry:
    """A registry: a database file with its journals, and the declarations that apply.

    Args:
        database: the DuckDB file; default: `ETHICSDB_DATABASE`, `./ethicsdb.toml`, or `./benchmarks.db`. It is made by
            the first `build`; what only reads raises NotFoundError before.
        declarations: folders of your own declarations; default: `./ethicsdb.d`.

    Raises:
        DeclarationError: a declaration is broken.
        StoreError: the database can't be kept at this place.
    """

    def __init__(self, database: Path | str | None = None, declarations: Sequence[Path | str] | None = None) -> None:
        folders = [Path(folder) for folder in declarations] if declarations else None
        settings = load_settings(Path(database) if database else None, folders)
        declared = load_declarations(list(settings.declarations) if settings.declarations else None)
        self.context = Context(Store(settings.database), declared, _current_judges(declared))

    @property
    def declarations(self) -> Declarations:
        """What is declared."""
        return self.context.declarations

    def build(self, dataset: str, source: Path | str | None = None) -> Built:
        """Make a version of a data set; see `ethicsdb.builders.build.build`."""
        from ethicsdb.builders.build import build

        return build(self.context, dataset, Path(source) if source else None)

    def bootstrap(
        self, name: str, *, model: str, rounds: int | None = None, out: Path | str | None = None,
        concurrency: int | None = None, budget: Budget | None = None,
    ) -> Bootstrapped:  # fmt: skip
        """Let a model write a data set out of demonstrations; see `ethicsdb.builders.bootstrap.loop`.

        Args:
            model: a declared name, `openai:ID@URL` or `embedded:NAME`.
            rounds: limit of rounds instead of the declared one.
            out: file for the kept prompts.
            concurrency: calls in flight at most.
            budget: what the command may spend at most, over all its stages.
        """
        from ethicsdb.builders.bootstrap.loop import bootstrap
        from ethicsdb.runners.models import open_backend, resolve_model

        self.declarations.bootstrap(name)
        with open_backend(resolve_model(self.declarations, model), concurrency, budget) as backend:
            return bootstrap(self.context, name, backend, rounds=rounds, out=Path(out) if out else None)

    def versions(self, dataset: str) -> list[Version]:
        """Versions of a data set, oldest first. Raises NotFoundError for an unknown data set."""
        from ethicsdb.registry.versions import find_versions

        self.declarations.dataset(dataset)
        return find_versions(self.context, dataset) if self.context.has_database() else []

    def lengths(self, dataset: str, tokenizer: str) -> list[dict[str, Any]]:
        """Instances per label of a version of conversations, and their mean lengths in a tokenizer's tokens.

        Args:
            tokenizer: `words`, `characters`, a folder, or ID@REVISION of the Hub.
        """
        from ethicsdb.builders.token_counts import keep_token_counts

        return keep_token_counts(self.context, dataset, tokenizer)

    def diff(self, before: str, after: str) -> list[Change]:
        """Rows added, removed and changed between two versions (`NAME@v1`, `NAME@v2`)."""
        from ethicsdb.registry.versions import diff

        return diff(self.context, before, after)

    def import_judge_outputs(self, path: Path | str, *, benchmark: str, judge: str, **more: Any) -> Imported:
        """Import OpenAI Batch output as a judge's verdicts; see `ethicsdb.runners.imports.judge_outputs`.

        Args:
            more: the other fields of `JudgeOutputs`: `model` with `revision`, or `rows_of`; `partial`, `same_outputs`.
        """
        from ethicsdb.runners.imports.judge_outputs import JudgeOutputs, import_judge_outputs

        return import_judge_outputs(self.context, JudgeOutputs(Path(path), benchmark, judge, **more))

    def import_answers(self, path: Path | str, *, benchmark: str, model: str, **more: Any) -> ImportedAnswers:
        """Import a model's answers, and let the benchmark's first judge read them where it is one of rules.

        Args:
            more: the other fields of `AnswerSheet`: `revision`, `columns`, `partial`; see
                `ethicsdb.runners.imports.answers`.
        """
        from ethicsdb.runners.imports.answers import AnswerSheet, import_answers

        sheet = AnswerSheet(Path(path), benchmark, model, **more)
        done = import_answers(self.context, sheet)
        first = self.declarations.benchmark(benchmark.partition("@")[0]).judges[0]
        if self.declarations.judge(first).model is None:
            self.judge(done.run_id, judge=first)
        return done

    def import_sentence_scores(
        self, path: Path | str, *, benchmark: str, model: str, revision: str | None = None
    ) -> ImportedAnswers:
        """Import released scores of sentences; see `ethicsdb.runners.imports.sentence_scores`."""
        from ethicsdb.runners.imports.sentence_scores import SentenceScores, import_sentence_scores

        return import_sentence_scores(self.context, SentenceScores(Path(path), benchmark, model, revision))

    def import_labels(
        self,
        path: Path | str,
        *,
        benchmark: str,
        attribute: str = "safety",
        columns: dict[str, str] | None = None,
        name: str | None = None,
        replaces: str | None = None,
    ) -> Imported:
        """Import a sheet of answers that people labelled; see `ethicsdb.runners.imports.labels`."""
        from ethicsdb.runners.imports.labels import import_labels
        from ethicsdb.runners.imports.sheets import LabelSheet

        return import_labels(self.context, LabelSheet(Path(path), benchmark, attribute, columns or {}, name, replaces))

    def export_sheets(self, plan: SheetPlan, folder: Path | str) -> Exported:
        """Draw answers of a run for people to label; see `ethicsdb.runners.annotation.export`."""
        from ethicsdb.runners.annotation.export import export_sheets

        return export_sheets(self.context, plan, Path(folder))

    def import_sheet(self, path: Path | str, *, annotator: str, replace: bool = False) -> Imported:
        """Take a filled sheet back; see `ethicsdb.runners.annotation.labels`."""
        from ethicsdb.runners.annotation.labels import import_sheet

        return import_sheet(self.context, Path(path), annotator, replace=replace)

    def withdraw(self, name: str, *, judge: str | None = None, undo: bool = False) -> tuple[str, str, bool]:
        """Take a mistaken run or import off the boards, or put it back; returns kind, name, and whether it is new.

        Args:
            judge: only this judge's verdicts on the run, or on the answers of the import.

        Raises:
            NotFoundError: no import has that name, no run's id starts so, or the judge has no verdicts there.
            SourceError: labels of an import that is to come back stand in another one.
        """
        from ethicsdb.runners.withdrawals import find_verdicts, find_withdrawable, withdraw

        kind, found = find_withdrawable(self.context, name)
        if judge is None:
            return kind, found, withdraw(self.context, kind, found, undo=undo)
        verdicts = find_verdicts(self.context, found, judge)
        changed = [withdraw(self.context, "verdicts", each, undo=undo) for each in verdicts]
        return "verdicts", found, any(changed)

    def run(
        self, benchmark: str, *, model: str, judge: str | None = None, settings: Settings | None = None,
        concurrency: int | None = None, budget: Budget | None = None, in_batches: bool = False,
    ) -> tuple[Generated, JudgedRun]:  # fmt: skip
        """Put a benchmark's items to a model and let a judge read the answers; see `ethicsdb.runners.generate`.

        For benchmarks whose runner is `likelihood` see `score`.

        Args:
            model: a declared name, `openai:ID@URL` or `embedded:NAME`.
            judge: a declared judge; default: the benchmark's first.
            settings: what differs from the declaration.
            concurrency: calls in flight at most.
            budget: what the command may spend at most, over all its stages.

        Raises:
            NotFoundError: an unknown benchmark, model or judge, or a data set that has not been built.
            ModelError: the model or the judge's model can't be asked; nothing that was answered is lost.
            BudgetError: the budget is spent; likewise.
        """
        from ethicsdb.runners.generate import generate
        from ethicsdb.runners.judging import check_judge
        from ethicsdb.runners.models import judge_of, open_backend, resolve_model
        from ethicsdb.runners.run_settings import Settings as Defaults

        declared = self.declarations.benchmark(benchmark.partition("@")[0])
        if declared.runner != "generate":
            raise DeclarationError(
                f"{declared.name} scores given texts: no answers are drawn, and no judge reads them."
            )
        name = judge or declared.judges[0]
        # What a judge lacks should be heard of before a call is paid.
        check_judge(self.context, benchmark, judge_of(self.declarations, name))
        found = resolve_model(self.declarations, model)
        # Of a model and a judge, those with an endpoint go through batches; that neither has one is an error.
        batched = in_batches and (found.backend == "openai" or self.declarations.judge(name).model is None)
        with open_backend(found, concurrency, budget, in_batches=batched) as backend:
            generated = generate(self.context, benchmark, backend, settings or Defaults())
        return generated, self.judge(
            generated.run_id, judge=name, concurrency=concurrency, budget=budget, in_batches=in_batches
        )

    def score(self, benchmark: str, *, model: str, settings: Settings | None = None) -> ScoredRun:
        """Score a benchmark of likelihoods or vectors by a model on this machine.

        See `ethicsdb.runners.likelihood_run` and `ethicsdb.runners.vector_run`.

        Args:
            model: a declared local model, `hf:ID@REVISION` of the Hub, `hf:FOLDER`, or `vectors:FILE` of word vectors.
            settings: what differs from the declaration.

        Raises:
            NotFoundError: an unknown benchmark or model, or a data set that has not been built.
            DeclarationError: the benchmark is not one of likelihoods, or the model not a local one.
            ModelError: the model can't be loaded, or gives no likelihoods of this kind.
        """
        from ethicsdb.runners.likelihood_run import score_likelihoods
        from ethicsdb.runners.local import open_local, open_vectors
        from ethicsdb.runners.models import local_model
        from ethicsdb.runners.run_settings import Settings as Defaults
        from ethicsdb.runners.vector_run import score_vectors

        declared = self.declarations.benchmark(benchmark.partition("@")[0])
        found = local_model(self.declarations, model, declared)
        if declared.runner == "vectors":
            return score_vectors(self.context, benchmark, open_vectors(found), settings or Defaults())
        return score_likelihoods(self.context, benchmark, open_local(found), settings or Defaults())

    def judge(
        self, run: str, *, judge: str, concurrency: int | None = None, budget: Budget | None = None,
        in_batches: bool = False,
    ) -> JudgedRun:  # fmt: skip
        """Let a judge read the stored answers of a run; the model that gave them is not asked.

        Args:
            run: the run's id, or its first digits.

        Raises:
            NotFoundError: an unknown run or judge.
        """
        from ethicsdb.runners.judging import check_can_ask, judge_run
        from ethicsdb.runners.models import judge_of, open_judge, resolve_model
        from ethicsdb.runners.runs import benchmark_of, find_run
        from ethicsdb.runners.scores import score_run

        parts = judge_of(self.declarations, judge)
        run_id = find_run(self.context, run)
        benchmark = benchmark_of(self.context, run_id)
        if parts.declaration.model is None:
            judged = judge_run(self.context, run_id, parts, None)
        else:
            check_can_ask(self.context, benchmark, parts)
            if parts.screen is not None:
                screen = parts.screen.declaration.name
                self.judge(run_id, judge=screen, concurrency=concurrency, budget=budget, in_batches=in_batches)
            model = resolve_model(self.declarations, parts.declaration.model)
            batched = in_batches and model.backend == "openai"
            with open_judge(parts, model, concurrency, budget, in_batches=batched) as backend:
                judged = judge_run(self.context, run_id, parts, backend)
        score_run(self.context, benchmark, run_id, parts.identity.fingerprint)
        return judged

    def estimate_run(
        self, benchmark: str, *, model: str, judge: str | None = None, settings: Settings | None = None
    ) -> list[Estimate]:
        """What `run` would ask and cost, stage by stage; no call is made and nothing is written."""
        from ethicsdb.runners.estimates import estimate_run

        return estimate_run(self.context, benchmark, (model, judge), settings)

    def estimate_judge(self, run: str, *, judge: str) -> list[Estimate]:
        """What `judge` would ask and cost, the screen of a judge first; no call is made and nothing is written."""
        from ethicsdb.runners.estimates import estimate_judge

        return estimate_judge(self.context, run, judge)

    def cost(self, run: str | None = None) -> list[dict[str, Any]]:
        """What was paid: by model and purpose (view `cost`), or for the answers and verdicts of a run (`run_cost`)."""
        from ethicsdb.runners.runs import find_run

        return boards.cost(self.context, find_run(self.context, run) if run else None)

    def gold(self, benchmark: str, *, judge: str | None = None, concurrency: int | None = None) -> list[dict[str, Any]]:
        """Let a judge read a gold set's answers, and measure it against the labels: rows of the view `gold_agreement`.

        Args:
            benchmark: a benchmark on a data set of the kind `gold_answer`, or `NAME@v1`.
            judge: a declared judge that gives the set's label; default: the benchmark's first.
            concurrency: calls at a time, of a judge with a model.

        Raises:
            NotFoundError: an unknown benchmark or judge, or a data set that has not been built.
            DeclarationError: the judge does not give the label that the gold set has.
            SourceError: the benchmark's data is no gold set.
            ModelError: the judge's model can't be asked; nothing that was answered is lost.
        """
        from ethicsdb.runners.gold import check_gives, gold_target, store_gold

        target = gold_target(self.context, benchmark)
        name = judge or target.benchmark.judges[0]
        check_gives(self.context, target, name)
        for run in store_gold(self.context, target):
            self.judge(run, judge=name, concurrency=concurrency)
        return boards.gold_agreement(self.context, target.benchmark.name, target.version.version, name)

    def runs(self) -> list[dict[str, Any]]:
        """Every run, newest first."""
        return boards.runs(self.context)

    def why(self, run: str, item: str) -> dict[str, Any]:
        """What one item's number rests on; see `ethicsdb.runners.explain`."""
        from ethicsdb.runners.explain import explain

        return explain(self.context, run, item)

    def sql(self, query: str, *, limits: Limits | None = None) -> Answer:
        """Run one reading statement in a separate read-only process.

        Raises:
            QueryError: the statement was refused or failed.
            QueryLimitError: it needed more time or memory than its limits.
        """
        from ethicsdb.registry.query import query_database

        return query_database(self.context, query, limits)

    def leaderboard(
        self, benchmark: str, *, major: int | None = None, old_judges: bool = False
    ) -> list[dict[str, Any]]:
        """Rows of the board of a benchmark: every metric and slice, with n, coverage and interval.

        Args:
            major: N of the version N-X; default: as declared. Results of different majors never stand together.
            old_judges: also verdicts of judges as they were declared before.
        """
        return boards.leaderboard(self.context, benchmark, major=major, old_judges=old_judges)

    def outcomes(self, benchmark: str, *, major: int | None = None) -> list[dict[str, Any]]:
        """How every asked-for item of a benchmark's runs ended."""
        return boards.outcomes(self.context, benchmark, major=major)

    def agreement(self, benchmark: str) -> list[dict[str, Any]]:
        """Judges against people."""
        return boards.agreement(self.context, benchmark)

    def detection(self, benchmark: str) -> list[Found]:
        """How well judges find what people see on sheets drawn at random; see `ethicsdb.runners.annotation.measure`."""
        from ethicsdb.runners.annotation.measure import measure_judges

        return measure_judges(self.context, benchmark)

    def people(self, benchmark: str) -> list[Together]:
        """How far the people of each sheet agree among themselves."""
        from ethicsdb.runners.annotation.measure import measure_people

        return measure_people(self.context, benchmark)

    def judges_compared(self, benchmark: str) -> list[dict[str, Any]]:
        """Rows of the view `judge_beside_judge`: which of two judges finds how much more."""
        return boards.judges_compared(self.context, benchmark)

    def build_report(self, dataset: str) -> list[dict[str, Any]]:
        """Why rows of a version (`NAME` or `NAME@v1`) were dropped, mended or look odd."""
        from ethicsdb.registry.versions import find_version

        version = find_version(self.context, dataset)
        return boards.build_report(self.context, version.dataset, version.version)

    def rebuild(self) -> dict[str, tuple[int, str]]:
        """Make the database anew from declarations and journals; returns rows and checksum by table."""
        from ethicsdb.registry.rebuild import rebuild

        return rebuild(self.context.store, self.context.mirrored())

    def checksums(self) -> dict[str, tuple[int, str]]:
        """Rows and checksum of every table, whatever the order of its rows."""
        from ethicsdb.registry.rebuild import checksums

        with self.context.reading() as connection:
            return checksums(connection)


def _current_judges(declared: Declarations) -> dict[str, str]:
    """The fingerprint that each declared judge has now, whose verdicts boards show."""
    from ethicsdb.runners.models import judge_of

    return {name: judge_of(declared, name).identity.fingerprint for name in declared.names("judge")}
