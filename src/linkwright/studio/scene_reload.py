"""A scene file that is put on again whenever its file is saved: write, save, look.

ROBSIM drew each component as soon as it was dimensioned and asked whether it would do; here that is
the file. Shapes, things around, labels and the ground are drawn anew on the server; the motion, and
a live run, go on as they are. A file with a mistake in it leaves what is drawn, and is reported
until it is mended.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwright.algebra.evaluate import evaluate_all
from linkwright.base.errors import Error
from linkwright.formats.robot.description import Place
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.scene.scene import Scene
from linkwright.studio.state import PanelState, panels_of
from linkwright.studio.viser_scene import Stage

if TYPE_CHECKING:
    from viser import NotificationHandle

    from linkwright.studio.server import Studio

PERIOD = 0.7
"""Between two looks at the file, s."""


@dataclass(eq=False)
class SceneWatch:
    """The scene file of a studio's first scene, and when its file was written."""

    studio: Studio
    file: Path
    roots: Sequence[str | Path]
    written: tuple[int, int] | None
    info: list[NotificationHandle] = field(default_factory=list)

    def look(self) -> bool:
        """Put the scene file on again if the file has changed; return whether it was."""
        now = _stamp(self.file)
        if now is None or now == self.written:
            return False
        self.written = now
        stage = self.studio.stage
        if stage is None:
            return False
        try:
            scene = (stage.scene.bare or stage.scene).decorated(self.file, roots=self.roots)
            redraw(stage, scene)
            self.studio.paint_ground(scene)
        except Error as error:
            self._complain(str(error))
            return False
        panels: PanelState = panels_of(self.studio)
        panels.listen(stage)
        self._forget()
        for client in self.studio.server.get_clients().values():
            client.add_notification(
                "Scene file reloaded", self.file.name, color="green", auto_close_seconds=6.0
            )
        return True

    def _complain(self, words: str) -> None:
        self._forget()
        self.info = [
            client.add_notification("Scene file not reloaded", words, color="red")
            for client in self.studio.server.get_clients().values()
        ]

    def _forget(self) -> None:
        for note in self.info:
            note.remove()
        self.info = []


def watch(
    studio: Studio, scene_file: object, roots: Sequence[str | Path] = ()
) -> SceneWatch | None:
    """Let a studio look at the file of its scene file now and then; None where there is no file."""
    if not isinstance(scene_file, str | os.PathLike) or not Path(scene_file).is_file():
        return None
    made = SceneWatch(studio, Path(scene_file), roots, _stamp(Path(scene_file)))
    panels_of(studio).every(PERIOD, lambda: (made.look(), None)[1])
    return made


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        info = file.stat()
    except OSError:  # between two ways of saving it may be gone
        return None
    return info.st_mtime_ns, info.st_size


def redraw(stage: Stage, scene: Scene) -> None:
    """Draw the shapes of a scene on the nodes of a stage that show another scene file of it."""
    index = {node.name: k for k, node in enumerate(stage.scene.nodes) if not node.environment}
    surfaces = scene.surfaces_within(stage.most)
    stage.worn = stage.drawn = scene
    with stage.server.atomic():
        stage.strip()
        for j, (node, parts) in enumerate(zip(scene.nodes, surfaces, strict=True)):
            if not node.environment:
                k = index[node.name]
                stage.add_shapes(k, stage.names[k], parts)
                continue
            spot = scene.poses.hanging[j]
            assert isinstance(spot, FixedFrame)
            place = _place(spot)
            name = f"{stage.names[index[node.parent]]}/thing {j}"
            frame = stage.server.scene.add_frame(
                name,
                show_axes=False,
                position=np.array(place.position),
                wxyz=np.array(rotation_quaternion(place.rotation)),
            )
            stage.things.append(frame)
            stage.add_shapes(0, name, parts)
        stage.set_around(stage.around)
        for label in scene.labels:
            home = scene.nodes[label.node].name
            stage.add_label(stage.names[index[home]], label)


def _place(spot: FixedFrame) -> Place:
    """Return the place of a constant place in its body, which a node of its own stands for."""
    numbers = evaluate_all([*spot.position, *(x for row in spot.rotation for x in row)], {})
    x, y, z, *turn = map(float, numbers)
    a, b, c, d, e, f, g, h, i = turn
    return Place((x, y, z), ((a, b, c), (d, e, f), (g, h, i)))
