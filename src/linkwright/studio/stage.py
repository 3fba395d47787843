"""A scene on a Viser server: its nodes, and what is laid over them.

Each node is a frame of Viser's with its triangles below it. A new moment moves the frames in one
atomic group; what has not moved is not sent. Viser keeps only the latest pose of each frame for a
client that is slow, so nothing here ever waits for a browser.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.studio.page import upright
from linkwright.studio.poses import Where
from linkwright.studio.scene import Scene
from linkwright.studio.solids import colour

Array = NDArray[np.float64]
_TRIANGLES = 120_000
_STILL = 1e-6  # of the scene's size: less is no movement
_GHOST = colour("#6b8299")


@dataclass(eq=False)
class Stage:
    """A scene as it stands on a server.

    Args:
        server: a `viser.ViserServer`.
        scene: what is shown.
        root: the name of its top node on the server.
        ghost: drawn pale, beside another.
    """

    server: Any
    scene: Scene
    root: str = "/scene"
    ghost: bool = False
    handles: list[Any] = field(default_factory=list)
    meshes: list[tuple[int, Any]] = field(default_factory=list)
    shift: Array = field(default_factory=lambda: np.zeros(3))
    _shown: Array | None = None
    _now: Array | None = None

    def __post_init__(self) -> None:
        api = self.server.scene
        self.top = api.add_frame(self.root, show_axes=False)
        self.size = extent(self.scene)
        most = _TRIANGLES // 4 if self.ghost else _TRIANGLES
        surfaces = self.scene.surfaces_within(most)
        for k, (node, parts) in enumerate(zip(self.scene.nodes, surfaces, strict=True)):
            name = f"{self.root}/{k} {_plain(node.name)}"
            self.handles.append(
                api.add_frame(
                    name,
                    show_axes=False,
                    axes_length=0.12 * self.size,
                    axes_radius=0.004 * self.size,
                )
            )
            if self.ghost and not node.moves:
                continue
            for j, s in enumerate(parts):
                r, g, b, opacity = _GHOST if self.ghost else (s.colour or (0.8, 0.8, 0.8, 1.0))
                opacity = 0.35 if self.ghost else opacity
                mesh = api.add_mesh_simple(
                    f"{name}/{j}",
                    s.points.astype(np.float32),
                    s.faces.astype(np.uint32),
                    color=(round(255 * r), round(255 * g), round(255 * b)),
                    opacity=None if opacity >= 0.99 else opacity,
                    side="double" if opacity < 0.99 else "front",
                    cast_shadow=not self.ghost,
                )
                self.meshes.append((k, mesh))
        self.centre = api.add_icosphere(
            f"{self.root}/mass centre",
            radius=0.022 * self.size,
            color=(242, 184, 51),
            visible=False,
        )

    def show(self, where: Where) -> None:
        """Move the nodes to where they are at one time.

        Args:
            where: in the world's axes.
        """
        self.show_upright(
            upright(self.scene, where.poses[None])[0], where.centre @ self.scene.upright.T
        )

    def show_upright(self, poses: Array, centre: Array) -> None:
        """Move the nodes to poses in the picture's axes.

        Args:
            poses: nodes x 7.
            centre: mass centre.
        """
        now = np.asarray(poses, float)
        before, self._now = self._shown, now
        with self.server.atomic():
            for k, handle in enumerate(self.handles):
                if before is None or np.abs(now[k, :3] - before[k, :3]).max() > _STILL * self.size:
                    handle.position = now[k, :3]
                if before is None or np.abs(now[k, 3:] - before[k, 3:]).max() > _STILL:
                    handle.wxyz = now[k, 3:]
            if self.centre.visible:
                self.centre.position = centre
        self._shown = now

    def place(self, shift: Array) -> None:
        """Put the whole scene elsewhere.

        Args:
            shift: from where it is by itself, m.
        """
        self.shift = np.asarray(shift, float)
        self.top.position = self.shift

    def position(self, node: int) -> Array:
        """Return where a node is now, on the server."""
        if self._now is None:
            return self.shift
        return np.asarray(self._now[node, :3] + self.shift)

    def set_frames(self, on: bool) -> None:
        """Show or hide the frames of the nodes that move."""
        for node, handle in zip(self.scene.nodes, self.handles, strict=True):
            handle.show_axes = on and node.moves

    def remove(self) -> None:
        """Take the scene from the server."""
        self.top.remove()


def _plain(name: str) -> str:
    return name.replace("/", " ")


def extent(scene: Scene) -> float:
    """Return the size of a scene at its start, m.

    Args:
        scene: any.
    """
    where = scene.poses(scene.poses.start).poses
    points = []
    for pose, parts in zip(where, scene.surfaces, strict=True):
        for s in parts:
            reach = np.abs(s.points).max()
            points += [pose[:3] - reach, pose[:3] + reach]
    if not points:
        return 1.0
    return float(np.linalg.norm(np.ptp(np.array(points), axis=0))) / 2 or 1.0
