"""The target of the report on parallel mounts: a point on a tilted circle, seen from its axis.

P = Rz(turn) Ry(tilt) Rz(start + speed t) (radius, 0, height). Its distance never changes, so its
direction is an offset and one sine for each component (University of Canterbury, thesis on
Phillips-Sherwood antenna mounts, section 7.1). The report follows it by angles in the order 3-2-3:
azimuth in the mathematical sense, angle from the zenith, and roll about the beam; their rates are
S⁻¹ω. They are kept for its checks: at the zenith they are singular, and the direction is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.motion.sines import Sines

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReportOrbit:
    """A circle in the sky, run through at a steady rate.

    Args:
        radius: of the circle, in the unit of the height.
        height: of its plane above the mount, along its axis, m.
        speed: rad/s.
        start: angle at time 0, rad.
        tilt: of its axis from the zenith, rad.
        turn: of the tilted axis about the zenith, rad.

    >>> level = ReportOrbit(1000.0, 577.0, math.radians(10.0))
    >>> round(math.degrees(math.asin(level.direction(0.0)[2])), 2)
    29.98
    """

    radius: float
    height: float
    speed: float
    start: float = 0.0
    tilt: float = 0.0
    turn: float = 0.0

    def __post_init__(self) -> None:
        """Reject a target that is not a direction."""
        numbers = (self.radius, self.height, self.speed, self.start, self.tilt, self.turn)
        if not all(map(math.isfinite, numbers)) or self.radius < 0 or not self.distance > 0:
            raise InputError(
                f"an orbit of radius {self.radius:g} at height {self.height:g}",
                remedy="give finite numbers, of which radius and height are not both 0",
            )

    @property
    def distance(self) -> float:
        """How far the target is, always."""
        return math.hypot(self.radius, self.height)

    @property
    def direction(self) -> Sines:
        """The unit vector to it over time, with exact rates: a motion for a System."""
        axes = self._axes
        r, h = self.radius / self.distance, self.height / self.distance
        frequency = self.speed / (2 * math.pi)
        sines = []
        for x, y, _ in axes:  # x cos(a) + y sin(a) as one sine
            sines.append([(r * math.hypot(x, y), math.atan2(x, y) + self.start, frequency)])
        return Sines([h * z for _, _, z in axes], sines)

    @property
    def _axes(self) -> Array:
        """The rows of Rz(turn) Ry(tilt)."""
        c2, s2, c3, s3 = (f(a) for a in (self.tilt, self.turn) for f in (math.cos, math.sin))
        return np.array([[c3 * c2, -s3, c3 * s2], [s3 * c2, c3, s3 * s2], [-s2, 0.0, c2]])

    def angles(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return roll, angle from the zenith and azimuth, their rates and their accelerations.

        Args:
            t: s.

        >>> level = ReportOrbit(1000.0, 1000.0, math.radians(10.0))
        >>> angles, rates, _ = level.angles(2.0)
        >>> np.degrees(angles).round(6) + 0.0, np.degrees(rates).round(6) + 0.0
        (array([ 0., 45., 20.]), array([ 0.,  0., 10.]))
        """
        time = np.asarray(t, dtype=float)
        d = self.direction(time)
        azimuth = np.arctan2(d[..., 1], d[..., 0])
        zenith = np.arctan2(np.hypot(d[..., 0], d[..., 1]), d[..., 2])
        # two axes of the frame that turns with the target; its third is the beam
        angle, axes = self.start + self.speed * time, self._axes
        c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
        r, h = self.radius / self.distance, self.height / self.distance
        out, along = c * axes[:, 0] + s * axes[:, 1], c * axes[:, 1] - s * axes[:, 0]
        first = h * out - r * axes[:, 2]
        roll = np.arctan2(along[..., 2], -first[..., 2])
        b, m = roll, zenith
        spin = np.stack([-r * np.ones_like(b), np.zeros_like(b), h * np.ones_like(b)], axis=-1)
        inverse = _inverse(b, m)
        rates = np.einsum("...ij,...j->...i", inverse, spin * self.speed)
        turning = np.einsum("...ij,...j->...i", _rate(b, m, rates), rates)
        accelerations = -np.einsum("...ij,...j->...i", inverse, turning)
        return np.stack([roll, zenith, azimuth], axis=-1), rates, accelerations


def _matrix(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)


def _inverse(b: Array, m: Array) -> Array:
    """Return S⁻¹ of S = [[0, sin b, -cos b sin m], [0, cos b, sin b sin m], [1, 0, cos m]]."""
    sb, cb, sm, cm = np.sin(b), np.cos(b), np.sin(m), np.cos(m)
    zero, one = np.zeros_like(b), np.ones_like(b)
    return _matrix([[cb * cm / sm, -sb * cm / sm, one], [sb, cb, zero], [-cb / sm, sb / sm, zero]])


def _rate(b: Array, m: Array, rates: Array) -> Array:
    """Return dS/dt."""
    sb, cb, sm, cm = np.sin(b), np.cos(b), np.sin(m), np.cos(m)
    db, dm, zero = rates[..., 0], rates[..., 1], np.zeros_like(b)
    return _matrix(
        [
            [zero, db * cb, db * sb * sm - dm * cb * cm],
            [zero, -db * sb, dm * cm * sb + db * sm * cb],
            [zero, zero, -dm * sm],
        ]
    )
