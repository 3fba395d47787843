"""What a laboratory sees, and what is there to be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwright.base.errors import Error, unknown
from linkwright.base.lazy import Later
from linkwright.blocks import checked_all
from linkwright.lab.files.vision_files import VisionPreferences
from linkwright.lab.records import BlobState

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab
    from linkwright.lab.vision import assembly, servo
else:
    assembly = Later("linkwright.lab.vision.assembly")
    servo = Later("linkwright.lab.vision.servo")


def blobs(lab: Lab) -> Mapping[str, BlobState]:
    """Blobs after filters and prediction, by name; simulated ones are seen once placed."""
    found = {}
    for name in lab.config.vision.blobs:
        ports = [f"vision.{name}_{key}" for key in ("x", "xd", "xdd", "status")]
        x, xd, xdd, status = lab.values(*ports)
        found[name] = BlobState(x, xd, xdd, bool(status[0]))
    return found


def raw_blobs(lab: Lab) -> Mapping[str, BlobState]:
    """Blobs as they were measured in space, by name."""
    return {
        name: BlobState(
            lab.values(f"vision.{name}_unfiltered")[0], np.zeros(3), np.zeros(3), blob.status
        )
        for name, blob in lab.blobs.items()
    }


def raw_blobs_2d(lab: Lab) -> Mapping[str, BlobState]:
    """Blobs as each camera sees them, pixels, by name."""
    if not lab.has("cameras.pixels"):
        return {}
    pixels, visible = lab.values("cameras.pixels", "cameras.visible")
    names = lab.config.vision.blobs
    rows = zip(names, pixels.reshape(len(names), -1), visible.reshape(len(names), -1), strict=True)
    return {name: BlobState(x, 0 * x, 0 * x, bool(seen.all())) for name, x, seen in rows}


def place_blob(
    lab: Lab, name: str, x: Sequence[float], *, seen: bool = True, by_cameras: bool = True
) -> None:
    """Put a blob of the simulated world somewhere.

    Args:
        name: of it.
        x: where, in the robot's frame, m.
        seen: False where something hides it.
        by_cameras: whether the simulated cameras see it, as they can; otherwise it replaces
            what they see, until it is placed before them again.
    """
    blobs, eyes = lab.config.vision.blobs, lab.config.vision.cameras
    if name not in blobs:
        raise unknown("blob", name, blobs)
    place = checked_all(x, f"the place of {name!r}", count=3)
    if by_cameras and not lab.has("cameras.stamp"):
        why = "on hardware cameras see what is there" if lab.real else "it has no cameras"
        raise Error(
            f"{lab.config.name!r} has no simulated cameras: {why}", remedy="by_cameras=False"
        )
    values = {f"vision.{name}_simulated": float(not by_cameras)}
    if by_cameras:
        values |= {f"cameras.{name}_x[{i}]": v for i, v in enumerate(place)}
        at = blobs.index(name) * eyes
        values |= {f"cameras.occluded[{at + k}]": float(not seen) for k in range(eyes)}
    else:
        values |= {f"vision.{name}_given[{i}]": v for i, v in enumerate(place)}
        values[f"vision.{name}_there"] = float(seen)
    lab.put(values)


def set_vision(lab: Lab, preferences: str | VisionPreferences) -> None:
    """Filter and predict blobs otherwise, from the next tick of the vision servo on.

    Args:
        preferences: the name of a `.pp` file in the laboratory's folder of preferences, or
            what such a file says.
    """
    if isinstance(preferences, str):
        preferences = assembly.preferences_of(lab.config, preferences)
    lab.put(servo.preference_values(lab.config, preferences))
