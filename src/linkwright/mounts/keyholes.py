"""Keyholes: which mounts lose a satellite because an axis of theirs is too slow.

Each pass is followed by the axes of each mount, of which none turns faster than its servo, or goes
beyond the limits of its joint. Nothing else lags here: what is lost is lost to geometry. The
pointing error is the angle between the dish and the satellite, and contact is lost while it is more
than half the beamwidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.motion.trajectory import Trajectory
from linkwright.mounts.axes import KeyholePassage, MountAxes, SerialAxes, rate_limited
from linkwright.mounts.chains import beyond

Array = NDArray[np.float64]

RATE = 50.0
"""Samples in a second, where an axis is too slow."""
ROUGH = 0.05
"""Angle that the fastest axis turns by between samples, rad, where none is too slow."""
SMALL = 0.02
"""Share of the beamwidth by which the target may turn between samples in any case."""
WIDEST = 0.5
"""Width of a beam that a mount still points, rad; what is above was meant in degrees."""


def checked_beam(beamwidth: float) -> float:
    """Return a beamwidth in rad that a dish can have."""
    if not 0 < beamwidth <= WIDEST:
        turned = f", which is {math.degrees(beamwidth):.3g} deg" if beamwidth > 0 else ""
        raise InputError(
            f"the beamwidth is {beamwidth:g} rad{turned}",
            remedy=f"give one above 0 and up to {WIDEST:g} rad, such as math.radians(0.8)",
        )
    return beamwidth


@dataclass(frozen=True, slots=True)
class FollowedPath(Result):
    """How one mount follows one pass.

    Args:
        mount: its name.
        path: the pass.
        fastest: the speed that the fastest actuator would need, over its limit.
        error: the largest pointing error, rad.
        lost: how long the error is above half the beamwidth, s.
        at: when the error is largest, s after the rise.
        handovers: when another dish of several took over, s after the rise.

    >>> path = Trajectory([0, 1], np.eye(1, 6)[:, :, None] * np.ones(3))
    >>> FollowedPath("alt-az", path, 0.4, 0.0, 0.0, 0.0).fastest
    0.4
    """

    mount: str
    path: Trajectory
    fastest: float
    error: float
    lost: float
    at: float
    handovers: tuple[float, ...] = ()
    _units = (
        ("error", "rad"),
        ("lost", "s"),
    )


def follow(
    name: str,
    axes: MountAxes,
    path: Trajectory,
    *,
    speed: float = math.radians(5.0),
    beamwidth: float = math.radians(0.8),
    rate: float = RATE,
) -> FollowedPath:
    """Return how a mount with servos of limited speed follows a path of directions.

    Args:
        name: of the mount.
        axes: its actuators.
        path: unit vectors over time, such as a pass.
        speed: that no axis exceeds, rad/s; a jack turns its lever by no more.
        beamwidth: of the dish, rad.
        rate: samples in a second.

    >>> from linkwright.mounts.axes import serial_axes
    >>> from linkwright.mounts.orbits import Orbit
    >>> from linkwright.mounts.sites import Site
    >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> low = Site(-0.76, 3.01, 20).passes(orbit, days=1)[0]
    >>> follow("alt-az", serial_axes("alt-az"), low).lost
    0.0
    """
    rough = _rough(path, speed, checked_beam(beamwidth))
    return _followed(name, axes, path, rough, speed, beamwidth, rate)


def follow_together(
    name: str,
    dishes: Sequence[MountAxes],
    path: Trajectory,
    *,
    speed: float = math.radians(5.0),
    beamwidth: float = math.radians(0.8),
    rate: float = RATE,
) -> FollowedPath:
    """Return how several dishes at one site follow a path: the best of them counts at each time.

    Contact is lost while all of them are off by more than half the beamwidth; `handovers` are the
    times at which another one takes over. One that can do it alone takes the whole path.

    Args:
        name: of them together.
        dishes: the axes of each.
        path: unit vectors over time, such as a pass.
        speed: that no axis exceeds, rad/s.
        beamwidth: of each dish, rad.
        rate: samples in a second.

    >>> from linkwright.motion.trajectory import through
    >>> from linkwright.mounts.axes import TurnedAxes, serial_axes
    >>> a = np.linspace(-0.2, 1.8, 2001)  # along the horizon, from beyond East to beyond North
    >>> low = np.stack([np.cos(a), np.sin(a), 0.01 + 0 * a], axis=1)
    >>> path = through(50 * (a + 0.2), low / np.linalg.norm(low, axis=1)[:, None])
    >>> one, other = serial_axes("x-y"), TurnedAxes(serial_axes("x-y"), math.pi / 2)
    >>> alone = follow("x-y", one, path)
    >>> pair = follow_together("both", [one, other], path)
    >>> alone.lost > 5, pair.lost, len(pair.handovers)
    (True, 0.0, 2)
    """
    if not dishes:
        raise InputError("there is no dish to follow with", remedy="give one or more")
    rough = _rough(path, speed, checked_beam(beamwidth))
    for axes in dishes:
        need, q, _ = _asked(axes, rough, speed)
        if need < 0.9 and _within(axes, q):  # this one does it alone
            return FollowedPath(name, path, need, 0.0, 0.0, 0.0)
    times, d = _rows(path, 1.0 / rate)
    needs, errors = [], []
    for axes in dishes:
        need, q, most = _asked(axes, (times, d), speed)
        needs.append(need)
        errors.append(_lagging(axes, q, most, d))
    table = np.array(errors)
    on, k = np.full(len(times), int(np.argmin(table[:, 0]))), 0
    while True:  # a dish that is on the target keeps it
        off = np.flatnonzero(table[on[k], k:] > beamwidth / 2)
        if not len(off) or k + int(off[0]) + 1 >= len(times):
            break
        k += max(1, int(off[0]))
        on[k:] = int(np.argmin(table[:, k]))
    best = table[on, np.arange(len(times))]
    worst = int(np.argmax(best))
    lost = float(np.count_nonzero(best > beamwidth / 2) * (times[1] - times[0]))
    changes = times[1:][np.diff(on) != 0]
    return FollowedPath(
        name, path, min(needs), float(best[worst]), lost, float(times[worst]),
        tuple(float(t) for t in changes),
    )  # fmt: skip


def _lagging(axes: MountAxes, q: Array, most: Array, d: Array) -> Array:
    """Return the pointing error where no axis goes faster than it can, or past its limits."""
    columns = zip(np.clip(q, *axes.limits.T).T, most, strict=True)
    stood = np.stack([rate_limited(column, float(step)) for column, step in columns], axis=1)
    return between(axes.directions(stood), d)


Rows: TypeAlias = tuple[Array, Array]
"""Times at even steps, and directions at them."""


def _rows(path: Trajectory, step: float) -> Rows:
    count = max(3, math.ceil(path.duration / step) + 1)
    times = np.linspace(path.instants[0], path.instants[-1], count)
    return times, path(times)


def _rough(path: Trajectory, speed: float, beamwidth: float) -> Rows:
    """Return rows so near each other that no peak of an axis' speed hides between them."""
    turning = float(np.linalg.norm(path.coefficients[:, 1], axis=1).max())
    return _rows(path, max(ROUGH / speed, SMALL * beamwidth / max(turning, 1e-12)))


def _followed(
    name: str,
    axes: MountAxes,
    path: Trajectory,
    rough: Rows,
    speed: float,
    beamwidth: float,
    rate: float,
) -> FollowedPath:
    need, q, _ = _asked(axes, rough, speed)
    if need < 0.9 and _within(axes, q):
        return FollowedPath(name, path, need, 0.0, 0.0, 0.0)
    times, d = rows = _rows(path, 1.0 / rate)
    need, q, most = _asked(axes, rows, speed)
    if need <= 1.0 and _within(axes, q):
        return FollowedPath(name, path, need, 0.0, 0.0, 0.0)
    error = _lagging(axes, q, most, d)
    worst = int(np.argmax(error))
    lost = float(np.count_nonzero(error > beamwidth / 2) * (times[1] - times[0]))
    return FollowedPath(name, path, need, float(error[worst]), lost, float(times[worst]))


def _asked(axes: MountAxes, rows: Rows, speed: float) -> tuple[float, Array, Array]:
    """Return the worst share of a limit, the actuators, and how far each comes in a step."""
    times, d = rows
    step = float(times[1] - times[0])
    q = axes.values(d, step)
    most = speed * step * np.array(axes.arms)
    return float((np.abs(np.diff(q, axis=0)).max(axis=0) / most).max()), q, most


def _within(axes: MountAxes, q: Array) -> bool:
    return bool((beyond(q, axes.limits) <= 0).all())


def between(a: Array, b: Array) -> Array:
    """Return the angles between rows of vectors, rad, exact for small ones."""
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.asarray(np.arctan2(across, np.einsum("...i,...i->...", a, b)))


def keyhole_passage(axes: SerialAxes, path: Trajectory, speed: float) -> KeyholePassage:
    """Return the passage by a mount's first axis that a pass makes, for the closed form.

    Args:
        axes: of the mount.
        path: of the target.
        speed: limit of the first axis, rad/s.

    >>> from linkwright.mounts.axes import serial_axes
    >>> from linkwright.mounts.orbits import Orbit
    >>> from linkwright.mounts.sites import Site
    >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> low = Site(-0.76, 3.01, 20).passes(orbit, days=1)[0]
    >>> by = keyhole_passage(serial_axes("alt-az"), low, math.radians(5.0))
    >>> round(math.degrees(by.distance + low.culmination), 6)
    90.0
    """
    a, knots = np.array(axes.first), path.instants
    k = int(np.argmax(np.abs(path.coefficients[:, 0] @ a)))
    low, high = knots[max(k - 1, 0)], knots[min(k + 1, len(knots) - 1)]
    when = knots[k]
    for _ in range(5):
        t = np.linspace(low, high, 21)
        best = int(np.argmax(np.abs(path(t) @ a)))
        low, when, high = t[max(best - 1, 0)], t[best], t[min(best + 1, 20)]
    distance = math.atan2(
        float(np.linalg.norm(np.cross(a, path(when)))), abs(float(path(when) @ a))
    )
    return KeyholePassage(distance, float(np.linalg.norm(path.speed(when))), speed)


@dataclass(frozen=True, slots=True)
class MountRow:
    """How one mount follows all passes."""

    mount: str  # its name
    passes: int  # how many there were
    losing: int  # in how many contact was lost
    lost: float  # for how long in all, s
    error: float  # the largest pointing error, rad
    need: float  # the highest speed that an actuator would have had to reach, over its limit


@dataclass(frozen=True, slots=True)
class Keyholes(Result):
    """How mounts follow passes.

    Args:
        followings: for each mount by name, one for each pass.
        speed: limit of all axes, rad/s.
        beamwidth: rad.

    >>> Keyholes({"alt-az": ()}, math.radians(5.0), math.radians(0.8)).rows()[0].losing
    0
    """

    followings: Mapping[str, tuple[FollowedPath, ...]]
    speed: float
    beamwidth: float

    def rows(self) -> list[MountRow]:
        """Return one row for each mount, in their order."""
        return [
            MountRow(
                name,
                len(found),
                sum(f.lost > 0 for f in found),
                sum((f.lost for f in found), 0.0),
                max((f.error for f in found), default=0.0),
                max((f.fastest for f in found), default=0.0),
            )
            for name, found in self.followings.items()
        ]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data; needs are shares of the limit."""
        return {
            "speed_deg_s": math.degrees(self.speed),
            "beamwidth_deg": math.degrees(self.beamwidth),
            "mounts": {
                row.mount: {
                    "losing": row.losing,
                    "lost_s": row.lost,
                    "error_deg": math.degrees(row.error),
                    "need": row.need,
                    "each": [
                        {
                            "error_deg": math.degrees(f.error),
                            "lost_s": f.lost,
                            "need": f.fastest,
                            "handovers_s": list(f.handovers),
                        }
                        for f in self.followings[row.mount]
                    ],
                }
                for row in self.rows()
            },
        }


def compare_mounts(
    mounts: Mapping[str, MountAxes | Sequence[MountAxes]],
    passes: Iterable[Trajectory],
    *,
    speed: float = math.radians(5.0),
    beamwidth: float = math.radians(0.8),
    rate: float = RATE,
) -> Keyholes:
    """Return how mounts with servos of limited speed follow passes.

    Args:
        mounts: their axes, by name; of several dishes that cover each other, all of them.
        passes: paths of directions.
        speed: that no axis exceeds, rad/s.
        beamwidth: of the dish, rad.
        rate: samples in a second.

    >>> from linkwright.mounts.axes import serial_axes
    >>> from linkwright.mounts.orbits import Orbit
    >>> from linkwright.mounts.sites import Site
    >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> passes = Site(-0.76, 3.01, 20).passes(orbit, days=1)
    >>> (row,) = compare_mounts({"alt-az": serial_axes("alt-az")}, passes).rows()
    >>> row.passes, row.losing, row.error
    (5, 0, 0.0)
    """
    for what, value in (("speed", speed), ("rate", rate)):
        checked(value, f"the {what}", above=0)
    checked_beam(beamwidth)
    found: dict[str, list[FollowedPath]] = {name: [] for name in mounts}
    for path in passes:
        rough = _rough(path, speed, beamwidth)
        for name, axes in mounts.items():
            if isinstance(axes, Sequence):
                together = follow_together(
                    name, axes, path, speed=speed, beamwidth=beamwidth, rate=rate
                )
                found[name].append(together)
            else:
                found[name].append(_followed(name, axes, path, rough, speed, beamwidth, rate))
    return Keyholes({name: tuple(row) for name, row in found.items()}, speed, beamwidth)
