"""Options and words about money, which several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ethicsdb.cli.common import print_table

if TYPE_CHECKING:
    from ethicsdb.runners.estimates import Estimate
    from ethicsdb.runners.spending import Budget

__all__ = ["Limits", "show_estimates", "spending_options", "spent"]


@dataclass(frozen=True)
class Limits:
    """What the options allow: calls in flight, and what may be spent."""

    concurrency: int | None
    budget: Budget

    @property
    def given(self) -> bool:
        """Whether any option was."""
        return self.concurrency is not None or (self.budget.microusd, self.budget.tokens) != (None, None)


def spending_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that limit what a command may do at once and spend; it is given them as `limits`."""

    @wraps(command)
    def limited(
        *args: Any, concurrency: int | None, budget: float | None, token_budget: int | None, **rest: Any
    ) -> Any:
        from ethicsdb.runners.spending import Budget

        return command(*args, limits=Limits(concurrency, Budget.of(budget, token_budget)), **rest)

    for option in (
        click.option("--token-budget", type=click.IntRange(min=1), help="Stop before so many tokens are spent."),
        click.option("--budget", type=click.FloatRange(min=0), help="Stop before so many US dollars are spent."),
        click.option("--concurrency", type=click.IntRange(1, 1024), help="Calls in flight at most."),
    ):
        limited = option(limited)
    return limited


def spent(limits: Limits) -> str:
    """A line about what this command spent; empty where it asked nobody."""
    budget = limits.budget
    if not budget.spent_tokens:
        return ""
    money = f", ${budget.spent_microusd / 1e6:,.4f}" if budget.spent_microusd else ""
    return f"spent by this command: {budget.spent_tokens:,} tokens{money} (ethicsdb cost has the ledger)\n"


def show_estimates(estimates: list[Estimate]) -> None:
    """What would be asked and what it would cost, stage by stage."""
    print_table(
        "Nothing was asked and nothing was written. This command would ask:",
        ["stage", "model", "requests", "there already", "to ask", "prompt tokens, about", "at most",
         "answer tokens, at most", "cost ($), about", "at most"],
        [
            [each.what, each.model, *(f"{number:,}" for number in (
                each.requests, each.there, each.to_ask, each.prompt_tokens, each.prompt_tokens_at_most,
                each.completion_tokens_at_most)), _usd(each.usd), _usd(each.usd_at_most)]
            for each in estimates
        ],
        left=2,
    )  # fmt: skip
    known = [each.usd for each in estimates if each.usd is not None]
    most = [each.usd_at_most for each in estimates if each.usd_at_most is not None]
    if len(known) > 1:
        click.echo(f"together: about ${sum(known):,.4f}, at most ${sum(most):,.4f}")
    click.echo(
        "prompt tokens: about one for four Latin letters and one for each other character; at most one for each byte. "
        "Answers are taken at their length limit."
    )
    if any(each.guessed for each in estimates):
        click.echo("answers that are to be judged and are not there yet are taken at their length limit too")
    if any(each.usd is None and each.to_ask for each in estimates):
        click.echo("–: the model has no declared price")


def _usd(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4f}"
