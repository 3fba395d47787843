"""The studio of a cell that runs: its arms side by side, moving with its states."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.models import MODELS
from linkwright.recording import Channel, Recording
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import scene_of
from linkwright.scene.viewpoint import ground_and_view
from linkwright.server.client import RemoteCell
from linkwright.server.face import ArmFace
from linkwright.studio.cell_link import CellLink
from linkwright.system import system_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio
    from linkwright.studio.viser_scene import Stage

Array = NDArray[np.float64]
_APART = 0.1  # of their widths, between two arms


def is_cell(name: str) -> bool:
    """Return whether a name stands for a cell on the network: an address, or one that runs here.

    >>> is_cell("tls/10.0.0.5:7447"), is_cell("pendulum")
    (True, False)
    """
    if name.startswith(("tcp/", "tls/")):
        return True
    if Path(name).exists() or "." in name or "/" in name or name.partition(":")[0] in MODELS:
        return False
    from linkwright.server.registry import running_cells

    return name in running_cells()


def open_cell_studio(
    cell: RemoteCell,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allowed: Sequence[str] = (),
) -> Studio:
    """Return the studio of a cell, already serving; the connection is closed with it."""
    from linkwright.studio.server import Studio

    link = CellLink(cell)
    try:
        motions = [arm_motion(link, face) for face in cell.arms.values()]
        made = Studio(motions, host, port, allowed, link=link)
    except BaseException:
        link.close()
        raise
    made.again = shlex.join(["linkwright", "studio", cell.name])
    return made


def arm_motion(link: CellLink, face: ArmFace) -> SceneMotion:
    """Return an arm where it stands now; without a scene where its model is not at hand."""
    here = link.cell.endpoint.loopback
    q = link.coordinates(face.name)
    channels = [Channel(n, u) for n, u in zip(face.joints, face.units, strict=True)]
    recording = Recording([0.0], channels, q[None])
    if not (face.model.partition(":")[0] in MODELS or (here and Path(face.model).is_file())):
        return SceneMotion(face.name, recording, notes=(f"no model of {face.name} is here",))
    try:
        scene = scene_of(system_of(face.model).mechanism, values=face.values)
        order = [face.joints.index(name) for name in scene.poses.coordinates]
    except (Error, ValueError) as error:
        return SceneMotion(face.name, recording, notes=(f"{face.name} is not drawn: {error}",))
    return SceneMotion(face.name, recording, scene, q[order][None])


def arrange(
    stages: Sequence[Stage], motions: Sequence[SceneMotion]
) -> tuple[float, dict[str, Any]]:
    """Put arms side by side on one ground; return its height and where to look from."""
    seen = [
        ground_and_view(motion, stage.scene) for stage, motion in zip(stages, motions, strict=True)
    ]
    floors = [floor or 0.0 for floor, _ in seen]
    view, at = dict(seen[0][1]), 0.0
    lows, highs = [], []
    for k, (stage, floor) in enumerate(zip(stages, floors, strict=True)):
        low, high = stage.box()
        wide = float(max(stage.size, high[0] - low[0]))
        if k:
            at += (0.5 + _APART) * wide
            stage.place(np.array([at, 0.0, floors[0] - floor]))
        at += (0.5 + _APART) * wide
        low, high = stage.box()
        lows.append(low)
        highs.append(high)
    if len(stages) > 1:
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        size = 0.5 * float(np.linalg.norm(high - low))
        view["distance"] = float(view["distance"]) * size / float(view["radius"])
        view["center"], view["radius"] = ((low + high) / 2).tolist(), size
    return floors[0], view


class CellShow:
    """Draws the arms of a cell where its newest state has them."""

    def __init__(self, studio: Studio, link: CellLink) -> None:
        self._link, self._tick = link, -1
        drawn = [motion for motion in studio.motions if motion.scene is not None]
        self._arms = [
            (motion.name, stage, self._order(motion))
            for motion, stage in zip(drawn, studio.stages, strict=True)
        ]

    def _order(self, motion: SceneMotion) -> list[int]:
        assert motion.scene is not None
        joints = self._link.cell.arms[motion.name].joints
        return [joints.index(name) for name in motion.scene.poses.coordinates]

    def show(self) -> None:
        """Move what has moved."""
        tick = self._link.cell.frame.tick
        if tick != self._tick:
            self._tick = tick
            for name, stage, order in self._arms:
                stage.show(stage.scene.poses(self._link.coordinates(name)[order]))
