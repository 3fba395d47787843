"""The cells of the array, and Faddeev's algorithm on them.

Rows [A B] enter with M = 1 and leave a triangle R and QᵀB in the cells (rotations of Givens); rows
[−C D] follow with M = 0, are eliminated with the pivots of R, and come out as D + C A⁻¹ B. Both are
the same rules, and nothing is decided by a branch, because 0/0 = 0:

- boundary cell: x₁ = M·x, t = √(r² + x₁²), s = x/t, c = r/t + 1 − t/t, r ← t
- internal cell: x_out = x·c − r·s, r ← r·c + M·x·s

After the report *A distributed computer architecture acting as force and motion server*, appendix
A.4 (Modified Faddeev's Algorithm). Arithmetic is a table of operations, so that floats and the
words of the array (`linkwright.heritage.systolic.fixed`) go through the same cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, ShapeError, unknown
from linkwright.heritage.systolic import fixed
from linkwright.heritage.systolic.fixed import ArrayFault
from linkwright.heritage.systolic.roots import fixed_root

Values = Any  # an array of floats or words, or one of them


@dataclass(frozen=True, slots=True)
class CellArithmetic:
    """What cells count with."""

    read: Callable[[ArrayLike], Values]  # numbers into values
    write: Callable[[Values], NDArray[np.float64]]  # values into numbers
    one: Values  # the value of 1
    add: Callable[[Values, Values], Values]  # of two values; so are the others
    subtract: Callable[[Values, Values], Values]  # a − b
    multiply: Callable[[Values, Values], Values]  # a·b
    divide: Callable[[Values, Values], Values]  # a/b, with 0/0 = 0
    root: Callable[[Values, Values], Values]  # √(r² + x²) of r ≥ 0 and x


def _divide(a: Values, b: Values) -> Values:
    zero = b == 0
    if np.any(zero & (a != 0)):
        raise ArrayFault(
            "a pivot is 0: the columns of A depend on each other",
            remedy="give an A of full column rank",
        )
    return np.asarray(np.where(zero, 0.0, a / np.where(zero, 1.0, b)))


FLOAT = CellArithmetic(
    lambda values: np.asarray(values, dtype=np.float64),
    lambda values: values,
    np.float64(1.0),
    np.add,
    np.subtract,
    np.multiply,
    _divide,
    np.hypot,
)
FIXED = CellArithmetic(
    fixed.to_words,
    fixed.to_numbers,
    np.int64(fixed.ONE),
    fixed.add,
    fixed.subtract,
    fixed.multiply,
    fixed.divide,
    fixed_root,
)

ARITHMETICS: dict[str, CellArithmetic] = {"float": FLOAT, "fixed": FIXED}
"""Each arithmetic by its name."""


def boundary_cell(
    r: Values, x: Values, M: Values, arithmetic: CellArithmetic
) -> tuple[Values, Values, Values]:
    """Return the new r, and the s and c of a boundary cell.

    Example:
        >>> [float(v) for v in boundary_cell(*map(np.float64, (3, 4, 1)), FLOAT)]
        [5.0, 0.8, 0.6]
        >>> [float(v) for v in boundary_cell(*map(np.float64, (0, 0, 1)), FLOAT)]
        [0.0, 0.0, 1.0]
    """
    do = arithmetic
    t = do.root(r, do.multiply(M, x))
    s = do.divide(x, t)
    c = do.add(do.divide(r, t), do.subtract(do.one, do.divide(t, t)))
    return t, s, c


def internal_cell(
    r: Values, x: Values, s: Values, c: Values, M: Values, arithmetic: CellArithmetic
) -> tuple[Values, Values]:
    """Return the new r and what leaves an internal cell.

    Example:
        >>> [float(v) for v in internal_cell(*map(np.float64, (1, 2, 0.6, 0.8, 1)), FLOAT)]
        [2.0, 1.0]
    """
    do = arithmetic
    left = do.subtract(do.multiply(x, c), do.multiply(r, s))
    r = do.add(do.multiply(r, c), do.multiply(do.multiply(M, x), s))
    return r, left


def faddeev(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, D: ArrayLike, *, arithmetic: str = "float"
) -> NDArray[np.float64]:
    """Return D + C A⁻¹ B, computed by the cells.

    Where A has more rows than columns, A⁻¹ B is the solution of least squares. In fixed point all
    numbers on the way have to lie between −2 and 2: scale the data.

    Args:
        A: m×n, of full column rank.
        B: m×p.
        C: l×n.
        D: l×p.
        arithmetic: "float", or "fixed" for words of 2⁻³⁰ with the square root of the array.

    Example:
        >>> A = [[1.0, 0.2], [-0.3, 0.8]]
        >>> I, O = np.eye(2), np.zeros((2, 2))
        >>> np.round(faddeev(A, I, I, O) @ A, 12) + 0
        array([[1., 0.],
               [0., 1.]])
        >>> float(abs(faddeev(A, I, I, O, arithmetic="fixed") @ A - I).max()) < 1e-5
        True
    """
    do = ARITHMETICS.get(str(arithmetic))
    if do is None:
        raise unknown("arithmetic", arithmetic, ARITHMETICS, "take 'float' or 'fixed'")
    A, B, C, D = stacked(A, B, C, D)
    n, p = A.shape[1], B.shape[1]
    rows = do.read(np.vstack([np.hstack([A, B]), np.hstack([-C, D])]))
    held = do.read(np.zeros((n, n + p)))
    results = []
    for i, row in enumerate(rows):
        M = do.one if i < len(A) else do.read(0.0)
        x = row
        for k in range(n):
            held[k, k], s, c = boundary_cell(held[k, k], x[k], M, do)
            r, rest = internal_cell(held[k, k + 1 :], x[k + 1 :], s, c, M, do)
            held[k, k + 1 :] = r
            x = np.concatenate([x[: k + 1], rest])
        if i >= len(A):
            results.append(do.write(x[n:]))
    return np.array(results).reshape(len(C), p)


def stacked(*parts: ArrayLike) -> list[NDArray[np.float64]]:
    """Return A, B, C and D as matrices whose sizes fit each other.

    >>> [part.shape for part in stacked([[1.0]], [[2.0, 3.0]], [[1.0]], [[0.0, 0.0]])]
    [(1, 1), (1, 2), (1, 1), (1, 2)]
    """
    found = []
    for name, part in zip("ABCD", parts, strict=True):
        try:
            matrix = np.array(part, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name} is not a matrix of numbers") from None
        if matrix.ndim != 2 or not matrix.size:
            raise ShapeError(f"{name} has the shape {matrix.shape}", remedy="give a matrix")
        if not np.isfinite(matrix).all():
            raise InputError(f"{name} has an entry that is not finite")
        found.append(matrix)
    A, B, C, D = found
    sizes = {"B": (len(A), B.shape[1]), "C": (len(C), A.shape[1]), "D": (len(C), B.shape[1])}
    for name, matrix in zip("BCD", (B, C, D), strict=True):
        if matrix.shape != sizes[name]:
            raise ShapeError(
                f"{name} is {_size(matrix.shape)}", remedy=f"give {_size(sizes[name])}"
            )
    if len(A) < A.shape[1]:
        raise ShapeError(f"A is {_size(A.shape)}", remedy="give at least as many rows as columns")
    return found


def _size(shape: tuple[int, ...]) -> str:
    return "×".join(str(n) for n in shape)
