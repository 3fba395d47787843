"""Trajectories: end conditions, limits and published values, in numbers and in expressions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linkwright as lw
from linkwright.algebra import Expr, evaluate_all, symbol
from linkwright.blocks import Block
from linkwright.motion import (
    Limits,
    Sines,
    Trajectory,
    blended,
    cartesian,
    hermite,
    minimum_jerk,
    point_to_point,
    through,
    time_optimal,
    via_points,
)
from linkwright.motion.blends import turn, turned
from linkwright.motion.trajectory import MotionError
from linkwright.program import program
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import interpolate
else:
    interpolate = Late("scipy.interpolate")

LAWS = ("quintic", "cubic", "trapezoid", "linear")
TIME = symbol("t", "time")


def following(block: Block, memory: Expr) -> Expr:
    found = block.discrete_states[memory].following
    assert found is not None
    return found


@pytest.mark.parametrize("law", LAWS)
def test_a_motion_starts_and_ends_where_it_should(law: str) -> None:
    q = point_to_point([0, 1, 2], [1, -1, 2], 2.0, law=law)
    assert np.allclose(q.start, [0, 1, 2], atol=1e-15)
    assert np.allclose(q.end, [1, -1, 2], atol=1e-15)
    if law != "linear":
        assert np.allclose(q.speed([0.0, 2.0]), 0, atol=1e-14)
    t = np.linspace(0.01, 1.99, 57)
    h = 1e-6
    assert np.allclose(q.speed(t), (q(t + h) - q(t - h)) / (2 * h), atol=1e-8)


def test_minimum_jerk_has_the_known_peaks() -> None:
    """Peak speed 1.875 D/T, peak acceleration 5.774 D/T^2 (SL's digest, 3.7)."""
    q = point_to_point([0], [0.4], 0.5)
    assert q.max_abs(1)[0] == pytest.approx(1.875 * 0.4 / 0.5, rel=1e-12)
    assert q.max_abs(2)[0] == pytest.approx(10 / math.sqrt(3) * 0.4 / 0.25, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    way=st.floats(0.01, 10),
    speed=st.floats(0.1, 5),
    acceleration=st.floats(0.1, 20),
    law=st.sampled_from(["quintic", "cubic", "trapezoid"]),
)
def test_the_shortest_motion_meets_a_limit_and_breaks_none(
    way: float, speed: float, acceleration: float, law: str
) -> None:
    q = point_to_point([0, 0], [way, way / 2], law=law, speed=speed, acceleration=acceleration)
    v, a = q.max_abs(1)[0] / speed, q.max_abs(2)[0] / acceleration
    assert max(v, a) == pytest.approx(1, rel=1e-9)
    assert min(v, a) <= 1 + 1e-9
    with pytest.raises(MotionError, match="too short"):
        point_to_point(
            [0], [way], q.duration * 0.98, law=law, speed=speed, acceleration=acceleration
        )


@pytest.mark.parametrize(
    "q",
    [
        via_points([[0, 1], [1, 0], [2, 2]], [0, 1, 3]),
        point_to_point([0, 1], [1, 4], 2.0),
        point_to_point([0, 1], [1, 4], 2.0, law="trapezoid"),
        blended([[0, 1], [1, 1], [1, 3]], [0, 1, 2], 0.2),
    ],
    ids=["spline", "quintic", "trapezoid", "blend"],
)
def test_expressions_give_the_same_numbers(q: Trajectory) -> None:
    for order in (0, 1, 2):
        exprs = q.expressions(TIME, order)
        for t in (-1.0, 0.0, 0.3, 1.0, 1.7, 2.9, 5.0):
            if order and t in q.instants:
                continue
            assert evaluate_all(exprs, {TIME: t}) == pytest.approx(q(t, order).tolist(), abs=1e-12)


def test_a_compiled_trajectory_agrees_with_its_numbers() -> None:
    """Tables of given pieces pass through the native backend, scalar and batch."""
    q = via_points([[0.0], [1.0], [-1.0], [0.5]], [0, 1, 2, 4])
    made = program("q", {"t": [TIME]}, {"q": list(q.expressions(TIME))})
    t = np.linspace(-0.5, 4.5, 24)
    kernel = lw.compile(made)
    assert np.allclose(kernel.batch(t[:, None]), q(t), atol=1e-13)
    assert np.allclose(kernel([1.3]), q(1.3), atol=1e-14)


def test_splines_agree_with_scipy() -> None:
    t = np.array([0, 0.4, 1.0, 2.0])
    p = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, -1.0], [2.0, 2.0]])
    at = np.linspace(0, 2, 41)
    assert np.allclose(
        via_points(list(p), t)(at), interpolate.CubicSpline(t, p, bc_type="clamped")(at)
    )
    assert np.allclose(through(t, p)(at, 2), interpolate.CubicSpline(t, p)(at, 2))


def test_the_blend_has_the_published_values() -> None:
    """Check 35. The motion server's digest, 3.1: A'=(0,1), B=(1,1), C=(1,3), T=1, t_a=0.2."""
    c = turn(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([0.0, 2.0]), 0.2)
    q = Trajectory([-0.2, 0.2], [c])
    assert np.allclose(q(0.0), [0.8125, 1.075], atol=1e-14)
    assert np.allclose(q.speed(0.0), [2.5, 1.0], atol=1e-13)
    assert np.allclose(q.acceleration(0.0), [-18.75, 7.5], atol=1e-12)
    assert np.allclose(q.speed([-0.2, 0.2]), [[5, 0], [0, 2]], atol=1e-12)
    assert np.allclose(q.acceleration([-0.2, 0.2]), 0, atol=1e-11)


def test_blends_are_smooth_and_keep_to_straight_legs() -> None:
    corners = [[0, 0], [1, 0], [1, 2], [0, 2]]
    q = blended(corners, [0, 1, 2.5, 3], [0.1, 0.3, 0.2, 0.1])
    assert np.allclose(q.start, corners[0])
    assert np.allclose(q.end, corners[-1])
    for order in (0, 1, 2):
        before, after = q(q.instants[1:-1] - 1e-9, order), q(q.instants[1:-1] + 1e-9, order)
        assert np.allclose(before, after, atol=1e-5)
    assert np.allclose(q(0.5), [0.5, 0])
    with pytest.raises(MotionError, match="leg 2"):
        blended(corners, [0, 1, 1.3, 3], 0.2)


def test_a_cartesian_motion_is_straight_and_passes_its_poses() -> None:
    a, b, c = np.eye(4), np.eye(4), np.eye(4)
    b[:3, 3], c[:3, 3] = (1, 0, 0), (1, 1, 0.5)
    b[:3, :3] = turned((1, 2, 3), 0.8)
    c[:3, :3] = turned((0, 1, 0), 1.2)
    stops = cartesian([a, b, c], [0, 1, 2])
    assert np.allclose(stops(1.0), b, atol=1e-14)
    assert np.allclose(stops(2.0), c, atol=1e-14)
    smooth = cartesian([a, b, c], [0, 1, 2], 0.1)
    assert np.allclose(smooth(0.5)[:3, 3], [0.5, 0, 0], atol=1e-14)
    assert np.allclose(smooth(2.2), c, atol=1e-13)
    for t in np.linspace(0, 2.1, 30):
        r = smooth(t)[:3, :3]
        assert np.allclose(r @ r.T, np.eye(3), atol=1e-13)


def test_sines_have_the_sample_tasks_peaks() -> None:
    """SL's digest, section 6: amplitude 0.1, 1 Hz."""
    wave = Sines([0.3, -0.4], [[(0.1, 0, 1)], [(0.2, 0.5, 2), (0.1, 0, 3)]])
    assert wave.max_abs(1)[0] == pytest.approx(0.62832, abs=5e-6)
    assert wave.max_abs(2)[0] == pytest.approx(3.94784, abs=5e-6)
    t, h = np.linspace(0, 2, 31), 1e-6
    assert np.allclose(wave(t, 1), (wave(t + h) - wave(t - h)) / (2 * h), atol=1e-7)
    for order in (0, 1, 2):
        values = evaluate_all(wave.expressions(TIME, order), {TIME: 0.37})
        assert values == pytest.approx(wave(0.37, order).tolist(), abs=1e-11)


def test_minimum_jerk_can_be_taken_up_anew_at_every_instant() -> None:
    """Undisturbed, the restartable form follows the closed one."""
    b = minimum_jerk([0.2], rate=100)
    x, v, a = b.discrete_states
    closed = point_to_point([0.2], [1.0], 0.5)
    now = [0.2, 0.0, 0.0]
    (target,) = b.inputs["target"].symbols
    (arrival,) = b.inputs["arrival"].symbols
    updates = [following(b, s) for s in (x, v, a)]
    for k in range(60):
        t = k / 100
        if t <= 0.5:
            assert now[0] == pytest.approx(float(closed(t)[0]), abs=1e-9)
            assert now[1] == pytest.approx(float(closed.speed(t)[0]), abs=1e-7)
        values = {
            x: now[0], v: now[1], a: now[2], target: 1.0, arrival: 0.5, b.time: t, b.period: 0.01,
        }  # fmt: skip
        now = evaluate_all(updates, values)
    assert now == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)


def test_the_fastest_way_along_a_line_is_bang_bang() -> None:
    line = through([0, 0.5, 1], [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]])
    fast = time_optimal(line, Limits(acceleration=[4, 4]), points=800)
    assert fast.duration == pytest.approx(2 * math.sqrt(2 / 4), rel=2e-3)
    limited = time_optimal(line, Limits(speed=[10, 1], acceleration=[4, 4]), points=800)
    assert limited.duration == pytest.approx(2 / 1 + 1 / 4, rel=2e-3)


def test_the_fastest_way_along_a_curve_keeps_to_its_limits_and_uses_them() -> None:
    path = via_points([[0, 0], [1, 2], [3, 1], [2, -1]], [0, 1, 2, 3], law="natural")
    speed, acceleration = np.array([1.5, 1.0]), np.array([3.0, 4.0])
    fast = time_optimal(path, Limits(speed=speed, acceleration=acceleration), points=600)
    t = np.linspace(0, fast.duration, 4001)[5:-5]
    v = np.abs(fast.speed(t)) / speed
    a = np.abs(fast.acceleration(t)) / acceleration
    assert v.max() < 1.001
    assert np.quantile(a.max(axis=1), 0.99) < 1.02
    used = np.maximum(v.max(axis=1), a.max(axis=1))
    assert np.mean(used > 0.97) > 0.95
    assert np.allclose(fast.end, path.end, atol=1e-12)


def test_limits_of_effort_come_from_inverse_dynamics() -> None:
    """A mass lifted under gravity: m (a + g) <= F upward, m (g - a) >= -F downward."""
    line = through([0, 0.5, 1], [[0.0], [0.5], [1.0]])

    def force(q: np.ndarray, u: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.asarray(2.0 * (a + 9.81) + 0 * q + 0 * u)

    fast = time_optimal(line, Limits(effort=30.0, dynamics=force), points=800)
    up, down = 30 / 2 - 9.81, 30 / 2 + 9.81
    peak = math.sqrt(2 / (1 / up + 1 / down))
    assert fast.duration == pytest.approx(peak / up + peak / down, rel=3e-3)
    with pytest.raises(MotionError, match="still"):
        time_optimal(line, Limits(effort=10.0, dynamics=force))


def test_quintics_take_given_accelerations() -> None:
    q = hermite([0, 1], [[0], [1]], [[1], [0]], [[2], [-3]])
    assert q([0.0, 1.0], 2).ravel().tolist() == pytest.approx([2, -3])
    assert q([0.0, 1.0], 1).ravel().tolist() == pytest.approx([1, 0])


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(MotionError, match="no law"):
        point_to_point([0], [1], 1, law="cubik")
    with pytest.raises(MotionError, match="duration or a limit"):
        point_to_point([0], [1])
    with pytest.raises(MotionError, match="rise"):
        Trajectory([0, 0], np.zeros((1, 6, 1)))
    with pytest.raises(MotionError, match="limit of acceleration"):
        time_optimal(point_to_point([0], [1], 1), Limits(speed=1))
