"""Tasks in steps as ROBSIM took them (its digest, sections 3.4 and 3.6).

Steps are counted from the start; rates are those at the beginning of each, and joints go on by
Euler's rule without any feedback of position. The loop ends once what is left of the time is at
most half a step. Dynamics use means over a step: of coordinates and speeds, and the difference of
speeds for accelerations. They start from the second instant; the first holds initial conditions
alone. Means are taken of angles as they go on, which is right across a full turn too; only
listings reduce angles to one turn.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.motion.tasks import Task
from linkwright.sizing.requirements.sampled import (
    SampledMotion,
    joint_pieces,
    refuse_unfit,
    refuse_unsuited,
    start_of,
)
from linkwright.sizing.requirements.tool_motion import (
    ToolFrame,
    ToolOptions,
    is_tool_part,
    tool_pieces,
    tool_steps,
)

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]
_SAME = 1e-9


def step_count(span: float, step: float) -> int:
    """Return how many steps are made until at most half a step is left.

    >>> step_count(1.0, 0.3), step_count(1.0, 0.4), step_count(1.0, 0.25)
    (3, 2, 4)
    """
    return max(0, math.ceil(span / step - 0.5 - _SAME))


def robsim_motion(robot: Robot, task: Task, step: float) -> SampledMotion:
    """Return the instants of a task in ROBSIM's steps; accelerations are those of the rates.

    Units: `step` in s.
    """
    refuse_unsuited(robot)
    refuse_unfit(robot, task)
    checked(step, "the step in s", above=0, code="R213")
    count = step_count(task.duration, step)
    if count < 1:
        raise InputError(
            f"a step of {step:g} s is too long for a task of {task.duration:g} s", code="R213"
        )
    times: Array = task.begin + step * np.arange(float(count + 1))
    n = len(robot.coordinates)
    found = {
        name: np.full((count + 1, width), np.nan)
        for name, width in (
            ("q", n), ("u", n), ("a", n), ("ideal", 3), ("error", 6), ("residual", 6)
        )
    }  # fmt: skip
    q = start_of(robot, task)
    pose: Array | None = None
    euler = ToolOptions(correct=False, exact=False, refuse=False)
    schedule = task.schedule()
    for index, (begin, end, part) in enumerate(schedule):
        last = index == len(schedule) - 1
        if is_tool_part(part):
            frame = ToolFrame.of(robot, task.frame)
            pose = robot.pose(q, task.frame) if pose is None else pose
            pieces = list(tool_pieces(frame, part, begin, end, pose))
            for k, piece in enumerate(pieces):
                here = _inside(times, piece.begin, piece.end, last and k == len(pieces) - 1)
                if not len(here):
                    continue
                late = float(times[here[0]] - piece.begin)
                made = tool_steps(frame, piece, q, pose, late, step, len(here), euler)
                for name in found:
                    found[name][here] = getattr(made, name)[:-1]
                q, pose = made.q[-1], made.pose
            continue
        pose = None
        for t0, t1, c in list(joint_pieces(robot, part, begin, end, q)):
            here = _inside(times, t0, t1, last and abs(t1 - end) < _SAME)
            rates = c[1:] * np.arange(1.0, len(c))[:, None]
            since = times[here] - t0
            u = np.polynomial.polynomial.polyval(since, rates).T.reshape(len(here), n)
            slopes = rates[1:] * np.arange(1.0, len(rates))[:, None]
            found["u"][here] = u
            found["a"][here] = np.polynomial.polynomial.polyval(since, slopes).T
            steps = np.concatenate([np.zeros((1, n)), np.cumsum(step * u, axis=0)])
            found["q"][here] = q + steps[:-1]
            q = q + steps[-1]
    return SampledMotion(times, **found, jerk=np.zeros((count + 1, n)))


def _inside(times: Array, begin: float, end: float, last: bool) -> NDArray[np.int_]:
    """Return the instants of a piece; those after the last one belong to it."""
    first = int(np.searchsorted(times, begin - _SAME))
    after = len(times) if last else int(np.searchsorted(times, end - _SAME))
    return np.arange(first, after)


def step_means(moved: SampledMotion) -> SampledMotion:
    """Return the means over the steps that end at each instant but the first.

    >>> two = np.array([[358.0], [362.0]])
    >>> none = np.full((2, 6), np.nan)
    >>> t = np.array([0.0, 0.5])
    >>> made = step_means(SampledMotion(t, two, two, two, two, none[:, :3], none, none))
    >>> made.q.tolist(), made.a.tolist()
    ([[360.0]], [[8.0]])
    """
    h = np.diff(moved.times)[:, None]
    return replace(
        moved,
        times=moved.times[1:],
        q=(moved.q[1:] + moved.q[:-1]) / 2,
        u=(moved.u[1:] + moved.u[:-1]) / 2,
        a=np.diff(moved.u, axis=0) / h,
        jerk=moved.jerk[1:],
        ideal=moved.ideal[1:],
        error=moved.error[1:],
        residual=moved.residual[1:],
    )
