"""Whether the errors of a filter are as large as the filter says: NEES, NIS and whiteness.

The error of an estimate squared, in units of its covariance (NEES), has on average as many units as
there are states; the same of the innovation (NIS) as there are sensors. Over N independent runs
their sum is chi-square with N times as many degrees of freedom, so the mean over runs *at one
instant* is in a band (Bar-Shalom, Li and Kirubarajan, Estimation with Applications to Tracking
and Navigation, 2001, section 5.4). In time NEES is correlated, so a mean over time has no such
band. The innovations of a filter that fits are white.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.results import Result
from linkwright.blocks import BlockError, checked

Array = NDArray[np.float64]


def consistency_band(freedom: int, runs: int, level: float = 0.95) -> tuple[float, float]:
    """Return the band of the mean NEES or NIS over runs, at one instant.

    Args:
        freedom: how many states (NEES) or sensors (NIS) there are.
        runs: how many independent runs.
        level: how often the mean is inside.

    >>> [round(x, 2) for x in consistency_band(8, 20)]
    [6.34, 9.85]
    """
    from scipy.stats import chi2

    count = _count(runs, "runs") * _count(freedom, "freedom")
    share = checked(level, "level", above=0.0, most=1.0)
    edges = chi2.ppf([(1 - share) / 2, (1 + share) / 2], count) / runs
    return float(edges[0]), float(edges[1])


def inside(values: ArrayLike, freedom: int, level: float = 0.95) -> float:
    """Return the share of instants at which the mean over runs is in its band.

    Args:
        values: NEES or NIS, a row for each run and a column for each instant.
        freedom: how many states (NEES) or sensors (NIS) there are.
        level: of the band.

    >>> inside([[8.0, 7.5, 20.0], [8.3, 8.9, 30.0]], 8).__round__(3)
    0.667
    """
    rows = _rows(values)
    low, high = consistency_band(freedom, len(rows), level)
    mean = rows.mean(axis=0)
    return float(np.mean((mean >= low) & (mean <= high)))


@dataclass(frozen=True, slots=True, eq=False)
class Whiteness(Result):
    """How much values depend on those before them.

    Args:
        correlation: at lags 1, 2, ... in time, over all runs.
        bound: below which a lag of white values stays in 95 % of cases.
        probability: that white values give correlations as large as these (Ljung and Box 1978).

    >>> whiteness([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]], lags=1).white
    False
    """

    correlation: Array
    bound: float
    probability: float

    @property
    def white(self) -> bool:
        """Whether the correlations may be by chance, at a level of 5 %."""
        return self.probability > 0.05


def whiteness(values: ArrayLike, lags: int = 10) -> Whiteness:
    """Test whether values such as NIS or innovations are white.

    Args:
        values: a row for each run and a column for each instant, or the values of one run.
        lags: how many lags to look at.

    >>> whiteness(np.random.default_rng(0).normal(size=(5, 400))).white
    True
    """
    rows = _rows(values)
    count, most = rows.size, _count(lags, "lags")
    if rows.shape[1] < 2 * most + 2:
        raise BlockError(
            f"{rows.shape[1]} instants are too few for {most} lags",
            remedy=f"give {2 * most + 2} instants or more",
            code="R506",
        )
    from scipy.stats import chi2

    away = rows - rows.mean()
    power = float(np.sum(away**2))
    if power == 0.0:
        raise BlockError("all values are the same", remedy="give values that vary", code="R506")
    found = np.array(
        [float(np.sum(away[:, k:] * away[:, :-k])) / power for k in range(1, most + 1)]
    )
    pairs = np.array([len(rows) * (rows.shape[1] - k) for k in range(1, most + 1)])
    statistic = count * (count + 2) * float(np.sum(found**2 / pairs))
    return Whiteness(found, 1.96 / float(np.sqrt(count)), float(chi2.sf(statistic, most)))


def _count(value: Any, what: str) -> int:
    found = checked(value, what, least=1.0)
    if not found.is_integer():
        raise BlockError(f"{what} is {found:g}", remedy="give a whole number", code="R506")
    return int(found)


def _rows(values: ArrayLike) -> Array:
    found = np.atleast_2d(np.asarray(values, dtype=float))
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise BlockError(
            f"values have the shape {found.shape} or are not finite",
            remedy="give a row of finite numbers for each run",
            code="R506",
        )
    return found
