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

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from linkwright.algebra import calculus
from linkwright.algebra.directions import (
    Direction,
    Terms,
    VectorError,
    cross as cross_directions,
    dot as dot_directions,
)
from linkwright.algebra.expr import (
    ONE,
    ZERO,
    Expr,
    Scalar,
    add,
    as_expr,
    mul,
    product,
    raised,
    scaled,
    total,
)

if TYPE_CHECKING:
    from linkwright.algebra.dyadics import Dyadic
    from linkwright.algebra.frames import Frame
    from linkwright.algebra.motion import Motion

# Operators that bind less tightly than a product when written as text.
_LOOSE = frozenset({"sum", "lt", "le", "eq", "ne", "and", "or", "not"})


class Vector:
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

    __slots__ = ("__weakref__", "_coefficients", "_hash", "_ordered")
    __array_ufunc__ = None  # a NumPy scalar on the left leaves the operation to us

    _coefficients: Terms
    _hash: int | None
    _ordered: tuple[tuple[Direction, Expr], ...] | None

    def __init__(self, terms: Mapping[Direction, Scalar]) -> None:
        given = {d: as_expr(c) for d, c in terms.items()}
        _set_coefficients(self, {d: c for d, c in given.items() if c is not ZERO})
        _set_hash(self, None)
        _set_ordered(self, None)

    def __setattr__(self, name: str, value: object) -> None:
        raise VectorError("a Vector never changes; make another one")

    def __reduce__(self) -> str:
        raise VectorError("a Vector is not pickled; write the model as text instead")

    def __copy__(self) -> Vector:
        return self

    def __deepcopy__(self, memo: object) -> Vector:
        return self

    # -- content -----------------------------------------------------------------------------------
    @property
    def terms(self) -> tuple[tuple[Direction, Expr], ...]:
        """The directions and their coefficients, in canonical order."""
        ordered = self._ordered
        if ordered is None:
            ordered = tuple(sorted(self._coefficients.items(), key=lambda term: term[0].key))
            _set_ordered(self, ordered)
        return ordered

    @property
    def is_zero(self) -> bool:
        """Whether there is no term at all."""
        return not self._coefficients

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
        return _vector({d: total(_dot_parts(here, {d: ONE})) for d in frame.directions})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return self is other or self._coefficients == other._coefficients

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            known = hash(frozenset(self._coefficients.items()))
            _set_hash(self, known)
        return known

    def __bool__(self) -> bool:
        return bool(self._coefficients)

    # -- algebra -----------------------------------------------------------------------------------
    def __add__(self, other: Vector) -> Vector:
        if not isinstance(other, Vector):
            return NotImplemented
        mine, theirs = self._coefficients, other._coefficients
        if not theirs:
            return self
        if not mine:
            return other
        result = dict(mine)
        for d, c in theirs.items():
            old = result.get(d)
            result[d] = c if old is None else add(old, c)
        return _vector(result)

    def __sub__(self, other: Vector) -> Vector:
        if not isinstance(other, Vector):
            return NotImplemented
        return self + -other

    def __neg__(self) -> Vector:
        return _nonzero({d: scaled(-1, c) for d, c in self._coefficients.items()})

    def __pos__(self) -> Vector:
        return self

    def __mul__(self, factor: Scalar) -> Vector:
        if isinstance(factor, Vector):
            raise VectorError("two vectors have no product `*`; use `@` (dot), `^` (cross), `|`")
        x = as_expr(factor)
        if x is ONE:
            return self
        return _vector({d: mul(c, x) for d, c in self._coefficients.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Vector:
        return self * raised(as_expr(divisor), -1)

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
        return _collected(parts)

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

    def map(self, function: Callable[[Expr], Expr]) -> Vector:
        """Return the vector with a function applied to every coefficient, in canonical order."""
        return _vector({d: function(c) for d, c in self.terms})

    def diff(self, variable: Expr) -> Vector:
        """Return the partial derivative by a symbol; directions count as constants."""
        return self.map(lambda c: calculus.diff(c, variable))

    def substitute(self, replacements: Mapping[Expr, Scalar]) -> Vector:
        """Return the vector with symbols replaced in the coefficients; directions stay."""
        found = calculus.substitute_all([c for _, c in self.terms], replacements)
        return _vector(dict(zip(self.directions, found, strict=True)))

    def nominal(self) -> Vector:
        """Return the vector with every coordinate and speed in its coefficients at zero."""
        return self.map(calculus.nominal)

    def free_symbols(self) -> tuple[Expr, ...]:
        """Return the symbols in the coefficients, in canonical order."""
        return calculus.free_symbols(*self._coefficients.values())

    # -- text --------------------------------------------------------------------------------------
    def __str__(self) -> str:
        return terms_text([(c, str(d)) for d, c in self.terms])

    __repr__ = __str__

    def latex(self) -> str:
        """Return the vector as LaTeX."""
        return terms_latex([(c, d.latex()) for d, c in self.terms])

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


_set_coefficients = Vector.__dict__["_coefficients"].__set__
_set_hash = Vector.__dict__["_hash"].__set__
_set_ordered = Vector.__dict__["_ordered"].__set__
_new = object.__new__


def _nonzero(coefficients: Terms) -> Vector:
    """Return the vector of coefficients among which there is no zero."""
    vector: Vector = _new(Vector)
    _set_coefficients(vector, coefficients)
    _set_hash(vector, None)
    _set_ordered(vector, None)
    return vector


def _vector(coefficients: Terms) -> Vector:
    for c in coefficients.values():
        if c is ZERO:
            return _nonzero({d: x for d, x in coefficients.items() if x is not ZERO})
    return _nonzero(coefficients)


def _collected(parts: dict[Direction, list[Expr]]) -> Vector:
    return _vector({d: c[0] if len(c) == 1 else total(c) for d, c in parts.items()})


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
    return _collected(parts)


# -- text ------------------------------------------------------------------------------------------
def _signed(c: Expr) -> tuple[bool, Expr]:
    """Return whether the coefficient is written with a minus, and what follows the sign."""
    if c.op in ("scale", "num") and c.data < 0:
        return True, -c
    return False, c


def _joined(terms: Iterable[tuple[Expr, str]], write: Callable[[Expr, str], str]) -> str:
    result = ""
    for c, unit in terms:
        negative, size = _signed(c)
        sign = "-" if negative else "+"
        body = unit if size is ONE else write(size, unit)
        if result:
            result += f" {sign} {body}"
        else:
            result = f"-{body}" if negative else body
    return result or "0"


def terms_text(terms: Iterable[tuple[Expr, str]]) -> str:
    """Return a sum of coefficients times units as text."""

    def write(c: Expr, unit: str) -> str:
        return f"({c})*{unit}" if c.op in _LOOSE else f"{c}*{unit}"

    return _joined(terms, write)


def terms_latex(terms: Iterable[tuple[Expr, str]]) -> str:
    """Return a sum of coefficients times units as LaTeX."""
    from linkwright.algebra.printers import latex

    def write(c: Expr, unit: str) -> str:
        inner: Any = latex(c)
        return rf"\left({inner}\right) {unit}" if c.op in _LOOSE else rf"{inner}\,{unit}"

    return _joined(terms, write)
