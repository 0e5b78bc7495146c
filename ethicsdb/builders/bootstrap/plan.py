"""What a bootstrap is made of, and which request asks for what; all of it follows from a seed."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from ethicsdb.builders.bootstrap.candidates import RULES, Kept
from ethicsdb.registry.files import read_bytes
from ethicsdb.runners.backends.base import Ask
from ethicsdb.runners.identity import Identity
from ethicsdb.runners.render import Messages
from ethicsdb.runners.stage import Wanted, keyed
from ethicsdb.schemas.declared import Sampling
from ethicsdb.schemas.declared_bootstrap import BootstrapDeclaration
from ethicsdb.schemas.errors import SourceError
from ethicsdb.schemas.fingerprint import fingerprint

__all__ = ["Plan", "Request", "plan_of"]

SAMPLE = "sample:"
OUTCOME = "Nothing was asked."


@dataclass(frozen=True)
class Request:
    """A request for candidates of a type."""

    kind: str
    round: int
    number: int
    parents: tuple[str, ...]
    wanted: Wanted


@dataclass(frozen=True)
class Plan:
    """A bootstrap: what is declared, its demonstrations, and who writes."""

    declaration: BootstrapDeclaration
    demonstrations: list[Kept]
    sha256: str  # of the demonstrations' file
    model: Identity

    @cached_property
    def mark(self) -> str:
        """Fingerprint of all that shapes the candidates. The limit of rounds is no part: more of them go on."""
        given = self.declaration.model_dump(mode="json", exclude={"name", "title", "rounds", "demonstrations"})
        return fingerprint(["bootstrap", RULES, given, self.sha256, self.model.fingerprint])

    @cached_property
    def kinds(self) -> list[str]:
        """The types, in the order of the demonstrations."""
        return list(dict.fromkeys(each.kind for each in self.demonstrations))

    def request(self, kind: str, round_: int, number: int, kept: list[Kept]) -> Request:
        """A request of a round, which shows demonstrations and kept candidates of the type; the seed chooses."""
        declared = self.declaration
        place = (declared.sampling.seed, kind, round_, number)
        given = [each for each in self.demonstrations if each.kind == kind]
        later = _chosen([each for each in kept if each.kind == kind and each not in given], declared.of_kept, place)
        first = _chosen(given, declared.shown - len(later), place)
        shown = sorted([*first, *later], key=lambda each: _rank(each.name, ("order", *place)))
        sampling = Sampling(**declared.sampling.model_dump(), samples=1)
        # Two requests may show the same texts, and are to be answered apart.
        ask = Ask(self._messages(kind, shown), sampling, round_ * declared.requests + number)
        parents = tuple(each.name for each in shown)
        return Request(kind, round_, number, parents, keyed(self.model.fingerprint, ask))

    def _messages(self, kind: str, shown: list[Kept]) -> Messages:
        lines = "\n".join(f"{number}. {each.text}" for number, each in enumerate(shown, start=1))
        text = self.declaration.prompt.format(type=kind, demonstrations=lines, next=len(shown) + 1)
        system = self.declaration.system
        return [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": text}]


def _chosen(some: list[Kept], count: int, place: tuple[Any, ...]) -> list[Kept]:
    """So many of them, by a hash of name and place: the same on every machine and in every version of Python."""
    return sorted(some, key=lambda each: _rank(each.name, place))[: max(count, 0)]


def _rank(name: str, place: tuple[Any, ...]) -> str:
    return fingerprint([name, *place])


def plan_of(declaration: BootstrapDeclaration, model: Identity) -> Plan:
    """Read the demonstrations.

    Raises:
        SourceError: the file is missing, has no columns type and prompt, an empty cell, or a prompt twice.
    """
    name = declaration.demonstrations
    path = Path(name)
    if name.startswith(SAMPLE):
        path = Path(str(files("ethicsdb.builders").joinpath("samples", name.removeprefix(SAMPLE))))
    if not path.is_file():
        raise SourceError(f"{path}: there is no such file of demonstrations. {OUTCOME}")
    raw = read_bytes(path, OUTCOME)
    return Plan(declaration, _read(path.name, raw), hashlib.sha256(raw).hexdigest(), model)


def _read(name: str, raw: bytes) -> list[Kept]:
    try:
        rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{name}: no CSV in UTF-8 ({error}). {OUTCOME}") from error
    found: list[Kept] = []
    for number, row in enumerate(rows, start=1):
        kind, text = (row.get("type") or "").strip(), (row.get("prompt") or "").strip()
        if not kind or not text:
            raise SourceError(f"{name}, row {number}: every row needs a `type` and a `prompt`. {OUTCOME}")
        if any(each.text == text for each in found):
            raise SourceError(f"{name}, row {number}: the prompt stands above already; leave it out. {OUTCOME}")
        found.append(Kept(f"{kind}:seed:{sum(each.kind == kind for each in found) + 1}", kind, text))
    if not found:
        raise SourceError(f"{name}: there are no demonstrations in it. {OUTCOME}")
    return found
