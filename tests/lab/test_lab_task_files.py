"""Files of tasks: imported apart, and taken up again where they are saved."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.lab.stored_tasks import for_session, from_session
from linkwright.lab.task_files import TaskSource, TaskWatch, load_tasks, watch
from linkwright.simulation.pacing import replay
from linkwright.system import flatten
from tests.support.lab_tasks import BareLab

WAVE = """\
from linkwright.lab import Task, parameter, pi, sin, state


class Wave(Task):
    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    count = state(0)
    native = {native}

    def init(self, lab):
        self.middle = 0.5

    def run(self, t, state, desired):
        self.count = self.count + 1
        desired.q = self.middle + {amplitude} * sin(2 * pi * self.frequency * t)
"""


def write(file: Path, text: str, step: int = 1) -> None:
    """Save a text, with a time of its own whatever the clock of the file system."""
    file.write_text(text)
    stamp = file.stat().st_mtime_ns + step * 1_000_000_000
    os.utime(file, ns=(stamp, stamp))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "wave.py"
    made.write_text(WAVE.format(native=False, amplitude=0.1))
    return made


def test_a_file_is_imported_apart_with_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "helper_beside.py").write_text("SIZE = 0.25\n")
    file = tmp_path / "two.py"
    file.write_text(
        "from helper_beside import SIZE\n"
        "from linkwright.lab import Task\n\n\n"
        "class First(Task):\n"
        "    size = SIZE\n\n"
        "    def run(self, t, state, desired): ...\n\n\n"
        "class SecondThing(First):\n"
        "    pass\n\n\n"
        "class _Hidden(Task):\n"
        "    pass\n"
    )
    known, path = set(sys.modules), list(sys.path)
    found = load_tasks(file)
    assert list(found.tasks) == ["first", "second-thing"]
    assert found.tasks["first"].size == 0.25  # type: ignore[attr-defined]
    assert set(sys.modules) == known
    assert sys.path == path
    again = TaskSource(file)
    assert not again.changed()
    write(tmp_path / "helper_beside.py", "SIZE = 0.75\n")
    assert again.changed()
    loaded = again.read_again()
    assert loaded is not None
    assert loaded.tasks["first"].size == 0.75  # type: ignore[attr-defined]
    assert not list(tmp_path.glob("__pycache__"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (1\n", r"odd.py:1:\d+: it does not parse"),
        ("import linkwright\n\n1 / 0\n", r"odd.py:3: ZeroDivisionError: division by zero"),
        ("x = 1\n", r"odd.py: it has no task; write a class"),
        (
            "from linkwright.lab import Task, parameter\n\n\nclass A(Task):\n"
            "    f = parameter(7.0, lower=0, upper=5)\n",
            r"odd.py:\d: f of 'a' is 7; it is from 0 to 5",
        ),
        (
            "from linkwright.lab import Task\n\n\nclass A(Task):\n    name = 'x'\n\n\n"
            "class B(Task):\n    name = 'x'\n",
            r"odd.py: two tasks are called 'x'",
        ),
    ],
)
def test_mistakes_of_a_file_have_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "odd.py"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_tasks(file)
    with pytest.raises(InputError, match=r"none.py: cannot read: there is no such file"):
        load_tasks(tmp_path / "none.py")


@pytest.mark.parametrize("native", [False, True])
def test_a_saved_task_is_swapped_between_two_ticks_and_a_mistake_leaves_the_old_one(
    file: Path, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SL check 78: one file, one line. Nothing is derived again: only a function is exchanged."""
    write(file, WAVE.format(native=native, amplitude=0.1))
    lab = BareLab()
    lab.add(file)
    lab.start("wave", frequency=2.0)
    lab.run(21)
    derived = []
    monkeypatch.setattr(flatten, "flatten", lambda *_: derived.append(1))
    write(file, WAVE.format(native=native, amplitude=0.2), 2)
    assert lab.shelf.watch.look() == 1
    assert (lab.exchanges, lab.shelf.reloads, lab.shelf.mistakes) == (1, 1, ())
    lab.run(2)
    assert lab.result("ticks") == 11
    assert lab.result("memory")[0] == 12
    assert lab.result("des_q")[0] == pytest.approx(0.5 + 0.2 * np.sin(4 * np.pi * 0.022), rel=1e-12)
    assert lab.tasks["wave"].values == {"frequency": 2.0}

    wrong = WAVE.format(native=native, amplitude=0.2).replace("self.middle +", "self.muddle +")
    write(file, wrong, 3)
    assert lab.shelf.watch.look() == 1
    assert lab.shelf.watch.look() == 0
    (told,) = lab.shelf.mistakes
    assert told.startswith(f"{file}:14: run of the task 'wave' failed: AttributeError")
    write(file, wrong.replace("def run", "def ran("), 4)
    lab.shelf.watch.look()
    assert "does not parse" in lab.shelf.mistakes[0]
    lab.run(2)
    assert lab.result("ticks") == 12
    assert lab.exchanges == 1
    write(file, WAVE.format(native=native, amplitude=0.3), 5)
    lab.shelf.watch.look()
    assert lab.shelf.mistakes == ()
    lab.run(2)
    assert lab.result("des_q")[0] == pytest.approx(0.5 + 0.3 * np.sin(4 * np.pi * 0.026), rel=1e-12)
    assert lab.result("memory")[0] == 14
    assert derived == []


def test_states_keep_their_values_by_name_and_new_ones_begin(file: Path) -> None:
    for native in (False, True):
        write(file, WAVE.format(native=native, amplitude=0.1))
        lab = BareLab()
        lab.add(file)
        lab.start("wave")
        lab.run(21)
        newer = WAVE.format(native=native, amplitude=0.1).replace(
            "    count = state(0)\n", "    before = state(7)\n    count = state(0)\n"
        )
        write(file, newer, 2)
        lab.shelf.watch.look()
        assert lab.shelf.mistakes == ()
        lab.run(2)
        assert lab.result("memory")[:2].tolist() == [7, 12]


def test_parameters_that_do_not_fit_and_tasks_that_vanish_are_told(file: Path) -> None:
    lab = BareLab()
    lab.add(file)
    lab.start("wave", frequency=4.0)
    lab.run(11)
    text = file.read_text()
    write(file, text.replace("upper=5", "upper=3"), 2)
    lab.shelf.watch.look()
    assert "frequency of 'wave' is 4 at present; it is from 0 to 3 Hz" in lab.shelf.mistakes[0]
    write(file, text.replace("Wave", "Other"), 3)
    lab.shelf.watch.look()
    assert "the task 'wave' runs, but is not in it any more" in lab.shelf.mistakes[0]
    with pytest.raises(InputError, match="is not in it any more"):
        lab.shelf.reload()
    lab.freeze()
    assert lab.shelf.reload() == ("other",)
    assert list(lab.tasks) == ["other"]


def test_on_hardware_a_saved_file_waits_until_no_task_runs(file: Path) -> None:
    lab = BareLab(live=False)
    lab.add(file)
    lab.start("wave")
    lab.run(11)
    write(file, WAVE.format(native=False, amplitude=0.2), 2)
    lab.shelf.watch.look()
    assert "saved while a task of it runs on the robot" in lab.shelf.mistakes[0]
    assert lab.exchanges == 0
    lab.freeze()
    lab.shelf.watch.look()
    assert lab.shelf.mistakes == ()
    assert (lab.exchanges, lab.shelf.reloads) == (0, 1)


def test_a_thread_looks_at_files_beside_the_loop(file: Path) -> None:
    seen = threading.Event()
    made = watch(lambda _: seen.set(), TaskSource(file))
    try:
        write(file, WAVE.format(native=False, amplitude=0.3), 2)
        assert seen.wait(10.0)
    finally:
        made.stop()
    quiet = TaskWatch(lambda: None)
    quiet.add(TaskSource(file))
    os.utime(file)  # another time, the same text
    assert quiet.look() == 0


def test_a_session_with_reloads_is_repeated_bit_by_bit(file: Path) -> None:
    """Numbers of functions are on the tape; native ones are made of their Programs again."""
    lab = BareLab()
    lab.add(file)
    lab.start("wave", frequency=2.0)
    lab.run(21)
    write(file, WAVE.format(native=True, amplitude=0.2), 2)
    lab.shelf.watch.look()
    lab.run(20)
    write(file, WAVE.format(native=False, amplitude=0.3), 3)
    lab.shelf.watch.look()
    lab.run(20)
    assert lab.exchanges == 2
    again = BareLab()
    for number, function in lab.functions.items():
        again.session.install(
            "task",
            number,
            from_session(function.name, for_session(function)[1], again.session.slot_sizes("task")),
        )
    found = replay(again.session, lab.loop.tape())
    live = dict(zip([s.name for s in lab.session.phases.d], lab.loop.latest().d, strict=True))
    assert found.d == live


def test_a_file_whose_task_runs_is_not_added_again_and_stays_in_view(file: Path) -> None:
    lab = BareLab()
    lab.add(file)
    lab.start("wave")
    lab.run(3)
    with pytest.raises(Error, match="the task 'wave' runs; freeze it first, or save its file"):
        lab.shelf.add(file)
    write(file, WAVE.format(native=False, amplitude=0.2), 2)
    lab.shelf.watch.look()
    assert (lab.exchanges, lab.shelf.mistakes) == (1, ())
