"""What a whole-body controller chose in one state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class BodyForces:
    """What a whole-body controller chose in one state.

    Args:
        acceleration: of each speed of the robot.
        effort: torque or force of each driven joint, N m or N.
        forces: at each point of each closed contact, along the world's axes, N; points x 3.
        errors: by how much each task misses what it asked for, in its own unit.
        relaxed: limits that could not be kept, each with the amount.

    >>> BodyForces(np.zeros(1), np.zeros(1), {}, {}, {}).relaxed
    {}
    """

    acceleration: Array
    effort: Array
    forces: dict[str, Array]
    errors: dict[str, float]
    relaxed: dict[str, float] = field(default_factory=dict)
