"""Poses of many bodies, put together by NumPy, are those of the kernel that says it all."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.mechanism import Mechanism, Revolute
from linkwright.models import load_model
from linkwright.robots import Robot
from linkwright.scene import pose_chain, poses as written
from linkwright.scene.poses import Poses
from linkwright.scene.scene import scene_of
from tests.seeds import cases


def both(monkeypatch: pytest.MonkeyPatch, made: Poses) -> tuple[Poses, Poses]:
    """Return poses from the one kernel, and put together."""
    kernel = Poses(made.robot, made.hanging, made.values)
    assert not kernel._many
    monkeypatch.setattr(written, "MANY", 0)
    joined = Poses(made.robot, made.hanging, made.values)
    assert joined._many
    return kernel, joined


CHAINED = ["four-bar", "whipple", "spacecraft-2", "stanford-arm", "car"]


@pytest.mark.parametrize("name", cases(CHAINED, daily=["four-bar", "spacecraft-2", "car"]))
def test_both_ways_agree(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Struts, wheels, free bodies and arms; one vector and rows of them; other parameters."""
    scene = scene_of(load_model(name))
    kernel, joined = both(monkeypatch, scene.poses)
    q = scene.poses.start + np.random.default_rng(3).normal(size=(5, len(scene.poses.start)))
    a, b = kernel(q), joined(q)
    assert np.allclose(a.poses, b.poses, atol=1e-9)
    assert np.allclose(a.center, b.center, atol=1e-9)
    assert np.allclose(joined(q[2]).poses, b.poses[2], atol=1e-12)
    monkeypatch.setattr(pose_chain, "_AT_ONCE", 3)
    assert np.array_equal(joined(q).poses, b.poses)
    values = {n: 1.1 * v for n, v in scene.robot.mechanism.values.items()}
    again = joined.with_parameters(values)(q).poses
    assert np.allclose(kernel.with_parameters(values)(q).poses, again, atol=1e-9)
    assert not np.allclose(again[..., :3], b.poses[..., :3])


def test_a_long_chain_is_where_its_angles_say() -> None:
    """Links of one meter in a plane: sums of sines and cosines of summed angles."""
    m = Mechanism("chain")
    body = None
    for k in range(70):
        at = (1, 0, 0) if k else (0, 0, 0)
        body = m.body(f"b{k}", parent=body, joint=Revolute("z"), at=at, mass=1, com=(0.5, 0, 0))
    scene = scene_of(Robot(m))
    assert scene.poses._many
    q = np.random.default_rng(5).normal(size=(4, 70))
    angle = np.cumsum(q, axis=1)
    arms = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    ends = np.cumsum(arms, axis=1)
    found = scene.poses(q)
    assert np.allclose(found.poses[:, 1:, :3], ends - arms, atol=1e-12)
    assert np.allclose(found.center, (ends - 0.5 * arms).mean(axis=1), atol=1e-12)
    w, x, y, z = np.moveaxis(found.poses[:, 1:, 3:], -1, 0)
    along = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    assert np.allclose(np.stack(along, axis=-1), arms, atol=1e-12)
