from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
from measure_items import item, numbers

from ethicsdb.runners import measures
from ethicsdb.runners.measures.base import Measure
from ethicsdb.runners.measures.choices import choices
from ethicsdb.runners.measures.exchange import exchange
from ethicsdb.runners.measures.human_votes import human_votes
from ethicsdb.runners.measures.opinion import opinion
from ethicsdb.runners.measures.pairs import likelihood_differences, preferences
from ethicsdb.runners.measures.stereoset import stereoset

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "measures.md").read_text(encoding="utf-8")
MEASURES = {
    "choices": choices,
    "human_votes": human_votes,
    "opinion": opinion,
    "stereoset": stereoset,
    "preferences": preferences,
    "likelihood_differences": likelihood_differences,
    "exchange": exchange,
}


@pytest.mark.parametrize("name", MEASURES)
def test_every_number_is_explained(name: str) -> None:
    measure: Measure = MEASURES[name]
    section = next(part for part in PAGE.split("\n## ") if part.splitlines()[0].endswith(f"`{name}`"))
    targets = ("unethical", "refusal", "ethical")
    shown = section.replace("lls_T", " ".join(f"`lls_{target}`" for target in targets))
    shown = shown.replace("lls_sum_T", " ".join(f"`lls_sum_{target}`" for target in targets))
    for compare in ("mean", "sum"):
        found = numbers(measure, [item("c", dict.fromkeys(targets, -1.0))], compare)
        assert found
        assert [metric for metric in found if f"`{metric}`" not in shown] == []


def test_every_family_has_a_section() -> None:
    public = {
        name
        for module in pkgutil.iter_modules(measures.__path__)
        for name in importlib.import_module(f"{measures.__name__}.{module.name}").__all__
    }
    assert set(MEASURES) <= public
    assert "`association`" in PAGE
