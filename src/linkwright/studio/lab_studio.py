"""The studio of a laboratory: the robot, what is wanted as a ghost, blobs, what tasks draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.lab.drawing import (
    DrawnArrow,
    DrawnLine,
    DrawnSphere,
    DrawnText,
    DrawnThing,
    picture,
)
from linkwright.scene.scene import scene_of
from linkwright.studio.lab_link import LabLink
from linkwright.studio.link import LinkedModel, open_link_studio

if TYPE_CHECKING:
    from linkwright.lab.console.consoles import Consoles
    from linkwright.studio.server import Studio

Array = NDArray[np.float64]
_BLOB = 0.025  # m, radius


def open_lab_studio(
    consoles: Consoles, *, host: str = "127.0.0.1", port: int = 0, allowed: Sequence[str] = ()
) -> Studio:
    """Return the studio of a laboratory, already serving; the laboratory outlives it."""
    link, lab = LabLink(consoles), consoles.lab

    def models() -> list[LinkedModel]:
        names, scene = lab.config.names, scene_of(lab.robot)
        units = [lab.config.units[name][0] for name in names]
        places = {link.name: lambda: np.asarray(lab.state.q)}
        places["desired"] = lambda: np.asarray(lab.desired.q)
        return [LinkedModel(name, names, units, q, scene) for name, q in places.items()]

    again = f"linkwright lab open {link.name} --studio"
    return open_link_studio(link, models, again, host=host, port=port, allowed=allowed)


class LabShow:
    """Draws what is in a laboratory beside the robot: blobs, and what its task draws."""

    def __init__(self, studio: Studio, link: LabLink) -> None:
        self._studio, self._link, self._tick = studio, link, -1
        self._drawn: dict[str, tuple[DrawnThing, Any]] = {}
        self.mistake = ""
        """What went wrong in the drawing of a task, until it draws again."""
        for thing in link.lab.config.objects:
            _draw_object(studio.server.scene, thing)

    def show(self) -> None:
        """Draw what has changed; a mistake of the task is reported, and costs the robot nothing."""
        lab = self._link.lab
        tick = lab.tick
        if tick == self._tick:
            return
        self._tick = tick
        drawn = picture(lab)
        self.mistake = drawn.mistake
        things = {f"/task/{k}": thing for k, thing in enumerate(drawn.things)}
        for name, blob in lab.blobs.items():
            if blob.status:
                x, y, z = (float(v) for v in blob.x)
                things[f"/blobs/{name}"] = DrawnSphere((x, y, z), _BLOB, (0.9, 0.3, 0.1))
        for name in [n for n in self._drawn if n not in things]:
            self._drawn.pop(name)[1].remove()
        for name, thing in things.items():
            before = self._drawn.get(name)
            if before is not None and before[0] == thing:
                continue
            if (
                before is not None
                and isinstance(thing, DrawnSphere)
                and isinstance(before[0], DrawnSphere)
                and (before[0].radius, before[0].color) == (thing.radius, thing.color)
            ):
                before[1].position = thing.center
                self._drawn[name] = (thing, before[1])
                continue
            if before is not None:
                before[1].remove()
            self._drawn[name] = (thing, _draw(self._studio.server.scene, name, thing))


def _draw(api: Any, name: str, thing: DrawnThing) -> Any:
    """Draw a thing, and return what removes it."""
    match thing:
        case DrawnSphere(center, radius, color):
            return api.add_icosphere(name, radius=radius, color=_bytes(color), position=center)
        case DrawnLine(points, width, color):
            rows = np.array(points)
            segments = np.stack([rows[:-1], rows[1:]], axis=1)
            return api.add_line_segments(
                name, segments, colors=_bytes(color), line_width=max(1.0, 1000 * width)
            )
        case DrawnArrow(start, vector, width, color):
            ends = np.array([start, np.add(start, vector)])[None]
            return api.add_line_segments(
                name, ends, colors=_bytes(color), line_width=max(2.0, 1000 * width)
            )
        case DrawnText(at, text, _):
            return api.add_label(name, text, position=at)


def _draw_object(api: Any, thing: Any) -> None:
    """Draw an object that may be touched."""
    name, color = f"/objects/{thing.name}", _bytes(thing.color)
    if thing.kind == "sphere":
        api.add_icosphere(
            name, radius=0.5, color=color, position=thing.position, scale=tuple(thing.scale)
        )
        return
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_euler("XYZ", thing.rotation).as_quat()
    api.add_box(
        name,
        dimensions=tuple(thing.scale),
        color=color,
        opacity=0.5,
        position=thing.position,
        wxyz=(w, x, y, z),
    )


def _bytes(color: Sequence[float]) -> tuple[int, int, int]:
    r, g, b = (round(255 * min(1.0, max(0.0, float(x)))) for x in color)
    return r, g, b
