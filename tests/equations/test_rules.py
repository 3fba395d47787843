"""Rules of simplification left out: the same motion, and counts that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.equations import derive
from linkwright.equations.rules import _multiplied_out, _written_out, operations_without, without
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.program import Counts, interpret, lower, program


def accelerations(name: str, rules: list[str], q: np.ndarray, u: np.ndarray) -> np.ndarray:
    with without(rules):
        equations = derive(load_model(name), "kane")
        made = equations.program(outputs=False)
    values = equations.mechanism.values
    arrays = {"q": q, "u": u, "t": np.zeros(1)}
    given = [
        arrays[p.name] if p.name in arrays else np.array([values[x.name] for x in p.entries])
        for p in made.inputs
    ]
    found = interpret(lower(made), given)
    return np.asarray(found[[p.name for p in made.outputs].index("u_dot")])


@pytest.mark.parametrize(("name", "freedoms"), [("cart", (8, 2)), ("spacecraft-2", (10, 10))])
def test_rules_of_bodies_change_the_form_and_not_the_motion(
    name: str, freedoms: tuple[int, int]
) -> None:
    rng = np.random.default_rng(4)
    q, u = rng.uniform(-0.5, 0.5, freedoms[0]), rng.uniform(-1, 1, freedoms[1])
    usual = accelerations(name, [], q, u)
    for rules in (["composite"], ["rotor"], ["composite", "rotor"]):
        assert accelerations(name, rules, q, u) == pytest.approx(usual, rel=1e-9)


def test_without_smallness_the_small_car_is_the_car() -> None:
    q, u = np.array([0, 0, 0.3, 0.4]), np.array([-50 * 0.0254, 0.5, -0.7])
    exact = accelerations("car-small", ["smallness"], q, u)
    assert exact == pytest.approx(accelerations("car", [], q, u), rel=1e-12)
    assert abs(accelerations("car-small", [], q, u) - exact).max() > 1e-3


def test_wheels_that_are_no_rotors_need_their_angles() -> None:
    def cart() -> Mechanism:
        return load_model("cart")

    usual, turned = (
        operations_without(cart, rules, "kane") for rules in ([], ["composite", "rotor"])
    )
    assert turned.call >= usual.call
    assert turned.total > 1.5 * usual.total


def test_counts_of_what_is_written_out_are_those_of_the_formulas() -> None:
    """(a + b + c)**2 multiplied out: five adds, three squares, three doubled products."""
    square = program("f", {"x": ["a", "b", "c"]}, {"y": lambda a, b, c: [(a + b + c) ** 2]})
    assert _multiplied_out(square, constants=True) == Counts(add=5, mul=9)
    four = program("f", {"q": ["a", "b", "c", "d"]}, {"y": lambda a, b, c, d: [(a + b) * (c - d)]})
    assert _multiplied_out(four, constants=True) == Counts(add=3, mul=4)
    same = program("f", {"q": ["a", "b"]}, {"y": lambda a, b: [(a + b) * (a - b) + b**2 - a**2]})
    assert _multiplied_out(same, constants=True) == Counts()
    divided = program("f", {"q": ["a", "b", "c"]}, {"y": lambda a, b, c: [(a + b) / (a + c)]})
    assert _multiplied_out(divided, constants=True) == Counts(add=3, mul=2)

    def twice(a, b):  # type: ignore[no-untyped-def]
        return [(a * b + a) / b, (a * b + a) * b]

    again = program("f", {"q": ["a", "b"]}, {"y": twice})
    assert _written_out(again, constants=True) == Counts(add=2, mul=4)


def test_constants_in_the_loop_cost_what_they_cost_once() -> None:
    model = lambda: load_model("cart")  # noqa: E731
    usual, all_in = (operations_without(model, rules, "kane") for rules in ([], ["constants"]))
    assert all_in.total > 1.5 * usual.total
    written = [operations_without(model, r, "kane") for r in (["intermediates"], ["factoring"])]
    assert usual.total < written[0].total < written[1].total


def test_a_rule_that_is_none_and_an_equation_that_is_too_long_are_rejected() -> None:
    with pytest.raises(InputError, match=r"no rule 'small'.*; there are smallness, composite"):
        operations_without(lambda: load_model("pendulum"), ["small"])
    with pytest.raises(InputError, match="more than 200,000 products"):
        operations_without(lambda: load_model("stanford-arm"), ["factoring"], "kane")
