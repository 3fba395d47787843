"""Transmission angles: between a driven link and the next one, at the joint where they meet.

A crank drives the next link best at a right angle, and not at all where both lie on one line (Alt,
Werkstattstechnik 26, 1932). Which bodies of the tree and which closed joints stand for a link does
not matter here: the machine is taken as a graph of links and joints. The halves of a leg that
slide in each other are one link, a massless cross of a universal joint belongs to what it carries,
and driven struts and massless rods are links too. Legs that end at the platform have no next link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from linkwright.algebra import ZERO, Vector
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.mechanism import Body, Constraint, Point

Link: TypeAlias = Body | str
Place: TypeAlias = Callable[[Vector], list[float]]
_APART = 1e-6  # m


@dataclass(frozen=True, slots=True, eq=False)
class _LinkJoint:
    """A joint between two links, at a point of one of them."""

    name: str
    links: tuple[Link, Link]
    at: Point

    def other(self, link: Link) -> Link:
        """Return the link on the other side."""
        return self.links[1] if self.links[0] is link else self.links[0]


class _Graph:
    """The links of a machine and the joints between them."""

    def __init__(self, machine: ParallelMachine) -> None:
        self.machine = machine
        mechanism = machine.mechanism
        self.ground = mechanism.ground
        self._into: dict[Body, Body] = {}
        sliders = {s.slider for s in mechanism.driven_struts}
        bodies = [b for b in mechanism.bodies.values() if b not in sliders and b is not self.ground]
        for body in bodies:
            parent = body.parent
            if parent is None or parent is self.ground:
                continue
            slides = bool(body.translations) and not body.rotations
            if slides or parent.inertia.mass is ZERO:
                self._into[body] = parent
        self.joints = [
            _LinkJoint(b.name, (self.link(b), self.link(b.parent)), b.origin)
            for b in bodies
            if b.parent is not None and self.link(b) is not self.link(b.parent)
        ]
        self.joints += [
            _LinkJoint(loop.name, (self.link(loop.first.body), self.link(loop.second.body)), at)
            for loop in mechanism.loops
            for at in (loop.first,)
        ]
        known = [{s.first, s.second} for s in mechanism.driven_struts]
        for strut in mechanism.driven_struts:
            self._rod(strut.name, strut.first, strut.second)
        for constraint in mechanism.constraints:
            ends = _rod_ends(constraint)
            if ends is not None and set(ends) not in known:
                self._rod(constraint.name, *ends)

    def _rod(self, name: str, *ends: Point) -> None:
        """Add a link without a body between two points."""
        for end in ends:
            self.joints.append(_LinkJoint(name, (name, self.link(end.body)), end))

    def link(self, body: Body) -> Body:
        """Return the first body of a link."""
        while body in self._into:
            body = self._into[body]
        return body

    def of(self, link: Link) -> list[_LinkJoint]:
        """Return the joints of a link."""
        return [j for j in self.joints if any(one is link or one == link for one in j.links)]

    def driven(self) -> list[tuple[Link, _LinkJoint | None]]:
        """Return the link that each actuator moves, and its joint where that turns."""
        mechanism = self.machine.mechanism
        struts = {s.length: s.name for s in mechanism.driven_struts}
        found: list[tuple[Link, _LinkJoint | None]] = []
        for q in self.machine.actuators:
            if q in struts:
                found.append((struts[q], None))
                continue
            body = next(b for b in mechanism.bodies.values() if q in b.coordinates)
            link = self.link(body)
            turned = q in body.rotations
            own = next((j for j in self.joints if turned and j.at is body.origin), None)
            found.append((link, own))
        return found


def _rod_ends(constraint: Constraint) -> tuple[Point, Point] | None:
    """Return the ends of a massless rod, where a relation is one."""
    if len(constraint.works) != 1 or constraint.works[0].turns:
        return None
    work = constraint.works[0]
    rest = work.direction - (work.point.position - work.reaction.position)
    same = all(x is ZERO for x in rest.components(work.point.body.frame))
    return (work.point, work.reaction) if same else None


def driven_angles(machine: ParallelMachine, place: Place) -> list[tuple[str, Vector, Vector]]:
    """Return for each joint at which an actuator drives a link both links, as vectors from it."""
    graph = _Graph(machine)
    platform = graph.link(machine.platform.point.body)
    found: list[tuple[str, Vector, Vector]] = []
    for link, own in graph.driven():
        for joint in graph.of(link):
            after = joint.other(link)
            if joint is own or after is graph.ground or (own is None and after is platform):
                continue
            first = own or _far(graph, link, joint, place)
            second = _far(graph, after, joint, place)
            if first is not None and second is not None:
                here = joint.at.position
                vectors = first.at.position - here, second.at.position - here
                if min(_size(place, v) for v in vectors) > _APART:
                    found.append((joint.name, *vectors))
    return found


def _far(graph: _Graph, link: Link, joint: _LinkJoint, place: Place) -> _LinkJoint | None:
    """Return another joint of a link: one on the ground, or else the farthest."""
    others = [j for j in graph.of(link) if j is not joint]
    sizes = {j.name: _size(place, j.at.position - joint.at.position) for j in others}
    others = [j for j in others if sizes[j.name] > _APART]
    if not others:
        return None
    return max(others, key=lambda j: (j.other(link) is graph.ground, sizes[j.name]))


def _size(place: Place, v: Vector) -> float:
    return float(np.linalg.norm(place(v)))
