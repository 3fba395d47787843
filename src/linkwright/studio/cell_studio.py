"""The studio of a cell that runs: its arms side by side, moving with its states."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.models import MODELS
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import scene_of
from linkwright.scene.viewpoint import ground_and_view
from linkwright.server.client import RemoteCell
from linkwright.server.face import ArmFace
from linkwright.studio.cell_link import CellLink
from linkwright.studio.link import LinkedModel, open_link_studio
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
    link, again = CellLink(cell), shlex.join(["linkwright", "studio", cell.name])

    def models() -> list[LinkedModel]:
        return [arm_model(link, face) for face in cell.arms.values()]

    return open_link_studio(link, models, again, host=host, port=port, allowed=allowed)


def arm_model(link: CellLink, face: ArmFace) -> LinkedModel:
    """Return what is drawn of an arm; without a scene where its model is not at hand."""
    here = link.cell.endpoint.loopback
    place = partial(link.coordinates, face.name)
    scene, note = None, f"no model of {face.name} is here"
    if face.model.partition(":")[0] in MODELS or (here and Path(face.model).is_file()):
        try:
            scene = scene_of(system_of(face.model).mechanism, values=face.values)
        except (Error, ValueError) as error:
            note = f"{face.name} is not drawn: {error}"
        else:
            strange = [n for n in scene.poses.coordinates if n not in face.joints]
            if strange:
                scene, note = None, f"{face.name} is not drawn: it has no {', '.join(strange)}"
    return LinkedModel(face.name, face.joints, face.units, place, scene, note)


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
