"""Movement primitives (Ijspeert, Nakanishi, Hoffmann, Pastor & Schaal 2013), as blocks.

A discrete one is a critically damped spring to a goal g, with a forcing term that fades with a
phase x:

    T z' = a (b (g - y) - z) + s f(x) + c,   T y' = z,   T x' = -k x,   b = a/4,
    f(x) = x sum(w_i psi_i(x)) / sum(psi_i(x)),   psi_i = exp(-h_i (x - c_i)^2)

with s = (g - y0)/(g' - y0') where g' and y0' are those of the demonstration (1 where these are
equal), so that the motion grows with its distance. A rhythmic one has a phase p with T p' = 1 and
f(p) = r sum(w_i psi_i) / sum(psi_i), psi_i = exp(h (cos(p - c_i) - 1)), with an amplitude r.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ONE, Expr, constant, cos, exp, total
from linkwright.base.errors import InputError
from linkwright.blocks import Block, Rate

Array = NDArray[np.float64]
DECAY = math.log(100)
"""How fast the phase of a discrete motion decays: to a hundredth at its end."""


class Primitive(Block):
    """A movement primitive fitted to a demonstration: position `y`, speed `yd`, acceleration `ydd`.

    Inputs are `goal` and `coupling`, a number for each coordinate (coupling is added to the spring,
    times the square of the duration, in m or rad), `duration` in s (of a discrete motion, or the
    period of a rhythmic one), and `amplitude` of a rhythmic one, 1 for that of the demonstration.
    Weights are parameters `w0_0`, `w0_1`, ... by coordinate and basis, and `y0_0`, ... the start of
    a discrete motion.

    Args:
        positions: the demonstration, a row for each time, m or rad; if rhythmic, whole periods.
        times: of the rows, s, growing.
        rhythmic: whether it goes on without end, around its mean.
        period: of a rhythmic one, s; by default the demonstration is one period.
        bases: how many weights each coordinate has.
        damping: a of the spring.
        name: of the block.
        rate: hertz or a `Rate`; by default it is continuous.

    >>> from linkwright import System, simulate
    >>> t = np.linspace(0, 1, 201)
    >>> reach = Primitive(t**3 * (10 - 15 * t + 6 * t**2), t)
    >>> s = System(name="s")
    >>> member = s.add(reach)
    >>> s.connect("2.0", member.goal[0])
    >>> abs(simulate(s, 1.5).final["primitive.y[0]"] - 2) < 0.01
    True
    """

    def __init__(
        self,
        positions: ArrayLike,
        times: ArrayLike,
        *,
        rhythmic: bool = False,
        period: float | None = None,
        bases: int = 25,
        damping: float = 25.0,
        name: str = "primitive",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="a movement primitive")
        rows, t = _demonstration(positions, times, name)
        if bases < 2:
            raise InputError(f"{name!r} has {bases!r} bases", remedy="give 2 or more")
        if not damping > 0:
            raise InputError(f"{name!r} has a damping of {damping!r}", remedy="give one above 0")
        if period is not None and not (rhythmic and 0 < period <= t[-1] * (1 + 1e-9)):
            raise InputError(
                f"{name!r} has the period {period!r}",
                remedy="give one of a rhythmic motion that is in the demonstration",
            )
        n = rows.shape[1]
        length = float(t[-1]) if period is None else float(period)
        centers, widths = bases_of(bases, rhythmic)
        self.weights = fitted(rows, t, length, centers, widths, rhythmic, damping)
        duration = self.input("duration", length, unit="s", doc="or the period of a rhythmic one")
        ends = rows.mean(axis=0) if rhythmic else rows[-1]
        goal = self.input_vector("goal", n, ends.tolist(), doc="where it ends, or its middle")
        coupling = self.input_vector("coupling", n, doc="what is added to the spring")
        T = self.intermediate(duration / (2 * math.pi)) if rhythmic else duration
        phase = self.state("phase", initial=0.0 if rhythmic else 1.0)
        self.derivative(phase, ONE / T if rhythmic else -DECAY * phase / T)
        psi = [self.intermediate(v) for v in _hats(phase, centers, widths, rhythmic)]
        share = self.intermediate(
            self.input("amplitude", 1.0, doc="1 for that of the demonstration") / total(psi)
            if rhythmic else phase / total(psi)
        )  # fmt: skip
        out: list[tuple[Expr, Expr, Expr]] = []
        for i in range(n):
            start = self.parameter(f"y0_{i}", float(rows[0, i]), doc="where it begins")
            w = [self.parameter(f"w{i}_{k}", float(v)) for k, v in enumerate(self.weights[i])]
            y = self.state(f"y_{i}", initial=start)
            first = 0.0 if not rhythmic else float(np.gradient(rows[:, i], t, edge_order=2)[0])
            z = self.state(f"z_{i}", initial=first * (length / 2 / math.pi if rhythmic else 1.0))
            force = share * total([a * b for a, b in zip(w, psi, strict=True)])
            span = float(rows[-1, i] - rows[0, i])
            if not rhythmic and abs(span) > 1e-6 * float(np.ptp(rows[:, i])):
                force = force * (goal[i] - start) / constant(span)
            spring = damping * (damping / 4 * (goal[i] - y) - z)
            pull = self.intermediate((spring + force + coupling[i]) / T)
            self.derivative(y, z / T)
            self.derivative(z, pull)
            out.append((y, z / T, pull / T))
        for key, values in zip(("y", "yd", "ydd"), zip(*out, strict=True), strict=True):
            self.output_vector(key, list(values))
        self.output("phase_out", phase, doc="from 1 to 0, or an angle")


def bases_of(count: int, rhythmic: bool) -> tuple[Array, Array]:
    """Return centers of the bases in the phase, and their widths h."""
    if rhythmic:
        return np.linspace(0, 2 * np.pi, count, endpoint=False), np.full(count, 2.5 * count)
    centers = np.exp(-DECAY * np.linspace(0, 1, count))
    gaps = np.diff(centers)
    return centers, 1.0 / np.append(gaps, gaps[-1]) ** 2


def fitted(
    rows: Array,
    t: Array,
    length: float,
    centers: Array,
    widths: Array,
    rhythmic: bool,
    damping: float,
) -> Array:
    """Return the weights of each coordinate, by locally weighted regression (their eq. 2.14)."""
    T = length / (2 * np.pi) if rhythmic else length
    speed = np.gradient(rows, t, axis=0, edge_order=2)
    bend = np.gradient(speed, t, axis=0, edge_order=2)
    goal = rows.mean(axis=0) if rhythmic else rows[-1]
    wanted = T**2 * bend - damping * (damping / 4 * (goal - rows) - T * speed)
    if rhythmic:
        x, s = t / T, np.ones(len(t))
        psi = np.exp(widths * (np.cos(x[:, None] - centers) - 1))
    else:
        x = s = np.exp(-DECAY * t / T)
        psi = np.exp(-widths * (x[:, None] - centers) ** 2)
    weight = np.gradient(t)[:, None] * psi  # rows that stand close count less
    found = (weight * s[:, None]).T @ wanted / (weight * s[:, None] ** 2).sum(axis=0)[:, None]
    return np.asarray(found.T)


def _hats(phase: Expr, centers: Array, widths: Array, rhythmic: bool) -> list[Expr]:
    pairs = zip(centers.tolist(), widths.tolist(), strict=True)
    if rhythmic:
        return [exp(h * (cos(phase - c) - 1)) for c, h in pairs]
    return [exp(-h * (phase - c) ** 2) for c, h in pairs]


def _demonstration(positions: ArrayLike, times: ArrayLike, name: str) -> tuple[Array, Array]:
    """Return rows and their times from zero."""
    rows, t = np.asarray(positions, dtype=float), np.asarray(times, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or t.shape != rows.shape[:1] or len(t) < 5:
        raise InputError(
            f"the demonstration of {name!r} has positions of {rows.shape} at times of {t.shape}",
            remedy="give a row of positions for each of 5 times or more",
        )
    if not (np.isfinite(rows).all() and np.isfinite(t).all()) or (np.diff(t) <= 0).any():
        raise InputError(
            f"the demonstration of {name!r} has a number that is not finite, or a time that is "
            "not after the one before it"
        )
    return rows, t - t[0]
