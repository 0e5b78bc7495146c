"""Quantiles of Student's t: exact ones for Python, and the rows of the table that SQL views interpolate in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["LEVEL", "t_quantile", "t_quantile_rows"]

LEVEL = 0.95
"""Confidence level of every interval that is stored or shown in a view."""

_STEPS = 2048  # equal steps in 1/df: linear interpolation then errs by at most 2e-7 of the quantile (worst near df = 1)
_WHOLE_DF = 200  # equal clusters have a whole number of degrees of freedom: the usual ones are tabulated themselves


def t_quantile(df: float | None, level: float = LEVEL) -> float:
    """Half-width, in standard errors, of a two-sided interval: the (1 + level) / 2 quantile of Student's t.

    `df` is a number of degrees of freedom (> 0, need not be whole); None or infinity means the normal distribution.
    Raises ValueError for df <= 0 or a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies strictly between 0 and 1, not {level}")
    if df is not None and not df > 0:
        raise ValueError(f"degrees of freedom must be positive, not {df}")
    upper = (1 + level) / 2
    if df is None or np.isinf(df):
        return float(special.ndtri(upper))
    return float(special.stdtrit(df, upper))


def t_quantile_rows() -> list[tuple[float, float]]:
    """Rows (df, q) of table `t_quantile`: 0.975 quantiles for df from 1 to infinity, ascending by df.

    Between two neighbours q is interpolated linearly in 1/df, which is bounded (0 is the normal distribution) and in
    which q is nearly straight. The grid has equal steps in 1/df, plus whole degrees of freedom up to 200.
    """
    grid: NDArray[np.float64] = _STEPS / np.arange(1, _STEPS + 1, dtype=np.float64)
    finite = np.union1d(grid, np.arange(1, _WHOLE_DF + 1, dtype=np.float64))
    rows = [(float(df), t_quantile(float(df))) for df in finite]
    return [*rows, (float("inf"), t_quantile(None))]
