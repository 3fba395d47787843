"""Bodies and worksheets that are printed, against vectors differentiated by another way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from linkwright.algebra import Expr, Vector, evaluate_all, free_symbols
from linkwright.equations import Equations, derive
from linkwright.equations.worksheets import BodySheet, solve_order, worksheet_sections
from linkwright.mechanism import Mechanism, Point
from linkwright.models import load_model
from linkwright.program.linear import fill


def tilted_trolley() -> Mechanism:
    """Return a trolley with a wheel, a pendulum about an oblique axis, and a prescribed speed."""
    m = Mechanism("trolley")
    m.gravity(along="-z")
    base = m.body(
        "base", translate="xy", rotate="z", mass=3.0, com=(0.2, 0.1, 0.3), inertia=(1, 2, 3)
    )
    m.body("wheel", parent=base, at=(0.4, 0, 0), rotate="y", mass=0.7, inertia=(0.1, 0.2, 0.1))
    arm = m.body(
        "arm", parent=base, at=(0, 0.2, 0.5), rotate=[(1, 1, 0)], mass=1.1, com=(0.1, 0.2, -0.4),
        inertia=(0.2, 0.3, 0.4),
    )  # fmt: skip
    m.body(
        "slide", parent=arm, at=(0.1, 0, -0.4), translate="z", mass=0.5, com=(0, 0.1, 0), inertia=0
    )
    m.constrain("arm_dot - 0.3*base.rz_dot - 0.2*sin(base.rz)", name="geared", eliminate="arm_dot")
    return m


def numbers(
    equations: Equations,
    values: Sequence[Expr],
    state: dict[str, float],
    sheet: BodySheet | None = None,
) -> np.ndarray:
    """Evaluate expressions at a state, names of intermediate results through their definitions."""
    given = {x: state[x.name] for x in free_symbols(*values) if x.name in state}
    known = dict(given)
    definitions = [(s.target, s.value) for s in equations.assignments]
    definitions += [] if sheet is None else sheet.names.items()
    for target, value in definitions:
        inside = {x: known.get(x, state.get(x.name)) for x in free_symbols(value)}
        if all(v is not None for v in inside.values()):
            known[target] = evaluate_all([value], inside)[0]
    return np.array([float(np.asarray(v)) for v in evaluate_all(values, known)])


@pytest.mark.parametrize("make", [tilted_trolley, lambda: load_model("spacecraft-2")])
def test_partial_velocities_and_remainders_are_those_of_the_differentiated_velocities(make) -> None:  # type: ignore[no-untyped-def]
    """Velocities are linear in the speeds; what is left of a derivative has their rates at zero."""
    m = make()
    equations = derive(m, "kane")
    k, rng = equations.kinematics, np.random.default_rng(7)
    names = {**{q.name: q for q in k.rates}, **{s.symbol.name: s.symbol for s in k.speeds}}
    state = {
        name: float(x) for name, x in zip(names, rng.uniform(-0.9, 0.9, len(names)), strict=True)
    }
    state |= {name: float(v) for name, v in m.values.items() if v is not None}
    for u, value in follow(equations, state).items():
        state[u.name] = value
    drift = dict(zip(equations.reduction.dependent, equations.reduction.drift, strict=True))
    rates = {k.accelerations[s.symbol].name: 0.0 for s in k.speeds}
    for u, c in drift.items():
        rates[k.accelerations[u].name] = float(numbers(equations, [c], state)[0])
    state |= rates
    gravity = m.gravity_vector
    for sheet in equations.worksheets():
        omega = k.omega(sheet.body)
        whole = sum_of([p.omega * p.speed for p in sheet.every])
        assert same(equations, sheet, omega, whole, state)
        assert same(equations, sheet, k.derivative(omega), sheet.alpha, state)
        if sheet.moving == "fixed mass":
            continue
        velocity = k.velocity(Point("center", sheet.body, sheet.center))
        whole = sum_of([p.velocity * p.speed for p in sheet.every])
        assert same(equations, sheet, velocity, whole, state)
        left = k.derivative(velocity) - gravity
        assert same(equations, sheet, left, sheet.acceleration, state)
        tied = sum_of([p.velocity * p.speed for p in sheet.independent])
        rest = dict(zip(equations.reduction.dependent, equations.reduction.offset, strict=True))
        if not rest or all(c.is_constant for c in rest.values()):
            assert same(equations, sheet, velocity, tied, state)


def follow(equations: Equations, state: dict[str, float]) -> dict[Expr, float]:
    """Return the dependent speeds at a state."""
    definition = {s.target: s.value for s in equations.assignments}
    return {
        u: float(numbers(equations, [definition[u]], state)[0])
        for u in equations.reduction.dependent
    }


def sum_of(vectors: Sequence[Vector]) -> Vector:
    found = Vector({})
    for v in vectors:
        found = found + v
    return found


def same(
    equations: Equations, sheet: BodySheet, a: object, b: object, state: dict[str, float]
) -> bool:
    frame = sheet.body.frame
    assert isinstance(a, Vector)
    assert isinstance(b, Vector)
    x, y = (numbers(equations, v.components(frame), state, sheet) for v in (a, b))
    return bool(np.abs(x - y).max() < 1e-12)


def test_bodies_are_taken_as_they_are() -> None:
    sheets = {s.body.name: s for s in derive(tilted_trolley(), "kane").worksheets()}
    assert (sheets["base"].moving, sheets["base"].counted) == ("body axes", ("wheel",))
    assert (sheets["wheel"].turning, sheets["wheel"].moving) == ("rotor", "fixed mass")
    assert (sheets["arm"].turning, sheets["arm"].moving) == ("recursive", "recursive")
    assert (sheets["slide"].turning, sheets["slide"].moving) == ("carried", "recursive")
    assert str(sheets["base"].mass) == "3.7"
    center = [float(x.data) for x in sheets["base"].center.components(sheets["base"].body.frame)]
    assert center == pytest.approx([(3 * 0.2 + 0.7 * 0.4) / 3.7, 0.3 / 3.7, 0.9 / 3.7])


def test_names_in_the_tables_are_explained() -> None:
    sections = {s.title: s for s in worksheet_sections(derive(load_model("stanford-arm"), "kane"))}
    named = {row[0] for row in sections["names in them"].rows}
    text = " ".join(
        " ".join(row) for s in sections.values() for row in s.rows if s.title[:4] == "body"
    )
    used = {
        word
        for word in text.replace("(", " ").replace(")", " ").replace("*", " ").split()
        if "w.z" in word
    }
    assert {w.strip("-,…") for w in used if "…" not in w} <= named
    assert sections["order of the solve"].rows[0][0] in ("c_dot", "f_dot")


def test_fill_of_a_matrix_by_the_order_of_its_rows() -> None:
    """An arrow with its hub first fills whole, with its hub last not at all (thesis, 7.2.1)."""
    rng = np.random.default_rng(3)
    for n in (3, 5, 8):
        hub = [[2 if 0 in (i, j) or i == j else 0 for j in range(n)] for i in range(n)]
        assert len(fill(hub)) == (n - 1) * (n - 2) // 2
        assert fill(hub, [*range(1, n), 0]) == []
        found = np.array(hub, float) * rng.uniform(1, 2, (n, n))
        found = found + found.T + 20 * np.eye(n)
        order = list(rng.permutation(n))
        lower = np.linalg.cholesky(found[np.ix_(order, order)])
        wanted = {
            frozenset((order[i], order[j]))
            for i in range(n) for j in range(i)
            if abs(lower[i, j]) > 1e-12 and hub[order[i]][order[j]] == 0
        }  # fmt: skip
        assert {frozenset(pair) for pair in fill(hub, order)} == wanted


def test_the_order_of_the_solve_is_told_with_its_fill() -> None:
    found = solve_order(derive(load_model("stanford-arm"), "kane"))
    assert found is not None
    assert len(found.order) == 6
    assert found.filled == ()
