"""From an item to what a local model is asked: a context, and texts whose likelihood after it is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from ethicsdb.runners.likelihood.base import Context, Turn
from ethicsdb.runners.render import ROLES, fill, shown_options
from ethicsdb.schemas.asks import LikelihoodAsk

__all__ = ["Exchange", "ItemAsk", "exchange_of", "item_ask"]

Payload = Mapping[str, Any]

# Of a sentence pair, in the order in which they are asked.
SENTENCES = ("stereotype", "anti_stereotype", "unrelated")


@dataclass(frozen=True)
class Exchange:
    """A conversation, and what is said next; either of the two may be unknown."""

    context: tuple[Turn, ...]
    unethical: str | None
    ethical: str | None


@dataclass(frozen=True)
class ItemAsk:
    """What is asked of one item.

    Attributes:
        context: what stands before the targets.
        targets: texts by name: unethical, refusal, choice_0, stereotype, ...
        beside: by target, the other sentence of its pair: only the tokens that both share are scored.
    """

    context: Context
    targets: Mapping[str, str]
    beside: Mapping[str, str] | None = None


def item_ask(ask: LikelihoodAsk, payload: Payload, examples: Sequence[Exchange] = ()) -> ItemAsk | None:
    """What is asked of an item; None where it lacks what is to be scored.

    Args:
        payload: the item's fields, lists and objects decoded.
        examples: exchanges with ethical outputs that stand before the item's own context (form `exchange`).
    """
    if ask.form == "exchange":
        return _exchange_ask(ask, exchange_of(ask, payload), examples)
    if ask.form == "choice":
        targets = {f"choice_{number}": option for number, option in enumerate(payload["options"])}
        return ItemAsk(_instructed(ask, (Turn("user", _question(ask, payload)),)), targets)
    sentences = {name: payload[name] for name in SENTENCES if payload.get(name) is not None}
    if not {"stereotype", "anti_stereotype"} <= set(sentences):
        return None
    if ask.form == "sentences":
        # Only the sentence before is a context; a sentence with a gap (intra) is each of the sentences itself.
        before = payload.get("context") if payload.get("form") == "inter" else None
        return ItemAsk(f"{before} " if before else "", sentences)
    pair = {name: sentences[name] for name in SENTENCES[:2]}
    return ItemAsk("", pair, {SENTENCES[0]: pair[SENTENCES[1]], SENTENCES[1]: pair[SENTENCES[0]]})


def exchange_of(ask: LikelihoodAsk, payload: Payload) -> Exchange:
    """The exchange in an item.

    Of a conversation, its output is unethical where it has a label other than `neutral`, ethical where that is its only
    one, and neither where nobody labelled it. Of a question,
    the options are what may be said: unethical is the one that bias would choose, or the one that fewest people chose;
    ethical is the right one, or the one that most people chose.
    """
    if "output" in payload:
        turns = tuple(Turn(ROLES[turn["role"]], turn["content"]) for turn in payload["context"])
        labels = set(payload["labels"])
        said = payload["output"]
        return Exchange(turns, said if labels - {"neutral"} else None, said if labels == {"neutral"} else None)
    options: list[str] = payload["options"]
    bad = payload["target"] if ask.unethical == "target" else _extreme(payload["distribution"], min)
    good = payload["answer"] if payload["answer"] is not None else _extreme(payload["distribution"], max)
    chosen = (None if at is None or (at == bad and which == 1) else options[at] for which, at in enumerate((bad, good)))
    return Exchange((Turn("user", _question(ask, payload)),), *chosen)


def _exchange_ask(ask: LikelihoodAsk, exchange: Exchange, examples: Sequence[Exchange]) -> ItemAsk | None:
    if exchange.unethical is None:
        return None
    before = [turn for each in examples for turn in (*each.context, Turn("assistant", str(each.ethical)))]
    targets = {"unethical": exchange.unethical, "refusal": str(ask.refusal)}
    if exchange.ethical is not None:
        targets["ethical"] = exchange.ethical
    return ItemAsk(_instructed(ask, (*before, *exchange.context)), targets)


def _instructed(ask: LikelihoodAsk, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turns with the instruction in front of the first user's; chat templates do not all take a system turn."""
    if ask.instruction is None:
        return turns
    if turns and turns[0].role == "user":
        return (Turn("user", f"{ask.instruction}\n\n{turns[0].content}"), *turns[1:])
    return (Turn("user", ask.instruction), *turns)


def _question(ask: LikelihoodAsk, payload: Payload) -> str:
    """The template filled; a line whose fields are all empty is left out."""
    values = shown_options(payload)
    lines = []
    for line in ask.template.split("\n"):
        names = [name for _, name, _, _ in Formatter().parse(line) if name is not None]
        if not names or any(values.get(name) not in (None, "") for name in names):
            lines.append(fill(line, values))
    return "\n".join(lines)


def _extreme(shares: Sequence[float | None] | None, which: Any) -> int | None:
    """Index of the smallest or largest share; None where there is none, or several are alike."""
    known = [share for share in shares or () if share is not None]
    if not known:
        return None
    best = which(known)
    return None if known.count(best) > 1 else list(shares or ()).index(best)
