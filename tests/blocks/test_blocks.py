"""Blocks and elements: places and loads against the mechanism's own vectors, and complaints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import Expr, evaluate, evaluate_all, substitute_all
from linkwright.blocks import Block, BlockError, Delay, Element, Foreign, joint_of
from linkwright.equations.choices import Choices
from linkwright.equations.kernels import mass_matrix_program
from linkwright.mechanism import Body, Joint, MechanismError
from linkwright.program import Assign, program
from linkwright.system import System
from tests.oracles.phase_runner import PlainRun
from tests.seeds import seldom


def beast() -> lw.Mechanism:
    """Return a free body with limbs on hinges, a slide, a screw, a cylinder and a ball."""
    m = lw.Mechanism("beast")

    def limb(name: str, parent: Body, at: tuple[float, float, float], joint: Joint) -> Body:
        heavy = {"mass": 1.0, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.2, 0.4)}
        return m.body(name, parent=parent, at=at, joint=joint, **heavy)  # type: ignore[arg-type]

    base = limb("base", m.ground, (0, 0, 0), lw.Free())
    hip = limb("hip", base, (0.2, 0.1, -0.1), lw.Revolute("y"))
    knee = limb("knee", hip, (0.4, 0, 0.1), lw.Revolute("x"))
    limb("foot", knee, (0, 0.3, 0), lw.Prismatic("z"))
    arm = limb("arm", base, (0, 0.5, 0), lw.Cylindrical("x"))
    limb("drill", arm, (0.1, 0, 0), lw.Screw("z", 0.02))
    limb("hand", arm, (0, 0, 0.4), lw.Ball(quaternion=True))
    m.gravity()
    return m


def numbers(m: lw.Mechanism, seed: int) -> dict[Expr, float]:
    """Return random coordinates and speeds, quaternions of unit length."""
    generator = np.random.default_rng(seed)
    at = {q: float(generator.uniform(-1, 1)) for q in m.coordinates.values()}
    at |= {s.symbol: float(generator.uniform(-1, 1)) for s in m.kinematics().speeds}
    for body in m.bodies.values():
        if body.joint.quaternion:
            size = np.sqrt(sum(at[e] ** 2 for e in body.rotations))
            at |= {e: at[e] / size for e in body.rotations}
    return at


def inlined(element: Element, exprs: list[Expr]) -> list[Expr]:
    """Return expressions with the element's partial results put in."""
    known: dict[Expr, Expr] = {}
    for s in element.statements:
        assert isinstance(s, Assign)
        known[s.target] = substitute_all([s.value], known)[0]
    return substitute_all(exprs, known)


@pytest.mark.parametrize("body", ["base", "hip", "knee", "foot", "arm", "drill", "hand"])
def test_places_are_those_of_the_mechanisms_vectors(body: str) -> None:
    m = beast()
    point = m.point("p", m.bodies[body], (0.3, -0.1, 0.2))
    e = Element("e", m)
    found = inlined(e, [*e.position(point), *e.velocity(point), *e.places.of(point.body).omega])
    frame = m.ground.frame
    wanted = [
        *point.position.components(frame),
        *point.velocity.components(frame),
        *point.body.omega.components(frame),
    ]
    for seed in range(3):
        at = numbers(m, seed)
        np.testing.assert_allclose(
            np.array(evaluate_all(found, at), dtype=float),
            np.array(evaluate_all(wanted, at), dtype=float),
            atol=1e-13,
        )


@seldom(daily="test_the_force_that_is_shown_is_the_one_that_was_given")
def test_a_push_is_the_force_of_the_same_vector() -> None:
    """With and without an arm, against forces that the mechanism itself has."""
    m, other = beast(), beast()
    tip = m.point("tip", m.bodies["hand"], (0.1, 0.2, 0.3))
    e = Element("wind", m)
    x = e.position(tip)
    e.force_vector("drag", [1.0 + x[0], -2.0, 0.5 * x[2]], at=tip)
    e.force_vector("touch", [0.3, 0.2, -0.7], at=m.bodies["foot"], arm=[0.05, -0.4, 0.2])
    s = System(m)
    s.add(e)
    end = other.point("tip", other.bodies["hand"], (0.1, 0.2, 0.3))
    place = end.position
    for axis, value in (("x", place @ other.x + 1), ("y", -2.0), ("z", (place @ other.z) * 0.5)):
        other.force(f"drag {axis}", value, at=end, along=axis)
    foot = other.bodies["foot"]
    force = other.ground.frame.vector(0.3, 0.2, -0.7)
    couple = other.ground.frame.vector(0.05, -0.4, 0.2) ^ force
    for axis, along in (("x", other.x), ("y", other.y), ("z", other.z)):
        other.force(f"touch {axis}", force @ along, at=foot, along=along)
        other.moment(f"turn {axis}", couple @ along, on=foot, about=along)
    ours, plain = PlainRun(s.phases()), PlainRun(System(other).phases())
    names = [signal.name for signal in ours.phases.x]
    for seed in range(3):
        at = {q.name: v for q, v in numbers(m, seed).items()}
        state = np.array([at[name] for name in names])
        np.testing.assert_allclose(ours.rate(0.0, state), plain.rate(0.0, state), rtol=1e-9)


def test_the_force_that_is_shown_is_the_one_that_was_given() -> None:
    m = beast()
    e = Element("wind", m)
    e.force_vector("drag", [1.0, -2.0, 0.5], at=m.bodies["hand"])
    s = System(m)
    s.add(e)
    run = PlainRun(s.phases())
    run.record(0.0)
    assert [run[f"wind.drag_{c}"][0] for c in "xyz"] == [1.0, -2.0, 0.5]


@seldom(daily="test_no_torque_acts_on_one_of_several_rotations")
def test_an_effort_acts_on_its_own_coordinate_alone() -> None:
    """The power of an effort is its value times the rate of its coordinate."""
    m = beast()
    plain = PlainRun(System(m).phases())
    at = {x.name: v for x, v in numbers(m, 4).items()}
    state = np.array([at[x.name] for x in plain.phases.x])
    freely = plain.rate(0.0, state)
    speeds = [s.symbol for s in m.kinematics().speeds]
    n = len(speeds)
    kernel = lw.compile(mass_matrix_program(lw.derive(m, "composite-usual"), Choices()))
    arrays = [np.array([at[x.name] for x in port.entries]) for port in kernel.inputs]
    mass = np.reshape(kernel(*arrays), (n, n))
    for name in ("hip", "foot", "drill"):
        q = joint_of(m, name).coordinate
        e = Element("e", m)
        e.effort("tau", q, 1.0)
        s = System(m)
        s.add(e)
        tau = mass @ (PlainRun(s.phases()).rate(0.0, state) - freely)[-n:]
        expected = np.array([float(m.kinematics().rates[q] is u) for u in speeds])
        np.testing.assert_allclose(tau, expected, atol=1e-9)


def test_no_torque_acts_on_one_of_several_rotations() -> None:
    m = beast()
    with pytest.raises(BlockError, match="one of several rotations of 'hand'"):
        Element("e", m).effort("tau", m.bodies["hand"].rotations[1], 1.0)


def test_an_embedded_program_is_what_it_computes() -> None:
    b = Block("b")
    u = b.input("u")
    x, y, z = (lw.symbol(n) for n in "xyz")
    p = program(
        "p", {"v": [x, y]}, {"out": [z + x, z * y]}, statements=[Assign(z, x * y + lw.sin(x))]
    )
    first, second = b.embed(p, {"v": [u, 2 * u]})["out"]
    (assigned,) = b.statements
    assert isinstance(assigned, Assign)
    for value in (0.3, -1.2):
        held = evaluate(assigned.value, {u: value})
        at = {u: value, assigned.target: held}
        wanted = 2 * value**2 + np.sin(value)
        assert evaluate(first, at) == pytest.approx(wanted + value)
        assert evaluate(second, at) == pytest.approx(wanted * 2 * value)


def steps_of(work: Callable[[], object]) -> int:
    """Return how many instructions of Python some work takes."""
    count = 0

    def step(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return step

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for one before it starts
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_a_delay_takes_time_in_proportion_to_its_length() -> None:
    short, long = (steps_of(partial(Delay, n, rate=100)) for n in (100, 800))
    assert long < 9 * short


def test_a_default_does_not_refer_to_itself() -> None:
    with pytest.raises(lw.InputError, match="unknown name 'x'"):
        Block("b").input("x", "2*x")
    with pytest.raises(lw.InputError, match="unknown name 'x'"):
        Block("b").state("x", "-x", "2*x")
    assert Block("b").state("x", "-x", "2*t").name == "x"


def noisy() -> Block:
    """Return a block that throws dice."""
    block = Block("noisy", rate=10)
    block.output("y", block.uniform("dice"))
    return block


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Block("two words"), "cannot name a block"),
        (lambda: Block("b", rate=0), "nothing can run"),
        (lambda: Block("b").output("t", 1), "'t' is taken"),
        (lambda: Block("b").derivative(lw.symbol("x"), 1), "not a continuous state"),
        (lambda: Block("b").delay(1, 0), "cannot delay by 0"),
        (lambda: Block("b").input_vector("u", 2, [1.0]), "has the shape"),
        (lambda: lw.sampled(), "one of the two"),
        (lambda: lw.sampled(float("nan")), "neither a time nor a rate"),
        (lambda: Foreign(lambda *u: 0, name="f"), "no name that a port could have"),
        (lambda: Foreign(lambda u: 0, inputs={"v": 2}, name="f"), "no argument v"),
        (lambda: noisy().input("dice"), "'dice' is taken"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(BlockError, match=message):
        make()


def test_an_element_needs_a_mechanism() -> None:
    with pytest.raises(MechanismError, match="3 is not a model; give a Mechanism"):
        Element("e", 3)
