"""Tables against SciPy's interpolators, foreign functions against the callables themselves."""

from __future__ import annotations

import gc
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.algebra import (
    ZERO,
    ExprError,
    Lookup1D,
    Lookup2D,
    cos,
    diff,
    evaluate,
    foreign,
    sin,
    substitute,
    symbols,
)
from linkwright.algebra.nodes import node_count
from tests.seeds import examples
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import interpolate
else:
    interpolate = Late("scipy.interpolate")

x, y = symbols("x y")
OUTSIDE_SLOPES = {"hold": 0.0, "linear": 1.0}


@st.composite
def _points(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    steps = draw(st.lists(st.floats(0.1, 3.0), min_size=2, max_size=9))
    at = list(itertools.accumulate(steps))
    grid = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 3.0])
    return at, draw(st.lists(grid, min_size=len(at), max_size=len(at)))


# -- one dimension ---------------------------------------------------------------------------------
@settings(max_examples=examples(50, daily=20), deadline=None)
@given(_points())
def test_the_cubic_is_scipys_monotone_cubic(points: tuple[list[float], list[float]]) -> None:
    at, values = points
    table = Lookup1D(at, values, kind="cubic")
    reference = interpolate.PchipInterpolator(at, values)
    where = np.linspace(at[0], at[-1], 57)[:-1]
    for order in range(3):
        np.testing.assert_allclose(table.evaluate(where), reference(where, order), atol=1e-10)
        table = table.derivative()


@settings(max_examples=examples(50, daily=20), deadline=None)
@given(_points(), st.sampled_from(["linear", "cubic"]))
def test_a_table_passes_through_its_points_and_keeps_between_them(
    points: tuple[list[float], list[float]], kind: str
) -> None:
    at, values = points
    table = Lookup1D(at, values, kind=kind)
    assert table.evaluate(at).tolist() == values
    for k in range(len(at) - 1):
        inside = table.evaluate(np.linspace(at[k], at[k + 1], 20)[:-1])
        low, high = sorted(values[k : k + 2])
        assert np.all(inside >= low - 1e-12)
        assert np.all(inside <= high + 1e-12)
        rising = np.diff(inside) * (values[k + 1] - values[k])
        assert np.all(rising >= -1e-12)


def test_the_linear_table_is_numpys() -> None:
    at, values = [0.0, 1.0, 4.0], [2.0, -1.0, 3.0]
    where = np.linspace(-2, 6, 41)
    np.testing.assert_allclose(Lookup1D(at, values).evaluate(where), np.interp(where, at, values))


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.parametrize("outside", ["hold", "linear"])
def test_outside_the_points(kind: str, outside: str) -> None:
    table = Lookup1D([0, 1, 3], [1, 2, 7], kind=kind, outside=outside)
    slope = table.derivative()
    for border, beyond in ((0.0, -2.0), (3.0, 5.0)):
        inner = border + (1e-9 if border == 0 else -1e-9)
        edge_slope = slope.evaluate(inner) * OUTSIDE_SLOPES[outside]
        expected = table.evaluate(border) + edge_slope * (beyond - border)
        assert table.evaluate(beyond) == pytest.approx(expected, rel=1e-7, abs=1e-7)
        assert slope.evaluate(beyond) == pytest.approx(edge_slope, rel=1e-7)
    assert np.isnan(table.evaluate(np.nan))


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_derivatives_of_a_table_expression(kind: str) -> None:
    table = Lookup1D([-1, 0, 0.5, 2], [0, 1, 1.5, 0.2], kind=kind, name="curve")
    expr = table(sin(x) * y)
    point = {x: 0.7, y: 0.9}
    for s in (x, y):
        up, down = (evaluate(expr, {**point, s: point[s] + h}) for h in (1e-6, -1e-6))
        assert evaluate(diff(expr, s), point) == pytest.approx((up - down) / 2e-6, rel=1e-7)
    if kind == "linear":
        assert diff(diff(table(x), x), x) is ZERO


def test_equal_tables_are_the_same_function() -> None:
    first = Lookup1D([0, 1], [2, 3], name="t")
    assert first(x) is Lookup1D(np.array([0.0, 1.0]), (2, 3), name="t")(x)
    assert first(x) is not Lookup1D([0, 1], [2, 3.5], name="t")(x)
    assert first(x) is not Lookup1D([0, 1], [2, 3], name="t", outside="linear")(x)
    assert substitute(first(x), {x: 0.25}) is substitute(first(y), {y: 0.25})
    assert evaluate(first(x), {x: np.array([0.0, 0.5])}).tolist() == [2.0, 2.5]
    with pytest.raises(ValueError, match="read-only"):
        first.coefficients[0, 0] = 1.0


def test_the_documented_lookup_gives_the_value() -> None:
    table = Lookup1D([0, 1, 2.5], [0, 2, 1], kind="cubic", outside="linear").derivative()
    for value in (-1.0, 0.0, 0.3, 1.0, 2.4, 2.5, 9.0):
        s = sum(b <= value for b in table.breakpoints)
        t = value - table.origins[s]
        c = table.coefficients[s]
        assert c[0] + t * (c[1] + t * (c[2] + t * c[3])) == table.evaluate(value)


@pytest.mark.parametrize(
    ("at", "values", "message"),
    [
        ([0, 1, 1], [0, 1, 2], r"strictly increasing, but x\[2\] = 1.0"),
        ([0], [1], "two or more"),
        ([0, np.nan], [1, 2], "finite"),
        ([0, 1], [1, np.inf], "finite"),
        ([0, 1], [1, 2, 3], "shape"),
    ],
)
def test_bad_tables_are_refused(at: list[float], values: list[float], message: str) -> None:
    with pytest.raises(ExprError, match=message):
        Lookup1D(at, values, name="bad")
    with pytest.raises(ExprError, match="kind"):
        Lookup1D([0, 1], [0, 1], kind="quintic")
    with pytest.raises(ExprError, match="outside"):
        Lookup1D([0, 1], [0, 1], outside="wrap")


# -- two dimensions --------------------------------------------------------------------------------
ROWS, COLUMNS = np.array([0.0, 0.5, 2.0, 3.0]), np.array([-1.0, 0.0, 0.2, 2.0, 2.5])
WHERE_X, WHERE_Y = np.meshgrid(np.linspace(0, 2.99, 23), np.linspace(-1, 2.49, 29), indexing="ij")


def test_the_bilinear_table_is_scipys() -> None:
    values = np.random.default_rng(5).normal(size=(4, 5))
    table = Lookup2D(ROWS, COLUMNS, values)
    reference = interpolate.RegularGridInterpolator((ROWS, COLUMNS), values)
    np.testing.assert_allclose(
        table.evaluate(WHERE_X, WHERE_Y), reference((WHERE_X, WHERE_Y)), atol=1e-13
    )


def test_the_bicubic_of_products_and_sums_is_that_of_the_cubics() -> None:
    f, g = np.array([0.0, 1.0, 1.5, 1.0]), np.array([2.0, 1.0, 1.0, 3.0, 5.0])
    of_f, of_g = interpolate.PchipInterpolator(ROWS, f), interpolate.PchipInterpolator(COLUMNS, g)
    times = Lookup2D(ROWS, COLUMNS, np.outer(f, g), kind="cubic")
    plus = Lookup2D(ROWS, COLUMNS, f[:, None] + g, kind="cubic")
    np.testing.assert_allclose(
        times.evaluate(WHERE_X, WHERE_Y), of_f(WHERE_X) * of_g(WHERE_Y), atol=1e-12
    )
    np.testing.assert_allclose(
        plus.evaluate(WHERE_X, WHERE_Y), of_f(WHERE_X) + of_g(WHERE_Y), atol=1e-12
    )
    np.testing.assert_allclose(
        times.derivative(0).derivative(1).evaluate(WHERE_X, WHERE_Y),
        of_f(WHERE_X, 1) * of_g(WHERE_Y, 1),
        atol=1e-11,
    )


def test_the_bicubic_is_monotone_along_grid_lines_and_smooth_across_them() -> None:
    values = np.random.default_rng(9).normal(size=(4, 5))
    table = Lookup2D(ROWS, COLUMNS, values, kind="cubic")
    for k, at in enumerate(COLUMNS):
        line = interpolate.PchipInterpolator(ROWS, values[:, k])
        where = np.linspace(0, 2.999, 40)
        np.testing.assert_allclose(table.evaluate(where, at), line(where), atol=1e-12)
    for slope in (table.derivative(0), table.derivative(1)):
        below, above = (slope.evaluate(0.5 + h, 0.1) for h in (-1e-10, 1e-10))
        assert below == pytest.approx(above, abs=1e-7)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.parametrize("outside", ["hold", "linear"])
def test_derivatives_of_a_two_dimensional_table(kind: str, outside: str) -> None:
    values = np.random.default_rng(2).normal(size=(4, 5))
    table = Lookup2D(ROWS, COLUMNS, values, kind=kind, outside=outside, name="map")
    expr = table(x + y**2, cos(x) * y)
    for point in ({x: 0.3, y: 0.9}, {x: -4.0, y: 0.2}, {x: 5.0, y: 6.0}):
        for s in (x, y):
            up, down = (evaluate(expr, {**point, s: point[s] + h}) for h in (1e-6, -1e-6))
            found = evaluate(diff(expr, s), point)
            assert found == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-7)
    again = Lookup2D(ROWS, COLUMNS, values, kind=kind, outside=outside, name="map")
    assert expr is again(x + y**2, cos(x) * y)


# -- foreign functions -----------------------------------------------------------------------------
def test_a_foreign_function_is_evaluated_and_differentiated() -> None:
    def hypotenuse(a: float, b: float) -> float:
        return (a**2 + b**2) ** 0.5 if a > 0 else 0.0

    f = foreign(
        "hypotenuse",
        2,
        python=hypotenuse,
        derivatives=[lambda a, b: a / f(a, b), lambda a, b: b / f(a, b)],
    )
    expr = f(x * 3, 4 * y)
    assert evaluate(expr, {x: 1.0, y: 1.0}) == 5.0
    assert evaluate(expr, {x: np.array([1.0, -1.0]), y: 1.0}).tolist() == [5.0, 0.0]
    assert evaluate(diff(expr, x), {x: 1.0, y: 1.0}) == pytest.approx(9 / 5)
    assert f(x, y) is f(x, y)
    assert f.prototype == "double hypotenuse(double x0, double x1)"


def test_several_outputs_share_one_call() -> None:
    f = foreign(
        "both",
        python=lambda v: (v + 1, v * 2),
        outputs=2,
        derivatives=[lambda v: (1, 2)],
    )
    first, second = f(x)
    assert evaluate(first - second, {x: np.array([1.0, 5.0])}).tolist() == [0.0, -4.0]
    assert diff(first + second, x) is diff(3 * x, x)
    assert f.prototype == "void both(double x0, double *out)"


def test_impure_calls_are_never_merged() -> None:
    noise = foreign("noise", python=lambda v: v, pure=False)
    a, b = noise(x), noise(x)
    assert a is not b
    assert a - b is not ZERO
    assert [e.data.call for e in (a, b)] == [0, 1]
    again = foreign("noise", python=lambda v: v, pure=False)
    assert [again(x).data.digest, again(x).data.digest] == [a.data.digest, b.data.digest]
    assert substitute(a, {x: y}).data is a.data


def test_different_callables_are_different_functions() -> None:
    one, two = foreign("f", python=lambda v: v), foreign("f", python=lambda v: 2 * v)
    assert one(x) is not two(x)
    assert evaluate(one(x) + two(x), {x: 1.0}) == 3.0
    gc.collect()
    base = node_count()
    again = foreign("f", python=lambda v: 3 * v)
    kept = again(x + y)
    assert again(x + y) is kept
    del kept
    gc.collect()
    assert node_count() == base


def test_foreign_functions_say_what_is_missing() -> None:
    bare = foreign("motor", 2, c_prototype="double motor(double u, double i);")
    with pytest.raises(ExprError, match="python="):
        evaluate(bare(x, y), {x: 1.0, y: 2.0})
    with pytest.raises(ExprError, match="derivatives="):
        diff(bare(x, y), x)
    with pytest.raises(ExprError, match="2 argument"):
        bare(x)
    with pytest.raises(ExprError, match="does not declare"):
        foreign("motor", 1, c_prototype="float motor(double u)")
    with pytest.raises(ExprError, match="not 3"):
        foreign("motor", 3, c_prototype="double motor(double u)")
    with pytest.raises(ExprError, match="derivative"):
        foreign("motor", 2, derivatives=[lambda u, i: u])
    with pytest.raises(ExprError, match="cannot name"):
        foreign("not a name")
