"""The worst pose: where a task that may begin anywhere asks most of a joint.

The task moves joints from wherever they are (rates, relative moves, dwells), so that the motion is
the same from every start and the coordinates are shifted by it. Half of the evaluations screen
random starts within the limits, in batches; from the best of them L-BFGS-B climbs with exact
gradients of a smooth maximum over time (the logarithm of a sum of exponentials). What comes out is
found, not proven.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.motion.payloads import Payload, payload_of
from linkwright.motion.task_parts import Follow, Move, TaskSegment
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import Trajectory
from linkwright.sizing.requirements.limits import unknown_joint
from linkwright.sizing.requirements.require import joints_of, loads_of, robot_of, task_of
from linkwright.sizing.requirements.sampled import sampled
from linkwright.sizing.requirements.tool_motion import ToolOptions, is_tool_part

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]
_ROWS = 65_536  # samples of one batch
_CLIMBS = 24  # starts from which the search climbs at most
_APART = 0.1  # of the range of a joint, between two such starts
_LEAST = 80  # evaluations that a climb is worth
_SPARE = 15  # calls by which L-BFGS-B may exceed what it was given, in its line searches
_SHARP = (60.0, 6000.0)  # of the smooth maximum, over the size of the values: far, then near
QUANTITIES = ("torque", "power")


@dataclass(frozen=True, slots=True, eq=False)
class WorstPose(Result):
    """Where a task asks most of a joint.

    Args:
        joint: its name.
        quantity: "torque" or "power".
        value: the peak, with its sign.
        unit: of it.
        time: of the peak, s.
        start: coordinates where the task begins, by name, rad or m.
        evaluations: runs of the task that the search took, gradients counted as such.
        proof: "found".

    Example:
        >>> WorstPose("j1", "torque", -5.0, "N*m", 0.2, {"j1": 0.4}, 100).proof
        'found'
    """

    joint: str
    quantity: str
    value: float
    unit: str
    time: float
    start: dict[str, float]
    evaluations: int
    proof: str = "found"
    _units = (("time", "s"),)


@worded
def worst_pose(
    model: Robot | str | os.PathLike[str],
    task: Task | Trajectory | str | os.PathLike[str],
    joint: str,
    *,
    quantity: str = "torque",
    payload: Payload | float | None = None,
    evaluations: int = 10_000,
    step: float = 0.01,
    seed: int = 0,
) -> WorstPose:
    """Return the start from which a task asks most of a joint, as far as it is found.

    Args:
        model: a robot, or the file or shipped model of one.
        task: under joint control, of rates, relative moves and dwells, or its file.
        joint: whose peak is sought.
        quantity: "torque" or "power".
        payload: what the tool carries all the time; a number is a point mass, kg.
        evaluations: runs of the task that may be computed.
        step: s, the longest between two samples.
        seed: of the random starts.

    Example:
        >>> import linkwright as lw
        >>> hold = lw.Task([lw.motion.Dwell(0.1)])
        >>> found = lw.sizing.worst_pose("puma560", hold, "q2", evaluations=400, step=0.1)
        >>> abs(found.value) > 45, found.proof
        (True, 'found')
    """
    model, task = robot_of(model), task_of(task)
    if quantity not in QUANTITIES or evaluations < 100:
        raise InputError(
            f"a worst pose of {quantity!r} with {evaluations} evaluations",
            remedy="ask for torque or power, with 100 evaluations or more",
            code="R703",
        )
    if joint not in model.coordinates:
        raise unknown_joint(joint, model.coordinates)
    for part in task.parts:
        fixed = isinstance(part, Follow) or (isinstance(part, Move) and not part.relative)
        placed = isinstance(part, TaskSegment) and part.profile == "position"
        if fixed or placed or is_tool_part(part):
            raise InputError(
                f"a {type(part).__name__} cannot begin anywhere",
                remedy="use rates, relative moves and dwells of joints",
                code="R703",
            )
    carried = None if payload is None else payload_of(payload)
    search = _Search(model, task, joint, quantity, carried, step)
    return search.best(evaluations, np.random.default_rng(seed))


class _Search:
    """A task from many starts."""

    def __init__(
        self,
        robot: Robot,
        task: Task,
        joint: str,
        quantity: str,
        payload: Payload | None,
        step: float,
    ) -> None:
        self.robot, self.joint, self.quantity = robot, joint, quantity
        free = Task(
            task.parts, None, task.frame, task.begin, task.stop, task.payloads,
            mentions=task.mentions,
        )  # fmt: skip
        moved = sampled(robot, free, step, ToolOptions())
        self.k = robot.coordinates.index(joint)
        self.shift, self.u, self.a, self.times = moved.q, moved.u, moved.a, moved.times
        loads = loads_of(robot, task, moved.times, moved.q, payload)
        if any(p.axes == "tool" for p in task.wrench):
            raise InputError(
                "a wrench along the tool's axes differs from pose to pose",
                remedy="give it in base or world axes",
                code="R703",
            )
        dynamics = robot.inverse_dynamics
        self.torques = dynamics.under(task.frame, *loads) if loads else dynamics
        self.loads = [loads[name] for name in ("wrench", "payload", "base") if name in loads]
        info = joints_of(robot)
        self.unit = info[self.k].units[quantity]
        turns = np.array([j.kind == "revolute" for j in info])
        reach = np.where(turns, np.pi, 1.0)
        lower, upper = robot.limits.T
        self.lower = np.where(np.isinf(lower), -reach, lower - self.shift.min(axis=0))
        self.upper = np.where(np.isinf(upper), reach, upper - self.shift.max(axis=0))
        if np.any(self.lower > self.upper):
            raise InputError(
                "the task moves further than the limits of the joints are apart", code="R703"
            )

    def values(self, starts: Array) -> Array:
        """Return the quantity over time from each start, starts x samples."""
        found = np.empty((len(starts), len(self.times)))
        rows = max(1, _ROWS // len(self.times))
        for first in range(0, len(starts), rows):
            q = starts[first : first + rows, None, :] + self.shift
            tau = self.torques(q, self.u, self.a, *self.loads)
            found[first : first + rows] = tau[..., self.k]
        return found * self.u[:, self.k] if self.quantity == "power" else found

    def slopes(self, start: Array) -> Array:
        """Return the derivatives of the quantity over time by the start, samples x joints."""
        by = self.torques.derivative("q")(start + self.shift, self.u, self.a, *self.loads)
        found = np.asarray(by[:, self.k])
        return found * self.u[:, self.k, None] if self.quantity == "power" else found

    def apart(self, starts: Array, order: NDArray[np.int_], count: int) -> list[int]:
        """Return the first starts of an order that are not all on one hill."""
        span = np.maximum(self.upper - self.lower, 1e-12)
        chosen: list[int] = []
        for k in order[: 50 * count]:
            ways = [np.abs(starts[k] - starts[j]) / span for j in chosen]
            if all(float(way.max()) > _APART for way in ways):
                chosen.append(int(k))
            if len(chosen) == count:
                break
        return chosen

    def best(self, evaluations: int, rng: np.random.Generator) -> WorstPose:
        """Return the worst start that is found."""
        from scipy.optimize import minimize

        many = evaluations // 2
        starts = rng.uniform(self.lower, self.upper, (many, len(self.lower)))
        peaks = np.abs(self.values(starts)).max(axis=1)
        climbs = min(_CLIMBS, max(1, (evaluations - many) // _LEAST))
        order = self.apart(starts, np.argsort(-peaks), climbs)
        used, top, at = many, float(peaks[order[0]]), starts[order[0]]
        each = max(4, (evaluations - many) // (2 * climbs) - _SPARE)
        least = np.where(np.isinf(self.robot.limits[:, 0]), -np.inf, self.lower)
        most = np.where(np.isinf(self.robot.limits[:, 1]), np.inf, self.upper)
        box = list(zip(least, most, strict=True))  # a joint without limits may go on turning
        for turn, k in enumerate(order):
            here = self.values(starts[k][None])[0]
            used += 1
            sign = float(np.sign(here[np.argmax(np.abs(here))])) or 1.0
            scale = max(float(peaks[k]), 1e-12)
            calls = 0
            place = starts[k]
            for sharp in _SHARP[turn % 2 :]:  # every other climb goes straight to the peak

                def downhill(
                    x: Array, sign: float = sign, scale: float = scale, sharp: float = sharp
                ) -> tuple[float, Array]:
                    nonlocal calls
                    calls += 1
                    y = sign * self.values(x[None])[0] / scale
                    weights = np.exp(sharp * (y - y.max()))
                    smooth = float(y.max() + np.log(weights.sum()) / sharp)
                    slope = sign * (weights / weights.sum()) @ self.slopes(x) / scale
                    return -smooth, -slope

                found = minimize(
                    downhill,
                    place,
                    jac=True,
                    bounds=box,
                    method="L-BFGS-B",
                    options={"maxfun": each // 2, "ftol": 1e-13, "gtol": 1e-9},
                )
                place = np.clip(found.x, least, most)
            used += 2 * calls
            peak = float(np.abs(self.values(place[None])).max())
            used += 1
            if peak > top:
                top, at = peak, place
            if used + 2 * (each + _SPARE) > evaluations:
                break
        over = self.values(at[None])[0]
        k = int(np.argmax(np.abs(over)))
        named = dict(zip(self.robot.coordinates, map(float, at), strict=True))
        return WorstPose(
            self.joint, self.quantity, float(over[k]), self.unit, float(self.times[k]), named, used
        )
