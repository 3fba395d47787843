"""Sensor nodes: simulated ones, and the coordinator on a real network with real processes."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import linkwright as lw
from linkwright.server.access import Client
from linkwright.server.clocks import SECOND
from linkwright.server.coordinator.host import CoordinatorHost, FaceTaker
from linkwright.server.coordinator.motions import MotionModel
from linkwright.server.coordinator.observations import in_world
from linkwright.server.coordinator.wire import key_of, pack_observation, unpack_observation
from linkwright.server.face import RefusedError
from linkwright.server.host import CellHost
from linkwright.server.network import open_session
from linkwright.server.registry import VARIABLE
from linkwright.server.sensors import SensorNode, merged
from tests.support.server_certificates import Authority
from tests.support.server_faces import ToyCell

LIMIT = 30.0  # s for anything that is waited for
ABOVE = (0.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0)


def conveyor(t: float) -> tuple[float, ...]:
    """A frame that moves at 0.1 m/s and turns slowly."""
    return (0.1 * np.sin(t), 0.0, 0.0, np.cos(0.1 * t), 0.0, 0.0, np.sin(0.1 * t))


def still(t: float) -> tuple[float, ...]:
    """A frame that rests."""
    del t
    return (1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0)


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of running cells for each test."""
    folder = tmp_path / "run"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def until(ready: Callable[[], object], what: str) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + LIMIT
    while not ready():
        assert time.monotonic() < end, f"{what} did not happen in {LIMIT} s"
        time.sleep(0.01)


# -- simulated sensors -----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["pose", "point"])
def test_a_camera_errs_as_much_as_it_says(kind: str) -> None:
    """NEES of its values over 400 samples, in its band."""
    eye = lw.server.camera(lambda t: conveyor(t)[: 7 if kind == "pose" else 3], ABOVE, kind=kind)
    models: dict[str, MotionModel] = {
        "pose": lw.server.PoseMotion(),
        "point": lw.server.PointMotion(),
    }
    model = models[kind]
    squares = []
    for one in eye.sampled(400 / 60):
        seen = in_world(one, {kind: model}, {"camera": np.array(ABOVE)})
        truth = np.array(conveyor(one.time / SECOND))
        mean, _ = model.started(truth[: model.numbers], np.eye(model.freedom))
        error = model.residual(mean, seen.value)
        squares.append(error @ np.linalg.solve(seen.covariance, error))
    low, high = lw.control.consistency_band(model.freedom, runs=len(squares))
    assert len(squares) == 400
    assert low < np.mean(squares) < high


def test_a_node_says_the_same_again() -> None:
    def nodes() -> list[SensorNode]:
        return [
            lw.server.camera(conveyor, ABOVE, label="conveyor", seed=1),
            lw.server.tracker(conveyor, label="conveyor", seed=2),
            lw.server.force_sensor(lambda t: (0, 0, -9.81 * t, 0, 0, 0), rate=100, seed=3),
        ]

    first = merged(nodes(), 0.5)
    assert first == merged(nodes(), 0.5)
    assert first != merged([lw.server.camera(conveyor, ABOVE, seed=2)], 0.5)
    assert {one.kind for one in first} == {"pose", "wrench"}
    assert sum(one.source == "tracker" for one in first) == 125


def test_a_wrench_is_fused_as_places_are() -> None:
    coordinator = lw.server.Coordinator({"wrist": (0, 0, 1, 0.5, 0.5, 0.5, 0.5)})
    feel = lw.server.force_sensor(lambda t: (1, 2, 3, 0.1, 0.2, 0.3), frame="wrist", rate=100)
    for one in feel.sampled(1.0):
        coordinator.take(one, one.time)
    (wrench,) = coordinator.objects()
    assert wrench.value == pytest.approx([3, 1, 2, 0.3, 0.1, 0.2], abs=0.3)  # x, y, z go to y, z, x
    assert wrench.name == "wrench"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.server.sensor(conveyor, 0), "rate"),
        (lambda: lw.server.sensor(conveyor, 10, kind="posse"), "did you mean 'pose'"),
        (lambda: lw.server.sensor(cast(Any, 7), 10), "is not a function"),
        (lambda: lw.server.sensor(conveyor, 10).seen(0), "covariance of 0 numbers"),
        (lambda: lw.server.sensor(lambda t: (t,), 10, covariance=1).seen(0), "has 1 numbers"),
        (lambda: lw.server.sensor(lambda t: "x", 10, covariance=1).seen(0), "return numbers"),
        (lambda: lw.server.camera(conveyor, (0, 0)), "pose of 'camera'"),
        (lambda: lw.server.tracker(conveyor, place=0), "place"),
    ],
)
def test_nodes_that_make_no_sense_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(lw.Error, match=message):
        make()


def test_observations_survive_the_wire() -> None:
    node = lw.server.camera(conveyor, ABOVE, label="conveyor")
    (one,) = node.seen(3 * SECOND, 5, bound=1e-5)
    back = unpack_observation(key_of(one), pack_observation(one))
    whole = tuple(np.diag(one.covariance).ravel())
    assert (back.value, back.covariance) == (one.value, whole)
    assert (back.source, back.frame, back.label) == ("camera", "camera", "conveyor")
    assert (back.time, back.sequence, back.bound) == (one.time, one.sequence, one.bound)
    data = bytearray(pack_observation(one))
    data[70] ^= 1
    with pytest.raises(RefusedError) as told:
        unpack_observation(key_of(one), bytes(data))
    assert told.value.name == "checksum"
    with pytest.raises(RefusedError, match="not a key"):
        unpack_observation("linkwright/as/x/observe/smell/world/-", bytes(data))


# -- on the network --------------------------------------------------------------------------------
NODE = textwrap.dedent(
    """
    import linkwright as lw
    def truth(t):
        return (1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0)
    node = lw.server.tracker(truth, rate=50, name="one", label="conveyor", place=1e-3, seed=1)
    with node.feed("toy") as link:
        print("fed", flush=True)
        link.wait(60)
    """
)


def started() -> subprocess.Popen[str]:
    """Start a sensor in a process of its own, and wait until it is connected."""
    process = subprocess.Popen([sys.executable, "-c", NODE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "fed\n"
    return process


@pytest.fixture
def toy() -> Iterator[ToyCell]:
    with ToyCell("toy") as cell, CellHost(cell):
        yield cell


def test_a_sensor_killed_grows_old_and_is_taken_up_when_it_starts_anew(toy: ToyCell) -> None:
    """Check 57. Real processes and sockets: kill -9, age of the frame, liar named, restart."""
    processes = []
    try:
        with lw.server.coordinate("toy") as host:
            processes.append(started())
            until(lambda: "conveyor" in toy.frames, "a frame")
            others = [
                lw.server.tracker(still, rate=50, name=name, label="conveyor", place=1e-3, bias=lie)
                for name, lie in (("two", (0, 0, 0)), ("liar", (0.5, 0, 0)))
            ]
            links = [node.feed("toy") for node in others]

            def sensors() -> dict[str, bool]:
                return {one.name: one.lying for one in host.sensors()}

            until(lambda: sensors() == {"one": False, "two": False, "liar": True}, "a verdict")
            until(lambda: host.objects()[0].sources == ("one", "two"), "two that agree")
            pose, twist, when = toy.frames["conveyor"]
            assert pose[:3] == pytest.approx([1, 2, 3], abs=0.01)
            assert len(twist) == 6
            assert when <= toy.now()
            os.kill(processes[0].pid, signal.SIGKILL)
            for link in links:
                link.close()
            processes[0].wait(LIMIT)
            until(lambda: host.objects()[0].age > 0.3, "age")
            before = toy.frames["conveyor"]
            (old,) = host.objects()
            time.sleep(0.05)
            assert host.objects()[0].deviation > old.deviation
            assert toy.frames["conveyor"] == before  # nothing new is told: the cell sees its age
            processes.append(started())
            until(lambda: toy.frames["conveyor"] != before, "a new place of the frame")
            assert toy.frames["conveyor"][2] > before[2]
            channels = host.recording()
            assert {"one.age", "one.interval", "liar.age", "conveyor.age"} <= set(channels.names)
            assert np.nanmax(channels["conveyor.age"]) > 0.3
            assert np.nanmin(channels["one.interval"]) > 0.0
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(LIMIT)
            if process.stdout is not None:
                process.stdout.close()


def test_a_coordinator_that_starts_anew_is_found_by_its_sensors(toy: ToyCell) -> None:
    node = lw.server.tracker(conveyor, rate=50, label="conveyor")
    first = CoordinatorHost(lw.server.Coordinator(), FaceTaker(toy), name="toy")
    with node.feed("toy") as link:
        until(lambda: first.count > 3, "observations")
        bound = link.stamp().bound
        assert abs(link.stamp().time - toy.now()) < bound * SECOND + SECOND // 2
        first.close()
        with CoordinatorHost(lw.server.Coordinator(), FaceTaker(toy), name="toy") as second:
            until(lambda: second.count > 3, "observations at the new address")
            assert second.objects()[0].name == "conveyor"
    assert link.fault is None


def test_rubbish_over_the_network_is_counted_and_changes_nothing(toy: ToyCell) -> None:
    with CoordinatorHost(lw.server.Coordinator(), FaceTaker(toy), name="toy") as host:
        network = open_session(connect=str(host.endpoint))
        try:
            node = lw.server.tracker(conveyor, label="conveyor", name="eye")
            (one,) = node.seen(toy.now() + 60 * SECOND)
            draw = np.random.default_rng(0)
            for n in range(20):
                data = bytearray(pack_observation(one))
                data[int(draw.integers(len(data)))] ^= 1 << n % 8
                network.session.put(key_of(one), bytes(data))
            network.session.put(key_of(one), pack_observation(one))
            until(lambda: sum(host.refused.values()) == 21, "refusals")
            assert host.refused["future"] >= 1
            assert host.count == 0
            assert host.objects() == ()
        finally:
            network.close()


def test_the_example_names_the_camera_that_was_knocked(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "examples" / "conveyor_cameras.py"
    runpy.run_path(str(path))["main"]()
    rows = capsys.readouterr().out.splitlines()[1:]
    assert len(rows) == 12
    for row in rows:
        time, error = float(row[:6]), float(row[8:15])
        assert error < 20.0  # mm, while the left one is 80 mm off
        assert row.endswith("left") == (time > 1.2)


def test_beyond_loopback_only_named_sensors_are_heard(toy: ToyCell, tmp_path: Path) -> None:
    """TLS, and a right to sense: who may only look says nothing, and nobody in another's name."""
    authority = Authority(tmp_path / "ours")
    clients = [Client("eye", ["sense"]), Client("guest", ["look"])]
    with CoordinatorHost(
        lw.server.Coordinator(),
        FaceTaker(toy),
        name="toy",
        listen="tls/127.0.0.1:0",
        clients=clients,
        credentials=authority.issue("coordinator", host="127.0.0.1"),
    ) as host:
        (one,) = lw.server.tracker(still, name="eye", label="conveyor").seen(toy.now())
        network = open_session(connect=str(host.endpoint), credentials=authority.issue("guest"))
        try:
            for n in range(5):
                network.session.put(key_of(one), pack_observation(replace(one, sequence=n)))
                mine = replace(one, source="guest", sequence=n)
                network.session.put(key_of(mine), pack_observation(mine))
            eye = lw.server.tracker(still, rate=50, name="eye", label="conveyor")
            with eye.feed(str(host.endpoint), credentials=authority.issue("eye")):
                until(lambda: host.count > 5, "observations of the eye")
            assert [report.name for report in host.sensors()] == ["eye"]
            assert host.refused == {}
        finally:
            network.close()
        with pytest.raises(lw.Error):
            eye.feed(str(host.endpoint), credentials=Authority(tmp_path / "theirs").issue("eye"))
