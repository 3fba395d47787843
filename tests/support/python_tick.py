"""The tick of a whole-body controller in plain Python: the routine as it stands, on its own memory.

Native code is the same text, lowered; terms of the robot come from the Program by another door.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import daqp
import numpy as np

from linkwright.wholebody import native_tick, tick
from linkwright.wholebody.tick_program import OUTPUTS, terms_of


class PythonTick:
    """Fields by name, as the routine reads them; arrays are copies of those of a controller."""

    n: int
    coordinates: int
    limits: int
    levels: int
    out: int

    def __init__(self, body: Any, q: Any, u: Any, t: float = 0.0) -> None:
        made = body._own()
        made.solve(np.asarray(q, float), np.asarray(u, float), t)  # which takes targets of the time
        memory = made.memory
        for name in (*native_tick.COUNTS, *native_tick.CHANGING):
            setattr(self, name, int(memory.fields[native_tick.CONTEXT[name]]))
        for name in (*native_tick.REALS, *native_tick.CELLS):
            bits = int(memory.fields[native_tick.CONTEXT[name]])
            setattr(self, name, struct.unpack("d", struct.pack("q", bits))[0])
        for name, array in memory.arrays.items():
            setattr(self, name, array.copy())
        self.o = made.o.copy()
        plan = tuple((x.kind, "" if x.kind == "force" else x.of) for x in made.tasks)
        self._quantity = terms_of(body.robot, body.contacts, plan)
        self.solve_with: Callable[..., Any] = daqp.solve
        self.programs: list[tuple[Any, ...]] = []

    def terms(self, _run: object) -> None:
        run: Any = self
        given = [run.target, run.gain]
        sizes = [shape[0] for _, shape in self._quantity.inputs[2:4]]
        n, q = self.n, self.coordinates
        found = self._quantity(
            run.q[:q].copy(), run.u[:n].copy(),
            *(x[:k].copy() for x, k in zip(given, sizes, strict=True)),
        )  # fmt: skip
        for name, values in zip(OUTPUTS, found, strict=True):
            getattr(run, name)[: values.size] = values.ravel()

    def solver(self, _run: object, size: int, sense: int) -> int:
        run: Any = self
        m = self.limits
        program = (
            run.H[: size * size].reshape(size, size).copy(), run.f[:size].copy(),
            run.R[: m * size].reshape(m, size).copy(), run.above[:m].copy(), run.below[:m].copy(),
            np.full(m, sense, np.int32),
        )  # fmt: skip
        x, _, flag, _ = self.solve_with(*program)
        self.programs.append((*program, x, flag))
        if flag > 0:
            run.w[:size] = x
        return int(flag)

    def run(self) -> Any:
        """Go through a tick; return efforts, how many limits gave way, and forces."""
        tick.tick(self)
        return self.o[self.out :].copy()
