"""Distances of capsules and discs as Programs, against Coal and against a dense search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.backends.kernel import compile as compiled
from linkwright.parallel.distances import disc_program, segments_program
from tests.support.late import Late

if TYPE_CHECKING:
    import coal
else:
    coal = Late("coal")

Array = NDArray[np.float64]


def ends(count: int, seed: int) -> Array:
    """Return pairs of ends of segments, some of which are points, parallel or crossing."""
    made = np.random.default_rng(seed).normal(size=(count, 4, 3))
    made[: count // 8, 1] = made[: count // 8, 0]
    made[count // 8 : count // 4, 3] = (
        made[count // 8 : count // 4, 2]
        + made[count // 8 : count // 4, 1]
        - made[count // 8 : count // 4, 0]
    )
    made[count // 4 : count // 3, 2] = made[count // 4 : count // 3, :2].mean(axis=1)
    return made


def capsule_pose(p: Array, q: Array, radius: float) -> tuple[object, object]:
    """Return Coal's capsule along z between two points, and its place."""
    along = q - p
    length = float(np.linalg.norm(along))
    z = along / length if length > 0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    turn = np.stack([x, np.cross(z, x), z], axis=1)
    return coal.Capsule(radius, length), coal.Transform3s(turn, (p + q) / 2)


def test_capsules_are_as_far_apart_as_coal_says() -> None:
    made = ends(160, 3)
    found = compiled(segments_program()).batch(*np.moveaxis(made, 1, 0))[:, 0]
    request = coal.DistanceRequest()
    for k, (p1, q1, p2, q2) in enumerate(made):
        one, two = capsule_pose(p1, q1, 0.0005), capsule_pose(p2, q2, 0.0005)
        result = coal.DistanceResult()
        told = coal.distance(*one, *two, request, result)
        if told > 1e-3:  # what touches has a depth there, not a distance
            assert found[k] - 0.001 == pytest.approx(told, abs=2e-6), k
        else:
            assert found[k] < 0.003


def test_discs_are_as_far_from_segments_as_a_dense_search_says() -> None:
    r = np.random.default_rng(4)
    p, q, center, normal = r.normal(size=(4, 40, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    radius = r.uniform(0.1, 1.5, (40, 1))
    found = compiled(disc_program()).batch(p, q, center, normal, radius)[:, 0]
    t = np.linspace(0, 1, 4001)[:, None]
    for k in range(40):
        at = p[k] + t * (q[k] - p[k]) - center[k]
        height = at @ normal[k]
        out = np.linalg.norm(at - height[:, None] * normal[k], axis=1)
        dense = np.hypot(height, np.maximum(out - radius[k], 0)).min()
        assert found[k] <= dense + 1e-12
        assert found[k] == pytest.approx(dense, abs=1e-3)
