"""Shapes for mechanisms that come without any: links, joints, wheels, masses, struts.

A body that turns about an axis and whose arms lie across it becomes a flat bar with round ends, as
linkages are drawn; others become rods between their joints, thinner toward the tip. Sliding bodies
become blocks on rails, free ones the box with their inertia, those that roll wheels of their
radius. ROBSIM drew each link as one cylinder from joint to joint; rods are that, with round ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linkwright.formats.meshes.triangle_mesh import Color
from linkwright.formats.robot.description import Place, Rotation
from linkwright.formats.robot.transforms import composed, product, turned
from linkwright.mechanism import Body
from linkwright.scene.body_geometry import Array, Geometry, Span
from linkwright.scene.solids import (
    ACCENT,
    FIXED,
    JOINT,
    LINKS,
    METAL,
    PALE,
    RUBBER,
    Solid,
    axes_along,
    color,
    disc,
    place_between,
    rod,
)

_THICK = 0.026  # radius of a link at the root, of the whole's size
_TAPER = 0.9


def generated(geometry: Geometry, size: float) -> dict[Body, list[Solid]]:
    """Return the solids of every body and of the ground, in their frames."""
    m = geometry.mechanism
    made: dict[Body, list[Solid]] = {m.ground: _anchors(geometry, size)}
    depth: dict[Body, int] = {m.ground: -1}
    for body in m.depth_first():
        assert body.parent is not None
        depth[body] = depth[body.parent] + (1 if geometry.mass(body) or body.translations else 0)
        level = depth[body]
        tint = LINKS[max(level, 0) % len(LINKS)]
        radius = _THICK * size * max(_TAPER ** max(level, 0), 0.35)
        made[body] = _of_body(geometry, body, radius, tint, level)
    sliders = {s.slider for s in m.driven_struts}  # lengths, not bodies
    made.update({body: [] for body in sliders})
    for body in m.depth_first():
        if body in sliders:
            continue
        for rail in _rails(geometry, body, _THICK * size):
            assert body.parent is not None
            made[body.parent].append(rail)
    return made


def _of_body(g: Geometry, body: Body, radius: float, tint: Color, level: int) -> list[Solid]:
    if body in g.wheels:
        return wheel(g.axis(body), g.wheels[body])
    arms = [p for p in g.arms[body] if np.linalg.norm(p) > 1e-9]
    if len(body.translations) >= 2 and body.parent is g.mechanism.ground:
        return _floating(g, body, arms, radius)
    if body.translations:
        return _sliding(g, body, arms, radius, tint)
    return _turning(g, body, arms, radius, tint, level)


def wheel(axis: Array | None, radius: float, width: float = 0.0) -> list[Solid]:
    """Return a wheel about a body's origin."""
    turn = axes_along(np.array([0.0, 1.0, 0.0]) if axis is None else axis)
    wide = width or 0.36 * radius
    at = Place((0.0, 0.0, 0.0), turn)
    return [
        Solid("tire", (radius, wide), at, RUBBER),
        Solid("rim", (radius, 0.9 * wide), at, METAL),
        *_bolts(at, radius, wide),
    ]


def _bolts(at: Place, radius: float, wide: float) -> list[Solid]:
    """Return marks on a wheel that show how it turns."""
    turn, made = np.array(at.rotation), []
    for k in range(5):
        a = 2 * np.pi * k / 5
        for side in (-1, 1):
            p = turn @ np.array(
                [0.42 * radius * np.cos(a), 0.42 * radius * np.sin(a), side * 0.1 * wide]
            )
            made.append(disc(p, turn[:, 2], 0.075 * radius, 0.1 * wide, JOINT if k else ACCENT))
    return made


def _frame(carried: Array) -> Solid | None:
    """Return a flat box between what a body carries, where that does not lie on a line."""
    low, high = carried.min(axis=0), carried.max(axis=0)
    wide = high - low
    if np.sort(wide)[1] <= 0.15 * wide.max():
        return None
    x, y, z = map(float, (low + high) / 2)
    shares = np.where(wide == wide.max(), 1.1, 0.82)
    a, b, c = map(float, np.maximum(shares * wide, 0.06 * wide.max()))
    return Solid("box", (a, b, c), Place((x, y, z)), PALE)


def _floating(g: Geometry, body: Body, arms: list[Array], radius: float) -> list[Solid]:
    edges, center = g.box(body), g.center(body)
    x, y, z = map(float, center)
    if edges is None:
        frame = _frame(np.array([*arms, center]))
        if frame is not None:
            return [frame]
        spread = max([float(np.linalg.norm(p)) for p in arms], default=4 * radius)
        return [Solid("sphere", (0.35 * spread,), Place((x, y, z)), PALE)]
    half = np.maximum(edges, 0.1 * edges.max()) / 2
    low, high = _clear_of_wheels(g, body, center - half, center + half)
    x, y, z = map(float, (low + high) / 2)
    a, b, c = map(float, high - low)
    solids = [Solid("box", (a, b, c), Place((x, y, z)), PALE)]
    for p in arms:
        if np.any((p < low) | (p > high)):
            solids.append(rod(np.clip(p, low, high), p, 0.6 * radius, METAL))
    return solids


def _clear_of_wheels(g: Geometry, body: Body, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the corners of a body's box, between its wheels and above the ground."""
    low, high = low.copy(), high.copy()
    middle = (low + high) / 2
    up = g.vector(g.mechanism.ground.vector(*map(float, g.up)), body.frame)
    upward = int(np.argmax(np.abs(up)))
    for spins, radius in g.wheels.items():
        axis = g.axis(spins)
        if body not in spins.ancestors() or axis is None:
            continue
        at = g.vector(spins.origin.position - body.origin.position, body.frame)
        axle = g.vector(spins.vector(*map(float, axis)), body.frame)
        across = int(np.argmax(np.abs(axle)))
        beside = float(at[across] - middle[across])
        room, raised = abs(beside) - 0.3 * radius, 0.3
        if room <= 0.1 * (high - low)[across]:  # in the middle: the body is above its wheels
            room, raised = np.inf, -1.1
        if beside > 0:
            high[across] = min(high[across], middle[across] + room)
        else:
            low[across] = max(low[across], middle[across] - room)
        edge = float(at[upward] * np.sign(up[upward])) - raised * radius
        if up[upward] > 0:
            low[upward] = max(low[upward], edge)
            high[upward] = max(high[upward], low[upward] + 0.5 * radius)
        else:
            high[upward] = min(high[upward], -edge)
            low[upward] = min(low[upward], high[upward] - 0.5 * radius)
    return low, high


def _sliding(g: Geometry, body: Body, arms: list[Array], radius: float, tint: Color) -> list[Solid]:
    assert body.parent is not None
    edges, center = g.box(body), g.center(body)
    along = g.slides(body)[0]
    radius = min([radius, *(0.1 * r for r in _wheels_on(g, body))])
    if edges is not None and edges.max() > 4 * edges.min():  # a boom that slides through its guide
        x, y, z = map(float, center)
        a, b, c = (float(np.clip(e, 1.3 * radius, None)) for e in edges)
        long = int(np.argmax(edges))
        slim = [min(v, 2.6 * radius) if k != long else v for k, v in enumerate((a, b, c))]
        return [
            Solid("box", (slim[0], slim[1], slim[2]), Place((x, y, z)), tint),
            *_rods(arms, 0.7 * radius, tint),
        ]
    length, high = 4.4 * radius, 3.0 * radius
    block = Solid("box", (high, high, length), Place((0.0, 0.0, 0.0), axes_along(along)), tint)
    pins = [disc((0, 0, 0), _across(along), 0.7 * radius, 3.6 * radius, JOINT)]
    return [block, *pins, *_rods(arms, 0.8 * radius, tint)]


def _wheels_on(g: Geometry, body: Body) -> list[float]:
    """Return the radii of the wheels that a body carries."""
    return [r for wheel, r in g.wheels.items() if body in wheel.ancestors()]


def _across(along: Array) -> Array:
    """Return the axis most across a direction, z before y before x."""
    k = min((2, 1, 0), key=lambda i: round(abs(float(along[i])), 6))
    return np.asarray(np.eye(3)[k])


def _rods(arms: list[Array], radius: float, tint: Color) -> list[Solid]:
    return [rod((0, 0, 0), p, radius, tint) for p in arms]


def _turning(
    g: Geometry, body: Body, arms: list[Array], radius: float, tint: Color, level: int
) -> list[Solid]:
    axis, mass, center = g.axis(body), g.mass(body), g.center(body)
    far = float(np.linalg.norm(center))
    solids: list[Solid] = []
    ends = list(arms)
    if not arms and far > 1e-9 and mass > 0:
        solids, tip = _tip(g, body, center, far, radius)
        ends = [tip]
    elif not arms and mass > 0:
        solids = _centerd(g, body, radius, tint)
    if not ends and not solids and mass == 0 and not body.rotations:
        return []
    if axis is not None and ends and all(abs(axis @ p) < 0.02 * np.linalg.norm(p) for p in ends):
        return solids + _bar(axis, ends, radius, tint, level)
    if axis is not None:
        solids.append(disc((0, 0, 0), axis, 1.75 * radius, 3.9 * radius, JOINT))
    elif len(body.rotations) > 1:
        solids.append(Solid("sphere", (1.5 * radius,), Place(), JOINT))
    solids += [rod((0, 0, 0), p, 1.35 * radius, tint) for p in ends]
    if not arms and level > 2:
        solids += [Solid("sphere", (1.6 * radius,), Place(tuple3(p)), ACCENT) for p in ends]
    return solids


def _tip(
    g: Geometry, body: Body, center: Array, far: float, radius: float
) -> tuple[list[Solid], Array]:
    """Return what a last link carries, and where it ends."""
    mass = g.mass(body)
    inertia = float(g.numbers(body.inertia.tensor[:3]).max())
    half = float(np.sqrt(3 * max(inertia, 0.0) / mass))  # files may tell inertias of no real link
    if half < 0.2 * far:  # a point mass on a rod
        x, y, z = map(float, center)
        return [
            Solid("sphere", (float(min(3.2 * radius, 0.3 * far)),), Place((x, y, z)), ACCENT)
        ], center
    tip = center * (1 + min(half, far) / far)
    return [], tip


def _centerd(g: Geometry, body: Body, radius: float, tint: Color) -> list[Solid]:
    edges = g.box(body)
    if edges is None or edges.max() <= 0:
        return []
    a, b, c = (float(np.clip(e, 2.2 * radius, 9 * radius)) for e in edges)
    return [Solid("box", (a, b, c), Place(), tint)]


def _bar(axis: Array, ends: list[Array], radius: float, tint: Color, level: int) -> list[Solid]:
    """Return a flat bar through joint and ends, a pin in each; levels lie side by side."""
    turn = np.array(axes_along(axis))
    thick = 1.1 * radius
    side = 0.5 * thick * (1 if level % 2 else -1) * 1.1
    flat = [(0.0, 0.0), *((float(x), float(y)) for x, y, _ in (turn.T @ p for p in ends))]
    x, y, z = map(float, turn[:, 2] * side)
    numbers = (1.25 * radius, thick, *(v for point in flat for v in point))
    pins = [disc((0, 0, 0), axis, 0.62 * radius, 2.9 * thick, JOINT)]
    pins += [disc(p, axis, 0.5 * radius, 2.6 * thick, JOINT) for p in ends]
    return [Solid("bars", numbers, Place((x, y, z), axes_along(axis)), tint), *pins]


def _rails(g: Geometry, body: Body, radius: float) -> list[Solid]:
    """Return what a sliding body slides on, in its parent's frame."""
    parent = body.parent
    if len(body.translations) != 1 or parent is None:
        return []
    edges = g.box(body)
    along = g.slides(body)[0]
    at = g.vector(body.offset, parent.frame)
    if edges is not None and edges.max() > 4 * edges.min():
        x, y, z = at.tolist()
        guide = Place((x, y, z), axes_along(along))
        return [Solid("box", (4.0 * radius, 4.0 * radius, 5.0 * radius), guide, JOINT)]
    usual = 12 * radius if parent is g.mechanism.ground else 5 * radius
    usual = min([usual, *(0.8 * r for r in _wheels_on(g, body))])  # above the ground
    low, high = g.reach.get(body.translations[0][0].name, (0.0, 0.0))
    beyond = min(4 * radius, usual)
    start, end = min(-usual, low - beyond), max(usual, high + beyond)
    side = _across(along)
    below = np.cross(along, side) * 1.9 * radius
    return [rod(at + below + along * start, at + below + along * end, 0.35 * radius, FIXED)]


def _anchors(g: Geometry, size: float) -> list[Solid]:
    """Return brackets where joints stand on the ground."""
    m, radius = g.mechanism, _THICK * size
    solids = []
    for body in m.depth_first():
        if not _anchored(g, body):
            continue
        at = g.vector(body.offset, m.ground.frame)
        if stands(g, body):
            rises = max([float(p @ g.up) for p in g.arms[body]], default=0.0) > 0.2 * size
            high = 2.0 * radius if rises else 0.3 * size
            if g.level and float(at @ g.up) > radius:
                high = float(at @ g.up) - 0.8 * radius
            solids.extend(_pedestal(at, g.up, radius, high))
            continue
        turn = np.array(axes_along(_fixed_axis(g, body)))
        foot = at - 3.0 * radius * g.up
        place, length = place_between(at, foot)
        solids.append(Solid("cone", (1.1 * radius, 2.0 * radius, length), place, FIXED))
        solids.append(disc(foot, g.up, 2.6 * radius, 0.7 * radius, FIXED))
        solids.append(disc(at, turn[:, 2], 1.3 * radius, 3.4 * radius, FIXED))
    return solids


def _anchored(g: Geometry, body: Body) -> bool:
    return body.parent is g.mechanism.ground and not body.translations and bool(body.rotations)


def stands(g: Geometry, body: Body) -> bool:
    """Whether a body turns on the ground about an upright axis, and so is on a pedestal."""
    if not _anchored(g, body):
        return False
    axis = g.axis(body)
    return axis is None or abs(float(axis @ g.up)) > 0.7


def _fixed_axis(g: Geometry, body: Body) -> Array:
    return g.vector(body.frame.spins[0][1], g.mechanism.ground.frame)


def _pedestal(at: Array, up: Array, radius: float, height: float) -> list[Solid]:
    return [
        disc(at - 0.5 * height * up, up, 2.5 * radius, height, FIXED),
        disc(at - (height + 0.4 * radius) * up, up, 4.4 * radius, 0.8 * radius, FIXED),
    ]


def tuple3(p: Array) -> tuple[float, float, float]:
    """Return three components as plain numbers."""
    x, y, z = map(float, p)
    return x, y, z


def strut(span: Span, length: float, size: float) -> tuple[list[Solid], list[Solid]]:
    """Return what stands at either end of a span, each along z toward the other end."""
    radius = 0.5 * _THICK * size
    if span.rigid:
        return [rod((0, 0, 0), (0, 0, length), 0.7 * radius, METAL)], []
    barrel, piston = 0.55 * length, 0.62 * length
    first = [
        Solid("cylinder", (1.3 * radius, barrel), Place((0.0, 0.0, barrel / 2)), JOINT),
        Solid("sphere", (1.5 * radius,), Place(), METAL),
        *([] if span.driven else _coils(barrel, 1.9 * radius)),
    ]
    second = [
        Solid("cylinder", (0.55 * radius, piston), Place((0.0, 0.0, piston / 2)), METAL),
        Solid("sphere", (1.5 * radius,), Place(), METAL),
    ]
    return first, second


def _coils(length: float, radius: float) -> list[Solid]:
    """Return rings that read as a spring."""
    return [
        Solid("tire", (radius, 0.35 * radius), Place((0.0, 0.0, length * (0.2 + 0.1 * k))), ACCENT)
        for k in range(8)
    ]


# Turns of z to x and to y, and the colors of the three.
_GLYPH: tuple[tuple[Rotation | None, Color], ...] = (
    (turned((0, 1, 0), math.pi / 2), color("#d0453a")),
    (turned((1, 0, 0), -math.pi / 2), color("#3f9950")),
    (None, color("#3a6fc9")),
)
_ROUND = {
    "cylinder": 1.0,
    "capsule": 1.0,
    "cone": 1.0,
    "bars": 1.0,
    "x-cylinder": 0.5,
    "x-cone": 0.5,
}


def thickness(solids: Sequence[Solid]) -> float | None:
    """Return the radius of the last round solid, m, or None where there is none."""
    for solid in reversed(solids):
        kind = solid.kind.removesuffix(" wire")
        if kind in _ROUND:
            return _ROUND[kind] * solid.size[0]
    return None


def glyph(place: Place, length: float) -> list[Solid]:
    """Return three arrows along the axes of a frame: x red, y green, z blue.

    >>> len(glyph(Place(), 0.1))
    7
    """
    shaft, head = 0.74 * length, 0.26 * length
    made = [Solid("sphere", (0.08 * length,), place, PALE)]
    for turn, tint in _GLYPH:
        along = place if turn is None else Place(place.position, product(place.rotation, turn))
        for kind, size, middle in (
            ("cylinder", (0.045 * length, shaft), shaft / 2),
            ("cone", (0.11 * length, 0.0, head), shaft + head / 2),
        ):
            made.append(Solid(kind, size, composed(along, Place((0.0, 0.0, middle))), tint))
    return made
