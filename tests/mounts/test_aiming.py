"""Aiming: actuators of mounts for directions."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.mounts.aiming import Aiming
from linkwright.mounts.pointing import direction


@pytest.mark.parametrize("mount", ["mount-alt-az", "mount-x-y"])
def test_two_axes_in_series_reach_the_whole_sky(mount: str) -> None:
    aim = Aiming(mount)
    for azimuth in (0, 75, 130, 200, 355):
        for elevation in (5, 45, 85, 90):
            assert aim.reaches(direction(azimuth, elevation)), (azimuth, elevation)
    low, high = aim(direction(75, 40)), aim(direction(75, 60))
    if mount == "mount-alt-az":  # one axis is the elevation's
        assert sorted(np.abs(np.degrees(high - low)).round(6)) == [0.0, 20.0]
