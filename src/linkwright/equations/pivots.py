"""Symbolic solution of linear systems in an order whose pivots do not vanish.

A symbolic factorization cannot pivot. The cheapest order may divide by an entry that is zero in
every configuration that a loop can have, though it is not zero as an expression. So an order is
tried out with numbers, at sampled configurations, before it is used; and an entry that is zero at
random configurations is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr, constant, evaluate_all
from linkwright.program import Assign, Namer
from linkwright.program.linear import LinearError, lu

Array = NDArray[np.float64]
_ACCURATE = 1e-7
_STATIC = 1e-8  # of the largest entry: the root of the rounding, as in SuperLU


def without_zeros(
    matrix: Sequence[Sequence[Expr]], sampled: Array, tolerance: float = 1e-13
) -> list[list[Expr]]:
    """Return the matrix with ZERO for entries that vanish at all random configurations."""
    size = np.abs(sampled).max(initial=0.0)
    gone = np.abs(sampled).max(axis=0, initial=0.0) <= tolerance * size
    return [
        [ZERO if gone[i, j] and x.op != "num" else x for j, x in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def solve_in_safe_order(
    matrix: Sequence[Sequence[Expr]],
    right: Sequence[Sequence[Expr]],
    namer: Namer,
    sampled: Array,
    *,
    guarded: bool = False,
) -> tuple[list[Assign], list[list[Expr]]]:
    """Return statements and solutions of a linear system, as `lu` does, with pivots that hold.

    With `guarded` they may vanish elsewhere than at the samples, at the price of a refinement.

    >>> from linkwright.algebra import ONE, symbols
    >>> a, b, c, d = symbols("a b c d", "coordinate")
    >>> values = np.array([[[1e-17, 2.0], [3.0, 4.0]]])
    >>> made, _ = solve_in_safe_order([[a, b], [c, d]], [[ONE, ONE]], Namer(None, "z"), values)
    >>> any("/a" in str(s.value) or "a**-1" in str(s.value) for s in made)
    False
    """
    n = len(matrix)
    plain = list(range(n))
    rows, columns = _pivoted(sampled)
    candidates: list[tuple[list[int], list[int], str | list[int]]] = [
        (plain, plain, "auto"),
        (plain, plain, plain),
        (plain, plain, plain[::-1]),
        (rows, columns, plain),
    ]
    chosen = candidates[0]
    for rows, columns, order in candidates:
        trial = [[matrix[i][j] for j in columns] for i in rows]
        if _holds(trial, order, sampled[:, rows][:, :, columns]):
            chosen = rows, columns, order
            break
    row_order, column_order, order = chosen
    ordered = [[matrix[i][j] for j in column_order] for i in row_order]
    sides = [[side[i] for i in row_order] for side in right]
    least = _STATIC * float(np.abs(sampled).max(initial=0.0)) if guarded else 0.0
    statements, found = lu(ordered, sides, namer, order, least=least)
    place = [column_order.index(j) for j in plain]
    return statements, [[solution[k] for k in place] for solution in found]


def _holds(matrix: list[list[Expr]], order: str | list[int], sampled: Array) -> bool:
    """Whether an order solves the sampled systems accurately."""
    n = len(matrix)
    side = np.cos(1.0 + np.arange(n))
    try:
        statements, found = lu(
            matrix, [[constant(float(x)) for x in side]], Namer(None, "trial"), order
        )
    except LinearError:
        return False
    known: dict[Expr, Array] = {}
    for i, row in enumerate(matrix):
        for j, x in enumerate(row):
            factor, atom = (x.data, x.args[0]) if x.op == "scale" else (1, x)
            if atom.op != "num":
                known[atom] = sampled[:, i, j] / float(factor)
    for s in statements:
        known[s.target] = np.asarray(evaluate_all([s.value], known)[0])
    values = np.array(
        [np.broadcast_to(x, (len(sampled),)) for x in evaluate_all(found[0], known)]
    ).T
    with np.errstate(all="ignore"):
        exact = np.linalg.solve(sampled, np.broadcast_to(side[:, None], (len(sampled), n, 1)))
        error = np.abs(values - exact[..., 0]).max(axis=1)
        return bool(np.all(error <= _ACCURATE * np.abs(exact).max(axis=(1, 2))))


def _pivoted(sampled: Array) -> tuple[list[int], list[int]]:
    """Return rows and columns in an order whose smallest pivots over all samples are largest."""
    left = sampled.copy()
    n = left.shape[1]
    rows: list[int] = []
    columns: list[int] = []
    for _ in range(n):
        size = np.abs(left).min(axis=0)
        size[rows, :] = -1
        size[:, columns] = -1
        i, j = np.unravel_index(int(size.argmax()), size.shape)
        rows.append(int(i))
        columns.append(int(j))
        pivot = left[:, i, j]
        pivot = np.where(pivot == 0, 1e-300, pivot)
        with np.errstate(all="ignore"):
            left = left - left[:, :, j, None] * (left[:, i, :] / pivot[:, None])[:, None, :]
    return rows, columns
