"""What an axis does with its switches, laws, limits and parts, against what each should be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.blocks import Block, BlockError, Delay
from linkwright.control import (
    PID,
    AxisController,
    LeadLag,
    StateSpace,
    TransferFunction,
    integer_coefficients,
)
from linkwright.control.axis import (
    AxisCoefficients,
    AxisError,
    AxisMode,
    axis_coefficients,
    notch_coefficients,
)
from linkwright.control.axis.codes import DAC_SCALE
from linkwright.control.pid import PidGains
from tests.control.test_axis_controller import Player
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")

Array = NDArray[np.float64]
T = 0.001


def played(
    start: dict[str, Any], integers: bool = True, also: tuple[str, ...] = (), **rows: Any
) -> dict[str, Array]:
    """Run one axis with rows of its inputs, and return what came out."""
    given = {"enable": 1.0} | start
    block = AxisController(["a"], integers=integers, start=given, also=also, rate=1000)
    table = {
        key: np.asarray(value, dtype=float).reshape(-1, *block.inputs[key].shape)
        for key, value in rows.items()
    }
    found = Player(block, table).run()
    return {key.removesuffix("[0]"): values for key, values in found.items()}


def test_the_integer_recursion_is_the_float_filter_within_quantization() -> None:
    """Check 8. Each truncation is off by less than 1, and the recursion adds them up."""
    e = np.random.default_rng(8).integers(-1000, 1001, 10_000)
    a, b = [70.0, -90.0, 25.0], [64.0, -80.0, 30.0]
    start = dict(zip(("a0", "a1", "a2", "b0", "b1", "b2"), (*a, *b), strict=True))
    start |= {"mode": AxisMode.POS, "zerofb": 1.0, "ilimmax": 1e6}
    found = played(start, demand=e)["current"]
    exact = signal.lfilter(a, b, e)
    ringing = signal.lfilter([1.0], np.array(b) / b[0], np.eye(1, 400)[0])
    assert np.abs(found - np.clip(exact, -DAC_SCALE, DAC_SCALE)).max() <= np.abs(ringing).sum()
    assert np.abs(found).max() > 1500
    assert np.abs(found - exact).max() > 0.5  # it does truncate


def test_the_derivative_is_exact_for_ramps_and_quadratics() -> None:
    """Check 9."""
    k = np.arange(40)
    for place, slope in ((7 * k - 50, 7 + 0 * k), (3 * k**2 - 40 * k, 6 * k - 40)):
        found = played({}, encoder=place % 65536)
        assert np.array_equal(found["encnow"], place)
        assert np.array_equal(found["vel"][2:], slope[2:])
    t = T * k
    found = played({}, integers=False, encoder=2 - 3 * t + 5 * t**2)
    assert np.allclose(found["vel"][2:], (10 * t - 3)[2:], rtol=0, atol=1e-12)


def motor(k: float, inertia: float, friction: float, load: float = 0.0) -> Block:
    """Return a motor k/(s(Js + B)) with a constant load."""
    block = Block("motor")
    i = block.input("i")
    w = block.state("w")
    block.derivative(w, (k * i - friction * w - load) / inertia)
    block.state("angle", w)
    return block


def closed(controller: AxisController, plant: Block, demand: float, counts: bool) -> lw.System:
    """Return an axis and its motor."""
    s = lw.System(name="rig")
    axes, driven = s.add(controller, name="axes", rate=1000), s.add(plant)
    s.connect(axes.current[0], driven.i)
    s.connect("floor(motor.angle)" if counts else driven.angle, axes.encoder[0])
    s.connect(demand, axes.demand[0])
    return s


def test_a_pd_servo_of_position_settles() -> None:
    """Check 10, in integers and in SI."""
    start: dict[str, Any] = {"mode": AxisMode.POS, "enable": 1.0}
    start |= {"a0": 440.0, "a1": -400.0, "b0": 20.0}  # 2 and 0.02 s, times 20
    whole = AxisController(["a"], integers=True, start=start)
    run = lw.simulate(closed(whole, motor(2000.0, 1.0, 20.0), 3000.0, True), until=1.0)
    assert abs(run.final["motor.angle"] - 3000) < 2
    assert run["motor.angle"].max() < 3600
    real = AxisController(["a"], kp=8.0, kd=0.4, rate=1000)
    run = lw.simulate(closed(real, motor(0.5, 0.01, 0.02), 0.5, False), until=1.0)
    assert run.final["motor.angle"] == pytest.approx(0.5, abs=1e-3)


def test_a_limited_servo_goes_the_right_way_and_does_not_wind_up() -> None:
    """What the limit cuts off at the first step is neither lost at once nor kept for ever."""
    real = AxisController(["a"], kp=8.0, ki=40.0, kd=0.4, full_scale=2.0, rate=1000)
    run = lw.simulate(closed(real, motor(0.5, 0.01, 0.02), 2.0, False), until=2.0)
    angle = run["motor.angle"]
    assert angle.min() > -1e-9
    assert angle.max() < 2.3
    assert angle[-1] == pytest.approx(2.0, abs=0.02)


def test_a_pi_servo_of_speed_has_no_steady_error() -> None:
    """Check 10, in integers and in SI, against a load."""
    start: dict[str, Any] = {"mode": AxisMode.VEL, "enable": 1.0}
    start |= {"a0": 410.0, "a1": -390.0, "b0": 40.0, "b1": -40.0}
    whole = AxisController(["a"], integers=True, start=start)
    run = lw.simulate(
        closed(whole, motor(5000.0, 1.0, 20.0, load=4e5), 30.0, True), until=2.0, record=None
    )
    assert run.final["motor.w"] == pytest.approx(30_000, rel=0.02)
    real = AxisController(["a"], kp=0.2, ki=4.0, start={"mode": AxisMode.VEL}, rate=1000)
    run = lw.simulate(closed(real, motor(0.5, 0.01, 0.02, load=0.3), 4.0, False), until=3.0)
    assert run.final["motor.w"] == pytest.approx(4.0, abs=1e-6)


def test_without_feedback_it_is_a_filter_from_converter_to_converter() -> None:
    """Check 11."""
    x = np.random.default_rng(11).uniform(-2, 2, 400)
    law = axis_coefficients(TransferFunction([40.0], [1.0, 9.0, 40.0]), period=T)
    start = {key: getattr(law, key) for key in ("a0", "a1", "a2", "b0", "b1", "b2")}
    start |= {"zerofb": 1.0, "addmd": 1.0, "adc_a": 3.0, "adc_b": -0.5}
    found = played(start, integers=False, adc=x)
    wanted = signal.lfilter([law.a0, law.a1, law.a2], [law.b0, law.b1, law.b2], 3 * x - 0.5)
    assert np.allclose(found["current"], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("limit", [2047.0, 5000.0])
def test_torque_mode_passes_the_set_point_clipped_at_full_scale(limit: float) -> None:
    """Check 12."""
    demand = np.array([0, 5, -5, 1500, 3000, -3000, 2047, -2048])
    start = {"mode": AxisMode.TORQ, "ilim": limit, "a0": 7.0, "a1": 3.0}
    found = played(start, demand=demand, encoder=np.arange(8) * 100)
    assert found["current"].tolist() == [0, 5, -5, 1500, 2047, -2047, 2047, -2047]


@pytest.mark.parametrize("most", [0, 1, 4])
def test_overcurrent_trips_after_one_sample_more_than_allowed(most: int) -> None:
    """Check 13. Samples in a row count; with 0 it clips and says nothing."""
    demand = np.array([300] * most + [100] + [300] * 12)
    start = {"mode": AxisMode.TORQ, "ilim": 200.0, "ilimmax": float(most)}
    found = played(start, demand=demand)
    if not most:
        assert found["current"].tolist() == [100] + [200] * 12
        assert found["errors"][-1] == 0
        return
    tripped = 1 + most + most  # the first row that is one too many
    assert (found["current"][:tripped] == demand[:tripped]).all()
    assert (found["current"][tripped:] == 0).all()
    assert np.flatnonzero(np.diff(found["errors"])).tolist() == [tripped - 1]
    assert found["last_error"][-1] == AxisError.ILIM


@pytest.mark.parametrize("reverse", [1, -1])
def test_coulomb_friction_is_compensated_in_the_direction_of_motion(reverse: int) -> None:
    """Check 18. Both currents are negative where the encoder is reversed."""
    start = {"mode": AxisMode.TORQ, "coulcomp": 1.0, "ic_pos": 30.0 * reverse}
    start |= {"ic_neg": 50.0 * reverse}
    still = np.zeros(6)
    for motion, push, more in (
        (8, 100, 30 * reverse), (8, -100, 30 * reverse), (-8, 100, -50 * reverse),
        (0, 100, 30 if reverse > 0 else 50), (0, -100, -50 if reverse > 0 else -30), (0, 0, 0),
    ):  # fmt: skip
        found = played(start, encoder=(still + motion * np.arange(6)) % 65536, demand=still + push)
        assert found["current"][-1] == push + more, (motion, push)
        if not motion and push:  # what is added helps the push, and is that of the coming motion
            assert more * push > 0


def test_panic_goes_from_one_controller_to_another_a_tick_later() -> None:
    """Check 16: the lines of several controllers are one, with a delay of a tick in between."""
    s = lw.System(name="cell")
    arms = [
        s.add(
            AxisController(["x"], start={"mode": AxisMode.TORQ, "offset": 2.0}), name=n, rate=1000
        )
        for n in ("left", "right")
    ]
    late = [s.add(Delay(1, name=f"late_{a.name}"), rate=1000) for a in arms]
    for arm, line, other in zip(arms, late, reversed(late), strict=True):
        s.connect(arm.panic, line.u)
        s.connect(other.y, arm.panic_line)
    s.connect("t >= 0.01", arms[0].button)
    run = lw.simulate(s, until=0.02, every=1)
    for name, last in (("left", 9), ("right", 10)):
        assert np.flatnonzero(run[f"{name}.current[0]"]).tolist() == list(range(last + 1))


# -- parts of the SI form --------------------------------------------------------------------------
def test_a_number_that_is_none_stops_the_axes_and_leaves_no_trace() -> None:
    place = np.full(30, 0.1)
    place[10:12] = [math.nan, math.inf]
    clear = np.zeros(30)
    clear[20:] = 1
    enable = np.ones(30)
    enable[18:20] = 0
    found = played({"a0": 2.0, "ilim": 9.0}, False, encoder=place, clear=clear, enable=enable)
    assert found["last_error"][10] == AxisError.RANGE
    assert (found["current"][10:20] == 0).all()
    assert np.isfinite(found["current"]).all()
    assert found["current"][20:] == pytest.approx(-0.2)
    assert found["brake"][[9, 10, 19, 20]].tolist() == [0, 1, 1, 0]


def test_a_following_error_that_is_too_large_trips() -> None:
    demand = np.concatenate([np.full(5, 0.05), np.full(10, 0.3)])
    found = played({"following": 0.1}, False, demand=demand)
    assert found["errors"].tolist() == [0] * 5 + [1] * 10
    assert found["last_error"][-1] == AxisError.FOLLOW
    assert (found["current"][5:] == 0).all()


def test_heat_adds_up_above_the_rated_current() -> None:
    """5 A for t with 3 A rated: 16 t; the trip comes a sample after 16 t > 0.39."""
    start = {"mode": AxisMode.TORQ, "rated": 3.0, "overload": 0.39}
    found = played(start, False, demand=np.full(40, 5.0))
    first = int(np.flatnonzero(found["errors"])[0])
    assert first == 25  # 0.016 a sample, seen a sample late
    assert found["last_error"][-1] == AxisError.HEAT
    low = played(start, False, demand=np.full(400, 3.0))
    assert low["errors"][-1] == 0


def test_brakes_have_their_times() -> None:
    enable = np.array([0] * 3 + [1] * 20 + [0] * 20)
    start = {"mode": AxisMode.TORQ, "release": 0.006, "engage": 0.004}
    found = played(start, False, enable=enable, demand=np.full(43, 2.0))
    assert np.flatnonzero(np.diff(found["brake"])).tolist() == [2, 22]
    assert np.flatnonzero(np.diff(found["ready"])).tolist() == [8, 22]
    assert np.flatnonzero(np.diff(found["current"])).tolist() == [2, 26]  # held while they close
    panic = np.zeros(43)
    panic[10:] = 1
    hard = played(start, False, enable=enable, demand=np.full(43, 2.0), button=panic)
    assert (hard["current"][10:] == 0).all()


@pytest.mark.parametrize("mode", [AxisMode.POS, AxisMode.VEL])
def test_the_demand_brakes_before_its_limits(mode: AxisMode) -> None:
    """The demand is followed exactly, and no faster than the deceleration allows."""
    a, top = 40.0, 2.0
    start = {"mode": mode, "highest": top, "lowest": -top, "deceleration": a}
    block = AxisController(["a"], start=start | {"a0": 1.0, "ilim": 1e9}, full_scale=1e9, rate=1000)
    s = lw.System(name="rig")
    axes = s.add(block, name="axes", rate=1000)
    follow = Block("follow")
    place = follow.discrete_state("place")
    error = follow.input("error")
    follow.update(place, place + (error * T if mode == AxisMode.VEL else error))
    follow.output("y", place)
    driven = s.add(follow, rate=1000)
    s.connect(axes.error[0] + (axes.vel[0] if mode == AxisMode.VEL else 0), driven.error)
    s.connect(driven.y, axes.encoder[0])
    s.connect("8*t" if mode == AxisMode.POS else "8", axes.demand[0])
    run = lw.simulate(s, until=1.0, every=1)
    places = run["axes.fbnow[0]"]
    assert top - 0.02 < places[-1] <= top + 1e-9
    assert places.max() <= top + (1e-9 if mode == AxisMode.POS else 0.02)
    speed = np.diff(places) / T
    assert speed.max() == pytest.approx(8.0, rel=1e-6)
    slowing = np.diff(speed)[np.abs(speed[1:]) > 0.2] / T
    assert slowing.min() > -1.3 * a


def test_an_axis_creeps_home_and_takes_its_place_there() -> None:
    start = {"mode": AxisMode.HOME, "home_speed": -0.5, "home_place": 0.25, "a0": 3.0}
    block = AxisController(["a"], start=start, also=("home",), rate=1000)
    s = lw.System(name="rig")
    axes = s.add(block, name="axes", rate=1000)
    shaft = Block("shaft")
    i = shaft.input("i")
    w = shaft.state("w")
    shaft.derivative(w, 300 * i - 60 * w)
    shaft.state("angle", w, 1.0)
    driven = s.add(shaft)
    s.connect(axes.current[0], driven.i)
    s.connect(driven.angle, axes.encoder[0])
    s.connect("shaft.angle < 0.9", axes.switch[0])
    run = lw.simulate(s, until=2.0, every=1)
    homed = run["axes.homed[0]"]
    first = int(np.flatnonzero(homed)[0])
    assert run["shaft.angle"][first] == pytest.approx(0.9, abs=2e-3)
    assert run["axes.fbnow[0]"][-1] == pytest.approx(0.25, abs=1e-3)
    assert run.final["shaft.angle"] == pytest.approx(0.9, abs=5e-3)
    assert np.abs(np.diff(run["axes.vel[0]"][5:])).max() < 0.3  # setting the place is no motion


def test_feed_forward_adds_what_speed_and_acceleration_need() -> None:
    found = played(
        {"kv": 2.0, "ka": 0.5}, False, demand_rate=[0, 1, 1], demand_acceleration=[0, 0, 4]
    )
    assert found["current"].tolist() == [0, 2, 4]


def test_a_notch_takes_its_frequency_out_of_the_current() -> None:
    given = notch_coefficients(60.0, period=T, width=0.5, depth=0.1)
    t = T * np.arange(1500)
    start = {"mode": AxisMode.TORQ} | given
    inside, outside = (
        played(start, False, demand=np.sin(2 * np.pi * f * t))["current"][-500:] for f in (60, 2)
    )
    assert np.ptp(inside) / 2 == pytest.approx(0.1, rel=0.02)
    assert np.ptp(outside) / 2 == pytest.approx(1.0, rel=0.02)
    _, h = signal.freqz(
        [given[k] for k in ("n0", "n1", "n2")], [1, given["d1"], given["d2"]], [0.0]
    )
    assert h[0] == pytest.approx(1.0)


# -- laws as coefficients --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("law", "top", "bottom"),
    [
        (PID(2.0, ki=3.0, kd=0.1, filter=50.0), [7.0, 103.0, 150.0], [1.0, 50.0, 0.0]),
        (PidGains(2.0, ki=3.0), [2.0, 3.0], [1.0, 0.0]),
        (LeadLag(zero=4.0, pole=40.0, gain=3.0), [3 / 4, 3.0], [1 / 40, 1.0]),
        (TransferFunction([5.0], [1.0, 2.0, 9.0]), [5.0], [1.0, 2.0, 9.0]),
        (StateSpace([[-3.0]], [[2.0]], [[1.0]], [[0.5]]), [0.5, 3.5], [1.0, 3.0]),
    ],
)
def test_a_law_keeps_its_response_as_coefficients(law: Any, top: Any, bottom: Any) -> None:
    """By the bilinear rule, z = e^(jwT) stands for s = (2j/T) tan(wT/2)."""
    found = axis_coefficients(law, period=0.002)
    w = np.array([3.0, 40.0, 200.0])
    z = np.exp(1j * w * 0.002)
    s = 2j / 0.002 * np.tan(w * 0.002 / 2)
    upper = np.polyval([found.a0, found.a1, found.a2], z)
    lower = np.polyval([found.b0, found.b1, found.b2], z)
    assert np.allclose(upper / lower, np.polyval(top, s) / np.polyval(bottom, s), rtol=1e-9)


def test_rounding_keeps_an_integral_and_tells_what_it_does_to_poles() -> None:
    law = PID(2.0, ki=3.0, kd=0.05, filter=80.0)
    rough, fine = (integer_coefficients(law, period=0.002, most=m) for m in (64, 2**20))
    for found in (rough, fine):
        values = list(found.start.values())
        assert all(v == int(v) for v in values)
        assert sum(values[3:]) == 0  # the pole at 1
        assert found.whole.poles[0] == pytest.approx(1.0, abs=1e-12)
    assert 1e-4 < rough.moved < 0.2
    assert fine.moved < 1e-5
    assert "becomes" in str(rough)
    with pytest.raises(BlockError, match="do not fit"):
        integer_coefficients(AxisCoefficients(5000.0), period=0.001, most=1000)
    with pytest.raises(BlockError, match="second order"):
        axis_coefficients(TransferFunction([1.0], [1.0, 1.0, 1.0, 1.0]), period=0.001)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"names": []}, "1 to 16"),
        ({"names": ["a", "a"]}, "different"),
        ({"names": ["a"], "start": {"b0": 0}}, "b0"),
        ({"names": ["a"], "start": {"demnd": 0}}, "'demand'"),
        ({"names": ["a"], "start": {"mode": 9}}, "AxisMode"),
        ({"names": ["a"], "start": {"clkdivisor": 0}}, "clkdivisor"),
        ({"names": ["a"], "integers": True, "start": {"a0": 0.5}}, "whole"),
        ({"names": ["a"], "integers": True, "start": {"following": 1}}, "integers"),
        ({"names": ["a"], "integers": True, "kp": 1.0, "rate": 500}, "SI"),
        ({"names": ["a"], "kp": 1.0}, "rate"),
        ({"names": ["a"], "also": ["wings"]}, "following"),
        ({"names": ["a"], "start": {"leds": 1}}, "integers=True"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(BlockError, match=told):
        AxisController(**arguments)
