"""All ways in which three hinged arms reach the corners of a triangle: a polynomial of degree 16.

Three arms are hinged to a body; the tip of each turns on a circle by an angle. Tips that keep given
distances from each other satisfy three closures, each quadratic in the tangents of two half angles.
Eliminating two of the three by resultants (of two quadratics, then of a quartic with a quadratic)
leaves a polynomial of degree 16 in the third, without extraneous roots; every root gives one way to
assemble. Platforms of three legs R-S-R with their lower arms locked, 3-RPS and TSSM platforms and
trusses of three driven members are all of this kind (Innocenti and Parenti-Castelli, 1990).

The tip of arm k is at p + l (n sin(b) + a cos(b)), with the hinge's place p, unit vectors n and a
across its axis, and the length l of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    acos,
    atan2,
    constant,
    cos,
    maximum,
    minimum,
    sin,
    sqrt,
    symbol,
    total,
    where,
)
from linkwright.algebra.triples import dot
from linkwright.backends.kernel import Kernel, compile as compile_program
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.program import Assign, Program, program

Array = NDArray[np.float64]
Polynomial = list[Expr]

DEGREE = 16
PAIRS = ((0, 1), (1, 2), (2, 0))
"""The arms between whose tips the three distances are."""

_OWNER = "resultants"
_NEARLY_REAL = 1e-4  # imaginary part over size: a double root is found only so well
_TURNS = 4  # of Newton's method after the root is known


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class TriangleModes:
    """The real ways to assemble three arms, of one case or of many.

    The polynomial of a case has 16 roots, and no more ways than that exist: what is not real here
    is complex.
    """

    row: NDArray[np.intp]  # to which case each belongs, in order
    angles: Array  # of the three arms, rad, -pi to pi
    residual: Array  # the largest of the three closures that is left, over their size
    # of the polynomials, one row a case, from the constant to degree 16
    coefficients: Array = field(repr=False)

    def of(self, row: int) -> Array:
        """Return the angles of one case, one way a row."""
        found: Array = self.angles[self.row == row]
        return found


def closures(
    points: ArrayLike,  # places of the three hinges, ... x 3 x 3, m.
    outward: ArrayLike,
    upright: ArrayLike,
    lengths: ArrayLike,  # of the arms, ... x 3, m.
    sides: ArrayLike,  # distances of the tips 1-2, 2-3 and 3-1, ... x 3, m.
) -> Array:
    """Return the coefficients of the three closures, ... x 3 x 9.

    Those of a pair (i, j) belong to ci, cj, si, sj, ci cj, si cj, ci sj, si sj and 1.

    >>> x = [[1, 0, 0], [-0.5, 0.75**0.5, 0], [-0.5, -(0.75**0.5), 0]]
    >>> (closures(x, x, [[0, 0, 1]] * 3, [1, 1, 1], [3, 3, 3])[0].round(9) + 0).tolist()
    [0.0, 0.0, 3.0, 3.0, -2.0, 0.0, 0.0, 1.0, -4.0]
    """
    p, n, a = (np.asarray(v, float) for v in (points, outward, upright))
    l, e = np.asarray(lengths, float), np.asarray(sides, float)
    if p.shape[-2:] != (3, 3) or l.shape[-1:] != (3,) or e.shape[-1:] != (3,):
        raise InputError("three arms have three hinges, lengths and sides")
    rows = []
    for k, (i, j) in enumerate(PAIRS):
        span = p[..., i, :] - p[..., j, :]
        li, lj = l[..., i], l[..., j]
        rows.append(
            np.stack(
                np.broadcast_arrays(
                    2 * li * _dot(a[..., i, :], span),
                    -2 * lj * _dot(a[..., j, :], span),
                    2 * li * _dot(n[..., i, :], span),
                    -2 * lj * _dot(n[..., j, :], span),
                    -2 * li * lj * _dot(a[..., i, :], a[..., j, :]),
                    -2 * li * lj * _dot(n[..., i, :], a[..., j, :]),
                    -2 * li * lj * _dot(a[..., i, :], n[..., j, :]),
                    -2 * li * lj * _dot(n[..., i, :], n[..., j, :]),
                    _dot(span, span) + li**2 + lj**2 - e[..., k] ** 2,
                ),
                axis=-1,
            )
        )
    return np.stack(rows, axis=-2)


def _dot(u: Array, v: Array) -> Array:
    found: Array = (u * v).sum(axis=-1)
    return found


def triangle_modes(given: ArrayLike) -> TriangleModes:
    """Return all real ways to assemble three arms, of one case or of many."""
    d = np.ascontiguousarray(np.asarray(given, float).reshape(-1, 3, 9))
    if not np.isfinite(d).all():
        raise InputError("the closures of three arms have coefficients that are not numbers")
    coefficients: Array = _kernel("polynomial").batch(d)
    row, tangents = _real_roots(coefficients)
    angles, residual = _kernel("back").batch(d[row], 2 * np.arctan(tangents))
    good = residual < 1e-9
    row, angles, residual = row[good], angles[good], residual[good]
    keep = _distinct(row, angles)
    return TriangleModes(row[keep], angles[keep], residual[keep], coefficients)


def _real_roots(coefficients: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the real roots of many polynomials, and which they are of; infinity is one."""
    size = np.abs(coefficients).max(axis=1, keepdims=True)
    if not (size > 0).all():
        raise InputError(
            "three arms move although their tips are held: their closures depend on each other",
            remedy="other dimensions; infinitely many assemblies cannot be listed",
        )
    scaled = coefficients / size
    low = np.abs(scaled[:, -1]) < 1e-12  # a root at infinity: the arm at 180 deg
    lead = np.where(low, 1e-12, scaled[:, -1])
    companion = np.zeros((len(scaled), DEGREE, DEGREE))
    companion[:, np.arange(1, DEGREE), np.arange(DEGREE - 1)] = 1
    companion[:, :, -1] = -scaled[:, :-1] / lead[:, None]
    roots = np.linalg.eigvals(companion)
    real = np.abs(roots.imag) <= _NEARLY_REAL * (1 + np.abs(roots))
    row, column = np.nonzero(real)
    found: Array = np.asarray(roots[row, column].real, float)
    return row.astype(np.intp), found


def _distinct(row: NDArray[np.intp], angles: Array) -> NDArray[np.intp]:
    """Return which ways are kept where two roots have led to the same, in order of their angles."""
    wrapped = np.round(np.stack([np.cos(angles), np.sin(angles)], -1).reshape(-1, 6), 7) + 0.0
    keys = np.column_stack([row, np.round(angles[:, 1], 7), wrapped])
    _, first = np.unique(keys, axis=0, return_index=True)
    return first


@cache
def _kernel(which: str) -> Kernel:
    made = polynomial_program() if which == "polynomial" else back_program()
    return compile_program(made)


class _Work:
    """Statements of a Program, and products of polynomials in them."""

    def __init__(self) -> None:
        self.statements: list[Assign] = []

    def hold(self, value: Expr) -> Expr:
        if value.is_atom:
            return value
        name = symbol(f"w{len(self.statements)}", "local", owner=_OWNER)
        self.statements.append(Assign(name, value))
        return name

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        made = [
            total(a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b))
            for k in range(len(a) + len(b) - 1)
        ]
        return [self.hold(x) for x in made]

    def plus(self, *parts: tuple[float, Polynomial]) -> Polynomial:
        length = max(len(p) for _, p in parts)
        made = [total(constant(c) * p[k] for c, p in parts if k < len(p)) for k in range(length)]
        return [self.hold(x) for x in made]


def polynomial_program() -> Program:
    """Return the Program of the polynomial: closures d[3, 9] to its 17 coefficients.

    >>> [len(port.entries) for port in polynomial_program().outputs]
    [17]
    """
    d = [[symbol(f"d{k}_{i}", "input", owner=_OWNER) for i in range(9)] for k in range(3)]
    w = _Work()
    first, second, third = ([[w.hold(x) for x in r] for r in _biquadratic(row)] for row in d)
    a = first  # a[i]: coefficient of t1^i, a polynomial of t2
    b = [[third[i][j] for i in range(3)] for j in range(3)]  # of t1^j, a polynomial of t3
    q = [[second[j][m] for j in range(3)] for m in range(3)]  # of t3^m, a polynomial of t2
    quartic = _resultant_of_quadratics(w, a, b)
    result = _resultant_with_quadratic(w, quartic, q)
    return program("sixteen", {"d": d}, {"coefficients": result}, statements=w.statements)


def _biquadratic(d: Sequence[Expr]) -> list[list[Expr]]:
    """Return the coefficients of ti^a tj^b of a closure in tangents of half angles."""
    d1, d2, d3, d4, d5, d6, d7, d8, d9 = d
    return [
        [d1 + d2 + d5 + d9, 2 * d4 + 2 * d7, d1 - d2 - d5 + d9],
        [2 * d3 + 2 * d6, 4 * d8, 2 * d3 - 2 * d6],
        [-d1 + d2 - d5 + d9, 2 * d4 - 2 * d7, -d1 - d2 + d5 + d9],
    ]


def _resultant_of_quadratics(
    w: _Work, a: Sequence[Polynomial], b: Sequence[Polynomial]
) -> list[Polynomial]:
    """Return what is left of two quadratics of t1: by powers of t3, polynomials of t2."""
    terms = (
        (1, (2, 2), (0, 0)),
        (-2, (0, 2), (0, 2)),
        (1, (0, 0), (2, 2)),
        (-1, (1, 2), (0, 1)),
        (1, (0, 2), (1, 1)),
        (1, (1, 1), (0, 2)),
        (-1, (0, 1), (1, 2)),
    )
    in_t2 = {pair: w.times(a[pair[0]], a[pair[1]]) for _, pair, _ in terms}
    in_t3 = {pair: w.times(b[pair[0]], b[pair[1]]) for _, _, pair in terms}
    return [
        [
            w.hold(total(constant(c) * in_t2[u][j] * in_t3[v][k] for c, u, v in terms))
            for j in range(5)
        ]
        for k in range(5)
    ]


def _resultant_with_quadratic(
    w: _Work, p: Sequence[Polynomial], q: Sequence[Polynomial]
) -> Polynomial:
    """Return the resultant of a quartic and a quadratic, from symmetric functions of its roots.

    With the roots x and y of q it is q2^4 p(x) p(y); power sums s_k = q2^k (x^k + y^k) follow by
    s_(k+1) = -q1 s_k - q0 q2 s_(k-1), so that nothing is divided.
    """
    ones: Polynomial = [ONE]
    low, high = [ones], [ones]
    for _ in range(4):
        low.append(w.times(low[-1], q[0]))
        high.append(w.times(high[-1], q[2]))
    both = w.times(q[0], q[2])
    sums: list[Polynomial] = [[constant(2)], w.plus((-1, q[1]))]
    for k in range(1, 4):
        sums.append(w.plus((-1, w.times(q[1], sums[k])), (-1, w.times(both, sums[k - 1]))))
    parts: list[tuple[float, Polynomial]] = []
    for i in range(5):
        for j in range(i, 5):
            factor = w.times(low[i], high[4 - j])
            if i < j:
                factor = w.times(factor, sums[j - i])
            parts.append((1, w.times(w.times(p[i], p[j]), factor)))
    return w.plus(*parts)


def back_program() -> Program:
    """Return the Program from a root to the three angles: closures d[3, 9], angle of arm 2.

    >>> [port.name for port in back_program().outputs]
    ['angles', 'residual']
    """
    d = [[symbol(f"d{k}_{i}", "input", owner=_OWNER) for i in range(9)] for k in range(3)]
    given = symbol("second", "input", owner=_OWNER)
    w = _Work()
    c, s = w.hold(cos(given)), w.hold(sin(given))
    first, second, third = d
    ones = _solved(
        w,
        first[0] + first[4] * c + first[6] * s,
        first[2] + first[5] * c + first[7] * s,
        first[1] * c + first[3] * s + first[8],
    )
    threes = _solved(
        w,
        second[1] + second[4] * c + second[5] * s,
        second[3] + second[6] * c + second[7] * s,
        second[0] * c + second[2] * s + second[8],
    )
    best: tuple[Expr, Expr, Expr] | None = None
    for one in ones:
        for three in threes:
            left = w.hold(_closure(third, three, one) ** 2)
            if best is None:
                best = left, one, three
            else:
                better = left < best[0]
                best = (
                    w.hold(where(better, left, best[0])),
                    w.hold(where(better, one, best[1])),
                    w.hold(where(better, three, best[2])),
                )
    assert best is not None
    angles = [best[1], given, best[2]]
    for _ in range(_TURNS):
        angles = _newton(w, d, angles)
    rest = [w.hold(_closure(d[k], angles[i], angles[j])) for k, (i, j) in enumerate(PAIRS)]
    size = [sqrt(total(x**2 for x in row)) for row in d]
    worst = maximum(*(maximum(x, -x) / y for x, y in zip(rest, size, strict=True)))
    wrapped = [atan2(sin(x), cos(x)) for x in angles]
    return program(
        "back",
        {"d": d, "second": given},
        {"angles": wrapped, "residual": worst},
        statements=w.statements,
    )


def _closure(d: Sequence[Expr], i: Expr, j: Expr) -> Expr:
    ci, si, cj, sj = cos(i), sin(i), cos(j), sin(j)
    parts = (ci, cj, si, sj, ci * cj, si * cj, ci * sj, si * sj, ONE)
    return dot(d, parts)


def _solved(w: _Work, p: Expr, q: Expr, r: Expr) -> tuple[Expr, Expr]:
    """Return both angles with p cos + q sin + r = 0; where there are none, the nearest."""
    p, q, r = w.hold(p), w.hold(q), w.hold(r)
    size = w.hold(sqrt(p**2 + q**2 + constant(1e-300)))
    middle = w.hold(atan2(q, p))
    half = w.hold(acos(maximum(minimum(-r / size, ONE), -ONE)))
    return w.hold(middle + half), w.hold(middle - half)


def _newton(w: _Work, d: Sequence[Sequence[Expr]], angles: Sequence[Expr]) -> list[Expr]:
    """Return the angles after a step of Newton's method on the three closures."""
    c, s = [w.hold(cos(x)) for x in angles], [w.hold(sin(x)) for x in angles]
    rows, left = [], []
    for k, (i, j) in enumerate(PAIRS):
        d1, d2, d3, d4, d5, d6, d7, d8, d9 = d[k]
        ci, si, cj, sj = c[i], s[i], c[j], s[j]
        left.append(
            w.hold(
                (d1 + d5 * cj + d7 * sj) * ci
                + (d3 + d6 * cj + d8 * sj) * si
                + d2 * cj
                + d4 * sj
                + d9
            )
        )
        row = [ZERO, ZERO, ZERO]
        row[i] = w.hold((d3 + d6 * cj + d8 * sj) * ci - (d1 + d5 * cj + d7 * sj) * si)
        row[j] = w.hold((d4 + d7 * ci + d8 * si) * cj - (d2 + d5 * ci + d6 * si) * sj)
        rows.append(row)
    # Rows have the patterns (a, b, 0), (0, c, e), (g, 0, h).
    a, b, e1, e2, g, h = rows[0][0], rows[0][1], rows[1][1], rows[1][2], rows[2][0], rows[2][2]
    det = w.hold(a * e1 * h + b * e2 * g)
    over = w.hold(det / (det**2 + constant(1e-30)))  # no step where two ways have become one
    x, y, z = left
    one = (x * e1 * h - y * b * h + z * b * e2) * over
    two = (x * e2 * g + y * a * h - z * a * e2) * over
    three = (-x * e1 * g + y * b * g + z * a * e1) * over
    return [w.hold(q - step) for q, step in zip(angles, (one, two, three), strict=True)]
