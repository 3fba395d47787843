"""Velocities and accelerations of the bodies of a tree, as expressions along their own axes.

Unlike the formulations, which never need accelerations whole, these hold the symbols of the rates
of the speeds, and belong to each body's origin. Energies, momenta and reactions are made of them,
with each body's own inertia (nothing is lumped), so that they check the equations of motion.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.algebra import ONE, Expr
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    is_nothing,
    subtract,
    times,
    transposed,
)
from linkwright.mechanism import Body, Kinematics

_TWO = ONE + ONE


@dataclass(frozen=True, slots=True)
class BodyTerms:
    """One body; `rotation` has its axes in those of the parent, `arm` goes to it from the parent.

    `arm` is along the parent's axes, everything else along the body's own; `velocity` and
    `acceleration` are those of its origin.
    """

    rotation: Matrix
    arm: Triple
    omega: Triple
    velocity: Triple
    alpha: Triple
    acceleration: Triple


GROUND = BodyTerms(IDENTITY, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)


def body_terms(kinematics: Kinematics) -> dict[Body, BodyTerms]:
    """Return velocities and accelerations of every body, parents first."""
    result: dict[Body, BodyTerms] = {}
    for body in kinematics.mechanism.depth_first():
        assert body.parent is not None
        result[body] = _next(kinematics, body, result.get(body.parent, GROUND))
    return result


def _next(kinematics: Kinematics, body: Body, above: BodyTerms) -> BodyTerms:
    motion = kinematics.motions[body]
    assert body.parent is not None
    base, frame = body.parent.frame, body.frame
    x, y, z = frame.axes
    turn: Matrix = (x.components(base), y.components(base), z.components(base))
    arm = body.from_parent.components(base)
    spin = slide = twist = push = NOTHING
    for speed in motion.speeds:
        u, rate = speed.symbol, kinematics.accelerations[speed.symbol]
        w, v = speed.omega.components(frame), speed.velocity.components(frame)
        spin, slide = add(spin, times(u, w)), add(slide, times(u, v))
        twist, push = add(twist, times(rate, w)), add(push, times(rate, v))
    carried = apply(turn, above.omega)
    omega = add(carried, spin)
    alpha = add(apply(turn, above.alpha), cross(carried, spin), twist)
    if motion.absolute:
        reference = motion.reference.components(frame)
        velocity = subtract(slide, cross(omega, reference))
        acceleration = subtract(add(push, cross(omega, slide)), swung(omega, alpha, reference))
    else:
        velocity = add(apply(turn, add(above.velocity, cross(above.omega, arm))), slide)
        moved = add(
            above.acceleration,
            swung(above.omega, above.alpha, arm),
            times(_TWO, cross(above.omega, apply(transposed(turn), slide))),
        )
        acceleration = add(apply(turn, moved), push)
    return BodyTerms(turn, arm, omega, velocity, alpha, acceleration)


def swung(omega: Triple, alpha: Triple, r: Triple) -> Triple:
    """Return alpha x r + omega x (omega x r)."""
    if is_nothing(r):
        return NOTHING
    return add(cross(alpha, r), cross(omega, cross(omega, r)))


def own_tensor(body: Body) -> Matrix:
    """Return a body's inertia tensor about its mass center."""
    xx, yy, zz, xy, yz, zx = body.inertia.tensor
    return (xx, xy, zx), (xy, yy, yz), (zx, yz, zz)


def geared(kinematics: Kinematics) -> list[tuple[Expr, Expr]]:
    """Return (inertia, speed) of geared rotors."""
    armatures = kinematics.mechanism.armatures
    return [(armatures[s.body], s.symbol) for s in kinematics.speeds if s.body in armatures]
