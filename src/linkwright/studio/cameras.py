"""The cameras of browsers that go along with what moves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwright.scene.body_geometry import Array

_ELSEWHERE = 2.0  # sizes of the model from its center: what looks there does not see it


def move_cameras(clients: Iterable[Any], now: Array, before: Array | None, size: float) -> None:
    """Move cameras as far as something has moved.

    At first they stay as they are, but for one that looks elsewhere: it is brought to the model, as
    far away as it was.
    """
    for client in clients:
        camera = client.camera
        if camera.update_timestamp == 0.0:  # it has not told where it is
            continue
        at = np.asarray(camera.look_at)
        by = np.zeros(3) if before is None else now - before
        if before is None and float(np.linalg.norm(now - at)) > _ELSEWHERE * size:
            by = now - at
        if by.any():
            with client.atomic():
                camera.position = np.asarray(camera.position) + by
                camera.look_at = at + by
