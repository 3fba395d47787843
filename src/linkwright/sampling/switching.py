"""Loops of whose intervals only bounds are known: any order, any distribution.

Such a loop is stable if and only if its joint spectral radius is below 1 (Jungers, The Joint
Spectral Radius, 2009): the largest growth for each sample that any order of intervals gives. It is
enclosed: from below by the spectral radii of products, from above by a norm in which every step
shrinks. That norm is a common quadratic Lyapunov function, a matrix P with Gamma' P Gamma <= r^2 P
for all intervals, found by semidefinite programs (Clarabel, the extra `analysis`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.base.optional import extra
from linkwright.base.results import Result
from linkwright.sampling.answers import expectations, lyapunov_transform
from linkwright.sampling.contraction import log_norms
from linkwright.sampling.distributions import Uniform
from linkwright.sampling.mean_square import chain_radius
from linkwright.sampling.regimes import TOLERANCE, Array

if TYPE_CHECKING:
    from linkwright.sampling.loops import Loop

_NODES = 17  # intervals for which the program is solved
_FINE = 2001  # intervals at which its result is checked, with what may happen between them
_LETTERS = 9  # intervals of which products are made
_LENGTH = 4  # of the longest products


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SwitchingBounds(Result):
    """Bounds of the joint spectral radius of a loop whose intervals have only bounds.

    Args:
        low: of the joint spectral radius: some order of intervals grows so much for each sample.
        high: no order grows more; below 1 the loop is stable whatever the intervals are.
        worst: the intervals of the order that gives the lower bound, s.
        transform: the T of the norm that gives the upper bound.

    >>> SwitchingBounds(0.7, 0.8, (0.01,), np.eye(2)).verdict
    'proven'
    """

    low: float
    high: float
    worst: tuple[float, ...]
    transform: Array
    _units = (("worst", "s"),)

    def __repr__(self) -> str:
        return f"SwitchingBounds({self.low:.4f} to {self.high:.4f}: {self.verdict})"

    @property
    def verdict(self) -> str:
        """Whether the loop is stable for every order: proven, unstable or open."""
        if self.high < 1.0 - TOLERANCE:
            return "proven"
        return "unstable" if self.low > 1.0 + TOLERANCE else "open"


@worded
def switching_bounds(
    loop: Loop, gain: ArrayLike, shortest: Amount, longest: Amount
) -> SwitchingBounds:
    """Enclose the joint spectral radius of a loop with any intervals between two bounds.

    The upper bound holds for all intervals between the bounds: what the matrices do between the
    points of the grid is bounded by their rates.

    Args:
        loop: that is asked about.
        gain: K of u = K x.
        shortest: of the intervals, s.
        longest: of the intervals, s.

    >>> from linkwright.sampling import Loop
    >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
    >>> switching_bounds(loop, [-1065, -62.31], "10 ms", "20 ms").verdict
    'proven'
    """
    known = Uniform(shortest, longest)
    k = loop.gain_of(gain)
    moments = expectations(loop, known.regimes(), k)[2]
    one = np.ones((1, 1))
    start = lyapunov_transform(moments, one, chain_radius(moments, one))
    low, worst = _products(loop, k, known)
    phi, psi = loop.steps(np.linspace(known.low, known.high, _NODES))
    gammas = np.asarray(np.linalg.solve(start, (phi + psi @ k) @ start), dtype=float)
    best, best_t = _covered(loop, k, start, known), start
    bottom, top = low, max(best, low)
    for _ in range(14):
        if top - bottom < 2e-4 * max(1.0, low):
            break
        middle = 0.5 * (bottom + top)
        p = _common(gammas, middle)
        if p is None:
            bottom = middle
            continue
        t = start @ np.linalg.inv(np.linalg.cholesky(p)).T
        top, reached = middle, _covered(loop, k, t, known)
        if reached < best:
            best, best_t = reached, t
    return SwitchingBounds(low, best, worst, best_t)


def _common(gammas: Array, rate: float) -> Array | None:
    """Return P with Gamma' P Gamma <= r^2 P for all matrices, or None where there is none."""
    solver: Any = extra("clarabel", "analysis")
    sparse: Any = extra("scipy.sparse", "analysis")
    n = gammas.shape[-1]
    rows, columns = np.triu_indices(n)
    order = np.lexsort((rows, columns))  # column by column of the upper triangle
    rows, columns = rows[order], columns[order]
    scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
    basis = np.zeros((len(rows), n, n))
    at = np.arange(len(rows))
    basis[at, rows, columns] = basis[at, columns, rows] = 1.0
    one = np.eye(n)[rows, columns]

    def packed(matrices: Array) -> Array:
        return (matrices[:, rows, columns] * scale).T  # a column for each entry of P

    blocks = [np.hstack([-packed(basis), (one * scale)[:, None]])]
    for g in gammas:
        changed = rate**2 * basis - g.T @ basis @ g
        blocks.append(np.hstack([-packed(changed), (one * scale)[:, None]]))
    trace = np.append(one, 0.0)[None]
    matrix = np.vstack([trace, *blocks])
    right = np.zeros(len(matrix))
    right[0] = n
    cones = [solver.ZeroConeT(1), *(solver.PSDTriangleConeT(n) for _ in blocks)]
    settings = solver.DefaultSettings()
    settings.verbose = False
    goal = np.zeros(len(rows) + 1)
    goal[-1] = -1.0  # the least eigenvalue of all of them is to be large
    nothing = sparse.csc_matrix((len(goal), len(goal)))
    found = solver.DefaultSolver(
        nothing, goal, sparse.csc_matrix(matrix), right, cones, settings
    ).solve()
    if "Solved" not in str(found.status):
        return None
    x = np.array(found.x)
    if x[-1] <= 1e-9:
        return None
    return np.asarray(np.tensordot(x[:-1], basis, axes=1))


def _covered(loop: Loop, gain: Array, t: Array, known: Uniform) -> float:
    """Return a bound of |T^-1 Gamma T| over all intervals, not only those of a grid."""
    at = np.linspace(known.low, known.high, _FINE)
    half = 0.5 * (at[1] - at[0])
    phi, psi = loop.steps(at)
    norms = np.exp(log_norms(phi + psi @ gain, t))
    rate_phi, rate_psi = loop.slopes(at)
    slopes = np.exp(log_norms(rate_phi + rate_psi @ gain, t))
    own = np.zeros((loop.size, loop.size))
    n, m = len(loop.a), loop.sums
    own[m : m + n, m : m + n] = loop.a
    growth = float(np.exp(np.exp(log_norms(own, t)) * half)) if own.any() else 1.0
    return float((norms + half * slopes * growth).max())


def _products(loop: Loop, gain: Array, known: Uniform) -> tuple[float, tuple[float, ...]]:
    """Return the largest growth of products of a few matrices, and the intervals that give it."""
    at = np.linspace(known.low, known.high, _LETTERS)
    phi, psi = loop.steps(at)
    letters = phi + psi @ gain
    words: list[tuple[int, ...]] = [(i,) for i in range(len(at))]
    made = letters
    best: float = 0.0
    worst: tuple[float, ...] = (known.low,)
    for length in range(1, _LENGTH + 1):
        growth = np.abs(np.linalg.eigvals(made)).max(axis=-1) ** (1.0 / length)
        k = int(np.argmax(growth))
        if growth[k] > best * (1.0 + 1e-12):
            best, worst = float(growth[k]), tuple(float(at[i]) for i in words[k])
        if length < _LENGTH:
            words = [(*word, i) for word in words for i in range(len(at))]
            made = (letters[None] @ made[:, None]).reshape(-1, *letters.shape[1:])
    if not np.isfinite(best):
        raise Error("the loop grows beyond all numbers in one interval", remedy="check its gain")
    return best, worst
