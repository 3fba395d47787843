"""Linear models of Systems, against runs, against python-control and against hand-made ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.blocks import Block, Delay, Hold, Ticks, WhiteNoise
from linkwright.linear.linearization import LinearModel
from linkwright.system import System
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    import control
else:
    control = Late("control")

HERTZ = 50


def run_over_a_period(
    system: System, period: float, start: Mapping[str, float]
) -> dict[str, float]:
    """Every state just before the ticks of the next period, and outputs after the first ones."""
    phases = system.phases()
    names = [s.name for s in (*phases.x, *phases.d)]
    outputs = [s.name for s in phases.outputs if s.kind == "output"]
    s = system.copy()
    s.set_initial({n: v for n, v in start.items() if n in names})
    s.set_parameters({n: v for n, v in start.items() if n not in names})
    names_of_all = sorted({*names, *outputs})
    run = lw.simulate(
        s,
        period,
        method="rk4",
        step=1 / HERTZ / 20,
        record=names_of_all,
        every=1,
    )
    found = {s.name: run[s.name][-1] for s in phases.x}
    found |= {s.name: run[s.name][-2] for s in phases.d}
    return found | {f"output {n}": run[n][0] for n in outputs}


def assert_like_runs(system: System, step: float, tolerance: float) -> LinearModel:
    """Compare all four matrices with differences of runs."""
    model = lw.linearize(system)
    point = {n: model.point[n] for n in model.states}
    inputs = system.inputs()
    columns = [*model.states, *model.inputs]
    ahead: dict[str, Any] = {}
    for name in columns:
        both = []
        for sign in (1, -1):
            start = {**inputs, **point}
            start[name] += sign * step
            both.append(run_over_a_period(system, model.period, start))
        ahead[name] = {k: (both[0][k] - both[1][k]) / (2 * step) for k in both[0]}
    wanted = np.array(
        [
            [ahead[c][r] for c in columns]
            for r in (*model.states, *(f"output {n}" for n in model.outputs))
        ]
    )
    found = np.block([[model.a, model.b], [model.c, model.d]])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())
    return model


def oscillator() -> Block:
    """1 / (s² + 0.4 s + 2)."""
    b = Block("plant")
    u, x, v = b.input("u", 0.2), b.state("x", initial=0.1), b.state("v", initial=0.2)
    b.derivative(x, v)
    b.derivative(v, u - 2 * x - 0.4 * v)
    b.output("y", x)
    return b


def linear_system(chance: random.Random) -> System:
    """Linear blocks at several rates, wired at random, with a continuous plant."""

    def number() -> float:
        return round(chance.uniform(-0.8, 0.8), 2)

    s = System(name="s", base=HERTZ)
    plant = oscillator()
    euler = Block("euler")
    u = euler.input("u", 0.3)
    x = euler.state("x")
    euler.derivative(x, 0.8 * (u - x))
    euler.output("y", x + 0.1)
    memory = Block("memory")
    u = memory.input("u")
    p = memory.discrete_state("p", initial=0.2)
    memory.update(p, 0.5 * p + u)
    memory.output("y", p + number() * u)
    blocks: list[Block] = [memory, euler, Delay(chance.randint(1, 2)), Hold()]
    chance.shuffle(blocks)
    s.add(plant)
    for b in blocks:
        every = chance.choice((1, 2, 3))
        s.add(b, rate=Ticks(every, chance.randrange(every)))
    names = list(s.members)
    for k, name in enumerate(names[1:], 1):
        source = chance.choice(names[:k])
        s.connect(number() * s[f"{source}.y"] + number() * s["plant.y"] + 0.1, f"{name}.u")
    if chance.random() < 0.7:
        s.connect(number() * s[f"{names[-1]}.y"] + number() * s[f"{names[2]}.y"], "plant.u")
    return s


@pytest.mark.parametrize("seed", cases(range(5), daily=2))
def test_sampled_systems_at_several_rates_move_as_their_runs_do(seed: int) -> None:
    """A linear System is its linear model; offsets, delays, memory and held values included."""
    model = assert_like_runs(linear_system(random.Random(seed)), 0.5, 1e-9)
    assert model.period > 0


def controlled() -> System:
    """A pendulum that a sampled controller holds in a slant."""
    m = lw.load("pendulum")
    s = System(m)
    s.set_initial({"phi": 0.4})
    s.add(lw.control.GravityCompensation(m), rate=HERTZ)
    s.add(lw.control.PD(m, kp=3.0, kd=0.2, target=0.4), rate=HERTZ / 2)
    return s


def test_a_nonlinear_system_in_equilibrium_moves_as_its_run_does() -> None:
    """Ticks that are nonlinear in the state, at two rates."""
    system = controlled()
    model = assert_like_runs(system, 1e-5, 1e-7)
    assert model.period == pytest.approx(2 / HERTZ)
    np.testing.assert_allclose(model.drift, 0, atol=1e-12)
    assert all(mode.stable for mode in model.modes())


def test_drift_is_how_the_states_change_in_a_period() -> None:
    """Of a linear System exactly."""
    system = linear_system(random.Random(3))
    model = lw.linearize(system)
    after = run_over_a_period(system, model.period, model.point)
    moved = [after[n] - model.point[n] for n in model.states]
    np.testing.assert_allclose(model.drift, moved, atol=1e-9)


def test_noise_counts_as_its_mean_and_jumps_do_not_count() -> None:
    s = System(name="s")
    noise = s.add(WhiteNoise(0.3, mean=2.0), rate=10)
    hold = s.add(Hold(), rate=10)
    s.connect(3 * noise.y, hold.u)
    model = lw.linearize(s)
    assert (model.a.size, model.outputs) == (0, ("noise.y", "hold.y"))


# -- against python-control ------------------------------------------------------------------------
def response(system: Any, omega: np.ndarray) -> np.ndarray:
    """The frequency response of a system with one input and one output."""
    return np.asarray(control.frequency_response(system, omega).complex).ravel()


def test_a_continuous_loop_is_that_of_python_control() -> None:
    """A lead in feedback: plant and controller made by hand, interconnected by python-control."""
    s = System(name="loop")
    lead = s.add(lw.control.TransferFunction([3.0, 2.0], [0.1, 1.0], name="lead"))
    plant = s.add(oscillator())
    s.connect(lead.y, plant.u)
    hold = s.add(Block("reference"))
    r = hold.block.input("r")
    hold.block.output("y", r)
    hold.refresh()
    s.connect(hold.y - plant.y, lead.u)
    s.expose("r", hold.r)
    s.expose("y", plant.y)
    found = lw.linearize(s)
    assert (found.inputs, found.outputs, found.period) == (("r",), ("y",), 0.0)
    G = control.tf([1], [1, 0.4, 2], inputs="u", outputs="y", name="G")
    C = control.tf([3, 2], [0.1, 1], inputs="e", outputs="u", name="C")
    difference = control.summing_junction(["r", "-y"], "e")
    wanted = control.interconnect(
        [control.ss(G), control.ss(C), difference], inputs="r", outputs="y"
    )
    omega = np.logspace(-1, 2, 20)
    ours = found.to_control()
    assert (ours.input_labels, ours.output_labels) == (["r"], ["y"])
    np.testing.assert_allclose(response(ours, omega), response(wanted, omega), rtol=1e-9)


def test_a_sampled_loop_is_that_of_python_control() -> None:
    """A discrete PI controller with a delay on a plant with a zero-order hold."""
    period = 0.1
    s = System(name="loop")
    pi = Block("pi")
    e = pi.input("e")
    total = pi.discrete_state("total")
    pi.update(total, total + e)
    pi.output("y", 0.8 * e + 0.05 * total)
    reference = Block("reference")
    reference.output("y", reference.input("r"))
    law = s.add(pi, rate=1 / period)
    late = s.add(Delay(1), rate=1 / period)
    plant, given = s.add(oscillator()), s.add(reference)
    s.connect(given.y - plant.y, law.e)
    s.connect(law.y, late.u)
    s.connect(late.y, plant.u)
    s.expose("r", given.r)
    s.expose("y", plant.y)
    found = lw.linearize(s)
    assert found.period == pytest.approx(period)
    G = control.sample_system(control.ss(control.tf([1], [1, 0.4, 2])), period)
    z = control.tf([1, 0], [1], period)
    C = control.ss((0.8 + 0.05 / (z - 1)) / z)
    wanted = control.feedback(G * C, 1)
    ours = found.to_control()
    assert ours.dt == pytest.approx(period)
    omega = np.linspace(0.05, 0.95 * np.pi / period, 20)
    np.testing.assert_allclose(response(ours, omega), response(wanted, omega), rtol=1e-8)
    slowest = found.modes()[0]
    pole = max(wanted.poles(), key=abs)
    assert slowest.frequency == pytest.approx(abs(np.log(pole)) / period)


# -- mechanisms, elements, composites --------------------------------------------------------------
def test_an_element_counts_as_the_same_force_of_the_mechanism() -> None:
    """On a closed loop, where coordinates follow each other."""
    start = {"crank": -0.3}
    one, other = lw.load("four-bar"), lw.load("four-bar")
    names = list(one.coordinates)
    q = names[0]
    start = {q: -0.3}
    s = System(one)
    s.add(lw.elements.JointSpring(one, q, 7.0, damping=0.4))
    body = next(b for b in other.bodies.values() if b.coordinates and b.coordinates[0].name == q)
    other.moment("spring", f"-7*{q} - 0.4*{q}_dot", on=body, about=body.frame.spins[0][1])
    ours, theirs = lw.linearize(s, start), lw.linearize(other, start)
    assert ours.states == theirs.states
    assert ours.computed == theirs.computed
    np.testing.assert_allclose(ours.a, theirs.a, rtol=1e-9, atol=1e-9)


def test_a_quaternion_with_a_sampled_controller_is_in_the_tangent_space() -> None:
    """Its eigenvalues are those of the same joint with angles, at rest."""
    found = []
    for joint in (lw.Ball("xyz"), lw.Ball(quaternion=True)):
        m = lw.Mechanism("bob")
        m.body("b", joint=joint, mass=2, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.05))
        m.gravity()
        s = System(m)
        damper = lw.Element("damper", m)
        body = m.bodies["b"]
        for k, axis in enumerate(body.frame.axes):
            damper.moment(f"tau{k}", -0.5 * body.omega @ axis, on=body, about=axis)
        s.add(damper, rate=20)
        model = lw.linearize(s)
        assert model.period == 0.05
        found.append(sorted(np.linalg.eigvals(model.a), key=lambda v: (v.real, v.imag)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_a_system_in_a_system_is_linearized_as_its_members() -> None:
    """And its ports name inputs and outputs."""
    inner = linear_system(random.Random(1))
    inner.expose("y", "plant.y")
    plain = lw.linearize(inner)
    s = System(name="outer")
    part = s.add(inner, name="part")
    assert "part.y" in lw.linearize(s).outputs
    s.expose("y", part.y)
    found = lw.linearize(s)
    assert found.states == tuple(f"part.{n}" for n in plain.states)
    assert found.outputs == plain.outputs == ("y",)
    for letter in "abcd":
        np.testing.assert_array_equal(getattr(found, letter), getattr(plain, letter))


def test_what_has_no_linear_model_says_so() -> None:
    """A Python function; a controller for a model in discrete time."""
    s = System(name="s")
    s.add(lambda t: t, rate=10, name="task", outputs="y")
    with pytest.raises(lw.Error, match="'task' is a Python function"):
        lw.linearize(s)
    m = lw.load("pendulum")
    with pytest.raises(lw.Error, match="discrete time"):
        lw.control.LQR(m, lw.linearize(controlled()))
    with pytest.raises(lw.Error, match="did you mean"):
        lw.linearize(controlled(), {"phi_dit": 1.0})
