"""Eigenvalues and modes of a linear system, with the names of its states.

A state on which nothing depends (the heading of a vehicle, the angle of a wheel) only integrates
the others. Such states are set aside first, again and again until none is left, so that the
eigenvalues are those of the motion itself and not a crowd of zeros that rounding has spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.results import Result

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mode(Result):
    """One eigenvalue, or a pair of conjugates, with its shape.

    Args:
        eigenvalue: of the pair, the one with the positive imaginary part.
        frequency: natural frequency, rad/s: the magnitude of the eigenvalue; in discrete time that
            of its logarithm by the period.
        damping: ratio to critical damping; negative where the motion grows.
        shape: the share of each state, the largest 1.
        stable: whether the motion dies out.

    >>> modes(np.array([[0.0, 1.0], [-4.0, -0.4]]), ["x", "v"])[0].stable
    True
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shape: dict[str, complex]
    stable: bool
    _units = (("frequency", "rad/s"),)


def moving_states(a: Array, tolerance: float = 1e-12) -> list[int]:
    """Return the states on which something depends, directly or through others.

    >>> moving_states(np.array([[0.0, 1.0, 0.0], [0.0, -2.0, 1.0], [0.0, -1.0, 0.0]]))
    [1, 2]
    """
    size = float(np.abs(a).max(initial=0.0))
    left = list(range(len(a)))
    while True:
        part = np.abs(a[np.ix_(left, left)])
        kept = [
            k for k, column in zip(left, part.T, strict=True) if (column > tolerance * size).any()
        ]
        if len(kept) == len(left):
            return left
        left = kept


def modes(a: Array, names: Sequence[str], period: float = 0.0) -> list[Mode]:
    """Return the modes of a system matrix, slowest decay first; with a period, in discrete time.

    Args:
        a: the system matrix.
        names: of the states.
        period: of a model in discrete time, s; 0 for continuous time.

    >>> [round(m.frequency, 3) for m in modes(np.array([[0.0, 1.0], [-4.0, -0.4]]), ["x", "v"])]
    [2.0]
    """
    kept = moving_states(a)
    if not kept:
        return []
    part = a[np.ix_(kept, kept)]
    values, vectors = np.linalg.eig(part)
    result = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag < 0:
            continue
        shape = vector / vector[np.abs(vector).argmax()]
        pole = complex(value)
        if period:  # that of the continuous motion through the instants
            pole = np.log(pole) / period if pole else complex(-np.inf)
        size = abs(pole)
        damping = 1.0 if size == 0 or not np.isfinite(size) else -pole.real / size
        named = {names[k]: complex(s) for k, s in zip(kept, shape, strict=True)}
        found = Mode(complex(value), float(size), float(damping), named, bool(pole.real < 0))
        result.append((-pole.real, found))
    return [mode for _, mode in sorted(result, key=lambda pair: (pair[0], pair[1].frequency))]
