"""The error budget of the tool: what encoders, gears and control leave uncertain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from linkwright.base.errors import InputError, unknown
from linkwright.parallel.error_budgets import ErrorBudget, ErrorSource

if TYPE_CHECKING:
    from linkwright.sizing.choice import Sizing

__all__ = ["OUTPUTS", "tool_budget"]

OUTPUTS = ("x", "y", "z", "rx", "ry", "rz")
"""Position, m, and small rotation, rad, of the tool along the world's axes."""


def tool_budget(
    found: Sizing, frame: str, time: float, counts: float, control: float
) -> ErrorBudget:
    """Return the budget at one instant of the task."""
    arm = found.arm
    if arm.robot is None:
        raise InputError(
            "without a robot there is no tool: the drives were sized from cycles alone",
            remedy="size a requirement, or give robot=",
            code="R307",
        )
    if arm.robot.loops:
        raise InputError(
            "there is no budget of the drives of a machine with loops",
            remedy="ask linkwright.mounts.pointing_budget, or linkwright.parallel.pose_budget",
            code="R307",
        )
    if frame not in arm.robot.frames:
        raise unknown(
            "frame",
            frame,
            arm.robot.frames,
            "Robot.frames lists them",
            owner="the robot",
            code="R305",
        )
    times = arm.cycles[0].times
    if not times[0] <= time <= times[-1]:
        raise InputError(
            f"the task lasts from {times[0]:g} to {times[-1]:g} s, and {time:g} s is not in it",
            remedy="give an instant of the task",
            code="R308",
        )
    k = int(np.argmin(np.abs(times - time)))
    q = np.array([c.position[k] for c in arm.cycles])
    jacobian = arm.robot.jacobian(q, frame)
    sources = []
    for n, (joint, choice) in enumerate(found.chosen.items()):
        gear, column = found.catalog.gear[choice.gear], jacobian[:, n]
        torque = abs(float(found.options[joint].load.cycle.torque[k]))
        step = math.pi / (counts * gear.reduction)  # half a step, either way
        sources += [
            ErrorSource(f"{joint} encoder", step, column),
            ErrorSource(f"{joint} control", control, column, "normal"),
        ]
        if gear.backlash:
            sources.append(ErrorSource(f"{joint} backlash", gear.backlash / 2.0, column))
        if gear.kinematic_error:
            name = f"{joint} kinematic error"
            sources.append(ErrorSource(name, gear.kinematic_error, column, "sine", repeats=True))
        if gear.stiffness is not None and torque:
            what = "cable stretch" if gear.kind == "cable" else "wind-up"
            twist = torque / gear.stiffness
            sources.append(ErrorSource(f"{joint} {what}", twist, column, repeats=True))
    return ErrorBudget(tuple(sources), OUTPUTS)
