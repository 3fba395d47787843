"""Movement primitives against closed forms, their demonstrations, and an integration in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.learning.primitives import Primitive

Array = NDArray[np.float64]


def reach(t: Array) -> Array:
    """Two coordinates from 0 to 1 with minimum jerk, one with a way around, one that comes back."""
    s = t / 0.8
    jerk = s**3 * (10 - 15 * s + 6 * s**2)
    return np.column_stack([jerk + 0.3 * np.sin(np.pi * s) ** 3, 0.2 * np.sin(np.pi * s) ** 3])


def run_of(block: Primitive, until: float, values: Any = None, **inputs: float) -> Any:
    """A run with inputs that hold, named as `goal_0`."""
    s = lw.System(name="s")
    member = s.add(block)
    for name, value in inputs.items():
        port, _, at = name.partition("_")
        s.connect(repr(value), member[port][int(at)] if at else member[port])
    return lw.simulate(s, until, parameters=values, tolerance=1e-10)


def test_without_weights_it_is_a_critically_damped_spring() -> None:
    t = np.linspace(0, 0.8, 50)
    block = Primitive(reach(t)[:, 0], t, bases=3)
    none = {f"primitive.w0_{k}": 0.0 for k in range(3)}
    run = run_of(block, 1.0, none, duration=0.5)
    w = 25 / 2 / 0.5
    wanted = 1 - (1 + w * run.times) * np.exp(-w * run.times)
    assert run["primitive.y[0]"] == pytest.approx(wanted, abs=1e-7)
    speed = w**2 * run.times * np.exp(-w * run.times)
    assert run["primitive.yd[0]"] == pytest.approx(speed, abs=1e-6)


def test_a_demonstration_is_repeated_and_is_its_equations() -> None:
    """Within a hundredth of its way; and a fine integration of the equations, written once more."""
    t = np.linspace(0, 0.8, 401)
    block = Primitive(reach(t), t, bases=40)
    run = run_of(block, 0.8)
    y = np.column_stack([run["primitive.y[0]"], run["primitive.y[1]"]])
    assert np.abs(y - reach(run.times)).max() < 0.01
    c = np.exp(-np.log(100) * np.linspace(0, 1, 40))
    h = 1 / np.append(np.diff(c), np.diff(c)[-1]) ** 2

    def rates(s: Array) -> Array:
        x, at, z = s[0], s[1:3], s[3:5]
        psi = np.exp(-h * (x - c) ** 2)
        f = block.weights @ psi / psi.sum() * x
        pull = 25 * (25 / 4 * (np.array([1.0, 0.0]) - at) - z) + f
        return np.concatenate([[-np.log(100) * x], z, pull]) / 0.8

    s, dt = np.array([1.0, 0, 0, 0, 0]), 0.8 / 2000
    for _ in range(2000):
        k1 = rates(s)
        k2 = rates(s + dt / 2 * k1)
        k3 = rates(s + dt / 2 * k2)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rates(s + dt * k3))
    assert y[-1] == pytest.approx(s[1:3], abs=1e-7)


def test_another_goal_scales_the_motion_and_another_duration_its_time() -> None:
    t = np.linspace(0, 0.8, 201)
    block = Primitive(reach(t)[:, 0], t)
    usual, far = run_of(block, 0.8), run_of(block, 2.0, goal_0=-3.0, duration=2.0)
    at = np.linspace(0, 0.79, 20)
    one = np.interp(at, usual.times, usual["primitive.y[0]"])
    other = np.interp(at * 2.5, far.times, far["primitive.y[0]"])
    assert other == pytest.approx(-3 * one, abs=2e-3)
    last = run_of(block, 4.0, goal_0=-3.0, duration=2.0).final
    assert last["primitive.y[0]"] == pytest.approx(-3.0, abs=1e-3)


def wave(t: Array) -> Array:
    """Two periods of something that is not a sine."""
    return 0.5 + np.sin(2 * np.pi * t / 0.6) + 0.4 * np.cos(4 * np.pi * t / 0.6 + 1)


def test_a_rhythm_is_repeated_without_end_and_comes_back_after_a_push() -> None:
    t = np.linspace(0, 1.2, 601)
    block = Primitive(wave(t), t, rhythmic=True, period=0.6, bases=40)
    run = run_of(block, 3.0)
    assert np.abs(run["primitive.y[0]"] - wave(run.times)).max() < 0.03
    pushed = run_of(block, 3.0, {"primitive.y0_0": 2.0})
    late = pushed.times > 1.0
    assert np.abs(pushed["primitive.y[0]"] - wave(pushed.times))[0] > 1
    assert np.abs(pushed["primitive.y[0]"] - wave(pushed.times))[late].max() < 0.03
    small = run_of(block, 3.0, amplitude=0.5)
    late = small.times > 1.0
    half = (wave(small.times) - 0.5) / 2 + 0.5
    assert np.abs(small["primitive.y[0]"] - half)[late].max() < 0.03


def test_it_moves_a_robot_in_a_system_from_its_recording() -> None:
    """A recording of a swing is fitted, and drives a servo at its rate."""
    recording = lw.simulate("pendulum", 1.0, initial={"phi": 0.5})
    block = Primitive(recording["phi"], recording.times)
    m = lw.load("pendulum")
    s = lw.System(m, base=500)
    member = s.add(block)
    motor = lw.Element("motor", m)
    tau = motor.input("tau")
    motor.effort("torque", "phi", tau)
    servo = s.add(motor)
    s.connect(f"400*({member.y[0]} - phi) + 40*({member.yd[0]} - phi_dot)", servo.tau)
    run = lw.simulate(s, 1.0, initial={"phi": 0.5})
    assert np.abs(run["phi"] - np.interp(run.times, recording.times, recording["phi"])).max() < 0.1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"times": [0.0, 1.0]}, "5 times"),
        ({"times": np.zeros(9)}, "not after"),
        ({"positions": np.full(9, np.nan)}, "not finite"),
        ({"bases": 1}, "2 or more"),
        ({"damping": 0.0}, "above 0"),
        ({"period": 0.5}, "rhythmic"),
    ],
)
def test_what_cannot_be_fitted_is_said(change: dict[str, Any], word: str) -> None:
    given = {"positions": np.linspace(0, 1, 9), "times": np.linspace(0, 1, 9)}
    with pytest.raises(InputError, match=word):
        Primitive(**{**given, **change})
