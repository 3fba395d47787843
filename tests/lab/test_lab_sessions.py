"""Sessions of laboratories: what they hold, that they repeat bit by bit, and go on live."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.lab.config import LabConfig
from linkwright.lab.console.dialogue import answered_by
from linkwright.lab.lab import Lab
from linkwright.lab.session import read_session
from linkwright.models.rerun import rerun
from linkwright.recording import read_recording, recovered
from tests.support.lab_robots import planar

TASKS = """
from time import sleep
from linkwright.lab import Task, parameter, setting, state, channel, cos, sin

COUNT = []
SLEPT = []

class Wave(Task):
    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    phase = state(0.0)
    native = True

    def init(self, lab):
        self.middle = lab.desired.q.copy()

    def run(self, t, state, desired):
        self.phase = self.phase + 0.01 * self.frequency
        desired.q = self.middle + 0.1 * sin(self.phase)

class Nod(Wave):
    native = False

    def run(self, t, state, desired):
        super().run(t, state, desired)
        COUNT.append(t)
        if len(COUNT) % 7 == 0:
            desired.q = state.q + 0.01

class Doze(Task):
    def run(self, t, state, desired):
        sleep(0.02 if len(SLEPT) < 3 else 0)  # longer than a tick
        SLEPT.append(t)
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> LabConfig:
    return planar(tmp_path_factory.mktemp("planar"))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, config: LabConfig) -> Path:
    """A session with everything in it: its path."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "moves.py").write_text(TASKS)
    with Lab(config, seed=3, folder=folder, session_rate=50) as lab:
        lab.add(folder / "moves.py")
        lab.run(0.1)
        lab.start("wave", frequency=2.0)
        lab.run(0.3)
        lab.change(frequency=0.5)
        lab.run(0.2)
        lab.freeze()
        lab.do("setG z=-3")
        lab.start("nod")
        lab.run(0.5)
        lab.freeze()
        lab.reset()
        lab.run(0.2)
        lab.pace(4)
        lab.put({"robot.push[0]": 0.5})
        lab.start("doze")
        lab.run(0.2)
        assert lab.loop.counters.overrun > 0
        lab.pace(None)
        lab.freeze()
        lab.start("wave")
        lab.run(0.3)
    assert lab.session is not None
    return lab.session.path


def test_a_session_repeats_bit_by_bit_from_its_tape_alone(told: Path) -> None:
    """Compiled and Python tasks, changes, a reset, the clock on the wall, a hand."""
    recording = read_recording(told)
    found = rerun(recording)
    assert found.difference is None
    assert found.samples == len(recording) > 80
    assert np.abs(recording.data).max() > 0
    assert not found.notes


def test_a_session_holds_configuration_seed_texts_programs_and_commands(
    told: Path, config: LabConfig
) -> None:
    found = read_session(told)
    assert found.config == config
    assert (found.seed, found.real) == (3, False)
    assert [text.content for text in found.texts.values()] == [TASKS]
    assert [text.name for text in found.texts.values()] == ["moves.py"]
    assert [(f.name, f.data is None) for f in found.functions] == [
        ("wave", False),
        ("nod", True),
        ("doze", True),
        ("wave", False),
    ]
    assert found.functions[0].values["frequency"] == 2.0
    assert [line.split()[0] for _, line in found.commands] == ["setG"]
    names = {change.name for change in found.tape}
    assert {"life.number", "task.parameter[0]", "robot.push[0]", "gravity_z"} <= names


def test_the_first_bit_that_differs_is_named_with_its_tick(
    told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = read_recording(told)
    column = recording.index("sensors.q[1]")
    data = recording.data.copy()
    bits = data[:, column : column + 1].view(np.int64)
    bits[31:] ^= 1
    changed = type(recording)(recording.times, recording.channels, data, recording.metadata)
    first = rerun(changed).difference
    assert first is not None
    assert (first.channel, first.tick) == ("sensors.q[1]", 31 * 4)
    assert first.recorded == data[31, column]
    assert first.again == recording.data[31, column]
    changed.save(tmp_path / "changed.parquet")
    assert main(["rerun", str(tmp_path / "changed.parquet")]) == 1
    assert "(tick 124) in sensors.q[1]" in capsys.readouterr().out
    assert main(["rerun", str(told), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True


def test_tasks_are_executed_again_only_where_that_is_asked_for(told: Path) -> None:
    recording = read_recording(told)
    found = rerun(recording, tasks=True)
    assert found.notes == ("executed again: wave, nod, doze",)
    assert found.difference is None
    lines = [json.loads(line) for line in recording.metadata["noted"]]
    for line in lines:
        if "content" in line:
            line["content"] = "raise RuntimeError('this was executed')"
    about = {**recording.metadata, "noted": [json.dumps(line) for line in lines]}
    evil = recording.with_metadata(about)
    assert rerun(evil).difference is None
    with pytest.raises(InputError, match="this was executed"):
        rerun(evil, tasks=True)


@pytest.mark.parametrize("at", [0.35, 0.9, 1.3, None])
def test_a_laboratory_goes_on_live_from_a_moment_of_a_session(
    told: Path, tmp_path: Path, at: float | None
) -> None:
    """What it has there has the bits of the session, and what it does then repeats as well."""
    old = read_recording(told)
    with Lab.from_session(told, at, folder=tmp_path) as lab:
        tick = lab.loop.session.tick
        assert lab.task == ("wave" if at in (0.35, None) else None)
        assert lab.gravity[2] == (-9.81 if at == 0.35 else -3.0)
        lab.run(0.2)
        lab.freeze()
        lab.run(0.1)
    assert lab.session is not None
    made = recovered(lab.session.path)
    rows = tick // 4 + 1
    assert np.array_equal(made.data[:rows].view(np.int64), old.data[:rows].view(np.int64))
    assert len(made) > rows
    assert rerun(made).difference is None


def test_moments_and_files_that_are_none_are_said(told: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no time 99 s.*from 0 to"):
        Lab.from_session(told, 99.0)
    (tmp_path / "run.csv").write_text("t,x\n0,1\n1,2\n")
    with pytest.raises(InputError, match="not the session of a laboratory"):
        read_session(tmp_path / "run.csv")


_KILLED = """
import os, sys
from tests.support.lab_robots import planar
from pathlib import Path
from linkwright.lab.lab import Lab
folder = Path(sys.argv[1])
lab = Lab(planar(folder), folder=folder, session_rate=50)
lab.add(folder / "moves.py")
lab.start("nod")
lab.run(0.5)
lab.start("wave") if lab.task is None else lab.freeze()
lab.run(0.2)
print(lab.session.path, flush=True)
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_laboratory_leaves_repeats_to_its_last_sample(tmp_path: Path) -> None:
    (tmp_path / "moves.py").write_text(TASKS)
    ran = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == -9, ran.stderr
    left = read_recording(ran.stdout.strip())
    assert left.metadata["recovered"]
    assert len(left) == 36
    found = rerun(left)
    assert found.difference is None
    assert found.samples == 36


def test_each_laboratory_in_a_folder_has_a_session_of_its_own(
    tmp_path: Path, config: LabConfig
) -> None:
    with Lab(config, folder=tmp_path) as one, Lab(config, folder=tmp_path) as two:
        assert one.session is not None
        assert two.session is not None
        names = [journal.path.name for journal in (one.session, two.session)]
        assert names == ["session00001.journal", "session00002.journal"]
    with Lab(config) as none:
        assert none.session is None


def test_a_long_session_keeps_nothing_in_memory_and_tells_its_size(
    tmp_path: Path, config: LabConfig
) -> None:
    with Lab(config, folder=tmp_path) as lab:
        assert lab.session is not None
        lab.run(400.0)
        assert lab.loop._samples == []
        assert lab.loop._tape == []
        size, hourly = lab.session.size, lab.session.hourly_bytes
    assert 0.9 < size / (400 * hourly / 3600) < 1.3


ASKING = """
from helper import Base
from linkwright.lab import parameter

class Reach(Base):
    gain = parameter(1.0)

    def init(self, lab):
        self.far = lab.ask("how far", 0.1) + 0.01 * lab.given("gravity_z")
        self.far += lab.values("desired.des_q")[0][0]
        assert lab.recorder.variables

    def step(self, t):
        return self.far * self.gain
"""
HELPER = """
from linkwright.lab import Task

class Base(Task):
    def run(self, t, state, desired):
        self.count = getattr(self, "count", 0) + 1
        desired.q = [self.step(t) + 1e-4 * self.count, 0.0]
"""


def test_tasks_that_ask_import_and_are_saved_again_do_the_same_again(
    tmp_path: Path, config: LabConfig
) -> None:
    """`init` is called once, is given the same answers, and sees the same laboratory."""
    file = tmp_path / "reach.py"
    file.write_text(ASKING)
    (tmp_path / "helper.py").write_text(HELPER)
    with Lab(config, folder=tmp_path, session_rate=50) as lab:
        lab.add(file)
        lab.shelf.close()  # it is taken up when that is said
        lab.do("setG z=-3")
        with answered_by(lambda question: "0.3"):
            lab.start("reach", gain=0.5)
        lab.run(0.2)
        file.write_text(ASKING.replace("self.far * self.gain", "2 * self.far * self.gain"))
        lab.reload()
        lab.run(0.2)
        (tmp_path / "helper.py").write_text(HELPER.replace("1e-4", "2e-4"))
        lab.reload()
        lab.run(0.2)
        assert lab.task == "reach"
        assert lab.desired.q[0] == pytest.approx(0.27, abs=0.03)
        assert lab.session is not None
        path = lab.session.path
    for each in ("reach.py", "helper.py"):
        (tmp_path / each).unlink()
    recording = read_recording(path)
    assert rerun(recording).difference is None
    found = rerun(recording, tasks=True)
    assert found.difference is None
    assert found.notes == ("executed again: reach",)


def test_a_full_disk_ends_the_session_in_words_and_the_laboratory_goes_on(
    tmp_path: Path, config: LabConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    with Lab(config, folder=tmp_path) as lab:
        lab.listen(heard.append)
        lab.run(0.3)
        assert lab.session is not None
        journal = lab.session._journal

        def full(content: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        broken = SimpleNamespace(
            write=full, close=journal.close, fileno=journal._file.fileno, closed=False
        )
        monkeypatch.setattr(journal, "_file", broken)
        lab.run(0.3)
        lab.do("setG z=-1.62")
        lab.run(0.3)
        assert lab.time == pytest.approx(0.9, abs=0.01)
        assert "No space left" in lab.session.failed
        monkeypatch.undo()
    assert [line for line in heard if "not kept any more" in line] == heard[:1]
    assert rerun(recovered(lab.session.path)).difference is None
