"""The laboratory: servos, tasks, a console and a recorder around a robot, simulated or real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.lab.config import (
        EndEffector as EndEffector,
        JointConfig as JointConfig,
        LabConfig as LabConfig,
        VisionConfig as VisionConfig,
    )

_HOMES = {
    "linkwright.lab.config": ("EndEffector", "JointConfig", "LabConfig", "VisionConfig"),
}

__all__ = [
    "EndEffector",
    "JointConfig",
    "LabConfig",
    "VisionConfig",
]

__getattr__ = lazy_names(__name__, _HOMES)
