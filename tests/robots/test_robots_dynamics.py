"""Dynamics of described robots: against Pinocchio, whose model is built joint by joint."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from linkwright.base.errors import ShapeError
from linkwright.formats.robot.description import (
    Closure,
    Description,
    Link,
    LinkJoint,
    Mass,
    Mimic,
    Place,
)
from linkwright.mechanism import Mechanism, Prismatic, Revolute
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.program import Code, lower
from linkwright.program.interpret import interpret
from linkwright.robots import Quantity, Robot
from linkwright.robots.derivatives import tangent_program
from linkwright.simulation.runs import simulate
from tests.oracles.pinocchio_models import pinocchio_model
from tests.random.robots import random_robot
from tests.seeds import cases, seeds
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

KINDS = [kind for kind in JOINTS if kind not in ("weld", "planar", "free")]


def relative(ours: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the size of the numbers."""
    return float(np.abs(np.asarray(ours) - theirs).max() / max(1.0, np.abs(theirs).max()))


def full(upper: Any) -> Any:
    """Return a symmetric matrix from its upper triangle."""
    return np.triu(upper) + np.triu(upper, 1).T


@lru_cache(maxsize=32)
def code_of(quantity: Quantity) -> Code:
    """Return the code of a quantity's Program as it is derived, without optimizer and compiler."""
    return lower(quantity.derived())


def value(quantity: Quantity, *inputs: Any) -> Any:
    """Return the one result of a quantity from its Program as it is derived."""
    (result,) = interpret(code_of(quantity), inputs)
    return result


def compare(description: Description, base: str = "file", seed: int = 0) -> None:
    """Compare every quantity of the equations of motion at a random state."""
    robot = Robot(description, base=base)
    model = pinocchio_model(description, base)
    data = model.createData()
    rng = np.random.default_rng(seed)
    q = robot.random(seed=seed)
    u, a = rng.normal(size=(2, len(robot.speeds)))
    tau = value(robot.inverse_dynamics, q, u, a)
    q_, u_, a_, tau_ = robot.to_pinocchio(q, u, a, tau, model=model)
    back = robot.from_pinocchio(q_, u_, a_, tau_, model=model)
    for given, found in zip((q, u, a, tau), back, strict=True):
        np.testing.assert_allclose(found, given, atol=1e-12)
    order = robot.to_pinocchio(q, np.arange(len(robot.speeds)), model=model)[1].astype(int)
    place = np.argsort(order)
    assert relative(tau_, pin.rnea(model, data, q_, u_, a_)) < 1e-11
    mass = full(pin.crba(model, data, q_))[np.ix_(place, place)]
    assert relative(value(robot.mass_matrix, q), mass) < 1e-11
    assert relative(value(robot.inverse_mass_matrix, q) @ mass, np.eye(len(u))) < 1e-9
    assert relative(value(robot.forward_dynamics, q, u, tau), a) < 1e-9
    assert (
        relative(value(robot.gravity, q), pin.computeGeneralizedGravity(model, data, q_)[place])
        < 1e-11
    )
    assert (
        relative(
            value(robot.nonlinear_effects, q, u), pin.nonLinearEffects(model, data, q_, u_)[place]
        )
        < 1e-11
    )


@pytest.mark.parametrize("kind", [k for k in JOINTS if k != "weld"])
def test_a_joint_of_each_kind_on_the_ground_and_what_hangs_on_it(kind: str) -> None:
    """The joint, and a sliding or a turning and a sliding one behind it, are Pinocchio's."""
    for behind in cases([("prismatic",), ("revolute", "prismatic")], daily=1):
        compare(random_robot(3, [kind, *behind], chain=True, armature=0.1))


@pytest.mark.parametrize("kind", cases(KINDS, daily=["screw"]))
def test_a_joint_of_each_kind_within_a_chain(kind: str) -> None:
    """The joint between two turning ones agrees with Pinocchio's."""
    compare(random_robot(4, ["revolute", kind, "revolute"], chain=True))


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("right_angles", cases([False, True], daily=[False]))
def test_trees_of_mixed_joints_on_a_free_base(seed: int, right_angles: bool) -> None:
    """Random trees on a free base agree with Pinocchio, base force and moment included."""
    rng = np.random.default_rng(seed)
    kinds = list(rng.choice(["revolute", "revolute", "prismatic", "weld", "ball"], 7))
    compare(random_robot(seed, kinds, right_angles=right_angles, armature=0.05), "free", seed)


@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_coordinates_and_speeds_of_a_tree_have_one_order_however_it_was_entered(seed: int) -> None:
    """Bodies of several branches come in any order; efforts are derivatives of energies by name."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f"branches{seed}")
    parents = ["n", "b0", "n", "b0", "b1", "b2"]
    for k, parent in enumerate(parents):
        made = Revolute if rng.random() < 0.6 else Prismatic
        axis, at, com = (tuple(map(float, v)) for v in rng.normal(size=(3, 3)).round(3))
        m.body(f"b{k}", parent=parent, joint=made(axis), at=at, mass=1 + k, com=com, inertia=0.1)
    m.gravity()
    robot = Robot(m)
    assert robot.speeds == tuple(f"{name}_dot" for name in robot.coordinates)
    assert robot.coordinates == tuple(q.name for q in m.equations("kane").coordinates)
    q, u = rng.uniform(-1, 1, (2, len(robot.coordinates)))
    steps = 1e-5 * np.eye(len(q))
    slope = [
        value(robot.potential_energy, q + h) - value(robot.potential_energy, q - h) for h in steps
    ]
    assert relative(value(robot.gravity, q), np.ravel(slope) / 2e-5) < 1e-8
    momentum = [
        value(robot.kinetic_energy, q, u + h) - value(robot.kinetic_energy, q, u - h) for h in steps
    ]
    assert relative(full(value(robot.mass_matrix, q)) @ u, np.ravel(momentum) / 2e-5) < 1e-8


@pytest.mark.parametrize("seed", seeds(1))
def test_arms_with_right_angles(seed: int) -> None:
    """Chains of turning joints whose axes are axes of the links agree with Pinocchio."""
    compare(random_robot(seed, ["revolute"] * 6, right_angles=True, chain=True), seed=seed)


@pytest.mark.parametrize(
    ("kinds", "base"),
    cases(
        [
            (["revolute", "prismatic", "revolute"], "free"),
            (["revolute", "planar", "revolute"], "file"),
            (["screw", "ball", "cylindrical", "universal"], "file"),
            (["revolute", "free", "revolute"], "file"),
        ],
        daily=[(["screw", "ball", "cylindrical", "universal"], "file")],
    ),
)
def test_the_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(
    kinds: list[str], base: str
) -> None:
    """C u is the bias without gravity, and M' - 2 C has no symmetric part (finite differences)."""
    robot = Robot(random_robot(2, kinds, chain=True), base=base)
    q = robot.random()
    u = np.random.default_rng(1).normal(size=len(robot.speeds))
    matrix = value(robot.coriolis, q, u)
    assert (
        relative(matrix @ u, value(robot.nonlinear_effects, q, u) - value(robot.gravity, q)) < 1e-12
    )
    (tangent,) = interpret(lower(tangent_program(robot.tree)), [q])
    step = 1e-6 * tangent @ u
    rate = (value(robot.mass_matrix, q + step) - value(robot.mass_matrix, q - step)) / 2e-6
    skew = rate - 2 * matrix
    assert relative(skew + skew.T, 0 * skew) < 1e-7


def test_the_coriolis_matrix_is_pinocchios() -> None:
    """On a free base with turning and sliding joints both have the matrix of Christoffel."""
    description = random_robot(5, ["revolute", "prismatic", "revolute"], chain=True)
    robot, model = Robot(description, base="free"), pinocchio_model(description, "free")
    q = robot.random()
    u = np.random.default_rng(1).normal(size=len(robot.speeds))
    q_, u_ = robot.to_pinocchio(q, u, model=model)
    theirs = pin.computeCoriolisMatrix(model, model.createData(), q_, u_)
    assert relative(value(robot.coriolis, q, u), theirs) < 1e-12


def follower(description: Description, factor: float, offset: float) -> Description:
    """Return the robot with its last joint following its first."""
    *joints, last = description.joints
    tied = replace(last, mimic=Mimic(joints[0].name, factor, offset))
    return replace(description, joints=(*joints, tied))


def test_joints_that_follow_others() -> None:
    """Inverse and forward dynamics are those of the free joints with q3 = -2 q1 + 0.3 put in."""
    free = random_robot(8, ["revolute", "prismatic", "revolute"], chain=True, armature=0.1)
    robot = Robot(follower(free, -2.0, 0.3))
    assert robot.coordinates == ("j0", "j1")
    model = pinocchio_model(free)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, u, a = rng.normal(size=(3, 2))
    ties = np.array([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])
    q_, u_ = robot.to_pinocchio(q, u, model=model)
    np.testing.assert_allclose(q_, ties @ q + [0, 0, 0.3])
    np.testing.assert_allclose(u_, ties @ u)
    tau = value(robot.inverse_dynamics, q, u, a)
    assert relative(tau, ties.T @ pin.rnea(model, data, q_, u_, ties @ a)) < 1e-12
    assert relative(value(robot.forward_dynamics, q, u, tau), a) < 1e-10
    mass = ties.T @ full(pin.crba(model, data, q_)) @ ties
    assert relative(value(robot.mass_matrix, q), mass) < 1e-12
    assert relative(value(robot.inverse_mass_matrix, q) @ mass, np.eye(2)) < 1e-10
    rest = value(robot.nonlinear_effects, q, u) - value(robot.gravity, q)
    assert relative(value(robot.coriolis, q, u) @ u, rest) < 1e-12
    assert len(Robot(follower(free, -2.0, 0.3), mimic=False).coordinates) == 3


def test_locked_joints_are_where_they_are_held() -> None:
    """Locking a joint, and with it what follows it, leaves the forces in the others."""
    free = random_robot(9, ["revolute", "screw", "prismatic", "revolute"], chain=True)
    robot = Robot(follower(free, 0.5, -0.1), locked={"j0": 0.4})
    model = pinocchio_model(free)
    q, u, a = np.random.default_rng(0).normal(size=(3, 2))
    whole = np.array([0.4, *q, 0.5 * 0.4 - 0.1])
    theirs = pin.rnea(model, model.createData(), whole, np.array([0, *u, 0]), np.array([0, *a, 0]))
    assert relative(value(robot.inverse_dynamics, q, u, a), theirs[1:3]) < 1e-11


def test_friction_springs_and_rotors_act_in_the_joints() -> None:
    """Inverse dynamics has d u + f sign(u) + k (q - rest) more than without them."""
    plain = random_robot(10, ["revolute", "prismatic", "universal"], chain=True)
    joints = tuple(
        replace(j, damping=0.3, friction=0.7, stiffness=2.0, rest=0.1) for j in plain.joints
    )
    rough = replace(plain, joints=joints)
    q, u, a = np.random.default_rng(3).normal(size=(3, 4))
    more = 0.3 * u + 0.7 * np.sign(u) + 2.0 * (q - 0.1)
    still = value(Robot(plain).inverse_dynamics, q, u, a)
    robot = Robot(rough)
    tau = value(robot.inverse_dynamics, q, u, a)
    assert relative(tau, still + more) < 1e-12
    assert relative(value(robot.forward_dynamics, q, u, tau), a) < 1e-10
    assert relative(value(Robot(rough, friction=False).inverse_dynamics, q, u, a), still) < 1e-12


def four_bar() -> Description:
    """Return a planar four-bar linkage: two links on the ground, the second carrying the third."""

    def rod(length: float) -> Mass:
        side = length * length / 12
        return Mass(1.0, (length / 2, 0.0, 0.0), (0.001, side, side, 0.0, 0.0, 0.0))

    links = (Link("base"), Link("crank", rod(0.2)), Link("rocker", rod(0.5)), Link("rod", rod(0.6)))
    axis = (0.0, 1.0, 0.0)
    joints = (
        LinkJoint("a", "revolute", "base", "crank", axis=axis),
        LinkJoint("b", "revolute", "crank", "rod", Place((0.2, 0.0, 0.0)), axis),
        LinkJoint("c", "revolute", "base", "rocker", Place((0.6, 0.0, 0.0)), axis),
    )
    closure = Closure("pin", ("rod", Place((0.6, 0.0, 0.0))), ("rocker", Place((0.5, 0.0, 0.0))))
    return Description("four_bar", links, joints, closures=(closure,))


def closed_four_bar(crank: float) -> Any:
    """Return the angles of the linkage by the law of cosines; y points away from us."""
    tip = 0.2 * np.array([np.cos(crank), -np.sin(crank)])
    span = np.array([0.6, 0.0]) - tip
    distance = np.hypot(*span)
    turn = np.arccos((0.6**2 + distance**2 - 0.5**2) / (2 * 0.6 * distance))
    rod = np.arctan2(span[1], span[0]) + turn
    end = tip + 0.6 * np.array([np.cos(rod), np.sin(rod)]) - np.array([0.6, 0.0])
    return np.array([crank, -rod - crank, -np.arctan2(end[1], end[0])])


def test_forward_dynamics_of_a_loop() -> None:
    """Accelerations of a four-bar linkage are those of Lagrange multipliers on Pinocchio's tree."""
    description = four_bar()
    robot = Robot(description)
    assert len(robot.coordinates) == 3
    assert len(robot.speeds) == 1
    tree = replace(description, closures=())
    model = pinocchio_model(tree)
    data = model.createData()
    q = closed_four_bar(0.7)
    h = 1e-6
    slope = (closed_four_bar(0.7 + h) - closed_four_bar(0.7 - h)) / (2 * h)
    which = [s.symbol.name for s in robot.tree.kinematics.speeds].index(robot.speeds[0])
    slope = slope / slope[which]
    speed = 0.9
    u = speed * slope

    def end(q: Any, link: str, at: Any) -> Any:
        frame = model.getFrameId(link)
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[frame].act(np.array(at))[[0, 2]]

    def gap(q: Any) -> Any:
        return end(q, "rod", [0.6, 0, 0]) - end(q, "rocker", [0.5, 0, 0])

    assert np.abs(gap(q)).max() < 1e-12
    jacobian = np.array([(gap(q + h * e) - gap(q - h * e)) / (2 * h) for e in np.eye(3)]).T
    k = 1e-4
    drift = (gap(q + k * u) - 2 * gap(q) + gap(q - k * u)) / k**2
    mass, bias = full(pin.crba(model, data, q)), pin.nonLinearEffects(model, data, q, u)
    push = np.zeros(3)
    push[which] = 0.25
    matrix = np.block([[mass, jacobian.T], [jacobian, np.zeros((2, 2))]])
    solved = np.linalg.solve(matrix, np.concatenate([push - bias, -drift]))
    ours = value(robot.forward_dynamics, q, [speed], [0.25])
    assert relative(ours, solved[[which]]) < 1e-6
    again = value(robot.inverse_dynamics, q, [speed], ours)
    assert relative(again, np.array([0.25])) < 1e-10


def test_batches_and_single_vectors_agree() -> None:
    """Leading axes, shared inputs, lists and `out` give the numbers of single calls."""
    robot = Robot(random_robot(11, ["revolute"] * 3, chain=True, right_angles=True))
    q = robot.random(6)
    u, a = np.random.default_rng(0).normal(size=(2, 6, 3))
    one = np.array([robot.inverse_dynamics(*row) for row in zip(q, u, a, strict=True)])
    np.testing.assert_allclose(robot.inverse_dynamics(q, u, a), one, atol=1e-13)
    cube = robot.inverse_dynamics(q.reshape(2, 3, 3), u.reshape(2, 3, 3), a.reshape(2, 3, 3))
    np.testing.assert_allclose(cube.reshape(6, 3), one, atol=1e-13)
    shared = robot.inverse_dynamics(q, u[0], a[0])
    np.testing.assert_allclose(shared[0], one[0], atol=1e-13)
    np.testing.assert_allclose(robot.inverse_dynamics(list(q[0]), list(u[0]), list(a[0])), one[0])
    for count in (1, 7, 8, 9, 16, 37):
        many = [np.resize(x, (count, 3)) for x in (q, u, a)]
        wanted = np.resize(one, (count, 3))
        np.testing.assert_allclose(robot.inverse_dynamics(*many), wanted, atol=1e-13)
        sliced = [np.repeat(x, 2, axis=0)[::2] for x in many]
        np.testing.assert_allclose(robot.inverse_dynamics(*sliced), wanted, atol=1e-13)
    out = np.zeros((6, 3))
    assert robot.inverse_dynamics(q, u, a, out=out) is out
    np.testing.assert_allclose(out, one, atol=1e-13)
    with pytest.raises(ShapeError, match="last axes are 3"):
        robot.inverse_dynamics(q[:, :2], u, a)
    with pytest.raises(ShapeError, match="takes 3 arrays"):
        robot.inverse_dynamics(q)


@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_the_neutral_configuration_of_a_closed_loop_is_closed_and_where_runs_start(
    seed: int,
) -> None:
    """A five-bar linkage whose text gives angles that leave a gap at its tip."""
    rng = np.random.default_rng(seed)
    m = Mechanism("five")
    tips = []
    for side, turns in ((-1, (2.2, -1.2)), (1, (0.9, 1.2))):
        heavy: dict[str, Any] = {"rotate": "z", "mass": 1, "inertia": 0.01}
        crank = m.body(f"crank{side + 1}", at=(0.1 * side, 0, 0), **heavy)
        rod = m.body(f"rod{side + 1}", parent=crank, at=(0.25, 0, 0), **heavy)
        tips.append(m.point(f"tip{side + 1}", rod, (0.4, 0, 0)))
        for body, turn in ((crank, turns[0]), (rod, turns[1])):
            m.set_initial({body.name: turn + float(rng.uniform(-0.05, 0.05))})
    m.close_loop("tip", tips[0], tips[1], Revolute("z"), along=("x", "y"))
    robot = Robot(m)
    ends = [robot.pose(robot.neutral, tip.name)[:2, 3] for tip in tips]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    run = simulate(m, 1e-3, method="rk4", step=1e-3)
    np.testing.assert_allclose(
        robot.neutral, [run[name][0] for name in robot.coordinates], atol=1e-14
    )


def test_limits_and_random_configurations() -> None:
    """Random configurations keep within limits, with quaternions of length one."""
    description = random_robot(12, ["revolute", "ball", "prismatic"], chain=True)
    robot = Robot(description, base="free")
    q = robot.random(50, seed=3)
    limits = robot.limits
    assert np.all((q >= limits[:, 0]) & (q <= limits[:, 1]))
    assert limits[7].tolist() == [-1.0, 2.0]
    assert np.isinf(limits[:7]).all()
    for start in (3, 8):
        np.testing.assert_allclose(np.linalg.norm(q[:, start : start + 4], axis=1), 1.0)
    assert robot.neutral.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert robot.effort_limits[:6].tolist() == [np.inf] * 6
    assert robot.effort_limits[6] == 40.0
    assert robot.speed_limits[-1] == 3.0
