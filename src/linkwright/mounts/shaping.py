"""Shaping the path of an alt-az mount past its keyhole: lead and lag, and over the top.

Where a target passes near the zenith, the azimuth may lead it before its closest approach and lag
it after, as long as the pointing error stays below a limit (Crawford and Brush: about twice the
time, so about half the speed). An azimuth that is off by a costs sin(error) = cos(elevation) sin(a)
when the elevation does the rest, so all azimuths that will do form a tube about the target's own,
wide near the zenith. Among the paths inside it, those of a speed limit W exist where the lower edge
L and the upper edge U of the tube allow them: L(s) - W |t - s| <= U(t) for all s and t. The largest
of the left sides and the smallest of U(s) + W |t - s| are such paths, and so is their mean, which
is taken. Where the target comes within the error of the zenith, the tube is open there, and the
dish may go over the top: past 90° of elevation, with an azimuth that does not turn at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error, InputError
from linkwright.motion.trajectory import Trajectory, through
from linkwright.mounts.axes import serial_axes

Array = NDArray[np.float64]

STEP = 0.1
"""Between samples of the tube, s."""


class ShapingError(Error):
    """A pass that no shape of the path brings within the limits."""


@dataclass(frozen=True, slots=True)
class ShapedPath:
    """The path of azimuth and elevation that follows a pass within limits.

    Args:
        path: azimuth (from North over East) and elevation over time, rad; over the top, the
            elevation goes on past 90°.
        rate: the largest speed of the azimuth, rad/s.
        plain: the one that the target itself asks for, rad/s.
        error: the largest pointing error, rad.
        over_the_top: whether it goes past 90° of elevation.

    >>> still = through([0, 1, 2, 3], np.zeros((4, 2)))
    >>> ShapedPath(still, 0.0, 0.1, 0.0, False).direction(np.array([1.0]))
    array([[0., 1., 0.]])
    """

    path: Trajectory = field(repr=False)
    rate: float
    plain: float
    error: float
    over_the_top: bool

    def direction(self, t: NDArray[np.float64]) -> Array:
        """Return where the dish points at times.

        Args:
            t: s after the rise.
        """
        azimuth, elevation = self.path(t).T
        flat = np.cos(elevation)
        return np.stack([flat * np.sin(azimuth), flat * np.cos(azimuth), np.sin(elevation)], axis=1)


def shaped(
    target: Trajectory,
    *,
    error: float,
    speed: float = math.radians(5.0),
    acceleration: float = math.radians(5.0),
    over_the_top: bool | None = None,
) -> ShapedPath:
    """Return the slowest path of an alt-az mount that keeps a pass within an error.

    Args:
        target: unit vectors over time, such as a pass.
        error: pointing error that is allowed, rad; half the beamwidth, say.
        speed: limit of the azimuth, rad/s.
        acceleration: limit of the azimuth, rad/s².
        over_the_top: whether to go past 90° of elevation; by default where lead and lag need more
            than the limit and the pass comes near enough to the zenith.

    >>> from linkwright.mounts.orbits import Orbit
    >>> from linkwright.mounts.sites import Site
    >>> orbit = Orbit("A", 1, 61000, 0.0, 51.6, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> low = Site(-43.52, 172.58, 20).passes(orbit, days=1)[0]
    >>> found = shaped(low, error=math.radians(0.4))
    >>> found.rate < found.plain, found.over_the_top
    (True, False)
    """
    for what, value in (("error", error), ("speed", speed), ("acceleration", acceleration)):
        if not 0 < value < math.inf:
            raise InputError(f"the {what} is {value}", remedy="give a number above zero")
    count = max(9, math.ceil(target.duration / STEP) + 1)
    t = np.linspace(target.instants[0], target.instants[-1], count)
    d = target(t)
    azimuth = np.unwrap(np.arctan2(d[:, 0], d[:, 1]))
    plain = float(np.abs(serial_axes("alt-az").rate(d, target.speed(t))).max())
    ways = [False, True] if over_the_top is None else [over_the_top]
    tried: list[ShapedPath] = []
    for over in ways:
        top = int(np.argmax(d[:, 2]))
        if over and math.hypot(d[top, 0], d[top, 1]) > math.sin(min(error, math.pi / 2)):
            if over_the_top:
                raise ShapingError(
                    f"the pass stays {math.degrees(math.acos(d[top, 2])):.2f}° from the zenith, "
                    f"and an error of {math.degrees(error):.2f}° is allowed",
                    remedy="go over the top only where it comes nearer than that",
                )
            continue
        asked = azimuth if not over else azimuth - _flip(azimuth) * (np.arange(count) > top)
        tried.append(_within(t, d, asked, error, acceleration, plain, over))
        if tried[-1].rate <= speed:
            return tried[-1]
    best = min(tried, key=lambda found: found.rate)
    raise ShapingError(
        f"the azimuth would have to turn at {math.degrees(best.rate):.2f}°/s, and its limit is "
        f"{math.degrees(speed):.2f}°/s",
        remedy="allow a larger error, a faster azimuth, or take a mount without a keyhole",
    )


def _flip(azimuth: Array) -> float:
    """Return the half turn by which the azimuth of a pass turns, with its sign."""
    return math.copysign(math.pi, float(azimuth[-1] - azimuth[0]))


def _within(
    t: Array, d: Array, asked: Array, error: float, acceleration: float, plain: float, over: bool
) -> ShapedPath:
    """Return the slowest path in the tube, smoothed as far as the acceleration asks for."""
    flat = np.hypot(d[:, 0], d[:, 1])
    margin = 1.0
    azimuth, along, left = _tried(t, d, flat, asked, error, acceleration, over)
    for _ in range(12):
        if left <= error:
            break
        margin *= 0.97 * error / left
        azimuth, along, left = _tried(t, d, flat, asked, margin * error, acceleration, over)
    elevation = np.unwrap(np.arctan2(d[:, 2], along))
    path = through(t, np.stack([azimuth, elevation], axis=1))
    rate = float(np.abs(path(t, 1)[:, 0]).max())
    return ShapedPath(path, rate, plain, left, over)


def _tried(
    t: Array, d: Array, flat: Array, asked: Array, error: float, acceleration: float, over: bool
) -> tuple[Array, Array, float]:
    """Return the azimuth for a tube of an error, the target along it, and the error left."""
    ratio = math.sin(min(error, math.pi / 2)) / np.maximum(flat, 1e-12)
    open_ = 4 * math.pi if over else math.pi / 2
    wide = np.where(ratio >= 1.0, open_, np.arcsin(np.minimum(ratio, 1.0)))
    low, high = asked - wide, asked + wide
    least, greatest = _reach(t, low, high, _slowest(t, low, high))
    azimuth = _smoothed(t, (least + greatest) / 2, acceleration)
    heading = np.stack([np.sin(azimuth), np.cos(azimuth)], axis=1)
    along = np.einsum("ij,ij->i", heading, d[:, :2])
    side = d[:, 0] * heading[:, 1] - d[:, 1] * heading[:, 0]
    return azimuth, along, float(np.arcsin(np.clip(np.abs(side), 0, 1)).max())


def _reach(t: Array, low: Array, high: Array, speed: float) -> tuple[Array, Array]:
    """Return the least and the greatest path of a speed that keep above and below the edges."""
    way = speed * t
    least = np.maximum(
        np.maximum.accumulate(low + way) - way,
        np.maximum.accumulate((low - way)[::-1])[::-1] + way,
    )
    greatest = np.minimum(
        np.minimum.accumulate(high - way) + way,
        np.minimum.accumulate((high + way)[::-1])[::-1] - way,
    )
    return least, greatest


def _slowest(t: Array, low: Array, high: Array) -> float:
    """Return the least speed at which a path exists between the edges."""
    slow, fast = 0.0, float(np.abs(np.diff(low + high)).max() / (2 * (t[1] - t[0]))) + 1e-9
    for _ in range(50):
        middle = (slow + fast) / 2
        least, greatest = _reach(t, low, high, middle)
        slow, fast = (slow, middle) if np.all(least <= greatest) else (middle, fast)
    return fast


def _smoothed(t: Array, path: Array, acceleration: float) -> Array:
    """Return a path without corners: its mean over the time in which corners may be turned.

    A mean over a time T of a path whose speed changes by v turns that corner at v/T.
    """
    step = float(t[1] - t[0])
    corner = float(np.ptp(np.diff(path)) / step)
    width = math.ceil(corner / acceleration / step / 2) * 2 + 1
    if width < 3:
        return path
    half = width // 2
    before = path[0] + (path[1] - path[0]) * np.arange(-half, 0)
    after = path[-1] + (path[-1] - path[-2]) * np.arange(1, half + 1)
    return np.convolve(np.concatenate([before, path, after]), np.full(width, 1 / width), "valid")
