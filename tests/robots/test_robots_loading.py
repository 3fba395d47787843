"""Loading robots: what is built when, and what the disk cache does for the next process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError, ShapeError
from linkwright.formats.robot.description import NamedFrame, Place
from linkwright.robots import Robot
from linkwright.robots.stored import known_ports
from tests.random.robots import random_robot

ROBOTS = Path(__file__).parents[1] / "robots"

SCRIPT = """
import json, sys
import numpy as np
import linkwright as lw
robot = lw.load(sys.argv[1])
tau = robot.inverse_dynamics(np.full(3, 0.3), np.full(3, 0.2), np.full(3, 0.1))
batch = robot.inverse_dynamics(np.full((5, 3), 0.3), np.full(3, 0.2), np.full(3, 0.1))
pose = robot.pose(robot.random(seed=2), "left_tip")
slope = robot.jacobian.derivative("q")(robot.neutral, "left_tip", reference="local")
facts = [robot.coordinates, robot.speeds, robot.frames, robot.links, robot.limits.tolist()]
rooms = ("equations", "program", "algebra", "mechanism.")
heavy = [m for m in sys.modules if m in ("pydantic", "scipy")
         or m.startswith(tuple("linkwright." + room for room in rooms))]
heavy = [m for m in heavy if m != "linkwright.mechanism.joint_kinds"]  # a table of names
numbers = [tau.tolist(), pose.tolist(), slope.tolist(), facts]
print(json.dumps({"numbers": numbers, "same": bool((batch == batch[0]).all()), "heavy": heavy,
                  "steps": list(robot.timings)}))
"""


def first_result(cache: Path) -> dict[str, Any]:
    """Return what a new process tells of the gripper's inverse dynamics."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROBOTS / "gripper.urdf")],
        env={**os.environ, "LINKWRIGHT_CACHE_DIR": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A cache after one process, and what that one told."""
    folder = tmp_path_factory.mktemp("begun") / "cache"
    return folder, first_result(folder)


def test_a_second_process_needs_nothing_that_derives_programs(
    begun: tuple[Path, dict[str, Any]],
) -> None:
    """From the cache the numbers are the same, and no Program is derived or even imported."""
    folder, cold = begun
    warm = first_result(folder)
    assert warm["numbers"] == cold["numbers"]
    assert cold["same"]
    assert warm["same"]
    assert "inverse_dynamics: optimize" in cold["steps"]
    assert warm["heavy"] == []
    assert [step for step in warm["steps"] if "mass_matrix" in step or "optimize" in step] == []


def test_a_damaged_entry_is_made_again(begun: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Entries that were cut short are not used and not complained of."""
    folder, cold = begun
    shutil.copytree(folder, tmp_path / "cache")
    for entry in (tmp_path / "cache" / "native").iterdir():
        entry.write_bytes(entry.read_bytes()[:-3])
    assert first_result(tmp_path / "cache")["numbers"] == cold["numbers"]


def test_ports_are_remembered_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered under one key is found under it alone."""
    monkeypatch.setenv("LINKWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    inputs, outputs = (("q", (3,)),), (("M", (3, 3)),)
    known_ports("key", lambda: (inputs, outputs))
    assert known_ports("key", lambda: ((), ())) == (inputs, outputs)
    assert known_ports("other", lambda: ((), ())) == ((), ())


def test_frames_with_odd_names_are_told_apart() -> None:
    """A frame called "tip local" is not the frame "tip" seen locally."""
    description = random_robot(6, ["revolute"])
    link = description.links[-1].name
    frames = tuple(
        NamedFrame(name, link, Place((x, 0.0, 0.0)))
        for name, x in (("tip", 0.5), ("tip local", 2.0))
    )
    robot = Robot(replace(description, frames=frames))
    q = np.array([0.4])
    own, other = robot.jacobian(q, "tip", reference="local"), robot.jacobian(q, "tip local")
    fresh = Robot(replace(description, frames=frames))
    np.testing.assert_array_equal(fresh.jacobian(q, "tip local"), other)
    np.testing.assert_array_equal(fresh.jacobian(q, "tip", reference="local"), own)
    assert not np.allclose(own, other)


def test_only_what_is_called_is_built() -> None:
    """Loading derives nothing; calling one quantity derives that one."""
    robot = lw.load(ROBOTS / "gripper.urdf")
    assert list(robot.timings) == ["read"]
    robot.gravity(robot.neutral)
    assert not [step for step in robot.timings if step.startswith(("inverse", "mass"))]


def test_unknown_frames_joints_and_bases_are_refused() -> None:
    """Messages name what is wrong."""
    robot = Robot(random_robot(1, ["revolute"]))
    with pytest.raises(InputError, match="no frame 'hand'"):
        robot.pose(np.zeros(1), "hand")
    with pytest.raises(InputError, match="no joint 'elbow' to lock"):
        len(Robot(random_robot(1, ["revolute"]), locked={"elbow": 0.0}).coordinates)
    with pytest.raises(InputError, match="a base is"):
        len(Robot(random_robot(1, ["revolute"]), base="loose").coordinates)


def test_what_a_quantity_is_given_is_checked() -> None:
    """An array too many is not an output to fill, and what does not fit is named."""
    robot = lw.load(ROBOTS / "gripper.urdf")
    q, u = np.zeros(3), np.full(3, 7.0)
    for _ in range(2):  # the second call goes to the kernel directly
        with pytest.raises(ShapeError, match=r"takes 1 arrays \(q\), not 2"):
            robot.gravity(q, u)
    assert np.all(u == 7.0)
    with pytest.raises(InputError, match="q holds something that is not a number"):
        robot.gravity(["a", "b", "c"])
    with pytest.raises(ShapeError, match=r"leading axes do not fit together \(q: 4 x 2, u: 5\)"):
        robot.nonlinear_effects(np.zeros((4, 2, 3)), np.zeros((5, 3)))
    with pytest.raises(InputError, match="pose is that of a frame, and none is named"):
        robot.pose(q)
    with pytest.raises(InputError, match="did you mean 'left_tip'"):
        robot.pose(q, "left_tp")
    with pytest.raises(AttributeError, match=r"ask as pose\[frame\].counts"):
        len(robot.pose.counts)
    with pytest.raises(InputError, match="-1 random configurations"):
        robot.random(-1)
    assert robot.random(0).shape == (0, 3)


def test_leading_axes_are_broadcast() -> None:
    """Rows of one length meet one row, or an axis of length one, as NumPy's do."""
    robot = lw.load(ROBOTS / "gripper.urdf")
    q, u = robot.random(4), np.random.default_rng(0).normal(size=(5, 3))
    grid = robot.nonlinear_effects(q[:, None], u)
    assert grid.shape == (4, 5, 3)
    np.testing.assert_allclose(grid[2, 3], robot.nonlinear_effects(q[2], u[3]))
    np.testing.assert_allclose(robot.nonlinear_effects(q[:1], u), robot.nonlinear_effects(q[0], u))


def test_a_text_model_keeps_its_loops_and_loads(tmp_path: Path) -> None:
    """A linkage from a file is the linkage of its name, with frames at its points."""
    shipped = lw.Robot("four-bar")
    file = tmp_path / "linkage.toml"
    text = resources.files("linkwright.models").joinpath("text", "four-bar.toml")
    file.write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
    read = lw.Robot(file)
    assert read.speeds == shipped.speeds == ("a_dot",)
    closed = lw.assemble(read.mechanism).coordinates
    q = np.array([closed[name] for name in read.coordinates])
    np.testing.assert_allclose(
        read.nonlinear_effects(q, [0.3]), shipped.nonlinear_effects(q, [0.3])
    )
    np.testing.assert_allclose(read.position(q, "bp"), read.position(q, "cp"), atol=1e-9)
    with pytest.raises(InputError, match="a mechanism is taken as it is, and base, locked cannot"):
        lw.Robot("puma560", base="free", locked={"q1": 0.0})
    assert "m2" in lw.Robot("puma560", symbolic=True).gravity.parameters


def test_what_a_robot_says_of_itself() -> None:
    """Its size, and what its file holds that was not used, with the lines."""
    robot = lw.load(ROBOTS / "gripper.urdf")
    assert repr(robot) == "Robot('gripper': 3 coordinates, 3 speeds, 9 frames)"
    assert [(entry.what, entry.line) for entry in robot.ignored] == [
        ("<gazebo>", 4),
        ("<link><contact>", 15),
        ("<transmission>", 100),
    ]


def test_joints_that_move_no_mass_are_named() -> None:
    """Forward dynamics of a robot with a massless last link says which joint moves nothing."""
    description = random_robot(5, ["revolute", "revolute"], chain=True)
    *links, last = description.links
    light = Robot(replace(description, links=(*links, replace(last, mass=None))))
    with pytest.raises(InputError, match="nothing that has mass moves with j1_dot"):
        light.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    with pytest.raises(InputError, match="nothing that has mass moves with j1_dot"):
        light.inverse_mass_matrix(np.zeros(2))
    assert light.inverse_dynamics(np.zeros(2), np.zeros(2), np.ones(2))[1] == 0.0


def test_mujoco_conventions_of_a_free_base_and_back() -> None:
    """Linear speeds go to the world's axes, and everything comes back as it was."""
    robot = Robot(random_robot(2, ["revolute", "ball"]), base="free")
    q = robot.random(4)
    u, a, tau = np.random.default_rng(0).normal(size=(3, 4, len(robot.speeds)))
    theirs = robot.to_mujoco(q, u, a, tau)
    w, x, y, z = q[0, 3:7]
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    np.testing.assert_allclose(theirs[1][0, :3], turn @ u[0, :3])
    world = turn @ (a[0, :3] + np.cross(u[0, 3:6], u[0, :3]))
    np.testing.assert_allclose(theirs[2][0, :3], world)
    power = np.einsum("ij,ij->i", theirs[1], theirs[3])
    np.testing.assert_allclose(power, np.einsum("ij,ij->i", u, tau))
    for ours, back in zip((q, u, a, tau), robot.from_mujoco(*theirs), strict=True):
        np.testing.assert_allclose(back, ours, atol=1e-12)
