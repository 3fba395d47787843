"""Poses of nodes against the nodes that they hang on.

A joint that turns changes only how a body is turned against the one before it, and a slide only
where it is: of the seven numbers of a pose, few change from frame to frame, and between two samples
a body stays on its joint. Poses are rows of x, y, z, m, and a unit quaternion w, x, y, z.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.rotations import quaternion_product, turned
from linkwright.scene.scene import Scene

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


def carriers(scene: Scene) -> Indices:
    """Return for each node the index of the one that it hangs on, or -1.

    >>> from linkwright.models import load_model
    >>> from linkwright.scene.scene import scene_of
    >>> carriers(scene_of(load_model("double-pendulum"))).tolist()  # ground, upper, lower
    [-1, 0, 1]
    """
    index = {node.name: k for k, node in enumerate(scene.nodes)}
    found = [index.get(node.parent, -1) if node.parent else -1 for node in scene.nodes]
    return np.array([c if c != k else -1 for k, c in enumerate(found)], np.intp)


def against(poses: Array, carrier: Indices) -> Array:
    """Return poses against the nodes that carry them."""
    made = np.array(poses, float)
    held = np.flatnonzero(carrier >= 0)
    below = poses[..., carrier[held], :]
    inverse = below[..., 3:] * (1.0, -1.0, -1.0, -1.0)
    made[..., held, :3] = turned(inverse, poses[..., held, :3] - below[..., :3])
    made[..., held, 3:] = quaternion_product(inverse, poses[..., held, 3:])
    return made
