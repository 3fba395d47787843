"""Two arms that carry one object: one leads, the other holds what they squeeze it with."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.control import PD, Hybrid
from linkwright.elements import CompliantWrist

SQUEEZE, BOX, ACROSS, UP = 20.0, 2.0, 0.2, 0.3  # N, kg, m, m
GOES = "where(t < 0.6, 0, where(t < 2.6, 0.5*(1 - cos(pi*(t - 0.6)/2)), 1))"
RATE = "where(t < 0.6, 0, where(t < 2.6, 0.25*pi*sin(pi*(t - 0.6)/2), 0))"


def carried(*, told: bool) -> lw.System:
    """Return two arms with a box between them, which is moved across and up.

    Pads of 20 kN/m hold the box on both sides. The left arm follows its place; the right one
    presses along x by a wrist of 4 kN/m, and follows its place along y.
    """
    m = lw.Mechanism("two")
    left, right = (m.body(name, translate="xy", mass=5, inertia=0) for name in ("left", "right"))
    tool = m.body("tool", parent=right, translate="xy", mass=0.1, inertia=0)
    box = m.body("box", translate="xy", mass=BOX, inertia=0)
    m.gravity(along="-y")
    for body in (left, tool, box):
        m.point(f"at_{body.name}", body)
    for body in (left, tool):
        for k, axis in enumerate("xy", 1):
            gap, rate = (
                f"(dot({of}(at_box), [n{k}]) - dot({of}(at_{body.name}), [n{k}]))"
                for of in ("pos", "vel")
            )
            pad = f"-20000*{gap} - 100*{rate}"
            name = f"{body.name} {axis}"
            m.force(name, pad, at=box.origin, along=axis, reaction=body.origin)
            m.output(name, pad, unit="N")
    s = lw.System(m)
    wrist = CompliantWrist(m, right, tool, [4000] * 3 + [8] * 3, [20] * 3 + [0.05] * 3)
    s.add(wrist)
    law = s.add(
        Hybrid(m, wrist, force="x", push={"x": -SQUEEZE}, KF=0.05, Kp=0.5),
        rate=lw.sampled(period=0.002),
    )
    servos = [
        s.add(PD(m, joints=[f"{x}.x", f"{x}.y"], kp=5e4, kd=1e3), rate=1000, name=f"servo_{x}")
        for x in ("left", "right")
    ]
    s.connect(law.command, servos[1].target)
    s.connect(law.command_rate, servos[1].target_rate)
    for k, size in enumerate((ACROSS, UP)):
        s.connect(f"{size}*{GOES}", servos[0].target[k])
        s.connect(f"{size}*{RATE}", servos[0].target_rate[k])
    s.connect(f"{UP}*{RATE}", law.feed[1])
    if told:
        s.connect(f"{ACROSS}*{RATE}", law.surface_rate[0])
    return s


def test_two_arms_carry_an_object_and_hold_what_they_squeeze_it_with() -> None:
    """The internal force stays within half a percent; what the leader adds to it is mass times
    acceleration. An arm that is not told of the motion is pushed away by far more."""
    run = lw.simulate(carried(told=True), 3.2, method="rk4", step=2e-4, every=10)
    late = run.times > 0.55
    t = run.times[late]
    squeeze, lead = -run["tool x"][late], run["left x"][late]
    assert np.abs(squeeze - SQUEEZE).max() < 0.1
    moving = (t > 0.6) & (t < 2.6)
    asked = np.where(moving, np.cos(math.pi * (t - 0.6) / 2), 0) * ACROSS * math.pi**2 / 8
    smooth = (np.abs(t - 0.6) > 0.1) & (np.abs(t - 2.6) > 0.1)
    assert np.abs(lead - squeeze - BOX * asked)[smooth].max() < 0.05
    moved = run["box.x"][-1] - np.interp(0.55, run.times, run["box.x"])
    assert moved == pytest.approx(ACROSS, abs=1e-4)
    assert run["box.y"][-1] - np.interp(0.55, run.times, run["box.y"]) == pytest.approx(
        UP, abs=1e-4
    )
    alone = lw.simulate(carried(told=False), 2.0, method="rk4", step=2e-4, every=10)
    assert np.abs(-alone["tool x"][alone.times > 0.55] - SQUEEZE).max() > 10
