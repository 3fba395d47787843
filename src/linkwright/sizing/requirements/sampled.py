"""A task as one robot carries it out: coordinates, speeds, accelerations and jerks at samples.

Parts are resolved one after the other, since each begins where the one before it ended. Joint
control is exact: positions are polynomials. Tool control is that of `tool_motion`. Each part, and
each piece of its polynomials, is sampled from its beginning in equal steps, so that no sample
straddles a corner; its end is the beginning of the next, and the last sample is the end of the
task.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.motion.task_parts import Dwell, Follow, Move, Part, TaskSegment
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import POWERS, MotionError, Trajectory, point_to_point
from linkwright.sizing.requirements.limits import unknown_joint
from linkwright.sizing.requirements.reduction import REST
from linkwright.sizing.requirements.tool_motion import (
    ToolFrame,
    ToolOptions,
    followed,
    is_tool_part,
    tool_pieces,
)

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]
PARTS = ("east", "north", "up")
"""What the path of a beam names, in place of joints."""
_JUMP = 1e-6  # rad or m that a position may differ from where the part before it ended


class Jointed(Protocol):
    """What parts of a task move, by their names."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """In their order."""


@dataclass(frozen=True, slots=True, eq=False)
class SampledMotion:
    """What a robot does over a task, at samples."""

    times: Array  # s, rising
    q: Array  # coordinates, one row for each sample
    u: Array  # speeds
    a: Array  # accelerations
    jerk: Array  # rates of the accelerations
    # where the tool's origin should be, m, in the world's axes; nan under joint control
    ideal: Array
    error: Array  # from the tool to where it should be, m and rad; nan under joint control
    residual: Array  # what is left of the tool's rate, m/s and rad/s; nan under joint control

    @property
    def tool(self) -> NDArray[np.bool_]:
        """Which samples are under tool control."""
        return np.asarray(~np.isnan(self.error[:, 0]))


def refuse_unsuited(robot: Robot) -> None:
    """Reject a robot whose joints have not one coordinate and one speed each."""
    n = len(robot.coordinates)
    if robot.loops:
        raise InputError(
            f"{robot.mechanism.name!r} has closed loops, and this needs joints that nothing ties",
            remedy="ask `require` and `size` without it, which take the actuators of such a "
            "machine, or chart them at rest: linkwright parallel chart MODEL --of effort",
            code="R214",
        )
    if n != len(robot.speeds) or n == 0:
        raise InputError(
            "a task moves joints of one degree of freedom, and this robot has others",
            remedy='hold its base with base="fixed", and lock ball joints',
            code="R214",
        )


def refuse_unfit(robot: Robot, task: Task) -> None:
    """Reject a task of a file that names joints or gives units that the robot does not have."""
    from linkwright.sizing.requirements.require import joints_of

    if not task.mentions:
        return
    kinds = {j.name: j.kind for j in joints_of(robot)}
    if robot.loops:
        kinds = {"azimuth": "revolute", "elevation": "revolute"} | dict.fromkeys(PARTS, "") | kinds
    for m in task.mentions:
        if m.joint not in kinds:
            found = unknown_joint(m.joint, tuple(kinds))
            raise m.error(found.what, found.remedy, code="R203")
        if m.kind and kinds[m.joint] and m.kind != kinds[m.joint]:
            turns = kinds[m.joint] == "revolute"
            raise m.error(
                f"{m.joint!r} {'turns' if turns else 'slides'}, so {m.given!r} does not fit",
                f"give a number in SI units, or a unit with {'rad' if turns else 'm'}",
                code="R208",
            )


def start_of(robot: Robot, task: Task) -> Array:
    """Return the coordinates where a task begins."""
    names = robot.coordinates
    q = np.zeros(len(names))
    first = task.parts[0]
    if isinstance(first, Follow):
        rows = _rows(robot, first)
        q[rows] = first.trajectory.start
    elif isinstance(first, TaskSegment) and (first.control, first.profile) == ("joint", "position"):
        begin = task.begin if first.start is None else first.start
        for name in first.channels:
            if name in names:
                q[names.index(name)] = first.at(name, begin)
    for name, value in task.start.items():
        if name not in names:
            raise unknown_joint(name, names)
        q[names.index(name)] = value
    return q


def sampled(robot: Robot, task: Task, step: float, tool: ToolOptions) -> SampledMotion:
    """Return a task as a robot carries it out (`step` in s)."""
    refuse_unsuited(robot)
    refuse_unfit(robot, task)
    checked(step, "the step in s", above=0, code="R213")
    q = start_of(robot, task)
    pose: Array | None = None  # where the tool should be, while parts are under tool control
    pieces: list[tuple[Array, list[Array]]] = []
    for begin, end, part in task.schedule():
        if is_tool_part(part):
            frame = ToolFrame.of(robot, task.frame)
            pose = robot.pose(q, task.frame) if pose is None else pose
            for piece in tool_pieces(frame, part, begin, end, pose):
                times, made, jerk = followed(frame, piece, q, pose, step, tool)
                columns = [made.q, made.u, made.a, jerk, made.ideal, made.error, made.residual]
                pieces.append((times, columns))
                q, pose = made.q[-1], made.pose
            continue
        pose = None
        for t0, t1, c in joint_pieces(robot, part, begin, end, q):
            count = max(1, math.ceil((t1 - t0) / step - 1e-9))
            since = np.linspace(0.0, t1 - t0, count + 1)
            orders = [_values(c, since, k) for k in range(4)]
            orders[1][np.abs(orders[1]) < REST * _values(np.abs(c), since, 1)] = 0.0
            blank = [np.full((count + 1, width), np.nan) for width in (3, 6, 6)]
            pieces.append((t0 + since, [*orders, *blank]))
            q = orders[0][-1]
    times = np.concatenate([t[:-1] for t, _ in pieces] + [pieces[-1][0][-1:]])
    columns = [
        np.concatenate([x[k][:-1] for _, x in pieces] + [pieces[-1][1][k][-1:]])
        for k in range(len(pieces[0][1]))
    ]
    return SampledMotion(times, *columns)


def _values(c: Array, since: Array, order: int) -> Array:
    """Return polynomials, powers x values, or their derivatives at times."""
    found = c
    for _ in range(order):
        found = found[1:] * np.arange(1.0, len(found))[:, None]
    made = np.zeros((len(since), c.shape[1]))
    for row in reversed(found):
        made = made * since[:, None] + row
    return made


def joint_pieces(
    robot: Jointed, part: Part, begin: float, end: float, q: Array
) -> Iterator[tuple[float, float, Array]]:
    """Yield the pieces of a part under joint control: times, and coefficients of positions.

    Coordinates may have leading axes; coefficients, powers x joints, then have them too.
    """
    if isinstance(part, Dwell):
        yield begin, end, _still(q)
    elif isinstance(part, TaskSegment):
        yield begin, end, _segment(robot, part, begin, q)
    elif isinstance(part, Move):
        target = q.copy()
        for name, value in part.to.items():
            k = _index(robot, name)
            target[..., k] = q[..., k] + value if part.relative else value
        law = point_to_point([0.0], [1.0], end - begin, law=part.law)
        for t0, t1, share in _shifted(law, begin):
            yield t0, t1, share * (target - q)[..., None, :] + _still(q)
    elif isinstance(part, Follow):
        rows = _rows(robot, part)
        jump = np.abs(part.trajectory.start - q[..., rows]).reshape(-1, len(rows)).max(axis=0)
        if np.any(jump > _JUMP):
            _refuse_jump(robot.coordinates[rows[int(np.argmax(jump))]], begin, float(jump.max()))
        for t0, t1, own in _shifted(part.trajectory, begin):
            c = _still(q)
            c[..., :, rows] = own
            yield t0, t1, c


def _still(q: Array) -> Array:
    """Return the coefficients of joints that stay."""
    c = np.zeros((*q.shape[:-1], POWERS, q.shape[-1]))
    c[..., 0, :] = q
    return c


def _shifted(path: Trajectory, begin: float) -> Iterator[tuple[float, float, Array]]:
    shift = begin - path.instants[0]
    for t0, t1, c in zip(path.instants[:-1], path.instants[1:], path.coefficients, strict=True):
        yield float(t0 + shift), float(t1 + shift), c


def _segment(robot: Jointed, part: TaskSegment, begin: float, q: Array) -> Array:
    """Return the coefficients of positions of a segment of joint control."""
    names = robot.coordinates
    for name in part.channels:
        if name not in names:
            raise unknown_joint(name, names)
    c = _still(q)
    c[..., 1:, :] = part.rates(names, begin) / np.arange(1.0, POWERS)[:, None]
    if part.profile == "position":
        for name in part.channels:
            k = names.index(name)
            jump = float(np.abs(part.at(name, begin) - q[..., k]).max())
            if jump > _JUMP:
                _refuse_jump(name, begin, jump)
            c[..., 0, k] = part.at(name, begin)
    return c


def _refuse_jump(name: str, time: float, size: float) -> None:
    raise MotionError(
        f"{name!r} jumps by {size:.4g} at {time:g} s",
        remedy="let the part begin where the one before it ends, or give the task a start",
        code="R207",
    )


def _index(robot: Jointed, name: str) -> int:
    if name not in robot.coordinates:
        raise unknown_joint(name, robot.coordinates)
    return robot.coordinates.index(name)


def _rows(robot: Jointed, part: Follow) -> list[int]:
    if part.joints is None:
        n = len(robot.coordinates)
        if part.trajectory.size != n:
            raise MotionError(
                f"a trajectory of {part.trajectory.size} values cannot move {n} joints",
                remedy="name its joints",
                code="R203",
            )
        return list(range(n))
    return [_index(robot, name) for name in part.joints]
