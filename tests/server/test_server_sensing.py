"""The sensors of a cell's file: in virtual time, and in processes that are killed and come back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.models.rerun import rerun
from linkwright.recording import Recording, read_recording
from linkwright.robots import Robot
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.host import CellHost
from linkwright.server.recorded import recorder_of, whole_session
from linkwright.server.registry import VARIABLE
from linkwright.server.running import RunningCell
from linkwright.server.sensing import SensingProcesses, simulated_nodes
from linkwright.server.virtual import VirtualCell
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.recorder import Target
from tests.seeds import seldom
from tests.support.cells import puma_text

LIMIT = 60.0
"""s, of every wait."""

TURNED = (0.0, 0.0, 0.0, 0.7068252, 0.0, 0.7073883, 0.0)
"""How the tool of the PUMA stands at its start."""


def until(happens: Callable[[], bool], what: str, meanwhile: Callable[[], object] = list) -> None:
    """Wait until something happens."""
    end = time.monotonic() + LIMIT
    while not happens():
        assert time.monotonic() < end, f"it has not happened: {what}"
        meanwhile()
        time.sleep(0.01)


def goal(*, ahead: tuple[float, float, float]) -> tuple[float, ...]:
    """Return the start of the tool, moved, in the frame of the conveyor."""
    cell = read_cell("cell1")
    robot = Robot(cell.arms[0].mechanism)
    here = np.asarray(robot.pose(np.array(cell.arms[0].start), "tool")).reshape(4, 4)
    (frame,) = (frame for frame in cell.frames if frame.name == "conveyor")
    place = here[:3, 3] - frame.pose[:3] + ahead
    return (*(float(x) for x in place), *TURNED[3:])


@seldom(daily="test_a_sensor_and_the_coordinator_killed_stop_legs_in_their_frame_and_come_back")
def test_in_virtual_time_the_sensors_of_the_file_place_their_frames(tmp_path: Path) -> None:
    """A leg in a sensed frame ends where it should, twice with the same bits."""
    path = tmp_path / "cell.parquet"
    cell = VirtualCell(read_cell(puma_text()), record=Target(path))
    cell.advance(100)
    age = float(cell.latest().values["frame.conveyor.age"])
    assert age <= 1 / 60 + 1e-3
    cell.beat("puma", 7, 600.0)
    cell.command("puma", Command("enable", 1))
    cell.advance(50)
    wanted = goal(ahead=(0.0, -0.03, 0.03))
    cell.command("puma", Command("pose", 2, wanted, frame="conveyor", speed=0.5))
    cell.advance(2000)
    values = cell.latest().values
    assert (values["puma.done"], CAUSES[int(values["puma.cause"])]) == (2, "none")
    robot = Robot(read_cell("cell1").arms[0].mechanism)
    place = np.asarray(robot.pose(values["puma.q"], "tool")).reshape(4, 4)[:3, 3]
    frame = np.array(read_cell("cell1").frames[1].pose[:3])
    np.testing.assert_allclose(place - frame, wanted[:3], atol=5e-3)  # a camera errs
    assert np.abs(values["puma.u"]).max() < 0.1
    assert cell.finish() is not None
    assert rerun(path).difference is None


def test_a_sensor_and_the_coordinator_killed_stop_legs_in_their_frame_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check 57. Real processes and signals; the loop counts the age of the frame in ticks."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "runtime"))
    monkeypatch.setenv("PYTHONPATH", str(Path(lw.__file__).parent.parent))
    file, path = tmp_path / "cell.toml", tmp_path / "cell.parquet"
    file.write_text(puma_text())
    made = read_cell(file)
    session = whole_session(made, 1)
    recorder = recorder_of(made, session, Target(path), "virtual")
    loop = PacedLoop(session, sink=recorder)
    running = RunningCell(made, loop)
    loop.start()
    try:
        with (
            CellHost(running),
            SensingProcesses(file, made, tmp_path) as sensing,
            lw.server.connect("cell1") as cell,
        ):
            arm = cell.arm("puma")
            notes: list[str] = []

            def look() -> None:
                notes.extend(sensing.look())

            def seen() -> bool:
                return float(cell.frame.values["frame.conveyor.age"]) < made.frames[0].age

            until(seen, "a first sight", look)
            with arm.command(silence=30.0) as hand:
                hand.enable()
                asked = hand.pose(goal(ahead=(0.0, 0.0, 0.2)), frame="conveyor", speed=0.004)
                for name in ("camera", "coordinator"):
                    until(lambda: arm.state.moving, "it moves")
                    os.kill(sensing.companions[name].process.pid, signal.SIGKILL)
                    until(lambda: arm.state.cause == "frame", "its frame is too old")
                    until(lambda: not arm.state.moving, "it stands")
                    assert (arm.state.life, asked.done) == ("active", False)
                    until(lambda: arm.state.cause == "none" and seen(), "it goes on", look)
                until(lambda: arm.state.moving, "it moves")
                hand.stop()
                with pytest.raises(lw.server.StoppedError, match="puma stopped: stop"):
                    asked.wait(30.0)
            assert {note.split()[0] for note in notes} == {"camera", "coordinator"}
    finally:
        loop.stop()
    _check_ticks(read_recording(recorder.finish(loop)), made.frames[0].age * made.rate)
    assert rerun(path).difference is None


def _check_ticks(found: Recording, limit: float) -> None:
    """Check the age of the frame, tick by tick, when legs in it stop."""
    age = np.asarray(found["frame_conveyor.age"]) * 1e3
    cause = np.asarray(found["puma_supervisor.cause"])
    frame = CAUSES.index("frame")
    begins = np.flatnonzero((cause[1:] == frame) & (cause[:-1] != frame)) + 1
    assert len(begins) >= 2
    late = age[begins] - limit
    assert ((late > 0) & (late <= 3)).all(), late


def test_sensors_that_see_nothing_or_stand_nowhere_are_refused_at_their_line() -> None:
    text = read_cell("cell1").text
    for old, new, told in (
        ('frame = "conveyor"\n', "", "the camera 'camera' sees nothing"),
        ('kind = "camera"', 'kind = "tracker"\npose = [0, 0, 1, 1, 0, 0, 0]', "has no place"),
        ("rate = 60", "rate = 60\npose = [0, 0, 1, 2, 0, 0, 0]", "quaternion has the length 2"),
    ):
        with pytest.raises(InputError, match=rf"line 1\d\d, .*sensor\[0\].*{told}"):
            read_cell(text.replace(old, new))


def test_simulated_nodes_are_those_of_the_file_and_move_as_it_says() -> None:
    text = read_cell("cell1").text
    more = '[[sensor]]\nname = "{}"\nkind = "{}"\nrate = 50\n'
    text += more.format("wrist", "force") + more.format("mine", "function")
    text += more.format("eye", "tracker") + 'frame = "conveyor"\n'
    text = text.replace('age = "200 ms"', 'age = "200 ms"\ntwist = [0.1, 0, 0, 0, 0, 0]')
    nodes = {node.name: node for node in simulated_nodes(read_cell(text))}
    assert list(nodes) == ["camera", "wrist", "eye"]
    at = [nodes["eye"].seen(round(t * 1e9))[0].value[0] for t in (0.0, 0.1, 2.5)]
    np.testing.assert_allclose(at, [0.6, 0.61, 0.6 + 1 / (2 * np.pi)], atol=1e-3)
