"""The matrix C(q, u) with C u + g = b, for which M' - 2 C is skew.

Of the many matrices with C u + g = b this is the one of the Christoffel symbols, also where speeds
are not rates of coordinates. A body with mass m, first moment h and second moment S about a point
that moves with v, turning with omega, has the factor (Echeandia and Wensing 2021, which comes out
simple in second moments)

    B = [ -omega^ S - h^ v^   0 ]        with w^ x = w x x, and the momentum
        [      -p^            0 ],       p = m v + omega x h,

acting on (angular, linear) motion. Its block P = -omega^ S - h^ v^ is carried to the parent at -r
as P - r^ p^, and momenta add up. For a speed with the motion s = (a, t) and its rate s',

    C_ij = s_i (I s_j' + B s_j),   C_ji = s_i' I s_j + s_i Bᵀ s_j

for every j and every i at or above it, with I and B of all that j carries.
"""

from __future__ import annotations

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
    held_rows,
    is_nothing,
    subtract,
    times,
    transposed,
)
from linkwright.base.errors import InputError
from linkwright.equations.bodies import BodyTerms
from linkwright.equations.inertia import NO_MASS, Moments, lumped
from linkwright.equations.links import rotation_between, turned_back
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body
from linkwright.program import Program
from linkwright.robots.kinematics import movements, product

_EMPTY: Matrix = (NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class _Speed:
    """A speed's motion (angular, linear) at the body's reference point, and its rate."""

    symbol: Expr
    turn: Triple
    move: Triple
    turn_rate: Triple
    move_rate: Triple


def coriolis(tree: Tree) -> Program:
    """Return the Program of `C`."""
    constant = tree.reduction is None or all(
        x.op == "num" for row in tree.reduction.matrix for x in row
    )
    if not constant:
        raise InputError(
            "the Coriolis matrix is not made for robots with closed loops",
            remedy="use bias(q, u), which is C u + g",
        )
    return tree.program("coriolis", ["q", "u"], lambda writer: _written(writer, tree))


def _written(writer: Writer, tree: Tree) -> Results:
    kinematics = tree.kinematics
    bodies = kinematics.mechanism.depth_first()
    moving = movements(writer, tree, bodies)
    own = lumped(kinematics)
    collected: dict[Body, tuple[Moments, Matrix, Triple]] = {}
    speeds = {body: _speeds(writer, tree, body, moving) for body in bodies}
    entries: dict[tuple[Expr, Expr], Expr] = {}
    for body in reversed(bodies):
        whole, block, momentum = _own(writer, tree, body, moving[body], own[body])
        more = collected.get(body)
        if more is not None:
            whole = (whole + more[0]).held(writer)
            block = held_rows(writer.hold, _plus(block, more[1]))
            momentum = writer.triple(add(momentum, more[2]))
        for speed in speeds[body]:
            _fill(writer, tree, entries, body, speed, speeds, (whole, block, momentum))
        parent = body.parent
        assert parent is not None
        if parent.parent is not None:
            seen = _seen_above(writer, tree, body, (whole, block, momentum))
            before = collected.get(parent, (NO_MASS, _EMPTY, NOTHING))
            collected[parent] = (
                before[0] + seen[0],
                _plus(before[1], seen[1]),
                add(before[2], seen[2]),
            )
    order = [s.symbol for s in kinematics.speeds]
    rows = [[entries.get((i, j), ZERO) for j in order] for i in order]
    return {"C": _on_independent(writer, tree, order, rows)}


def _own(
    writer: Writer, tree: Tree, body: Body, moving: BodyTerms, moments: Moments
) -> tuple[Moments, Matrix, Triple]:
    """Return inertia, block P and momentum of one body about its reference point."""
    omega, velocity = moving.omega, _reference_velocity(writer, tree, body, moving)
    h, s = moments.first, moments.second
    block = _plus(
        _times(-1, [cross(omega, [row[k] for row in s]) for k in range(3)]),
        _times(-1, [cross(h, cross(velocity, axis)) for axis in IDENTITY]),
    )
    momentum = add(times(moments.mass, velocity), cross(omega, h))
    return moments, held_rows(writer.hold, block), writer.triple(momentum)


def _reference_velocity(writer: Writer, tree: Tree, body: Body, moving: BodyTerms) -> Triple:
    reference = tree.kinematics.motions[body].reference
    if reference.is_zero:
        return moving.velocity
    arm = reference.components(body.frame)
    return writer.triple(add(moving.velocity, cross(moving.omega, arm)))


def _speeds(writer: Writer, tree: Tree, body: Body, moving: dict[Body, BodyTerms]) -> list[_Speed]:
    """Return the motions of the speeds of a joint, with their rates, along the body's axes."""
    motion = tree.kinematics.motions[body]
    parent = body.parent
    assert parent is not None
    omega = moving[body].omega
    velocity = _reference_velocity(writer, tree, body, moving[body])
    above = NOTHING
    if parent in moving:
        turn = rotation_between(body.frame, parent.frame)
        above = writer.triple(apply(turn, moving[parent].omega))
    found = []
    for speed in motion.speeds:
        a, t = speed.omega.components(body.frame), speed.velocity.components(body.frame)
        # translations are along directions of the parent, but for those of a free body
        carrier = above if not motion.absolute and is_nothing(a) else omega
        turned = writer.triple(cross(omega, a))
        moved = writer.triple(add(cross(carrier, t), cross(velocity, a)))
        found.append(_Speed(speed.symbol, a, t, turned, moved))
    return found


def _fill(
    writer: Writer,
    tree: Tree,
    entries: dict[tuple[Expr, Expr], Expr],
    body: Body,
    speed: _Speed,
    speeds: dict[Body, list[_Speed]],
    carried: tuple[Moments, Matrix, Triple],
) -> None:
    """Set the entries of one speed with those of its own joint and of the joints above."""
    whole, block, momentum = carried
    moment, force = _forces(whole, speed.turn_rate, speed.move_rate)
    moment = writer.triple(add(moment, apply(block, speed.turn)))
    force = writer.triple(subtract(force, cross(momentum, speed.turn)))
    plain_moment, plain_force = (writer.triple(x) for x in _forces(whole, speed.turn, speed.move))
    back = writer.triple(add(apply(transposed(block), speed.turn), cross(momentum, speed.move)))
    at = body
    while True:
        for other in speeds[at]:
            entries[other.symbol, speed.symbol] = writer.hold(
                dot(other.turn, moment) + dot(other.move, force)
            )
            if at is not body:
                entries[speed.symbol, other.symbol] = writer.hold(
                    total(
                        [
                            dot(other.turn_rate, plain_moment),
                            dot(other.move_rate, plain_force),
                            dot(other.turn, back),
                        ]
                    )
                )
        parent = at.parent
        assert parent is not None
        if parent.parent is None or tree.kinematics.motions[at].absolute:
            return
        rotation, arm = _to_parent(writer, tree, at)
        force = writer.triple(apply(rotation, force))
        moment = writer.triple(add(apply(rotation, moment), cross(arm, force)))
        plain_force = writer.triple(apply(rotation, plain_force))
        plain_moment = writer.triple(add(apply(rotation, plain_moment), cross(arm, plain_force)))
        back = writer.triple(apply(rotation, back))
        at = parent


def _forces(whole: Moments, turn: Triple, move: Triple) -> tuple[Triple, Triple]:
    """Return the moment and force that an acceleration of all that is carried takes."""
    moment = add(apply(whole.tensor(), turn), cross(whole.first, move))
    return moment, add(times(whole.mass, move), cross(turn, whole.first))


def _to_parent(writer: Writer, tree: Tree, body: Body) -> tuple[Matrix, Triple]:
    parent = body.parent
    assert parent is not None
    motions = tree.kinematics.motions
    rotation = transposed(rotation_between(body.frame, parent.frame))
    arm = body.from_parent + motions[body].reference - motions[parent].reference
    return rotation, writer.triple(arm.components(parent.frame))


def _seen_above(
    writer: Writer, tree: Tree, body: Body, carried: tuple[Moments, Matrix, Triple]
) -> tuple[Moments, Matrix, Triple]:
    whole, block, momentum = carried
    rotation, arm = _to_parent(writer, tree, body)
    moments = turned_back(writer, whole, transposed(rotation)).moved(arm)
    push = writer.triple(apply(rotation, momentum))
    turned = product(writer, product(writer, rotation, block), transposed(rotation))
    shift = _times(-1, [cross(arm, cross(push, axis)) for axis in IDENTITY])
    return moments, held_rows(writer.hold, _plus(turned, shift)), push


def _on_independent(
    writer: Writer, tree: Tree, order: list[Expr], rows: list[list[Expr]]
) -> list[list[Expr]]:
    """Return Aᵀ C A for the independent speeds."""
    if tree.reduction is None:
        return rows
    n = len(order)
    columns = {u: [rows[i][j] for i in range(n)] for j, u in enumerate(order)}
    half = tree.on_independent(writer, columns, n)
    again = {u: [column[i] for column in half] for i, u in enumerate(order)}
    return tree.on_independent(writer, again, len(half))


# -- matrices given by their columns ---------------------------------------------------------------
def _times(factor: int, columns: list[Triple]) -> Matrix:
    """Return a matrix from its columns, times a number."""
    a, b, c = (times(factor, row) for row in zip(*columns, strict=True))
    return a, b, c


def _plus(a: Matrix, b: Matrix) -> Matrix:
    x, y, z = (add(r, s) for r, s in zip(a, b, strict=True))
    return x, y, z
