"""What mass and moments of inertia a rigid body can have, and the nearest ones that it can.

With Sigma the second moments of the mass about the mass center, the inertia tensor is J = tr(Sigma)
1 - Sigma, so Sigma = tr(J)/2 1 - J. A distribution of mass with that tensor exists just when the
mass is positive and Sigma has no negative eigenvalue (Traversaro, Brossette, Escande, Nori 2016;
Wensing, Kim, Slotine 2018: the pseudo-inertia matrix). The eigenvalues of Sigma are half of what
each pair of principal moments exceeds the third by, so that is the triangle inequality; setting the
negative ones to zero gives the tensor that is the nearest in Sigma.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

Severity: TypeAlias = Literal["error", "warning", "note"]
Six: TypeAlias = tuple[float, float, float, float, float, float]

SLACK = 1e-9
TINY = 1e-7  # m^2: moments of a body this small are noise of the data, not its shape


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that speaks against a model."""

    name: str
    severity: Severity
    part: str
    words: str
    repair: str = ""

    def __str__(self) -> str:
        return f"{self.part}: {self.words}"


def mass_findings(
    part: str, mass: float, tensor: Sequence[float], *, one_moment_acts: bool = False
) -> Iterator[Finding]:
    """Yield what is wrong with the mass and inertia of a part; at most one thing.

    Units: `mass` in kg.

    >>> [found.name for found in mass_findings("a", 1.0, (0.1, 0.1, 0.3, 0, 0, 0))]
    ['triangle inequality']
    """
    xx, yy, zz, xy, yz, zx = (float(x) for x in tensor)
    matrix = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    if not (np.isfinite(mass) and np.isfinite(matrix).all()):
        what = "moment of inertia" if np.isfinite(mass) else "mass"
        value = next(x for x in (mass, *matrix.flat) if not np.isfinite(x))
        yield Finding("finite", "error", part, f"its {what}, {value:g}, is not finite")
        return
    low, middle, high = (float(x) for x in np.linalg.eigvalsh(matrix))
    largest = max(abs(low), abs(high))
    slack = SLACK * max(largest, TINY * abs(mass))
    if mass < 0:
        yield Finding(
            "mass", "error", part, f"its mass, {mass:g} kg, is negative", "give it a small mass"
        )
    elif mass == 0 and largest > 0:
        yield Finding(
            "mass",
            "warning",
            part,
            "it has moments of inertia but no mass",
            "give it a small mass",
        )
    elif low < -slack:
        yield Finding(
            "positive definiteness",
            "error",
            part,
            f"its smallest moment of inertia, {low:g} kg*m^2, is negative",
            "take the nearest inertia of a rigid body",
        )
    elif high > low + middle + slack and not one_moment_acts:
        yield Finding(
            "triangle inequality",
            "warning",
            part,
            f"its largest moment of inertia, {high:g} kg*m^2, exceeds the sum of the other "
            f"two, {low + middle:g} kg*m^2",
            "take the nearest inertia of a rigid body",
        )


def nearest_inertia(tensor: Sequence[float]) -> Six:
    """Return the inertia of a rigid body that is the nearest to a tensor.

    >>> [round(x, 12) + 0.0 for x in nearest_inertia((0.1, 0.1, 0.3, 0, 0, 0))]
    [0.15, 0.15, 0.3, 0.0, 0.0, 0.0]
    >>> nearest_inertia((0.1, 0.1, 0.2, 0, 0, 0))
    (0.1, 0.1, 0.2, 0.0, 0.0, 0.0)
    """
    xx, yy, zz, xy, yz, zx = (float(x) for x in tensor)
    matrix = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    second = np.trace(matrix) / 2 * np.eye(3) - matrix
    values, axes = np.linalg.eigh(second)
    if values[0] >= -SLACK * max(abs(values[-1]), abs(values[0])):
        return xx, yy, zz, xy, yz, zx
    second = (axes * np.maximum(values, 0.0)) @ axes.T
    found = np.trace(second) * np.eye(3) - second
    a, b, c = (float(found[k, k]) for k in range(3))
    d, e, f = (float(found[i, j]) for i, j in ((0, 1), (1, 2), (2, 0)))
    return a, b, c, d, e, f
