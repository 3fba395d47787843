"""Scenes of robot files: their own shapes, and what stands around the robot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkwright.formats.robot.description import Description, Place
from linkwright.mechanism import Body
from linkwright.robots import Robot
from linkwright.robots.fixed_frames import spot_in
from linkwright.scene.body_geometry import Array, Geometry, body_rows
from linkwright.scene.default_shapes import generated
from linkwright.scene.link_shapes import own_solids, solid_of, summary
from linkwright.scene.mechanism_scene import can_move, ends_of
from linkwright.scene.poses import Poses
from linkwright.scene.scene import GROUND, WORLD, Marked, Scene, SceneNode
from linkwright.scene.solids import Solid


def file_scene(robot: Robot, description: Description, roots: Sequence[str | Path]) -> Scene:
    """Return the scene of a robot file that says itself what is seen."""
    places, m = robot.assembled.places, robot.mechanism
    row = body_rows(m)
    bodies = list(row)
    names = {body: body.name for body in bodies}
    names |= {joint.body: joint.child for joint in robot.assembled.joints}
    names[m.ground] = GROUND
    solids: list[list[Solid]] = [[] for _ in bodies]
    around: dict[str, list[Solid]] = {name: [] for name in _around(description)}
    g, floor = Geometry(m), None
    up = g.up
    notes: list[str] = []
    seen = {places[link.name][0] for link in description.links if any(s.seen for s in link.shapes)}
    for link in description.links:
        body, place = places[link.name]
        for shape in link.shapes:
            shown = shape.seen or body not in seen  # what is only touched, where nothing else is
            named = (link.name, shape, place, description.source)
            made = solid_of(*named, roots, notes) if shown else None
            if made is not None and link.name in around and _is_ground(made, up):
                floor = float(np.array(made.place.position) @ up)
            elif made is not None:
                around.get(link.name, solids[row[body]]).append(made)
    info = {body for body, _ in places.values()}
    if not seen:  # nothing but what is touched: rods between the joints too
        plain = generated(Geometry(m, {}, {}, ends_of(robot), True), _extent(robot, bodies))
        for k, body in enumerate(bodies):
            own = plain.get(body, [])
            solids[k] += [s for s in own if s.kind != "box"] if solids[k] else own
    elif notes or not info.issuperset(bodies):  # without meshes, or added since: drawn by rods
        plain = generated(g, _extent(robot, bodies))
        for k, body in enumerate(bodies):
            solids[k] = solids[k] or list(plain.get(body, ()))
    for body, added in own_solids(g, bodies, roots, notes).items():
        solids[row[body]] = added
    nodes = []
    for k, body in enumerate(bodies):
        parent, mass = ("", 0.0) if body.parent is None else (names[body.parent], g.mass(body))
        nodes.append(SceneNode(names[body], tuple(solids[k]), parent, "", mass, can_move(body)))
    things = {name: tuple(found) for name, found in around.items() if found}
    for name, found in things.items():
        nodes.append(SceneNode(name, found, GROUND, "environment", moves=False, environment=True))
    hanging = [spot_in(body, Place()) for body in (*bodies, *[m.ground] * len(things))]
    poses = Poses(robot, hanging)
    frames = tuple(Marked(name, row[body], place) for name, (body, place) in places.items())
    x, y, z = map(float, up)
    missing = summary(notes)
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
        if joint.kind == "weld":
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
            if joint.parent == link and joint.kind == "weld" and joint.child not in carries:
                found.append(joint.child)
    return found


def _is_ground(solid: Solid, up: Array) -> bool:
    """Whether a plane is level, and so is the ground itself."""
    return solid.kind == "plane" and float(np.array(solid.place.rotation)[:, 2] @ up) > 0.9999


def _extent(robot: Robot, bodies: Sequence[Body]) -> float:
    poses = Poses(robot, [spot_in(body, Place()) for body in bodies])
    where = poses(poses.start).poses[:, :3]
    return float(np.linalg.norm(np.ptp(where, axis=0))) or 1.0
