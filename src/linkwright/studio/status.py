"""What the bar over the scene shows in every tab: what moves the scene, its time, its pace.

The page asks for it a few times a second (`linkwright.studio.client_page`); answering takes no
locks and waits for nothing. The first page that asks, and whose user has nothing against things
that move, also starts the playback.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from linkwright.studio.messages import Bar
from linkwright.studio.state import PLAYED, RUN, PanelState, panels_of

if TYPE_CHECKING:
    from linkwright.simulation.paced import Reached
    from linkwright.studio.live import Live
    from linkwright.studio.server import Studio

DERIVING = "Building the simulation: deriving and compiling the equations of motion …"
_SLOW = 0.9  # of the speed that was asked for: below, the machine is too slow


class Status:
    """The state of a studio in words."""

    def __init__(self, panels: PanelState) -> None:
        self.panels, self._met = panels, False

    def state(self, query: dict[str, str]) -> dict[str, Any]:
        """Return what the bar shows, and start the playback for the first page that may move."""
        if not self._met:
            self._met = True
            if query.get("motion") == "moving":
                self._begin()
        panels, again = self.panels, self.panels.studio.again
        if panels.studio.link is not None:
            return asdict(replace(panels.studio.link.bar(), again=again))
        shown = self._live() if panels.mode == RUN else self._shown()
        busy = panels.maker.busy
        note = DERIVING if busy else panels.trouble_now
        return asdict(replace(shown, note=note, again=again, busy=busy))

    def _begin(self) -> None:
        player = self.panels.studio.player
        if self.panels.mode == PLAYED and player.end > player.start:
            player.playing = True

    def _live(self) -> Bar:
        live = self.panels.live
        if live is None:
            return Bar("LIVE", "live")
        now = live.latest
        return Bar("LIVE", "live", f"t = {now.time:.{places(live)}f} s", pace_of(live, now))

    def _shown(self) -> Bar:
        panels, player = self.panels, self.panels.studio.player
        if panels.mode != PLAYED:
            return Bar("POSE", "pose")
        if not player.end > player.start:
            return Bar()
        pace = f"{player.speed:g}× real time" if player.playing else "paused"
        few = 2 if player.end - player.start > 1 else 4
        return Bar("REPLAY", "replay", f"t = {player.time:.{few}f} s", pace)


def places(live: Live) -> int:
    """Return how many places behind the point a time of a live run needs: frames are to be sent."""
    return 2 if live.plant.speed >= 0.5 else 4


def pace_of(live: Live, now: Reached) -> str:
    """Return how fast a run goes, in words."""
    if now.stopped:
        return "stopped"
    if not now.running:
        return "paused"
    if not now.pace:
        return ""
    slow = " — too slow for this machine" if now.pace < _SLOW * live.speed else ""
    return f"{now.pace:.2g}× real time{slow}"


def add_status(studio: Studio) -> None:
    """Let a studio report its state."""
    studio.status = Status(panels_of(studio)).state
