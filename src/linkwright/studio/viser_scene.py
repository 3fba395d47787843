"""A scene on a Viser server: its nodes, and what is laid over them.

Each node is a frame of Viser's with its triangles below it, and hangs on the frame of the node that
carries it: a joint that turns sends how it is turned, and nothing else. A new moment moves the
frames in one atomic group; what has not moved against its carrier is not sent. Viser keeps only the
latest pose of each frame for a client that is slow, so nothing here ever waits for a browser.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.rotations import turned
from linkwright.formats.meshes.triangle_mesh import TriangleMesh
from linkwright.formats.robot.description import Place
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.scene.poses import Where
from linkwright.scene.relative_poses import against, carriers
from linkwright.scene.scene import Marked, Scene
from linkwright.scene.solids import color
from linkwright.scene.viewpoint import extent, upright

Array = NDArray[np.float64]
_TRIANGLES = 120_000
_STILL = 1e-5  # of the scene's size, and of a quaternion: less is no movement
_CLEAR = 0.4
_GHOST = color("#6b8299")


@dataclass(eq=False)
class Stage:
    """A scene as it stands on a server."""

    server: Any
    scene: Scene
    root: str = "/scene"
    ghost: bool = False
    handles: list[Any] = field(default_factory=list)
    triads: list[Any] = field(default_factory=list)
    meshes: list[tuple[int, Any]] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    things: list[Any] = field(default_factory=list)
    wire: bool = False
    around: bool = True
    worn: Scene | None = None
    shift: Array = field(default_factory=lambda: np.zeros(3))
    _opacities: dict[str, float | None] = field(default_factory=dict, repr=False)
    frames: bool = False
    clear: bool = False
    drawn: Scene = field(init=False, repr=False)
    lit: int | None = None
    _colors: dict[int, tuple[int, int, int]] = field(default_factory=dict, repr=False)
    _sent: Array | None = None
    _now: Array | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        api = self.server.scene
        self.top = api.add_frame(self.root, show_axes=False)
        self.drawn = self.scene
        self.size = extent(self.scene)
        self.most = _TRIANGLES // 4 if self.ghost else _TRIANGLES
        surfaces = self.scene.surfaces_within(self.most)
        self.carrier = carriers(self.scene)
        self.names = _names(self.root, self.carrier.tolist())
        for k, (node, parts) in enumerate(zip(self.scene.nodes, surfaces, strict=True)):
            self.handles.append(
                api.add_frame(
                    self.names[k],
                    show_axes=False,
                    axes_length=0.12 * self.size,
                    axes_radius=0.004 * self.size,
                )
            )
            place = self.scene.axes_of(k)
            self.triads.append(self.handles[-1])
            if place != Place():
                self.triads[-1] = api.add_frame(
                    f"{self.names[k]}/axes",
                    show_axes=False,
                    axes_length=0.12 * self.size,
                    axes_radius=0.004 * self.size,
                    position=place.position,
                    wxyz=rotation_quaternion(place.rotation),
                )
            if node.moves or not self.ghost:
                self.add_shapes(k, self.names[k], parts)
        for label in () if self.ghost else self.scene.labels:
            self.add_label(self.names[label.node], label)
        self.mass_center: Array = np.zeros(3)
        self.center = api.add_icosphere(
            f"{self.root}/mass center",
            radius=0.022 * self.size,
            color=(242, 184, 51),
            visible=False,
        )
        arms = 0.11 * self.size * np.eye(3, dtype=np.float32)
        api.add_line_segments(  # the center is inside bodies more often than not
            f"{self.root}/mass center/cross",
            np.stack([-arms, arms], axis=1),
            (242, 184, 51),
            thickness=2.0,
            thickness_units="screen",
        )

    def add_shapes(self, node: int, name: str, parts: Sequence[TriangleMesh]) -> None:
        """Draw surfaces below a node."""
        for j, s in enumerate(parts):
            r, g, b, opacity = _GHOST if self.ghost else (s.color or (0.8, 0.8, 0.8, 1.0))
            opacity = 0.35 if self.ghost else opacity
            mesh = self.server.scene.add_mesh_simple(
                f"{name}/shape {j}",
                s.points.astype(np.float32),
                s.faces.astype(np.uint32),
                color=(round(255 * r), round(255 * g), round(255 * b)),
                opacity=None if opacity >= 0.99 else opacity,
                side="double" if opacity < 0.99 else "front",
                cast_shadow=opacity > 0.6,
                receive_shadow=False,  # Viser's own bias leaves stripes on bodies of other sizes
                wireframe=self.wire,
            )
            self.meshes.append((node, mesh))
            self._opacities[mesh.name] = mesh.opacity

    def add_label(self, name: str, label: Marked) -> None:
        """Write the name of a point."""
        made = self.server.scene.add_label(
            f"{name}/label {len(self.labels)}",
            label.name,
            position=label.place.position,
            anchor="bottom-left",
        )
        self.labels.append(made)

    def strip(self) -> None:
        """Take away all shapes and labels; the nodes stay."""
        for _, mesh in self.meshes:
            mesh.remove()
        for handle in (*self.labels, *self.things):
            handle.remove()
        self.meshes.clear()
        self.labels.clear()
        self.things.clear()
        self._opacities.clear()
        self._colors.clear()
        self.lit = None

    def reshape(self, scene: Scene) -> list[int]:
        """Draw the shapes of nodes in a scene with other values; return which have changed."""
        pairs = zip(self.drawn.nodes, scene.nodes, strict=False)
        same = [a.name == b.name for a, b in pairs]
        if not all(same) or len(self.drawn.nodes) != len(scene.nodes):
            return []  # a strut has become a pin: nodes have no other place to hang in
        index = {node.name: k for k, node in enumerate(self.scene.nodes) if not node.environment}
        changed = [
            j
            for j, (old, new) in enumerate(zip(self.drawn.nodes, scene.nodes, strict=True))
            if old.solids != new.solids and not new.environment and new.name in index
        ]
        surfaces = scene.surfaces_within(self.most) if changed else []
        nodes = [index[scene.nodes[j].name] for j in changed]
        with self.server.atomic():
            for k, j in zip(nodes, changed, strict=True):
                for _, mesh in (pair for pair in self.meshes if pair[0] == k):
                    mesh.remove()
                self.meshes = [pair for pair in self.meshes if pair[0] != k]
                if scene.nodes[j].moves or not self.ghost:
                    self.add_shapes(k, self.names[k], surfaces[j])
            if self.clear:
                self.set_clear(True)
            if self.lit in nodes:
                self.light_up(self.lit)
        self.drawn = scene
        return nodes

    def show(self, where: Where) -> None:
        """Move the nodes to where they are at one time."""
        self.show_upright(
            upright(self.scene, where.poses[None])[0], where.center @ self.scene.upright.T
        )

    def show_upright(self, poses: Array, center: Array, hung: Array | None = None) -> None:
        """Move the nodes to poses in the picture's axes."""
        with self._turn:
            self._now = np.asarray(poses, float)
            self.mass_center = self.shift + center
            self._send(against(poses, self.carrier) if hung is None else hung, center)

    def _send(self, now: Array, center: Array) -> None:
        """Move the frames that have moved since they were moved last."""
        sent, first = self._sent, self._sent is None
        if sent is None:
            sent = self._sent = np.full_like(now, np.inf)
        else:
            sign = np.where((now[:, 3:] * sent[:, 3:]).sum(axis=1) < 0, -1.0, 1.0)
            now = np.concatenate([now[:, :3], now[:, 3:] * sign[:, None]], axis=1)
        gone = np.abs(now - sent)
        moved = np.flatnonzero(first | (gone[:, :3].max(axis=1) > _STILL * self.size))
        swung = np.flatnonzero(first | (gone[:, 3:].max(axis=1) > _STILL))
        with self.server.atomic():
            for k in moved.tolist():
                self.handles[k].position = now[k, :3]
            for k in swung.tolist():
                self.handles[k].wxyz = now[k, 3:]
            if self.center.visible:
                self.center.position = center
        sent[moved, :3] = now[moved, :3]
        sent[swung, 3:] = now[swung, 3:]

    def place(self, shift: Array) -> None:
        """Put the whole scene elsewhere."""
        self.shift = np.asarray(shift, float)
        self.top.position = self.shift

    @property
    def poses(self) -> Array | None:
        """Where the nodes are now, in the picture's axes; None before they were shown."""
        return self._now

    def position(self, node: int) -> Array:
        """Return where a node is now, on the server."""
        if self._now is None:
            return self.shift
        return np.asarray(self._now[node, :3] + self.shift)

    def box(self) -> tuple[Array, Array]:
        """Return the lowest and highest coordinates of all that is drawn of the model now, m."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        if self._now is not None:
            pairs = zip(self.drawn.nodes, self.drawn.surfaces, strict=True)
            own = [parts for node, parts in pairs if not node.environment]
            for pose, parts in zip(self._now, own, strict=False):
                for s in parts:
                    points = pose[:3] + turned(np.tile(pose[3:], (len(s.points), 1)), s.points)
                    low = np.minimum(low, points.min(axis=0))
                    high = np.maximum(high, points.max(axis=0))
        if not np.isfinite(low).all():
            low, high = np.full(3, -self.size), np.full(3, self.size)
        return low + self.shift, high + self.shift

    def set_frames(self, on: bool) -> None:
        """Show or hide the frames of the nodes that move."""
        self.frames = on
        for k, (node, triad) in enumerate(zip(self.scene.nodes, self.triads, strict=True)):
            triad.show_axes = (on and node.moves) or k == self.lit

    def light_up(self, node: int | None) -> None:
        """Show one node in another color and with its frame; the others as they are."""
        before, self.lit = self.lit, node
        with self.server.atomic():
            for k, mesh in self.meshes:
                if k in (before, node):
                    own = self._colors.setdefault(id(mesh), mesh.color)
                    mesh.color = _lit(own) if k == node else own
            for k in [n for n in (before, node) if n is not None]:
                shown = self.frames and self.scene.nodes[k].moves
                self.triads[k].show_axes = shown or k == node

    def set_around(self, on: bool) -> None:
        """Show or hide what stands around the model."""
        self.around = on
        for node, handle in zip(self.scene.nodes, self.handles, strict=True):
            if node.environment:
                handle.visible = on
        for thing in self.things:
            thing.visible = on

    def set_clear(self, on: bool) -> None:
        """Let what is behind the bodies be seen through them, or not."""
        self.clear = on
        with self.server.atomic():
            for k, mesh in self.meshes:
                if self.scene.nodes[k].moves:
                    mesh.opacity = _CLEAR if on else self._opacities[mesh.name]

    def remove(self) -> None:
        """Take the scene from the server."""
        self.top.remove()


def _lit(own: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the color of a node that is chosen.

    >>> _lit((0, 0, 0))
    (153, 84, 0)
    """
    r, g, b = (round(0.4 * o + 0.6 * c) for o, c in zip(own, (255, 140, 0), strict=True))
    return r, g, b


def _names(root: str, carrier: list[int]) -> list[str]:
    """Return the names of nodes on the server: paths along the nodes that carry them, kept short.

    >>> _names("/take 1", [-1, 0, 1])
    ['/take 1/0', '/take 1/0/1', '/take 1/0/1/2']
    """
    names: dict[int, str] = {-1: root}
    for k in range(len(carrier)):
        above = [k]
        while carrier[above[-1]] not in names:
            above.append(carrier[above[-1]])
        for j in reversed(above):
            names[j] = f"{names[carrier[j]]}/{j}"
    return [names[k] for k in range(len(carrier))]
