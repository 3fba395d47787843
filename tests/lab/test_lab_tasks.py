"""Tasks: declared numbers, Python and native, errors with file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.lab import Task, channel, cos, parameter, pi, setting, sin, state, where
from linkwright.lab.running import task_function
from linkwright.lab.task_files import load_tasks
from tests.support.lab_tasks import BareLab, layout

HERE = Path(__file__)


class Wave(Task):
    """The example of the documentation, without a robot."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    native = True

    def init(self, lab: Any) -> bool | None:
        self.middle = np.array([0.25, -0.5])
        return None

    def run(self, t: Any, state: Any, desired: Any) -> None:
        w = 2 * pi * self.frequency
        desired.q, desired.u, desired.a = (
            self.middle + 0.1 * sin(w * t),
            0.1 * w * cos(w * t),
            -0.1 * w**2 * sin(w * t),
        )


class Busy(Task):
    """Uses every port and kind of number."""

    gain = parameter(2.0, lower=0, upper=10)
    count = state(0)
    filtered = state([0.5, -0.5])
    error = channel("rad")
    native = True

    def run(self, t: Any, state: Any, desired: Any) -> None:
        self.count = self.count + 1
        self.filtered = 0.9 * self.filtered + 0.1 * state.q
        self.error = self.filtered[0] - state.desired.q[0]
        desired.q[0] = self.gain * where(t > 0.01, state.load[1], state.tau[1])
        desired.uff = self.gain * state.ufb
        hand, blob = state.cart["HAND"], state.blobs["blob1"]
        desired.cart["HAND"].x = hand.x + where(blob.status > 0, blob.x, 0.0)
        desired.cart["HAND"].q = hand.q
        desired.cart["HAND"].status = [1, 1, 1, 0, 0, 0]
        desired.uex = state.base.xdd[2]
        desired.done = self.count >= 20


class PythonWave(Wave):
    native = False


class PythonBusy(Busy):
    native = False


PAIRS = [(Wave, PythonWave), (Busy, PythonBusy)]


@pytest.mark.parametrize(("compiled", "plain"), PAIRS)
def test_native_and_python_give_the_same_numbers(compiled: type[Task], plain: type[Task]) -> None:
    slot = layout()
    functions = []
    for cls in (compiled, plain):
        task = cls()
        task.init(None)
        functions.append(task_function(task, slot))
    assert functions[0].address
    assert not functions[1].address
    random = np.random.default_rng(3)
    results = [np.zeros(slot.result_count) for _ in functions]
    for k in range(50):
        arguments = random.normal(size=slot.argument_count)
        arguments[0], arguments[1] = 1 + k // 40, 1 + k // 25
        for function, row in zip(functions, results, strict=True):
            function.call(0.0, arguments, row)
        np.testing.assert_allclose(results[0], results[1], rtol=1e-12, atol=1e-12)
    assert results[0][slot.result["ticks"]] == 24


def test_a_task_starts_anew_and_its_parameters_enter_at_one_tick() -> None:
    lab = BareLab()
    lab.add(Wave)
    lab.start("wave", frequency=2.0)
    lab.run(21)
    assert lab.result("ticks") == 10
    q = np.array([0.25, -0.5]) + 0.1 * np.sin(4 * np.pi * 0.02)
    np.testing.assert_allclose(lab.result("des_q"), q, rtol=1e-12)
    task = lab.tasks["wave"]
    task.set({"frequency": 3.0})
    lab.loop.set(lab.parameters(task))
    lab.run(2)
    np.testing.assert_allclose(
        lab.result("des_u"), 0.1 * 6 * np.pi * np.cos(6 * np.pi * 0.022), rtol=1e-12
    )
    lab.start("wave")
    lab.run(1)
    assert lab.result("ticks") == 0
    assert lab.functions[1] is lab.functions[2]  # nothing was compiled again


def test_parameters_are_refused_all_or_none_with_bounds_and_unit() -> None:
    task = Wave()
    with pytest.raises(Error, match=r"frequency of 'wave' is 7; it is from 0 to 5 Hz"):
        task.set({"frequency": 7})
    with pytest.raises(Error, match=r"no parameter 'frequenzy'; did you mean 'frequency'"):
        task.set({"frequency": 2, "frequenzy": 3})
    assert task.frequency == 1.0
    with pytest.raises(Error, match="frequency of 'wave' is 'fast'; give a number"):
        task.checked({"frequency": "fast"})
    with pytest.raises(Error, match="nan"):
        task.checked({"frequency": float("nan")})

    class Play(Task):
        file = setting("a.traj")
        speed = parameter(1.0)

    play = Play()
    play.set({"file": "b.traj", "speed": 2})
    assert (play.file, play.speed, Play().file) == ("b.traj", 2.0, "a.traj")
    with pytest.raises(Error, match="file of 'play' stays while the task runs"):
        play.checked({"file": "c.traj"})
    with pytest.raises(Error, match=r"more than 64 numbers of the kind state"):
        type("Great", (Task,), {"memory": state(np.zeros(65))})


def odd_task(text: str, native: bool = False) -> str:
    """Return the text of a task whose `run` has one line."""
    return f"""
from linkwright.lab import Task, parameter, state, where
import numpy as np


class Odd(Task):
    native = {native}
    gain = parameter(1.0)
    count = state(0)

    def run(self, t, state, desired):
        {text}
"""


@pytest.mark.parametrize(
    ("line", "native", "said"),
    [
        ("1 / 0", False, "ZeroDivisionError: division by zero"),
        ("desired.q = [1, 2, 3]", False, "desired.q has 2 numbers, not 3"),
        ("desired.q = [1, 2, 3]", True, "desired.q has 2 numbers, not 3"),
        ("desired.speed = 1", False, "there is no desired.speed"),
        ("state.q = 1", False, "state.q is what it is"),
        ("state.cart['HEAD'].x", False, "there is no end-effector 'HEAD'; did you mean 'HAND'"),
        ("desired.q = 'left'", False, "desired.q is set to 'left', which is not a number"),
        ("self.gain = 2", False, "changes its parameter gain in run"),
        ("if self.gain > 1: desired.q = 0", True, "the truth of the expression"),
        ("desired.q = 1.0 if self.gain == 1 else 2.0", True, r"compares self.gain with =="),
        ("self.total = t", True, "changes self.total in run, which is not a declared state"),
        ("desired.q = np.sin(t)", True, "no callable sin method"),
    ],
)
def test_mistakes_in_run_come_out_with_file_and_line(
    tmp_path: Path, line: str, native: bool, said: str
) -> None:
    file = tmp_path / "odd.py"
    file.write_text(odd_task(line, native))
    task = load_tasks(file).tasks["odd"]()
    slot = layout()
    arguments, results = np.zeros(slot.argument_count), np.zeros(slot.result_count)
    arguments[:2] = 1.0
    with pytest.raises(InputError, match=said) as caught:
        task_function(task, slot).call(0.0, arguments, results)
    assert str(caught.value).startswith(f"{file}:12: ")


def test_a_native_task_that_changes_itself_in_place_is_refused(tmp_path: Path) -> None:
    class Listing(Task):
        native = True

        def __init__(self) -> None:
            self.seen: list[Any] = []

        def run(self, t: Any, state: Any, desired: Any) -> None:
            self.seen.append(t)

    with pytest.raises(
        InputError, match=r"changes self.seen, which is not a declared state"
    ) as found:
        task_function(Listing(), layout())
    assert re.match(rf"{re.escape(str(HERE))}:\d+: ", str(found.value))


def test_a_native_task_that_gives_other_numbers_than_its_text_is_refused() -> None:
    calls = []

    class Moody(Task):
        native = True

        def run(self, t: Any, state: Any, desired: Any) -> None:
            calls.append(t)
            desired.q = float(len(calls))

    with pytest.raises(InputError, match=r"gives 1 for des_q\[0\] where its text in Python gives"):
        task_function(Moody(), layout())


def test_nan_from_run_is_told_by_name() -> None:
    class Lost(Task):
        def run(self, t: Any, state: Any, desired: Any) -> None:
            desired.a = np.nan

    lab = BareLab()
    lab.add(Lost)
    lab.start("lost")
    with pytest.raises(Error, match=r"'lost' set desired\.a of j0 to nan at its time t = 0 s"):
        lab.run(10)
    lab.freeze()
    lab.run(10)


def test_python_tasks_answer_by_mail_in_a_loop_that_does_not_wait() -> None:
    class Late(Task):
        count = state(0)

        def run(self, t: Any, state: Any, desired: Any) -> None:
            self.count = self.count + 1
            desired.q = t

    lab = BareLab(waits=False)
    lab.add(Late)
    lab.start("late")
    lab.run(41)
    assert lab.loop.complaints == ()
    assert lab.result("memory")[0] == 21
    assert lab.result("des_q")[0] == pytest.approx(0.04)
