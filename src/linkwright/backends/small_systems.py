"""Kernels that solve batches of small linear systems, without a branch."""

from __future__ import annotations

from functools import lru_cache

from linkwright.backends import kernel
from linkwright.program.small_systems import faddeev_program


def small_solver(
    unknowns: int, sides: int = 1, *, rows: int | None = None, pivot: bool = False
) -> kernel.Kernel:
    """Return a kernel that solves A X = B for one system, or for each of a batch.

    It takes A (rows × unknowns) and B (rows × sides), each with or without one more axis in front,
    and gives X (unknowns × sides); with more rows than unknowns, the solution of least squares. It
    rotates and eliminates by the cells of `heritage.systolic`, and never decides by a branch: a
    batch fills the lanes of vector registers. The scale of a system does not matter;
    rows that differ in scale by a factor of 10^k can lose k digits.

    It raises nothing for a singular A: a pivot that is exactly 0 gives numbers that are not finite,
    but rounding mostly leaves a small pivot, and X is then finite and means nothing. With `pivot`
    the kernel gives X and, for each system, its smallest pivot over its largest. The condition
    number of A is at least one over it: below about 1e-14 no digit of X can be trusted. Columns of
    A that differ in scale by themselves make it small too: divide them by their lengths.

    Args:
        unknowns: columns of A.
        sides: columns of B; with the unknowns 16 at most.
        rows: of A and B; as many as unknowns by default.
        pivot: whether to give the smallest pivot over the largest too.

    Example:
        >>> import numpy as np
        >>> solve = small_solver(3, 2)
        >>> rng = np.random.default_rng(0)
        >>> A, B = rng.normal(size=(100, 3, 3)), rng.normal(size=(100, 3, 2))
        >>> bool(abs(A @ solve(A, B) - B).max() < 1e-10)
        True
        >>> X, pivot = small_solver(3, pivot=True)(
        ...     [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1], [1], [0]]
        ... )
        >>> bool(pivot < 1e-14)  # singular
        True
    """
    return _solver(unknowns, sides, unknowns if rows is None else rows, pivot)


@lru_cache(maxsize=32)
def _solver(unknowns: int, sides: int, rows: int, pivot: bool) -> kernel.Kernel:
    return kernel.compile(faddeev_program(rows, unknowns, sides, pivot=pivot))
