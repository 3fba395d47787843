"""The vision servo in the System of a laboratory."""

from __future__ import annotations

from typing import Any

from linkwright.algebra import Expr
from linkwright.lab.config import LabConfig
from linkwright.lab.files.vision_files import VisionPreferences, read_vision
from linkwright.lab.vision.cameras import SimulatedCameras
from linkwright.lab.vision.servo import NINE, VisionServo
from linkwright.system import System


def preferences_of(config: LabConfig, name: str = "") -> VisionPreferences:
    """Return the filters that a laboratory starts with, or those of another of its `.pp` files.

    >>> from linkwright.lab.sources import lab_config
    >>> preferences_of(lab_config("sl-arm")).predict
    0.033
    """
    folder, blobs = config.preferences, len(config.vision.blobs)
    if name:
        return read_vision(name if folder is None else folder / name, blobs)
    if folder is None or not (folder / config.vision.preferences).is_file():
        return VisionPreferences()
    return read_vision(folder / config.vision.preferences, blobs)


def add_vision(system: System, config: LabConfig, *, rate: Any, real: bool = False) -> list[Expr]:
    """Add the vision servo to the System of a laboratory, and simulated cameras to a simulated one.

    Returns:
        Position, velocity, acceleration and status of each blob, one blob after the other: what a
        task slot takes as `blobs`.
    """
    vision = system.add(VisionServo(config, preferences_of(config)), rate=rate)
    if not real and config.vision.cameras:
        cameras = system.add(SimulatedCameras(config, hidden=True), rate=rate)
        for port in ("pixels", "visible", "stamp"):
            system.connect(cameras[port], vision[port])
    return [
        x
        for blob in config.vision.blobs
        for x in (*(y for key in NINE for y in vision[f"{blob}_{key}"]), vision[f"{blob}_status"])
    ]
