"""Standing: which robots walk, and how they stand on the ground.

A robot file seldom says whether its root moves freely. It is taken for one that walks where it has
two or more limbs of hinges with ends, whose tips are all its lowest points while its root has mass
and is well above them. Where it can touch the ground is reported by
`linkwright.formats.robot.touch_points`, as for runs.

A robot stands with its feet where they are when all joints are at zero, flat on the ground, its
joints within their limits: a few steps of Gauss and Newton's method from the resting pose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.rotations import turned
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.touch_points import (
    LOW,
    Mesh,
    Touch,
    TouchShape,
    free_base,
    outermost,
    standing,
    touch_shapes,
    touches_of,
)
from linkwright.robots import Robot
from linkwright.scene.body_geometry import Geometry, body_rows
from linkwright.scene.previews import limits_of, resting
from linkwright.scene.scene import Scene
from linkwright.scene.solids import read_surfaces
from linkwright.scene.viewpoint import upright

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Footing:
    """How a robot stands on the ground."""

    touches: tuple[Touch, ...]  # the points that can touch
    start: Array  # coordinates of the scene with which it stands
    floor: float  # height of the ground along `up`, m
    up: tuple[float, float, float]  # against gravity, in the world's axes
    mass: float  # of all, kg
    height: float  # of the mass center above the ground, m


def walks(robot: Robot, roots: Sequence[str | Path] = ()) -> bool:
    """Return whether a robot file is taken for a robot that walks."""
    description = robot.source
    if not isinstance(description, Description) or len(_limbs(description)) < 2:
        return False
    from linkwright.scene.scene import scene_of

    root = description.links[0].name if description.links else ""
    children = {j.child for j in description.joints}
    root = next((link.name for link in description.links if link.name not in children), root)
    heavy = _rigid_with(description, root)
    if not any(link.mass is not None for link in description.links if link.name in heavy):
        return False
    shapes = _shapes(scene_of(robot, roots=roots))
    if not shapes:
        return False
    where = standing(robot.assembled, dict.fromkeys(robot.mechanism.coordinates, 0.0))
    low = np.array([where.heights(s).min() for s in shapes])
    high = max(where.heights(s).max() for s in shapes)
    near = low < low.min() + LOW * (high - low.min())
    standing_on = {s.link for s, on in zip(shapes, near, strict=True) if on}
    limbs = [set(limb) for limb in _limbs(description)]
    feet = [limb for limb in limbs if limb & standing_on]
    return len(feet) >= 2 and standing_on <= set().union(*limbs)


def _limbs(description: Description) -> list[list[str]]:
    """Return the links from the first branching on to each end, where hinges with limits lead."""
    above = {j.child: j for j in description.joints}
    below: dict[str, list[str]] = {}
    for j in description.joints:
        below.setdefault(j.parent, []).append(j.child)
    chains = []
    for joint in description.joints:
        if joint.child in below:
            continue
        chain = [joint]
        while chain[-1].parent in above:
            chain.append(above[chain[-1].parent])
        wheel, still = chain[0].kind == "continuous", all(j.kind == "weld" for j in chain)
        if not wheel and not still:
            chains.append(chain)
    shared = set.intersection(*({j.name for j in c} for c in chains)) if chains else set()
    own = [[j for j in chain if j.name not in shared] for chain in chains]
    return [
        [j.child for j in chain]
        for chain in own
        if sum(j.kind == "revolute" and j.mimic is None for j in chain) >= 2
    ]


def _rigid_with(description: Description, root: str) -> set[str]:
    """Return the links that are fixed to a link, itself included."""
    found, new = {root}, [root]
    while new:
        link = new.pop()
        for j in description.joints:
            if j.kind == "weld" and j.parent == link and j.child not in found:
                found.add(j.child)
                new.append(j.child)
    return found


def _shapes(scene: Scene) -> list[TouchShape]:
    """Return the shapes that can touch; those that stand in, where all meshes are missing."""
    robot = scene.robot
    assert isinstance(robot.source, Description)
    found = touch_shapes(robot.source, robot.assembled, scene.roots, read=_read)
    if found:
        return found
    for k, body in enumerate(robot.mechanism.depth_first(), 1):
        if scene.surfaces[k]:
            meshes = [(s.points, s.faces) for s in scene.surfaces[k]]
            found.append(TouchShape(scene.nodes[k].name, body, *outermost(meshes)))
    return found


def _read(path: Path) -> Iterable[Mesh]:
    return [(s.points, s.faces) for s in read_surfaces(path)]


# -- standing --------------------------------------------------------------------------------------
def footing_of(scene: Scene, floor: float = 0.0) -> Footing | None:
    """Return how a robot with a free base stands on the ground, or None where it cannot."""
    robot = scene.robot
    if free_base(robot.mechanism) is None or not isinstance(robot.source, Description):
        return None
    touches = touches_of(_shapes(scene), standing(robot.assembled))
    if not touches:
        return None
    feet = [t for t in touches if t.foot]
    mass = sum(node.mass for node in scene.nodes)
    start = _stance(scene, feet) if feet else resting(scene)
    footing = Footing(touches, start, floor, scene.up, mass, 1e-3)
    start = set_down(scene, footing, start)
    height = float(scene.upright[2] @ scene.poses(start).center) - floor
    return replace(footing, start=start, height=max(height, 1e-3))


def set_down(scene: Scene, footing: Footing, q: Array) -> Array:
    """Return coordinates moved up or down until the lowest point that can touch does."""
    robot, names = scene.robot, scene.poses.coordinates
    rows = body_rows(scene.robot.mechanism)
    poses = scene.poses(q).poses
    lowest = np.inf
    for touch in footing.touches:
        pose = poses[rows[touch.body]]
        place = pose[:3] + turned(pose[3:], np.array(touch.at))
        lowest = min(lowest, float(place @ np.array(footing.up)) - touch.radius)
    moved = np.array(q, float)
    if not np.isfinite(lowest):
        return moved
    geometry, ground = Geometry(robot.mechanism), robot.mechanism.ground.frame
    base = free_base(robot.mechanism)
    assert base is not None
    for name, along in base.translations:
        share = float(np.array(scene.up) @ geometry.vector(along, ground))
        moved[names.index(name.name)] += (footing.floor - lowest) * share
    return moved


def _stance(scene: Scene, feet: Sequence[Touch]) -> Array:
    """Return coordinates with which the feet are flat where they are at zero, within limits."""
    names = scene.poses.coordinates
    rest, limits = resting(scene), limits_of(scene)
    inner = 0.03 * np.where(np.isfinite(limits).all(axis=1), np.ptp(limits, axis=1), 0.0)
    low, high = limits[:, 0] + inner, limits[:, 1] - inner
    single = [
        names.index(j.coordinates[0].name)
        for j in scene.robot.assembled.joints
        if len(j.coordinates) == 1 and j.coordinates[0].name in names
    ]

    row = body_rows(scene.robot.mechanism)
    nodes, local = [row[t.body] for t in feet], np.array([t.at for t in feet])

    def placed(rows: Array) -> Array:
        poses = upright(scene, scene.poses(rows).poses)[:, nodes]
        found = poses[..., :3] + turned(
            poses[..., 3:], np.broadcast_to(local, poses[..., :3].shape)
        )
        found[..., 2] -= found[..., 2].mean(axis=1, keepdims=True)
        return found.reshape(len(rows), -1)

    wanted = placed(np.array(scene.poses.start)[None])[0]
    q = rest.copy()
    step = 1e-5
    for _ in range(40):
        rows = np.tile(q, (len(single) + 1, 1))
        rows[np.arange(len(single)), single] += step
        found = placed(rows)
        slope = (found[:-1] - found[-1]).T / step
        gap = wanted - found[-1]
        size = 1e-4 * float(np.abs(slope).max() or 1.0) ** 2
        square = slope.T @ slope + size * np.eye(len(single))
        move = np.linalg.solve(square, slope.T @ gap)
        q[single] = np.clip(q[single] + np.clip(move, -0.2, 0.2), low[single], high[single])
        if np.abs(move).max() < 1e-4:
            break
    return q
