"""Scenes of mechanisms: generated shapes, rails, struts, and the looks of the shipped models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.rotations import quaternion_matrix
from linkwright.formats.robot.description import Description, Place
from linkwright.mechanism import Body, Mechanism
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.robots import Robot
from linkwright.robots.fixed_frames import spot_in
from linkwright.scene.body_geometry import Array, Geometry, body_rows
from linkwright.scene.default_shapes import generated, glyph, strut, thickness
from linkwright.scene.link_shapes import own_solids, summary
from linkwright.scene.poses import Hanging, Poses
from linkwright.scene.scene import GROUND, TOOLS, Marked, Scene, SceneNode
from linkwright.scene.solids import Solid
from linkwright.scene.wheels import Wheel


def mechanism_scene(
    robot: Robot,
    values: dict[str, float],
    at: dict[str, float],
    known: Poses | None = None,
    reach: Mapping[str, tuple[float, float]] | None = None,
    wheels: tuple[Wheel, ...] = (),
    roots: Sequence[str | Path] = (),
) -> Scene:
    """Return the scene of a mechanism, with its own shapes and generated ones."""
    from linkwright.scene.model_shapes import look_of

    m = robot.mechanism
    at = at or _assembled(m, values)
    tool = _tool(robot)
    tips = ends_of(robot) | ({} if tool is None else {tool[0]: tool[1].position})
    level = isinstance(robot.source, Description)
    rolling = {w.body: w.radius for w in wheels}
    geometry = Geometry(m, values, at, tips, level, reach or {}, rolling)
    bodies = [m.ground, *m.depth_first()]
    hanging: list[Hanging] = [spot_in(body, Place()) for body in bodies]
    for span in geometry.spans:
        hanging += [(span.first, span.second), (span.second, span.first)]
    poses = Poses(robot, hanging, values)
    if known is not None and len(known.hanging) == len(hanging):  # it is compiled already
        poses = known.with_parameters(values)
    start = np.array(
        [at.get(name, q) for name, q in zip(poses.coordinates, poses.start, strict=True)]
    )
    now = poses(start).poses
    arms = [arm for found in geometry.arms.values() for arm in found]
    if not np.isfinite(now).all() or not np.isfinite(np.array(arms)).all():
        refuse_unreal(m, values)
        raise InputError(f"{m.name!r} cannot be drawn: a place in it is not finite")
    size = _size(geometry, bodies, now)
    solids = generated(geometry, size)
    look = look_of(m.name)
    if look is not None:
        # A mechanism that only bears the name of a shipped one keeps its generated shapes.
        with suppress(KeyError):
            known_as = {**m.bodies, "n": m.ground}
            solids.update({known_as[n]: s for n, s in look(geometry).items() if n in known_as})
    if tool is not None:
        long = 2 * (thickness(solids[tool[0]]) or 0.01 * size)
        solids[tool[0]] = [*solids[tool[0]], *glyph(tool[1], long)]
    notes: list[str] = []
    solids.update(own_solids(geometry, bodies, roots, notes))
    nodes = [_node(geometry, body, solids.get(body, [])) for body in bodies]
    for k, span in enumerate(geometry.spans):
        row = len(bodies) + 2 * k
        length = float(np.linalg.norm(now[row, :3] - now[row + 1, :3]))
        for end, parts in zip(("", " end"), strut(span, length, size), strict=True):
            nodes.append(SceneNode(span.name + end, tuple(parts), doc="strut"))
    x, y, z = map(float, geometry.up)
    floor = _floor(geometry, bodies, now)
    frames = _frames(robot)
    made = Scene(
        m.name, m.doc, robot, tuple(nodes), poses, (x, y, z), geometry.falls, floor, frames
    )
    made.reach, made.wheels = geometry.reach, wheels
    made.notes, made.roots = summary(notes), tuple(roots)
    return made


def ends_of(robot: Robot) -> dict[Body, tuple[float, float, float]]:
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
        return dict(assemble(mechanism, parameters=values or None).coordinates)
    except Error:
        return {}


def _node(geometry: Geometry, body: Body, solids: Sequence[Solid]) -> SceneNode:
    if body.parent is None:
        return SceneNode(GROUND, tuple(solids), doc="what stands still", moves=False)
    parent = GROUND if body.parent.parent is None else body.parent.name
    mass = geometry.mass(body)
    return SceneNode(body.name, tuple(solids), parent, body.doc, mass, can_move(body))


def can_move(body: Body | None) -> bool:
    """Return whether there is a joint between a body and the ground."""
    while body is not None:
        if body.translations or body.rotations:
            return True
        body = body.parent
    return False


def _frames(robot: Robot) -> tuple[Marked, ...]:
    row = body_rows(robot.mechanism)
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
        info = [frame.name for frame in robot.source.frames]
        named = [n for n in info if n in there and not n.endswith("_dh")][-1:]
    return (last, there[named[0]]) if named and last is not None else None


def _size(geometry: Geometry, bodies: Sequence[Body], now: Array) -> float:
    """Return the extent of all places where something hangs, m."""
    points = []
    for k, body in enumerate(bodies):
        turn = quaternion_matrix(now[k, 3:])
        local = [np.zeros(3), *geometry.arms[body]]
        if body.parent is not None and geometry.mass(body) > 0:
            local.append(geometry.center(body))
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
    from linkwright.scene.model_shapes import FLOORS

    heights = [
        float(now[k, :3] @ geometry.up) - geometry.wheels[body]
        for k, body in enumerate(bodies)
        if body in geometry.wheels
    ]
    if heights:
        return min(heights)
    return FLOORS.get(geometry.mechanism.name)
