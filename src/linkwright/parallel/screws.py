"""Screws: the instantaneous motions of a body, as an axis, a point of it and a pitch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.reprs import one_line
from linkwright.base.results import Result

Array = NDArray[np.float64]


@one_line
@dataclass(frozen=True, slots=True)
class Screw(Result):
    """An instantaneous motion of the platform: about an axis, along it, or both.

    Args:
        axis: unit vector along the axis; of a translation, along which it goes.
        point: of the axis, nearest to the ground's origin, m; None for a translation.
        pitch: advance in m per radian; inf for a translation.

    >>> Screw((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), 0.0).words
    'turn about (0, 0, 1) through (1, 0, 0) m'
    """

    axis: tuple[float, float, float]
    point: tuple[float, float, float] | None
    pitch: float
    _also = ("words",)

    @property
    def words(self) -> str:
        """The motion as a verb, "turn about (0, 0, 1) through (1, 0, 0) m"."""
        return self.said("")

    def said(self, ending: str) -> str:
        """Return the motion in words; the verb gets the ending "s" where it needs one."""
        axis = _numbers(self.axis, 2)
        if self.point is None:
            return f"move{ending} along {axis}"
        told = f"turn{ending} about {axis}"
        if np.linalg.norm(self.point) > 5e-4:
            told += f" through {_numbers(self.point, 3)} m"
        if abs(self.pitch) > 5e-4:
            told += f" and advance{ending} {self.pitch:.3g} m per radian"
        return told


def screw_of(twist: Array, place: Array, length: float) -> Screw:
    """Return a motion as a screw.

    Units: `place` in m, `length` in m.

    >>> screw_of(np.array([0, 0, 2.0, 0, -2.0, 0]), np.zeros(3), 1.0).point
    (1.0, 0.0, 0.0)
    """
    omega, velocity = twist[:3], twist[3:] * length
    size = float(np.linalg.norm(omega))
    if size <= 1e-6 * float(np.linalg.norm(twist)):
        return Screw(_triple(_upward(velocity / np.linalg.norm(velocity))), None, float("inf"))
    axis = _upward(omega / size)
    point = place + np.cross(omega, velocity) / size**2
    point = point - axis * float(axis @ point)
    return Screw(_triple(axis), _triple(point), float(omega @ velocity) / size**2)


def _upward(axis: Array) -> Array:
    """Return a direction or its opposite, so that its first component of any size is positive."""
    first = axis[np.abs(axis) > 1e-6][0]
    return axis if first > 0 else -axis


def _triple(x: Array) -> tuple[float, float, float]:
    a, b, c = (float(v) + 0.0 for v in x)
    return a, b, c


def _numbers(values: tuple[float, float, float], digits: int) -> str:
    return "(" + ", ".join(f"{round(v, digits) + 0.0:g}" for v in values) + ")"
