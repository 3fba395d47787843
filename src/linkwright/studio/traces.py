"""Traces: the way that a point of a body has gone, in a recording or in a live run.

The point is the mass center of the body, or the middle of its shape where it has no mass: the
origin of a body that turns about its own joint goes nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.rotations import turned
from linkwright.recording.spread import spread
from linkwright.scene.viewpoint import point_of, upright
from linkwright.studio.state import RUN, panels_of

if TYPE_CHECKING:
    from linkwright.scene.scene import Scene
    from linkwright.studio.live import Live
    from linkwright.studio.server import Studio

Array: TypeAlias = NDArray[np.float64]
LAST = 10.0
"""Seconds of a live run that its trace shows, at its usual speed."""

_PIECES, _LIVE_PIECES = 1000, 300  # lines of a trace, at most
_COLORS = (200, 85, 61), (107, 130, 153)  # of the first, and of ghosts


def way(poses: NDArray[np.floating[Any]], point: Array, most: int = _PIECES) -> Array:
    """Return the places of a point of a body, n x 3, few enough to be drawn.

    >>> half = [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]  # turned by half about z
    >>> way(np.array([[0.5, 0, 0, 1, 0, 0, 0], half]), np.array([1.0, 0, 0])).tolist()
    [[1.5, 0.0, 0.0], [-0.5, 0.0, 0.0]]
    """
    kept = poses[spread(len(poses), most)].astype(float)
    return np.asarray(kept[:, :3] + turned(kept[:, 3:], np.broadcast_to(point, (len(kept), 3))))


class Trace:
    """The traces of one body in all scenes."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.name = studio, ""
        self._drawn: dict[int, Any] = {}
        self._live: tuple[int, int] | None = None
        self._point = np.zeros(3)

    def show(self, name: str) -> None:
        """Draw the trace of a body, in place of others."""
        self.name, self._live = name, None
        running = panels_of(self.studio).mode == RUN
        if name:
            self._point = point_of(self.studio.stages[0].scene, name)
        for k, stage in enumerate(self.studio.stages):
            track = self.studio.tracks[k]
            if not name or (running and k == 0) or track is None:
                self._draw(k, np.zeros((0, 3)))
                continue
            at = stage.scene.index(name) if _has(stage.scene, name) else -1
            places = way(track.poses[:, at], point_of(stage.scene, name)) if at >= 0 else ()
            self._draw(k, np.asarray(places).reshape(-1, 3))
        self.refresh()

    def refresh(self) -> None:
        """Let the trace of a live run grow; go back to the recording's when that is played."""
        panels = panels_of(self.studio)
        live = panels.live
        if panels.mode != RUN or live is None:
            if self._live is not None:
                self.show(self.name)
            return
        now = (live.latest.tick, live.latest.epoch)
        if self.name and now != self._live:
            self._live = now
            self._draw(0, self._lived(live))

    def _lived(self, live: Live) -> Array:
        scene = live.scene
        _, rows = live.samples(LAST * live.plant.speed)
        names = [c.name for c in live.channels]
        q = rows[:, [names.index(n) for n in scene.poses.coordinates]]
        if len(q) < 2:
            return np.zeros((0, 3))
        q = q[spread(len(q), _LIVE_PIECES)]
        poses = upright(scene, live.poses(q).poses)[:, scene.index(self.name)]
        return way(poses, self._point)

    def _draw(self, k: int, places: Array) -> None:
        pieces = np.stack([places[:-1], places[1:]], axis=1).astype(np.float32)
        handle = self._drawn.get(k)
        if not len(pieces):
            if handle is not None:
                self._drawn.pop(k).remove()
        elif handle is not None:
            handle.points = pieces
        else:
            self._drawn[k] = self.studio.server.scene.add_line_segments(
                f"{self.studio.stages[k].root}/trace",
                pieces,
                colors=_COLORS[min(k, 1)],
                thickness=2.5,
                thickness_units="screen",
            )


def _has(scene: Scene, name: str) -> bool:
    return any(node.name == name for node in scene.nodes)
