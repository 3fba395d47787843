"""Proofs by intervals: bounds hold every value, and what is proven agrees with what is known."""

from __future__ import annotations

from collections.abc import Callable
from math import radians
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import cos, exp, sin, sqrt, symbols
from linkwright.parallel import prove_regular, singular_loci
from linkwright.parallel.enclosures import AffineForm, forms_of
from linkwright.parallel.pose_proofs import ball_arithmetic
from linkwright.program import Code, lower, program
from linkwright.program.interpret import execute
from tests.support.closed_loop_machines import truss_mount

Array = NDArray[np.float64]
X, Y, U = symbols("x y u")
EXPRESSIONS = (
    X * Y - U / (2 + X**2),
    sin(X * Y) + cos(U) * X,
    sqrt(3 + X + Y**2) / (4 + U),
    (X - Y) ** 3 * sin(3 * U) - X,
    cos(X + 20 * U) ** 2 / sqrt(5 + Y),
)


def code() -> Code:
    return lower(program("f", {"x": [X, Y, U]}, {"f": list(EXPRESSIONS)}))


def values_at(x: Any, y: Any, u: Any) -> list[Any]:
    """Return the expressions in 60 digits."""
    with mpmath.workdps(60):
        x, y, u = (mpmath.mpf(v) for v in (x, y, u))
        return [
            x * y - u / (2 + x**2),
            mpmath.sin(x * y) + mpmath.cos(u) * x,
            mpmath.sqrt(3 + x + y**2) / (4 + u),
            (x - y) ** 3 * mpmath.sin(3 * u) - x,
            mpmath.cos(x + 20 * u) ** 2 / mpmath.sqrt(5 + y),
        ]


def test_forms_without_slopes_are_intervals_that_hold_every_value() -> None:
    r = np.random.default_rng(1)
    middle, half = r.uniform(-1, 1, (3, 40)), 10.0 ** r.uniform(-17, -0.7, (3, 40))
    given = [AffineForm(m, radius=h) for m, h in zip(middle, half, strict=True)]
    found = forms_of(code(), given)
    for k in range(40):
        for share in (-1.0, -0.26, 1.0):
            with mpmath.workdps(60):
                at = [mpmath.mpf(g.middle[k]) + mpmath.mpf(g.radius[k]) * share for g in given]
                for value, form in zip(values_at(*at), found, strict=True):
                    assert abs(value - mpmath.mpf(form.middle[k])) <= form.radius[k]
    narrow = forms_of(code(), [AffineForm(m) for m in middle])
    assert max(float(f.swing.max()) for f in narrow) < 5e-13


def test_forms_hold_every_value_and_their_rest_is_of_second_order() -> None:
    r = np.random.default_rng(2)
    middle, lines = r.uniform(-1, 1, (3, 30)), r.normal(size=(3, 2, 30))
    for size in (1e-1, 1e-4):
        given = [
            AffineForm(m, size * a, size * b, np.full(30, size**2))
            for m, (a, b) in zip(middle, lines, strict=True)
        ]
        found = forms_of(code(), given)
        for k in range(30):
            e, rest = r.uniform(-1, 1, 2), r.uniform(-1, 1, 3)
            with mpmath.workdps(60):
                at = [
                    mpmath.mpf(g.middle[k])
                    + mpmath.mpf(g.first[k]) * e[0]
                    + mpmath.mpf(g.second[k]) * e[1]
                    + mpmath.mpf(g.radius[k]) * t
                    for g, t in zip(given, rest, strict=True)
                ]
                for value, form in zip(values_at(*at), found, strict=True):
                    line = mpmath.mpf(form.middle[k]) + mpmath.mpf(form.first[k]) * e[0]
                    line += mpmath.mpf(form.second[k]) * e[1]
                    assert abs(value - line) <= form.radius[k]
        if size == 1e-4:
            assert max(float(np.max(f.radius)) for f in found) < 3e4 * size**2


@pytest.mark.parametrize(("name", "rule"), [("sin", mpmath.sin), ("cos", mpmath.cos)])
def test_sines_near_their_zeros_and_far_out_are_held(name: str, rule: Callable[[Any], Any]) -> None:
    wave = lower(program(name, {"x": [X]}, {"f": [sin(X) if name == "sin" else cos(X)]}))
    at = np.concatenate([np.arange(-40, 41) * np.pi / 4, [1e5, -3.3e5, 1e-300, 0.0]])
    (form,) = forms_of(wave, [AffineForm(at)])
    with mpmath.workdps(60):
        for k, v in enumerate(at):
            assert abs(rule(mpmath.mpf(v)) - mpmath.mpf(form.middle[k])) <= form.radius[k]
    assert float(form.radius.max()) < 5e-15
    (form,) = forms_of(wave, [AffineForm(np.array([1e9]), 0.01)])
    assert form.middle == 0.0
    assert form.radius >= 1.0


def test_balls_of_flint_agree_with_forms() -> None:
    at = (0.3, -0.7, 0.2)
    balls = execute(code(), [flint.arb(v) for v in at], ball_arithmetic)
    found = forms_of(code(), [AffineForm(v) for v in at])
    for ball, form in zip(balls, found, strict=True):
        assert abs(float(ball.mid()) - form.middle) <= form.radius


def test_what_has_no_rule_is_refused_by_name() -> None:
    grown = lower(program("g", {"x": [X]}, {"f": [exp(X)]}))
    with pytest.raises(lw.Error, match="no rule for 'exp'"):
        forms_of(grown, [AffineForm(0.5, 0.1)])
    with pytest.raises(lw.Error, match="needs two actuators"):
        prove_regular(truss_mount(0.98).with_drives(["lower1", "lower2", "lower3"]))
    with pytest.raises(lw.Error, match="the zenith angle of a region is"):
        prove_regular(truss_mount(0.98), 0.0)


@pytest.fixture(scope="module")
def truss() -> lw.Mechanism:
    return truss_mount(0.98)


def test_a_region_without_singular_directions_is_proven(truss: lw.Mechanism) -> None:
    found = prove_regular(truss, radians(12))
    assert found.proven
    assert found.one_branch
    assert found.words.startswith("proven: 'truss_mount' has no singularity of type 1 or 2")
    assert len(found.open_directions) == 0


def test_no_proven_box_holds_a_singular_direction(truss: lw.Mechanism) -> None:
    """The truss mount is singular from 59.33 degrees on; boxes stay open there, and say so."""
    found = prove_regular(truss, radians(64), smallest=radians(2.0))
    assert not found.proven
    assert "is not a statement" in found.words
    (curve,) = singular_loci(truss, "type 2", {"zenith": (0, radians(63))}, grid=8)
    middles, sizes = found.open_directions, found.open_sizes
    for direction in curve.directions:
        gaps = np.arccos(np.clip(middles @ direction, -1, 1))
        assert (gaps < 0.75 * sizes).any()  # half a diagonal is 0.71 of a side
    assert np.degrees(np.arccos(middles[:, 2])).min() > 50
    assert set(found.reasons) <= {"it may be singular", "its poses were not enclosed"}


def test_a_joint_limit_that_is_met_leaves_boxes_open() -> None:
    machine = truss_mount(0.98)
    machine.limit("lower1", -3.0, 1.0)
    found = prove_regular(machine, radians(10), smallest=radians(2.0))
    assert not found.proven
    assert "a joint may meet its limit" in found.reasons
    assert prove_regular(machine, radians(10), limits=False).proven
