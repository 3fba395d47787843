"""Rotation vectors: axis times angle, and how their rates go with angular velocities.

For a rotation D = exp([r]), with r = angle * axis and both angular velocity w and axis along the
axes in which D is given,

    w = L(r) r',     L = I + a [r] + b [r]^2,     a = (1 - cos f) / f^2,  b = (f - sin f) / f^3
    r' = L^-1(r) w,  L^-1 = I - [r] / 2 + c [r]^2,  c = (1 - (f / 2) cot(f / 2)) / f^2

with f = |r| (Bullo and Murray 1995, "Proportional derivative control on the Euclidean group"). A
potential V(r) puts the moment -L^-T dV/dr on what turns. All hold below half a turn; near zero
they go over into series, so that values and derivatives are exact there too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwright.algebra import (
    Expr,
    as_expr,
    atan2,
    cos,
    maximum,
    sin,
    sqrt,
    tan,
    total,
    where,
)
from linkwright.algebra.triples import IDENTITY, Matrix, Triple, cross

_NEAR = 0.05
"""Square of the angle below which the series are taken; their first term left out is 1e-15."""
_TINY = 1e-12


def rotation_vector(rows: Matrix, name: Callable[[Expr], Expr]) -> Triple:
    """Return the rotation vector of a rotation matrix."""
    x, y, z = (
        name((rows[i][j] - rows[j][i]) / 2) for i, j in ((2, 1), (0, 2), (1, 0))
    )  # sin(angle) * axis
    square = name(x**2 + y**2 + z**2)
    sine = sqrt(maximum(square, _TINY))
    cosine = (rows[0][0] + rows[1][1] + rows[2][2] - 1) / 2
    far = atan2(sine, cosine) / sine
    ratio = name(where(square > _TINY, far, 1 + square / 6))
    return x * ratio, y * ratio, z * ratio


def rotation_rows(r: Sequence[Expr], name: Callable[[Expr], Expr]) -> Matrix:
    """Return the rows of the rotation matrix exp([r]) of a rotation vector (Rodrigues)."""
    f2 = _square(r, name)
    far2 = maximum(f2, _NEAR)
    f = sqrt(far2)
    s = name(where(f2 > _NEAR, sin(f) / f, _series(f2, (1, -6, 120, -5040, 362880, -39916800))))
    a = _half_turn(f2, far2, f, name)
    columns = [_polynomial(r, e, s, a, name) for e in IDENTITY]
    x, y, z = zip(*columns, strict=True)
    return x, y, z


def rate_from_spin(r: Sequence[Expr], w: Sequence[Expr], name: Callable[[Expr], Expr]) -> Triple:
    """Return L^-1(r) w: the rate of a rotation vector from the angular velocity, rad/s."""
    return _polynomial(r, w, as_expr(-0.5), _inverse(r, name), name)


def moment_from_gradient(
    r: Sequence[Expr], gradient: Sequence[Expr], name: Callable[[Expr], Expr]
) -> Triple:
    """Return L^-T(r) dV/dr: the moment that balances a potential, N*m."""
    return _polynomial(r, gradient, as_expr(0.5), _inverse(r, name), name)


def gradient_from_moment(
    r: Sequence[Expr], moment: Sequence[Expr], name: Callable[[Expr], Expr]
) -> Triple:
    """Return L^T(r) times a moment: what it does along the rates of a rotation vector, N*m."""
    f2 = _square(r, name)
    far2 = maximum(f2, _NEAR)
    f = sqrt(far2)
    a = _half_turn(f2, far2, f, name)
    series = _series(f2, (6, -120, 5040, -362880, 39916800))
    b = name(where(f2 > _NEAR, (f - sin(f)) / (far2 * f), series))
    return _polynomial(r, moment, -a, b, name)


def _half_turn(f2: Expr, far2: Expr, f: Expr, name: Callable[[Expr], Expr]) -> Expr:
    series = _series(f2, (2, -24, 720, -40320, 3628800))
    return name(where(f2 > _NEAR, (1 - cos(f)) / far2, series))


def _inverse(r: Sequence[Expr], name: Callable[[Expr], Expr]) -> Expr:
    f2 = _square(r, name)
    far2 = maximum(f2, _NEAR)
    half = sqrt(far2) / 2
    series = _series(f2, (12, 720, 30240, 1209600, 47900160))
    return name(where(f2 > _NEAR, (1 - half / tan(half)) / far2, series))


def _square(r: Sequence[Expr], name: Callable[[Expr], Expr]) -> Expr:
    return name(total(x**2 for x in r))


def _series(x: Expr, denominators: Sequence[int]) -> Expr:
    found = as_expr(0)
    for n in reversed(denominators):
        found = found * x + 1 / as_expr(n)
    return found


def _polynomial(
    r: Sequence[Expr],
    v: Sequence[Expr],
    first: Expr,
    second: Expr,
    name: Callable[[Expr], Expr],
) -> Triple:
    """Return (I + first [r] + second [r]^2) v."""
    once = [name(x) for x in cross(r, v)]
    twice = cross(r, once)
    x, y, z = (a + first * b + second * c for a, b, c in zip(v, once, twice, strict=True))
    return x, y, z
