"""Articulated bodies: accelerations of a tree without its mass matrix, in time of order n.

Each link with what hangs on it answers an acceleration of its reference point with a force that is
linear in it: n = J alpha + H a + p, F = Hᵀ alpha + M a + s (Featherstone 1983). Going inward, one
speed of a joint after the other is eliminated from that law, which is then turned and moved to the
parent; going outward, the rates of the speeds follow. Velocity terms and gravity are in the bias
forces that the recursion with all rates zero finds, so that the elimination is that of a linear
system and no more. It pays for long chains; for short ones the composite mass matrix is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, total
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    dot,
    is_nothing,
    times,
    transposed,
)
from linkwright.equations.choices import Choices
from linkwright.equations.inertia import symmetric
from linkwright.equations.links import RecursionLink, make_links, turned_symmetric
from linkwright.equations.rnea import armature_inertias, bias_forces
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics


@dataclass(slots=True)
class Law:
    """How a link answers: blocks of its articulated inertia, and its bias moment and force."""

    turning: Matrix
    mixed: Matrix
    moving: Matrix
    moment: Triple = NOTHING
    force: Triple = NOTHING


@dataclass(slots=True)
class Step:
    """One eliminated speed: index, partial velocities, U = I s, D = s U, and what drives it."""

    index: int
    omega: Triple
    velocity: Triple
    moment: Triple
    force: Triple
    inertia: Expr
    drive: Expr


def articulated(
    kinematics: Kinematics,
    writer: Writer,
    choices: Choices | None = None,
    *,
    efforts: Sequence[Expr] = (),
) -> tuple[Expr, ...]:
    """Return the rates of the speeds of a tree."""
    links = make_links(kinematics, writer, choices)
    own, driven = bias_forces(kinematics, writer, links)
    if efforts:
        driven = [x + effort for x, effort in zip(driven, efforts, strict=True)]
    laws = {b: rigid(link, *own[b]) for b, link in links.items()}
    rotor = armature_inertias(kinematics)
    answers: dict[Body, list[Step]] = {}
    for body in reversed(list(links)):
        link, law = links[body], laws[body]
        answers[body] = []
        for index, omega, velocity in reversed(link.speeds):
            made = step(writer, law, index, omega, velocity, driven[index], rotor[index])
            answers[body].append(made)
            law = without(writer, law, made)
        parent = body.parent
        assert parent is not None
        if parent in links:
            laws[parent] = joined(writer, laws[parent], carried(writer, law, link))
    return _outward(kinematics, writer, links, answers)


def rigid(link: RecursionLink, moment: Triple, force: Triple) -> Law:
    """Return the law of a link alone."""
    m, (x, y, z) = link.moments.mass, link.moments.first
    mixed: Matrix = ((ZERO, -z, y), (z, ZERO, -x), (-y, x, ZERO))
    moving: Matrix = ((m, ZERO, ZERO), (ZERO, m, ZERO), (ZERO, ZERO, m))
    return Law(link.moments.tensor(), mixed, moving, moment, force)


def step(
    writer: Writer,
    law: Law,
    index: int,
    omega: Triple,
    velocity: Triple,
    driven: Expr,
    rotor: Expr,
) -> Step:
    """Return what a speed and its equation are made of."""
    moment = writer.triple(add(apply(law.turning, omega), apply(law.mixed, velocity)))
    force = writer.triple(add(apply(transposed(law.mixed), omega), apply(law.moving, velocity)))
    inertia = writer.hold(total([dot(omega, moment), dot(velocity, force), rotor]))
    drive = writer.hold(total([driven, -dot(omega, law.moment), -dot(velocity, law.force)]))
    return Step(index, omega, velocity, moment, force, inertia, drive)


def without(writer: Writer, law: Law, step: Step) -> Law:
    """Return the law once a speed has taken the rate that its equation asks for."""
    hold = writer.hold
    inverse = step.inertia**-1
    share = writer.triple(times(inverse, step.moment))
    push = writer.triple(times(inverse, step.force))
    turning = symmetric(lambda i, j: hold(law.turning[i][j] - share[i] * step.moment[j]))
    moving = symmetric(lambda i, j: hold(law.moving[i][j] - push[i] * step.force[j]))
    mixed = _matrix(lambda i, j: hold(law.mixed[i][j] - share[i] * step.force[j]))
    moment = writer.triple(add(law.moment, times(step.drive, share)))
    force = writer.triple(add(law.force, times(step.drive, push)))
    return Law(turning, mixed, moving, moment, force)


def carried(writer: Writer, law: Law, link: RecursionLink) -> Law:
    """Return the law as the parent feels it: turned to its axes, moved to its reference point."""
    hold = writer.hold
    back = transposed(link.rotation)
    force = writer.triple(apply(back, law.force))
    moment = add(apply(back, law.moment), cross(link.arm, force))
    turning, mixed, moving = law.turning, law.mixed, law.moving
    if link.rotation != IDENTITY:
        turning = turned_symmetric(writer, turning, link.rotation)
        moving = turned_symmetric(writer, moving, link.rotation)
        half = _matrix(lambda i, j: hold(dot(back[i], [row[j] for row in mixed])))
        mixed = _matrix(lambda i, j: hold(dot(half[i], back[j])))
    if not is_nothing(link.arm):
        x, y, z = link.arm
        r: Matrix = ((ZERO, -z, y), (z, ZERO, -x), (-y, x, ZERO))
        shifted = _matrix(lambda i, j: hold(mixed[i][j] + dot(r[i], [m[j] for m in moving])))
        old, new = mixed, shifted
        turning = symmetric(
            lambda i, j: hold(
                total([turning[i][j], -dot(old[i], [row[j] for row in r]), dot(r[i], new[j])])
            )
        )
        mixed = new
    return Law(turning, mixed, moving, moment, force)


def joined(writer: Writer, a: Law, b: Law) -> Law:
    """Return the law of two at one place."""
    hold = writer.hold
    return Law(
        symmetric(lambda i, j: hold(a.turning[i][j] + b.turning[i][j])),
        _matrix(lambda i, j: hold(a.mixed[i][j] + b.mixed[i][j])),
        symmetric(lambda i, j: hold(a.moving[i][j] + b.moving[i][j])),
        writer.triple(add(a.moment, b.moment)),
        writer.triple(add(a.force, b.force)),
    )


def _outward(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    answers: dict[Body, list[Step]],
) -> tuple[Expr, ...]:
    rates: dict[int, Expr] = {}
    found: dict[Body, tuple[Triple, Triple]] = {}
    for body, link in links.items():
        parent = body.parent
        assert parent is not None
        held = parent not in links or kinematics.motions[body].absolute
        above = None if held else found[parent]
        found[body] = accelerated(writer, link, answers[body], above, rates)
    return tuple(rates[k] for k in range(len(rates)))


def accelerated(
    writer: Writer,
    link: RecursionLink,
    steps: Sequence[Step],
    above: tuple[Triple, Triple] | None,
    rates: dict[int, Expr],
) -> tuple[Triple, Triple]:
    """Find the rates of a link's speeds; return its angular and translational acceleration."""
    alpha, acceleration = NOTHING, NOTHING
    if above is not None:
        turning, moved = above
        alpha = writer.triple(apply(link.rotation, turning))
        reached = writer.triple(add(moved, cross(turning, link.arm)))
        acceleration = writer.triple(apply(link.rotation, reached))
    for made in reversed(steps):
        felt = total([made.drive, -dot(made.moment, alpha), -dot(made.force, acceleration)])
        rate = rates[made.index] = writer.hold(writer.hold(felt) / made.inertia)
        alpha = writer.triple(add(alpha, times(rate, made.omega)))
        acceleration = writer.triple(add(acceleration, times(rate, made.velocity)))
    return alpha, acceleration


def _matrix(entry: Callable[[int, int], Expr]) -> Matrix:
    a, b, c = ((entry(i, 0), entry(i, 1), entry(i, 2)) for i in range(3))
    return a, b, c
