"""Describing functions: the gain of a nonlinearity for a sine of some amplitude.

N(A) is the first harmonic of the output over the amplitude A of the input sine (Gelb and Vander
Velde, Multiple-Input Describing Functions, 1968, appendix B). Its imaginary part is a phase shift,
which only nonlinearities with memory have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def dead_zone_gain(amplitude: ArrayLike, gap: float, slope: float = 1.0) -> Complex:
    """Return the gain of an elastic gap: nothing inside ±gap, and a slope outside.

    Args:
        amplitude: of the sine; one or many.
        gap: half of the whole gap, in the unit of the amplitude.
        slope: outside of the gap, such as a stiffness.

    >>> dead_zone_gain([0.004, 0.010], gap=0.005, slope=500).real.round(2)
    array([  0. , 195.5])
    """
    a = _checked(amplitude, gap=gap)
    return np.asarray(slope * (1 - _part(gap / a)), dtype=complex)


def saturation_gain(amplitude: ArrayLike, limit: float, slope: float = 1.0) -> Complex:
    """Return the gain of a limited output.

    Args:
        amplitude: of the sine; one or many.
        limit: largest output.
        slope: of small inputs.

    >>> saturation_gain([0.5, 2.0], limit=1).real.round(4)
    array([1.   , 0.609])
    """
    a = _checked(amplitude, limit=limit, slope=slope)
    return np.asarray(slope * _part(limit / (slope * a)), dtype=complex)


def dry_friction_gain(amplitude: ArrayLike, level: float) -> Complex:
    """Return the gain of dry friction, level times the sign of the speed: a relay.

    Args:
        amplitude: of the sine of speed; one or many.
        level: force or torque.

    >>> dry_friction_gain([2.0], level=0.01).real.round(6)
    array([0.006366])
    """
    a = _checked(amplitude, level=level)
    return np.asarray(4 * level / (np.pi * a), dtype=complex)


def backlash_gain(amplitude: ArrayLike, gap: float, slope: float = 1.0) -> Complex:
    """Return the gain of friction backlash: an output that stays until the input has crossed a gap.

    The output is held by friction while nothing touches it. It is not the elastic gap of
    `dead_zone_gain`, whose sides are not held.

    Args:
        amplitude: of the sine; one or many.
        gap: half of the whole gap.
        slope: of the output while it is driven.

    >>> backlash_gain([0.5, 2.0], gap=1).round(4)
    array([0. +0.j    , 0.5-0.3183j])
    """
    a = _checked(amplitude, gap=gap)
    r = np.minimum(gap / a, 1.0)
    real = 0.5 + 0.5 * _signed(1 - 2 * r)
    return np.asarray(slope * (real - 4j / np.pi * r * (1 - r)))


def quantizer_gain(amplitude: ArrayLike, step: float) -> Complex:
    """Return the gain of rounding to whole steps.

    Args:
        amplitude: of the sine; one or many.
        step: from one value to the next.

    >>> quantizer_gain([0.4, 1.0, 100.0], step=1).real.round(4)
    array([0.    , 1.1027, 1.0001])
    """
    a = _checked(amplitude, step=step)
    top = int(np.floor(np.max(a) / step + 0.5))
    edges = (np.arange(1, top + 1) - 0.5) * step
    share = np.minimum(edges / a[..., None], 1.0)
    return np.asarray(4 * step / (np.pi * a) * np.sqrt(1 - share**2).sum(axis=-1), dtype=complex)


DESCRIBING_FUNCTIONS: dict[str, Callable[..., Complex]] = {
    "dead zone": dead_zone_gain,
    "saturation": saturation_gain,
    "dry friction": dry_friction_gain,
    "backlash": backlash_gain,
    "quantizer": quantizer_gain,
}
"""Every describing function in closed form, by the name of its nonlinearity."""


def _part(ratio: Array) -> Array:
    """Return the share of a sine below a bound: 2/pi (asin r + r sqrt(1 - r^2)), r at most 1."""
    r = np.minimum(ratio, 1.0)
    return np.asarray(2 / np.pi * (np.arcsin(r) + r * np.sqrt(1 - r**2)))


def _signed(r: Array) -> Array:
    return np.asarray(2 / np.pi * (np.arcsin(r) + r * np.sqrt(1 - r**2)))


def _checked(amplitude: ArrayLike, **sizes: float) -> Array:
    a = np.asarray(amplitude, dtype=float)
    if not np.all(a > 0):
        raise InputError(
            "a describing function needs amplitudes above zero", remedy="leave out 0", code="R609"
        )
    for name, size in sizes.items():
        if not (np.isfinite(size) and size > 0):
            raise InputError(
                f"the {name} of a describing function must be above zero: got {size!r}",
                remedy=f"give a {name} above zero",
                code="R609",
            )
    return a
