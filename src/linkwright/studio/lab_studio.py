"""The studio of a laboratory: the robot, what it is to do as a ghost, blobs, what tasks draw."""

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
from linkwright.recording import Channel, Recording
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import scene_of
from linkwright.studio.lab_link import LabLink

if TYPE_CHECKING:
    from linkwright.lab.console.consoles import Consoles
    from linkwright.lab.lab import Lab
    from linkwright.studio.server import Studio

Array = NDArray[np.float64]
_BLOB = 0.025  # m, radius


def open_lab_studio(
    consoles: Consoles, *, host: str = "127.0.0.1", port: int = 0, allowed: Sequence[str] = ()
) -> Studio:
    """Return the studio of a laboratory, already serving; the laboratory outlives it."""
    from linkwright.studio.server import Studio

    link = LabLink(consoles)
    try:
        scene = scene_of(link.lab.robot)
        places = [link.lab.config.names.index(name) for name in scene.poses.coordinates]
        channels = [
            Channel(name, link.lab.config.units[name][0]) for name in scene.poses.coordinates
        ]
        motions = []
        for name, q in ((link.name, link.lab.state.q), ("desired", link.lab.desired.q)):
            rows = np.asarray(q)[places][None]
            motions.append(SceneMotion(name, Recording([0.0], channels, rows), scene, rows))
        made = Studio(motions, host, port, allowed, link=link)
    except BaseException:
        link.close()
        raise
    made.again = f"linkwright lab {link.name} --studio"
    return made


class LabShow:
    """Draws a laboratory as it stands."""

    def __init__(self, studio: Studio, link: LabLink) -> None:
        self._studio, self._link, self._tick = studio, link, -1
        names = studio.stages[0].scene.poses.coordinates
        self._places = [link.lab.config.names.index(name) for name in names]
        self._drawn: dict[str, tuple[DrawnThing, Any]] = {}
        self.mistake = ""
        """What went wrong in the drawing of a task, until it draws again."""
        for thing in link.lab.config.objects:
            _draw_object(studio.server.scene, thing)

    def show(self) -> None:
        """Move what has moved."""
        lab = self._link.lab
        tick = lab.tick
        if tick == self._tick:
            return
        self._tick = tick
        robot, ghost = self._studio.stages[:2]
        robot.show(robot.scene.poses(np.asarray(lab.state.q)[self._places]))
        ghost.show(ghost.scene.poses(np.asarray(lab.desired.q)[self._places]))
        self._show_things(self._blobs(lab) | self._task(lab))

    def _blobs(self, lab: Lab) -> dict[str, DrawnThing]:
        found: dict[str, DrawnThing] = {}
        for name, blob in lab.blobs.items():
            if blob.status:
                x, y, z = (float(v) for v in blob.x)
                found[f"/blobs/{name}"] = DrawnSphere((x, y, z), _BLOB, (0.9, 0.3, 0.1))
        return found

    def _task(self, lab: Lab) -> dict[str, DrawnThing]:
        """Return what the task draws; its mistakes are told, and cost the robot nothing."""
        found = picture(lab)
        self.mistake = found.mistake
        return {f"/task/{k}": thing for k, thing in enumerate(found.things)}

    def _show_things(self, things: dict[str, DrawnThing]) -> None:
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
