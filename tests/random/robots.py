"""Random descriptions of robots: trees with joints of every kind, seeded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    Place,
    Rotation,
    Triple,
)
from linkwright.formats.robot.transforms import quaternion_rotation

QUARTERS = (0.0, math.pi / 2, -math.pi / 2, math.pi)


def triple(v: Any) -> Triple:
    """Return three floats."""
    return float(v[0]), float(v[1]), float(v[2])


def random_rotation(rng: np.random.Generator, *, right_angles: bool) -> Rotation:
    """Return a rotation, one of the cube's where right angles are asked for."""
    if not right_angles:
        return quaternion_rotation([float(x) for x in rng.normal(size=4)])
    quarter = [0, 0, 0, 0]
    quarter[0], quarter[rng.integers(1, 4)] = 1, int(rng.integers(-1, 2))
    return quaternion_rotation(quarter)


def random_axis(rng: np.random.Generator, *, right_angles: bool) -> Triple:
    """Return a unit vector."""
    if right_angles:
        axis = np.zeros(3)
        axis[rng.integers(3)] = rng.choice([-1.0, 1.0])
        return triple(axis)
    v = rng.normal(size=3)
    return triple(v / np.linalg.norm(v))


def random_mass(rng: np.random.Generator) -> Mass:
    """Return a mass that a solid can have."""
    points = rng.normal(size=(5, 3)) * 0.1
    weights = rng.uniform(0.2, 1.0, 5)
    center = weights @ points / weights.sum()
    arms = points - center
    square = np.einsum("k,ki,ki", weights, arms, arms)
    tensor = square * np.eye(3) - np.einsum("k,ki,kj->ij", weights, arms, arms)
    xx, yy, zz, xy, yz, zx = (
        float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    )
    return Mass(float(weights.sum()), triple(center), (xx, yy, zz, xy, yz, zx))


def random_robot(
    seed: int,
    kinds: Sequence[str],
    *,
    right_angles: bool = False,
    armature: float = 0.0,
    chain: bool = False,
) -> Description:
    """Return a tree with one joint of each kind that is named, in that order.

    Args:
        seed: of the random numbers.
        kinds: of the joints.
        right_angles: whether axes and places are turned by right angles only.
        armature: of all joints.
        chain: whether each joint hangs on the one before.
    """
    rng = np.random.default_rng(seed)
    links = [Link("base", random_mass(rng))]
    joints = []
    for k, kind in enumerate(kinds):
        parent = links[-1 if chain else int(rng.integers(len(links)))].name
        place = Place(
            triple(rng.normal(size=3) * 0.3), random_rotation(rng, right_angles=right_angles)
        )
        axis = random_axis(rng, right_angles=right_angles)
        if kind == "planar":
            axis = (0.0, 0.0, 1.0)
        joints.append(
            LinkJoint(
                f"j{k}",
                kind,
                parent,
                f"link{k}",
                place,
                axis,
                second_axis=random_axis(rng, right_angles=right_angles),
                pitch=0.3 if kind == "screw" else 0.0,
                armature=armature,
                limits=JointLimits(-1.0, 2.0, 3.0, 40.0),
            )
        )
        links.append(Link(f"link{k}", random_mass(rng)))
    return Description(f"random{seed}", tuple(links), tuple(joints))
