"""A run of phases tick by tick on the Python executor: the oracle for what happens when.

Fixed steps of Runge and Kutta's method between base ticks, every Program compiled by itself. The
loop shares nothing with the native driver but the phases.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright import compile as compile_kernel
from linkwright.program import Program
from linkwright.simulation.loop import FOREIGN
from linkwright.simulation.native.machine import Settings
from linkwright.simulation.native.methods import METHODS
from linkwright.simulation.plain.machine import PlainMachine
from linkwright.system import Phases

Array = NDArray[np.float64]


def called(phases: Phases, program: Program, x: Array, p: Array, t: float = 0.0) -> Any:
    """Return what a Program gives for some states and parameters, and all else as it starts."""
    d, w = (np.array([s.value for s in signals]) for signals in (phases.d, phases.w))
    return compile_kernel(program).scalar(x, d, p, w, np.array([t]))


class PlainRun:
    """Runs phases with `steps` integration steps in each base tick."""

    def __init__(self, phases: Phases, steps: int = 1, seed: int = 0) -> None:
        step = phases.tick_seconds / steps
        self.settings = Settings(METHODS["rk4"], 0, step, every=0, seed=seed)
        self.phases = phases
        self.p = np.array([s.value for s in phases.p])
        self.rows: list[dict[str, float]] = []
        self.log: list[tuple[int, str]] = []

    @cached_property
    def machine(self) -> PlainMachine:
        """What runs it."""
        made = PlainMachine(self.phases, self.settings, backend="llvm")
        made.initialize()
        made.put("p", self.p)
        made.prepare()
        return made

    def rate(self, t: float, x: Array) -> Array:
        """Return the derivative of x, at the start of all else."""
        found: Array = called(self.phases, self.phases.derivative, x, self.p, t)
        return found

    def record(self, t: float) -> None:
        """Keep all states and channels."""
        f, driver = self.phases, self.machine.driver
        row = {"t": t}
        row |= {s.name: v for s, v in zip(f.x, driver.x, strict=True)}
        row |= {s.name: v for s, v in zip(f.d, driver.d, strict=True)}
        if f.output is not None:
            (y,) = driver.call("output", driver.x, driver.d, driver.w, t)
            row |= {s.name: v for s, v in zip(f.outputs, y, strict=True)}
        self.rows.append(row)

    def run(self, ticks: int) -> PlainRun:
        """Run over so many base ticks, recording at each."""
        machine = self.machine
        for k in range(ticks + 1):
            due = list(machine.driver.due)
            machine.extend(k)
            machine.run(0, 1)
            while int(machine.field("status")[0]) == FOREIGN:
                machine.foreign(0)
                machine.run(0, 1)
            names = (tick.name for tick in self.phases.ticks)
            pairs = zip(names, due, machine.driver.due, strict=True)
            self.log += [(k, name) for name, before, after in pairs if before != after]
            self.record(k * self.phases.tick_seconds)
        return self

    def __getitem__(self, name: str) -> Array:
        """Return a channel."""
        return np.array([row[name] for row in self.rows])
