"""Long chains: loops over like bodies agree with what is written out, and with Newton and Euler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.algebra import Expr, sin, symbol
from linkwright.equations import Equations, derive
from linkwright.equations.aba import articulated
from linkwright.equations.choices import Choices
from linkwright.equations.kernels import inverse_dynamics_program
from linkwright.equations.repeated_bodies import LikeBodies, plan
from linkwright.equations.templates import Shapes, template
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Mechanism, Revolute
from linkwright.program import Call, Loop, Program, Statement, count_operations, lower, program
from linkwright.program.interpret import interpret
from linkwright.program.passes import optimize
from linkwright.program.program import Scanned, Stacked
from tests.seeds import cases, seldom

Array = NDArray[np.float64]
AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}
KINDS = ("planar", "spatial", "inclined", "sliding", "springs", "symbols", "branches", "ball")


def chain(kind: str, n: int) -> Mechanism:
    """Return a chain of n bodies with numbers or, for "symbols", symbols as parameters."""
    m = Mechanism(f"{kind}-chain")
    m.gravity(along=-m.y)
    rng = np.random.default_rng(11)
    last = m.ground
    for k in range(n):
        last = _link(m, kind, k, last, rng)
        if kind == "branches" and k in (20, 21):
            m.body(f"side{k}", parent=last, at=(0, 0.3, 0), rotate="x", mass=0.5, com=(0, 0, 0.2))
    if kind == "branches":
        m.force("push", 3, at=list(m.bodies.values())[14].com, along="y")
    if kind == "springs":
        _add_springs(m, rng)
    return m


def _add_springs(m: Mechanism, rng: np.random.Generator) -> None:
    for k, body in enumerate(list(m.bodies.values())[1:], start=1):
        assert body.parent is not None
        effort = f"tau{k} - {rng.uniform(1, 2)}*b{k} - c*b{k}_dot"
        m.input(f"tau{k}", unit="N*m")
        m.moment(f"drive{k}", effort, on=body, reaction=body.parent, about=body.z)


def _link(m: Mechanism, kind: str, k: int, parent: Body, rng: np.random.Generator) -> Body:
    mass: Any = rng.uniform(0.5, 1.5)
    com: tuple[Any, ...] = (*rng.uniform(0.1, 0.4, 2), 0)
    inertia = tuple(rng.uniform(0.1, 0.2, 3))
    at: tuple[Any, ...] = (rng.uniform(0.5, 1.0), rng.uniform(-0.1, 0.1), 0)
    options: dict[str, Any] = {"rotate": "z"}
    if kind == "spatial":
        options = {"rotate": "xyz"[k % 3]}
    elif kind == "inclined":
        options = {"joint": Revolute((1, 0.5, -0.25))}
    elif kind == "sliding":
        options = {"rotate": "z"} if k % 2 else {"translate": "x"}
    elif kind == "ball":
        options = {"joint": lw.Ball()}
    elif kind == "symbols":
        mass, com, at = f"m{k}", (f"c{k}", "e", 0), ("L", 0, 0)
    if kind in ("spatial", "inclined", "ball"):
        com, at = (*com[:2], 0.1), (*at[:2], 0.2)
    return m.body(f"b{k}", parent=parent, at=at, mass=mass, com=com, inertia=inertia, **options)


def inputs_of(p: Program, seed: int = 3) -> list[Array]:
    """Return numbers for the inputs of a Program."""
    rng = np.random.default_rng(seed)
    return [
        rng.uniform(0.5, 1.0, port.size) if port.name == "p" else rng.uniform(-1, 1, port.size)
        for port in p.inputs
    ]


def run(p: Program, given: list[Array]) -> list[Array]:
    return [np.asarray(x) for x in interpret(lower(p), given)]


def written_out(rolled: Equations) -> Equations:
    """Return the same equations without loops."""
    writer = Writer(rolled.mechanism.name, last=1_000_000)
    rates = articulated(rolled.kinematics, writer)
    defined = [s for s in rolled.statements if s.targets[0] in set(rolled.rates)]
    return replace(rolled, statements=(*writer.statements, *defined), accelerations=rates)


def loops(p: Program) -> int:
    return sum(isinstance(s, Loop) for s in p.statements)


@pytest.mark.parametrize("kind", cases(KINDS, daily=["planar", "branches", "springs", "ball"]))
def test_loops_move_a_chain_as_what_is_written_out(kind: str) -> None:
    """Accelerations, and forces for given accelerations, are those without loops."""
    m = chain(kind, 36 if kind == "spatial" else 18)  # which repeats only every third link
    rolled = derive(m, "articulated-looped")
    written = written_out(rolled)
    pairs = [
        (rolled.program(), written.program()),
        (rolled.inverse_dynamics_program(), inverse_dynamics_program(written, Choices())),
    ]
    for p, q in pairs:
        assert loops(p) >= 2
        assert loops(q) == 0
        given = inputs_of(q)
        for found, wanted in zip(run(p, given), run(q, given), strict=True):
            assert found == pytest.approx(wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", cases(["planar", "spatial", "symbols"], daily=["symbols"]))
def test_optimized_loops_keep_their_values_in_every_backend(kind: str) -> None:
    m = chain(kind, 44)
    written = derive(m).program()
    p = optimize(written)
    given = inputs_of(p)
    wanted = run(written, given)[1]
    close = pytest.approx(wanted, rel=1e-9, abs=1e-10 * np.abs(wanted).max())
    assert count_operations(p).total <= count_operations(written).total
    for backend in ("llvm", "c", "python"):
        assert lw.compile(p, backend=backend)(*given)[1] == close
    rows = [np.broadcast_to(x, (11, x.size)) for x in given]
    assert all(row == close for row in lw.compile(p)(*rows)[1])


@seldom(daily="test_loops_move_a_chain_as_what_is_written_out")
def test_what_loops_execute_is_near_to_what_is_written_out() -> None:
    """A loop knows less of its bodies than what is written out for each, but not much less."""
    for kind, most in (("planar", 1.12), ("spatial", 1.03), ("symbols", 1.12)):
        m = chain(kind, 50)
        e = derive(m, "articulated-looped")
        rolled, written = count_operations(e.program()), count_operations(written_out(e).program())
        assert rolled.total <= most * written.total
        assert rolled.call == written.call


@pytest.mark.parametrize(
    ("kind", "n"),
    cases([("spatial", 60), ("planar", 150), ("spatial", 150)], daily=[("spatial", 60)]),
)
def test_many_links_obey_newton_and_euler(kind: str, n: int) -> None:
    """No torque acts in the joints if all links accelerate as the kernel says."""
    m = chain(kind, n)
    e = derive(m)
    assert e.formulation == "articulated-looped"
    p = e.program()
    assert len(p.statements) < 500
    q, u = inputs_of(p)
    _, rates = lw.compile(p)(q, u)
    scale = np.abs(torques(m, kind, q, u, 0 * u)).max()
    assert np.abs(torques(m, kind, q, u, rates)).max() < 1e-10 * scale
    a = np.linspace(-1, 1, n)
    tau = lw.compile(e.inverse_dynamics_program())(q, u, a)
    wanted = torques(m, kind, q, u, a)
    assert tau == pytest.approx(wanted, rel=1e-9, abs=1e-11 * np.abs(wanted).max())


def numbers(values: Sequence[Expr]) -> Array:
    return np.array([float(x.data) for x in values])


def torques(m: Mechanism, kind: str, q: Array, u: Array, a: Array) -> Array:
    """Return the joint torques by Newton's and Euler's laws in the axes of the ground."""
    bodies = list(m.bodies.values())
    letters = ["z" if kind == "planar" else "xyz"[k % 3] for k in range(len(bodies))]
    turn, place, omega, alpha, acceleration = np.eye(3), *np.zeros((4, 3))
    acceleration = np.array([0, 9.81, 0])
    states = []
    for body, letter, angle, speed, rate in zip(bodies, letters, q, u, a, strict=True):
        assert body.parent is not None
        arm = turn @ numbers(body.offset.components(body.parent.frame))
        acceleration = acceleration + np.cross(alpha, arm)
        acceleration = acceleration + np.cross(omega, np.cross(omega, arm))
        place = place + arm
        axis = turn @ AXES[letter]
        k = np.cross(np.eye(3), AXES[letter])
        turn = turn @ (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k)
        alpha = alpha + rate * axis + speed * np.cross(omega, axis)
        omega = omega + speed * axis
        arm = turn @ numbers(body.inertia.center)
        j = turn @ np.diag(numbers(body.inertia.tensor[:3])) @ turn.T
        center = acceleration + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        force = float(body.inertia.mass.data) * center
        moment = j @ alpha + np.cross(omega, j @ omega) + np.cross(place + arm, force)
        states.append((axis, place, force, moment))
    found, total_force, total_moment = [], np.zeros(3), np.zeros(3)
    for axis, place, force, moment in reversed(states):
        total_force, total_moment = total_force + force, total_moment + moment
        found.append(axis @ (total_moment - np.cross(place, total_force)))
    return np.array(found[::-1])


def test_the_text_of_a_program_does_not_grow_with_its_chain() -> None:
    """More links are no more statements."""
    short, long = (derive(chain("spatial", n)).program() for n in (62, 122))
    assert len(short.statements) == len(long.statements)
    bodies = [[len(s.body) for s in p.statements if isinstance(s, Loop)] for p in (short, long)]
    assert bodies[0] == bodies[1]


def test_runs_are_split_where_bodies_differ() -> None:
    """A branch or a load ends a run; alternating joints share a turn; head and tip stand alone."""
    runs = [x for x in plan(chain("branches", 60).kinematics()) if isinstance(x, LikeBodies)]
    assert [(r.bodies[0].name, len(r.bodies)) for r in runs] == [("b1", 13), ("b22", 37)]
    (run_,) = [x for x in plan(chain("spatial", 62).kinematics()) if isinstance(x, LikeBodies)]
    assert (run_.period, run_.turns, run_.bodies[0].name) == (3, 20, "b1")
    assert all(isinstance(x, Body) for x in plan(chain("planar", 8).kinematics()))


def test_a_template_gives_back_its_rows() -> None:
    """Names decide the order of terms in sums; whatever is paired, filling the holes undoes it."""
    a, b, c, d = (lw.symbol(x, "coordinate") for x in ("zeta", "a", "k", "x"))
    rows = [3 * a * b + lw.sin(b) * 2 + 1, 4 * c * d + 5 * lw.sin(d) + 1]
    shapes = Shapes({})
    (made,), holes = template([[shapes.form(x)] for x in rows], "", "h")
    for k, row in enumerate(rows):
        assert lw.substitute(made, {h.symbol: h.column[k] for h in holes}) is row


@seldom(daily="test_runs_are_split_where_bodies_differ")
def test_auto_takes_loops_for_long_chains_of_like_bodies_only() -> None:
    assert derive(chain("planar", 45)).formulation == "articulated-looped"
    mixed = Mechanism("mixed")
    last = mixed.ground
    for k, letter in enumerate("xxyxzzyxyyzzxyzxxzyxyzzyxxyzyxzyyxzxzyxzyyxzx"):
        last = mixed.body(f"b{k}", parent=last, at=(1, 0, 0), rotate=letter, mass=1, inertia=1)
    assert derive(mixed).formulation == "articulated"


# -- motion ----------------------------------------------------------------------------------------
def _pulled(p: Program) -> Program:
    """Return x - f(f(x) + x), where f is a Program of three entries that is called twice."""
    x = list(p.inputs[0].entries)
    first, moved, last = ([symbol(f"{s}{k}", "local") for k in range(3)] for s in "ymz")
    a, b = symbol("a", "local"), symbol("b", "local")
    loop = Loop(
        3,
        (),
        (Scanned(a, tuple(first)), Scanned(b, tuple(x))),
        (Stacked(a + b, tuple(moved)),),
        (),
    )
    statements: list[Statement] = [
        Call(p, tuple(x), tuple(first)),
        loop,
        Call(p, tuple(moved), tuple(last)),
    ]
    values = [u - v for u, v in zip(x, last, strict=True)]
    return program("pulled", {"x": x}, {"d": values, "m": moved}, statements=statements)


def test_arrays_go_from_calls_to_loops_to_calls_where_they_lie() -> None:
    """One row alone and rows in lanes give what the interpreter gives."""
    p = program(
        "f", {"x": ["x0", "x1", "x2"]}, {"y": lambda *x: [x[1] * x[2], sin(x[0]), x[0] + 1]}
    )
    made = _pulled(p)
    kernel = lw.compile(made, backend="llvm")
    rows = np.random.default_rng(3).uniform(-1, 1, (37, 3))
    wanted = [np.asarray(x) for x in interpret(lower(made), [rows])]
    for found, expected in zip(kernel.batch(rows), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    for found, expected in zip(kernel(rows[0]), wanted, strict=True):
        np.testing.assert_allclose(found, expected[0], rtol=1e-14)


@pytest.mark.parametrize("method", cases(["dop853", "dopri5"], daily=["dop853"]))
def test_a_chain_moves_as_scipy_has_it(method: str) -> None:
    """With so many states a step is loops over them; alone and in lanes it follows SciPy."""
    m = chain("planar", 60)
    equations = derive(m)
    kernel = lw.compile(equations.program(outputs=False))
    names = [x.name for x in (*equations.coordinates, *equations.speeds)]
    rest = [np.zeros(port.shape) for port in kernel.program.inputs[2:]]

    def rates(_: float, y: Array) -> Array:
        return np.concatenate([np.ravel(x) for x in kernel(y[:60], y[60:], *rest)])

    start = np.concatenate([np.linspace(0.0, 0.1, 60), np.zeros(60)])
    given = dict(zip(names, map(float, start), strict=True))
    wanted = solve_ivp(rates, (0, 0.1), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    run_ = lw.simulate(m, 0.1, method=method, initial=given, tolerance=1e-11, record=names)
    final = run_.final
    np.testing.assert_allclose([final[n] for n in names], wanted, rtol=0, atol=1e-8)
    batch = lw.simulate_batch(m, 0.1, runs=3, method=method, initial=given, tolerance=1e-11)
    found = batch.x[:, [batch.states.index(n) for n in names]]
    np.testing.assert_allclose(found, np.tile(wanted, (3, 1)), rtol=0, atol=1e-8)
