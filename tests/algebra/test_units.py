"""Units: exact conversions, names, and what can be deduced through expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

import linkwright as lw
from linkwright.algebra import (
    PI,
    Expr,
    absolute,
    atan2,
    cos,
    exp,
    log,
    maximum,
    sin,
    sqrt,
    symbol,
    symbols,
    where,
)
from linkwright.algebra.units import (
    IN_LB,
    MKS,
    Unit,
    amount,
    check_units,
    deduce_units,
    parse_unit,
    unit_of,
    unit_text,
)
from linkwright.base.errors import InputError, UnitError
from tests.seeds import examples


def plain(unit: Unit) -> Unit:
    """Return the unit without the text it was read from."""
    return Unit(unit.exponents, unit.scale, unit.pi)


# -- reading, converting, printing -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "other", "factor"),
    [
        # NIST SP 811 and the definitions of 1959
        ("in", "mm", 25.4),
        ("ft", "m", 0.3048),
        ("mi", "km", 1.609344),
        ("lbm", "kg", 0.45359237),
        ("lbf", "N", 4.4482216152605),
        ("lb", "lbf", 1.0),
        ("slug", "kg", 14.593902937206),
        ("psi", "Pa", 6894.757293168361),
        ("hp", "W", 745.69987158227),
        ("g's", "m/s^2", 9.80665),
        ("gees", "in/s^2", 386.0885826771654),
        ("deg", "rad", math.pi / 180),
        ("rpm", "rad/s", math.pi / 30),
        ("rev", "deg", 360.0),
        ("km/h", "m/s", 1 / 3.6),
        ("in-lb-s²", "kg*m^2", 0.1129848290276167),
        ("in-lb/deg", "N*m/rad", 0.1129848290276167 * 180 / math.pi),
        ("kg m**2 s^-2", "J", 1.0),
        ("m/s/s", "m/s^2", 1.0),
        ("1/(kg*m)", "kg^-1*m^-1", 1.0),
        ("m^(1/2)", "cm^(1/2)", 10.0),
        ("N·m", "kN*mm", 1.0),
        ("µm", "um", 1.0),
        ("%", "1", 0.01),
        ("2*m", "m", 2.0),
        ("V*A", "W", 1.0),
        ("ohm*A", "V", 1.0),
        ("N*m/A", "V*s/rad", 1.0),
    ],
)
def test_factors(text: str, other: str, factor: float) -> None:
    assert parse_unit(text).to(parse_unit(other)) == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kg*m/s^2", "N"),
        ("kg*m^2/s^2", "N*m"),
        ("N*m", "N*m"),
        ("N*m/s", "W"),
        ("kg/s^2", "N/m"),
        ("kg/s", "N*s/m"),
        ("N*m*s/rad", "N*m*s/rad"),
        ("kg*m^2", "kg*m^2"),
        ("N/m^2", "Pa"),
        ("1/s", "Hz"),
        ("rad/s^2", "rad/s^2"),
        ("m/s^2", "m/s^2"),
        ("kg*m/s", "N*s"),
        ("kg/m^3", "kg/m^3"),
        ("lbf*in/deg", "lbf*in/deg"),
        ("lbf*s^2/in", "lbf*s^2/in"),
        ("lbm", "lbm"),
        ("deg", "deg"),
        ("m^(1/2)", "m^(1/2)"),
        ("W/A", "V"),
        ("1", "1"),
    ],
)
def test_names_that_engineers_use(text: str, shown: str) -> None:
    assert unit_text(plain(parse_unit(text))) == shown


_names = st.sampled_from(
    ["m", "kg", "s", "rad", "A", "K", "N", "W", "in", "lbf", "deg", "mm", "rpm", "h"]
)
_units = st.lists(st.tuples(_names, st.integers(-3, 3)), max_size=5).map(
    lambda powers: "*".join(f"{name}^{e}" for name, e in powers) or "1"
)


@settings(max_examples=examples(150, daily=60), deadline=None)
@given(_units)
@example("deg^2")
@example("rpm*deg")
@example("deg*m/rad")
def test_a_printed_unit_reads_back(text: str) -> None:
    unit = plain(parse_unit(text))
    again = parse_unit(unit_text(unit))
    assert again.exponents == unit.exponents
    assert again.factor == pytest.approx(unit.factor, rel=1e-12)


@settings(max_examples=examples(100, daily=40), deadline=None)
@given(_units, _units, st.integers(-3, 3))
def test_units_form_a_group(one: str, two: str, n: int) -> None:
    a, b = parse_unit(one), parse_unit(two)
    assert (a * b / b).factor == pytest.approx(a.factor, rel=1e-12)
    assert (a * b).exponents == (b * a).exponents
    assert ((a * b) ** n).factor == pytest.approx(a.factor**n * b.factor**n, rel=1e-9)
    assert (a**2) ** Fraction(1, 2) == plain(a) or a.factor == pytest.approx(
        ((a**2) ** Fraction(1, 2)).factor
    )


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("furlong", 1, "unknown unit 'furlong'"),
        ("kg*nm/rod", 7, "did you mean 'rad'?"),
        ("m/", 3, "ends where a name"),
        ("m//s", 3, "'/' stands where a unit"),
        ("(m", 1, "not closed"),
        ("m)", 2, "')' without"),
        ("^2", 1, "without its unit"),
        ("m^999", 2, "more than 2 digits"),
        ("m^(1/0)", 2, "denominator 0"),
        ("m$", 2, "'$' has no meaning"),
        ("0*m", 1, "neither zero"),
    ],
)
def test_a_bad_unit_says_where(text: str, column: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_unit(text)
    assert caught.value.column == column
    assert words in str(caught.value)


DECLARED: dict[str, Callable[[str], object]] = {
    "parameter": lambda unit: lw.Mechanism("m").parameter("x", 1, unit=unit),
    "input": lambda unit: lw.Mechanism("m").input("x", unit=unit),
    "state": lambda unit: lw.Mechanism("m").state("x", 1, unit=unit),
    "output": lambda unit: lw.Mechanism("m").output("x", 1, unit=unit),
    "port": lambda unit: lw.Block("b").input("x", unit=unit),
    "vector port": lambda unit: lw.Block("b").output_vector("x", [1, 2], unit=unit),
    "parameter of a block": lambda unit: lw.Block("b").parameter("x", 1, unit=unit),
    "memory of a block": lambda unit: lw.Block("b", rate=1).discrete_state("x", 1, unit=unit),
}


@pytest.mark.parametrize("what", DECLARED)
def test_nothing_is_declared_in_a_unit_that_is_none(what: str) -> None:
    with pytest.raises(InputError, match=r"the unit of '(b\.)?x': unknown unit 'furlong'"):
        DECLARED[what]("furlong/s")
    DECLARED[what]("m/s")
    DECLARED[what]("?")


def read_or_refused(text: str) -> Unit | InputError:
    try:
        return parse_unit(text)
    except InputError as error:
        return error


@settings(max_examples=examples(200, daily=80), deadline=None)
@given(st.one_of(st.text("mkgs/*^()1- 2²⁻deg.e", max_size=20), st.text(max_size=10)))
@example("(" * 5000)
@example("1e308*1e308")
@example("1e-308^9")
@example("m^-" + "9" * 5000)
@example("⁻²")
@example("²")
@example("m⁻")
def test_any_text_is_a_unit_or_refused_with_an_input_error(text: str) -> None:
    outcome = read_or_refused(text)
    assert isinstance(outcome, Unit) or outcome.column is not None


def test_conversion_between_dimensions_is_refused() -> None:
    with pytest.raises(
        UnitError, match=r"lbf cannot be converted to lbm; .* mass time\^-2 and mass"
    ):
        parse_unit("lbf").to(parse_unit("lbm"))


def test_systems_are_coherent() -> None:
    for system in (MKS, IN_LB):
        force, mass, acceleration = (parse_unit(u) for u in ("N", "kg", "m/s^2"))
        parts = [system.coherent_unit(u).factor for u in (force, mass, acceleration)]
        assert parts[0] == pytest.approx(parts[1] * parts[2], rel=1e-14)
    for text, wanted in (
        ("lbm", 1 / 386.0885826771654),
        ("in-lb-s²", 1.0),
        ("lb/deg", 180 / math.pi),
    ):
        unit = parse_unit(text)
        assert unit.to(IN_LB.coherent_unit(unit)) == pytest.approx(wanted)
    shown = {u: IN_LB.printed(u)[0] for u in ("kg", "m", "m/s^2", "rad", "N", "m/s")}
    assert shown == {
        "kg": "lbf*s^2/in",
        "m": "in",
        "m/s^2": "in/s^2",
        "rad": "rad",
        "N": "lbf",
        "m/s": "in/s",
    }
    assert MKS.own_text("in-lb/deg") == "N*m/rad"


# -- inference -------------------------------------------------------------------------------------
m, I = symbol("m", unit="kg"), symbol("I", unit="kg*m^2")
x, L, R = (symbol(name, unit="m") for name in ("x", "L", "R"))
v = symbol("v", "speed", unit="m/s")
q, w = symbol("q", "coordinate", unit="rad"), symbol("w", "speed", unit="rad/s")
t, F, T = symbol("t", "time", unit="s"), symbol("F", unit="N"), symbol("T", unit="N*m")
k, h, p = symbols("k h p")


@pytest.mark.parametrize(
    ("expr", "unit"),
    [
        (m * v, "N*s"),
        (m * v**2 / 2, "N*m"),
        (F * v, "W"),
        (m * v + k, "N*s"),
        (k + h, "?"),
        (k * v, "?"),
        (R * w, "m/s"),
        (R * w - v, "m/s"),
        (I * w**2, "N*m"),
        (T / q, "N*m/rad"),
        (w / t, "rad/s^2"),
        (sqrt(x**2 + L**2), "m"),
        (sqrt(k * x), "?"),
        (sin(q) * x, "m"),
        (atan2(x, L), "rad"),
        (where(x > L, k, v), "m/s"),
        (maximum(0, F), "N"),
        (absolute(F) * -2, "N"),
        (x + 1, "m"),
        (q + PI / 2, "rad"),
        (x**0.5, "m^(1/2)"),
        (x < L, "1"),
        (exp(-t / symbol("tau", unit="s")), "1"),
    ],
)
def test_unit_of(expr: Expr, unit: str) -> None:
    found = unit_of(expr)
    assert ("?" if found is None else unit_text(plain(found))) == unit
    check_units(expr)


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (m * v + F, ["F is in N", "m*v is in N*s"]),
        (sin(x), ["x is in m where a number or an angle is needed"]),
        (log(m), ["m is in kg"]),
        (where(q > 0, x, m * 3), ["3*m is in kg but x is in m"]),
        (x < v, ["v is in m/s but x is in m"]),
        (atan2(x, m), ["m is in kg but x is in m"]),
        (cos(q) * (1 + k * (x + F)), ["x is in m but F is in N"]),
        (2 ** symbol("e", unit="m"), ["e is in m where a number"]),
    ],
)
def test_a_mismatch_names_both_terms(expr: Expr, words: list[str]) -> None:
    with pytest.raises(UnitError) as caught:
        check_units(expr)
    for word in words:
        assert word in str(caught.value)


def test_a_radian_never_makes_a_mismatch() -> None:
    assert check_units(q + sin(q) + x / L) is not None
    assert str(check_units(R * q + x, "mm")) == "m"
    with pytest.raises(UnitError, match="is in m, not in s"):
        check_units(x, "s")


def deduced(*statements: object) -> dict[str, str]:
    found = deduce_units(statements)  # type: ignore[arg-type]
    return {symbol.name: unit_text(plain(unit)) for symbol, unit in found.items()}


def test_the_unknown_factor_of_a_force_law_is_deduced() -> None:
    assert deduced((F, -k * x - h * v)) == {"h": "N*s/m", "k": "N/m"}
    assert deduced((T, -k * q - h * w)) == {"h": "N*m*s/rad", "k": "N*m/rad"}


def test_the_product_of_two_unknowns_stays_unknown() -> None:
    assert deduced((F, k * h + p)) == {"p": "N"}


def test_what_is_deduced_helps_to_deduce_more() -> None:
    assert deduced((F, k * x), (k * h, "W")) == {"h": "m^2/s", "k": "N/m"}
    assert deduced((T, k * h), (h, v), (k, p)) == {"h": "m/s", "k": "N*s", "p": "N*s"}


@pytest.mark.parametrize(
    ("statement", "unit"),
    [
        (sin(k * t), "rad/s"),
        (exp(-t / k), "s"),
        (atan2(k, x), "m"),
        ((x, sqrt(k + L**2)), "m^2"),
        ((v, k * w), "m"),
        ((T, k * w / t), "kg*m^2"),
        ((x, where(v > k, L, 0)), "m/s"),
        ((x, absolute(k - L)), "m"),
        ((F, m * v / k), "s"),
        ((F, m * v**2 / k), "m"),
        ((F, R * k**2), "N^(1/2)/m^(1/2)"),
    ],
)
def test_units_go_down_through_functions(statement: object, unit: str) -> None:
    assert deduced(statement) == {"k": unit}


def test_a_bad_unit_of_a_symbol_names_the_symbol() -> None:
    with pytest.raises(InputError, match="the symbol 'z' has no proper unit: unknown unit 'meter'"):
        unit_of(symbol("z", unit="meter") * 2)


def test_a_very_deep_expression_has_a_unit() -> None:
    expr = x
    for _ in range(5_000):
        expr = absolute(expr - L) * cos(q)
    assert str(unit_of(expr)) == "m"


def test_a_number_of_cycles_is_not_one_of_radians(tmp_path: Path) -> None:
    """Hz beside rad/s was taken as 1, where some mean 2 pi: it is rejected at every door."""
    for text, wanted in (("1 Hz", "rad/s"), ("2 kHz", "rad/s"), ("1 rad/s", "Hz")):
        with pytest.raises(UnitError, match="does not fit"):
            amount(text, "the rate", wanted)
    with pytest.raises(UnitError, match="does not fit"):
        lw.Mechanism("wheel").parameter("w", "1 Hz", unit="rad/s")
    file = tmp_path / "wheel.toml"
    head = 'format = 1\nname = "wheel"\n[parameters]\n'
    body = '[[body]]\nname = "a"\njoint = "revolute"\naxis = "z"\ninertia = [1, 1, 1]\n'
    file.write_text(f'{head}w = {{ value = "1 Hz", unit = "rad/s" }}\n{body}', encoding="utf-8")
    with pytest.raises(InputError, match="cannot be in rad/s"):
        lw.load(str(file))
    file.write_text(f'{head}w = {{ value = "60 rpm", unit = "rad/s" }}\n{body}', encoding="utf-8")
    assert lw.load(str(file)).values["w"] == pytest.approx(2 * math.pi)
    assert amount("1 Hz", "the rate", "1/s") == 1.0
