"""Standing: which robots walk, where they can touch the ground, and how they stand on it.

A robot file seldom says whether its root moves freely. It is taken for one that walks where it has
two or more limbs of hinges with ends, whose tips are all its lowest points while its root has mass
and is well above them.

The points that can touch are taken from the shapes that the file gives for contact (those that are
seen, where it gives none): balls by their centres, other shapes by their outermost points in the
eight directions of a cube's corners. All points of the shapes that stand on the ground are taken,
and of the others so many as are far apart from each other, so that a robot that falls lies on
something, too.

A robot stands with its feet where they are when all joints are at zero, flat on the ground, its
joints within their limits: a few steps of Gauss and Newton's method from the resting pose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.description import Description
from linkwright.mechanism import Body
from linkwright.robots import Robot
from linkwright.studio.geometry import Geometry
from linkwright.studio.hanging import turned
from linkwright.studio.motions import limits_of, resting
from linkwright.studio.own_shapes import solid_of
from linkwright.studio.scene import Scene
from linkwright.studio.solids import surfaces_of
from linkwright.studio.triangles import Surface
from linkwright.studio.viewing import upright

Array: TypeAlias = NDArray[np.float64]
MOST_POINTS = 12
"""Points that can touch, apart from those of the feet."""

_LOW = 0.04  # of the height: what is so near the lowest point stands on the ground
_LEVEL = 0.01  # of the height: what is so near the lowest point of a foot is its sole
_SMALL = 0.16  # of the height: where there are many, a foot that is smaller is a ball
_CORNERS = np.array(list(np.ndindex(2, 2, 2)), float) * 2 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """A point of a body that can touch the ground.

    Args:
        body: that it belongs to.
        at: in the body's axes, m; the centre of a ball.
        radius: of the ball, m; 0 for a point.
        foot: whether it stands on the ground at the start.
    """

    body: Body
    at: tuple[float, float, float]
    radius: float = 0.0
    foot: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Footing:
    """How a robot stands on the ground.

    Args:
        touches: the points that can touch.
        start: coordinates of the scene with which it stands.
        floor: height of the ground along `up`, m.
        up: against gravity, in the world's axes.
        mass: of all, kg.
        height: of the mass centre above the ground, m.
    """

    touches: tuple[Touch, ...]
    start: Array
    floor: float
    up: tuple[float, float, float]
    mass: float
    height: float


def walks(robot: Robot, roots: Sequence[str | Path] = ()) -> bool:
    """Return whether a robot file is taken for a robot that walks.

    Args:
        robot: its base fixed.
        roots: folders in which meshes may lie.
    """
    description = robot.source
    if not isinstance(description, Description) or len(_limbs(description)) < 2:
        return False
    from linkwright.studio.scene import scene_of

    root = description.links[0].name if description.links else ""
    children = {j.child for j in description.joints}
    root = next((link.name for link in description.links if link.name not in children), root)
    heavy = _rigid_with(description, root)
    if not any(link.mass is not None for link in description.links if link.name in heavy):
        return False
    scene = scene_of(robot, roots=roots)
    shapes = list(_shapes(scene))
    if not shapes:
        return False
    poses = upright(scene, scene.poses(np.zeros(len(scene.poses.coordinates))).poses[None])[0]
    low = np.array([_heights(scene, poses, s).min() for s in shapes])
    high = max(_heights(scene, poses, s).max() for s in shapes)
    near = low < low.min() + _LOW * (high - low.min())
    standing = {s.link for s, on in zip(shapes, near, strict=True) if on}
    limbs = [set(limb) for limb in _limbs(description)]
    feet = [limb for limb in limbs if limb & standing]
    return len(feet) >= 2 and standing <= set().union(*limbs)


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
        wheel, still = chain[0].kind == "continuous", all(j.kind == "fixed" for j in chain)
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
            if j.kind == "fixed" and j.parent == link and j.child not in found:
                found.add(j.child)
                new.append(j.child)
    return found


# -- shapes ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """The points of a shape in its body's frame; of a ball its centre."""

    link: str
    node: int
    body: Body
    points: Array
    radius: float = 0.0


def _shapes(scene: Scene) -> Iterator[_Shape]:
    """Yield the shapes that can touch."""
    robot = scene.robot
    description = robot.source
    assert isinstance(description, Description)
    rows = {body: k + 1 for k, body in enumerate(robot.mechanism.depth_first())}
    places = robot.assembled.places
    some = any(shape.touched for link in description.links for shape in link.shapes)
    found = False
    for link in description.links:
        body, place = places[link.name]
        for shape in link.shapes:
            if not (shape.touched if some else shape.seen) or shape.kind == "plane":
                continue
            solid = solid_of(link.name, shape, place, description.source, scene.roots, [])
            if solid is None:
                continue
            found = True
            row, at = rows.get(body, 0), np.array(solid.place.position)
            if solid.kind == "box":  # which is drawn with bevelled edges
                corners = _CORNERS * np.array(solid.size) / 2
                turn = np.array(solid.place.rotation)
                yield _Shape(link.name, row, body, at + corners @ turn.T)
            elif solid.kind == "sphere":
                yield _Shape(link.name, row, body, at[None], float(solid.size[0]))
            else:
                yield _shape(link.name, row, body, surfaces_of([solid]))
    if found:
        return
    for body, row in rows.items():  # all meshes are missing
        if scene.surfaces[row]:
            yield _shape(scene.nodes[row].name, row, body, scene.surfaces[row])


def _shape(link: str, row: int, body: Body, surfaces: Sequence[Surface]) -> _Shape:
    points = np.concatenate([s.points for s in surfaces]).astype(float)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    far = float(np.linalg.norm(points - middle, axis=1).max())
    inner = min(
        float(np.linalg.norm(s.points[s.faces].mean(axis=1) - middle, axis=1).min())
        for s in surfaces
    )
    if inner > 0.85 * far:  # the middles of the triangles are as far out as the corners
        return _Shape(link, row, body, middle[None], far)
    chosen = np.unique(((points - middle) @ _CORNERS.T).argmax(axis=0))
    return _Shape(link, row, body, points[chosen])


def _heights(scene: Scene, poses: Array, shape: _Shape) -> Array:
    return _placed(poses, shape)[:, 2] - shape.radius


def _placed(poses: Array, shape: _Shape) -> Array:
    pose = poses[shape.node]
    turn = np.broadcast_to(pose[3:], (len(shape.points), 4))
    return np.asarray(pose[:3] + turned(turn, shape.points))


# -- standing --------------------------------------------------------------------------------------
def footing_of(scene: Scene, floor: float = 0.0) -> Footing | None:
    """Return how a robot with a free base stands on the ground, or None where it cannot.

    Args:
        scene: of a robot file.
        floor: height of the ground along `up`, m.
    """
    robot = scene.robot
    base = next((b for b in robot.mechanism.depth_first() if len(b.translations) == 3), None)
    if base is None or not isinstance(robot.source, Description):
        return None
    shapes = [s for s in _shapes(scene) if s.body.parent is not None]
    if not shapes:
        return None
    names = scene.poses.coordinates
    neutral = np.array(scene.poses.start)
    poses = upright(scene, scene.poses(neutral).poses[None])[0]
    low = np.array([_heights(scene, poses, s).min() for s in shapes])
    high = max(_heights(scene, poses, s).max() for s in shapes)
    tall = high - float(low.min())
    bodies = list(dict.fromkeys(s.body for s in shapes))
    lowest_of = {b: min(h for s, h in zip(shapes, low, strict=True) if s.body is b) for b in bodies}
    ends = {b for b, h in lowest_of.items() if h < low.min() + _LOW * tall and b is not base}
    ends -= {above for b in ends for above in b.ancestors() if above is not b}
    feet: list[_Shape] = []
    for k, s in enumerate(shapes):
        if s.body in ends and low[k] < lowest_of[s.body] + _LEVEL * tall:
            shapes[k] = _foot(poses, s, tall, len(ends))
            feet.append(shapes[k])
    start = _stance(scene, feet) if feet else resting(scene)
    poses = upright(scene, scene.poses(start).poses[None])[0]
    touches = _chosen(shapes, feet, poses)
    lowest = min(float(_heights(scene, poses, s).min()) for s in shapes)
    geometry, ground = Geometry(robot.mechanism), robot.mechanism.ground.frame
    for q, along in base.translations:
        share = float(np.array(scene.up) @ geometry.vector(along, ground))
        start[names.index(q.name)] += (floor - lowest) * share
    where = scene.poses(start)
    height = float(scene.upright[2] @ where.centre) - floor
    mass = sum(node.mass for node in scene.nodes)
    return Footing(touches, start, floor, scene.up, mass, max(height, 1e-3))


def set_down(scene: Scene, footing: Footing, q: Array) -> Array:
    """Return coordinates moved up or down until the lowest point that can touch does.

    Args:
        scene: of a robot file with a free base.
        footing: how it stands.
        q: coordinates of the scene.
    """
    robot, names = scene.robot, scene.poses.coordinates
    rows = {
        body: k for k, body in enumerate([robot.mechanism.ground, *robot.mechanism.depth_first()])
    }
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
    base = next(b for b in robot.mechanism.depth_first() if len(b.translations) == 3)
    for name, along in base.translations:
        share = float(np.array(scene.up) @ geometry.vector(along, ground))
        moved[names.index(name.name)] += (footing.floor - lowest) * share
    return moved


def _foot(poses: Array, shape: _Shape, tall: float, count: int) -> _Shape:
    """Return the lower points of a shape that stands on the ground; a small one as a ball."""
    if shape.radius:
        return shape
    places = _placed(poses, shape)
    size = np.ptp(places, axis=0)
    if size.max() < _SMALL * tall and count > 2:
        middle = (shape.points.min(axis=0) + shape.points.max(axis=0)) / 2
        return replace(shape, points=middle[None], radius=float(size.min()) / 2)
    lower = places[:, 2] < places[:, 2].min() + 0.5 * size[2]
    return replace(shape, points=shape.points[lower])


def _stance(scene: Scene, feet: Sequence[_Shape]) -> Array:
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

    def placed(rows: Array) -> Array:
        poses = upright(scene, scene.poses(rows).poses)
        found = np.concatenate([_placed_all(poses, s) for s in feet], axis=1)
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


def _placed_all(poses: Array, shape: _Shape) -> Array:
    pose = poses[:, shape.node]
    shaped = (len(poses), len(shape.points))
    turn = np.broadcast_to(pose[:, None, 3:], (*shaped, 4))
    local = np.broadcast_to(shape.points, (*shaped, 3))
    return np.asarray(pose[:, None, :3] + turned(turn, local))


def _chosen(shapes: Sequence[_Shape], feet: Sequence[_Shape], poses: Array) -> tuple[Touch, ...]:
    """Return the points of the feet, and of the rest those farthest from each other."""
    made: list[Touch] = []
    taken: list[Array] = []
    rest: list[tuple[_Shape, Array, Array]] = []
    for s in shapes:
        for local, place in zip(s.points, _placed(poses, s), strict=True):
            if any(s is foot for foot in feet):
                if not any(np.linalg.norm(place - p) < 0.004 for p in taken):
                    made.append(_touch(s, local, foot=True))
                    taken.append(place)
            else:
                rest.append((s, local, place))
    if not rest:
        return tuple(made)
    places = np.array([place for _, _, place in rest])
    apart = np.full(len(rest), np.inf)
    for p in taken:
        apart = np.minimum(apart, np.linalg.norm(places - p, axis=1))
    size = float(np.linalg.norm(np.ptp(places, axis=0)))
    for _ in range(MOST_POINTS):
        k = int(apart.argmax())
        if apart[k] <= max(0.05 * size, 1e-9):
            break
        s, local, place = rest[k]
        made.append(_touch(s, local, foot=False))
        apart = np.minimum(apart, np.linalg.norm(places - place, axis=1))
    return tuple(made)


def _touch(shape: _Shape, local: Array, *, foot: bool) -> Touch:
    x, y, z = map(float, local)
    return Touch(shape.body, (x, y, z), shape.radius, foot)
