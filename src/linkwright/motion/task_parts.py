"""The parts of a task: segments of polynomials, moves, lines, trajectories, dwells, and loads.

`linkwright.motion.tasks` puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import suggestion, unknown
from linkwright.base.reprs import one_line
from linkwright.motion.trajectory import MotionError, Trajectory

Array: TypeAlias = NDArray[np.float64]
Coefficients: TypeAlias = tuple[float, ...]

CONTROLS = ("joint", "tool")
PROFILES = ("rate", "position")
TIMES = ("segment", "absolute")
AXES = ("base", "tool", "world")
TOOL = ("x", "y", "z", "rx", "ry", "rz")
"""The channels of a tool: along the three axes, then about them."""
FORCES = ("fx", "fy", "fz", "mx", "my", "mz")
"""The channels of a wrench: force along the three axes, then moment about them."""


def chosen(value: object, known: Sequence[str], what: str) -> str:
    """Return one of some words, or reject another."""
    if value not in known:
        raise MotionError(
            f"{what} is {value!r}",
            remedy=suggestion(str(value), known, f"choose one of {', '.join(known)}"),
            code="R202",
        )
    return str(value)


def time_in_seconds(value: float | None, what: str, *, above: float = -math.inf) -> float | None:
    """Return a finite time, or say what it should have been."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise MotionError(f"{what} is {value!r}, which is not a time in s", code="R201")
    if not above < float(value) < math.inf:
        raise MotionError(
            f"{what} is {float(value):g} s",
            remedy=f"give a finite time{' above zero' if above == 0 else ''}",
            code="R201",
        )
    return float(value)


def coefficients_of(
    given: Mapping[str, ArrayLike | float], known: Sequence[str] | None, most: int
) -> dict[str, Coefficients]:
    """Return the coefficients of channels, ascending; a number is a constant."""
    found: dict[str, Coefficients] = {}
    for name, values in dict(given).items():
        if known is not None and name not in known:
            raise unknown("channel", name, known, kind=MotionError, code="R203")
        try:
            row = np.atleast_1d(np.asarray(values, dtype=float))
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.ndim != 1 or not 0 < len(row) <= most or not np.all(np.isfinite(row)):
            raise MotionError(
                f"channel {name!r} takes 1 to {most} finite coefficients, constant first",
                code="R202",
            )
        found[str(name)] = tuple(map(float, row))
    return found


@one_line
@dataclass(frozen=True, slots=True)
class TaskSegment:
    """Polynomials of time for rates or positions: `c0 + c1 t + c2 t^2`, up to the fourth power.

    Args:
        channels: coefficients by name of joint, or by "x", "y", "z" (m/s or m) and "rx", "ry", "rz"
            (rad/s or rad) of the tool; channels that are not named stand still.
        start: s; where the part before ends by default.
        duration: s; until the next part by default.
        control: "joint" or "tool".
        profile: "rate", or "position": positions of joints; of a tool the coordinates of its
            origin in base or world axes (in tool axes: from where it was), and angles turned since
            the segment began.
        time: "segment" for t counted from the start of the segment, "absolute" for the task's.
        axes: of a tool: "base", "tool" or "world".
        free: channels of a tool that are left as they come; the others are held to their value.

    Example:
        >>> TaskSegment({"x": [0.1, 0.02]}, duration=2, control="tool").rate("x")
        (0.1, 0.02)
    """

    channels: Mapping[str, Coefficients]
    start: float | None = None
    duration: float | None = None
    control: str = "joint"
    profile: str = "rate"
    time: str = "segment"
    axes: str = "base"
    free: tuple[str, ...] = ()

    def __init__(
        self,
        channels: Mapping[str, ArrayLike | float],
        start: float | None = None,
        duration: float | None = None,
        *,
        control: str = "joint",
        profile: str = "rate",
        time: str = "segment",
        axes: str = "base",
        free: Sequence[str] = (),
    ) -> None:
        chosen(control, CONTROLS, "the control of a segment")
        chosen(profile, PROFILES, "the profile of a segment")
        known = TOOL if control == "tool" else None
        most = 5 if profile == "rate" else 6
        fields = {
            "channels": coefficients_of(channels, known, most),
            "start": time_in_seconds(start, "the start of a segment"),
            "duration": time_in_seconds(duration, "the duration of a segment", above=0.0),
            "control": control,
            "profile": profile,
            "time": chosen(time, TIMES, "the time of a segment"),
            "axes": chosen(axes, AXES, "the axes of a segment"),
            "free": tuple(chosen(x, TOOL, "a free channel") for x in free),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def rate(self, name: str) -> Coefficients:
        """Return the coefficients of the rate of a channel."""
        found = self.channels.get(name, (0.0,))
        if self.profile == "rate":
            return found
        return tuple(k * c for k, c in enumerate(found))[1:] or (0.0,)

    def rates(self, names: Sequence[str], begin: float) -> Array:
        """Return the coefficients of rates in the time since the segment began, powers x channels.

        Args:
            names: of channels.
            begin: s, when the segment begins.
        """
        found = np.zeros((5, len(names)))
        for k, name in enumerate(names):
            c = np.array(self.rate(name))
            found[: len(c), k] = shifted(c, begin) if self.time == "absolute" else c
        return found

    def at(self, name: str, begin: float) -> float:
        """Return what a position polynomial is where the segment begins.

        Args:
            name: of the channel.
            begin: s, when the segment begins.
        """
        t = begin if self.time == "absolute" else 0.0
        return float(np.polynomial.polynomial.polyval(t, self.channels[name]))


def shifted(coefficients: ArrayLike, by: float) -> Array:
    """Return the coefficients of p(t + by).

    >>> shifted([0.0, 0.0, 1.0], 1.0)
    array([1., 2., 1.])
    """
    given = np.asarray(coefficients, dtype=float)
    found = np.zeros_like(given)
    for k, c in enumerate(given):
        for j in range(k + 1):
            found[j] += c * math.comb(k, j) * by ** (k - j)
    return found


def _targets(values: Mapping[str, float], what: str) -> dict[str, float]:
    found = coefficients_of(dict(values), None, 1)
    if not found:
        raise MotionError(f"{what} names nothing that moves", code="R203")
    return {name: c[0] for name, c in found.items()}


@one_line
@dataclass(frozen=True, slots=True)
class Move:
    """Joints go to positions, all starting and arriving together.

    Args:
        to: positions by name of joint, rad or m; other joints stay.
        duration: s.
        start: s; where the part before ends by default.
        law: one of `point_to_point`.
        relative: whether positions are counted from where the joints are.

    Example:
        >>> Move({"j1": 0.5}, 2.0).law
        'quintic'
    """

    to: Mapping[str, float]
    duration: float
    start: float | None = None
    law: str = "quintic"
    relative: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", _targets(self.to, "a move"))
        time_in_seconds(self.duration, "the duration of a move", above=0.0)
        time_in_seconds(self.start, "the start of a move")


@one_line
@dataclass(frozen=True, slots=True)
class ToolLine:
    """The tool goes along a straight line, and turns about a fixed axis by the same law.

    Args:
        by: how far along and about the axes, by "x", "y", "z" (m), "rx", "ry", "rz" (rad: the
            components of one turn).
        duration: s.
        start: s; where the part before ends by default.
        law: one of `point_to_point`.
        axes: "base", "tool" (as it is at the beginning) or "world".
        free: channels of the tool that are left as they come.

    Example:
        >>> ToolLine({"z": 0.025}, 0.2).axes
        'base'
    """

    by: Mapping[str, float]
    duration: float
    start: float | None = None
    law: str = "quintic"
    axes: str = "base"
    free: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        coefficients_of(dict(self.by), TOOL, 1)
        object.__setattr__(self, "by", _targets(self.by, "a line"))
        object.__setattr__(
            self, "free", tuple(chosen(x, TOOL, "a free channel") for x in self.free)
        )
        chosen(self.axes, AXES, "the axes of a line")
        time_in_seconds(self.duration, "the duration of a line", above=0.0)
        time_in_seconds(self.start, "the start of a line")


@one_line
@dataclass(frozen=True, slots=True)
class Dwell:
    """Nothing moves.

    Args:
        duration: s; until the next part by default.
        start: s; where the part before ends by default.

    Example:
        >>> Dwell(0.5).duration
        0.5
    """

    duration: float | None = None
    start: float | None = None

    def __post_init__(self) -> None:
        time_in_seconds(self.duration, "the duration of a dwell", above=0.0)
        time_in_seconds(self.start, "the start of a dwell")


@one_line
@dataclass(frozen=True, slots=True)
class Follow:
    """Joints follow a trajectory.

    Args:
        trajectory: of positions, rad or m; `linkwright.motion.through` makes one of a table.
        joints: the names of its values; all joints of the robot, in their order, by default.
        start: s; where the part before ends by default.

    Example:
        >>> from linkwright.motion import point_to_point
        >>> Follow(point_to_point([0.0], [1.0], 2.0)).duration
        2.0
    """

    trajectory: Trajectory
    joints: tuple[str, ...] | None = None
    start: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.trajectory, Trajectory):
            raise MotionError(
                "what joints follow is a trajectory",
                remedy="linkwright.motion.through makes one of times and positions",
                code="R202",
            )
        if self.joints is not None:
            object.__setattr__(self, "joints", tuple(map(str, self.joints)))
            if len(self.joints) != self.trajectory.size:
                raise MotionError(
                    f"a trajectory of {self.trajectory.size} values has "
                    f"{len(self.joints)} names of joints",
                    code="R203",
                )
        time_in_seconds(self.start, "the start of a trajectory")

    @property
    def duration(self) -> float:
        """s."""
        return self.trajectory.duration


Part: TypeAlias = TaskSegment | Move | ToolLine | Dwell | Follow


@one_line
@dataclass(frozen=True, slots=True)
class LoadProfile:
    """A wrench that the tool puts on its surroundings, or an acceleration of the base, over time.

    Args:
        channels: coefficients, constant first, by "fx", "fy", "fz" (N), "mx", "my", "mz" (N*m), or
            by "x", "y", "z" (m/s^2) for the base.
        start: s, in the time of the task.
        duration: s; to the end of the task by default.
        time: "segment" for t counted from the start, "absolute" for the task's.
        axes: "world", "base" or "tool".

    Example:
        >>> LoadProfile({"fz": -20}, start=1, duration=2).values(FORCES, np.array([0, 1.5]))[:, 2]
        array([  0., -20.])
    """

    channels: Mapping[str, Coefficients]
    start: float = 0.0
    duration: float | None = None
    time: str = "segment"
    axes: str = "world"

    def __post_init__(self) -> None:
        known = TOOL[:3] if set(self.channels) & set(TOOL) else FORCES
        object.__setattr__(self, "channels", coefficients_of(dict(self.channels), known, 6))
        time_in_seconds(self.start, "the start of a load")
        time_in_seconds(self.duration, "the duration of a load", above=0.0)
        chosen(self.time, TIMES, "the time of a load")
        chosen(self.axes, AXES, "the axes of a load")

    def values(self, names: Sequence[str], times: Array) -> Array:
        """Return the values of channels at times, zero outside.

        Args:
            names: of channels, "fx" or "x" and so on.
            times: s.
        """
        end = math.inf if self.duration is None else self.start + self.duration
        inside = (times >= self.start) & (times < end)
        t = times if self.time == "absolute" else times - self.start
        found = np.zeros((len(times), len(names)))
        for k, name in enumerate(names):
            c = self.channels.get(name)
            if c is not None:
                found[:, k] = np.where(inside, np.polynomial.polynomial.polyval(t, c), 0.0)
        return found
