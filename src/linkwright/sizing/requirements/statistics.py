"""Statistics of values over time that change linearly from sample to sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PERCENTILES = (50.0, 95.0, 99.0)
_IDLE = 0.01  # of the peak, below which a joint counts as idle


@dataclass(frozen=True, slots=True)
class Statistic:
    """What one quantity of one joint does over a task.

    Args:
        joint: its name.
        quantity: "speed", "acceleration", "torque", "power", "force" or "moment".
        unit: of the values.
        peak: the value of largest magnitude, with its sign.
        time: of the peak, s.
        rms: the root of the mean square over time.
        mean: over time, with its sign.
        duty: the share of time in which the magnitude is above 1 % of the peak.
        percentiles: magnitudes that are not exceeded for 50, 95 and 99 % of the time.

    Example:
        >>> Statistic("j1", "torque", "N*m", -5.0, 0.2, 3.0, -1.0, 0.9).peak
        -5.0
    """

    joint: str
    quantity: str
    unit: str
    peak: float
    time: float
    rms: float
    mean: float
    duty: float
    percentiles: Mapping[float, float] = field(default_factory=dict)


def statistic(joint: str, quantity: str, unit: str, times: Array, values: Array) -> Statistic:
    """Return the statistic of samples.

    Units: `times` in s.

    >>> t = np.linspace(0, 1, 101)
    >>> found = statistic("j", "torque", "N*m", t, 2 * t)
    >>> found.peak, found.time, round(found.rms, 6), round(found.mean, 6)
    (2.0, 1.0, 1.154701, 1.0)
    """
    k = int(np.argmax(np.abs(values)))
    peak = float(values[k])
    span = float(times[-1] - times[0])
    h = np.diff(times)
    a, b = values[:-1], values[1:]
    size, weights = np.abs(values), _weights(times)
    at = {p: float(size[i]) for p, i in percentile_samples(times, values).items()}
    return Statistic(
        joint,
        quantity,
        unit,
        peak,
        float(times[k]),
        float(np.sqrt(max(0.0, float(h @ (a * a + a * b + b * b)) / (3 * span)))),
        float(h @ (a + b)) / (2 * span),
        float(weights[size > _IDLE * abs(peak)].sum() / span) if peak else 0.0,
        at,
    )


def percentile_samples(times: Array, values: Array) -> dict[float, int]:
    """Return the sample whose magnitude is each of the `PERCENTILES`."""
    order = np.argsort(np.abs(values), kind="stable")
    shares = np.cumsum(_weights(times)[order]) / float(times[-1] - times[0])
    return {p: int(order[_place(shares, p)]) for p in PERCENTILES}


def _weights(times: Array) -> Array:
    """Return the time that each sample stands for."""
    h = np.diff(times)
    found = np.zeros(len(times))
    found[:-1] += h / 2
    found[1:] += h / 2
    return found


def _place(shares: Array, percent: float) -> int:
    return min(int(np.searchsorted(shares, percent / 100 - 1e-12)), len(shares) - 1)
