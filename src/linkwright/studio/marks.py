"""Arrows of forces and points of contact on a Viser server.

All arrows are one thing on the server, and so are all points: a frame costs at most three messages,
whatever their number, and none where nothing has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.studio.forces import Arrows, Scale, Shown, adapted, reference_of, scale_of

Array: TypeAlias = NDArray[np.float64]
FORCE, TOUCHING = (205, 24, 8), (255, 166, 0)
"""Colors: of arrows, and of points that touch."""

_SOON, _LATER = 5, 120  # frames after which the lengths of arrows are looked at again
_STILL = 1e-4  # of the scene's radius: less is no change


@dataclass(eq=False)
class Marks:
    """Arrows and points over a scene.

    Args:
        server: a `viser.ViserServer`.
        root: name of the scene on the server.
        radius: of the scene, m.
        forces: whether arrows are shown.
        contacts: whether points are shown.
        factor: makes arrows longer.
    """

    server: Any
    root: str
    radius: float
    forces: bool = True
    contacts: bool = True
    factor: float = 1.0
    reference: float = 0.0
    count: int = 0
    _arrows: Any = None
    _points: Any = None
    _drawn: Array = field(default_factory=lambda: np.zeros((0, 2, 3)), repr=False)
    _dots: Array = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    _peaks: list[float] = field(default_factory=list, repr=False)
    _last: tuple[Arrows, Shown] | None = field(default=None, repr=False)

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
        return self.scale.legend(self.radius, self._last[0].units)

    def show(self, arrows: Arrows, shown: Shown, reference: float | None = None) -> None:
        """Draw the forces of one time.

        Args:
            arrows: what they are.
            shown: where and how large.
            reference: the force whose arrow has the usual length, N; by default the weight, or
                what forces have been of late.
        """
        if self._last is None or self._last[0] is not arrows:
            self._peaks = []
            self.reference = reference_of(arrows)
        self._last = (arrows, shown)
        if reference is not None:
            self.reference = reference
        else:
            self._peaks.append(float(np.linalg.norm(shown.forces, axis=1).max(initial=0.0)))
            if len(self._peaks) in (_SOON, _LATER):
                self.reference = adapted(self.reference, self._peaks)
                self._peaks = self._peaks[: 0 if len(self._peaks) == _LATER else None]
        with self.server.atomic():
            self._show_arrows(shown)
            self._show_points(arrows, shown)

    def again(self) -> None:
        """Draw the same forces, as a user wants them now."""
        if self._last is not None:
            arrows, shown = self._last
            self.show(arrows, shown, self.reference)

    def clear(self) -> None:
        """Show nothing."""
        self._last = None
        self.count = 0
        for handle in (self._arrows, self._points):
            if handle is not None and handle.visible:
                handle.visible = False

    def _show_arrows(self, shown: Shown) -> None:
        ways = self.scale.lengths(shown.forces)
        some = np.linalg.norm(ways, axis=1) > 0
        self.count = int(some.sum())
        if not self.forces or not some.any():
            if self._arrows is not None and self._arrows.visible:
                self._arrows.visible = False
            return
        points = shown.points[some]
        drawn = np.stack([points, points + ways[some]], axis=1)
        if self._arrows is None:
            size = self.radius
            self._arrows = self.server.scene.add_arrows(
                f"{self.root}/forces",
                drawn.astype(np.float32),
                FORCE,
                shaft_radius=0.009 * size,
                head_radius=0.023 * size,
                head_length=0.06 * size,
            )
        elif _changed(drawn, self._drawn, _STILL * self.radius):
            self._arrows.points = drawn.astype(np.float32)
        else:
            drawn = self._drawn
        self._drawn = drawn
        if not self._arrows.visible:
            self._arrows.visible = True

    def _show_points(self, arrows: Arrows, shown: Shown) -> None:
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
