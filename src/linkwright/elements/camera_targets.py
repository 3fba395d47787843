"""What a camera can see: flat discs and polygons, and their exact pictures.

A target is in the plane z = 0 of its own frame. With a and b the axes of that plane times the
target's unit of length, and c its origin, all along the axes of the camera, the point (s, t) of the
target is seen at the projection of a s + b t + c: its picture is the homography H = (a b c).

The picture of the unit circle is an ellipse. Its dual conic is H diag(1, 1, -1) H' (Hartley and
Zisserman 2004, Multiple View Geometry, 2.2.3 and 2.31), from which follow, with n = c_z^2 - a_z^2 -
b_z^2, its center (c_x c_z - a_x a_z - b_x b_z)/n and, since the determinant of the dual conic is
-det(H)^2, its area pi |det H|/n^(3/2). The variance of a uniform ellipse is a quarter of its shape.
The picture of a polygon is the polygon of the pictures of its corners; area, centroid and variance
are sums over its sides (Steger 1996, On the calculation of moments of polygons).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linkwright.algebra import PI, Expr, absolute, as_expr, maximum, minimum, sqrt, total, where
from linkwright.algebra.triples import Hold, Matrix, Triple
from linkwright.blocks import BlockError, checked, checked_all
from linkwright.elements.surfaces import Placed
from linkwright.mechanism import Body

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Optics:
    """What a camera makes of directions: its lens and its pixels, as expressions."""

    focal: tuple[Expr, Expr]  # length in pixels, along the lines of the picture and across them
    center: tuple[Expr, Expr]  # where the axis meets the picture, pixels
    size: tuple[Expr, Expr]  # width and height of the picture, pixels


def pictured(
    focal: Sequence[Expr | float],
    center: Sequence[Expr | float],
    across: Expr,  # place of the point along the camera's x axis, m
    down: Expr,
    depth: Expr,
) -> tuple[Expr, Expr]:
    """Return where a point is in the picture of a camera, pixels.

    >>> one, two = as_expr(1.0), as_expr(2.0)
    >>> pictured((600, 500), (320, 240), one, one, two)
    (620, 490)
    """
    (fx, fy), (cx, cy) = focal, center
    return cx + fx * across / depth, cy + fy * down / depth


@dataclass(frozen=True, slots=True)
class TargetPicture:
    """What is seen of a target, as expressions; only where all of it is in front of the camera."""

    u: Expr  # centroid along the lines of the picture, pixels
    v: Expr  # centroid across them
    area: Expr  # pixels
    variance: Triple  # of its points about the centroid: along u, of u with v, along v; pixels^2
    lower: tuple[Expr, Expr]  # least u and v of its points
    upper: tuple[Expr, Expr]  # greatest u and v
    front: Expr  # whether all of it is in front of the camera


class CameraTarget(Protocol):
    """A flat thing that a camera can see."""

    @property
    def body(self) -> Body | str | None:
        """The body that carries it, or its name; None for the ground."""

    @property
    def center(self) -> Sequence[float]:
        """Its origin in that body, m."""

    @property
    def rotation(self) -> Sequence[Sequence[float]]:
        """Rows of the matrix from its axes to the body's."""

    @property
    def size(self) -> float:
        """Its unit of length, m."""

    def corners(self) -> tuple[tuple[float, float], ...]:
        """Return its corners in its unit of length; none where it is the unit circle."""

    def picture(self, optics: Optics, H: Matrix, hold: Hold) -> TargetPicture:
        """Return its picture, from its axes and origin along those of the camera."""


@dataclass(frozen=True, slots=True)
class DiscTarget(Placed):
    """A disc in the plane z = 0 of its frame.

    Args:
        radius: m.

    >>> DiscTarget(0.02, body="belt").size
    0.02
    """

    radius: float

    def __post_init__(self) -> None:
        checked(self.radius, "radius of a disc", above=0)

    @property
    def size(self) -> float:
        """Its radius, m."""
        return self.radius

    def corners(self) -> tuple[tuple[float, float], ...]:
        """Return nothing: it is round."""
        return ()

    def picture(self, optics: Optics, H: Matrix, hold: Hold) -> TargetPicture:
        """Return the ellipse that is seen of it."""
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = H
        whole = hold(cz**2 - az**2 - bz**2)
        front = hold(where((whole > 0) & (cz > 0), 1, 0))
        n = hold(where(front > 0, whole, cz**2 + az**2 + bz**2 + (bx**2 + by**2)))
        x = hold((cx * cz - ax * az - bx * bz) / n)
        y = hold((cy * cz - ay * az - by * bz) / n)
        volume = total(
            [
                ax * (by * cz - bz * cy),
                ay * (bz * cx - bx * cz),
                az * (bx * cy - by * cx),
            ]
        )
        (fx, fy), (u0, v0) = optics.focal, optics.center
        uu = hold(fx**2 * maximum((ax**2 + bx**2 - cx**2) / n + x**2, 0))
        uv = hold(fx * fy * ((ax * ay + bx * by - cx * cy) / n + x * y))
        vv = hold(fy**2 * maximum((ay**2 + by**2 - cy**2) / n + y**2, 0))
        u, v = hold(u0 + fx * x), hold(v0 + fy * y)
        wide, high = hold(sqrt(uu)), hold(sqrt(vv))
        area = hold(PI * fx * fy * absolute(volume) / (n * sqrt(n)))
        return TargetPicture(
            u, v, area, (uu / 4, uv / 4, vv / 4), (u - wide, v - high), (u + wide, v + high), front
        )


@dataclass(frozen=True, slots=True)
class PolygonTarget(Placed):
    """A polygon in the plane z = 0 of its frame; its sides neither cross nor touch each other.

    Args:
        points: its corners in order, x and y of each, m.

    >>> len(PolygonTarget([(0, 0), (0.1, 0), (0, 0.1)]).corners())
    3
    """

    points: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        given: object = self.points
        if not isinstance(given, Sequence | np.ndarray) or len(given) < 3:
            raise BlockError(
                f"the polygon has the points {self.points!r}", remedy="give three or more, (x, y)"
            )
        corners = self.corners()
        crossing = _crossing_sides(corners)
        if crossing:
            raise BlockError(
                f"the sides of the polygon after its corners {crossing[0]} and {crossing[1]} cross "
                "or touch",
                remedy="list the corners in order along its edge, or give two polygons",
            )
        if abs(_doubled_area(corners)) < 1e-12:
            raise BlockError("the polygon has no area", remedy="give corners that lie on no line")

    @property
    def size(self) -> float:
        """The unit of its points, 1 m."""
        return 1.0

    def corners(self) -> tuple[tuple[float, float], ...]:
        """Return its corners, m."""
        rows = [checked_all(p, "a point of a polygon", count=2) for p in self.points]
        return tuple((x, y) for x, y in rows)

    def picture(self, optics: Optics, H: Matrix, hold: Hold) -> TargetPicture:
        """Return the polygon that is seen of it."""
        a, b, c = H
        front = as_expr(1)
        seen = []
        for s, t in self.corners():
            x, y, z = (
                hold(total([_number(s) * i, _number(t) * j, k]))
                for i, j, k in zip(a, b, c, strict=True)
            )
            front = hold(where((front > 0) & (z > 0), 1, 0))
            far = hold(where(z > 0, z, absolute(z) + sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)))
            u, v = pictured(optics.focal, optics.center, x, y, far)
            seen.append((hold(u), hold(v)))
        u0, v0 = seen[0]
        rest = [(hold(u - u0), hold(v - v0)) for u, v in seen]
        sides = [
            (p, q, hold(p[0] * q[1] - q[0] * p[1]))
            for p, q in zip(rest, [*rest[1:], rest[0]], strict=True)
        ]
        double = hold(total([d for _, _, d in sides]))
        flat = double * double <= 0
        share = hold(1 / where(flat, 1, double))
        u = hold(share * total([(p[0] + q[0]) * d for p, q, d in sides]) / 3)
        v = hold(share * total([(p[1] + q[1]) * d for p, q, d in sides]) / 3)

        def moment(i: int, j: int) -> Expr:
            parts = [
                (2 * p[i] * p[j] + p[i] * q[j] + q[i] * p[j] + 2 * q[i] * q[j]) * d
                for p, q, d in sides
            ]
            return share * total(parts) / 12

        us, vs = zip(*seen, strict=True)
        return TargetPicture(
            hold(u0 + u),
            hold(v0 + v),
            hold(absolute(double) / 2),
            (hold(moment(0, 0) - u**2), hold(moment(0, 1) - u * v), hold(moment(1, 1) - v**2)),
            (hold(minimum(*us)), hold(minimum(*vs))),
            (hold(maximum(*us)), hold(maximum(*vs))),
            front,
        )


def _doubled_area(corners: Sequence[Pair]) -> float:
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return sum(x * q - p * y for (x, y), (p, q) in pairs)


def _crossing_sides(corners: Sequence[Pair]) -> tuple[int, int] | None:
    """Return the corners, from 1, where two sides begin that have a point in common."""
    ring = zip(corners, [*corners[1:], corners[0]], strict=True)
    sides = [(k, p, q) for k, (p, q) in enumerate(ring, 1) if p != q]
    for i, (first, a, b) in enumerate(sides):
        for j in range(i + 2, len(sides) - (i == 0)):  # neighbors share a corner
            second, c, d = sides[j]
            if _meet(a, b, c, d):
                return first, second
    return None


def _meet(a: Pair, b: Pair, c: Pair, d: Pair) -> bool:
    """Whether the segments from a to b and from c to d have a point in common."""
    if any(
        max(a[k], b[k]) < min(c[k], d[k]) or max(c[k], d[k]) < min(a[k], b[k]) for k in range(2)
    ):
        return False
    return _side(a, b, c) * _side(a, b, d) <= 0 and _side(c, d, a) * _side(c, d, b) <= 0


def _side(a: Pair, b: Pair, p: Pair) -> int:
    """Return on which side of a line a point is: 1, -1, or 0 on it."""
    turn = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
    return (turn > 0) - (turn < 0)


def _number(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
