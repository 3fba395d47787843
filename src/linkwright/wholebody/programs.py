"""Least squares under equalities and inequalities, in levels of strict priority.

Unknowns are x = x0 + Z z: the equalities E x = e are solved once by a QR factorization with
pivots, whose rank decides (points of one foot say the same thing more than once), and Z spans what
they leave free. Each level minimizes |A x - b|^2 over what the levels above leave free, within the
same inequalities (Kanoun, Lamiraux and Wieber 2011); then Z loses what the level has used. The
quadratic programs are solved by DAQP (Arnstrom, Bemporad and Axehill 2022), a dual active-set
method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from linkwright.base.errors import Error
from linkwright.base.optional import extra

Array = np.ndarray[Any, np.dtype[np.float64]]

RANK = 1e-9
"""Pivots below this part of the largest count as zero."""
WITHIN = 1e-7
"""By how much of its scale an inequality may be missed before it counts as relaxed."""
_FREE = 1e30
_SOFT = 8
_STRICT = 1e4
"""How much more the levels above weigh, where the order cannot be strict."""


@dataclass(frozen=True, slots=True)
class BodyForces:
    """What a whole-body controller chose in one state.

    Args:
        acceleration: of each speed of the robot.
        effort: torque or force of each driven joint, N m or N.
        forces: at each point of each closed contact, along the world's axes, N; points x 3.
        errors: by how much each task misses what it asked for, in its own unit.
        relaxed: limits that could not be kept, each with the amount.

    >>> BodyForces(np.zeros(1), np.zeros(1), {}, {}, {}).relaxed
    {}
    """

    acceleration: Array
    effort: Array
    forces: dict[str, Array]
    errors: dict[str, float]
    relaxed: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inequalities:
    """Rows with lower <= rows x <= upper, and what each is called."""

    rows: Array
    lower: Array
    upper: Array
    names: tuple[str, ...]

    @classmethod
    def joined(cls, parts: Sequence[Inequalities]) -> Inequalities:
        """Return all rows of several."""
        return cls(
            np.concatenate([p.rows for p in parts]),
            np.concatenate([p.lower for p in parts]),
            np.concatenate([p.upper for p in parts]),
            tuple(name for p in parts for name in p.names),
        )


def minimize(H: Array, f: Array, rows: Array, lower: Array, upper: Array) -> Array | None:
    """Return the minimum of x H x / 2 + f x within lower <= rows x <= upper, or None.

    >>> minimize(np.eye(1), np.array([-2.0]), np.eye(1), np.array([-1.0]), np.array([1.0]))
    array([1.])
    """
    if not len(rows):
        return np.asarray(np.linalg.solve(H, -f))
    return _solved(H, f, rows, lower, upper, 0)


def _solved(
    H: Array, f: Array, rows: Array, lower: Array, upper: Array, sense: int
) -> Array | None:
    daqp: Any = extra("daqp", "lab")
    given = [np.ascontiguousarray(x) for x in (H, f, rows)]
    bounds = [np.clip(x, -_FREE, _FREE) for x in (upper, lower)]
    x, _, flag, _ = daqp.solve(*given, *bounds, np.full(len(rows), sense, np.int32))
    if flag in (1, 2):  # 2: soft constraints are violated
        return np.asarray(x, dtype=float)
    if flag in (-1, -2) and sense != _SOFT:  # -2: it cycles, where no point keeps to all limits
        return None
    raise Error(f"the quadratic program of a whole-body controller ended with DAQP's flag {flag}")


def solve_equalities(rows: Array, values: Array) -> tuple[Array, Array, float]:
    """Return x0 and Z with rows (x0 + Z z) = values, and how far that is from being possible.

    >>> x, Z, miss = solve_equalities(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([1.0, 2.0]))
    >>> x.round(12), Z.shape, round(miss, 12)
    (array([0.5, 0.5]), (2, 1), 0.0)
    """
    width = rows.shape[1]
    if not len(rows):
        return np.zeros(width), np.eye(width), 0.0
    scale = np.linalg.norm(rows, axis=1)
    scale[scale == 0] = 1.0
    scaled, wanted = rows / scale[:, None], values / scale
    Q, R, order = qr(scaled.T, pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.sum(pivots > RANK * pivots[0])) if len(pivots) else 0
    if rank == 0:
        return np.zeros(width), np.eye(width), float(np.max(np.abs(values), initial=0.0))
    if rank < len(rows):  # rows that depend on others: the nearest in the mean, if they disagree
        first = np.linalg.lstsq(scaled, wanted, rcond=RANK)[0]
    else:
        first = Q[:, :rank] @ solve_triangular(R[:rank, :rank].T, wanted[order], lower=True)
    return first, Q[:, rank:], float(np.max(np.abs(scaled @ first - wanted), initial=0.0))


def solve_levels(
    first: Array,
    free: Array,
    levels: Sequence[tuple[Array, Array]],
    limits: Inequalities,
    small: Array,
) -> tuple[Array, dict[str, float]]:
    """Return x of all levels, and limits that had to be relaxed with the amounts.

    `small` weighs the unknowns themselves, to choose among what no level decides.
    """
    x, Z = first, free
    lower, upper = limits.lower, limits.upper
    relaxed: dict[str, float] = {}
    for number, (A, b) in enumerate(levels):
        if Z.shape[1] == 0:
            break
        AZ = A @ Z
        H = AZ.T @ AZ + Z.T @ (small[:, None] * Z)
        f = AZ.T @ (A @ x - b) + Z.T @ (small * x)
        at, rows = limits.rows @ x, limits.rows @ Z
        z = minimize(H, f, rows, lower - at, upper - at)
        if z is None and number:
            x = _beside(x, first, free, levels[: number + 1], limits, (lower, upper), small)
            z = np.zeros(Z.shape[1])
        if z is None:
            z = _solved(H, f, rows, lower - at, upper - at, _SOFT)
            if z is None:
                raise Error("limits of a whole-body controller contradict each other")
            lower, upper, relaxed = _widened(limits, lower, upper, limits.rows @ (x + Z @ z))
        x = x + Z @ z
        if number + 1 < len(levels):
            Z = Z @ _null(AZ)
    return x, relaxed


def _beside(
    x: Array,
    first: Array,
    free: Array,
    levels: Sequence[tuple[Array, Array]],
    limits: Inequalities,
    bounds: tuple[Array, Array],
    small: Array,
) -> Array:
    """Return x with its last level weighed lightly beside what those above have reached.

    Where limits leave nearly a point, the solver can find none, although x itself is one; the same
    without its strict order is easier. If that fails too, the last level gets nothing.
    """
    above = [(math.sqrt(_STRICT) * A, math.sqrt(_STRICT) * (A @ x)) for A, _ in levels[:-1]]
    A, b = (np.concatenate(parts) for parts in zip(*above, levels[-1], strict=True))
    AZ, rows, at = A @ free, limits.rows @ free, limits.rows @ first
    H = AZ.T @ AZ + free.T @ (small[:, None] * free)
    f = AZ.T @ (A @ first - b) + free.T @ (small * first)
    z = minimize(H, f, rows, bounds[0] - at, bounds[1] - at)
    return x if z is None else np.asarray(first + free @ z)


def _widened(
    limits: Inequalities, lower: Array, upper: Array, values: Array
) -> tuple[Array, Array, dict[str, float]]:
    """Return limits that hold the values, and which of them had to give way by how much."""
    relaxed: dict[str, float] = {}
    miss = np.maximum(lower - values, values - upper)
    for row, name in enumerate(limits.names):
        scale = 1.0 + max(abs(x) for x in (lower[row], upper[row]) if abs(x) < _FREE)
        if miss[row] > WITHIN * scale:
            relaxed[name] = max(relaxed.get(name, 0.0), float(miss[row]))
    return np.minimum(lower, values), np.maximum(upper, values), relaxed


def _null(A: Array) -> Array:
    """Return columns that span what A does not see."""
    width = A.shape[1]
    if not len(A):
        return np.eye(width)
    Q, R, _ = qr(A.T, pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.sum(pivots > RANK * max(pivots[0], 1e-300)))
    return np.asarray(Q[:, rank:])
