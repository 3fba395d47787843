"""Poses of nodes against the nodes that they hang on.

A joint that turns changes only how a body is turned against the one before it, and a slide only
where it is: of the seven numbers of a pose, few change from frame to frame, and between two samples
a body stays on its joint. Poses are rows of x, y, z, m, and a unit quaternion w, x, y, z.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
    made[..., held, 3:] = product(inverse, poses[..., held, 3:])
    return made


def product(a: Array, b: Array) -> Array:
    """Return products of quaternions.

    >>> product(np.array([0.0, 1, 0, 0]), np.array([0.0, 0, 1, 0])).tolist()  # i j = k
    [0.0, 0.0, 0.0, 1.0]
    """
    made = np.empty(np.broadcast_shapes(a.shape, b.shape))
    s, v, t, w = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    made[..., :1] = s * t - (v * w).sum(axis=-1, keepdims=True)
    made[..., 1:] = s * w + t * v + cross(v, w)
    return made


def turned(q: Array, v: Array) -> Array:
    """Return vectors turned by unit quaternions."""
    twice = 2 * cross(q[..., 1:], v)
    return np.asarray(v + q[..., :1] * twice + cross(q[..., 1:], twice))


def cross(a: Array, b: Array) -> Array:
    """Return vector products; for few vectors far quicker than NumPy's own."""
    after, before = [1, 2, 0], [2, 0, 1]
    return np.asarray(a[..., after] * b[..., before] - a[..., before] * b[..., after])
