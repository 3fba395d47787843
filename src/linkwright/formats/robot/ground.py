"""A ground for robots from files: contact elements at the points with which they can touch it.

The points are those of `linkwright.formats.robot.touch_points`. Each meets a level plane with a
spring and a damper of Hunt and Crossley's kind along the normal, and sticks or slips along it
(`linkwright.elements.Contact`). The spring is so stiff that the robot sinks in by a millimeter when
it stands on its feet (on all points, where it has none). A ball is met by its lowest point, but
friction acts at its center: it does not roll. For what rolls there is
`linkwright.elements.RoundContact`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.algebra import constant
from linkwright.algebra.evaluate import evaluate_all
from linkwright.base.errors import InputError
from linkwright.elements import Contact, Plane
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.names import code_names
from linkwright.formats.robot.to_mechanism import Assembled
from linkwright.formats.robot.touch_points import (
    Standing,
    Touch,
    free_base,
    level_axes,
    standing,
    touch_shapes,
    touches_of,
)
from linkwright.formats.robot.transforms import composed
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.system import System

GROUND = "ground"
"""The name of the contact elements; others with further radii are numbered."""

_SINK = 1e-3  # m that a foot sinks into the ground when the robot stands
_TOUCH = 1e-9  # m that the lowest foot is in it at the start
_DISSIPATION = 2.0  # s/m
_STATIC, _DYNAMIC = 0.9, 0.8
_WEIGHT = 9.81  # N/kg, of what stands


def add_ground(
    system: System, touches: Sequence[Touch], height: float = 0.0, up: Sequence[float] = (0, 0, 1)
) -> dict[str, float]:
    """Let the points of a robot touch a level ground; return its stiffness, N/m, by parameter."""
    m = system.mechanism
    mass = _mass(m)
    feet = sum(t.foot for t in touches) or len(touches)
    stiff = mass * _WEIGHT / (feet * _SINK)
    light = mass / 50  # about what a foot feels like
    along = np.array(up, float)
    x, y, z = map(tuple, level_axes(along).tolist())
    found = {}
    words = _labels(touches)
    for k, radius in enumerate(sorted({t.radius for t in touches})):
        here = [n for n, t in enumerate(touches) if t.radius == radius]
        points = [m.point_of(touches[n].body, tuple(map(constant, touches[n].at))) for n in here]
        contact = Contact(
            m,
            points,
            Plane(center=tuple((height + radius) * along), rotation=(x, y, z)),
            stiffness=stiff,
            dissipation=_DISSIPATION,
            static=_STATIC,
            dynamic=_DYNAMIC,
            tangential_damping=math.sqrt(stiff * light),
            labels=[words[n] for n in here],
        )
        contact.floors[:] = [(tuple(map(float, height * along)), tuple(map(float, along)))]
        for label, point in zip(contact.labels, points, strict=True):
            contact.show_force(f"force{label}", at=point, touch=f"depth{label}", below=radius)
        member = system.add(contact, name=GROUND if k == 0 else f"{GROUND}{k + 1}")
        found[f"{member.name}.stiffness"] = stiff
    return found


def _labels(touches: Sequence[Touch]) -> list[str]:
    """Return words for points: the links that they are on, with a number where these have more."""
    found: list[str] = []
    for n, touch in enumerate(touches):
        own = [k for k, other in enumerate(touches) if other.link == touch.link]
        found.append(f"{touch.link}_{own.index(n) + 1}" if len(own) > 1 else touch.link)
    given = code_names(found)
    return [given[x] for x in found]


def _mass(m: Mechanism) -> float:
    given = {s: float(m.values.get(n, 0.0)) for n, s in m.parameters.items()}
    return float(sum(evaluate_all([b.inertia.mass for b in m.depth_first()], given)))


@dataclass(frozen=True, slots=True, eq=False)
class Grounded:
    """What of a robot can touch which ground."""

    assembled: Assembled  # the robot
    touches: tuple[Touch, ...]  # the points
    height: float  # of the ground along `up`, m
    up: tuple[float, float, float]  # against gravity, in the world's axes
    notes: tuple[str, ...] = ()  # what to say of it, in sentences
    meshes: bool = False  # whether files besides the robot's own say where it touches

    def add_to(self, system: System) -> dict[str, float]:
        """Add the contact elements to a System; return the stiffness by the parameters' names."""
        system.notes += self.notes
        return add_ground(system, self.touches, self.height, self.up)

    def lifted(self, start: Mapping[str, float]) -> dict[str, float]:
        """Return coordinates of a free base that bring it up onto the ground, which it touches.

        It is in by a nanometer: what is at the border but for rounding begins and ceases to touch
        without end.
        """
        m = self.assembled.mechanism
        base = free_base(m)
        where = standing(self.assembled, start)
        missing = self.height - min(float(where.heights(t).min()) for t in self.touches)
        if base is None or missing <= 0 or {q.name for q, _ in base.translations} & set(start):
            return {}
        found = {}
        for q, along in base.translations:
            share = np.array(evaluate_all(along.components(m.ground.frame), {}), float)
            moved = (missing - _TOUCH) * float(share @ np.array(self.up))
            if moved:
                found[q.name] = float(m.initial.get(q.name, 0.0)) + moved
        return found


def grounded(
    robot: Any, height: float | None = None, *, roots: Sequence[str | Path] = ()
) -> Grounded:
    """Return what of a robot from a file can touch the ground."""
    m = mechanism_of(robot)
    known = m.provenance
    if known is None or known.robot is None:
        raise InputError(
            f"{m.name!r} does not come from a robot file, so nothing says where it can touch",
            remedy="add linkwright.elements.Contact with points of it",
        )
    description, assembled = known.robot
    found = ground_of(description, assembled, height, roots=roots)
    if not found.touches:
        why = found.notes[0] if found.notes else "none of its bodies that move has a shape"
        raise InputError(f"{m.name!r} has nothing to touch the ground with: {why}")
    return found


def ground_of(
    description: Description,
    assembled: Assembled,
    height: float | None = None,
    *,
    roots: Sequence[str | Path] = (),
) -> Grounded:
    """Return what of a robot can touch the ground, which may be nothing."""
    notes: list[str] = []
    where = standing(assembled)
    touches = touches_of(touch_shapes(description, assembled, roots, notes=notes), where)
    x, y, z = map(float, where.up)
    floor = _own_floor(description, assembled, where) if height is None else float(height)
    balls = sum(t.radius > 0 for t in touches)
    words = f"{len(touches)} point(s) can touch the ground at the height {floor:g} m"
    if balls:
        words += f", {balls} of them centers of balls, at which friction acts"
    meshes = any(s.kind == "mesh" for link in description.links for s in link.shapes)
    return Grounded(
        assembled, touches, floor, (x, y, z), (words, *notes) if touches else tuple(notes), meshes
    )


def _own_floor(description: Description, assembled: Assembled, where: Standing) -> float:
    """Return the height of a level plane that the file lays, else 0."""
    for link in description.links:
        body, place = assembled.places[link.name]
        for shape in link.shapes:
            if shape.kind != "plane" or body.parent is not None:
                continue
            at = composed(place, shape.place)
            if float(np.array(at.rotation)[:, 2] @ where.up) > 0.9999:
                return float(np.array(at.position) @ where.up)
    return 0.0
