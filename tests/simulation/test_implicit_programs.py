"""What an implicit step evaluates: rates and their Jacobian, in one Program."""

from __future__ import annotations

import numpy as np

import linkwright as lw
from linkwright.program import count_operations, derivative, interpret, lower, optimize
from linkwright.simulation.native.implicit import jacobian_program
from tests.support.shared import model


def test_rates_and_jacobian_of_an_implicit_step_are_one_program() -> None:
    """It has the rates of the derivative, their central differences, and fewer operations."""
    system = lw.System(model("double-pendulum"))
    rates = system.phases().derivative
    both = jacobian_program(rates)
    alone = optimize(derivative(rates, rates.outputs[0].name, ["t", "x"], values=False), rounds=1)
    apart = count_operations(rates).total + count_operations(alone).total
    assert count_operations(both).total < 0.9 * apart
    n = len(rates.port("x").entries)
    rng = np.random.default_rng(2)
    m = system.mechanism
    p = np.array([m.values[x.name] for x in rates.port("p").entries])
    empty = np.zeros(0)
    at = {"t": np.zeros(1), "d": empty, "w": empty, "p": p, "x": 0.3 * rng.normal(size=n)}
    found, by_time, flat = interpret(lower(both), [at[port.name] for port in both.inputs])
    plain = lower(rates)
    assert np.allclose(found, interpret(plain, [at[y.name] for y in rates.inputs])[0], rtol=1e-12)
    assert not by_time.any()
    for k, column in enumerate(flat.reshape(n, n).T):
        ends = []
        for sign in (1e-6, -1e-6):
            moved = {**at, "x": at["x"] + sign * np.eye(n)[k]}
            ends.append(interpret(plain, [moved[y.name] for y in rates.inputs])[0])
        wanted = (ends[0] - ends[1]) / 2e-6
        assert np.allclose(column, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max() + 1e-9)
