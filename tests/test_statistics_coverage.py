"""Simulated coverage of the interval of a rate in clusters."""

from __future__ import annotations

import numpy as np

from ethicsdb.runners.statistics.intervals import rate

CORRELATION = 0.2
REPLICATES = 1000


def coverage(clusters: int, p: float, rng: np.random.Generator) -> float:
    """Share of samples whose interval holds p: beta-binomial hits, 1 to 4 items a cluster, correlated within."""
    total = (1 - CORRELATION) / CORRELATION
    held = 0
    for _ in range(REPLICATES):
        codes = np.repeat(np.arange(clusters), rng.integers(1, 5, clusters))
        chance = rng.beta(p * total, (1 - p) * total, clusters)
        found = rate((rng.random(len(codes)) < chance[codes]).astype(float), codes)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= p <= found.high
    return held / REPLICATES


def test_intervals_hold_the_truth_about_95_times_in_100() -> None:
    rng = np.random.default_rng(20_240_607)
    rates = (0.05, 0.1, 0.3, 0.5)
    cells = {(count, p): coverage(count, p, rng) for count in (15, 40, 200) for p in rates}
    assert 0.93 <= np.mean(list(cells.values())) <= 0.97, cells
    for p in rates:
        assert 0.93 <= np.mean([held for (_, rate), held in cells.items() if rate == p]) <= 0.97, (p, cells)
    assert min(cells.values()) > 0.92, cells


def test_ignoring_clusters_would_fall_short() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(REPLICATES):
        chance = rng.beta(0.5, 0.5, 40)
        codes = np.repeat(np.arange(40), 4)
        hits = (rng.random(160) < chance[codes]).astype(float)
        found = rate(hits, range(160))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.5 <= found.high
    assert held / REPLICATES < 0.88
