"""Scenes: what is drawn of a robot or a mechanism, and what each part hangs in.

A node is a rigid thing with solids in its own frame: the ground, a body, one end of a strut. The
shapes of a robot file are taken as they are; links without any, and mechanisms, get generated ones
(`linkwright.studio.generated`), and the shipped models look like what they are
(`linkwright.studio.looks`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error
from linkwright.forking import cached_property
from linkwright.formats.description import Description, Link, Place, Shape
from linkwright.formats.places import composed
from linkwright.mechanism import Body, Mechanism
from linkwright.robots import Robot
from linkwright.robots.loading import robot_of
from linkwright.robots.tree import spot_in
from linkwright.studio.generated import generated, glyph, strut, thickness
from linkwright.studio.geometry import Geometry
from linkwright.studio.poses import Hanging, Poses
from linkwright.studio.solids import Solid, axes_along, surfaces_of, within_budget
from linkwright.studio.triangles import Colour, Surface

if TYPE_CHECKING:
    from linkwright.studio.dress import Dress, DressLike

Array = NDArray[np.float64]
GROUND, WORLD = "ground", "world"
TOOLS = ("tool", "tool0", "tcp", "ee", "end_effector", "gripper", "hand")
"""Names of points and frames that are the tool of an arm."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A rigid part of a scene.

    Args:
        name: of the body or link.
        solids: in the node's frame.
        parent: name of the node that it hangs on, or empty.
        doc: what it is, in words.
        mass: kg.
        moves: whether it can move.
        environment: whether it is something around the model, not a part of it.
    """

    name: str
    solids: tuple[Solid, ...] = ()
    parent: str = ""
    doc: str = ""
    mass: float = 0.0
    moves: bool = True
    environment: bool = False


@dataclass(frozen=True, slots=True)
class Marked:
    """A named frame in a node."""

    name: str
    node: int
    place: Place


@dataclass(eq=False)
class Scene:
    """What is drawn.

    Args:
        name: of the robot or mechanism.
        doc: what it is, in words.
        robot: with the mechanism whose coordinates move it.
        nodes: the parts.
        poses: the kernel that says where they are.
        up: against gravity, in the world's axes.
        falls: whether there is gravity, and so a ground.
        floor: height of the ground along `up`, m; None where it follows from the motion.
        frames: named frames in nodes.
        notes: what a user should know, such as meshes that were not found.
        labels: points whose names are shown.
        grounded: whether the ground is drawn.
        ground: its colour, or None for the usual one.
        roots: folders in which meshes may lie.
        looked_from: azimuth and height at first, degrees; None where they follow from the motion.
        bare: the same without its dress.
        dress: what it wears, or None.
        reach: the lowest and the highest value of coordinates in its motion: rails are as long.

    >>> from linkwright.models import load_model
    >>> scene = scene_of(load_model("pendulum"))
    >>> [node.name for node in scene.nodes]
    ['ground', 'rod']
    """

    name: str
    doc: str
    robot: Robot = field(repr=False)
    nodes: tuple[Node, ...]
    poses: Poses = field(repr=False)
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    falls: bool = True
    floor: float | None = None
    frames: tuple[Marked, ...] = ()
    notes: tuple[str, ...] = ()
    labels: tuple[Marked, ...] = ()
    grounded: bool = True
    ground: Colour | None = None
    roots: tuple[str | Path, ...] = ()
    looked_from: tuple[float, float] | None = None
    bare: Scene | None = field(default=None, repr=False)
    dress: Dress | None = field(default=None, repr=False)
    reach: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    def reaching(self, q: Array) -> Scene:
        """Return the scene with rails as long as what slides on them goes.

        Args:
            q: coordinates of a motion, times x coordinates.

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
        if not ends or _has_shapes(self.robot.source) or self.dress is not None:
            return self
        made = _from_mechanism(self.robot, dict(self.poses.values), {}, self.poses, ends)
        return replace(self, nodes=made.nodes, reach=ends)

    @property
    def _bodies(self) -> list[Body]:
        return list(self.robot.mechanism.bodies.values())

    def with_values(self, values: Mapping[str, float]) -> Scene:
        """Return the scene with the shapes that it has for other values of parameters.

        The poses keep their kernel, so that this is quick. Shapes of robot files have no
        parameters, and stay.

        Args:
            values: of parameters, over those that it is drawn with; other names are left out.

        >>> from linkwright.models import load_model
        >>> longer = scene_of(load_model("pendulum")).with_values({"L": 1.3})
        >>> round(float(longer.surfaces[1][0].points[:, 1].min()), 1)
        -1.4
        """
        own = self.robot.mechanism.parameters
        poses = self.poses.with_values({n: float(v) for n, v in values.items() if n in own})
        if _has_shapes(self.robot.source):
            return replace(self, poses=poses)
        if self.bare is not None and self.dress is not None:
            made = self.bare.with_values(values).dressed(self.dress)
        else:
            made = _from_mechanism(self.robot, dict(poses.values), {}, self.poses, self.reach)
        made.floor = self.floor if made.floor is None else made.floor
        if len(made.poses.hanging) == len(poses.hanging):
            made.poses = poses
        return made

    def dressed(self, dress: DressLike, *, roots: Sequence[str | Path] = ()) -> Scene:
        """Return the scene in a dress.

        Args:
            dress: what was read, or the name of a file or of a shipped dress.
            roots: folders in which its meshes may lie, beside the folder of the file.

        >>> from linkwright.models import load_model
        >>> scene = scene_of(load_model("stanford-arm")).dressed("work-cell")
        >>> "table" in [node.name for node in scene.nodes if node.environment]
        True
        """
        from linkwright.studio.dress import as_dress
        from linkwright.studio.dressing import dressed

        return dressed(self, as_dress(dress, roots))

    @cached_property
    def surfaces(self) -> list[list[Surface]]:
        """The triangles of each node, in its frame."""
        return [surfaces_of(node.solids) for node in self.nodes]

    def surfaces_within(self, most: int) -> list[list[Surface]]:
        """Return the triangles of each node, thinned to a budget in all.

        Args:
            most: triangles.
        """
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
    dress: DressLike | None = None,
) -> Scene:
    """Return the scene of a robot, a description or a mechanism.

    Args:
        source: what is drawn.
        roots: folders in which meshes may lie.
        values: of parameters, over the mechanism's own.
        at: coordinates for which generated shapes are sized; the start by default.
        dress: shapes in place of its own, and what stands around it.
    """
    robot = Robot(source) if isinstance(source, Description) else robot_of(source)
    if _has_shapes(robot.source):
        scene = _from_description(robot, robot.source, roots)
    else:
        scene = _from_mechanism(robot, dict(values or {}), dict(at or {}))
    return scene if dress is None else scene.dressed(dress, roots=roots)


def _has_shapes(source: object) -> TypeGuard[Description]:
    """Whether a file says itself what is seen."""
    return isinstance(source, Description) and any(link.shapes for link in source.links)


# -- mechanisms ------------------------------------------------------------------------------------
def _from_mechanism(
    robot: Robot,
    values: dict[str, float],
    at: dict[str, float],
    known: Poses | None = None,
    reach: Mapping[str, tuple[float, float]] | None = None,
) -> Scene:
    from linkwright.studio.looks import look_of

    m = robot.mechanism
    at = at or _assembled(m, values)
    tool = _tool(robot)
    tips = _ends(robot) | ({} if tool is None else {tool[0]: tool[1].position})
    level = isinstance(robot.source, Description)
    geometry = Geometry(m, values, at, tips, level, reach or {})
    bodies = [m.ground, *m.depth_first()]
    hanging: list[Hanging] = [spot_in(body, Place()) for body in bodies]
    for span in geometry.spans:
        hanging += [(span.first, span.second), (span.second, span.first)]
    poses = Poses(robot, hanging, values)
    if known is not None and len(known.hanging) == len(hanging):  # it is compiled already
        poses = known.with_values(values)
    start = np.array(
        [at.get(name, q) for name, q in zip(poses.coordinates, poses.start, strict=True)]
    )
    now = poses(start).poses
    size = _size(geometry, bodies, now)
    solids = generated(geometry, size)
    look = look_of(m.name)
    if look is not None:
        # A mechanism that only bears the name of a shipped one keeps its generated shapes.
        with suppress(KeyError):
            solids.update({m.bodies[n]: s for n, s in look(geometry).items() if n in m.bodies})
    if tool is not None:
        long = 2 * (thickness(solids[tool[0]]) or 0.01 * size)
        solids[tool[0]] = [*solids[tool[0]], *glyph(tool[1], long)]
    nodes = [_node(geometry, body, solids.get(body, [])) for body in bodies]
    for k, span in enumerate(geometry.spans):
        row = len(bodies) + 2 * k
        length = float(np.linalg.norm(now[row, :3] - now[row + 1, :3]))
        for end, parts in zip(("", " end"), strut(span, length, size), strict=True):
            nodes.append(Node(span.name + end, tuple(parts), doc="strut"))
    x, y, z = map(float, geometry.up)
    floor = _floor(geometry, bodies, now)
    frames = _frames(robot, bodies)
    made = Scene(
        m.name, m.doc, robot, tuple(nodes), poses, (x, y, z), geometry.falls, floor, frames
    )
    made.reach = geometry.reach
    return made


def _ends(robot: Robot) -> dict[Body, tuple[float, float, float]]:
    """Return where the links lie that are fixed to the last bodies of a robot: feet, tools."""
    found: dict[Body, tuple[float, float, float]] = {}
    if not isinstance(robot.source, Description):
        return found
    carriers = {body.parent for body in robot.mechanism.depth_first()}
    for body, place in robot.assembled.places.values():
        longer = math.hypot(*place.position) > math.hypot(*found.get(body, (1e-9,)))
        if body.parent is not None and body not in carriers and longer:
            found[body] = place.position
    return found


def _assembled(mechanism: Mechanism, values: dict[str, float]) -> dict[str, float]:
    """Return coordinates at which loops are closed, where there are any that can be."""
    if not any(c.position is not None for c in mechanism.constraints):
        return {}
    from linkwright.equations.closure import assemble

    try:
        return dict(assemble(mechanism, values=values or None).coordinates)
    except Error:
        return {}


def _node(geometry: Geometry, body: Body, solids: Sequence[Solid]) -> Node:
    if body.parent is None:
        return Node(GROUND, tuple(solids), doc="what stands still", moves=False)
    parent = GROUND if body.parent.parent is None else body.parent.name
    mass = geometry.mass(body)
    return Node(body.name, tuple(solids), parent, body.doc, mass, _can_move(body))


def _can_move(body: Body | None) -> bool:
    """Whether there is a joint between a body and the ground."""
    while body is not None:
        if body.translations or body.rotations:
            return True
        body = body.parent
    return False


def _frames(robot: Robot, bodies: Sequence[Body]) -> tuple[Marked, ...]:
    row = {body: k for k, body in enumerate(bodies)}
    own = None if isinstance(robot.source, Description) else robot.mechanism.ground.name
    return tuple(
        Marked(name, row[body], place)
        for name, (body, place) in robot.assembled.places.items()
        if name != own
    )


def _tool(robot: Robot) -> tuple[Body, Place] | None:
    """Return where the tool of an arm is: a chain of bodies with a frame of that name at its end.

    A robot file may call it otherwise: then it is the last frame that the file names there.
    """
    m = robot.mechanism
    parents = [body.parent for body in m.bodies.values()]
    if len(set(parents)) != len(parents) or any(c.position is not None for c in m.constraints):
        return None
    last = m.depth_first()[-1] if parents else None
    there = {n: p for n, (body, p) in robot.assembled.places.items() if body is last}
    named = [n for n in there if n in TOOLS]
    if not named and isinstance(robot.source, Description):
        told = [frame.name for frame in robot.source.frames]
        named = [n for n in told if n in there and not n.endswith("_dh")][-1:]
    return (last, there[named[0]]) if named and last is not None else None


def _size(geometry: Geometry, bodies: Sequence[Body], now: Array) -> float:
    """Return the extent of all places where something hangs, m."""
    points = []
    for k, body in enumerate(bodies):
        turn = _matrix(now[k, 3:])
        local = [np.zeros(3), *geometry.arms[body]]
        if body.parent is not None and geometry.mass(body) > 0:
            local.append(geometry.centre(body))
        if body.parent is None:
            local = geometry.arms[body]
        points += [now[k, :3] + turn @ p for p in local]
    size = float(np.linalg.norm(np.ptp(np.array(points), axis=0))) if points else 0.0
    if size <= 1e-9:
        boxes = [geometry.box(b) for b in bodies if b.parent is not None]
        size = max([float(b.max()) for b in boxes if b is not None], default=1.0)
    return size or 1.0


def _floor(geometry: Geometry, bodies: Sequence[Body], now: Array) -> float | None:
    """Return the height of the ground where wheels roll on it."""
    from linkwright.studio.looks import FLOORS

    heights = [
        float(now[k, :3] @ geometry.up) - geometry.wheels[body]
        for k, body in enumerate(bodies)
        if body in geometry.wheels
    ]
    if heights:
        return min(heights)
    return FLOORS.get(geometry.mechanism.name)


def _matrix(quaternion: Array) -> Array:
    from linkwright.formats.places import quaternion_rotation

    return np.array(quaternion_rotation([float(x) for x in quaternion]))


# -- robot files -----------------------------------------------------------------------------------
def _from_description(robot: Robot, description: Description, roots: Sequence[str | Path]) -> Scene:
    places, m = robot.assembled.places, robot.mechanism
    bodies = [m.ground, *m.depth_first()]
    row = {body: k for k, body in enumerate(bodies)}
    leaders = {joint.body: joint.child for joint in robot.assembled.joints}
    solids: list[list[Solid]] = [[] for _ in bodies]
    around: dict[str, list[Solid]] = {name: [] for name in _around(description)}
    up, floor = Geometry(m).up, None
    notes: list[str] = []
    seen = {places[link.name][0] for link in description.links if any(s.seen for s in link.shapes)}
    for link in description.links:
        body, place = places[link.name]
        for shape in link.shapes:
            drawn = shape.seen or body not in seen  # what is only touched, where nothing else is
            made = solid_of(link, shape, place, description, roots, notes) if drawn else None
            if made is not None and link.name in around and _is_ground(made, up):
                floor = float(np.array(made.place.position) @ up)
            elif made is not None:
                around.get(link.name, solids[row[body]]).append(made)
    told = {body for body, _ in places.values()}
    if not seen:  # nothing but what is touched: rods between the joints too
        plain = generated(Geometry(m, {}, {}, _ends(robot), True), _extent(robot, bodies))
        for k, body in enumerate(bodies):
            own = plain.get(body, [])
            solids[k] += [s for s in own if s.kind != "box"] if solids[k] else own
    elif notes or not told.issuperset(bodies):  # without meshes, or added since: drawn by rods
        plain = generated(Geometry(m), _extent(robot, bodies))
        for k, body in enumerate(bodies):
            solids[k] = solids[k] or list(plain.get(body, ()))
    nodes = []
    for k, body in enumerate(bodies):
        name = GROUND if body.parent is None else leaders.get(body, body.name)
        above = body.parent
        parent = (
            ""
            if above is None
            else (GROUND if above.parent is None else leaders.get(above, above.name))
        )
        mass = float(Geometry(m).mass(body)) if body.parent is not None else 0.0
        nodes.append(Node(name, tuple(solids[k]), parent, "", mass, _can_move(body)))
    things = {name: tuple(found) for name, found in around.items() if found}
    for name, found in things.items():
        nodes.append(Node(name, found, GROUND, "environment", moves=False, environment=True))
    hanging = [spot_in(body, Place()) for body in (*bodies, *[m.ground] * len(things))]
    poses = Poses(robot, hanging)
    frames = tuple(Marked(name, row[body], place) for name, (body, place) in places.items())
    x, y, z = map(float, up)
    missing = _summary(notes)
    return Scene(
        description.name,
        "",
        robot,
        tuple(nodes),
        poses,
        (x, y, z),
        True,
        floor,
        frames,
        missing,
        roots=tuple(roots),
    )


def _around(description: Description) -> list[str]:
    """Return the links that stand around a robot: the world's own, and what only hangs on it.

    That is the root where it is called world, as MJCF has it and many URDF files do, and links that
    are fixed to it and carry nothing that moves.
    """
    if description.root != WORLD:
        return []
    above = {joint.child: joint for joint in description.joints}
    carries = set()
    for joint in description.joints:
        if joint.kind == "fixed":
            continue
        link = joint.parent
        while link not in carries:
            carries.add(link)
            if link not in above:
                break
            link = above[link].parent
    found = [WORLD]
    for link in found:  # grows as it goes
        for joint in description.joints:
            if joint.parent == link and joint.kind == "fixed" and joint.child not in carries:
                found.append(joint.child)
    return found


def _is_ground(solid: Solid, up: Array) -> bool:
    """Whether a plane is level, and so is the ground itself."""
    return solid.kind == "plane" and float(np.array(solid.place.rotation)[:, 2] @ up) > 0.9999


def _extent(robot: Robot, bodies: Sequence[Body]) -> float:
    poses = Poses(robot, [spot_in(body, Place()) for body in bodies])
    where = poses(poses.start).poses[:, :3]
    return float(np.linalg.norm(np.ptp(where, axis=0))) or 1.0


def solid_of(
    link: Link,
    shape: Shape,
    place: Place,
    description: Description,
    roots: Sequence[str | Path],
    notes: list[str],
) -> Solid | None:
    """Return the solid of a shape of a link, or None where its mesh cannot be had.

    Args:
        link: that has it.
        shape: of the link.
        place: of the link in its node.
        description: that the link is part of.
        roots: folders in which meshes may lie.
        notes: where to say what is missing.
    """
    at = composed(place, shape.place)
    if shape.kind != "mesh":
        return Solid(shape.kind, shape.size, at, shape.colour, link=link.name)
    from linkwright.formats.meshes import find_mesh
    from linkwright.studio.solids import read_surfaces

    try:
        path = find_mesh(shape.mesh, description.source, roots)
        if path.suffix.lower() not in (".stl", ".obj", ".msh", ".dae"):
            notes.append(f"the mesh of {link.name!r} is in a format that is not read")
            return None
        read_surfaces(path)
    except Error as error:
        notes.append(str(error))
        return None
    # Colors in a mesh count before a material that says nothing: one without a name, or white.
    plain = not shape.material or (shape.colour or ())[:3] == (1.0, 1.0, 1.0)
    return Solid("mesh", (), at, shape.colour, path, shape.scale, link.name, plain)


def _summary(notes: Sequence[str]) -> tuple[str, ...]:
    if not notes:
        return ()
    more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
    return (f"{notes[0]}{more}; generated shapes stand in",)
