"""The pseudo-inverse by rank factorization, and rates of joints from rates of a tool by a kernel.

A is reduced to row-echelon form; columns whose best pivot is below a threshold are skipped. With D
the rows that are left and C the columns of A at the pivots, A = C D, and

    A+ = D^T (C^T A D^T)^-1 C^T

gives the least-squares solution of least norm (ROBSIM's report, SLVLIN; its digest, section 3.5,
corrects the print).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.errors import InputError, ShapeError

if TYPE_CHECKING:
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PseudoInverse:
    """A pseudo-inverse with the rank that was found."""

    matrix: Array
    rank: int


def pseudo_inverse(matrix: ArrayLike, *, threshold: float = 1e-9) -> PseudoInverse:
    """Return the pseudo-inverse of a matrix and its rank.

    Args:
        matrix: any shape.

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


@dataclass(frozen=True, slots=True)
class JointRates:
    """Rates of joints, the rank of the Jacobian, and what is left of the tool's rate.

    Args:
        rates: of the joints.
        rank: of the Jacobian, a number or one for each row.
        residual: what is left of the tool's rate.
        ratio: of the smallest pivot of the Jacobian to the largest: near 0 a pose is singular.
    """

    rates: Array
    rank: int | NDArray[np.int_]
    residual: Array
    ratio: Array


def joint_rates(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    rate: ArrayLike,
    *,
    threshold: float = 1e-6,
    damping: float = 0.0,
    weights: ArrayLike = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    aim: ArrayLike | None = None,
) -> JointRates:
    """Return the least rates of joints that give a frame a velocity, as far as they can."""
    wanted = np.asarray(rate, dtype=float)
    if wanted.shape[-1:] != (6,):
        raise ShapeError("the rate of a frame is six numbers: velocity and angular velocity")
    if damping < 0 or threshold < 0:
        raise InputError("damping and threshold of joint rates are not below zero")
    n = len(robot.speeds)
    free = np.zeros(n) if aim is None else np.asarray(aim, dtype=float)
    settings = np.array([damping, threshold], dtype=float)
    rates, residual, rank, ratio = rates_of(robot, frame)(
        q, wanted, np.asarray(weights, dtype=float), free, settings
    )
    found = np.rint(rank[..., 0]).astype(int)
    return JointRates(rates, int(found) if found.ndim == 0 else found, residual, ratio[..., 0])


def rates_of(robot: Robot, frame: str) -> Quantity:
    """Return the quantity of joint rates of a frame; see `linkwright.robots.ik.rates`."""
    from linkwright.robots.ik.rates import rates_program

    kept: dict[str, Quantity] = robot.__dict__.setdefault("_joint_rates", {})
    if frame not in kept:
        spot = robot.spot(frame)
        kept[frame] = robot.quantity(
            f"joint rates of {frame!r}", lambda tree: rates_program(tree, spot), weighs=False
        )
    return kept[frame]
