"""What a whole-body controller is asked for: rows over accelerations and contact forces.

A task of motion asks for the acceleration of something, J a + J' u = x'' with
x'' = x_d'' + kd (x_d' - x') + kp (x_d - x). Errors of orientation are rotation vectors along the
world's axes; the wanted orientation is at rest. `tick_program` writes the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwright.base.checks import checked
from linkwright.base.errors import InputError

Array = np.ndarray[Any, np.dtype[np.float64]]
Target = Any
"""A position or pose; or a function of the time in s that returns it, or a position with its
velocity and acceleration."""

center_of_mass = "center of mass"
"""What `Controller.track` takes for the center of mass, in place of the name of a frame."""
SPIN = "angular momentum"


@dataclass(frozen=True, slots=True)
class BodyTask:
    """A task with its weight and priority."""

    name: str
    kind: str  # as in `tick_program.Plan`
    of: tuple[int, ...] | str  # the frame, the contact, or the joints
    target: Target
    weight: float
    priority: int
    kp: float = 0.0
    kd: float = 0.0

    @property
    def varies(self) -> bool:
        """Whether its target is a function of time."""
        return callable(self.target)

    def numbers(self, t: float) -> Array:
        """Return what it asks for at a time in s, as the Program takes it."""
        value = self.target(t) if callable(self.target) else self.target
        if self.kind in ("position", "center"):
            return np.concatenate(target_at(value, t, 3))
        if self.kind == "orientation":
            return _rotation(value, self.of).ravel()
        if self.kind == "pose":
            if np.shape(value) != (4, 4) or not np.allclose(value[3], [0, 0, 0, 1]):
                raise InputError(
                    f"the pose asked of {self.of!r} is not a homogeneous 4 x 4 matrix",
                    remedy="give a rotation and a position above 0, 0, 0, 1",
                )
            matrix = np.asarray(value, dtype=float)
            place = np.concatenate(target_at(matrix[:3, 3], t, 3))
            return np.concatenate([place, _rotation(matrix[:3, :3], self.of).ravel()])
        return np.asarray(() if value is None else value, dtype=float)


def target_at(value: Any, t: float, size: int) -> tuple[Array, Array, Array]:
    """Return a wanted position with its velocity and acceleration."""
    if isinstance(value, tuple) and len(value) == 3 and all(np.ndim(x) == 1 for x in value):
        rows = [np.asarray(x, dtype=float) for x in value]
    else:
        rows = [np.asarray(value, dtype=float), np.zeros(size), np.zeros(size)]
    for row in rows:
        if row.shape != (size,) or not np.isfinite(row).all():
            raise InputError(f"a target at {t:g} s is {value!r}, not {size} finite numbers")
    return rows[0], rows[1], rows[2]


def _rotation(value: Any, frame: object) -> Array:
    wanted = np.asarray(value, dtype=float)
    square = wanted.shape == (3, 3) and np.abs(wanted @ wanted.T - np.eye(3)).max() < 1e-5
    if not (square and np.linalg.det(wanted) > 0):
        raise InputError(
            f"the orientation asked of {frame!r} is not a rotation matrix",
            remedy="give three rows, orthogonal, of length 1 and right-handed",
        )
    return wanted


def named_targets(
    target: Mapping[str, float] | Sequence[float], names: Sequence[str], neutral: Sequence[float]
) -> list[float]:
    """Return a number for each joint, of a mapping by name or of a sequence in order."""
    if isinstance(target, Mapping):
        unknown = [name for name in target if name not in names]
        if unknown:
            raise InputError(
                f"posture names {unknown[0]!r}, which the controller does not drive",
                remedy=f"its joints are {', '.join(names)}",
            )
        given = [target.get(n, x) for n, x in zip(names, neutral, strict=True)]
    else:
        given = list(target)
        if len(given) != len(names):
            raise InputError(f"posture has {len(given)} numbers for {len(names)} driven joints")
    return [checked(x, f"posture of {n!r}") for n, x in zip(names, given, strict=True)]
