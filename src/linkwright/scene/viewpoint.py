"""What of a scene is seen at first: where the ground is, where to look from, what to follow.

Scenes are looked at with z up. A motion must fit into the picture as a whole; so must what stands
around it, as far as it is near.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.rotations import quaternion_matrix, quaternion_product
from linkwright.formats.meshes.triangle_mesh import TriangleMesh
from linkwright.formats.robot.description import Description
from linkwright.recording.spread import spread
from linkwright.scene.body_geometry import Geometry
from linkwright.scene.default_shapes import stands, tuple3
from linkwright.scene.forces import USUAL, ForceTrack, force_track, scale_of
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import Scene
from linkwright.scene.solids import FIXED
from linkwright.scene.triangles import cylinder

Array = NDArray[np.float64]
ANGLE = 0.66
"""Of the picture, from its lower to its upper edge, rad."""

_NEAR = 1.5  # of a model's size: what stands farther from its middle need not be in view
_WIDE = 1.2  # of the height: the width that a picture has at least
_FILLED = 0.85  # of the picture's height and width


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen at first."""

    floor: float | None
    view: dict[str, Any]
    travels: bool


def seen_of(scene: Scene, *motions: SceneMotion) -> Seen:
    """Return what is seen of a scene at first."""
    sampled = [_sampled(scene, motion) for motion in motions if _is_of(motion, scene)]
    sampled = sampled or [_sampled(scene, None)]
    corners = np.concatenate([m.corners for m in sampled])
    around = _around(scene, sampled[0].poses)
    travels = _travels(sampled[0].poses, sampled[0].corners)
    shown = [m.seen_from_its_center if travels else m.seen for m in sampled]
    floor = _floor(scene, corners, around)
    return Seen(floor, _view(scene, np.concatenate(shown), sampled[0].first, around), travels)


def ground_and_view(
    motion: SceneMotion, scene: Scene, *others: SceneMotion
) -> tuple[float | None, dict[str, Any]]:
    """Return the height of the ground (None for none) and where to look from."""
    seen = seen_of(scene, motion, *others)
    return seen.floor, seen.view


def _is_of(motion: SceneMotion, scene: Scene) -> bool:
    """Whether a take moves what a scene shows, perhaps with other values."""
    known = motion.scene is not None and motion.scene.poses.coordinates == scene.poses.coordinates
    return known and motion.q is not None and len(motion.q) > 0


@dataclass(frozen=True, slots=True, eq=False)
class _Sampled:
    """Where something is at some times."""

    poses: Array
    center: Array
    corners: Array
    tips: Array

    @property
    def first(self) -> Array:
        """The outermost points at the first time."""
        return _finite(self.corners[0])

    @property
    def seen(self) -> Array:
        """All points that should be in the picture."""
        return np.concatenate([_finite(self.corners), _finite(self.tips)])

    @property
    def seen_from_its_center(self) -> Array:
        """The same for a camera that moves with the center of mass."""
        gone = (self.center - self.center[0])[:, None]
        return np.concatenate([_finite(self.corners - gone[:, None]), _finite(self.tips - gone)])


def _finite(points: Array) -> Array:
    found: Array = points[np.isfinite(points).all(axis=-1)]
    return found


def _sampled(scene: Scene, motion: SceneMotion | None) -> _Sampled:
    """Return a take's motion, drawn as its own values make it; the start without a take."""
    drawn = scene
    q = scene.poses.start[None]
    rows = np.arange(1)
    if motion is not None and motion.scene is not None and motion.q is not None:
        drawn = scene if motion.scene is scene else motion.scene
        rows = spread(len(motion.q), 200)
        q = np.asarray(motion.q[rows], float)
    where = drawn.poses(q)
    poses = upright(drawn, where.poses)
    corners = _corners(_own(drawn, drawn.surfaces), poses)
    tips = np.full((len(poses), 0, 3), np.nan)
    if motion is not None:
        track = force_track(drawn, motion.recording, rows, poses)
        if track is not None:
            tips = _tips(drawn, track, poses)
    return _Sampled(poses, where.center @ drawn.upright.T, corners, tips)


def _tips(scene: Scene, track: ForceTrack, poses: Array) -> Array:
    """Return where arrows end, times x arrows x 3; those of blows count as a usual one."""
    radius = extent(scene)
    long = scale_of(track.reference, radius).lengths(track.forces.astype(float))
    size = np.linalg.norm(long, axis=-1, keepdims=True)
    short = long * np.minimum(1.0, 1.5 * USUAL * radius / np.maximum(size, 1e-30))
    ending = track.arrows.ending(poses, track.forces.astype(float))[
        ..., None
    ]  # then it is where they start
    tips: Array = track.arrows.points(poses) + np.where(ending, -short, short)
    return np.where(size > 0, tips, np.nan)


def upright(scene: Scene, poses: Array) -> Array:
    """Return poses in the picture's axes, whose z is up; quaternions do not jump in sign."""
    from linkwright.formats.robot.transforms import rotation_quaternion

    first, second, third = (tuple3(row) for row in scene.upright)
    turn = rotation_quaternion((first, second, third))
    made = np.empty_like(poses)
    made[..., :3] = poses[..., :3] @ scene.upright.T
    made[..., 3:] = quaternion_product(turn, poses[..., 3:])
    if made.ndim == 3 and len(made) > 1:
        turns = made[..., 3:]
        flips = np.sign(np.einsum("tnk,tnk->tn", turns[1:], turns[:-1]))
        flips[flips == 0] = 1
        turns[1:] *= np.cumprod(flips, axis=0)[..., None]
    return made


def _own(scene: Scene, surfaces: Sequence[Sequence[TriangleMesh]]) -> list[Sequence[TriangleMesh]]:
    """Return the surfaces of the model itself, without those of what stands around it."""
    return [() if node.environment else s for node, s in zip(scene.nodes, surfaces, strict=True)]


def _around(scene: Scene, poses: Array) -> Array:
    """Return the outermost points of what stands around a model, at the first time."""
    parts = [
        s if node.environment else () for node, s in zip(scene.nodes, scene.surfaces, strict=True)
    ]
    return _finite(_corners(parts, poses[:1]))


def _corners(surfaces: Sequence[Sequence[TriangleMesh]], poses: Array) -> Array:
    """Return the outermost points of nodes over time: times x nodes x 26 x 3, nan where empty."""
    ways = np.array([w for w in np.ndindex(3, 3, 3) if w != (1, 1, 1)], float) - 1
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    boxes = np.full((len(surfaces), len(ways), 3), np.nan)
    for k, parts in enumerate(surfaces):
        if parts:
            points = np.concatenate([s.points for s in parts])
            boxes[k] = points[(points @ ways.T).argmax(axis=0)]
    turn = quaternion_matrix(poses[..., 3:])
    moved: Array = np.einsum("tnij,nkj->tnki", turn, boxes) + poses[:, :, None, :3]
    return moved


def _floor(scene: Scene, corners: Array, around: Array) -> float | None:
    if not scene.grounded:
        return None
    if scene.floor is not None:
        return scene.floor
    floats = any(len(b.translations) == 3 for b in scene.robot.mechanism.bodies.values())
    if not scene.falls and floats:
        return None
    lowest = corners[..., 2]
    if not np.isfinite(lowest).any():
        return 0.0
    low, high = float(np.nanmin(lowest)), float(np.nanmax(lowest))
    if len(around) and float(around[:, 2].min()) < low:
        return float(around[:, 2].min())
    if isinstance(scene.robot.source, Description) and low > -0.02 * (high - low):
        return 0.0  # a robot that stands on the ground
    if float(np.nanmin(corners[:, 0, :, 2], initial=np.inf)) <= low:
        return low  # it stands on a foot
    return low - 0.02 * (high - low)


def pedestal(scene: Scene, floor: float | None) -> TriangleMesh | None:
    """Return what the base of a robot stands on if the ground is below it, in world axes."""
    if floor is None or not _upon(scene):
        return None
    still = [not node.moves and not node.environment for node in scene.nodes]
    parts = [s if fixed else () for s, fixed in zip(scene.surfaces, still, strict=True)]
    poses = upright(scene, scene.poses(scene.poses.start).poses[None])
    corners = _finite(_corners(parts, poses)[0])
    if not len(corners):
        return None
    low, high = corners.min(axis=0), corners.max(axis=0)
    tall = float(low[2]) - floor
    wide = float((high - low).max())
    if tall <= 0.02 * wide:
        return None
    radius = 0.5 * float(max(high[0] - low[0], high[1] - low[1]))
    made = replace(cylinder(radius, tall), color=FIXED)
    x, y = (low[:2] + high[:2]) / 2
    turn = scene.upright.T
    return made.moved(turn, turn @ np.array([x, y, floor + tall / 2]))


def _upon(scene: Scene) -> bool:
    """Whether what is fixed is one thing that stands, rather than hangs."""
    if isinstance(scene.robot.source, Description):
        return True
    m = scene.robot.mechanism
    g = Geometry(m, scene.poses.values)
    held = [body for body in m.depth_first() if body.parent is m.ground]
    return scene.falls and len(held) == 1 and stands(g, held[0])


def _view(scene: Scene, points: Array, first: Array, around: Array) -> dict[str, Any]:
    """Return where to look from: flat mechanisms from the front, others from a corner."""
    if not len(points):
        still = {"center": [0.0, 0.0, 0.0], "radius": 1.0, "distance": 2.75}
        return {**still, "azimuth": -55.0, "height": 22.0, **_faces(scene, flat=False)}
    size = float(np.linalg.norm(np.ptp(first, axis=0))) if len(first) else 0.0
    if not len(first) or np.linalg.norm(np.ptp(points, axis=0)) < 4 * size:
        first = points
    extent, middle = np.ptp(first, axis=0), (first.min(axis=0) + first.max(axis=0)) / 2
    flat = extent[1] < 0.25 * max(extent[0], extent[2])
    near = around[(np.abs(around - middle) < _NEAR * extent.max()).all(axis=1)]
    if len(near):
        first, flat = np.concatenate([first, near]), False
        extent, middle = np.ptp(first, axis=0), (first.min(axis=0) + first.max(axis=0)) / 2
    radius = max(float(np.linalg.norm(first - middle, axis=1).max()), 1e-6)
    lying = extent[2] < 0.2 * max(extent[0], extent[1])
    usual = (-72.0, 12.0) if flat else (-55.0, 55.0 if lying else 20.0)
    azimuth, height = scene.looked_from or usual
    center, distance = _fitted(first, middle, math.radians(azimuth), math.radians(height))
    return {
        "center": [round(float(v), 6) for v in center],
        "radius": round(radius, 6),
        "distance": round(max(distance, 0.5 * radius), 6),
        "azimuth": azimuth,
        "height": height,
        **_faces(scene, flat=flat and not isinstance(scene.robot.source, Description)),
    }


def _faces(scene: Scene, *, flat: bool) -> dict[str, float]:
    """Return where to stand to see the front and the side, degrees.

    Robots and vehicles face along x; of a flat mechanism, the front shows its plane.
    """
    if flat:
        return {"front": -90.0, "side": 0.0}
    x, y, _ = map(float, scene.upright[:, 0])
    front = math.degrees(math.atan2(y, x)) if math.hypot(x, y) > 1e-6 else 0.0
    return {"front": round(front, 6) + 0.0, "side": round(front - 90.0, 6)}


def _fitted(points: Array, middle: Array, azimuth: float, height: float) -> tuple[Array, float]:
    """Return what to look at, and from how far, for all points to be in the picture."""
    flat = math.cos(height)
    away = np.array([math.cos(azimuth) * flat, math.sin(azimuth) * flat, math.sin(height)])
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    axes = np.stack([right, np.cross(away, right), away])
    tall = _FILLED * math.tan(ANGLE / 2)
    limits = np.array([_WIDE * tall, tall])
    center, distance = np.array(middle, float), 0.0
    for _ in range(12):  # nearer points count for more, so that the middle moves with the distance
        seen = (points - center) @ axes.T
        distance = float((seen[:, 2] + (np.abs(seen[:, :2]) / limits).max(axis=1)).max())
        shown = seen[:, :2] / np.maximum(distance - seen[:, 2], 1e-9)[:, None]
        off = (shown.min(axis=0) + shown.max(axis=0)) / 2
        center = center + 0.7 * distance * (off @ axes[:2])
    return center, distance


def _travels(poses: Array, corners: Array) -> bool:
    """Whether the whole thing goes away from where it began."""
    first = _finite(corners[0])
    if not len(first) or len(poses) < 2:
        return False
    size = float(np.linalg.norm(np.ptp(first, axis=0)))
    away = np.linalg.norm(np.ptp(poses[..., :3], axis=0), axis=-1)
    moving = np.flatnonzero(away[1:] > 1.5 * size) + 1
    return len(moving) > 0 and len(moving) >= 0.5 * (len(away) - 1)


def point_of(scene: Scene, name: str) -> Array:
    """Return the point of a node that a trace follows, in the node's frame, m.

    >>> from linkwright.models import load_model
    >>> from linkwright.scene.scene import scene_of
    >>> point_of(scene_of(load_model("pendulum")), "rod").tolist()
    [0.0, -1.0, 0.0]
    """
    k = scene.index(name)
    bodies = {b.name: b for b in scene.robot.mechanism.depth_first()}
    if scene.nodes[k].mass > 0 and name in bodies:
        return np.asarray(Geometry(scene.robot.mechanism, scene.poses.values).center(bodies[name]))
    corners = [surface.points for surface in scene.surfaces[k] if len(surface.points)]
    if not corners:
        return np.zeros(3)
    every = np.concatenate(corners)
    return np.asarray((every.min(axis=0) + every.max(axis=0)) / 2, float)


def extent(scene: Scene) -> float:
    """Return the size of what moves in a scene, without what stands around it, m."""
    where = scene.poses(scene.poses.start).poses
    points = []
    for node, pose, parts in zip(scene.nodes, where, scene.surfaces, strict=True):
        for s in () if node.environment else parts:
            reach = np.abs(s.points).max()
            points += [pose[:3] - reach, pose[:3] + reach]
    if not points:
        return 1.0
    return float(np.linalg.norm(np.ptp(np.array(points), axis=0))) / 2 or 1.0
