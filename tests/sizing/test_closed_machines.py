"""What tasks ask of the actuators of machines with loops, and drives for them."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.motion.task_parts import Dwell, Follow, Move, ToolLine
from linkwright.motion.trajectory import point_to_point, through
from linkwright.mounts.closed_forms import Jacks, jack_lengths
from linkwright.sizing import require, size
from linkwright.sizing.requirements import Requirement
from tests.seeds import seldom
from tests.support.shared import robot

Array = NDArray[np.float64]
LEGS = tuple(f"leg{k}" for k in range(1, 7))


@cache
def lifted() -> Requirement:
    """Return a hexapod that is lifted, shifted and turned at once, with a load on it."""
    by = {"x": 0.03, "z": 0.05, "rx": 0.2, "rz": -0.3}
    task = lw.Task([ToolLine(by, 0.8, axes="world"), Dwell(0.1)], frame="platform")
    return require(robot("stewart"), task, payload=7.0, step=2e-3)


def by_hand(t: float) -> tuple[Array, Array]:
    """Return lengths and forces of the legs from the pose of the platform over time alone."""
    v = robot("stewart").mechanism.values
    feet, heads = (
        np.array([[v[f"{part}{k}_{x}"] for x in "xyz"] for k in range(1, 7)])
        for part in ("base", "platform")
    )
    spin, shift = np.array([0.2, 0, -0.3]), np.array([0.03, 0, 0.05])
    angle, s = float(np.linalg.norm(spin)), min(t / 0.8, 1.0)
    share = 10 * s**3 - 15 * s**4 + 6 * s**5
    first = (30 * s**2 - 60 * s**3 + 30 * s**4) / 0.8
    second = (60 * s - 180 * s**2 + 120 * s**3) / 0.64
    e = spin / angle
    k = np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    turn = np.eye(3) + math.sin(share * angle) * k + (1 - math.cos(share * angle)) * k @ k
    place = np.array([0, 0, v["height"]]) + share * shift
    arms = heads @ turn.T
    legs = place + arms - feet
    sizes = np.linalg.norm(legs, axis=1)
    along = legs / sizes[:, None]
    inertia = turn @ np.diag([v["across"], v["across"], v["along"]]) @ turn.T
    omega, alpha = spin * first, spin * second
    push, moment = np.zeros(3), inertia @ alpha + np.cross(omega, inertia @ omega)
    for mass, c in ((v["mass"], turn @ [0, 0, v["center"]]), (7.0, np.zeros(3))):
        felt = shift * second + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c))
        force = mass * (felt + np.array([0, 0, 9.81]))
        push, moment = push + force, moment + np.cross(c, force)
    wrench = np.hstack([along, np.cross(arms, along)]).T
    return sizes, np.linalg.solve(wrench, np.concatenate([push, moment]))


def test_forces_of_a_hexapod_are_those_of_its_platforms_balance() -> None:
    """Six forces along six legs hold and move the platform: Newton and Euler by hand."""
    need = lifted()
    assert tuple(j.name for j in need.joints) == LEGS
    for t in (0.0, 0.11, 0.4, 0.63, 0.8, 0.85):
        k = int(np.argmin(np.abs(need.times - t)))
        sizes, forces = by_hand(float(need.times[k]))
        found = np.array([[need[leg][k], need[f"{leg}.torque"][k]] for leg in LEGS])
        assert found[:, 0] == pytest.approx(sizes, abs=1e-10), t
        assert found[:, 1] == pytest.approx(forces, rel=1e-6), t
        h = 1e-4
        if 0.0 < t < 0.79:
            before, after = (by_hand(float(need.times[k]) + s * h)[0] for s in (-1, 1))
            speeds = [need.values(leg, "speed")[k] for leg in LEGS]
            assert speeds == pytest.approx((after - before) / (2 * h), abs=1e-6)
            bent = (after - 2 * sizes + before) / h**2
            there = [need.values(leg, "acceleration")[k] for leg in LEGS]
            assert there == pytest.approx(bent, abs=1e-5)
    assert need["leg1.fz"] == pytest.approx(need["leg1.torque"])
    assert not need.values("leg1", "moment").any()


@seldom(daily="test_forces_of_a_hexapod_are_those_of_its_platforms_balance")
def test_jacks_of_a_mount_go_where_the_closed_form_says() -> None:
    """A beam along a great circle, then along a path of compass angles; jerks stay finite."""
    mount = robot("mount-prismatic")
    path = through([0.0, 1.0, 2.0, 3.0], np.radians([[90, 30], [80, 35], [75, 45], [80, 50]]))
    task = lw.Task(
        [
            Move({"azimuth": math.radians(90), "elevation": math.radians(30)}, 2.0),
            Follow(path, ("azimuth", "elevation")),
            Move({"leg1": 0.9, "leg2": 0.9}, 1.0),
        ]
    )
    need = require(mount, task, step=5e-3)
    jacks = Jacks.of(mount.mechanism)
    for t in (0.0, 0.7, 1.3, 2.5, 4.1):
        k = int(np.argmin(np.abs(need.times - t)))
        at = float(need.times[k])
        if at < 2:
            s = at / 2
            zenith = math.radians(60) * (10 * s**3 - 15 * s**4 + 6 * s**5)
            d = np.array([math.sin(zenith), 0, math.cos(zenith)])
        else:
            az, el = path(at - 2.0)
            d = np.array([math.sin(az) * math.cos(el), math.cos(az) * math.cos(el), math.sin(el)])
        legs = [need[f"leg{j}"][k] for j in (1, 2)]
        assert legs == pytest.approx(jack_lengths(d, jacks), abs=1e-8)
    assert [need[f"leg{j}"][-1] for j in (1, 2)] == pytest.approx([0.9, 0.9])
    q, u, a, _ = need.dynamic_states()
    again = mount.inverse_dynamics(q, u, a)
    assert pytest.approx(again) == np.array([need[f"leg{j}.torque"] for j in (1, 2)]).T
    k = int(np.argmin(np.abs(need.times - 2.0)))  # from rest to rest
    lost = sum(need[f"leg{j}.energy"][k] for j in (1, 2))
    height = mount.potential_energy(q)
    assert lost == pytest.approx(float(height[k] - height[0]), rel=1e-4)


def test_drives_of_a_hexapod_are_sized_with_what_each_leg_feels() -> None:
    need = lifted()
    found = size(need, life=2000.0)
    assert set(found.chosen) == set(LEGS)
    assert all(choice.gear.startswith("screw") for choice in found.chosen.values())
    alone = size(need.cycles(), life=2000.0)
    for leg in LEGS:
        assert found.chosen[leg].margin <= alone.chosen[leg].margin + 0.5
    arm = found.arm
    k = len(need.times) // 2
    q = need.dynamic_states()[0][k : k + 1]
    unit = np.eye(6)[:1]
    rest = robot("stewart").joint_loads(q, 0 * unit, 0 * unit)[0]
    pushed = robot("stewart").joint_loads(q, 0 * unit, unit)[0]
    assert arm.inertia["leg1"][k] > float((pushed - rest)[0, 0]) > 0  # the payload adds to it
    with pytest.raises(Error, match="machine with loops"):
        found.system()
    with pytest.raises(Error, match="machine with loops"):
        found.error_budget("platform", 0.4)


@seldom(daily="test_forces_of_a_hexapod_are_those_of_its_platforms_balance")
def test_a_path_of_directions_needs_no_names_and_begins_anywhere() -> None:
    t = np.linspace(0.0, 3.0, 13)
    d = np.stack([0.3 * np.cos(0.2 * t), 0.3 * np.sin(0.2 * t), 0 * t + math.sqrt(0.91)], axis=1)
    need = require("mount-2-rotary", through(t, d), step=0.02)
    assert need.times[-1] == 3.0
    beam = robot("mount-2-rotary").pose(need.dynamic_states()[0][75], "platform")[:3, 2]
    assert beam == pytest.approx(
        [0.3 * math.cos(0.3), 0.3 * math.sin(0.3), math.sqrt(0.91)], abs=1e-4
    )
    named = require("mount-2-rotary", lw.Task([Follow(through(t, d), ("east", "north", "up"))]),
                    step=0.02)  # fmt: skip
    assert named["arm1.torque"] == pytest.approx(need["arm1.torque"])


def test_what_a_machine_cannot_do_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    still = point_to_point([0.0] * 6, [0.1] * 6, 1.0)
    for parts, code in (
        ([Move({"azimuth": 0.0}, 1.0)], "R203"),
        ([Move({"leg9": 0.0}, 1.0)], "R203"),
        ([Follow(still)], "R207"),
        ([ToolLine({"z": 0.1}, 1.0, free=("rx",))], "R214"),
        ([lw.motion.TaskSegment({"x": [0.1]}, 0, 1, control="tool")], "R214"),
    ):
        with pytest.raises(Error) as caught:
            require(robot("stewart"), lw.Task(parts), step=0.02)
        assert caught.value.code == code, str(caught.value)
    low = lw.Task([Move({"azimuth": 0.0, "elevation": -1.4}, 1.0)])
    with pytest.raises(Error, match=r"cannot follow the task at 0\.\d+ s.*R205"):
        require(robot("mount-prismatic"), low, step=0.02)
    with pytest.raises(Error, match="R213"):
        require(robot("stewart"), lw.Task([Dwell(1.0)]), scheme="robsim")
    file = tmp_path / "point.toml"
    file.write_text(
        'format = 1\n[[part]]\nkind = "move"\nduration = 1\n'
        'to = {azimut = "3 deg", elevation = "80 deg"}\n'
    )
    assert main(["analyze", "require", "mount-prismatic", str(file)]) == 2
    said = capsys.readouterr().err
    assert "point.toml:5" in said
    assert "azimuth" in said
    file.write_text(file.read_text().replace("azimut ", "azimuth "))
    table = tmp_path / "need.csv"
    assert main(["analyze", "require", "mount-prismatic", str(file), "--step", "0.01",
                 "--recording", str(table)]) == 0  # fmt: skip
    assert "leg1.torque" in lw.load(table)
    assert "2 joints" not in capsys.readouterr().err


FIVE_BAR = """
format = 1
name = "five-bar"
actuators = ["right", "left"]
gravity = {along = "-y", g = 9.81}
[[body]]
name = "left"
at = [-0.1, 0, 0]
rotate = "z"
mass = 0.4
com = [0.1, 0, 0]
inertia = [0, 0, 0.002]
[[body]]
name = "far"
parent = "left"
at = [0.2, 0, 0]
rotate = "z"
mass = 0.3
com = [0.15, 0, 0]
inertia = [0, 0, 0.003]
[[body]]
name = "right"
at = [0.1, 0, 0]
rotate = "z"
mass = 0.9
com = [0.05, 0, 0]
inertia = [0, 0, 0.001]
[[body]]
name = "rod"
parent = "right"
at = [0.2, 0, 0]
rotate = "z"
mass = 0.2
com = [0.15, 0, 0]
inertia = [0, 0, 0.002]
[[point]]
name = "tip"
body = "far"
at = [0.3, 0, 0]
[[point]]
name = "end"
body = "rod"
at = [0.3, 0, 0]
[[point_constraint]]
first = "tip"
second = "end"
along = "x"
[[point_constraint]]
first = "tip"
second = "end"
along = "y"
[initial]
left = "120 deg"
far = "-70 deg"
right = "60 deg"
rod = "70 deg"
"""


def test_actuators_that_the_model_names_in_another_order_get_their_own_torques(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A five-bar without a platform, by Lagrange's equations of its two angles alone."""

    def places(angles: Array) -> Array:
        """Return centers and tip, then angles of the links, by the meeting of two circles."""
        feet = np.array([[-0.1, 0.0], [0.1, 0.0]])
        elbows = feet + 0.2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        way = elbows[1] - elbows[0]
        up = math.sqrt(0.09 - way @ way / 4) * np.array([-way[1], way[0]]) / math.hypot(*way)
        tip = elbows.mean(axis=0) + up
        centers = [(feet[0] + elbows[0]) / 2, (elbows[0] + tip) / 2,
                   feet[1] + 0.25 * (elbows[1] - feet[1]), (elbows[1] + tip) / 2]  # fmt: skip
        turned = [math.atan2(*(tip - e)[::-1]) for e in elbows]
        return np.concatenate([*centers, [angles[0], turned[0], angles[1], turned[1]]])

    weights = np.array([0.4, 0.4, 0.3, 0.3, 0.9, 0.9, 0.2, 0.2, 0.002, 0.003, 0.001, 0.002])

    def energies(angles: Array, rates: Array) -> tuple[float, float]:
        h = 1e-5
        v = (places(angles + h * rates) - places(angles - h * rates)) / (2 * h)
        return 0.5 * float(weights @ v**2), 9.81 * float((weights * places(angles))[1:8:2].sum())

    h = 1e-3
    pairs = h * np.eye(2)

    def momentum(angles: Array, rates: Array) -> Array:
        ends = [[energies(angles, rates + s * e)[0] for s in (1, -1)] for e in pairs]
        return np.array([x - y for x, y in ends]) / (2 * h)

    file = tmp_path / "five.toml"
    file.write_text(FIVE_BAR)
    need = require(str(file), lw.Task([Move({"right": 0.5, "left": 1.8}, 0.5)]), step=5e-3)
    for k in (0, 23, 41, 77):
        q, u, a = (
            np.array([need.values(name, what)[k] for name in ("left", "right")])
            for what in ("position", "speed", "acceleration")
        )
        changed = (momentum(q + h * u, u + h * a) - momentum(q - h * u, u - h * a)) / (2 * h)
        slopes = [[np.subtract(*energies(q + s * e, u)) for s in (1, -1)] for e in pairs]
        by_hand = changed - np.array([x - y for x, y in slopes]) / (2 * h)
        found = [need[f"{name}.torque"][k] for name in ("left", "right")]
        assert found == pytest.approx(by_hand, abs=2e-5)
        assert need["left.power"][k] == pytest.approx(found[0] * u[0])
    path = point_to_point([math.radians(60), math.radians(120)], [0.5, 1.8], 0.5)
    unnamed = require(str(file), path, step=5e-3)  # in the order of the model's actuators
    assert unnamed["left.torque"] == pytest.approx(need["left.torque"])
    assert set(size(need, life=2000.0).chosen) == {"left", "right"}
    with pytest.raises(Error, match="names no platform"):
        require(str(file), lw.Task([Move({"azimuth": 0.0, "elevation": 1.0}, 1.0)]), step=0.02)
    task, listed = tmp_path / "task.toml", tmp_path / "motion.txt"
    task.write_text(
        'format = 1\n[[part]]\nkind = "move"\nto = {left = "100 deg"}\nduration = 0.2\n'
    )
    call = ["analyze", "require", str(file), str(task), "--step", "0.01"]
    assert main([*call, "--list-motion", str(listed)]) == 2
    assert "closed loops" in capsys.readouterr().err
    assert not listed.exists()
