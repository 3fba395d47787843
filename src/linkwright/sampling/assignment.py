"""Poles of a sampled loop by Hikita's method, as the report on the force and motion server uses it.

For a real pole p the column v = (Phi - p)^-1 Psi xi, for a pair a + jb, a - jb the columns

    v = V1 xi - V2 xi',  v' = V1 xi' + V2 xi,
    V1 = W (Phi - a) Psi,  V2 = W b Psi,  W = ((Phi - a)^2 + b^2)^-1

are put together to T; then K = -[xi] T^-1, and T^-1 (Phi + Psi K) T has the poles, or blocks of the
pairs, along its diagonal. The vectors xi give each column the length 1 (of a state whose entries
are divided by their sizes), which the report does too. That makes norms with T depend on nothing
but poles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwright.base.errors import InputError
from linkwright.sampling.regimes import Array

_SINGULAR = 1e12


def arranged(poles: Sequence[complex], states: int, inputs: int) -> list[tuple[complex, int]]:
    """Return the poles with the input by which each is placed; of a pair, the upper one.

    >>> arranged((0.4, 0.7), 4, 2)
    [((0.4+0j), 0), ((0.7+0j), 0), ((0.4+0j), 1), ((0.7+0j), 1)]
    """
    given = [complex(p) for p in poles]
    upper = sorted((p for p in given if p.imag > 0.0), key=lambda p: (p.real, p.imag))
    lower = sorted((p.conjugate() for p in given if p.imag < 0.0), key=lambda p: (p.real, p.imag))
    if len(upper) != len(lower) or not np.allclose(upper, lower, rtol=1e-12, atol=0.0):
        raise InputError(
            f"the poles {_told(given)} have a complex one without its conjugate",
            remedy="give both of a pair: (0.5+0.2j, 0.5-0.2j)",
            code="R625",
        )
    if len(given) not in (states, states / inputs):
        each = f", or {states // inputs} for each input" if inputs > 1 else ""
        raise InputError(
            f"{len(given)} poles do not determine a loop of {states} states",
            remedy=f"give {states}{each}",
            code="R625",
        )
    firsts = [p for p in given if p.imag >= 0.0]
    if len(given) < states:
        return [(p, k) for k in range(inputs) for p in firsts]
    return [(p, k % inputs) for k, p in enumerate(firsts)]


def assign(phi: Array, psi: Array, poles: Sequence[complex], sizes: Array) -> tuple[Array, Array]:
    """Return the gain K of u = K x and the transformation T.

    >>> k, t = assign(
    ...     np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.5], [1.0]]), (0.4, 0.7), np.ones(2)
    ... )
    >>> k.round(6), t.round(3)
    (array([[-0.18, -0.81]]), array([[-0.759, -0.943],
           [ 0.651,  0.333]]))
    """
    n, r = psi.shape
    one = np.eye(n)
    columns: list[Array] = []
    inputs: list[Array] = []
    for pole, chosen in arranged(poles, n, r):
        xi = np.zeros(r)
        xi[chosen] = 1.0
        shifted = phi - pole.real * one
        try:
            if pole.imag == 0.0:
                made = [(np.linalg.solve(shifted, psi @ xi), xi)]
            else:
                w = np.linalg.inv(shifted @ shifted + pole.imag**2 * one)
                v1, v2 = w @ shifted @ psi, w @ (pole.imag * psi)
                made = [(v1 @ xi, xi), (v2 @ xi, 0.0 * xi)]  # xi' = 0
        except np.linalg.LinAlgError:
            raise InputError(
                f"{pole.real:g} is a pole of the loop without feedback, which is not placed anew",
                remedy="choose a pole that differs from it",
                code="R625",
            ) from None
        length = float(np.hypot.reduce([np.linalg.norm(v / sizes) for v, _ in made]))
        length /= np.sqrt(len(made))
        if not (np.isfinite(length) and length > 0.0):
            raise _uncontrollable(poles)
        columns += [v / length for v, _ in made]
        inputs += [x / length for _, x in made]
    t = np.array(columns).T
    scaled = t / sizes[:, None]
    if np.linalg.cond(scaled) > _SINGULAR:
        raise _uncontrollable(poles)
    gain = -np.asarray(np.linalg.solve(t.T, np.array(inputs)), dtype=float).T
    return gain, t


def _uncontrollable(poles: Sequence[complex]) -> InputError:
    return InputError(
        f"no gain gives the poles {_told([complex(p) for p in poles])}: two of one input coincide, "
        "or the inputs do not reach all states",
        remedy="choose poles that differ, or leave out the states that no input moves",
        code="R625",
    )


def _told(poles: Sequence[complex]) -> str:
    shown = (f"{p.real:g}" if p.imag == 0.0 else f"{p:g}" for p in poles)
    return f"({', '.join(shown)})"
