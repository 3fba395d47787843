"""Where a robot can touch the ground: points and balls from the shapes that its file gives.

They are taken from the shapes for contact (those that are seen, where the file gives none): balls
by their centers, capsules by the balls at their ends, other shapes by their outermost points in the
eight directions of a cube's corners. All points of the shapes that stand on the ground at the start
are taken, and of the others so many as are far apart from each other, so that a robot that falls
lies on something, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr
from linkwright.algebra.evaluate import evaluate_all
from linkwright.base.errors import Error
from linkwright.formats.meshes.lookup import find_mesh
from linkwright.formats.robot.description import Description, LinkShape
from linkwright.formats.robot.to_mechanism import Assembled
from linkwright.formats.robot.transforms import composed
from linkwright.mechanism import Body, Mechanism

Array: TypeAlias = NDArray[np.float64]
Mesh: TypeAlias = "tuple[Array, NDArray[np.integer]]"
MOST_POINTS = 12
"""Points that can touch, apart from those of the feet."""

LOW = 0.04
"""Of the height: what is so near the lowest point stands on the ground."""

_LEVEL = 0.01  # of the height: what is so near the lowest point of a foot is its sole
_SMALL = 0.16  # of the height: where there are many, a foot that is smaller is a ball
_CORNERS = np.array(list(np.ndindex(2, 2, 2)), float) * 2 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """A point of a link that can touch the ground, in the axes of its body."""

    link: str
    body: Body
    at: tuple[float, float, float]
    radius: float = 0.0
    foot: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TouchShape:
    """The points of a shape in its body's axes; of a ball its center."""

    link: str
    body: Body
    points: Array
    radius: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How bodies stand at some coordinates, in axes whose z is up."""

    mechanism: Mechanism
    places: Mapping[Body, tuple[Array, Array]]
    up: Array

    def placed(self, body: Body, points: ArrayLike) -> Array:
        """Return points of a body in the world, z being up."""
        origin, turn = self.places[body]
        return np.asarray(origin + np.asarray(points, float) @ turn.T)

    def heights(self, shape: TouchShape | Touch) -> Array:
        """Return how high the lowest parts of a shape are, m."""
        points = shape.points if isinstance(shape, TouchShape) else [shape.at]
        return np.asarray(self.placed(shape.body, points)[:, 2] - shape.radius)


def standing(assembled: Assembled, at: Mapping[str, float] | None = None) -> Standing:
    """Return how the bodies of a robot stand."""
    m = assembled.mechanism
    start = {**m.initial, **(at or {})}
    given: dict[Expr, float] = {s: float(start.get(n, 0.0)) for n, s in m.coordinates.items()}
    for body in m.bodies.values():
        if len(body.rotations) == 4 and not any(given[q] for q in body.rotations):
            given[body.rotations[0]] = 1.0
    for joint in assembled.joints:
        if joint.follows is not None:
            leader, factor, offset = joint.follows
            given[joint.coordinates[0]] = factor * given[leader] + offset
    numbers = (*m.parameters.items(), *m.inputs.items())
    given.update({s: float(m.values.get(n, 0.0)) for n, s in numbers})
    given[m.time] = 0.0
    ground, bodies = m.ground.frame, [m.ground, *m.depth_first()]
    wanted = [*m.gravity_vector.components(ground)]
    for body in bodies:
        for v in (body.origin.position, body.frame.x, body.frame.y, body.frame.z):
            wanted += v.components(ground)
    found = np.array(evaluate_all(wanted, given), float)
    size = float(np.linalg.norm(found[:3]))
    up = -found[:3] / size if size > 0 else np.array([0.0, 0.0, 1.0])
    level = level_axes(up)
    rows = found[3:].reshape(-1, 4, 3) @ level
    places = {b: (row[0], row[1:].T) for b, row in zip(bodies, rows, strict=True)}
    return Standing(m, places, up)


def level_axes(up: ArrayLike) -> Array:
    """Return the matrix whose columns are axes of the world, the third of them up.

    >>> level_axes((0, 0, 2)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x, y, z = np.asarray(up, float) / np.linalg.norm(np.asarray(up, float))
    if z < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    k = 1 / (1 + z)
    rows = [[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]]
    return np.array(rows) + 0.0


# -- shapes ----------------------------------------------------------------------------------------
def touch_shapes(
    description: Description,
    assembled: Assembled,
    roots: Sequence[str | Path] = (),
    *,
    read: Callable[[Path], Iterable[Mesh]] | None = None,
    notes: list[str] | None = None,
) -> list[TouchShape]:
    """Return the shapes of a robot that can touch, those that stand still among them."""
    some = any(shape.touched for link in description.links for shape in link.shapes)
    made: list[TouchShape] = []
    for link in description.links:
        body, place = assembled.places[link.name]
        for shape in link.shapes:
            if not (shape.touched if some else shape.seen) or shape.kind == "plane":
                continue
            try:
                parts = _parts(shape, description, roots, read or _read)
            except Error as error:
                if notes is not None:
                    notes.append(f"a shape of {link.name!r} touches nothing: {error}")
                continue
            at = composed(place, shape.place)
            turn, origin = np.array(at.rotation), np.array(at.position)
            made += [TouchShape(link.name, body, origin + p @ turn.T, r) for p, r in parts]
    return made


def _read(path: Path) -> Iterable[Mesh]:
    from linkwright.formats.meshes.files import read_mesh

    return [read_mesh(path)]


def _parts(
    shape: LinkShape,
    description: Description,
    roots: Sequence[str | Path],
    read: Callable[[Path], Iterable[Mesh]],
) -> list[tuple[Array, float]]:
    """Return the points of a shape in its own axes, with the radius of balls about them."""
    size = shape.size
    if shape.kind == "mesh":
        found = list(read(find_mesh(shape.mesh, description.source, roots)))
        scaled = [(p.astype(float) * np.array(shape.scale), faces) for p, faces in found]
        return [outermost(scaled)]
    if shape.kind == "sphere":
        return [(np.zeros((1, 3)), size[0])]
    if shape.kind == "capsule":
        ends = (-size[1] / 2, size[1] / 2)
        return [(np.array([[0.0, 0.0, z]]), size[0]) for z in ends]
    if shape.kind == "cylinder":
        side = size[0] / np.sqrt(2)
        return [(_CORNERS * (side, side, size[1] / 2), 0.0)]
    if shape.kind == "ellipsoid":
        squares = np.array(size) ** 2
        lengths = np.sqrt(squares.sum())
        return [(_CORNERS * squares / lengths, 0.0)]
    return [(_CORNERS * np.array(size) / 2, 0.0)]


def outermost(meshes: Sequence[Mesh]) -> tuple[Array, float]:
    """Return the outermost points of meshes; of what is nearly a ball its center and its radius."""
    points = np.concatenate([p for p, _ in meshes]).astype(float)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    far = float(np.linalg.norm(points - middle, axis=1).max())
    inner = min(
        float(np.linalg.norm(p[faces].mean(axis=1) - middle, axis=1).min()) for p, faces in meshes
    )
    if inner > 0.85 * far:  # the middles of the triangles are as far out as the corners
        return middle[None], far
    chosen = np.unique(((points - middle) @ _CORNERS.T).argmax(axis=0))
    return points[chosen], 0.0


# -- which of them touch ---------------------------------------------------------------------------
def touches_of(shapes: Sequence[TouchShape], where: Standing) -> tuple[Touch, ...]:
    """Return the points that can touch: of the feet all, of the rest those far from each other."""
    shapes = [s for s in shapes if s.body.parent is not None]
    if not shapes:
        return ()
    base = free_base(where.mechanism)
    low = np.array([where.heights(s).min() for s in shapes])
    tall = max(float(where.heights(s).max()) for s in shapes) - float(low.min())
    bodies = list(dict.fromkeys(s.body for s in shapes))
    lowest_of = {b: min(h for s, h in zip(shapes, low, strict=True) if s.body is b) for b in bodies}
    ends = {b for b, h in lowest_of.items() if h < low.min() + LOW * tall and b is not base}
    ends -= {above for b in ends for above in b.ancestors() if above is not b}
    feet: list[TouchShape] = []
    for k, s in enumerate(shapes):
        if base is not None and s.body in ends and low[k] < lowest_of[s.body] + _LEVEL * tall:
            shapes[k] = _foot(where, s, tall, len(ends))
            feet.append(shapes[k])
    return _chosen(shapes, feet, where)


def free_base(mechanism: Mechanism) -> Body | None:
    """Return the first body that moves in all three directions."""
    return next((b for b in mechanism.depth_first() if len(b.translations) == 3), None)


def _foot(where: Standing, shape: TouchShape, tall: float, count: int) -> TouchShape:
    """Return the lower points of a shape that stands on the ground; a small one as a ball."""
    if shape.radius:
        return shape
    places = where.placed(shape.body, shape.points)
    size = np.ptp(places, axis=0)
    if size.max() < _SMALL * tall and count > 2:
        middle = (shape.points.min(axis=0) + shape.points.max(axis=0)) / 2
        return replace(shape, points=middle[None], radius=float(size.min()) / 2)
    lower = places[:, 2] < places[:, 2].min() + 0.5 * size[2]
    return replace(shape, points=shape.points[lower])


def _chosen(
    shapes: Sequence[TouchShape], feet: Sequence[TouchShape], where: Standing
) -> tuple[Touch, ...]:
    made: list[Touch] = []
    taken: list[Array] = []
    rest: list[tuple[TouchShape, Array, Array]] = []
    for s in shapes:
        for local, place in zip(s.points, where.placed(s.body, s.points), strict=True):
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


def _touch(shape: TouchShape, local: Array, *, foot: bool) -> Touch:
    x, y, z = map(float, local)
    return Touch(shape.link, shape.body, (x, y, z), shape.radius, foot)
