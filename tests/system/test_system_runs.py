"""Systems run natively: from description to recording, against the plain run of their phases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import Expr, evaluate
from linkwright.blocks import Delay, Element, WhiteNoise
from linkwright.control import PD, ComputedTorque, JointPID
from linkwright.simulation.runs import RunInterrupted, RunStopped
from linkwright.system import System
from tests.oracles.phase_runner import PlainRun
from tests.seeds import cases


def arm_with_a_task(seen: list[float]) -> System:
    """Return the Stanford arm under computed torque at 500 Hz, its targets from Python at 60 Hz."""
    arm = lw.load("stanford-arm")
    s = System(arm)
    servo = s.add(ComputedTorque(arm, kp=400, kd=40), rate=500)

    def task(t: float, q: np.ndarray) -> np.ndarray:
        seen.append(t)
        return np.asarray(0.3 * np.sin(2 * t) + 0.01 * q)

    s.add(task, rate=60, outputs={"target": 6})
    s.connect("task.target", servo.target)
    return s


@pytest.mark.parametrize("method", cases(["midpoint", "rk4"], daily=["rk4"]))
def test_an_arm_under_computed_torque_with_a_python_task(method: str) -> None:
    seen: list[float] = []
    s = arm_with_a_task(seen)
    run = lw.simulate(s, 2.0, method=method, every=1)
    assert seen == [k * 25 * s.phases().tick_seconds for k in range(121)]
    if method == "rk4":
        plain = PlainRun(s.phases()).run(3000)
        for name in run.recording.names:
            np.testing.assert_allclose(run[name], plain[name], rtol=0, atol=1e-9)
    late = run["task.target[0]"]
    assert np.abs(run["a"] - late)[1500:].max() < 0.1
    assert len(np.unique(late)) == 121


def test_torques_hold_between_the_instants_of_the_servo() -> None:
    run = lw.simulate(arm_with_a_task([]), 0.5, every=1)
    tau = run["computed_torque.tau_a"][:750].reshape(250, 3)
    assert (tau == tau[:, :1]).all()
    assert len(np.unique(tau[:, 0])) == 250


def test_the_recording_tells_units_and_where_it_comes_from() -> None:
    s = arm_with_a_task([])
    run = lw.simulate(s, 0.1, seed=7)
    assert run.recording.channel("c").unit == "m"
    assert run.recording.channel("computed_torque.tau_c").unit == "N"
    about = run.recording.metadata
    assert about["seed"] == 7
    assert about["members"] == {"computed_torque": "500 Hz", "task": "60 Hz"}
    assert about["hash"] == lw.simulate(s, 0.1).recording.metadata["hash"]
    assert about["parameters"]["computed_torque.kp"] == 400


def test_numbers_can_change_without_a_new_system() -> None:
    arm = lw.load("puma560")
    s = System(arm)
    s.add(PD(arm, kp=100, kd=40, target=0.2), rate=1000)
    soft = lw.simulate(s, 1.0, method="rk4")
    stiff = lw.simulate(s, 1.0, method="rk4", parameters={"pd.kp": 300}, initial={"q1": 0.1})
    assert stiff["q1"][0] == 0.1
    assert soft["q1"][0] == 0.0
    assert abs(stiff["q2"][-1] - 0.2) < abs(soft["q2"][-1] - 0.2)
    again = lw.simulate(s, 1.0, method="rk4")
    np.testing.assert_array_equal(again["q1"], soft["q1"])


def test_noise_depends_on_the_seed_and_on_nothing_else() -> None:
    def noisy(seed: int, more: bool) -> np.ndarray:
        m = lw.Mechanism("wheel")
        m.body("w", rotate="z", mass=1, inertia=2)
        s = System(m)
        if more:
            s.add(Delay(2), rate=100)
        s.add(WhiteNoise(0.5, name="gust"), rate=100)
        shaker = Element("shaker", m)
        shaker.effort("tau", "w", shaker.input("u"))
        s.connect("gust.y", s.add(shaker).u)
        return np.asarray(lw.simulate(s, 1.0, seed=seed)["w"])

    np.testing.assert_array_equal(noisy(1, False), noisy(1, True))
    assert np.abs(noisy(1, False) - noisy(2, False)).max() > 1e-3


def test_what_has_a_mechanism_can_be_controlled() -> None:
    """A System takes what has a mechanism."""

    class Robot:
        mechanism = lw.load("puma560")

    robot = Robot()
    s = System(robot)
    target = [0.2, 0.9, -3, 0.1, 0.8, 0.1]
    s.add(JointPID(robot, kp=800, ki=1500, kd=80, target=target), rate=1000)
    run = lw.simulate(s, 8.0, method="rk4")
    np.testing.assert_allclose([run[f"q{i}"][-1] for i in range(1, 7)], target, atol=1e-2)


def test_a_loop_under_control_stays_closed() -> None:
    m = lw.load("slider-crank")
    s = System(m, base=1000)
    joint = next(iter(m.coordinates))
    motor = Element("motor", m)
    motor.effort("tau", joint, f"5 - 0.5*{joint}_dot")
    s.add(motor)
    run = lw.simulate(s, 2.0)
    zero = [c.position for c in m.constraints if c.position is not None]
    at: dict[Expr, object] = {q: run[n] for n, q in m.coordinates.items()}
    at |= {x: m.values[n] for n, x in m.parameters.items()}
    for g in zero:
        assert np.abs(np.asarray(evaluate(g, at))).max() < 1e-9
    assert np.ptp(run[joint]) > 1.0


def test_strong_servos_on_light_links_take_long_steps() -> None:
    """A wrist of 3e-6 kg m^2 with kd = 2 N m s: the plain step would have to be below 3 us."""
    m = lw.Mechanism("arm")
    arm = m.body("arm", rotate="z", mass=1, com=(0.2, 0, 0), inertia=(0, 0, 0.02))
    tip: dict[str, Any] = {"mass": 0.01, "com": (0.02, 0, 0), "inertia": (0, 0, 1e-6)}
    m.body("tip", parent=arm, at=(0.4, 0, 0), rotate="z", **tip)
    m.gravity(along="-y")
    s = System(m, base=1000)
    s.add(PD(m, kp=20, kd=2, target=[0.5, 0.3]))
    exact = lw.simulate(s, 0.5, method="rodas4", tolerance=1e-10)
    with pytest.raises(RunStopped):
        lw.simulate(s, 0.5, method="semi-implicit")
    errors = []
    for step in (1e-3, 5e-4):
        run = lw.simulate(s, 0.5, method="implicit-speeds", step=step)
        errors.append(max(np.abs(run[n] - exact[n]).max() for n in ("arm", "tip")))
    assert errors[0] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.2)


def test_channels_have_each_name_once() -> None:
    """Outputs that are states are recorded once, in runs, in batches and where they are named."""
    m = lw.load("double-pendulum")
    m.output_all("coordinates", "speeds")
    m.output_all("coordinates")
    assert len({o.name for o in m.outputs}) == len(m.outputs)
    m.output("twice", "2*phi1")
    phases = System(m).phases()
    names = [s.name for s in phases.outputs]
    assert len(set(names)) == len(names)
    assert {"phi1", "phi2", "phi1_dot", "phi2_dot", "twice"} <= set(names)
    assert [s.name for s in System(m).phases(["twice", "phi1"]).outputs] == ["twice", "phi1"]
    run = lw.simulate(System(m), 1.0)
    np.testing.assert_array_equal(run["twice"], 2 * run["phi1"])
    np.testing.assert_allclose(run["phi1"], lw.simulate(m, 1.0, step=0.001)["phi1"], atol=1e-7)
    many = lw.simulate_batch(m, 1.0, runs=2, every=100)
    assert list(many.channels) == names


def test_a_run_that_cannot_go_on_keeps_what_it_recorded() -> None:
    m = lw.Mechanism("cart")
    m.body("b", translate="x", mass=1)
    s = System(m)
    rocket = Element("rocket", m)
    rocket.effort("F", "b", "sqrt(0.5 - t)")
    s.add(rocket)
    with pytest.raises(RunStopped, match=r"stopped: no .*t = ") as caught:
        lw.simulate(s, 5.0, method="rk4")
    run = caught.value.run
    assert len(run.recording) > 10
    assert np.isfinite(run["b"]).all()


def test_an_interrupted_run_tells_what_it_has_and_goes_on_with_the_same_bits() -> None:
    """Ctrl-C in a foreign function; what follows is as if nothing had happened."""
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    stops = {0.5}

    def task(t: float) -> float:
        if t in stops:
            stops.clear()
            raise KeyboardInterrupt
        return math.sin(t)

    s = lw.System(m)
    added = s.add(task, rate=20, outputs="y")
    pull = lw.Element("pull", m)
    pull.effort("tau", "rod", pull.input("u"))
    s.connect(added.y, s.add(pull).u)
    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0\.5 s") as caught:
        lw.simulate(s, until=2.0)
    error = caught.value
    assert isinstance(error, RunInterrupted)
    assert 0.45 <= error.run.times[-1] <= 0.5
    whole, plain = error.resume(), lw.simulate(s, until=2.0)
    assert np.array_equal(whole.times, plain.times)
    assert np.array_equal(whole.recording.data, plain.recording.data)


def test_every_channel_of_elements_and_controllers_has_unit_words_and_home() -> None:
    m = lw.Mechanism("arm")
    link = m.body("link", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    s = lw.System(m)
    s.add(PD(m, kp=10, kd=1), rate=100)
    s.add(lw.elements.Encoder(m, "link", resolution=1e-3), rate=100)
    s.add(lw.elements.Imu(m, link))
    s.add(lw.elements.ForceTorque(m, link))
    s.add(lw.elements.LuGre(m, "link", stiffness=1e4, damping=10, coulomb=0.1, static=0.2))
    s.add(lw.elements.Stop(m, "link", -1, 1))
    recording = lw.simulate(s, until=0.1).recording
    assert len(recording.channels) > 20
    for channel in recording.channels:
        assert channel.unit != "?", channel
        assert channel.long, channel
        assert channel.body, channel


class _Leg(lw.Block):
    """A switch that is on while a triangle lies below a duty, and the time that it is on."""

    def __init__(self, duty: float, period: float) -> None:
        super().__init__("leg")
        on = self.state("on")
        self.derivative(on, 0)
        held = self.state("held", unit="s")
        self.derivative(held, on)
        phase = self.time / period
        below = duty - lw.absolute(2 * (phase - lw.floor(phase)) - 1)
        self.event("rises", below, direction=1, resets={on: 1})
        self.event("falls", below, direction=-1, resets={on: 0})


@pytest.mark.parametrize("duty", cases([0.1, 0.3, 0.5, 0.7, 0.9], daily=[0.1, 0.5]))
def test_events_where_steps_end_are_all_found(duty: float) -> None:
    """Switching falls on the ends of steps within rounding, and none of it is lost."""
    s = lw.System(name="s")
    s.add(_Leg(duty, 50e-6))
    until = 4e-3
    run = lw.simulate(s, until=until, step=2.5e-6, method="rk4")
    periods = round(until / 50e-6)
    names = [e.name for e in run.events]
    assert (names.count("leg.rises"), names.count("leg.falls")) == (periods, periods)
    assert run.final["leg.held"] == pytest.approx(duty * until, rel=1e-9)
