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
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from linkwright.algebra import calculus
from linkwright.algebra.directions import (
    Direction,
    Immutable,
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
from linkwright.algebra.functions.registry import TRUTH_VALUED

if TYPE_CHECKING:
    from linkwright.algebra.dyadics import Dyadic
    from linkwright.algebra.frames import Frame
    from linkwright.algebra.motion import Motion

Unit = TypeVar("Unit", Direction, tuple[Direction, Direction])

# Operators that bind less tightly than a product when written as text.
_LOOSE = TRUTH_VALUED | {"sum"}
_new = object.__new__


class LinearSum(Immutable, Generic[Unit]):
    """An immutable sum: scalar coefficients by unit."""

    __slots__ = ("__weakref__", "_coefficients", "_hash", "_ordered")
    __array_ufunc__ = None  # a NumPy scalar on the left leaves the operation to us

    _coefficients: dict[Unit, Expr]
    _hash: int | None
    _ordered: tuple[tuple[Unit, Expr], ...] | None

    def __init__(self, terms: Mapping[Unit, Scalar]) -> None:
        given = {unit: as_expr(c) for unit, c in terms.items()}
        _set_coefficients(self, {unit: c for unit, c in given.items() if c is not ZERO})
        _set_hash(self, None)
        _set_ordered(self, None)

    @classmethod
    def _of(cls, coefficients: dict[Unit, Expr]) -> Self:
        """Return the sum of coefficients that are expressions already."""
        for c in coefficients.values():
            if c is ZERO:
                coefficients = {unit: x for unit, x in coefficients.items() if x is not ZERO}
                break
        made = _new(cls)
        _set_coefficients(made, coefficients)
        _set_hash(made, None)
        _set_ordered(made, None)
        return made

    @classmethod
    def _collected(cls, parts: dict[Unit, list[Expr]]) -> Self:
        """Return the sum whose coefficients are sums of several parts."""
        return cls._of({unit: c[0] if len(c) == 1 else total(c) for unit, c in parts.items()})

    # -- content -----------------------------------------------------------------------------------
    @property
    def terms(self) -> tuple[tuple[Unit, Expr], ...]:
        """The units and their coefficients, in canonical order."""
        ordered = self._ordered
        if ordered is None:
            items = self._coefficients.items()
            ordered = tuple(sorted(items, key=lambda term: [d.key for d in _members(term[0])]))
            _set_ordered(self, ordered)
        return ordered

    @property
    def is_zero(self) -> bool:
        """Whether there is no term at all."""
        return not self._coefficients

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
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
    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, theirs = self._coefficients, other._coefficients
        if not theirs:
            return self
        if not mine:
            return other
        result = dict(mine)
        for unit, c in theirs.items():
            old = result.get(unit)
            result[unit] = c if old is None else add(old, c)
        return self._of(result)

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self + -other

    def __neg__(self) -> Self:
        return self._of({unit: scaled(-1, c) for unit, c in self._coefficients.items()})

    def __pos__(self) -> Self:
        return self

    def __mul__(self, factor: Scalar) -> Self:
        if isinstance(factor, LinearSum):
            raise VectorError("two vectors have no product `*`; use `@` (dot), `^` (cross), `|`")
        x = as_expr(factor)
        if x is ONE:
            return self
        return self._of({unit: mul(c, x) for unit, c in self._coefficients.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Self:
        return self * raised(as_expr(divisor), -1)

    # -- calculus ----------------------------------------------------------------------------------
    def map(self, function: Callable[[Expr], Expr]) -> Self:
        """Return the sum with a function applied to every coefficient, in canonical order."""
        return self._of({unit: function(c) for unit, c in self.terms})

    def diff(self, variable: Expr) -> Self:
        """Return the partial derivative by a symbol; directions count as constants."""
        return self.map(lambda c: calculus.diff(c, variable))

    def substitute(self, replacements: Mapping[Expr, Scalar]) -> Self:
        """Return the sum with symbols replaced in the coefficients; directions stay."""
        found = calculus.substitute_all([c for _, c in self.terms], replacements)
        return self._of({unit: c for (unit, _), c in zip(self.terms, found, strict=True)})

    def nominal(self) -> Self:
        """Return the sum with every coordinate and speed in its coefficients at zero."""
        return self.map(calculus.nominal)

    def free_symbols(self) -> tuple[Expr, ...]:
        """Return the symbols in the coefficients, in canonical order."""
        return calculus.free_symbols(*self._coefficients.values())

    # -- text --------------------------------------------------------------------------------------
    def __str__(self) -> str:
        def write(c: Expr, unit: str) -> str:
            return f"({c})*{unit}" if c.op in _LOOSE else f"{c}*{unit}"

        def unit_text(unit: Unit) -> str:
            names = [str(d) for d in _members(unit)]
            return f"({'|'.join(names)})" if len(names) > 1 else names[0]

        return _joined([(c, unit_text(unit)) for unit, c in self.terms], write)

    __repr__ = __str__

    def latex(self) -> str:
        """Return the sum as LaTeX."""
        from linkwright.algebra.printers import latex

        def write(c: Expr, unit: str) -> str:
            inner: Any = latex(c)
            return rf"\left({inner}\right) {unit}" if c.op in _LOOSE else rf"{inner}\,{unit}"

        texts = [(c, r"\,".join(d.latex() for d in _members(unit))) for unit, c in self.terms]
        return _joined(texts, write)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


_set_coefficients = LinearSum.__dict__["_coefficients"].__set__
_set_hash = LinearSum.__dict__["_hash"].__set__
_set_ordered = LinearSum.__dict__["_ordered"].__set__


def _members(unit: Direction | tuple[Direction, Direction]) -> tuple[Direction, ...]:
    return unit if isinstance(unit, tuple) else (unit,)


def _joined(terms: Iterable[tuple[Expr, str]], write: Callable[[Expr, str], str]) -> str:
    """Return a sum of coefficients times units as text."""
    result = ""
    for c, unit in terms:
        negative = c.op in ("scale", "num") and c.data < 0
        size = -c if negative else c
        body = unit if size is ONE else write(size, unit)
        if result:
            result += f" {'-' if negative else '+'} {body}"
        else:
            result = f"-{body}" if negative else body
    return result or "0"


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
