"""What a run or a judge would ask and cost, before a call is made; nothing is written.

A request's tokens are estimated from its text: one for each four characters in Latin letters, and one for each other
character. The most that they can be is its bytes (`spending`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ethicsdb.registry.context import Context
from ethicsdb.registry.items import ItemRow
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.backends.base import FINAL_ERRORS, Ask
from ethicsdb.runners.generate import requests_of
from ethicsdb.runners.judge_core import Subject, after_screen, wanted_of
from ethicsdb.runners.judging import check_can_ask, check_judge, subjects_of
from ethicsdb.runners.models import JudgeParts, check_model, identity_of, judge_of, resolve_model
from ethicsdb.runners.run_settings import Settings
from ethicsdb.runners.runs import benchmark_of, find_run
from ethicsdb.runners.spending import most_prompt_tokens, purse_of
from ethicsdb.runners.stage import Wanted
from ethicsdb.schemas.declared import ModelDeclaration
from ethicsdb.schemas.errors import DeclarationError
from ethicsdb.schemas.outcomes import VerdictStatus
from ethicsdb.schemas.rubrics import ClassifierRubric
from ethicsdb.schemas.text import restore

__all__ = ["Estimate", "estimate_judge", "estimate_run"]

CHARACTERS = 4  # a token, in Latin letters
LATIN = 0x24F  # the last of them in Unicode


@dataclass(frozen=True)
class Estimate:
    """What a stage would ask. Money is in US dollars; None where the model has no declared price.

    Attributes:
        what: the stage: answers, or a judge's verdicts.
        requests: distinct ones; `there`: those that have a final answer already and cost nothing.
        prompt_tokens, prompt_tokens_at_most: of the requests that would be asked.
        completion_tokens_at_most: every answer at its length limit.
        usd: with the estimated prompts and every answer at its limit; `usd_at_most`: with the longest prompts too.
        guessed: whether what is to be judged is not there yet, and taken to be as long as it may be.
    """

    what: str
    model: str
    requests: int
    there: int
    prompt_tokens: int
    prompt_tokens_at_most: int
    completion_tokens_at_most: int
    usd: float | None
    usd_at_most: float | None
    guessed: bool = False

    @property
    def to_ask(self) -> int:
        """How many requests would be made."""
        return self.requests - self.there


def estimate_run(
    context: Context, reference: str, who: tuple[str, str | None], settings: Settings | None
) -> list[Estimate]:
    """What `run` would ask: answers, then verdicts on them.

    Args:
        reference: `BENCHMARK` or `BENCHMARK@vN`.
        who: the model, and the judge or None for the benchmark's first.

    Raises:
        NotFoundError, DeclarationError, ModelError: as a run would.
    """
    benchmark = context.declarations.benchmark(reference.partition("@")[0])
    judge = judge_of(context.declarations, who[1] or benchmark.judges[0])
    check_judge(context, reference, judge, key=False)
    model = resolve_model(context.declarations, who[0])
    check_model(model, key=False)
    requests = requests_of(context, reference, identity_of(model), settings or Settings())
    stages = [_stage(context, "answers", model, [each for _, each in requests])]
    if judge.declaration.model is not None and not isinstance(judge.rubric.rubric, ClassifierRubric):
        stages += _verdicts(context, judge, *_answers(context, requests))
    return stages


def estimate_judge(context: Context, run: str, name: str) -> list[Estimate]:
    """What `judge` would ask about a run's answers, the screen of a judge first. Raises as `judge` would;
    DeclarationError for a judge of rules."""
    judge = judge_of(context.declarations, name)
    run_id = find_run(context, run)
    if judge.declaration.model is None or isinstance(judge.rubric.rubric, ClassifierRubric):
        raise DeclarationError(f"{name} asks nobody, so that there is nothing to pay.")
    check_can_ask(context, benchmark_of(context, run_id), judge, key=False)
    return _verdicts(context, judge, subjects_of(context, run_id), guessed=False)


def _answers(context: Context, requests: list[tuple[ItemRow, Wanted]]) -> tuple[list[Subject], bool]:
    """Answers that are there, and answers that may come, each as long as it may be; whether there are any of these."""
    given = {each.response_key: (row, each.ask.sampling.max_tokens) for row, each in requests}
    with context.reading() as connection:
        rows = connection.execute(read_sql("answers_by_key"), {"keys": list(given)}).fetchall()
    texts = {key: restore(text, exact) for key, status, text, exact, *_ in rows if status == "completed"}
    lost = {key for key, status, *_ in rows if status == "filtered"}
    subjects = []
    for key, (row, tokens) in given.items():
        text = texts.get(key)
        answer = text if text is not None else f"{key}{'x' * (CHARACTERS * tokens - len(key))}"
        if key not in lost:
            subjects.append(Subject(key, row.payload, answer))
    return subjects, len(given) - len(lost) > len(texts)


def _verdicts(context: Context, judge: JudgeParts, subjects: list[Subject], guessed: bool) -> list[Estimate]:
    """Verdicts of a judge's screen, and of the judge on all that the screen may keep."""
    stages = [] if judge.screen is None else _verdicts(context, judge.screen, subjects, guessed)
    decided, _, waiting = after_screen(context, judge, subjects)
    harmless = {each.subject for each in decided if each.reading.status is VerdictStatus.PARSED}
    wanted = [wanted_of(judge, each.item, each.text) for each in subjects if each.key not in harmless]
    model = resolve_model(context.declarations, str(judge.declaration.model))
    what = f"verdicts of {judge.declaration.name}"
    return [*stages, _stage(context, what, model, wanted, guessed=guessed or waiting > 0)]


def _stage(
    context: Context, what: str, model: ModelDeclaration, wanted: list[Wanted], *, guessed: bool = False
) -> Estimate:
    distinct = {each.response_key: each for each in wanted}
    parameters = {"keys": list(distinct), "final_errors": list(FINAL_ERRORS)}
    with context.reading() as connection:
        rows = connection.execute(read_sql("tries"), parameters).fetchall()
    final = {key for key, _, done in rows if done}
    asked = [each.ask for key, each in distinct.items() if key not in final]
    likely = sum(likely_prompt_tokens(ask) for ask in asked)
    most = sum(most_prompt_tokens(ask) for ask in asked)
    answers = sum(ask.sampling.max_tokens for ask in asked)
    price = purse_of(model).price

    def usd(prompt: int) -> float | None:
        return None if price is None else (prompt * price.prompt + answers * price.completion) / 1e6

    return Estimate(
        what, model.name, len(distinct), len(final), likely, most, answers, usd(likely), usd(most), guessed
    )  # fmt: skip


def likely_prompt_tokens(ask: Ask) -> int:
    """About how many tokens a request has."""
    text = "".join(part for each in ask.messages for part in each.values())
    wide = sum(ord(letter) > LATIN for letter in text)
    return wide + -(-(len(text) - wide) // CHARACTERS)
