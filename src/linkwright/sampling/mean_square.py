"""Second moments: do they die out, and what do they cost until then?

The covariance X of a state obeys X[k+1] = E[Gamma X Gamma'], as vec X[k+1] = E[Gamma (x) Gamma]
vec X[k]. It dies out if and only if the spectral radius of that matrix is below 1 (Costa, Fragoso
and Marques, Discrete-Time Markov Jump Linear Systems, 2005, chapter 3). Where intervals follow a
Markov chain, there is a covariance for each of its states, and they are coupled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linkwright.sampling.regimes import Array

_FASTEST = 150.0  # times the longest interval; what is faster is there at once


def second_moment(gammas: Array, weights: Array) -> Array:
    """Return E[Gamma (x) Gamma].

    >>> second_moment(np.array([[[0.5]], [[1.5]]]), np.array([0.5, 0.5]))
    array([[1.25]])
    """
    n = gammas.shape[-1]
    flat = gammas.reshape(-1, n * n)
    product = (flat * weights[:, None]).T @ flat  # [ij, kl]
    found: Array = product.reshape(n, n, n, n).transpose(0, 2, 1, 3).reshape(n * n, n * n)
    return found


def coupled(moments: Sequence[Array], transition: Array) -> Array:
    """Return the matrix that carries the covariances of all states of a chain on."""
    blocks = [
        [transition[i, j] * moments[i] for i in range(len(moments))] for j in range(len(moments))
    ]
    return np.block(blocks)


def radius(matrix: Array) -> float:
    """Return the spectral radius."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def chain_radius(moments: Sequence[Array], transition: Array) -> float:
    """Return the spectral radius by which mean squares grow or shrink from sample to sample."""
    if _forgets(transition):
        return radius(_mean(moments, transition))
    return radius(coupled(moments, transition))


def decay_rate(
    gammas: Sequence[Array], weights: Sequence[Array], intervals: Sequence[Array], transition: Array
) -> float:
    """Return the s at which E[e^(2 s t) Gamma (x) Gamma] has the spectral radius 1, 1/s.

    The mean square of the state dies out as e^(-2 s t) does, as a function of time.

    Units: `intervals` in s.

    >>> half = np.array([[[0.5]]])
    >>> round(decay_rate([half], [np.ones(1)], [np.array([0.1])], np.ones((1, 1))), 6)
    6.931472
    """
    from scipy.optimize import brentq

    longest = max(float(t.max()) for t in intervals)

    def level(s: float) -> float:
        moments = [
            second_moment(g, w * np.exp(2.0 * s * (t - longest)))
            for g, w, t in zip(gammas, weights, intervals, strict=True)
        ]
        return math.log(max(chain_radius(moments, transition), 1e-300)) + 2.0 * s * longest

    start = level(0.0)
    if abs(start) < 1e-12:
        return 0.0
    near, step = 0.0, -math.copysign(0.5 / longest, start)
    while level(near + step) * start > 0.0:
        near, step = near + step, 2.0 * step
        if abs(near) * longest > _FASTEST:
            return math.copysign(math.inf, near)
    return float(brentq(level, near, near + step, xtol=1e-9 / longest, rtol=1e-12))


def _forgets(transition: Array) -> bool:
    """Whether the next state does not depend on the present one."""
    return bool(np.all(transition == transition[0]))


def _mean(matrices: Sequence[Array], transition: Array) -> Array:
    return np.asarray(np.tensordot(transition[0], np.array(matrices), axes=1))


def lyapunov(moments: Sequence[Array], transition: Array, sources: Sequence[Array]) -> list[Array]:
    """Return P of each state of a chain: P[i] = Q[i] + E[Gamma' (sum of p[i, j] P[j]) Gamma].

    >>> lyapunov([np.array([[0.25]])], np.ones((1, 1)), [np.array([[3.0]])])
    [array([[4.]])]
    """
    n = len(sources[0])
    if _forgets(transition):
        mean = np.eye(n * n) - _mean(moments, transition).T
        common = np.linalg.solve(mean, _mean(sources, transition).reshape(-1))
        each = [(q.reshape(-1) + m.T @ common) for m, q in zip(moments, sources, strict=True)]
        return [0.5 * (p + p.T) for p in (v.reshape(n, n) for v in each)]
    whole = coupled(moments, transition).T
    right = np.concatenate([q.reshape(-1) for q in sources])
    found = np.linalg.solve(np.eye(len(whole)) - whole, right)
    made = found.reshape(len(sources), n, n)
    return [0.5 * (p + p.T) for p in made]
