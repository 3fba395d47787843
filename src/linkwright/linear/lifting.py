"""The period of a sampled System as one matrix: ticks, and the motion between them.

Between ticks the continuous part moves by its matrix exponential while discrete states hold; at a
tick the Jacobian of the tick acts. Where a signal is new several times in a period, the inputs and
outputs of all these times stand side by side (lifting; Khargonekar, Poolla and Tannenbaum, IEEE
Transactions on Automatic Control 30, 1985).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import evaluate, free_symbols
from linkwright.system import Phases, System

Array = NDArray[np.float64]


def over_a_period(
    phases: Phases,
    flow: Array,
    y: Array,
    ticks: Sequence[Sequence[Array]],
    d: Array,
    parts: int = 1,
    start: int = 0,
) -> tuple[Array, Array, float]:
    """Return the matrices of states and outputs over (x, d, w of each part, 1), and the period."""
    count = math.lcm(parts, *every_ticks(phases, ticks))
    length, size = count // parts, flow.shape[1]
    held = len(flow)
    states = held + len(d)
    due = {j * length: list[Array]() for j in range(parts)}
    for tick, instants in zip(phases.ticks, ticks, strict=True):
        jumps, slots = [], np.array(tick.slots)
        for slopes in instants:
            jump = np.eye(size)
            jump[held + slots] = slopes
            jump[held + slots, -1] -= d[slots]
            jumps.append(jump)
        for k in range((tick.offset - start) % tick.every, count, tick.every):
            done = (start + k - tick.offset) // tick.every
            due.setdefault(k, []).append(jumps[done % len(jumps)])
    moves = _Moves(np.vstack([flow, np.zeros((size - held, size))]), phases.tick_seconds)
    inputs = size - 1 - states
    whole = np.eye(states, states + parts * inputs + 1)  # (x, d) over its start, all w and 1
    seen = []
    for part in range(parts):
        inside = [k for k in sorted(due) if part * length <= k < (part + 1) * length]
        now = np.eye(size)  # from the start of the part
        for k, following in zip(inside, [*inside[1:], (part + 1) * length], strict=True):
            for jump in due[k]:
                now = jump @ now
            if k == part * length:
                seen.append(_carried(y @ now, whole, part, states, inputs))
            now = moves.over(following - k) @ now
        whole = _carried(now[:states], whole, part, states, inputs)
    return whole, np.vstack(seen), count * phases.tick_seconds


def every_ticks(phases: Phases, cycles: Sequence[Sequence[object]]) -> list[int]:
    """Return after how many base ticks each tick of a System repeats."""
    return [t.every * len(c) for t, c in zip(phases.ticks, cycles, strict=True)]


def counters(system: System) -> dict[str, list[float]]:
    """Return the discrete states that go their way by themselves, with the values they repeat.

    The i-th value is that before the instant i of the member, once they repeat: a loop that runs at
    every tenth instant of its block has 0, 1, ..., 9.
    """
    found: dict[str, list[float]] = {}
    for member in system.members.values():
        for x, state in member.block.discrete_states.items():
            following, begun = state.following, state.initial
            alone = following is not None and following is not x and begun.op == "num"
            if following is None or not alone or not set(free_symbols(following)) <= {x}:
                continue
            values = [float(begun.data)]
            while len(values) <= _LONGEST:
                new = float(evaluate(following, {x: values[-1]}))
                if new in values:
                    first = values.index(new)
                    cycle = values[first:]
                    turn = -first % len(cycle)
                    if len(cycle) > 1:  # what stays is taken as it starts, with all else
                        found[member.symbols[x].name] = cycle[turn:] + cycle[:turn]
                    break
                values.append(new)
    return found


_LONGEST = 1000
"""Instants after which a counter repeats, at most; what takes longer is linearized as it starts."""


def _carried(rows: Array, whole: Array, part: int, states: int, inputs: int) -> Array:
    """Return rows over (x, d, w, 1) of a part as rows over the start of the period."""
    made: Array = rows[:, :states] @ whole
    made[:, states + part * inputs : states + (part + 1) * inputs] += rows[:, states:-1]
    made[:, -1] += rows[:, -1]
    return made


class _Moves:
    """The motion over some base ticks, each made once."""

    def __init__(self, rate: Array, seconds: float) -> None:
        self.rate = rate
        self.seconds = seconds
        self.made: dict[int, Array] = {}

    def over(self, ticks: int) -> Array:
        from scipy.linalg import expm

        if ticks not in self.made:
            self.made[ticks] = expm(ticks * self.seconds * self.rate)
        return self.made[ticks]
