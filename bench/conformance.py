"""``python -m bench.conformance [NAME ...]``: agreement with Pinocchio and MuJoCo, robot by robot.

Each robot is read from the same file by both, every quantity is computed natively at seeded random
states, and the largest error, relative to the size of the quantity, is printed for each group
(motion: to at least 1 m/s, m/s^2, ..., which is the size of the speeds). The exit code is 1 where
an error is above 1e-10. Errors near 1e-11 come from files whose right angles have eleven or twelve
digits: they are taken for right angles (`linkwright.formats.robot.rigid_groups`).

What is compared with Pinocchio:

- places: pose, position, quaternion, roll-pitch-yaw of frames, points of frames;
- Jacobians: in three views, analytic ones, of points;
- motion: velocity, acceleration and drift of frames in three views, the Jacobian's rate;
- dynamics: inverse and forward dynamics, gravity, bias, mass matrix and its inverse;
- momentum: mass center, its Jacobian, centroidal momentum, its matrix and rate, energies;
- regressor: all of it, and the base parameters' forces;
- derivatives: of inverse and forward dynamics by all they depend on, of gravity, of the velocity
  of a frame and of the centroidal momentum.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pinocchio as pin
from rich import box
from rich.console import Console
from rich.table import Table

import linkwright as lw
from bench.example_robots import EXAMPLES, Example, path_of
from bench.mujoco_peer import compare as compare_with_mujoco
from bench.pinocchio_peer import VIEWS, Array, Peer, State
from linkwright.cli.machine import describe
from linkwright.robots import Robot
from linkwright.robots.regressor import random_states

LIMIT = 1e-10
STATES = 3
FRAMES = 2
_SMALL = 20  # degrees of freedom up to which what takes long to build is compared too

Pair: TypeAlias = tuple[str, Any, Any]
Group: TypeAlias = Callable[[Robot, Peer, State], Iterator[Pair]]


def states(robot: Robot, count: int) -> list[State]:
    """Return seeded states; quaternions have length one."""
    q, u, a = random_states(robot.tree, count, seed=7)
    tau = np.random.default_rng(8).normal(size=u.shape)
    return [State(*row) for row in zip(q, u, a, tau, strict=True)]


def tips(robot: Robot) -> list[str]:
    """Return a few frames: the last ones of the tree, spread over it."""
    moved = [name for name in robot.frames if robot.spot(name).body.parent is not None]
    parents = {robot.spot(name).body.parent for name in moved}
    ends = [name for name in moved if robot.spot(name).body not in parents]
    spread = np.linspace(0, len(ends) - 1, min(FRAMES, len(ends)))
    return [ends[round(k)] for k in spread]


def views(robot: Robot, name: str) -> list[tuple[str, Any]]:
    """Return all views for the first of the frames, the usual one for the others."""
    everything = list(VIEWS.items())
    return everything if name == tips(robot)[0] else everything[:1]


# -- groups ----------------------------------------------------------------------------------------
def places(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare where frames are."""
    model, data = peer.model, peer.data
    pin.framesForwardKinematics(model, data, peer.coordinates(s.q))
    point = np.array([0.1, -0.2, 0.3])
    for name in tips(robot):
        theirs = data.oMf[peer.frame(name)]
        yield f"pose {name}", robot.pose(s.q, name), theirs.homogeneous
        yield f"position {name}", robot.position(s.q, name), theirs.translation
        e = pin.Quaternion(theirs.rotation).coeffs()[[3, 0, 1, 2]]
        yield f"orientation {name}", robot.orientation(s.q, name), e * (1 if e[0] >= 0 else -1)
        yield f"rpy {name}", pin.rpy.rpyToMatrix(robot.rpy(s.q, name)), theirs.rotation
        yield f"point {name}", robot.point_position(s.q, point, name), theirs.act(point)


def jacobians(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare Jacobians."""
    model, data, q = peer.model, peer.data, peer.coordinates(s.q)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    point = np.array([0.1, -0.2, 0.3])
    for name in tips(robot):
        frame = peer.frame(name)
        for view, theirs in views(robot, name):
            j = pin.getFrameJacobian(model, data, frame, theirs) @ peer.g
            yield f"J {view} {name}", robot.jacobian(s.q, name, reference=view), j
        j = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED) @ peer.g
        pose, both = robot.pose_and_jacobian(s.q, name)
        yield f"pose with J {name}", pose, data.oMf[frame].homogeneous
        yield f"J with pose {name}", both, j
        rotation = data.oMf[frame].rotation
        angles = pin.rpy.matrixToRpy(rotation)
        rates = np.linalg.inv(pin.rpy.computeRpyJacobian(angles, pin.LOCAL_WORLD_ALIGNED))
        by_angles = np.vstack([j[:3], rates @ j[3:]])
        yield f"J rpy {name}", robot.analytic_jacobian(s.q, name), by_angles
        ours = robot.analytic_jacobian(s.q, name, orientation="zyx")
        yield f"J zyx {name}", ours, np.vstack([j[:3], by_angles[:2:-1]])
        w, x, y, z = robot.orientation(s.q, name)
        turn = 0.5 * np.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])
        ours = robot.analytic_jacobian(s.q, name, orientation="quaternion")
        yield f"J quaternion {name}", ours, np.vstack([j[:3], turn @ j[3:]])
        arm = rotation @ point
        at_point = j[:3] - pin.skew(arm) @ j[3:]
        yield f"J point {name}", robot.point_jacobian(s.q, point, name), at_point


def motion(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare velocities and accelerations of frames."""
    model, data, q = peer.model, peer.data, peer.coordinates(s.q)
    u, a = peer.g @ s.u, peer.g @ s.a
    pin.forwardKinematics(model, data, q, u, a)
    pin.computeJointJacobiansTimeVariation(model, data, q, u)
    pin.updateFramePlacements(model, data)
    point = np.array([0.1, -0.2, 0.3])
    for name in tips(robot):
        frame = peer.frame(name)
        for view, theirs in views(robot, name):
            v = pin.getFrameVelocity(model, data, frame, theirs).vector
            yield f"velocity {view} {name}", robot.velocity(s.q, s.u, name, reference=view), v
            classical = view == "local-world-aligned"
            get = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration
            ours = robot.acceleration(s.q, s.u, s.a, name, reference=view)
            yield f"acceleration {view} {name}", ours, get(model, data, frame, theirs).vector
            rate = pin.getFrameJacobianTimeVariation(model, data, frame, theirs)
            ours = robot.drift(s.q, s.u, name, reference=view)
            yield f"drift {view} {name}", ours, rate @ u
            ours = robot.jacobian_rate(s.q, s.u, name, reference=view)
            yield f"J rate {view} {name}", ours, rate @ peer.g
        v = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = data.oMf[frame].rotation @ point
        ours = robot.point_velocity(s.q, s.u, point, name)
        yield f"velocity of point {name}", ours, v.linear + np.cross(v.angular, arm)
        rate = pin.getFrameJacobianTimeVariation(model, data, frame, pin.LOCAL_WORLD_ALIGNED) @ u
        swing = np.cross(v.angular, np.cross(v.angular, arm))
        ours = robot.point_drift(s.q, s.u, point, name)
        yield f"drift of point {name}", ours, rate[:3] + np.cross(rate[3:], arm) + swing


def dynamics(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare forces, accelerations and mass matrices."""
    model, data, q, g = peer.model, peer.data, peer.coordinates(s.q), peer.g
    u, a = g @ s.u, g @ s.a
    yield "inverse", robot.inverse_dynamics(s.q, s.u, s.a), g.T @ pin.rnea(model, data, q, u, a)
    gravity = g.T @ pin.computeGeneralizedGravity(model, data, q)
    yield "gravity", robot.gravity(s.q), gravity
    bias = g.T @ pin.nonLinearEffects(model, data, q, u)
    yield "bias", robot.nonlinear_effects(s.q, s.u), bias
    mass = g.T @ full_mass(peer, q) @ g
    yield "mass", robot.mass_matrix(s.q), mass
    yield "inverse mass", robot.inverse_mass_matrix(s.q), np.linalg.inv(mass)
    if peer.follows:
        theirs = np.linalg.solve(mass, s.tau - bias)
    else:
        theirs = g.T @ pin.aba(model, data, q, u, g @ s.tau)
    yield "forward", robot.forward_dynamics(s.q, s.u, s.tau), theirs


def full_mass(peer: Peer, q: Array) -> Array:
    """Return Pinocchio's mass matrix, both halves."""
    half = np.triu(pin.crba(peer.model, peer.data, q))
    return np.asarray(half + np.triu(half, 1).T)


def momentum(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare mass center, momentum and energy."""
    model, data, q, g = peer.model, peer.data, peer.coordinates(s.q), peer.g
    u, a = g @ s.u, g @ s.a
    yield "center", robot.center_of_mass(s.q), pin.centerOfMass(model, data, q)
    theirs = pin.jacobianCenterOfMass(model, data, q) @ g
    yield "center J", robot.center_of_mass_jacobian(s.q), theirs
    pin.ccrba(model, data, q, u)
    yield "centroidal matrix", robot.centroidal_matrix(s.q), data.Ag @ g
    yield "centroidal momentum", robot.centroidal_momentum(s.q, s.u), data.hg.vector
    pin.computeCentroidalMomentumTimeVariation(model, data, q, u, a)
    ours = robot.centroidal_momentum_rate(s.q, s.u, s.a)
    yield "centroidal rate", ours, data.dhg.vector
    kinetic = pin.computeKineticEnergy(model, data, q, u)
    yield "kinetic", np.array(robot.kinetic_energy(s.q, s.u)), np.array(kinetic)
    potential = pin.computePotentialEnergy(model, data, q)
    yield "potential", np.array(robot.potential_energy(s.q)), np.array(potential)


def regressor(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare the regressor, and the base parameters' forces with those of inverse dynamics."""
    model, data, q, g = peer.model, peer.data, peer.coordinates(s.q), peer.g
    u, a = g @ s.u, g @ s.a
    theirs = g.T @ pin.computeJointTorqueRegressor(model, data, q, u, a)
    columns = [10 * (j - 1) + k for j in peer.link_order() for k in range(10)]
    yield "regressor", robot.regressor(s.q, s.u, s.a), theirs[:, columns]
    base = robot.base.regrouping @ robot.inertial_parameters
    tau = g.T @ pin.rnea(model, data, q, u, a)
    kept = robot.regressor(s.q, s.u, s.a)[:, robot.base.columns]
    yield "base parameters", kept @ base, tau
    if len(s.u) <= _SMALL:
        yield "base regressor", robot.base_regressor(s.q, s.u, s.a) @ base, tau
        full = robot.joint_regressor(s.q, s.u, s.a)
        yield "full regressor", full[:, : len(columns)], theirs[:, columns]


def derivatives(robot: Robot, peer: Peer, s: State) -> Iterator[Pair]:
    """Compare first derivatives."""
    model, data, q, g = peer.model, peer.data, peer.coordinates(s.q), peer.g
    u, a = g @ s.u, g @ s.a
    pin.computeRNEADerivatives(model, data, q, u, a)
    ours = robot.inverse_dynamics.derivative("q", "u", "a")(s.q, s.u, s.a)
    mass = g.T @ full_mass(peer, q) @ g
    theirs: tuple[Any, ...] = (g.T @ data.dtau_dq @ g, g.T @ data.dtau_dv @ g, mass)
    yield from named("inverse by", ours, theirs)
    gravity = g.T @ pin.computeGeneralizedGravityDerivatives(model, data, q) @ g
    yield "gravity by q", robot.gravity.derivative("q")(s.q), gravity
    ours = robot.forward_dynamics.derivative("q", "u", "tau")(s.q, s.u, s.tau)
    if peer.follows:
        bias = g.T @ pin.nonLinearEffects(model, data, q, u)
        a = g @ np.linalg.solve(mass, s.tau - bias)
        pin.computeRNEADerivatives(model, data, q, u, a)
        by_q = -np.linalg.solve(mass, g.T @ data.dtau_dq @ g)
        by_u = -np.linalg.solve(mass, g.T @ data.dtau_dv @ g)
        theirs = (by_q, by_u, np.linalg.inv(mass))
    else:
        pin.computeABADerivatives(model, data, q, u, g @ s.tau)
        half = np.triu(data.Minv)
        whole = half + np.triu(half, 1).T
        theirs = (g.T @ data.ddq_dq @ g, g.T @ data.ddq_dv @ g, g.T @ whole @ g)
    yield from named("forward by", ours, theirs)
    a = g @ s.a
    pin.computeForwardKinematicsDerivatives(model, data, q, u, a)
    pin.updateFramePlacements(model, data)
    for name in tips(robot)[:1]:
        frame = peer.frame(name)
        view = pin.LOCAL
        by_q, by_u = pin.getFrameVelocityDerivatives(model, data, frame, view)
        slopes = robot.velocity.of(name, reference="local").derivative("q", "u")(s.q, s.u)
        yield from named(f"velocity {name} by", slopes, (by_q @ g, by_u @ g))
    by_q, _, by_v, by_a = pin.computeCentroidalDynamicsDerivatives(model, data, q, u, a)
    ours = robot.centroidal_momentum.derivative("q", "u")(s.q, s.u)
    yield from named("centroidal momentum by", ours, (by_q @ g, by_a @ g))
    if len(s.u) <= _SMALL:
        ours = robot.centroidal_momentum_rate.derivative("u", "a")(s.q, s.u, s.a)
        yield from named("centroidal rate by", ours, (by_v @ g, by_a @ g))


def named(what: str, ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[Pair]:
    """Pair up results."""
    for k, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        yield f"{what} {k}", x, y


GROUPS: dict[str, Group] = {
    "places": places,
    "Jacobians": jacobians,
    "motion": motion,
    "dynamics": dynamics,
    "momentum": momentum,
    "regressor": regressor,
    "derivatives": derivatives,
}


# -- table -----------------------------------------------------------------------------------------
def error(ours: Array, theirs: Array, least: float = 1e-3) -> float:
    """Return the largest difference relative to the largest entry, or to the least size."""
    if np.shape(ours) != np.shape(theirs):
        return float("inf")
    size = max(float(np.abs(theirs).max(initial=0.0)), least)
    difference = float(np.abs(np.asarray(ours) - theirs).max(initial=0.0))
    return difference / size if np.isfinite(difference) else float("inf")


def compare(example: Example) -> tuple[int, dict[str, tuple[float, str]], float]:
    """Return degrees of freedom, for each group the worst error and what it is of, and seconds."""
    started = time.perf_counter()
    path = path_of(example)
    robot = lw.load(path, base=example.base, friction=False)
    peer = Peer(robot, path, example.base)
    worst: dict[str, tuple[float, str]] = {}
    for s in states(robot, STATES):
        for name, group in GROUPS.items():
            for what, ours, theirs in group(robot, peer, s):
                found = error(ours, theirs, 1.0 if name == "motion" else 1e-3)
                if found >= worst.get(name, (0.0, ""))[0]:
                    worst[name] = found, what
    return len(robot.speeds), worst, time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the robots that are named, or all of them."""
    known = [e.name for e in EXAMPLES]
    parser = argparse.ArgumentParser(prog="python -m bench.conformance", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(known)}")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(known))
    if unknown:
        parser.error(f"no robot is called {', '.join(unknown)}; there are: {', '.join(known)}")
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=150)
    for label, value in describe(("pin", "mujoco")).lines():
        console.print(f"{label:<10} {value}", markup=False, soft_wrap=True)
    examples = [e for e in EXAMPLES if not chosen.names or e.name in chosen.names]
    title = f"largest error relative to Pinocchio at {STATES} random states (limit {LIMIT:.0e})"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("robot", "kind", "base", "dof", *GROUPS, "s"):
        table.add_column(heading, justify="left" if heading in ("robot", "kind") else "right")
    wrong: list[str] = []
    for example in examples:
        dof, worst, seconds = compare(example)
        for group, (size, what) in worst.items():
            if not size <= LIMIT:
                wrong.append(f"{example.name}: {group}: {what}: {size:.1e}")
        table.add_row(
            example.name,
            example.kind,
            example.base,
            str(dof),
            *(f"{worst[g][0]:.0e}" for g in GROUPS),
            f"{seconds:.0f}",
        )
        console.print(f"{example.name}: {seconds:.0f} s", style="dim")
    console.print(table)
    wrong += compare_with_mujoco(console, examples)
    for line in wrong:
        console.print(f"disagrees: {line}", markup=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
