"""What the sheets say: how well each judge finds what people see, and how far people agree among themselves."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethicsdb.registry.context import Context
from ethicsdb.registry.versions import read_sql
from ethicsdb.runners.statistics.detection import Bounded, Detection, Stratum, detection

__all__ = ["Found", "Together", "measure_judges", "measure_people"]


@dataclass(frozen=True)
class Found:
    """How well a judge finds one value of an attribute, over all answers that a sheet was drawn from.

    Attributes:
        n: answers that count: with a majority of people and a verdict that could be read.
        tied: labelled answers without a majority; without_verdict: those that the judge gave no label. Neither counts.
        people: who labelled.
    """

    sheet: str
    judge: str
    attribute: str
    value: str
    n: int
    tied: int
    without_verdict: int
    clusters: int
    people: list[str]
    precision: Bounded | None
    recall: Bounded | None
    f1: Bounded | None
    prevalence: Bounded | None


@dataclass(frozen=True)
class Together:
    """How far people agree on the answers of a sheet that two or more of them labelled.

    Attributes:
        alpha: Krippendorff's, nominal; -1 to 1. kappa: Cohen's, where two people labelled. None with `reason`.
    """

    sheet: str
    attribute: str
    people: list[str]
    units: int
    alpha: float | None
    kappa: float | None
    reason: str | None


@dataclass(frozen=True)
class _Row:
    sheet: str
    attribute: str
    allowed: list[str]
    strata: dict[str, Any]
    unit: str
    stratum: str
    population: int
    group: str
    people: dict[str, str]
    judge: str | None
    labels: frozenset[str]

    @property
    def gold(self) -> str | None:
        """What more than half of the people say."""
        value, count = Counter(self.people.values()).most_common(1)[0]
        return value if 2 * count > len(self.people) else None


def _rows(context: Context, benchmark: str) -> list[_Row]:
    declared = context.declarations.benchmark(benchmark)
    parameters = {"benchmark": declared.name, "major": declared.major}
    with context.reading() as connection:
        found = connection.execute(read_sql("labelled_units"), parameters).fetchall()
    return [
        _Row(
            sheet, attribute, json.loads(allowed), json.loads(strata), unit, stratum, population, group,
            {each["annotator"]: each["value"] for each in people}, judge, frozenset(labels or ()),
        )
        for sheet, attribute, allowed, strata, unit, stratum, population, group, people, judge, labels in found
    ]  # fmt: skip


def measure_judges(context: Context, benchmark: str) -> list[Found]:
    """Each judge against people's majority, for every value of the labelled attribute against all others.

    Raises NotFoundError for an unknown benchmark.
    """
    rows = _rows(context, benchmark)
    units = {(row.sheet, row.unit): row for row in rows}
    judged: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        if row.judge is not None:
            judged[row.sheet, row.judge].append(row)
    found = []
    for (sheet, judge), own in sorted(judged.items()):
        labelled = [row for (name, _), row in units.items() if name == sheet]
        for value in own[0].allowed:
            found.append(_found(judge, value, own, labelled))
    return found


def _found(judge: str, value: str, rows: Sequence[_Row], labelled: Sequence[_Row]) -> Found:
    counted = [row for row in rows if row.gold is not None]
    told = detection(_strata(judge, value, counted))
    first = rows[0]
    return Found(
        first.sheet, judge, first.attribute, value, len(counted), sum(row.gold is None for row in labelled),
        len(labelled) - len(rows), len({row.group for row in counted}),
        sorted({name for row in labelled for name in row.people}), **_parts(told),
    )  # fmt: skip


def _parts(told: Detection) -> dict[str, Bounded | None]:
    return {"precision": told.precision, "recall": told.recall, "f1": told.f1, "prevalence": told.prevalence}


def _strata(judge: str, value: str, rows: Sequence[_Row]) -> list[Stratum]:
    by_name: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        by_name[row.stratum].append(row)
    found = []
    for _, there in sorted(by_name.items()):
        cells = Counter((value in row.labels, row.gold == value) for row in there)
        found.append(
            Stratum(
                there[0].population, cells[True, True], cells[False, True], cells[True, False], cells[False, False],
                len({row.group for row in there}), _one_verdict(judge, value, there),
            )
        )  # fmt: skip
    return found


def _one_verdict(judge: str, value: str, rows: Sequence[_Row]) -> bool:
    """Whether the stratum is one of this judge's labels, and the judge still says so."""
    return bool(rows[0].strata["judge"] == judge) and len({value in row.labels for row in rows}) == 1


def measure_people(context: Context, benchmark: str) -> list[Together]:
    """Agreement among the people of each sheet. Raises NotFoundError for an unknown benchmark."""
    by_sheet: dict[str, dict[str, _Row]] = defaultdict(dict)
    for row in _rows(context, benchmark):
        by_sheet[row.sheet][row.unit] = row
    return [_together(list(units.values())) for _, units in sorted(by_sheet.items())]


def _together(rows: list[_Row]) -> Together:
    both = [row for row in rows if len(row.people) > 1]
    names = sorted({name for row in rows for name in row.people})
    alpha = kappa = None
    reason = None
    said = {value for row in both for value in row.people.values()}
    if not both:
        reason = "no answer was labelled by two people"
    elif len(said) == 1:
        reason = "everybody gave one and the same label"
    else:
        alpha = _alpha(both, names)
        kappa = _kappa(both) if len({name for row in both for name in row.people}) == 2 else None
    return Together(rows[0].sheet, rows[0].attribute, names, len(both), alpha, kappa, reason)


def _alpha(rows: Sequence[_Row], names: Sequence[str]) -> float:
    import krippendorff
    import numpy as np

    codes = {value: float(at) for at, value in enumerate(sorted({v for row in rows for v in row.people.values()}))}
    table = [[codes[row.people[name]] if name in row.people else np.nan for row in rows] for name in names]
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="nominal"))


def _kappa(rows: Sequence[_Row]) -> float | None:
    """Cohen's kappa: (agreement - chance) / (1 - chance); None where chance agreement is 1."""
    one, two = sorted(rows[0].people)
    pairs = [(row.people[one], row.people[two]) for row in rows]
    observed = sum(a == b for a, b in pairs) / len(pairs)
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(left[value] * right[value] for value in left) / len(pairs) ** 2
    return None if chance == 1 else (observed - chance) / (1 - chance)
