"""Axes of conventional mounts, and what a limit of their speed does near a keyhole.

A serial mount turns a dish about a first axis fixed to the ground and a second one across it. Near
the first axis (the zenith of an alt-az mount, the ends of the x axis of an X-Y mount, the pole of
an equatorial one) a target that moves at w asks the first axis for w/sin(distance): a keyhole. A
third axis on top (cross-elevation) closes it.

The closed form is that of a target on a straight line at constant height above the plane across the
axis. With the distance z at its nearest and the angular speed w there, it is at (tan z, w t/cos z)
on that plane at unit height.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, suggestion
from linkwright.base.results import Result
from linkwright.mounts.sites import Site

Array = NDArray[np.float64]

UNLIMITED = np.array([[-math.inf, math.inf]] * 3)
"""Of the axes of mounts that only their kind is known of."""


class MountAxes(Protocol):
    """What turns between directions and the values of a mount's actuators."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the actuators."""

    @property
    def arms(self) -> tuple[float, ...]:
        """By what a limit of turning, rad/s, is multiplied: 1 for an angle, m for a length."""

    @property
    def limits(self) -> Array:
        """The least and greatest value of each actuator."""

    def values(self, d: Array, step: float) -> Array:
        """Return what the actuators are at directions, of which one follows the other by a step.

        Args:
            d: unit vectors, near each other.
            step: s from one to the next.
        """

    def directions(self, q: Array) -> Array:
        """Return where the dish points at values of the actuators.

        Args:
            q: one row for each direction, near each other.
        """


@dataclass(frozen=True, slots=True)
class SerialAxes:
    """A first axis fixed to the ground, and a second one across it.

    Args:
        first: unit vector of the first axis.
        zero: unit vector across it, to which the dish points where both angles are 0.
        names: of the two angles.
        arms: what a limit in rad/s is multiplied by for each.

    >>> alt_az = SerialAxes((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), ("azimuth", "elevation"))
    >>> np.degrees(alt_az.values(np.array([[0.0, 0.8, 0.6]]))).round(3)
    array([[ 0.  , 36.87]])
    """

    first: tuple[float, float, float]
    zero: tuple[float, float, float]
    names: tuple[str, ...] = ("first", "second")
    arms: tuple[float, ...] = (1.0, 1.0)

    @property
    def limits(self) -> Array:
        """None."""
        return UNLIMITED[: len(self.names)]

    @property
    def frame(self) -> Array:
        """Rows: the zero, what the first axis turns it to, and the first axis."""
        a, z = np.array(self.first), np.array(self.zero)
        return np.array([z, np.cross(a, z), a])

    def values(self, d: Array, step: float = 1.0) -> Array:
        """Return the angles about the first axis, and toward it from the plane across, rad.

        Args:
            d: unit vectors, near each other.
            step: s from one to the next, which changes nothing here.
        """
        along = d @ self.frame.T
        turn = np.unwrap(np.arctan2(along[:, 1], along[:, 0]))
        return np.stack([turn, np.arctan2(along[:, 2], np.hypot(along[:, 0], along[:, 1]))], axis=1)

    def directions(self, q: Array) -> Array:
        """Return where the dish points.

        Args:
            q: the angles, rad.
        """
        c = np.cos(q[:, 1])
        inside = np.stack([c * np.cos(q[:, 0]), c * np.sin(q[:, 0]), np.sin(q[:, 1])], axis=1)
        return np.asarray(inside @ self.frame)

    def rate(self, d: ArrayLike, speed: ArrayLike) -> Array:
        """Return the speed of the first axis, rad/s, that follows directions.

        Args:
            d: unit vectors.
            speed: their rates, 1/s.

        >>> axes = serial_axes("alt-az")
        >>> near = math.radians(80.0)  # a target that crosses the meridian at this elevation
        >>> rate = axes.rate([[0.0, math.cos(near), math.sin(near)]], [[-0.01, 0.0, 0.0]])
        >>> round(float(rate[0] * math.cos(near)), 9)
        0.01
        """
        a, where = np.array(self.first), np.asarray(d, dtype=float)
        across = np.cross(a, where)
        squared = np.einsum("...i,...i->...", across, across)
        turning = np.einsum("...i,...i->...", across, np.asarray(speed, dtype=float))
        return np.asarray(turning / squared)


@dataclass(frozen=True, slots=True)
class ThreeAxes:
    """Azimuth, elevation and cross-elevation: the third axis takes what the first is too slow for.

    The azimuth follows the target's, but no faster than a share of the limit; elevation and
    cross-elevation point exactly from wherever it stands.

    Args:
        most: the speed that the azimuth is asked for at most, rad/s.
        names: of the three angles.
        arms: what a limit in rad/s is multiplied by for each.

    >>> axes = ThreeAxes(math.radians(5.0))
    >>> d = np.array([[0.0, 0.01, 1.0], [0.0, -0.01, 1.0]]) / math.hypot(
    ...     1, 0.01
    ... )  # by the zenith
    >>> np.degrees(np.ptp(axes.values(d, 1.0), axis=0)).round(2)
    array([5.  , 1.14, 0.05])
    """

    most: float
    names: tuple[str, ...] = ("azimuth", "elevation", "cross-elevation")
    arms: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def limits(self) -> Array:
        """None."""
        return UNLIMITED

    def values(self, d: Array, step: float) -> Array:
        """Return the three angles, rad.

        Args:
            d: unit vectors, near each other.
            step: s from one to the next.
        """
        turn = np.unwrap(np.arctan2(-d[:, 0], d[:, 1]))
        turn = rate_limited(turn, self.most * step)
        c, s = np.cos(turn), np.sin(turn)
        side, out = c * d[:, 0] + s * d[:, 1], c * d[:, 1] - s * d[:, 0]
        return np.stack(
            [turn, np.unwrap(np.arctan2(d[:, 2], out)), np.arcsin(np.clip(side, -1, 1))], axis=1
        )

    def directions(self, q: Array) -> Array:
        """Return where the dish points.

        Args:
            q: the angles, rad.
        """
        side, inside = np.sin(q[:, 2]), np.cos(q[:, 2])
        out, up = inside * np.cos(q[:, 1]), inside * np.sin(q[:, 1])
        c, s = np.cos(q[:, 0]), np.sin(q[:, 0])
        return np.stack([c * side - s * out, s * side + c * out, up], axis=1)


@dataclass(frozen=True, slots=True)
class TurnedAxes:
    """A mount that stands turned about the vertical.

    Args:
        axes: of the mount as it is.
        turn: about the vertical, from East to North, rad.

    >>> across = TurnedAxes(serial_axes("x-y"), math.pi / 2)
    >>> np.degrees(across.values(np.array([[0.0, 0.6, 0.8]]), 1.0)).round(3) + 0.0
    array([[ 0.  , 36.87]])
    """

    axes: MountAxes
    turn: float

    @property
    def names(self) -> tuple[str, ...]:
        """Of the actuators."""
        return self.axes.names

    @property
    def arms(self) -> tuple[float, ...]:
        """Those of the mount."""
        return self.axes.arms

    @property
    def limits(self) -> Array:
        """Those of the mount."""
        return self.axes.limits

    def values(self, d: Array, step: float) -> Array:
        """Return what the actuators are at directions.

        Args:
            d: unit vectors, near each other.
            step: s from one to the next.
        """
        return self.axes.values(d @ self._matrix, step)

    def directions(self, q: Array) -> Array:
        """Return where the dish points.

        Args:
            q: one row for each direction, near each other.
        """
        return self.axes.directions(q) @ self._matrix.T

    @property
    def _matrix(self) -> Array:
        c, s = math.cos(self.turn), math.sin(self.turn)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def serial_axes(name: str, site: Site | None = None) -> SerialAxes:
    """Return the axes of a conventional mount with two of them.

    Args:
        name: "alt-az", "x-y" (first axis along East, keyholes there and in the West) or
            "equatorial" (first axis along the Earth's).
        site: whose latitude tilts the axis of an equatorial mount.

    >>> serial_axes("equatorial", Site(0.0, 0.0)).first
    (0.0, 1.0, 0.0)
    """
    if name == "alt-az":
        return SerialAxes((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), ("azimuth", "elevation"))
    if name == "x-y":
        return SerialAxes((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), ("x", "y"))
    if name == "equatorial":
        if site is None:
            raise InputError("an equatorial mount is tilted by its latitude", remedy="give a site")
        p = site.latitude
        up = math.copysign(1.0, p)
        return SerialAxes(
            (0.0, up * math.cos(p), up * math.sin(p)),
            (0.0, -up * math.sin(p), up * math.cos(p)),
            ("hour angle", "declination"),
        )
    raise InputError(
        f"there is no mount {name!r} with two serial axes",
        remedy=suggestion(
            name, ["alt-az", "x-y", "equatorial"], "choose alt-az, x-y or equatorial"
        ),
    )


def rate_limited(q: Array, most: float) -> Array:
    """Return how a value follows another that it may lag behind: at most so far in one step.

    It works from one time that it falls behind to the next, not from step to step.

    >>> rate_limited(np.array([0.0, 0.0, 3.0, 3.0, 3.0, 2.0]), 1.0)
    array([0., 0., 1., 2., 3., 2.])
    """
    found = q.copy()
    at = 0
    while True:
        over = np.flatnonzero(np.abs(np.diff(found[at:])) > most * (1 + 1e-12))
        if not len(over):
            return found
        start = at + int(over[0])
        sign = math.copysign(1.0, q[start + 1] - found[start])
        ramp = found[start] + sign * most * np.arange(len(q) - start)
        met = np.flatnonzero(sign * (q[start:] - ramp)[1:] <= 0)
        end = start + 1 + int(met[0]) if len(met) else len(q)
        found[start:end] = ramp[: end - start]
        at = end - 1
        if end == len(q):
            return found


@dataclass(frozen=True, slots=True)
class KeyholePassage(Result):
    """A target that passes a keyhole of a mount whose first axis has a limit of speed.

    Args:
        distance: from the axis at its nearest, rad.
        speed: angular, there, rad/s.
        limit: of the first axis, rad/s.

    >>> over = KeyholePassage(math.radians(1.0), math.radians(1.0), math.radians(5.0))
    >>> round(math.degrees(over.peak_rate), 1), round(math.degrees(over.largest_error), 2)
    (57.3, 16.28)
    """

    distance: float
    speed: float
    limit: float
    _units = (
        ("distance", "rad"),
        ("speed", "rad/s"),
        ("limit", "rad/s"),
    )

    @property
    def peak_rate(self) -> float:
        """What the first axis would need, rad/s: speed/sin(distance)."""
        return self.speed / math.sin(self.distance)

    @property
    def _plane(self) -> tuple[float, float]:
        """Nearest distance and speed on the plane across the axis at unit height."""
        return math.tan(self.distance), self.speed / math.cos(self.distance)

    @property
    def falls_behind(self) -> float | None:
        """How long before the nearest point the axis falls behind, s; None where it never does."""
        y, w = self._plane
        room = w * y / self.limit - y * y
        return math.sqrt(room) / w if room > 0 else None

    @property
    def catches_up(self) -> float | None:
        """How long after the nearest point it has caught up, s."""
        behind = self.falls_behind
        if behind is None:
            return None
        low, high = 0.0, math.pi / self.limit
        for _ in range(80):  # the lag falls from there on
            middle = (low + high) / 2
            low, high = (middle, high) if self._lag(middle, behind) > 0 else (low, middle)
        return (low + high) / 2

    def _lag(self, t: float, behind: float) -> float:
        y, w = self._plane
        return math.atan2(w * t, y) + math.atan2(w * behind, y) - self.limit * (t + behind)

    def error(self, t: ArrayLike) -> Array:
        """Return the pointing error, rad.

        Args:
            t: s from the nearest point.
        """
        times = np.asarray(t, dtype=float)
        behind, met = self.falls_behind, self.catches_up
        if behind is None or met is None:
            return np.zeros(times.shape)
        y, w = self._plane
        lag = np.arctan2(w * times, y) + math.atan2(w * behind, y) - self.limit * (times + behind)
        lag = np.where((times > -behind) & (times < met), lag, 0.0)
        off = np.hypot(y, w * times)
        return 2 * np.arcsin(np.clip(off / np.hypot(1.0, off) * np.sin(np.abs(lag) / 2), 0, 1))

    @property
    def largest_error(self) -> float:
        """The largest pointing error, rad."""
        return float(self._errors()[1].max(initial=0.0))

    def lost(self, most: float) -> float:
        """Return how long the pointing error is above a limit, s.

        Args:
            most: rad, such as half the beamwidth.

        >>> over = KeyholePassage(math.radians(1.0), math.radians(1.0), math.radians(5.0))
        >>> round(over.lost(math.radians(0.4)), 1)
        29.8
        """
        step, errors = self._errors()
        return float(np.count_nonzero(errors > most) * step)

    def _errors(self) -> tuple[float, Array]:
        behind, met = self.falls_behind, self.catches_up
        if behind is None or met is None:
            return 0.0, np.zeros(0)
        t, step = np.linspace(-behind, met, 20_001, retstep=True)
        return float(step), self.error(t)
