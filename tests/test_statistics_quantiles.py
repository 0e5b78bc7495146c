from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ethicsdb.schemas.quantiles import t_quantile, t_quantile_rows


def test_quantiles_are_those_of_scipy() -> None:
    assert t_quantile(None) == pytest.approx(stats.norm.ppf(0.975), rel=1e-14)
    assert t_quantile(math.inf) == t_quantile(None)
    for df in (1, 1.7, 12.25, 4000):
        assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-12)
        assert t_quantile(df, 0.9) == pytest.approx(stats.t.ppf(0.95, df), rel=1e-12)


@pytest.mark.parametrize(("df", "level"), [(0, 0.95), (-1, 0.95), (math.nan, 0.95), (5, 1.0), (5, 0.0)])
def test_impossible_arguments_are_refused(df: float, level: float) -> None:
    with pytest.raises(ValueError, match=r"positive|strictly between"):
        t_quantile(df, level)


def test_table_interpolates_to_a_millionth() -> None:
    rows = np.array(t_quantile_rows())
    assert (np.diff(rows[:, 0]) > 0).all()
    assert rows[0, 0] == 1
    assert rows[-1, 0] == math.inf
    inverse = 1 / rows[::-1, 0]
    middles = (inverse[1:] + inverse[:-1]) / 2
    wanted = np.concatenate([middles, np.random.default_rng(5).uniform(1e-9, 1, 20_000)])
    exact = stats.t.ppf(0.975, 1 / wanted)
    error = np.abs(np.interp(wanted, inverse, rows[::-1, 1]) / exact - 1)
    assert error.max() < 2e-7


def test_whole_degrees_of_freedom_need_no_interpolation() -> None:
    table = dict(t_quantile_rows())
    for df in range(1, 201):
        assert table[float(df)] == pytest.approx(stats.t.ppf(0.975, df), rel=1e-12)
