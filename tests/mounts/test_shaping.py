"""Paths of an alt-az mount past its keyhole stay within what was allowed, or are refused."""

from __future__ import annotations

import re
from math import radians

import numpy as np
import pytest

from linkwright.motion.trajectory import Trajectory, through
from linkwright.mounts import shape_path, track_pass
from linkwright.mounts.shaping import ShapedPath, ShapingError
from linkwright.simulation import simulate
from tests.seeds import seeds


def _overhead(random: np.random.Generator) -> Trajectory:
    """A target on a straight line past the zenith."""
    t = np.linspace(0, 40, 801)
    past, speed, turn = 10 ** random.uniform(-3, -0.5), random.uniform(0.005, 0.03), random.random()
    way = speed * (t - 40 * random.uniform(0.3, 0.7))
    c, s = np.cos(6.28 * turn), np.sin(6.28 * turn)
    d = np.stack([c * way - s * past, s * way + c * past, np.ones_like(t)], axis=1)
    return through(t, d / np.linalg.norm(d, axis=1)[:, None])


def _checked(target: Trajectory, error: float, speed: float, acceleration: float) -> ShapedPath:
    found = shape_path(target, error=error, speed=speed, acceleration=acceleration)
    t = np.linspace(0, target.duration, 8001)
    d, e = target(t), found.direction(t)
    off = np.arctan2(np.linalg.norm(np.cross(d, e), axis=1), (d * e).sum(axis=1)).max()
    assert off <= error * (1 + 1e-4)
    assert found.error == pytest.approx(off, rel=1e-3, abs=1e-6)
    assert found.path.max_abs(1)[0] <= speed * (1 + 1e-5)
    assert found.path.max_abs(2)[0] <= acceleration * (1 + 1e-5)
    return found


def test_a_shaped_path_keeps_every_limit_or_the_refusal_tells_what_would_do() -> None:
    told = over = 0
    for seed in seeds(6):
        random = np.random.default_rng(seed)
        target, error = _overhead(random), radians(10 ** random.uniform(-1, 0.7))
        speed, acceleration = radians(10 ** random.uniform(0, 1.5)), radians(random.uniform(1, 20))
        try:
            over += _checked(target, error, speed, acceleration).over_the_top
        except ShapingError as refused:
            told += 1
            if "no path that is sampled" in refused.what:
                continue
            numbers = [radians(float(v)) for v in re.findall(r"([\d.]+)°/s", refused.what)]
            assert numbers[2:] == pytest.approx([speed, acceleration], abs=1e-5), seed
            _checked(target, error, *numbers[:2])
    assert told + over > 0


def test_a_run_follows_the_shaped_path_where_a_plain_one_falls_behind() -> None:
    """At 5 deg/s, a target that passes 5 deg from the zenith at 1 deg/s asks for 11.5."""
    t = np.linspace(0.0, 40.0, 401)
    way = np.radians(t - 20.0)
    d = np.stack([np.cos(way) * np.sin(radians(5)), np.sin(way), np.cos(way) * np.cos(radians(5))])
    target = through(t, d.T)
    found = shape_path(target, error=radians(3.6), over_the_top=False)
    assert found.rate < radians(5.0) < found.plain
    plain, shaped = (
        simulate(track_pass("mount-alt-az", target, aim=aim), 26.0, method="rk4", every=10)
        for aim in (None, found.aim)
    )
    assert np.degrees(plain["pointing error"]).max() > 3.0
    assert np.degrees(shaped["pointing error"]).max() < np.degrees(found.error) + 0.01
    follows = np.degrees(found.direction(shaped.times))
    error = np.linalg.norm(np.radians(follows) - target(shaped.times), axis=1)
    assert np.degrees(shaped["pointing error"]) == pytest.approx(np.degrees(error), abs=0.01)
