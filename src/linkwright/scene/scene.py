"""Scenes: what is drawn of a robot or a mechanism, and what each part hangs in.

A node is a rigid thing with solids in its own frame: the ground, a body, one end of a strut. The
shapes of a robot file are taken as they are (`linkwright.scene.robot_scene`); links without any,
and mechanisms, get generated ones (`linkwright.scene.mechanism_scene`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from linkwright.base.forking import cached_property
from linkwright.formats.meshes.triangle_mesh import Color, TriangleMesh
from linkwright.formats.robot.description import Description, Place
from linkwright.mechanism import Body, Mechanism
from linkwright.robots import Robot
from linkwright.robots.files import robot_of
from linkwright.scene.poses import Poses
from linkwright.scene.solids import Solid, axes_along, surfaces_of, within_budget
from linkwright.scene.wheels import Wheel

if TYPE_CHECKING:
    from linkwright.scene.scene_file import SceneFile, SceneFileLike

Array = NDArray[np.float64]
GROUND, WORLD = "ground", "world"
TOOLS = ("tool", "tool0", "tcp", "ee", "end_effector", "gripper", "hand")
"""Names of points and frames that are the tool of an arm."""


@dataclass(frozen=True, slots=True, eq=False)
class SceneNode:
    """A rigid part of a scene."""

    name: str  # of the body or link
    solids: tuple[Solid, ...] = ()  # in the node's frame
    parent: str = ""  # name of the node that it hangs on, or empty
    doc: str = ""  # what it is, in words
    mass: float = 0.0  # kg
    moves: bool = True  # whether it can move
    environment: bool = False  # whether it is something around the model, not a part of it


@dataclass(frozen=True, slots=True)
class Marked:
    """A named frame in a node."""

    name: str
    node: int
    place: Place


@dataclass(eq=False)
class Scene:
    """What is drawn.

    >>> from linkwright.models import load_model
    >>> scene = scene_of(load_model("pendulum"))
    >>> [node.name for node in scene.nodes]
    ['ground', 'rod']
    """

    name: str  # of the robot or mechanism
    doc: str  # what it is, in words
    robot: Robot = field(repr=False)  # with the mechanism whose coordinates move it
    nodes: tuple[SceneNode, ...]  # the parts
    poses: Poses = field(repr=False)  # the kernel that says where they are
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)  # against gravity, in the world's axes
    falls: bool = True  # whether there is gravity, and so a ground
    # height of the ground along `up`, m; None where it follows from the motion
    floor: float | None = None
    frames: tuple[Marked, ...] = ()  # named frames in nodes
    notes: tuple[str, ...] = ()  # what a user should know, such as meshes that were not found
    labels: tuple[Marked, ...] = ()  # points whose names are shown
    grounded: bool = True  # whether the ground is drawn
    ground: Color | None = None  # its color, or None for the usual one
    roots: tuple[str | Path, ...] = ()  # folders in which meshes may lie
    # azimuth and height at first, degrees; None where they follow from the motion
    looked_from: tuple[float, float] | None = None
    bare: Scene | None = field(default=None, repr=False)  # the same without its scene file
    scene_file: SceneFile | None = field(default=None, repr=False)  # what it wears, or None
    # the lowest and the highest value of coordinates in its motion: rails are as long
    reach: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    wheels: tuple[Wheel, ...] = ()  # bodies that tires of a System make wheels of

    def axes_of(self, node: int) -> Place:
        """Return where the link that a node is drawn for has its origin and axes in it."""
        return next((f.place for f in self.frames if f.node == node and node), Place())

    def reaching(self, q: Array) -> Scene:
        """Return the scene with rails as long as what slides on them goes.

        >>> from linkwright.models import load_model
        >>> scene = scene_of(load_model("slider-crank"))
        >>> far = scene.reaching(np.array([[0.0, 0.0, 3.0]]))
        >>> [round(float(np.ptp(s.surfaces[0][-1].points[:, 0])), 1) for s in (scene, far)]
        [0.6, 3.5]
        """
        slides = {b.translations[0][0].name for b in self._bodies if len(b.translations) == 1}
        names = self.poses.coordinates
        ends = {
            name: (float(column.min()), float(column.max()))
            for name, column in zip(names, np.asarray(q, float).T, strict=True)
            if name in slides and np.isfinite(column).all() and len(column)
        }
        if not ends or _has_shapes(self.robot.source) or self.scene_file is not None:
            return self
        made = self._drawn_again(self.poses.values, ends, self.wheels)
        return replace(self, nodes=made.nodes, reach=ends)

    def _drawn_again(
        self,
        values: Mapping[str, float],
        reach: Mapping[str, tuple[float, float]],
        wheels: tuple[Wheel, ...],
    ) -> Scene:
        from linkwright.scene.mechanism_scene import mechanism_scene

        return mechanism_scene(self.robot, dict(values), {}, self.poses, reach, wheels, self.roots)

    @property
    def _bodies(self) -> list[Body]:
        return list(self.robot.mechanism.bodies.values())

    def with_parameters(self, values: Mapping[str, float]) -> Scene:
        """Return the scene with the shapes that it has for other values of parameters.

        The poses keep their kernel, so that this is quick. Shapes of robot files have no
        parameters, and stay.

        >>> from linkwright.models import load_model
        >>> longer = scene_of(load_model("pendulum")).with_parameters({"L": 1.3})
        >>> round(float(longer.surfaces[1][0].points[:, 1].min()), 1)
        -1.4
        """
        own = self.robot.mechanism.parameters
        poses = self.poses.with_parameters({n: float(v) for n, v in values.items() if n in own})
        if _has_shapes(self.robot.source):
            return replace(self, poses=poses)
        if self.bare is not None and self.scene_file is not None:
            made = self.bare.with_parameters(values).decorated(self.scene_file)
        else:
            wheels = tuple(w.with_parameters(values) for w in self.wheels)
            made = self._drawn_again(poses.values, self.reach, wheels)
        made.floor = self.floor if made.floor is None else made.floor
        if len(made.poses.hanging) == len(poses.hanging):
            made.poses = poses
        return made

    def decorated(self, scene_file: SceneFileLike, *, roots: Sequence[str | Path] = ()) -> Scene:
        """Return the scene with the shapes and things of a scene file.

        >>> from linkwright.models import load_model
        >>> scene = scene_of(load_model("stanford-arm")).decorated("work-cell")
        >>> "table" in [node.name for node in scene.nodes if node.environment]
        True
        """
        from linkwright.scene.decoration import decorated
        from linkwright.scene.scene_file import as_scene_file

        return decorated(self, as_scene_file(scene_file, roots))

    @cached_property
    def surfaces(self) -> list[list[TriangleMesh]]:
        """The triangles of each node, in its frame."""
        return [surfaces_of(node.solids) for node in self.nodes]

    def surfaces_within(self, most: int) -> list[list[TriangleMesh]]:
        """Return the triangles of each node, thinned to a budget in all."""
        return within_budget(self.surfaces, most)

    @cached_property
    def upright(self) -> Array:
        """The rotation from the world's axes to those of the picture, whose z is up."""
        return np.array(axes_along(self.up)).T

    def index(self, name: str) -> int:
        """Return the place of a node in the list."""
        return next(k for k, node in enumerate(self.nodes) if node.name == name)


def scene_of(
    source: Robot | Mechanism | Description,
    *,
    roots: Sequence[str | Path] = (),
    values: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    scene_file: SceneFileLike | None = None,
    wheels: Sequence[Wheel] = (),
) -> Scene:
    """Return the scene of a robot, a description or a mechanism."""
    from linkwright.scene.mechanism_scene import mechanism_scene
    from linkwright.scene.robot_scene import file_scene

    robot = Robot(source) if isinstance(source, Description) else robot_of(source)
    if _has_shapes(robot.source):
        scene = file_scene(robot, robot.source, roots)
    else:
        scene = mechanism_scene(
            robot, dict(values or {}), dict(at or {}), wheels=tuple(wheels), roots=roots
        )
    scene_file = scene_file or robot.mechanism.file_beside("scene") or None
    return scene if scene_file is None else scene.decorated(scene_file, roots=roots)


def _has_shapes(source: object) -> TypeGuard[Description]:
    """Whether a file says itself what is seen."""
    return isinstance(source, Description) and any(link.shapes for link in source.links)
