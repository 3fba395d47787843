"""The task trajectory: a recorded motion again, at the rate of the task servo (SL: TRAJ_TASK)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright import motion
from linkwright.base.errors import Error, InputError
from linkwright.lab.builtin.joints import task_period
from linkwright.lab.builtin.preferences import preference_file, recorded
from linkwright.lab.config import LabConfig
from linkwright.lab.files.trajectories import JointTrajectory, read_trajectory
from linkwright.lab.tasks import Task, parameter, setting

Array = NDArray[np.float64]

FEEDFORWARDS = ("file", "online", "none")
"""Where feedforward commands come from: the file, inverse dynamics as it goes, or nowhere."""


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """A motion of all joints, a row for each tick of the task servo."""

    q: Array  # positions, rad
    u: Array  # speeds, rad/s
    a: Array  # accelerations, rad/s^2
    uff: Array  # feedforward, N*m
    rhythmic: bool  # whether it begins again at its end; its last row is its first one


def resampled(trajectory: JointTrajectory, config: LabConfig, period: float) -> JointTable:
    """Return a motion at another rate: cubic splines through its samples, with the same ends.

    Joints that it does not have hold their default posture. Speeds and accelerations that it does
    not have are those of the splines. Where its duration is not a whole number of ticks it is
    stretched or shortened by less than half a tick, and speeds with it.

    Units: `period` in s.

    >>> from linkwright.lab.files.trajectories import JointSamples
    >>> from linkwright.lab.sources import lab_config
    >>> line = JointTrajectory(100.0, {"R_EB": JointSamples(np.linspace(1, 2, 101))})
    >>> table = resampled(line, lab_config("sl-arm"), 1 / 480)
    >>> table.q.shape, table.q[[0, -1], 3].tolist(), round(float(table.u[7, 3]), 6)
    ((481, 10), [1.0, 2.0], 1.0)
    """
    duration = (trajectory.samples - 1) / trajectory.rate
    ticks = max(round(duration / period), 1)
    pace = duration / (ticks * period)
    known = np.arange(trajectory.samples) / trajectory.rate
    times = np.linspace(0.0, duration, ticks + 1)
    start = np.array([joint.default for joint in config.joints])
    q = np.tile(start, (ticks + 1, 1))
    u, a, uff = (np.zeros_like(q) for _ in range(3))
    rhythmic = trajectory.rhythmic
    for name, samples in trajectory.joints.items():
        k = config.names.index(name)
        columns = {"q": samples.q, "u": samples.u, "a": samples.a, "uff": samples.uff}
        splines = {
            key: motion.through(known, column, ends=_ends(column, rhythmic))
            for key, column in columns.items()
            if column is not None
        }
        for key, table in {"q": q, "u": u, "a": a, "uff": uff}.items():
            column = columns[key]
            if column is not None:
                table[:, k] = splines[key](times)[:, 0]
                table[[0, -1], k] = column[[0, -1]]
        if "u" not in splines:
            u[:, k] = splines["q"](times, 1)[:, 0]
        if "a" not in splines:
            given, order = ("u", 1) if "u" in splines else ("q", 2)
            a[:, k] = splines[given](times, order)[:, 0]
    return JointTable(q, u * pace, a * pace**2, uff, rhythmic)


def _ends(column: Array, rhythmic: bool) -> str:
    """Return how a spline ends."""
    if len(column) < 4:
        return "natural"
    return "periodic" if rhythmic and column[0] == column[-1] else "not-a-knot"


class RecordedMotion(Task):
    """Follows the joints of a `.traj` file, a dNNNNN or any other recording.

    It is resampled to the rate of the task servo, with the same ends; joints that it does not have
    hold their default posture. Where the last sample is the first one in every column, the motion
    is repeated until it is frozen.
    """

    name = "trajectory"
    tolerance = parameter(0.0, unit="rad", lower=0, doc="largest error before it aborts; 0: any")
    file = setting("", doc="a recording among the preferences, or a path")
    feedforward = setting("online", doc=f"commands: {', '.join(FEEDFORWARDS)}")

    def init(self, lab: Any) -> None:
        """Read the motion and go where it begins."""
        if not self.file:
            raise InputError("trajectory needs a file", remedy="give file=NAME")
        if self.feedforward not in FEEDFORWARDS:
            raise InputError(
                f"there is no feedforward {self.feedforward!r}",
                remedy=f"choose one of {', '.join(FEEDFORWARDS)}",
            )
        path = preference_file(lab, self.file)
        found = read_trajectory(path, lab.config.names)
        if self.feedforward == "file":
            missing = [name for name, s in found.joints.items() if s.uff is None]
            if missing:
                raise InputError(
                    f"{path.name} has no feedforward commands of {', '.join(missing)}",
                    file=str(path),
                    remedy="choose feedforward=online, or record uff",
                )
        self.period = task_period(lab.config)
        self.joints = lab.config.names
        self.table = resampled(found, lab.config, self.period)
        _require_range(lab.config, self.table, str(path))
        lab.go_to(self.table.q[0], inverse_dynamics=self.feedforward != "none")
        lab.mode("invdyn" if self.feedforward == "online" else "motor")
        recorded(lab)

    def run(self, t: float, state: Any, desired: Any) -> None:
        """Want the row of this tick."""
        table, tick = self.table, round(t / self.period)
        last = len(table.q) - 1
        row = tick % last if table.rhythmic else min(tick, last)
        if self.tolerance > 0:
            self._compare(t, state)
        desired.q = table.q[row]
        if table.rhythmic or tick < last:
            desired.u, desired.a = table.u[row], table.a[row]
        else:
            desired.u, desired.a, desired.done = 0.0, 0.0, 1.0
        desired.uff = table.uff[row] if self.feedforward == "file" else 0.0

    def _compare(self, t: float, state: Any) -> None:
        away = np.abs(state.q - state.desired.q)
        worst = int(away.argmax())
        if away[worst] > self.tolerance:
            raise Error(
                f"{self.joints[worst]} is {away[worst]:.3g} rad off after {t:.3f} s, more than the "
                f"tolerance of {self.tolerance:g}",
                remedy="go slower, give feedforward=online, or a larger tolerance",
            )


def _require_range(config: LabConfig, table: JointTable, file: str) -> None:
    """Reject positions out of the range of a joint."""
    for k, joint in enumerate(config.joints):
        low, high = float(table.q[:, k].min()), float(table.q[:, k].max())
        if low < joint.lower - 1e-9 or high > joint.upper + 1e-9:
            raise InputError(
                f"{joint.name} goes from {low:g} to {high:g} rad, and its range is from "
                f"{joint.lower:g} to {joint.upper:g}",
                file=file,
            )
