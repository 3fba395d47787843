"""The example of the documentation in a laboratory: one file, saved again while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.lab.lab import Lab
from linkwright.system import System
from tests.support.waiting import soon

WAVE = """\
import linkwright as lw
from linkwright.lab import cos, parameter, pi, sin


class Wave(lw.lab.Task):
    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    native = True

    def init(self, lab):
        self.middle = lab.robot.limits.mean(axis=1)
        lab.go_to(self.middle, inverse_dynamics=True); lab.recorder.start()

    def run(self, t, state, desired):
        w = 2 * pi * self.frequency
        desired.q, desired.u, desired.a = """
WAVE += "self.middle + 0.1 * sin(w * t), 0.1 * w * cos(w * t), -0.1 * w**2 * sin(w * t)\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "wave.py"
    made.write_text(WAVE)
    return made


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with lw.Lab("sl-arm", folder=tmp_path) as made:
        yield made


def saved(lab: Lab, file: Path, text: str) -> None:
    """Save a text, and wait until it was looked at."""
    before = (lab.shelf.reloads, lab.shelf.mistakes)
    file.write_text(text)
    stamp = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(stamp, stamp))
    soon(lambda: (lab.shelf.reloads, lab.shelf.mistakes) != before)


def test_the_example_runs_as_it_is_written_and_is_taken_up_when_it_is_saved(
    lab: Lab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SL check 78: a new task works with one file and one line."""
    assert lab.add(file) == ("wave",)
    assert lab.start("wave", frequency=2.0)
    monkeypatch.setattr(System, "phases", None)  # nothing is derived from here on
    lab.run(0.5)
    middle = lab.robot.limits.mean(axis=1)
    t = float(lab.values("task.ticks")[0][0]) / 480
    np.testing.assert_allclose(lab.desired.q, middle + 0.1 * np.sin(4 * np.pi * t), atol=1e-12)
    saved(lab, file, WAVE.replace("0.1", "0.2"))
    assert not lab.shelf.mistakes
    lab.run(0.25)
    t = float(lab.values("task.ticks")[0][0]) / 480
    assert 0.7 < t < 0.8  # it goes on
    np.testing.assert_allclose(lab.desired.q, middle + 0.2 * np.sin(4 * np.pi * t), atol=1e-12)
    assert lab.parameters == {"frequency": 2.0}
    saved(lab, file, WAVE.replace("native = True", "native = False").replace("0.1", "0.15"))
    lab.run(0.25)
    t = float(lab.values("task.ticks")[0][0]) / 480
    np.testing.assert_allclose(lab.desired.q, middle + 0.15 * np.sin(4 * np.pi * t), atol=1e-12)
    saved(lab, file, WAVE.replace("self.middle +", "self.muddle +"))
    (told,) = lab.shelf.mistakes
    assert "wave.py:15: run of the task 'wave' failed: AttributeError" in told
    lab.run(0.1)
    assert lab.task == "wave"
    saved(lab, file, WAVE)
    assert not lab.shelf.mistakes
    assert lab.shelf.reloads == 3


def test_what_comes_after_the_end_of_a_session_is_not_kept(lab: Lab) -> None:
    """The thread that looks at files of tasks may be about to note what it has taken up."""
    session = lab.session
    assert session is not None
    lab.close()
    size = session.size
    session.say(0, text="late")
    session.close(lab.loop)
    assert session.size == size


@pytest.mark.realtime
def test_a_saved_task_is_exchanged_while_the_laboratory_follows_the_clock(
    lab: Lab, file: Path
) -> None:
    """The loop goes on meanwhile: what is taken up is built beside it."""
    file.write_text(WAVE.replace("native = True", "native = False"))
    lab.add(file)
    lab.start("wave")
    lab.pace(1.0)
    saved(lab, file, WAVE.replace("0.1", "0.2"))
    before = lab.tick
    soon(lambda: lab.tick > before + 96)
    assert lab.task == "wave"
    lab.pace(None)
    amplitude = np.ptp(lab.desired.q - lab.robot.limits.mean(axis=1))
    assert amplitude < 1e-12


def test_a_task_that_fails_is_frozen_and_told_with_file_and_line(
    lab: Lab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(lab, "tell", told.append)
    file.write_text(
        "from linkwright.lab import Task\n\n\n"
        "class Odd(Task):\n"
        "    def run(self, t, state, desired):\n"
        "        if t > 0.1:\n"
        "            desired.q = [1, 2, 3]\n"
    )
    lab.add(file)
    lab.start("odd")
    held = lab.desired.q
    try:
        lab.run(0.5)
    except Error as error:
        told.append(str(error))
    lab.run(0.1)
    assert lab.task is None
    assert any("wave.py:7: run of the task 'odd' failed: desired.q has 10" in x for x in told)
    np.testing.assert_array_equal(lab.desired.q, held)
