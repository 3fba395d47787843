"""Frames of the laws of force: the Jacobian of the tool, both hybrid forms, singular poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import Expr, evaluate
from linkwright.control import Hybrid
from linkwright.control.force import AXES, ForceLaw
from linkwright.elements import CompliantWrist
from linkwright.formats.text.files import read_any
from linkwright.program import Solve
from tests.seeds import seldom

Array = NDArray[np.float64]

Q = (0.1, -0.6, 0.4, 0.2, 0.8, 0.1)
TURNED = {"turn": 0.3, "tilt": -0.5, "twist": 0.4}
MOTION = (1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3)
KW, T = [500.0] * 3 + [8.0] * 3, 0.028


# -- the Jacobian ----------------------------------------------------------------------------------
def computed(law: ForceLaw, entries: Sequence[Expr], at: Mapping[Expr, float]) -> Array:
    """Return what expressions of a law are, by its statements one after another."""
    m = law.mechanism
    env: dict[Expr, Any] = {x: m.values[n] for n, x in m.parameters.items()}
    env |= {p.symbol: p.value for p in law.parameters.values()} | dict(at)
    for statement in law.statements:
        read = [float(evaluate(x, env)) for x in statement.operands]
        if isinstance(statement, Solve):
            n = statement.size
            read = np.linalg.solve(np.reshape(read[: n * n], (n, n)), read[n * n :]).tolist()
        env |= dict(zip(statement.targets, read, strict=True))
    return np.array([float(evaluate(x, env)) for x in entries])


def shown(m: Any, body: str, q: Any, **given: Any) -> tuple[Array, Array]:
    """Return the Jacobian of a law's tool, and what its inverse makes of a small motion."""
    law = ForceLaw("law", m, body, None, None, **given)
    steps = law.joint_motion(law.frame, [law.expr(x) for x in MOTION])
    at = dict(zip(law.q, q, strict=True))
    flat = computed(law, [x for row in law.frame.jacobian for x in row], at)
    return flat.reshape(6, len(q)), computed(law, steps, at)


def test_the_jacobian_is_that_of_finite_differences_along_the_flanges_axes() -> None:
    m = lw.load("puma560:drives=off")
    robot = lw.Robot(m)
    jacobian, steps = shown(m, "link6", Q)
    pose = robot.pose(np.array(Q), "tool")
    numeric = np.zeros((6, 6))
    h = 1e-6
    for k in range(6):
        ahead, back = (robot.pose(np.array(Q) + d * np.eye(6)[k], "tool") for d in (h, -h))
        turn = pose[:3, :3].T @ (ahead[:3, :3] - back[:3, :3]) / (2 * h)
        numeric[:3, k] = pose[:3, :3].T @ (ahead[:3, 3] - back[:3, 3]) / (2 * h)
        numeric[3:, k] = turn[2, 1], turn[0, 2], turn[1, 0]
    np.testing.assert_allclose(jacobian, numeric, atol=1e-9)
    np.testing.assert_allclose(jacobian @ steps, MOTION, atol=1e-14)


def test_with_more_joints_than_axes_the_smallest_motion_is_taken() -> None:
    m = lw.Mechanism("planar")
    above: Any = m.ground
    for k in range(4):
        at = (0.4, 0, 0) if k else (0, 0, 0)
        above = m.body(f"link{k}", parent=above, at=at, rotate="z", mass=1, inertia=0.1)
    jacobian, steps = shown(m, "link3", (0.2, 0.5, -0.7, 0.3), axes="x y")
    wanted = np.linalg.pinv(jacobian[:2]) @ MOTION[:2]
    np.testing.assert_allclose(steps, wanted, atol=1e-12)


def test_joints_that_carry_the_flange_are_the_laws_and_others_are_not() -> None:
    m = lw.Mechanism("m")
    ram = m.body("ram", translate="z", mass=1)
    m.body("tool", parent=ram, translate="xz", mass=0.1)
    m.body("other", translate="y", mass=1)
    law = ForceLaw("law", m, "ram", None, None)
    assert law.names_of_joints == ["ram"]
    assert [AXES[k] for k in law.moved] == ["z"]


# -- hybrid control --------------------------------------------------------------------------------
@cache
def machine(form: Literal["joint", "cartesian"]) -> lw.System:
    """Return six joints whose tool is pushed and turned by inputs, with z, rx and ry of force."""
    m = lw.Mechanism("machine")
    above: Any = m.ground
    for name, axis in (("x", "x"), ("y", "y"), ("z", "z")):
        above = m.body(name, parent=above, translate=axis, mass=4)
    for name, axis in (("turn", "z"), ("tilt", "y"), ("twist", "x")):
        above = m.body(name, parent=above, rotate=axis, mass=0, inertia=1)
    m.set_initial(TURNED)
    flange = above
    tool = m.body(
        "tool", parent=flange, at=(0.1, 0, 0.05), translate="xyz", rotate="xyz", mass=0.1,
        inertia=1e-4,
    )  # fmt: skip
    for c, axis in zip("xyz", flange.frame.axes, strict=True):
        m.force(f"push {c}", m.input(f"F{c}", unit="N"), at=tool, along=axis)
        m.moment(f"turn {c}", m.input(f"M{c}", unit="N*m"), on=tool, about=axis)
    s = lw.System(m)
    wrist = CompliantWrist(m, flange, tool, KW, [3] * 3 + [0.05] * 3)
    s.add(wrist)
    law = s.add(
        Hybrid(m, wrist, force="z rx ry", KF=0.2, Kp=1.0, filter=0.9, form=form),
        rate=lw.sampled(period=T),
    )
    servo = s.add(lw.control.PD(m, kp=4e5, kd=1.6e3, joints=["x", "y", "z"]))
    turns = s.add(lw.control.PD(m, kp=1e5, kd=6e2, joints=["turn", "tilt", "twist"]), name="turns")
    s.connect(law.command[:3], servo.target)
    s.connect(law.command[3:], turns.target)
    return s


def moved(s: lw.System, run: Any, k: int) -> Any:
    """Return how the tool has moved in a run of a batch, along the axes in which it began."""
    m = s.mechanism
    robot = lw.Robot(m)
    names = list(m.coordinates)
    here = robot.pose(np.array([run[n][k] for n in names]), "tool")
    start = robot.pose(np.array([m.initial.get(n, 0.0) for n in names]), "tool")
    turn = start[:3, :3].T @ here[:3, :3]
    about = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    return np.array([*(start[:3, :3].T @ (here[:3, 3] - start[:3, 3])), *(np.array(about) / 2)])


@pytest.mark.parametrize("form", ["joint", "cartesian"])
def test_axes_of_force_comply_while_the_others_hold(form: Literal["joint", "cartesian"]) -> None:
    """Server check 39: pushed along each of the six axes, one at a time."""
    s = machine(form)
    loads = np.diag([1.0] * 3 + [0.02] * 3)
    inputs = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    values = {name: loads[k] for k, name in enumerate(inputs)}
    end = 40 * T
    run = lw.simulate_batch(s, end, runs=6, parameters=values, method="rk4", step=1 / 4000)
    for k, axis in enumerate(AXES):
        found, soft = moved(s, run, k), loads[k, k] / KW[k]  # soft: as far as the wrist alone gives
        if axis in ("z", "rx", "ry"):
            assert found[k] > 6 * soft
            assert found[k] == pytest.approx(soft * (1 + 0.2 * (40 - 11)), rel=0.1), axis
        else:
            assert abs(found[k]) < 0.03 * soft, axis
        apart = np.delete(found / np.array([1.0 / 500] * 3 + [0.02 / 8] * 3), k)
        assert np.abs(apart).max() < 0.03, axis


def cayley(turn: Array) -> Array:
    """Return the rotation by twice the arc tangent of half a small turn, about its axis."""
    x, y, z = turn / 2
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.linalg.solve(np.eye(3) - skew, np.eye(3) + skew))


def displaced(pose: Array, motion: Array) -> Array:
    """Return a pose after a motion along its own axes."""
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = cayley(motion[3:]), motion[:3]
    return np.asarray(pose @ moved)


def test_each_form_sends_the_arm_where_its_law_says_after_long_ways() -> None:
    """Server check 39: T_des <- T_des T(dx_F), T_req = T_des T(dx_P)^-1; or sums of J^-1 dx.

    Twelve ticks of a wrench turn and move the tool by 0.5 rad and 0.1 m, after which the forms are
    far apart; then the wrench ends along the axes of force, and the Cartesian form settles.
    """
    m = lw.load("puma560:drives=off")
    robot = lw.Robot(m)
    ends = {}
    for form in ("joint", "cartesian"):
        law = Hybrid(m, "link6", "z rx ry", KF=0.2, Kp=0.5, filter=None, stiffness=KW, form=form)
        at = {x: float(evaluate(memory.initial, {})) for x, memory in law.discrete_states.items()}
        for port in ("feed", "surface_rate", "push"):
            at |= dict.fromkeys(law.inputs[port].symbols, 0.0)
        at |= dict.fromkeys(law.inputs["force_gain"].symbols, 0.2)
        at |= dict.fromkeys(law.inputs["position_gain"].symbols, 0.5)
        at |= dict(zip(law.inputs["target"].symbols, Q, strict=True))
        at[law.period] = T
        place = np.zeros(6)
        wanted, q, offset = robot.pose(np.array(Q), "tool"), np.array(Q), np.zeros(6)
        for tick in range(18):
            push = np.array([5.0, -8.0, 20.0, 1.3, -1.0, 0.06])
            if tick >= 12:
                push[2:5] = 0
            at |= dict(zip(law.inputs["wrench"].symbols, push, strict=True))
            at |= dict(zip(law.q, q, strict=True))
            felt = push / KW
            force, place = 0.2 * felt * [0, 0, 1, 1, 1, 0], 0.5 * felt * [1, 1, 0, 0, 0, 1]
            turn = np.kron(np.eye(2), robot.pose(q, "tool")[:3, :3])
            inverse = np.linalg.inv(turn.T @ robot.jacobian(q, "tool"))
            offset = offset + inverse @ force
            wanted = displaced(wanted, force)
            coming = [x for s in law.discrete_states.values() if (x := s.following) is not None]
            found = computed(law, [*law.outputs["command"].values, *coming], at)
            by_joints = np.array(Q) + offset - inverse @ place
            if form == "joint":
                assert np.allclose(found[:6], by_joints, atol=1e-9), tick
            at |= dict(zip(law.discrete_states, found[6:], strict=True))
            q = found[:6]
        back = displaced(np.eye(4), place)
        ends[form] = robot.pose(q, "tool"), wanted @ np.linalg.inv(back)
    sent, asked = ends["cartesian"]
    assert np.allclose(sent, asked, atol=1e-9)
    assert np.abs(ends["joint"][0] - asked).max() > 0.005


# -- singular poses --------------------------------------------------------------------------------
def test_a_damped_inverse_stays_small_where_a_wrist_is_singular() -> None:
    """A PUMA with q5 = 0 cannot turn about one axis: damped, its joints leave that alone."""
    m = lw.load("puma560:drives=off")
    law = Hybrid(m, "link6", "rx", KF=0.2, filter=None, stiffness=10.0, damping=0.02)
    bare = Hybrid(m, "link6", "rx", KF=0.2, filter=None, stiffness=10.0, name="bare")
    largest = []
    for one, q5 in ((law, 0.0), (law, 1e-3), (bare, 1e-3)):
        at = dict(zip(one.q, (0.1, -0.6, 0.4, 0.0, q5, 0.0), strict=True))
        for port in ("wrench", "feed", "surface_rate", "push", "target"):
            at |= dict.fromkeys(one.inputs[port].symbols, 0.0)
        for port in ("force_gain", "position_gain"):
            at |= dict.fromkeys(one.inputs[port].symbols, 0.2)
        at |= dict.fromkeys(one.discrete_states, 0.0)
        at[one.wrench[3]], at[one.period] = 0.05, 0.028  # 1 mrad a tick about x
        largest.append(float(np.abs(computed(one, one.outputs["command"].values, at)).max()))
    assert largest[2] > 0.5  # half a turn of the forearm for a thousandth at the tool
    assert max(largest[:2]) < 0.03


# -- a PUMA ----------------------------------------------------------------------------------------
@seldom(daily="docs/force.md")
def test_a_puma_follows_a_wave_that_it_does_not_know() -> None:
    """The shipped model, with gravity: it touches after 0.4 s, and presses with 5 N from there."""
    run = lw.simulate("puma-on-wave", 4.0)
    touching = run["wave.normal1"] > 0
    first = run.times[np.argmax(touching)]
    assert first == pytest.approx(0.4, abs=0.05)
    late = run.times > first + 1.0
    assert np.all(touching[late])
    assert np.abs(run["weight.wrench[2]"][late] + 5.0).max() < 0.6
    for k in (3, 4):  # no moment about x and y
        assert np.abs(run[f"weight.wrench[{k}]"][late]).max() < 0.02


def test_a_text_names_the_wrist_of_its_law() -> None:
    text = lw.write_model(machine("cartesian"))
    assert 'wrist = "wrist"' in text
    assert 'form = "cartesian"' in text
    again = read_any(text)
    assert lw.write_model(again) == text
    words = r"member\[1\].wrist: .* nor a body 'rist'; did you mean the member 'wrist'"
    with pytest.raises(lw.Error, match=words):
        read_any(text.replace('wrist = "wrist"', 'wrist = "rist"'))
    with pytest.raises(lw.Error, match="one of joint, cartesian is needed here"):
        read_any(text.replace('form = "cartesian"', 'form = "polar"'))
