"""Models that keep higher orders of small variables: series, files, and a bifurcation."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.equations import derive
from linkwright.equations.evaluation import Evaluator
from linkwright.formats.text.files import read_model, write_model
from linkwright.mechanism import Mechanism, MechanismError

TEXT = """
format = 1
name = "governor"
small_order = {order}
[parameters]
g = {{ value = 9.81, unit = "m/s^2" }}
W = {{ value = 4.0, unit = "rad/s" }}
[gravity]
along = "-z"
g = "g"
[[body]]
name = "arm"
rotate = "x"
small = true
mass = 1
com = [0, 0, -1]
inertia = 0
[[moment]]
name = "whirl"
magnitude = "W**2*sin(arm)*cos(arm)"
on = "arm"
about = "x"
"""


def acceleration(m: Mechanism, angle: float) -> float:
    equations = derive(m, "kane")
    made = Evaluator(m, equations.program(outputs=False), dict(m.values), backend="python")
    return float(made(q=np.array([angle]), u=np.array([0.0]))[1][0])


@pytest.mark.parametrize(("order", "powers"), [(1, [1]), (3, [1, 3]), (5, [1, 3, 5])])
def test_terms_up_to_the_order_are_kept(order: int, powers: list[int]) -> None:
    """W^2 sin cos - g sin of a ball on a whirling arm, in its series."""
    m = read_model(TEXT.format(order=order))
    x = 0.4
    sine = {1: 1, 3: -1 / 6, 5: 1 / 120}
    both = {1: 1, 3: -2 / 3, 5: 2 / 15}  # of sin x cos x
    wanted = sum((16 * both[k] - 9.81 * sine[k]) * x**k for k in powers)
    products = abs(acceleration(m, x) - wanted)
    assert products < (1e-12 if order == 1 else 0.5 * x ** (order + 2) * 16)
    assert (
        abs(acceleration(m, x) - (16 * np.sin(x) * np.cos(x) - 9.81 * np.sin(x)))
        < x ** (order + 2) * 16
    )


def test_the_order_is_written_and_read_again() -> None:
    m = read_model(TEXT.format(order=5))
    again = read_model(write_model(m))
    assert again.small_order == 5
    assert acceleration(again, 0.3) == pytest.approx(acceleration(m, 0.3), abs=1e-14)
    assert m.fingerprint() != read_model(TEXT.format(order=3)).fingerprint()


def test_the_arm_bifurcates_only_with_higher_orders() -> None:
    """Above W^2 = g it comes to rest at acos(g/W^2); the linear model runs away."""
    m = read_model(TEXT.format(order=5))
    m.moment("friction", "-2*arm_dot", on="arm", about="x")
    run = lw.simulate(m, 20, step=0.01, initial={"arm": 0.01}, parameters={"W": 3.3})
    assert run.recording["arm"][-1] == pytest.approx(np.arccos(9.81 / 3.3**2), rel=0.02)
    flat = read_model(TEXT.format(order=1))
    run = lw.simulate(flat, 20, step=0.01, initial={"arm": 0.01}, parameters={"W": 3.3})
    assert run.recording["arm"][-1] > 10


@pytest.mark.parametrize("order", [0, -1, 2.0, True, "2"])
def test_an_order_is_a_whole_number_from_one(order: object) -> None:
    with pytest.raises(MechanismError, match="small_order is a whole number from 1"):
        Mechanism("m", small_order=order)  # type: ignore[arg-type]
