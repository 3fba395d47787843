"""What is printed means what the expression means: read again, compiled by gcc, run by Python."""

from __future__ import annotations

import re
from fractions import Fraction
from html import unescape
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings, strategies as st

from linkwright.algebra import (
    PI,
    Expr,
    Lookup1D,
    Lookup2D,
    constant,
    cos,
    diff,
    exp,
    foreign,
    free_symbols,
    sin,
    sqrt,
    symbol,
    symbols,
    where,
)
from linkwright.algebra.language import SymbolScope, parse
from linkwright.algebra.printers import (
    c_identifier,
    latex,
    latex_name,
    mathml,
    python_identifier,
    text,
)
from tests.random.expressions import ATOMS, expressions, well_conditioned_points
from tests.seeds import examples

a, b, c, d = symbols("a b c d")


# -- text ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expr", "shown"),
    [
        (a - b, "a - b"),
        (b - a, "b - a"),
        (-a - b, "-a - b"),
        (a - 1, "a - 1"),
        (1 - a, "1 - a"),
        (b / a, "b/a"),
        (1 / a, "1/a"),
        (-1 / a, "-1/a"),
        (-a * b, "-a*b"),
        (a * b / (c * d), "a*b/(c*d)"),
        (2 * a / (3 * b), "2*a/(3*b)"),
        (a / 2 + b / 3, "0.5*a + b/3"),
        ((a + b) ** 2 / c, "(a + b)**2/c"),
        (2 * (a - b), "2*(a - b)"),
        (a * (sin(b) + 1) * cos(c), "a*cos(c)*(1 + sin(b))"),
        ((a < b) | ~((a < c) & (b < c)), "not (a < c and b < c) or a < b"),
        (where(a >= b, -a, 0), "where(b <= a, -a, 0)"),
        ((a**b) ** 2, "(a**b)**2"),
        (a ** (1 / constant(3)), "a**(1/3)"),
        ((-a) ** b, "(-a)**b"),
        (PI * a / 2, "0.5*pi*a"),
        (symbol("pi") + symbol("if"), "`if` + `pi`"),
    ],
)
def test_text_has_the_fewest_parentheses_and_natural_signs(expr: Expr, shown: str) -> None:
    assert text(expr) == shown
    assert parse(shown) is expr


@settings(max_examples=examples(150, daily=60), deadline=None)
@given(expressions)
@example(3 * (a + b) + c - 2 * (a + b))
@example(constant(float("-inf")) * a)
@example(PI / 3 / (a - 0.5 * b))
@example(1 / ((a - 0.5 * b) * 3))
@example(constant(2) / 3 * (a - 0.5 * b) ** -2 * (c + d))
@example(constant(Fraction(-1, 3)) ** a)
@example(1e-300 * a + 1e300)
def test_text_reads_back_to_the_same_object(expr: Expr) -> None:
    assert parse(text(expr)) is expr


def test_text_of_tables_and_foreign_functions_reads_back() -> None:
    tire = Lookup1D([0, 0.1, 0.3], [0, 900, 1100], kind="cubic", name="tire")
    lift = Lookup2D([0, 1], [0, 2], [[0, 2], [1, 5]], name="lift")
    pair = foreign("pair", 2, outputs=2)
    clash = foreign("sin", 1)
    functions: dict[str, Any] = {"tire": tire, "lift": lift, "pair": pair, "sin": clash}
    scope = SymbolScope(functions=functions)
    for expr, shown in [
        (tire(a) * 2, "2*tire(a)"),
        (diff(tire(a), a), "tire'(a)"),
        (diff(diff(lift(a, b), a), b), "lift[1,1](a, b)"),
        (pair(a, b)[1] - 1, "pair[1](a, b) - 1"),
        (clash(a), "func(sin, a)"),
    ]:
        assert text(expr) == shown
        assert parse(shown, scope) is expr


def test_a_very_deep_expression_prints_and_reads_back() -> None:
    expr = a
    for i in range(3_000):
        expr = sin(expr + b) if i % 2 else expr * c + 1
    assert parse(text(expr)) is expr
    source = latex(expr)
    assert source.count("(") == source.count(")")


def test_limit_cuts_a_shared_expression_that_is_huge_as_a_tree() -> None:
    expr = a
    for _ in range(200):
        expr = sin(expr) * (expr + 1)
    shown = text(expr, limit=50)
    assert len(shown) == 51
    assert shown.endswith("…")
    assert str(expr).endswith("…")
    assert expr._repr_latex_() is None


# -- identifiers ---------------------------------------------------------------------------------
_names = st.from_regex(
    r"[a-c_θé][a_1b]{0,3}(\.[a_1]{1,2}){0,2}'{0,2}(\[[12](,[12])?\])?", fullmatch=True
)


@settings(max_examples=examples(60, daily=24), deadline=None)
@given(st.lists(_names, min_size=2, max_size=40, unique=True))
@example(["a_", "a", "a.b", "a__b", "_", "v_", "v", "a'", "a[1]", "a.1", "a_1", "double", "lw_x"])
def test_identifiers_are_valid_and_one_to_one(names: list[str]) -> None:
    for identifier in (c_identifier, python_identifier):
        made = [identifier(name) for name in names]
        assert len(set(made)) == len(made)
        for name in made:
            assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
    assert c_identifier("double") != "double"
    assert not python_identifier("lambda").isidentifier() or python_identifier("lambda") != "lambda"


def test_points_where_an_expression_is_infinite_are_left_out() -> None:
    a, b, *_ = ATOMS
    infinite = a**2 / (a < b)
    assert len(well_conditioned_points(infinite <= infinite + 1, 0)[a]) > 0


# -- LaTeX -----------------------------------------------------------------------------------------
@settings(max_examples=examples(100, daily=40), deadline=None)
@given(expressions)
def test_latex_is_balanced(expr: Expr) -> None:
    source = latex(expr)
    depth = 0
    for bracket in re.findall(r"[{}]", source):
        depth += 1 if bracket == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert source.count(r"\left") == source.count(r"\right")
    assert source.count(r"\begin{cases}") == source.count(r"\end{cases}")
    assert "*" not in source
    assert "e-" not in source.replace(r"\operatorname", "")


@pytest.mark.parametrize(
    ("expr", "shown"),
    [
        (a / b, r"\frac{a}{b}"),
        ((a + b) / c, r"\frac{a + b}{c}"),
        (a / 2, r"\frac{a}{2}"),
        (sin(a) ** 2, r"\sin^{2}\left(a\right)"),
        (sqrt(a) * b**2, r"b^{2}\,\sqrt{a}"),
        (exp(-a), r"e^{-a}"),
        (1.5e-9 * a, r"1.5\cdot 10^{-9}\,a"),
        (
            where(a < b, a, where(b < c, b, c)),
            r"\begin{cases}a & \text{if } a < b \\ b & \text{if } b < c \\ "
            r"c & \text{otherwise}\end{cases}",
        ),
        ((a <= b) * c, r"c\,\left[a \le b\right]"),
    ],
)
def test_latex_typography(expr: Expr, shown: str) -> None:
    assert latex(expr) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("q1", "q_{1}"),
        ("theta", r"\theta"),
        ("omega_x", r"\omega_{x}"),
        ("θ2", r"\theta_{2}"),
        ("trk2", r"\mathrm{trk}_{2}"),
        ("q''", "q''"),
        ("M[1,2]", "M_{1,2}"),
        ("arm.mass", r"\mathrm{arm}_{\mathrm{mass}}"),
    ],
)
def test_latex_names(name: str, shown: str) -> None:
    assert latex_name(name) == shown


# -- MathML ----------------------------------------------------------------------------------------
@settings(max_examples=examples(100, daily=40), deadline=None)
@given(expressions)
def test_mathml_is_well_formed_and_says_what_latex_says(expr: Expr) -> None:
    """The tree parses, each fraction and power has two parts, and all symbols are there."""
    root = ET.fromstring(f"<math>{mathml(expr)}</math>")
    for element in root.iter():
        if element.tag in ("mfrac", "msup", "msub", "mover"):
            assert len(element) == 2
        elif element.tag in ("mi", "mn", "mo"):
            assert len(element) == 0
            assert element.text
    source = latex(expr)
    assert len(list(root.iter("mfrac"))) == source.count(r"\frac")
    assert len(list(root.iter("msqrt"))) == source.count(r"\sqrt")
    shown = {e.text for e in root.iter("mi")}
    assert {x.name.rstrip("0123456789") for x in free_symbols(expr)} <= shown


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        ((a + b) / c, "a + b over c"),
        (b * cos(a) ** 2 - 2.7, "b cos ^ 2 ( a ) − 2.7"),
        (-a * b**2, "− a b ^ 2"),
        (where(a < b, a, b), "{ a if a < b b otherwise"),
        (symbol("theta_dot") * symbol("q[1,2]"), "q _ 1 , 2 θ ˙"),
    ],
)
def test_mathml_reads_as_mathematics(expr: Expr, words: str) -> None:
    source = mathml(expr)
    for start, between in (("mfrac", " over "), ("msup", " ^ "), ("msub", " _ ")):
        while f"<{start}>" in source:  # innermost first
            at = source.rindex(f"<{start}>")
            end = source.index(f"</{start}>", at)
            inner = source[at + len(start) + 2 : end]
            cut = _second(inner)
            made = inner[:cut] + between + inner[cut:]
            source = source[:at] + made + source[end + len(start) + 3 :]
    read = unescape(re.sub(r"<[^>]*>", " ", source))
    assert " ".join(read.split()) == words


def _second(inner: str) -> int:
    """Return where the second element begins."""
    depth = 0
    for tag in re.finditer(r"<(/?)[^>]*?(/?)>", inner):
        depth += 0 if tag[2] else -1 if tag[1] else 1
        if depth == 0:
            return tag.end()
    raise AssertionError(inner)


def test_jupyter_shows_latex() -> None:
    assert (a / b)._repr_latex_() == r"$\frac{a}{b}$"
