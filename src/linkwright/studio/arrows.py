"""Arrows of forces and points of contact on a Viser server.

All arrows are one thing on the server, and so are all points: a frame costs at most three messages,
whatever their number, one more for joint reactions, and none where nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
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
_NONE = np.zeros((0, 3))


@dataclass(eq=False)
class _Drawn:
    """Points of one kind on the server: sent where their number or their places have changed."""

    add: Callable[[NDArray[np.float32]], Any]  # puts them there
    place: str  # where the handle has them
    handle: Any = None
    points: Array = field(default_factory=lambda: _NONE)

    def draw(self, points: Array, least: float) -> None:
        """Draw them where they have moved by more than the least, m; none are hidden."""
        if len(points) and (self.handle is None or len(points) != len(self.points)):
            self.handle, self.points = self.add(points.astype(np.float32)), points
        elif len(points) and np.abs(points - self.points).max() > least:
            setattr(self.handle, self.place, points.astype(np.float32))
            self.points = points
        if self.handle is not None and self.handle.visible != bool(len(points)):
            self.handle.visible = bool(len(points))


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
    _peaks: list[float] = field(default_factory=list, repr=False)
    _last: tuple[Arrows, ForceFrames] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._applied = _Drawn(partial(self._add_arrows, "forces", FORCE), "vertices")
        self._reactions = _Drawn(partial(self._add_arrows, "reactions", REACTION), "vertices")
        self._contacts = _Drawn(self._add_contacts, "points")

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
        ways = self.scale.lengths(shown.forces)
        some = np.linalg.norm(ways, axis=1) > 0
        self.count = int(some.sum())
        starts, cut = starts_of(shown.points, ways, shown.ending, self.radius, self.floor)
        touching = arrows.contact & shown.touching & self.contacts
        least = _STILL * self.radius
        with self.server.atomic():
            for on, own in ((self._applied, ~arrows.reaction), (self._reactions, arrows.reaction)):
                drawn = points_of(starts[own], ways[own], self.radius, cut[own])
                on.draw(drawn if self.forces and some[own].any() else _NONE, least)
            self._contacts.draw(shown.points[touching], least)

    def again(self) -> None:
        """Draw the same forces, as a user wants them now."""
        if self._last is not None:
            self.show(self._last, self.reference)

    def clear(self) -> None:
        """Show nothing."""
        self._last = None
        self.count = 0
        for drawn in (self._applied, self._reactions, self._contacts):
            drawn.draw(_NONE, 0.0)

    def _add_arrows(
        self, name: str, color: tuple[int, int, int], points: NDArray[np.float32]
    ) -> Any:
        return self.server.scene.add_mesh_simple(
            f"{self.root}/{name}",
            points,
            faces_of(len(points) // CORNERS),
            color=color,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )

    def _add_contacts(self, points: NDArray[np.float32]) -> Any:
        return self.server.scene.add_point_cloud(
            f"{self.root}/contacts",
            points,
            TOUCHING,
            point_size=0.016 * self.radius,
            point_shape="circle",
            precision="float32",
        )
