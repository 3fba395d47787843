"""The life of a laboratory in lockstep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.lab.contacts import contacts
from linkwright.lab.functions import cos, pi, sin
from linkwright.lab.lab import Lab
from linkwright.lab.plant import lab_mechanism
from linkwright.lab.sources import lab_config
from linkwright.lab.system import servo_rates
from linkwright.lab.tasks import Task, parameter


class Hold(Task):
    """A task that stays where the robot stands."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, t: float, state: Any, desired: Any) -> None:
        """Count."""
        self.runs += 1


class Wave(Task):
    """A task that swings all joints."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    amplitude = parameter(0.1, unit="rad", lower=0, upper=0.4)
    native = True
    inverse_dynamics = True

    def init(self, lab: Lab) -> None:
        """Swing about where the joints should be."""
        self.middle = lab.desired.q.copy()

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Swing."""
        w, a = 2 * pi * self.frequency, self.amplitude
        desired.q = self.middle + a * sin(w * t)
        desired.u = a * w * cos(w * t)
        desired.a = -a * w**2 * sin(w * t)


@pytest.fixture
def lab() -> Iterator[Lab]:
    """The shipped laboratory."""
    with Lab("sl-arm") as made:
        yield made


def test_a_task_runs_once_in_each_of_its_ticks_until_it_is_frozen(lab: Lab) -> None:
    """SL checks 1 and 13."""
    task = Hold()
    lab.add(task)
    assert lab.start("hold")
    lab.run(1.0)
    assert task.runs == 480
    lab.freeze()
    lab.run(0.5)
    assert (task.runs, lab.task, lab.tick) == (480, None, 1440)
    counted = {name: (servo.ticks, servo.overruns) for name, servo in lab.counters.items()}
    assert (counted["motor"], counted["task"], counted["vision"]) == ((1440, 0), (720, 0), (90, 0))


def test_a_task_is_refused_while_another_runs(lab: Lab) -> None:
    """SL check 11."""
    lab.add(Hold())
    lab.add(Wave)
    lab.start("hold")
    with pytest.raises(lw.Error, match="'hold' runs; freeze it first"):
        lab.start("wave")
    with pytest.raises(lw.Error, match="'hold' runs"):
        lab.add(Hold())
    with pytest.raises(lw.InputError, match="did you mean 'wave'"):
        lab.start("wafe")


def test_a_task_whose_init_says_no_or_fails_is_not_started(lab: Lab) -> None:
    """SL check 12."""

    class No(Task):
        def init(self, lab: Lab) -> bool:
            return False

    class Wrong(Task):
        def init(self, lab: Lab) -> None:
            raise ValueError("no hand")

    lab.add(No)
    lab.add(Wrong)
    assert not lab.start("no")
    assert lab.task is None
    with pytest.raises(lw.Error, match=r"init of the task 'wrong' failed: ValueError: no hand"):
        lab.start("wrong")
    lab.run(0.1)
    assert lab.task is None


def test_a_mistake_in_run_ends_the_task_and_the_laboratory_goes_on(lab: Lab) -> None:
    """SL check 13: an exception leaves NO_TASK, and motor commands go on."""

    class Late(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            if t > 0.05:
                raise ValueError("lost")

    lab.add(Late)
    lab.start("late")
    with pytest.raises(lw.Error, match=r"run of the task 'late' failed: ValueError: lost"):
        lab.run(1.0)
    assert lab.task is None
    before = lab.tick
    lab.run(0.1)
    assert lab.tick == before + 96
    assert np.any(lab.state.tau)


def test_a_task_ends_where_it_says_that_it_is_done(lab: Lab) -> None:
    class Short(Task):
        native = True

        def run(self, t: Any, state: Any, desired: Any) -> None:
            desired.q = 0.5 * t
            desired.u = 0.5
            desired.done = t >= 0.25

    lab.add(Short)
    lab.start("short")
    lab.run(1.0)
    assert lab.task is None
    assert lab.desired.q[4] == pytest.approx(0.125)
    assert not np.any(lab.desired.u)
    assert lab.start("short")
    assert lab.task == "short"


def test_parameters_are_checked_together_and_change_at_one_tick(lab: Lab) -> None:
    """SL check 14."""
    lab.add(Wave)
    lab.start("wave", frequency=0.0)
    lab.run(0.1)
    with pytest.raises(lw.Error, match=r"frequency of 'wave' is 7; it is from 0 to 5 Hz"):
        lab.change(amplitude=0.2, frequency=7)
    assert lab.parameters == {"frequency": 0.0, "amplitude": 0.1}
    lab.change(amplitude=0.2, frequency=1.0)
    lab.run(0.15)
    assert lab.desired.q[4] == pytest.approx(0.2 * np.sin(2 * np.pi * 119 / 480))
    assert lab.parameters == {"frequency": 1.0, "amplitude": 0.2}


def test_redo_repeats_the_last_task_with_its_parameters(lab: Lab) -> None:
    """SL check 15."""
    with pytest.raises(lw.Error, match="no task was started yet"):
        lab.redo()
    lab.add(Wave)
    lab.start("wave", amplitude=0.3)
    lab.run(1.0)
    lab.freeze()
    assert lab.redo()
    lab.run(0.25)
    assert (lab.task, lab.parameters["amplitude"]) == ("wave", 0.3)
    assert np.ptp(lab.state.q - lab.desired.q) < 0.1


def test_freeze_keeps_position_and_feedforward_and_makes_no_torque_jump(lab: Lab) -> None:
    """SL check 16."""
    lab.add(Wave)
    lab.start("wave")
    lab.run(0.6)
    before, tau = lab.desired, lab.state.tau
    assert np.any(before.u)
    assert np.any(before.uff)
    lab.freeze()
    lab.run(1 / 960)
    after, state = lab.desired, lab.state
    assert lab.task is None
    assert np.array_equal(after.q, before.q)
    assert np.array_equal(after.uff, before.uff)
    assert not np.any(after.u)
    assert not np.any(after.a)
    gains = np.array([joint.kd for joint in lab.config.joints])
    change = np.abs(state.tau - tau)
    assert np.all(change <= gains * np.abs(before.u) + 0.3)
    lab.run(1.0)
    assert np.array_equal(lab.desired.uff, before.uff)


def test_stop_disables_all_output_until_reset(lab: Lab) -> None:
    """SL check 17."""
    lab.add(Wave)
    lab.start("wave")
    lab.run(0.1)
    assert np.any(lab.state.tau)
    lab.stop("a test")
    lab.run(0.1)
    assert not np.any(lab.state.tau)
    assert (lab.stopped, lab.task) == ("a test", None)
    with pytest.raises(lw.Error, match="stopped: a test; reset it first"):
        lab.start("wave")
    lab.reset()
    lab.run(0.1)
    assert np.any(lab.state.tau)
    assert lab.start("wave")


def test_reset_returns_to_the_default_posture_with_times_and_integrators_zero(lab: Lab) -> None:
    """SL checks 7 and 82."""
    lab.add(Wave)
    lab.start("wave")
    lab.run(5.0)
    integrals = [f"motor.integral{i}" for i in range(10)]
    before = np.array(lab.values(*integrals))
    assert np.abs(before).min() > 1e-6
    lab.reset()
    assert (lab.tick, lab.time, lab.task) == (0, 0.0, None)
    assert {servo.ticks for servo in lab.counters.values()} == {0}
    default = [joint.default for joint in lab.config.joints]
    assert lab.state.q == pytest.approx(default, abs=1e-4)
    assert lab.desired.q == pytest.approx(default, abs=0)
    assert np.all(np.abs(np.array(lab.values(*integrals))) < 1e-8)
    lab.run(0.5)
    assert lab.tick == 480


def test_modes_are_switched_while_no_task_runs(lab: Lab) -> None:
    """SL check 10."""
    lab.add(Hold())
    lab.run(2.0)
    sagged = np.abs(lab.state.q - lab.desired.q).max()
    lab.mode("invdyn")
    lab.run(2.0)
    assert np.abs(lab.state.q - lab.desired.q).max() < 0.1 * sagged
    lab.start("hold")
    with pytest.raises(lw.Error, match="'hold' runs; freeze it first"):
        lab.mode("motor")
    lab.freeze()
    lab.mode("motor")
    with pytest.raises(lw.InputError, match="no mode 'kart'; did you mean 'cart'"):
        lab.mode("kart")


def test_go_reaches_postures_and_blocks_until_it_is_there(lab: Lab) -> None:
    """SL checks 18, 20, 21."""

    class Begin(Task):
        def init(self, lab: Lab) -> None:
            lab.go_to({"R_EB": 1.0}, inverse_dynamics=True)
            self.at = lab.desired.q.copy()

    errors = {}
    for inverse in (False, True):
        lab.go_to({"R_EB": 1.0, "R_SFE": 0.4}, inverse_dynamics=inverse)
        assert (lab.task, lab.servo_mode) == (None, "motor")
        assert lab.desired.q[[0, 3]] == pytest.approx([0.4, 1.0])
        errors[inverse] = np.abs(lab.state.q - lab.desired.q).max()
        lab.go_default(inverse_dynamics=inverse)
        assert lab.desired.q == pytest.approx([joint.default for joint in lab.config.joints])
    assert errors[True] < 0.1 * errors[False]
    task = Begin()
    lab.add(task)
    assert lab.start("begin")
    assert (task.at[3], lab.task) == (1.0, "begin")
    lab.freeze()
    with pytest.raises(lw.InputError, match="no joint 'R_EV'; did you mean"):
        lab.go_to({"R_EV": 1.0})


def test_an_end_effector_goes_where_it_is_told_and_the_state_says_so(lab: Lab) -> None:
    """SL check 27, its end; and the mode is what it was."""
    lab.go_default(inverse_dynamics=True)
    goal = lab.cart["R_HAND"].x + np.array([0.0, 0.05, 0.05])
    lab.go_cartesian({"R_HAND": goal}, duration=0.5)
    assert lab.servo_mode == "motor"
    assert lab.cart_desired["R_HAND"].x == pytest.approx(goal, abs=1e-4)
    lab.run(1.0)
    assert lab.cart["R_HAND"].x == pytest.approx(goal, abs=2e-3)
    assert lab.vertices["HAND"] == pytest.approx(lab.cart["R_HAND"].x, abs=1e-9)


def test_blobs_are_seen_where_they_are_put(lab: Lab) -> None:
    lab.place_blob("blob1", [0.5, -0.3, -0.2])
    lab.run(2.0)
    blob = lab.blobs["blob1"]
    assert blob.status
    assert blob.x == pytest.approx([0.5, -0.3, -0.2], abs=0.01)
    with pytest.raises(lw.InputError, match="no blob 'ball'"):
        lab.place_blob("ball", [0, 0, 0])


def test_the_same_commands_at_the_same_ticks_give_the_same_bits() -> None:
    found = []
    for parts in ((1.0, 1.0), (0.25, 1.75)):
        with Lab("sl-arm") as lab:
            lab.add(Wave)
            lab.start("wave", frequency=2.0)
            for part in parts:
                lab.run(part)
            found.append((lab.loop.latest().x, lab.loop.latest().d))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


def test_ratios_of_servos_are_whole_numbers(lab: Lab) -> None:
    """SL check 2."""
    for ratio in (0, -1, 2.5):
        ratios: dict[str, Any] = {"task": ratio}
        config = replace(lab.config, ratios=ratios)
        with pytest.raises(lw.InputError, match=f"task servo has a ratio of {ratio}.*whole number"):
            servo_rates(config)


def test_own_servos_run_at_their_ratio_and_vision_makes_only_the_ticks_finer() -> None:
    """SL checks 1 and 2."""
    config = replace(lab_config("sl-arm"), rate=1000.0, ratios={"task": 2, "eye": 5})
    rates = servo_rates(config)
    assert {name: int(rate) for name, rate in rates.items()} == {
        "motor": 1000,
        "task": 500,
        "invdyn": 500,
        "invkin": 500,
        "eye": 200,
        "vision": 60,
    }


def test_objects_of_both_contact_models_are_touched() -> None:
    """SL check 64; unequal scales make a sphere an ellipsoid."""
    config = lab_config("sl-arm")
    robot = lab_mechanism(config)
    floor = config.objects[0]
    ball = replace(
        floor,
        name="ball",
        kind="sphere",
        scale=(0.2, 0.2, 0.4),
        contact_model=2,
        contact_parameters=(1e4, 60.0, 2e4, 0.8, 0.6),
    )
    made = list(contacts(replace(config, objects=(floor, ball)), robot))
    assert [type(contact.surface).__name__ for contact in made] == [
        "BoxSurface",
        "EllipsoidSurface",
    ]
    springs, sticking = ({n: p.value for n, p in each.parameters.items()} for each in made)
    assert springs == {"stiffness": 1e4, "damping": 50.0, "viscous": 20.0}
    given = {"stiffness": 1e4, "damping": 60.0, "tangential": 2e4, "static": 0.8, "dynamic": 0.6}
    assert sticking.items() >= given.items()
    with pytest.raises(lw.InputError, match="contact model 3"):
        list(contacts(replace(config, objects=(replace(floor, contact_model=3),)), robot))
