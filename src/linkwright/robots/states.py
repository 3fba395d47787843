"""What a robot says of itself: names, limits, and configurations within them.

It is plain data, which the disk cache keeps, so that asking for it derives nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError

if TYPE_CHECKING:
    from linkwright.equations.tree import Tree
    from linkwright.formats.robot.to_mechanism import Assembled

Array: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a robot says of itself."""

    coordinates: tuple[str, ...]  # their names
    speeds: tuple[str, ...]  # their names
    frames: tuple[str, ...]  # names of links and other frames
    links: tuple[str, ...]  # names of the links that joints move, in the order of the tree
    lower: Numbers  # least values of coordinates
    upper: Numbers  # greatest values of coordinates
    fastest: Numbers  # greatest magnitudes of speeds
    strongest: Numbers  # greatest magnitudes of forces in joints
    reaches: Numbers  # magnitudes of random coordinates without limits
    quaternions: tuple[int, ...]  # where among the coordinates they begin
    start: Numbers  # coordinates at which runs start

    def random(self, count: int, generator: np.random.Generator) -> Array:
        """Return configurations within the limits, orientations as likely as each other."""
        reach = np.array(self.reaches)
        lower = np.where(np.isinf(self.lower), -reach, self.lower)
        upper = np.where(np.isinf(self.upper), reach, self.upper)
        for name, low, high in zip(self.coordinates, self.lower, self.upper, strict=True):
            if low > high:
                raise InputError(
                    f"the limits of {name!r} and of the joints that follow it leave it no value: "
                    f"{low:g} to {high:g}",
                    remedy="correct them in the file",
                )
        found = generator.uniform(lower, np.maximum(lower, upper), (count, len(lower)))
        for start in self.quaternions:
            e = generator.normal(size=(count, 4))
            found[:, start : start + 4] = e / np.linalg.norm(e, axis=1, keepdims=True)
        return found


def facts_of(assembled: Assembled, tree: Tree) -> Facts:
    """Return what a robot says of itself."""
    from linkwright.equations.closure import AssemblyError, assemble
    from linkwright.mechanism.joint_kinds import JOINTS

    turning = {
        x
        for joint in assembled.joints
        if joint.kind and JOINTS[joint.kind].turns
        for x in joint.coordinates
    }
    limits = _coordinate_limits(assembled, tree)
    quaternions = _quaternions(assembled, tree)
    given: Mapping[str, float] = assembled.mechanism.initial
    if assembled.mechanism.constraints:
        with suppress(AssemblyError):  # a run tells why it cannot start
            given = assemble(assembled.mechanism).coordinates
    start = [given.get(q.name, 0.0) for q in tree.coordinates]
    for k in quaternions:
        start[k] = start[k] if any(start[k : k + 4]) else 1.0
    return Facts(
        tuple(q.name for q in tree.coordinates),
        tuple(u.name for u in tree.speeds),
        tuple(assembled.places),
        tuple(joint.child for joint in assembled.joints if joint.child in assembled.places),
        tuple(map(float, limits[:, 0])),
        tuple(map(float, limits[:, 1])),
        _by_speed(assembled, tree, "speed"),
        _by_speed(assembled, tree, "effort"),
        tuple(math.pi if q in turning else 1.0 for q in tree.coordinates),
        tuple(quaternions),
        tuple(start),
    )


def facts_from(stored: dict[str, Any]) -> Facts:
    """Return what was stored; a `TypeError` says that it is something else."""
    return Facts(**{name: tuple(value) for name, value in stored.items()})


def _coordinate_limits(assembled: Assembled, tree: Tree) -> Array:
    """Return the lowest and highest value of each coordinate, infinite where there is none."""
    place = {q: k for k, q in enumerate(tree.coordinates)}
    found = np.full((len(place), 2), (-math.inf, math.inf))
    for joint in assembled.joints:
        if len(joint.coordinates) != 1:
            continue
        lower = -math.inf if joint.limits.lower is None else joint.limits.lower
        upper = math.inf if joint.limits.upper is None else joint.limits.upper
        q, factor, offset = joint.follows or (joint.coordinates[0], 1.0, 0.0)
        if q not in place or factor == 0.0:
            continue
        if lower > upper:  # no range, as in runs
            continue
        ends = sorted(((lower - offset) / factor, (upper - offset) / factor))
        row = found[place[q]]
        row[0], row[1] = max(row[0], ends[0]), min(row[1], ends[1])
        if math.isclose(
            row[0], row[1], rel_tol=1e-12, abs_tol=1e-12
        ):  # one value, but for rounding
            row[1] = row[0]
    return found + 0.0  # no minus zero


def _by_speed(assembled: Assembled, tree: Tree, key: str) -> Numbers:
    place = {u: k for k, u in enumerate(tree.speeds)}
    found = np.full(len(place), math.inf)
    for joint in assembled.joints:
        limit = getattr(joint.limits, key)
        speeds = [s.symbol for body in joint.bodies for s in tree.kinematics.motions[body].speeds]
        if joint.follows is not None and limit is not None and key == "speed":
            leader, factor, _ = joint.follows
            speeds = [tree.kinematics.rates[leader]]
            limit = limit / abs(factor) if factor else None
        for speed in speeds:
            if limit is not None and speed in place:
                found[place[speed]] = min(found[place[speed]], limit)
    return tuple(map(float, found))


def _quaternions(assembled: Assembled, tree: Tree) -> list[int]:
    place = {q: k for k, q in enumerate(tree.coordinates)}
    return [
        place[body.rotations[0]]
        for body in assembled.mechanism.bodies.values()
        if body.joint.quaternion and body.rotations[0] in place
    ]
