"""Tuning: measures of steps, sweeps, relays and gains, against what is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.linear.gains import RULES, ProposedGains, best_gains, gains_at, propose_gains
from linkwright.linear.relays import relay_experiment
from linkwright.linear.responses import FrequencyResponse
from linkwright.linear.tuning import (
    UltimatePoint,
    fit_sine,
    measure_margins,
    measure_response,
    open_loop,
    step_measures,
    ultimate_point,
)

Array = NDArray[np.float64]


def servo(kp: float, *, lag: float = 0.05) -> lw.System:
    """A motor 1/(s (s + 1)) behind a lag, with a gain: L = kp / (s (s + 1) (lag s + 1))."""
    b = lw.Block("motor")
    u = b.input("u")
    amplifier = b.state("amplifier")
    b.derivative(amplifier, (u - amplifier) / lag)
    speed = b.state("speed")
    b.derivative(speed, amplifier - speed)
    b.output("y", b.state("place", speed))
    s = lw.System(name="servo")
    motor = s.add(b)
    s.connect(-kp * motor.y, motor.u)
    return s


@pytest.mark.parametrize("damping", [0.2, 0.5, 0.8])
def test_measures_are_those_of_a_second_order_lag(damping: float) -> None:
    """Overshoot exp(-pi z / sqrt(1 - z^2)), peak at pi / wd, settling below its envelope."""
    w = 4.0
    wd = w * math.sqrt(1 - damping**2)
    t = np.linspace(0, 20, 20001)
    phase = math.acos(damping)
    y = 3 + 2 * (1 - np.exp(-damping * w * t) * np.sin(wd * t + phase) / math.sin(phase))
    found = step_measures(t, y, goal=5.0)
    assert found.overshoot == pytest.approx(
        math.exp(-math.pi * damping / math.sqrt(1 - damping**2)), rel=1e-4
    )
    assert found.peak == pytest.approx(math.pi / wd, abs=2e-3)
    envelope = -math.log(0.02 * math.sin(phase)) / (damping * w)
    assert 0.5 * envelope < found.settling <= envelope
    late = step_measures(t + 7.0, y, goal=5.0, at=7.0)
    assert (late.rise, late.settling) == pytest.approx((found.rise, found.settling), abs=1e-9)
    assert step_measures(t, -y, goal=-5.0).overshoot == pytest.approx(found.overshoot)


def test_a_response_that_does_not_get_there_says_so() -> None:
    t = np.linspace(0, 1, 100)
    found = step_measures(t, 1 - np.exp(-t / 5), goal=1.0)
    assert math.isnan(found.rise)
    assert math.isnan(found.settling)
    assert found.error == pytest.approx(-0.83, abs=0.02)


def test_sines_are_found_in_samples_that_are_missing() -> None:
    draw = np.random.default_rng(1)
    t = np.sort(draw.choice(np.arange(0, 10, 0.001), 800, replace=False))
    y = 3 - 0.2 * t + 0.5 * np.sin(7 * t - 1.1)
    c = fit_sine(t, y, 7.0)
    assert abs(c) == pytest.approx(0.5, abs=1e-9)
    assert np.angle(c) == pytest.approx(-1.1, abs=1e-9)
    g = measure_response(t, np.sin(7 * t), y, 7.0)
    assert g == pytest.approx(c, abs=1e-9)


def test_measured_margins_are_those_of_the_model() -> None:
    loop = lw.linear.cut_loop(servo(5.0), "motor.u")
    exact = loop.margins()
    measured = measure_margins(loop.response(np.geomspace(0.1, 300, 300)))
    for name in ("gain", "phase", "delay", "modulus", "gain_frequency", "phase_frequency"):
        assert getattr(measured, name) == pytest.approx(getattr(exact, name), rel=2e-3), name
    w = np.geomspace(0.1, 300, 300)
    closed = loop.complementary(w)
    assert open_loop(closed).values == pytest.approx(loop.response(w).values, rel=1e-9)


def test_a_relay_finds_the_ultimate_point_of_a_loop() -> None:
    """L = 1/(s (s + 1) (0.05 s + 1)): half a turn at sqrt(1/0.05), where harmonics allow it."""
    point = relay_experiment(servo(1.0), "motor.u", 0.7).point
    w = point.frequency
    assert w == pytest.approx(math.sqrt(20.0), rel=0.08)
    assert point.gain == pytest.approx(abs(1j * w * (1j * w + 1) * (0.05j * w + 1)), rel=2e-3)
    assert point.spread < 0.02
    twice = relay_experiment(servo(2.0), "motor.u", 0.7).point
    assert twice.gain == pytest.approx(point.gain / 2, rel=1e-6)


def test_a_loop_that_lags_less_has_no_ultimate_point() -> None:
    b = lw.Block("lag")
    u = b.input("u")
    x = b.state("x")
    b.derivative(x, u - x)
    b.output("y", x)
    s = lw.System(name="s")
    s.connect(-1 * s.add(b).y, "lag.u")
    with pytest.raises(lw.Error, match="never lags"):
        relay_experiment(s, "lag.u", 1.0)


@pytest.mark.parametrize("rule", [*RULES, "phase-margin"])
@pytest.mark.parametrize("kind", ["P", "PI", "PD", "PID"])
def test_every_rule_gives_a_loop_that_is_stable(rule: str, kind: str) -> None:
    """On 1/(s + 1)^3, whose ultimate gain is 8 and whose period is 2 pi / sqrt(3)."""
    point = UltimatePoint(8.0, 2 * math.pi / math.sqrt(3))
    try:
        gains = propose_gains(point, kind, rule)
    except lw.InputError:
        assert rule == "phase-margin" or kind not in RULES[rule][1]
        return
    assert gains.source
    w = np.geomspace(0.01, 100, 4000)
    loop = FrequencyResponse(w, gains.response(w) / (1j * w + 1) ** 3, "e", "y")
    found = measure_margins(loop)
    assert found.gain > 1.5
    assert found.degrees > 10
    assert found.modulus > 0.2


def test_gains_put_the_crossover_where_it_was_asked() -> None:
    w = np.geomspace(0.5, 500, 400)
    plant = FrequencyResponse(w, np.exp(-0.004j * w) / (1j * w * (1j * w + 2)), "tau", "q")
    gains = gains_at(plant, 40.0, margin=math.radians(50.0))
    found = measure_margins(FrequencyResponse(w, plant.values * gains.response(w), "e", "q"))
    assert found.phase_frequency == pytest.approx(40.0, rel=1e-3)
    assert found.degrees == pytest.approx(50.0, abs=0.1)
    best = best_gains(plant, margin=math.radians(50.0))
    fast = measure_margins(FrequencyResponse(w, plant.values * best.response(w), "e", "q"))
    assert fast.phase_frequency > 40.0
    assert fast.modulus > 0.59
    velocity = FrequencyResponse(w, np.exp(-0.004j * w) / (1j * w + 2), "tau", "u")
    pi = gains_at(velocity, 60.0, kind="PI", margin=math.radians(60.0))
    again = measure_margins(FrequencyResponse(w, velocity.values * pi.response(w), "e", "u"))
    assert again.degrees == pytest.approx(60.0, abs=0.1)
    assert 0 < pi.ti < math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: step_measures([0, 1], [0, 1]), "at least 5"),
        (lambda: step_measures(np.arange(9), np.ones(9)), "not a step"),
        (lambda: step_measures([0, 0, 1, 2, 3], [1, 2, 3, 4, 5]), "rise"),
        (lambda: step_measures("abc", [1]), "numbers"),
        (lambda: fit_sine(np.arange(9) / 100, np.ones(9), 1.0), "too few"),
        (lambda: measure_response(np.arange(99) / 9, np.zeros(99), np.ones(99), 3), "nothing"),
        (lambda: ultimate_point(np.arange(9), np.ones(9), np.ones(9)), "switched"),
        (lambda: propose_gains(UltimatePoint(1, 1), "PI", "ziegler"), "did you mean"),
        (lambda: propose_gains(UltimatePoint(1, 1), "PI"), "forward"),
        (lambda: propose_gains(UltimatePoint(1, 1), margin=60.0), "are in rad"),
        (lambda: propose_gains(UltimatePoint(1, 1), "PD", "tyreus-luyben"), "it has PI, PID"),
    ],
)
def test_what_cannot_be_measured_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(lw.Error, match=message):
        call()


def test_gains_have_their_usual_forms() -> None:
    gains = ProposedGains(2.0, ti=0.5, td=0.1)
    assert (gains.ki, gains.kd) == (4.0, 0.2)
    assert gains.response([2.0])[0] == pytest.approx(2.0 + 4.0 / 2j + 0.2 * 2j)
