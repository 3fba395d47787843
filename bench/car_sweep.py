"""Step responses of the thesis' car over a sweep of parameters, here and with SciPy.

Each run is the response to a step of one degree of steer, 5 s long, with its own stiffness of the
front tires, stiffness in roll and speed. SciPy's `solve_ivp` (RK45) integrates the same equations
of motion as a NumPy right-hand side, the function that the Python backend writes, with all that
depends on parameters alone computed beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwright.backends.python import build
from linkwright.equations import Equations, derive
from linkwright.models import load_model
from linkwright.program import Rate, split
from linkwright.system import System
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
UNTIL = 5.0


@lru_cache(maxsize=1)
def car_equations() -> Equations:
    """Return the equations of motion of the car."""
    return derive(load_model("car"))


@lru_cache(maxsize=1)
def car_phases() -> Phases:
    """Return the car flattened, with a base tick of 25 ms."""
    return System(load_model("car"), base=40, formulation="auto").phases()


def sweep(runs: int) -> dict[str, Array]:
    """Return the parameters of each run."""
    values = load_model("car").values
    random = np.random.default_rng(1)
    names = ("CA1", "KROLL", "SPEED")
    return {n: values[n] * random.uniform(0.7, 1.3, runs) for n in names}


class CarPeer:
    """The car as a NumPy right-hand side for SciPy."""

    def __init__(self) -> None:
        program = car_equations().program(outputs=False)
        first, second = split(program, Rate.PARAMETER)
        self.constants = build(first, "float64").function
        self.rates = build(second, "float64").function
        self.names = [x.name for x in program.port("p").entries]
        self.values = load_model("car").values
        self.coordinates = program.port("q").size
        self.states = self.coordinates + program.port("u").size

    def run(self, changed: Mapping[str, float], rtol: float, atol: float, **more: Any) -> Array:
        """Return the state at the end of one run."""
        p = np.array([{**self.values, **changed}[n] for n in self.names])
        constants = self.constants(p)
        n, f = self.coordinates, self.rates

        def rates(t: float, x: Array) -> Array:
            del t
            return np.concatenate(f(x[:n], x[n:], constants))

        start = np.zeros(self.states)
        end: Array = solve_ivp(rates, (0, UNTIL), start, rtol=rtol, atol=atol, **more).y[:, -1]
        return end
