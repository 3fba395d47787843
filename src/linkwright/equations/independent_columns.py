"""Which columns of a matrix of doubles are combinations of others, from left to right.

The columns are the coefficients of inertial parameters at many states, from the root outward. One
that no combination of earlier ones equals is kept, the others are counted with those before them
(Gautier and Khalil 1990); found by orthogonalization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_ALONE = 1e-9  # part of a column, of its length, that must be its own


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBasis:
    """Which parameters can be distinguished, and what the others add to them."""

    columns: tuple[int, ...]
    idle: tuple[int, ...]
    regrouping: Array
    names: tuple[str, ...]


def base_of(samples: Array, names: Sequence[str]) -> ColumnBasis:
    """Return the base parameters from regressors at many states.

    >>> y = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 3.0], [1.0, 2.0, 0.0, 4.0]])
    >>> found = base_of(y, "abcd")
    >>> found.columns, found.idle, found.regrouping.round(12).tolist()
    ((0, 3), (2,), [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    """
    y = np.reshape(samples, (-1, samples.shape[-1]))
    sizes = np.linalg.norm(y, axis=0)
    largest = float(sizes.max(initial=0.0))
    chosen: list[int] = []
    idle: list[int] = []
    basis = np.zeros((len(y), 0))
    for k in range(y.shape[1]):
        if sizes[k] <= 1e-12 * largest:
            idle.append(k)
            continue
        rest = y[:, k] / sizes[k]
        for _ in range(2):  # once more takes out what rounding left
            rest = rest - basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > _ALONE:
            chosen.append(k)
            basis = np.column_stack([basis, rest / size])
    kept = y[:, chosen]
    regrouping = np.zeros((len(chosen), y.shape[1]))
    if chosen:
        scale = sizes[chosen]
        regrouping = np.linalg.lstsq(kept / scale, y, rcond=None)[0] / scale[:, None]
        regrouping[np.abs(regrouping) < 1e-10] = 0.0
        regrouping[:, chosen] = np.eye(len(chosen))
    return ColumnBasis(tuple(chosen), tuple(idle), regrouping, tuple(names[k] for k in chosen))
