"""The vision servo: from blobs in pictures to where things are, how they move, and will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.lab.vision.assembly import (
        add_vision as add_vision,
        preferences_of as preferences_of,
    )
    from linkwright.lab.vision.cameras import (
        SimulatedCameras as SimulatedCameras,
        cameras_of as cameras_of,
    )
    from linkwright.lab.vision.servo import (
        VisionServo as VisionServo,
        preference_values as preference_values,
    )

_HOMES = {
    "linkwright.lab.vision.assembly": ("add_vision", "preferences_of"),
    "linkwright.lab.vision.cameras": ("SimulatedCameras", "cameras_of"),
    "linkwright.lab.vision.servo": ("VisionServo", "preference_values"),
}

__all__ = [
    "SimulatedCameras",
    "VisionServo",
    "add_vision",
    "cameras_of",
    "preference_values",
    "preferences_of",
]

__getattr__ = lazy_names(__name__, _HOMES)
