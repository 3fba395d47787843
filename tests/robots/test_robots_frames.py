"""Frames, momentum, regressors and derivatives of described robots, against Pinocchio.

Pinocchio's model is built joint by joint from the same description; what it has no function for is
held against finite differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.program import Code, lower
from linkwright.program.interpret import interpret
from linkwright.robots import Quantity, Robot
from linkwright.robots.derivatives import derivative_program, tangent_program
from linkwright.robots.kinematics import REFERENCES
from tests.oracles.pinocchio_models import pinocchio_model
from tests.random.robots import random_robot
from tests.robots.test_robots_dynamics import (
    closed_four_bar,
    code_of,
    follower,
    four_bar,
    full,
    relative,
    value,
)
from tests.seeds import cases, seldom
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

VIEWS = {"local-world-aligned": "LOCAL_WORLD_ALIGNED", "local": "LOCAL", "world": "WORLD"}
KINDS = [k for k in JOINTS if k != "weld"]
TREES = [
    (("revolute", "prismatic", "revolute", "ball"), "free"),
    (("revolute", "universal", "screw", "cylindrical"), "file"),
    (("planar", "revolute", "revolute"), "file"),
]
FREE, UNIVERSAL = (("prismatic", "ball"), "free"), (("universal", "screw"), "file")


def values(quantity: Quantity, *inputs: Any) -> tuple[Any, ...]:
    """Return the results of a quantity from its Program as it is derived."""
    return tuple(interpret(code_of(quantity), inputs))


@dataclass(frozen=True, slots=True)
class Case:
    """A robot, Pinocchio's model of it, and one state in both conventions."""

    robot: Robot
    model: Any
    data: Any
    q: Any
    u: Any
    a: Any
    their_q: Any
    their_u: Any
    their_a: Any
    place: Any  # of our speeds among theirs

    def frame(self, name: str) -> int:
        """Return Pinocchio's number of a link."""
        return int(self.model.getFrameId(name))


def case(description: Description, base: str = "file", seed: int = 0) -> Case:
    """Return a case at a random state."""
    robot = Robot(description, base=base)
    model = pinocchio_model(description, base)
    q = robot.random(seed=seed)
    u, a = np.random.default_rng(seed).normal(size=(2, len(robot.speeds)))
    their_q, their_u, their_a = robot.to_pinocchio(q, u, a, model=model)
    order = robot.to_pinocchio(q, np.arange(len(robot.speeds)), model=model)[1].astype(int)
    return Case(
        robot,
        model,
        model.createData(),
        q,
        u,
        a,
        their_q,
        their_u,
        their_a,
        np.argsort(order),
    )


@cache
def plain(kind: str) -> Case:
    """Return a chain with a joint of some kind on the ground and a turning one behind it."""
    return case(random_robot(3, [kind, "revolute"], chain=True))


@cache
def tree(kinds: tuple[str, ...], base: str, seed: int = 1) -> Case:
    """Return a tree; a planar joint only where it stands on the ground."""
    return case(random_robot(seed, list(kinds), chain=kinds[0] == "planar"), base, seed)


def last(robot: Robot) -> str:
    """Return the last link."""
    return robot.links[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_places_of_frames(kind: str) -> None:
    """Pose, position, quaternion and roll-pitch-yaw are Pinocchio's."""
    c = plain(kind)
    pin.framesForwardKinematics(c.model, c.data, c.their_q)
    for name in c.robot.links:
        theirs = c.data.oMf[c.frame(name)]
        pose = value(c.robot.pose[name], c.q)
        assert relative(pose, theirs.homogeneous) < 1e-13
        assert relative(value(c.robot.position[name], c.q), theirs.translation) < 1e-13
        w, x, y, z = value(c.robot.orientation[name], c.q)
        assert w >= 0
        assert relative(pin.Quaternion(w, x, y, z).matrix(), theirs.rotation) < 1e-13
        angles = value(c.robot.rpy[name], c.q)
        assert relative(pin.rpy.rpyToMatrix(angles), theirs.rotation) < 1e-13


def test_the_quaternion_is_accurate_for_every_rotation() -> None:
    """Turns by half circles about each axis, where three components vanish or nearly so."""
    robot = Robot(random_robot(1, ["ball"]))
    spot = robot.spot("link0")
    still = np.linalg.inv(value(robot.pose["link0"], [1.0, 0, 0, 0])[:3, :3])
    assert spot.body.joint.quaternion
    for e in (*np.eye(4), [1e-9, 1, 0, 0], [1e-9, 0, -1, 1e-9], [0.5, 0.5, -0.5, 0.5]):
        e = np.asarray(e) / np.linalg.norm(e)
        pose = value(robot.pose["link0"], e)[:3, :3]
        w, x, y, z = value(robot.orientation["link0"], e)
        assert np.abs(pin.Quaternion(w, x, y, z).matrix() - pose).max() < 1e-15
        assert relative(still @ pose, pin.Quaternion(*e).matrix()) < 1e-14


@pytest.mark.parametrize("kind", KINDS)
def test_jacobians_and_motion_in_three_views(kind: str) -> None:
    """Jacobian, its rate, velocity, acceleration and drift of the last link are Pinocchio's."""
    check_motion(plain(kind))


@pytest.mark.parametrize(("kinds", "base"), TREES)
def test_jacobians_and_motion_of_trees(kinds: tuple[str, ...], base: str) -> None:
    """The same for trees, on a free base too."""
    check_motion(tree(kinds, base))


def check_motion(c: Case) -> None:
    """Compare how the last link moves."""
    model, data, name = c.model, c.data, last(c.robot)
    frame = c.frame(name)
    pin.forwardKinematics(model, data, c.their_q, c.their_u, c.their_a)
    pin.computeJointJacobiansTimeVariation(model, data, c.their_q, c.their_u)
    pin.updateFramePlacements(model, data)
    for view, their_name in VIEWS.items():
        robot, theirs = c.robot, getattr(pin, their_name)
        jacobian = pin.getFrameJacobian(model, data, frame, theirs)[:, c.place]
        assert relative(value(robot.jacobian.of(name, reference=view), c.q), jacobian) < 1e-13
        pose, again = values(robot.pose_and_jacobian.of(name, reference=view), c.q)
        assert relative(pose, data.oMf[frame].homogeneous) < 1e-13
        assert relative(again, jacobian) < 1e-13
        ours = value(robot.jacobian_rate.of(name, reference=view), c.q, c.u)
        assert relative(ours, jacobian_rate(c, frame, theirs)) < 1e-7
        drift = value(robot.drift.of(name, reference=view), c.q, c.u)
        assert relative(drift, ours @ c.u) < 1e-12
        v = pin.getFrameVelocity(model, data, frame, theirs).vector
        assert relative(value(robot.velocity.of(name, reference=view), c.q, c.u), v) < 1e-12
        classical = view == "local-world-aligned"
        get = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration
        ours = value(robot.acceleration.of(name, reference=view), c.q, c.u, c.a)
        assert relative(ours, get(model, data, frame, theirs).vector) < 1e-12


def jacobian_rate(c: Case, frame: int, view: Any) -> Any:
    """Return the rate of Pinocchio's Jacobian along the motion, by central differences.

    Its own function leaves out how the axes of a universal joint turn in it.
    """
    h, data = 1e-6, c.model.createData()
    ends = []
    for step in (h, -h):
        q = pin.integrate(c.model, c.their_q, step * c.their_u)
        ends.append(pin.computeFrameJacobian(c.model, data, q, frame, view))
    return ((ends[0] - ends[1]) / (2 * h))[:, c.place]


@cache
def tangent_code(robot: Robot) -> Code:
    """Return the code of the rates of the coordinates for unit speeds."""
    return lower(tangent_program(robot.tree))


def moved(robot: Robot, q: Any, u: Any, step: float) -> Any:
    """Return coordinates a small step of speeds further, quaternions made whole again."""
    (tangent,) = interpret(tangent_code(robot), [q])
    found = q + step * tangent @ u
    place = {x: k for k, x in enumerate(robot.tree.coordinates)}
    for body in robot.mechanism.bodies.values():
        if body.joint.quaternion:
            at = [place[e] for e in body.rotations]
            found[at] /= np.linalg.norm(found[at])
    return found


def slopes(robot: Robot, quantity: Quantity, q: Any, *rest: Any) -> Any:
    """Return the derivative by q by central differences along unit speeds."""
    h, code = 1e-6, code_of(quantity)

    def at(e: Any, step: float) -> Any:
        (found,) = interpret(code, [moved(robot, q, e, step), *rest])
        return found

    columns = [(at(e, h) - at(e, -h)) / (2 * h) for e in np.eye(len(robot.speeds))]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("orientation", ["rpy", "zyx", "quaternion"])
def test_analytic_jacobians(orientation: str) -> None:
    """Their columns are the slopes of position and angles, by finite differences."""
    robot = tree(*TREES[0]).robot
    name = last(robot)
    q = robot.random(seed=5)
    angles = robot.orientation if orientation == "quaternion" else robot.rpy
    by_numbers = slopes(robot, angles[name], q)
    if orientation == "zyx":
        by_numbers = by_numbers[::-1]
    expected = np.vstack([slopes(robot, robot.position[name], q), by_numbers])
    ours = value(robot.analytic_jacobian.of(name, orientation=orientation), q)
    assert relative(ours, expected) < 1e-8


@pytest.mark.parametrize(("kinds", "base"), TREES)
def test_points_of_frames(kinds: tuple[str, ...], base: str) -> None:
    """A point that is given with the call moves as Pinocchio's frame at that place does."""
    c = tree(kinds, base)
    name, point = last(c.robot), np.array([0.2, -0.1, 0.4])
    joint = c.model.frames[c.frame(name)].parentJoint
    inner = c.model.frames[c.frame(name)].placement * pin.SE3(np.eye(3), point)
    model = c.model.copy()
    frame = model.addFrame(pin.Frame("tool", joint, 0, inner, pin.FrameType.OP_FRAME))
    data = model.createData()
    pin.forwardKinematics(model, data, c.their_q, c.their_u, 0 * c.their_a)
    pin.computeJointJacobiansTimeVariation(model, data, c.their_q, c.their_u)
    pin.updateFramePlacements(model, data)
    view = pin.LOCAL_WORLD_ALIGNED
    robot = c.robot
    ours = value(robot.point_position[name], c.q, point)
    assert relative(ours, data.oMf[frame].translation) < 1e-13
    ours = value(robot.point_velocity[name], c.q, c.u, point)
    assert relative(ours, pin.getFrameVelocity(model, data, frame, view).linear) < 1e-12
    ours = value(robot.point_jacobian[name], c.q, point)
    theirs = pin.getFrameJacobian(model, data, frame, view)[:3, c.place]
    assert relative(ours, theirs) < 1e-13
    ours = value(robot.point_drift[name], c.q, c.u, point)
    theirs = pin.getFrameClassicalAcceleration(model, data, frame, view).linear
    assert relative(ours, theirs) < 1e-12


@pytest.mark.parametrize("kind", cases(KINDS, daily=["screw", "universal", "free"]))
def test_mass_center_momentum_and_energy(kind: str) -> None:
    """Mass center, centroidal momentum with matrix and rate, and energies are Pinocchio's."""
    check_momentum(plain(kind))


@pytest.mark.parametrize(("kinds", "base"), TREES)
def test_mass_center_momentum_and_energy_of_trees(kinds: tuple[str, ...], base: str) -> None:
    """The same for trees, on a free base too."""
    check_momentum(tree(kinds, base))


def check_momentum(c: Case) -> None:
    """Compare what belongs to the robot as a whole."""
    model, data, robot, q = c.model, c.data, c.robot, c.their_q
    assert relative(value(robot.center_of_mass, c.q), pin.centerOfMass(model, data, q)) < 1e-13
    theirs = pin.jacobianCenterOfMass(model, data, q)[:, c.place]
    assert relative(value(robot.center_of_mass_jacobian, c.q), theirs) < 1e-13
    pin.ccrba(model, data, q, c.their_u)
    assert relative(value(robot.centroidal_matrix, c.q), data.Ag[:, c.place]) < 1e-12
    assert relative(value(robot.centroidal_momentum, c.q, c.u), data.hg.vector) < 1e-12
    pin.computeCentroidalMomentumTimeVariation(model, data, q, c.their_u, c.their_a)
    ours = value(robot.centroidal_momentum_rate, c.q, c.u, c.a)
    assert relative(ours, data.dhg.vector) < 1e-12
    kinetic = pin.computeKineticEnergy(model, data, q, c.their_u)
    assert relative(value(robot.kinetic_energy, c.q, c.u), np.array(kinetic)) < 1e-12
    potential = pin.computePotentialEnergy(model, data, q)
    assert relative(value(robot.potential_energy, c.q), np.array(potential)) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_the_regressor_times_the_parameters(kind: str) -> None:
    """Y p is inverse dynamics, with the parameters of the description, for joints of each kind."""
    c = plain(kind)
    theirs = pin.rnea(c.model, c.data, c.their_q, c.their_u, c.their_a)[c.place]
    ours = value(c.robot.regressor, c.q, c.u, c.a) @ c.robot.inertial_parameters
    assert relative(ours, theirs) < 1e-12


def test_the_regressor_is_pinocchios() -> None:
    """Column by column on a free base, and the parameters are its dynamic parameters."""
    c = tree(*TREES[0])
    theirs = pin.computeJointTorqueRegressor(c.model, c.data, c.their_q, c.their_u, c.their_a)
    joints = [c.model.frames[c.frame(name)].parentJoint for name in c.robot.links]
    columns = [10 * (j - 1) + k for j in joints for k in range(10)]
    assert relative(value(c.robot.regressor, c.q, c.u, c.a), theirs[c.place][:, columns]) < 1e-12
    numbers = [c.model.inertias[j].toDynamicParameters() for j in joints]
    assert relative(c.robot.inertial_parameters, np.concatenate(numbers)) < 1e-14
    assert c.robot.inertial_names[:5] == ("base.m", "base.mx", "base.my", "base.mz", "base.Ixx")


def test_base_parameters_and_friction_columns() -> None:
    """Base parameters give the forces of all; their number is the rank of many regressors."""
    robot = Robot(random_robot(6, ["revolute"] * 3, chain=True, armature=0.2))
    base = robot.base
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(30):
        q, u, a = rng.normal(size=(3, 3))
        y = value(robot.regressor, q, u, a)
        rows.append(y)
        ours = value(robot.base_regressor, q, u, a) @ base.regrouping @ robot.inertial_parameters
        assert relative(ours, y @ robot.inertial_parameters) < 1e-10
    assert len(base.columns) == np.linalg.matrix_rank(np.vstack(rows))
    q, u, a = rng.normal(size=(3, 3))
    more = value(robot.joint_regressor, q, u, a)[:, 30:]
    expected = np.zeros((3, 9))
    for k in range(3):
        expected[k, 3 * k : 3 * k + 3] = a[k], u[k], np.sign(u[k])
    np.testing.assert_allclose(more, expected)
    assert robot.full_names[-3:] == ("j2.rotor", "j2.viscous", "j2.dry")
    rotors = more[:, ::3] @ np.full(3, 0.2)
    whole = value(robot.regressor, q, u, a) @ robot.inertial_parameters + rotors
    assert relative(value(robot.inverse_dynamics, q, u, a), whole) < 1e-12


@pytest.mark.parametrize(("kinds", "base"), cases([*TREES, FREE], daily=[FREE]))
def test_derivatives_of_dynamics(kinds: tuple[str, ...], base: str) -> None:
    """Those of inverse and forward dynamics by all inputs are Pinocchio's, tangent space and all.

    Its derivatives leave out how the axes of a universal joint turn in it; there finite differences
    stand in.
    """
    c = tree(kinds, base)
    model, data, robot = c.model, c.data, c.robot
    at = np.ix_(c.place, c.place)
    by_q, by_u, by_a = values(robot.inverse_dynamics.derivative("q", "u", "a"), c.q, c.u, c.a)
    mass = full(pin.crba(model, data, c.their_q))[at]
    assert relative(by_a, mass) < 1e-11
    if "universal" in kinds:
        inverse = robot.inverse_dynamics
        assert relative(by_q, slopes(robot, inverse, c.q, c.u, c.a)) < 1e-7
        ends = [[value(inverse, c.q, c.u + s * e, c.a) for e in np.eye(len(c.u))] for s in (1, -1)]
        assert relative(by_u, (np.array(ends[0]) - ends[1]).T / 2) < 1e-11
    else:
        pin.computeRNEADerivatives(model, data, c.their_q, c.their_u, c.their_a)
        assert relative(by_q, data.dtau_dq[at]) < 1e-11
        assert relative(by_u, data.dtau_dv[at]) < 1e-11
    tau = value(robot.inverse_dynamics, c.q, c.u, c.a)
    found = values(robot.forward_dynamics.derivative("q", "u", "tau"), c.q, c.u, tau)
    expected = (-np.linalg.solve(mass, by_q), -np.linalg.solve(mass, by_u), np.linalg.inv(mass))
    for ours, theirs in zip(found, expected, strict=True):
        assert relative(ours, theirs) < 1e-8


@pytest.mark.parametrize(("kinds", "base"), cases([*TREES, UNIVERSAL], daily=[UNIVERSAL]))
def test_derivatives_of_every_other_quantity(kinds: tuple[str, ...], base: str) -> None:
    """By q they are the slopes of finite differences along unit speeds."""
    c = tree(kinds, base)
    robot = c.robot
    for quantity, rest in _quantities(robot, c.u):
        ours = values(quantity.derivative("q"), c.q, *rest)[0]
        expected = slopes(robot, quantity, c.q, *rest)
        assert relative(ours, expected) < 2e-7, quantity.name


def _quantities(robot: Robot, u: Any) -> Iterator[tuple[Quantity, tuple[Any, ...]]]:
    name = last(robot)
    for each in (robot.pose, robot.orientation, robot.rpy, robot.jacobian):
        yield each[name], ()
    for quantity in (robot.mass_matrix, robot.gravity, robot.center_of_mass):
        yield quantity, ()
    yield robot.centroidal_matrix, ()
    yield robot.potential_energy, ()
    yield robot.velocity[name], (u,)
    yield robot.kinetic_energy, (u,)
    yield robot.nonlinear_effects, (u,)


def test_forward_and_reverse_accumulation_agree() -> None:
    """Both ways give the same derivatives in the tangent space of a free base."""
    c = tree(*TREES[0])
    program = c.robot.inverse_dynamics.derived()
    tangents = {"q": tangent_program(c.robot.tree)}
    both = [
        interpret(
            lower(derivative_program(program, ["q", "u"], tangents, mode=mode)), [c.q, c.u, c.a]
        )
        for mode in ("forward", "reverse")
    ]
    for one, other in zip(*both, strict=True):
        assert relative(one, other) < 1e-12


def test_joints_that_follow_others() -> None:
    """Jacobians, momentum and derivatives hold for the independent speeds alone."""
    free = random_robot(8, ["revolute", "prismatic", "revolute"], chain=True, armature=0.1)
    robot = Robot(follower(free, -2.0, 0.3))
    whole = Robot(free)
    ties = np.array([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])
    q, u, a = np.random.default_rng(0).normal(size=(3, 2))
    all_q, all_u, all_a = ties @ q + [0, 0, 0.3], ties @ u, ties @ a
    theirs = value(whole.jacobian["link2"], all_q) @ ties
    assert relative(value(robot.jacobian["link2"], q), theirs) < 1e-13
    theirs = value(whole.velocity["link2"], all_q, all_u)
    assert relative(value(robot.velocity["link2"], q, u), theirs) < 1e-12
    theirs = value(whole.acceleration["link2"], all_q, all_u, all_a)
    assert relative(value(robot.acceleration["link2"], q, u, a), theirs) < 1e-12
    theirs = value(whole.centroidal_matrix, all_q) @ ties
    assert relative(value(robot.centroidal_matrix, q), theirs) < 1e-12
    theirs = ties.T @ value(whole.regressor, all_q, all_u, all_a)
    assert relative(value(robot.regressor, q, u, a), theirs) < 1e-12
    theirs = value(whole.kinetic_energy, all_q, all_u)
    assert relative(value(robot.kinetic_energy, q, u), theirs) < 1e-12
    by_q = values(robot.inverse_dynamics.derivative("q"), q, u, a)[0]
    theirs = ties.T @ values(whole.inverse_dynamics.derivative("q"), all_q, all_u, all_a)[0] @ ties
    assert relative(by_q, theirs) < 1e-11


def test_derivatives_of_a_loop() -> None:
    """On a four-bar linkage the derivative by q goes along its one freedom."""
    robot = Robot(four_bar())
    q = closed_four_bar(0.7)
    which = [s.symbol.name for s in robot.tree.kinematics.speeds].index(robot.speeds[0])
    h = 1e-6

    def near(step: float) -> Any:
        """Return the closed linkage with the coordinate of the one speed moved."""
        crank = 0.7
        for _ in range(20):
            gap = closed_four_bar(crank)[which] - q[which] - step
            crank -= (
                gap / ((closed_four_bar(crank + h) - closed_four_bar(crank - h)) / (2 * h))[which]
            )
        return closed_four_bar(crank)

    slope = values(robot.position["rod"].derivative("q"), q)[0]
    assert relative(value(robot.jacobian["rod"], q)[:3], slope) < 1e-13
    rate = value(robot.jacobian_rate["rod"], q, [0.8])
    assert relative(value(robot.drift["rod"], q, [0.8]), rate @ [0.8]) < 1e-11
    for quantity, rest in (
        (robot.position["rod"], ()),
        (robot.mass_matrix, ()),
        (robot.nonlinear_effects, ([0.8],)),
    ):
        ours = values(quantity.derivative("q"), q, *rest)[0][..., 0]
        step = 1e-5
        expected = (value(quantity, near(step), *rest) - value(quantity, near(-step), *rest)) / (
            2 * step
        )
        assert relative(ours, expected) < 1e-7, quantity.name


def test_native_kernels_of_frames_and_derivatives() -> None:
    """Compiled, in batches, the results are those of the Programs."""
    c = case(random_robot(2, ["revolute"] * 2, right_angles=True, chain=True), seed=2)
    robot, name = c.robot, last(c.robot)
    q, u = robot.random(9), np.random.default_rng(1).normal(size=(9, 2))
    poses, jacobians = robot.pose_and_jacobian(q, name)
    by_q, by_tau = robot.forward_dynamics.derivative("q", "tau")(q, u, u)
    assert poses.shape == (9, 4, 4)
    assert jacobians.shape == (9, 6, 2)
    assert by_q.shape == by_tau.shape == (9, 2, 2)
    for k in range(9):
        one, other = values(robot.pose_and_jacobian[name], q[k])
        assert relative(poses[k], one) < 1e-13
        assert relative(jacobians[k], other) < 1e-13
        one, other = values(robot.forward_dynamics.derivative("q", "tau"), q[k], u[k], u[k])
        assert relative(by_q[k], one) < 1e-10
        assert relative(by_tau[k], other) < 1e-10
    slope = robot.jacobian.derivative("q")(q, name, reference="local")
    assert slope.shape == (9, 6, 2, 2)


def test_wrong_words_are_refused() -> None:
    """Unknown views, orientations, options and frames are named, with what there is."""
    robot = Robot(random_robot(2, ["revolute"]))
    with pytest.raises(InputError, match="reference 'sideways'") as found:
        robot.jacobian([0.0], "link0", reference="sideways")
    assert all(view in str(found.value) for view in REFERENCES)
    with pytest.raises(InputError, match="orientation 'cardan'"):
        robot.analytic_jacobian([0.0], "link0", orientation="cardan")
    with pytest.raises(InputError, match="no option view"):
        robot.jacobian([0.0], "link0", view="local")
    with pytest.raises(InputError, match="no frame 'hand'"):
        robot.pose([0.0], "hand")


@seldom(daily="test_derivatives_of_dynamics")
def test_derivatives_with_symbolic_parameters() -> None:
    """With inertial parameters as inputs the derivatives are those with numbers put in."""
    description = random_robot(4, ["revolute", "prismatic", "revolute"], chain=True, armature=0.1)
    plain, symbolic = Robot(description), Robot(description, symbolic=True)
    q, u, a = np.random.default_rng(0).normal(size=(3, 3))
    for ours, theirs in (
        (symbolic.inverse_dynamics, plain.inverse_dynamics),
        (symbolic.forward_dynamics, plain.forward_dynamics),
    ):
        slope = ours.derivative("q", "u")
        program = slope.derived()
        known = symbolic.mechanism.values
        p = np.array([known[x.name] for x in program.port("p").entries])
        found = interpret(lower(program), [q, u, a, p])
        for one, other in zip(found, values(theirs.derivative("q", "u"), q, u, a), strict=True):
            assert relative(one, other) < 1e-11
