"""The force and torque sensor, against weights, centripetal forces and the balance of contacts."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.elements import Contact, ForceTorque, JointSpring, Plane, Spring
from linkwright.equations.reactions import reactions
from linkwright.mechanism import Body, Mechanism
from linkwright.simulation.run import Run

G = 9.81


def wrench(run: Run, at: int = -1, name: str = "force_torque") -> np.ndarray:
    """Return force and moment of the sensor at a sample."""
    names = [f"{name}.{kind}_{axis}" for kind in ("force", "moment") for axis in "xyz"]
    return np.array([run[channel][at] for channel in names])


def arm() -> tuple[Mechanism, Body, Body]:
    """Return two links in a vertical plane, turning about the ground's z, gravity along -y."""
    m = lw.Mechanism("arm")
    upper = m.body("upper", rotate="z", mass=2, com=(0.3, 0, 0), inertia=(0, 0, 0.05))
    fore = m.body(
        "fore", parent=upper, at=(0.6, 0, 0), rotate="z", mass=1, com=(0.2, 0, 0), inertia=0
    )
    m.gravity(along="-y")
    return m, upper, fore


def test_at_rest_it_carries_the_weight_outboard() -> None:
    m, upper, fore = arm()
    s = lw.System(m)
    s.add(lw.control.PD(m, kp=1000, kd=200, gravity=True), rate=1000)
    s.add(ForceTorque(m, upper), name="shoulder")
    s.add(ForceTorque(m, fore), name="elbow")
    run = lw.simulate(s, until=0.01)
    assert wrench(run, 0, "shoulder") == pytest.approx([0, 3 * G, 0, 0, 0, G * (0.6 + 0.8)])
    assert wrench(run, 0, "elbow") == pytest.approx([0, G, 0, 0, 0, 0.2 * G])


def test_a_turning_body_is_pulled_inward() -> None:
    m = lw.Mechanism("rotor")
    b = m.body("b", rotate="z", mass=2, com=(0.5, 0, 0), inertia=(0, 0, 0.1))
    s = lw.System(m)
    s.add(ForceTorque(m, b))
    run = lw.simulate(s, until=1.0, initial={"b_dot": 3.0})
    assert wrench(run) == pytest.approx([-2 * 0.5 * 3.0**2, 0, 0, 0, 0, 0], abs=1e-9)


def test_it_feels_what_other_members_press_on_the_tool() -> None:
    """A tool on a spring that stands on the floor: sensor plus floor carry the weight."""
    m = lw.Mechanism("press")
    slide = m.body("slide", translate="z", mass=1)
    tool = m.body("tool", parent=slide, rotate="z", mass=0.5, com=(0.1, 0, 0), inertia=0.01)
    m.gravity(along="-z")
    s = lw.System(m)
    s.add(JointSpring(m, "slide", 200.0, rest=-0.2, damping=60.0))
    tip = m.point("tip", tool, (0.3, 0, 0))
    s.add(Contact(m, [tip], Plane(), stiffness=1e4, damping=100.0, viscous=1.0))
    sensor = s.add(ForceTorque(m, "tool"), rate=1000)
    assert "force_torque.loads[0]" not in s.inputs()
    run = lw.simulate(s, until=3.0)
    press = run["contact.normal1"][-1]
    assert press > 1.0
    assert wrench(run)[:3] == pytest.approx([0, 0, 0.5 * G - press], abs=1e-5)
    assert wrench(run)[3:] == pytest.approx([0, -0.1 * 0.5 * G + 0.3 * press, 0], abs=1e-5)
    assert sensor.rate == lw.sampled(1000)


def test_a_base_body_feels_the_ground_through_both_joint_and_contact() -> None:
    """On a body whose parent is the ground a contact is a load, and a motor in its joint is not."""
    m = lw.Mechanism("crane")
    b = m.body("b", rotate="y", mass=2, com=(0.5, 0, 0), inertia=0)
    m.gravity(along="-z")
    tip = m.point("tip", b, (1.0, 0, 0))
    s = lw.System(m)
    s.add(Contact(m, [tip], Plane(), stiffness=1e4, damping=300.0, viscous=1.0))
    s.add(JointSpring(m, "b", 0.0, damping=1.0), name="motor")
    press = lw.Element("press", m)
    press.effort("tau", "b", 3.0)
    s.add(press)
    s.add(ForceTorque(m, b))
    run = lw.simulate(s, until=4.0)
    normal = run["contact.normal1"][-1]
    assert normal == pytest.approx(G + 3.0, rel=1e-4)  # about the joint: 3 + m g / 2 = N
    assert wrench(run)[:3] == pytest.approx([0, 0, 2 * G - normal], abs=2e-2)
    assert wrench(run)[3:] == pytest.approx([0, 3.0, 0], abs=1e-3)


def test_loads_that_act_on_both_sides_count_on_the_outer_one() -> None:
    """Against the reactions of the same mechanism with the same spring as its own force."""
    m, upper, fore = arm()
    post = m.point("post", m.ground, (0.5, 0.5, 0))
    hook = m.point("hook", fore, (0.4, 0, 0))
    s = lw.System(m)
    s.add(Spring(m, post, hook, 80.0, length=0.1))
    s.add(ForceTorque(m, upper))
    start = {"upper": -0.3, "fore": 0.4, "upper_dot": 0.7, "fore_dot": -1.1}
    found = wrench(lw.simulate(s, until=0.001, initial=start), 0)

    same, upper2, fore2 = arm()
    way = (
        same.point("hook", fore2, (0.4, 0, 0)).position
        - same.point("post", same.ground, (0.5, 0.5, 0)).position
    )
    length = lw.sqrt(way @ way)
    same.force("pull", -80.0 * (length - 0.1), at=same.points["hook"], along=way / length)
    force, moment = reactions(same).joints[upper2]
    for letter, x in zip("abcdef", (*force, *moment), strict=True):
        same.output(letter, x)
    run = lw.simulate(same, until=0.001, initial=start)
    # no motor is in the joint, so the moment about its axis is zero in both
    assert found == pytest.approx([run[letter][0] for letter in "abcdef"], abs=1e-9)
    assert found[5] == pytest.approx(0, abs=1e-9)
    assert abs(found[:2]).min() > 1


def test_a_loop_across_the_sensor_is_refused() -> None:
    m = lw.load("four-bar")
    inner = next(b for b in m.bodies.values() if b.parent is m.ground)
    with pytest.raises(lw.Error, match="acts across the joint"):
        ForceTorque(m, inner)


def test_noise_needs_a_rate_and_has_its_size() -> None:
    m, _, fore = arm()
    s = lw.System(m)
    s.add(ForceTorque(m, fore, force_noise=0.5, moment_noise=0.1, force_bias=2.0), rate=1000)
    run = lw.simulate(s, until=4.0, seed=3)
    z = run["force_torque.force_z"]
    assert np.std(z) == pytest.approx(0.5, rel=0.05)
    assert np.mean(z) == pytest.approx(2.0, abs=0.03)
    assert np.std(run["force_torque.moment_x"]) == pytest.approx(0.1, rel=0.05)
    with pytest.raises(lw.Error, match="rate"):
        lw.System(m).add(ForceTorque(m, fore, force_noise=0.5))
