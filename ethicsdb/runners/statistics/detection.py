"""How well a judge finds what people see, from a stratified random sample of answers that people labelled.

Each stratum h of N_h answers has a sample of n_h, in which every answer is found (judge and people say so), missed
(people only), false (judge only) or rightly left (neither). N_h times the share of each cell estimates its total
(Horvitz & Thompson 1952), and over all strata

    precision = found / (found + false)      recall = found / (found + missed)
    F1 = 2 found / (2 found + false + missed)      prevalence = (found + missed) / N

Intervals are quantiles of these figures under the posterior of each stratum's shares with Jeffreys' prior (1/2 a cell):
beta where the judge's label is what makes the strata, so that it is one and the same in each, else Dirichlet. Where
none of 400 was missed out of 99,000, hundreds may have been, and recall's interval says so, which weighted standard
errors of 0 do not (Brown, Cai & DasGupta 2001 on Jeffreys' intervals). Answers of one cluster count together as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethicsdb.schemas.quantiles import LEVEL

__all__ = ["DRAWS", "Bounded", "Detection", "Stratum", "detection"]

DRAWS = 20_000
SEED = 20230214  # any; fixed, so that the same data give the same interval
PRIOR = 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stratum:
    """A stratum's sample.

    Attributes:
        population: answers in it.
        found, missed, false, left: labelled answers of each cell.
        clusters: that they come in.
        one_verdict: the judge's label made the stratum, so that all its answers have it (or none has).
    """

    population: int
    found: int
    missed: int
    false: int
    left: int
    clusters: int
    one_verdict: bool = False

    @property
    def n(self) -> int:
        """Labelled answers."""
        return self.found + self.missed + self.false + self.left


@dataclass(frozen=True)
class Bounded:
    """A figure from 0 to 1 with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Detection:
    """A judge's figures; None where there is nothing to divide by."""

    precision: Bounded | None
    recall: Bounded | None
    f1: Bounded | None
    prevalence: Bounded | None


def detection(strata: Sequence[Stratum], draws: int = DRAWS) -> Detection:
    """Precision, recall, F1 and prevalence over the whole that was sampled. Strata without labels are left out."""
    known = [stratum for stratum in strata if stratum.n]
    if not known:
        return Detection(None, None, None, None)
    generator = np.random.default_rng(SEED)
    point = sum((_cells(each) / each.n * each.population for each in known), np.zeros((1, 4)))
    drawn = sum((_posterior(each, draws, generator) * each.population for each in known), np.zeros((draws, 4)))
    total = sum(each.population for each in known)
    return Detection(
        precision=_bounded(point, drawn, lambda c: (c[:, 0], c[:, 0] + c[:, 2])),
        recall=_bounded(point, drawn, lambda c: (c[:, 0], c[:, 0] + c[:, 1])),
        f1=_bounded(point, drawn, lambda c: (2 * c[:, 0], 2 * c[:, 0] + c[:, 1] + c[:, 2])),
        prevalence=_bounded(point, drawn, lambda c: (c[:, 0] + c[:, 1], np.full(len(c), float(total)))),
    )


def _cells(stratum: Stratum) -> Floats:
    return np.array([[stratum.found, stratum.missed, stratum.false, stratum.left]], np.float64)


def _posterior(stratum: Stratum, draws: int, generator: np.random.Generator) -> Floats:
    """Shares of the four cells: one row a draw."""
    counts = _cells(stratum)[0] * stratum.clusters / stratum.n
    if not stratum.one_verdict:
        return generator.dirichlet(counts + PRIOR, size=draws)
    shares = np.zeros((draws, 4))
    judged = stratum.found + stratum.false > 0
    yes, no = (0, 2) if judged else (1, 3)
    shares[:, yes] = generator.beta(counts[yes] + PRIOR, counts[no] + PRIOR, size=draws)
    shares[:, no] = 1 - shares[:, yes]
    return shares


def _bounded(point: Floats, drawn: Floats, parts: Callable[[Floats], tuple[Floats, Floats]]) -> Bounded | None:
    over, under = parts(point)
    if under[0] <= 0:
        return None
    value = float(over[0] / under[0])
    above, below = parts(drawn)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(above / below, [tail, 1 - tail])
    # The posterior of a share of 0 or 1 lies beside it.
    return Bounded(value, min(float(low), value), max(float(high), value))
