"""What constraints say when they are entered, against the relations and the equations."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.algebra import evaluate_all, free_symbols, substitute_all
from linkwright.base.errors import Error
from linkwright.equations import derive
from linkwright.equations.replies import replies
from linkwright.mechanism import Constraint, Mechanism
from linkwright.models import load_model


@pytest.mark.parametrize("name", ["cart", "car", "four-bar"])
def test_replacements_satisfy_all_constraints(name: str) -> None:
    """With every speed replaced by what is said in the end, each relation vanishes at any state."""
    m = load_model(name)
    found = replies(m)
    assert [(r.constraint, r.replaces) for r in found] == [
        (e.constraint, e.speed) for e in derive(m, "kane").eliminations
    ]
    now = {r.replaces: r.now for r in found if r.replaces is not None and r.now is not None}
    assert not any(set(free_symbols(x)) & set(now) for x in now.values())
    left = substitute_all([c.speed for c in m.constraints], now)
    rng = np.random.default_rng(5)
    names = free_symbols(*left)
    given = {x: float(m.values.get(x.name) or rng.uniform(-0.5, 0.5)) for x in names}
    assert np.abs(evaluate_all(left, given)).max() < 1e-12


def test_each_reply_comes_when_its_constraint_is_entered() -> None:
    m = Mechanism("sled")
    m.body("s", translate="xy", rotate="z", mass=2, com=("a", 0, 0), inertia=1)
    m.defaults(a=0.3)
    runner = m.constrain("dot(vel(s0), [s2])", name="runner")
    assert (str(runner.replaces), str(runner.by)) == ("s.rz_dot", "s.v/a")
    assert repr(runner) == "Constraint('runner': replaces s.rz_dot by s.v/a)"
    again = m.constrain("2*dot(vel(s0), [s2])", name="again")
    assert again.satisfied
    assert repr(again) == "Constraint('again': is already satisfied)"
    push = m.constrain("s.u - V", name="push")
    assert (str(push.replaces), str(push.by)) == ("s.u", "V")
    assert not runner.satisfied


def test_a_constraint_of_no_mechanism_says_so() -> None:
    m = Mechanism("m")
    b = m.body("b", translate="x")
    alone = Constraint("alone", m.expr("b_dot"))
    assert repr(alone) == "Constraint('alone')"
    with pytest.raises(Error, match="is not one of a mechanism"):
        _ = alone.replaces
    assert b.name == "b"


def test_a_relation_of_points_is_taken_if_it_is_confirmed() -> None:
    m = load_model("four-bar")
    del m.constraints[:]
    shown: list[str] = []

    def ask(relation: Constraint) -> bool:
        shown.append(str(relation.replaces))
        return len(shown) > 1

    m.constrain_points("bp", "cp", "[b1]", confirm=ask)
    assert (m.constraints, shown) == ([], ["b_dot"])
    kept = m.constrain_points("bp", "cp", "[b1]", confirm=ask)
    assert m.constraints == [kept]


def test_a_velocity_as_seen_in_a_body_is_the_rate_of_its_components_there() -> None:
    """vel(p, q, b): differences of coordinates along the axes of b, against finite differences."""
    m = Mechanism("m")
    b = m.body("b", translate="xy", rotate="z", mass=1, inertia=(1, 2, 3))
    c = m.body("c", parent=b, at=(0.3, 0, 0), rotate="x", mass=1, inertia=(1, 2, 3))
    m.point("p", c, (0.1, 0.2, 0.3))
    seen = m.vector("vel(p, b0, b)")
    rates = m.kinematics().rates
    place = m.points["p"].position - b.origin.position
    rng = np.random.default_rng(8)
    at = {x.name: rng.uniform(-1, 1) for x in (*rates, *(s.symbol for s in m.kinematics().speeds))}

    def numbers(values: object, state: dict[str, float]) -> np.ndarray:
        names = free_symbols(*values)  # type: ignore[misc]
        return np.array(evaluate_all(values, {x: state[x.name] for x in names}), float)  # type: ignore[arg-type]

    step = 1e-6
    speeds = numbers(list(rates.values()), at)
    moved = [
        {**at, **{q.name: at[q.name] + k * step * v for q, v in zip(rates, speeds, strict=True)}}
        for k in (1, -1)
    ]
    before, after = (numbers(place.components(b.frame), state) for state in moved)
    found = numbers(seen.components(b.frame), at)
    assert found == pytest.approx((before - after) / (2 * step), abs=1e-8)
