"""Kernels that solve batches of small linear systems, without a branch."""

from __future__ import annotations

from functools import lru_cache

from linkwright.backends import kernel
from linkwright.program.small_systems import faddeev_program


def small_solver(unknowns: int, sides: int = 1, *, rows: int | None = None) -> kernel.Kernel:
    """Return a kernel that solves A X = B for one system, or for each of a batch.

    It takes A (rows × unknowns) and B (rows × sides), each with or without one more axis in front,
    and gives X (unknowns × sides); with more rows than unknowns, the solution of least squares. It
    rotates and eliminates by the cells of `linkwright.systolic`, and never decides by a branch: a
    batch fills the lanes of vector registers. A singular A gives numbers that are not finite, and
    squares of the entries of A must not overflow.

    Args:
        unknowns: columns of A.
        sides: columns of B; with the unknowns 16 at most.
        rows: of A and B; as many as unknowns by default.

    Example:
        >>> import numpy as np
        >>> solve = small_solver(3, 2)
        >>> rng = np.random.default_rng(0)
        >>> A, B = rng.normal(size=(100, 3, 3)), rng.normal(size=(100, 3, 2))
        >>> bool(abs(A @ solve(A, B) - B).max() < 1e-10)
        True
    """
    return _solver(unknowns, sides, unknowns if rows is None else rows)


@lru_cache(maxsize=32)
def _solver(unknowns: int, sides: int, rows: int) -> kernel.Kernel:
    return kernel.compile(faddeev_program(rows, unknowns, sides))
