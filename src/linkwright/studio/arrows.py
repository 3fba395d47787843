"""Arrows of forces and points of contact on a Viser server.

All arrows are one thing on the server, and so are all points: a frame costs at most three messages,
whatever their number, one more for joint reactions, and none where nothing has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.scene.arrow_shapes import CORNERS, faces_of, points_of, starts_of
from linkwright.scene.forces import Arrows, ForceFrames, Scale, adapted, reference_of, scale_of

Array: TypeAlias = NDArray[np.float64]
FORCE, REACTION, TOUCHING = (205, 24, 8), (107, 51, 184), (255, 166, 0)
"""Colors: of arrows of applied forces and of joint reactions, and of points that touch."""

_SOON, _LATER = 5, 120  # frames after which the lengths of arrows are looked at again
_STILL = 1e-4  # of the scene's radius: less is no change


@dataclass(eq=False)
class _Drawn:
    """Arrows of one color on the server."""

    name: str
    color: tuple[int, int, int]
    handle: Any = None
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def hide(self) -> None:
        if self.handle is not None and self.handle.visible:
            self.handle.visible = False


@dataclass(eq=False)
class Marks:
    """Arrows and points over a scene."""

    server: Any  # a `viser.ViserServer`
    root: str  # name of the scene on the server
    radius: float  # of the scene, m
    forces: bool = True  # whether arrows are shown
    contacts: bool = True  # whether points are shown
    factor: float = 1.0  # makes arrows longer
    floor: float | None = None  # height of the ground, m; None where there is none
    reference: float = 0.0
    count: int = 0
    _applied: _Drawn = field(default_factory=lambda: _Drawn("forces", FORCE), repr=False)
    _reactions: _Drawn = field(default_factory=lambda: _Drawn("reactions", REACTION), repr=False)
    _points: Any = None
    _dots: Array = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    _peaks: list[float] = field(default_factory=list, repr=False)
    _last: tuple[Arrows, ForceFrames] | None = field(default=None, repr=False)

    @property
    def scale(self) -> Scale:
        """How forces become lengths now."""
        return scale_of(self.reference or 1.0, self.radius, self.factor)

    @property
    def acts(self) -> bool:
        """Whether there are forces, or could be some, in what is shown."""
        return self._last is not None and bool(self.count or self.touches)

    @property
    def touches(self) -> bool:
        """Whether there are points that can touch in what is shown."""
        return self._last is not None and bool(self._last[0].contact.any())

    @property
    def legend(self) -> str:
        """How long an arrow is, in words; empty where none is shown."""
        if not self.reference or not self.forces or self._last is None:
            return ""
        if not self.count and not self._last[0].contact.any():
            return ""
        joints = "; violet: joint reactions" if self._last[0].reaction.any() else ""
        return self.scale.legend(self.radius, self._last[0].units) + joints

    def show(
        self, found: tuple[Arrows, ForceFrames] | None, reference: float | None = None
    ) -> None:
        """Draw the forces of one time, or none."""
        if found is None:
            self.clear()
            return
        arrows, shown = found
        if self._last is None or self._last[0] is not arrows:
            self._peaks = []
            self.reference = reference_of(arrows)
        self._last = found
        if reference is not None:
            self.reference = reference
        else:
            self._peaks.append(float(np.linalg.norm(shown.forces, axis=1).max(initial=0.0)))
            if len(self._peaks) in (_SOON, _LATER):
                self.reference = adapted(self.reference, self._peaks)
                self._peaks = self._peaks[: 0 if len(self._peaks) == _LATER else None]
        with self.server.atomic():
            self._show_arrows(arrows, shown)
            self._show_points(arrows, shown)

    def again(self) -> None:
        """Draw the same forces, as a user wants them now."""
        if self._last is not None:
            self.show(self._last, self.reference)

    def clear(self) -> None:
        """Show nothing."""
        self._last = None
        self.count = 0
        self._applied.hide()
        self._reactions.hide()
        if self._points is not None and self._points.visible:
            self._points.visible = False

    def _show_arrows(self, arrows: Arrows, shown: ForceFrames) -> None:
        ways = self.scale.lengths(shown.forces)
        some = np.linalg.norm(ways, axis=1) > 0
        self.count = int(some.sum())
        starts, cut = starts_of(shown.points, ways, shown.ending, self.radius, self.floor)
        for on, which in ((self._applied, ~arrows.reaction), (self._reactions, arrows.reaction)):
            if self.forces and some[which].any():
                self._draw(on, points_of(starts[which], ways[which], self.radius, cut[which]))
            else:
                on.hide()

    def _draw(self, on: _Drawn, drawn: Array) -> None:
        if on.handle is None or len(drawn) != len(on.points):
            on.handle = self.server.scene.add_mesh_simple(
                f"{self.root}/{on.name}",
                drawn.astype(np.float32),
                faces_of(len(drawn) // CORNERS),
                color=on.color,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
        elif _changed(drawn, on.points, _STILL * self.radius):
            on.handle.vertices = drawn.astype(np.float32)
        else:
            drawn = on.points
        on.points = drawn
        if not on.handle.visible:
            on.handle.visible = True

    def _show_points(self, arrows: Arrows, shown: ForceFrames) -> None:
        touching = arrows.contact & shown.touching
        if not self.contacts or not touching.any():
            if self._points is not None and self._points.visible:
                self._points.visible = False
            return
        dots = shown.points[touching]
        if self._points is None or len(dots) != len(self._dots):
            self._points = self.server.scene.add_point_cloud(
                f"{self.root}/contacts",
                dots.astype(np.float32),
                TOUCHING,
                point_size=0.016 * self.radius,
                point_shape="circle",
                precision="float32",
            )
        elif _changed(dots, self._dots, _STILL * self.radius):
            self._points.points = dots.astype(np.float32)
        else:
            dots = self._dots
        self._dots = dots
        if not self._points.visible:
            self._points.visible = True


def _changed(now: Array, before: Array, least: float) -> bool:
    return now.shape != before.shape or bool(np.abs(now - before).max() > least)
