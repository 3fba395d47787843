"""The parameters that fit the data best among those that real links and joints can have.

A link can be real just when its pseudo-inertia P, which is linear in its ten parameters, is
positive definite (Wensing, Kim, Slotine, IEEE Robotics and Automation Letters 3, 2018); rotor
inertia and friction are positive numbers. The sum of squares is minimized together with a weight w
times the divergence of each from what was known before,

    -log det P + tr(P0^-1 P)    and    -log x + x / x0,

which is convex, keeps inside, and leaves what the data do not determine where it was (Lee, Wensing,
Park, IEEE Trans. Robotics 36, 2020). Newton's steps are least-squares problems in the metric of the
divergence; w falls from a value at which what was known rules to the one that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_EDGE = 1e-9  # eigenvalues below this share of the largest are no real link's
_ROUND = 1e-2  # share to which they are raised
_FALL = 0.1  # of the weight from stage to stage
_STEPS = 30  # of Newton in a stage
_NEAR = 0.3  # decrement at which the next stage begins
_SHORTEST = 1e-10  # share of a step
_DONE = 1e-6  # decrement at which the last one ends


def pseudo_inertia(p: NDArray[Any]) -> Array:
    """Return the 4 x 4 pseudo-inertia of ten parameters (m, mx, my, mz, Ixx, Ixy, Iyy, ...).

    With second moments S = tr(I)/2 1 - I and first moments h it is [[S, h], [h^T, m]].

    >>> ball = np.array([1, 0, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2])
    >>> np.diag(pseudo_inertia(ball)).round(3).tolist()
    [0.1, 0.1, 0.1, 1.0]
    """
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = p
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, mx],
            [-xy, half - yy, -yz, my],
            [-xz, -yz, half - zz, mz],
            [mx, my, mz, m],
        ],
        dtype=float,
    )


_BASIS: Array = np.array([pseudo_inertia(row) for row in np.eye(10)])


def best_physical(rows: Array, goal: Array, known: Array, small: Array, weight: float) -> Array:
    """Return parameters of links, then of joints, that can be real.

    >>> best = best_physical(np.eye(10), np.eye(10)[0], np.zeros(10), np.zeros(0), 1e-6)
    >>> bool(np.linalg.eigvalsh(pseudo_inertia(best)).min() > 0)
    True
    """
    q, r = np.linalg.qr(rows)
    target = q.T @ goal
    inner = _Inside.around(known.reshape(-1, 10), small)
    x = inner.middle
    w = max(weight, float(np.sum((r @ x - target) ** 2)) / len(x))
    while True:
        last = w <= weight
        x = _centerd(inner, r, target, x, w, _DONE if last else _NEAR)
        if last:
            return x
        w = max(weight, _FALL * w)


@dataclass(frozen=True, slots=True)
class _Inside:
    """The divergence from what was known."""

    middle: Array
    inverses: Array
    small: Array

    @classmethod
    def around(cls, known: Array, small: Array) -> _Inside:
        matrices = np.array([pseudo_inertia(p) for p in known]).reshape(-1, 4, 4)
        values, vectors = np.linalg.eigh(matrices)
        most = values.max(axis=1, initial=0.0)
        most = np.maximum(most, 1e-3 * float(most.mean()) if most.any() else 1e-3)[:, None]
        raised = np.where(
            (values < _EDGE * most).any(axis=1)[:, None], np.maximum(values, _ROUND * most), values
        )
        inverses = (vectors / raised[:, None]) @ np.swapaxes(vectors, 1, 2)
        made = (vectors * raised[:, None]) @ np.swapaxes(vectors, 1, 2)
        middle = np.concatenate([_parameters(made).ravel(), small])
        return cls(middle, inverses, small)

    def factors(self, x: Array) -> Array | None:
        """Return the triangular factors L of the pseudo-inertias L L^T, or None outside."""
        cut = 10 * len(self.inverses)
        if not np.all(np.isfinite(x)) or np.any(x[cut:] <= 0):
            return None
        matrices = np.einsum("kl,lij->kij", x[:cut].reshape(-1, 10), _BASIS)
        try:
            return np.asarray(np.linalg.cholesky(matrices))
        except np.linalg.LinAlgError:
            return None

    def value(self, x: Array, factors: Array | None) -> float:
        """Return the divergence but for a constant, infinite outside."""
        if factors is None:
            return np.inf
        joints = x[10 * len(self.inverses) :]
        traces = np.einsum("kji,kjl,kli->", factors, self.inverses, factors)
        logs = 2 * np.log(np.einsum("kii->ki", factors)).sum() + np.log(joints).sum()
        return float(traces + np.sum(joints / self.small) - logs)

    def metric(self, x: Array, factors: Array) -> tuple[Array, Array]:
        """Return the gradient C^-1 g and the matrix C^-T, where C C^T is the Hessian.

        A change L Y L^T of P = L L^T costs |Y|^2 / 2 to second order and tr(L^T P0^-1 L Y) - tr(Y)
        to first, so that C^-T takes the entries of Y to parameters. Nothing is inverted, and near
        the edge nothing is lost.
        """
        cut = 10 * len(self.inverses)
        moves = np.einsum("kia,nab,kjb->knij", factors, _EVEN, factors)
        back = np.diag(np.concatenate([np.zeros(cut), x[cut:]]))
        for k, columns in enumerate(_parameters(moves.reshape(-1, 4, 4)).reshape(-1, 10, 10)):
            back[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = columns.T
        pulls = np.einsum("kji,kjl,klm->kim", factors, self.inverses, factors) - np.eye(4)
        slopes = np.einsum("kij,nij->kn", pulls, _EVEN).ravel()
        return np.concatenate([slopes, x[cut:] / self.small - 1]), back


def _even() -> Array:
    """Return an orthonormal basis of the symmetric 4 x 4 matrices."""
    found = np.zeros((10, 4, 4))
    for n, (i, j) in enumerate(zip(*np.tril_indices(4), strict=True)):
        found[n, i, j] = found[n, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return found


_EVEN: Array = _even()


def _parameters(matrices: Array) -> Array:
    """Return the ten parameters of pseudo-inertias."""
    flat = _BASIS.reshape(10, 16).T
    return np.asarray(np.linalg.lstsq(flat, matrices.reshape(-1, 16).T, rcond=None)[0].T)


def _centerd(inner: _Inside, r: Array, goal: Array, x: Array, w: float, near: float) -> Array:
    """Return the minimum for one weight, by Newton's method from a point inside."""
    n = len(x)
    factors: Array | None = inner.factors(x)
    here = float(np.sum((r @ x - goal) ** 2)) / 2 + w * inner.value(x, factors)
    for _ in range(_STEPS):
        if factors is None:
            break
        slopes, back = inner.metric(x, factors)
        matrix = np.vstack([r @ back, np.sqrt(w) * np.eye(n)])
        right = np.concatenate([goal - r @ x, -np.sqrt(w) * slopes])
        y = np.linalg.lstsq(matrix, right, rcond=None)[0]
        step = back @ y
        decrement = float(np.sum((matrix @ y) ** 2)) / w
        if decrement < near**2:
            break
        size, there, value = 1.0, x, np.inf
        while value > here - 1e-4 * size * w * decrement and size > _SHORTEST:
            there = x + size * step
            factors = inner.factors(there)
            value = float(np.sum((r @ there - goal) ** 2)) / 2 + w * inner.value(there, factors)
            size /= 2
        if value >= here:
            break
        x, here = there, value
    return x
