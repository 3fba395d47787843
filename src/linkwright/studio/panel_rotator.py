"""Rotator: a mount that programs for satellites drive, its path in the sky, and a hand on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.mechanism.model_like import mechanism_of
from linkwright.mounts.aiming import Aiming
from linkwright.mounts.pointing import direction
from linkwright.mounts.rotator import Rotator
from linkwright.scene.scene import scene_of
from linkwright.studio.link import LinkedModel, open_link_studio
from linkwright.studio.rotator_link import RotatorLink
from linkwright.studio.state import guarded, panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

Array = NDArray[np.float64]
_SKY = 1.2  # radius of the sky, in sizes of the scene
_TRAIL = 600  # points of the path that are kept
_APART = 0.003  # rad between two of them
_LINE, _PATH, _BEAM = (150, 162, 176), (232, 113, 10), (47, 102, 144)


def open_rotator_studio(
    rotator: Rotator,
    mount: str,
    aim: Aiming,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allowed: Sequence[str] = (),
) -> Studio:
    """Return the studio of a rotator, already serving; the rotator outlives it."""
    link = RotatorLink(rotator, aim)

    def models() -> list[LinkedModel]:
        scene, names = scene_of(mechanism_of(mount)), aim.names
        units = [scene.robot.mechanism.units.get(name, "1") for name in names]
        return [LinkedModel(link.name, names, units, link.coordinates, scene)]

    again = f"linkwright mount rotator {mount} --studio"
    return open_link_studio(link, models, again, host=host, port=port, allowed=allowed)


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab of a rotator."""
    link = studio.link
    assert isinstance(link, RotatorLink)
    panels, gui, rotator = panels_of(studio), studio.server.gui, link.rotator
    azimuth, elevation = map(math.degrees, rotator.position())
    limits = rotator.limits
    with tabs.add_tab(name):
        told = gui.add_markdown("")
        to_azimuth = gui.add_number(
            "Azimuth [°]",
            round(azimuth, 1),
            min=math.degrees(limits.min_az),
            max=math.degrees(limits.max_az),
            step=0.1,
        )
        to_elevation = gui.add_number(
            "Elevation [°]",
            round(elevation, 1),
            min=math.degrees(limits.min_el),
            max=math.degrees(limits.max_el),
            step=0.1,
        )
        buttons = gui.add_button_group("Mount", ("Go", "Stop", "Park"))

    def press() -> None:
        if buttons.value == "Go":
            rotator.go(math.radians(to_azimuth.value), math.radians(to_elevation.value))
        elif buttons.value == "Stop":
            rotator.stop()
        else:
            rotator.park()

    buttons.on_click(guarded(panels, press))
    panels.every(0.0, RotatorShow(studio, link).show)

    def say() -> None:
        az, el = map(math.degrees, rotator.position())
        moving = "Moving" if rotator.flags() else "Standing"
        counted = rotator.counters
        told.content = (
            f"**{moving}** at azimuth {az:.1f}°, elevation {el:.1f}°. "
            f"{counted.total} ticks, {counted.missed} missed."
        )

    panels.every(0.2, say)


class RotatorShow:
    """Draws the beam of a mount, and its path in the sky."""

    def __init__(self, studio: Studio, link: RotatorLink) -> None:
        self._studio, self._link = studio, link
        self._at = np.full(3, np.nan)
        self._path: list[Array] = []
        self._radius = _SKY * studio.size
        self._beam: Any = None
        self._trail: Any = None
        _draw_sky(studio, self._radius)

    def show(self) -> None:
        """Move what has moved."""
        d = np.array(self._link.rotator.looks_along())
        if np.array_equal(d, self._at):
            return
        self._at = d
        api = self._studio.server.scene
        center = np.asarray(self._studio.center, float)
        ends = np.array([[center, center + self._radius * d]], np.float32)
        if self._beam is None:
            self._beam = api.add_line_segments(
                "/beam", ends, _BEAM, thickness=2.0, thickness_units="screen"
            )
        self._beam.points = ends
        if self._path and float(np.linalg.norm(d - self._path[-1])) < _APART:
            return
        self._path = [*self._path[-_TRAIL:], d]
        if len(self._path) > 1:
            rows = center + self._radius * np.array(self._path)
            segments = np.stack([rows[:-1], rows[1:]], axis=1).astype(np.float32)
            if self._trail is not None:
                self._trail.remove()
            self._trail = api.add_line_segments(
                "/path", segments, _PATH, thickness=3.0, thickness_units="screen"
            )


def _draw_sky(studio: Studio, radius: float) -> None:
    """Draw the horizon, circles of elevation, quarters of the compass, and their letters."""
    api, center = studio.server.scene, np.asarray(studio.center, float)
    around, up = np.linspace(0, 360, 73), np.linspace(0, 90, 19)
    curves = [np.array([direction(a, el) for a in around]) for el in (0.0, 30.0, 60.0)]
    curves += [np.array([direction(az, e) for e in up]) for az in (0.0, 90.0, 180.0, 270.0)]
    rows = [center + radius * curve for curve in curves]
    segments = np.concatenate([np.stack([r[:-1], r[1:]], axis=1) for r in rows])
    api.add_line_segments(
        "/sky lines", segments.astype(np.float32), _LINE, thickness=1.0, thickness_units="screen"
    )
    for az, letter in ((0.0, "N"), (90.0, "E"), (180.0, "S"), (270.0, "W")):
        at = center + 1.04 * radius * np.asarray(direction(az, 0.0))
        api.add_label(f"/sky {letter}", letter, position=tuple(at))
