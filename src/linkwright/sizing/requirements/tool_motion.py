"""Tool control: from rates of a tool to joints that follow them, in blocks of native steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, nearest
from linkwright.base.rotations import quaternion_matrix, quaternion_of
from linkwright.motion.task_parts import TOOL, Part, TaskSegment, ToolLine
from linkwright.motion.trajectory import MotionError, point_to_point

if TYPE_CHECKING:
    from linkwright.robots import Robot
    from linkwright.robots.quantity import Quantity

Array = NDArray[np.float64]
BLOCK = 64  # steps of one call
_JUMP = 1e-6  # m that a position may differ from where the part before it ended
_NEAR = 20  # steps before a fault in which a pose may have been singular
_BEYOND = 1e-4  # m between a target and the nearest place of the tool
_TRIED = 1000  # poses in which the tool is looked for near a target
_DRAWN = 32  # of them that are drawn to it, in as many steps
_UNREACHED = 1e-6  # of a rate, or m and rad of an error, that may be left over


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How rates of a tool become rates of joints."""

    damping: float = 0.0  # of the pseudo-inverse, in the units of the Jacobian; 0 for none
    # pivots of the Jacobian below this, in relation to its largest row, are zero
    threshold: float = 1e-6
    correct: bool = True  # whether the error of the pose is fed back, so that nothing drifts
    exact: bool = True  # whether steps follow the curve of the motion; otherwise they are Euler's
    refuse: bool = True  # whether rates that cannot be reached are an error


@dataclass(frozen=True, slots=True)
class ToolFrame:
    """A tool of a robot, with what makes it follow."""

    robot: Robot  # that carries it
    name: str  # of the frame
    steps: Quantity  # the quantity of `BLOCK` steps
    base: Array  # the pose of the link that carries the first joint, 4 x 4

    @classmethod
    def of(cls, robot: Robot, name: str) -> ToolFrame:
        """Return the tool of a robot."""
        from linkwright.robots.ik import follow_quantity

        known_frame(robot, name)
        return cls(robot, name, follow_quantity(robot, name, BLOCK), base_pose(robot))


def known_frame(robot: Robot, name: str) -> str:
    """Return the name of a robot's frame that is the tool's; one that there is not is rejected."""
    if name not in robot.frames:
        places = robot.assembled.places
        moving = [frame for frame in robot.frames if places[frame][0].parent is not None]
        near = nearest(name, moving) or moving[-1]
        raise InputError(
            f"the robot has no frame {name!r} for the task's tool",
            remedy=f'write frame = "{near}" in the task, or --frame; there are '
            f"{', '.join(robot.frames)}",
            code="R216",
        )
    return name


def base_pose(robot: Robot) -> Array:
    """Return the pose of the link that carries the first joint, which stands still."""
    from linkwright.formats.robot.description import Description

    source = robot.source
    if isinstance(source, Description):
        first = robot.links[0]
        parent = next(j.parent for j in source.joints if j.child == first)
        return np.asarray(robot.pose(robot.neutral, parent))
    body, _ = robot.assembled.places[robot.links[0]]
    above = body.parent
    known = [
        name
        for name, (own, place) in robot.assembled.places.items()
        if own is above and not any(place.position)
    ]
    return np.asarray(robot.pose(robot.neutral, known[0])) if known else np.eye(4)


def is_tool_part(part: Part) -> TypeGuard[TaskSegment | ToolLine]:
    """Whether a part is under tool control."""
    return isinstance(part, ToolLine) or (isinstance(part, TaskSegment) and part.control == "tool")


@dataclass(frozen=True, slots=True, eq=False)
class ToolPiece:
    """A time in which rates of the tool are one polynomial."""

    begin: float  # s
    end: float  # s
    rates: Array  # coefficients, 5 x 6, in the time since the beginning
    own: bool  # whether they are along the tool's axes, otherwise the world's
    weights: Array  # 0 for channels that are left as they come, otherwise 1
    # the matrix from the axes of the weights to the world's; the tool's own where `own`
    axes: Array


def tool_pieces(
    tool: ToolFrame,
    part: TaskSegment | ToolLine,
    begin: float,
    end: float,
    pose: Array,
) -> Iterator[ToolPiece]:
    """Yield the pieces of a part under tool control that begins at a pose of the tool.

    The pose may have leading axes; rates and axes of the pieces then have them too.
    """
    weights = np.array([0.0 if name in part.free else 1.0 for name in TOOL])
    turn = {"base": tool.base[:3, :3], "world": np.eye(3), "tool": pose[..., :3, :3]}[part.axes]
    if isinstance(part, ToolLine):
        law = point_to_point([0.0], [1.0], end - begin, law=part.law)
        way = np.array([part.by.get(name, 0.0) for name in TOOL])
        way = np.concatenate([turn @ way[:3], turn @ way[3:]], axis=-1)
        powers = np.arange(1.0, 6.0)[:, None]
        for t0, t1, c in zip(law.instants[:-1], law.instants[1:], law.coefficients, strict=True):
            rates = c[1:] * powers * way[..., None, :]
            yield ToolPiece(begin + float(t0), begin + float(t1), rates, False, weights, turn)
        return
    if part.profile == "position":
        _refuse_jump(tool, part, begin, pose)
    rates = part.rates(TOOL, begin)
    own = part.axes == "tool"
    if not own:
        rates = np.concatenate([rates[:, :3] @ turn.T, rates[:, 3:] @ turn.T], axis=1)
    yield ToolPiece(begin, end, rates, own, weights, turn)


def _refuse_jump(tool: ToolFrame, part: TaskSegment, begin: float, pose: Array) -> None:
    """Reject positions that do not begin where the tool is."""
    seen = np.linalg.inv(tool.base) @ pose if part.axes == "base" else pose
    for name in part.channels:
        k = TOOL.index(name)
        now = seen[..., k, 3] if k < 3 and part.axes != "tool" else np.zeros(())
        jump = float(np.abs(part.at(name, begin) - now).max())
        if jump > _JUMP:
            raise MotionError(
                f"{name} of the tool jumps by {jump:.4g} at {begin:g} s: it is {now.flat[0]:.6g}",
                remedy="let the positions begin where the tool is",
                code="R207",
            )


@dataclass(frozen=True, slots=True, eq=False)
class ToolSteps:
    """What steps of tool control gave, one row for each instant."""

    q: Array  # coordinates
    u: Array  # speeds
    a: Array  # accelerations
    ideal: Array  # where the tool's origin should be, m
    error: Array  # from the tool to where it should be, m and rad
    residual: Array  # what is left of the rate
    rank: Array  # of the Jacobian
    turn: Array  # the unit quaternion of the wanted pose
    ratio: Array  # of the smallest pivot of the Jacobian to the largest
    missed: Array  # residual and error along the axes of the part, without channels that are free

    @property
    def pose(self) -> Array:
        """The wanted pose at the last instant."""
        return pose_of(self.ideal[-1], self.turn[-1])


def tool_steps(
    tool: ToolFrame,
    piece: ToolPiece,
    q: Array,
    pose: Array,
    since: float,
    h: float,
    count: int,
    options: ToolOptions,
) -> ToolSteps:
    """Return so many steps, and the instant after the last, from a time since the piece began."""
    n = len(q)
    state = (q, np.zeros(n), pose[:3, 3].copy(), quaternion_of(pose[:3, :3]), np.array([since, 0]))
    shared = (
        np.ascontiguousarray(piece.rates.ravel()),
        piece.weights,
        np.zeros(n),
        np.ascontiguousarray(piece.axes.ravel()),
        np.array([options.damping, options.threshold]),
        np.array([h, float(piece.own), float(options.correct), float(options.exact)]),
    )
    rows: list[tuple[Array, ...]] = []
    for _ in range(0, count + 1, BLOCK):
        made = tool.steps(*state, *shared)
        state = made[:5]
        rows.append(made[5:])
    found = [np.concatenate(parts)[: count + 1] for parts in zip(*rows, strict=True)]
    now, u, a, error, residual, rank, ratio, ideal, turn, missed = found
    return ToolSteps(now, u, a, ideal, error, residual, rank, turn, ratio, missed)


def followed(
    tool: ToolFrame,
    piece: ToolPiece,
    q: Array,
    pose: Array,
    step: float,
    options: ToolOptions,
) -> tuple[Array, ToolSteps, Array]:
    """Return times, steps and jerks of joints that follow a piece."""
    span = piece.end - piece.begin
    count = max(1, math.ceil(span / step - 1e-9))
    h = span / count
    made = tool_steps(tool, piece, q, pose, 0.0, h, count, options)
    times = np.linspace(piece.begin, piece.end, count + 1)
    if options.refuse and options.damping == 0:
        _refuse_unreached(tool, piece, times, made)
    jerk = np.diff(made.a, axis=0) / h
    return times, made, np.concatenate([jerk, jerk[-1:]])


def _refuse_unreached(tool: ToolFrame, piece: ToolPiece, times: Array, made: ToolSteps) -> None:
    """Reject rates and poses that the joints do not reach."""
    asked = piece.weights > 0
    since = times - piece.begin
    rate = np.polynomial.polynomial.polyval(since, piece.rates).T
    left = np.abs(made.missed[:, :6]).max(axis=1)
    size = np.abs(rate).max(axis=1)
    off = np.abs(made.missed[:, 6:]).max(axis=1)
    bad = (left > _UNREACHED * (1 + size)) | (off > 1e3 * _UNREACHED) | ~np.isfinite(off)
    if np.any(bad):
        k = int(np.argmax(bad))
        full = min(int(asked.sum()), made.u.shape[1])
        near = made.rank[k, 0] < full or float(made.ratio[max(0, k - _NEAR) : k + 1].min()) < 0.03
        where = "meets a singular pose" if near else "cannot follow"
        said = f"the tool {where} at {times[k]:.4g} s"
        rows = np.eye(3) if asked[:3].all() else piece.axes[:3, :3].T[asked[:3]]
        known = len(rows) == 3 or (len(rows) > 0 and not piece.own)
        short = beyond_reach(tool, made.ideal[-1], rows) if near and known else 0.0
        if short > _BEYOND:
            raise MotionError(
                f"{said}: the end of its way is likely beyond the arm's reach, by {short:.3g} m",
                remedy="start where the arm is bent, or make the way shorter",
                code="R205",
            )
        if left[k] > _UNREACHED * (1 + size[k]):
            said += f": {left[k]:.3g} of its rate of {size[k]:.3g} is out of reach"
        raise MotionError(
            f"{said}, and it is off by {off[k]:.3g}",
            remedy="start elsewhere, free channels of the tool, or give a damping",
            code="R205",
        )


def beyond_reach(tool: ToolFrame, target: Array, rows: Array) -> float:
    """Return how near the tool's origin comes to a place, m, whatever its orientation.

    Damped least squares from the nearest of many random poses, within the limits of the joints.

    Units: `target` in m.
    """
    robot = tool.robot
    lower, upper = np.array(robot.limits, dtype=float).T
    lower = np.where(np.isfinite(lower), lower, -np.pi)
    upper = np.where(np.isfinite(upper), upper, np.pi)
    q = np.random.default_rng(0).uniform(lower, upper, (_TRIED, len(lower)))
    away = (target - robot.position(q, tool.name)) @ rows.T
    q = q[np.argsort(np.linalg.norm(away, axis=1))[:_DRAWN]]
    for _ in range(_DRAWN):
        error = (target - robot.position(q, tool.name)) @ rows.T
        jacobian = rows @ robot.jacobian(q, tool.name)[:, :3]
        damping = 1e-6 + np.sum(error**2, axis=1)[:, None, None]
        square = jacobian @ jacobian.transpose(0, 2, 1) + damping * np.eye(len(rows))
        pulled = np.linalg.solve(square, error[..., None])
        q = np.clip(q + (jacobian.transpose(0, 2, 1) @ pulled)[..., 0], lower, upper)
    away = (target - robot.position(q, tool.name)) @ rows.T
    return float(np.linalg.norm(away, axis=1).min())


def pose_of(place: Array, quaternion: Array) -> Array:
    """Return the pose of a place and a unit quaternion (w, x, y, z).

    >>> pose_of(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))[0]
    array([-1.,  0.,  0.,  0.])
    """
    found = np.eye(4)
    found[:3, 3] = place
    found[:3, :3] = quaternion_matrix(quaternion)
    return found
