"""Turns and drives of the motion server's digest, section 3.1: checks 35 and 36."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import Expr, constant, cos, sin, symbol
from linkwright.algebra.triples import Quaternion
from linkwright.motion import blended
from linkwright.motion.blends import pose_transform, turned
from linkwright.motion.chains.legs import Share
from linkwright.motion.chains.paths import Anchor, both_paths, on_path, planned_path
from linkwright.motion.chains.poses import (
    MovingVector,
    Pose,
    Turning,
    drive_angles,
    inverse_pose,
    multiplied_poses,
    slerp_angles,
)
from linkwright.program import program

Array = NDArray[np.float64]
Long = NDArray[np.longdouble]


def chain_place(t: Long, corners: Long, times: Long, half: Long) -> Long:
    """Return places of a chain by the digest's formulas, in extended precision."""
    last = len(times) - 1
    speeds = np.diff(corners, axis=0) / np.diff(times)[:, None]
    k = np.clip(np.searchsorted(times - half, t, side="right") - 1, 0, last)
    none = np.zeros_like(corners[:1])
    before, after = np.concatenate([none, speeds])[k], np.concatenate([speeds, none])[k]
    ta, b = half[k][:, None], corners[k]
    h = (t - times[k])[:, None] / (2 * ta) + np.longdouble(0.5)
    back = -before * ta
    kappa = after * ta + back
    turn = (kappa * (2 - h) * h**2 - 2 * back) * h + b + back
    return np.asarray(np.where(h <= 1, turn, b + after * (t - times[k])[:, None]))


def test_random_chains_have_the_digests_derivatives_and_end_conditions() -> None:
    """Check 35: 1,000 chains; differences of a quartic in extended precision are exact."""
    generator = np.random.default_rng(35)
    for _ in range(1000):
        count = int(generator.integers(2, 6))
        corners = generator.uniform(-2, 2, (count, 3))
        times = np.cumsum(generator.uniform(0.3, 2.0, count))
        half = generator.uniform(0.3, 1.0, count) * np.diff(times).min() / 2
        found = blended(list(corners), times, half)
        assert np.abs(found.speed(found.instants[[0, -1]])).max() < 1e-12
        assert np.abs(found.acceleration(found.instants[[0, -1]])).max() < 1e-9
        # speed and acceleration where pieces meet, from both sides
        lengths = np.diff(found.instants)
        c = found.coefficients
        powers = [lengths[:, None] ** k for k in range(5)]
        speed = np.sum([k * c[:, k] * powers[k - 1] for k in range(1, 5)], axis=0)
        bend = np.sum([k * (k - 1) * c[:, k] * powers[k - 2] for k in range(2, 5)], axis=0)
        assert np.abs(speed[:-1] - c[1:, 1]).max(initial=0.0) < 1e-10
        assert np.abs(bend).max() < 1e-9  # zero at the end of every piece
        assert np.abs(c[:, 2]).max() < 1e-9  # and at the beginning
        # five points within a piece
        d = (lengths / 5).astype(np.longdouble)
        t = (found.instants[:-1] + lengths / 2).astype(np.longdouble)
        exact = [np.asarray(x, dtype=np.longdouble) for x in (corners, times, half)]
        p = [chain_place(t + k * d, *exact) for k in (-2, -1, 0, 1, 2)]
        first = (p[0] - 8 * p[1] + 8 * p[3] - p[4]) / (12 * d[:, None])
        second = (-p[0] + 16 * p[1] - 30 * p[2] + 16 * p[3] - p[4]) / (12 * d[:, None] ** 2)
        at = t.astype(float)
        assert np.abs(found(at) - p[2]).max() < 1e-12
        assert np.abs(found.speed(at) - first).max() < 1e-10
        assert np.abs(found.acceleration(at) - second).max() < 1e-10


def rotations(count: int) -> Array:
    """Return pairs of poses; among them the same, opposite approach vectors, and nearly so."""
    generator = np.random.default_rng(36)
    pairs = np.tile(np.eye(4), (count, 2, 1, 1))
    for i, (a, b) in enumerate(pairs):
        a[:3, :3] = turned(generator.normal(size=3), generator.uniform(0, math.pi))
        special = (None, None, 0.0, math.pi, 1e-9, math.pi - 1e-9, math.pi - 1e-4)[i % 7]
        angle = generator.uniform(0, math.pi) if special is None else special
        azimuth, roll = generator.uniform(-math.pi, math.pi, 2)
        tilt = turned((-math.sin(azimuth), math.cos(azimuth), 0.0), angle)
        b[:3, :3] = a[:3, :3] @ tilt @ turned((0, 0, 1), roll)
        a[:3, 3], b[:3, 3] = generator.normal(size=(2, 3))
    return pairs


def test_drives_take_one_pose_to_the_other_for_a_thousand_pairs() -> None:
    """Check 36: D(0) = 1 and D(1) = A^-1 B, the angles 0 and pi of the approach vector included."""
    for a, b in rotations(1000):
        found = pose_transform(a, b)
        np.testing.assert_array_equal(found(0), np.eye(4))
        assert np.abs(found(1) - np.linalg.inv(a) @ b).max() < 1e-13
        assert np.abs(a @ found(1) - b).max() < 1e-13
        assert 0 <= found.tilt <= math.pi


def quaternion(r: Array) -> Array:
    """Return w, x, y, z of a rotation matrix, by its largest entry."""
    k = np.array([np.trace(r), *np.diag(r)])
    i = int(np.argmax(k))
    full = np.array(
        [
            [1 + k[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [0, 1 + 2 * r[0, 0] - k[0], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [0, 0, 1 + 2 * r[1, 1] - k[0], r[1, 2] + r[2, 1]],
            [0, 0, 0, 1 + 2 * r[2, 2] - k[0]],
        ]
    )
    row = (full + np.triu(full, 1).T)[i]
    return np.asarray(row / np.linalg.norm(row))


def test_drives_of_native_legs_are_the_same_and_slerp_is_the_shortest_turn() -> None:
    """Check 36: what blocks go by, from quaternions."""
    e = [symbol(f"e{k}", "input") for k in range(4)]
    parts = {"drive": drive_angles, "slerp": slerp_angles}
    outputs = {
        name: [*axis, angle, roll]
        for name, make in parts.items()
        for axis, angle, roll in [make(lambda x: x, e)]
    }
    kernel = lw.compile(program("angles", {"e": e}, outputs))
    pairs = rotations(1000)
    for a, b in pairs:
        between = a[:3, :3].T @ b[:3, :3]
        drive, slerp = (np.asarray(x) for x in kernel(quaternion(between)))
        for x, y, z, angle, roll in (drive, slerp):
            there = turned((x, y, z), angle) @ turned((0, 0, 1), roll)
            assert np.abs(there - between).max() < 1e-12
        assert drive[2] == 0
        assert 0 <= slerp[3] <= math.pi + 1e-12
        assert slerp[4] == 0
        found = pose_transform(a, b)
        assert abs(drive[3] - found.tilt) < 1e-7


def moving_frame(t: Expr, seed: int) -> Any:
    """Return a frame that moves and turns over time, with its exact derivatives."""
    generator = np.random.default_rng(seed)
    axis = generator.normal(size=3)
    axis /= np.linalg.norm(axis)
    rate = float(generator.uniform(0.5, 1.5))
    v = [constant(float(x)) for x in generator.normal(size=3)]
    half = rate * t / 2
    turn = (cos(half), *(float(x) * sin(half) for x in axis))
    w = [constant(float(rate * x)) for x in axis]
    place = (v[0] * sin(t), v[1] * sin(t), v[2] * sin(t))
    flow = (v[0] * cos(t), v[1] * cos(t), v[2] * cos(t))
    second = (-v[0] * sin(t), -v[1] * sin(t), -v[2] * sin(t))
    return SimpleNamespace(
        pose=Pose(
            MovingVector(place, flow, second=second),
            Turning((turn[0], turn[1], turn[2], turn[3]), (w[0], w[1], w[2])),
        )
    )


def test_products_and_inverses_of_moving_frames_have_their_twist_and_acceleration() -> None:
    """An equation of positions: `a^-1 b`, both moving, by differences of its pose."""
    t = symbol("t", "input")

    def keep(x: Expr) -> Expr:
        return x

    a, b = (moving_frame(t, k).pose for k in (1, 2))
    found = multiplied_poses(keep, inverse_pose(keep, a), b)
    outputs = {
        "place": list(found.place.at),
        "turn": list(found.turn.at),
        "twist": [*found.place.flow, *found.turn.flow],
        "bend": [*found.place.second, *found.turn.second],
    }
    kernel = lw.compile(program("product", {"t": [t]}, outputs))
    check_derivatives(lambda time: [np.asarray(x) for x in kernel(np.array([time]))])


def check_derivatives(at: Callable[[float], list[Array]]) -> None:
    """Place, quaternion, twist and acceleration belong together."""
    h = 1e-3
    for time in (0.3, 0.5, 0.9):
        rows = [at(time + k * h) for k in (-2, -1, 0, 1, 2)]
        weights = np.array([1, -8, 0, 8, -1]) / (12 * h)
        place, turn, twist = (
            np.sum([w * row[i] for w, row in zip(weights, rows, strict=True)], axis=0)
            for i in range(3)
        )
        middle = rows[2]
        assert np.abs(np.linalg.norm(middle[1]) - 1) < 1e-14
        np.testing.assert_allclose(middle[2][:3], place, atol=1e-8)
        w, v = middle[1][0], middle[1][1:]
        omega = 2 * (w * turn[1:] - turn[0] * v + np.cross(v, turn[1:]))
        np.testing.assert_allclose(middle[2][3:], omega, atol=1e-8)
        np.testing.assert_allclose(middle[3], twist, atol=1e-7)


def test_twist_and_acceleration_of_a_turn_between_moving_frames_are_those_of_its_pose() -> None:
    """Two legs at once, each from one moving frame to another: differences of the pose."""
    t = symbol("t", "input")
    now = symbol("now", "input")
    sigma = constant(0.8)
    frames = [moving_frame(t, k) for k in (1, 2)]
    start = [moving_frame(now, k) for k in (1, 2)]
    generator = np.random.default_rng(3)

    def anchor(frame: int) -> Anchor:
        q = generator.normal(size=4)
        w, x, y, z = (constant(float(e)) for e in q / np.linalg.norm(q))
        turn: Quaternion = (w, x, y, z)
        a, b, c = (constant(float(e)) for e in generator.normal(size=3))
        return Anchor(constant(frame), (a, b, c), turn)

    def share(p: Expr, shift: float) -> Share:
        s = p - shift
        return Share(s**2 / 3, 1 - s**2 / 3, 2 * s / 3, constant(2) / 3)

    def keep(x: Expr) -> Expr:
        return x

    ends = [anchor(0), anchor(1), anchor(2)]
    paths = [
        planned_path(keep, start, a, b, slerp)
        for a, b, slerp in ((ends[0], ends[1], False), (ends[1], ends[2], True))
    ]
    legs = [
        on_path(keep, sigma, frames, path, share(sigma * t, shift))
        for path, shift in zip(paths, (-0.5, 0.1), strict=True)
    ]
    one = constant(1)
    pose = both_paths(keep, sigma, legs[0], legs[1], one, one)
    outputs = {
        "place": list(pose.place.at),
        "turn": list(pose.turn.at),
        "twist": [
            f + sigma * s
            for v in (pose.place, pose.turn)
            for f, s in zip(v.flow, v.slope, strict=True)
        ],
        "bend": [*pose.place.second, *pose.turn.second],
    }
    kernel = lw.compile(program("turn", {"t": [t], "now": [now]}, outputs))

    def at(time: float) -> list[Array]:
        return [np.asarray(x) for x in kernel(np.array([time]), np.array([0.3]))]

    check_derivatives(at)
