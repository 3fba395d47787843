"""What a laboratory sees, and what is there to be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.blocks import checked_all
from linkwright.errors import Error, InputError, nearest
from linkwright.lab.files.vision_files import VisionPreferences
from linkwright.lab.loop import LabLoop
from linkwright.lab.vision.assembly import preferences_of
from linkwright.lab.vision.servo import NINE, preference_values

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BlobState:
    """A blob as the vision servo tells it (SL: SL_VisionBlob).

    Args:
        x: position in the robot's frame, m.
        xd: velocity, m/s.
        xdd: acceleration, m/s^2.
        status: whether it is seen.
    """

    x: Array
    xd: Array
    xdd: Array
    status: bool


class Sighted(LabLoop):
    """A laboratory's loop with eyes."""

    @property
    def blobs(self) -> Mapping[str, BlobState]:
        """Blobs by name, filtered and predicted."""
        found = {}
        for name in self.config.vision.blobs:
            ports = [f"vision.{name}_{key}" for key in (*NINE, "status")]
            x, xd, xdd, status = self.values(*ports)
            found[name] = BlobState(x, xd, xdd, bool(status[0]))
        return found

    def set_blob(
        self,
        name: str,
        x: Sequence[float] | None,
        *,
        seen: bool = True,
        by_cameras: bool = False,
    ) -> None:
        """Put a simulated blob somewhere; it replaces what cameras see of it.

        Args:
            name: of the blob.
            x: where it is, in the robot's frame, m; None to let the cameras tell again.
            seen: whether it is seen there.
            by_cameras: put it before the simulated cameras instead, which see it as they can.
        """
        blobs = self.config.vision.blobs
        if name not in blobs:
            near = nearest(name, blobs)
            raise InputError(
                f"there is no blob {name!r}",
                remedy=f"did you mean {near!r}?"
                if near
                else f"there are: {', '.join(blobs) or 'none'}",
            )
        if x is None:
            self.put({f"vision.{name}_simulated": 0.0})
            return
        place = checked_all(x, f"the place of {name!r}", count=3)
        if not by_cameras:
            values = {f"vision.{name}_given[{i}]": v for i, v in enumerate(place)}
            there = {f"vision.{name}_simulated": 1.0, f"vision.{name}_there": float(seen)}
            self.put(values | there)
            return
        if not self.has("cameras.stamp"):
            raise Error(
                f"{self.config.name!r} has no simulated cameras",
                remedy="leave by_cameras out",
            )
        values = {f"cameras.{name}_x[{i}]": v for i, v in enumerate(place)}
        eyes, at = self.config.vision.cameras, blobs.index(name)
        hidden = {f"cameras.occluded[{at * eyes + k}]": float(not seen) for k in range(eyes)}
        self.put(values | hidden | {f"vision.{name}_simulated": 0.0})

    def set_vision(self, preferences: str | VisionPreferences) -> None:
        """Filter and predict blobs otherwise, from the next tick of the vision servo on.

        Args:
            preferences: the name of a `.pp` file in the laboratory's folder of preferences, or
                what such a file says.
        """
        if isinstance(preferences, str):
            preferences = preferences_of(self.config, preferences)
        self.put(preference_values(self.config, preferences))
