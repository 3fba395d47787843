"""Hostile peers and hostile surroundings: full disks, forks, folders of others, datagrams."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.base.files import own_folder
from linkwright.blocks import Integrator
from linkwright.cli.commands import watch
from linkwright.lab.drivers.driver import LinkDriver
from linkwright.lab.drivers.greeting import greeting
from linkwright.lab.drivers.layout import driver_layout
from linkwright.lab.drivers.links import driver_at, driver_place, robot_end
from linkwright.lab.drivers.memory_link import SharedEnd
from linkwright.recording import read_recording
from linkwright.recording.document import picture
from linkwright.server import launch
from linkwright.server.running import COUNTERS
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, replay, tape_of
from linkwright.simulation.pacing.memory import COUNTED
from linkwright.simulation.recorder import Target
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System
from tests.seeds import seldom
from tests.support.lab_robots import planar

PATIENCE = 100.0  # s, for anything that should happen


def eventually(happens: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, what
        time.sleep(0.002)


def session() -> Session:
    s = System(name="s", base=1000)
    s.add(Integrator(), name="i")
    return session_of(s, RunSettings(1e4, every=1))[0]


# -- full disks ------------------------------------------------------------------------------------
class Full:
    """A file of a disk that is full after some bytes: of the last write a part is written."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room
        self.close, self.fileno = file.close, file.fileno

    def write(self, content: memoryview) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = content[: self._room]
        self._room -= len(part)
        return int(self._file.write(part))


def test_a_run_by_the_clock_goes_on_when_its_disk_is_full_and_counts_what_is_lost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """R22: the loop never waits for the disk, every sample is recorded or counted as lost."""
    live = session()
    recorder = LoopRecorder(live, Target(tmp_path / "run.parquet"))
    recorder._journal._file = Full(recorder._journal._file, 5000)  # type: ignore[assignment]
    loop = PacedLoop(live, sink=recorder, priority=False)
    with loop:
        eventually(lambda: loop.unkept is not None, "the disk is never full")
        before, number = loop.counters, loop.set({"i.u": 1.0})
        assert loop.wait_for(number), "changes do not enter any more"
        eventually(lambda: loop.counters.unkept > before.unkept + 50, "nothing is counted")
        assert loop.running
        assert "No space left" in str(loop.unkept)
    assert "Traceback" not in capfd.readouterr().err
    with pytest.raises(InputError, match=r"lacks the last \d+ samples .*No space.*recover"):
        recorder.finish(loop)
    left = read_recording(tmp_path / "run.parquet.journal")
    assert "cut_off" not in left.metadata, "half a block was left"
    assert len(left) + loop.counters.unkept + loop.counters.lost == live.sampled
    again = replay(session(), tape_of(left)).samples.values
    assert np.array_equal(again[: len(left)], left.data)


def test_a_run_in_virtual_time_ends_when_its_disk_is_full(tmp_path: Path) -> None:
    live = session()
    recorder = LoopRecorder(live, Target(tmp_path / "run.parquet"))
    with closing(recorder._journal._file) as file:
        recorder._journal._file = Full(file, 5000)  # type: ignore[assignment]
        with pytest.raises(InputError, match="No space left"):
            PacedLoop(live, clock="virtual", sink=recorder).go_to(100_000)


def test_memory_of_a_loop_whose_sink_has_failed_does_not_grow() -> None:
    taken: list[int] = []

    class Broken:
        def take(self, changes: Any, samples: Samples) -> None:
            taken.append(len(samples.times))
            raise OSError(errno.EIO, "broken")

    loop = PacedLoop(session(), sink=Broken(), priority=False)
    with loop:
        eventually(lambda: loop.counters.unkept > 300, "nothing is counted")
    assert len(taken) == 1, "a sink that has failed is asked again"
    assert not loop._samples
    assert not loop._tape


def test_states_and_watch_tell_that_a_cell_is_not_recorded_any_more() -> None:
    names = [field.name.removeprefix("cell.") for field in COUNTERS]
    assert names == ["lateness" if name == "worst" else name for name in COUNTED]
    values = {"cell.total": 9.0, "cell.missed": 0.0, "cell.overrun": 0.0, "cell.unkept": 0.0}
    cell: Any = SimpleNamespace(
        name="c",
        rate=1000.0,
        age=0.001,
        frame=SimpleNamespace(values=values, tick=9),
        states=SimpleNamespace(interval=0.1),
    )
    assert "NOT RECORDED" not in watch._head(cell)
    values["cell.unkept"] = 7.0
    assert "NOT RECORDED any more: 7 samples are lost" in watch._head(cell)


FULL_LAB = """
import resource, sys
from linkwright.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.exit(main(["lab", "open", "double-pendulum", "-c", "run 20", "--folder", sys.argv[1]]))
"""


@seldom(daily="test_states_and_watch_tell_that_a_cell_is_not_recorded_any_more")
def test_a_laboratory_whose_session_is_not_kept_ends_with_an_error(tmp_path: Path) -> None:
    """R32: the note of a script is an exit code, too."""
    done = subprocess.run(
        [sys.executable, "-c", FULL_LAB, str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "the session is not kept any more" in done.stderr
    assert "error: the session was not kept to its end" in done.stderr


# -- folders of others -----------------------------------------------------------------------------
def test_a_folder_that_others_may_enter_or_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """R34."""
    assert own_folder(tmp_path / "a", "set X").stat().st_mode & 0o777 == 0o700
    (tmp_path / "a").chmod(0o750)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "c").touch()
    for name in "ab":
        with pytest.raises(Error, match="others may enter the folder"):
            own_folder(tmp_path / name, "set X")
    with pytest.raises(Error, match="cannot be made"):
        own_folder(tmp_path / "c", "set X")


def test_what_a_killed_server_left_in_memory_is_removed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R33; the folder of a server that lives stays, and so does one that is not ours to judge."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_: False)
    dead, other = tmp_path / "linkwright-cell-dead", tmp_path / "linkwright-cell-other"
    for folder in (dead, other):
        folder.mkdir(mode=0o700)
        (folder / "states").write_bytes(b"x")
    (dead / "owner").touch()
    (tmp_path / "linkwright-cell-link").symlink_to(other)
    monkeypatch.setattr("sys.executable", "/bin/true")
    first = launch.DeviceLaunch("axes2")
    assert not dead.exists()
    assert other.exists()
    second = launch.DeviceLaunch("axes2")
    assert first.folder.exists()
    for one in (first, second):
        one.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "linkwright-cell-link",
        "linkwright-cell-other",
    ]


# -- forks, pictures -------------------------------------------------------------------------------
FORK = """
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import linkwright as lw
thread = threading.Thread(target=lambda: lw.simulate("pendulum", 0.1))
thread.start()
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
thread.join()
"""


def test_a_fork_while_a_thread_imports_prints_nothing() -> None:
    """R31."""
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=False, timeout=200
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_pictures_of_reports_do_not_change_from_run_to_run() -> None:
    """R30: also where they are drawn outside of our style."""
    from matplotlib.figure import Figure

    def drawn() -> str:
        figure = Figure()
        figure.subplots().plot([0, 1], [1, 0], marker="o")
        return picture(figure)

    assert drawn() == drawn()


# -- datagrams -------------------------------------------------------------------------------------
@pytest.mark.parametrize("scheme", ["udp", "unix"])
def test_no_datagram_ends_a_robot(scheme: str, tmp_path: Path) -> None:
    """R21: deep JSON, numbers of 400 digits and halves of greetings; the robot still answers."""
    config = planar(tmp_path)
    layout = driver_layout(config)
    at = "udp://127.0.0.1:0" if scheme == "udp" else f"unix://{tmp_path}/arm"
    sound = greeting("knock", layout).packed()
    with robot_end(driver_place(at), layout) as robot:
        assert not isinstance(robot, SharedEnd)
        host, path = ("127.0.0.1", robot.place.port), robot.place.path
        for content in (
            b"[" * 50_000, b'{"a":' * 10_000, b"", b"null", b"9" * 400, sound[:-1], bytes(50_000),
            sound.replace(b"200.0", b"9" * 400), sound.replace(b'"knock"', b"[" * 900),
            sound.replace(b'"data": ""', b'"data": "' + b"f" * 300 + b'"'),
            sound.replace(b'"data": ""', b'"data": "99999999"'),
            sound.replace(b'"data": ""', b'"data": "-1"'),
        ):  # fmt: skip
            family = socket.AF_INET if scheme == "udp" else socket.AF_UNIX
            for name in (None, f"{tmp_path}/stranger"):
                with socket.socket(family, socket.SOCK_DGRAM) as stranger:
                    if name is not None and scheme == "unix":
                        stranger.bind(name)
                    stranger.sendto(content, host if scheme == "udp" else path)
                    robot.attend(0.005)
                (tmp_path / "stranger").unlink(missing_ok=True)
        quit_ = threading.Event()

        def serve() -> None:
            while not quit_.is_set():
                robot.attend(0.01)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with driver_at(str(robot.place), layout, within=PATIENCE) as driver:
                assert isinstance(driver, LinkDriver)
        finally:
            quit_.set()
            thread.join(PATIENCE)
