"""Accelerations of all speeds of a tree, at and near configurations where constraints lose rank.

`Singular` keeps all speeds of the tree, with a rank-revealing solve in every evaluation, and goes
through singular configurations. A state between two accepted ones is moved onto the constraints
before it is evaluated, because near a singular configuration what it is off is divided by a small
singular value. Where that is below `ZONE` of its usual size, u' is the limit along the motion: u'
of four neighbors, ahead and behind, extrapolated (Richardson).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwright.equations.closure import LARGE, Relations, decomposed
from linkwright.equations.evaluation import Array
from linkwright.equations.redundant import SINGULAR, Decomposition, constrained_accelerations

ZONE = 1e-3
_SETTLED = 0.03

Tree = Callable[[float, Array, Array], tuple[Array, Array, Array, Array, Array]]
"""q', M, f, J and c at a time, coordinates (then extra states) and speeds."""


class Singular:
    """All speeds of the tree, with constraints solved numerically in every evaluation.

    `usual` is the largest size that the smallest singular value has had.
    """

    def __init__(self, tree: Tree, relations: Relations, rank: int | None = None) -> None:
        self.tree = tree
        self.relations = relations
        self._rank = rank
        self.usual = 0.0
        self._largest = 1.0
        self._constrained = bool(relations.mechanism.constraints)
        self._coordinates = len(relations.coordinates)
        self._count = self._coordinates + len(relations.mechanism.states)

    def expect(self, rank: int, usual: float) -> None:
        """Take the rank that the constraints have elsewhere, and how large singular values are."""
        self._rank = rank or self._rank
        self.usual = max(self.usual, usual)

    def accelerations(self, t: float, x: Array) -> Array:
        """Return the rates of all speeds, where coordinates, extra states and speeds are x."""
        x, parts = self._projected(t, x, ZONE)
        return self._rates(t, x[: self._count], x[self._count :], parts)

    def settle(self, t: float, x: Array) -> Array:
        """Return the state with coordinates and speeds moved onto the constraints.

        Along a direction whose singular value is small it is left as it is: its errors are those of
        the integration, and smaller than rounding errors divided by that value.
        """
        return self._projected(t, x, _SETTLED)[0]

    # -- near singular configurations --------------------------------------------------------------
    def _projected(self, t: float, x: Array, bound: float) -> tuple[Array, Decomposition | None]:
        """Return the state on the constraints, those with small singular values left out."""
        n = self._count
        if not self._constrained:
            return _with_closed(self.relations, t, x, n, SINGULAR), None
        if self._rank is None or not self.usual:
            self._decomposed(t, x[:n])
        x = _with_closed(self.relations, t, x, n, self._small(bound))
        rest, parts = self._decomposed(t, x[:n], _SETTLED)
        left, s, vt = parts
        kept = s > self._small(bound) * s[0]
        k = len(s)
        u = x[n:]
        wrong = left[:, :k].T @ rest + s * (vt[:k] @ u)
        x[n:] = u - vt[:k][kept].T @ (wrong[kept] / s[kept])
        return x, parts

    def _decomposed(
        self, t: float, q: Array, regular: float = np.inf
    ) -> tuple[Array, Decomposition]:
        """Return b, and U, s and V^T of J u + b = 0 with U^T J = diag(s) V^T.

        That is the singular value decomposition. Where J is large and no singular value is below
        `regular` of its usual size, it is a QR decomposition with the least one for all of them,
        in half the time.
        """
        jacobian, rest = self.relations.speed(q, t)
        large = len(jacobian) >= LARGE and self._rank == len(jacobian) and self.usual > 0.0
        s = np.linalg.svd(jacobian, compute_uv=False) if large else np.zeros(0)
        if large and s[-1] > max(regular * self.usual, SINGULAR * s[0]):
            self._largest, self.usual = float(s[0]), max(self.usual, float(s[-1]))
            rows, r = np.linalg.qr(jacobian.T, mode="complete")
            k = len(s)
            return rest, (np.linalg.inv(r[:k]) * s[-1], np.full(k, s[-1]), rows.T)
        parts = decomposed(jacobian)
        s = parts[1]
        if not len(s):
            return rest, parts
        self._largest = float(s[0])
        if self._rank is None:
            self._rank = int((s > SINGULAR * s[0]).sum())
        if self._rank:
            last = float(s[self._rank - 1])
            if not self.usual:
                self.usual = last if last > SINGULAR * s[0] else float(s[0])
            self.usual = max(self.usual, last)
        return rest, parts

    def _small(self, bound: float) -> float:
        """Return the part of the largest singular value below which others count as small."""
        return max(bound * self.usual / self._largest, SINGULAR)

    def _rates(self, t: float, q: Array, u: Array, parts: Decomposition | None) -> Array:
        """Return u', near a singular configuration its limit along the motion."""
        q_dot, mass, right, jacobian, rest = self.tree(t, q, u)
        if parts is not None and self._rank:
            left, s, vt = parts
            rank = self._rank
            small = s[:rank] < ZONE * self.usual
            if small.any():
                pace = self._pace(t, q, q_dot, left[:, :rank][:, small], vt[:rank][small])
                if pace > 0:
                    return self._limit(t, q, u, q_dot, 3.0 * ZONE * self.usual / pace)
        return constrained_accelerations(mass, right, jacobian, rest, parts)

    def _pace(self, t: float, q: Array, q_dot: Array, left: Array, vt: Array) -> float:
        """Return how fast the slowest of the small singular values leaves zero, per second."""
        change = left.T @ self._jacobian_rate(t, q, q_dot) @ vt.T
        return float(np.linalg.svd(change, compute_uv=False)[-1])

    def _jacobian_rate(self, t: float, q: Array, q_dot: Array) -> Array:
        """Return the rate of J along the motion, from a central difference."""
        h = 1e-5 / max(float(np.abs(q_dot).max(initial=0.0)), 1e-3)
        ahead, _ = self.relations.speed(self._moved(q, q_dot, h), t + h)
        behind, _ = self.relations.speed(self._moved(q, q_dot, -h), t - h)
        rate: Array = (ahead - behind) / (2.0 * h)
        return rate

    def time_to_singular(self, t: float, x: Array) -> float:
        """Return when a singular configuration is reached as things move now, in s from here."""
        n = self._count
        q, u = x[:n], x[n:]
        q_dot = self.tree(t, q, u)[0]
        if not self._constrained or not self._rank:
            return np.inf
        left, s, vt = self._decomposed(t, q, 0.5)[1]
        small = np.flatnonzero(s[: self._rank] < 0.5 * self.usual)
        if not len(small) or s[self._rank - 1] == 0:
            return np.inf
        change = left[:, small].T @ self._jacobian_rate(t, q, q_dot) @ vt[small].T
        rates = np.linalg.eigvals(change / s[small][:, None]).real
        return float(min((-1.0 / r for r in rates if r < 0), default=np.inf))

    def _moved(self, q: Array, q_dot: Array, h: float) -> Array:
        q = q.copy()
        q[: self._coordinates] += h * q_dot
        return q

    def _limit(self, t: float, q: Array, u: Array, q_dot: Array, h: float) -> Array:
        """Return u' at a singular configuration from states around it on the way."""
        n = self._count

        def beside(step: float) -> Array:
            x = np.concatenate([self._moved(q, q_dot, step), u])
            x, parts = self._projected(t + step, x, ZONE)
            _, mass, right, jacobian, rest = self.tree(t + step, x[:n], x[n:])
            return constrained_accelerations(mass, right, jacobian, rest, parts)

        near = 0.5 * (beside(h) + beside(-h))
        far = 0.5 * (beside(2.0 * h) + beside(-2.0 * h))
        limit: Array = (4.0 * near - far) / 3.0
        return limit


def _with_closed(relations: Relations, t: float, x: Array, count: int, rank: float) -> Array:
    x = x.copy()
    x[:count], _ = relations.closed(x[:count], t, iterations=4, rank=rank)
    return x
