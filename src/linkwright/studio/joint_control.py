"""Setting joints by hand: sliders within limits, loops kept closed, the tool dragged to a place.

In a mechanism with loops the others follow the moved coordinate, by Newton's steps from where they
are; a tree simply takes it. The tool is brought to a pose by inverse kinematics from where the
robot stands, so that it stays on the branch that the user sees, and what is out of reach is
reported with how far it is missed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.forking import cached_property
from linkwright.equations.closure import Relations
from linkwright.equations.evaluation import all_values
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.transforms import quaternion_rotation
from linkwright.mechanism import Constraint
from linkwright.robots import Robot
from linkwright.scene.previews import limits_of
from linkwright.scene.scene import Scene

Array: TypeAlias = NDArray[np.float64]
_ENDS = {"tool", "tool0", "tcp", "ee", "effector", "gripper", "foot", "sole"}
_NEAR = 1e-3
_WIDE = 1e3
_CONTINUED, _STEPS = 4, 40
_CLOSED, _LONGEST = 1e-9, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Posed:
    """Coordinates that were found, and what is to be said of them."""

    q: Array
    fine: bool
    words: str


@dataclass(eq=False)
class Poser:
    """Sets coordinates of a scene, one at a time.

    >>> from linkwright.models import load_model
    >>> from linkwright.scene.scene import scene_of
    >>> poser = Poser(scene_of(load_model("pendulum")))
    >>> poser.slid(np.array([0.0]), "phi", 1.0).q
    array([1.])
    """

    scene: Scene
    values: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def relations(self) -> Relations | None:
        """The relations of places that close loops, or None where there are none."""
        m = self.scene.robot.mechanism
        if not any(_closes(self.scene, c) for c in m.constraints):
            return None
        values = all_values(m, {**self.scene.poses.values, **self.values} or None)
        held = {n: values[n] for n in m.inputs}
        return Relations(m, values, signals=(lambda t: held) if held else None)

    def slid(self, q: Array, name: str, value: float) -> Posed:
        """Return the coordinates with one of them moved, loops closed on the same branch.

        Units: `value` in rad or m.
        """
        names = self.scene.poses.coordinates
        k = names.index(name)
        if self.relations is None:
            moved = self._set(q, k, value)
            return Posed(moved, *within(self.scene, moved))
        now = np.array(q, float)
        for share in np.linspace(0, 1, _CONTINUED + 1)[1:]:
            tried = self._set(now, k, q[k] + share * (value - q[k]))
            found = self._closed(tried, k)
            if found is None:
                return Posed(now, False, f"the loops do not close beyond {name} = {now[k]:.4g}")
            now = found
        return Posed(now, True, "loops closed")

    def turned(self, q: Array, places: Sequence[int], quaternion: Array) -> Posed:
        """Return the coordinates with a body turned, loops closed on the same branch."""
        moved = np.array(q, float)
        moved[list(places)] = quaternion
        found = self.closed(moved)
        if found is None:
            return Posed(np.array(q, float), False, "the loops do not close there")
        return Posed(found, *within(self.scene, found))

    @cached_property
    def quaternions(self) -> list[list[int]]:
        """Where the four numbers of each body that turns by a quaternion stand."""
        index = {name: k for k, name in enumerate(self.scene.poses.coordinates)}
        bodies = self.scene.robot.mechanism.bodies.values()
        found = [[index.get(q.name, -1) for q in b.rotations] for b in bodies]
        return [places for places in found if len(places) == 4 and min(places) >= 0]

    def _set(self, q: Array, k: int, value: float) -> Array:
        """Return coordinates with one set; the others of its quaternion keep it a unit one."""
        moved = np.array(q, float)
        moved[k] = value
        for places in self.quaternions:
            if k in places:
                moved[k] = min(max(value, -1.0), 1.0)
                others = [j for j in places if j != k]
                size, left = float(np.linalg.norm(moved[others])), np.sqrt(1 - moved[k] ** 2)
                if size > 1e-9:
                    moved[others] *= left / size
                else:
                    moved[others[0]] = left
        return moved

    def closed(self, q: Array) -> Array | None:
        """Return the nearest coordinates with closed loops; None where there are none near."""
        return np.array(q, float) if self.relations is None else self._closed(q, -1)

    def _closed(self, q: Array, held: int) -> Array | None:
        """Return the nearest coordinates with closed loops, one of them held, by Newton's steps."""
        relations = self.relations
        assert relations is not None
        names = list(self.scene.poses.coordinates)
        rows = [names.index(x.name) for x in relations.coordinates]
        extra = len(relations.mechanism.states)
        free = [i for i, row in enumerate(rows) if row != held]
        now = q.copy()
        for _ in range(_STEPS):
            given = np.concatenate([now[rows], np.zeros(extra)])
            g, jacobian = relations.position(given, 0.0)
            if not len(g) or float(np.abs(g).max()) < _CLOSED:
                return now
            step = np.linalg.lstsq(jacobian[:, free], -g, rcond=1e-8)[0]
            longest = float(np.abs(step).max())
            now[[rows[i] for i in free]] += step * min(1.0, _LONGEST / max(longest, 1e-300))
        return None


def yaw_pitch_roll(quaternion: Array) -> tuple[float, float, float]:
    """Return the angles about z, then y, then x of a unit quaternion, rad.

    >>> [round(x, 6) for x in yaw_pitch_roll(quaternion_of(0.3, -0.2, 0.1))]
    [0.3, -0.2, 0.1]
    """
    r = np.array(quaternion_rotation([float(x) for x in quaternion]))
    pitch = math.asin(min(max(-r[2, 0], -1.0), 1.0))
    if abs(r[2, 0]) > 1 - 1e-9:  # yaw and roll are one turn
        return math.atan2(-r[0, 1], r[1, 1]), pitch, 0.0
    return math.atan2(r[1, 0], r[0, 0]), pitch, math.atan2(r[2, 1], r[2, 2])


def quaternion_of(yaw: float, pitch: float, roll: float) -> Array:
    """Return the unit quaternion (w, x, y, z) of angles about z, then y, then x.

    Units: `yaw` in rad, `pitch` in rad, `roll` in rad.
    """
    (a, b), (c, d), (e, f) = ((math.cos(x / 2), math.sin(x / 2)) for x in (yaw, pitch, roll))
    return np.array(
        [a * c * e + b * d * f, a * c * f - b * d * e, a * d * e + b * c * f, b * c * e - a * d * f]
    )


def within(scene: Scene, q: Array) -> tuple[bool, str]:
    """Return whether coordinates lie within the limits of the joints, and which do not."""
    limits = limits_of(scene)
    reach = np.where(np.isfinite(limits).all(axis=1), np.ptp(limits, axis=1), 1.0)
    beyond = (q < limits[:, 0] - 1e-9) | (q > limits[:, 1] + 1e-9)
    close = (q <= limits[:, 0] + _NEAR * reach) | (q >= limits[:, 1] - _NEAR * reach)
    names = np.array(scene.poses.coordinates)
    if beyond.any():
        return False, f"beyond its limit: {', '.join(names[beyond])}"
    if close.any():
        return True, f"at its limit: {', '.join(names[close])}"
    return True, "all joints within their limits" if np.isfinite(limits).any() else ""


def tools(scene: Scene) -> list[str]:
    """Return the frames that can be dragged: tools and feet first, then from the outermost in."""
    robot = scene.robot
    base = _free_base(robot)
    single = all(len(j.coordinates) <= 1 or j.child == base for j in robot.assembled.joints)
    if base and base not in {f.name for f in scene.frames}:
        return []
    loops = any(_closes(scene, c) for c in robot.mechanism.constraints)
    if not isinstance(robot.source, Description) or not single or loops or not robot.coordinates:
        return []
    known = {f.name for f in scene.frames}
    found = [f for f in robot.frames if f in known and freedoms(scene, f)]
    named = [f for f in found if set(re.split(r"[\W_]+", f.lower())) & _ENDS]
    return list(dict.fromkeys([*reversed(named), *reversed(found)]))


def _closes(scene: Scene, constraint: Constraint) -> bool:
    """Return whether a constraint closes a loop that is seen.

    A joint that only follows another has no coordinate of its own in the picture.
    """
    follows = constraint.eliminate_coordinate
    own = follows is None or follows.name in scene.poses.coordinates
    return constraint.position is not None and own


def freedoms(scene: Scene, frame: str) -> int:
    """Return how many coordinates move a frame against the base: six can also keep its turn."""
    robot, base = scene.robot, _free_base(scene.robot)
    node = next(f.node for f in scene.frames if f.name == frame)
    carrying = {""}
    while node > 0:
        carrying.add(scene.nodes[node].name)
        node = scene.index(scene.nodes[node].parent) if scene.nodes[node].parent else 0
    joints = [j for j in robot.assembled.joints if j.body.name in carrying and j.child != base]
    return sum(len(j.coordinates) for j in joints)


def dragged(scene: Scene, q: Array, frame: str, target: Array, *, turn: bool = True) -> Posed:
    """Return coordinates that bring a frame to a pose, from where the robot stands.

    A base that is free is held where it is.
    """
    robot, base = scene.robot, _free_base(scene.robot)
    if base:
        robot = _held(robot)
        home, place = np.eye(4), robot.assembled.places[base][1]
        home[:3, :3], home[:3, 3] = np.array(place.rotation), place.position
        target = home @ np.linalg.inv(pose_of(scene, q, base)) @ target
    names = scene.poses.coordinates
    order = [names.index(n) for n in robot.coordinates]
    start = np.clip(np.asarray(q)[order], *np.clip(robot.limits, -_WIDE, _WIDE).T)
    weights = (1.0, 1.0, 1.0, *(3 * (1.0 if turn else 0.0,)))
    found = robot.inverse_kinematics(
        target, frame, start, tolerance=1e-5, weights=weights, attempts=2
    )
    moved = np.array(q, float)
    moved[order] = np.asarray(found.q, float)
    if bool(found.reached):
        _, near = within(scene, moved)
        return Posed(moved, True, f"reached; {near}" if near else "reached")
    far = f"{1000 * float(found.error):.0f} mm"
    if turn:
        far += f" and {np.degrees(float(found.rotation_error)):.1f}°"
    return Posed(moved, False, f"out of reach: {far} short")


def _free_base(robot: Robot) -> str:
    """Return the link of a base that moves freely, or nothing."""
    for joint in robot.assembled.joints:
        parent = joint.body.parent
        if len(joint.coordinates) > 5 and parent is not None and parent.parent is None:
            return joint.child
    return ""


@lru_cache(maxsize=4)
def _held(robot: Robot) -> Robot:
    """Return a robot whose base is held."""
    assert isinstance(robot.source, Description)
    free = robot.source.root == _free_base(robot)
    return Robot(robot.source, base="file" if free else "fixed", friction=False)


def pose_of(scene: Scene, q: Array, frame: str) -> Array:
    """Return the pose of a frame, 4 x 4."""
    marked = next(f for f in scene.frames if f.name == frame)
    row = scene.poses(q).poses[marked.node]
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = np.array(quaternion_rotation(row[3:].tolist())), row[:3]
    local = np.eye(4)
    local[:3, :3], local[:3, 3] = np.array(marked.place.rotation), marked.place.position
    return np.asarray(base @ local)
