"""Sensors of a cell, fused: observations in, objects and frames with covariance out."""

from __future__ import annotations

from linkwright.server.coordinator.core import Coordinator, FusedObject, SensorReport
from linkwright.server.coordinator.motions import PointMotion, PoseMotion, WrenchMotion
from linkwright.server.coordinator.observations import WORLD, Observation
from linkwright.server.coordinator.world import FusionSettings

__all__ = [
    "WORLD",
    "Coordinator",
    "FusedObject",
    "FusionSettings",
    "Observation",
    "PointMotion",
    "PoseMotion",
    "SensorReport",
    "WrenchMotion",
]
