"""How statistics of a requirement change with the parameters of the robot, exactly.

Torques and reactions are differentiated as Programs. A peak or a percentile is the value at one
sample, so its slope is the slope there; means and RMS values are integrals of values that change
linearly between samples, and so are their slopes. Speeds and accelerations are given by the task
and depend on no parameter; the share of time above 1 % of the peak has no slope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, suggestion
from linkwright.sizing.requirements.statistics import PERCENTILES, percentile_samples

if TYPE_CHECKING:
    from linkwright.sizing.requirements.requirement import Requirement

Array = NDArray[np.float64]
STATISTICS = ("peak", "rms", "mean", *(f"p{p:g}" for p in PERCENTILES))


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """Slopes of statistics by parameters.

    Args:
        parameters: their names.
        slopes: by joint, quantity and statistic, one for each parameter.

    Example:
        >>> found = Sensitivity(("m",), {("j1", "torque", "peak"): np.array([2.5])})
        >>> found.of("j1", "torque", "peak")
        {'m': 2.5}
    """

    parameters: tuple[str, ...]
    slopes: Mapping[tuple[str, str, str], Array] = field(repr=False)

    def of(self, joint: str, quantity: str, statistic: str = "peak") -> dict[str, float]:
        """Return the slopes of one statistic by each parameter.

        Args:
            joint: its name.
            quantity: "torque", "power", "force" or "moment".
            statistic: "peak", "rms", "mean", "p50", "p95" or "p99".
        """
        found = self.slopes.get((joint, quantity, statistic))
        if found is None:
            raise InputError(
                f"there is no slope of {statistic} of {quantity} of {joint!r}",
                remedy=suggestion(statistic, STATISTICS, f"use {', '.join(STATISTICS)}"),
                code="R215",
            )
        return dict(zip(self.parameters, map(float, found), strict=True))


def sensitivity_of(need: Requirement) -> Sensitivity:
    """Return the slopes of the statistics of a requirement."""
    from linkwright.sizing.requirements.require import loads_of

    robot, task = need.robot, need.task
    q, u, a, times = need.dynamic_states()
    loads = loads_of(robot, task, times, q, need.payload)
    under = robot.joint_loads.under(task.frame if loads else None, *loads)
    if not under.parameters:
        raise InputError(
            "the robot has no parameters that its torques depend on",
            remedy="load it with symbolic=True",
            code="R218",
        )
    if "tool.error" in need.recording and robot.pose[task.frame].parameters:
        raise InputError(
            "places of the tool depend on parameters, so its motion under tool control does too",
            remedy="ask for sensitivities of a task under joint control",
            code="R218",
        )
    ordered = [loads[name] for name in ("wrench", "payload", "base") if name in loads]
    slopes = under.derivative("p")(q, u, a, *ordered)
    tau_slopes, wrench_slopes = map(np.asarray, slopes)
    found: dict[tuple[str, str, str], Array] = {}
    first = len(need.times) - len(times)
    for k, joint in enumerate(need.joints):
        row = robot.links.index(joint.link)
        wrench = np.array(
            [need[f"{joint.name}.{x}{y}"][first:] for x in "fm" for y in "xyz"]
        ).T.reshape(-1, 2, 3)
        by = wrench_slopes[:, row].reshape(len(times), 2, 3, -1)
        sizes = np.linalg.norm(wrench, axis=2)
        along = np.einsum("tsi,tsip->tsp", wrench, by) / np.maximum(sizes, 1e-300)[..., None]
        values = {
            "torque": (need[f"{joint.name}.torque"][first:], tau_slopes[:, k]),
            "power": (need[f"{joint.name}.power"][first:], tau_slopes[:, k] * u[:, k, None]),
            "force": (sizes[:, 0], along[:, 0]),
            "moment": (sizes[:, 1], along[:, 1]),
        }
        for quantity, (x, slope) in values.items():
            for statistic, value in _slopes(times, x, slope).items():
                found[joint.name, quantity, statistic] = value
    return Sensitivity(under.parameters, found)


def _slopes(times: Array, x: Array, slope: Array) -> dict[str, Array]:
    """Return the slopes of the statistics of samples."""
    h, span = np.diff(times), float(times[-1] - times[0])
    a, b, da, db = x[:-1], x[1:], slope[:-1], slope[1:]
    rms = np.sqrt(max(float(h @ (a * a + a * b + b * b)) / (3 * span), 1e-300))
    each = (2 * a + b)[:, None] * da + (a + 2 * b)[:, None] * db
    found = {
        "peak": slope[int(np.argmax(np.abs(x)))],
        "rms": h @ each / (6 * span * rms),
        "mean": h @ (da + db) / (2 * span),
    }
    for p, k in percentile_samples(times, x).items():
        found[f"p{p:g}"] = np.sign(x[k]) * slope[k]
    return found
