"""Joints of robot files stop at their limits in every run, and in runs alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.equations.energy import add_energy_outputs
from linkwright.equations.joint_stops import FREQUENCY, stop_loads
from linkwright.formats.mjcf import parse_mjcf
from linkwright.formats.text.files import read_model
from linkwright.formats.urdf import parse_urdf
from linkwright.recording.files import read_recording
from linkwright.simulation.native.methods import METHODS
from linkwright.studio.live_system import plant_of
from tests.seeds import cases

INERTIAL = """<inertial><origin xyz="0 0 0.25"/><mass value="2"/>
<inertia ixx="0.05" iyy="0.05" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM = f"""<robot name="arm"><link name="world"/>
<link name="upper">{INERTIAL}</link><link name="fore">{INERTIAL}
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="shoulder" type="revolute"><parent link="world"/><child link="upper"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
<origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="50" velocity="3"/></joint></robot>"""
SLIDE = """<mujoco model="slide"><option gravity="0 0 -10"/><worldbody><body name="b">
<joint name="j" type="slide" axis="0 0 1" limited="true" range="-0.5 1"/>
<geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""
START = {"shoulder": 0.3, "elbow": -0.2}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the arm's file is."""
    found = tmp_path / "arm.urdf"
    found.write_text(ARM)
    return found


def assert_stopped(shoulder: object, elbow: object) -> None:
    """The joints reach a limit, and go no farther than a stop gives way."""
    for q, limit in ((np.asarray(shoulder), 2.0), (np.asarray(elbow), 1.5)):
        assert np.abs(q).max() < limit + 0.15
    assert np.abs(np.asarray(shoulder)).max() > 2.0


def test_every_door_stops_at_the_limits(path: Path, tmp_path: Path) -> None:
    """A robot, its mechanism, a System, a batch, the command and the studio's live run."""
    robot = lw.load(path)
    for model in (robot, robot.mechanism, lw.System(robot)):
        run = lw.simulate(model, 2.0, initial=START)
        assert_stopped(run["shoulder"], run["elbow"])
    batch = lw.simulate_batch(robot.mechanism, 2.0, initial=START, every=10)
    assert_stopped(batch["shoulder"], batch["elbow"])
    out = tmp_path / "run.csv"
    start = [f"{name}={value}" for name, value in START.items()]
    words = [w for each in start for w in ("--initial", each)]
    assert main(["simulate", str(path), "--until", "2", *words, "-o", str(out)]) == 0
    found = read_recording(out)
    assert_stopped(found["shoulder"], found["elbow"])
    plant = plant_of(robot, START)
    free = {f"servo.{key}": 0.0 for key in ("frequency", "damping")}
    run = lw.simulate(plant.system, 1.0, initial={"shoulder_dot": 6.0}, parameters=free)
    assert_stopped(run["shoulder"], run["elbow"])


def test_what_is_used_and_what_is_left_out_is_said(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the run's report, in its recording, and by the command."""
    robot = lw.load(path)
    run = lw.simulate(robot, 0.1)
    assert any("2 joint(s) stop at their limits: shoulder, elbow" in w for w in run.report)
    assert any("1 shape(s) for contact touch nothing" in w for w in run.report)
    about = lw.simulate(lw.System(robot), 0.1).recording.metadata
    assert "2 joint(s) stop" in about["notes"][0]
    out = tmp_path / "run.csv"
    assert main(["simulate", str(path), "--until", "0.1", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "2 joint(s) stop at their limits" in said
    assert "touch nothing" in said
    given = lw.simulate(lw.derive(robot.mechanism, "kane"), 0.1)
    assert any("derived without the joint limits" in w for w in given.report)


def test_limits_can_be_left_out(path: Path) -> None:
    """Without them the arm falls through."""
    robot = lw.load(path, limits=False)
    assert not robot.mechanism.ranges
    assert np.abs(lw.simulate(robot, 2.0, initial=START)["shoulder"]).max() > 2.5


def test_limits_are_no_part_of_what_a_robot_computes() -> None:
    """Beyond its limits a robot's dynamics are those of a robot without limits."""
    q, u, a = np.array([2.5, -1.9]), np.array([0.3, -0.4]), np.array([1.0, 2.0])
    one, two = (lw.Robot(parse_urdf(ARM), limits=limits) for limits in (True, False))
    assert one.inverse_dynamics(q, u, a).tolist() == two.inverse_dynamics(q, u, a).tolist()
    assert one.forward_dynamics(q, u, a).tolist() == two.forward_dynamics(q, u, a).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_stops_never_give_energy(seed: int) -> None:
    """Kinetic and potential energy never exceed what the arm started with."""
    m = lw.Robot(parse_urdf(ARM)).mechanism
    add_energy_outputs(m)
    rng = np.random.default_rng(seed)
    start = {name: float(x) for name, x in zip(START, rng.uniform(-1, 1, 2), strict=True)}
    start |= {f"{name}_dot": float(x) for name, x in zip(START, rng.uniform(-9, 9, 2), strict=True)}
    run = lw.simulate(m, 1.5, initial=start)
    stored = run["energy"]
    assert stored.max() <= stored[0] + 1e-6
    assert stored[-1] < stored[0] - 1.0


def test_a_stop_gives_way_as_its_law_says() -> None:
    """A mass that meets its stop with v goes beyond by v / (w e), and rests at m g / k."""
    robot = lw.Robot(parse_mjcf(SLIDE))
    run = lw.simulate(robot, 3.0, step=1e-4, initial={"j": 0.75})
    v = np.sqrt(2 * 10 * 1.25)
    deepest = -0.5 - run["j"].min()
    assert 0.9 < deepest / (v / (FREQUENCY * np.e)) < 1.1
    assert run["j"][-1] == pytest.approx(-0.5 - 10 / FREQUENCY**2, abs=1e-6)
    (stop,), none = stop_loads(robot.mechanism)
    assert (stop.name, none) == ("stop of j", [])


FIXED = [name for name, method in METHODS.items() if not method.adaptive]


@pytest.mark.parametrize("method", cases(FIXED, daily=["midpoint", "verlet"]))
def test_steps_of_any_size_give_the_motion_at_a_stop(method: str) -> None:
    """A step that a stop cannot take is taken in parts, alone and in a batch, and that is said."""
    m = lw.Robot(parse_urdf(ARM)).mechanism
    wanted = lw.simulate(m, 1.0, step=0.01, initial=START)
    run = lw.simulate(m, 1.0, step=0.01, every=1, method=method, initial=START)
    for name in START:
        assert run[name] == pytest.approx(wanted[name], abs=0.1)
    assert any("too long for the end stops" in w for w in run.recording.metadata["notes"])
    batch = lw.simulate_batch(m, 1.0, step=0.01, every=1, method=method, initial=START)
    assert batch["shoulder"][0] == pytest.approx(run["shoulder"], abs=1e-9)
    short = lw.simulate(m, 0.1, step=1e-3, method=method, initial=START)
    assert short.steps == 100
    assert not any("too long" in w for w in short.recording.metadata.get("notes", ()))


def test_a_start_far_beyond_a_stop_is_rejected() -> None:
    """By a run and a batch; one that presses on its stop begins."""
    m = lw.Robot(parse_urdf(ARM)).mechanism
    with pytest.raises(lw.Error, match=r"'shoulder' starts at .* beyond its end stop at 2 rad"):
        lw.simulate(m, 0.1, initial={"shoulder": 2.2})
    with pytest.raises(lw.Error, match=r"'elbow' starts at -3 rad, beyond its end stop"):
        lw.simulate_batch(m, 0.1, initial={"elbow": [0.0, -3.0]})
    run = lw.simulate(m, 0.5, initial={"shoulder": 2.01})
    assert np.abs(run["shoulder_dot"]).max() < 5.0


def test_a_joint_whose_range_has_no_zero_starts_inside() -> None:
    """At the end of the range, with a sentence; a start that is given counts."""
    text = ARM.replace('lower="-2"', 'lower="0.5"')
    robot = lw.Robot(parse_urdf(text))
    run = lw.simulate(robot, 0.5)
    assert run["shoulder"][0] == 0.5
    assert any("shoulder at 0.5" in w for w in run.report)
    assert lw.simulate(robot, 0.1, initial={"shoulder": 0.7})["shoulder"][0] == 0.7


def test_limits_of_ones_own_are_kept_by_a_text() -> None:
    """In Python and in a text; what comes back from a text stops at the same place."""
    m = lw.Mechanism("m")
    m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity("-y")
    m.limit("b", lower=-0.5)
    text = lw.write_model(m)
    again = read_model(text)
    for each in (m, again):
        run = lw.simulate(each, 2.0)
        assert run.final["b"] == pytest.approx(-0.5 - 9.81 * np.cos(0.5) / FREQUENCY**2, abs=1e-5)
    degrees = read_model(text.replace("lower = -0.5", 'upper = "30 deg"'))
    assert degrees.ranges[0].upper == pytest.approx(np.pi / 6)
    free = lw.Mechanism("free")
    free.body("b", joint=lw.Free(), mass=1, inertia=1)
    for bad in ((1.0, -1.0), (None, None), (np.nan, 1.0)):
        with pytest.raises(lw.Error, match="leave it no range"):
            free.limit("b.x", *bad)
    with pytest.raises(lw.Error, match="one of several rotations of 'b'"):
        free.limit("b.rx", 0.0, 1.0)
    with pytest.raises(lw.Error, match="no coordinate 'c'"):
        free.limit("c", 0.0, 1.0)
    with pytest.raises(lw.Error, match="has limits already"):
        m.limit("b", 0.0, 1.0)
