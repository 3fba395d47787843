"""Moves of a mount from waypoint to waypoint: lines, circles and orbits, and what axes do on them.

Waypoints are points in space (East, North, up) that the dish is to look at. Between two of them
every axis makes one trapezoid of speed. All have one acceleration a and end together after T:
d = v (T − v/a), so that v = (aT − √(a²T² − 4ad))/2. Each waypoint is a full stop; `stream_moves` is
the other way, where speeds are sent many times a second and nothing stops.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.checks import checked, checked_angle
from linkwright.base.errors import DomainError, InputError
from linkwright.base.results import Result
from linkwright.base.rotations import axis_rotation
from linkwright.mounts.steppers import (
    ACCELERATION,
    TOP_SPEED,
    StepperAxis,
    trapezoid_place,
)

Array = NDArray[np.float64]
Inverse = Callable[[Array], ArrayLike]
"""From the unit vector that the dish looks along to the angles of its arms, rad."""

Forward = Callable[[Sequence[float]], ArrayLike]
"""The other way round."""

COLLINEAR = 1e-4
"""How near a normal may come to the radius of a circle, as sine of the angle between them."""


class MoveError(DomainError):
    """A path that cannot be: a normal along the radius, or waypoints out of reach."""


class MoveWarning(UserWarning):
    """A move that was asked for faster than it can be."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetPath:
    """Points to look at, one after the other.

    Args:
        points: (n, 3), East, North, up.
        lengths: of the path between neighbors, in which its speed is given (n - 1).
        at: the point of the path at a share from 0 to 1 of it.

    >>> path = line_path((0, 0, 1), (1, 0, 1), 1.0)
    >>> path.directions.round(6).tolist()
    [[0.0, 0.0, 1.0], [0.707107, 0.0, 0.707107]]
    """

    points: Array
    lengths: Array
    at: Callable[[float], Array]

    @property
    def directions(self) -> Array:
        """Unit vectors that the dish looks along at the waypoints."""
        sizes = np.linalg.norm(self.points, axis=1)
        if not (sizes > 0).all():
            number = int(np.argmin(sizes)) + 1
            raise MoveError(f"waypoint {number} is where the mount is: there is no way to look")
        return np.asarray(self.points / sizes[:, None])


def _sampled(at: Callable[[float], Array], length: float, spacing: float) -> TargetPath:
    if not (spacing > 0 and math.isfinite(spacing)):
        raise InputError(f"waypoints need a spacing above zero, not {spacing:g}")
    wanted = length / spacing
    if not wanted <= 100_000:
        raise InputError(f"{wanted:.6g} waypoints are too many", remedy="take a wider spacing")
    count = max(1, math.ceil(wanted - 1e-9))
    shares = np.linspace(0.0, 1.0, count + 1)
    return TargetPath(np.array([at(s) for s in shares]), np.full(count, length / count), at)


def line_path(start: Sequence[float], end: Sequence[float], spacing: float) -> TargetPath:
    """Return waypoints on a straight line.

    Args:
        start: m.
        end: m.
        spacing: between waypoints, m, or a little less.

    >>> line_path((1, 0, 1), (0, 1, 1), 0.5).points.shape
    (4, 3)
    """
    a, b = _point(start, "start"), _point(end, "end")
    length = float(np.linalg.norm(b - a))
    if length == 0:
        raise MoveError("a line from a point to itself leads nowhere")
    return _sampled(lambda s: a + s * (b - a), length, spacing)


def circle_path(
    center: Sequence[float],
    start: Sequence[float],
    normal: Sequence[float],
    spacing: float,
    angle: float = math.tau,
) -> TargetPath:
    """Return waypoints on a circle, or a part of one.

    Args:
        center: m.
        start: where it begins, m.
        normal: of its plane; what of it lies along the radius is left out. One that lies along the
            radius altogether is rejected.
        spacing: between waypoints along the circle, m, or a little less.
        angle: rad, positive about the normal.

    >>> circle_path((0, 0, 1), (1, 0, 1), (0, 0, 1), 0.1, angle=math.pi / 2).points[-1].round(
    ...     9
    ... ).tolist()
    [0.0, 1.0, 1.0]
    """
    c, p, n = _point(center, "center"), _point(start, "start"), _point(normal, "normal")
    radius, size = float(np.linalg.norm(p - c)), float(np.linalg.norm(n))
    if radius == 0 or size == 0:
        raise MoveError("a circle needs a radius and a normal that are not zero")
    x, n = (p - c) / radius, n / size
    across = np.cross(n, x)
    sine = float(np.linalg.norm(across))
    if sine < COLLINEAR:
        raise MoveError(
            "the normal of a circle lies along its radius", remedy="give one that stands on it"
        )
    y, turn = across / sine, checked_angle(angle, "the angle of an arc")
    if turn == 0:
        raise InputError("an arc of 0 rad leads nowhere")

    def at(share: float) -> Array:
        return np.asarray(c + radius * (math.cos(share * turn) * x + math.sin(share * turn) * y))

    return _sampled(at, radius * abs(turn), spacing)


def orbit_path(
    radius: float,
    height: float,
    *,
    tilt: float = 0.0,
    turn: float = 0.0,
    start: float = 0.0,
    end: float = math.tau,
    spacing: float = math.radians(10.0),
) -> TargetPath:
    """Return waypoints on a circular orbit around an axis through the mount.

    P = Rz(turn) Ry(tilt) Rz(λ) (radius, 0, height), with λ from `start` to `end`.

    Args:
        radius: of the circle, m.
        height: of the circle above the mount along the axis, m.
        tilt: of the axis from the zenith, rad.
        turn: of the axis about the zenith, rad from East.
        start: λ, rad.
        end: λ, rad.
        spacing: between waypoints, rad of λ; speeds are rad/s of it.

    >>> path = orbit_path(1000, 1000)
    >>> len(path.points) - 1, round(math.degrees(math.asin(path.directions[7, 2])), 9)
    (36, 45.0)
    """
    if not (radius > 0 and math.isfinite(radius) and math.isfinite(height)):
        raise InputError("an orbit needs a radius above zero and a height")
    named = {"tilt": tilt, "turn": turn, "start": start, "end": end}
    for name, angle in named.items():
        checked_angle(angle, f"the {name} of an orbit")
    checked(spacing, "the spacing of waypoints in rad", above=0, most=math.pi)
    sweep = end - start
    if sweep == 0:
        raise InputError(f"an orbit from {start:g} to {end:g} rad leads nowhere")
    whole = axis_rotation((0, 0, 1), turn) @ axis_rotation((0, 1, 0), tilt)

    def at(share: float) -> Array:
        along = start + share * sweep
        point = np.array([radius * math.cos(along), radius * math.sin(along), height])
        return np.asarray(whole @ point)

    return _sampled(at, abs(sweep), spacing)


def _point(values: Sequence[float], what: str) -> Array:
    point = np.asarray(values, float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise InputError(f"the {what} of a path is three finite numbers")
    return point


@dataclass(frozen=True, slots=True)
class Trapezoids:
    """One move of several axes.

    Args:
        time: s, that all of them take.
        speeds: of each axis, turns/s.
        stretched: whether it takes longer than was asked for.

    >>> synchronize([0.0, 0.0], 1.0)
    Trapezoids(time=1.0, speeds=(0.0, 0.0), stretched=False)
    """

    time: float
    speeds: tuple[float, ...]
    stretched: bool


def synchronize(
    distances: Sequence[float],
    time: float,
    *,
    acceleration: float = ACCELERATION,
    top_speed: float = TOP_SPEED,
) -> Trapezoids:
    """Return speeds at which axes with one acceleration begin and end together.

    A move that cannot be made in that time is stretched to the shortest one, with a warning.

    Args:
        distances: of the axes, turns; their signs do not matter.
        time: s, that the move is to take.
        acceleration: turns/s².
        top_speed: turns/s.

    >>> move = synchronize([10.0, 4.0], 2.0)
    >>> [round(v * (move.time - v / 33), 9) for v in move.speeds]
    [10.0, 4.0]
    """
    if not (time >= 0 and math.isfinite(time)):
        raise InputError(f"a move takes a time, not {time:g} s")
    sizes = [abs(float(d)) for d in distances]
    if not all(map(math.isfinite, sizes)):
        raise InputError("distances of axes must be finite")
    longest = max(sizes, default=0.0)
    rise = top_speed / acceleration
    level = max(time - 2 * rise, 0.0)
    height = top_speed if time > 2 * rise else acceleration * time / 2
    reachable = (time - level) * height / 2 + level * height
    stretched = reachable < longest * (1 - 1e-12)
    if stretched:
        asked, rest = time, longest - rise * top_speed
        time = 2 * rise + rest / top_speed if rest > 0 else 2 * math.sqrt(longest / acceleration)
        warnings.warn(
            f"a move of {longest:.4g} turns takes {time:.4g} s, not {asked:.4g} s",
            MoveWarning,
            stacklevel=2,
        )
    speeds = tuple(
        2 * d / (time + math.sqrt(max(time * time - 4 * d / acceleration, 0.0))) if d else 0.0
        for d in sizes
    )
    return Trapezoids(time, speeds, stretched)


@dataclass(frozen=True, slots=True, eq=False)
class MovePlan(Result):
    """Moves from waypoint to waypoint, each from stop to stop.

    Args:
        axes: that move.
        steps: of the axes at the waypoints, from home (n, axes).
        moves: between them (n - 1).
        acceleration: turns/s².
        path: what is followed.

    >>> path = line_path((0, 0, 1), (1, 0, 1), 0.5)
    >>> plan = plan_moves(path, lambda d: [math.asin(d[0])], [StepperAxis()], speed=0.25)
    >>> plan.increments.ravel().tolist(), plan.stretched
    ([2361, 1639], ())
    """

    axes: tuple[StepperAxis, ...]
    steps: NDArray[np.int64]
    moves: tuple[Trapezoids, ...]
    acceleration: float
    path: TargetPath

    @property
    def duration(self) -> float:
        """How long all of it takes, s."""
        return sum(move.time for move in self.moves)

    @property
    def stretched(self) -> tuple[int, ...]:
        """Numbers of the waypoints that are reached later than was asked for."""
        return tuple(i + 2 for i, move in enumerate(self.moves) if move.stretched)

    @property
    def increments(self) -> NDArray[np.int64]:
        """Steps of the axes from waypoint to waypoint; nothing adds up from rounding."""
        return np.diff(self.steps, axis=0)

    def angles_at(self, t: float) -> list[float]:
        """Return the angles of the arms at a time, rad.

        Args:
            t: s since the start.
        """
        number = 0
        while number < len(self.moves) - 1 and t > self.moves[number].time:
            t -= self.moves[number].time
            number += 1
        move, found = self.moves[number], []
        for i, axis in enumerate(self.axes):
            first, last = (int(self.steps[number + k, i]) for k in (0, 1))
            speed, a = move.speeds[i] * axis.steps, self.acceleration * axis.steps
            way = trapezoid_place(t, abs(last - first), speed, a) if speed else 0.0
            found.append(axis.angle_at(first + math.copysign(way, last - first)))
        return found


def plan_moves(
    path: TargetPath,
    inverse: Inverse,
    axes: Sequence[StepperAxis],
    speed: float,
    *,
    acceleration: float = ACCELERATION,
    top_speed: float = TOP_SPEED,
) -> MovePlan:
    """Return the moves of axes along a path; waypoints out of reach are named with their cause.

    Args:
        path: what the dish looks at.
        inverse: from the direction of the dish to the angles of its arms.
        axes: that turn them, as many or fewer.
        speed: along the path, in its own unit a second.
        acceleration: turns/s².
        top_speed: turns/s.

    >>> plan = plan_moves(
    ...     line_path((1, 1, 1), (1, -1, 1), 0.5),
    ...     lambda d: (math.atan2(d[0], d[1]), math.asin(d[2])),  # of azimuth over elevation
    ...     [StepperAxis(), StepperAxis()],
    ...     speed=0.5,
    ... )
    >>> plan.steps[:, 0].tolist(), plan.duration
    ([4000, 5639, 8000, 10361, 12000], 4.0)
    """
    if not (speed > 0 and math.isfinite(speed)):
        raise InputError(f"a path is followed at a speed above zero, not {speed:g}")
    angles = _solved(path.directions, inverse, len(axes))
    steps = np.array([[a.steps_at(x) for a, x in zip(axes, row, strict=True)] for row in angles])
    moves = []
    for (before, after), length in zip(pairwise(steps), path.lengths, strict=True):
        turns = [(y - x) / a.steps for x, y, a in zip(before, after, axes, strict=True)]
        moves.append(
            synchronize(
                turns, float(length) / speed, acceleration=acceleration, top_speed=top_speed
            )
        )
    return MovePlan(tuple(axes), steps, tuple(moves), acceleration, path)


def _solved(directions: Array, inverse: Inverse, count: int) -> list[list[float]]:
    """Return the angles of the first arms at all waypoints, or say which cannot be reached."""
    found, failed = [], []
    for number, direction in enumerate(directions, 1):
        try:
            found.append([float(x) for x in np.ravel(inverse(direction))][:count])
        except (DomainError, InputError) as error:
            failed.append(f"{number} ({error.what})")
    if failed:
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        raise MoveError(
            f"waypoints that cannot be reached: {', '.join(failed[:5])}{more}",
            remedy="keep the path within the reach of the mount",
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class StreamedMove(Result):
    """Speeds of axes that are sent at a rate, without a stop on the way.

    Args:
        axes: that move.
        period: s, from one set of speeds to the next.
        speeds: of the motors, turns/s (n, axes).
        start: angles of the arms at first, rad.
        path: what is followed.

    >>> path = line_path((0, 0, 1), (1, 0, 1), 0.5)
    >>> smooth = stream_moves(path, lambda d: [math.asin(d[0])], [StepperAxis()], speed=0.25)
    >>> smooth.speeds.shape, smooth.duration
    ((100, 1), 5.0)
    """

    axes: tuple[StepperAxis, ...]
    period: float
    speeds: Array
    start: tuple[float, ...]
    path: TargetPath
    _units = (
        ("period", "s"),
        ("start", "rad"),
    )

    @property
    def duration(self) -> float:
        """How long all of it takes, s."""
        return len(self.speeds) * self.period

    def angles_at(self, t: float) -> list[float]:
        """Return the angles of the arms at a time, rad.

        Args:
            t: s since the start.
        """
        whole = min(max(t, 0.0), self.duration) / self.period
        number = min(int(whole), len(self.speeds) - 1)
        turns = self.speeds[:number].sum(axis=0) + self.speeds[number] * (whole - number)
        return [
            x + float(n) * self.period * math.tau / a.gear
            for x, n, a in zip(self.start, turns, self.axes, strict=True)
        ]


def stream_moves(
    path: TargetPath,
    inverse: Inverse,
    axes: Sequence[StepperAxis],
    speed: float,
    *,
    rate: float = 20.0,
    acceleration: float = ACCELERATION,
    top_speed: float = TOP_SPEED,
) -> StreamedMove:
    """Return speeds that lead axes along a path without a stop; too fast a path is stretched.

    Args:
        path: what the dish looks at.
        inverse: from the direction of the dish to the angles of its arms.
        axes: that turn them, as many or fewer.
        speed: along the path, in its own unit a second.
        rate: Hz, at which speeds are sent.
        acceleration: turns/s², that no axis exceeds from one set of speeds to the next.
        top_speed: turns/s.

    >>> smooth = stream_moves(
    ...     line_path((1, 1, 1), (1, -1, 1), 0.5),
    ...     lambda d: (math.atan2(d[0], d[1]), math.asin(d[2])),
    ...     [StepperAxis(), StepperAxis()],
    ...     speed=0.5,
    ... )
    >>> [round(math.degrees(x), 6) for x in smooth.angles_at(smooth.duration)]
    [135.0, 35.26439]
    """
    if not (speed > 0 and rate > 0 and math.isfinite(speed) and math.isfinite(rate)):
        raise InputError("a path is streamed at a speed and a rate above zero")
    length = float(path.lengths.sum())
    for _ in range(20):
        ramp = speed  # along the path: it is at its speed after a second
        time = length / speed + 1.0 if length > speed else 2 * math.sqrt(length / ramp)
        count = max(2, math.ceil(time * rate))
        shares = [trapezoid_place(i / rate, length, speed, ramp) / length for i in range(count)]
        points = np.array([path.at(s) for s in [*shares, 1.0]])
        directions = points / np.linalg.norm(points, axis=1)[:, None]
        angles = np.array(_solved(directions, inverse, len(axes)))
        turns = angles * np.array([a.gear for a in axes]) / math.tau
        speeds = np.diff(turns, axis=0) * rate
        still = np.zeros((1, len(axes)))
        changes = np.abs(np.diff(np.concatenate([still, speeds, still]), axis=0)).max() * rate
        over = max(float(np.abs(speeds).max()) / top_speed, math.sqrt(changes / acceleration))
        if over <= 1:
            return StreamedMove(
                tuple(axes), 1 / rate, speeds, tuple(float(x) for x in angles[0]), path
            )
        warnings.warn(
            f"a path at {speed:.4g} a second is too fast; it is followed at {speed / over:.4g}",
            MoveWarning,
            stacklevel=2,
        )
        speed /= over * 1.01
    raise MoveError("the axes cannot follow the path at any speed", remedy="take another path")


def path_error(
    motion: MovePlan | StreamedMove, forward: Forward, *, samples: int = 400, fine: int = 2000
) -> float:
    """Return the greatest angle between the dish and the nearest point of its path, degrees.

    Args:
        motion: of the axes.
        forward: from angles of the arms to the direction of the dish.
        samples: instants that are looked at.
        fine: points of the path that the dish is compared with.

    >>> plan = plan_moves(
    ...     orbit_path(1000, 1000, end=math.pi / 2, spacing=0.5),
    ...     lambda d: (math.atan2(d[0], d[1]), math.asin(d[2])),
    ...     [StepperAxis(), StepperAxis()],
    ...     speed=0.17,
    ... )
    >>> def dish(x):
    ...     level = math.cos(x[1])
    ...     return math.sin(x[0]) * level, math.cos(x[0]) * level, math.sin(x[1])
    >>> path_error(plan, dish) < 0.01  # around the zenith such a mount turns one axis alone
    True
    """
    ideal = np.array([motion.path.at(s) for s in np.linspace(0, 1, fine + 1)])
    ideal /= np.linalg.norm(ideal, axis=1)[:, None]
    along, worst = np.diff(ideal, axis=0), 0.0
    sizes = (along**2).sum(axis=1)
    for t in np.linspace(0, motion.duration, samples + 1):
        d = np.asarray(forward(motion.angles_at(float(t))), float)
        share = np.clip(((d - ideal[:-1]) * along).sum(axis=1) / sizes, 0, 1)
        aside = d - ideal[:-1] - share[:, None] * along
        worst = max(worst, float(np.linalg.norm(aside, axis=1).min()))
    return math.degrees(2 * math.asin(min(worst / 2, 1.0)))
