"""Cells that are wrong: refused with the place and what to do, before anything of them starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.models.rerun import rerun
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.desk import Desk
from linkwright.server.face import LIVES, Command
from linkwright.server.recorded import control_session
from linkwright.server.running import RunningCell
from linkwright.server.virtual import VirtualCell
from linkwright.simulation.native.session import Samples
from linkwright.simulation.pacing import LoopRecorder, PacedLoop
from linkwright.simulation.recorder import Target

AXES2 = read_cell("axes2").text
COMPUTED = re.sub("control = .*", 'control = {kind = "computed-torque", kp = 400, kd = 40}', AXES2)
CELL1 = read_cell("cell1").text
LISTEN = 'address = "tcp/127.0.0.1:7448"'
CLIENT = '\n[[client]]\nname = "alice"\nrights = ["command"]\n'

WRONG = {
    "speed": (AXES2, "speed = 3", 'speed = "1.5 m/s"', "arm[0].axis[0].speed"),
    "unknown unit": (AXES2, "speed = 3", 'speed = "1.5 furlongs"', "arm[0].axis[0].speed"),
    "no number": (AXES2, "current = 20", "current = true", "arm[0].axis[0].current"),
    "zero": (AXES2, "current = 20", "current = 0", "arm[0].axis[0].current"),
    "infinite": (AXES2, "acceleration = 10", "acceleration = inf", "arm[0].axis[0].acceleration"),
    "torque": (AXES2, "constant = 4", "constant = 0", "arm[0].axis[0].constant"),
    "low": (AXES2, 'high = "170 deg"', 'high = "-171 deg"', "arm[0].axis[0].high"),
    "low of another": (CELL1, 'high = "90 deg"', 'high = "-280 deg"', "arm[0].axis[2].high"),
    "two axes": (AXES2, 'joint = "elbow"', 'joint = "shoulder"', "arm[0].axis[1].joint"),
    "joint": (AXES2, 'joint = "elbow"', 'joint = "elbows"', "arm[0].axis[1].joint"),
    "gain": (COMPUTED, "kp = 400", "kp = -400", "arm[0].control.kp"),
    "large gain": (COMPUTED, "kd = 40", "kd = 501", "arm[0].control.kd"),
    "gains": (COMPUTED, "kp = 400", "kp = [400, 1e300]", "arm[0].control.kp[1]"),
    "count of gains": (COMPUTED, "kp = 400", "kp = [400]", "arm[0].control.kp"),
    "fast": (AXES2, "rate = 500", "rate = 1e9", "rate"),
    "slow": (AXES2, "rate = 500", "rate = 0.1", "rate"),
    "heartbeat": (AXES2, "rate = 500", 'rate = 500\nheartbeat = "0.1 ms"', "heartbeat"),
    "relaxed": (AXES2, "rate = 500", 'rate = 500\nrelaxed = "49 ms"', "relaxed"),
    "sensor": (CELL1, "rate = 60", "rate = 1e9", "sensor[0].rate"),
    "all networks": (AXES2, LISTEN, 'address = "tcp/0.0.0.0:7448"', "address"),
    "no TLS": (AXES2, LISTEN, 'address = "tcp/10.0.0.5:7448"', "address"),
    "no address": (AXES2, LISTEN, 'address = "somewhere"', "address"),
    "no certificate": (AXES2, LISTEN, 'address = "tls/10.0.0.5:7448"', "address"),
}


Outcome = Callable[..., tuple[int, str]]


@pytest.fixture
def outcome(capsys: pytest.CaptureFixture[str]) -> Outcome:
    """What runs a command, and returns its exit code and all that it printed."""

    def run(*words: str) -> tuple[int, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


@pytest.mark.parametrize("case", WRONG)
def test_check_refuses_what_serve_refuses_with_its_place_and_a_remedy(
    case: str, tmp_path: Path, outcome: Outcome
) -> None:
    text, right, wrong, key = WRONG[case]
    assert right in text, case
    file = tmp_path / "cell.toml"
    file.write_text(text.replace(right, wrong, 1))
    code, said = outcome("model", "check", str(file))
    assert code == 2, said
    first = text[: text.index(right)].count("\n") + 1
    place = re.search(rf"{re.escape(str(file))}:(\d+):(\d+): (.*)", said, re.S)
    assert place is not None, said
    assert int(place[1]) == first + wrong.count("\n")
    assert place[3].startswith(f"{key}: "), said
    assert "; " in place[3], said  # what to do
    assert outcome("cell", "serve", str(file)) == (code, said)
    assert [x.name for x in tmp_path.iterdir()] == ["cell.toml"]


def test_a_folder_that_others_may_enter_is_refused_before_anything_starts(
    tmp_path: Path, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    monkeypatch.setenv("LINKWRIGHT_RUNTIME_DIR", str(folder))
    code, said = outcome("cell", "serve", "axes2", "--record", str(tmp_path / "cell.parquet"))
    assert (code, "others may enter" in said) == (2, True), said
    assert [x.name for x in tmp_path.iterdir()] == ["run"]


def test_clients_without_force_are_told_of(tmp_path: Path, outcome: Outcome) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(AXES2 + CLIENT)
    code, said = outcome("model", "check", str(file))
    assert code == 0
    assert "the rights of alice count only at an address with TLS" in said


def test_a_cell_is_no_recording(tmp_path: Path, outcome: Outcome) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(AXES2)
    code, said = outcome("rerun", str(file))
    assert code == 2
    assert "is a cell" in said
    assert "linkwright cell serve" in said


@pytest.mark.parametrize("text", [AXES2, COMPUTED])
@pytest.mark.parametrize("value", [-900.0, 0.0, 1e300])
def test_a_gain_that_no_file_may_have_is_not_set_either(value: float, text: str) -> None:
    desk = Desk(read_cell(text))
    before = dict(desk.faces["plane"].parameters)
    for life in ("active", "fault"):
        state = {
            "life": LIVES.index(life),
            "cause": 0,
            "tail": 0,
            "braking": 0,
        }
        with pytest.raises(lw.server.RefusedError, match=r"kp.1 of 'plane' is above 0") as refused:
            desk.command("plane", Command("set", 1, (value,), name="kp.1"), state, 0)
        assert refused.value.name == "range"
    assert desk.faces["plane"].parameters == before
    with pytest.raises(InputError, match="kp"):
        read_cell(re.sub(r"kp = (\[.*?\]|[0-9.]+)", f"kp = {value}", text))


def test_a_device_that_stalls_before_anybody_uses_the_arm_leaves_no_panic() -> None:
    """It is waited for; after the first `enable` the same is PANIC."""
    read = read_cell("axes2")
    loop = PacedLoop(control_session(read, 0), clock="virtual")
    cell, beats, tick = RunningCell(read, loop), 0, 0

    def go(ticks: int, *, alive: bool, card: int = 0) -> tuple[str, str]:
        nonlocal beats, tick
        for _ in range(ticks):
            beats, tick = beats + alive, tick + 1
            loop.set({"plane_supervisor.device": beats, "plane_supervisor.card": card})
            loop.go_to(tick)
        state = cell.latest().values
        return LIVES[int(state["plane.life"])], CAUSES[int(state["plane.cause"])]

    def clears() -> float:
        stood = loop.latest()
        return float(stood.d[[s.name for s in stood.phases.d].index("plane_supervisor.clears")])

    stall = round(read.heartbeat * read.rate) + 5
    assert go(5, alive=True) == ("inactive", "none")
    assert go(stall, alive=False) == ("off", "none")
    assert go(5, alive=True, card=1) == ("inactive", "none")  # the device was stopped too
    assert clears() > 0  # and is told to go on
    assert go(5, alive=True) == ("inactive", "none")
    cell.command("plane", Command("enable", 1))
    assert go(5, alive=True) == ("active", "none")
    assert go(stall, alive=False) == ("fault", "device")
    assert go(5, alive=True) == ("fault", "device")  # it is latched now


def test_writing_a_recording_and_its_replay_say_how_far_they_are(
    tmp_path: Path, outcome: Outcome
) -> None:
    path, shown = tmp_path / "cell.parquet", []
    code, said = outcome(
        "cell", "serve", "axes2", "--virtual", "--until", "20", "--record", str(path)
    )
    assert code == 0
    assert f"writing the recording {path}" in said
    assert rerun(path, progress=lambda *told: shown.append(told)).difference is None
    assert shown == [(pytest.approx(t), pytest.approx(20.0)) for t in (8.192, 16.384)]


def test_a_recording_that_lacks_ticks_is_replayed_and_says_how_many(
    tmp_path: Path, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a machine is too busy to write samples before their ring is full."""
    take = LoopRecorder.take

    def some(self: LoopRecorder, changes: NDArray[np.int64], samples: Samples) -> None:
        kept = (samples.times < 2.499) | (samples.times > 3.701)
        take(self, changes, Samples(samples.names, samples.times[kept], samples.values[kept]))

    monkeypatch.setattr(LoopRecorder, "take", some)
    path = tmp_path / "cell.parquet"
    cell = VirtualCell(read_cell("axes2"), record=Target(path))
    cell.advance(10)
    cell.command("plane", Command("enable", 1))
    cell.command("plane", Command("joints", 2, (0.0, 0.5)))
    cell.advance(1400)
    cell.command("plane", Command("joints", 3, (0.3, 0.2)))
    cell.advance(1000)
    cell.finish()
    found = rerun(path)
    assert (found.difference, found.notes) == (None, ("601 ticks were not recorded",))
    code, said = outcome("rerun", str(path))
    assert code == 0
    assert "the same bit for bit" in said
    assert "601 ticks were not recorded" in said


def test_an_empty_pose_is_none(tmp_path: Path) -> None:
    sensor, arm = "[[sensor]]\n", "[[arm]]\n"
    file = tmp_path / "cell.toml"
    file.write_text(
        CELL1.replace(sensor, f"{sensor}pose = []\n", 1).replace(arm, f"{arm}mount = []\n", 1)
    )
    cell = read_cell(file)
    assert cell.arms[0].mount == () == cell.sensors[0].pose
    file.write_text(CELL1.replace(arm, f"{arm}mount = [0, 0]\n", 1))
    with pytest.raises(InputError, match="mount: has 2 numbers"):
        read_cell(file)
