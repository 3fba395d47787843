"""The pseudo-inverse by rank factorization.

A is reduced to row-echelon form; columns whose best pivot is below a threshold are skipped. With D
the rows that are left and C the columns of A at the pivots, A = C D, and

    A+ = D^T (C^T A D^T)^-1 C^T

gives the least-squares solution of least norm (ROBSIM's report, SLVLIN; its digest, section 3.5,
corrects the print).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import ShapeError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PseudoInverse:
    """A pseudo-inverse with the rank that was found."""

    matrix: Array
    rank: int


def pseudo_inverse(matrix: ArrayLike, *, threshold: float = 1e-9) -> PseudoInverse:
    """Return the pseudo-inverse of a matrix and its rank.

    >>> found = pseudo_inverse([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    >>> found.rank, (found.matrix @ [14, 28, 4]).round(12).tolist()
    (2, [1.0, 2.0, 3.0])
    """
    a = np.array(matrix, dtype=float)
    if a.ndim != 2:
        raise ShapeError("a pseudo-inverse is of a matrix")
    reduced, pivots = _echelon(a, threshold)
    rank = len(pivots)
    if rank == 0:
        return PseudoInverse(np.zeros(a.shape[::-1]), 0)
    c, d = a[:, pivots], reduced[:rank]
    # the two factors apart: the square of the condition number of each, not of both together
    left = np.linalg.lstsq(c, np.eye(len(a)), rcond=None)[0]
    right = np.linalg.lstsq(d @ d.T, left, rcond=None)[0]
    return PseudoInverse(np.asarray(d.T @ right), rank)


def _echelon(a: Array, threshold: float) -> tuple[Array, list[int]]:
    """Return the reduced row-echelon form and the columns of its pivots."""
    work = a.copy()
    limit = threshold * float(np.abs(a).max(initial=0.0))
    pivots: list[int] = []
    for column in range(a.shape[1]):
        row = len(pivots)
        if row == len(a):
            break
        best = row + int(np.argmax(np.abs(work[row:, column])))
        if abs(work[best, column]) <= limit:
            work[row:, column] = 0.0
            continue
        work[[row, best]] = work[[best, row]]
        work[row] /= work[row, column]
        others = np.arange(len(a)) != row
        work[others] -= np.outer(work[others, column], work[row])
        pivots.append(column)
    return work, pivots
