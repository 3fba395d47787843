"""What tasks and the laboratory are owed when others interfere: one torque, one start, one end."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.lab.drawing import picture
from linkwright.lab.lab import Lab
from linkwright.lab.tasks import Task, parameter


class Hold(Task):
    """A task that stays where the robot stands, and leaves the feedforward alone."""

    native = True

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Stand still."""
        desired.u = 0


class ByModel(Hold):
    """The same with torques of the model."""

    inverse_dynamics = True


class Marked(Hold):
    """The same, with a parameter that is called as the laboratory is in its own functions."""

    lab = parameter(1.0)


@pytest.fixture
def lab() -> Iterator[Lab]:
    """The shipped laboratory."""
    with Lab("sl-arm") as made:
        yield made


def _do(lab: Lab, step: str) -> None:
    words = step.split()
    if words[0] == "mode":
        lab.mode(words[1])
    elif words[0] == "start":
        lab.start(words[1])
    elif words[0] == "freeze":
        lab.freeze()
    else:
        posture = dict(zip(lab.config.names, lab.desired.q.tolist(), strict=True))
        lab.go_to(posture, inverse_dynamics=words[0] == "go-by-model")


SEQUENCES = (
    "mode invdyn; mode motor; start hold; freeze; mode invdyn; mode motor; start hold; freeze;"
    " mode invdyn",
    "go-by-model; start hold; freeze; mode invdyn; start hold; freeze; mode motor; start hold;"
    " freeze; go-by-model; mode invdyn",
    "start by-model; freeze; start hold; freeze; start hold; freeze; start by-model; freeze;"
    " mode cart; start hold; freeze; mode motor; start hold; freeze; start by-model",
    "mode invdyn; start by-model; freeze; mode motor; start by-model; freeze; go; mode invdyn",
)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_torque_of_the_model_counts_once_whatever_was_done_before(
    lab: Lab, sequence: str
) -> None:
    """SL check 16: feedforward is kept, and no tick has another one."""
    lab.add(Hold)
    lab.add(ByModel)
    lab.mode("invdyn")
    lab.run(0.1)
    weight = lab.desired.uff
    lab.mode("motor")
    assert abs(weight[0]) > 1
    for k, step in enumerate(sequence.split("; ")):
        fades = step == "go"
        _do(lab, step)
        for _ in range(1 if fades else 3 + k % 2):  # steps at ticks of the task servo and between
            lab.go_on(1)
            uff = lab.desired.uff
            assert uff == pytest.approx(0 * weight if fades else weight, abs=1e-9), step
    lab.run(0.1)
    assert lab.desired.uff == pytest.approx(weight, abs=1e-9)


def test_feedforward_that_a_task_has_set_stays_its_own(lab: Lab) -> None:
    class Push(Task):
        native = True

        def run(self, t: Any, state: Any, desired: Any) -> None:
            desired.uff[9] = 0.25

    lab.add(Push)
    lab.mode("invdyn")
    lab.run(0.1)
    weight = lab.desired.uff
    lab.mode("motor")
    lab.start("push")
    lab.run(0.1)
    lab.freeze()
    assert lab.desired.uff == pytest.approx([*weight[:9], 0.25])
    lab.mode("invdyn")
    lab.run(0.1)
    assert lab.desired.uff == pytest.approx([*weight[:9], weight[9] + 0.25])


def test_external_torques_end_with_their_task(lab: Lab) -> None:
    class Pushed(Task):
        native = True

        def run(self, t: Any, state: Any, desired: Any) -> None:
            desired.uex[2] = 3.0

    lab.add(Pushed)
    lab.add(Hold)
    lab.mode("invdyn")
    lab.start("pushed")
    lab.run(0.1)
    assert lab.desired.uex[2] == 3
    lab.freeze()
    lab.start("hold")
    lab.run(0.1)
    assert not np.any(lab.desired.uex)
    lab.freeze()
    lab.run(0.1)
    assert not np.any(lab.desired.uex)


@pytest.mark.parametrize("beside", [False, True])
def test_a_task_that_is_frozen_during_its_init_is_not_started(lab: Lab, beside: bool) -> None:
    """SL check 13: freeze is followed by no motion."""

    class Slow(Hold):
        def init(self, lab: Lab) -> None:
            if beside:
                other = threading.Thread(target=lab.freeze)
                other.start()
                other.join(10)
            else:
                lab.freeze()

    lab.add(Slow)
    assert not lab.start("slow")
    lab.run(0.01)
    assert lab.task is None
    lab.add(Hold)
    assert lab.start("hold")


def test_a_start_is_refused_while_the_init_of_another_task_goes_on(lab: Lab) -> None:
    found: list[Any] = []

    def start() -> None:
        try:
            found.append(lab.start("hold"))
        except lw.Error as error:
            found.append(str(error))

    class Moves(Hold):
        def init(self, lab: Lab) -> None:
            lab.go_default(speed=5.0)
            other = threading.Thread(target=start)
            other.start()
            other.join(10)

    lab.add(Moves)
    lab.add(Hold)
    assert lab.start("moves")
    assert found == ["the task 'moves' is being started; wait until its init is over"]
    assert lab.task == "moves"


@pytest.mark.parametrize("method", ["init", "run", "change", "draw"])
def test_a_task_that_asks_for_the_end_of_the_program_ends_itself_alone(
    lab: Lab, method: str
) -> None:
    def leave(*_: Any) -> None:
        sys.exit(3)

    def nothing(*_: Any) -> None:
        pass

    lab.add(type("leave", (Task,), {"name": "leave", "run": nothing, method: leave}))
    words = f"{method} of the task 'leave' failed: SystemExit: 3"
    if method == "init":
        with pytest.raises(lw.Error, match=words):
            lab.start("leave")
    else:
        lab.start("leave")
    if method == "run":
        with pytest.raises(lw.Error, match=words):
            lab.run(0.1)
    if method == "change":
        with pytest.raises(lw.Error, match=words):
            lab.change()
    if method == "draw":
        assert words in picture(lab).mistake
    assert (lab.task is None) == (method in ("init", "run"))
    before = lab.tick
    lab.run(0.1)
    assert lab.tick == before + 96
    lab.freeze()
    assert lab.desired.q == pytest.approx([joint.default for joint in lab.config.joints])


class Endless(Task):
    """A task with a loop that has no end, and that catches what it can."""

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Loop."""
        while t > 0.01:
            try:
                time.sleep(0)
            except Exception:
                continue


class Fails(Task):
    """A task that fails after a while."""

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Fail."""
        if t > 0.1:
            raise ValueError("a mistake")


def test_a_task_that_loops_for_ever_is_interrupted_and_the_laboratory_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwright.lab.running.LONGEST", 0.3)
    told: list[str] = []
    monkeypatch.setattr(lab, "tell", told.append)
    lab.add(Endless)
    lab.add(Hold)
    lab.pace(1.0)
    lab.start("endless")
    limit = time.monotonic() + 30
    while not told and time.monotonic() < limit:
        time.sleep(0.01)
    line = Endless.run.__code__.co_firstlineno
    assert re.match(
        rf"endless failed: {re.escape(__file__)}:({line + 2}|{line + 3}|{line + 4}): run of "
        "the task 'endless' has not come back for 0.3 s, and was interrupted; end its loop",
        told[0],
    ), told
    before = lab.tick
    while lab.tick <= before + 20 and time.monotonic() < limit:
        time.sleep(0.01)
    assert lab.tick > before + 20
    assert lab.task is None
    lab.start("hold")
    lab.pace(None)
    due = (time.monotonic() - limit + 30) * 960  # since the test waits, with time to spare
    assert lab.counters["motor"].missed < due + 960  # not those since the machine was started


def test_time_is_right_after_a_task_that_failed(lab: Lab) -> None:
    lab.add(Fails)
    lab.run(0.5)
    lab.start("fails")
    with pytest.raises(lw.Error, match="ValueError: a mistake"):
        lab.run(1.0)
    assert 0.6 <= lab.time < 0.61
    assert lab.tick == lab.loop.session.tick
    before = lab.tick
    lab.run(0.5)
    assert lab.tick == before + 480


def test_a_task_without_run_is_refused(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "typo.py"
    text = "from linkwright.lab import Task\nclass Typo(Task):\n    def rnu(self, t, s, d): ...\n"
    file.write_text(text)
    with pytest.raises(lw.InputError, match=r"typo.py: the task 'typo' has no run; rename its rnu"):
        lab.add(file)
    with pytest.raises(lw.Error, match="the task 'idle' has no run; write def run"):
        lab.add(type("Idle", (Task,), {}))
    file.write_text(
        text.replace("rnu", "run") + "class Base(Task): ...\nclass Made(Base):\n"
        "    def run(self, t, s, d): ...\n"
    )
    assert lab.add(file) == ("typo", "made")


def test_a_laboratory_that_is_closed_says_so() -> None:
    lab = Lab("sl-arm")
    lab.add(Hold)
    lab.run(0.01)
    lab.close()
    lab.close()
    for act in (
        lambda: lab.run(0.1),
        lambda: lab.start("hold"),
        lambda: lab.pace(1),
        lambda: lab.mode("invdyn"),
        lambda: lab.recorder.start(),
    ):
        with pytest.raises(lw.Error, match="the laboratory is closed"):
            act()
    assert lab.task is None


def test_a_reset_zeroes_all_counters_and_ticks_and_missed_ones_are_those_due(lab: Lab) -> None:
    """SL check 82."""
    lab.pace(200.0)  # faster than any machine is
    limit = time.monotonic() + 10
    while lab.loop.counters.missed < 500 and time.monotonic() < limit:
        time.sleep(0.01)
    lab.pace(None)
    loop, motor = lab.loop.counters, lab.counters["motor"]
    assert motor.missed == loop.missed >= 500
    assert motor.ticks + motor.missed + 1 == loop.due  # the first is at t = 0
    lab.reset()
    for servo in lab.counters.values():
        assert (servo.ticks, servo.missed, servo.overruns) == (0, 0, 0)
        assert servo.worst == 0
    lab.run(0.1)
    assert lab.counters["motor"].ticks == 96


def test_inputs_that_would_harm_are_refused_by_every_door(lab: Lab) -> None:
    """SL check 10: the mode stays while a task runs."""
    lab.add(Hold)
    lab.start("hold")
    with pytest.raises(lw.Error, match="'hold' runs; freeze it first"):
        lab.put({"desired.mode": 1.0})
    lab.freeze()
    with pytest.raises(lw.Error, match=r"no mode number 1\.5"):
        lab.put({"desired.mode": 1.5})
    with pytest.raises(lw.Error, match=r"kp of the joint 'R_EB' is -1\.0; give 0 or more"):
        lab.put({"motor.kp[3]": -1.0})
    lab.put({"desired.mode": 1.0, "motor.kp[3]": 0.0})
    assert lab.servo_mode == "invdyn"


def test_wrong_vectors_and_loads_are_refused_in_words(lab: Lab) -> None:
    nan = float("nan")
    given: tuple[Any, ...] = ((0, 0), (0, 0, nan), 3.0, "abc")
    for wrong in given:
        with pytest.raises(lw.InputError, match=r"gravity is .*; give three finite numbers"):
            lab.set_gravity(wrong)
    for x in ((1, 2), (nan, 0, 0)):
        with pytest.raises(lw.InputError, match=r"x of 'R_HAND' is .*; give three finite numbers"):
            lab.set_end_effector("R_HAND", x=x)
    with pytest.raises(lw.InputError, match="has a mass of nan kg"):
        lab.set_end_effector("R_HAND", mass=nan)
    with pytest.raises(lw.InputError, match=r"mass center \(0.1, 0.0, 0.0\) and no mass"):
        lab.set_end_effector("R_HAND", mass=0.0, mass_center=(0.1, 0.0, 0.0))
    lab.set_end_effector("R_HAND", mass=1.0, mass_center=(0.1, 0.0, 0.0))
    lab.set_end_effector("R_HAND", mass=0.0)
    assert lab.end_effectors["R_HAND"].mass_center == (0, 0, 0)
    lab.set_gravity((0, 0, 0))
    assert not np.any(lab.gravity)


def test_a_number_that_is_none_is_told_by_the_tasks_own_words(lab: Lab) -> None:
    class Lost(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            if t > 0.0499:
                desired.q[3] = float("nan")

    class Aims(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.cart["R_HAND"].xd[1] = float("inf")

    lab.add(Lost)
    lab.add(Aims)
    lab.run(1.0)
    lab.start("lost")
    words = r"the task 'lost' set desired.q of R_EB to nan at its time t = 0.05 s"
    with pytest.raises(lw.Error, match=words):
        lab.run(1.0)
    assert lab.task is None
    lab.start("aims")
    words = r"'aims' set desired.cart\['R_HAND'\].xd\[1\] to inf at its time t = 0 s"
    with pytest.raises(lw.Error, match=words):
        lab.run(1.0)


def test_the_state_is_read_only_in_words(lab: Lab) -> None:
    class Writes(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            state.u[0] = 1.0

    lab.add(Writes)
    lab.start("writes")
    with pytest.raises(lw.Error, match=r"state is read only; set desired\.u"):
        lab.run(0.1)


def test_parameters_have_names_of_their_own(lab: Lab) -> None:
    lab.add(Marked)
    assert lab.start("marked", lab=2.0)
    assert lab.parameters["lab"] == 2.0
    lab.change(lab=3.0)
    assert lab.parameters["lab"] == 3.0
