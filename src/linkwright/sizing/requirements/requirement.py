"""What a task requires of a robot: a recording with statistics, limits and cycles of joints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.equations.joint_stops import passive_words
from linkwright.motion.payloads import Payload
from linkwright.motion.tasks import Task
from linkwright.recording.holder import Recorded
from linkwright.recording.recording import Recording
from linkwright.sizing.cycle import JointCycle, joint_axes
from linkwright.sizing.requirements.limits import Excess, excesses
from linkwright.sizing.requirements.rainflow import LoadCycle, rainflow
from linkwright.sizing.requirements.statistics import Statistic, statistic

if TYPE_CHECKING:
    from linkwright.parallel.error_budgets import ErrorBudget
    from linkwright.robots import Robot
    from linkwright.sizing.choice import Sizing
    from linkwright.sizing.requirements.sensitivity import Sensitivity
    from linkwright.sizing.requirements.worst import Worst

Array = NDArray[np.float64]


class RequirementError(Error):
    """A task that a robot cannot do within its limits, or a question that has no answer."""


@dataclass(frozen=True, slots=True)
class JointInfo:
    """What is known of a joint: its name, kind, link, and the axis along the link's axes."""

    name: str
    kind: str
    link: str
    axis: tuple[float, float, float]

    @property
    def units(self) -> dict[str, str]:
        """The unit of each quantity."""
        x, force = ("rad", "N*m") if self.kind == "revolute" else ("m", "N")
        return {
            "position": x,
            "speed": f"{x}/s",
            "acceleration": f"{x}/s^2",
            "jerk": f"{x}/s^3",
            "torque": force,
            "power": "W",
            "energy": "J",
            "force": "N",
            "moment": "N*m",
        }


@dataclass(frozen=True, eq=False, repr=False)
class Requirement(Recorded):
    """What a task requires of a robot.

    Channels of the recording are, for each joint `j`: its position `j` and speed (with the robot's
    names), `j.acceleration`, `j.jerk`, and unless dynamics were left out `j.torque`, `j.power`,
    `j.energy` (work since the beginning) and the force and moment that the joint puts on its link,
    about the link's origin along its axes: `j.fx` to `j.mz`.

    Args:
        recording: the channels over time.
        robot: that carries out the task.
        task: that was asked for.
        joints: what is known of each joint.
        limits: of each joint.
        payload: of the tool over the whole task, beside the task's own.
        scheme: "exact", or "robsim": there torques at an instant are those of the means over the
            step that ends at it, and the first instant has none.

    Example:
        >>> import linkwright as lw
        >>> lift = lw.motion.point_to_point([0.0] * 6, [0.3] * 6, 1.0)
        >>> need = lw.sizing.require("puma560", lift, step=0.01)
        >>> len(need.cycles()), need.excesses
        (6, ())
    """

    recording: Recording
    robot: Robot
    task: Task
    joints: tuple[JointInfo, ...]
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    payload: Payload | None = None
    scheme: str = "exact"

    @property
    def times(self) -> Array:
        """Of the samples, s."""
        return self.recording.times

    @property
    def dynamics(self) -> bool:
        """Whether forces and torques were computed."""
        return f"{self.joints[0].name}.torque" in self.recording

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the robot's file is counted in the torques."""
        words = passive_words(self.robot.mechanism) if self.dynamics else ""
        return (words,) if words else ()

    def __getitem__(self, name: str) -> Array:
        """Return a channel over time."""
        return self.recording[name]

    def __repr__(self) -> str:
        words = f"{len(self.joints)} joints, {self.task.duration:g} s"
        verdict = "within limits" if not self.excesses else f"{len(self.excesses)} limits exceeded"
        return f"Requirement({self.task.name!r}: {words}, {verdict})"

    def values(self, joint: str, quantity: str) -> Array:
        """Return samples of a quantity of a joint; of force and moment their magnitudes.

        Args:
            joint: its name.
            quantity: "position", "speed", "acceleration", "jerk", "torque", "power", "energy",
                "force" or "moment".
        """
        k = self._place(joint)
        if quantity in ("force", "moment"):
            letter = quantity[0]
            columns = [self.recording[f"{joint}.{letter}{x}"] for x in "xyz"]
            return np.asarray(np.linalg.norm(columns, axis=0))
        if quantity == "position":
            return self.recording[joint]
        if quantity == "speed":
            return self.recording[self.robot.speeds[k]]
        return self.recording[f"{joint}.{quantity}"]

    def _place(self, joint: str) -> int:
        names = [j.name for j in self.joints]
        if joint not in names:
            from linkwright.sizing.requirements.limits import unknown_joint

            raise unknown_joint(joint, tuple(names))
        return names.index(joint)

    # -- statistics --------------------------------------------------------------------------------
    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Peak, RMS and so on of each quantity of each joint."""
        names = ["speed", "acceleration"]
        if self.dynamics:
            names += ["torque", "power", "force", "moment"]
        skip = self._first
        return tuple(
            statistic(j.name, q, j.units[q], self.times[skip:], self.values(j.name, q)[skip:])
            for j in self.joints
            for q in names
        )

    @property
    def _first(self) -> int:
        """The first sample that has torques."""
        return int(self.scheme == "robsim" and self.dynamics)

    def statistic(self, joint: str, quantity: str) -> Statistic:
        """Return peak, RMS and so on of one quantity of a joint.

        Args:
            joint: its name.
            quantity: one of those of `statistics`.
        """
        self._place(joint)
        for found in self.statistics:
            if (found.joint, found.quantity) == (joint, quantity):
                return found
        known = sorted({s.quantity for s in self.statistics})
        raise RequirementError(
            f"there is no statistic of {quantity!r}",
            remedy=f"ask for {', '.join(known)}",
            code="R215",
        )

    def rainflow(self, joint: str, quantity: str = "torque") -> tuple[LoadCycle, ...]:
        """Return the cycles of load of a joint by rainflow counting (ASTM E1049).

        Args:
            joint: its name.
            quantity: whose cycles are counted.
        """
        return rainflow(self.values(joint, quantity)[self._first :])

    # -- limits ------------------------------------------------------------------------------------
    @cached_property
    def excesses(self) -> tuple[Excess, ...]:
        """The limits that are exceeded, by joint."""
        found: list[Excess] = []
        quantities = ["position", "speed", "acceleration", "jerk"]
        if self.dynamics:
            quantities += ["torque", "power"]
        for joint in self.joints:
            values = {
                q: (self.values(joint.name, q)[self._first :], joint.units[q]) for q in quantities
            }
            times = self.times[self._first :]
            found += excesses(joint.name, self.limits[joint.name], times, values)
        return tuple(found)

    def checked(self) -> Requirement:
        """Return this where all limits are kept; otherwise raise an error that names them."""
        if self.excesses:
            first, *more = self.excesses
            rest = f", and {len(more)} more" if more else ""
            raise RequirementError(
                f"the task leaves the limits: {first}{rest}",
                remedy="make it slower or lighter, or see Requirement.excesses",
                code="R206",
            )
        return self

    # -- worst cases -------------------------------------------------------------------------------
    def dynamic_states(self) -> tuple[Array, Array, Array, Array]:
        """Return coordinates, speeds, accelerations and times with which dynamics were computed."""
        names = [j.name for j in self.joints]
        q = np.array([self.recording[n] for n in self.robot.coordinates]).T
        u = np.array([self.recording[n] for n in self.robot.speeds]).T
        a = np.array([self.recording[f"{n}.acceleration"] for n in names]).T
        if self.scheme == "robsim":
            q, u, a = (q[1:] + q[:-1]) / 2, (u[1:] + u[:-1]) / 2, a[1:]
        return q, u, a, self.times[len(self.times) - len(q) :]

    def worst(self, *, payload: Payload) -> Worst:
        """Return the worst cases over all payloads of up to a mass inside a box.

        Torques, powers and components of forces are proven: exact at the samples. RMS torques and
        magnitudes are found by a search. The payload of this requirement does not count.

        Args:
            payload: `Payload(up_to=..., box=...)`, in the axes of the task's frame.
        """
        from linkwright.sizing.requirements.worst import worst_payload

        return worst_payload(self, payload)

    def sensitivity(self) -> Sensitivity:
        """Return how statistics change with the parameters of the robot, exactly.

        The robot has parameters where it was loaded with `symbolic=True`, or made from a mechanism.
        """
        from linkwright.sizing.requirements.sensitivity import sensitivity_of

        return sensitivity_of(self)

    # -- listings ----------------------------------------------------------------------------------
    def list_motion(self, path: str | os.PathLike[str], every: float | None = None) -> None:
        """Write the listing of the motion: tool and joints at instants, in inches and meters.

        Args:
            path: of the file.
            every: s, between instants; all samples by default.
        """
        from linkwright.sizing.requirements.listing import motion_listing, write_listing

        write_listing(motion_listing(self, every), path)

    def list_dynamics(self, path: str | os.PathLike[str], every: float | None = None) -> None:
        """Write the listing of the dynamics: reactions in joint and base axes, inches and meters.

        Args:
            path: of the file.
            every: s, between instants; all samples by default.
        """
        from linkwright.sizing.requirements.listing import dynamics_listing, write_listing

        write_listing(dynamics_listing(self, every), path)

    def history(self, every: float | None = None) -> Recording:
        """Return the history of the joints, to save and to replay; its header has the extrema.

        Args:
            every: s, between instants; all samples by default.
        """
        from linkwright.sizing.requirements.listing import history

        return history(self, every)

    # -- for others --------------------------------------------------------------------------------
    def cycles(self) -> tuple[JointCycle, ...]:
        """Return what each joint does, for sizing; force and moment with z along its axis."""
        return tuple(self._cycle(joint) for joint in self.joints)

    def _cycle(self, joint: JointInfo) -> JointCycle:
        name = joint.name
        if not self.dynamics:
            raise RequirementError(
                "there are no torques: dynamics were left out",
                remedy="ask for the requirement with dynamics",
                code="R215",
            )
        turn = joint_axes(joint.axis)
        k = self._first
        wrench = np.array([self.recording[f"{name}.{c}"][k:] for c in WRENCH]).T
        return JointCycle(
            name,
            joint.kind,
            self.times[k:],
            self.values(name, "position")[k:],
            self.values(name, "speed")[k:],
            self.values(name, "acceleration")[k:],
            self.values(name, "torque")[k:],
            wrench[:, :3] @ turn,
            wrench[:, 3:] @ turn,
        )

    def report(
        self,
        path: str | os.PathLike[str],
        found: Sizing | None = None,
        run: Any = None,
        *,
        worst: Worst | None = None,
        budget: ErrorBudget | None = None,
        title: str = "",
        motion: bool = True,
    ) -> int:
        """Write a report in one file of HTML, and return its size in bytes.

        Args:
            path: of the file, .html.
            found: the drives that were chosen.
            run: of the robot with its drives.
            worst: payloads that `worst` found.
            budget: of errors at the tool.
            title: over the page; by default the task and the robot.
            motion: whether the page shows the robot as it moves.
        """
        from linkwright.sizing.report import write_report

        return write_report(
            path, self, found, run, worst=worst, budget=budget, title=title, motion=motion
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each joint: peaks, their times and RMS, as plain data."""
        rows = []
        for joint in self.joints:
            row: dict[str, Any] = {"joint": joint.name, "kind": joint.kind}
            q = self.values(joint.name, "position")
            row["position"] = {
                "least": float(q.min()),
                "most": float(q.max()),
                "unit": joint.units["position"],
            }
            for s in self.statistics:
                if s.joint == joint.name:
                    row[s.quantity] = {
                        "peak": s.peak,
                        "time_s": s.time,
                        "rms": s.rms,
                        "mean": s.mean,
                        "duty": s.duty,
                        "percentiles": {f"{p:g}": v for p, v in s.percentiles.items()},
                        "unit": s.unit,
                    }
            if self.dynamics:
                row["energy"] = {
                    "value": float(self.recording[f"{joint.name}.energy"][-1]),
                    "unit": "J",
                }
            row["excesses"] = [
                {
                    "quantity": e.quantity,
                    "time_s": e.time,
                    "first": e.first,
                    "value": e.value,
                    "limit": e.limit,
                    "excess": e.excess,
                    "unit": e.unit,
                }
                for e in self.excesses
                if e.joint == joint.name
            ]
            rows.append(row)
        return rows


WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
"""The ends of the names of channels of force and moment."""
