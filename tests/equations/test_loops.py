"""Closing loops: every joint against the same joint in a tree, assembly, redundancy, statics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linkwright.equations import closure, derive, singular
from linkwright.equations.closure import AssemblyError, Relations, assemble
from linkwright.equations.redundant import RedundantDynamics
from linkwright.equations.statics import equilibrium
from linkwright.mechanism import (
    Ball,
    Body,
    Cylindrical,
    Free,
    Joint,
    Mechanism,
    MechanismError,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwright.models import load_model
from linkwright.simulation import simulate
from tests.seeds import cases, seldom

JOINTS: dict[str, Callable[[], Joint]] = {
    "revolute": lambda: Revolute("y"),
    "oblique revolute": lambda: Revolute((1, 2, 2)),
    "universal": lambda: Universal("y", "z"),
    "ball": Ball,
    "prismatic": lambda: Prismatic("x"),
    "oblique prismatic": lambda: Prismatic((0, 3, 4)),
    "cylindrical": lambda: Cylindrical("z"),
    "planar": lambda: Planar("z"),
    "weld": Weld,
}
FREEDOMS = {"universal": 2, "ball": 3, "cylindrical": 2, "planar": 3, "weld": 0}


def crank(m: Mechanism) -> Body:
    m.gravity(along=(1, -2, -3))
    return m.body("arm", rotate="z", mass=1, com=(0.4, 0.1, 0), inertia=(0.1, 0.2, 0.3))


def watched(m: Mechanism, load: Body) -> None:
    """Add the place and motion of a body as outputs."""
    tip = m.point("tip", load, (0.3, 0.2, -0.1))
    for letter, axis, ground in zip("xyz", load.frame.axes, (m.x, m.y, m.z), strict=True):
        m.output(f"tip {letter}", tip.position @ ground)
        m.output(f"speed {letter}", load.com.velocity @ axis)
        m.output(f"spin {letter}", load.omega @ axis)


LOAD: dict[str, Any] = {
    "mass": 2,
    "com": (0.3, -0.1, 0.2),
    "inertia": (0.2, 0.3, 0.4, 0.01, -0.02, 0.03),
}


def in_the_tree(joint: Joint) -> Mechanism:
    m = Mechanism("tree")
    load = m.body("load", parent=crank(m), at=(1, 0, 0), joint=joint, **LOAD)
    watched(m, load)
    return m


def in_a_loop(joint: Joint) -> Mechanism:
    m = Mechanism("loop")
    arm = crank(m)
    load = m.body("load", joint=Free("xyz"), **LOAD)  # zxy would go through its pole
    m.close_loop("hinge", m.point("seat", arm, (1, 0, 0)), load, joint)
    watched(m, load)
    return m


@pytest.mark.parametrize(
    "name", cases(JOINTS, daily=["oblique revolute", "universal", "prismatic"])
)
def test_a_joint_moves_alike_in_the_tree_and_as_the_closure_of_a_loop(name: str) -> None:
    tree = in_the_tree(JOINTS[name]())
    rates = {s.symbol.name: 0.3 + 0.2 * k for k, s in enumerate(tree.kinematics().speeds)}
    expected = simulate(tree, 0.6, step=0.3, initial=rates, tolerance=1e-11)
    start = expected.at(0.0)
    speeds = {f"load.{u}": start[f"speed {a}"] for u, a in zip("uvw", "xyz", strict=True)}
    speeds |= {f"load.{u}": start[f"spin {a}"] for u, a in zip("pqr", "xyz", strict=True)}
    initial = {"load.x": 1.0, "arm_dot": rates["arm_dot"], **speeds}
    found = simulate(in_a_loop(JOINTS[name]()), 0.6, step=0.3, initial=initial, tolerance=1e-11)
    freedoms = 1 + FREEDOMS.get(name, 1)
    assert f"{freedoms} degree" in found.report[0]
    for t in (0.3, 0.6):
        for letter in "xyz":
            for what in ("tip", "spin"):
                channel = f"{what} {letter}"
                assert found.at(t)[channel] == pytest.approx(expected.at(t)[channel], abs=2e-8)
    assert found.residual < 1e-12


def test_a_rod_of_given_length_is_a_ball_at_each_end() -> None:
    held = Mechanism("held")
    mass = held.body("b", translate="xyz", mass=1, inertia=0)
    held.constrain_distance(held.origin, mass.origin, "L")
    held.defaults(L=2.0)
    held.gravity()
    run = simulate(held, 2.0, step=0.5, initial={"b.x": 2.0, "b.v": 1.0})
    length = np.sqrt(sum(run[f"b.{k}"] ** 2 for k in "xyz"))
    assert length == pytest.approx(np.full(5, 2.0), abs=1e-13)
    energy = run.energies().total
    assert energy == pytest.approx(np.full(5, energy[0]), abs=1e-8)
    about_vertical = run["b.x"] * run["b.v"] - run["b.y"] * run["b.u"]
    assert about_vertical == pytest.approx(np.full(5, 2.0), abs=1e-8)


def test_a_slot_that_turns_counts_in_the_relation_of_speeds() -> None:
    tree = Mechanism("tree")
    slot = tree.body("slot", rotate="z", mass=1, inertia=(0, 0, 0.5))
    tree.body("s", parent=slot, translate="x", mass=1, inertia=0)
    expected = simulate(tree, 1.0, step=1.0, initial={"s": 1.0, "slot_dot": 1.0}).final
    loop = Mechanism("loop")
    slot = loop.body("slot", rotate="z", mass=1, inertia=(0, 0, 0.5))
    bead = loop.body("bead", translate="xyz", mass=1, inertia=0)
    loop.constrain_points(bead.origin, loop.origin, slot.y)
    loop.constrain_points(bead.origin, loop.origin, "z")
    start = {"bead.x": 1.0, "slot_dot": 1.0, "bead.u": 0.0, "bead.v": 1.0, "bead.w": 0.0}
    run = simulate(loop, 1.0, step=1.0, initial=start)
    found = run.final
    assert found["slot"] == pytest.approx(expected["slot"], abs=1e-9)
    assert math.hypot(found["bead.x"], found["bead.y"]) == pytest.approx(expected["s"], abs=1e-9)
    assert any("turning of the direction" in line for line in run.report)


def oblique_four_bar(closed_by: Joint) -> Mechanism:
    """Return a planar four-bar whose plane is inclined, so that nothing vanishes symbolically."""
    m = Mechanism("inclined")
    axis = (0.6, 0.0, 0.8)
    a = m.body("a", rotate=[axis], mass=1, com=(0, 0.5, 0), inertia=0.1)
    b = m.body("b", parent=a, at=(0, 1, 0), rotate=[axis], mass=1, com=(0.8, 0, -0.6), inertia=0.2)
    c = m.body("c", at=(1.6, 0.2, -1.2), rotate=[axis], mass=1, com=(0, 0.4, 0), inertia=0.1)
    first = m.point("bp", b, (1.6, 0.2, -1.2))
    m.close_loop("pin", first, m.point("cp", c, (0, 1, 0)), closed_by)
    m.gravity(along="-y")
    return m


@seldom(daily="test_a_joint_moves_alike_in_the_tree_and_as_the_closure_of_a_loop")
def test_redundant_relations_of_an_overconstrained_loop_are_found_and_left_out() -> None:
    spatial = oblique_four_bar(Revolute((0.6, 0.0, 0.8)))
    assembly = assemble(spatial, {"a": 0.3})
    assert assembly.mobility == 1
    assert "3 constraints are redundant" in assembly.report[0]
    eliminated = [e.speed for e in derive(spatial, "composite-usual").eliminations]
    assert eliminated.count(None) == len(spatial.constraints) - 2
    enough = oblique_four_bar(Ball())
    run, reference = (
        simulate(m, 1.0, step=1.0, initial={"a": 0.3}).final for m in (spatial, enough)
    )
    assert run["c"] == pytest.approx(reference["c"], abs=1e-8)


def test_speeds_are_eliminated_where_the_loop_is_closed_not_with_all_angles_zero() -> None:
    m = load_model("andrews")
    equations = derive(m, "composite-usual")
    (independent,) = equations.speeds
    relations = Relations(m, m.values)
    state = assemble(m)
    jacobian, _ = relations.speed(np.array(list(state.coordinates.values())), 0.0)
    tied = [i for i, u in enumerate(relations.speeds) if u is not independent]
    assert np.linalg.cond(jacobian[:, tied]) < 50


def test_loops_that_cannot_close_say_which_relation_fails() -> None:
    m = Mechanism("short")
    a = m.body("a", rotate="z")
    b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    m.close_loop("pin", m.point("far", at=(4, 0, 0)), m.point("tip", b, (2, 0, 0)), Revolute("z"))
    with pytest.raises(AssemblyError, match=r"do not close .* largest, 1.*, in 'pin: no movement"):
        assemble(m, {"a": 0.1})
    m = load_model("four-bar")
    assembly = assemble(m, {"a": -0.5})
    assert assembly.coordinates["b"] == pytest.approx(0.56347327, abs=6e-9)
    assert assembly.coordinates["c"] == pytest.approx(-0.64449177, abs=6e-9)
    assert assembly.computed == ("b", "c")
    assert assembly.report[0] == "3 speeds, 2 constraints of rank 2: 1 degree of freedom"


def test_given_speeds_that_violate_constraints_are_changed_and_reported() -> None:
    m = load_model("four-bar")
    state = assemble(m, {"a": 0.2, "a_dot": 1.5})
    assert state.speeds["b_dot"] == pytest.approx(-1.36888561, abs=6e-9)
    assert state.speeds["c_dot"] == pytest.approx(1.89617199, abs=6e-9)
    state = assemble(m, {"a": 0.2, "a_dot": 1.5, "b_dot": 1.0, "c_dot": 1.0})
    assert any("given speeds violated" in line for line in state.report)
    ratio = state.speeds["b_dot"] / state.speeds["a_dot"]
    assert ratio == pytest.approx(-1.36888561 / 1.5, abs=1e-8)


@pytest.mark.parametrize(
    ("phi", "delta", "pitch"),
    [
        (0.0, 0.1, -0.00011468747065),
        (0.1, 0.1, -0.00083804669708),
        (0.2, 0.4, -0.00578224303992),
        (0.0, 1.0, -0.00692446864413),
        (0.5, -0.5, 0.02521283934231),
    ],
)
def test_pitch_of_the_bicycle_follows_from_roll_and_steer(
    phi: float, delta: float, pitch: float
) -> None:
    state = assemble(load_model("whipple"), {"phi": phi, "delta": delta})
    assert state.coordinates["theta"] == pytest.approx(pitch, abs=1e-14)


def test_constraint_forces_and_accelerations_agree_between_both_forms() -> None:
    m = load_model("andrews")
    state = assemble(m)
    q = np.array(list(state.coordinates.values()))
    dynamics = RedundantDynamics(m, m.values)
    _, rates = dynamics.rates(0.0, q, np.zeros(7))
    names = [s.symbol.name for s in m.kinematics().speeds]
    found = dict(zip(names, rates, strict=True))
    assert found["beta_dot"] == pytest.approx(14222.4439199541, rel=1e-10)
    assert found["Theta_dot"] == pytest.approx(-10666.8329399656, rel=1e-10)
    assert max(abs(found[n]) for n in names if n not in ("beta_dot", "Theta_dot")) < 1e-6


def test_four_bar_rests_where_its_strut_carries_it() -> None:
    rest = equilibrium(load_model("four-bar"), {"a": 0.0})
    assert [rest.coordinates[k] for k in "abc"] == pytest.approx(
        [-0.024778341, 0.024906300, -0.030974716], abs=6e-10
    )
    assert rest.outputs["tension"] == pytest.approx(110.41027, abs=6e-6)
    assert rest.stable


def test_pendulum_rests_hanging_and_on_its_head() -> None:
    m = Mechanism("pendulum")
    m.body("p", rotate="z", mass=1, com=(0, -2, 0), inertia=0)
    m.gravity(along="-y")
    hanging = equilibrium(m, {"p": 0.4})
    assert hanging.coordinates["p"] == pytest.approx(0.0, abs=1e-12)
    assert hanging.squares == pytest.approx([9.81 / 2])
    assert hanging.stable is True
    standing = equilibrium(m, {"p": 3.0})
    assert standing.coordinates["p"] == pytest.approx(math.pi, abs=1e-12)
    assert standing.stable is False


def test_frequencies_about_rest_are_those_of_small_motions() -> None:
    m = Mechanism("beam")
    b = m.body("b", translate="y", rotate="z", mass=3, inertia=(0, 0, 0.5))
    m.gravity(along="-y")
    for name, x in (("left", -1.0), ("right", 2.0)):
        foot = m.point(f"{name} foot", at=(x, -1, 0))
        m.force(name, "-300*(x - 1)", at=m.point(name, b, (x, 0, 0)), along="y", reaction=foot)
    rest = equilibrium(m)
    k = np.array([[600.0, 300.0], [300.0, 300.0 + 1200.0]])
    expected = np.linalg.eigvals(np.linalg.solve(np.diag([3.0, 0.5]), k))
    assert rest.squares == pytest.approx(sorted(expected), rel=1e-2)


def test_what_cannot_be_closed_is_refused() -> None:
    m = Mechanism("m")
    a = m.body("a", rotate="z")
    b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    with pytest.raises(MechanismError, match="with itself"):
        m.close_loop("x", a, m.point("p", a, (1, 0, 0)), Revolute("z"))
    with pytest.raises(MechanismError, match="screw into the tree"):
        m.close_loop("x", a, b, Screw("z", 0.1))
    with pytest.raises(MechanismError, match="coincide"):
        m.constrain_distance(a.origin, b.origin, 0)
    with pytest.raises(MechanismError, match="not a coordinate"):
        m.prescribe("L", "t")
    with pytest.raises(MechanismError, match="where the joint does not slide"):
        m.close_loop("x", a, b, Prismatic("x"), along=("x",))


@pytest.mark.parametrize("joint", [Revolute("y"), Ball(quaternion=True), Ball("zxy")])
def test_a_level_pendulum_finds_where_it_hangs(joint: Joint) -> None:
    """Level, its loads do not change with the angle; it hangs with its mass center lowest."""
    m = Mechanism("pendulum")
    rod = m.body("rod", joint=joint, mass=2, com=(0.7, 0, 0), inertia=(0.1, 0.2, 0.2))
    m.gravity()
    m.output("height", rod.com.position @ m.z)
    found = equilibrium(m)
    assert found.outputs["height"] == pytest.approx(-0.7, rel=1e-12)
    assert found.stable


def test_a_relation_that_is_not_linear_in_the_speeds_is_refused_by_name() -> None:
    """At once, where it is stated, in Python and in a text."""
    m = Mechanism("m")
    m.body("b", translate="xy", mass=1)
    with pytest.raises(MechanismError, match="'odd' is not linear in the speeds"):
        m.constrain("b.x_dot*b.y_dot - 1", name="odd")
    assert not m.constraints
    m.constrain("b.x*b.y_dot - sin(t)*b.x_dot", name="even")
    assert [c.name for c in m.constraints] == ["even"]


@seldom(
    daily="tests/simulation/test_simulation.py::test_n_four_bar_goes_through_its_singular_configurations"
)
def test_many_constraints_are_solved_alike_by_either_decomposition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Large Jacobians by QR where they are regular, in as many steps, to rounding the same."""
    m = load_model("n-four-bar:n=16")
    how: dict[str, Any] = {"step": 0.1, "tolerance": 1e-7}
    run = simulate(m, 1.0, **how)
    for module in (closure, singular):
        monkeypatch.setattr(module, "LARGE", 1000)
    small = simulate(m, 1.0, **how)
    assert run.steps == small.steps
    # the cranks are alike, so that rounding decides by which of them it says where it went
    # and when, in its last digits
    one, other = (re.sub(r"c\d+_dot", "c_dot", str(r.report[2:])) for r in (run, small))
    times = [[float(x) for x in re.findall(r"[\d.]+(?= s )", words)] for words in (one, other)]
    assert times[0] == pytest.approx(times[1], abs=2e-6)
    words, same = (re.sub(r"[\d.]+(?= s )", "t", x) for x in (one, other))
    assert words == same != "()"
    for name in ("a0", "c7", "a16"):
        np.testing.assert_allclose(run[name], small[name], rtol=1e-8)


@pytest.mark.parametrize("rows", [4, 40])
def test_decompositions_are_those_of_the_matrix(rows: int) -> None:
    given = np.random.default_rng(1).normal(size=(rows, rows + 2))
    u, s, vt = closure.decomposed(given)
    np.testing.assert_allclose((u * s) @ vt[:rows], given, atol=1e-12)
    assert (np.diff(s) <= 0).all()
