"""Listings of requirements as ROBSIM printed them, cycles of motion, and extrema in headers."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.motion import Move, TaskSegment, ToolLine, cycles
from linkwright.motion.task_parts import Part
from linkwright.robots import Robot
from linkwright.sizing.requirements import Requirement
from linkwright.sizing.requirements.listing import (
    dynamics_listing,
    motion_listing,
    samples_at,
    wrapped,
)

Array = NDArray[np.float64]
BAY = Path(__file__).parents[2] / "examples" / "ref6" / "bay.toml"


@cache
def arm() -> Robot:
    """Return a hinge, a slider and a hinge on a base that is turned and moved in the world."""
    turned = Place((0.1, 0.2, 0.3), ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    own = Mass(2.0, (0.1, 0.02, 0.0), (0.01, 0.03, 0.02, 0.0, 0.0, 0.0))
    kinds = ("revolute", "prismatic", "revolute")
    axes = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    links = [Link("ground"), Link("l0"), *(Link(f"l{k}", own) for k in (1, 2, 3))]
    joints = [LinkJoint("mount", "weld", "ground", "l0", turned)]
    for k, (kind, axis) in enumerate(zip(kinds, axes, strict=True), 1):
        place = Place((0.0 if k == 1 else 0.3, 0.0, 0.0))
        joints.append(LinkJoint(f"q{k}", kind, f"l{k - 1}", f"l{k}", place, axis))
    tool = NamedFrame("tool", "l3", Place((0.25, 0.0, 0.0)))
    return Robot(Description("mixed", tuple(links), tuple(joints), (tool,)))


@cache
def requirement() -> Requirement:
    parts: list[Part] = [
        TaskSegment({"q1": [1.0, -2.0], "q2": 0.1}, duration=0.2),
        ToolLine({"x": 0.03, "z": 0.02}, 0.2, free=("y", "rx", "rz")),
    ]
    start = {"q1": 6.2, "q2": 7.0, "q3": 1.2}
    return lw.sizing.require(arm(), lw.Task(parts, start), step=0.01)


def blocks(text: str) -> list[tuple[float, list[str]]]:
    """Return the instants of a listing with their lines."""
    parts = re.split(r"^TIME (\S+) s\n", text, flags=re.MULTILINE)
    return [(float(t), body.splitlines()) for t, body in zip(parts[1::2], parts[2::2], strict=True)]


def items(lines: list[str], joint: str = "") -> dict[str, tuple[Array, Array | None]]:
    """Return what is listed of a joint, or of the tool: numbers in meters, and in inches."""
    found: dict[str, tuple[Array, Array | None]] = {}
    owner = ""
    for line in lines:
        if not line.startswith("  "):
            owner = line.strip()
        elif owner == joint:
            label, rest = line[2:46].strip(), line[47:]
            halves = re.split(r"\s{3}(?=\S*in)", rest)
            numbers = [np.array([float(x) for x in h.split()[1:]]) for h in halves]
            unit = rest.split()[0]
            found[f"{label} [{unit}]"] = numbers[0], numbers[1] if len(numbers) > 1 else None
    return found


def test_the_listing_of_motion_has_every_item() -> None:
    """Checks 29, 30 and 43: wanted motion under tool control alone; angles within one turn."""
    need = requirement()
    robot, text = need.robot, motion_listing(need, 0.1)
    head = text.split("TIME")[0]
    once = (
        "free axis, joint axes",
        "profile of q1",
        "vector to the next joint",
        "stop time",
        "step",
    )
    assert all(words in head for words in (*once, "initial displacement", "base in the world"))
    found = blocks(text)
    assert [t for t, _ in found] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    base = robot.pose(robot.neutral, "l0")
    k = int(np.searchsorted(need.times, 0.2 - 1e-9))
    first = robot.pose([need[n][k] for n in robot.coordinates], "tool")
    begun = (np.linalg.inv(base) @ first)[:3, 3]
    for t, lines in found:
        k = int(np.searchsorted(need.times, t - 1e-9))
        q = np.array([need[n][k] for n in robot.coordinates])
        u = np.array([need[n][k] for n in robot.speeds])
        tool = items(lines)
        pose = np.linalg.inv(base) @ robot.pose(q, "tool")
        assert np.allclose(tool["tool position, base axes [m]"][0], pose[:3, 3], atol=1e-8)
        rate = robot.velocity(q, u, "tool")[:3] @ base[:3, :3]
        assert np.allclose(tool["tool velocity, base axes [m/s]"][0], rate, atol=1e-8)
        spin = robot.velocity(q, u, "tool")[3:] @ base[:3, :3]
        assert np.allclose(tool["tool angular velocity, base axes [rad/s]"][0], spin, atol=1e-8)
        wanted = {name for name in tool if "ideal" in name or "error" in name}
        assert len(wanted) == (4 if t > 0.15 else 0)
        if wanted:  # along the line, at rest at both ends
            ideal = tool["ideal tool position, base axes [m]"][0]
            way = np.array([0.03, 0, 0.02]) * round((t - 0.2) / 0.2, 9)
            assert np.allclose(ideal - begun, way, atol=1e-6)
            error = tool["tool position error, base axes [m]"][0]
            assert np.allclose(error, ideal - pose[:3, 3], atol=1e-8)
            assert 0 < np.linalg.norm(error) < 1e-4 or t < 0.25
            assert tool["size of the error [m]"][0][0] == pytest.approx(np.linalg.norm(error))
        for n, joint in enumerate(need.joints):
            own = items(lines, joint.name)
            value = own[f"displacement [{joint.units['position']}]"][0][0]
            if joint.kind == "revolute":
                assert 0 <= value < 2 * math.pi
                assert math.remainder(value - q[n], 2 * math.pi) == pytest.approx(0, abs=1e-8)
                assert own["displacement [deg]"][0][0] == pytest.approx(math.degrees(value))
            else:
                assert value == pytest.approx(q[n])  # 7 m and more: never wrapped
            link = np.linalg.inv(base) @ robot.pose(q, joint.link)
            matrix = [own[f"joint to base, row {r} [1]"][0] for r in (1, 2, 3)]
            assert np.allclose(matrix, link[:3, :3], atol=1e-8)
            reach = pose[:3, 3] - link[:3, 3]
            assert np.allclose(own["joint to tool, base axes [m]"][0], reach, atol=1e-8)
            seen = own["joint to tool, joint axes [m]"][0]
            assert np.allclose(seen, link[:3, :3].T @ reach, atol=1e-8)
            assert np.allclose(own["location, base axes [m]"][0], link[:3, 3], atol=1e-8)
            assert own[f"rate [{joint.units['speed']}]"][0][0] == pytest.approx(u[n], abs=1e-8)
    assert wrapped(need.joints[0], -0.1) == pytest.approx(2 * math.pi - 0.1)
    fine = {round(t, 9): items(lines) for t, lines in blocks(motion_listing(need))}
    for t in (0.25, 0.3, 0.35):  # the ideal velocity is the rate of the ideal position
        places = [
            fine[round(t + d, 9)]["ideal tool position, base axes [m]"][0] for d in (-0.01, 0.01)
        ]
        rate = (places[1] - places[0]) / 0.02
        assert np.linalg.norm(rate) > 0.05
        assert np.allclose(
            fine[t]["ideal tool velocity, base axes [m/s]"][0], rate, rtol=0.01, atol=2e-4
        )


def test_the_listing_of_motion_has_the_profiles_of_tools() -> None:
    """Check 43: channels of a segment under tool control, and ways along a line."""
    parts: list[Part] = [
        TaskSegment({"x": [0.1, 0.05]}, duration=0.1, control="tool", free=("y", "rx", "rz")),
        ToolLine({"x": -0.01, "z": 0.02}, 0.2, free=("y", "rx", "rz")),
    ]
    start = {"q1": 6.2, "q2": 7.0, "q3": 1.2}
    need = lw.sizing.require(arm(), lw.Task(parts, start), step=0.01, dynamics=False)
    head = motion_listing(need).split("TIME")[0]
    assert re.search(r"profile of x, constant first +1 +1\.0+e-01 +5\.0+e-02\n", head)
    assert re.search(r"way along z of base, quintic +m +2\.0+e-02 ", head)


def test_the_listing_of_dynamics_has_every_item_in_both_axes() -> None:
    """Check 44; all items are those of the robot's own kernels."""
    need = requirement()
    robot, text = need.robot, dynamics_listing(need, 0.2)
    head = text.split("TIME")[0]
    once = ("3 joints", "start, stop, step", "prismatic", "dimension", "center of mass", "mass ")
    assert all(words in head for words in (*once, "inertia about the joint"))
    base = robot.pose(robot.neutral, "l0")
    names = ("location", "link vector", "relative angular velocity", "absolute angular velocity",
             "relative angular acceleration", "absolute angular acceleration",
             "absolute linear acceleration", "reaction force", "reaction torque")  # fmt: skip
    for t, lines in blocks(text):
        k = int(np.searchsorted(need.times, t - 1e-9))
        q = np.array([need[n][k] for n in robot.coordinates])
        u = np.array([need[n][k] for n in robot.speeds])
        a = np.array([need[f"{n}.acceleration"][k] for n in robot.coordinates])
        wrench = robot.reactions(q, u, a)
        for n, joint in enumerate(need.joints):
            own = {
                label.rpartition(" [")[0]: x for label, (x, _) in items(lines, joint.name).items()
            }
            turn = (np.linalg.inv(base) @ robot.pose(q, joint.link))[:3, :3]
            for name in names:
                assert np.allclose(
                    turn @ own[f"{name}, joint axes"], own[f"{name}, base axes"], atol=1e-6
                )
            frames = [j.link for j in need.joints] + ["tool"]
            places = [(np.linalg.inv(base) @ robot.pose(q, f))[:3, 3] for f in frames[n : n + 2]]
            assert np.allclose(own["location, base axes"], places[0], atol=1e-8)
            assert np.allclose(own["link vector, base axes"], places[1] - places[0], atol=1e-8)
            for name, six in (
                ("velocity", robot.velocity(q, u, joint.link)),
                ("acceleration", robot.acceleration(q, u, a, joint.link)),
            ):
                seen = own[f"absolute angular {name}, base axes"]
                assert np.allclose(seen, six[3:] @ base[:3, :3], atol=1e-8)
            shown = q[n] % (2 * math.pi) if joint.kind == "revolute" else q[n]
            assert own["displacement"][0] == pytest.approx(shown, abs=1e-8)
            bend = own["relative angular acceleration, joint axes"]
            assert np.allclose(bend, np.array(joint.axis) * a[n] * (joint.kind == "revolute"))
            assert np.allclose(own["reaction force, joint axes"], wrench[n, :3], atol=1e-6)
            assert np.allclose(own["reaction torque, joint axes"], wrench[n, 3:], atol=1e-6)
            rate = robot.acceleration(q, u, a, joint.link)
            assert np.allclose(
                own["absolute linear acceleration, base axes"], rate[:3] @ base[:3, :3], atol=1e-6
            )
            spin = own["relative angular velocity, joint axes"]
            assert np.allclose(spin, np.array(joint.axis) * u[n] * (joint.kind == "revolute"))


def test_inches_and_meters_agree() -> None:
    """Check 41: 0.0254 for lengths and forces, 0.00064516 for torques and inertias."""
    seen = set()
    for text in (motion_listing(requirement(), 0.2), dynamics_listing(requirement(), 0.2)):
        for line in text.splitlines():
            found = re.search(r" (\S+) +((?:[ -]\d\S+ ?)+)   (\S*in\S*) +((?:[ -]\d\S+ ?)+)$", line)
            if found is None:
                continue
            unit, old = found[1], found[3]
            factor = 0.00064516 if "^2" in old and "in^2" in old else 0.0254
            metric, inches = (np.array([float(x) for x in found[k].split()]) for k in (2, 4))
            assert np.allclose(metric, factor * inches, rtol=1e-8, atol=1e-15)
            seen.add((unit, old))
    expected = {("m", "in"), ("N", "kg*in/s^2"), ("N*m", "kg*in^2/s^2"), ("kg*m^2", "kg*in^2")}
    assert expected <= seen


def test_each_file_is_optional_and_has_its_own_interval(tmp_path: Path) -> None:
    """Check 42."""
    need = requirement()
    need.list_motion(tmp_path / "motion.txt", every=0.1)
    assert [p.name for p in tmp_path.iterdir()] == ["motion.txt"]
    need.list_dynamics(tmp_path / "dynamics.txt", every=0.2)
    need.history(every=0.05).save(tmp_path / "history.csv")
    assert len(blocks((tmp_path / "motion.txt").read_text())) == 5
    assert len(blocks((tmp_path / "dynamics.txt").read_text())) == 3
    assert len(lw.load(tmp_path / "history.csv").times) == 9
    with pytest.raises(InputError, match="R213"):
        samples_at(need, 0.0)
    light = lw.sizing.require(arm(), lw.Task([Move({"q1": 0.1}, 0.1)]), dynamics=False)
    with pytest.raises(InputError, match="R215"):
        dynamics_listing(light)


def test_headers_hold_the_extrema_and_the_number_of_records(tmp_path: Path) -> None:
    """Check 47."""
    need = requirement()
    need.save(tmp_path / "need.parquet")
    need.history(every=0.03).save(tmp_path / "history.parquet")
    for name in ("need", "history"):
        read = lw.load(tmp_path / f"{name}.parquet")
        assert read.metadata["records"] == len(read.times)
        for channel in read.names:
            values = read[channel][~np.isnan(read[channel])]
            assert read.metadata["extrema"][channel] == [values.min(), values.max()]


# -- cycles ----------------------------------------------------------------------------------------
def test_a_pick_goes_up_across_and_down_and_back() -> None:
    robot = arm()
    start = {"q1": -0.5, "q2": 0.1, "q3": 1.0}
    free = ("y", "rx", "rz")
    task = cycles.pick(0.025, 0.305, 0.025, start=start, dwell=0.1, payload=1.0, free=free)
    assert task.duration == pytest.approx(1.0)
    ends = np.array([begin for begin, _, _ in task.schedule()] + [task.end])
    need = lw.sizing.require(robot, task, step=0.002, dynamics=False)
    q = np.array([need[n] for n in robot.coordinates]).T
    places = robot.position(q, "tool") - robot.position(q[0], "tool")
    at = places[np.searchsorted(need.times, ends - 1e-9)]  # x of the base is y of the world
    way = [[0, 0, 0], [0, 0, 0], [0, 0, 25], [0, 305, 25], [0, 305, 0], [0, 305, 0], [0, 305, 25],
           [0, 0, 25], [0, 0, 0]]  # fmt: skip
    assert np.allclose(at, np.array(way) / 1000, atol=1e-5)
    assert [t for t, _ in task.payloads] == pytest.approx([0.1, ends[5]])


def test_poses_of_the_test_cube_lie_in_a_diagonal_plane() -> None:
    """ISO 9283: P2 to P5 at a tenth of the diagonal from the corners, P1 in the middle."""
    for plane in cycles.PLANES:
        places = cycles.cube_poses((0.5, 0.1, 0.4), 0.25, plane)
        away = places - places[0]
        assert np.linalg.matrix_rank(away, 1e-9) == 2
        corners = np.linalg.norm(np.abs(away[1:]) - 0.125, axis=1)
        assert np.allclose(corners, 0.1 * 0.25 * math.sqrt(3))
    path = cycles.cube_path(0.2, speed=0.5)
    lines = [part.by for part in path.parts if isinstance(part, ToolLine)]
    assert len(lines) == 5
    assert np.allclose([sum(by.get(x, 0.0) for by in lines) for x in "xyz"], 0)
    with pytest.raises(lw.Error, match="R202"):
        cycles.cube_poses((0, 0, 0), -1.0)
    for way in ((0.0, 0.3, 0.0), (-1.0, 0.3, 0.1), (0.1, 0.3, -0.1)):
        with pytest.raises(lw.Error, match="R202"):
            cycles.pick(*way)


def test_the_command_writes_listings_and_history_with_their_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check 42 at the command line, in steps as ROBSIM took them; what is there is not lost."""
    task = tmp_path / "up.toml"
    task.write_text(
        "format = 1\nname = 'up'\n[[part]]\nkind = 'segment'\nduration = 1\n"
        "channels = {waist = [0.2, 0.1]}\n"
    )
    names = ("motion.txt", "dynamics.txt", "joints.csv")
    motion, dynamics, joints = (tmp_path / name for name in names)
    words = ["analyze", "require", "ref6", str(task), "--step", "0.02", "--scheme", "robsim"]
    words += ["--list-motion", str(motion), "--list-dynamics", str(dynamics)]
    words += ["--list-every", "0.25", "--history", str(joints), "--history-every", "0.5"]
    assert main(words) == 0
    arm = Robot("ref6")
    need = lw.sizing.require(arm, task, step=0.02, scheme="robsim")
    assert motion.read_text() == motion_listing(need, 0.25)
    assert dynamics.read_text() == dynamics_listing(need, 0.25)
    assert "nan" not in dynamics.read_text()
    kept = lw.recording.read_recording(joints)
    assert kept.times.tolist() == pytest.approx([0, 0.5, 1.0])
    assert kept["waist"][-1] == need["waist"][-1]
    capsys.readouterr()
    before = joints.read_bytes()
    for more, said in (
        ([], "exists already"),
        (["--force", "--scheme", "rob"], "scheme"),
        (["--force", "--no-dynamics"], "dynamics were left out"),
        (["--force", "--list-every", "0"], "give a number above 0"),
    ):
        assert main([*words, *more]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    assert joints.read_bytes() == before
    assert main([*words, "--force"]) == 0


def test_start_and_stop_choose_the_samples_that_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The motion is that of the whole task; peaks, limits and work are those of its part."""
    task = tmp_path / "up.toml"
    task.write_text(
        "format = 1\nname = 'up'\n[[part]]\nkind = 'segment'\nduration = 1\n"
        "channels = {waist = [0.2, 0.1]}\n"
    )
    whole = lw.sizing.require("ref6", task, step=0.02)
    inside = (whole.times > 0.199) & (whole.times < 0.601)
    for scheme in ("exact", "robsim"):
        whole = lw.sizing.require("ref6", task, step=0.02, scheme=scheme)
        part = lw.sizing.require("ref6", task, step=0.02, scheme=scheme, begin=0.2, until=0.6)
        assert part.times == pytest.approx(whole.times[inside])
        skip = int(scheme == "robsim")
        for name in ("waist", "waist.torque", "elbow.mz"):
            wanted = whole[name][inside][skip:]
            assert part[name][skip:] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        assert part["waist.energy"][0] == 0
        power = whole["waist.power"][inside]
        mean = power[1:] if skip else (power[1:] + power[:-1]) / 2
        assert part["waist.energy"][-1] == pytest.approx(0.02 * mean.sum(), rel=1e-9)
    words = ["analyze", "require", "ref6", str(task), "--step", "0.02", "--json"]
    assert main([*words, "--begin", "0.2", "--until", "0.6"]) == 0
    joint = json.loads(capsys.readouterr().out)["joints"][0]
    exact = lw.sizing.require("ref6", task, step=0.02, begin=0.2, until=0.6)
    assert joint["speed"]["peak"] == pytest.approx(exact.statistic("waist", "speed").peak)
    wrong = (
        ["--begin", "2"], ["--until", "nan"], ["--begin", "0.5", "--until", "0.4"],
        ["--begin", "-1"], ["--until", "1e3"],
    )  # fmt: skip
    for more in wrong:
        assert main([*words, *more]) == 2
        said = capsys.readouterr()
        assert "0.02" not in said.out
        assert said.err.count("\n") == 1


def test_the_arm_moves_while_it_is_computed() -> None:
    """What is seen 25 times a second is the motion, and the forces are those without it."""
    lift = lw.motion.point_to_point([0.0] * 6, [0.3] * 6, 0.5)
    seen: list[tuple[float, Array]] = []
    need = lw.sizing.require(
        "puma560", lift, step=0.01, watch=lambda t, q: seen.append((t, q.copy()))
    )
    plain = lw.sizing.require("puma560", lift, step=0.01)
    names = Robot("puma560").coordinates
    assert [t for t, _ in seen] == pytest.approx(sorted({t for t, _ in seen}))
    assert len(seen) >= 12
    assert seen[-1][0] == pytest.approx(0.5)
    for t, q in seen:
        k = int(np.abs(plain.times - t).argmin())
        assert q == pytest.approx([plain[n][k] for n in names])
    assert np.array_equal(need.recording.data, plain.recording.data)
    shown: list[float] = []
    lw.sizing.require("puma560", lift, dynamics=False, watch=lambda t, q: shown.append(t))
    assert shown[-1] == pytest.approx(0.5)


def test_the_command_shows_the_arm_in_its_surroundings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tmp_path / "up.toml"
    task.write_text(
        "format = 1\nname = 'up'\n[[part]]\nkind = 'segment'\nduration = 0.1\n"
        "channels = {waist = [0.2, 0.1]}\n"
    )
    shown: list[Array] = []
    monkeypatch.setattr("linkwright.studio.display.open_browser", lambda address: False)
    monkeypatch.setattr(
        "linkwright.studio.viser_scene.Stage.show", lambda self, where: shown.append(where)
    )
    words = ["analyze", "require", "ref6", str(task), "--step", "0.02"]
    assert main([*words, "--scene", "bay.toml"]) == 2
    assert "--studio" in capsys.readouterr().err
    assert main([*words, "--studio", "--scene", str(BAY)]) == 0
    assert "studio: http://127.0.0.1" in capsys.readouterr().err
    assert len(shown) >= 4
