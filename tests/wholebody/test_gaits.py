"""Gaits: the plan against the pendulum's equation, and robots that step, walk and trot."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.elements import Contact, HeightField, Plane
from linkwright.robots import Robot
from linkwright.wholebody import Controller, FlatContact, capture_point, support_margin
from linkwright.wholebody.gait import Gait
from tests.seeds import cases, seeds, seldom
from tests.support.humanoid import (
    CORNERS,
    SOLES,
    centers,
    feet,
    grounded,
    humanoid,
    stance,
    within_limits,
)
from tests.support.late import Late

integrate = Late("scipy.integrate")

Array = NDArray[np.float64]

FILE = Path(__file__).parents[1] / "robots" / "quadruped.urdf"
PAWS = tuple(f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right"))
DIAGONALS = ((PAWS[0], PAWS[3]), (PAWS[1], PAWS[2]))


@cache
def dog() -> tuple[Robot, Array]:
    """A quadruped with a free base, and coordinates in which it stands."""
    robot = Robot(FILE, friction=False)
    q = robot.neutral.copy()
    for paw in PAWS:
        for joint, angle in (("thigh", 0.7), ("shank", -1.4)):
            q[robot.coordinates.index(f"{paw[:-5]}_{joint}_joint")] = angle
    q[2] -= robot.position(q, PAWS[0])[2]
    return robot, q


def random_walk(seed: int) -> Gait:
    """A gait of the humanoid with lengths and times of its own."""
    rng = np.random.default_rng(seed)
    return Gait(
        humanoid(), stance(), feet(), steps=int(rng.integers(2, 7)),
        stride=(float(rng.uniform(-0.2, 0.35)), float(rng.uniform(-0.02, 0.02))),
        step_time=float(rng.uniform(0.5, 1.0)), transfer=float(rng.uniform(0.1, 0.3)),
        ground=lambda x, y: 0.02 if x > 0.3 else 0.0,
    )  # fmt: skip


@pytest.mark.parametrize("seed", seeds(12, daily=2))
def test_the_plan_is_a_linear_inverted_pendulum(seed: int) -> None:
    """c'' = w^2 (c - p), integrated backward in its capture point from the end, by another method.

    Forward the pendulum falls: errors grow by e^(w t). Backward they fade.
    """
    gait = random_walk(seed)
    w = gait.omega
    start = gait.center(0.0)[0]
    assert w == pytest.approx((9.81 / start[2]) ** 0.5)
    times = np.linspace(0.0, gait.duration, 400)
    moved = [gait.center(t) for t in times]
    for t, (c, _, push) in zip(times, moved, strict=True):
        assert push[:2] == pytest.approx(w * w * (c[:2] - gait.pressure(t)), abs=1e-9)
    for axis in (0, 1):
        back = integrate.solve_ivp(
            lambda t, x, axis=axis: w * (x - gait.pressure(t)[axis]), (gait.duration, 0.0),
            [gait.pressure(gait.duration)[axis]], t_eval=times[::-1], rtol=1e-9, atol=1e-11,
            max_step=0.02,
        )  # fmt: skip
        ours = [c[axis] + v[axis] / w for c, v, _ in moved]
        assert back.y[0][::-1] == pytest.approx(ours, abs=1e-6)
    assert start == pytest.approx(humanoid().center_of_mass(stance()), abs=1e-12)


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_motions_have_their_rates_and_pressure_stays_in_the_feet(seed: int) -> None:
    gait, h = random_walk(seed), 1e-5
    motions: list[Callable[[float], Any]] = [gait.center]
    motions += [partial(gait.foot, sole) for sole in SOLES]
    knots = {
        0.0,
        *(t for swings in gait._swings.values() for s in swings for t in (s.begin, s.end)),
    }
    for t in np.linspace(0.01, gait.duration - 0.01, 61):
        if min(abs(t - knot) for knot in knots) < 1e-3:
            continue
        for motion in motions:
            before, now, after = motion(t - h), motion(t), motion(t + h)
            assert (after[0] - before[0]) / (2 * h) == pytest.approx(now[1], abs=1e-5)
            if motion is not gait.center:  # whose acceleration jumps with the speed of pressure
                assert (after[1] - before[1]) / (2 * h) == pytest.approx(now[2], abs=1e-3)
    down = {s: gait.foot(s, 0.0)[0] for s in SOLES}
    for t in np.linspace(0.0, gait.duration, 200):
        standing = [s for s in SOLES if gait.share(s, float(t)) > 0]
        places = [gait.foot(s, float(t))[0] + np.array(p) for s in standing for p in CORNERS]
        assert support_margin(gait.pressure(float(t)), places) > 0.03
        for s in SOLES:
            place = gait.foot(s, float(t))[0]
            if s in standing:  # what carries does not move
                still = np.zeros(3)
                assert gait.foot(s, float(t))[1] == pytest.approx(still, abs=1e-12)
            assert place[2] >= down[s][2] - 1e-12


def test_footsteps_are_a_stride_apart_and_end_side_by_side() -> None:
    gait = Gait(humanoid(), stance(), feet(), steps=5, stride=(0.3, 0.0))
    found = [(frame, float(place[0])) for _, frame, place in gait.footsteps]
    assert [frame for frame, _ in found] == [*SOLES, *SOLES, SOLES[0]]
    assert [x for _, x in found] == pytest.approx([0.3, 0.6, 0.9, 1.2, 1.2], abs=1e-9)
    ends = [t for t, _, _ in gait.footsteps]
    assert [b - a for a, b in pairwise(ends)] == pytest.approx([0.8] * 4)
    for frame in SOLES:  # a share goes evenly, and is nothing while the foot is in the air
        values = np.array([gait.share(frame, t) for t in np.arange(0, gait.duration, 1e-3)])
        assert np.max(np.abs(np.diff(values))) < 1e-3 / 0.2 + 1e-9
        assert np.min(values) == 0
        assert np.max(values) == 1


def trotted(steps: int, ground: float, base: int) -> tuple[Gait, Any, Any, Array]:
    """Let the quadruped trot at 0.5 m/s: gait, controller, run and its coordinates."""
    robot, q = dog()

    def level(x: float, _y: float) -> float:
        return ground if 0.5 <= x < 1.0 or 1.5 <= x < 2.0 else 0.0

    gait = Gait(
        robot, q, PAWS, groups=DIAGONALS, steps=steps, stride=(0.125, 0), step_time=0.25,
        transfer=0.05, clearance=0.06, ground=level, rest=0.3,
    )  # fmt: skip
    body = gait.controller("trunk", friction=0.6)
    x, y = np.arange(-1.0, 3.001, 0.01), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    heights = [[level(a + 1e-9, 0.0)] * len(y) for a in x]
    surface = HeightField(x, y, heights, interpolation="linear") if ground else Plane()
    system = lw.System(robot, base=base)
    system.add(Contact(robot, PAWS, surface, stiffness=3e4, damping=150, static=0.8,
                       tangential=2e4, tangential_damping=60))  # fmt: skip
    system.add(body, rate=500)
    start = dict(zip(robot.coordinates, q, strict=True))
    until = gait.duration if steps > 2 else 0.3 + 0.25 + 0.1
    run = lw.simulate(system, until, method="semi-implicit", initial=start, every=base // 500)
    return gait, body, run, np.array([run[name] for name in robot.coordinates]).T


def held(run: Any, body: Any) -> None:
    """No force leaves its cone, no effort its limit, no limit gives way, and torques never jump."""
    forces = np.array([run[f"wholebody_program.forces[{k}]"] for k in range(12)]).T
    for f in forces.reshape(-1, 3):
        assert np.hypot(f[0], f[1]) <= 0.6 * f[2] + 1e-6
    efforts = np.array([run[f"wholebody.tau_{joint}"] for joint in body.joints])
    assert np.max(np.abs(efforts)) <= 20.0 + 1e-9
    assert np.max(run["wholebody_program.relaxed"]) == 0
    assert np.max(np.abs(np.diff(efforts, axis=1))) < 0.3 * 20.0  # in a tick of 2 ms


def test_torques_go_on_where_feet_leave_and_land() -> None:
    """In one state, shortly before and after: the same efforts, which a sudden share does not give.

    The state is that of standing, in which every foot is where a step in place wants it.
    """
    robot, q = dog()
    gait = Gait(robot, q, PAWS, groups=DIAGONALS, rest=0.3, step_time=0.3, transfer=0.1)
    body = gait.controller("trunk", friction=0.6)
    off = [FlatContact(paw, share=lambda t: float(t < 0.4)) for paw in DIAGONALS[0]]
    sudden = Controller(robot, [*off, *DIAGONALS[1]])
    sudden.tasks = body.tasks
    still, h = np.zeros(18), 1e-7

    def jump(controller: Controller, t: float) -> float:
        before, after = (controller.solve(q, still, t + s * h) for s in (-1, 1))
        assert len(before.forces) != len(after.forces)
        return float(np.max(np.abs(after.effort - before.effort)))

    assert jump(body, 0.4) < 1e-2  # N m: the first two leave
    assert jump(body, 0.6) < 1e-2  # and land
    assert jump(sudden, 0.4) > 1.0


@seldom(daily="test_torques_go_on_where_feet_leave_and_land")
def test_a_quadruped_begins_to_trot() -> None:
    """One step of a trot: two paws leave the ground together, and come down where they should."""
    gait, body, run, qs = trotted(2, 0.0, 2000)
    robot, _ = dog()
    held(run, body)
    at = np.array([gait.center(t)[0] for t in run.times])
    center = np.array([robot.center_of_mass(q) for q in qs])
    assert np.max(np.abs(center - at)) < 0.015
    high = np.argmin(np.abs(run.times - 0.45))
    for paw in PAWS:
        height = robot.position(qs[high], paw)[2]
        assert (height > 0.05) if paw in DIAGONALS[0] else (abs(height) < 5e-3)
    for _, paw, place in gait.footsteps[:2]:
        assert robot.position(qs[-1], paw) == pytest.approx(place, abs=0.01)


@seldom(daily="test_torques_go_on_where_feet_leave_and_land")
def test_a_quadruped_trots_over_steps_of_two_centimeters() -> None:
    """Half a meter in a second, up and down two slabs."""
    gait, body, run, qs = trotted(16, 0.02, 4000)
    robot, q = dog()
    held(run, body)
    center = np.array([robot.center_of_mass(x) for x in qs])
    at = np.array([gait.center(t)[0] for t in run.times])
    assert np.max(np.abs(center - at)) < 0.03
    trotting = (run.times > 0.3 + 0.5) & (run.times < 0.3 + 3.5)
    speed = np.polyfit(run.times[trotting], center[trotting, 0], 1)[0]
    assert speed == pytest.approx(0.5, rel=0.02)
    paws = np.array([[robot.position(x, paw) for paw in PAWS] for x in qs[::10]])
    stood = {round(float(z), 2) for z in paws[..., 2].ravel() if z < 0.025}
    assert {0.0, 0.02} <= stood  # on both levels
    assert min(robot.pose(x, "trunk")[2, 2] for x in qs[::10]) > np.cos(np.radians(3))
    assert center[-1, 0] - robot.center_of_mass(q)[0] == pytest.approx(15 * 0.125, abs=0.01)


@seldom(daily="test_torques_go_on_where_feet_leave_and_land")
@pytest.mark.parametrize(("steps", "stride"), [(6, 0.0), (18, 0.3)])
def test_the_humanoid_walks_five_meters_and_steps_in_place(steps: int, stride: float) -> None:
    gait = Gait(
        humanoid(), stance(), feet(), steps=steps, stride=(stride, 0.0), step_time=0.7,
        transfer=0.2,
    )  # fmt: skip
    body = gait.controller("torso", friction=0.6, settling=0.1)
    run = lw.simulate(grounded(body), gait.duration, method="semi-implicit", every=4)
    error = centers(run, gait.center)
    assert np.max(np.abs(error)) < 5e-3
    within_limits(run, body)
    efforts = np.array([run[f"wholebody.tau_{joint}"] for joint in body.joints])
    assert np.max(np.abs(np.diff(efforts, axis=1))) < 25.0  # N m in a tick, of 180 to 250
    q = np.array([run.final[name] for name in humanoid().coordinates])
    far = humanoid().center_of_mass(q) - humanoid().center_of_mass(stance())
    assert far == pytest.approx([stride * (steps - 1), 0, 0], abs=0.01)
    assert stride == 0 or far[0] > 5.0
    u = np.array([run.final[name] for name in humanoid().speeds])
    rest = capture_point(humanoid(), q, u)
    assert rest == pytest.approx(gait.center(gait.duration)[0][:2], abs=0.01)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"steps": 0}, "steps of a gait"),
    ({"steps": 1.5}, "whole number"),
    ({"stride": (0.1,)}, "give x and y"),
    ({"step_time": 0.1}, "no time to swing"),
    ({"transfer": 0.0}, "transfer"),
    ({"clearance": -0.1}, "clearance"),
    ({"groups": [["left_sole", "right_sole"]]}, "swing together"),
    ({"groups": [["left_foot"]]}, "left_sole"),
    ({"groups": [[]]}, "no foot"),
    ({"ground": lambda x, y: np.nan}, "ground"),
    ({"ground": lambda x, y: 2.0}, "below the ground"),
    ({"gravity": 0.0}, "gravity"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_gaits_that_cannot_be_are_rejected(case: int) -> None:
    options, words = BAD[case]
    with pytest.raises(Error, match=words):
        Gait(humanoid(), stance(), feet(), **options)
    with pytest.raises(Error, match="not a foot"):
        Gait(humanoid(), stance(), feet()).share("left_foot", 0.0)


@pytest.mark.parametrize("t", cases([0.5, 1.0, 1.1, 1.15, 1.19, 1.3], daily=[1.0, 1.15]))
def test_what_can_be_kept_is_kept_far_from_the_plan(t: float) -> None:
    """It still stands where it began: forces of statics keep to all limits, so none gives way."""
    walk = Gait(humanoid(), stance(), feet(), steps=18, stride=(0.3, 0), step_time=0.7)
    body = walk.controller("torso", friction=0.6, settling=0.1)
    found = body.solve(stance(), np.zeros(28), t=t)
    assert found.relaxed == {}
    for sole, forces in found.forces.items():
        most = walk.share(sole, t) * 2 * 9.81 * 65.0
        assert forces[:, 2].sum() <= most * (1 + 1e-9) + 1e-6
        assert np.all(np.hypot(forces[:, 0], forces[:, 1]) <= 0.6 * forces[:, 2] + 1e-6)
