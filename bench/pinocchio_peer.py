"""Pinocchio's numbers for the robots of conformance, in our coordinates and speeds.

Pinocchio reads the same file by itself. Joints are matched by name. Where joints follow others its
model has all of them as if they were free, and G with v = G u takes ours to its speeds, so that
forces are Gᵀ tau and mass matrices Gᵀ M G; without such joints G only changes the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from linkwright.robots import Robot

Array: TypeAlias = NDArray[np.float64]

VIEWS = {
    "local-world-aligned": pin.LOCAL_WORLD_ALIGNED,
    "local": pin.LOCAL,
    "world": pin.WORLD,
}


@dataclass(frozen=True, slots=True)
class State:
    """Coordinates, speeds, accelerations and forces in our conventions."""

    q: Array
    u: Array
    a: Array
    tau: Array


class Peer:
    """A robot in Pinocchio.

    Args:
        robot: ours.
        path: of the file.
        base: "fixed" or "free".
    """

    def __init__(self, robot: Robot, path: Path, base: str) -> None:
        self.robot = robot
        if base == "free":
            self.model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        else:
            self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.follows = any(j.follows is not None for j in robot.assembled.joints)
        self.g = self._transmission()

    def _joint(self, name: str, kind: str) -> Any:
        index = 1 if kind == "free" else self.model.getJointId(name)
        if index >= self.model.njoints:
            raise LookupError(f"Pinocchio has no joint {name}")
        return self.model.joints[index]

    def _transmission(self) -> Array:
        g = np.zeros((self.model.nv, len(self.robot.speeds)))
        for joint in self.robot.assembled.joints:
            theirs = self._joint(joint.name, joint.kind)
            if joint.follows is not None:
                leader, factor, _ = joint.follows
                g[theirs.idx_v, self._column_of(leader.name)] = factor
                continue
            first = self._column_of(joint.coordinates[0].name)
            for k in range(theirs.nv):
                g[theirs.idx_v + k, first + k] = 1.0
        return g

    def _column_of(self, coordinate: str) -> int:
        """Return the index of the first speed of the joint with this coordinate."""
        at = 0
        for joint in self.robot.assembled.joints:
            if joint.follows is not None:
                continue
            if joint.coordinates[0].name == coordinate:
                return at
            at += {"free": 6, "ball": 3}.get(joint.kind, len(joint.coordinates))
        raise LookupError(coordinate)

    def coordinates(self, q: Array) -> Array:
        """Return our coordinates as Pinocchio has them."""
        value = dict(zip(self.robot.coordinates, q, strict=True))
        made: Array = np.array(pin.neutral(self.model))
        for joint in self.robot.assembled.joints:
            theirs = self._joint(joint.name, joint.kind)
            at = theirs.idx_q
            if joint.kind == "free":
                x, y, z, e0, e1, e2, e3 = (value[c.name] for c in joint.coordinates)
                made[at : at + 7] = x, y, z, e1, e2, e3, e0
                continue
            if joint.follows is not None:
                leader, factor, offset = joint.follows
                angle = factor * value[leader.name] + offset
            else:
                (coordinate,) = joint.coordinates
                angle = value[coordinate.name]
            if theirs.nq == 2:
                made[at : at + 2] = np.cos(angle), np.sin(angle)
            else:
                made[at] = angle
        return made

    def link_order(self) -> list[int]:
        """Return Pinocchio's joint that moves each of our links."""
        return [
            1 if j.kind == "free" else self.model.getJointId(j.name)
            for j in self.robot.assembled.joints
        ]

    def frame(self, name: str) -> int:
        """Return the number of a link's frame."""
        return int(self.model.getFrameId(name, pin.FrameType.BODY))
