"""Drivers of robots: greetings, sockets, shared memory, Python, and the fake robot's own care."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from linkwright.algebra import constant
from linkwright.base.errors import Error
from linkwright.lab import fake_robot
from linkwright.lab.config import LabConfig
from linkwright.lab.drivers import DriverLayout, RobotDriver, Troubles, driver_at, driver_place
from linkwright.lab.drivers.driver import LinkDriver
from linkwright.lab.drivers.greeting import greeting, read_greeting, refusal
from linkwright.lab.drivers.layout import driver_layout
from linkwright.lab.drivers.memory_link import shared_root
from linkwright.lab.drivers.python_link import PythonDriver
from linkwright.lab.drivers.sockets import greeting_socket, reach
from linkwright.lab.fake_robot import FakeRobot
from linkwright.lab.servos.linkages import linkage_of
from linkwright.lab.sources import lab_config
from linkwright.simulation.hardware import ACTIVE
from linkwright.system import System
from linkwright.windows import Wire
from tests.seeds import seldom
from tests.support.lab_robots import planar, planar_file
from tests.support.processes import Begin, begin as begin

PATIENCE = 20.0  # s, for anything that should happen


def eventually(happens: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, what
        time.sleep(0.002)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> LabConfig:
    """The laboratory of an arm of two joints, 200 Hz."""
    return planar(tmp_path_factory.mktemp("planar"))


def places(tmp_path: Path) -> dict[str, str]:
    return {
        "udp": "udp://127.0.0.1:0",
        "unix": f"unix://{tmp_path}/arm",
        "shm": f"shm://test-{os.getpid()}",
    }


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let robots keep a laboratory that a slow machine silences for a while."""
    monkeypatch.setattr("linkwright.lab.drivers.socket_link.SILENCE", PATIENCE)


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


def drive(driver: LinkDriver, done: Callable[[], bool], what: str) -> None:
    """Command torques until something has happened."""

    def happens() -> bool:
        driver.write({"tau": [0.0] * len(driver.joints)})
        return done()

    eventually(happens, what)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("scheme", ["udp", "unix", "shm"])
def test_a_robot_follows_commands_and_damps_its_joints_without_them(
    scheme: str, config: LabConfig, tmp_path: Path
) -> None:
    layout = driver_layout(config)
    with serving(config, places(tmp_path)[scheme]) as robot:

        def damped() -> bool:
            return robot.loop.latest().tick >= 0 and robot.loop.latest()["card.damped"] == 1

        def heard() -> bool:  # at the start silence is 0 before anything has been computed
            now = robot.loop.latest()
            return now.tick > 5 > now["card.silence"]

        with driver_at(robot.url, layout) as driver:
            assert (driver.joints, driver.rate, driver.keeps_time) == (config.names, 200.0, "lab")
            drive(driver, heard, "nothing is heard")
            assert damped(), "a robot that nobody enabled follows"
            driver.enable()
            drive(driver, lambda: not damped(), "it does not follow")
            eventually(damped, "five periods without a command")
            drive(driver, lambda: not damped(), "it does not follow again")
            driver.disable()
            eventually(damped, "disabled")
            told = driver.read()
            assert told["q"] == pytest.approx(robot.loop.latest().x[:2] + 0.1, abs=0.5)
            with pytest.raises(Error, match=f"driven by process {os.getpid()} on "):
                driver_at(robot.url, layout).open()
        with driver_at(robot.url, layout, within=PATIENCE):
            pass  # the robot is free again
        other = DriverLayout(("hip", *layout.joints[1:]), layout.rate)
        with pytest.raises(Error, match=r"joint 1 is .* and the laboratory's is 'hip'"):
            driver_at(robot.url, other).open()
        with pytest.raises(Error, match="200 Hz, and the laboratory's motor servo at 100 Hz"):
            driver_at(robot.url, replace(layout, rate=100.0)).open()
    assert not (shared_root() / f"test-{os.getpid()}").exists()


def test_a_joint_with_a_linear_actuator_is_damped_as_any_other(config: LabConfig) -> None:
    """Damping is a torque in the joint; a command is the force of its cylinder."""
    shoulder, elbow = config.joints
    elbow = replace(elbow, lower=-0.8, upper=0.8)
    linear = replace(elbow, linear_actuator=True, moment_arm=0.03, attachment=0.14)
    ends, forces, angle = [], [], 0.0
    for joint in (elbow, linear):
        found = replace(config, joints=(shoulder, joint))
        with FakeRobot(found, "udp://127.0.0.1:0") as robot:
            loop = robot.loop
            speeds = [s.name for s in loop.session.phases.x][2:]
            loop.move(dict.fromkeys(speeds, 1.0))
            loop.go_to(20)
            ends.append(loop.latest().x)
            loop.set({"card.life": ACTIVE, "card.heard": 1.0, "actuators.tau[1]": 10.0})
            loop.go_to(21)
            forces.append(loop.latest()["raw_sensors.raw_load[1]"])
            angle = loop.latest().x[1]
    assert ends[0].tolist() == ends[1].tolist()
    assert 0 < ends[0][3] < 0.9, "it is damped"
    lever = linkage_of(linear).lever(constant(angle))
    assert forces == pytest.approx([10.0, 10.0 * float(lever)], rel=1e-9)


def test_a_fake_robot_that_has_run_once_is_not_derived_again(
    config: LabConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its phases come from the cache that laboratories have."""
    FakeRobot(config, "udp://127.0.0.1:0").close()

    def derived(_: LabConfig) -> System:
        raise AssertionError("it is derived again")

    monkeypatch.setattr(fake_robot, "robot_system", derived)
    with FakeRobot(config, "udp://127.0.0.1:0") as robot:
        robot.loop.go_to(2)
        assert robot.loop.latest()["card.damped"] == 1


def test_whoever_falls_silent_loses_the_robot(config: LabConfig) -> None:
    layout = driver_layout(config)
    with serving(config, "udp://127.0.0.1:0") as robot:
        first, second = driver_at(robot.url, layout), driver_at(robot.url, layout, within=PATIENCE)
        first.open()
        first.write({"tau": [0.0, 0.0]})
        eventually(lambda: robot.end.driver is None, "half a second without a command")
        with second:
            second.enable()
            drive(second, lambda: robot.loop.latest()["card.damped"] == 0, "it does not follow")
        RobotDriver.close(first)
        first.source.close()


def test_a_robot_keeps_time_and_its_read_waits(config: LabConfig) -> None:
    with (
        serving(config, "udp://127.0.0.1:0", keeps_time="robot") as robot,
        driver_at(robot.url, driver_layout(config)) as driver,
    ):
        assert driver.keeps_time == "robot"
        beats = []
        for _ in range(10):
            beats.append(driver.read(PATIENCE)["beat"])
            driver.write({"tau": [0.0, 0.0]})
        assert beats == sorted(set(beats)), "a tick is read once"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("scheme", ["udp", "unix"])
def test_losses_by_a_seed_are_counted_and_the_robot_goes_on(
    scheme: str, config: LabConfig, tmp_path: Path
) -> None:
    """Of the robot's frames one in five is lost; the rest is what it sent."""
    troubles = Troubles(loss=0.2, delay=0.001, seed=5)
    with (
        serving(config, places(tmp_path)[scheme], troubles=troubles) as robot,
        driver_at(robot.url, driver_layout(config)) as driver,
    ):
        wire = driver.source
        assert isinstance(wire, Wire)
        driver.enable()

        def enough() -> bool:
            wire.receive()
            return wire.counts.received >= 50

        drive(driver, enough, "frames do not come through")
        assert wire.counts.lost >= 1
        assert wire.counts.torn == wire.counts.foreign == 0
        for _ in range(2):
            drive(driver, lambda: robot.loop.latest()["card.damped"] == 0, "it does not follow")
            eventually(lambda: robot.loop.latest()["card.damped"] == 1, "nobody commands it")
            driver.renew()
        before = robot.end.driver
        assert before is not None
        place = robot.end.place
        with greeting_socket(place) as link:  # a knock that was on its way already
            link.settimeout(PATIENCE)
            reach(link, place)
            link.send(before.packed())
            link.recv(1 << 16)
        drive(driver, lambda: robot.loop.latest()["card.damped"] == 0, "it was forgotten")


@pytest.mark.parametrize("where", ["data_socket", "_all"])
def test_a_failure_of_what_loses_datagrams_ends_the_robot_in_words(
    where: str, config: LabConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the way to a laboratory cannot be made, or its thread fails."""

    def fails(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(f"linkwright.lab.drivers.relay.{where}", fails)
    with FakeRobot(config, f"unix://{tmp_path}/arm", troubles=Troubles(loss=0.1)) as robot:
        told: list[str] = []

        def knock() -> None:
            driver = driver_at(robot.url, driver_layout(config))
            try:
                driver.open()
            except Error as error:
                told.append(str(error))
            driver.close()

        lab = threading.Thread(target=knock)
        lab.start()
        end = time.monotonic() + PATIENCE
        with pytest.raises(Error, match=r"datagrams at unix:.* failed: Operation not permitted"):
            robot.serve(lambda: time.monotonic() < end)
        lab.join(PATIENCE)
        assert len(told) == (where == "data_socket")
        assert all("failed: Operation not permitted" in text for text in told)


@seldom(
    daily="tests/lab/test_lab_real.py::test_the_same_task_file_runs_on_simulated_and_on_mocked_hardware"
)
def test_a_driver_of_python_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "arm.py"
    file.write_text(
        "from linkwright.lab.drivers import RobotDriver\n"
        "class Arm(RobotDriver):\n"
        "    joints, rate = ('a', 'b'), 200.0\n"
        "    q, on = 0.0, 0.0\n"
        "    def read(self):\n"
        "        if self.q > 1e6:\n"
        "            raise ValueError('the cable is out')\n"
        "        return {'q': [self.q, self.on], 'u': [0.0, 0.0], 'load': [0.0, 0.0]}\n"
        "    def write(self, commands):\n"
        "        self.q = float(commands['tau'][0])\n"
        "    def enable(self):\n"
        "        self.on = 1.0\n"
        "    def disable(self):\n"
        "        self.on = -1.0\n"
    )
    layout = DriverLayout(("a", "b"), 200.0)
    with driver_at(f"python:{file}:Arm", layout) as driver:

        def told(tau: float, q: list[float]) -> Callable[[], bool]:
            def happens() -> bool:
                driver.write({"tau": [tau, 0.0]})
                return list(driver.read()["q"]) == q

            return happens

        eventually(told(0.25, [0.25, 0.0]), "it does not answer")
        driver.enable()
        eventually(told(0.5, [0.5, 1.0]), "it was not enabled")
        eventually(lambda: list(driver.read()["q"]) == [0.5, -1.0], "nobody commands it")
        eventually(told(2e6, [0.5, -1.0]), "what was read before holds")
        eventually(lambda: driver.read()["fault"] == -3.0, "a mistake is a fault")
    mute = file.with_name("mute.py")
    mute.write_text(file.read_text() + "    floating, sensors = True, ('FOOT',)\n")
    whole = DriverLayout(("a", "b"), 200.0, ("FOOT",), floating=True)
    with driver_at(f"python:{mute}:Arm", whole) as driver:
        drive(driver, lambda: driver.read()["fault"] == -3.0, "what is not read is a fault")
        assert isinstance(driver, PythonDriver)
        assert driver.told.endswith("the driver did not read 'misc', 'base', 'base_rate'")
    with pytest.raises(Error, match="it has no driver 'Leg'"):
        driver_at(f"python:{file}:Leg", layout).open()
    with pytest.raises(Error, match="no such driver"):
        driver_at("python:nothing.py:Arm", layout).open()


def test_greetings_say_what_is_wrong() -> None:
    lab = DriverLayout(("a", "b"), 200.0)
    said = read_greeting(greeting("knock", lab, data="7").packed())
    assert refusal(said, greeting("welcome", lab)) == ""
    assert "has 1 joints" in refusal(said, greeting("welcome", DriverLayout(("a",), 200.0)))
    more = DriverLayout(("a", "b"), 200.0, ("foot",))
    assert "has 1 sensors" in refusal(said, greeting("welcome", more))
    changed = replace(said, commands=said.commands.replace("tau", "torque"))
    assert "what the robot takes is laid out" in refusal(changed, greeting("welcome", lab))
    packed = said.packed()
    with pytest.raises(Error, match="speaks version 2 of the driver protocol, this one 1"):
        read_greeting(packed.replace(b'"version": 1', b'"version": 2'))
    for bytes_ in (b"", b"\xff", b"[]", b"{}", packed[:-9], packed.replace(b"knock", b"shove")):
        with pytest.raises(Error, match="greeting"):
            read_greeting(bytes_)


def test_a_robot_refuses_what_it_does_not_understand(config: LabConfig) -> None:
    with serving(config, "udp://127.0.0.1:0") as robot:
        place = driver_place(robot.url)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.settimeout(PATIENCE)
            link.connect((place.path, place.port))
            link.send(b"hello")
            found = read_greeting(link.recv(65536))
        assert (found.word, found.reason) == ("refused", "this is not a greeting of a driver")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("udp://127.0.0.1", "not a host and port"),
        ("udp://127.0.0.1:99999", "not a host and port"),
        ("unix://arm", "not a path of a socket"),
        ("shm://../arm", "names no shared memory"),
        ("python:arm.py", "no class"),
        ("upd://127.0.0.1:9", "did you mean udp"),
        ("arm", "there is no driver"),
    ],
)
def test_wrong_places_are_refused(url: str, why: str) -> None:
    with pytest.raises(Error, match=why):
        driver_place(url)


@pytest.mark.parametrize("url", ["udp://127.0.0.1:9", "unix:///nowhere/arm", "shm://nobody"])
def test_a_robot_that_is_not_there_is_told(url: str) -> None:
    with pytest.raises(Error, match="no robot"):
        driver_at(url, DriverLayout(("a",), 200.0), within=0.2).open()


def failing(driver: LinkDriver) -> None:
    """Open a driver of no robot."""
    with pytest.raises(Error, match="no robot answers"):
        driver.open()


def test_answers_to_somebody_else_are_not_waited_for_without_end() -> None:
    layout, over = DriverLayout(("a",), 200.0), threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.bind(("127.0.0.1", 0))
        door.settimeout(PATIENCE)
        place, other = f"udp://127.0.0.1:{door.getsockname()[1]}", greeting("bye", layout)

        def answer() -> None:
            _, lab = door.recvfrom(1 << 16)
            while not over.wait(0.02):
                door.sendto(other.packed(), lab)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        opener = threading.Thread(target=failing, args=(driver_at(place, layout, within=0.3),))
        opener.start()
        opener.join(PATIENCE)
        over.set()
        thread.join(PATIENCE)
        assert not opener.is_alive()


@seldom(
    daily="tests/lab/test_lab_real.py::test_the_same_task_file_runs_on_simulated_and_on_mocked_hardware"
)
def test_a_fake_robot_is_a_command(begin: Begin, tmp_path: Path) -> None:
    """The first line says where it is, it is driven though datagrams get lost, a signal ends it."""
    file, at = planar_file(tmp_path), f"unix://{tmp_path}/arm"
    options = ("--listen", at, "--loss", "0.05", "--seed", "3")
    process = begin("lab", "fake-robot", str(file), *options)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == at
    with driver_at(at, driver_layout(lab_config(file)), within=PATIENCE) as driver:
        wire = driver.source
        assert isinstance(wire, Wire)
        drive(driver, lambda: wire.receive(0.01) is not None, "nothing comes")
        assert process.stdout.readline().strip() == f"driven by {greeting('knock', driver.layout)}"
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 128 + signal.SIGTERM
