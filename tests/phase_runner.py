"""A plain run of phases in Python: the oracle for what happens when.

Fixed steps of Runge and Kutta's method between base ticks, every Program compiled by
itself. It shares nothing with the native driver but the phases.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright import compile as compile_kernel
from linkwright.backends.kernel import Kernel
from linkwright.program import Program
from linkwright.system import Phases

Array = NDArray[np.float64]


@dataclass
class PlainRun:
    """Runs phases with `steps` integration steps in each base tick."""

    phases: Phases
    steps: int = 1
    seed: int = 0
    rows: list[dict[str, float]] = field(default_factory=list)
    log: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        f = self.phases
        self.x = np.array([s.value for s in f.x])
        self.d = np.array([s.value for s in f.d])
        self.p = np.array([s.value for s in f.p])
        self.w = np.array([s.value for s in f.w])
        self._kernels: dict[int, Kernel] = {}
        if f.initialize is not None:
            self.x, self.d = self._pair(f.initialize, 0.0)

    def _kernel(self, program: Program) -> Kernel:
        key = id(program)
        if key not in self._kernels:
            self._kernels[key] = compile_kernel(program)
        return self._kernels[key]

    def _call(self, program: Program, x: Array, t: float, *more: Array) -> list[Array]:
        found = self._kernel(program).scalar(x, self.d, self.p, self.w, np.array([t]), *more)
        return list(found) if isinstance(found, tuple) else [found]

    def _pair(self, program: Program, t: float) -> tuple[Array, Array]:
        x, d = self._call(program, self.x, t)
        return x, d

    def rate(self, t: float, x: Array) -> Array:
        """Return the derivative of x."""
        return self._call(self.phases.derivative, x, t)[0]

    def tick(self, k: int) -> None:
        """Run what is due at base tick k."""
        t = k * self.phases.tick_seconds
        for tick in self.phases.ticks:
            if k < tick.offset or (k - tick.offset) % tick.every:
                continue
            self.log.append((k, tick.name))
            noise = np.concatenate([np.zeros(0), *(self._uniform(j, k) for j in tick.streams)])
            (values,) = self._call(tick.program, self.x, t, np.array([float(k)]), noise)
            if tick.foreign is not None:
                values = np.array(tick.foreign(t, values.tolist()))
            if len(tick.slots):
                self.d[list(tick.slots)] = values

    def _uniform(self, stream: int, k: int) -> Array:
        return np.random.default_rng([self.seed, stream, k]).uniform(size=2)

    def step(self, t: float, h: float) -> None:
        """Take one step of fourth order, then what follows an accepted step."""
        x = self.x
        a = self.rate(t, x)
        b = self.rate(t + h / 2, x + h / 2 * a)
        c = self.rate(t + h / 2, x + h / 2 * b)
        e = self.rate(t + h, x + h * c)
        self.x = x + h / 6 * (a + 2 * b + 2 * c + e)
        if self.phases.accepted is not None:
            self.x, self.d = self._pair(self.phases.accepted, t + h)

    def record(self, t: float) -> None:
        """Keep all states and channels."""
        f = self.phases
        row = {"t": t}
        row |= {s.name: float(v) for s, v in zip(f.x, self.x, strict=True)}
        row |= {s.name: float(v) for s, v in zip(f.d, self.d, strict=True)}
        if f.output is not None:
            (y,) = self._call(f.output, self.x, t)
            row |= {s.name: float(v) for s, v in zip(f.outputs, y, strict=True)}
        self.rows.append(row)

    def run(self, ticks: int) -> PlainRun:
        """Run over so many base ticks, recording at each."""
        h = self.phases.tick_seconds
        for k in range(ticks + 1):
            self.tick(k)
            self.record(k * h)
            if k < ticks:
                for i in range(self.steps):
                    self.step((k + i / self.steps) * h, h / self.steps)
        return self

    def __getitem__(self, name: str) -> Array:
        """Return a channel."""
        return np.array([row[name] for row in self.rows])
