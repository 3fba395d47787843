"""Live runs of the studio: pace, parameters, pulls and pushes, and poses."""

from __future__ import annotations

import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.blocks import Block
from linkwright.robots import Robot
from linkwright.scene.previews import resting
from linkwright.scene.scene import Scene, scene_of
from linkwright.simulation.runs import session_of
from linkwright.simulation.sample_buffer import MOST
from linkwright.simulation.settings import LIVE
from linkwright.studio.joint_control import Poser, dragged, freedoms, pose_of, tools
from linkwright.studio.live import Live
from linkwright.studio.live_maker import LiveMaker
from linkwright.studio.live_system import Plant, plant_of
from linkwright.studio.user_force import Hand
from tests.seeds import cases, seldom

ARM = "tests/robots/oblique_arm.urdf"


def live_of(name: str) -> Live:
    model = lw.load(name)
    return Live(plant_of(model), scene_of(model))


def slide() -> tuple[Plant, Scene]:
    """A mass of 2 kg that slides freely along x."""
    m = lw.Mechanism("slide")
    m.body("block", translate="x", mass=2)
    return plant_of(m), scene_of(m)


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, Scene]:
    robot = Robot(ARM)
    return robot, scene_of(robot)


def test_live_run_is_the_run_of_simulate() -> None:
    live = live_of("double-pendulum")
    live.advance(480)
    run = lw.simulate(lw.load("double-pendulum"), 2.0, method="dop853", tolerance=1e-10)
    t, rows = live.samples()
    assert t[-1] == 2.0
    names = [c.name for c in live.channels]
    for q in ("phi1", "phi2"):
        assert rows[-1, names.index(q)] == pytest.approx(run.final[q], abs=1e-4)


@pytest.mark.parametrize("speed", cases([1e-9, -1e-9, 3.5e-10], daily=[1e-9]))
def test_a_joint_with_dry_friction_comes_to_rest_however_slow_it_is(speed: float) -> None:
    """A live run may last for weeks; that does not make its smallest step long."""
    session = session_of(plant_of(Robot(ARM)).system, LIVE)[0]
    session.move({"wrist": -0.5, "waist_dot": speed, "wrist_dot": -1.8})
    session.extend(240)
    while not session.done:
        session.advance()
    assert session.stop is None
    assert session.state()["waist_dot"] == 0.0


def test_slices_of_any_length_give_the_same_samples() -> None:
    whole, parts = live_of("pendulum"), live_of("pendulum")
    whole.advance(240)
    for n in (1, 7, 32, 100, 100):
        parts.advance(n)
    assert np.array_equal(whole.samples()[0], parts.samples()[0])
    assert np.allclose(whole.samples()[1], parts.samples()[1], atol=1e-6)


def test_ticks_that_are_due_follow_the_clock_and_the_speed() -> None:
    live = live_of("pendulum")
    assert live._loop.period == Fraction(1, 240)
    live.start()
    begun = time.monotonic()
    live.play()
    while live._loop.counters.due < 20:
        assert time.monotonic() < begun + 20
        time.sleep(0.01)
    change = time.monotonic()
    live.set_speed(2.0)
    assert live._loop.period == Fraction(1, 480)
    before, half = live._loop.counters, time.monotonic()
    while live._loop.counters.due < before.due + 20:
        assert time.monotonic() < half + 20
        time.sleep(0.01)
    live.close()
    ended, counted = time.monotonic(), live._loop.counters
    assert before.due <= 240 * (change - begun) + 480 * (half - change) + 2
    assert counted.due - before.due <= 480 * (ended - change) + 2
    assert counted.total == live.latest.tick + 1


def test_gravity_changed_while_it_runs_changes_the_acceleration() -> None:
    live = live_of("pendulum")  # released horizontal: the acceleration there is g / L
    live.set_value("g", 20.0)
    live.advance(4)
    names = [c.name for c in live.channels]
    speed = live.samples()[1][-1, names.index("phi_dot")]
    assert abs(speed) == pytest.approx(20.0 * 4 / 240, rel=1e-3)


def test_length_changed_while_it_runs_moves_the_picture() -> None:
    live = live_of("double-pendulum")
    node = live.scene.index("lower")
    before = live.poses(live.coordinates()).poses[node, :3]
    live.set_value("L1", 2.0)
    after = live.poses(live.coordinates()).poses[node, :3]
    assert np.linalg.norm(before) == pytest.approx(1.0)
    assert np.linalg.norm(after) == pytest.approx(2.0)


def test_unknown_values_and_speeds_are_refused() -> None:
    live = live_of("pendulum")
    with pytest.raises(Error, match="cannot be changed"):
        live.set_value("gee", 1.0)
    with pytest.raises(Error, match="above zero"):
        live.set_speed(0.0)
    with pytest.raises(Error, match="no mass"):
        live.pull("nobody", np.zeros(3))


@seldom(daily="test_live_run_is_the_run_of_simulate")
def test_what_moves_in_hundredths_of_a_second_is_run_slower_with_finer_ticks() -> None:
    live = live_of("andrews")  # its motion lasts 0.03 s
    assert live.speed == 0.01
    assert live.phases.tick_seconds == pytest.approx(1 / 24_000)
    live.advance(240)
    final = lw.simulate(lw.load("andrews"), 0.01, step=0.001, method="dop853").final
    names = [c.name for c in live.channels]
    found = live.samples()[1][-1, names.index("beta")]
    assert found == pytest.approx(final["beta"], abs=1e-4)


def test_a_push_changes_the_momentum_by_the_impulse() -> None:
    live = Live(*slide())
    live.push("block", np.array([3.0, 0.0, 0.0]))
    live.advance(240)
    state = dict(zip([s.name for s in live.phases.x], live.latest.x, strict=True))
    assert state["block_dot"] == pytest.approx(3.0 / 2)


def test_a_pull_brings_a_body_to_the_handle_and_a_release_lets_it_go() -> None:
    live = Live(*slide())
    live.pull("block", np.array([0.7, 5.0, 0.0]))  # across the rail nothing can move
    live.advance(240 * 6)
    assert live.center("block")[0] == pytest.approx(0.7, abs=1e-3)
    live.release()
    before = live.latest.x.copy()
    live.advance(240)
    assert not live.pulling
    assert live.latest.x == pytest.approx(before, abs=0.01)


def test_a_release_in_the_midst_of_a_tick_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page lets go from another thread, while the run computes what the spring pulls."""
    live = Live(*slide())
    live.pull("block", np.array([0.7, 5.0, 0.0]))
    place = Hand.place

    def released(hand: Hand, body: str, poses: Any) -> Any:
        hand.release()
        return place(hand, body, poses)

    monkeypatch.setattr(Hand, "place", released)
    live.advance(240)
    assert live.latest.stopped == ""
    assert live.latest.time == 1.0
    assert not live.pulling


def test_the_stiffest_pull_stays_stable_on_the_lightest_body() -> None:
    m = lw.Mechanism("two")
    heavy = m.body("heavy", translate="x", mass=100)
    m.body("light", parent=heavy, translate="y", mass=0.01)
    live = Live(plant_of(m), scene_of(m))
    live.pull_hertz = 4.0
    live.pull("light", np.array([0.0, 1.0, 0.0]))
    live.advance(240 * 5)
    assert live.center("light")[1] == pytest.approx(1.0, abs=0.02)


def test_reset_takes_up_the_values_of_now() -> None:
    live = live_of("slider-crank")
    live.advance(100)
    name = live.plant.adjustables[0].name
    live.set_value(name, 1.2 * live.values[name])
    live.reset()
    assert (live.latest.tick, live.latest.epoch) == (0, 1)
    assert len(live.samples()[0]) == 0
    assert {s.name: s.value for s in live.phases.p}[name] == pytest.approx(live.values[name])


def test_dry_friction_that_jumps_is_run_with_fixed_steps() -> None:
    live = live_of("puma560")
    live.advance(240)
    assert live.latest.time == 1.0
    assert np.isfinite(live.latest.x).all()


@seldom(daily="tests/studio/test_studio_following.py::test_joints_stand_where_they_are_told_to")
def test_servos_hold_a_robot_at_its_targets(arm: tuple[Robot, Scene]) -> None:
    robot, scene = arm
    begin = dict(zip(scene.poses.coordinates, map(float, resting(scene)), strict=True))
    live = Live(plant_of(robot, begin), scene)
    live.set_value("servo.frequency", 36.0)
    live.set_value("servo.target_waist", 0.6)
    live.advance(240 * 3)
    q = dict(zip(scene.poses.coordinates, live.coordinates(), strict=True))
    assert q["waist"] == pytest.approx(0.6, abs=0.02)
    assert q["lift"] == pytest.approx(begin["lift"], abs=0.05)


def test_a_system_keeps_its_members_and_its_clock() -> None:
    m = lw.Mechanism("cart")
    m.body("cart", translate="x", mass=1)
    m.force("drive", m.input("F", unit="N"), at=m.bodies["cart"], along="x")
    s = lw.System(m)
    b = Block("pd")
    k = b.parameter("k", 4.0)
    u = b.input("u")
    b.output("y", -k * u)
    member = s.add(b, rate=500)
    s.connect("cart", member.u)
    s.connect(member.y, "F")
    s.set_initial({"cart": 1.0})
    live = Live(plant_of(s), scene_of(m))
    assert live.phases.tick_seconds == pytest.approx(1 / 500)
    live.advance(500)
    t, rows = live.samples()
    names = [c.name for c in live.channels]
    assert rows[-1, names.index("cart")] == pytest.approx(np.cos(2 * t[-1]), abs=0.02)
    assert "pd.y" in names
    assert "pd.k" in live.values
    assert "hand" not in s.members


def test_the_thread_runs_while_nobody_looks_and_ends_when_told() -> None:
    live = live_of("pendulum")
    others = set(threading.enumerate())  # studios of other tests may be open
    live.start()
    live.play()
    assert any(t.name == "linkwright loop" for t in set(threading.enumerate()) - others)
    end = time.monotonic() + 10
    while live.latest.time < 0.2 and time.monotonic() < end:
        time.sleep(0.01)
    assert live.latest.time >= 0.2
    live.pause()
    live.close()
    left = set(threading.enumerate()) - others
    assert not any(t.name == "linkwright loop" for t in left)


def test_a_run_that_goes_far_at_once_keeps_its_latest_samples() -> None:
    live = live_of("pendulum")
    for seconds in (1.0, 600.0):  # more samples than are kept
        live.advance(round(seconds / live.phases.tick_seconds))
    times, rows = live.samples()
    assert MOST / 2 <= len(times) == len(rows) <= MOST
    assert times[-1] == live.latest.time == 601.0
    assert np.allclose(np.diff(times), times[-1] - times[-2])


def test_a_recording_of_a_live_run_can_be_played_again(tmp_path: Any) -> None:
    from linkwright.scene.motions import open_motion

    live = live_of("double-pendulum")
    live.advance(240)
    path = tmp_path / "live.csv"
    live.recording().save(path)
    motion = open_motion(str(path))
    assert motion.scene is not None
    assert motion.q is not None
    assert np.allclose(motion.q[-1], live.coordinates(), atol=1e-6)


# -- poses -----------------------------------------------------------------------------------------
def test_a_slider_of_a_loop_moves_the_other_coordinates() -> None:
    from linkwright.equations.closure import Relations
    from linkwright.equations.evaluation import all_values

    m = lw.load("slider-crank")
    scene = scene_of(m)
    poser = Poser(scene)
    start = np.array([lw.assemble(m).coordinates[n] for n in scene.poses.coordinates])
    name = scene.poses.coordinates[0]
    found = poser.slid(start, name, float(start[0]) + 0.4)
    assert found.fine
    assert found.q[0] == pytest.approx(start[0] + 0.4)
    relations = Relations(m, all_values(m, None))
    order = [scene.poses.coordinates.index(x.name) for x in relations.coordinates]
    assert np.abs(relations.position(found.q[order], 0.0)[0]).max() < 1e-8


def test_a_slider_beyond_a_limit_says_so(arm: tuple[Robot, Scene]) -> None:
    _, scene = arm
    found = Poser(scene).slid(resting(scene), "waist", 2.6)
    assert not found.fine
    assert "waist" in found.words
    assert "at its limit" in Poser(scene).slid(resting(scene), "waist", 2.5).words


def test_a_tool_that_is_dragged_arrives_or_says_how_far_it_is_short(
    arm: tuple[Robot, Scene],
) -> None:
    robot, scene = arm
    assert tools(scene)[0] == "tool"
    q = resting(scene)
    moved = q + 0.1
    goal = pose_of(scene, moved, "tool")
    order = [scene.poses.coordinates.index(n) for n in robot.coordinates]
    assert np.allclose(robot.pose(moved[order], "tool")[:3], goal[:3], atol=1e-9)
    found = dragged(scene, q, "tool", goal, turn=True)
    assert found.fine
    assert np.allclose(pose_of(scene, found.q, "tool"), goal, atol=1e-4)
    far = goal.copy()
    far[:3, 3] += 10.0
    missed = dragged(scene, q, "tool", far, turn=False)
    assert not missed.fine
    assert "out of reach" in missed.words


MIMIC = """<robot name="gripper">
<link name="base"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<link name="arm">{mass}</link>
<joint name="left" type="prismatic"><parent link="arm"/><child link="left"/>
  <origin xyz="1 0 0"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="0.04" effort="1" velocity="1"/></joint>
<link name="left">{mass}</link>
<joint name="right" type="prismatic"><parent link="arm"/><child link="right"/>
  <origin xyz="1 0 0"/><axis xyz="0 -1 0"/><mimic joint="left"/>
  <limit lower="0" upper="0.04" effort="1" velocity="1"/></joint>
<link name="right">{mass}</link>
<joint name="end" type="fixed"><parent link="arm"/><child link="grip_tcp"/>
  <origin xyz="1.1 0 0"/></joint>
<link name="grip_tcp"/>
</robot>"""
MASS = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" iyz="0" ixz="0"/>'
    "</inertial>"
)


def test_a_gripper_whose_fingers_follow_each_other_is_set_and_dragged(tmp_path: Path) -> None:
    file = tmp_path / "gripper.urdf"
    file.write_text(MIMIC.format(mass=MASS))
    scene = scene_of(Robot(file))
    found = Poser(scene).slid(resting(scene), "turn", 0.3)
    assert found.fine
    assert found.q[scene.poses.coordinates.index("turn")] == 0.3
    assert tools(scene)[0] == "grip_tcp"  # though the fingers come after it in the file
    assert [freedoms(scene, f) for f in ("grip_tcp", "left")] == [1, 2]
    c, s = np.cos(0.7), np.sin(0.7)
    goal = np.array([[c, -s, 0, 1.1 * c], [s, c, 0, 1.1 * s], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    led = dragged(scene, resting(scene), "grip_tcp", goal, turn=False)
    assert led.fine
    assert led.q[scene.poses.coordinates.index("turn")] == pytest.approx(0.7, abs=1e-4)


# -- the studio around a run -----------------------------------------------------------------------
def test_a_browser_that_reads_nothing_does_not_hold_a_live_run_up() -> None:
    import viser
    from websockets.sync.client import connect

    from linkwright.studio.server import open_studio
    from linkwright.studio.state import RUN, PanelState

    studio = open_studio(["double-pendulum"])
    try:
        panels = studio.panels
        assert isinstance(panels, PanelState)
        panels.maker.make()
        live = panels.live
        assert live is not None
        protocol: Any = f"viser-v{viser.__version__}"
        address = studio.address.replace("http:", "ws:")
        # It never reads, not even the answer to its leave.
        with connect(address, subprotocols=[protocol], max_size=None, close_timeout=0.1):
            panels.take_over(RUN)
            for k in range(300):
                live.advance(live.every)
                panels.rounds.go_round(k / 60)
            assert live.latest.tick == 300 * live.every
            assert panels.time == pytest.approx(5.0)
        panels.rounds.go_round(1000.0)  # the browser has vanished
        assert panels.troubles.words == []
    finally:
        studio.close()


@seldom(daily="tests/studio/test_studio_showing.py::test_a_script_waits_until_it_is_interrupted")
def test_the_command_serves_until_it_is_interrupted() -> None:
    import signal
    import subprocess
    import sys
    from urllib.request import urlopen

    command = [sys.executable, "-m", "linkwright", "studio", "pendulum", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        address = line.split()[1]
        assert address.startswith("http://127.0.0.1:")
        with urlopen(address, timeout=240) as answer:
            assert b"<html" in answer.read().lower()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=240) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


@pytest.mark.parametrize("where", ["build", "start"])
def test_a_run_that_could_not_be_made_can_be_made_later(where: str) -> None:
    """What was told before is taken back then, whether making or starting it had failed."""
    troubles, done = [Error("no mass")], threading.Event()

    class Startled:
        def start(self) -> None:
            if where == "start" and troubles:
                raise troubles.pop()

        def close(self) -> None:
            """Nothing goes on."""

    def build() -> Any:
        if where == "build" and troubles:
            raise troubles.pop()
        return Startled()

    maker = LiveMaker(build, pytest.fail)
    maker.make()
    assert (maker.live, maker.cannot) == (None, "Cannot run live: no mass")
    maker.prepare(done.set)
    assert done.wait(10)
    assert maker.live is not None
    assert maker.cannot == ""
    maker.close()
