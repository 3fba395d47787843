"""What a loop does from one sample to the next, for many intervals at once.

The plant x' = A x + B u, with u held over an interval of length t, moves by

    x[k+1] = Phi(t) x[k] + Psi(t) u[k],   Phi = exp(A t),   Psi = integral of exp(A s) ds B

from 0 to t. Both are the upper blocks of exp([A B; 0 0] t).
"""

from __future__ import annotations

import math

import numpy as np

from linkwright.analysis.sampling.regimes import Array, Counts

_TERMS = 24  # of the series of an exponential
_SMALL = 1.0  # size of an exponent for which they are enough


def exponentials(a: Array, times: Array) -> Array:
    """Return exp(A t) for many times.

    Args:
        a: the matrix A.
        times: t, along one axis.

    >>> exponentials(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.5]))[0]
    array([[1. , 0.5],
           [0. , 1. ]])
    """
    size = len(a)
    powers = [np.eye(size)]
    while len(powers) < size + 1 and powers[-1].any():
        powers.append(powers[-1] @ a)
    most = float(np.abs(times).max(initial=0.0))
    if not powers[-1].any():  # A is nilpotent: the series ends
        halvings, powers = 0, powers[:-1]
    else:
        norm = float(np.linalg.norm(a, 2)) * most
        halvings = max(0, math.ceil(math.log2(norm / _SMALL))) if norm > 0.0 else 0
        while len(powers) < _TERMS:
            powers.append(powers[-1] @ a)
    t = times / 2.0**halvings
    factors = np.ones((len(times), len(powers)))
    for k in range(1, len(powers)):
        factors[:, k] = factors[:, k - 1] * t / k
    found: Array = (factors @ np.array(powers).reshape(len(powers), -1)).reshape(-1, size, size)
    for _ in range(halvings):
        found = found @ found
    return found


def transitions(a: Array, b: Array, times: Array) -> tuple[Array, Array]:
    """Return Phi and Psi for many intervals.

    Args:
        a: system matrix of the plant.
        b: effect of the inputs.
        times: intervals, s.
    """
    n, r = b.shape
    whole = np.zeros((n + r, n + r))
    whole[:n, :n], whole[:n, n:] = a, b
    found = exponentials(whole, times)
    return found[:, :n, :n], found[:, :n, n:]


def closed(phi: Array, psi: Array, gain: Array, delays: Counts | int, depth: int) -> Array:
    """Return the matrices of the closed loop, for the state and `depth` states before it.

    Args:
        phi: matrices of the state, one for each interval.
        psi: matrices of the inputs.
        gain: of the state that the controller sees.
        delays: how many samples old it is, for each interval.
        depth: how many old states are kept.

    >>> one = np.ones((1, 1, 1))
    >>> closed(one, one, np.array([[-0.5]]), 1, 1)[0]
    array([[ 1. , -0.5],
           [ 1. ,  0. ]])
    """
    count, n = phi.shape[:2]
    fed: Array = psi @ gain
    if depth == 0:
        return phi + fed
    found = np.zeros((count, n * (depth + 1), n * (depth + 1)))
    found[:, :n, :n] = phi
    found[:, n:, :-n] = np.eye(n * depth)
    late = np.broadcast_to(np.asarray(delays), (count,))
    for d in range(depth + 1):
        here = late == d
        found[here, :n, n * d : n * (d + 1)] += fed[here]
    return found
