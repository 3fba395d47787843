"""The cameras of browsers that go along with what moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwright.scene.body_geometry import Array
from linkwright.studio.viser_scene import Stage

WHOLE = "whole model"
"""What a camera follows of a model that travels."""

_ELSEWHERE = 2.0  # sizes of the model from its center: what looks there does not see it


class Cameras:
    """Cameras that go along with a body, with the whole model (its mass center), or with nothing.

    A camera stays as it is at first, but for one that looks elsewhere: it is brought to the model,
    as far away as it was.
    """

    def __init__(self, followed: str = "") -> None:
        self.followed = followed
        self._before: dict[int, Array] = {}  # where each browser saw it last

    def follow(self, what: str) -> None:
        """Go along with a body, with the whole model, or with nothing ("")."""
        self.followed, self._before = what, {}

    def begin(self) -> None:
        """Take it as new where the followed is now: something else moves the scene."""
        self._before = {}

    def move(self, clients: Mapping[int, Any], stage: Stage | None) -> None:
        """Move the cameras of browsers as far as what they follow has moved."""
        if not self.followed or stage is None:
            return
        whole = self.followed == WHOLE
        now = stage.mass_center if whole else stage.position(stage.scene.index(self.followed))
        seen = {}
        for key, client in clients.items():
            camera = client.camera
            if camera.update_timestamp == 0.0:  # it has not told where it is
                continue
            at = np.asarray(camera.look_at)
            by = now - self._before.get(key, now)
            if key not in self._before and np.linalg.norm(now - at) > _ELSEWHERE * stage.size:
                by = now - at
            if by.any():
                with client.atomic():
                    camera.position = np.asarray(camera.position) + by
                    camera.look_at = at + by
            seen[key] = now
        self._before = seen
