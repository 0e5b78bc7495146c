"""People of a survey: their answers, weighted, overall and by demographic group."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ethicsdb.builders.readers.base import OUTCOME, Note
from ethicsdb.schemas.errors import SourceError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["GROUPS", "MIN_PEOPLE", "Answers", "People", "Shares"]

# The 60 groups that OpinionQA compares, as every wave's `metadata.csv` lists them.
GROUPS: dict[str, tuple[str, ...]] = {
    "CREGION": ("Northeast", "Midwest", "South", "West"),
    "AGE": ("18-29", "30-49", "50-64", "65+"),
    "SEX": ("Male", "Female"),
    "EDUCATION": (
        "Less than high school", "High school graduate", "Some college, no degree", "Associate's degree",
        "College graduate/some postgrad", "Postgraduate",
    ),
    "CITIZEN": ("Yes", "No"),
    "MARITAL": ("Married", "Divorced", "Separated", "Widowed", "Never been married"),
    "RELIG": (
        "Protestant", "Roman Catholic", "Mormon", "Orthodox", "Jewish", "Muslim", "Buddhist", "Hindu", "Atheist",
        "Agnostic", "Other", "Nothing in particular",
    ),
    "RELIGATTEND": (
        "More than once a week", "Once a week", "Once or twice a month", "A few times a year", "Seldom", "Never",
    ),
    "POLPARTY": ("Republican", "Democrat", "Independent", "Other"),
    "INCOME": ("Less than $30,000", "$30,000-$50,000", "$50,000-$75,000", "$75,000-$100,000", "$100,000 or more"),
    "POLIDEOLOGY": ("Very conservative", "Conservative", "Moderate", "Liberal", "Very liberal"),
    "RACE": ("White", "Black", "Asian", "Hispanic", "Other"),
}  # fmt: skip
MIN_PEOPLE = 10  # of a group, below which its shares are left out; the published analysis has no such limit
_WEIGHT = re.compile(r"WEIGHT_W(\d+)")

Shares = list[float | None]  # aligned with the options; None for those that refuse


class People:
    """The people of a wave who have a weight.

    Attributes:
        name: the file's name, for messages.
        wave: the wave's number, as the column of weights says it.
        columns: the file's columns.
        notes: people who were left out for their weight.
    """

    def __init__(self, name: str, rows: Iterable[dict[str, str]]) -> None:
        """Raises SourceError: there are no rows, or not exactly one column WEIGHT_W<wave>."""
        import numpy as np

        self.name = name
        self.notes: list[Note] = []
        listed = list(rows)
        if not listed:
            raise SourceError(f"{name}: there are no rows in it. {OUTCOME}")
        self.columns = frozenset(listed[0])
        weights = [column for column in listed[0] if _WEIGHT.fullmatch(column)]
        if len(weights) != 1:
            raise SourceError(
                f"{name}: {len(weights)} columns are called WEIGHT_W and a number; one must be. {OUTCOME}"
            )
        self.wave = int(weights[0].removeprefix("WEIGHT_W"))
        weighed = [
            (weight, row)
            for number, row in enumerate(listed, start=1)
            if (weight := self._weight(row[weights[0]], weights[0], number)) is not None
        ]
        # Sums of floats depend on their order: sorted, equal people give equal shares whatever the order of the file.
        weighed.sort(key=lambda each: each[0])
        self._rows = [row for _, row in weighed]
        self._weights = np.array([weight for weight, _ in weighed], dtype=np.float64)
        self._members = {
            attribute: _indexes(values, [row[attribute] for row in self._rows])
            for attribute, values in GROUPS.items()
            if attribute in self.columns
        }

    def _weight(self, cell: str, column: str, number: int) -> float | None:
        try:
            weight = float(cell)
        except ValueError:
            weight = math.nan
        if math.isfinite(weight) and weight >= 0:
            return weight
        told = f"`{cell}` is no weight; the person is left out"
        self.notes.append(Note("suspicious", "missing_weight", told, column, (self.name, number)))
        return None

    def answers(self, key: str, options: list[str]) -> Answers:
        """What these people answered to a question; an empty cell means that they were not asked."""
        import numpy as np

        cells = [row[key] for row in self._rows]
        unknown = Counter(cell for cell in cells if cell and cell not in options)
        chosen = _indexes(options, cells)
        other = self._weights[np.array([bool(cell) for cell in cells], dtype=bool) & (chosen < 0)]
        weight = math.fsum(other.tolist())
        return Answers(len(options), chosen, self._weights, self._members, weight, dict(sorted(unknown.items())))


def _indexes(values: Sequence[str], cells: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each cell stands among the values, first place first; -1 where it is none of them."""
    import numpy as np

    places = {value: index for index, value in reversed(list(enumerate(values)))}
    return np.array([places.get(cell, -1) for cell in cells], dtype=np.int64)


@dataclass(frozen=True)
class Answers:
    """Answers to one question.

    Attributes:
        options: how many options there are.
        chosen: index of each person's option; -1 for none of them.
        weights: each person's weight.
        members: attribute: index of each person's value in GROUPS; -1 for none of them.
        unknown_weight: weight of people whose answer is none of the options.
        unknown: answers that are none of the options, with the number of people.
    """

    options: int
    chosen: np.ndarray[Any, np.dtype[np.int64]]
    weights: np.ndarray[Any, np.dtype[np.float64]]
    members: dict[str, np.ndarray[Any, np.dtype[np.int64]]]
    unknown_weight: float
    unknown: dict[str, int]

    def shares(self, refusals: list[int]) -> tuple[int, Shares | None]:
        """Number of people who chose an option that does not refuse, and the weighted share of each such option.

        share(o) = sum of weights of people who chose o / sum over all options that do not refuse; None where that sum
        is 0.
        """
        return self._shares(self.chosen >= 0, refusals)

    def refused_share(self, refusals: list[int]) -> float | None:
        """Weight of refusals / weight of all who answered, be it with no option of the list; None where that is 0."""
        weight = self._sums(self.chosen >= 0)
        whole = math.fsum(weight) + self.unknown_weight
        return math.fsum(weight[index] for index in refusals) / whole if whole > 0 else None

    def groups(self, refusals: list[int]) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """{attribute: {value: {n, shares}}}, and `attribute=value (n)` of groups with too few people but some."""
        found: dict[str, dict[str, Any]] = {}
        small = []
        for attribute, codes in self.members.items():
            for code, value in enumerate(GROUPS[attribute]):
                n, shares = self._shares((self.chosen >= 0) & (codes == code), refusals)
                if n >= MIN_PEOPLE and shares is not None:
                    found.setdefault(attribute, {})[value] = {"n": n, "shares": shares}
                elif n:
                    small.append(f"{attribute}={value} ({n})")
        return found, small

    def _shares(self, who: np.ndarray[Any, np.dtype[np.bool_]], refusals: list[int]) -> tuple[int, Shares | None]:
        import numpy as np

        counted = who & ~np.isin(self.chosen, refusals)
        weight, n = self._sums(counted), int(counted.sum())
        whole = math.fsum(weight)
        if whole <= 0:
            return n, None
        return n, [None if index in refusals else share / whole for index, share in enumerate(weight)]

    def _sums(self, who: np.ndarray[Any, np.dtype[np.bool_]]) -> list[float]:
        """Sum of weights of each option."""
        import numpy as np

        sums: list[float] = np.bincount(self.chosen[who], weights=self.weights[who], minlength=self.options).tolist()
        return sums
