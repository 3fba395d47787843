"""Every assembly of a machine: how many there are, that none is missing, and that each closes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import root

import linkwright as lw
from linkwright.algebra import ONE, sqrt, symbol
from linkwright.base.errors import InputError
from linkwright.equations.closure import assemble
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.homotopy.ends import carried
from linkwright.homotopy.family import IMAGINARY, Family, residuals
from linkwright.homotopy.squares import MobileError, squared
from linkwright.homotopy.start_sets import Solutions, start_set
from linkwright.homotopy.traces import is_complete
from linkwright.parallel import find_assemblies
from linkwright.parallel.assembly_modes import Assemblies, prepared
from linkwright.parallel.polynomials import NotPolynomialError, polynomials
from linkwright.parallel.resultants import closures, triangle_modes
from tests.seeds import cases, seldom


def four_bar() -> lw.Mechanism:
    m = lw.Mechanism("four-bar")
    crank = m.body("crank", rotate="z")
    coupler = m.body("coupler", parent=crank, at=(1, 0, 0), rotate="z")
    tip, pivot = m.point("tip", coupler, (3, 0, 0)), m.point("pivot", at=(2, 0, 0))
    m.constrain_distance(tip, pivot, 2.5)
    m.actuate("crank")
    m.set_platform("coupler")
    return m


def planar(
    base: tuple[tuple[float, float], ...] = ((0, 0), (2.1, 0.2), (0.9, 1.8)),
) -> lw.Mechanism:
    """A planar platform on three struts (3-RPR)."""
    m = lw.Mechanism("planar")
    body = m.body("platform", translate="xy", rotate="z")
    corners = ((0, 0), (0.8, 0), (0.3, 0.7))
    for k, (foot, corner) in enumerate(zip(base, corners, strict=True), 1):
        at = [m.parameter(f"base{k}_{axis}", v) for axis, v in zip("xy", foot, strict=True)]
        on = [m.parameter(f"corner{k}_{axis}", v) for axis, v in zip("xy", corner, strict=True)]
        low, high = m.point(f"foot{k}", at=(*at, 0)), m.point(f"head{k}", body, (*on, 0))
        m.drive_strut(f"leg{k}", low, high)
        m.actuate(f"leg{k}")
    m.set_platform(body)
    return m


def closes(m: lw.Mechanism, found: Assemblies) -> None:
    """Every real assembly closes the mechanism's own relations, and no two are the same."""
    machine = parallel_machine(m)
    for mode in found.real:
        at = {q: mode.coordinates[q.name] for q in machine.coordinates}
        at |= {machine.mechanism.parameters[n]: v for n, v in m.values.items()}
        assert max(abs(x) for x in lw.algebra.evaluate_all(list(machine.relations), at)) < 1e-10
    rows = np.array([[*mode.position, *mode.rotation.ravel()] for mode in found.real])
    apart = np.abs(rows[:, None] - rows[None]).max(axis=2) + np.eye(len(rows))
    assert apart.min(initial=1) > 1e-6


def test_a_four_bar_has_two_assemblies() -> None:
    m = four_bar()
    found = find_assemblies(m, {"crank": 0.7})
    assert (found.count, found.complete, found.generic) == (2, True, 2)
    closes(m, found)
    assert len(found.real) == 2


@seldom(daily="test_shipped_machines_of_two_circles_or_three_spheres_have_two_assemblies")
def test_a_planar_platform_on_three_struts_has_six_assemblies() -> None:
    m = planar()
    found = find_assemblies(m, [1.1, 1.2, 1.0])
    assert (found.count, found.complete, found.at_least) == (6, True, False)
    assert found.residual < 1e-10
    closes(m, found)
    # a multi-start of Newton's method finds no other one
    places = np.array([mode.position[:2] for mode in found.real])
    for row in _by_newton(m, [1.1, 1.2, 1.0]):
        assert np.abs(places - row).max(axis=1).min() < 1e-7


def _by_newton(m: lw.Mechanism, legs: list[float]) -> list[np.ndarray]:
    """Places of the platform from random starts, by SciPy on the distances alone."""
    v = m.values
    base = np.array([[v[f"base{k}_x"], v[f"base{k}_y"]] for k in (1, 2, 3)])
    corner = np.array([[v[f"corner{k}_x"], v[f"corner{k}_y"]] for k in (1, 2, 3)])

    def off(q: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[2]), np.sin(q[2])
        heads = q[:2] + corner @ np.array([[c, s], [-s, c]])
        return np.asarray(((heads - base) ** 2).sum(axis=1) - np.square(legs))

    rng = np.random.default_rng(0)
    found = [root(off, rng.uniform(-2, 2, 3) * (1, 1, 1.5), tol=1e-13) for _ in range(30)]
    return [x.x[:2] for x in found if x.success and np.abs(off(x.x)).max() < 1e-10]


def test_what_is_out_of_reach_has_no_real_assembly() -> None:
    found = find_assemblies(planar(), [9.0, 0.1, 0.1])
    assert found.real == ()
    assert found.complete
    assert found.words.endswith("these actuator values are out of reach")


def test_a_platform_that_moves_with_locked_legs_is_told_with_its_dimension() -> None:
    """Three equal parallel legs on congruent triangles: the platform goes around in a circle."""
    base = ((0, 0), (0.8, 0), (0.3, 0.7))
    found = find_assemblies(planar(base), [1.0, 1.0, 1.0])
    assert found.self_motion == 1
    assert not found.complete
    assert "infinitely many assemblies" in found.words
    assert "moves in 1 way" in found.words


def test_a_missing_solution_bends_the_trace() -> None:
    """The trace test can fail: of the roots of a cubic one is left out."""
    x, a, b = symbol("x", "coordinate"), symbol("a"), symbol("b")
    cubic = Family("cubic", (x,), (a, b), (x**3 + a * x + b,), (x,), pencil=(0, 1))
    rng, start = np.random.default_rng(5), start_set(cubic)
    assert (start.count, start.complete) == (3, True)
    assert not is_complete(Solutions(cubic, start.parameters, start.solutions[:2]), rng)


def test_singular_and_infinite_ends_are_told_apart() -> None:
    x, a, b = symbol("x", "coordinate"), symbol("a"), symbol("b")
    quadric = Family("quadric", (x,), (a, b), (a * x**2 + x + b,), (x,), pencil=(0, 1))
    start = start_set(quadric)
    assert (start.count, start.complete) == (2, True)
    two = carried(quadric, start, np.array([1.0, -2.0], complex))
    assert sorted(two.z[:, 0].real.round(9)) == [-2, 1]
    assert two.residual < 1e-12
    one = carried(quadric, start, np.array([0.0, 3.0], complex))
    assert one.z[:, 0].round(9).tolist() == [-3]
    assert (one.diverged, one.lost) == (1, 0)
    double = carried(quadric, start, np.array([0.25, 1.0], complex))
    assert len(double.z) == 0
    assert len(double.singular) == 2
    assert double.lost == 0
    assert residuals(quadric, double.singular, np.array([0.25, 1.0], complex)).max() < 1e-8


def test_wrong_requests_are_refused_in_words() -> None:
    m = four_bar()
    with pytest.raises(lw.Error, match="crank"):
        find_assemblies(m, {"coupler": 1.0})
    with pytest.raises(lw.Error, match="has 1 actuators"):
        find_assemblies(m, [1.0, 2.0])
    with pytest.raises(lw.Error, match="no value is given for crank"):
        find_assemblies(m, {})
    with pytest.raises(lw.Error, match="finite"):
        find_assemblies(m, [float("nan")])
    with pytest.raises(lw.Error, match="names no actuators"):
        find_assemblies(lw.Mechanism("m"), [])


def test_too_few_actuators_are_told_with_the_freedom_that_is_left() -> None:
    m = planar()
    with pytest.raises(MobileError, match="still moves in 1 way") as caught:
        find_assemblies(m.with_drives(["leg1", "leg2"]), [1.0, 1.2])
    assert caught.value.dimension == 1


def test_what_is_no_polynomial_is_refused_by_its_name() -> None:
    m = lw.Mechanism("slot")
    a = m.body("a", translate="xy")
    m.body("b", parent=a, rotate="z")
    x, y = a.coordinates
    m.constrain_position(sqrt(1 + x**2) - y, name="a bent slot")
    m.actuate("b")
    m.set_platform(a)
    with pytest.raises(NotPolynomialError, match="'a bent slot' is not a polynomial: 'sqrt'"):
        polynomials(parallel_machine(m))


@seldom(daily="test_a_four_bar_has_two_assemblies")
def test_where_two_assemblies_meet_the_machine_is_singular_and_within_reach() -> None:
    found = find_assemblies("five-bar", {"left": np.pi, "right": 0.0})
    assert (found.count, found.real, found.singular, found.complete) == (0, (), 2, False)
    (mode,) = found.meeting
    assert mode.position == pytest.approx([0, 0, 0], abs=1e-9)
    assert "several assemblies meet in a real place" in found.words
    assert "out of reach" not in found.words
    assert replace(found, singular=1).words.endswith("1 path ends at singular places")
    apart = find_assemblies("five-bar", {"left": 3.0, "right": 0.0})
    assert not apart.meeting


@pytest.mark.parametrize(
    ("name", "lengths"),
    [("stewart", [0.6, -0.6, 0.6, 0.6, 0.6, 0.6]), ("planar-3-rpr", [1, -1, 1])],
)
def test_a_leg_of_negative_length_is_refused_by_name(name: str, lengths: list[float]) -> None:
    with pytest.raises(InputError, match="the leg 'leg2' cannot be"):
        find_assemblies(name, lengths)


@pytest.mark.parametrize("name", ["five-bar", "delta"])
def test_shipped_machines_of_two_circles_or_three_spheres_have_two_assemblies(name: str) -> None:
    m = parallel_machine(name).mechanism
    home = assemble(m).coordinates
    turned = [home[q.name] + 0.03 * k for k, q in enumerate(m.actuators, 1)]
    found = find_assemblies(m, turned)
    assert (found.count, found.complete, len(found.real)) == (2, True, 2)
    closes(m, found)


@seldom(daily="test_shipped_machines_of_two_circles_or_three_spheres_have_two_assemblies")
@pytest.mark.parametrize(
    ("name", "count", "generic"),
    cases([("agile-eye", 8, 8), ("planar-3-rpr", 4, 6)], daily=[("planar-3-rpr", 4, 6)]),
)
def test_shipped_machines_with_closed_hinges_have_all_their_assemblies(
    name: str, count: int, generic: int
) -> None:
    """None has the axis of a hinge turned over; a plate like its base loses two at infinity."""
    m = parallel_machine(name).mechanism
    home = assemble(m).coordinates
    turned = [home[q.name] + 0.03 * k for k, q in enumerate(m.actuators, 1)]
    found = find_assemblies(m, turned)
    assert (found.count, found.complete, found.generic) == (count, True, generic)
    assert found.residual < 1e-10
    closes(m, found)
    signs = [x for loop in m.loops for x in loop.aligned]
    for mode in found.real:
        at = {q: mode.coordinates[n] for n, q in m.coordinates.items()}
        at |= {m.parameters[n]: v for n, v in m.values.items()}
        assert lw.algebra.evaluate_all(signs, at) == pytest.approx([1] * len(signs))


@seldom(daily="test_three_arms_on_a_triangle_have_sixteen_assemblies_as_the_resultant_says")
def test_the_shipped_hexapod_has_forty_assemblies_and_a_flat_one_twenty_eight() -> None:
    """A hexapod has 40 at most (Ronga and Vust 1992), so the start set needs no trace test here.

    The bench of assemblies makes the trace test from nothing.
    """
    general, flat = lw.load("stewart"), lw.load("stewart:stagger=0")
    machine = parallel_machine(general)
    assert start_set(squared(polynomials(machine).family).family, bound=40).complete
    home = assemble(machine.mechanism).coordinates
    found = find_assemblies(general, [home[q.name] for q in machine.actuators])
    assert (found.count, found.complete, found.diverged) == (40, True, 0)
    closes(machine.mechanism, found)
    lengths = [0.6, 0.64, 0.7, 0.55, 0.66, 0.73]
    found = find_assemblies(general, lengths)
    assert (found.count, found.complete) == (40, True)
    assert found.residual < 1e-10
    found = find_assemblies(flat, lengths)
    assert (found.count, found.complete, found.diverged) == (28, True, 12)


def _closures() -> Family:
    """The closures of `resultants` in exp(i b): three tips on circles keep their distances."""
    turns = [symbol(f"w{k}", "coordinate") for k in range(3)]
    c = [(w + 1 / w) / 2 for w in turns]
    s = [-IMAGINARY * (w - 1 / w) / 2 for w in turns]
    equations, parameters = [], []
    for pair, (i, j) in enumerate(((0, 1), (1, 2), (2, 0))):
        d = [symbol(f"d{pair}{k}", "input") for k in range(9)]
        terms = (c[i], c[j], s[i], s[j], c[i] * c[j], s[i] * c[j], c[i] * s[j], s[i] * s[j], ONE)
        equations.append(sum((x * y for x, y in zip(d, terms, strict=True)), 0 * d[0]))
        parameters += d
    w, p = tuple(turns), tuple(parameters)
    return Family("closures", w, p, tuple(equations), w, pencil=tuple(range(27)))


@seldom(daily="test_three_arms_on_a_triangle_have_sixteen_assemblies_as_the_resultant_says")
@pytest.mark.parametrize(("seed", "number"), [(17, 8), (17, 18), (1, 140), (1, 149)])
def test_hexapods_with_assemblies_far_out_in_their_chart_miss_none(seed: int, number: int) -> None:
    """Solutions that were called singular for their size, and paths that only pass far out."""
    values, legs = _random_hexapod(seed, number)
    found = find_assemblies("stewart", legs, values)
    assert (found.count, found.complete, found.diverged, found.singular) == (40, True, 0, 0)


@seldom(daily="test_three_arms_on_a_triangle_have_sixteen_assemblies_as_the_resultant_says")
def test_two_assemblies_of_a_hexapod_next_to_infinity_are_found() -> None:
    """They were taken for infinite: where e . e is 1e-5, positions cancel in all their digits."""
    values, legs = _random_hexapod(99, 491)
    found = find_assemblies("stewart", legs, values)
    assert (found.count, found.complete, found.diverged, found.singular) == (40, True, 0, 0)
    machine = parallel_machine("stewart")
    known = {machine.mechanism.parameters[n]: v for n, v in values.items()}
    made = prepared(machine, machine.actuators)
    at = made.polynomials.at(known | dict(zip(machine.actuators, legs, strict=True)))
    ends = carried(made.square.family, made.start, made.square.parameters(at))
    sizes = np.sort(np.abs(ends.features).max(axis=1))
    assert sizes[-3] < 1e4 < sizes[-2]


def _random_hexapod(seed: int, number: int) -> tuple[dict[str, float], list[float]]:
    """Return random places of all ball joints, and lengths of the legs that fit some pose."""
    m = lw.load("stewart").mechanism
    rng = np.random.default_rng(seed)
    values: dict[str, float] = {}
    legs: list[float] = []
    for _ in range(number + 1):
        legs.clear()
        for k in range(1, 7):
            foot, head = (
                np.array([m.values[f"{what}{k}_{a}"] for a in "xyz"]) + rng.uniform(-0.2, 0.2, 3)
                for what in ("base", "platform")
            )
            for what, place in (("base", foot), ("platform", head)):
                values |= {f"{what}{k}_{a}": float(v) for a, v in zip("xyz", place, strict=True)}
            legs.append(float(np.linalg.norm(head - foot + np.array([0.05, -0.03, 0.5]))))
    return values, legs


def test_three_arms_on_a_triangle_have_sixteen_assemblies_as_the_resultant_says() -> None:
    """Mount checks 8, 9 and 12: by the general engine, against the polynomial of degree 16."""
    family = _closures()
    start = start_set(family)
    assert (start.count, start.complete) == (16, True)
    outward = np.array([[np.cos(a), np.sin(a), 0] for a in np.radians([0, 120, 240])])
    up = np.array([0, 0, 1.0])
    for upper, real in ((0.7, 4), (0.841, None)):
        arms = np.radians([60, 45, 30])
        along = np.sin(arms)[:, None] * outward + np.cos(arms)[:, None] * up
        base = 0.28033 * outward + 0.841 * along
        sides = [np.linalg.norm(base[i] - base[j]) for i, j in ((0, 1), (1, 2), (2, 0))]
        d = closures(0.28033 * outward, outward, -up + 0 * outward, [upper, 0.841, 0.841], sides)
        ends = carried(family, start, d.ravel().astype(complex))
        assert (len(ends.z), ends.lost) == (16, 0)
        assert ends.residual < 1e-10
        on_circle = np.abs(np.abs(ends.z) - 1).max(axis=1) < 1e-8
        angles = np.degrees(np.angle(ends.z[on_circle]))
        known = np.degrees(triangle_modes(d).angles)
        assert len(angles) == len(known)
        for row in known:
            off = (angles - row + 180) % 360 - 180
            assert np.abs(off).max(axis=1).min() < 1e-6
        mirrored = (180 - angles[:, None] - angles[None] + 180) % 360 - 180
        assert np.abs(mirrored).max(axis=2).min(axis=1).max() < 1e-6  # pairs a/b, c/d
        if real is not None:
            assert len(angles) == real
            table = [[73.7023, 46.6238, 28.2939], [149.7838, 92.0426, -21.4092]]
            assert all(np.abs(angles - row).max(axis=1).min() < 1e-4 for row in table)
        else:  # with equal arms the symmetric mode is one of them: upper angles like lower ones
            assert np.abs(angles - [60, 45, 30]).max(axis=1).min() < 1e-9
