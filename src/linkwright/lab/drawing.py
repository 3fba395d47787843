"""What a task draws: spheres, lines, arrows and words, collected beside the loop.

`draw(scene, state)` of a task is called by whoever shows the laboratory, at the rate of the
pictures: never in the control path, and never on a robot. What it draws is plain data for any
viewer (SL: addUserDisplayFunc, whose functions run in the simulation alone).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, unknown
from linkwright.lab.records import BlobState, DesiredState, FrameState

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

Point: TypeAlias = tuple[float, float, float]
Color: TypeAlias = tuple[float, float, float]

COLORS: dict[str, Color] = {
    "black": (0.0, 0.0, 0.0),
    "blue": (0.1, 0.3, 0.9),
    "cyan": (0.0, 0.8, 0.8),
    "gray": (0.5, 0.5, 0.5),
    "green": (0.1, 0.7, 0.2),
    "magenta": (0.8, 0.1, 0.8),
    "orange": (1.0, 0.55, 0.0),
    "red": (0.9, 0.1, 0.1),
    "white": (1.0, 1.0, 1.0),
    "yellow": (1.0, 1.0, 0.0),
}
"""Colors by name: red, green and blue from 0 to 1."""


@dataclass(frozen=True, slots=True)
class DrawnSphere:
    """A sphere: its center, radius (m) and color."""

    center: Point
    radius: float
    color: Color


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line through points, with its width (m) and color."""

    points: tuple[Point, ...]
    width: float
    color: Color


@dataclass(frozen=True, slots=True)
class DrawnArrow:
    """An arrow from a point along a vector (m), with its width (m) and color."""

    start: Point
    vector: Point
    width: float
    color: Color


@dataclass(frozen=True, slots=True)
class DrawnText:
    """Words at a point."""

    at: Point
    text: str
    color: Color


DrawnThing: TypeAlias = DrawnSphere | DrawnLine | DrawnArrow | DrawnText

MOST = 2000
"""Things that one picture may have; a task that draws in a circle is reported."""


class Drawing:
    """What a task draws into: the things of one picture, in order.

    >>> scene = Drawing()
    >>> scene.sphere((0.1, 0, 0.5), radius=0.03, color="yellow")
    >>> scene.arrow((0, 0, 0), (0, 0, 1))
    >>> [type(thing).__name__ for thing in scene.things]
    ['DrawnSphere', 'DrawnArrow']
    """

    def __init__(self) -> None:
        self._things: list[DrawnThing] = []

    @property
    def things(self) -> tuple[DrawnThing, ...]:
        """What was drawn."""
        return tuple(self._things)

    def sphere(
        self, center: ArrayLike, radius: float = 0.03, color: str | Sequence[float] = "yellow"
    ) -> None:
        """Draw a sphere.

        Args:
            center: x, y, z, m.
            radius: m.
            color: a name of `COLORS`, or red, green and blue from 0 to 1.
        """
        self._add(DrawnSphere(_point(center), _size(radius, "radius"), _color(color)))

    def line(
        self,
        points: Iterable[ArrayLike],
        width: float = 0.004,
        color: str | Sequence[float] = "white",
    ) -> None:
        """Draw a line through points.

        Args:
            points: two or more, x, y, z, m.
            width: m.
        """
        places = tuple(_point(point) for point in points)
        if len(places) < 2:
            raise InputError(f"a line through {len(places)} points", remedy="give two or more")
        self._add(DrawnLine(places, _size(width, "width"), _color(color)))

    def arrow(
        self,
        start: ArrayLike,
        vector: ArrayLike,
        width: float = 0.008,
        color: str | Sequence[float] = "red",
    ) -> None:
        """Draw an arrow.

        Args:
            start: x, y, z, m.
            vector: from its start to its end, m.
        """
        self._add(DrawnArrow(_point(start), _point(vector), _size(width, "width"), _color(color)))

    def text(self, at: ArrayLike, words: object, color: str | Sequence[float] = "white") -> None:
        """Write words.

        Args:
            at: x, y, z, m.
        """
        self._add(DrawnText(_point(at), str(words)[:200], _color(color)))

    def _add(self, thing: DrawnThing) -> None:
        if len(self._things) >= MOST:
            raise InputError(
                f"a task draws more than {MOST} things", remedy="draw fewer, or one line"
            )
        self._things.append(thing)


def _point(value: ArrayLike) -> Point:
    try:
        found = np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError):
        found = np.empty(0)
    if len(found) != 3 or not np.isfinite(found).all():
        raise InputError(
            f"{value!r} is not a point in space", remedy="give three finite numbers, m"
        )
    return float(found[0]), float(found[1]), float(found[2])


def _size(value: float, what: str) -> float:
    if not 0 < float(value) < 1e3:
        raise InputError(f"a {what} of {value!r} m cannot be drawn", remedy="give one above 0")
    return float(value)


def _color(value: str | Sequence[float]) -> Color:
    if isinstance(value, str):
        if value not in COLORS:
            raise unknown("color", value, COLORS)
        return COLORS[value]
    found = [float(x) for x in value]
    if len(found) != 3 or not all(0 <= x <= 1 for x in found):
        raise InputError(f"{value!r} is not a color", remedy="give red, green and blue from 0 to 1")
    return found[0], found[1], found[2]


@dataclass(frozen=True, slots=True, eq=False)
class SeenState:
    """The robot as a task sees it where it draws: the names that `run` has for it.

    Args:
        time: of the laboratory, s.
        q: positions of the joints, rad.
        u: their speeds, rad/s.
        a: their accelerations, rad/s^2.
        ufb: feedback commands, N*m.
        tau: commands, N*m.
        load: measured torques, N*m.
        desired: what is wanted of the joints.
        cart: end-effectors by name.
        blobs: by name.
        base: of the robot.
    """

    time: float
    q: NDArray[np.float64]
    u: NDArray[np.float64]
    a: NDArray[np.float64]
    ufb: NDArray[np.float64]
    tau: NDArray[np.float64]
    load: NDArray[np.float64]
    desired: DesiredState
    cart: Mapping[str, FrameState]
    blobs: Mapping[str, BlobState]
    base: FrameState


@dataclass(frozen=True, slots=True)
class TaskPicture:
    """What a task has drawn.

    Args:
        things: in order.
        mistake: what went wrong, with its line; empty where nothing did.
    """

    things: tuple[DrawnThing, ...] = ()
    mistake: str = ""


def picture(lab: Lab) -> TaskPicture:
    """Return what the task of a simulated laboratory draws now.

    It is called by whoever shows the laboratory, in its own thread, with the last state that the
    loop has left; a mistake in `draw` costs the robot nothing. On a real robot nothing is drawn.

    >>> from linkwright.lab.lab import Lab
    >>> with Lab("sl-arm") as lab:
    ...     picture(lab)
    TaskPicture(things=(), mistake='')
    """
    from linkwright.lab.running import task_failure
    from linkwright.lab.slot import MEMBER

    task = lab.running_tasks.get(MEMBER)
    if task is None or not lab.simulated:
        return TaskPicture()
    memory, channel = lab.values(f"{MEMBER}.memory", f"{MEMBER}.channel")
    numbers = {"parameter": task.numbers["parameter"].copy(), "state": memory, "channel": channel}
    joints, scene = lab.state, Drawing()
    state = SeenState(
        lab.time,
        *(joints.q, joints.u, joints.a, joints.ufb, joints.tau, joints.load),
        lab.desired,
        lab.cart,
        lab.blobs,
        lab.base,
    )
    try:
        task.stand_in("python", numbers).draw(scene, state)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return TaskPicture(scene.things, str(task_failure(task, error, "draw")))
    return TaskPicture(scene.things)
