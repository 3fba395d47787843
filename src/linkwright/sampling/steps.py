"""What a loop does from one sample to the next, for many intervals at once.

The plant x' = A x + B u, with u held over an interval of length t, moves by

    x[k+1] = Phi(t) x[k] + Psi(t) u[k],   Phi = exp(A t),   Psi = integral of exp(A s) ds B

from 0 to t. Both are the upper blocks of exp([A B; 0 0] t).
"""

from __future__ import annotations

import math

import numpy as np

from linkwright.base.errors import InputError
from linkwright.sampling.regimes import Array, Arrivals

_TERMS = 24  # of the series of an exponential
_LARGEST = 1e300  # entry with which one can still compute
_SMALL = 1.0  # size of an exponent for which they are enough


def exponentials(a: Array, times: Array) -> Array:
    """Return exp(A t) for many times.

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
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(halvings):
            found = found @ found
    if not (np.abs(found) < _LARGEST).all():
        raise InputError(
            f"within an interval of {most:g} s the plant grows beyond all numbers",
            remedy="give shorter intervals, or check the units of the plant and of the intervals",
            code="R621",
        )
    return found


def transitions(a: Array, b: Array, times: Array) -> tuple[Array, Array]:
    """Return Phi and Psi for many intervals (`times` in s)."""
    n, r = b.shape
    whole = np.zeros((n + r, n + r))
    whole[:n, :n], whole[:n, n:] = a, b
    found = exponentials(whole, times)
    return found[:, :n, :n], found[:, :n, n:]


def closed(
    phi: Array, psi: Array, early: Array | None, gain: Array, at: Arrivals, depth: int
) -> Array:
    """Return the matrices of the closed loop, for its state and the last `depth` commands.

    Units: `gain` in K.

    >>> one = np.ones((1, 1, 1))
    >>> late = Arrivals(np.ones(1), np.array([1]), np.array([1]), np.zeros(1))
    >>> closed(one, one, None, np.array([[-0.5]]), late, 1)[0]
    array([[ 1. ,  1. ],
           [-0.5,  0. ]])
    """
    if depth == 0:
        return np.asarray(phi + psi @ gain)
    count, n = phi.shape[:2]
    r = len(gain)
    found = np.zeros((count, n + r * depth, n + r * depth))
    found[:, :n, :n] = phi
    found[:, n : n + r, :n] = gain
    found[:, n + r :, n : n + r * (depth - 1)] = np.eye(r * (depth - 1))
    acting = [(psi, at.delays)] if early is None else [(psi, at.delays), (early, at.befores)]
    for effect, lags in acting:
        prompt = lags == 0
        found[prompt, :n, :n] += effect[prompt] @ gain
        for lag in range(1, depth + 1):
            here = lags == lag
            found[here, :n, n + r * (lag - 1) : n + r * lag] += effect[here]
    return found
