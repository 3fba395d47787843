"""Velocities and accelerations of the bodies of a tree, as expressions along their own axes.

Unlike the formulations, which never need accelerations whole, these hold the symbols of the rates
of the speeds, and belong to each body's origin. Energies, momenta and reactions are made of them,
with each body's own inertia (nothing is lumped), so that they check the equations of motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from linkwright.algebra import ONE, Expr, Frame
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Hold,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    held,
    is_nothing,
    subtract,
    times,
    transposed,
)
from linkwright.equations.inertia import axes_product
from linkwright.mechanism import Body, Kinematics

_TWO = ONE + ONE


@dataclass(frozen=True, slots=True)
class BodyTerms:
    """How a body moves, along its own axes; `velocity` and `acceleration` are of its origin.

    `rotation` has its axes in those of the parent; `arm` goes to it from the parent, along the
    parent's axes.
    """

    omega: Triple = NOTHING
    velocity: Triple = NOTHING
    alpha: Triple = NOTHING
    acceleration: Triple = NOTHING
    rotation: Matrix = IDENTITY
    arm: Triple = NOTHING


STILL = BodyTerms()


def body_terms(kinematics: Kinematics) -> dict[Body, BodyTerms]:
    """Return velocities and accelerations of every body, parents first."""
    bodies = kinematics.mechanism.depth_first()
    return body_motions(kinematics, bodies, kinematics.accelerations)


def body_motions(
    kinematics: Kinematics,
    bodies: Iterable[Body],
    rates: Mapping[Expr, Expr] | None = None,
    *,
    lift: Triple = NOTHING,
    hold: Hold = lambda x: x,
    between: Callable[[Frame, Frame], Matrix] = axes_product,
) -> dict[Body, BodyTerms]:
    """Return velocities and, where rates of speeds are given, accelerations of bodies.

    Parents come first. `lift` is the acceleration of the ground, `between` gives the axes of a body
    in those of its parent, and `hold` names what is used again.
    """
    found: dict[Body, BodyTerms] = {}
    ground = BodyTerms(acceleration=lift)
    for body in bodies:
        assert body.parent is not None
        turn = between(body.frame, body.parent.frame)
        above = found.get(body.parent, ground)
        found[body] = _next(kinematics, body, turn, above, rates, hold)
    return found


def _next(
    kinematics: Kinematics,
    body: Body,
    turn: Matrix,
    above: BodyTerms,
    rates: Mapping[Expr, Expr] | None,
    hold: Hold,
) -> BodyTerms:
    assert body.parent is not None
    motion = kinematics.motions[body]
    frame, arm = body.frame, body.from_parent.components(body.parent.frame)
    spin = slide = twist = push = NOTHING
    for speed in motion.speeds:
        w, v = speed.omega.components(frame), speed.velocity.components(frame)
        spin, slide = add(spin, times(speed.symbol, w)), add(slide, times(speed.symbol, v))
        if rates is not None:
            rate = rates[speed.symbol]
            twist, push = add(twist, times(rate, w)), add(push, times(rate, v))
    carried = held(hold, apply(turn, above.omega))
    omega = held(hold, add(carried, spin))
    reference = motion.reference.components(frame)
    if motion.absolute:
        velocity = held(hold, subtract(slide, cross(omega, reference)))
    else:
        sweep = add(above.velocity, cross(above.omega, arm))
        velocity = held(hold, add(apply(turn, held(hold, sweep)), slide))
    if rates is None:
        return BodyTerms(omega, velocity, rotation=turn, arm=arm)
    alpha = held(hold, add(apply(turn, above.alpha), cross(carried, spin), twist))
    if motion.absolute:
        lifted = apply(turn, above.acceleration)
        swing = swung(omega, alpha, reference)
        acceleration = subtract(add(push, cross(omega, slide), lifted), swing)
    else:
        moved = add(
            above.acceleration,
            swung(above.omega, above.alpha, arm),
            times(_TWO, cross(above.omega, apply(transposed(turn), slide))),
        )
        acceleration = add(apply(turn, held(hold, moved)), push)
    return BodyTerms(omega, velocity, alpha, held(hold, acceleration), turn, arm)


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
