"""Dyadics without coordinates: sums of scalars times pairs of directions of any mix of frames.

A dyadic takes a vector to a vector by dot products from either side. The inertia of a body and the
basis of a frame (AUTOSIM, sections 5.2 and 8.4: dotting with it changes the basis of a vector and
nothing else) are dyadics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, overload

from linkwright.algebra.directions import (
    Direction,
    cross as cross_directions,
    dot as dot_directions,
)
from linkwright.algebra.expr import ONE, ZERO, Expr, Scalar, as_expr, mul, product
from linkwright.algebra.vectors import LinearSum, Vector

if TYPE_CHECKING:
    from linkwright.algebra.frames import Frame
    from linkwright.algebra.motion import Motion

Pair = tuple[Direction, Direction]


class Dyadic(LinearSum[Pair]):
    """An immutable dyadic: scalar coefficients by pair of directions.

    >>> from linkwright.algebra import Frame, symbols
    >>> I, w = symbols("I w")
    >>> n = Frame.root("n")
    >>> J = I * (n.x | n.y)
    >>> J
    I*(n.x|n.y)
    >>> J @ (w * n.y), (w * n.x) @ J
    (I*w*n.x, I*w*n.y)
    """

    __slots__ = ()

    # -- makers ------------------------------------------------------------------------------------
    @staticmethod
    def unit(frame: Frame) -> Dyadic:
        """Return the unit dyadic in the basis of a frame; a dot with it changes the basis only.

        >>> from linkwright.algebra import Frame
        >>> Dyadic.unit(Frame.root("n"))
        (n.x|n.x) + (n.y|n.y) + (n.z|n.z)
        """
        return Dyadic({(d, d): ONE for d in frame.directions})

    @staticmethod
    def inertia(
        frame: Frame,
        Ixx: Scalar,
        Iyy: Scalar,
        Izz: Scalar,
        Ixy: Scalar = 0,
        Iyz: Scalar = 0,
        Izx: Scalar = 0,
    ) -> Dyadic:
        """Return the inertia dyadic of a body.

        Args:
            frame: the frame along whose axes the inertias are given.
            Ixx: moment of inertia about x, kg m².
            Iyy: moment of inertia about y, kg m².
            Izz: moment of inertia about z, kg m².
            Ixy: element (x, y) of the inertia matrix, -∫xy dm, kg m².
            Iyz: element (y, z) of the inertia matrix, kg m².
            Izx: element (z, x) of the inertia matrix, kg m².

        >>> from linkwright.algebra import Frame
        >>> Dyadic.inertia(Frame.root("n"), 1, 2, 3) @ Frame.root("m").x
        Traceback (most recent call last):
        ...
        linkwright.algebra.directions.VectorError: the frames 'n' and 'm' hang on different roots; \
only frames of one tree can be compared
        """
        matrix = ((Ixx, Ixy, Izx), (Ixy, Iyy, Iyz), (Izx, Iyz, Izz))
        axes, signs = frame.directions, frame.signs
        return Dyadic(
            {
                (axes[i], axes[j]): as_expr(matrix[i][j]) * (signs[i] * signs[j])
                for i in range(3)
                for j in range(3)
            }
        )

    # -- content -----------------------------------------------------------------------------------
    @property
    def T(self) -> Dyadic:
        """The transpose."""
        return Dyadic({(e, d): c for (d, e), c in self._coefficients.items()})

    def components(self, frame: Frame) -> tuple[tuple[Expr, ...], ...]:
        """Return the 3×3 matrix of the dyadic in a frame, row by row."""
        return tuple((axis @ self).components(frame) for axis in frame.axes)

    def expressed(self, frame: Frame) -> Dyadic:
        """Return the dyadic in the basis of one frame."""
        axes, signs = frame.directions, frame.signs
        return Dyadic(
            {
                (axes[i], axes[j]): c * (signs[i] * signs[j])
                for i, row in enumerate(self.components(frame))
                for j, c in enumerate(row)
            }
        )

    # -- algebra -----------------------------------------------------------------------------------
    @overload
    def __matmul__(self, other: Vector) -> Vector: ...
    @overload
    def __matmul__(self, other: Dyadic) -> Dyadic: ...
    def __matmul__(self, other: Vector | Dyadic) -> Vector | Dyadic:
        if isinstance(other, Vector):
            return self._dot_vector(other)
        if not isinstance(other, Dyadic):
            return NotImplemented
        return self._dot_dyadic(other)

    def __rmatmul__(self, other: Vector) -> Vector:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.T._dot_vector(other)

    def __xor__(self, other: Vector) -> Dyadic:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.cross(other)

    def __rxor__(self, other: Vector) -> Dyadic:
        if not isinstance(other, Vector):
            return NotImplemented
        return -(self.T.cross(other)).T

    def _dot_vector(self, other: Vector) -> Vector:
        parts: dict[Direction, list[Expr]] = {}
        for (d, e), c in self._coefficients.items():
            for f, k in other.terms:
                m = dot_directions(e, f)
                if m is not ZERO:
                    parts.setdefault(d, []).append(product((c, k, m)))
        return Vector._collected(parts)

    def _dot_dyadic(self, other: Dyadic) -> Dyadic:
        parts: dict[Pair, list[Expr]] = {}
        for (d, e), c in self._coefficients.items():
            for (f, g), k in other._coefficients.items():
                m = dot_directions(e, f)
                if m is not ZERO:
                    parts.setdefault((d, g), []).append(product((c, k, m)))
        return Dyadic._collected(parts)

    def cross(self, other: Vector) -> Dyadic:
        """Return the cross product with a vector on the right; `v ^ D` has it on the left."""
        parts: dict[Pair, list[Expr]] = {}
        for (d, e), c in self._coefficients.items():
            for f, k in other.terms:
                for x, m in cross_directions(e, f).items():
                    parts.setdefault((d, x), []).append(product((c, k, m)))
        return Dyadic._collected(parts)

    # -- calculus ----------------------------------------------------------------------------------
    def dt(self, rates: Mapping[Expr, Scalar] | Motion, frame: Frame | None = None) -> Dyadic:
        """Return the time derivative, seen from the root or from another frame."""
        from linkwright.algebra.motion import as_motion

        return as_motion(rates).dyadic_derivative(self, frame)


ZERO_DYADIC = Dyadic({})


def outer(a: Vector, b: Vector) -> Dyadic:
    """Return the dyadic product of two vectors; also written `a | b`.

    >>> from linkwright.algebra import Frame
    >>> n = Frame.root("n")
    >>> outer(n.x, n.x - n.y)
    (n.x|n.x) - (n.x|n.y)
    """
    return Dyadic({(d, e): mul(c, k) for d, c in a.terms for e, k in b.terms})
