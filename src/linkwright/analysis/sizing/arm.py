"""The joints of a robot with their loads, and what a mass at one joint adds to those inboard.

A drive sits on the link inboard of its joint, as a point mass at the joint's origin. With the
acceleration a of that point, gravity g and the vector r to it from an inboard joint, a kilogram
adds the force a - g and the moment r x (a - g) to what that joint carries, and their component
along the axis to what its drive does. All of it is linear in the mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

from linkwright.analysis.cycle import JointCycle
from linkwright.analysis.sizing.loads import JointLoad
from linkwright.errors import InputError

__all__ = ["Arm", "MassColumn"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class MassColumn:
    """What a kilogram at one joint adds to another: series over the samples of the task."""

    torque: Array
    still: Array
    inertia: Array
    force: Array
    moment: Array


@dataclass(frozen=True, slots=True)
class Arm:
    """Cycles of all joints, tree order, with what is known of the robot.

    Args:
        cycles: of the joints, each joint before those that hang on it.
        inertia: about each joint, by name; nothing where no robot is known.
        still: torque at rest, by name.
        columns: what a kilogram adds, by joint that carries it and joint where it sits.
    """

    cycles: tuple[JointCycle, ...]
    inertia: Mapping[str, Array] = field(default_factory=dict)
    still: Mapping[str, Array] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], MassColumn] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return tuple(c.name for c in self.cycles)

    def cycle(self, name: str) -> JointCycle:
        """Return the cycle of a joint as the task asked, without drives."""
        return self.cycles[self.names.index(name)]

    def load(self, name: str, masses: Mapping[str, float]) -> JointLoad:
        """Return the load of a joint, with masses (kg) at others by their names."""
        cycle = self.cycle(name)
        torque, force, moment = cycle.torque, cycle.force, cycle.moment
        inertia, still = self.inertia.get(name), self.still.get(name)
        for other, mass in masses.items():
            column = self.columns.get((name, other))
            if column is None or mass == 0.0:
                continue
            torque = torque + mass * column.torque
            force = None if force is None else force + mass * column.force
            moment = None if moment is None else moment + mass * column.moment
            inertia = None if inertia is None else inertia + mass * column.inertia
            still = None if still is None else still + mass * column.still
        return JointLoad(replace(cycle, torque=torque, force=force, moment=moment), inertia, still)


def arm_of(need: Any, robot: Any = None) -> Arm:
    """Return the joints of a requirement, or of a sequence of cycles."""
    cycles = need.cycles() if hasattr(need, "cycles") else need
    if not isinstance(cycles, Sequence) or not all(isinstance(c, JointCycle) for c in cycles):
        raise InputError(
            "what is sized is neither a requirement nor a sequence of JointCycle",
            remedy="size(require(robot, task)), or size([JointCycle(...), ...])",
            code="R301",
        )
    names = [c.name for c in cycles]
    if not cycles or len(set(names)) < len(names):
        raise InputError(
            "there is no joint to size a drive for" if not cycles else "a joint stands twice",
            remedy="give one cycle for each joint",
            code="R301",
        )
    return Arm(tuple(cycles))
