"""The expression language: what it means, and that nothing but InputError ever comes out of it."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import linkwright as lw
from linkwright.algebra import (
    PI,
    ZERO,
    Expr,
    Frame,
    Vector,
    atan2,
    constant,
    diff,
    evaluate,
    foreign,
    maximum,
    sin,
    sqrt,
    substitute,
    symbol,
    symbols,
    where,
)
from linkwright.algebra.language import LanguageError, SymbolScope, parse, read, resolve
from linkwright.algebra.units.parse import parse_unit
from linkwright.base.errors import Error, InputError
from tests.seeds import examples

a, b, c, d, x = symbols("a b c d x")


@pytest.mark.parametrize(
    ("source", "meaning"),
    [
        ("a + b*c", a + b * c),
        ("(a + b)*c", (a + b) * c),
        ("a - b - c", a - b - c),
        ("a/b/c", a / (b * c)),
        ("a/b*c", a * c / b),
        ("-a**2", -(a**2)),
        ("-a*b", -(a * b)),
        ("a**-2", a**-2),
        ("a**b**c", a ** (b**c)),
        ("a^2", a**2),
        ("2**-1*a", a / 2),
        ("- - a", a),
        ("+a", a),
        ("a*-b", -a * b),
        ("1.5e3*a + .5", 1500 * a + 0.5),
        ("1/3*a", a / 3),
        ("a < b", a < b),
        ("a >= b", a >= b),
        ("0 <= a < b <= 1", ((a >= 0) & (a < b)) & (b <= 1)),
        ("not a < b and c < d or a == b", ((~(a < b)) & (c < d)) | parse("a == b")),
        ("a if b < c else d", where(b < c, a, d)),
        ("a if b < c else b if c < d else d", where(b < c, a, where(c < d, b, d))),
        ("(a if b < c else 1) + 2", where(b < c, a, 1) + 2),
        ("where(a != b, a, b)", where(parse("a != b"), a, b)),
        ("max(a, b, sin(c))", maximum(a, b, sin(c))),
        ("atan2(a, b) + pi", atan2(a, b) + PI),
        ("diff(a*x**2, x)", 2 * a * x),
        ("abs(-3)", constant(3)),
        ("body.mass*q[1] - q''", symbol("body.mass") * symbol("q[1]") - symbol("q''")),
        ("`if`*`pi`", symbol("if") * symbol("pi")),
        ("sin + sin(sin)", symbol("sin") + sin(symbol("sin"))),
        ("sin(30 deg)", constant(Fraction(1, 2))),
        ("180 deg", PI),
        ("12 in", constant(Fraction(3048, 10000))),
        ("2 {km/h}*a", constant(Fraction(5, 9)) * a),
        ("9.81 {m/s^2}", constant(9.81)),
        ("a\n  + b", a + b),
    ],
)
def test_meaning(source: str, meaning: Expr) -> None:
    assert parse(source) is meaning


_atom = st.sampled_from(["a", "b", "c", "d", "1", "2", "0.5", "3e0", "1.25"])


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operator = st.sampled_from(
        ["+", " - ", "*", "/", "*-", "+ -", " < ", "<=", " == ", ">", " != "]
    )
    logic = st.sampled_from([" and ", " or ", " and not ", " or not "])
    joined = st.tuples(inner, operator, inner).map("".join)
    condition = st.tuples(inner, logic, inner, logic, inner).map("".join)
    return st.one_of(
        joined,
        joined,
        inner.map(lambda s: f"({s})"),
        inner.map(lambda s: f"-({s})"),
        inner.map(lambda s: f"(not {s})"),
        inner.map(lambda s: f"({s})**2"),
        st.tuples(inner, condition, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
    )


def python_value(source: str, values: dict[str, Fraction]) -> Fraction:
    """Return what Python itself makes of a text, in exact arithmetic."""
    exact = re.sub(r"(?<![\w.])\d+(\.\d+)?(e\d+)?", r"F('\g<0>')", source)
    return Fraction(eval(exact, {"__builtins__": {}, "F": Fraction}, values))  # noqa: S307


def substituted(source: str, values: dict[str, Fraction]) -> Expr | Error:
    try:
        expr = parse(source)
        return substitute(expr, {symbol(name): constant(v) for name, v in values.items()})
    except Error as error:
        return error


@settings(max_examples=examples(150, daily=60), deadline=None)
@given(st.recursive(_atom, _grow, max_leaves=10))
def test_operators_bind_and_chain_as_in_python(source: str) -> None:
    values = {"a": Fraction(11, 8), "b": Fraction(-5, 7), "c": Fraction(5, 2), "d": Fraction(0)}
    try:
        expected = python_value(source, values)
    except ZeroDivisionError:
        return
    got = substituted(source, values)
    if isinstance(got, Error):  # a branch that is not taken may divide by zero
        assert "division by zero" in str(got)
    else:
        assert float(got) == pytest.approx(float(expected), rel=1e-12)


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("source", "column", "words"),
    [
        ("", 1, "ends where a value"),
        ("a + ", 5, "ends where a value"),
        ("a + )", 5, "')' stands where a value"),
        ("(a + b", 1, "'(' is not closed"),
        ("sin(a", 1, "the '(' of 'sin' is not closed"),
        ("a + b)", 6, "')' without '('"),
        ("a b", 3, "'b' stands where an operator"),
        ("2 a", 3, "'a' is not a unit; write 2*a"),
        ("2(a)", 2, "write * for a product"),
        ("a, b", 2, "outside the arguments"),
        ("a = b", 3, "write == to compare"),
        ("a && b", 3, "write `and`"),
        ("a $ b", 3, "'$' has no meaning"),
        ("a if b", 3, "'if' without 'else'"),
        ("a else b", 3, "'else' without 'if'"),
        ("(a if b) + 1", 4, "'if' without 'else'"),
        ("max(a if b, c)", 7, "'if' without 'else'"),
        ("a + not b", 5, "put it in parentheses"),
        ("1/(a - a)", 2, "division by zero"),
        ("sqrt(-1)", 1, "no real value"),
        ("sin(a, b)", 1, "sin() takes (x), not 2"),
        ("sine(a)", 1, "unknown function 'sine'; did you mean 'sin'?"),
        ("pos(a)", 1, "only in the text of a mechanism"),
        ("1e999", 1, "largest float"),
        ("2 + 1e-999", 5, "smallest float"),
        ("0.0001e-400", 1, "write 0"),
        ("9" * 5000, 1, "largest float"),
        ("9**999999999", 2, "largest float"),
        ("(2*a)**999999999", 6, "largest float"),
        ("[b1]", 1, "unknown direction 'b1'"),
        ("[b1", 4, "']' is expected"),
        ("#f1 + a", 1, "unknown variable 'f1'"),
        ("3 {m/}", 3, "is not a unit"),
        ("dot(a, b)", 1, "a vector is needed"),
        ("func(3, a)", 1, "takes the name of a function"),
        ("a +\n* b", 1, "line 2, column 1: '*' stands where a value"),
        ("inf - inf", 5, "nan"),
    ],
)
def test_an_error_says_where_and_what(source: str, column: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(source)
    assert caught.value.column == column
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["0e-999", "0.000", "0e5"])
def test_zero_may_be_written_in_any_way(text: str) -> None:
    assert parse(text) is ZERO


@pytest.mark.parametrize("given", [5, 1.5, None, b"x", ["x"]])
def test_what_is_no_text_is_refused_with_a_remedy(given: object) -> None:
    with pytest.raises(InputError, match="an expression is a text"):
        parse(cast(str, given))


def test_an_error_shows_a_caret_below_the_place() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("k*(x - x0) +* c")
    shown, caret = caught.value.excerpt.splitlines()
    assert shown[caret.index("^")] == "*"
    assert caught.value.__notes__ == [caught.value.excerpt]


def test_an_undeclared_name_is_an_error_with_the_nearest_spelling() -> None:
    scope = SymbolScope.of("stiffness", symbol("x", "coordinate"))
    assert parse("stiffness*x", scope).roles != parse("stiffness*x").roles
    with pytest.raises(InputError, match=r"column 3: unknown name 'stifness'; did you mean 'stiff"):
        parse("x*stifness", scope)


def read_or_refused(source: str) -> Expr | InputError:
    """Return what a text means or how it is refused; any other exception is a failure."""
    try:
        return parse(source)
    except InputError as error:
        return error


_ALPHABET = "ab1.2e+-*/^()[]{},<>=!#`' \nandorifelsepi\u00b2\u03b8$\t°"


@settings(max_examples=examples(400, daily=80), deadline=None)
@given(st.one_of(st.text(_ALPHABET, max_size=30), st.text(max_size=15)))
@example("a" + "[1]" * 3)
@example("((((((" * 3000)
@example("-" * 5000 + "a")
@example("not " * 3000 + "a")
@example("a if " * 2000)
@example("`(` + `)`")
@example("1 {(}")
@example("1 {if} else 2")
@example("a `if` b")
@example("sin(inf)")
@example("1e308*10 + 1e308*10")
@example("2**2**2**2**2**2")
@example("a**(1/0)")
@example("exp(1000)")
@example("0**-1")
@example("\x00")
@example("²")
@example("func()")
def test_any_text_is_read_or_refused_with_an_input_error(source: str) -> None:
    outcome = read_or_refused(source)
    if isinstance(outcome, InputError):
        assert outcome.column is not None
        assert 1 <= outcome.column <= len(source) + 1
    else:
        assert isinstance(outcome, Expr)


_words = st.sampled_from(
    [*"abcx+-*/(),<", "**", "<=", "==", "and", "or", "not", "if", "else", "sin(", "max(", "where(",
     "2", "0", "1.5", "pi", "inf", "deg", "atan2(", "sqrt(", "func(", "[n1]", "#f", "min(", "exp("]
)  # fmt: skip


@settings(max_examples=examples(400, daily=160), deadline=None)
@example("2 min(")
@given(st.lists(_words, max_size=25).map(" ".join))
def test_any_row_of_words_is_read_or_refused_with_an_input_error(source: str) -> None:
    outcome = read_or_refused(source)
    assert isinstance(outcome, Expr) or outcome.column is not None


# -- scopes ----------------------------------------------------------------------------------------
def frame_scope() -> tuple[Frame, SymbolScope]:
    n = Frame.root("n")
    vectors = {"n.x": n.x, "n.y": n.y, "n.z": n.z}
    directions = {"n1": n.x, "n2": n.y, "n3": n.z}
    return n, SymbolScope(
        values={**vectors, "u": symbol("u", "speed"), "v": symbol("v", "speed"), "L": symbol("L")},
        directions=directions,
        references={"f1": symbol("f1", "local")},
        functions={"vel": lambda p, q=None: n.vector(symbol("u", "speed"), 0, 0)},
    )


def test_vectors_by_name_and_by_bracket() -> None:
    n, scope = frame_scope()
    u, v = symbol("u", "speed"), symbol("v", "speed")
    assert resolve(read("u*[n1] + v*n.y"), scope) == n.vector(u, v, 0)
    assert resolve(read("cross([n1], [n2]) - 2*n.z/L"), scope) == n.z * (1 - 2 / symbol("L"))
    assert parse("dot(u*[n1] + v*[n2], n.y)", scope) is v
    assert parse("mag(u*[n1] + v*[n2])", scope) is sqrt(u**2 + v**2)
    assert parse("angle([n1], u*[n1] + v*[n2], [n3])", scope) is atan2(v, u)
    assert resolve(read("dplane(u*[n1] + v*[n3], [n3])"), scope) == u * n.x
    assert isinstance(resolve(read("dir(u*[n1] + v*[n3])"), scope), Vector)
    assert parse("nominal(L + u)", scope) is symbol("L")
    assert parse("#f1*2", scope) is 2 * symbol("f1", "local")
    assert parse("dot(vel(L), [n1])", scope) is u


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("[n1]", "is a vector where a scalar is needed"),
        ("[n1] + u", "column 6"),
        ("sin([n1])", "a scalar is needed"),
        ("[n4]", "known are n1, n2, n3"),
        ("dot([n1], u)", "a vector is needed, and u is not one"),
        ("vel(L, L, L)", "vel() takes (p, [q]), not 3"),
        ("[n1] < 2", "column 6"),
    ],
)
def test_scalars_and_vectors_are_kept_apart(source: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(source, frame_scope()[1])
    assert words in str(caught.value)


def test_functions_of_the_scope_are_called_by_name_and_by_func() -> None:
    bump = foreign("bump", 2, python=math.hypot)
    scope = SymbolScope(functions={"bump": bump})
    assert parse("bump(a, 2*b)", scope) is bump(a, 2 * b)
    assert parse("func(bump, a, b)", scope) is bump(a, b)
    with pytest.raises(InputError, match="bump takes 2"):
        parse("1 + bump(a)", scope)


def test_names_and_functions_of_a_text() -> None:
    formula = read("k*(x - x0)**2 + max(x, sin(y)) if #f > [n1] else k")
    assert formula.names() == ("k", "x", "x0", "y")
    assert formula.functions() == ("max", "sin")


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh"])
def test_hyperbolic_functions_are_those_of_numpy(name: str) -> None:
    """In texts and in Python, exact near zero, with derivatives; what is printed reads back."""
    found = parse(f"{name}(x)", SymbolScope({"x": x}))
    assert isinstance(found, Expr)
    assert found is getattr(lw, name)(x)
    assert parse(str(found), SymbolScope({"x": x})) is found
    at = np.concatenate([np.linspace(-20, 20, 401), 10.0 ** np.arange(-300.0, 0.0, 10)])
    exact = getattr(np, name)(at)
    np.testing.assert_allclose(evaluate(found, {x: at}), exact, rtol=1e-14)
    slope = {"sinh": np.cosh(at), "cosh": np.sinh(at), "tanh": 1 - np.tanh(at) ** 2}[name]
    off = 1e-12 * float(np.abs(exact).max())
    np.testing.assert_allclose(evaluate(diff(found, x), {x: at}), slope, rtol=1e-12, atol=off)


COMPOUND_UNITS = [
    *("m/s", "m/s^2", "m/s**2", "m / s ^ 2", "m*s^-2", "km/h", "mi/h", "ft/sec", "rad/s", "deg/s"),
    *("rad/s^2", "rev/min", "N*m", "N*m/rad", "N*m/deg", "N*m*s/rad", "N/m", "N*s/m", "kN/mm"),
    *("N*m/(rad/s)", "N/(m/s)", "kg*m^2", "kg/m^3", "kg*m/s", "g/cm^3", "lbf/in", "lbm*in^2"),
    *("lbf*s/in", "in-lb", "in-lb/deg", "slug*ft^2", "W/m^2", "V*s/rad", "A/m", "J/(kg*K)"),
    *("m^2", "mm**2", "s^-1", "rad^2/s", "m^(1/2)", "deg/s/s", "N*m/A", "uA*s", "bar*m^2"),
]


@pytest.mark.parametrize("unit", COMPOUND_UNITS)
def test_a_compound_unit_without_braces_is_refused(unit: str) -> None:
    right = parse(f"2 {{{unit}}}")
    assert float(evaluate(right, {})) == pytest.approx(2 * parse_unit(unit).factor)
    named = {name: symbol(name) for name in re.findall(r"[^\W\d_]+", unit)}
    for scope in (None, SymbolScope(named), SymbolScope(dict(list(named.items())[:1]))):
        for text in (f"2 {unit}", f"a + 3*(2 {unit})", f"sin(2 {unit})*q", f"-2 {unit} - t"):
            with pytest.raises(LanguageError, match=r"braces") as caught:
                parse(text, scope)
            assert caught.value.position == text.index("2 ") + 2


def test_no_door_makes_a_parameter_of_a_unit() -> None:
    m = lw.Mechanism("m")
    body = m.body("b", mass=1, translate="x")
    for door in (
        lambda: m.expr("9.81 m/s^2"),
        lambda: m.exprs(("0", "9.81 m/s^2", "0")),
        lambda: m.vector("9.81 m/s^2*[n1]"),
        lambda: m.body("c", mass="2 kg*m^2"),
        lambda: m.force("f", "2 N/m*x", at=body, along="x"),
        lambda: m.output("y", "t / 3 m/s"),
        lambda: lw.Block("b").expr("9.81 m/s^2"),
    ):
        with pytest.raises(lw.Error, match="braces"):
            door()
    assert not {"s", "m", "N"} & set(m.parameters)


def test_one_name_is_the_unit_of_a_number() -> None:
    for text, same in {
        "2 m*x": "2*x",
        "2 km/x^2": "2000/x^2",
        "3 m*min(a, b)": "3*min(a, b)",
        "2 {m}/s": "2/s",
        "2 m/`s`": "2/s",
        "(3 m)^2": "9",
        "5 m - s": "5 - s",
        "2 m/3": "2/3",
    }.items():
        assert parse(text) == parse(same)
    with pytest.raises(LanguageError, match=r"write \(3 m\)\^"):
        parse("3 m^n")
