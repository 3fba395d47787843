"""The energy that a law gives to an arm and a contact: its balance, and what damps an excess."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, elements
from linkwright.algebra import evaluate
from linkwright.blocks import BlockError
from linkwright.equations.energy import energy


def arm() -> lw.Mechanism:
    """Return an arm of two links in a vertical plane."""
    m = lw.Mechanism("planar")
    upper = m.body("upper", rotate="z", mass=3, com=(0.2, 0, 0), inertia=0.05)
    fore = m.body(
        "fore", parent=upper, at=(0.5, 0, 0), rotate="z", mass=2, com=(0.15, 0.02, 0), inertia=0.02
    )
    m.point("tip", fore, (0.4, 0, 0))
    m.gravity(along="-y")
    return m


def test_what_is_given_is_in_the_arm_and_in_the_contact() -> None:
    """Work of held torques, energies of the arm, and the contact's work, each on its own.

    The contact's work is integrated over the run from its force and the tip's velocity; the arm's
    energy comes from the expressions of its bodies.
    """
    m = arm()
    s = lw.System(m)
    servo = s.add(control.ComputedTorque(m, kp=100, kd=15, acts=False), rate=500)
    law = control.PassivityObserver(m, budget=1e3, damping=0.0)
    seen = s.add(law, rate=500)
    s.connect(servo.tau, seen.tau)
    s.connect([0.3, "0.6 - 0.4*sin(6*t)"], servo.target)
    floor = elements.Plane(center=(0, 0.42, 0), rotation=[[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    touch = s.add(elements.Contact(m, ["tip"], floor, stiffness=3e3, damping=20, viscous=5))
    meter = lw.Element("meter", m)
    force = meter.input_vector("force", 2)
    velocity = meter.velocity(m.points["tip"])
    meter.state("work", -(force[0] * velocity[0] + force[1] * velocity[1]))
    member = s.add(meter)
    s.connect([touch.force1_x, touch.force1_y], member.force)
    run = lw.simulate(s, 0.6, initial={"upper": 0.3, "fore": 0.6}, every=1, tolerance=1e-10)
    found = energy(m)
    at = {x: run[n] for n, x in m.coordinates.items()}
    at |= {u.symbol: run[u.symbol.name] for u in m.kinematics().speeds}
    kinetic = evaluate(found.kinetic, at)
    contact, given = (run[f"passivity_observer.{n}"] for n in ("contact", "given"))
    assert run["meter.work"].max() > 0.05
    np.testing.assert_allclose(contact, run["meter.work"], atol=2e-7)
    np.testing.assert_allclose(given - contact, kinetic - kinetic[0], atol=1e-9)


def shaken(damping: float, rate: float = 25.0) -> tuple[lw.Run, float]:
    """Return a run of a mass on a spring of a law that is sampled so slowly that it is active."""
    m = lw.Mechanism("slide")
    m.body("b", translate="x", mass=2.0)
    s = lw.System(m)
    law = lw.Block("law")
    law.output("tau", -100.0 * law.input("x"))
    spring = s.add(law, rate=rate)
    s.connect("b", spring.x)
    seen = s.add(control.PassivityObserver(m, budget=0.5, damping=damping), rate=rate)
    s.connect(spring.tau, seen.tau[0])
    run = lw.simulate(s, 4.0, initial={"b": 0.1})
    whole = 0.5 * 2.0 * run["b_dot"] ** 2 + 50.0 * run["b"] ** 2
    return run, float(whole[-50:].max())


def test_a_sampled_spring_gives_energy_without_end_and_the_controller_takes_it_back() -> None:
    """Held over 40 ms it doubles its oscillation again and again; damped, it stays at its start."""
    free, energy_free = shaken(0.0)
    damped, energy_damped = shaken(20.0)
    assert energy_free > 5 * 0.5
    assert energy_damped < 1.5 * 0.5
    assert free["passivity_observer.excess"].max() > 2.0
    assert damped["passivity_observer.excess"].max() < 0.25
    assert damped["passivity_observer.damped"][-1] > 0.5


def test_a_law_that_keeps_to_its_budget_is_left_alone() -> None:
    """Sampled at 2 kHz, for a short time: no damping acts."""
    m = lw.Mechanism("slide")
    m.body("b", translate="x", mass=2.0)
    s = lw.System(m)
    law = s.add(control.PD(m, kp=100, kd=4, target=0.0), rate=2000)
    seen = s.add(control.PassivityObserver(m, budget=0.5, damping=20, acts=False), rate=2000)
    s.connect([law.tau_b], seen.tau)
    run = lw.simulate(s, 1.0, initial={"b": 0.1}, every=1)
    assert run["passivity_observer.share"].max() == 0.0
    assert np.abs(run["passivity_observer.brake[0]"]).max() == 0.0


def test_what_a_reference_brings_is_allowed() -> None:
    """A crane lifts with a steady force: its power is supplied, so nothing is too much."""
    m = lw.Mechanism("crane")
    m.body("b", translate="x", mass=2.0)
    excess = []
    for supply in ("10*b_dot", "0"):
        s = lw.System(m)
        seen = s.add(control.PassivityObserver(m, budget=0.1), rate=1000)
        s.connect(10.0, seen.tau[0])
        s.connect(supply, seen.supply)
        run = lw.simulate(s, 0.5, every=1)
        excess.append(run["passivity_observer.excess"].max())
    assert excess[0] < 0.0 < 5.0 < excess[1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": -1.0}, "budget"),
        ({"budget": 1.0, "damping": -2.0}, "damping"),
        ({"budget": 1.0, "values": {"weight": 2.0}}, "no parameter weight"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.Error, match=words):
        control.PassivityObserver(arm(), **given)
    with pytest.raises(BlockError, match="no rate"):
        lw.System(m := arm()).add(control.PassivityObserver(m, 1.0))
