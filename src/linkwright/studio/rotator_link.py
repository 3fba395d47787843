"""A rotator as the panels of a studio see it: where it looks, and what it is told by the page.

A thread keeps some samples a second for the scope; whoever draws takes the newest direction. The
rotator's loop knows nothing of all this.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.mounts.aiming import AimError, Aiming
from linkwright.mounts.rotator import Rotator
from linkwright.pages.scope import Graph, ScopeLayout
from linkwright.recording import Channel, Recording
from linkwright.studio.link import KeepsSamples, LinkMoment, SampleKeeper

Array = NDArray[np.float64]
RATE = 30.0
"""Samples a second that are kept."""


class RotatorLink(KeepsSamples):
    """A rotator in a studio, until it is closed; the rotator outlives it."""

    side_by_side = False
    freeze = None

    def __init__(self, rotator: Rotator, aim: Aiming) -> None:
        self.rotator, self.aim = rotator, aim
        self.channels = [
            Channel("azimuth", "deg", "clockwise from North"),
            Channel("elevation", "deg", "above the horizon"),
        ]
        self._kept = SampleKeeper(len(self.channels))
        self._ending = threading.Event()
        self._last = -1
        self._shown = aim.coordinates(rotator.looks_along())
        self._keep()
        self._thread = threading.Thread(target=self._watch, name="linkwright rotator", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """The mount's name."""
        return self.aim.name

    @property
    def latest(self) -> LinkMoment:
        """Where the rotator stands."""
        counted, loop = self.rotator.loop.latest(), self.rotator.loop
        tick = max(counted.tick, 0)
        return LinkMoment(tick, tick * loop.session.phases.tick_seconds, loop.running)

    def recording(self) -> Recording:
        """Return what was kept of late, and of which mount."""
        t, rows = self.samples()
        return Recording(t, self.channels, rows, {"mount": self.name})

    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first: both angles."""
        return ScopeLayout((Graph(("azimuth",)), Graph(("elevation",))))

    def bar(self) -> dict[str, Any]:
        """Return what the bar over the scene shows."""
        azimuth, elevation = self.rotator.position()
        moves = "moves" if self.rotator.flags() else "stands"
        return {
            "stop": True,
            "freeze": False,
            "mode": "ROTATOR",
            "kind": "live",
            "time": f"{azimuth:.1f}°, {elevation:.1f}°",
            "pace": moves,
            "note": "",
            "busy": False,
        }

    def coordinates(self) -> Array:
        """Return the coordinates of the mount where it looks; the last that closed."""
        with suppress(AimError):  # on its way through a direction that the mount has no pose for
            self._shown = self.aim.coordinates(self.rotator.looks_along())
        return self._shown

    def _watch(self) -> None:
        while not self._ending.wait(1 / RATE):
            self._keep()

    def _keep(self) -> None:
        now = self.latest
        if now.tick == self._last:
            return
        self._last = now.tick
        self._kept.add(now.time, np.array(self.rotator.position()))

    def halt(self) -> None:
        """Stop the rotator."""
        self.rotator.stop()

    def close(self) -> None:
        """Leave the rotator, which goes on."""
        self._ending.set()
        self._thread.join(timeout=5)
