"""A rotator as the panels of a studio see it: where it looks, and what the page commands."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from linkwright.mounts.aiming import AimError, Aiming
from linkwright.mounts.rotator import Rotator
from linkwright.pages.scope import Graph, ScopeLayout
from linkwright.recording import Channel
from linkwright.studio.link import StudioLink

Array = NDArray[np.float64]


class RotatorLink(StudioLink):
    """A rotator in a studio."""

    mode, stop_words, rate = "ROTATOR", "Stop the mount", 30.0

    def __init__(self, rotator: Rotator, aim: Aiming) -> None:
        self.rotator, self.aim = rotator, aim
        angles = (
            Channel("azimuth", "deg", "clockwise from North"),
            Channel("elevation", "deg", "above the horizon"),
        )
        super().__init__(aim.name, angles, {"mount": aim.name})
        self._seen = rotator.looks_along()
        self._shown = aim.coordinates(self._seen)
        self.begin()

    @property
    def running(self) -> bool:
        """Whether its loop goes on."""
        return self.rotator.loop.running

    def sample(self) -> tuple[int, float, Callable[[], Array]]:
        """Return where its loop stands, and both angles."""
        loop = self.rotator.loop
        tick = max(loop.latest().tick, 0)
        seconds = tick * loop.session.phases.tick_seconds
        return tick, seconds, lambda: np.degrees(self.rotator.position())

    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first: both angles."""
        return ScopeLayout((Graph(("azimuth",)), Graph(("elevation",))))

    def words(self) -> tuple[str, str, str]:
        """Return where it looks, and whether it moves."""
        azimuth, elevation = np.degrees(self.rotator.position())
        moves = "moves" if self.rotator.flags() else "stands"
        return f"{azimuth:.1f}°, {elevation:.1f}°", moves, ""

    def coordinates(self) -> Array:
        """Return the coordinates of the mount where it looks; the last that closed."""
        looks = self.rotator.looks_along()
        if looks != self._seen:
            self._seen = looks
            with suppress(AimError):  # on its way through a direction that it has no pose for
                self._shown = self.aim.coordinates(looks)
        return self._shown

    def halt(self) -> None:
        """Stop the rotator."""
        self.rotator.stop()
