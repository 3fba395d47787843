"""Interaction matrices: how what a camera sees moves when the camera does.

Places in a picture are slopes here, x = (u - u0)/fx and y = (v - v0)/fy. A camera that moves with
the velocity v and turns with w, both along its own axes, sees a point at rest at the depth Z go as

    x' = -v_x/Z + x v_z/Z + x y w_x - (1 + x^2) w_y + y w_z
    y' = -v_y/Z + y v_z/Z + (1 + y^2) w_x - x y w_y - x w_z

(Chaumette and Hutchinson 2006, Visual servo control I). For the moments of a flat region, whose
plane is 1/Z = A x + B y + C, the same follows by integration over it (Chaumette 2004, Image
moments: a general and useful set of features for visual servoing, equation 10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from linkwright.algebra import Expr

Number = TypeVar("Number", float, Expr)
Row = list[Number]


def point_interaction(x: Number, y: Number, depth: Number) -> tuple[Row[Number], Row[Number]]:
    """Return two rows: how a point goes along x and y, for each part of the camera's motion.

    Args:
        x: where it is seen, as a slope.
        y: likewise.
        depth: along the camera's axis, m.

    >>> point_interaction(0.0, 0.0, 2.0)[0]
    [-0.5, 0.0, 0.0, 0.0, -1.0, 0.0]
    """
    zero = 0 * x
    return (
        [-1 / depth, zero, x / depth, x * y, -1 - x * x, y],
        [zero, -1 / depth, y / depth, 1 + y * y, -x * y, -x],
    )


def moment_interaction(
    moments: Mapping[tuple[int, int], Number], order: tuple[int, int], plane: Sequence[Number]
) -> Row[Number]:
    """Return the row of a moment of a flat region, the integral of x^i y^j over its picture.

    Args:
        moments: of the region by their orders; those of one order more than its own, too.
        order: i and j.
        plane: A, B and C of its plane, 1/Z = A x + B y + C, 1/m.

    >>> square = {(0, 0): 1.0, (1, 0): 0.0, (0, 1): 0.0}
    >>> [x + 0.0 for x in moment_interaction(square, (0, 0), (0.0, 0.0, 0.5))]  # of the area
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    i, j = order
    A, B, C = plane

    m = moments
    own = m[i, j]
    rows: list[Number] = [
        -A * own,
        -B * own,
        (i + j + 3) * (A * m[i + 1, j] + B * m[i, j + 1] + C * own) - C * own,
    ]
    turn: list[Number] = [(i + j + 3) * m[i, j + 1], -(i + j + 3) * m[i + 1, j], 0 * own]
    if i:
        rows[0] = rows[0] - i * (A * own + B * m[i - 1, j + 1] + C * m[i - 1, j])
        turn[1] = turn[1] - i * m[i - 1, j]
        turn[2] = turn[2] + i * m[i - 1, j + 1]
    if j:
        rows[1] = rows[1] - j * (A * m[i + 1, j - 1] + B * own + C * m[i, j - 1])
        turn[0] = turn[0] + j * m[i, j - 1]
        turn[2] = turn[2] - j * m[i + 1, j - 1]
    return rows + turn


def place_interaction(
    x: Number, y: Number, depth: Number, variance: Sequence[Number], plane: Sequence[Number]
) -> tuple[Row[Number], Row[Number], Row[Number]]:
    """Return the rows of x u, y u and u: the centroid of a region times its depth by area, and it.

    With u = sqrt(A/a), A the true area and a its picture, these are what a region of known size
    says of its place (Tahri and Chaumette 2005, Point-based and region-based image moments). They
    move almost as the camera does, without coupling.

    Args:
        x: the centroid, as a slope.
        y: likewise.
        depth: u, m.
        variance: of its points about the centroid, slopes squared: of x, of x with y, of y.
        plane: A, B and C of its plane, 1/Z = A x + B y + C, 1/m.

    >>> square = place_interaction(0.0, 0.0, 2.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.5))
    >>> [x + 0.0 for x in square[0]], [x + 0.0 for x in square[2]]
    ([-1.0, 0.0, 0.0, 0.0, -2.0, 0.0], [0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    """
    xx, xy, yy = variance
    one = 1 + 0 * x  # moments over the area
    known = {
        (0, 0): one, (1, 0): x, (0, 1): y,
        (2, 0): xx + x * x, (1, 1): xy + x * y, (0, 2): yy + y * y,
    }  # fmt: skip
    area = moment_interaction(known, (0, 0), plane)
    first = moment_interaction(known, (1, 0), plane)
    second = moment_interaction(known, (0, 1), plane)
    away = [-depth * a / 2 for a in area]
    across = [x * u + depth * (m - x * a) for u, m, a in zip(away, first, area, strict=True)]
    down = [y * u + depth * (m - y * a) for u, m, a in zip(away, second, area, strict=True)]
    return across, down, away
