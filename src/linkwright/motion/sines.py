"""Motions that are sums of sines, and the restartable motion of minimum jerk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra import Expr, Scalar, as_expr, maximum, sin, total, where
from linkwright.blocks import Block
from linkwright.motion.trajectory import Array, MotionError

Sine = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Sines:
    """For each value an offset and a sum of sines (SL's sine task).

    Args:
        offsets: one for each value.
        sines: for each value its sines, each with amplitude, phase (rad) and frequency (Hz).

    >>> wave = Sines([0.3], [[(0.1, 0, 1)]])
    >>> round(float(wave.max_abs(1)[0]), 5), round(float(wave.max_abs(2)[0]), 5)
    (0.62832, 3.94784)
    """

    offsets: tuple[float, ...]
    sines: tuple[tuple[Sine, ...], ...]

    def __init__(self, offsets: Sequence[float], sines: Sequence[Sequence[Sine]]) -> None:
        if len(offsets) != len(sines):
            raise MotionError(f"{len(offsets)} offsets for {len(sines)} lists of sines")
        object.__setattr__(self, "offsets", tuple(map(float, offsets)))
        object.__setattr__(
            self,
            "sines",
            tuple(tuple((float(a), float(p), float(f)) for a, p, f in s) for s in sines),
        )

    @property
    def size(self) -> int:
        """How many values it has."""
        return len(self.offsets)

    def __call__(self, t: ArrayLike, order: int = 0) -> Array:
        """Return values (or derivatives) at times; the last axis goes over the values."""
        times = np.asarray(t, dtype=float)
        columns = []
        for offset, sines in zip(self.offsets, self.sines, strict=True):
            found = np.full(times.shape, offset if order == 0 else 0.0)
            for amplitude, phase, frequency in sines:
                w = 2 * math.pi * frequency
                shift = phase + order * math.pi / 2
                found = found + amplitude * w**order * np.sin(w * times + shift)
            columns.append(found)
        return np.stack(columns, axis=-1)

    def max_abs(self, order: int = 1) -> Array:
        """Return a bound of each speed (or other derivative), reached where there is one sine."""
        return np.array(
            [sum(abs(a) * (2 * math.pi * f) ** order for a, _, f in sines) for sines in self.sines]
        )

    def expressions(self, t: Scalar, order: int = 0) -> tuple[Expr, ...]:
        """Return the values (or derivatives) as expressions of a time."""
        time = as_expr(t)
        found = []
        for offset, sines in zip(self.offsets, self.sines, strict=True):
            terms = [as_expr(offset if order == 0 else 0.0)]
            for amplitude, phase, frequency in sines:
                w = 2 * math.pi * frequency
                terms.append(amplitude * w**order * sin(w * time + (phase + order * math.pi / 2)))
            found.append(total(terms))
        return tuple(found)

    def block(self, name: str = "sines", *, unit: str = "rad") -> Block:
        """Return a block with the outputs `q`, `q_dot` and `q_ddot`, as functions of time.

        Args:
            name: of the block.
            unit: of the values.

        >>> sorted(Sines([0.3], [[(0.1, 0, 1)]]).block().outputs)
        ['q', 'q_ddot', 'q_dot']
        """
        made = Block(name, doc="sums of sines")
        parts = {"offsets": self.offsets, "sines": self.sines}
        made.made_with = ("Sines", {**parts, "name": name, "unit": unit})
        rates = (unit, f"{unit}/s", f"{unit}/s^2")
        for order, (port, per) in enumerate(zip(("q", "q_dot", "q_ddot"), rates, strict=True)):
            made.output_vector(port, self.expressions(made.time, order), unit=per)
        return made


def minimum_jerk(
    start: ArrayLike, *, name: str = "minimum_jerk", rate: float = 500.0, unit: str = "rad"
) -> Block:
    """Return a block that moves to a target with least jerk, and can be redirected at any time.

    At each instant the quintic from where it is (place, speed, acceleration) to rest at the target
    at the time of arrival is taken up anew, so that a changed target or arrival bends the motion
    without a jump of acceleration (SL's technical report, section 3.7).

    Its inputs are `target` and `arrival` (the time at which to be there, s); its outputs `q`,
    `q_dot` and `q_ddot`.

    Args:
        start: the values at the beginning, at rest.
        name: of the block.
        rate: instants in a second.
        unit: of the values.

    >>> sorted(minimum_jerk([0.0, 1.0]).inputs)
    ['arrival', 'target']
    """
    places = np.atleast_1d(np.asarray(start, dtype=float))
    b = Block(name, rate=rate, doc="minimum jerk to a target, taken up anew at each instant")
    given = {"start": places, "name": name, "rate": rate, "unit": unit}
    b.made_with = ("minimum_jerk", given)
    targets = b.input_vector("target", len(places), tuple(map(float, places)), unit=unit)
    arrival = b.input("arrival", 0.0, unit="s")
    h = b.period
    left = maximum(arrival - b.time, h)
    found: list[tuple[Expr, Expr, Expr]] = []
    for k, (place, target) in enumerate(zip(places, targets, strict=True)):
        x = b.discrete_state(f"x{k}", initial=float(place), unit=unit)
        v = b.discrete_state(f"v{k}", initial=0.0, unit=f"{unit}/s")
        a = b.discrete_state(f"a{k}", initial=0.0, unit=f"{unit}/s^2")
        way = target - x
        c3 = (20 * way - 12 * v * left - 3 * a * left**2) / (2 * left**3)
        c4 = (-30 * way + 16 * v * left + 3 * a * left**2) / (2 * left**4)
        c5 = (12 * way - 6 * v * left - a * left**2) / (2 * left**5)
        going = left > h * 1.5
        b.update(x, where(going, x + h * (v + h * (a / 2 + h * (c3 + h * (c4 + h * c5)))), target))
        b.update(v, where(going, v + h * (a + h * (3 * c3 + h * (4 * c4 + 5 * h * c5))), 0.0))
        b.update(a, where(going, a + h * (6 * c3 + h * (12 * c4 + 20 * h * c5)), 0.0))
        found.append((x, v, a))
    for order, port in enumerate(("q", "q_dot", "q_ddot")):
        per = ("", "/s", "/s^2")[order]
        b.output_vector(port, [row[order] for row in found], unit=unit + per)
    return b
