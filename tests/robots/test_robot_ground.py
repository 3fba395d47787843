"""Robots from files touch a ground where they are given one, in every run alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.elements import Contact
from linkwright.formats.robot.ground import grounded
from linkwright.formats.robot.touch_points import standing
from linkwright.recording.files import read_recording
from linkwright.robots import on_ground
from linkwright.scene.motions import open_motion
from linkwright.scene.scene import scene_of
from linkwright.scene.stance import footing_of
from linkwright.studio.live_system import plant_of
from linkwright.system import System
from tests.seeds import seldom

QUADRUPED = Path("tests/robots/quadruped.urdf")
MASS = 5.0


def thing(path: Path, shape: str) -> Path:
    """Write a robot of one link."""
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" iyz="0" ixz="0"/>'
    path.write_text(
        f"""<robot name="thing"><link name="thing"><inertial><mass value="{MASS}"/>{inertia}
        </inertial><collision><geometry>{shape}</geometry></collision></link></robot>"""
    )
    return path


def elements(system: System) -> list[tuple[object, ...]]:
    """Return the contact elements of a System: bodies, places, planes and parameters."""
    found: list[tuple[object, ...]] = []
    for name, member in system.members.items():
        block = member.block
        if isinstance(block, Contact):
            places = [(p.body.name, str(p.local)) for p in block.points]
            values = {n: p.value for n, p in block.parameters.items()}
            found.append((name, places, block.surface, values, block.floors))
    return found


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """Return where the file of a box is."""
    return thing(tmp_path / "box.urdf", '<box size="0.4 0.3 0.2"/>')


def test_a_box_that_is_dropped_comes_to_rest_and_the_ground_carries_it(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From Python and by the command; the recording tells of the ground and is repeated."""
    system = on_ground(lw.load(box, base="free"), start={"thing_free.z": 0.13})
    run = lw.simulate(system, 1.5, method="rk4", step=5e-4, every=100)
    out = tmp_path / "box.npz"
    words = ["--ground", "--base", "free", "--initial", "thing_free.z=0.13", "--until", "1.5"]
    words += ["--method", "rk4", "--step", "5e-4", "--every", "100"]
    assert main(["simulate", str(box), *words, "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "8 point(s) can touch the ground at the height 0 m" in said
    assert "touch nothing" not in said
    for found in (run.recording, read_recording(out)):
        assert found["thing_free.z"][0] == 0.13
        assert found["thing_free.z"][-1] == pytest.approx(0.1, abs=0.003)
        pushed = sum(found[f"ground.normal_thing_{k}"][-1] for k in range(1, 9))
        assert pushed == pytest.approx(MASS * 9.81, rel=0.01)
        assert found.metadata["floors"] == [{"at": [0.0, 0.0, 0.0], "up": [0.0, 0.0, 1.0]}]
        assert len(found.metadata["forces"]) == 8
    assert read_recording(out).metadata["ground"] is True
    assert main(["rerun", str(out)]) == 0
    motion = open_motion(str(out))
    assert motion.scene is not None
    assert motion.scene.floor == 0.0


def test_without_a_ground_the_run_says_what_gives_one(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It falls, and the words name the switch."""
    out = tmp_path / "box.csv"
    words = ["--base", "free", "--until", "1", "-o", str(out)]
    assert main(["simulate", str(box), *words]) == 0
    assert "simulate --ground" in capsys.readouterr().out
    assert read_recording(out)["thing_free.z"][-1] == pytest.approx(-9.81 / 2, rel=1e-3)


@seldom(daily="test_a_box_that_is_dropped_comes_to_rest_and_the_ground_carries_it")
def test_the_studio_and_a_run_have_the_same_contact_elements(box: Path) -> None:
    """Points, radii, planes and parameters, of feet and of the rest."""
    robot = lw.load(box, base="free")
    footing = footing_of(scene_of(robot), 0.0)
    live = elements(plant_of(robot, footing=footing).system)
    assert live == elements(on_ground(robot))
    assert len(live) == 1
    robot = lw.load(QUADRUPED)
    footing = footing_of(scene_of(robot), 0.0)
    assert footing is not None
    found = grounded(robot)
    one, two = (
        [(t.body.name, t.at, t.radius, t.foot) for t in touches]
        for touches in (footing.touches, found.touches)
    )
    assert one == two
    assert sum(t.foot for t in found.touches) == 4 < len(one)


def test_what_would_start_in_the_ground_is_lifted_onto_it() -> None:
    """In by a nanometer, so that it touches; unless its base is told to start somewhere."""
    robot = lw.load(QUADRUPED)
    found = grounded(robot, 0.5)
    bent = {"front_left_shank_joint": 0.3}
    moved = found.lifted(bent)
    assert list(moved) == ["floating_base.z"]
    where = standing(robot.assembled, {**bent, **moved})
    lowest = min(float(where.heights(t).min()) for t in found.touches)
    assert lowest == pytest.approx(0.5 - 1e-9, abs=1e-12)
    assert on_ground(robot, 0.5, start=bent).initial == {**bent, **moved}
    assert found.lifted(moved) == {}


@pytest.mark.parametrize(
    ("shape", "count", "height"),
    [
        ('<cylinder radius="0.1" length="0.4"/>', 8, 0.2),
        ('<sphere radius="0.15"/>', 1, 0.15),
        ('<capsule radius="0.1" length="0.4"/>', 2, 0.3),
    ],
)
def test_shapes_touch_with_their_outermost_points(
    tmp_path: Path, shape: str, count: int, height: float
) -> None:
    """A robot is lifted by what its shape reaches down."""
    found = grounded(lw.load(thing(tmp_path / "thing.urdf", shape), base="free"))
    assert len(found.touches) == count
    assert found.lifted({}) == {"thing_free.z": pytest.approx(height)}


def test_a_plane_of_the_file_is_the_ground(tmp_path: Path) -> None:
    """MJCF files lay theirs."""
    path = tmp_path / "ball.xml"
    path.write_text(
        """<mujoco model="ball"><worldbody><geom type="plane" size="1 1 1" pos="0 0 0.7"/>
        <body name="b" pos="0 0 1"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body>
        </worldbody></mujoco>"""
    )
    assert grounded(lw.load(path)).height == 0.7


@pytest.mark.parametrize(
    ("model", "words", "said"),
    [
        ("pendulum", ["--ground"], "does not come from a robot file"),
        ("pendulum", ["--base", "free"], "is not a robot file"),
        ("bare", ["--ground"], "nothing to touch the ground with"),
        ("bare", ["--base", "loose"], "loose"),
    ],
)
def test_what_cannot_be_is_refused(
    model: str, words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the exit code 2, and nothing written."""
    if model == "bare":
        path = thing(tmp_path / "bare.urdf", "")
        path.write_text(
            path.read_text().replace("<collision><geometry></geometry></collision>", "")
        )
        model = str(path)
    out = tmp_path / "run.csv"
    assert main(["simulate", model, *words, "-o", str(out)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_limits_can_be_left_out_by_a_switch(tmp_path: Path) -> None:
    """The recording says so, and is repeated alike."""
    path = tmp_path / "slide.xml"
    path.write_text(
        """<mujoco model="slide"><worldbody><body name="b">
        <joint name="j" type="slide" axis="0 0 1" limited="true" range="-0.5 1"/>
        <geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""
    )
    ends = {}
    for word in ("", "--no-limits"):
        out = tmp_path / f"run{word}.csv"
        assert main(["simulate", str(path), "--until", "1", *word.split(), "-o", str(out)]) == 0
        ends[word] = float(np.min(read_recording(out)["j"]))
        assert main(["rerun", str(out)]) == 0
    assert ends[""] > -0.6
    assert ends["--no-limits"] == pytest.approx(-9.81 / 2, rel=1e-3)
    assert read_recording(tmp_path / "run--no-limits.csv").metadata["limits"] is False
