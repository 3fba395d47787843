"""Splines of the fifth degree through samples of a smooth path."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.motion.trajectory import POWERS

Array = NDArray[np.float64]


def quintic(knots: ArrayLike, values: ArrayLike, padding: int) -> tuple[Array, Array]:
    """Return instants and coefficients of the spline through values, without the knots at its ends.

    It is continuous to the fourth derivative; the padding keeps its ends, where it is less true,
    out of use.

    Units: `knots` in s.

    >>> t = np.linspace(-0.4, 1.4, 19)
    >>> instants, c = quintic(t, np.sin(t)[:, None], 4)
    >>> instants[0].round(12) + 0.0, c.shape, bool(abs(c[3, 1, 0] - np.cos(0.3)) < 1e-8)
    (np.float64(0.0), (10, 6, 1), True)
    """
    from scipy.interpolate import make_interp_spline

    times = np.asarray(knots, dtype=float)
    spline = make_interp_spline(times, np.asarray(values), k=POWERS - 1)
    instants = times[padding:-padding]
    rows = [spline(instants[:-1], nu) / math.factorial(nu) for nu in range(POWERS)]
    return instants, np.stack(rows, axis=1)
