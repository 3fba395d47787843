"""A finger on an object: where it touches, its inward normal, and what it can pass on.

Without friction a finger pushes along the normal. With friction it passes on any force in Coulomb's
cone, and a soft one besides a moment about the normal, up to `torsion` times the normal force. The
cone counts as a pyramid inside it with so many edges: what is said to hold, does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.reprs import brief

__all__ = ["FingerContact"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FingerContact:
    """A finger on an object.

    Args:
        at: where it touches, m, in the object's axes.
        normal: into the object; of any length.
        friction: coefficient of Coulomb's friction, 0 for none.
        torsion: moment about the normal by the normal force, m; 0 for a hard finger. A patch of
            radius r with even pressure has 2/3 of the friction times r.
        name: of the finger, for messages.

    >>> FingerContact((0.1, 0, 0), (-2, 0, 0), friction=0.5).direction.tolist()
    [-1.0, 0.0, 0.0]
    """

    at: Sequence[float]
    normal: Sequence[float]
    friction: float = 0.5
    torsion: float = 0.0
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for what in ("at", "normal"):
            object.__setattr__(self, what, _three(getattr(self, what), what, self.name))
        size = float(np.linalg.norm(self.normal))
        if size == 0:
            raise InputError(
                f"the normal of {self._word} is zero", remedy="give a direction into the object"
            )
        for what in ("friction", "torsion"):
            value = getattr(self, what)
            if not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InputError(
                    f"the {what} of {self._word} is {brief(value)}", remedy="give 0 or more"
                )

    @property
    def _word(self) -> str:
        return f"finger {self.name!r}" if self.name else "a finger"

    @property
    def direction(self) -> Array:
        """The normal with length one."""
        given = np.asarray(self.normal, dtype=float)
        return np.asarray(given / np.linalg.norm(given))

    @property
    def axes(self) -> Array:
        """Normal and two tangents, as columns; the first tangent is as level as can be."""
        n = self.direction
        level = np.array([-n[1], n[0], 0.0])
        if np.linalg.norm(level) < 1e-9:
            level = np.array([1.0, 0.0, 0.0])
        first = level / np.linalg.norm(level)
        return np.column_stack([n, first, np.cross(n, first)])

    def edges(self, count: int) -> Array:
        """Return the extreme forces and moments of a unit normal force: rows of f and m, 6 each.

        Args:
            count: edges of the pyramid of friction.

        >>> FingerContact((0, 0, 0), (0, 0, 1), friction=0).edges(8).tolist()
        [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
        """
        n, first, second = self.axes.T
        if self.friction == 0:
            forces = n[None]
        else:
            angle = 2 * np.pi * np.arange(count) / count
            around = np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second)
            forces = n + self.friction * around
        rows = np.concatenate([forces, np.zeros_like(forces)], axis=1)
        if self.torsion > 0:
            twisted = [[*n, *(sign * self.torsion * n)] for sign in (1, -1)]
            rows = np.concatenate([rows, twisted])
        return rows + 0.0


def _three(given: Any, what: str, name: str) -> tuple[float, float, float]:
    word = f"finger {name!r}" if name else "a finger"
    try:
        found = np.asarray(given, dtype=float).ravel()
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(
            f"{what} of {word} is {brief(given)}, which is not three finite numbers",
            remedy="such as (0.03, 0, 0)",
        )
    return float(found[0]), float(found[1]), float(found[2])
