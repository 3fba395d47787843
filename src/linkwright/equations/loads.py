"""Active forces and moments on a mechanism.

A load between a body and the ground becomes a force and a moment on that body, which the inward
recursion carries to the joints. A load between two moving bodies does no work on the motion that
both share, so it is projected only on the speeds below their common ancestor; a torque in a joint
acts on that joint alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, Frame, Vector
from linkwright.algebra.triples import NOTHING, Triple, add
from linkwright.mechanism import Body, Kinematics, Point


@dataclass(frozen=True, slots=True)
class Load:
    """Force, and moment about the body's origin, in the components of some frame."""

    force: Triple = NOTHING
    moment: Triple = NOTHING


def external_loads(kinematics: Kinematics, frames: dict[Body, Frame]) -> dict[Body, Load]:
    """Return what the ground does to each body, in the components of the given frames."""
    mechanism = kinematics.mechanism
    result: dict[Body, Load] = {}

    def put(body: Body, force: Vector | None, moment: Vector | None) -> None:
        frame = frames[body]
        old = result.get(body, Load())
        f = NOTHING if force is None else force.components(frame)
        t = NOTHING if moment is None else moment.components(frame)
        result[body] = Load(add(old.force, f), add(old.moment, t))

    for load in mechanism.forces:
        pair = _on_ground(load.point.body, load.reaction)
        if pair is None:
            continue
        body, sign = pair
        push = load.direction * (load.magnitude * sign)
        place = load.point
        local = place.local if place.body is body else place.position - body.origin.position
        put(body, push, local ^ push)
    for couple in mechanism.moments:
        pair = _on_ground(couple.body, couple.reaction)
        if pair is not None:
            put(pair[0], None, couple.direction * (couple.magnitude * pair[1]))
    return result


def _on_ground(first: Body, second: Body) -> tuple[Body, int] | None:
    """Return the moving body and the sign of the load on it, where the other is the ground."""
    if second.parent is None and first.parent is not None:
        return first, 1
    if first.parent is None and second.parent is not None:
        return second, -1
    return None


def internal_forces(kinematics: Kinematics) -> Iterator[tuple[int, Expr]]:
    """Yield what loads between two moving bodies add to the right side, by index of speed."""
    mechanism = kinematics.mechanism
    places: dict[Body, list[int]] = {body: [] for body in mechanism.bodies.values()}
    for k, speed in enumerate(kinematics.speeds):
        places[speed.body].append(k)
    for load in mechanism.forces:
        first, second = load.point.body, load.reaction
        if first is second or first.parent is None or second.parent is None:
            continue
        for body, sign in _apart(first, second):
            for k, partial in _partial_velocities(kinematics, places[body], body, load.point):
                value = load.direction @ partial
                if value is not ZERO:
                    yield k, load.magnitude * value * sign
    for couple in mechanism.moments:
        first, second = couple.body, couple.reaction
        if first is second or first.parent is None or second.parent is None:
            continue
        for body, sign in _apart(first, second):
            for k in places[body]:
                value = couple.direction @ kinematics.speeds[k].omega
                if value is not ZERO:
                    yield k, couple.magnitude * value * sign


def _apart(first: Body, second: Body) -> Iterator[tuple[Body, int]]:
    """Yield the bodies on the way from the common ancestor to each, with the sign of the load."""
    if first.parent is second:
        yield first, 1
        return
    if second.parent is first:
        yield second, -1
        return
    one, other = first.ancestors(), second.ancestors()
    shared = set(one) & set(other)
    for body in one:
        if body not in shared:
            yield body, 1
    for body in other:
        if body not in shared:
            yield body, -1


def _partial_velocities(
    kinematics: Kinematics, places: Sequence[int], body: Body, point: Point
) -> Iterator[tuple[int, Vector]]:
    """Yield the velocity that each speed of a body's joint gives to a place that moves with it."""
    motion = kinematics.motions[body]
    center = body.origin.position + motion.reference
    arm = point.position - center
    for k in places:
        speed = kinematics.speeds[k]
        yield k, speed.velocity + (speed.omega ^ arm)
