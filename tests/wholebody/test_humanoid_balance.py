"""The humanoid on its feet: it squats, stands on one of them, and is pushed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import where
from linkwright.blocks import Element
from linkwright.wholebody import (
    Controller,
    FlatContact,
    center_of_mass,
    center_of_pressure,
    support_margin,
)
from tests.seeds import seldom
from tests.support.humanoid import (
    CORNERS,
    FRICTION,
    SOLES,
    centers,
    feet,
    grounded,
    humanoid,
    stance,
    within_limits,
)

Array = NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])


def standing(contacts: list[FlatContact]) -> Controller:
    """A controller that keeps the torso upright, and its posture with what is left."""
    body = Controller(humanoid(), contacts, friction=FRICTION, settling=0.1)
    body.track("torso", orientation=np.eye(3), weight=5.0)
    body.posture(list(stance()[7:]), priority=2)
    return body


def test_it_stands_with_its_weight_under_its_center() -> None:
    """Statics by hand: the forces carry 65 kg, and their center is below the center of mass."""
    robot, q = humanoid(), stance()
    body = standing(feet())
    center = robot.center_of_mass(q)
    body.track(center_of_mass, position=center, weight=10.0)
    found = body.solve(q, np.zeros(28))
    assert found.relaxed == {}
    loads = np.concatenate([found.forces[sole] for sole in SOLES])
    assert loads[:, 2].sum() == pytest.approx(65.0 * 9.81, rel=1e-5)
    points = [[robot.point_position(q, np.array(p), s) for p in CORNERS] for s in SOLES]
    pressure = center_of_pressure(np.concatenate(points), loads)
    assert pressure == pytest.approx(center[:2], abs=1e-5)
    bent = dict(zip(body.joints, found.effort, strict=True))
    assert bent["left_knee"] == pytest.approx(bent["right_knee"], abs=1e-6)
    assert 20.0 < abs(bent["left_knee"]) < 100.0  # N m; half the weight at 7 to 14 cm


@seldom(daily="test_it_stands_with_its_weight_under_its_center")
def test_it_squats_with_its_center_within_five_millimeters() -> None:
    """Twenty centimeters down and up again, in two seconds, twice."""
    body, w = standing(feet()), math.pi
    center = humanoid().center_of_mass(stance())

    def squat(t: float) -> tuple[Array, Array, Array]:
        down, phase = -0.1 * UP, w * t
        return (
            center + down * (1 - math.cos(phase)),
            down * w * math.sin(phase),
            down * w * w * math.cos(phase),
        )

    body.track(center_of_mass, position=squat, weight=10.0)
    run = lw.simulate(grounded(body), 4.0, method="semi-implicit", every=20)
    error = centers(run, squat)
    assert np.ptp(run["base.z"]) > 0.15
    assert np.max(np.abs(error)) < 5e-3
    within_limits(run, body)


@seldom(daily="test_it_stands_with_its_weight_under_its_center")
def test_it_stands_on_one_foot_for_five_seconds() -> None:
    """The weight goes over, one foot carries less and less, is lifted, and touches nothing."""
    robot, q = humanoid(), stance()
    center, right = robot.center_of_mass(q), robot.position(q, "right_sole")
    over = np.append(robot.position(q, "left_sole")[:2], center[2])

    def eased(a: Array, b: Array, s: float) -> Array:
        s = min(max(s, 0.0), 1.0)
        return np.asarray(a + (b - a) * s**3 * (10 - 15 * s + 6 * s * s))

    def target(t: float) -> tuple[Array, Array, Array]:
        x, before, after = (eased(center, over, (t + h) / 1.5) for h in (0, -1e-4, 1e-4))
        return x, (after - before) / 2e-4, (after - 2 * x + before) / 1e-8

    left, other = feet()
    off = FlatContact(
        "right_sole", other.points, max_force=700.0, share=lambda t: min(max((1.6 - t) / 0.3, 0), 1)
    )
    body = standing([left, off])
    body.track(center_of_mass, position=target, weight=10.0, kp=40.0)
    lifted = right + np.array([0.0, 0.02, 0.1])
    body.track("right_sole", position=lambda t: eased(right, lifted, t - 1.6), weight=5.0)
    run = lw.simulate(grounded(body), 7.6, method="semi-implicit", every=4)
    alone = run.times > 2.6  # five seconds
    loads = {s: sum(run[f"ground.normal_{s}_foot_{k}"][alone] for k in (1, 2, 3, 4))
             for s in ("left", "right")}  # fmt: skip
    assert np.max(np.abs(loads["right"])) == 0.0
    assert np.mean(loads["left"]) == pytest.approx(65.0 * 9.81, rel=1e-3)
    qs = np.array([run[name] for name in robot.coordinates]).T[alone]
    assert min(robot.position(x, "right_sole")[2] for x in qs[::50]) > 0.08
    assert np.max(np.abs(centers(run, target)[alone])) < 5e-3
    within_limits(run, body)


@seldom(daily="test_it_stands_with_its_weight_under_its_center")
@pytest.mark.parametrize("eighth", range(8))
def test_it_stays_up_after_pushes_of_four_fifths_of_the_limit(eighth: int) -> None:
    """A push of 0.05 s; a pendulum on the edge of its feet takes m d sqrt(g / h)."""
    robot, q = humanoid(), stance()
    center = np.append(np.mean([robot.position(q, s)[:2] for s in SOLES], axis=0), 0.0)
    center[2] = robot.center_of_mass(q)[2]
    along = np.array([math.cos(eighth * math.pi / 4), math.sin(eighth * math.pi / 4)])
    points = [[robot.point_position(q, np.array(p), s) for p in CORNERS] for s in SOLES]
    corners = np.concatenate(points)
    inside = [d for d in np.linspace(0, 0.5, 5001)
              if support_margin(center[:2] + d * along, corners) >= 0]  # fmt: skip
    w = math.sqrt(9.81 / center[2])
    push = 0.8 * robot.mass * inside[-1] * w

    body = Controller(robot, feet(0.9), friction=FRICTION, settling=0.1)
    body.track(center_of_mass, position=center, weight=10.0, kp=3 * w * w, kd=4 * w)
    body.track("torso", orientation=np.eye(3), weight=20.0)
    body.momentum(weight=0.1, gain=1.0)
    body.posture(list(stance()[7:]))
    system = grounded(body, rate=500, base=2000)
    load = Element("push", robot)
    force = push / 0.05 * where(load.time < 1.05, 1.0, 0.0) * where(load.time < 1.0, 0.0, 1.0)
    load.force_vector("f", [force * along[0], force * along[1], 0.0], at=robot.point("torso"))
    system.add(load)
    run = lw.simulate(system, 4.0, method="semi-implicit", every=4)
    given = np.hypot(run["push.f_x"], run["push.f_y"])
    assert np.sum(given[1:] * np.diff(run.times)) == pytest.approx(push, rel=0.05)
    error = centers(run, lambda t: (center,))
    late = error[(run.times > 1.0) & (run.times < 2.0)]
    assert np.max(np.hypot(late[:, 0], late[:, 1])) > 0.03  # it was moved
    assert np.max(np.abs(error[-1])) < 5e-3  # and came back
    within_limits(run, body)
