"""Drives on joints of mechanisms, servos beside them, and the physics of their parts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import drives
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.trains import Train
from linkwright.system.controllers import controller_phases
from tests.backends.test_firmware import Firmware
from tests.elements.test_drives import MOTOR, V10, joint
from tests.seeds import cases

GEAR = drives.Elastic(50, stiffness=500, damping=2)
LAG = drives.Lag(10, 1e-3)
SAMPLES = [200, 400, 1000, 2000, 4000]


def links(count: int, locked: bool = False) -> lw.Mechanism:
    """Return a row of links that turn about z, those after the first at fixed angles if locked."""
    m = lw.Mechanism("links")
    body = m.ground
    for k in range(count):
        at = (0.5 if k else 0, 0, 0)
        body = m.body(f"q{k + 1}", parent=body, rotate="z", at=at, mass=0.3, com=(0.25, 0, 0),
                      inertia=(0, 0, 0.02))  # fmt: skip
    for k in range(1, count if locked else 1):
        m.prescribe(f"q{k + 1}", 0.4 * k)
    return m


def felt_inertia(m: lw.Mechanism) -> float:
    """Return the inertia about the first joint with the others locked."""
    total, x, y, angle = 0.0, 0.0, 0.0, 0.0
    for k in range(len(m.coordinates)):
        angle += 0.4 * k
        cx, cy = x + 0.25 * math.cos(angle), y + 0.25 * math.sin(angle)
        total += 0.02 + 0.3 * (cx**2 + cy**2)
        x, y = x + 0.5 * math.cos(angle), y + 0.5 * math.sin(angle)
    return total


# -- on joints -------------------------------------------------------------------------------------
@pytest.mark.parametrize("train", [GEAR, drives.Rigid(50)], ids=["elastic", "rigid"])
def test_an_arm_with_its_other_joints_locked_is_the_single_chain(train: Train) -> None:
    """Check 66: to 1e-9, for an elastic train and for a rigid one, which adds an armature."""
    m = links(3, locked=True)
    s = lw.System(m)
    drive = s.add(drives.Drive(m, "q1", LAG, MOTOR, train, controller=drives.PD(8, 0.02)))
    s.connect(0.5, drive.reference)
    s.set_initial({"q2": 0.4, "q3": 0.8})
    arm = lw.simulate(s, 0.5, tolerance=1e-11, every=1)
    c = lw.System(name="c")
    load = drives.Inertia(felt_inertia(m))
    c.add(drives.Chain(drives.PD(8, 0.02), LAG, MOTOR, train, load, reference=0.5))
    alone = lw.simulate(c, 0.5, tolerance=1e-11, every=1)
    for here, there in (("q1", "load.angle"), ("drive.motor.i", "motor.i")):
        scale = np.abs(alone[f"joint.{there}"]).max()
        np.testing.assert_allclose(arm[here], alone[f"joint.{there}"], atol=1e-9 * scale)


def test_each_joint_of_an_arm_has_its_chain() -> None:
    """Check 66: two links in closed loops, and three."""
    for count in cases((2, 3), daily=(2,)):
        m = links(count)
        s = lw.System(m)
        wanted = [0.5, -0.3, 0.2][:count]
        for k, angle in enumerate(wanted):
            made = drives.Drive(m, f"q{k + 1}", LAG, MOTOR, GEAR, controller=drives.PD(8, 0.02))
            s.connect(angle, s.add(made, name=f"d{k + 1}").reference)
        run = lw.simulate(s, 2.0)
        np.testing.assert_allclose(
            [run.final[f"q{k + 1}"] for k in range(count)], wanted, atol=1e-3
        )


def test_coupled_trains_are_single_ones_without_coupling_and_close_their_ledger_with_it() -> None:
    m = links(2)
    start = {"q1": 0.3, "q2": -0.5}

    def moved(ratios: list[list[float]]) -> lw.Run:
        s = lw.System(m)
        pair = drives.CoupledDrives(m, ["q1", "q2"], ratios, [LAG, LAG], [MOTOR, MOTOR],
                                    [500, 300], [2, 1], ledger=True)  # fmt: skip
        wrist = s.add(pair)
        s.connect("0.5*sin(9*t)", wrist["m1.u"])
        s.connect("0.4*cos(7*t)", wrist["m2.u"])
        s.set_initial(start)
        return lw.simulate(s, 0.5, tolerance=1e-10, every=1)

    apart = moved([[50, 0], [0, 40]])
    s = lw.System(m)
    for k, (ratio, K, B, u) in enumerate(
        ((50, 500, 2, "0.5*sin(9*t)"), (40, 300, 1, "0.4*cos(7*t)")), 1
    ):
        gear = drives.Elastic(ratio, stiffness=K, damping=B)
        s.connect(u, s.add(drives.Drive(m, f"q{k}", LAG, MOTOR, gear), name=f"d{k}").u)
    s.set_initial(start)
    alone = lw.simulate(s, 0.5, tolerance=1e-10, every=1)
    np.testing.assert_allclose(apart["q2"], alone["q2"], atol=1e-8)
    coupled = moved([[50, 0], [-10, 40]])
    assert np.abs(coupled["q2"] - alone["q2"]).max() > 1e-3
    for run in (apart, coupled):
        through = np.trapezoid(np.abs(run["drives.power.supply"]), run.times)
        assert np.ptp(run["drives.energy.missing"]) < 1e-6 * through


def servo_system(servo: drives.Servo) -> lw.System:
    """Return V10 with its load as a body, and a servo at instants."""
    m = lw.Mechanism("v10")
    m.body("load", rotate="z", mass=0, inertia=(0, 0, 0.5))
    s = lw.System(m)
    s.add(lw.elements.Friction(m, "load", viscous=0.1))
    _, member = drives.attach(s, drives.Drive(m, "load", LAG, MOTOR, GEAR), servo)
    s.connect(0.5, member.reference)
    return s


def test_v10_with_a_servo_at_instants_around_a_plant_that_is_integrated() -> None:
    s = servo_system(drives.Servo(drives.PD(8, 0.02), rate=2000, latency=1))
    run = lw.simulate(s, 2.0, every=1)
    np.testing.assert_allclose(run["load"][SAMPLES], V10["exact"], atol=2e-9)


def test_v10_with_the_servo_as_compiled_c(tmp_path: Path) -> None:
    """One tick of the controller as C99, around the exact plant."""
    s = servo_system(drives.Servo(drives.PD(8, 0.02), rate=2000, latency=1))
    done = lw.codegen(s, tmp_path, target="firmware")
    phases = controller_phases(s)
    board = Firmware(tmp_path, done.files[0].stem, phases)
    names = [x.name for x in phases.w]
    found = joint(rate=2000).matrices()
    Phi, drive = found.Phi[1:, 1:], found.Phi[1:, 0]
    x, angles = np.zeros(len(Phi)), [0.0]
    place = {n: i for i, n in enumerate(found.states[1:])}
    for _ in range(4000):
        seen = {
            "drive.load.angle": x[place["load.angle"]],
            "drive.motor.speed": x[place["motor.speed"]],
        }
        (u,) = board.tick([seen.get(n, 0.0) for n in names])
        x = Phi @ x + drive * u
        angles.append(float(x[place["load.angle"]]))
    assert {"drive.load.angle", "drive.motor.speed"} <= set(names)
    np.testing.assert_allclose(np.array(angles)[SAMPLES], V10["exact"], atol=2e-9)


# -- trains ----------------------------------------------------------------------------------------
def drawn(train: Train, twist: float, speed: float = 0.0) -> dict[str, float]:
    """Return the torques of a train with a twist, and the motor at a speed."""
    chain = drives.Chain(None, drives.Ideal(), drives.TorqueSource(0.0, J=1.0), train,
                         drives.Inertia(1.0))  # fmt: skip
    s = lw.System(name="s")
    s.add(chain)
    n = train.ratio
    start = {"motor.angle": n * twist, "motor.speed": speed, "load.speed": speed / n}
    run = lw.simulate(
        s, 1e-6, initial={f"joint.{k}": v for k, v in start.items()}, method="rk4", step=1e-9
    )
    back = -(run.final["joint.motor.speed"] - speed) / 1e-6
    return {"load": float(run["joint.train.torque"][0]), "motor": back}


@pytest.mark.parametrize(
    ("twist", "torque"), [(2e-3, 1.0), (-2e-3, -1.0), (6e-3, 3.4), (0.02, 15.1)]
)
def test_a_strain_wave_gear_has_three_slopes(twist: float, torque: float) -> None:
    train = replace(GEAR, damping=0, second_stiffness=700, third_stiffness=900, first_torque=2,
                    second_torque=6)  # fmt: skip
    first, second = 2 / 500, 4 / 700
    a = abs(twist)
    expected = 500 * min(a, first) + 700 * min(max(a - first, 0), second)
    expected += 900 * max(a - first - second, 0)
    assert drawn(train, twist)["load"] == pytest.approx(math.copysign(expected, twist), rel=1e-6)
    assert expected == pytest.approx(abs(torque), rel=0.02)


def test_a_gap_transmits_nothing_inside_and_never_pulls() -> None:
    train = drives.Elastic(50, stiffness=500, damping=2, gap=5e-3)
    assert drawn(train, 4e-3)["load"] == 0
    assert drawn(train, 8e-3)["load"] == pytest.approx(1.5, rel=1e-9)
    assert drawn(train, -8e-3)["load"] == pytest.approx(-1.5, rel=1e-9)


def test_losses_follow_the_direction_of_power() -> None:
    """T/(n eta) while the motor drives, T eta_b/n while the load drives."""
    train = drives.Elastic(50, stiffness=500, efficiency=0.8, back_efficiency=0.6, creep=0.01)
    for twist, speed, share in ((4e-3, 10, 1 / 0.8), (4e-3, -10, 0.6), (-4e-3, -10, 1 / 0.8)):
        found = drawn(train, twist, speed)
        assert found["load"] == pytest.approx(500 * twist, rel=1e-4)
        assert found["motor"] == pytest.approx(500 * twist / 50 * share, rel=1e-4)


# -- motors and amplifiers -------------------------------------------------------------------------
def settled(until: float, chain: drives.Chain, **more: Any) -> dict[str, float]:
    s = lw.System(name="s")
    s.add(chain)
    return lw.simulate(s, until, **more).final


def test_a_winding_settles_at_the_temperature_of_its_own_resistance() -> None:
    """Stalled: i = v/R(T), T - ambient = R(T) i^2 (Rw + Rh), a quadratic in T."""
    heat = drives.Thermal(1.2, 2.0, 3.0, 4.0, ambient=40)
    motor = replace(MOTOR, thermal=heat)
    chain = drives.Chain(None, drives.Ideal(), motor, drives.Rigid(1), drives.Inertia(1e9))
    s = lw.System(name="s")
    s.add(chain)
    s.set_parameters({"joint.u": 3.0})
    found = lw.simulate(s, 500.0, method="rodas4").final
    T = 40.0
    for _ in range(200):
        T = 40 + 9 / (1 + 0.00393 * (T - 25)) * 4.2
    assert found["joint.thermal.winding"] == pytest.approx(T, rel=1e-6)
    assert found["joint.motor.i"] == pytest.approx(3 / (1 + 0.00393 * (T - 25)), rel=1e-6)


def test_a_current_loop_holds_its_current_at_any_speed() -> None:
    loop = drives.CurrentLoop(1.0, kp=4, ki=4000)
    chain = drives.Chain(None, loop, MOTOR, GEAR, drives.Inertia(0.5, b=10))
    s = lw.System(name="s")
    s.add(chain)
    s.set_parameters({"joint.u": 2.0})
    found = lw.simulate(s, 3.0).final
    assert found["joint.motor.i"] == pytest.approx(2.0, abs=1e-4)
    assert found["joint.load.speed"] == pytest.approx(
        (50 * 0.1 - 50**2 * 1e-5 * 0.5) / 10, rel=1e-2
    )


def test_dead_time_takes_voltage_against_the_current() -> None:
    bridge = drives.PWM(48, 20e3, dead_time=1e-6)
    chain = drives.Chain(None, bridge, MOTOR, drives.Rigid(1), drives.Inertia(1e6))
    s = lw.System(name="s")
    s.add(chain)
    s.set_parameters({"joint.u": 5.0})
    found = lw.simulate(s, 0.1).final
    assert found["joint.amplifier.v"] == pytest.approx(5 - 2 * 48 * 1e-6 * 20e3, rel=1e-9)
    s.set_parameters({"joint.u": 90.0})
    assert lw.simulate(s, 0.1).final["joint.amplifier.v"] == pytest.approx(46.08, rel=1e-9)


def test_a_stepper_follows_its_field() -> None:
    motor = drives.Stepper(R=2, L=3e-3, kt=0.3, J=5e-6, b=2e-3)
    chain = drives.Chain(drives.Steps(12), drives.Ideal(), motor, drives.Rigid(1),
                         drives.Inertia(1e-5), reference=0.02)  # fmt: skip
    found = settled(0.5, chain)
    assert found["joint.motor.angle"] == pytest.approx(0.02, abs=1e-6)
    assert math.hypot(found["joint.motor.i_a"], found["joint.motor.i_b"]) == pytest.approx(6.0)


@pytest.mark.parametrize("duty", [0.2, 0.5, 0.7])
def test_the_ripple_of_a_leg_is_that_of_theory(duty: float) -> None:
    """Within 2 % of V d (1 - d) / (L f)."""
    bridge = drives.SwitchedPWM(48, 20e3, legs=1)
    chain = drives.Chain(None, bridge, MOTOR, drives.Rigid(1), drives.Inertia(1e6))
    s = lw.System(name="s")
    s.add(chain)
    s.set_parameters({"joint.u": 48 * duty})
    s.set_initial({"joint.motor.i": 48 * duty})
    run = lw.simulate(s, 0.004, method="rk4", step=2.5e-6, every=1)
    current = run["joint.motor.i"][run.times > 0.003]
    ripple = 48 * duty * (1 - duty) / (2e-3 * 20e3)
    assert np.ptp(current) == pytest.approx(ripple, rel=0.02)
    assert current.mean() == pytest.approx(48 * duty, rel=5e-3)


def test_the_mean_of_a_switched_bridge_is_the_averaged_one() -> None:
    """Dead time included."""
    ends = []
    for bridge in (drives.PWM(48, 20e3, dead_time=1e-6), drives.SwitchedPWM(48, 20e3, 1e-6)):
        chain = drives.Chain(None, bridge, MOTOR, drives.Rigid(1), drives.Inertia(1e6))
        s = lw.System(name="s")
        s.add(chain)
        s.set_parameters({"joint.u": 12.0})
        s.set_initial({"joint.motor.i": 11.0})
        run = lw.simulate(s, 0.015, method="rk4", step=2.5e-6, every=1)
        ends.append(run["joint.motor.i"][run.times > 0.0145].mean())
    assert ends[1] == pytest.approx(ends[0], rel=2e-3)


def test_three_legs_feed_a_synchronous_motor_as_an_averaged_bridge_does() -> None:
    """Standing at an angle, and turning: the same mean currents."""
    ends = []
    for bridge in (drives.Ideal(), drives.SwitchedPWM(48, 20e3)):
        chain = drives.Chain(None, bridge, replace(SYNCHRONOUS, J=1e3), drives.Rigid(1),
                             drives.Inertia(1e3))  # fmt: skip
        s = lw.System(name="s")
        s.add(chain)
        for speed, u in ((0.0, (1.0, 5.0)), (60.0, (-2.0, 9.0))):
            s.set_parameters({"joint.u_d": u[0], "joint.u_q": u[1]})
            start = {"joint.load.angle": 0.3, "joint.load.speed": speed}
            run = lw.simulate(s, 0.02, initial=start, method="rk4", step=2.5e-6, every=1)
            late = run.times > 0.0185
            ends.append([run[f"joint.motor.i_{a}"][late].mean() for a in "dq"])
    np.testing.assert_allclose(ends[2:], ends[:2], atol=0.02)
    assert np.abs(ends)[:, 1].min() > 1


# -- supplies, brakes, sensors ---------------------------------------------------------------------
def test_a_chopper_burns_what_a_braking_drive_gives_back() -> None:
    """And the ledger of the bus closes."""
    s = lw.System(name="s")
    bus = s.add(drives.DCBus(48, 0.2, 2e-3, chopper_resistance=8.0))
    s.connect("100*sin(8*t)", bus.power)
    run = lw.simulate(s, 1.0, tolerance=1e-9)
    assert run["bus.voltage"].max() < 1.1 * 48 + 0.01
    assert run["bus.voltage"].min() > 47
    assert run.final["bus.burned"] > 10
    missing = run["bus.missing"]
    assert np.ptp(missing) < 1e-6 * run.final["bus.given"]
    free = lw.System(name="s")
    bus = free.add(drives.DCBus(48, 0.2, 2e-3, regenerative=True))
    free.connect("100*sin(8*t)", bus.power)
    assert np.ptp(lw.simulate(free, 1.0)["bus.voltage"]) < 1.0


def test_a_battery_gives_its_power_and_its_charge() -> None:
    s = lw.System(name="s")
    s.add(drives.Battery(50, 42, capacity=0.01, resistance=0.1))
    s.set_parameters({"battery.power": 90.0})
    run = lw.simulate(s, 5.0)
    power = run["battery.voltage"] * run["battery.current"]
    np.testing.assert_allclose(power, 90.0, rtol=1e-9)
    spent = np.trapezoid(run["battery.current"], run.times) / 36
    assert run.final["battery.charge"] == pytest.approx(1 - spent, abs=1e-4)


def test_a_brake_takes_its_time_and_then_holds() -> None:
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=2, com=(0.4, 0, 0), inertia=0.05)
    m.gravity(along="-y")
    s = lw.System(m)
    brake = drives.Brake(1.0, close_time=0.03, open_time=0.05)
    gear = drives.Elastic(50, stiffness=5000, damping=20)
    drive = s.add(drives.Drive(m, "rod", drives.Ideal(), MOTOR, gear, brake=brake, ledger=True))
    s.connect("1 - floor(t/0.4)", drive["brake.close"])
    run = lw.simulate(s, 0.6, method="rodas4", tolerance=1e-7, every=1)
    drag = np.abs(run["drive.brake.drag"])
    closed = (run.times > 0.031) & (run.times < 0.449)
    assert drag[run.times < 0.029].max() == 0
    assert drag[run.times > 0.451].max() == 0
    assert np.abs(run["drive.motor.speed"])[(run.times > 0.2) & (run.times < 0.44)].max() < 0.01
    assert drag[closed].max() <= 1.0
    assert run.final["rod"] < run["rod"][int(np.searchsorted(run.times, 0.4))] - 0.02


def test_sensors_say_whole_steps_some_instants_late() -> None:
    s = lw.System(name="s")
    encoder = s.add(drives.RotaryEncoder(1000, error=0.05, latency=2, rate=1000))
    resolver = s.add(drives.Resolver(12, error=2e-3, rate=1000))
    sensor = s.add(drives.CurrentSensor(10, 10, gain_error=0.02, offset=0.1, rate=1000))
    s.connect("sin(3*t)", encoder.angle)
    s.connect("sin(3*t)", resolver.angle)
    s.connect("12*sin(3*t)", sensor.current)
    run = lw.simulate(s, 1.0, every=1)
    true = np.sin(3 * run.times)
    step = 2 * math.pi / 4000
    counts = run["encoder.measured"] / step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    line = 2 * math.pi / 1000
    assert np.abs(run["encoder.measured"][2:] - true[:-2]).max() < 0.05 * line + step / 2 + 1e-9
    assert np.abs(run["encoder.measured"][2:] - true[:-2]).max() > step / 2
    off = run["resolver.measured"] - true
    np.testing.assert_allclose(off, 2e-3 * np.sin(2 * true), atol=math.pi / 2**12 + 1e-9)
    read = np.clip(1.02 * 12 * true + 0.1, -10, 10 - 20 / 1024)
    np.testing.assert_allclose(run["current_sensor.measured"], read, atol=10 / 1024 + 1e-9)
    speed = run["encoder.speed"][5:]
    assert np.abs(speed - 3 * np.cos(3 * (run.times[5:] - 0.0025))).max() < 2.2 * step * 1000


# -- cascades --------------------------------------------------------------------------------------
SYNCHRONOUS = drives.PMSM(R=0.5, Ld=1e-3, Lq=1.6e-3, flux=0.02, pairs=4, J=1e-4, b=1e-5)


def cascaded(
    motor: Motor,
    cascade: drives.Cascade,
    push: str = "0",
    sensors: dict[str, lw.Block] | None = None,
    amplifier: Amplifier | None = None,
    until: float = 1.5,
) -> lw.Run:
    """Return a run of a pendulum that follows a sine, with a torque on it."""
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=2, com=(0.4, 0, 0), inertia=0.05)
    m.gravity(along="-y")
    s = lw.System(m)
    gear = drives.Elastic(50, stiffness=5000, damping=5)
    servo = drives.Servo(cascade, motor, gear, inertia=0.37)
    drive = drives.Drive(m, "rod", amplifier or drives.Ideal(limit=48), motor, gear)
    _, member = drives.attach(s, drive, servo, sensors=sensors)
    s.connect("0.3*sin(4*t)", member.reference)
    load = lw.Element("load", m)
    load.effort("tau", "rod", push)
    s.add(load)
    return lw.simulate(s, until, tolerance=1e-8)


@pytest.mark.parametrize("motor", [MOTOR, SYNCHRONOUS], ids=["dc", "pmsm"])
def test_a_cascade_follows_a_motion(motor: Motor) -> None:
    run = cascaded(motor, drives.Cascade(10_000, 2_000, 1_000, voltage_limit=48))
    late = run.times > 0.5
    assert np.abs(run["rod"] - 0.3 * np.sin(4 * run.times))[late].max() < 0.01
    if motor is SYNCHRONOUS:
        assert np.abs(run["drive.motor.i_d"])[late].max() < 0.05
        assert np.abs(run["drive.motor.i_q"]).max() > 1


@pytest.mark.parametrize("motor", [MOTOR, SYNCHRONOUS], ids=["dc", "pmsm"])
def test_a_cascade_sets_itself_for_the_gain_of_its_amplifier(motor: Motor) -> None:
    """The motion is the same, whatever the gain; one that turns the sign is refused."""
    cascade = drives.Cascade(10_000, 2_000, 1_000)
    wanted, weak, strong = (
        cascaded(motor, cascade, amplifier=drives.Ideal(gain, limit=48), until=0.3)
        for gain in (1.0, 0.1, 10.0)
    )
    assert np.abs(wanted["rod"]).max() > 0.1
    for run in (weak, strong):
        assert run["rod"] == pytest.approx(wanted["rod"], abs=1e-6)
    servo = drives.Servo(cascade, motor, amplifier=drives.PWM(48, 20e3, gain=10))
    assert isinstance(servo.controller, drives.Cascade)
    assert servo.controller.amplifier_gain == 10
    with pytest.raises(lw.Error, match="an amplifier with a gain above zero, not -2"):
        drives.Servo(cascade, motor, amplifier=drives.Ideal(-2.0))


@pytest.mark.parametrize("amplifier", [drives.PWM(48, 20e3), drives.Ideal(4, limit=48)])
def test_a_cascade_does_not_wind_up_while_its_amplifier_gives_all(
    amplifier: Amplifier,
) -> None:
    """A step asks for more than the bus has; the limit is that of the amplifier."""
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=2, com=(0.4, 0, 0), inertia=0.05)
    m.gravity(along="-y")
    s = lw.System(m)
    servo = drives.Servo(drives.Cascade(10_000, 2_000, 1_000), MOTOR, drives.Rigid(50))
    drive = drives.Drive(m, "rod", amplifier, MOTOR, drives.Rigid(50))
    _, member = drives.attach(s, drive, servo)
    s.connect(0.5, member.reference)
    run = lw.simulate(s, 1.0, method="midpoint", step=1e-4)
    assert np.abs(run["drive.amplifier.v"]).max() == pytest.approx(48)
    assert run["rod"].max() < 0.6
    assert run["rod"][-1] == pytest.approx(0.5, abs=1e-3)


def test_a_cascade_follows_through_its_sensors() -> None:
    sensors: dict[str, lw.Block] = {
        "motor.angle": drives.RotaryEncoder(4096, rate=10_000),
        "motor.i": drives.CurrentSensor(40, 12, noise=0.02, rate=10_000),
    }
    cascade = drives.Cascade(10_000, 2_000, 1_000, voltage_limit=48)
    run = cascaded(MOTOR, cascade, sensors=sensors)
    assert np.abs(run["rod"] - 0.3 * np.sin(4 * run.times))[run.times > 0.5].max() < 0.012
    assert np.abs(run["drive_servo.u"]).max() > 1
    with pytest.raises(lw.Error) as caught:
        cascaded(MOTOR, cascade, sensors={"motor.i_q": drives.CurrentSensor(40, rate=10_000)})
    assert caught.value.code == "R421"


def test_a_disturbance_observer_stiffens_a_loop() -> None:
    soft = drives.Cascade(10_000, 2_000, 1_000, speed_time=1e3)
    errors = [
        abs(np.mean((run["drive.motor.angle"] / 50 - 0.3 * np.sin(4 * run.times))[run.times > 0.5]))
        for run in (cascaded(MOTOR, c, "20") for c in (soft, replace(soft, observer=150.0)))
    ]
    assert errors[1] < 0.3 * errors[0]


def test_the_puma_follows_its_motion_with_six_electric_drives() -> None:
    """Check 66: elastic gears, current loops at 10 kHz, position loops at 1 kHz."""
    s = lw.load("puma560:drives=electric")
    assert isinstance(s, lw.System)
    run = lw.simulate(s, 1.5, method="midpoint", step=1e-4)
    wanted = np.array([run[f"way.q[{i}]"] for i in range(6)])
    found = np.array([run[f"q{i + 1}"] for i in range(6)])
    assert np.abs(found - wanted).max() < 4e-3
    sag = run["drive2.train.torque"][-1] / 20_000  # joints stand off by the wind-up of gears
    assert found[1, -1] + sag == pytest.approx(wanted[1, -1], abs=1e-4)
    assert max(np.abs(run[f"drive{i}.amplifier.v"]).max() for i in range(1, 7)) < 40


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda: drives.Servo(drives.PD(8)), "R415"),
        (lambda: drives.Servo(drives.Cascade(1000, 300, 100), MOTOR, GEAR), "R416"),
        (lambda: drives.Servo(drives.Cascade(1000, 500, 100)), "R417"),
        (lambda: replace(GEAR, second_stiffness=700), "R412"),
        (lambda: joint(rate=2000).edited({"train": replace(GEAR, gap=1e-3)}), "R402"),
        (lambda: joint(rate=2000, update="sequential").edited({"train": drives.Rigid(9)}), "R413"),
        (lambda: joint(rate=2000).edited({"controller": None}), "R414"),
        (lambda: replace(GEAR, efficiency=1.2), "R401"),
        (lambda: drives.SwitchedPWM(48, 1e4, legs=3), "R418"),
        (
            lambda: drives.CoupledDrives(
                links(2), ["q1", "q2"], [[1, 2], [2, 4]], [LAG, LAG], [MOTOR, MOTOR], [9, 9]
            ),
            "R419",
        ),
        (
            lambda: drives.CoupledDrives(
                links(2), ["q1", "q2"], np.eye(2), [LAG], [MOTOR, MOTOR], [9, 9]
            ),
            "R419",
        ),
    ],
)
def test_what_cannot_be_meant_has_a_number(wrong: Any, code: str) -> None:
    with pytest.raises(lw.Error) as caught:
        wrong()
    assert caught.value.code == code
