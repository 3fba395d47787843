"""Articulated bodies: accelerations of a tree without its mass matrix, in time of order n.

Each link with what hangs on it answers an acceleration of its reference point with a force that is
linear in it: n = J alpha + H a + p, F = Hᵀ alpha + M a + s (Featherstone 1983). Going inward, one
speed of a joint after the other is eliminated from that law, which is then turned and moved to the
parent; going outward, the rates of the speeds follow. Velocity terms and gravity are in the bias
forces that the recursion with all rates zero finds, so that the elimination is that of a linear
system and no more. It pays for long chains; for short ones the composite mass matrix is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, total
from linkwright.equations.choices import Choices
from linkwright.equations.inertia import symmetric
from linkwright.equations.links import Link, make_links, turned_symmetric
from linkwright.equations.tree import armature_inertias, bias_forces
from linkwright.equations.writer import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    Writer,
    add,
    apply,
    cross,
    dot,
    is_nothing,
    times,
    transposed,
)
from linkwright.mechanism import Body, Kinematics


@dataclass(slots=True)
class _Law:
    """How a link answers: blocks of its articulated inertia, and its bias moment and force."""

    turning: Matrix
    mixed: Matrix
    moving: Matrix
    moment: Triple = NOTHING
    force: Triple = NOTHING


@dataclass(slots=True)
class _Step:
    """One eliminated speed: index, partial velocities, U = I s, D = s U, and what drives it."""

    index: int
    omega: Triple
    velocity: Triple
    moment: Triple
    force: Triple
    inertia: Expr
    drive: Expr


def articulated(
    kinematics: Kinematics, writer: Writer, choices: Choices | None = None
) -> tuple[Expr, ...]:
    """Return the rates of the speeds of a tree.

    Args:
        kinematics: of the mechanism.
        writer: receives the intermediate results.
        choices: for the bodies; the usual ones by default.
    """
    links = make_links(kinematics, writer, choices)
    own, driven = bias_forces(kinematics, writer, links)
    laws = {b: _rigid(link, *own[b]) for b, link in links.items()}
    rotor = armature_inertias(kinematics)
    answers: dict[Body, list[_Step]] = {}
    for body in reversed(list(links)):
        link, law = links[body], laws[body]
        answers[body] = []
        for index, omega, velocity in reversed(link.speeds):
            step = _step(writer, law, index, omega, velocity, driven[index], rotor[index])
            answers[body].append(step)
            law = _without(writer, law, step)
        parent = body.parent
        assert parent is not None
        if parent in links:
            laws[parent] = _sum(writer, laws[parent], _carried(writer, law, link))
    return _outward(kinematics, writer, links, answers)


def _rigid(link: Link, moment: Triple, force: Triple) -> _Law:
    m, (x, y, z) = link.moments.mass, link.moments.first
    mixed: Matrix = ((ZERO, -z, y), (z, ZERO, -x), (-y, x, ZERO))
    moving: Matrix = ((m, ZERO, ZERO), (ZERO, m, ZERO), (ZERO, ZERO, m))
    return _Law(link.moments.tensor(), mixed, moving, moment, force)


def _step(
    writer: Writer,
    law: _Law,
    index: int,
    omega: Triple,
    velocity: Triple,
    driven: Expr,
    rotor: Expr,
) -> _Step:
    moment = writer.triple(add(apply(law.turning, omega), apply(law.mixed, velocity)))
    force = writer.triple(add(apply(transposed(law.mixed), omega), apply(law.moving, velocity)))
    inertia = writer.hold(total([dot(omega, moment), dot(velocity, force), rotor]))
    drive = writer.hold(total([driven, -dot(omega, law.moment), -dot(velocity, law.force)]))
    return _Step(index, omega, velocity, moment, force, inertia, drive)


def _without(writer: Writer, law: _Law, step: _Step) -> _Law:
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
    return _Law(turning, mixed, moving, moment, force)


def _carried(writer: Writer, law: _Law, link: Link) -> _Law:
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
    return _Law(turning, mixed, moving, moment, force)


def _sum(writer: Writer, a: _Law, b: _Law) -> _Law:
    hold = writer.hold
    return _Law(
        symmetric(lambda i, j: hold(a.turning[i][j] + b.turning[i][j])),
        _matrix(lambda i, j: hold(a.mixed[i][j] + b.mixed[i][j])),
        symmetric(lambda i, j: hold(a.moving[i][j] + b.moving[i][j])),
        writer.triple(add(a.moment, b.moment)),
        writer.triple(add(a.force, b.force)),
    )


def _outward(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, Link],
    answers: dict[Body, list[_Step]],
) -> tuple[Expr, ...]:
    rates: dict[int, Expr] = {}
    found: dict[Body, tuple[Triple, Triple]] = {}
    for body, link in links.items():
        parent = body.parent
        assert parent is not None
        alpha, acceleration = NOTHING, NOTHING
        if parent in links and not kinematics.motions[body].absolute:
            above, moved = found[parent]
            alpha = writer.triple(apply(link.rotation, above))
            reached = writer.triple(add(moved, cross(above, link.arm)))
            acceleration = writer.triple(apply(link.rotation, reached))
        for step in reversed(answers[body]):
            felt = total([step.drive, -dot(step.moment, alpha), -dot(step.force, acceleration)])
            rate = rates[step.index] = writer.hold(writer.hold(felt) / step.inertia)
            alpha = writer.triple(add(alpha, times(rate, step.omega)))
            acceleration = writer.triple(add(acceleration, times(rate, step.velocity)))
        found[body] = alpha, acceleration
    return tuple(rates[k] for k in range(len(rates)))


def _matrix(entry: Callable[[int, int], Expr]) -> Matrix:
    a, b, c = ((entry(i, 0), entry(i, 1), entry(i, 2)) for i in range(3))
    return a, b, c
