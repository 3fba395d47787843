"""Direction cosines of the rotations that a frame may have relative to its parent.

A matrix of direction cosines here has the axes of the turned frame as rows: element (r, k) is b_r
· a_k. Its transpose is the rotation matrix R that takes coordinates in the turned frame to
coordinates in the parent, which is what SciPy, URDF and most books call the rotation matrix.

A rotation about one axis follows Sayers (AUTOSIM, section 8.1): with (i, j, k) cyclic and k the
number of the axis in the turned frame, the nominal triad is b_k = axis, b_j = axis × reference,
b_i = b_j × axis; a positive angle takes b_i toward b_j. Numbers within 2e-11 of 0 become 0, and the
one that is left of a unit vector becomes 1 or -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import triples
from linkwright.algebra.directions import VectorError
from linkwright.algebra.expr import (
    MINUS_ONE,
    ONE,
    ZERO,
    Expr,
    Scalar,
    add,
    as_expr,
    mul,
    scaled,
    total,
)
from linkwright.algebra.functions import cos, sin, sqrt
from linkwright.algebra.triples import (
    IDENTITY,
    Matrix,
    Triple,
    cross,
    quaternion_matrix,
    transposed,
)

SNAP = 2e-11
_ORTHONORMAL = 1e-6


@dataclass(frozen=True, slots=True)
class Turn:
    """A rotation about one axis that stands still in both frames."""

    index: int
    angle: Expr  # the angle, rad
    nominal: Matrix

    def cosines(self) -> Matrix:
        """Return the direction cosines at the angle."""
        return turned_rows(self.index, self.angle, self.nominal)

    def after(self, first: Turn, sense: int) -> Turn:
        """Return the one rotation that equals this one after another about the same line."""
        angle = add(self.angle, scaled(sense, first.angle))
        return Turn(self.index, angle, matrix_product(self.nominal, first.nominal))


def snapped(row: Triple) -> Triple:
    """Return a unit vector with exact zeros where numbers are within 2e-11 of them.

    What is left along one axis is made 1 or -1. A number near 1 says little by itself: a tilt of
    1e-6 changes it by 5e-13.

    >>> from linkwright.algebra import constant
    >>> snapped((constant(1 - 1e-12), constant(6e-17), ZERO))
    (1, 0, 0)
    >>> snapped((constant(1 - 5e-13), constant(1e-6), ZERO))
    (0.9999999999995, 1e-06, 0)
    """
    x, y, z = (_no_dust(value) for value in row)
    if sum(value is not ZERO for value in (x, y, z)) != 1:
        return x, y, z
    return _whole(x), _whole(y), _whole(z)


def _no_dust(x: Expr) -> Expr:
    return ZERO if x.op == "num" and abs(float(x.data)) <= SNAP else x


def _whole(x: Expr) -> Expr:
    if x.op == "num" and abs(abs(float(x.data)) - 1) <= _ORTHONORMAL:
        return ONE if float(x.data) > 0 else MINUS_ONE
    return x


def _cosine_sine(angle: Expr) -> tuple[Expr, Expr]:
    c, s, _ = snapped((cos(angle), sin(angle), ZERO))
    return c, s


def triple(values: Sequence[Scalar], what: str) -> Triple:
    """Return three expressions, or complain about `what`."""
    if len(values) != 3:
        raise VectorError(f"{what} takes 3 components, not {len(values)}")
    x, y, z = (as_expr(v) for v in values)
    return x, y, z


def normalized(a: Triple, what: str) -> Triple:
    """Return the triple divided by its length, or complain that `what` has none."""
    square = total(x**2 for x in a)
    if square is ZERO:
        raise VectorError(f"{what} has length zero", remedy="give a direction")
    if square is not ONE:
        length = sqrt(square)
        a = (a[0] / length, a[1] / length, a[2] / length)
    return snapped(a)


def matrix_product(a: Matrix, b: Matrix) -> Matrix:
    """Return the product of two matrices of direction cosines."""
    x, y, z = (snapped(row) for row in triples.matrix_product(a, b))
    return x, y, z


def nominal_triad(index: int, axis: Triple, reference: Triple) -> Matrix:
    """Return the direction cosines at angle zero of a rotation about an axis."""
    across = cross(axis, reference)
    if all(_no_dust(x) is ZERO for x in across):
        raise VectorError(
            "the reference axis is parallel to the rotation axis", remedy="give another reference"
        )
    b_j = normalized(across, "the part of the reference axis normal to the rotation axis")
    b_i = cross(b_j, axis)
    rows = [axis, axis, axis]
    rows[(index + 1) % 3] = snapped(b_i)
    rows[(index + 2) % 3] = b_j
    return rows[0], rows[1], rows[2]


def turned_rows(index: int, angle: Expr, nominal: Matrix) -> Matrix:
    """Return the direction cosines after a turn about axis `index` of the turned frame."""
    i, j = (index + 1) % 3, (index + 2) % 3
    c, s = _cosine_sine(angle)
    b_i, b_j = nominal[i], nominal[j]
    rows = [nominal[index]] * 3
    rows[i] = _combined(c, b_i, s, b_j)
    rows[j] = _combined(-s, b_i, c, b_j)
    return rows[0], rows[1], rows[2]


def _combined(p: Expr, a: Triple, q: Expr, b: Triple) -> Triple:
    x, y, z = (add(mul(p, a[k]), mul(q, b[k])) for k in range(3))
    return snapped((x, y, z))


def simple_cosines(index: int, angle: Expr) -> Matrix:
    """Return the direction cosines of a turn about an axis that both frames have.

    >>> from linkwright.algebra import symbol
    >>> simple_cosines(2, symbol("q"))
    ((cos(q), sin(q), 0), (-sin(q), cos(q), 0), (0, 0, 1))
    """
    return turned_rows(index, angle, IDENTITY)


def axis_angle_cosines(axis: Triple, angle: Expr) -> Matrix:
    """Return the direction cosines of a turn about any unit axis; no turn at angle zero."""
    c, s = _cosine_sine(angle)
    rows = []
    for r in range(3):
        side = cross(axis, IDENTITY[r])
        x, y, z = (
            c * IDENTITY[r][k] + (1 - c) * (axis[r] * axis[k]) + s * side[k] for k in range(3)
        )
        rows.append(snapped((x, y, z)))
    return rows[0], rows[1], rows[2]


def quaternion_cosines(e: Sequence[Expr]) -> Matrix:
    """Return the direction cosines of a unit quaternion (scalar part first)."""
    return transposed(quaternion_matrix(e))


def cosines_of_matrix(matrix: Sequence[Sequence[Scalar]]) -> Matrix:
    """Return the direction cosines of a rotation matrix R, whose columns are the turned axes."""
    if len(matrix) != 3:
        raise VectorError(f"a rotation matrix has 3 rows, not {len(matrix)}")
    rows = [triple(row, "a row of a rotation matrix") for row in matrix]
    if all(x.op == "num" for row in rows for x in row):
        _check_rotation([[float(x) for x in row] for row in rows])
    turned = [snapped((rows[0][r], rows[1][r], rows[2][r])) for r in range(3)]
    return turned[0], turned[1], turned[2]


def _check_rotation(m: list[list[float]]) -> None:
    for i in range(3):
        for j in range(i, 3):
            product = sum(m[i][k] * m[j][k] for k in range(3))
            if abs(product - (i == j)) > _ORTHONORMAL:
                raise VectorError(
                    f"the matrix is not a rotation: rows {i + 1} and {j + 1} have the product "
                    f"{product:.9g}",
                    remedy="its rows must be unit vectors at right angles",
                )
    determinant = sum(
        m[0][i] * (m[1][(i + 1) % 3] * m[2][(i + 2) % 3] - m[1][(i + 2) % 3] * m[2][(i + 1) % 3])
        for i in range(3)
    )
    if determinant < 0:
        raise VectorError(
            "the matrix is a reflection, not a rotation", remedy="reverse one of its axes"
        )
