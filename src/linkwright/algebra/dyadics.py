"""Dyadics without coordinates: sums of scalars times pairs of directions of any mix of frames.

A dyadic takes a vector to a vector by dot products from either side. The inertia of a body and the
basis of a frame (AUTOSIM, sections 5.2 and 8.4: dotting with it changes the basis of a vector and
nothing else) are dyadics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, overload

from linkwright.algebra import calculus
from linkwright.algebra.directions import (
    Direction,
    VectorError,
    cross as cross_directions,
    dot as dot_directions,
)
from linkwright.algebra.expr import ONE, ZERO, Expr, Scalar, as_expr, mul, product, raised, total
from linkwright.algebra.vectors import Vector, terms_latex, terms_text

if TYPE_CHECKING:
    from linkwright.algebra.frames import Frame
    from linkwright.algebra.motion import Motion

Pair = tuple[Direction, Direction]


class Dyadic:
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

    __slots__ = ("__weakref__", "_coefficients")
    __array_ufunc__ = None

    _coefficients: dict[Pair, Expr]

    def __init__(self, terms: Mapping[Pair, Scalar]) -> None:
        given = {pair: as_expr(c) for pair, c in terms.items()}
        kept = {pair: c for pair, c in given.items() if c is not ZERO}
        object.__setattr__(self, "_coefficients", kept)

    def __setattr__(self, name: str, value: object) -> None:
        raise VectorError("a Dyadic never changes; make another one")

    def __reduce__(self) -> str:
        raise VectorError("a Dyadic is not pickled; write the model as text instead")

    def __copy__(self) -> Dyadic:
        return self

    def __deepcopy__(self, memo: object) -> Dyadic:
        return self

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
    def terms(self) -> tuple[tuple[Pair, Expr], ...]:
        """The pairs of directions and their coefficients, in canonical order."""
        return tuple(
            sorted(self._coefficients.items(), key=lambda term: (term[0][0].key, term[0][1].key))
        )

    @property
    def is_zero(self) -> bool:
        """Whether there is no term at all."""
        return not self._coefficients

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dyadic):
            return NotImplemented
        return self._coefficients == other._coefficients

    def __hash__(self) -> int:
        return hash(frozenset(self._coefficients.items()))

    def __bool__(self) -> bool:
        return bool(self._coefficients)

    # -- algebra -----------------------------------------------------------------------------------
    def __add__(self, other: Dyadic) -> Dyadic:
        if not isinstance(other, Dyadic):
            return NotImplemented
        result = dict(self._coefficients)
        for pair, c in other._coefficients.items():
            result[pair] = result.get(pair, ZERO) + c
        return Dyadic(result)

    def __sub__(self, other: Dyadic) -> Dyadic:
        if not isinstance(other, Dyadic):
            return NotImplemented
        return self + -other

    def __neg__(self) -> Dyadic:
        return Dyadic({pair: -c for pair, c in self._coefficients.items()})

    def __pos__(self) -> Dyadic:
        return self

    def __mul__(self, factor: Scalar) -> Dyadic:
        x = as_expr(factor)
        return Dyadic({pair: mul(c, x) for pair, c in self._coefficients.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Dyadic:
        return self * raised(as_expr(divisor), -1)

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
        return Vector({d: total(c) for d, c in parts.items()})

    def _dot_dyadic(self, other: Dyadic) -> Dyadic:
        parts: dict[Pair, list[Expr]] = {}
        for (d, e), c in self._coefficients.items():
            for (f, g), k in other._coefficients.items():
                m = dot_directions(e, f)
                if m is not ZERO:
                    parts.setdefault((d, g), []).append(product((c, k, m)))
        return Dyadic({pair: total(c) for pair, c in parts.items()})

    def cross(self, other: Vector) -> Dyadic:
        """Return the cross product with a vector on the right; `v ^ D` has it on the left."""
        parts: dict[Pair, list[Expr]] = {}
        for (d, e), c in self._coefficients.items():
            for f, k in other.terms:
                for x, m in cross_directions(e, f).items():
                    parts.setdefault((d, x), []).append(product((c, k, m)))
        return Dyadic({pair: total(c) for pair, c in parts.items()})

    # -- calculus ----------------------------------------------------------------------------------
    def dt(self, rates: Mapping[Expr, Scalar] | Motion, frame: Frame | None = None) -> Dyadic:
        """Return the time derivative, seen from the root or from another frame."""
        from linkwright.algebra.motion import as_motion

        return as_motion(rates).dyadic_derivative(self, frame)

    def map(self, function: Callable[[Expr], Expr]) -> Dyadic:
        """Return the dyadic with a function applied to every coefficient, in canonical order."""
        return Dyadic({pair: function(c) for pair, c in self.terms})

    def diff(self, variable: Expr) -> Dyadic:
        """Return the partial derivative by a symbol; directions count as constants."""
        return self.map(lambda c: calculus.diff(c, variable))

    def substitute(self, replacements: Mapping[Expr, Scalar]) -> Dyadic:
        """Return the dyadic with symbols replaced in the coefficients; directions stay."""
        return self.map(lambda c: calculus.substitute(c, replacements))

    def nominal(self) -> Dyadic:
        """Return the dyadic with every coordinate and speed in its coefficients at zero."""
        return self.map(calculus.nominal)

    def free_symbols(self) -> tuple[Expr, ...]:
        """Return the symbols in the coefficients, in canonical order."""
        return calculus.free_symbols(*self._coefficients.values())

    # -- text --------------------------------------------------------------------------------------
    def __str__(self) -> str:
        return terms_text([(c, f"({d}|{e})") for (d, e), c in self.terms])

    __repr__ = __str__

    def latex(self) -> str:
        """Return the dyadic as LaTeX."""
        return terms_latex([(c, rf"{d.latex()}\,{e.latex()}") for (d, e), c in self.terms])

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


ZERO_DYADIC = Dyadic({})


def outer(a: Vector, b: Vector) -> Dyadic:
    """Return the dyadic product of two vectors; also written `a | b`.

    >>> from linkwright.algebra import Frame
    >>> n = Frame.root("n")
    >>> outer(n.x, n.x - n.y)
    (n.x|n.x) - (n.x|n.y)
    """
    return Dyadic({(d, e): mul(c, k) for d, c in a.terms for e, k in b.terms})
