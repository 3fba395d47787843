"""Numeric evaluation of shipped models at given states, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from linkwright.algebra import Expr, evaluate_all
from linkwright.equations import Equations, derive
from linkwright.equations.kernels import kernel_program
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.program import Code, Program, interpret, lower, optimize

Array = NDArray[np.float64]


@cache
def equations(name: str, formulation: str = "composite") -> Equations:
    """Derive the equations of a model once."""
    return derive(load_model(name), formulation)


@cache
def optimized(name: str, kernel: str = "forward") -> Program:
    """Return one kernel of a model, derived as it is by default and optimized, once."""
    return optimize(kernel_program(equations(name, "auto"), kernel))


@cache
def _program(name: str, formulation: str) -> Program:
    """Assemble everything that the tests look at."""
    e = equations(name, formulation)
    mass = [x for row in e.mass for x in row]
    results = {
        "q_dot": list(e.rates),
        "u_dot": list(e.accelerations),
        "dependent": list(e.dependent_accelerations),
        "mass": mass,
        "right": list(e.right),
        "y": list(e.outputs),
    }
    filled = {k: v for k, v in results.items() if v}
    return e.assemble(name, filled, {}, [x for v in filled.values() for x in v])


@cache
def _code(name: str, formulation: str) -> Code:
    return lower(_program(name, formulation))


def state(
    name: str,
    q: Sequence[float] | Array,
    u: Sequence[float] | Array,
    values: Mapping[str, float] | None = None,
    time: float = 0.0,
    formulation: str = "composite",
) -> dict[str, Array]:
    """Return rates, accelerations, M, f and outputs of a model at a state, by name.

    `values` change parameters and inputs; `outputs` come by name under their own names.
    """
    e, p = equations(name, formulation), _program(name, formulation)
    known = {**e.mechanism.values, **(values or {})}
    given: list[Array] = []
    for port in p.inputs:
        arrays: dict[str, Sequence[float] | Array] = {"q": q, "u": u, "t": [time]}
        entries = arrays.get(port.name)
        if entries is None:
            entries = [known[x.name] for x in port.entries]
        given.append(np.array(entries, dtype=float))
    found = interpret(_code(name, formulation), given)
    result = {port.name: np.asarray(v) for port, v in zip(p.outputs, found, strict=True)}
    for output, value in zip(e.mechanism.outputs, result.get("y", ()), strict=True):
        result[output.name] = value
    n = len(e.speeds)
    result["mass"] = result["mass"].reshape(n, n)
    return result


def inverse_dynamics(
    name: str,
    q: Sequence[float] | Array,
    u: Sequence[float] | Array,
    a: Sequence[float] | Array,
) -> Array:
    """Return M a - f: what the drives must give for the accelerations a."""
    found = state(name, q, u)
    torque: Array = found["mass"] @ np.array(a, dtype=float) - found["right"]
    return torque


def closed(
    m: Mechanism, given: Mapping[str, float], guess: Mapping[str, float]
) -> dict[str, float]:
    """Solve the position relations of a mechanism for the coordinates in `guess`."""
    relations = [c.position for c in m.constraints if c.position is not None]
    parameters = {x: m.values[name] for name, x in m.parameters.items()}
    fixed = {m.coordinates[k]: v for k, v in given.items()}

    def residual(x: Array) -> list[float]:
        moving: dict[Expr, float] = {
            m.coordinates[k]: float(v) for k, v in zip(guess, x, strict=True)
        }
        return evaluate_all(relations, {**parameters, **fixed, **moving})

    solution = root(residual, list(guess.values()), tol=1e-14)
    assert np.abs(residual(solution.x)).max() < 1e-12
    return {**given, **dict(zip(guess, map(float, solution.x), strict=True))}
