"""Many runs of a task at once, reduced to statistics: over payloads, and starts of the joints."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.checks import checked
from linkwright.base.errors import InputError, unknown
from linkwright.base.results import Result
from linkwright.base.rotations import quaternion_of
from linkwright.motion.payloads import Payload, payload_of
from linkwright.motion.task_parts import FORCES, TOOL
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import Trajectory
from linkwright.sizing.requirements.reduction import BLOCK, QUANTITIES, reduction_quantity
from linkwright.sizing.requirements.require import joints_of, robot_of, task_of
from linkwright.sizing.requirements.sampled import (
    joint_pieces,
    refuse_unfit,
    refuse_unsuited,
    start_of,
)
from linkwright.sizing.requirements.tool_motion import (
    ToolFrame,
    ToolOptions,
    base_pose,
    is_tool_part,
    known_frame,
    pose_of,
    tool_pieces,
)

if TYPE_CHECKING:
    from linkwright.robots import Robot
    from linkwright.robots.quantity import Quantity

Array = NDArray[np.float64]
_KEPT = 5  # numbers of each statistic in the native state


@dataclass(frozen=True, slots=True, eq=False)
class Screening(Result):
    """Statistics of many runs of a task.

    Args:
        joints: their names.
        duration: of a run, s.
        reached: for each run, whether the tool followed its rates.
        state: peak, time of the peak, mean and RMS, runs x quantities x joints x 4.

    Example:
        >>> import linkwright as lw
        >>> lift = lw.motion.point_to_point([0.0] * 6, [0.5] * 6, 1.0)
        >>> found = lw.sizing.screen("puma560", lift, payloads=[0.0, 1.0, 2.0], step=0.01)
        >>> found.peak("torque").shape, bool(found.rms("torque")[2, 1] > found.rms("torque")[0, 1])
        ((3, 6), True)
    """

    joints: tuple[str, ...]
    duration: float
    reached: NDArray[np.bool_]
    state: Array = field(repr=False)
    _units = (("duration", "s"),)

    def _of(self, quantity: str, which: int) -> Array:
        if quantity not in QUANTITIES:
            raise unknown("statistic of", quantity, QUANTITIES, code="R215")
        return np.asarray(self.state[:, QUANTITIES.index(quantity), :, which])

    def peak(self, quantity: str) -> Array:
        """Return the value of largest magnitude of each run and joint.

        Args:
            quantity: "speed", "acceleration", "torque", "power", "force" or "moment".
        """
        return self._of(quantity, 0)

    def time(self, quantity: str) -> Array:
        """Return when that was, s.

        Args:
            quantity: as for `peak`.
        """
        return self._of(quantity, 1)

    def mean(self, quantity: str) -> Array:
        """Return the mean over time of each run and joint.

        Args:
            quantity: as for `peak`.
        """
        return self._of(quantity, 2)

    def rms(self, quantity: str) -> Array:
        """Return the root of the mean square over time of each run and joint.

        Args:
            quantity: as for `peak`.
        """
        return self._of(quantity, 3)


@worded
def screen(
    model: Robot | str | os.PathLike[str],
    task: Task | Trajectory | str | os.PathLike[str],
    *,
    payloads: Sequence[Payload | float] | ArrayLike | None = None,
    starts: ArrayLike | None = None,
    step: float = 1e-3,
    damping: float = 0.0,
    threads: int | None = None,
) -> Screening:
    """Return statistics of many runs of a task, reduced while they are computed.

    Args:
        model: a robot, or the file or shipped model of one.
        task: a task, its file, or a trajectory of all joints.
        payloads: what the tool carries all the time in each run: payloads, masses (kg) in the
            tool's origin, or rows of ten inertial parameters.
        starts: coordinates where each run begins, in place of the task's, one row for each.
        step: s, the longest between two samples.
        damping: factor on joint rates in damped least squares, under tool control.
        threads: how many share the work; as many as there are processors by default.

    Example:
        >>> import linkwright as lw
        >>> lift = lw.motion.point_to_point([0.0] * 6, [0.5] * 6, 1.0)
        >>> found = lw.sizing.screen("puma560", lift, payloads=[0.0, 3.0], step=0.01)
        >>> found.joints[0], found.peak("torque").shape
        ('q1', (2, 6))
    """
    model, task = robot_of(model), task_of(task)
    refuse_unsuited(model)
    refuse_unfit(model, task)
    checked(step, "the step in s", above=0, code="R213")
    carried = _payloads(payloads)
    q = start_of(model, task) if starts is None else np.asarray(starts, dtype=float)
    q = np.atleast_2d(q)
    if q.ndim != 2 or q.shape[1] != len(model.coordinates) or not np.isfinite(q).all():
        raise InputError(
            f"starts have the shape {q.shape}",
            remedy=f"give rows of {len(model.coordinates)} finite coordinates",
            code="R217",
        )
    runs = max(len(q), 1 if carried is None else len(carried))
    if len(q) not in (1, runs) or (carried is not None and len(carried) not in (1, runs)):
        raise InputError(
            f"{len(q)} starts and {0 if carried is None else len(carried)} payloads are not one "
            "for each run",
            code="R217",
        )
    q = np.array(np.broadcast_to(q, (runs, q.shape[1])))
    if carried is not None:
        carried = np.array(np.broadcast_to(carried, (runs, 10)))
    shared = threads or os.cpu_count() or 1
    work = _Work(model, task, step, ToolOptions(damping=damping), shared, q, carried)
    return work.run()


def _payloads(given: Sequence[Payload | float] | ArrayLike | None) -> Array | None:
    if given is None:
        return None
    if isinstance(given, np.ndarray) and given.ndim == 2:
        rows = np.asarray(given, dtype=float)
        if rows.shape[1] != 10 or not np.isfinite(rows).all() or np.any(rows[:, 0] < 0):
            raise InputError(
                f"payloads have the shape {rows.shape}, or masses below zero",
                remedy="give rows of ten inertial parameters",
                code="R217",
            )
        return rows
    items = np.atleast_1d(np.asarray(given, dtype=object))
    return np.array(
        [payload_of(p if isinstance(p, Payload) else float(p)).parameters for p in items]
    )


class _Work:
    """The state of many runs while a task is carried out."""

    def __init__(
        self,
        robot: Robot,
        task: Task,
        step: float,
        options: ToolOptions,
        threads: int,
        q: Array,
        payloads: Array | None,
    ) -> None:
        self.robot, self.task, self.step, self.options = robot, task, step, options
        self.threads, self.q, self.payloads = threads, q, payloads
        joints = joints_of(robot)
        self.rows = [robot.links.index(j.link) for j in joints]
        runs, n = q.shape
        self.state = np.zeros((runs, _KEPT * len(QUANTITIES) * n))
        self.last = task.begin
        self.missed = np.zeros((runs, 2))
        self.loads = [
            name
            for name, acts in (
                ("wrench", bool(task.wrench)),
                ("payload", payloads is not None or bool(task.payloads)),
                ("base", bool(task.base)),
            )
            if acts
        ]
        frame = task.frame in robot.frames
        if not frame and {"wrench", "payload"} & set(self.loads):
            known_frame(robot, task.frame)
        if any(p.axes == "tool" for p in task.wrench) or self._vary():
            raise InputError(
                "many runs at once take wrenches and base accelerations that stay the same, "
                "in base or world axes",
                remedy="ask lw.sizing.require for one run",
                code="R217",
            )
        self.frame = task.frame if frame else None

    def _vary(self) -> bool:
        loads = (*self.task.wrench, *self.task.base)
        return any(
            any(c for power in p.channels.values() for c in power[1:]) or p.duration is not None
            or p.start > self.task.begin
            for p in loads
        )  # fmt: skip

    def run(self) -> Screening:
        schedule = self.task.schedule()
        pose: Array | None = None
        for index, (begin, end, part) in enumerate(schedule):
            final = index == len(schedule) - 1
            if is_tool_part(part):
                tool = ToolFrame.of(self.robot, self.task.frame)
                if pose is None:
                    pose = self.robot.pose(self.q, self.task.frame)
                pieces = list(tool_pieces(tool, part, begin, end, pose))
                for k, piece in enumerate(pieces):
                    axes = np.broadcast_to(piece.axes, (len(self.q), 3, 3)).reshape(-1, 9)
                    rates = np.broadcast_to(piece.rates, (len(self.q), 5, 6)).reshape(-1, 30)
                    shared = [
                        np.ascontiguousarray(rates),
                        piece.weights,
                        np.zeros(self.q.shape[1]),
                        np.ascontiguousarray(axes),
                        np.array([self.options.damping, self.options.threshold]),
                    ]
                    more = final and k == len(pieces) - 1
                    pose = self.follow(piece.begin, piece.end, pose, shared, piece.own, more)
                continue
            pose = None
            joint = list(joint_pieces(self.robot, part, begin, end, self.q))
            for k, (t0, t1, c) in enumerate(joint):
                self.joints(t0, t1, c, final and k == len(joint) - 1)
        return self.result()

    def cuts(self, t0: float, t1: float) -> list[tuple[float, float]]:
        """Return a time cut where payloads change."""
        inside = [t for t, _ in self.task.payloads if t0 + 1e-9 < t < t1 - 1e-9]
        ends = [t0, *inside, t1]
        return list(pairwise(ends))

    def loads_at(self, t: float) -> list[Array]:
        """Return the loads from an instant on, in the order of the names."""
        found: list[Array] = []
        for name in self.loads:
            if name == "payload":
                runs = len(self.q)
                rows = np.zeros((runs, 10)) if self.payloads is None else self.payloads.copy()
                now = [p for at, p in self.task.payloads if at <= t + 1e-9]
                found.append(rows + (now[-1].parameters if now else 0.0))
                continue
            profiles = self.task.wrench if name == "wrench" else self.task.base
            names = FORCES if name == "wrench" else TOOL[:3]
            total = np.zeros(len(names))
            for p in profiles:
                row = p.values(names, np.array([max(t, p.start)]))[0]
                if p.axes == "base":
                    turn = base_pose(self.robot)[:3, :3]
                    row = np.concatenate([turn @ row[k : k + 3] for k in range(0, len(row), 3)])
                total = total + row
            found.append(total)
        return found

    def quantity(self, tool: bool) -> Quantity:
        return reduction_quantity(self.robot, self.frame, self.rows, self.loads, tool=tool)

    def counted(self, t0: float, t1: float, final: bool) -> tuple[int, float, int]:
        """Return steps, their length, and samples of a time."""
        count = max(1, math.ceil((t1 - t0) / self.step - 1e-9))
        return count, (t1 - t0) / count, count + int(final)

    def joints(self, t0: float, t1: float, c: Array, final: bool) -> None:
        """Go through a piece of joint control."""
        runs, _, n = c.shape
        quantity = self.quantity(False)
        cuts = self.cuts(t0, t1)
        for k, (begin, end) in enumerate(cuts):
            count, h, samples = self.counted(begin, end, final and k == len(cuts) - 1)
            path = np.ascontiguousarray(c.reshape(runs, 6 * n))
            watch = np.tile([begin, self.last, float(samples), float(count)], (runs, 1))
            clock = np.full((runs, 1), begin - t0)
            state, loads = self.state, self.loads_at(begin)
            for _ in range(0, samples, BLOCK):
                state, watch, clock = quantity.batch(
                    state, watch, path, clock, np.array([h]), *loads, threads=self.threads
                )
            self.state, self.last = state, float(watch[0, 1])
        since = t1 - t0
        self.q = np.einsum("p,rpn->rn", since ** np.arange(6.0), c)

    def follow(
        self, t0: float, t1: float, pose: Array, shared: list[Array], own: bool, final: bool
    ) -> Array:
        """Go through a piece of tool control; return where the tool should be after it."""

        runs, n = self.q.shape
        quantity = self.quantity(True)
        turn = quaternion_of(pose[:, :3, :3])
        place = np.ascontiguousarray(pose[:, :3, 3])
        q, before = self.q, np.zeros((runs, n))
        cuts = self.cuts(t0, t1)
        flags = [float(own), 1.0, 1.0]
        for k, (begin, end) in enumerate(cuts):
            count, h, samples = self.counted(begin, end, final and k == len(cuts) - 1)
            watch = np.tile([begin, self.last, float(samples), float(count)], (runs, 1))
            clock = np.tile([begin - t0, 0.0], (runs, 1))
            state, missed, loads = self.state, self.missed, self.loads_at(begin)
            scheme = np.array([h, *flags])
            for _ in range(0, samples, BLOCK):
                state, watch, q, before, place, turn, clock, missed = quantity.batch(
                    state, watch, q, before, place, turn, clock, *shared, scheme, *loads, missed,
                    threads=self.threads,
                )  # fmt: skip
            self.state, self.missed, self.last = state, missed, float(watch[0, 1])
        self.q = q
        return np.array([pose_of(p, x) for p, x in zip(place, turn, strict=True)])

    def result(self) -> Screening:
        """Return what was found."""
        runs, n = self.q.shape
        kept = self.state.reshape(runs, len(QUANTITIES), n, _KEPT)
        span = self.task.duration
        found = np.empty((runs, len(QUANTITIES), n, 4))
        found[..., :2] = kept[..., :2]
        found[..., 2] = kept[..., 2] / span
        found[..., 3] = np.sqrt(np.maximum(kept[..., 3], 0.0) / span)
        reached = (self.missed[:, 0] < 1e-5) & (self.missed[:, 1] < 1e-3)
        return Screening(self.robot.coordinates, span, reached, found)
