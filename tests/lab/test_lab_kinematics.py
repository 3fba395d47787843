"""What a task asks of its robot: Jacobians, their rates, places and the mass center."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.lab import Task
from linkwright.lab.config import LabConfig
from linkwright.lab.kinematics import rotation
from linkwright.lab.lab import Lab
from linkwright.lab.slot import SlotLayout
from linkwright.lab.sources import lab_config
from linkwright.lab.views import StateView
from tests.seeds import seeds

STEP = 1e-6
SHANK = "front_left_shank"


@cache
def dog() -> LabConfig:
    """A quadruped whose base floats."""
    return lab_config("tests/robots/quadruped.urdf")


@cache
def layout() -> SlotLayout:
    """Its slot, with all that is derived of it."""
    return SlotLayout(dog())


def moved(q: Any, turn: Any, place: Any, u: Any, rate: Any, t: float) -> tuple[Any, Any, Any]:
    """Joints and base after a short time, by the formula of Rodrigues for the turn."""
    omega = rate[3:] * t
    angle = float(np.linalg.norm(omega))
    axis = omega / angle if angle else omega
    w, v = np.cos(angle / 2), np.sin(angle / 2) * axis
    a, b = turn[0], turn[1:]
    turned = np.array([a * w - b @ v, *(a * v + w * b + np.cross(b, v))])
    return q + u * t, turned, place + rotation(turn) @ rate[:3] * t


def seen(q: Any, turn: Any, place: Any, u: Any, rate: Any) -> StateView:
    """What a task is handed in a state."""
    slot = layout()
    arguments = np.zeros(slot.argument_count)
    arguments[slot.argument["q"]], arguments[slot.argument["u"]] = q, u
    R = rotation(turn)
    base = [*place, *(R @ rate[:3]), 0, 0, 0, *turn, *(R @ rate[3:]), 0, 0, 0]
    arguments[slot.argument["base"]] = base
    return StateView(slot, arguments)


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_jacobians_of_a_floating_robot_are_differences_of_places(seed: int) -> None:
    """J u is how a shank and the mass center move, J' how J changes along the motion."""
    random = np.random.default_rng(seed)
    n = len(dog().joints)
    turn = random.normal(size=4)
    state = random.normal(size=n), turn / np.linalg.norm(turn), random.normal(size=3)
    u, rate = random.normal(size=n), random.normal(size=6)
    before, now, after = (seen(*moved(*state, u, rate, t), u, rate) for t in (-STEP, 0.0, STEP))
    speeds = np.concatenate([rate, u])
    places = (after.position(SHANK) - before.position(SHANK)) / (2 * STEP)
    assert now.jacobian(SHANK)[:3] @ speeds == pytest.approx(places, abs=1e-6)
    spin = (after.pose(SHANK) - before.pose(SHANK))[:3, :3] / (2 * STEP) @ now.pose(SHANK)[:3, :3].T
    turning = now.jacobian(SHANK)[3:] @ speeds
    assert turning == pytest.approx([spin[2, 1], spin[0, 2], spin[1, 0]], abs=1e-6)
    change = (after.jacobian(SHANK) - before.jacobian(SHANK)) / (2 * STEP)
    assert now.jacobian_rate(SHANK) == pytest.approx(change, abs=1e-6)
    centers = (after.center_of_mass() - before.center_of_mass()) / (2 * STEP)
    assert now.center_of_mass_jacobian() @ speeds == pytest.approx(centers, abs=1e-6)


class Ask(Task):
    """Notes what it was handed."""

    def run(self, t: Any, state: Any, desired: Any) -> None:
        self.q, self.u, self.wanted = state.q.copy(), state.u.copy(), state.desired.q.copy()
        self.x = state.cart["R_HAND"].x.copy()
        self.J, self.J_dot = state.jacobian("R_HAND"), state.jacobian_rate("R_HAND")
        self.pose, self.center = state.pose("R_HAND"), state.center_of_mass()
        self.elbow = state.position("ELBOW")
        self.J_wanted = state.desired.jacobian("R_HAND")
        self.x_wanted = state.desired.position("R_HAND")


def test_a_task_knows_its_hand_where_it_is_held_now_and_what_it_carries() -> None:
    """After set_end_effector, against a robot that was made with the other tool."""
    place, load = (0.05, -0.02, 0.1), 0.7
    with Lab("sl-arm") as lab:
        lab.set_end_effector("R_HAND", x=place, a=(0.2, 0.1, -0.3), mass=load)
        asks = Ask()
        lab.add(asks)
        lab.start("ask")
        lab.run(0.1)
        vertices = lab.config.vertices
        changed = lab.config.end_effectors[0].link
        plain, own = lab.robot, lab.end_effectors["R_HAND"]
    link = plain.pose(asks.q, changed)
    x = link[:3, 3] + link[:3, :3] @ place
    assert asks.pose[:3, 3] == pytest.approx(x, abs=1e-12)
    assert asks.x == pytest.approx(x, abs=1e-12)
    assert own.x == place
    J = plain.point_jacobian(asks.q, place, changed)
    assert asks.J[:3] == pytest.approx(J, abs=1e-12)
    later, earlier = (
        plain.point_jacobian(asks.q + s * STEP * asks.u, place, changed) for s in (1, -1)
    )
    assert asks.J_dot[:3] == pytest.approx((later - earlier) / (2 * STEP), abs=1e-6)
    wanted = plain.point_jacobian(asks.wanted, place, changed)
    assert asks.J_wanted[:3] == pytest.approx(wanted, abs=1e-12)
    goal = plain.point_position(asks.wanted, place, changed)
    assert asks.x_wanted == pytest.approx(goal, abs=1e-12)
    mass = plain.mass
    center = (mass * plain.center_of_mass(asks.q) + load * x) / (mass + load)
    assert asks.center == pytest.approx(center, abs=1e-12)
    assert asks.elbow == pytest.approx(plain.position(asks.q, vertices["ELBOW"]), abs=1e-12)


class Transposed(Task):
    """Carries a force at the hand by the transposed Jacobian."""

    native = True

    def run(self, t: Any, state: Any, desired: Any) -> None:
        desired.uff = state.jacobian("R_HAND")[:3].T @ [0.0, 0.0, 5.0]


def test_a_compiled_task_has_the_jacobian_of_the_same_tick() -> None:
    """The feedforward is J' f; the joints of the tick follow from the robot's own kinematics."""
    with Lab("sl-arm") as lab:
        lab.add(Transposed)
        lab.start("transposed")
        lab.run(2 / 960)
        q = lab.state.q
        force = lab.robot.jacobian(q, "R_HAND")[:3].T @ [0.0, 0.0, 5.0]
        assert lab.desired.uff == pytest.approx(force, abs=1e-9)


def test_what_is_not_there_is_named() -> None:
    """A link that the robot has not, and a question that there is not."""
    view = seen(np.zeros(12), np.eye(4)[0], np.zeros(3), np.zeros(12), np.zeros(6))
    with pytest.raises(Error, match="has no link or frame 'nose'"):
        view.position("nose")

    class Wrong(Task):
        def run(self, t: Any, state: Any, desired: Any) -> None:
            state.jacobians("R_HAND")

    with lw.Lab("sl-arm") as lab:
        lab.add(Wrong)
        lab.start("wrong")
        with pytest.raises(Error, match=r"no state\.jacobians; did you mean 'jacobian'"):
            lab.run(0.01)
