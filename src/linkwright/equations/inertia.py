"""Inertial parameters of bodies, lumped toward the root where that changes nothing.

A body is described by its mass m, first moment h and second moment S (the integral of r rᵀ dm), all
about its reference point. The inertia tensor is J = tr(S) 1 - S. In this form, moving to a point at
-r is h + m r and S + h rᵀ + r hᵀ + m r rᵀ.

What a joint leaves in place may be counted as part of the parent (base parameters; Gautier and
Khalil 1990, in second-moment form): for one rotation about k the mass, h_k and S_kk; where it comes
with translations, S_kk; for translations alone all of S; for three rotations about a point the
mass; for a weld everything. Composite
bodies, rotors and fixed masses of AUTOSIM (section 8.1) are special cases. It is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, Frame, Vector, as_expr, constant
from linkwright.algebra.smallness import current_threshold
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    dot,
    matrix_product,
    times,
)
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics

_HALF = constant(0.5)
_left_out: ContextVar[Collection[str]] = ContextVar("rules_left_out", default=())


@contextmanager
def leaving_out(rules: Collection[str]) -> Iterator[None]:
    """Leave out "composite" (what moves with the parent counts with it) or "rotor" in a block."""
    token = _left_out.set(rules)
    try:
        yield
    finally:
        _left_out.reset(token)


def rules_in_force() -> tuple[object, ...]:
    """Return what distinguishes equations that were derived by other rules of simplification."""
    return tuple(sorted(_left_out.get())), current_threshold()


@dataclass(frozen=True, slots=True)
class Moments:
    """Mass, first moment and symmetric second moment in some basis about some point."""

    mass: Expr
    first: Triple
    second: Matrix

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.mass + other.mass,
            add(self.first, other.first),
            _sum(self.second, other.second),
        )

    def held(self, writer: Writer) -> Moments:
        """Return the same with names for the entries."""
        second = symmetric(lambda i, j: writer.hold(self.second[i][j]))
        return Moments(writer.hold(self.mass), writer.triple(self.first), second)

    def moved(self, r: Triple) -> Moments:
        """Return the moments about a point from which the old one is seen at r."""
        m, h = self.mass, self.first
        mr = times(m, r)
        shifted = add(h, mr)
        second = symmetric(lambda i, j: self.second[i][j] + shifted[i] * r[j] + r[i] * h[j])
        return Moments(m, shifted, second)

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is left."""
        return self.mass is ZERO and all(
            x is ZERO for x in (*self.first, *(x for row in self.second for x in row))
        )

    def tensor(self) -> Matrix:
        """Return the inertia tensor J = tr(S) 1 - S."""
        s = self.second
        trace = (s[1][1] + s[2][2], s[2][2] + s[0][0], s[0][0] + s[1][1])
        return symmetric(lambda i, j: trace[i] if i == j else -s[i][j])


NO_MASS = Moments(ZERO, NOTHING, ((ZERO,) * 3, (ZERO,) * 3, (ZERO,) * 3))


def symmetric(entry: Callable[[int, int], Expr]) -> Matrix:
    """Return the symmetric matrix with these entries on and above the diagonal."""
    entries = {(i, j): entry(i, j) for i in range(3) for j in range(i, 3)}
    a, b, c = (
        (
            entries[min(i, 0), max(i, 0)],
            entries[min(i, 1), max(i, 1)],
            entries[min(i, 2), max(i, 2)],
        )
        for i in range(3)
    )
    return a, b, c


def _sum(a: Matrix, b: Matrix) -> Matrix:
    return symmetric(lambda i, j: a[i][j] + b[i][j])


def own_moments(body: Body) -> Moments:
    """Return the moments of a body about its origin, in its own axes."""
    m, c = body.inertia.mass, body.inertia.center
    xx, yy, zz, xy, yz, zx = body.inertia.tensor
    half_trace = _HALF * (xx + yy + zz)
    second: Matrix = (
        (half_trace - xx, -xy, -zx),
        (-xy, half_trace - yy, -yz),
        (-zx, -yz, half_trace - zz),
    )
    return Moments(ZERO, NOTHING, second) + Moments(m, NOTHING, NO_MASS.second).moved(c)


def turned(moments: Moments, rotation: Matrix) -> Moments:
    """Return moments in another basis; rows of `rotation` are its axes in the old one."""
    if rotation == IDENTITY:
        return moments
    half = matrix_product(rotation, moments.second)
    second = symmetric(lambda i, j: dot(half[i], rotation[j]))
    return Moments(moments.mass, apply(rotation, moments.first), second)


def lumped(
    kinematics: Kinematics,
    *,
    regroup: bool = True,
    left: Mapping[Body, int] | None = None,
    own: Mapping[Body, Moments] | None = None,
) -> dict[Body, Moments]:
    """Return the moments of every body about its reference point, in its own axes."""
    mechanism = kinematics.mechanism
    regroup = regroup and "composite" not in _left_out.get()
    result: dict[Body, Moments] = {}
    received: dict[Body, Moments] = {}
    for body in reversed(mechanism.depth_first()):
        given = own_moments(body) if own is None else own.get(body, NO_MASS)
        moments = given + received.get(body, NO_MASS)
        if regroup and not kinematics.motions[body].absolute:
            moments, moved = handed_over(body, moments, (left or {}).get(body, 0))
            parent = body.parent
            assert parent is not None
            if parent.parent is not None and not moved.is_nothing:
                received[parent] = received.get(parent, NO_MASS) + moved
        reference = kinematics.motions[body].reference
        if not reference.is_zero:
            x, y, z = reference.components(body.frame)
            moments = moments.moved((-x, -y, -z))
        result[body] = moments
    return result


def handed_over(body: Body, moments: Moments, left: int = 0) -> tuple[Moments, Moments]:
    """Return what stays with a body and what is counted with its parent, in the parent's axes."""
    parent = body.parent
    assert parent is not None
    offset = body.offset.components(parent.frame)
    if not body.rotations:
        rotation = _axes_in(body, parent)
        if not body.translations:
            return NO_MASS, turned(moments, rotation).moved(offset)
        kept = Moments(moments.mass, moments.first, NO_MASS.second)
        moved = turned(Moments(ZERO, NOTHING, moments.second), rotation)
        return kept, moved
    if len(body.rotations) > 1:
        if body.translations:
            return moments, NO_MASS
        kept = Moments(ZERO, moments.first, moments.second)
        return kept, Moments(moments.mass, NOTHING, NO_MASS.second).moved(offset)
    axis = body.frame.spins[0][1]
    k = own_axis(body, axis)
    if k is None:
        return moments, NO_MASS
    sign = axis @ body.frame.axes[k]
    a = axis.components(parent.frame)
    if body.translations or body.lead is not ZERO:
        second = symmetric(lambda i, j: ZERO if i == j == k else moments.second[i][j])
        rod = symmetric(lambda i, j: moments.second[k][k] * a[i] * a[j])
        return Moments(moments.mass, moments.first, second), Moments(ZERO, NOTHING, rod)
    along = times(sign * moments.first[k], a)
    stays = -moments.second[(k + left) % 3][(k + left) % 3] if left else ZERO
    goes = moments.second[k][k] - stays
    on_axis = Moments(moments.mass, along, symmetric(lambda i, j: goes * a[i] * a[j]))
    first = list(moments.first)
    first[k] = ZERO
    second = symmetric(lambda i, j: stays if i == j == k else moments.second[i][j])
    return Moments(ZERO, (first[0], first[1], first[2]), second), on_axis.moved(offset)


def own_axis(body: Body, axis: Vector) -> int | None:
    """Return which of the body's axes the rotation axis is, up to sign, if it is one."""
    for k, own in enumerate(body.frame.axes):
        if (axis @ own) in (ONE, as_expr(-1)):
            return k
    return None


def _axes_in(body: Body, parent: Body) -> Matrix:
    return axes_product(parent.frame, body.frame)


def axes_product(rows: Frame, columns: Frame) -> Matrix:
    """Return the dot products of the axes of two frames."""
    a, b, c = ((r @ columns.x, r @ columns.y, r @ columns.z) for r in rows.axes)
    return a, b, c


def is_rotor(body: Body, moments: Moments) -> bool:
    """Whether a body's inertia does not depend on its single rotation, so no angle is needed."""
    if len(body.rotations) != 1 or body.lead is not ZERO or "rotor" in _left_out.get():
        return False
    k = own_axis(body, body.frame.spins[0][1])
    if k is None or any(x is not ZERO for x in moments.first):
        return False
    i, j = (k + 1) % 3, (k + 2) % 3
    s = moments.second
    off_diagonal = all(s[a][b] is ZERO for a, b in ((i, j), (j, k), (k, i)))
    return off_diagonal and s[i][i] is s[j][j]


def rotor_moments(body: Body, own: Moments, frame: Frame) -> Moments:
    """Return the moments of a rotor along the axes of its parent."""
    k = next(i for i in range(3) if (body.frame.spins[0][1] @ body.frame.axes[i]) is not ZERO)
    cross_moment = own.second[(k + 1) % 3][(k + 1) % 3]
    along = own.second[k][k]
    a = body.frame.spins[0][1].components(frame)
    difference = along - cross_moment
    second = symmetric(lambda i, j: (cross_moment if i == j else ZERO) + difference * a[i] * a[j])
    return Moments(own.mass, NOTHING, second)
