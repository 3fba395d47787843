"""What tasks require of robots: torques, reactions, statistics and limits, through the product."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rainflow as peer
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import evaluate_all
from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.equations.reactions import reactions
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.motion import (
    Dwell,
    Follow,
    LoadProfile,
    Move,
    TaskSegment,
    ToolLine,
    point_to_point,
)
from linkwright.motion.task_parts import Part
from linkwright.robots import Robot
from linkwright.sizing.requirements import RequirementError
from tests.seeds import seeds, seldom
from tests.support.shared import robot

Array = NDArray[np.float64]


@cache
def rods(
    count: int = 2, *, slider: bool = False, payload: Mass | None = None, limits: bool = False
) -> Robot:
    """Return rods on hinges about y (and a slider along x), with a tool at the tip."""
    links = [Link("base")]
    joints = []
    for k in range(1, count + 1):
        own = Mass(3.0 - 0.5 * k, (0.25, 0.01 * k, -0.02), (0.01, 0.06, 0.055, 0.002, 0.0, 0.001))
        links.append(Link(f"l{k}", own))
        kind, axis = ("revolute", (0.0, 1.0, 0.0) if k % 2 else (0.0, 0.0, 1.0))
        if slider and k == 2:
            kind, axis = "prismatic", (1.0, 0.0, 0.0)
        bounds = JointLimits(-1.0, 1.0, effort=20.0, speed=2.0) if limits else JointLimits()
        place = Place((0.0 if k == 1 else 0.5, 0.0, 0.0))
        joints.append(
            LinkJoint(
                f"j{k}", kind, f"l{k - 1}" if k > 1 else "base", f"l{k}", place, axis, limits=bounds
            )
        )
    if payload is not None:
        links.append(Link("load", payload))
        joints.append(LinkJoint("grip", "weld", f"l{count}", "load", Place((0.4, 0.0, 0.1))))
    frames = (NamedFrame("tool", f"l{count}", Place((0.4, 0.0, 0.1))),)
    return Robot(Description("rods", tuple(links), tuple(joints), frames))


def states(robot: Robot, count: int = 5, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, u, a = rng.normal(size=(3, count, len(robot.coordinates)))
    return q, u, a


# -- loads in joints -------------------------------------------------------------------------------
@pytest.mark.parametrize("slider", [False, True])
def test_reactions_are_those_of_the_balance_of_each_body(slider: bool) -> None:
    """The recursion's force and moment equal the expressions of `lw.reactions`."""
    arm = rods(3, slider=slider)
    m = arm.mechanism
    kinematics = m.kinematics()
    expected = reactions(m).joints
    q, u, a = states(arm)
    found = arm.reactions(q, u, a)
    efforts = arm.inverse_dynamics(q, u, a)
    for row in range(len(q)):
        numbers = dict(zip(m.coordinates.values(), map(float, q[row]), strict=True))
        for speed, value, rate in zip(kinematics.speeds, u[row], a[row], strict=True):
            numbers[speed.symbol] = float(value)
            numbers[kinematics.accelerations[speed.symbol]] = float(rate)
        for k, link in enumerate(arm.links):
            body, place = arm.assembled.places[link]
            force, moment = (
                np.array(place.rotation).T @ np.array(evaluate_all(list(x), numbers))
                for x in expected[body]
            )
            assert np.allclose(found[row, k, :3], force, atol=1e-9)
            assert np.allclose(found[row, k, 3:], moment, atol=1e-9)
    need = lw.sizing.require(arm, point_to_point([0.0] * 3, [0.5] * 3, 1.0), step=0.1)
    for cycle in need.cycles():  # what the drive carries is the component along z
        assert cycle.force is not None
        assert cycle.moment is not None
        carried = cycle.moment if cycle.kind == "revolute" else cycle.force
        assert np.allclose(carried[:, 2], cycle.torque, atol=1e-9)
    assert efforts.shape == (5, 3)


@pytest.mark.parametrize("seed", range(3))
def test_a_wrench_of_the_tool_enters_the_recursion(seed: int) -> None:
    """Check 38. tau = J^T f at rest and in motion; scalar and batch agree."""
    arm = rods(3, slider=True)
    q, u, a = states(arm, seed=seed)
    wrench = np.random.default_rng(seed).normal(size=(5, 6))
    found = arm.inverse_dynamics(q, u, a, wrench=wrench, frame="tool")
    jacobian = arm.jacobian(q, "tool")
    expected = arm.inverse_dynamics(q, u, a) + np.einsum("kij,ki->kj", jacobian, wrench)
    assert np.allclose(found, expected, atol=1e-10)
    still = np.zeros(3)
    more = arm.inverse_dynamics(q[0], still, still, wrench=wrench[0], frame="tool")
    assert np.allclose(more - arm.gravity(q[0]), jacobian[0].T @ wrench[0], atol=1e-10)
    both = arm.joint_loads(q, u, a, wrench=wrench, frame="tool")
    assert np.allclose(both[0], expected, atol=1e-10)
    assert np.allclose(both[1], arm.reactions(q, u, a, wrench=wrench, frame="tool"), atol=1e-12)


def test_a_payload_weighs_as_a_link_of_its_own_does() -> None:
    mass = Mass(1.3, (0.02, -0.03, 0.05), (0.004, 0.005, 0.006, 0.0005, -0.0003, 0.0002))
    arm, loaded = rods(3), rods(3, payload=mass)
    payload = lw.Payload(1.3, mass.center, mass.inertia)
    q, u, a = states(arm)
    found = arm.joint_loads(q, u, a, payload=payload.parameters, frame="tool")
    expected = loaded.joint_loads(q, u, a)
    assert np.allclose(found[0], expected[0], atol=1e-10)
    assert np.allclose(found[1], expected[1], atol=1e-10)


def test_an_accelerating_base_is_felt_as_gravity_is() -> None:
    arm = rods(3)
    q, u, a = states(arm)
    up = arm.joint_loads(q, u, a, base=[0.0, 0.0, 9.81])
    none, twice = arm.joint_loads(q, 0 * u, 0 * a, base=[0.0, 0.0, -9.81]), arm.gravity(q)
    assert np.allclose(up[0] - arm.inverse_dynamics(q, u, a), twice, atol=1e-10)
    assert np.allclose(none[1], 0, atol=1e-10)  # falling freely


def test_at_rest_the_base_carries_the_weight_in_any_pose() -> None:
    """Check 37."""
    arm = rods(3)
    q = np.random.default_rng(1).uniform(-3, 3, (50, 3))
    found = arm.reactions(q, 0 * q, 0 * q)[:, 0, :3]
    world = np.einsum("kij,kj->ki", arm.pose(q, "l1")[:, :3, :3], found)
    assert np.allclose(world, [0, 0, 9.81 * arm.mass], atol=1e-9)


# -- tasks -----------------------------------------------------------------------------------------
def test_joint_control_gives_the_profile_under_both_time_bases() -> None:
    """Checks 21 and 22, V5."""
    arm = rods(2)
    c = [0.1, 0.02, -0.001]
    for kind, begin in (("segment", 0.0), ("segment", 3.0), ("absolute", 3.0)):
        part = TaskSegment({"j1": c}, time=kind)
        need = lw.sizing.require(
            arm, lw.Task([part], begin=begin, stop=begin + 10), step=0.01, dynamics=False
        )
        t = need.times if kind == "absolute" else need.times - begin
        assert np.allclose(need["j1_dot"], np.polyval(c[::-1], t), atol=1e-12)
        assert not np.any(need["j2_dot"])
        if kind == "segment":
            assert need["j1_dot"][500] == pytest.approx(0.175, abs=1e-12)
            assert need["j1"][-1] == pytest.approx(1.6666667, abs=1e-7)


def test_twenty_segments_start_at_their_own_times() -> None:
    """Check 19."""
    arm = rods(2)
    starts = np.cumsum([0.0, *np.linspace(0.1, 0.3, 19)])
    rates = np.sin(np.arange(20.0))
    parts = [TaskSegment({"j2": rates[k]}, float(starts[k])) for k in range(20)]
    need = lw.sizing.require(arm, lw.Task(parts, stop=float(starts[-1]) + 0.5), dynamics=False)
    inside = np.searchsorted(starts, need.times + 1e-9, side="right") - 1
    assert set(inside) == set(range(20))
    assert np.allclose(need["j2_dot"], rates[inside], atol=1e-12)
    lengths = np.diff([*starts, starts[-1] + 0.5])
    assert need["j2"][-1] == pytest.approx(rates @ lengths, abs=1e-12)


def test_parts_of_a_task_follow_each_other() -> None:
    arm = rods(2)
    table = lw.motion.through([0, 0.5, 1], [[0.4], [0.1], [0.0]])
    task = lw.Task(
        [Move({"j1": 0.4}, 1.0), Dwell(0.5), Follow(table, ("j1",)), Move({"j2": 0.2}, 1.0)],
        payloads=[(1.0, 2.0), (2.5, 0.0)],
        wrench=[LoadProfile({"fx": (0.0, 10.0)}, start=2.5, axes="tool")],
    )
    need = lw.sizing.require(arm, task.repeated(1), step=0.01)
    assert need.times[-1] == pytest.approx(3.5)
    assert np.all(np.diff(need.times) > 0)
    rows = [
        np.array([need[n] for n in names]).T
        for names in (arm.coordinates, arm.speeds, [f"{j}.acceleration" for j in arm.coordinates])
    ]
    held = (need.times > 0.995) & (need.times < 2.495)
    mass = np.where(held[:, None], lw.Payload(2.0).parameters, 0.0)
    push = 10 * np.clip(need.times - 2.5, 0, None)
    world = np.zeros((len(need.times), 6))
    world[:, :3] = arm.pose(rows[0], "tool")[:, :3, 0] * push[:, None]
    expected = arm.inverse_dynamics(*rows, wrench=world, payload=mass, frame="tool")
    found = np.array([need[f"{j}.torque"] for j in arm.coordinates]).T
    assert np.allclose(found, expected, atol=1e-9)
    twice = task.repeated(2)
    assert twice.duration == pytest.approx(7.0)
    assert [t for t, _ in twice.payloads] == pytest.approx([1.0, 2.5, 4.5, 6.0])


def test_energy_is_the_work_of_the_torques() -> None:
    """From rest to rest the work is the change of height."""
    arm = rods(2)
    need = lw.sizing.require(arm, point_to_point([0.0, 0.0], [-0.7, 0.5], 1.0))
    work = sum(need[f"{j}.energy"][-1] for j in arm.coordinates)
    rise = arm.potential_energy([-0.7, 0.5]) - arm.potential_energy([0.0, 0.0])
    assert work == pytest.approx(float(rise), abs=1e-5)


def test_without_dynamics_the_motion_is_the_same_and_there_are_no_forces() -> None:
    """Check 40: kinematics alone evaluates no dynamics at all, so it is faster."""
    arm, task = rods.__wrapped__(2), point_to_point([0.0, 0.0], [0.5, 0.5], 1.0)
    without = lw.sizing.require(arm, task, dynamics=False)
    assert not any("joint_loads" in step for step in arm.timings)
    full = lw.sizing.require(arm, task)
    assert any("joint_loads" in step for step in arm.timings)
    shared = [n for n in full.recording.names if n in without.recording]
    assert np.array_equal(full.recording.select(shared).data, without.recording.data)
    assert not any("torque" in n or n.endswith(".fx") for n in without.recording.names)
    with pytest.raises(RequirementError, match=r"dynamics were left out.*R215"):
        without.cycles()


# -- statistics and limits -------------------------------------------------------------------------
def test_rainflow_counts_are_those_of_the_peer() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=400), np.cumsum(rng.normal(size=200))):
        expected = sorted((r, m, c) for r, m, c, _, _ in peer.extract_cycles(values))
        found = sorted((x.range, x.mean, x.count) for x in lw.sizing.rainflow(values))
        assert np.allclose(found, expected)
    assert lw.sizing.rainflow([1.0, 1.0]) == ()


def test_statistics_of_a_known_motion() -> None:
    """A trapezoid of speed: RMS, mean and duty in closed form; the peak at its first instant."""
    arm = rods(2)
    path = point_to_point([0.0, 0.0], [1.0, 0.0], law="trapezoid", speed=1.0, acceleration=2.0)
    task = lw.Task([Follow(path), Dwell(1.0)])
    need = lw.sizing.require(arm, task)
    speed = need.statistic("j1", "speed")
    assert speed.peak == pytest.approx(1.0)
    assert speed.time == pytest.approx(0.5, abs=2e-3)
    assert speed.rms == pytest.approx(np.sqrt((2 * 0.5 / 3 + 0.5) / 2.5), rel=1e-6)
    assert speed.mean == pytest.approx(1.0 / 2.5, rel=1e-9)
    assert speed.duty == pytest.approx(1.5 / 2.5, abs=0.02)
    assert speed.percentiles[99.0] == pytest.approx(1.0)
    assert need.statistic("j1", "acceleration").peak == pytest.approx(2.0)
    torque, values = need.statistic("j1", "torque"), need["j1.torque"]
    k = int(np.argmax(np.abs(values)))
    assert (torque.peak, torque.time) == (values[k], need.times[k])
    assert need.rows()[0]["torque"]["peak"] == torque.peak
    cycle = need.cycles()[0]
    assert cycle.duration == pytest.approx(2.5)
    assert np.array_equal(cycle.torque, values)


def test_limits_are_flagged_with_joint_time_and_excess() -> None:
    """Check 65: position, speed, acceleration, jerk, torque and power."""
    arm = rods(2, limits=True)
    path = point_to_point([0.0, 0.0], [1.2, 0.2], 1.0)
    own = {"j1": {"acceleration": 5.0, "jerk": 50.0, "power": 10.0}}
    need = lw.sizing.require(arm, path, limits=own)
    found = {e.quantity: e for e in need.excesses if e.joint == "j1" and e.value > 0}
    assert {"position", "speed", "acceleration", "jerk"} <= set(found)
    assert {e.quantity for e in need.excesses} >= {"torque", "power"}
    assert not any(e.joint == "j2" and e.quantity == "speed" for e in need.excesses)
    speed = found["speed"]
    assert speed.limit == 2.0
    assert speed.time == pytest.approx(0.5, abs=1e-3)
    assert speed.excess == pytest.approx(1.2 * 1.875 - 2.0, abs=1e-6)
    assert float(path.speed(speed.first)[0]) > 2.0 >= float(path.speed(speed.first - 2e-3)[0])
    assert found["position"].time == pytest.approx(1.0)
    assert found["acceleration"].excess == pytest.approx(1.2 * 10 / np.sqrt(3) - 5, abs=1e-3)
    with pytest.raises(RequirementError, match=r"leaves the limits: j1.*R206"):
        need.checked()
    slow = lw.sizing.require(arm, point_to_point([0, 0], [0.01, 0], 9), dynamics=False)
    assert slow.checked().excesses == ()


# -- files and commands ----------------------------------------------------------------------------
PICK = """
format = 1
name = "pick"
frame = "tool"
[start]
j1 = "10 deg"
[[part]]
kind = "move"
to = {j1 = 0.5, j2 = "-20 deg"}
duration = 1
[[part]]
kind = "segment"
duration = "500 ms"
channels = {j1 = [0, "30 deg/s^2"], j2 = 0.1}
[[part]]
kind = "follow"
times = [0, 0.5, 1]
positions = {j2 = ["-17.135220 deg", 0.1, 0.2]}
[[payload]]
at = 1
mass = "500 g"
center = ["1 cm", 0, 0]
[[wrench]]
start = 1
duration = 0.5
channels = {fz = -20}
[limits.j1]
speed = "10 deg/s"
"""


def test_a_task_is_read_with_its_units() -> None:
    task = lw.read_task(PICK)
    assert task.duration == 2.5
    assert task.start == {"j1": pytest.approx(np.radians(10))}
    segment = task.parts[1]
    assert isinstance(segment, TaskSegment)
    assert segment.channels["j1"] == pytest.approx((0.0, np.radians(30)))
    assert task.payloads[0][1].parameters[:2] == pytest.approx([0.5, 0.005])
    assert task.wrench[0].channels == {"fz": (-20.0,)}
    assert task.limits["j1"]["speed"] == pytest.approx(np.radians(10))


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("to = {j1 = 0.5", "tu = {j1 = 0.5", "9:1", "unknown key 'tu'.*R212"),
        ('mass = "500 g"', 'mass = "5 m"', "21:8", "does not fit.*R208"),
        ('mass = "500 g"', "mass = -2", "19:1", "mass of a payload is -2.*R209"),
        ("duration = 1\n", "duration = 0\n", "7:1", "above zero.*R201"),
        ("fz = -20", "fq = -20", "26:13", "no channel 'fq'.*R203"),
        ('kind = "move"', 'kind = "jump"', "8:8", "not one of.*R212"),
        ("times = [0, 0.5, 1]", "times = [0, 0.5]", "15:1", "takes 2 positions.*R212"),
        ('kind = "segment"\n', 'kind = "segment"\nstart = 0.5\n', "11:1", "overlaps.*R201"),
        ('kind = "segment"\n', 'kind = "segment"\nstart = 1.5\n', "11:1", "gap.*R201"),
        ("to = {j1 = 0.5", 'to = {j1 = "10 kg"', "9:12", "'10 kg' does not fit.*rad or m.*R208"),
        ("to = {j1 = 0.5", 'to = {j1 = "10 deg/s"', "9:12", "does not fit.*R208"),
        ('j1 = "10 deg"', 'j1 = "1 kg"', "6:6", "does not fit.*R208"),
        ("j2 = 0.1}", 'j2 = "0.1 rad"}', "14:42", "does not fit.*R208"),
        ('"30 deg/s^2"', '"30 deg/s"', "14:22", "does not fit.*R208"),
        ('["-17.135220 deg"', '["1 s"', "18:20", "does not fit.*R208"),
        ('"10 deg/s"\n', '"1 kg"\n', "28:9", r"does not fit.*rad/s or m/s \[R208"),
        ("speed =", "sped =", "28:1", "no limit 'sped'.*R206"),
        ("at = 1\nmass", "at = 5\nmass", "19:1", "begins at 5 s, and the task ends at 2.5 s.*R219"),
        ("start = 1\n", "start = 3\n", "23:1", "begins at 3 s.*R219"),
        ('kind = "segment"\n', 'kind = "segment"\nto = {}\n', "13:1", "has no 'to'.*R212"),
        ("format = 1", "format = ", None, "not TOML.*R212"),
    ],
)
def test_what_is_wrong_with_a_task_file_has_a_place_and_a_number(
    old: str, new: str, place: str | None, words: str, tmp_path: Path
) -> None:
    assert old in PICK
    file = tmp_path / "pick.toml"
    file.write_text(PICK.replace(old, new, 1))
    with pytest.raises(InputError, match=words) as caught:
        lw.read_task(file)
    if place is not None:
        assert str(caught.value).startswith(f"{file}:{place}: ")


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("to = {j1 = 0.5", 'to = {j1 = "10 m"', "9:12", "'j1' turns, so '10 m' .*R208"),
        ("j2 = 0.1}", 'j2 = "0.1 mm/s"}', "14:42", "'j2' turns.*R208"),
        ('j1 = "10 deg"', 'j1 = "1 m"', "6:6", "'j1' turns.*R208"),
        ('"10 deg/s"\n', '"10 m/s"\n', "28:9", "'j1' turns.*R208"),
        ('["-17.135220 deg"', '["1 m"', "18:20", "'j2' turns.*R208"),
        ("to = {j1 = 0.5", "to = {j7 = 0.5", "9:7", "no joint 'j7'.*R203"),
        ("[limits.j1]", "[limits.j7]", "27:", "no joint 'j7'.*R203"),
    ],
)
def test_a_task_file_is_checked_against_the_joints_of_the_robot(
    old: str, new: str, place: str, words: str, tmp_path: Path
) -> None:
    assert old in PICK
    file = tmp_path / "pick.toml"
    file.write_text(PICK.replace(old, new, 1))
    task = lw.read_task(file)
    for ask in (
        lambda: lw.sizing.require(rods(2), task),
        lambda: lw.sizing.screen(rods(2), task, payloads=[1.0]),
        lambda: lw.sizing.require(rods(2), task.repeated(2), scheme="robsim"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            ask()
        assert str(caught.value).startswith(f"{file}:{place}")


def test_a_sliding_joint_takes_lengths_and_a_table_its_units(tmp_path: Path) -> None:
    arm = rods(2, slider=True)
    kinds = {j.kind: j.name for j in lw.sizing.require(arm, lw.Task([Dwell(0.1)])).joints}
    slides, turns = kinds["prismatic"], kinds["revolute"]
    text = 'format = 1\n[[part]]\nkind = "move"\nduration = 1\nto = {%s = "%s"}\n'
    need = lw.sizing.require(arm, lw.read_task(text % (slides, "100 mm")), step=0.1)
    assert need[slides][-1] == pytest.approx(0.1)
    with pytest.raises(InputError, match=r"slides, so '10 deg' does not fit.*R208"):
        lw.sizing.require(arm, lw.read_task(text % (slides, "10 deg")))
    table = tmp_path / "run.csv"
    follow = tmp_path / "follow.toml"
    follow.write_text('format = 1\n[[part]]\nkind = "follow"\ntable = "run.csv"\n')
    lw.Recording([0, 1.0], [lw.Channel(turns, "deg")], [[0.0], [90.0]]).save(table)
    assert lw.sizing.require(arm, follow, step=0.1)[turns][-1] == pytest.approx(np.pi / 2)
    lw.Recording([0, 1.0], [lw.Channel(turns, "m")], [[0.0], [1.0]]).save(table)
    with pytest.raises(InputError, match=r"turns, so '1 m' does not fit.*R208"):
        lw.sizing.require(arm, follow)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda arm: lw.Task([Move({"j9": 1.0}, 1.0)]), "no joint 'j9'.*R203"),
        (lambda arm: lw.Task([Dwell(1.0)], start={"x": 1.0}), "no joint.*R203"),
        (lambda arm: lw.Task([TaskSegment({"j1": [1.0, 0.1]}, duration=1, profile="position")],
                             start={"j1": 0.0}),
         "'j1' jumps by 1 at 0 s.*R207"),
        (lambda arm: lw.Task([Dwell(1.0),
                              TaskSegment({"j1": [1.0]}, duration=1, profile="position")]),
         "'j1' jumps by 1 at 1 s.*R207"),
        (lambda arm: lw.Task([Move({"j1": 1.0}, 1.0)], frame="hand", payloads=[(0, 1.0)]),
         "no frame 'hand'.*R216"),
    ],
)  # fmt: skip
def test_tasks_that_a_robot_cannot_do_are_refused(
    make: Callable[[Robot], lw.Task], words: str
) -> None:
    arm = rods(2)
    with pytest.raises(Error, match=words):
        lw.sizing.require(arm, make(arm))


def test_a_task_that_begins_with_positions_begins_there() -> None:
    """As one that begins with a trajectory does; `start` is not asked for."""
    part = TaskSegment({"j1": [math.radians(30), 0.4]}, duration=0.5, profile="position")
    need = lw.sizing.require(rods(2), lw.Task([part]), step=0.1)
    assert need["j1"][0] == pytest.approx(math.radians(30))
    assert need["j1"][-1] == pytest.approx(math.radians(30) + 0.2)


def test_what_is_no_task_and_no_payload_has_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm: Any = rods(2)
    none: Any = None
    need: Any = lw.sizing.require(arm, lw.Task([Dwell(0.1)]), step=0.1)
    for ask, code in (
        (lambda: lw.sizing.require(arm, none), "R202"),
        (lambda: lw.read_task(none), "R212"),
        (lambda: lw.sizing.require(arm, tmp_path / "none.toml"), "R212"),
        (lambda: need.worst(payload=3.0), "R702"),
        (lambda: need.worst(payload="much"), "R209"),
        (lambda: need.report(tmp_path / "need.pdf"), "R807"),
        (lambda: need.report(3), "R807"),
        (lambda: need.report(tmp_path / "need.html", 3), "R808"),
        (lambda: need.report(tmp_path / "need.html", run=3), "R808"),
        (lambda: need.report(tmp_path / "need.html", worst=3), "R808"),
        (lambda: need.report(tmp_path / "need.html", budget=3), "R808"),
    ):
        with pytest.raises(Error) as caught:
            ask()
        assert caught.value.code == code
    assert not list(tmp_path.iterdir())
    for more, code in (("abc", "R208"), ("3..1", "R209"), ("1", "R212")):
        assert main(["analyze", "require", "puma560", "none.toml", "--payload", more]) == 2
        assert f"[{code}]" in capsys.readouterr().err


def test_a_free_base_has_no_tasks() -> None:
    dog = lw.load("tests/robots/quadruped.urdf")
    with pytest.raises(InputError, match="R214"):
        lw.sizing.require(dog, lw.Task([Dwell(1.0)]))


def test_the_command_prints_a_table_and_fails_where_a_limit_is_exceeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reach.toml"
    name = robot("puma560").coordinates[0]
    text = f'format = 1\n[[part]]\nkind = "move"\nto = {{{name} = 0.5}}\nduration = 1\n'
    file.write_text(text)
    saved = tmp_path / "need.csv"
    command = ["analyze", "require", "puma560", str(file), "--step", "0.01"]
    assert main([*command, "--payload", "500 g", "--recording", str(saved)]) == 0
    printed = capsys.readouterr().out
    assert "limits to check" in printed
    assert f"{name}.torque" in lw.load(saved)
    file.write_text(f"{text}[limits.{name}]\nspeed = 0.5\n")
    assert main([*command, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (excess,) = found["joints"][0]["excesses"]
    assert (excess["quantity"], excess["limit"]) == ("speed", 0.5)
    assert main([*command, "-o", "need.pdf"]) == 2
    assert "error: need.pdf: a report is a page" in capsys.readouterr().err
    assert main([*command, "--damping", "-1"]) == 2
    assert "the damping is -1; give a number of 0 or more [R213]" in capsys.readouterr().err
    file.write_text("format = 1\n")
    assert main(command) == 2
    assert "[R212]" in capsys.readouterr().err


# -- many runs -------------------------------------------------------------------------------------
@seldom(daily="test_statistics_of_a_known_motion")
def test_many_runs_have_the_statistics_of_each() -> None:
    """The native reduction equals the statistics of recordings, under joint and tool control."""
    arm = rods(2)
    names, start = arm.coordinates, {"j1": 0.2, "j2": -0.4}
    parts: list[Part] = [
        Move({"j1": 0.5}, 0.25),
        TaskSegment({"j2": [0.0, 0.8]}, duration=0.1),
        ToolLine({"z": 0.03, "y": -0.02}, 0.2, free=("x", "rx", "ry", "rz"), law="trapezoid"),
        Dwell(0.05),
    ]
    task = lw.Task(
        parts, start, payloads=[(0.3, 0.5), (0.5, 0.0)], base=[LoadProfile({"x": (1.5,)})]
    )
    loads: list[lw.Payload | float] = [
        0.0,
        1.0,
        lw.Payload(2.0, (0.1, 0.0, 0.05), (0.01, 0.02, 0.015, 0, 0, 0)),
    ]
    starts = np.array([[0.2, -0.4], [0.3, -0.4], [0.2, -0.3]])
    many = lw.sizing.screen(arm, task, payloads=loads, starts=starts, step=2e-3, threads=1)
    assert many.reached.all()
    for run, payload in enumerate(loads):
        own = lw.Task(
            parts, dict(zip(names, starts[run], strict=True)),
            payloads=task.payloads, base=task.base,
        )  # fmt: skip
        need = lw.sizing.require(arm, own, payload=payload, step=2e-3)
        for found in need.statistics:
            k = names.index(found.joint)
            q = found.quantity
            assert abs(many.peak(q)[run, k]) == pytest.approx(abs(found.peak), rel=1e-9, abs=1e-12)
            assert many.rms(q)[run, k] == pytest.approx(found.rms, rel=1e-9, abs=1e-12)
            assert many.mean(q)[run, k] == pytest.approx(found.mean, rel=1e-9, abs=1e-9)
    with pytest.raises(InputError, match="R215"):
        many.peak("color")
    with pytest.raises(InputError, match="R217"):
        lw.sizing.screen(arm, task, payloads=[1.0, 2.0], starts=starts)


def test_a_tool_frame_of_another_name_is_given_or_asked_for(tmp_path: Path) -> None:
    """A payload hangs on the frame that is named; without one the remedy says how to name it."""
    links = (Link("base"), Link("rod", Mass(2.0, (0.5, 0.0, 0.0), (0.1,) * 3 + (0.0,) * 3)))
    hinge = LinkJoint("hinge", "revolute", "base", "rod", Place(), (0.0, 1.0, 0.0))
    frames = (NamedFrame("hand", "rod", Place((1.0, 0.0, 0.0))),)
    arm, still = Robot(Description("rod", links, (hinge,), frames)), lw.Task([Dwell(1.0)])
    with pytest.raises(InputError, match=r'no frame .tool.*write frame = "hand".*\[R216\]'):
        lw.sizing.require(arm, still, payload=3.0, step=0.5)
    need = lw.sizing.require(arm, still, payload=3.0, frame="hand", step=0.5)
    assert need.task.frame == "hand"
    held = 9.80665 * (2.0 * 0.5 + 3.0 * 1.0)
    assert np.allclose(np.abs(need["hinge.torque"]), held, rtol=1e-3)
    with pytest.raises(InputError, match=r"\[R216\]"):
        lw.sizing.require(arm, still, frame="nose", step=0.5)


@pytest.mark.parametrize("law", ["quintic", "cubic", "trapezoid"])
def test_a_joint_that_stands_has_no_dry_friction(law: str) -> None:
    """What rounding leaves of a speed at the ends of moves has no sign and adds to no peak."""
    m = lw.Mechanism("arm")
    arm = m.body("arm", rotate="y", mass=2, com=(0.5, 0, 0), inertia=0.1)
    m.gravity()
    m.passive(arm, friction=3.0)
    robot = lw.Robot(m)
    rng = np.random.default_rng(seeds(1)[0])
    for _ in range(5):
        start, end, time = rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.3, 2)
        there, back = (Move({"arm": x}, time, law=law) for x in (end, start))
        task = lw.Task([there, Dwell(0.1), back], start={"arm": start})
        need = lw.sizing.require(robot, task, step=0.01)
        u, a, torque = (need.values("arm", x) for x in ("speed", "acceleration", "torque"))
        still = np.abs(u) < 1e-9
        assert still.sum() > 10
        q = need.values("arm", "position")[still, None]
        held = robot.inverse_dynamics(q, 0 * q, a[still, None])
        assert torque[still] == pytest.approx(held[:, 0], abs=1e-9)
        many = lw.sizing.screen(robot, task, step=0.01)
        assert abs(many.peak("torque")[0, 0]) == pytest.approx(np.abs(torque).max(), abs=1e-9)


def test_the_frame_that_is_offered_for_a_tool_moves() -> None:
    """The ground of a text model stands last among its frames, and carries no payload."""
    m = lw.Mechanism("lift")
    m.body("cage", translate="z", mass=2)
    m.gravity()
    with pytest.raises(InputError, match=r'write frame = "cage".*\[R216\]'):
        lw.sizing.require(Robot(m), lw.Task([Dwell(1.0)]), payload=1.0)
