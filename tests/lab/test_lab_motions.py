"""Motions of the simulated arm: postures, Cartesian lines, sines, with the whole laboratory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.blocks import BlockError
from linkwright.lab.config import LabConfig
from linkwright.lab.lab import Lab
from linkwright.lab.servos.invkin import check_weights, inverse_kinematics_servo
from linkwright.lab.sources import lab_config
from linkwright.lab.tasks import Task

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def built() -> Iterator[Lab]:
    """The shipped laboratory, built once."""
    with Lab("sl-arm") as made:
        yield made


@pytest.fixture
def lab(built: Lab) -> Lab:
    """It, at its beginning."""
    built.freeze()
    built.mode("motor")
    built.reset()
    return built


DEFAULT = np.array([0, -0.3, 0, 1.57, 0, 0, 0, 0, 0, 0])


def worst(lab: Lab, seconds: float) -> float:
    """Largest error of a joint over some time, rad."""
    found = 0.0
    for _ in range(round(seconds * 100)):
        lab.run(0.01)
        found = max(found, float(np.abs(lab.state.q - lab.desired.q).max()))
    return found


def test_a_posture_is_waited_for_and_the_default_posture_is_that_of_the_file(lab: Lab) -> None:
    """SL checks 18 and 20."""
    lab.go_to({"R_EB": 1.2, "R_SFE": 0.3}, inverse_dynamics=True)
    assert lab.task is None
    assert lab.desired.q[[0, 1, 3]] == pytest.approx([0.3, -0.3, 1.2])
    assert lab.state.q == pytest.approx(lab.desired.q, abs=0.03)
    lab.go_default(inverse_dynamics=True)
    assert np.array_equal(lab.desired.q, DEFAULT)
    lab.run(1.0)
    assert lab.state.q == pytest.approx(DEFAULT, abs=0.005)


def test_a_task_may_move_the_robot_while_it_prepares(lab: Lab) -> None:
    """SL check 20: inside init; and redo repeats the task, not the motion before it."""

    class Prepared(Task):
        native = True

        def init(self, lab: Any) -> None:
            lab.go_to({"R_EB": 1.0}, inverse_dynamics=True)
            self.seen = lab.desired.q.copy()

        def run(self, t: Any, state: Any, desired: Any) -> None:
            desired.q[0] = 0.05

    task = Prepared()
    lab.add(task)
    assert lab.start("prepared")
    assert task.seen[3] == 1.0
    assert lab.task == "prepared"
    lab.run(0.1)
    assert lab.desired.q[[0, 3]] == pytest.approx([0.05, 1.0])
    with pytest.raises(Error, match="'prepared' runs"):
        lab.go_default()
    lab.freeze()
    assert lab.redo()
    assert lab.task == "prepared"


def test_settings_are_those_of_a_start_and_kept_by_redo(lab: Lab) -> None:
    lab.start("step", joint="R_EB", size=0.1, duration=0.02)
    lab.run(0.1)
    assert lab.desired.q[3] == pytest.approx(1.67)
    lab.redo()
    lab.run(0.1)
    assert lab.desired.q[3] == pytest.approx(1.77)
    lab.start("step")  # the first joint again, and the last size
    lab.run(0.1)
    assert lab.desired.q[[0, 3]] == pytest.approx([0.1, 1.77])


def test_inverse_dynamics_on_the_way_tracks_more_tightly(lab: Lab) -> None:
    """SL check 21."""
    errors = {}
    for helped in (False, True):
        lab.reset()
        lab.run(1.0)
        lab.start("goto", target={"R_EB": 1.0, "R_SFE": 0.4}, inverse_dynamics=helped, speed=0.4)
        lab.run(0.7)  # over the start
        errors[helped] = worst(lab, 0.5)
        assert lab.task == "goto"
        lab.freeze()
    assert errors[True] < 0.2 * errors[False]


def test_torques_of_dynamics_are_counted_once_and_kept_at_the_end(lab: Lab) -> None:
    lab.mode("invdyn")
    lab.run(1.0)
    held = lab.desired.uff.copy()
    assert np.abs(held).max() > 1.0
    lab.start("none")
    lab.run(0.1)
    assert lab.desired.uff == pytest.approx(held, abs=1e-9)
    lab.freeze()
    lab.mode("motor")
    lab.run(0.1)
    assert lab.desired.uff == pytest.approx(held, abs=1e-9)
    lab.go_to({"R_EB": 1.5}, inverse_dynamics=True)
    assert np.abs(lab.desired.uff - held).max() < 0.5


def test_the_hand_of_the_moving_arm_stays_on_its_line(lab: Lab) -> None:
    """SL check 27: within 1 mm of a straight line, peak speed 1.875 D/T."""
    lab.mode("invdyn")
    lab.run(1.5)
    start = lab.cart_desired["R_HAND"].x.copy()
    goal = start + np.array([0.05, -0.05, 0.1])
    far = float(np.linalg.norm(goal - start))
    along = (goal - start) / far
    assert lab.start("goto-cart", targets={"R_HAND": goal}, duration=1.0)
    off: list[float] = []
    wanted_off: list[float] = []
    speeds: list[float] = []
    while lab.task is not None:
        lab.run(1 / 480)
        for rows, frame in ((off, lab.cart["R_HAND"]), (wanted_off, lab.cart_desired["R_HAND"])):
            way = frame.x - start
            rows.append(float(np.linalg.norm(way - (way @ along) * along)))
        speeds.append(float(np.linalg.norm(lab.cart["R_HAND"].xd)))
    assert len(off) == pytest.approx(481, abs=2)
    assert max(wanted_off) < 1e-6
    assert max(off) < 0.5e-3
    assert max(speeds) == pytest.approx(1.875 * far / 1.0, rel=0.02)
    assert lab.cart_desired["R_HAND"].x == pytest.approx(goal, abs=1e-5)


def test_a_cartesian_motion_is_waited_for_and_leaves_the_mode(lab: Lab) -> None:
    start = lab.cart_desired["R_HAND"]
    goal = [*(start.x + np.array([0.0, 0.03, 0.05])), *start.q]
    lab.go_cartesian({"R_HAND": goal}, duration=0.5)
    assert (lab.task, lab.servo_mode) == (None, "motor")
    reached = lab.cart_desired["R_HAND"]
    assert reached.x == pytest.approx(goal[:3], abs=1e-5)
    assert abs(reached.q @ start.q) == pytest.approx(1.0, abs=1e-8)


def test_a_goal_out_of_reach_is_told(lab: Lab) -> None:
    with pytest.raises(Error, match=r"R_HAND stays .* m from its goal"):
        lab.go_cartesian({"R_HAND": lab.cart_desired["R_HAND"].x + np.array([1.0, 0, 0])})
    assert (lab.task, lab.stopped) == (None, None)
    low = [joint.lower for joint in lab.config.joints]
    high = [joint.upper for joint in lab.config.joints]
    assert ((lab.desired.q >= low) & (lab.desired.q <= high)).all()


def test_joints_are_commanded_in_the_cartesian_mode_where_there_is_no_target(lab: Lab) -> None:
    lab.mode("cart")
    lab.go_to({"R_EB": 1.3})
    assert lab.desired.q[3] == 1.3
    lab.run(0.2)
    assert np.array_equal(lab.desired.q, [*DEFAULT[:3], 1.3, *DEFAULT[4:]])


def test_sines_of_the_sample_file_are_followed(lab: Lab) -> None:
    """SL check 22 with the moving arm."""
    assert lab.start("sine")
    lab.run(0.5)
    peak = np.zeros(10)
    for _ in range(240):
        lab.run(1 / 240)
        peak = np.maximum(peak, np.abs(lab.desired.u))
    assert peak == pytest.approx(0.62832, abs=1e-3)
    assert worst(lab, 0.5) < 0.03


def test_what_was_recorded_is_played_again(lab: Lab, tmp_path: Path) -> None:
    """SL checks 24 and 26 from the recorder to the arm: a dNNNNN of 96 Hz at the servo's rate."""
    lab.folder = tmp_path
    lab.recorder.configure(rate=96, duration=0.5)
    lab.start("sine")
    lab.recorder.start()
    lab.run(0.6)
    lab.freeze()
    file = lab.recorder.save()
    recorded = lab.recorder.last
    lab.reset()
    lab.start("trajectory", file=file.name, tolerance=0.1)
    first, ticks = lab.desired.q.copy(), 0
    while lab.task is not None:
        lab.run(1 / 480)
        ticks += 1
    wanted = np.array([recorded[f"{name}_des_th"][[0, -1]] for name in lab.config.names])
    assert first == pytest.approx(wanted[:, 0], abs=1e-6)
    assert lab.desired.q == pytest.approx(wanted[:, 1], abs=1e-6)
    assert ticks == pytest.approx((len(recorded) - 1) * 5, abs=3)


def test_weights_of_the_rest_posture_are_refused_and_warned_of_in_words() -> None:
    """SL check 30 for the servo: 0 is refused, and w dt >= 1 warned of from a warm cache too."""
    config = lab_config("sl-arm")

    def weighing(weight: float) -> LabConfig:
        first, *others = config.joints
        return replace(config, joints=(replace(first, weight=weight), *others))

    with pytest.raises(BlockError, match="must be greater than 0; got R_SFE: 0"):
        inverse_kinematics_servo(weighing(0.0))
    with pytest.warns(RuntimeWarning, match=r"overshot at each tick \(R_SFE: 600/s\)"):
        check_weights(weighing(600.0))
