"""The tasks that every laboratory has, run at ticks of the slot: in Python and compiled."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.lab import Task
from linkwright.lab.builtin import builtin_tasks
from linkwright.lab.builtin.frames import goal_numbers
from linkwright.lab.builtin.trajectories import resampled
from linkwright.lab.builtin.waves import Excite, ranged_robot
from linkwright.lab.config import LabConfig
from linkwright.lab.files.trajectories import JointSamples, JointTrajectory, trajectory_recording
from linkwright.lab.running import task_function
from linkwright.lab.slot import FRAME, SERIAL, SlotLayout
from linkwright.lab.sources import lab_config
from linkwright.motion import Sines
from linkwright.recording.recording import Recording
from linkwright.robots import Robot
from linkwright.robots.identification import excite
from linkwright.robots.identification.excitation import Excitation

Array = NDArray[np.float64]

CONFIG: LabConfig = lab_config("sl-arm")
TASKS = builtin_tasks(CONFIG)
DEFAULT = np.array([joint.default for joint in CONFIG.joints])
EB = CONFIG.names.index("R_EB")
HAND = np.array([0.3, 0.1, -0.2])


class Started:
    """Stands in for a recorder: whether it runs."""

    active = False

    def start(self) -> None:
        self.active = True


class StandIn:
    """A laboratory whose robot is where it is wanted; tasks are called as the slot calls them."""

    def __init__(self, folder: Path | None = None) -> None:
        self.config, self.folder = CONFIG, folder
        self.layout = SlotLayout(CONFIG)
        self.arguments = np.zeros(self.layout.argument_count)
        self.results = np.zeros(self.layout.result_count)
        self.servo_mode = "motor"
        self.recorder = Started()
        self.moved: list[tuple[Array, bool]] = []
        self.result("des_q")[:] = DEFAULT
        self.argument("cart").reshape(-1, FRAME)[0, [0, 1, 2, 9]] = [*HAND, 1.0]

    def argument(self, port: str) -> Array:
        return self.arguments[self.layout.argument[port]]

    def result(self, port: str) -> Array:
        return self.results[self.layout.result[port]]

    def mode(self, name: str) -> None:
        self.servo_mode = name

    def go_to(self, q: Array, inverse_dynamics: bool = False) -> None:
        self.moved.append((np.array(q), inverse_dynamics))
        self.result("des_q")[:] = q

    @property
    def cart_desired(self) -> dict[str, Any]:
        class Frame:
            x = self.argument("cart")[:3]

        return {"R_HAND": Frame}

    def start(self, name: str, native: bool, **values: Any) -> Task:
        task = TASKS[name]()
        task.set(values)
        assert task.init(self) is not False
        if not native:
            type(task).native, kept = False, type(task).native
            try:
                self.function = task_function(task, self.layout)
            finally:
                type(task).native = kept
        else:
            self.function = task_function(task, self.layout)
            assert self.function.address
        self.argument(SERIAL)[:] += 1
        self.result("target")[:] = self.argument("cart")
        self.argument("parameter")[:] = task.numbers["parameter"]
        return task

    def tick(self) -> None:
        for key in ("q", "u", "a"):
            self.argument(key)[:] = self.result(f"des_{key}")
        for key in ("q", "u", "a", "uff", "uex"):
            self.argument(f"now_{key}")[:] = self.result(f"des_{key}")
        self.function.call(0.0, self.arguments, self.results)

    def ticks(self, most: int, *ports: str) -> list[Array]:
        """Rows of results at each tick, until the task is done."""
        rows: list[list[Array]] = [[] for _ in ports]
        for _ in range(most):
            self.tick()
            for row, port in zip(rows, ports, strict=True):
                row.append(self.result(port).copy())
            if self.result("done")[0]:
                break
        return [np.array(row) for row in rows]


STARTS: dict[str, dict[str, Any]] = {
    "none": {},
    "goto": {"R_EB": 1.2, "R_SFE": 0.3, "R_EB_uff": 2.0},
    "sine": {},
    "goto-cart": {"targets": {"R_HAND": [0.1, 0.2, 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]}},
    "track": {"approach": 0.3},
    "step": {"joint": "R_EB", "size": 0.2, "duration": 0.1},
    "excite": {"trials": 1, "period": 1.0, "harmonics": 2},
}


@pytest.fixture(autouse=True)
def _quick_excitation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the regressor of ten joints, which identification has tests for."""

    def quick(robot: Robot, *, period: float, **_: object) -> Excitation:
        middle = robot.limits.mean(axis=1)
        sines = [[(0.1, 0.3 * k, 1 / period)] for k in range(len(middle))]
        return Excitation(Sines(list(middle), sines), period, 1.0)

    if "identification" not in request.node.name:
        monkeypatch.setattr("linkwright.robots.identification.excite", quick)


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.native])
def test_a_task_is_the_same_in_python_and_compiled(name: str) -> None:
    found = []
    for native in (True, False):
        lab = StandIn()
        lab.argument("blobs")[:10] = [0.2, 0.2, -0.1, 0.3, 0.0, 0.1, 0.0, 0.1, 0.0, 1.0]
        lab.start(name, native, **STARTS[name])
        lab.ticks(120)
        found.append(lab.results.copy())
    assert found[0] == pytest.approx(found[1], abs=1e-11)


def test_goto_is_linear_in_position_and_feedforward_at_constant_speed() -> None:
    """SL check 19."""
    lab = StandIn()
    lab.result("des_uff")[EB] = -1.0
    lab.start("goto", True, target={"R_EB": 1.07, "R_SFE": 0.2}, uff={"R_EB": 3.0}, speed=0.5)
    q, u, uff = lab.ticks(2000, "des_q", "des_u", "des_uff")
    t = np.arange(len(q)) / 480
    assert len(q) == 481  # 0.5 rad at 0.5 rad/s
    assert q[:, EB] == pytest.approx(1.57 - 0.5 * t, abs=1e-9)
    assert q[:, 0] == pytest.approx(0.2 * t, abs=1e-9)
    assert u[:-1, EB] == pytest.approx(-0.5, abs=1e-7)
    assert u[-1] == pytest.approx(0)
    assert uff[:, EB] == pytest.approx(-1.0 + 4.0 * t, abs=1e-8)
    assert q[-1, EB] == 1.07


def test_goto_without_a_target_goes_to_the_default_posture() -> None:
    """SL check 18 (as far as the wanted posture goes)."""
    lab = StandIn()
    lab.result("des_q")[:] = DEFAULT + 0.1
    lab.start("goto", True)
    (q,) = lab.ticks(2000, "des_q")
    assert np.array_equal(q[-1], DEFAULT)
    with pytest.raises(InputError, match="did you mean 'R_EB'"):
        lab.start("goto", True, target={"R_EBB": 1.0})


def test_sines_of_the_sample_file_have_their_peaks() -> None:
    """SL check 22: peaks .62832 rad/s and 3.94784 rad/s^2, from where the motion begins."""
    lab = StandIn()
    lab.start("sine", True)
    assert lab.servo_mode == "invdyn"
    assert lab.recorder.active
    (posture, by_dynamics), *_ = lab.moved
    assert by_dynamics
    assert posture[[0, 1, EB]] == pytest.approx([0.3, -0.4, 1.57])
    q, u, a = lab.ticks(480, "des_q", "des_u", "des_a")
    assert np.abs(u).max(axis=0) == pytest.approx(0.62832, abs=1e-5)
    assert np.abs(a).max(axis=0) == pytest.approx(3.94784, abs=1e-4)
    assert q.max(axis=0) - q.min(axis=0) == pytest.approx(0.2, abs=1e-6)


def test_joints_that_a_sine_file_does_not_list_hold_their_default(tmp_path: Path) -> None:
    """SL check 22; three sines at most (SL check 23)."""
    three = "R_EB 3 1.5  0.1 0 1  0.05 0.5 2  0.02 1 3\n"
    (tmp_path / "one.sine").write_text(three)
    lab = StandIn(tmp_path)
    lab.start("sine", True, file="one.sine")
    q, _ = lab.ticks(480, "des_q", "des_u")
    t = np.arange(480) / 480
    wanted = 1.5 + sum(
        a * np.sin(2 * np.pi * f * t + p) for a, p, f in ((0.1, 0, 1), (0.05, 0.5, 2), (0.02, 1, 3))
    )
    assert q[:, EB] == pytest.approx(wanted, abs=1e-12)
    others = np.delete(np.arange(10), EB)
    assert np.array_equal(q[:, others], np.tile(DEFAULT[others], (480, 1)))
    (tmp_path / "four.sine").write_text("R_EB 4 1.5" + "  0.1 0 1" * 4)
    with pytest.raises(InputError, match="4 sines"):
        lab.start("sine", True, file="four.sine")
    (tmp_path / "wide.sine").write_text("R_EB 1 1.5  0.9 0 1")
    with pytest.raises(InputError, match=r"R_EB reach from 0.6 to 2.4 rad"):
        lab.start("sine", True, file="wide.sine")
    with pytest.raises(InputError, match=r"did you mean 'default\.sine'"):
        lab.start("sine", True, file="defalt.sine")


def trajectory(rate: float = 100.0, seconds: float = 1.0, size: float = 0.3, **more: Array) -> Any:
    t = np.arange(round(rate * seconds) + 1) / rate
    return JointTrajectory(
        rate, {"R_EB": JointSamples(1.2 + size * np.sin(np.pi * t) ** 2, **more)}
    )


def test_a_recording_is_resampled_with_its_ends() -> None:
    """SL check 24: 100 Hz to 480 Hz."""
    t = np.linspace(0, 1, 101)
    given = JointTrajectory(100.0, {"R_EB": JointSamples(1.2 + 0.3 * t**2)})
    table = resampled(given, CONFIG, 1 / 480)
    fine = np.linspace(0, 1, 481)
    assert len(table.q) == 481
    assert table.q[[0, -1], EB].tolist() == [1.2, 1.5]
    assert table.q[:, EB] == pytest.approx(1.2 + 0.3 * fine**2, abs=1e-9)
    assert table.u[:, EB] == pytest.approx(0.6 * fine, abs=1e-6)
    assert table.a[:, EB] == pytest.approx(0.6, abs=1e-3)
    odd = resampled(trajectory(rate=100.0, seconds=0.33, size=0.2), CONFIG, 1 / 480)
    assert odd.q[-1, EB] == trajectory(rate=100.0, seconds=0.33, size=0.2).joints["R_EB"].q[-1]
    even = np.linspace(0, 0.33, 159)  # 158.4 ticks, shortened to 158
    assert odd.q[:, EB] == pytest.approx(1.2 + 0.2 * np.sin(np.pi * even) ** 2, abs=1e-6)
    pace = 158.4 / 158
    assert odd.u[:, EB] == pytest.approx(0.2 * np.pi * np.sin(2 * np.pi * even) * pace, abs=1e-4)
    for seed in range(5):
        rough = np.random.default_rng(seed).uniform(0.6, 2.2, 34)
        table = resampled(JointTrajectory(100.0, {"R_EB": JointSamples(rough)}), CONFIG, 1 / 480)
        assert table.q[[0, -1], EB].tolist() == rough[[0, -1]].tolist()


def save(folder: Path, name: str, given: JointTrajectory) -> None:
    made: Recording = trajectory_recording(given)
    made.save(folder / name)


def test_a_motion_is_repeated_where_its_last_row_is_its_first(tmp_path: Path) -> None:
    """SL check 25."""
    there_and_back = JointSamples(np.array([1.2, 1.3, 1.4, 1.3, 1.2]))
    save(tmp_path, "round.csv", JointTrajectory(100.0, {"R_EB": there_and_back}))
    lab = StandIn(tmp_path)
    lab.start("trajectory", False, file="round.csv")
    (q,) = lab.ticks(200, "des_q")
    assert len(q) == 200  # it goes on
    assert np.array_equal(q[19:38], q[:19])
    one_way = JointSamples(np.array([1.2, 1.3, 1.4, 1.3, 1.21]))
    both = {"R_EB": there_and_back, "R_WR": one_way}
    save(tmp_path, "one_way.csv", JointTrajectory(100.0, both))
    lab.start("trajectory", False, file="one_way.csv")
    (q,) = lab.ticks(200, "des_q")
    assert len(q) == 20
    assert q[-1, CONFIG.names.index("R_WR")] == 1.21


def test_feedforward_comes_from_the_file_from_dynamics_or_from_nowhere(tmp_path: Path) -> None:
    """SL check 26."""
    fed = trajectory(uff=np.linspace(0, 2, 101))
    save(tmp_path, "fed.csv", fed)
    save(tmp_path, "bare.csv", trajectory())
    lab = StandIn(tmp_path)
    for choice, mode in (("file", "motor"), ("online", "invdyn"), ("none", "motor")):
        lab.start("trajectory", False, file="fed.csv", feedforward=choice)
        (uff,) = lab.ticks(600, "des_uff")
        assert lab.servo_mode == mode
        assert lab.moved[-1][1] == (choice != "none")
        assert uff[240, EB] == pytest.approx(1.0 if choice == "file" else 0.0, abs=1e-6)
    with pytest.raises(InputError, match="no feedforward commands of R_EB"):
        lab.start("trajectory", False, file="bare.csv", feedforward="file")
    with pytest.raises(InputError, match="choose one of file, online, none"):
        lab.start("trajectory", False, file="bare.csv", feedforward="both")
    with pytest.raises(InputError, match="needs a file"):
        lab.start("trajectory", False)


def test_a_motion_that_is_lost_aborts_with_the_joint_and_the_error(tmp_path: Path) -> None:
    save(tmp_path, "swing.csv", trajectory())
    lab = StandIn(tmp_path)
    lab.start("trajectory", False, file="swing.csv", tolerance=0.05)
    lab.ticks(10)
    lab.argument("q")[EB] += 0.06
    with pytest.raises(Error, match=r"R_EB is 0.06.* rad off .*tolerance of 0.05"):
        lab.function.call(0.0, lab.arguments, lab.results)
    save(tmp_path, "far.csv", trajectory(size=1.3))
    with pytest.raises(InputError, match=r"R_EB goes from 1.2 to 2.5 rad, and its range"):
        lab.start("trajectory", False, file="far.csv")


def test_goto_cart_is_a_straight_line_of_minimum_jerk() -> None:
    """SL check 27 (as far as the wanted motion goes): peak speed 1.875 D/T."""
    lab = StandIn()
    goal = HAND + np.array([0.1, -0.05, 0.2])
    lab.start("goto-cart", True, targets={"R_HAND": goal}, duration=0.5)
    assert lab.servo_mode == "cart"
    target, status = lab.ticks(1000, "target", "target_status")
    x, v = target[:, :3], target[:, 3:6]
    assert len(x) == 241
    assert status[-1].tolist() == [1, 1, 1, 0, 0, 0]
    s = np.arange(241) / 240
    wanted = HAND + (goal - HAND) * (10 * s**3 - 15 * s**4 + 6 * s**5)[:, None]
    assert x == pytest.approx(wanted, abs=1e-9)
    far = float(np.linalg.norm(goal - HAND))
    assert np.linalg.norm(v, axis=1).max() == pytest.approx(1.875 * far / 0.5, rel=1e-6)
    assert np.array_equal(x[-1], goal)


def test_a_goal_that_changes_bends_the_way_without_a_jump() -> None:
    lab = StandIn()
    lab.start("goto-cart", True, x=0.5, duration=1.0)
    lab.ticks(240)
    place = TASKS["goto-cart"].places["parameter"]["R_HAND_y"]
    lab.argument("parameter")[place] = 0.4
    before = lab.result("target").copy()
    (target,) = lab.ticks(1000, "target")
    assert np.abs(target[0] - before)[3:6].max() < 0.02
    assert target[-1, :3] == pytest.approx([0.5, 0.4, HAND[2]])
    assert np.abs(np.diff(target[:, 6:9], axis=0)).max() < 0.3


def test_orientation_is_led_to_the_goal_too() -> None:
    lab = StandIn()
    turned = np.eye(4)
    turned[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    turned[:3, 3] = HAND
    lab.start("goto-cart", True, targets={"R_HAND": turned}, duration=1.0)
    target, status = lab.ticks(1000, "target", "target_status")
    angle = 2 * np.arctan2(target[:, 12], target[:, 9])
    s = np.arange(481) / 480
    assert angle == pytest.approx(np.pi / 2 * (10 * s**3 - 15 * s**4 + 6 * s**5), abs=1e-8)
    assert target[240, 15] == pytest.approx(1.875 * np.pi / 2, rel=1e-6)
    assert status[-1].tolist() == [1.0] * 6


def test_goals_that_are_none_are_refused() -> None:
    lab = StandIn()
    with pytest.raises(InputError, match="did you mean 'R_HAND'"):
        lab.start("goto-cart", True, targets={"R_HAN": HAND})
    with pytest.raises(InputError, match="not a goal of an end-effector"):
        goal_numbers([1, 2])
    with pytest.raises(InputError, match="quaternion of length 2"):
        goal_numbers([0, 0, 0, 2, 0, 0, 0])


def test_a_moving_blob_is_met_and_followed() -> None:
    lab = StandIn()
    lab.start("track", True, approach=0.5)
    blob, speed = lab.argument("blobs"), np.array([0.1, 0.0, -0.05])
    ends = []
    for k in range(960):
        blob[:10] = [*(HAND + np.array([0.05, 0.1, 0]) + speed * k / 480), *speed, 0, 0, 0, 1]
        lab.tick()
        ends.append(lab.result("target")[:3] - blob[:3])
    away = np.linalg.norm(ends, axis=1)
    assert away[0] > 0.1
    assert away[400:].max() < 1e-3
    blob[9] = 0.0
    lab.ticks(480)
    assert np.abs(lab.result("target")[3:6]).max() < 1e-3  # comes to rest where it is not seen
    assert lab.result("target_status").tolist() == [1, 1, 1, 0, 0, 0]


def test_a_step_is_of_one_joint() -> None:
    lab = StandIn()
    lab.start("step", True, joint="R_EB", size=0.1, duration=0.05)
    (q,) = lab.ticks(1000, "des_q")
    assert len(q) == 25
    assert q[:, EB] == pytest.approx(1.67)
    assert np.array_equal(np.delete(q[-1], EB), np.delete(DEFAULT, EB))
    with pytest.raises(InputError, match="did you mean 'R_EB'"):
        lab.start("step", True, joint="REB")


def test_a_motion_that_excites_stays_within_ranges_and_ends() -> None:
    lab = StandIn()
    lab.start("excite", True, **STARTS["excite"])
    q, u = lab.ticks(1000, "des_q", "des_u")
    low = np.array([joint.lower for joint in CONFIG.joints])
    high = np.array([joint.upper for joint in CONFIG.joints])
    assert len(q) == 481
    assert ((q >= low) & (q <= high)).all()
    assert np.abs(u).max(axis=0).min() > 0.01


def test_the_motion_that_excites_is_that_of_identification() -> None:
    config = lab_config("double-pendulum")
    robot = ranged_robot(config)
    best = excite(robot, period=2.0, harmonics=2, trials=3, seed=1)

    task = Excite()
    task.set({"period": 2.0, "harmonics": 2, "trials": 3, "seed": 1})
    assert task.waves(SimpleNamespace(config=config)) == best.motion
