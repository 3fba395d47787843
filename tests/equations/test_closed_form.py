"""Closed-form equations against the numeric ones, against SymPy's mechanics, and as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import Expr, evaluate_all, free_symbols
from linkwright.algebra.functions import FUNCTIONS
from linkwright.algebra.functions.registry import apply
from linkwright.cli import main
from linkwright.equations.closed_form import tidy
from linkwright.equations.latex_report import latex_report
from linkwright.mechanism import Mechanism
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    import sympy
else:
    sympy = Late("sympy")

GENERATOR = 20260721


def cart_with_two_rods() -> Mechanism:
    """Return a double pendulum on a cart; gravity, a push and a damper act on it."""
    m = lw.Mechanism("cart2")
    cart = m.body("x", translate="x", mass="M", inertia=0)
    upper = m.body(
        "p1", parent=cart, rotate="z", mass="m1", com=(0, "-L1/2", 0), inertia=(0, 0, "m1*L1**2/12")
    )
    m.body(
        "p2",
        parent=upper,
        rotate="z",
        at=(0, "-L1", 0),
        mass="m2",
        com=(0, "-L2/2", 0),
        inertia=(0, 0, "m2*L2**2/12"),
    )
    m.gravity(along="-y", g="g")
    m.force("push", "F", at=cart.origin, along="x")
    m.moment("damper", "-d*p1_dot", on=upper, about="z", reaction=cart)
    m.defaults(M=3, m1=1, m2=0.7, L1=1.1, L2=0.6, g=9.81, d=0.3, F=2)
    return m


def numbers_for(m: Mechanism, wanted: tuple[Expr, ...], seed: int) -> dict[Expr, float]:
    rng = np.random.default_rng(seed)
    values: dict[Expr, float] = {}
    for x in wanted:
        drawn = float(rng.uniform(0.2, 1.0))
        values[x] = m.values.get(x.name, drawn)
    return values


@pytest.mark.parametrize(
    "name",
    cases(
        ["double-pendulum", "four-bar", "slider-crank", "spacecraft-1", "stanford-arm"],
        daily=["double-pendulum", "four-bar"],
    ),
)
def test_the_closed_form_is_the_program_written_out(name: str) -> None:
    """M^-1 (Q - c - g) with numbers is what the compiled equations give."""
    m = lw.load(name)
    e = lw.derive(m, "quick")
    closed = e.closed_form()
    assert not any(
        x.name.startswith(("z", "pc")) and x.data.role == "local"
        for x in free_symbols(*closed.residuals())
    )
    program = e.program(outputs=False)
    inputs = {p.name: p.entries for p in program.inputs}
    everything = tuple(x for entries in inputs.values() for x in entries)
    values = numbers_for(m, everything, GENERATOR)
    kernel = lw.compile(program, backend="python")
    q_dot, u_dot = kernel(*[np.array([values[x] for x in xs]) for xs in inputs.values()])
    # speeds that constraints eliminate are functions of the others
    rows = [*(x for row in closed.mass for x in row), *closed.bias, *closed.gravity, *closed.forces]
    n = len(closed.speeds)
    dependent = evaluate_all(list(closed.dependent.values()), values)
    values.update(zip(closed.dependent, dependent, strict=True))
    found = np.array(evaluate_all(rows, {**values, **_defaults(m)}), dtype=float)
    mass, (c, g, f) = found[: n * n].reshape(n, n), found[n * n :].reshape(3, n)
    np.testing.assert_allclose(np.linalg.solve(mass, f - c - g), u_dot, rtol=1e-8, atol=1e-9)
    rates = evaluate_all(list(closed.rates.values()), {**values, **_defaults(m)})
    np.testing.assert_allclose(rates, q_dot, rtol=1e-9, atol=1e-12)


def _defaults(m: Mechanism) -> dict[Expr, float]:
    return {x: m.values[k] for k, x in {**m.parameters, **m.inputs}.items() if k in m.values}


def test_the_closed_form_is_that_of_sympy() -> None:
    """Lagrange's method in SymPy gives the same M and the same right side, symbolically."""
    from sympy.physics import mechanics  # takes long to import

    m = cart_with_two_rods()
    closed = m.equations().closed_form()
    q = mechanics.dynamicsymbols("x p1 p2")
    t = mechanics.dynamicsymbols._t
    M, m1, m2, L1, L2, g = sympy.symbols("M m1 m2 L1 L2 g")
    x, a, b = q[0], q[1], q[1] + q[2]
    first = sympy.Matrix([x + L1 / 2 * sympy.sin(a), -L1 / 2 * sympy.cos(a)])
    second = sympy.Matrix(
        [x + L1 * sympy.sin(a) + L2 / 2 * sympy.sin(b), -L1 * sympy.cos(a) - L2 / 2 * sympy.cos(b)]
    )
    kinetic = M * x.diff(t) ** 2 / 2
    potential = sympy.Integer(0)
    for mass, place, length, angle in ((m1, first, L1, a), (m2, second, L2, b)):
        v = place.diff(t)
        kinetic += mass * v.dot(v) / 2 + mass * length**2 / 24 * angle.diff(t) ** 2
        potential += mass * g * place[1]
    method = mechanics.LagrangesMethod(kinetic - potential, q)
    method.form_lagranges_equations()
    ours = lw.to_sympy(closed.mass, dict(zip(("x", "p1", "p2"), q, strict=True)))
    assert sympy.simplify(ours - method.mass_matrix) == sympy.zeros(3, 3)
    names = {str(f.func): f for f in q} | {f"{f.func}_dot": f.diff(t) for f in q}
    bias = lw.to_sympy([c + w for c, w in zip(closed.bias, closed.gravity, strict=True)], names)
    assert sympy.simplify(bias + method.forcing) == sympy.zeros(3, 1)
    assert [str(x) for x in closed.forces] == ["F", "-d*p1_dot", "0"]


def test_latex_is_that_of_a_textbook() -> None:
    source = cart_with_two_rods().equations().latex()
    assert r"\ddot{p}_{1}" in source
    assert r"\cos\left(p_{1} + p_{2}\right)" in source
    assert "dot}}" not in source
    assert source.count(r"\begin{bmatrix}") == 5


def test_the_report_prints_formulas_and_the_closed_form() -> None:
    source = latex_report(cart_with_two_rods().equations())
    assert r"$\frac{L_{1}^{2}\,m_{1}}{12}$" in source
    assert "**" not in source
    assert r"\mathrm{dot}" not in source
    assert r"\mathbf{M} &=" in source


def test_a_closed_form_too_long_to_print_is_refused() -> None:
    closed = lw.derive(lw.load("whipple"), "quick").closed_form()
    with pytest.raises(lw.Error, match="too many to print"):
        closed.latex()


def test_tidy_keeps_the_value() -> None:
    a, b, m = lw.symbol("a", "coordinate"), lw.symbol("b", "coordinate"), lw.symbol("m")
    rng = np.random.default_rng(GENERATOR)
    for x in (
        m * (lw.cos(a) * lw.cos(b) - lw.sin(a) * lw.sin(b)) ** 2,
        lw.sin(a) ** 3 * lw.cos(b) ** 2 - m * lw.cos(a) * lw.sin(b),
        (lw.sin(a) * lw.cos(b) + lw.cos(a) * lw.sin(b)) / (1 + m * lw.cos(a) ** 2),
    ):
        values = {s: rng.normal(size=7) for s in (a, b, m)}
        before, after = evaluate_all([x, tidy(x)], values)
        np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-13)


# -- the bridge ------------------------------------------------------------------------------------
def test_expressions_survive_the_way_to_sympy_and_back() -> None:
    """Truths used as numbers, choices, powers and numbers of all kinds keep their values."""
    rng = np.random.default_rng(GENERATOR)
    a, b, c = names = lw.symbols("a b c")
    made = [
        a**-3 / 7 + 0.1 * b - lw.sqrt(c) ** 3,
        (a & b) * c + lw.where(~(a < b) | (b < c), a, 2),
        a**b + a**0.3,
        lw.where(a < b, a, b * lw.PI),
        (a <= b) + lw.minimum(a, b, c) * lw.sign(c),
        lw.atan2(a, b) + lw.floor(3 * c) + lw.absolute(b),
    ]
    for x in made:
        again = lw.from_sympy(lw.to_sympy(x), {s.name: s for s in names})
        values = {s: rng.uniform(0.1, 0.9, size=5) for s in names}
        before, after = evaluate_all([x, again], values)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("op", sorted(FUNCTIONS.keys() - {"foreign", "table1", "table2"}))
def test_every_function_has_its_like_in_sympy(op: str) -> None:
    arity = FUNCTIONS[op].arity
    count = 3 if arity is None else arity
    args = lw.symbols("a b c")[:count]
    x = apply(op, tuple(args))
    again = lw.from_sympy(lw.to_sympy(x), {s.name: s for s in args})
    values = {s: np.array([0.3, 0.7]) + 0.1 * k for k, s in enumerate(args)}
    before, after = evaluate_all([x, again], values)
    np.testing.assert_allclose(after, before, rtol=1e-12)


def test_functions_of_time_are_coordinates_and_speeds() -> None:
    from sympy.physics import mechanics  # takes long to import

    m = cart_with_two_rods()
    m.equations()
    p1 = mechanics.dynamicsymbols("p1")
    t = mechanics.dynamicsymbols._t
    found = lw.from_sympy(p1.diff(t) ** 2 + sympy.sin(p1) * sympy.Symbol("g"), m)
    assert found is m.expr("p1_dot**2 + g*sin(p1)")


def test_what_sympy_cannot_hold_is_told() -> None:
    a, b = sympy.symbols("a b")
    with pytest.raises(lw.Error, match="Integral"):
        lw.from_sympy(sympy.Integral(sympy.sin(a) / a, a))
    with pytest.raises(lw.Error, match="more than time"):
        lw.from_sympy(sympy.Function("f")(a, b))
    with pytest.raises(lw.Error, match="not a SymPy"):
        lw.from_sympy("1 +* 2")
    table = lw.Lookup1D([0, 1, 2], [0, 1, 4])
    with pytest.raises(lw.Error, match="table"):
        lw.to_sympy(table(lw.symbol("s")))


def test_the_command_line_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "describe", "double-pendulum", "--closed-form"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("M u' + c + g = Q, u = (")
    assert "M[2,1] = " in told
    assert main(["model", "describe", "double-pendulum", "--closed-form", "--latex", "-"]) == 0
    assert capsys.readouterr().out.startswith(r"\begin{align*}")
