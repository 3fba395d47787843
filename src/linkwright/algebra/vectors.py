"""Vectors without coordinates: sums of scalars times directions of any mix of frames.

A vector keeps its native form: `u1*n.x + u2*a.y` stays as it is until a dot product, a cross
product or `expressed` asks for directions of another frame, and then only the rotations between
the frames concerned enter (AUTOSIM, sections 5.2 and 5.3). Two vectors are equal when they have
the same coefficient along every direction; a vector that is written in another basis is another
vector for `==`.

Partial derivatives, substitution and `nominal` work on the coefficients and leave the directions
as they are; only the time derivative (`Vector.dt`) turns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, overload

from linkwright.algebra.directions import (
    Direction,
    Terms,
    cross as cross_directions,
    dot as dot_directions,
)
from linkwright.algebra.expr import ONE, ZERO, Expr, Scalar, mul, product, scaled, total
from linkwright.algebra.linear_sums import LinearSum

if TYPE_CHECKING:
    from linkwright.algebra.dyadics import Dyadic
    from linkwright.algebra.frames import Frame
    from linkwright.algebra.motion import Motion


class Vector(LinearSum[Direction]):
    """An immutable vector: scalar coefficients by direction.

    >>> from linkwright.algebra import Frame, symbols
    >>> q, u, w = symbols("q u w")
    >>> n = Frame.root("n")
    >>> a = n.rotated("a", "z", q)
    >>> v = u * n.x + w * a.y
    >>> v
    u*n.x + w*a.y
    >>> v @ a.x
    u*cos(q)
    >>> n.z ^ a.x
    a.y
    """

    __slots__ = ()

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that occur, in canonical order."""
        return tuple(d for d, _ in self.terms)

    def coefficient(self, direction: Direction) -> Expr:
        """Return the coefficient of a direction as the vector is written, 0 where it is absent."""
        return self._coefficients.get(direction, ZERO)

    def components(self, frame: Frame) -> tuple[Expr, Expr, Expr]:
        """Return the dot products with the three axes of a frame.

        >>> from linkwright.algebra import Frame, symbols
        >>> q, L = symbols("q L")
        >>> n = Frame.root("n")
        >>> (L * n.rotated("a", "z", q).x).components(n)
        (L*cos(q), L*sin(q), 0)
        """
        x, y, z = frame.axes
        return self.dot(x), self.dot(y), self.dot(z)

    def expressed(self, frame: Frame) -> Vector:
        """Return the vector in the basis of one frame."""
        here = self._coefficients
        return Vector._of({d: total(_dot_parts(here, {d: ONE})) for d in frame.directions})

    # -- algebra -----------------------------------------------------------------------------------
    @overload
    def __matmul__(self, other: Vector) -> Expr: ...
    @overload
    def __matmul__(self, other: Dyadic) -> Vector: ...
    def __matmul__(self, other: Vector | Dyadic) -> Expr | Vector:
        if isinstance(other, Vector):
            return self.dot(other)
        return NotImplemented

    def __xor__(self, other: Vector) -> Vector:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.cross(other)

    def __or__(self, other: Vector) -> Dyadic:
        if not isinstance(other, Vector):
            return NotImplemented
        from linkwright.algebra.dyadics import outer

        return outer(self, other)

    def dot(self, other: Vector) -> Expr:
        """Return the dot product with another vector; also written `v @ w`."""
        return total(_dot_parts(self._coefficients, other._coefficients))

    def cross(self, other: Vector) -> Vector:
        """Return the cross product with another vector; also written `v ^ w`."""
        parts: dict[Direction, list[Expr]] = {}
        for d, c in self._coefficients.items():
            for e, k in other._coefficients.items():
                if d is e:
                    continue
                if d.key < e.key:
                    signed, found = scaled(-1, k), cross_directions(e, d)
                else:
                    signed, found = k, cross_directions(d, e)
                for x, m in found.items():
                    parts.setdefault(x, []).append(product((c, signed, m)))
        return Vector._collected(parts)

    # -- calculus ----------------------------------------------------------------------------------
    def dt(self, rates: Mapping[Expr, Scalar] | Motion, frame: Frame | None = None) -> Vector:
        """Return the time derivative, seen from the root or from another frame.

        >>> from linkwright.algebra import Frame, symbol
        >>> q, u = symbol("q", "coordinate"), symbol("u", "speed")
        >>> a = Frame.root("n").rotated("a", "z", q)
        >>> a.x.dt({q: u})
        u*a.y
        """
        from linkwright.algebra.motion import as_motion

        return as_motion(rates).derivative(self, frame)


def _dot_parts(a: Terms, b: Terms) -> list[Expr]:
    parts = []
    for d, c in a.items():
        for e, k in b.items():
            m = dot_directions(d, e)
            if m is ONE:
                parts.append(mul(c, k))
            elif m is not ZERO:
                parts.append(product((c, k, m)))
    return parts


ZERO_VECTOR = Vector({})


def vector_total(vectors: Iterable[Vector]) -> Vector:
    """Return the sum of any number of vectors.

    >>> from linkwright.algebra import Frame
    >>> n = Frame.root("n")
    >>> vector_total([n.x, n.y, n.x])
    2*n.x + n.y
    """
    parts: dict[Direction, list[Expr]] = {}
    for vector in vectors:
        for d, c in vector._coefficients.items():
            parts.setdefault(d, []).append(c)
    return Vector._collected(parts)
