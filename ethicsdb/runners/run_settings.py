"""How a benchmark is run here, where that differs from its declaration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ethicsdb.registry.items import ItemRow
from ethicsdb.schemas.declared import Prompt, Sampling
from ethicsdb.schemas.errors import DeclarationError

__all__ = ["Settings", "chosen_rows"]

Runner = Literal["generate", "likelihood", "vectors"]

# Settings that mean nothing to a runner.
_FOREIGN: dict[Runner, tuple[str, ...]] = {
    "generate": ("shots", "pool"),
    "likelihood": ("samples", "temperature", "max_tokens", "system", "template"),
    "vectors": ("samples", "temperature", "max_tokens", "system", "template", "seed", "shots", "pool"),
}


@dataclass(frozen=True)
class Settings:
    """How a benchmark is run here; what is None is as declared.

    Raises:
        ValueError: a limit below 1; a template without a field, or sampling out of range, when it is put to use.
    """

    limit: int | None = None
    samples: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    system: str | None = None
    template: str | None = None
    shots: int | None = None
    pool: str | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"a limit of {self.limit} leaves nothing to ask")
        if (self.shots or 0) < 0:
            raise ValueError(f"{self.shots} examples can't be given")

    def only_for(self, runner: Runner, benchmark: str) -> None:
        """See that nothing is set that a runner would silently ignore. Raises DeclarationError."""
        idle = [name for name in _FOREIGN[runner] if getattr(self, name) is not None]
        if idle:
            what = "answers are drawn and judged" if runner == "generate" else "given texts are scored, none is drawn"
            told = " and ".join(f"--{name.replace('_', '-')}" for name in idle)
            raise DeclarationError(f"{told} can't be set for {benchmark}: its {what}.")

    def sampling(self, declared: Sampling) -> Sampling:
        """The declared sampling with these settings over it."""
        given = {name: getattr(self, name) for name in ("samples", "temperature", "max_tokens", "seed")}
        return Sampling(**{**declared.model_dump(), **{k: v for k, v in given.items() if v is not None}})

    def prompt(self, declared: Prompt) -> Prompt:
        """The declared prompt with these settings over it."""
        given = {"system": self.system, "template": self.template}
        return Prompt(**{**declared.model_dump(), **{k: v for k, v in given.items() if v is not None}})


def chosen_rows(rows: Sequence[ItemRow], limit: int | None) -> tuple[list[ItemRow], int | None]:
    """The first row of each distinct item, or of `limit` of them; and the limit, None where it leaves nothing out.

    Items are drawn by their hashes: an even draw over the whole set, the same everywhere, and nested: the 10 are among
    the 60. The first rows of a file would all be of one area.
    """
    distinct: dict[str, ItemRow] = {}
    for row in rows:
        distinct.setdefault(row.item_id, row)
    chosen = list(distinct.values())
    if limit is None or limit >= len(chosen):
        return chosen, None
    return sorted(sorted(chosen, key=lambda row: row.item_id)[:limit], key=lambda row: row.row), limit
