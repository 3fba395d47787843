"""A task as a machine with loops carries it out: in the space of its actuators, or of its platform.

Parts that name actuators are polynomials of these. Others say where the platform looks or goes:

- a `Move` to an azimuth and an elevation turns the beam along a great circle;
- a `Follow` of "azimuth" and "elevation", or of "east", "north" and "up", points along a path;
- a `ToolLine` moves a platform of six freedoms along a line and about an axis, or turns a beam.

Azimuth is that of a compass. A machine with more freedoms than a direction has keeps the distance
of its platform (one more) or its place (four more). The loops are closed at knots on the branch of
the start; between them coordinates are polynomials of the sixth power through seven knots, which
stand as close as the accelerations need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.base.rotations import axis_rotation
from linkwright.equations.batch_closing import Closing
from linkwright.equations.closure import assemble
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.motion.task_parts import Dwell, Follow, Move, Part, TaskSegment, ToolLine
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import MotionError, point_to_point
from linkwright.robots.closing import driven_names, known_rows
from linkwright.sizing.requirements.limits import unknown_joint
from linkwright.sizing.requirements.sampled import (
    PARTS,
    SampledMotion,
    joint_pieces,
    refuse_unfit,
)

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]
Known = dict[str, Array]
ANGLES = ("azimuth", "elevation")
POINTING = (*ANGLES, *PARTS)
"""What a pointing part names, in place of actuators."""
_HELD: dict[int, tuple[str, ...]] = {0: (), 1: ("distance",), 4: ("position",)}
_KNOTS = 64  # of a piece, at the first try
_SHARP = 1e-5  # of the accelerations, that interpolation may be off by
_UNIT = 1e-6
_WINDOW = np.arange(-3.0, 4.0)
_FIT = np.linalg.inv(np.vander(_WINDOW, 7, increasing=True))


@dataclass(slots=True)
class _Machine:
    """A robot with loops, and how it was closed so far."""

    robot: Robot
    machine: ParallelMachine
    q: Array  # where it is
    ways: dict[tuple[str, ...], Closing] = field(default_factory=dict)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """What parts in the space of the actuators move, by the name that `joint_pieces` reads."""
        return tuple(q.name for q in self.machine.actuators)

    @property
    def columns(self) -> list[int]:
        """Where the actuators stand among all coordinates."""
        return [self.robot.coordinates.index(name) for name in self.coordinates]

    @property
    def driven(self) -> Array:
        """Where the actuators are."""
        return np.asarray(self.q[self.columns])

    @property
    def pose(self) -> Array:
        """Where the platform is, 4 x 4."""
        platform = self.machine.mechanism.platform
        assert platform is not None
        found = np.array(self.robot.pose(self.q, platform.point.body.name))
        found[:3, 3] = self._values(("position",))
        return found

    @property
    def beam(self) -> Array:
        """Where the platform looks."""
        return self._values(("direction",))

    @property
    def held(self) -> tuple[str, ...]:
        """What it keeps while it points."""
        spare = len(self.coordinates) - 2
        if spare not in _HELD:
            raise InputError(
                f"{self.machine.mechanism.name!r} has {len(self.coordinates)} actuators, and "
                "points with 2, 3 or 6",
                remedy="write parts that move its actuators",
                code="R214",
            )
        return _HELD[spare]

    def _values(self, words: tuple[str, ...]) -> Array:
        return np.asarray(self._way(words).values_of(self.q[None])[0])

    def kept(self) -> Known:
        """Return what is known of the platform beside its direction."""
        return {w: self._values((w,)) if w == "position" else self._values((w,))[0]
                for w in self.held}  # fmt: skip

    def _way(self, words: tuple[str, ...]) -> Closing:
        if words not in self.ways:
            self.ways[words] = Closing(self.machine, words)
        return self.ways[words]

    def close(self, known: Mapping[str, Array], when: Array) -> Array:
        """Return all coordinates at instants, from where it is."""
        words = tuple(known)
        rows = known_rows(known, len(self.coordinates))
        found = self._way(words).follow(rows, self.q)
        if not found.closed.all():
            bad = int(np.flatnonzero(~found.closed)[0])
            raise MotionError(
                f"{self.machine.mechanism.name!r} cannot follow the task at {when[bad]:.4g} s: "
                f"{found.words(bad)}",
                remedy="keep it within the machine's reach: `linkwright parallel chart` shows it",
                code="R205",
            )
        return np.asarray(found.q)


def machine_motion(robot: Robot, task: Task, step: float) -> SampledMotion:
    """Return a task as a machine with loops carries it out (`step` in s).

    Beside all coordinates there are speeds, accelerations and jerks of the actuators alone.
    """
    refuse_unfit(robot, task)
    checked(step, "the step in s", above=0, code="R213")
    names = driven_names(robot)
    for name in task.start:
        if name not in names:
            raise unknown_joint(name, names)
    machine = _machine_of(robot, task, names)
    first = assemble(machine.mechanism, dict(task.start) or None).coordinates
    state = _Machine(robot, machine, np.array([first[name] for name in robot.coordinates]))
    pieces: list[tuple[Array, list[Array]]] = []
    for begin, end, part in task.schedule():
        for t0, t1, known in _pieces(state, part, begin, end):
            count = max(1, math.ceil((t1 - t0) / step - 1e-9))
            since = np.linspace(0.0, t1 - t0, count + 1)
            made = _resolved(state, known, t0, since)
            state.q = made[0][-1]
            pieces.append((t0 + since, made))
    times = np.concatenate([t[:-1] for t, _ in pieces] + [pieces[-1][0][-1:]])
    columns = [
        np.concatenate([x[k][:-1] for _, x in pieces] + [pieces[-1][1][k][-1:]]) for k in range(4)
    ]
    blank = [np.full((len(times), width), np.nan) for width in (3, 6, 6)]
    return SampledMotion(times, *columns, *blank)


def _machine_of(robot: Robot, task: Task, names: tuple[str, ...]) -> ParallelMachine:
    """Return the machine; one without a platform does what names its actuators alone."""
    if robot.mechanism.platform is not None or not names:
        return parallel_machine(robot, actuators=names)
    any_body = next(b for b in robot.mechanism.bodies.values() if b.parent is not None)
    found = parallel_machine(robot, actuators=names, platform=any_body.name)
    for _, _, part in task.schedule():
        if isinstance(part, ToolLine) or pointing_names(part, names, found):
            return parallel_machine(robot, actuators=names)  # which says what it lacks
    return found


Way = Callable[[Array], Known]
"""What is known of the machine at times since a piece began."""


def _pieces(state: _Machine, part: Part, begin: float, end: float) -> Iterator[
    tuple[float, float, Way]
]:  # fmt: skip
    """Yield the pieces of a part in which it is smooth."""
    if isinstance(part, Dwell):
        still = state.driven
        yield begin, end, lambda t: {"actuators": np.broadcast_to(still, (len(t), len(still)))}
        return
    if isinstance(part, ToolLine):
        yield from _line(state, part, begin, end)
        return
    if isinstance(part, TaskSegment) and part.control == "tool":
        raise InputError(
            "a machine with loops has no segments of its tool's rates",
            remedy="write a line of its platform, or segments of its actuators",
            code="R214",
        )
    if pointing_names(part, state.coordinates, state.machine):
        yield from _pointed(state, part, begin, end)
        return
    driven = state.robot.actuators
    if isinstance(part, Follow) and part.joints is None and part.trajectory.size == len(driven):
        part = replace(part, joints=driven)  # a path without names is in the model's order
    for t0, t1, c in joint_pieces(state, part, begin, end, state.driven):
        yield t0, t1, lambda t, c=c: {"actuators": _values(c, t)}  # type: ignore[misc]


def pointing_names(part: Part, actuators: Sequence[str], machine: ParallelMachine) -> bool:
    """Return whether a part says where the platform looks.

    A path of three numbers without names is one of directions where they are unit vectors and the
    machine has not three actuators.
    """
    if isinstance(part, Move):
        return set(part.to) <= set(ANGLES) and not set(part.to) & set(actuators)
    if not isinstance(part, Follow):
        return False
    if part.joints is None:
        path = part.trajectory
        sizes = np.linalg.norm(path.coefficients[:, 0], axis=-1)
        return path.size == 3 != len(actuators) and bool(np.abs(sizes - 1.0).max() < _UNIT)
    return set(part.joints) <= set(POINTING) and not set(part.joints) & set(actuators)


def _pointed(state: _Machine, part: Part, begin: float, end: float) -> Iterator[
    tuple[float, float, Way]
]:  # fmt: skip
    kept, first = state.kept(), state.beam
    if isinstance(part, Move):
        if part.relative or set(part.to) != set(ANGLES):
            raise MotionError(
                "a move of the beam goes to an azimuth and an elevation",
                remedy='write to = {azimuth = "90 deg", elevation = "30 deg"}',
                code="R203",
            )
        last = _looking(np.array([part.to["azimuth"]]), np.array([part.to["elevation"]]))[0]
        axis = np.cross(first, last)
        angle = math.atan2(float(np.linalg.norm(axis)), float(first @ last))
        if angle < 1e-12 or np.linalg.norm(axis) < 1e-12:
            axis = np.cross(first, np.eye(3)[int(np.argmin(np.abs(first)))])
        turn = axis / np.linalg.norm(axis) * angle
        yield from _turned(state, part, begin, end, turn)
        return
    assert isinstance(part, Follow)
    path, t_first = part.trajectory, float(part.trajectory.instants[0])
    names = part.joints or PARTS
    wanted = ANGLES if set(names) <= set(ANGLES) else PARTS
    if set(names) != set(wanted):
        raise MotionError(
            f"a path of directions names {' and '.join(names)}",
            remedy="name azimuth and elevation, or east, north and up",
            code="R203",
        )
    order = [names.index(name) for name in wanted]

    def looking(t: Array) -> Known:
        x = path(t_first + t)[:, order]
        d = _looking(x[:, 0], x[:, 1]) if wanted == ANGLES else x
        return {"direction": d / np.linalg.norm(d, axis=1, keepdims=True)} | kept

    off = float(np.linalg.norm(looking(np.zeros(1))["direction"][0] - first))
    if off > _UNIT and begin > 0:
        raise MotionError(
            f"the beam jumps by {math.degrees(off):.4g} deg at {begin:g} s",
            remedy="let the part begin where the one before it ends",
            code="R207",
        )
    if off > _UNIT:
        state.q = _approached(state, first, looking(np.zeros(1))["direction"][0], kept)
    yield begin, end, looking


def _approached(state: _Machine, first: Array, last: Array, kept: Known) -> Array:
    """Return the coordinates where a task begins that looks elsewhere than the model."""
    s = np.linspace(0.0, 1.0, 2 + int(20 * math.acos(float(np.clip(first @ last, -1, 1)))))[:, None]
    way = (1 - s) * first + s * last
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    return np.asarray(state.close({"direction": way} | kept, np.zeros(len(way)))[-1])


def _looking(azimuth: Array, elevation: Array) -> Array:
    """Return unit vectors East, North, up of compass angles."""
    c = np.cos(elevation)
    return np.stack([c * np.sin(azimuth), c * np.cos(azimuth), np.sin(elevation)], axis=-1)


def _line(state: _Machine, part: ToolLine, begin: float, end: float) -> Iterator[
    tuple[float, float, Way]
]:  # fmt: skip
    pose = state.pose
    by = np.array([part.by.get(name, 0.0) for name in ("x", "y", "z", "rx", "ry", "rz")])
    turn = pose[:3, :3] if part.axes == "tool" else np.eye(3)
    shift, spin = turn @ by[:3], turn @ by[3:]
    if len(state.coordinates) < 6 or part.free:
        if part.free or shift.any():
            raise InputError(
                "a line moves all six channels of a platform, and of fewer freedoms its beam alone",
                remedy="give rx, ry and rz, or parts that move the actuators",
                code="R214",
            )
        yield from _turned(state, part, begin, end, spin)
        return
    law = point_to_point([0.0], [1.0], end - begin, law=part.law)
    angle = float(np.linalg.norm(spin))
    axis = spin / angle if angle else np.array([0.0, 0.0, 1.0])
    for t0, t1, c in zip(law.instants[:-1], law.instants[1:], law.coefficients, strict=True):

        def posed(t: Array, c: Array = c) -> Known:
            share = _values(c, t)[:, 0]
            turned = np.array([axis_rotation(axis, float(x)) for x in share * angle])
            return {
                "position": pose[:3, 3] + share[:, None] * shift,
                "rotation": turned @ pose[:3, :3],
            }

        yield begin + float(t0), begin + float(t1), posed


def _turned(
    state: _Machine, part: Move | ToolLine, begin: float, end: float, spin: Array
) -> Iterator[tuple[float, float, Way]]:
    """Yield the pieces of a beam that turns about an axis."""
    first, kept = state.beam, state.kept()
    law = point_to_point([0.0], [1.0], end - begin, law=part.law)
    angle = float(np.linalg.norm(spin))
    axis = spin / angle if angle else np.array([0.0, 0.0, 1.0])
    along, across = (axis @ first) * axis, np.cross(axis, first)
    for t0, t1, c in zip(law.instants[:-1], law.instants[1:], law.coefficients, strict=True):

        def looking(t: Array, c: Array = c) -> Known:
            x = angle * _values(c, t)
            return {"direction": along + np.cos(x) * (first - along) + np.sin(x) * across} | kept

        yield begin + float(t0), begin + float(t1), looking


def _values(c: Array, t: Array) -> Array:
    """Return polynomials, powers x values, at times."""
    made = np.zeros((len(t), c.shape[1]))
    for row in reversed(c):
        made = made * t[:, None] + row
    return made


def _resolved(state: _Machine, known: Way, begin: float, since: Array) -> list[Array]:
    """Return coordinates, and rates of the actuators, at samples of a piece.

    Knots are halved until those between them are where the polynomials have them.
    """
    span, columns = float(since[-1]), state.columns
    finest = max(16, len(since) - 1)
    count = min(_KNOTS, finest)
    knots = np.linspace(0.0, span, count + 1)
    q = state.close(known(knots), begin + knots)
    while True:
        h = span / count
        finer = np.linspace(0.0, span, 2 * count + 1)
        there = state.close(known(finer), begin + finer)
        guess = _interpolated(q, finer[1::2] / h, 0)
        off = float(np.abs(guess - there[1::2]).max())
        q, count = there, 2 * count
        most = float(np.abs(_interpolated(q[:, columns], np.arange(count + 1.0), 2)).max())
        if 50.0 * off <= _SHARP * most + 1e-9 * h * h or count >= finest:
            break
    at = since / (span / count)
    rates = [_interpolated(q[:, columns], at, k) * (count / span) ** k for k in (1, 2, 3)]
    return [_interpolated(q, at, 0), *rates]


def _interpolated(q: Array, at: Array, order: int) -> Array:
    """Return values at places between knots, or their derivatives by the place."""
    middle = np.clip(np.rint(at).astype(int), 3, len(q) - 4)
    windows = np.stack([q[k : len(q) - 6 + k] for k in range(7)], axis=1)  # of the knots 3, 4, ...
    fits = np.einsum("ij,njk->nik", _FIT, windows)
    for _ in range(order):
        fits = fits[:, 1:] * np.arange(1.0, fits.shape[1])[:, None]
    x, chosen = (at - middle)[:, None], fits[middle - 3]
    made = np.zeros((len(at), q.shape[1]))
    for power in reversed(range(chosen.shape[1])):
        made = made * x + chosen[:, power]
    return made
