"""The cameras of browsers that go along with what moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwright.scene.body_geometry import Array

_ELSEWHERE = 2.0  # sizes of the model from its center: what looks there does not see it


def move_cameras(
    clients: Mapping[int, Any], now: Array, before: Mapping[int, Array], size: float
) -> dict[int, Array]:
    """Move the cameras of clients as far as something has moved, and return where each saw it.

    A camera stays as it is at first, but for one that looks elsewhere: it is brought to the model,
    as far away as it was.
    """
    seen = {}
    for key, client in clients.items():
        camera = client.camera
        if camera.update_timestamp == 0.0:  # it has not told where it is
            continue
        at = np.asarray(camera.look_at)
        by = now - before.get(key, now)
        if key not in before and float(np.linalg.norm(now - at)) > _ELSEWHERE * size:
            by = now - at
        if by.any():
            with client.atomic():
                camera.position = np.asarray(camera.position) + by
                camera.look_at = at + by
        seen[key] = now
    return seen
