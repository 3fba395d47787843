"""Statics and dynamics of mounts: efforts of actuators, and what every joint carries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import evaluate
from linkwright.equations.closure import Relations
from linkwright.equations.evaluation import all_values
from linkwright.program import lower
from linkwright.program.interpret import interpret
from tests.support.mount_machines import E_CASE, Array, Moved, jack_lengths, motion_of, report_tree


@dataclass(frozen=True)
class Case:
    """The regression case of the prismatic mount, worked out once."""

    robot: lw.Robot
    q: Array
    bodies: dict[str, Moved]
    rates: dict[str, tuple[float, float]]
    speed: Array
    acceleration: Array


@cache
def case() -> Case:
    m = lw.load("mount-prismatic").mechanism.with_parameters(E_CASE)
    robot = lw.Robot(m)

    def lengths(t: float) -> dict[str, float]:
        return dict(zip(robot.actuators, jack_lengths(t).real, strict=True))

    closed, bodies, rates = motion_of(m, lengths)
    q = np.array([closed[name] for name in robot.coordinates])
    speed, acceleration = (np.array([rates[n][k] for n in robot.actuators]) for k in (0, 1))
    return Case(robot, q, bodies, rates, speed, acceleration)


def unbalanced(c: Case, reactions: Array, loops: Array, moving: bool) -> float:
    """Return what is left of Newton's and Euler's equations, by the largest force."""
    m = c.robot.mechanism
    force = {name: b.force.copy() for name, b in c.bodies.items()}
    moment = {name: b.moment.copy() for name, b in c.bodies.items()}
    if not moving:
        up = np.array([0, 0, 9.81])
        for name, body in c.bodies.items():
            com = m.bodies[name].inertia.center
            known = {x: m.values[n] for n, x in m.parameters.items()}
            at = np.array([float(evaluate(x, known)) for x in com])
            force[name] = body.mass * up
            moment[name] = np.cross(body.rotation @ at, force[name])
    largest = max(np.abs(f).max() for f in force.values())

    def act(name: str, f: Array, mom: Array, at: Array) -> None:
        if name in force:
            force[name] -= f
            moment[name] -= mom + np.cross(at - c.bodies[name].origin, f)

    for name, row in zip(c.robot.links, reactions, strict=True):
        turn, parent = c.bodies[name].rotation, m.bodies[name].parent
        assert parent is not None
        f, mom, at = turn @ row[:3], turn @ row[3:], c.bodies[name].origin
        act(name, f, mom, at)
        act(parent.name, -f, -mom, at)
    known = {x: m.values[n] for n, x in m.parameters.items()}
    known |= {m.coordinates[n]: x for n, x in zip(c.robot.coordinates, c.q, strict=True)}
    for loop, row in zip(m.loops, loops, strict=True):
        parts = loop.second.position.components(m.ground.frame)
        at = np.array([float(evaluate(x, known)) for x in parts])
        act(loop.second.body.name, row[:3], row[3:], at)
        act(loop.first.body.name, -row[:3], -row[3:], at)
    left = max(np.abs(x).max() for x in (*force.values(), *moment.values()))
    return float(left / largest)


def test_the_regression_case_of_the_prismatic_mount() -> None:
    """Mount check 47: forces, and their power as the rate of energy by differences of poses."""
    c = case()
    assert c.speed == pytest.approx([0.108805, -0.071568], abs=1e-6)
    force = c.robot.inverse_dynamics(c.q, c.speed, c.acceleration)
    assert force == pytest.approx([3220.16, 2649.08], rel=1e-5)
    power = sum(body.power for body in c.bodies.values())
    assert force @ c.speed == pytest.approx(power, rel=1e-6)
    assert power == pytest.approx(160.781, abs=1e-3)


def test_all_reactions_of_the_prismatic_mount_satisfy_newton_and_euler() -> None:
    """Mount check 49: every body's balance, its motion from differences of its poses."""
    c = case()
    tau, reactions, loops = c.robot.loop_loads(c.q, c.speed, c.acceleration)
    assert c.robot.loops == ("ball2", "ball3", "foot", "foot1", "foot2")
    assert tau == pytest.approx(c.robot.inverse_dynamics(c.q, c.speed, c.acceleration), rel=1e-10)
    assert unbalanced(c, reactions, loops, moving=True) < 1e-8
    row = dict(zip(c.robot.links, reactions, strict=True))
    assert -row["leg1"][2] == pytest.approx(tau[0], rel=1e-9)  # the jack's own force, along -z


def test_at_rest_dynamics_are_statics_and_the_ground_carries_the_weight() -> None:
    """Mount checks 33 and 48."""
    c = case()
    still = np.zeros(2)
    tau, reactions, loops = c.robot.loop_loads(c.q, still, still)
    assert tau == pytest.approx(c.robot.gravity(c.q), rel=1e-10)
    assert unbalanced(c, reactions, loops, moving=False) < 1e-8
    row = dict(zip(c.robot.links, reactions, strict=True))
    ground = sum(c.bodies[n].rotation @ row[n][:3] for n in ("arm1", "arm2", "arm3"))
    for loop, f in zip(c.robot.mechanism.loops, loops, strict=True):
        if loop.first.body is c.robot.mechanism.ground:
            ground = ground + f[:3]
    weight = 9.81 * sum(body.mass for body in c.bodies.values())
    assert ground == pytest.approx([0, 0, weight], abs=1e-7 * weight)


def test_passive_rates_are_those_of_the_geometry() -> None:
    """Mount check 46: speeds and accelerations of all joints, against differences of poses."""
    c = case()
    m = c.robot.mechanism
    single = [b.name for b in m.bodies.values() if len(b.coordinates) == 1]
    tree = c.robot.tree
    reduction = tree.reduction
    assert reduction is not None
    wanted = [name for name in single if name not in c.robot.actuators]
    known = {x: m.values[n] for n, x in m.parameters.items()}
    known |= {m.coordinates[n]: x for n, x in zip(c.robot.coordinates, c.q, strict=True)}
    known |= dict(zip(tree.speeds, c.speed, strict=True))
    known |= dict(zip(tree.accelerations, c.acceleration, strict=True))
    writer = tree.writer()
    rates = tree.all_rates(writer, tree.accelerations)
    for s in writer.statements:
        known[s.target] = evaluate(s.value, known)
    kinematics = tree.kinematics
    for name in wanted:
        u = kinematics.rates[m.coordinates[name]]
        assert float(known[u]) == pytest.approx(c.rates[name][0], abs=1e-9)
        assert float(evaluate(rates[u], known)) == pytest.approx(c.rates[name][1], abs=1e-7)


def test_speeds_of_the_actuators_span_the_null_space_of_the_loops() -> None:
    """Mount check 45: R of the library's own cut, Y R = 0 with ones at the actuators.

    R is what the reduced equations make of unit speeds; Y are the loops' relations of speeds.
    """
    c = case()
    m, tree = c.robot.mechanism, c.robot.tree
    relations = Relations(m, all_values(m, None))
    place = dict(zip(m.coordinates.values(), c.q, strict=True))
    y, _ = relations.speed(np.array([place[x] for x in relations.coordinates]), 0.0)
    writer = tree.writer()
    tree.all_rates(writer, tree.accelerations)
    columns = []
    for unit in np.eye(2):
        known = {x: m.values[n] for n, x in m.parameters.items()}
        known |= place | dict(zip(tree.speeds, unit, strict=True))
        known |= dict.fromkeys(tree.accelerations, 0.0)
        for s in writer.statements:
            known[s.target] = evaluate(s.value, known)
        columns.append([float(known[u]) for u in relations.speeds])
    r = np.array(columns).T
    rates = tree.kinematics.rates
    driven = [relations.speeds.index(rates[m.coordinates[n]]) for n in c.robot.actuators]
    assert r[driven].tolist() == np.eye(2).tolist()
    assert np.abs(r).max() > 1  # passive joints do turn
    assert np.abs(y @ r).max() < 1e-10
    sizes = np.linalg.svd(y, compute_uv=False)
    assert (sizes > 1e-9 * sizes[0]).sum() == len(r) - 2


def test_both_cuts_of_the_prismatic_mount_give_the_same_forces() -> None:
    """Mount checks 44 and 47: the report's tree of 32 freedoms, its null space by SVD."""
    c = case()
    feet = [0.6 * np.array([np.cos(a), np.sin(a), 0]) for a in (0.0, np.deg2rad(120))]
    tree, closed = report_tree(c.bodies, feet)
    kinematics = closed.kinematics()
    names = [s.symbol.name for s in kinematics.speeds]
    driven = [names.index("b16_dot"), names.index("b20_dot")]
    assert len(names) == 32
    assert [k + 1 for k in driven] == [23, 29]
    relations = Relations(closed, {})
    q = np.array([1.0 if x.name.endswith("e0") else 0.0 for x in relations.coordinates])
    assert np.abs(relations.position(q, 0.0)[0]).max() < 1e-12
    y, _ = relations.speed(q, 0.0)
    _, sizes, vt = np.linalg.svd(y)
    assert y.shape == (30, 32)
    assert (sizes > 1e-9 * sizes[0]).sum() == 30
    null = vt[30:].T
    r = null @ np.linalg.inv(null[driven])
    assert np.abs(y @ r).max() < 1e-10
    assert r[driven] == pytest.approx(np.eye(2), abs=1e-12)
    u = r @ c.speed
    for own, name in (("b1", "arm1"), ("b3", "platform"), ("b4", "upper2"), ("b16", "leg1")):
        assert u[names.index(f"{own}_dot")] == pytest.approx(c.rates[name][0], abs=1e-9)
    known = dict(zip(relations.coordinates, q, strict=True)) | dict(
        zip(relations.speeds, u, strict=True)
    )
    way = np.array([float(evaluate(kinematics.rates[x], known)) for x in relations.coordinates])
    h = 1e-4
    high, low = (relations.speed(q + s * h * way, 0.0)[0] @ u for s in (1, -1))
    picked = np.eye(32)[driven]
    right = np.concatenate([-(high - low) / (2 * h), c.acceleration])
    a = np.linalg.solve(np.concatenate([y, picked]), right)
    assert a[names.index("b1_dot")] == pytest.approx(c.rates["arm1"][1], abs=1e-6)
    robot = lw.Robot(tree)
    assert [f"{x}" for x in robot.speeds] == names
    (held,) = interpret(lower(robot.inverse_dynamics.derived()), [q, u, a])
    force = r.T @ held
    assert force == pytest.approx(c.robot.inverse_dynamics(c.q, c.speed, c.acceleration), rel=1e-7)


def test_a_ship_puts_nine_freedoms_before_the_mount() -> None:
    """Mount check 44: the actuated places are 32 and 38 then."""
    c = case()
    feet = [0.6 * np.array([np.cos(a), np.sin(a), 0]) for a in (0.0, np.deg2rad(120))]
    tree, _ = report_tree(c.bodies, feet, ship=True)
    names = [s.symbol.name for s in tree.kinematics().speeds]
    assert [names.index(f"b{k}_dot") + 1 for k in (16, 20)] == [32, 38]


def test_rates_of_all_coordinates_are_public_with_their_projection() -> None:
    """Mount check 46 by the robot's own door: differences of closed poses, and R by columns."""
    c = case()
    found = c.robot.coordinate_rates(c.q, c.speed)
    for name, value in zip(c.robot.coordinates, found, strict=True):
        if name in c.rates:
            assert value == pytest.approx(c.rates[name][0], abs=1e-8), name
    projection = c.robot.coordinate_rates.derivative("u")(c.q, 0 * c.speed)
    assert projection.shape == (len(c.robot.coordinates), 2)
    assert projection @ c.speed == pytest.approx(found)
    rows = [c.robot.coordinates.index(name) for name in c.robot.actuators]
    assert projection[rows] == pytest.approx(np.eye(2))
