"""A trajectory: several values over time, as polynomials between instants.

Each piece is a polynomial of up to the fifth degree in the time since its start, so positions,
speeds and accelerations are exact. Before the start a trajectory holds its first values, after the
end its last. It can be asked for numbers at any time, for expressions of a symbol of time, and for
a block that a System can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, Lookup1D, Scalar, as_expr
from linkwright.base.checks import checked
from linkwright.base.errors import Error
from linkwright.base.reprs import one_line
from linkwright.blocks import Block

Array = NDArray[np.float64]
POWERS = 6  # constant to fifth power


class MotionError(Error):
    """A motion that cannot be carried out as described."""


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Values over time, as polynomials between instants.

    Args:
        instants: s, rising; one more than there are pieces.
        coefficients: for each piece and power (0 to 5) of the time since the piece's start, one for
            each value.

    >>> ramp = Trajectory([0, 2], [[[0], [1], [0], [0], [0], [0]]])
    >>> ramp(0.5), ramp.speed(0.5), ramp(3), ramp.speed(3)
    (array([0.5]), array([1.]), array([2.]), array([0.]))
    """

    instants: Array
    coefficients: Array = field(repr=False)

    def __init__(self, instants: ArrayLike, coefficients: ArrayLike) -> None:
        t = np.array(instants, dtype=float)
        c = np.array(coefficients, dtype=float)
        if t.ndim != 1 or len(t) < 2 or not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0):
            raise MotionError("the instants of a trajectory are two or more, finite, and rise")
        if c.ndim != 3 or c.shape[:2] != (len(t) - 1, POWERS) or not np.all(np.isfinite(c)):
            raise MotionError(
                f"{len(t) - 1} pieces take {POWERS} finite coefficients each for every value, "
                f"not an array of shape {c.shape}"
            )
        for array in (t, c):
            array.setflags(write=False)
        object.__setattr__(self, "instants", t)
        object.__setattr__(self, "coefficients", c)

    # -- what it is --------------------------------------------------------------------------------
    @property
    def size(self) -> int:
        """How many values it has."""
        return int(self.coefficients.shape[2])

    @property
    def start(self) -> Array:
        """The values at the beginning."""
        return self(self.instants[0])

    @property
    def end(self) -> Array:
        """The values at the end."""
        return self(self.instants[-1])

    @property
    def duration(self) -> float:
        """The time from beginning to end, s."""
        return float(self.instants[-1] - self.instants[0])

    # -- numbers -----------------------------------------------------------------------------------
    def __call__(self, t: ArrayLike, order: int = 0) -> Array:
        """Return values at times; the last axis of the result goes over the values.

        Args:
            t: s.
            order: 0 for the values, 1 for speeds, 2 for accelerations, 3 for jerks.
        """
        times = np.asarray(t, dtype=float)
        inside = np.clip(times, self.instants[0], self.instants[-1])
        piece = np.searchsorted(self.instants, inside, side="right") - 1
        piece = np.clip(piece, 0, len(self.instants) - 2)
        c = _differentiated(self.coefficients, order)[piece]
        since = (inside - self.instants[piece])[..., None]
        found = np.zeros(c.shape[:-2] + c.shape[-1:])
        for power in reversed(range(POWERS)):
            found = found * since + c[..., power, :]
        if order:
            outside = (times < self.instants[0]) | (times > self.instants[-1])
            found = np.where(outside[..., None], 0.0, found)
        return np.asarray(found)

    def speed(self, t: ArrayLike) -> Array:
        """Return the rates of the values at times."""
        return self(t, 1)

    def acceleration(self, t: ArrayLike) -> Array:
        """Return the second derivatives of the values at times."""
        return self(t, 2)

    def max_abs(self, order: int = 1) -> Array:
        """Return the largest absolute value of each speed (or another derivative), exactly.

        Args:
            order: 0 for the values, 1 for speeds, 2 for accelerations.

        >>> minimum = point_to_point([0], [1], 2.0)
        >>> [round(float(minimum.max_abs(k)[0]), 4) for k in (1, 2)]
        [0.9375, 1.4434]
        """
        return np.asarray(np.abs(self.extremes(order)[1]).max(axis=(0, 1)))

    def extremes(self, order: int = 0) -> tuple[Array, Array]:
        """Return instants, among them all extrema of each piece and value, and what it is there.

        Between neighboring roots of its derivative a polynomial is monotone, and so has one root at
        most: they are found by bisection, from the highest derivative down.

        Args:
            order: 0 for the values, 1 for speeds, 2 for accelerations, 3 for jerks.

        >>> at, speeds = point_to_point([0], [1], 2.0).extremes(1)
        >>> round(float(at.ravel()[speeds.argmax()]), 9)
        1.0
        """
        lengths = np.diff(self.instants)[:, None]
        c = self.coefficients * lengths[..., None] ** np.arange(POWERS)[:, None]  # of 0 to 1
        at = np.zeros((2, *c.shape[::2]))
        at[1] = 1.0
        for k in range(POWERS - 2, order, -1):
            d, (low, high) = _differentiated(c, k), (at[:-1], at[1:])
            rises = _valued(d, low) < _valued(d, high)
            for _ in range(53):
                middle = (low + high) / 2
                left = (_valued(d, middle) < 0) == rises
                low, high = np.where(left, middle, low), np.where(left, high, middle)
            at = np.sort(np.concatenate([at, high]), axis=0)
        found = _valued(_differentiated(c, order), at) / lengths**order
        return self.instants[:-1, None] + at * lengths, found

    # -- expressions -------------------------------------------------------------------------------
    def expressions(self, t: Scalar, order: int = 0) -> tuple[Expr, ...]:
        """Return the values as expressions of a time.

        Args:
            t: an expression for the time, s.
            order: 0 for the values, 1 for speeds, 2 for accelerations.
        """
        time = as_expr(t)
        first, last = self.instants[0], self.instants[-1]
        c = _differentiated(self.coefficients, order)
        edge = np.zeros((1, POWERS, self.size))
        before, after = edge.copy(), edge.copy()
        if order == 0:
            before[0, 0], after[0, 0] = self(first), self(last)
        pieces = np.concatenate([before, c, after])
        high = bool(np.any(pieces[:, 4:]))
        since = self._table(np.repeat([[0.0, 1.0, 0.0, 0.0]], len(pieces), 0), "since")(time)
        found = []
        for k in range(self.size):
            value = self._table(pieces[:, :4, k], "path")(time)
            if high and np.any(pieces[:, 4:, k]):
                rest = np.pad(pieces[:, 4:, k], ((0, 0), (0, 2)))
                value = value + since**4 * self._table(rest, "path")(time)
            found.append(value)
        return tuple(found)

    def _table(self, pieces: Array, name: str) -> Lookup1D:
        return Lookup1D.of_pieces(self.instants, pieces, name=name)

    def block(self, name: str = "trajectory", *, unit: str = "rad") -> Block:
        """Return a block with the outputs `q`, `q_dot` and `q_ddot`, as functions of time.

        Args:
            name: of the block.
            unit: of the values.

        >>> sorted(point_to_point([0, 0], [1, 2], 1.0).block().outputs)
        ['q', 'q_ddot', 'q_dot']
        """
        made = Block(name, doc="a trajectory")
        parts = {"instants": self.instants, "coefficients": self.coefficients}
        made.made_with = ("Trajectory", {**parts, "name": name, "unit": unit})
        rates = (unit, f"{unit}/s", f"{unit}/s^2")
        for order, (port, per) in enumerate(zip(("q", "q_dot", "q_ddot"), rates, strict=True)):
            made.output_vector(port, self.expressions(made.time, order), unit=per)
        return made

    # -- others made from it -----------------------------------------------------------------------
    def delayed(self, delay: float) -> Trajectory:
        """Return the same motion at another time.

        Args:
            delay: s.

        >>> float(point_to_point([0], [1], 1.0).delayed(2.0).instants[0])
        2.0
        """
        return Trajectory(self.instants + delay, self.coefficients)

    def stretched(self, factor: float) -> Trajectory:
        """Return the same path in another time.

        Args:
            factor: by which the duration grows.

        >>> slow = point_to_point([0], [1], 1.0).stretched(2)
        >>> slow.duration, round(float(slow.max_abs()[0]), 6)
        (2.0, 0.9375)
        """
        if not 0 < factor < math.inf:
            raise MotionError(f"a duration cannot grow by {factor}")
        start = self.instants[0]
        scale = (1 / factor) ** np.arange(POWERS)[None, :, None]
        return Trajectory(start + (self.instants - start) * factor, self.coefficients * scale)

    def then(self, other: Trajectory) -> Trajectory:
        """Return this motion followed at once by another, whenever that was meant to begin.

        Args:
            other: of as many values.

        >>> there = point_to_point([0], [1], 1.0)
        >>> there.then(point_to_point([1], [0], 1.0)).duration
        2.0
        """
        if other.size != self.size:
            raise MotionError(f"{other.size} values cannot follow {self.size}")
        shift = self.instants[-1] - other.instants[0]
        instants = np.concatenate([self.instants, other.instants[1:] + shift])
        return Trajectory(instants, np.concatenate([self.coefficients, other.coefficients]))


def _differentiated(coefficients: Array, order: int) -> Array:
    found = coefficients
    factors = np.arange(float(POWERS))[None, :, None]
    for _ in range(order):
        found = np.roll(found * factors, -1, axis=1)
    return found


def _valued(coefficients: Array, at: Array) -> Array:
    """Return polynomials (piece, power, value) at instants (instant, piece, value)."""
    found = np.zeros_like(at)
    for power in reversed(range(POWERS)):
        found = found * at + coefficients[:, power]
    return found


def vector(values: ArrayLike | float, what: str) -> Array:
    """Return finite numbers as a row, or say what they should have been."""
    found = np.atleast_1d(np.asarray(values, dtype=float))
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise MotionError(f"{what} is not a row of finite numbers")
    return found


def hermite(
    instants: ArrayLike,
    values: ArrayLike,
    speeds: ArrayLike,
    accelerations: ArrayLike | None = None,
) -> Trajectory:
    """Return the trajectory with given values and speeds, and perhaps accelerations, at instants.

    Args:
        instants: s, rising.
        values: one row for each instant.
        speeds: likewise.
        accelerations: likewise; with them the pieces are quintic, without them cubic. Where they
            jump, those at the starts of the pieces and those at their ends, (2, piece, value).

    >>> hermite([0, 1], [[0], [1]], [[0], [0]])(0.5)
    array([0.5])
    """
    t = np.asarray(instants, dtype=float)
    p, v = np.asarray(values, dtype=float), np.asarray(speeds, dtype=float)
    h = np.diff(t)[:, None]
    p0, p1, v0, v1 = p[:-1], p[1:], v[:-1], v[1:]
    c = np.zeros((len(t) - 1, POWERS, p.shape[1]))
    c[:, 0], c[:, 1] = p0, v0
    rise = p1 - p0 - v0 * h
    if accelerations is None:
        c[:, 2] = (3 * rise - (v1 - v0) * h) / h**2
        c[:, 3] = ((v1 - v0) * h - 2 * rise) / h**3
        return Trajectory(t, c)
    a = np.asarray(accelerations, dtype=float)
    a0, a1 = (a[:-1], a[1:]) if a.ndim == p.ndim else (a[0], a[1])
    rise, dv, da = rise - a0 * h**2 / 2, (v1 - v0) * h - a0 * h**2, (a1 - a0) * h**2
    c[:, 2] = a0 / 2
    c[:, 3] = (10 * rise - 4 * dv + da / 2) / h**3
    c[:, 4] = (-15 * rise + 7 * dv - da) / h**4
    c[:, 5] = (6 * rise - 3 * dv + da / 2) / h**5
    return Trajectory(t, c)


def point_to_point(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None = None,
    *,
    law: str = "quintic",
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
) -> Trajectory:
    """Return a motion from rest to rest, all values starting and arriving together.

    Args:
        start: values at the beginning.
        end: values at the end.
        duration: s; by default the shortest that the limits allow.
        law: "quintic" (minimum jerk), "cubic", "trapezoid" (of speed), or "linear".
        speed: the largest speed of each value, or of all.
        acceleration: the largest acceleration of each value, or of all; a trapezoid needs it, or
            takes a quarter of the duration to speed up.

    >>> point_to_point([0, 0], [1, -2], law="trapezoid", speed=1, acceleration=2).duration
    2.5
    """
    a, b = vector(start, "the start"), vector(end, "the end")
    if a.shape != b.shape:
        raise MotionError(f"a motion from {len(a)} values to {len(b)}")
    shape = _shape(law, np.abs(b - a), duration, _limit(speed, a), _limit(acceleration, a))
    return Trajectory(shape.instants, _along(a, b, shape))


def _along(a: Array, b: Array, shape: Trajectory) -> Array:
    """Return the coefficients of a straight way, covered as a trajectory from 0 to 1 says."""
    c = shape.coefficients * (b - a)[None, None, :]
    c[:, 0, :] += a
    return c


def _limit(given: ArrayLike | None, like: Array) -> Array | None:
    if given is None:
        return None
    found = np.broadcast_to(np.asarray(given, dtype=float), like.shape)
    if np.any(~(found > 0)):
        raise MotionError("limits of speed and acceleration are above zero")
    return found


PEAKS = {"quintic": (1.875, 10 / math.sqrt(3)), "cubic": (1.5, 6.0), "linear": (1.0, 0.0)}
"""Largest speed and acceleration of each law from 0 to 1 in unit time."""


def _shape(
    law: str, way: Array, duration: float | None, speed: Array | None, acceleration: Array | None
) -> Trajectory:
    """Return the trajectory from 0 to 1 by a law, in a duration or as short as limits allow."""
    if duration is not None:
        checked(duration, "the duration in s", above=0, kind=MotionError)
    if law == "trapezoid":
        return _trapezoid(way, duration, speed, acceleration)
    if law not in PEAKS:
        raise MotionError(
            f"there is no law {law!r}", remedy=f"choose one of {', '.join(PEAKS)}, trapezoid"
        )
    fastest, strongest = PEAKS[law]
    if law == "linear" and acceleration is not None:
        raise MotionError("a linear law has no limit of acceleration: it starts at once")
    needed = [0.0]
    if speed is not None:
        needed.append(float(np.max(way * fastest / speed)))
    if acceleration is not None:
        needed.append(math.sqrt(float(np.max(way * strongest / acceleration))))
    shortest = max(needed)
    if duration is None:
        if speed is None and acceleration is None:
            raise MotionError("how long a motion takes needs a duration or a limit")
        if not shortest and np.any(way):
            raise MotionError("how long a motion takes needs a duration or a finite limit")
        duration = shortest or 1e-9
    elif duration < shortest * (1 - 1e-12):
        raise MotionError(
            f"{duration} s are too short for the limits", remedy=f"{shortest:.6g} s are needed"
        )
    rows = {
        "linear": [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        "cubic": [0.0, 0.0, 3.0, -2.0, 0.0, 0.0],
        "quintic": [0.0, 0.0, 0.0, 10.0, -15.0, 6.0],
    }
    c = np.array(rows[law]) / duration ** np.arange(POWERS)
    return Trajectory([0.0, duration], c[None, :, None])


def _trapezoid(
    way: Array, duration: float | None, speed: Array | None, acceleration: Array | None
) -> Trajectory:
    """Return speeding up, cruise and slowing down from 0 to 1."""
    moving = way > 0
    top = (
        math.inf if speed is None else float(np.min(speed[moving] / way[moving], initial=math.inf))
    )
    most = math.inf
    if acceleration is not None:
        most = float(np.min(acceleration[moving] / way[moving], initial=math.inf))
    if duration is None:
        if math.isinf(most) or (math.isinf(top) and not np.any(moving)):
            if np.any(moving):
                raise MotionError("a trapezoid without a duration needs a limit of acceleration")
            duration, ramp = 1e-9, 2.5e-10
        else:
            v = min(top, math.sqrt(most))
            ramp = v / most
            duration = 1 / v + ramp
    elif math.isinf(most):
        ramp = duration / 4
    else:
        room = duration**2 - 4 / most
        if room < -1e-12 * duration**2:
            raise MotionError(
                f"{duration} s are too short for the limits",
                remedy=f"{2 / math.sqrt(most):.6g} s are needed",
            )
        ramp = (duration - math.sqrt(max(room, 0.0))) / 2
    v = 1 / (duration - ramp)
    if v > top * (1 + 1e-9):
        raise MotionError(f"{duration} s are too short for the limits of speed")
    up = [0.0, 0.0, v / ramp / 2, 0.0, 0.0, 0.0]
    down = [1 - v * ramp / 2, v, -v / ramp / 2, 0.0, 0.0, 0.0]
    if duration - 2 * ramp <= 1e-12 * duration:
        return Trajectory([0.0, ramp, 2 * ramp], np.array([up, down])[:, :, None])
    cruise = [v * ramp / 2, v, 0.0, 0.0, 0.0, 0.0]
    instants = [0.0, ramp, duration - ramp, duration]
    return Trajectory(instants, np.array([up, cruise, down])[:, :, None])


def via_points(points: Sequence[ArrayLike], times: ArrayLike, *, law: str = "spline") -> Trajectory:
    """Return a motion through points at times.

    Args:
        points: the values at each time.
        times: s, rising.
        law: "spline" (at rest at both ends, accelerations continuous), "natural" (a spline whose
            accelerations vanish there), or a law of `point_to_point`, which stops at each point.

    >>> via_points([[0], [1], [0]], [0, 1, 2])(1.0)
    array([1.])
    """
    p = np.array([vector(point, "a point") for point in points])
    t = np.asarray(times, dtype=float)
    if len(t) != len(p) or len(p) < 2:
        raise MotionError(f"{len(p)} points at {len(t)} times")
    if law in ("spline", "natural"):
        return through(t, p, ends="clamped" if law == "spline" else "natural")
    legs = [
        point_to_point(a, b, float(h), law=law)
        for a, b, h in zip(p, p[1:], np.diff(t), strict=False)
    ]
    found = legs[0].delayed(float(t[0]))
    for leg in legs[1:]:
        found = found.then(leg)
    return found


def through(times: ArrayLike, values: ArrayLike, *, ends: str = "not-a-knot") -> Trajectory:
    """Return the cubic spline through samples, such as the channels of a recording.

    Args:
        times: s, rising.
        values: one row for each time.
        ends: "not-a-knot", "natural", "clamped" (at rest), or "periodic".

    >>> t = np.linspace(0, 1, 50)
    >>> wave = through(t, np.sin(t)[:, None])
    >>> bool(abs(wave(0.3)[0] - np.sin(0.3)) < 1e-8)
    True
    """
    from scipy.interpolate import CubicSpline

    t, p = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if p.ndim == 1:
        p = p[:, None]
    try:
        spline = CubicSpline(t, p, bc_type=ends)
    except ValueError as error:
        raise MotionError(f"there is no such spline: {error}") from None
    c = np.zeros((len(t) - 1, POWERS, p.shape[1]))
    c[:, :4] = np.moveaxis(spline.c[::-1], 0, 1)
    return Trajectory(t, c)
