"""The simulated world of a laboratory, its servos of one's own, and other threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import linkwright as lw
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.lab import Lab
from linkwright.lab.life import SlotLife
from linkwright.lab.tasks import Task
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop

G = 9.81
EYES = VisionConfig(("ball",), cameras=0)
SERVOS = {"task": ("shoulder", "elbow"), "eye": ("gaze",)}
ROUND = (0.02, 0.02, 0.02, 0.0, 0.0, 0.0)


def body(base: Literal["fixed", "floating"] = "fixed", **more: Any) -> LabConfig:
    """A trunk with an arm of two joints and an eye, small enough to be derived in a moment."""
    links = (
        Link("trunk", Mass(5.0, (0.0, 0.0, 0.1), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))),
        Link("upper", Mass(1.0, (0.2, 0.0, 0.0), ROUND)),
        Link("lower", Mass(0.5, (0.15, 0.0, 0.0), ROUND)),
        Link("eye", Mass(0.1, (0.0, 0.0, 0.02), (1e-3, 1e-3, 1e-3, 0.0, 0.0, 0.0))),
    )
    places = [
        replace(PLACE, position=x) for x in ((0.0, 0.1, 0.2), (0.4, 0.0, 0.0), (0.0, 0.0, 0.4))
    ]
    joints = tuple(
        LinkJoint(name, "revolute", parent, child, place, axis=axis)
        for name, parent, child, place, axis in (
            ("shoulder", "trunk", "upper", places[0], (0.0, 1.0, 0.0)),
            ("elbow", "upper", "lower", places[1], (0.0, 1.0, 0.0)),
            ("gaze", "trunk", "eye", places[2], (0.0, 0.0, 1.0)),
        )
    )
    gains: dict[str, Any] = {"kp": 60.0, "kd": 6.0}
    given: dict[str, Any] = {
        "rate": 1000.0,
        "ratios": {"task": 2, "eye": 5},
        "servos": SERVOS,
        **more,
    }
    return LabConfig(
        "body",
        Description("body", links, joints),
        (
            JointConfig("shoulder", -2.0, 2.0, default=0.3, **gains),
            JointConfig("elbow", -2.0, 2.0, default=0.4, **gains),
            JointConfig("gaze", -1.0, 1.0, kp=2.0, kd=0.2),
        ),
        base=base,
        end_effectors=(EndEffector("HAND", "lower", x=(0.3, 0.0, 0.0)),),
        vertices={"TIP": "lower"},
        **given,
    )


PLACE = LinkJoint("", "revolute", "", "").place


@pytest.fixture(scope="module")
def floating() -> Iterator[Lab]:
    """A body that floats."""
    with Lab(body("floating", vision=EYES)) as made:
        yield made


@pytest.fixture(scope="module")
def fixed() -> Iterator[Lab]:
    """A body on a stand."""
    with Lab(body(vision=EYES)) as made:
        yield made


def test_a_base_falls_as_gravity_says(floating: Lab) -> None:
    """SL check 38: 9.81 m/s^2, and what setG sets."""
    lab = floating
    lab.reset()
    lab.run(0.1)
    assert lab.base.xdd == pytest.approx([0, 0, -G], abs=1e-6)
    assert lab.base.xd[2] == pytest.approx(-G * 0.1, rel=1e-9)
    assert lab.base.x[2] == pytest.approx(-G * 0.1**2 / 2, rel=0.02)  # as the method steps
    lab.set_gravity([1.0, -2.0, 0.5])
    lab.reset()
    lab.run(0.1)
    assert lab.base.xdd == pytest.approx([1.0, -2.0, 0.5], abs=1e-6)
    lab.set_gravity([0.0, 0.0, 0.0])
    lab.reset()
    lab.run(0.5)
    assert np.abs(lab.base.xdd).max() < 1e-9
    assert np.abs(lab.state.tau).max() < 1e-9
    assert list(lab.gravity) == [0.0, 0.0, 0.0]
    lab.set_gravity([0.0, 0.0, -G])


def test_a_laboratory_that_is_reset_begins_as_it_began(fixed: Lab) -> None:
    """What it senses at its time zero, and what comes of that, is that of the first time."""
    lab = fixed
    lab.reset()
    lab.run(0.0)
    assert np.abs(lab.state.u).max() == 0.0
    assert np.abs(lab.loop.latest().x).max() == pytest.approx(
        max(abs(float(s.value)) for s in lab.loop.session.phases.x), abs=1e-12
    )
    first = []
    for _ in range(2):
        lab.run(0.02)
        first.append((lab.state.q.copy(), lab.state.a.copy()))
        lab.run(0.1)
        lab.reset()
    for a, b in zip(*first, strict=True):
        assert a == pytest.approx(b, rel=1e-6, abs=1e-12)


def test_joints_of_a_held_base_move_as_those_of_a_fixed_robot(floating: Lab, fixed: Lab) -> None:
    """SL check 39: also where the base is caught in its fall."""
    for lab in (floating, fixed):
        lab.reset()
    floating.freeze_base()
    for lab in (floating, fixed):
        lab.reset()
        lab.run(0.5)
    assert floating.state.q == pytest.approx(fixed.state.q, abs=1e-9)
    assert floating.state.tau == pytest.approx(fixed.state.tau, abs=1e-8)
    assert np.abs(floating.base.x).max() < 1e-9
    floating.freeze_base(False)
    floating.run(0.1)
    assert floating.base.x[2] < -0.02
    floating.freeze_base()
    floating.run(0.2)
    assert np.abs(floating.base.x).max() < 1e-9
    assert np.abs(floating.base.xd).max() < 1e-9
    floating.freeze_base(False)
    with pytest.raises(lw.Error, match="is fixed"):
        fixed.freeze_base()


def test_a_load_adds_its_weight_and_inverse_dynamics_knows_it(fixed: Lab) -> None:
    """SL checks 34 and 35: m g J_z, and uex shifts uff."""
    lab = fixed
    lab.reset()
    lab.mode("invdyn")
    lab.run(2.0)
    before = lab.desired.uff
    lab.set_end_effector("HAND", mass=0.5)
    lab.run(2.0)
    jacobian = lab.robot.jacobian(lab.desired.q, "lower", reference="local-world-aligned")
    arm = lab.cart_desired["HAND"].x - lab.robot.pose(lab.desired.q, "lower")[:3, 3]
    up = jacobian[2] + np.cross(jacobian[3:].T, arm)[:, 2]
    assert lab.desired.uff - before == pytest.approx(0.5 * G * up, abs=1e-9)
    assert np.abs(lab.state.q - lab.desired.q).max() < 1e-6

    class Push(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.uex = np.array([1.0, -0.5, 0.0])

    lab.add(Push)
    loaded = lab.desired.uff
    lab.start("push")
    lab.run(0.1)
    assert lab.desired.uff - loaded == pytest.approx([1.0, -0.5, 0.0], abs=1e-12)
    lab.freeze()
    lab.mode("motor")
    lab.set_end_effector("HAND", mass=0.0)
    with pytest.raises(lw.InputError, match="no end-effector 'FOOT'"):
        lab.set_end_effector("FOOT", mass=1.0)


def test_end_effectors_accelerate_as_their_joints_say(fixed: Lab) -> None:
    """xdd = J qdd + Jdot qd, with what was measured."""
    lab = fixed
    lab.reset()
    lab.set_end_effector("HAND", x=(0.3, 0.1, -0.05))
    lab.run(0.15)  # to a tick of all servos but vision
    state, hand = lab.state, lab.cart["HAND"]
    h = 1e-5

    def at(t: float) -> np.ndarray[Any, Any]:
        q = state.q + state.u * t + state.a * t * t / 2
        pose = lab.robot.pose(q, "lower")
        return np.asarray(pose[:3, :3] @ [0.3, 0.1, -0.05] + pose[:3, 3])

    assert hand.x == pytest.approx(at(0), abs=1e-12)
    assert hand.xd == pytest.approx((at(h) - at(-h)) / (2 * h), abs=1e-8)
    assert hand.xdd == pytest.approx((at(h) - 2 * at(0) + at(-h)) / h**2, abs=1e-3)
    assert np.linalg.norm(hand.xdd) > 0.1
    lab.set_end_effector("HAND", x=(0.3, 0.0, 0.0))


def test_controllers_and_filters_change_during_a_run(fixed: Lab) -> None:
    lab = fixed
    lab.reset()
    lab.controller("pd")
    lab.run(3.0)
    weight = lab.robot.inverse_dynamics(lab.state.q, 0 * lab.state.q, 0 * lab.state.q)
    gains = np.array([joint.kp for joint in lab.config.joints])
    assert (lab.desired.q - lab.state.q) * gains == pytest.approx(weight, abs=1e-4)
    assert lab.filtered
    lab.filters(False)
    assert not lab.filtered
    lab.filters(True)
    with pytest.raises(lw.InputError, match="no controller 'pidf'; did you mean"):
        lab.controller("pidf")
    lab.controller("pidff")


def test_a_servo_of_ones_own_moves_its_joints_beside_the_task(fixed: Lab) -> None:
    """SL checks 1, 2 and 5: at its ratio, and no joint of another servo is overwritten."""
    lab = fixed
    lab.reset()

    class Look(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.q = 0.5 * np.sin(t)

    class Reach(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.q = 0.2

    lab.add(Look)
    lab.add(Reach)
    lab.start("look", servo="eye")
    lab.start("reach")
    assert (lab.task, lab.running("eye")) == ("reach", "look")
    lab.run(1.0)
    assert lab.desired.q == pytest.approx([0.2, 0.2, 0.5 * np.sin(0.99)], abs=0.004)
    assert {name: servo.ticks for name, servo in lab.counters.items()} == {
        "motor": 1000,
        "task": 500,
        "invdyn": 500,
        "invkin": 500,
        "eye": 200,
        "vision": 60,
    }
    lab.freeze()
    lab.run(0.1)
    assert (lab.task, lab.running("eye")) == (None, None)
    assert not np.any(lab.desired.u)
    with pytest.raises(lw.InputError, match="gaze is commanded by the task servo and by the eye"):
        Lab(body(servos={"eye": ("gaze",)}))


def test_a_servo_of_ones_own_feeds_forward_while_no_task_runs(fixed: Lab) -> None:
    """SL check 5: feedforward of a joint is kept where the servo that commands it is frozen."""
    lab = fixed
    lab.reset()

    class Stare(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.q, desired.uff = 0.1, 0.2 + t

    lab.add(Stare)
    lab.start("stare", servo="eye")
    lab.run(0.1)
    assert lab.task is None
    assert lab.desired.uff == pytest.approx([0.0, 0.0, 0.3], abs=0.006)
    lab.freeze()
    lab.run(0.1)
    assert lab.desired.uff == pytest.approx([0.0, 0.0, 0.3], abs=0.006)


def test_inverse_dynamics_on_a_light_base_that_floats_dies_out(floating: Lab) -> None:
    """Torques push the base, and its acceleration comes back in the torques a tick later."""
    lab = floating
    lab.reset()

    class Stay(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.q = np.array([0.3, 0.4, 0.0])

    lab.add(Stay)
    lab.mode("invdyn")
    lab.start("stay")
    lab.run(1.0)
    assert lab.base.xdd == pytest.approx([0, 0, -G], abs=0.01)  # nothing pulls in free fall
    assert np.abs(lab.desired.uff).max() < 0.01
    lab.freeze()
    lab.mode("motor")


def test_a_servo_sees_what_others_published_at_the_tick_before(fixed: Lab) -> None:
    """SL check 3: a task works on a copy, and what it is told is all of one tick."""
    lab = fixed
    lab.reset()

    class Watch(Task):
        def init(self, lab: Lab) -> None:
            self.seen: list[Any] = []

        def run(self, t: float, state: Any, desired: Any) -> None:
            desired.q = 0.1 + t
            told = state.desired.q.copy()
            with pytest.raises(ValueError, match="read-only"):
                state.q[0] = 5.0
            self.seen.append((told, desired.q.copy()))

    watch = Watch()
    lab.add(watch)
    lab.start("watch")
    lab.run(0.1)
    told, given = (np.array(x) for x in zip(*watch.seen, strict=True))
    assert np.array_equal(told[1:, 0], given[:-1, 0])
    assert not np.array_equal(told[1:, 0], given[1:, 0])
    lab.freeze()


def test_commands_come_from_other_threads_while_the_laboratory_follows_the_clock(
    fixed: Lab,
) -> None:
    """SL check 14: a change beside the loop stalls nothing."""
    lab = fixed
    lab.reset()
    release = threading.Event()

    class Slow(Task):
        def init(self, lab: Lab) -> None:
            release.wait(20)

    lab.add(Slow)
    lab.pace(1.0)
    try:
        starter = threading.Thread(target=lab.start, args=("slow",))
        starter.start()
        before, limit = lab.tick, time.monotonic() + 20
        while lab.tick < before + 50 and time.monotonic() < limit:
            time.sleep(0.01)
        assert lab.tick >= before + 50
        assert lab.task is None
        with pytest.raises(lw.Error, match="'slow' is being started"):
            lab.start("none")
        release.set()
        starter.join(20)
        assert lab.task == "slow"
        lab.freeze()
        assert lab.task is None
    finally:
        release.set()
        lab.pace(None)
    lab.run(0.1)


def test_a_slow_change_of_a_task_holds_nothing_up(fixed: Lab) -> None:
    """SL check 14: the task's own `change` waits beside the loop, which goes on by the clock."""
    lab = fixed
    lab.reset()
    entered, release = threading.Event(), threading.Event()
    seen = []

    class Thinks(Task):
        count = 0

        def run(self, t: float, state: Any, desired: Any) -> None:
            self.count += 1

        def change(self, lab: Lab) -> None:
            seen.append(self.count)
            entered.set()
            release.wait(20)
            seen.append(self.count)

    lab.add(Thinks)
    lab.pace(1.0)
    try:
        lab.start("thinks")
        asker = threading.Thread(target=lab.change)
        asker.start()
        assert entered.wait(20)
        before, limit = lab.tick, time.monotonic() + 20
        while lab.tick < before + 50 and time.monotonic() < limit:
            time.sleep(0.01)
        assert lab.tick >= before + 50
        assert asker.is_alive()
        release.set()
        asker.join(20)
        assert seen[1] > seen[0]  # the task ran on meanwhile
        assert lab.task == "thinks"
        lab.freeze()
    finally:
        release.set()
        lab.pace(None)


def test_a_laboratory_that_is_late_too_often_freezes(fixed: Lab) -> None:
    """The last command holds, overruns are counted, and patience ends."""
    lab = fixed
    lab.reset()

    class Dawdle(Task):
        def run(self, t: float, state: Any, desired: Any) -> None:
            time.sleep(0.004)

    lab.add(Dawdle)
    lab.patience(3)
    lab.start("dawdle")
    lab.pace(1.0)
    limit = time.monotonic() + 20
    while lab.task is not None and time.monotonic() < limit:
        time.sleep(0.01)
    lab.pace(None)
    assert lab.task is None
    assert lab.counters["task"].overruns >= 3
    lab.patience()


@pytest.mark.parametrize(
    ("every", "late", "frozen"),
    [
        (1, "0111", True),
        (1, "0110110", False),
        (2, "0101010", True),
        (2, "010010010010", False),
        (5, "0100001000010", True),
        (5, "01000001000001", False),
    ],
)
def test_patience_counts_calls_of_the_task_not_ticks_between_them(
    every: int, late: str, frozen: bool
) -> None:
    """A task that is called at some ticks only is late in a row where each call is."""
    system = lw.System(name="slot")
    system.add(SlotLife(every=every), name="life", rate=1000.0)
    loop = PacedLoop(Session(system.phases(), 1e6))
    loop.set({"life.number": 1.0, "life.serial": 1.0, "life.patience": 3.0})
    loop.go_to(0)
    where, count = [s.name for s in loop.session.phases.d].index("life.expired"), 0
    for tick, one in enumerate(late, 1):
        count += int(one)
        loop.set({"life.overruns": float(count)})
        loop.go_to(tick)
    assert loop.latest().d[where] == frozen
