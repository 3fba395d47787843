"""Frequency responses, cuts, margins: against theory, python-control, and runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.blocks import Block, Ticks
from linkwright.elements.drives.servo import Division
from linkwright.linear import compliance, cut_loop, frequency_response, swept_sine
from linkwright.linear.responses import transfer
from tests.seeds import cases
from tests.support.joint_drive import LOAD, MOTOR, RATIO, STIFFNESS, joint_drive, two_masses
from tests.support.late import Late

if TYPE_CHECKING:
    import control
else:
    control = Late("control")


def _theory(w: np.ndarray, damping: float) -> np.ndarray:
    """Motor speed by motor torque of two masses with a spring and a damper, by hand."""
    s = 1j * w
    motor, load, spring = MOTOR * RATIO**2, LOAD, STIFFNESS + damping * s
    return RATIO**2 * (load * s**2 + spring) / (s * (motor * load * s**2 + (motor + load) * spring))


@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_v10_two_mass_response_is_that_of_theory(damping: float) -> None:
    w = np.geomspace(0.1, 1e4, 300)
    found = frequency_response(two_masses(damping), "motor.torque", "motor.speed", w)
    np.testing.assert_allclose(found.values, _theory(w, damping), rtol=1e-9)


def test_v10_two_masses_have_their_resonance_and_antiresonance() -> None:
    found = frequency_response(two_masses(0.0), "motor.torque", "motor.speed")
    near = found.at([31.62, 54.77])
    assert found.frequencies[found.magnitude.argmin()] == pytest.approx(math.sqrt(1000), rel=1e-9)
    assert found.frequencies[found.magnitude.argmax()] == pytest.approx(math.sqrt(3000), rel=1e-9)
    assert near.decibels[1] - near.decibels[0] > 120


def test_margins_of_the_joint_are_those_of_python_control() -> None:
    loop = cut_loop(joint_drive(), "pd.u")
    found, plant = loop.margins(), -loop.model.to_control()
    gain, phase, modulus, w_gain, w_phase, w_modulus = control.stability_margins(plant)
    assert found.gain == pytest.approx(gain, rel=1e-6)
    assert found.degrees == pytest.approx(phase, rel=1e-6)
    assert found.modulus == pytest.approx(modulus, rel=1e-4)
    assert found.gain_frequency == pytest.approx(w_gain, rel=1e-6)
    assert found.phase_frequency == pytest.approx(w_phase, rel=1e-6)
    assert found.modulus_frequency == pytest.approx(w_modulus, rel=1e-2)
    _, phases, _, _, crossings, _ = control.stability_margins(plant, returnall=True)
    delays = np.radians(phases % 360) / crossings
    assert found.delay == pytest.approx(delays.min(), rel=1e-6)
    assert found.delay_frequency == pytest.approx(crossings[delays.argmin()], rel=1e-6)


@pytest.mark.parametrize(
    ("port", "rate"),
    cases(
        [("pd.u", None), ("amp.u", 2000.0), ("pd.angle", 2000.0)],
        daily=[("pd.u", None), ("pd.angle", 2000.0)],
    ),
)
def test_more_gain_than_the_margin_makes_the_loop_unstable(port: str, rate: float | None) -> None:
    """The border of stability is where the margin says: the gain is put into the loop itself."""
    system = joint_drive(rate=rate)
    margin = cut_loop(system, port).margins().gain

    def stable(factor: float) -> bool:
        s = system.copy()
        for x, wire in s.wires.items():
            if port == "pd.angle" and x.name == port:
                s.wires[x] = type(wire)(factor * wire.value)
            if port != "pd.angle" and x.name == "amp.u":
                s.wires[x] = type(wire)(factor * wire.value)
        return all(mode.stable for mode in lw.linearize(s).modes())

    assert stable(margin * (1 - 1e-6))
    assert not stable(margin * (1 + 1e-6))


def test_sensitivity_and_its_complement_are_those_of_the_loop_gain() -> None:
    for rate in (None, 1000.0):
        loop = cut_loop(joint_drive(rate=rate), "pd.u")
        w = np.geomspace(0.1, 1000, 50)
        gain = loop.response(w).values
        np.testing.assert_allclose(loop.sensitivity(w).values, 1 / (1 + gain), rtol=1e-8)
        np.testing.assert_allclose(loop.complementary(w).values, gain / (1 + gain), rtol=1e-7)


def test_a_cut_at_an_output_is_the_cut_at_what_it_drives() -> None:
    system = joint_drive()
    w = np.geomspace(0.1, 1000, 30)
    at_output = cut_loop(system, "pd.u").response(w).values
    np.testing.assert_allclose(at_output, cut_loop(system, "amp.u").response(w).values, rtol=1e-10)


@pytest.mark.parametrize("rate", [None, 100.0])
def test_a_loop_through_a_torque_in_a_joint_is_cut_at_it(rate: float | None) -> None:
    """An element puts its effort on a joint without a wire; the same loop has one at its input."""
    arm = lw.load("pendulum")
    s = lw.System(arm)
    servo = s.add(lw.control.PD(arm, kp=40, kd=8), rate=rate)
    found = cut_loop(s, "pd.tau_phi")
    w = np.geomspace(0.1, 300, 30)
    plant = lw.System(arm)
    probe = lw.Element("push", arm)
    probe.effort("tau", "phi", probe.input("torque"))
    plant.add(probe)
    plant.expose("torque", "push.torque")
    plant.expose("phi", "phi")
    plant.expose("speed", "phi_dot")
    ss = lw.linearize(plant).to_control()
    if rate is not None:
        ss = control.sample_system(ss, 1 / rate)
    s_or_z = 1j * w if rate is None else np.exp(1j * w / rate)
    wanted = np.array([40, 8]) @ ss(s_or_z)[:, 0, :]
    assert servo.name == "pd"
    np.testing.assert_allclose(found.response(w).values, wanted, rtol=1e-9)


def test_closed_response_with_an_addition_is_the_sensitivity() -> None:
    """Two ways: the loop cut and closed again, and a sine added to the port."""
    w = np.geomspace(0.1, 1000, 30)
    for rate in (None, 1000.0):
        system = joint_drive(rate=rate)
        added = frequency_response(system, "amp.u", "amp.u", w).values
        np.testing.assert_allclose(
            cut_loop(system, "amp.u").sensitivity(w).values, added, rtol=1e-8
        )


def _multirate() -> lw.System:
    """An inner loop four times as fast as the outer one, which begins later."""
    s = lw.System(name="cascade", base=400)
    plant = Block("plant")
    plant.input("u")
    v = plant.state("speed", "3*u - speed")
    plant.output("v", v)
    plant.output("x", plant.state("place", v))
    inner, outer = Block("inner"), Block("outer")
    inner.output("u", 6 * (inner.input("target") - inner.input("v")))
    outer.output("v", 5 * (outer.input("target") - outer.input("x")))
    a, b = s.add(inner, rate=400), s.add(outer, rate=lw.sampled(100, offset=0.005))
    p = s.add(plant)
    s.connect(b.v, a.target)
    s.connect(p.v, a.v)
    s.connect(p.x, b.x)
    s.connect(a.u, p.u)
    return s


def test_a_multirate_loop_is_lifted_and_its_gain_margin_is_the_border() -> None:
    system = _multirate()
    fast, slow = cut_loop(system, "inner.u"), cut_loop(system, "outer.x")
    assert (fast.parts, slow.parts) == (4, 1)
    for port, loop in (("plant.u", fast), ("outer.x", slow)):
        margin = loop.margins().gain
        assert 1 < margin < 1000

        def stable(factor: float, port: str = port) -> bool:
            s = system.copy()
            x = next(x for x in s.wires if x.name == port)
            s.wires[x] = type(s.wires[x])(factor * s.wires[x].value)
            return all(mode.stable for mode in lw.linearize(s).modes())

        assert stable(margin * (1 - 1e-6))
        assert not stable(margin * (1 + 1e-6))


def test_a_lifted_loop_of_one_rate_is_the_plain_loop() -> None:
    """A slow member that does nothing makes the period longer, and changes nothing."""
    plain = joint_drive(rate=1000.0)
    idle = plain.copy()
    idle.add(Block("idle"), rate=250).block.discrete_state("n", "n + 1")
    first, second = cut_loop(plain, "pd.u"), cut_loop(idle, "pd.u")
    assert (first.parts, second.parts) == (1, 4)
    w = np.geomspace(0.1, 3000, 40)
    np.testing.assert_allclose(second.response(w).values, first.response(w).values, rtol=1e-8)
    a, b = first.margins(), second.margins()
    for name in ("gain", "phase", "delay", "modulus", "phase_frequency"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-6), name


@pytest.mark.parametrize("rate", cases([None, 1000.0], daily=[1000.0]))
def test_a_loop_through_a_system_in_a_system_is_cut_anywhere(rate: float | None) -> None:
    """At ports of the inner System, and at ports of its members, inputs and outputs."""
    w = np.geomspace(0.1, 1000, 20)
    inner = joint_drive(rate=rate)
    del inner.wires[next(x for x in inner.wires if x.name == "amp.u")]
    inner.expose("u", "amp.u")
    inner.expose("command", "pd.u")
    s = lw.System(name="outer")
    arm = s.add(inner, name="arm")
    s.connect(arm.command, arm.u)
    wanted = cut_loop(joint_drive(rate=rate), "pd.u").response(w).values
    for port in ("arm.u", "arm.command", "arm.pd.u", "arm.amp.u"):
        np.testing.assert_allclose(cut_loop(s, port).response(w).values, wanted, rtol=1e-12)
    added = frequency_response(s, "arm.u", "arm.amp.u", w).values
    np.testing.assert_allclose(added, 1 / (1 + wanted), rtol=1e-8)


def test_a_sampled_response_is_that_of_python_control() -> None:
    lag = Block("lag")
    lag.input("u")
    lag.output("y", lag.state("x", "(u - x)/0.3"))
    gain = Block("gain")
    gain.output("y", 4 * gain.input("u"))
    s = lw.System(name="s")
    a, b = s.add(gain, rate=10), s.add(lag)
    s.connect(a.y, b.u)
    s.connect(-b.y, a.u)
    w = np.array([0.1, 1.0, 10.0, 31.0])
    wanted = control.sample_system(control.ss([[-1 / 0.3]], [[1 / 0.3]], [[4.0]], [[0.0]]), 0.1)
    found = cut_loop(s, "gain.u").response(w)
    np.testing.assert_allclose(found.values, wanted(np.exp(1j * w * 0.1)), rtol=1e-10)
    given = found.to_control()
    np.testing.assert_allclose(given.frdata[0, 0], found.values)
    assert given.dt == pytest.approx(0.1)


def test_compliance_of_a_controlled_joint_at_rest_is_one_over_its_gain() -> None:
    arm = lw.load("pendulum")
    s = lw.System(arm)
    s.add(lw.control.PD(arm, kp=40, kd=8))
    found = compliance(s, "phi", [0.0, 3.0])
    model = lw.linearize(s)
    stiffness = -model.a[1, 0] / (1 / _inertia(arm))
    assert found.magnitude[0] == pytest.approx(1 / stiffness, rel=1e-9)


def _inertia(arm: lw.Mechanism) -> float:
    """By the acceleration that a unit torque gives."""
    probe = lw.Element("push", arm)
    probe.effort("tau", "phi", probe.input("torque"))
    s = lw.System(arm)
    s.add(probe)
    return float(1 / lw.linearize(s).b[1, 0])


def test_what_cannot_be_analyzed_is_refused_with_a_number() -> None:
    system, sampled = joint_drive(), joint_drive(rate=1000.0)
    wild = system.copy()
    wild.set_parameters({"pd.kp": 500.0})
    cases: dict[str, list[Callable[[], object]]] = {
        "R601": [
            lambda: cut_loop(system, "pd.w"),
            lambda: frequency_response(system, "amp.u", "z"),
        ],
        "R602": [lambda: cut_loop(system, "pd.target"), lambda: cut_loop(system, "gear.wind")],
        "R603": [lambda: frequency_response(system, "gear.wind", "pd.u")],
        "R604": [lambda: cut_loop(sampled, "winding.v")],
        "R605": [
            lambda: frequency_response(system, "amp.u", "amp.v", [-1.0]),
            lambda: cut_loop(sampled, "pd.u").response([4000.0]),
        ],
        "R606": [
            cut_loop(wild, "pd.u").margins,
            cut_loop(wild, "pd.u").sensitivity,
        ],
    }
    for code, calls in cases.items():
        for call in calls:
            with pytest.raises(Error, match=rf"\[{code}\]$"):
                call()


def test_figures_show_what_they_are_of() -> None:
    loop = cut_loop(joint_drive(rate=1000.0), "pd.u")
    response = loop.response()
    top, bottom = response.bode(loop.sensitivity()).axes
    assert (top.get_ylabel(), bottom.get_xlabel()) == ("magnitude (dB)", "frequency (rad/s)")
    told = top.get_legend()
    assert told is not None
    assert [t.get_text() for t in told.get_texts()] == ["loop gain at pd.u", "sensitivity at pd.u"]
    np.testing.assert_array_equal(top.lines[0].get_ydata(), response.decibels)
    for figure in (response.nyquist(), response.nichols()):
        assert any(line.get_marker() == "+" for line in figure.axes[0].lines)


def test_a_pole_on_the_axis_is_infinite() -> None:
    found = frequency_response(two_masses(), "motor.torque", "motor.speed", [0.0, 1.0])
    assert not np.isfinite(found.values[0])
    assert np.isfinite(found.values[1])
    assert found.model is not None
    assert transfer(found.model, np.array([1.0])).shape == (1, 1, 1)


def test_v10_swept_sines_measure_the_two_masses() -> None:
    system, w = two_masses(), np.array([5.0, 20.0, 31.62, 40.0, 54.77, 80.0, 300.0])
    found = swept_sine(system, "motor.torque", "motor.speed", w, amplitude=1e-3)
    np.testing.assert_allclose(found.values, _theory(w, 2.0), rtol=1e-4)


def test_swept_sines_of_a_sampled_loop_are_its_response() -> None:
    system, w = joint_drive(rate=1000.0), np.array([2.0, 31.0, 300.0, 2000.0])
    found = swept_sine(system, "amp.u", "load.angle", w, amplitude=0.01)
    wanted = frequency_response(system, "amp.u", "load.angle", w)
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-3)


def test_a_loop_inside_a_block_is_cut_at_its_output() -> None:
    """A drive is one block; the same joint as many blocks has the same loop."""
    d = lw.drives
    joint = d.Chain(
        d.PD(8, 0.02),
        d.Lag(10, 1e-3),
        d.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
        d.Elastic(50, stiffness=500, damping=2),
        d.Inertia(0.5, 0.1),
    )
    s = lw.System(name="s")
    s.add(joint)
    w = np.geomspace(0.1, 1e4, 40)
    found = cut_loop(s, "joint.controller.u").response(w)
    wanted = cut_loop(joint_drive(), "pd.u").response(w)
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-8)


@pytest.mark.parametrize("rate", [1000.0, Ticks(2)])
def test_a_cut_leaves_the_system_as_it_is(rate: float | Ticks) -> None:
    """A controller that reads its own command is cut again and again, with the same result."""
    control = Block("pi")
    angle = control.input("angle", unit="rad")
    whole = control.state("whole")
    u = control.output("u", 2 * (0.1 - angle) + whole)
    control.derivative(whole, (0.1 - angle) - 0.01 * u)
    plant = Block("plant")
    plant.input("u")
    plant.output("angle", plant.state("x", "u - x"))
    s = lw.System(name="s", base=2000)
    c, p = s.add(control, rate=rate), s.add(plant)
    s.connect(c.u, p.u)
    s.connect(p.angle, c.angle)
    before = s.content(), {n: dict(m.symbols) for n, m in s.members.items()}
    margins = [cut_loop(s, "pi.u").margins() for _ in range(3)]
    assert margins[0] == margins[1] == margins[2]
    assert (s.content(), {n: dict(m.symbols) for n, m in s.members.items()}) == before


def test_a_loop_at_some_instants_of_its_block_is_the_loop_at_that_rate() -> None:
    """Counters of a block are followed, so that a slow loop in a fast program counts as slow."""
    loops = []
    for count in (1, 5):
        law = Block("law", rate=1000 / 5 * count)
        error, held = 0.1 - law.input("angle"), law.discrete_state("held")
        due, whole = Division(law, count, "slow"), law.discrete_state("whole")
        law.update(whole, due.choose(whole + 0.05 * error, whole))
        law.update(held, due.choose(8 * error + whole, held))
        law.output("u", due.choose(8 * error + whole, held))
        plant = Block("plant")
        plant.input("u")
        plant.state("v", "20*u - 5*v")
        plant.output("angle", plant.state("x", "v"))
        s = lw.System(name="s")
        c, p = s.add(law), s.add(plant)
        s.connect(c.u, p.u)
        s.connect(p.angle, c.angle)
        loops.append(cut_loop(s, "plant.u"))
    one, many = loops
    assert (one.parts, many.parts) == (1, 5)
    assert many.model.period == pytest.approx(one.model.period)
    poles = [np.sort(np.abs(np.linalg.eigvals(x.closed().a)))[-3:] for x in loops]
    np.testing.assert_allclose(poles[1], poles[0], rtol=1e-9)
    assert many.margins().gain == pytest.approx(one.margins().gain, rel=1e-6)


def test_a_cut_loop_is_that_of_the_operating_point() -> None:
    """What goes in at the cut is what comes back there: no limit is reached that is not reached."""
    law = Block("law")
    law.input("angle")
    law.output("u", "max(min(8*(2 - angle), 1), -1)")
    plant = Block("plant")
    plant.input("u")
    plant.output("angle", plant.state("x", "u - 0.01*x"))
    s = lw.System(name="s")
    c, p = s.add(law), s.add(plant)
    s.connect(c.u, p.u)
    s.connect(p.angle, c.angle)
    loop = cut_loop(s, "law.angle", at={"plant.x": 2.0})
    assert loop.response([1.0]).values[0] == pytest.approx(8 / (1j + 0.01))
