"""The vision servo: from blobs in pictures to where things are, how they move, and will be."""

from linkwright.lab.vision.assembly import add_vision, preferences_of
from linkwright.lab.vision.cameras import SimulatedCameras, cameras_of
from linkwright.lab.vision.servo import VisionServo, preference_values

__all__ = [
    "SimulatedCameras",
    "VisionServo",
    "add_vision",
    "cameras_of",
    "preference_values",
    "preferences_of",
]
