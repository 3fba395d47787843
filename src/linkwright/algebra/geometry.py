"""Lengths, directions, angles and projections of vectors (AUTOSIM, section 5.3).

The AUTOSIM names are `mag`, `dir`, `angle` and `dot-plane`; here they are `magnitude`,
`direction_of`, `angle` and `project_on_plane`.
"""

from __future__ import annotations

from linkwright.algebra.directions import VectorError
from linkwright.algebra.expr import Expr
from linkwright.algebra.functions import atan2, sqrt, where
from linkwright.algebra.vectors import Vector


def magnitude(v: Vector) -> Expr:
    """Return the length of a vector.

    >>> from linkwright.algebra import Frame, symbols
    >>> x, y = symbols("x y")
    >>> magnitude(Frame.root("n").vector(x, y, 0))
    sqrt(x**2 + y**2)
    """
    return sqrt(v.dot(v))


def direction_of(v: Vector) -> Vector:
    """Return the unit vector along a vector.

    >>> from linkwright.algebra import Frame
    >>> direction_of(Frame.root("n").vector(3, 0, 4))
    3/5*n.x + 4/5*n.z
    """
    if v.is_zero:
        raise VectorError("the zero vector has no direction")
    return v / magnitude(v)


def angle(v1: Vector, v2: Vector, v3: Vector | None = None) -> Expr:
    """Return the angle from one vector to another, rad.

    >>> from linkwright.algebra import Frame, symbols
    >>> u, v = symbols("u v")
    >>> n = Frame.root("n")
    >>> angle(n.x, n.vector(u, v, 0), n.z)
    atan2(v, u)
    """
    if v1.is_zero or v2.is_zero:
        raise VectorError("there is no angle to the zero vector")
    normal = v1.cross(v2)
    along = v1.dot(v2)
    if v3 is None:
        return atan2(magnitude(normal), along)
    axis = direction_of(v3)
    across = normal.dot(axis)
    if (normal - axis * across).is_zero:
        return atan2(across, along)
    size = atan2(magnitude(normal), along)
    return where(across < 0, -size, size)


def project_on_plane(v: Vector, normal: Vector) -> Vector:
    """Return the part of a vector that is in the plane at right angles to another one.

    >>> from linkwright.algebra import Frame, symbols
    >>> x, y, z = symbols("x y z")
    >>> n = Frame.root("n")
    >>> project_on_plane(n.vector(x, y, z), n.z)
    x*n.x + y*n.y
    """
    axis = direction_of(normal)
    return v - axis * v.dot(axis)
