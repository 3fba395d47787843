"""Algebra of components: triples, 3×3 matrices and quaternions of expressions.

All is along one right-handed basis. A matrix is a tuple of its rows; a rotation matrix takes
components in the turned frame to components in the frame around it. A quaternion is (w, x, y, z),
scalar first, and a product turns by its second factor first. `hold` gives an expression a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from linkwright.algebra.expr import ONE, ZERO, Expr, total

Triple: TypeAlias = tuple[Expr, Expr, Expr]
Matrix: TypeAlias = tuple[Triple, Triple, Triple]
Quaternion: TypeAlias = tuple[Expr, Expr, Expr, Expr]
Hold: TypeAlias = Callable[[Expr], Expr]

NOTHING: Triple = (ZERO, ZERO, ZERO)
IDENTITY: Matrix = ((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))

# Sums and products that were formed before, while several trials form nearly the same ones.
# A sum is known by its terms, a dot product by two tuples.
_formed: ContextVar[dict[tuple[object, ...], Expr] | None] = ContextVar("formed", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Let `add`, `dot` and `apply` return what they formed before from the same expressions."""
    token = _formed.set({})
    try:
        yield
    finally:
        _formed.reset(token)


def held(hold: Hold, v: Iterable[Expr]) -> Triple:
    """Return names for three components; numbers and symbols stay as they are."""
    x, y, z = (e if e.is_atom else hold(e) for e in v)
    return x, y, z


def held_rows(hold: Hold, m: Iterable[Iterable[Expr]]) -> Matrix:
    """Return names for the entries of a matrix."""
    a, b, c = (held(hold, row) for row in m)
    return a, b, c


def add(*vectors: Sequence[Expr]) -> Triple:
    """Return the sum of triples."""
    a, b, c = (_sum_of(parts) for parts in zip(*vectors, strict=True))
    return a, b, c


def _sum_of(terms: tuple[Expr, ...]) -> Expr:
    memory = _formed.get()
    if memory is None:
        return total(terms)
    found = memory.get(terms)
    if found is None:
        found = memory[terms] = total(terms)
    return found


def subtract(a: Sequence[Expr], b: Sequence[Expr]) -> Triple:
    """Return the difference of two triples."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def times(factor: Expr | float, v: Sequence[Expr]) -> Triple:
    """Return a triple multiplied by a scalar."""
    return factor * v[0], factor * v[1], factor * v[2]


def cross(a: Sequence[Expr | float], b: Sequence[Expr]) -> Triple:
    """Return the cross product of two triples.

    >>> cross((ONE, ZERO, ZERO), (ZERO, ONE, ZERO))
    (0, 0, 1)
    """
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def dot(a: Sequence[Expr | float], b: Sequence[Expr]) -> Expr:
    """Return the sum of products of two rows of the same length."""
    memory = _formed.get()
    if memory is None:
        return total(x * y for x, y in zip(a, b, strict=True))
    key = (tuple(a), tuple(b))
    found = memory.get(key)
    if found is None:
        found = memory[key] = total(x * y for x, y in zip(a, b, strict=True))
    return found


def combination(numbers: Iterable[float], entries: Iterable[Expr]) -> Expr:
    """Return the sum of numbers times expressions.

    >>> from linkwright.algebra import symbols
    >>> combination([2.0, 0.0], symbols("x y"))
    2*x
    """
    return total(float(k) * x for k, x in zip(numbers, entries, strict=True) if k)


def row_products(rows: Iterable[Sequence[Expr | float]], v: Sequence[Expr]) -> list[Expr]:
    """Return a matrix of any number of rows times a vector."""
    return [dot(row, v) for row in rows]


def apply(m: Iterable[Sequence[Expr | float]], v: Sequence[Expr]) -> Triple:
    """Return the matrix times the triple."""
    a, b, c = (dot(row, v) for row in m)
    return a, b, c


def transposed(m: Iterable[Sequence[Expr]]) -> Matrix:
    """Return the transposed matrix."""
    a, b, c = zip(*m, strict=True)
    return a, b, c


def matrix_product(a: Iterable[Sequence[Expr]], b: Iterable[Sequence[Expr]]) -> Matrix:
    """Return the product of two matrices."""
    columns = transposed(b)
    x, y, z = (apply(columns, row) for row in a)
    return x, y, z


def is_nothing(v: Sequence[Expr]) -> bool:
    """Whether all components are structurally zero."""
    return all(x is ZERO for x in v)


def quaternion_product(a: Sequence[Expr | float], b: Sequence[Expr]) -> Quaternion:
    """Return the product of two quaternions: the rotation by b, then by a."""
    (s, i, j, k), (w, x, y, z) = a, b
    return (
        s * w - i * x - j * y - k * z,
        s * x + i * w + j * z - k * y,
        s * y - i * z + j * w + k * x,
        s * z + i * y - j * x + k * w,
    )


def conjugate(q: Sequence[Expr]) -> Quaternion:
    """Return the quaternion of the inverse rotation."""
    w, x, y, z = q
    return w, -x, -y, -z


def quaternion_matrix(q: Sequence[Expr]) -> Matrix:
    """Return the rotation matrix of a unit quaternion; q and -q have the same.

    >>> quaternion_matrix((ZERO, ZERO, ZERO, ONE))[0]
    (-1, 0, 0)
    """
    w, x, y, z = q
    return (
        (1 - 2 * (y**2 + z**2), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x**2 + z**2), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x**2 + y**2)),
    )
