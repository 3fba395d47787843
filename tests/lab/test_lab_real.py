"""Laboratories on hardware: a robot behind real sockets, tasks in processes, and what ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.lab.config import EndEffector, LabConfig, VisionConfig
from linkwright.lab.drawing import Drawing, picture
from linkwright.lab.drivers import Troubles, driver_at
from linkwright.lab.drivers.layout import driver_layout
from linkwright.lab.drivers.memory_link import shared_root
from linkwright.lab.fake_robot import FakeRobot
from linkwright.lab.files.trajectories import JointSamples, JointTrajectory, trajectory_recording
from linkwright.lab.loop import rows
from linkwright.lab.tasks import Task
from linkwright.models.rerun import rerun
from linkwright.recording import read_recording
from linkwright.windows import Wire
from tests.seeds import seldom
from tests.support.lab_robots import planar

pytestmark = pytest.mark.realtime

PATIENCE = 30.0  # s, for anything that should happen

TASKS = """
from linkwright.lab import Task, parameter, sin, state

class Wave(Task):
    amplitude = parameter(0.3, unit="rad", lower=0, upper=1)
    native = False
    count = state(0.0)

    def run(self, t, state, desired):
        self.count = self.count + 1
        desired.q = self.amplitude * sin(2 * t)
        desired.u = 0.0

class Native(Wave):
    native = True

class Odd(Task):
    def run(self, t, state, desired):
        desired.q = float("nan") if t > 0.05 else 0.0

class Broken(Task):
    def run(self, t, state, desired):
        if t > 0.05:
            raise ValueError("the spring is gone")
"""


def eventually(happens: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, what
        time.sleep(0.005)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the robot's file is: the same for all, so that it is derived once."""
    return tmp_path_factory.mktemp("planar")


@pytest.fixture(scope="module")
def config(folder: Path) -> LabConfig:
    """The laboratory of an arm of two joints, 200 Hz."""
    return planar(folder)


@pytest.fixture(scope="module")
def seeing(config: LabConfig) -> LabConfig:
    """The same with an end-effector and a blob."""
    hand = EndEffector("hand", "fore", x=(0.4, 0.0, 0.0))
    eyes = VisionConfig(blobs=("ball",), cameras=0)
    return replace(config, end_effectors=(hand,), vision=eyes, vision_rate=50.0)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A file of tasks."""
    file = tmp_path / "waves.py"
    file.write_text(TASKS)
    return file


@contextmanager
def serving(
    config: LabConfig, at: str, keeps_time: str = "lab", troubles: Troubles | None = None
) -> Iterator[FakeRobot]:
    """Give a fake robot that answers in a thread."""
    with FakeRobot(config, at, keeps_time=keeps_time, troubles=troubles) as robot:
        quit_ = threading.Event()
        thread = threading.Thread(target=robot.serve, args=(lambda: not quit_.is_set(),))
        thread.start()
        try:
            yield robot
        finally:
            quit_.set()
            thread.join(PATIENCE)


def runs(lab: lw.Lab, ticks: int) -> None:
    """Wait for some ticks of the task that runs; one that a busy machine delayed begins again."""

    def happens() -> bool:
        if lab.stopped is not None:
            lab.reset()
        if lab.task is None:
            lab.redo()
        begun, count = lab.values("task.begun", "task.ticks")
        return bool(begun[0] == lab.given("life.serial") and count[0] >= ticks)

    eventually(happens, "the task does not run")


@pytest.mark.parametrize("name", ["wave", "native"])
def test_the_same_task_file_runs_on_simulated_and_on_mocked_hardware(
    name: str, config: LabConfig, tasks: Path, tmp_path: Path
) -> None:
    """SL check 80. In lockstep and over a socket, in Python and compiled, it wants the same."""
    period = 2 / config.rate

    def wanted(lab: lw.Lab) -> None:
        ticks, q, count = (lab.values(f"task.{x}")[0] for x in ("ticks", "des_q", "memory"))
        assert q == pytest.approx(0.25 * np.sin(2 * ticks[0] * period), abs=1e-12)
        assert count[0] == ticks[0] + 1  # a state that was declared

    with lw.Lab(config) as lab:
        lab.add(tasks)
        lab.start(name, amplitude=0.25)
        lab.run(0.5)
        wanted(lab)
    with (
        serving(config, f"unix://{tmp_path}/arm") as robot,
        lw.Lab(config, driver=robot.url, folder=tmp_path, session_rate=config.rate) as lab,
    ):
        assert robot.end.driver is not None
        assert robot.end.driver.process == os.getpid()
        with pytest.raises(Error, match=f"it is driven by process {os.getpid()} on "):
            lw.Lab(config, driver=robot.url)
        lab.add(tasks)
        lab.start(name, amplitude=0.25)
        runs(lab, 60)
        assert (lab.real is not None and lab.real.process is None) == (name == "native")
        lab.freeze()
        wanted(lab)
        with pytest.raises(Error, match="keeps the pace of its clock"):
            lab.pace(2.0)
        eventually(lambda: robot.loop.latest()["card.damped"] == 0, "the robot does not follow")
        assert lab.session is not None
        path, total = lab.session.path, lab.loop.counters.total
    eventually(lambda: robot.loop.latest()["card.damped"] == 1, "the robot is not disabled")
    session = read_recording(path)
    assert len(session) > total // 2
    again = rerun(session)
    assert again.difference is None, again.difference


def test_motions_are_waited_for_on_a_robot_and_nothing_is_drawn(
    config: LabConfig, tmp_path: Path
) -> None:
    """SL checks 20 and 79, over a socket: compiled goto, and a recording in a process."""

    class Painter(Task):
        native = True

        def init(self, lab: lw.Lab) -> None:
            lab.go_to(goal, speed=2.0)

        def draw(self, scene: Drawing, state: object) -> None:
            scene.sphere((0, 0, 0))

    with (
        serving(config, f"unix://{tmp_path}/arm") as robot,
        lw.Lab(config, driver=robot.url) as lab,
    ):
        goal = lab.desired.q + 0.2
        lab.add(Painter)
        lab.start("painter")
        assert lab.desired.q == pytest.approx(goal, abs=1e-9)
        assert lab.task == "painter"
        runs(lab, 2)
        assert picture(lab).things == ()
        lab.freeze()
        there = np.linspace(goal[0], goal[0] + 0.1, 11)
        line = JointTrajectory(100.0, {config.names[0]: JointSamples(there)})
        trajectory_recording(line).save(tmp_path / "line.csv")
        lab.start("trajectory", file=str(tmp_path / "line.csv"), feedforward="none")
        eventually(lambda: lab.task is None, "the recorded motion does not end")
        assert lab.desired.q[0] == pytest.approx(there[-1], abs=1e-9)
        assert lab.stopped is None


def test_whatever_becomes_of_a_task_the_motor_servo_goes_on(
    config: LabConfig, tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SL check 13. kill -9, SIGSTOP, an exception, no number: counted, frozen, and redo works."""
    told: list[str] = []
    with serving(config, "udp://127.0.0.1:0") as robot, lw.Lab(config, driver=robot.url) as lab:
        lab.add(tasks)
        monkeypatch.setattr(lab, "tell", told.append)
        assert lab.real is not None

        def ended(words: str, end: Callable[[], None] = lambda: None) -> None:
            def said() -> bool:
                if lab.task is None and not any(words in text for text in told):
                    lab.redo()  # a busy machine delayed it: once more
                    end()
                return lab.task is None and any(words in text for text in told)

            told.clear()
            end()
            eventually(said, f"nobody says {words}")
            before, q = lab.loop.counters.total, lab.desired.q
            eventually(lambda: lab.loop.counters.total > before + 10, "the motor servo stands")
            assert lab.desired.q.tolist() == q.tolist()  # the last command holds
            assert lab.stopped is None

        def signaled(number: signal.Signals) -> None:
            runs(lab, 20)
            process = lab.real.process if lab.real is not None else None
            if process is not None:
                os.kill(process, number)

        lab.start("wave")
        ended("was ended by signal 9", lambda: signaled(signal.SIGKILL))
        lab.redo()
        late = lab.counters["task"].overruns
        ended("took too long at 10 ticks in a row", lambda: signaled(signal.SIGSTOP))
        assert lab.counters["task"].overruns >= late + 10
        lab.start("broken")
        ended("ValueError: the spring is gone")
        lab.start("odd")
        ended("gave nan for des_q")
        lab.start("native")
        runs(lab, 20)
        assert lab.real.process is None


def test_a_robot_that_is_gone_stops_the_laboratory_with_the_reason(
    config: LabConfig, tasks: Path, tmp_path: Path
) -> None:
    at = f"unix://{tmp_path}/arm"
    with serving(config, at) as robot:
        lab = lw.Lab(config, driver=robot.url)
        lab.add(tasks)
        lab.start("wave")
        runs(lab, 10)
    try:
        eventually(lambda: lab.stopped is not None, "nobody notices")
        assert str(lab.stopped) == f"the robot at {at}: nothing has been heard of it for 0.1 s"
        assert lab.task is None
        with pytest.raises(Error, match="is stopped"):
            lab.start("wave")
        with serving(config, at) as robot:  # it was started again
            lab.reset()
            assert lab.stopped is None
            lab.start("wave")
            runs(lab, 10)
            eventually(lambda: robot.loop.latest()["card.damped"] == 0, "it does not follow")
            lab.close()
    finally:
        lab.close()


def test_a_task_runs_while_one_datagram_in_twenty_is_lost(config: LabConfig, tasks: Path) -> None:
    troubles = Troubles(loss=0.05, seed=7)
    with (
        serving(config, "udp://127.0.0.1:0", troubles=troubles) as robot,
        lw.Lab(config, driver=robot.url) as lab,
    ):
        lab.add(tasks)
        lab.start("wave")
        runs(lab, 100)
        assert lab.stopped is None
        assert lab.real is not None
        wire = lab.real.driver.source
        assert isinstance(wire, Wire)
        assert wire.counts.lost > 0
        assert wire.counts.received > 100
        assert wire.counts.torn == wire.counts.foreign == 0


@seldom(daily="test_the_same_task_file_runs_on_simulated_and_on_mocked_hardware")
def test_what_cannot_be_done_on_hardware_is_said_in_words(
    config: LabConfig, seeing: LabConfig
) -> None:
    """Gravity, the base and pushes are a simulation's; loads are told to inverse dynamics."""
    with serving(config, "udp://127.0.0.1:0") as robot, lw.Lab(seeing, driver=robot.url) as lab:
        with pytest.raises(Error, match=r"not on hardware: gravity .* cannot be set"):
            lab.set_gravity((0.0, 0.0, 0.0))
        with pytest.raises(Error, match="not on hardware: nothing holds the base"):
            lab.freeze_base()
        with pytest.raises(Error, match=r"not on hardware: 'robot.push\[0\]' belongs to a sim"):
            lab.put({"robot.push[0]": 1.0})
        with pytest.raises(Error, match="a laboratory on hardware does not catch-up"):
            lab.pace(1, overrun="catch-up")
        lab.set_end_effector("hand", mass=2.0, mass_center=(0.2, 0.0, 0.0))
        assert [lab.given(f"invdyn.hand_load[{i}]") for i in range(2)] == [2.0, 0.5]
        assert lab.stopped is None


@pytest.mark.parametrize("overrun", ["skip", "catch-up"])
def test_a_simulation_by_the_clock_skips_or_catches_up(overrun: str, config: LabConfig) -> None:
    """A tick that takes a tenth of a second: the others are lost, or run as fast as they can."""

    class Pause(Task):
        def run(self, t: float, state: object, desired: object) -> None:
            if 0.045 < t < 0.055:
                time.sleep(0.1)

    with lw.Lab(config) as lab:
        lab.patience(0)
        lab.pace(1, overrun)
        lab.start(lab.add(Pause)[0])
        runs(lab, 20)
        counted = lab.loop.counters
        assert counted.overrun >= 1
        assert counted.missed >= 10 if overrun == "skip" else counted.missed == 0


WATCHER = r"""
#include "lab.h"
#include <stdio.h>
static int wait_read(lw_window *w, void *frame) {
    return !lw_wait(w, 20.0) || lw_read(w, frame);
}
int main(void) {
    lw_window motor, task, vision;
    static lw_motor_told m; static lw_task_told t; static lw_vision_told v;
    if (lw_motor_told_open(&motor, LW_MOTOR_TOLD_FILE, 0)) return 2;
    if (lw_task_told_open(&task, LW_TASK_TOLD_FILE, 0)) return 3;
    if (lw_vision_told_open(&vision, LW_VISION_TOLD_FILE, 0)) return 4;
    for (int i = 0; i < 60; i++) {
        if (wait_read(&motor, &m) || wait_read(&task, &t) || lw_read(&vision, &v)) return 5;
        printf("motor %lld %.17g %.17g\n", (long long)m.head.tick, m.q[JOINT_elbow], m.load[0]);
        printf("task %lld %.17g %.17g\n", (long long)t.head.tick, t.des_q[JOINT_elbow],
               t.cart[EFFECTOR_hand][1]);
        printf("vision %lld %.17g %.17g\n", (long long)v.head.tick, v.blobs[BLOB_ball][2],
               v.blobs[BLOB_ball][9]);
    }
    return 0;
}
"""


def test_a_program_in_c_reads_what_each_servo_of_a_running_laboratory_told(
    config: LabConfig, seeing: LabConfig, tasks: Path, tmp_path: Path
) -> None:
    """At ticks of the servo, with their stamp, and the same bits as the laboratory's own."""
    ports = {
        "motor": ("sensors.q", 1, "sensors.load", 0),
        "task": ("desired.des_q", 1, "cart.hand_x", 1),
        "vision": ("vision.ball_x", 2, "vision.ball_status", 0),
    }
    with serving(config, "udp://127.0.0.1:0") as robot, lw.Lab(seeing, driver=robot.url) as lab:
        assert lab.real is not None
        (tmp_path / "lab.h").write_text(lab.layout("c"))
        (tmp_path / "watch.c").write_text(WATCHER)
        command = [os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Werror", "-O1"]
        subprocess.run([*command, "watch.c", "-o", "watch"], cwd=tmp_path, check=True)
        lab.place_blob("ball", (0.5, 0.25, 0.75), by_cameras=False)
        lab.add(tasks)
        lab.start("native")
        program = subprocess.Popen(
            [tmp_path / "watch"], cwd=lab.real.path, stdout=subprocess.PIPE, text=True
        )
        seen = {}
        try:
            end = time.monotonic() + PATIENCE
            while program.poll() is None:
                assert time.monotonic() < end, "the program does not end"
                row = lab.loop.latest()
                seen[row.tick] = row.d
                time.sleep(0.001)
            assert program.stdout is not None
            assert program.returncode == 0
            lines = [line.split() for line in program.stdout.read().splitlines()]
        finally:
            program.kill()
            program.communicate()
        every = {"motor": 1, "task": 2, "vision": 4}
        assert all(int(tick) % every[servo] == 0 for servo, tick, *_ in lines)
        for servo, (first, i, second, j) in ports.items():
            told = [line for line in lines if line[0] == servo and int(line[1]) in seen]
            assert told, servo
            for _, tick, x, y in told:
                numbers = seen[int(tick)]
                known = numbers[rows(lab, first)][i], numbers[rows(lab, second)][j]
                assert (float(x), float(y)) == known
        assert lines[-1][2:] == ["0.75", "1"]
        assert len({line[1] for line in lines if line[0] == "motor"}) > 20


@seldom(daily="test_the_same_task_file_runs_on_simulated_and_on_mocked_hardware")
def test_a_base_that_floats_and_further_sensors_are_told_by_the_robot(
    config: LabConfig, tasks: Path, tmp_path: Path
) -> None:
    """They come over the wire, stand in the session, and a robot without them is refused."""
    massless = replace(config, base="floating", misc_sensors=("KNOB", "FOOT"), ratios={"eye": 4})
    with (
        FakeRobot(massless, "udp://127.0.0.1:0") as robot,
        pytest.raises(Error, match="the simulated robot has ended: no finite value of base"),
    ):
        robot.serve(lambda: True)
    base, *links = config.description.links
    body = replace(config.description, links=(replace(base, mass=links[0].mass), *links))
    whole = replace(massless, description=body)
    with (
        serving(whole, "udp://127.0.0.1:0") as robot,
        lw.Lab(whole, driver=robot.url, folder=tmp_path, session_rate=whole.rate) as lab,
    ):
        robot.loop.set({"misc.raw[1]": 0.75})
        eventually(lambda: lab.misc == {"KNOB": 0.0, "FOOT": 0.75}, "nothing is told of them")
        assert lab.do("where_misc").data["FOOT"] == {"value": 0.75}
        before = lab.base.x[2]
        eventually(lambda: lab.base.x[2] < before - 0.1, "the base does not fall")
        assert np.linalg.norm(lab.base.q) == pytest.approx(1.0)
        assert lab.base.xd[2] < 0
        told = lab.base.x[2]
        assert robot.loop.latest()["robot.base[2]"] <= told
        lab.add(tasks)
        with pytest.raises(Error, match="'eye' runs compiled tasks only; give it native = True"):
            lab.start("wave", servo="eye")
        assert lab.start("native", servo="eye")
        assert lab.session is not None
        path = lab.session.path
    assert rerun(read_recording(path)).difference is None
    with serving(config, "udp://127.0.0.1:0") as robot:
        plain = replace(whole, misc_sensors=())
        with pytest.raises(Error, match="base floats, and the robot sends nothing of its own"):
            driver_at(robot.url, driver_layout(plain)).open()


def test_a_robot_that_keeps_time_gives_the_ticks(config: LabConfig, tasks: Path) -> None:
    with (
        serving(config, f"shm://real-{os.getpid()}", keeps_time="robot") as robot,
        lw.Lab(config, driver=robot.url) as lab,
    ):
        lab.add(tasks)
        lab.start("native")
        runs(lab, 50)
        counted = lab.loop.counters
        assert counted.total - counted.timeouts + counted.missed <= robot.loop.counters.total


KILLED = """
import sys, time
import linkwright as lw
from pathlib import Path
from tests.support.lab_robots import planar
lab = lw.Lab(planar(Path(sys.argv[1])), driver=sys.argv[2])
print("driving", flush=True)
time.sleep(60)
"""


def test_a_laboratory_that_is_killed_leaves_damped_joints_and_nothing_else(
    config: LabConfig, folder: Path
) -> None:
    """The robot damps its joints, another laboratory may drive, and no mapped file is left."""
    with serving(config, "udp://127.0.0.1:0") as robot:
        lab = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(folder), robot.url],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert lab.stdout is not None
            assert lab.stdout.readline() == "driving\n"
            eventually(lambda: robot.loop.latest()["card.damped"] == 0, "it does not follow")
            left = list(shared_root().glob(f"lab-planar-{lab.pid}-*"))
            assert len(left) == 1
            damps = robot.loop.latest()["card.damps"]
            os.kill(lab.pid, signal.SIGKILL)
            eventually(lambda: robot.loop.latest()["card.damps"] > damps, "joints are not damped")
            eventually(lambda: robot.end.driver is None, "the robot is not free")
        finally:
            lab.kill()
            lab.communicate()
        with lw.Lab(config, driver=robot.url):
            assert not left[0].exists()
        assert not list(shared_root().glob(f"lab-planar-{os.getpid()}-*"))
