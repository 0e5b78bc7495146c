"""What calls cost, and the most that a command may spend.

Before a call its worst case is set aside: every byte of the request a token (no tokenizer makes more of them), every
token of the answer that is allowed. What the endpoint counts takes its place once the answer is read. So the sum of
what was spent and what may yet be spent never goes over the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ethicsdb.runners.backends.base import Ask, Reply
from ethicsdb.schemas.declared import ModelDeclaration, Price
from ethicsdb.schemas.errors import DeclarationError
from ethicsdb.schemas.fingerprint import canonical_json

__all__ = ["Budget", "Hold", "Purse", "cost_of", "most_prompt_tokens", "purse_of"]

TURN = 16  # tokens that a chat template puts around a message, at most
FREE = Price(prompt=0.0, completion=0.0)  # of models on this machine


@dataclass
class Budget:
    """The most that a command may spend, over all its stages. Money is in millionths of a US dollar.

    Attributes:
        microusd, tokens: the limits; None for none.
        spent_microusd, spent_tokens: what was spent, or may have been where nobody counted.
        held_microusd, held_tokens: set aside for calls in flight.
    """

    microusd: int | None = None
    tokens: int | None = None
    spent_microusd: int = 0
    spent_tokens: int = 0
    held_microusd: int = 0
    held_tokens: int = 0

    @classmethod
    def of(cls, usd: float | None, tokens: int | None) -> Budget:
        """A budget in US dollars and tokens."""
        return cls(None if usd is None else math.floor(usd * 1e6 + 1e-6), tokens)

    def has_room(self, microusd: int, tokens: int) -> bool:
        """Whether so much more may be spent."""
        money = self.microusd is None or self.spent_microusd + self.held_microusd + microusd <= self.microusd
        return money and (self.tokens is None or self.spent_tokens + self.held_tokens + tokens <= self.tokens)

    def told(self) -> str:
        """What was spent of it, in words."""
        parts = []
        if self.microusd is not None:
            parts.append(f"${self.spent_microusd / 1e6:,.4f} of ${self.microusd / 1e6:,.4f}")
        if self.tokens is not None:
            parts.append(f"{self.spent_tokens:,} of {self.tokens:,} tokens")
        return " and ".join(parts)


@dataclass(frozen=True)
class Hold:
    """What is set aside for a call in flight."""

    microusd: int
    tokens: int


@dataclass
class Purse:
    """What a stage pays its calls with.

    Attributes:
        price: for a million tokens; None where nobody declared it.
        calls, billed: calls that were made, and those whose answer was read whole, which endpoints charge for.
        uncounted: billed calls whose tokens the endpoint did not count.
        cost_microusd: of billed calls whose tokens were counted and whose price is known.
    """

    price: Price | None
    budget: Budget = field(default_factory=Budget)
    calls: int = 0
    billed: int = 0
    uncounted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_microusd: int = 0

    def hold(self, ask: Ask) -> Hold | None:
        """Set the worst case of a call aside; None where the budget has no room for it now."""
        prompt, completion = most_prompt_tokens(ask), ask.sampling.max_tokens
        worst = Hold(math.ceil(_microusd(self.price or FREE, prompt, completion)), prompt + completion)
        if not self.budget.has_room(worst.microusd, worst.tokens):
            return None
        self.budget.held_microusd += worst.microusd
        self.budget.held_tokens += worst.tokens
        return worst

    def settle(self, hold: Hold, reply: Reply | None) -> None:
        """Put what a call cost in the place of what was set aside; no reply means that it may have cost all of it."""
        self.budget.held_microusd -= hold.microusd
        self.budget.held_tokens -= hold.tokens
        self.calls += 1
        counted = reply is not None and reply.prompt_tokens is not None and reply.completion_tokens is not None
        if reply is None or (reply.billed and not counted) or reply.error_code in ("dropped", "timeout"):
            self.budget.spent_microusd += hold.microusd
            self.budget.spent_tokens += hold.tokens
        if reply is not None:
            self.account(reply, call=False)

    def account(self, reply: Reply, *, call: bool = True) -> None:
        """Add what a reply cost.

        Args:
            call: whether its call is not counted yet.
        """
        self.calls += call
        if not reply.billed:
            return
        self.billed += 1
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self.uncounted += 1
            return
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        cost = cost_of(self.price, reply) or 0
        self.cost_microusd += cost
        self.budget.spent_microusd += cost
        self.budget.spent_tokens += reply.prompt_tokens + reply.completion_tokens


def purse_of(model: ModelDeclaration, budget: Budget | None = None, *, in_batches: bool = False) -> Purse:
    """A purse for a model's calls; models on this machine cost nothing.

    Args:
        in_batches: the calls go through the Batch API, at the share of the price that is declared for it.

    Raises:
        DeclarationError: money is limited, and the model has no price.
    """
    price = model.price if model.backend == "openai" else model.price or FREE
    if in_batches and price is not None:
        share = price.batch
        price = None if share is None else Price(prompt=price.prompt * share, completion=price.completion * share)
    budget = budget or Budget()
    if budget.microusd is not None and price is None:
        missing, key = (" for batches", ", batch: ...") if in_batches else ("", "")
        raise DeclarationError(
            f"A budget in money needs a price, and {model.name} has none{missing}: declare the model with "
            f"`price: {{prompt: ..., completion: ...{key}}}` (US dollars for a million tokens), or limit tokens."
        )
    return Purse(price, budget)


def cost_of(price: Price | None, reply: Reply) -> int | None:
    """What a reply cost in millionths of a US dollar; None where price or counts are unknown, or nothing is charged.

    A million tokens at p dollars: so many tokens cost tokens * p millionths.
    """
    if not reply.billed:
        return None
    if price is None or reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    return round(_microusd(price, reply.prompt_tokens, reply.completion_tokens))


def most_prompt_tokens(ask: Ask) -> int:
    """More tokens than a request can have: its bytes, since a token stands for at least one, and the turns around."""
    size = sum(len(part.encode("utf-8", "surrogatepass")) for each in ask.messages for part in each.values())
    shape = 0 if ask.schema is None else len(canonical_json(ask.schema))
    return size + shape + TURN * (len(ask.messages) + 1)


def _microusd(price: Price, prompt: int, completion: int) -> float:
    return prompt * price.prompt + completion * price.completion
