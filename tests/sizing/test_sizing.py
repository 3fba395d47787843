"""Sizing of drives: averages, temperatures, life, and the choice itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwright as lw
from linkwright.sizing import JointCycle, read_catalog, size
from linkwright.sizing.bus import _run
from linkwright.sizing.choice import UnsizedError
from linkwright.sizing.life import average_torque, bearing_life, gear_life
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.pairs import Demands, Pairs, judge
from linkwright.sizing.thermal import ThermalNetwork, periodic
from tests.seeds import seeds

GENERIC = read_catalog("generic")


def swing(torque: float = 12.0, samples: int = 201, name: str = "elbow") -> JointCycle:
    """A joint that swings, and lifts a load."""
    t = np.linspace(0.0, 2.0, samples)
    angle = np.pi * t
    speed, acceleration = 2.0 * np.sin(angle), 2.0 * np.pi * np.cos(angle)
    position = -2.0 / np.pi * np.cos(angle)
    return JointCycle(name, "revolute", t, position, speed, acceleration, torque + acceleration)


def test_average_torque_is_weighted_by_speed_and_time() -> None:
    torque, speed, time = np.array([150, 82, 130, 0]), np.array([10, 20, 10, 0]), [0.2, 3, 0.3, 0.2]
    assert average_torque(torque, speed, np.array(time)) == pytest.approx(89.39, abs=0.005)
    assert average_torque(torque, np.ones(4), np.array(time)) == pytest.approx(93.1, abs=1.0)


def test_life_of_a_gear_falls_with_the_cube_of_torque() -> None:
    assert gear_life(7000, 100, 2000, 200, 500) == pytest.approx(7000 / 8 * 4)
    assert gear_life(7000, 100, 2000, 0, 500) == math.inf


def test_periodic_temperature_is_that_of_500_simulated_cycles() -> None:
    """Runge and Kutta's steps against (I - P)^-1 in closed form."""
    motor = GENERIC.motor["servo-200w"].model_copy(
        update={"winding": (1.2, 25.0), "housing": (2.0, 300.0)}
    )
    durations, squares = np.array([6.0, 2.0, 4.0]), np.array([[3.0, 9.0, 0.0]])
    friction = np.array([[0.5, 0.0, 2.0]])
    found = periodic(ThermalNetwork.of([motor]), durations, squares, friction, 40.0)
    cw, ch = 25.0 / 1.2, 300.0 / 2.0

    def rate(x: np.ndarray, k: int) -> np.ndarray:
        loss = motor.R * (1.0 + motor.alpha * (x[0] - 20.0)) * squares[0, k]
        across = (x[0] - x[1]) / 1.2
        return np.array(
            [(loss - across) / cw, (friction[0, k] + across - (x[1] - 40.0) / 2.0) / ch]
        )

    x = np.array([40.0, 40.0])
    path: list[np.ndarray] = []
    for _ in range(500):
        path = [x]
        for k, whole in enumerate(durations):
            h = whole / 4
            for _ in range(4):
                a = rate(x, k)
                b = rate(x + 0.5 * h * a, k)
                c = rate(x + 0.5 * h * b, k)
                x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c, k))
            path.append(x)
    assert_allclose(found.winding[0], [p[0] for p in path], rtol=1e-6)
    assert_allclose(found.housing[0], [p[1] for p in path], rtol=1e-6)


def test_a_winding_whose_resistance_outgrows_its_cooling_runs_away() -> None:
    motor = GENERIC.motor["servo-200w"]
    much = np.full((1, 1), 1.0 / (motor.R * motor.alpha * 3.2) * 1.05)
    found = periodic(ThermalNetwork.of([motor]), np.ones(1), much, np.zeros((1, 1)), 40.0)
    assert found.runs_away[0]
    assert np.isinf(found.winding).all()


def shaft_torque(cycle: JointCycle, motor: str, gear: str, brake: float) -> np.ndarray:
    """The torque at the motor, sample by sample, as a person would write it down."""
    m, g = GENERIC.motor[motor], GENERIC.gear[gear]
    n, found = g.reduction, []
    for t, w, a in zip(cycle.torque, cycle.speed, cycle.acceleration, strict=True):
        if t * w > 0:
            through = t / (n * g.efficiency)
        elif t * w < 0:
            through = t * g.efficiency / n
        else:
            through = t / n
        friction = math.copysign(m.friction + g.no_load, w) if w else 0.0
        found.append(through + (m.J + g.J + brake) * n * a + m.damping * n * w + friction)
    return np.array(found)


@pytest.mark.parametrize(
    ("motor", "gear"), [("servo-100w", "strain-20-100"), ("servo-400w", "planet-60-25")]
)
def test_peak_mean_and_voltage_are_those_reckoned_by_hand(motor: str, gear: str) -> None:
    cycle = swing()
    found = size([cycle], supply="supply-320v").why(motor, "elbow", gear)
    m, g = GENERIC.motor[motor], GENERIC.gear[gear]
    torque = shaft_torque(cycle, motor, gear, GENERIC.brake[found.choice.brake].J)
    peak = found["peak torque"]
    assert peak.value == pytest.approx(np.abs(torque).max())
    assert peak.time == pytest.approx(cycle.times[np.argmax(np.abs(torque))])
    a, b = torque[:-1], torque[1:]
    mean = math.sqrt(((a * a + a * b + b * b) / 3 * np.diff(cycle.times)).sum() / 2.0)
    assert found["continuous torque"].value == pytest.approx(mean)
    hot = m.R * (1 + m.alpha * (m.hottest - 20))
    volts = np.abs(hot * torque / m.kt + m.kt * g.reduction * cycle.speed)
    assert found["voltage"].value == pytest.approx(volts.max())
    assert all(v.formula for v in found.verdicts)


def test_while_the_load_drives_the_losses_help_to_brake() -> None:
    """Down with a load: the motor takes T e/n, not T/(n e), or energy would be made."""
    t = np.linspace(0.0, 1.0, 11)
    still = np.zeros(11)
    down = JointCycle("j", "revolute", t, -t, still - 1.0, still, still + 20.0)
    up = JointCycle("j", "revolute", t, t, still + 1.0, still, still + 20.0)
    pairs = Pairs(("servo-200w",), ("strain-25-100",), GENERIC)
    terms = Demands(20_000, 40.0, 320.0, brakes=False)
    lifted, lowered = (judge(JointLoad(c), pairs, terms).energy[0] for c in (up, down))
    gear, motor = GENERIC.gear["strain-25-100"], GENERIC.motor["servo-200w"]
    assert lifted > 20.0 / gear.efficiency
    assert lowered > -20.0 * gear.efficiency
    rubbed = 100.0 * (motor.friction + gear.no_load) + motor.damping * 100.0**2
    hot = motor.R * (1 + motor.alpha * (motor.hottest - 20))
    i = (20.0 * gear.efficiency / 100.0 - rubbed / 100.0) / motor.kt
    assert lowered == pytest.approx(hot * i**2 - 20.0 * gear.efficiency + rubbed)


def test_a_cycle_longer_than_the_winding_is_judged_by_temperature_not_by_rms() -> None:
    """The same RMS torque: harmless in short pulses, too hot in long ones."""

    def pulses(period: float) -> JointCycle:
        t = np.array([0.0, 0.1, 0.1 + 1e-9, 1.0]) * period
        torque = np.array([70.0, 70.0, 0.0, 0.0])
        still = np.zeros(4)
        return JointCycle("j", "revolute", t, still, still, still, torque)

    pairs = Pairs(("servo-100w",), ("strain-25-100",), GENERIC)
    terms = Demands(20_000, 40.0, 320.0, brakes=False)
    short, long = (
        judge(JointLoad(pulses(p)), pairs, terms, exact=True).judgments for p in (1.0, 600.0)
    )
    assert short["continuous torque"].value == pytest.approx(long["continuous torque"].value)
    assert short["winding"].margin > 0.3
    assert long["winding"].margin < 0.0


def test_life_of_crossed_rollers_by_hand() -> None:
    bearing = GENERIC.bearing["crossed-80"]
    t = np.linspace(0.0, 2.0, 101)
    angle = np.sin(np.pi * t)
    force, moment = np.tile([300.0, 400.0, 200.0], (101, 1)), np.tile([0.0, 60.0, 9.0], (101, 1))
    found = bearing_life(bearing, angle, t, force, moment)
    load = (500.0 + 2 * 60.0 / 0.08) + 0.45 * 200.0
    turns = np.abs(np.diff(angle)).sum() / (2 * math.pi)
    assert found.load == pytest.approx(load)
    assert found.hours == pytest.approx(1e6 * (22e3 / load) ** (10 / 3) / turns * 2.0 / 3600)
    assert found.safety == pytest.approx(34e3 / (500 + 1500 + 0.44 * 200))
    assert not found.warning
    assert "false brinelling" in bearing_life(bearing, 0.05 * angle, t, force, moment).warning


def test_drives_that_fit_are_ranked_and_one_that_does_not_says_why() -> None:
    found = size([swing()])
    ranked = found.ranked("elbow", most=100)
    assert [c.mass for c in ranked] == sorted(c.mass for c in ranked)
    assert all(c.fits for c in ranked)
    assert found.chosen["elbow"] == ranked[0]
    weak = found.why("flat-60w", "elbow", "belt-3")
    assert not weak.choice.fits
    assert min(v.margin for v in weak.verdicts) == pytest.approx(weak.choice.margin)
    assert "FAIL" in str(weak)


def test_a_catalog_without_a_fit_says_what_failed_by_how_much_and_the_nearest() -> None:
    said = r"joint 'elbow'.* nearest is servo-1500w with cyclo-120, where .*average torque .*"
    with pytest.raises(UnsizedError, match=said + r"against 500 N\*m.*\[R304\]") as caught:
        size([swing(1500.0), swing(name="wrist")])
    sized = caught.value.sized
    assert list(sized.chosen) == ["wrist"]
    assert sized.chosen["wrist"] == size([swing(name="wrist")], supply=sized.supply).chosen["wrist"]
    assert "wrist" in str(sized)
    assert "average torque" in str(sized.why("servo-1500w", "elbow"))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: size([]), "R301"),
        (lambda: size([swing(), swing()]), "R301"),
        (lambda: size("puma560"), "R301"),
        (lambda: size([swing()], catalog="genric"), "R302"),
        (lambda: size([swing()], order="beauty"), "R305"),
        (lambda: size([swing()], supply="supply-12v"), "R305"),
        (lambda: size([swing()], life=-1), "R311"),
        (lambda: size([swing()], life=math.nan), "R311"),
        (lambda: size([swing()], ambient=500), "R311"),
        (lambda: size([swing()], ambient=-300), "R311"),
        (lambda: size([swing()], inertia_ratio=0), "R311"),
        (lambda: size([swing()]).why("servo-200w", "knee"), "R305"),
        (lambda: size([swing()]).why("servo-201w", "elbow"), "R305"),
    ],
)
def test_wrong_names_are_refused_with_a_number(call: object, code: str) -> None:
    assert callable(call)
    with pytest.raises(lw.InputError) as caught:
        call()
    assert caught.value.code == code


def test_a_long_record_is_judged_as_all_of_its_samples_are() -> None:
    """Peaks from corners of hulls and heat in groups, against every sample of 5,000."""
    rng = np.random.default_rng(7)
    t = np.linspace(0.0, 4.0, 5000)
    speed = 2 * np.sin(2 * t) + np.sin(7 * t) + 0.05 * rng.normal(size=len(t))
    torque = 15 * np.cos(3 * t) + rng.normal(size=len(t))
    acceleration = 4 * np.cos(2 * t) + 7 * np.cos(7 * t)
    load = JointLoad(JointCycle("j", "revolute", t, 0 * t, speed, acceleration, torque))
    assert len(load.extremes) < 2000
    pairs = Pairs.all_of(GENERIC, "revolute", 320.0)
    demands = Demands(20_000, 40.0, 320.0)
    quick, whole = (judge(load, pairs, demands, exact=x).judgments for x in (False, True))
    for name in ("peak torque", "voltage", "continuous torque", "repeated peak"):
        assert_allclose(quick[name].value, whole[name].value, rtol=1e-12)
    seen = ~np.isnan(quick["winding"].value)
    assert seen.any()
    assert_allclose(quick["winding"].value[seen], whole["winding"].value[seen], rtol=1e-3)


def test_the_amplifier_is_of_the_voltage_class_next_above_the_bus() -> None:
    """A motor for 320 V on a bus of 48 V is judged there, and told so."""
    found = size([swing()], supply="supply-48v")
    assert found.chosen["elbow"].amplifier == "amplifier-60v-20a"
    assert "made for 320 V, and judged at the 48 V" in str(found.why("servo-200w", "elbow"))
    own = size([swing()], supply="supply-320v")
    assert own.chosen["elbow"].amplifier == "amplifier-400v-5a"
    assert "judged at" not in str(own.why("servo-200w", "elbow"))


def test_a_joint_that_only_holds_is_judged_by_its_two_extreme_samples() -> None:
    t = np.linspace(0.0, 2.0, 2001)
    still, held = np.zeros(2001), 10.0 * np.sin(3.0 * t) + 2.0
    load = JointLoad(JointCycle("j", "revolute", t, still, still, still, held))
    assert sorted(load.extremes[:, 2]) == [held.min(), held.max()]


def test_the_bus_of_a_cycle_is_that_after_many_of_them() -> None:
    """Capacitors of any size, cycles that take more than they give back, and the other way."""
    supply = next(iter(GENERIC.supply.values()))
    for seed in seeds(40):
        random = np.random.default_rng(seed)
        work = random.normal(size=12) * random.choice([1.0, 30.0]) + random.normal()
        work -= work.mean() * (seed % 5 == 0)  # some are balanced
        farad = 10 ** random.uniform(-4, 0)
        supply = supply.model_copy(update={"capacitance": farad})
        room = 0.5 * farad * (supply.highest**2 - supply.voltage**2)
        stored = 0.0
        for _ in range(3000):
            before, given, spilled = stored, np.zeros(12), np.zeros(12)
            for k, asked in enumerate(work):
                stored -= asked
                given[k], spilled[k] = max(-stored, 0.0), max(stored - room, 0.0)
                stored = min(max(stored, 0.0), room)
            if abs(stored - before) < 1e-12 * room:
                break
        else:
            continue  # a surplus so small that the capacitor still fills
        for found, wanted in zip(_run(work, supply), (given, spilled), strict=True):
            assert_allclose(found, wanted, atol=1e-9 * np.abs(work).sum(), err_msg=str(seed))


def test_a_resistor_is_judged_by_the_surplus_whatever_the_capacitor() -> None:
    t = np.linspace(0, 2, 101)
    speed, rate = 2 * np.sin(np.pi * t), 2 * np.pi * np.cos(np.pi * t)
    load = np.where(t < 1, -120.0, 5.0)  # lowers a load, comes back empty
    cycle = JointCycle("j", "revolute", t, -2 / np.pi * np.cos(np.pi * t), speed, rate, load)
    found = size([cycle], "generic", life=2000, ambient=25, supply="supply-48v")
    assert found.bus is not None
    large = found.catalog.supply["supply-48v"].model_copy(update={"capacitance": 0.5})
    work = 0.5 * (found.bus.power[1:] + found.bus.power[:-1]) * np.diff(t)
    assert _run(work, large)[1].sum() == pytest.approx(-work.sum(), rel=0.2)
