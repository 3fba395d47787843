"""Limit cycles: predicted by harmonic balance, then found as true periodic orbits.

A System is cut at the output of its nonlinearity. With G from that output to its input through the
rest of the System, linearized, and N(A) its describing function, a sine of amplitude A goes round
unchanged where G(jw) N(A) = 1 (Gelb and Vander Velde 1968, chapter 3). This is an estimate: it
neglects harmonics. It starts the shooting that finds the orbit of the System itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import free_symbols
from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.base.results import Result
from linkwright.linear.cuts import cut
from linkwright.linear.frequency import with_numbers
from linkwright.linear.linearization import LinearModel, linearize
from linkwright.linear.nonlinearities import law_of
from linkwright.linear.orbits import PeriodicOrbit, shoot
from linkwright.linear.responses import Array, Complex, grid, transfer
from linkwright.mechanism import ModelLike
from linkwright.program.program import walk
from linkwright.recording import Recording
from linkwright.simulation import simulate
from linkwright.system import System

Gain = Callable[[Array], Complex]
"""A describing function: from amplitudes to gains."""

_SAMPLES = 2000  # of an orbit
_CONVERGED = 1e-6  # of the size of an orbit


@dataclass(frozen=True, slots=True)
class HarmonicBalance(Result):
    """A limit cycle as harmonic balance predicts it.

    Args:
        frequency: rad/s.
        amplitude: of the nonlinearity's input.
        gain: of the nonlinearity for a sine of that amplitude.

    >>> HarmonicBalance(19.61, 0.01, 195.5 + 0j).frequency
    19.61
    """

    frequency: float
    amplitude: float
    gain: complex
    _units = (("frequency", "rad/s"),)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LimitCycle(Result):
    """A periodic orbit of a System.

    Args:
        frequency: rad/s.
        amplitude: half of what the nonlinearity's input covers.
        multipliers: Floquet multipliers, largest first; the one along the orbit, 1, is left out.
        balance: what harmonic balance predicted.
        start: a state on the orbit, by name.
        recording: one period.

    >>> from linkwright import Recording
    >>> predicted, period = HarmonicBalance(19.61, 0.01, 195.5 + 0j), Recording([0.0], [], [[]])
    >>> LimitCycle(17.65, 0.009174, np.array([0.4 + 0j]), predicted, {}, period)
    LimitCycle(17.65 rad/s, amplitude 0.009174, stable)
    """

    frequency: float
    amplitude: float
    multipliers: Complex
    balance: HarmonicBalance
    start: dict[str, float]
    recording: Recording

    @property
    def period(self) -> float:
        """Time of one turn, s."""
        return 2 * math.pi / self.frequency

    @property
    def stable(self) -> bool:
        """Whether neighboring motions come nearer: all multipliers inside the unit circle."""
        return bool(np.all(np.abs(self.multipliers) < 1))

    def as_dict(self) -> dict[str, float | bool]:
        """Return it as plain data; amplitudes in the unit of the nonlinearity's input."""
        return {
            "frequency_rad_s": self.frequency,
            "amplitude": self.amplitude,
            "stable": self.stable,
            "multiplier": float(abs(self.multipliers).max(initial=0.0)),
            "predicted_frequency_rad_s": self.balance.frequency,
            "predicted_amplitude": self.balance.amplitude,
        }

    def __repr__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        return f"LimitCycle({self.frequency:.5g} rad/s, amplitude {self.amplitude:.5g}, {kind})"


@worded
def harmonic_balance(
    model: ModelLike,
    output: str,
    input: str,  # noqa: A002 - the word of the field
    gain: Gain | None = None,
    *,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    amplitudes: ArrayLike | None = None,
) -> list[HarmonicBalance]:
    """Return the limit cycles that harmonic balance predicts, by amplitude.

    Args:
        model: a continuous System.
        output: the port that the nonlinearity drives.
        input: what it is a function of: a port, a state or a formula.
        gain: its describing function, from amplitudes to gains; by default that of what the System
            itself computes there, by integration over a sine.
        at: coordinates (m, rad), speeds and other states of the operating point by name.
        parameters: of parameters and inputs by name.
        amplitudes: in which cycles are looked for; by default all that matter.

    >>> from linkwright import Block, System
    >>> plant = Block("plant")
    >>> u = plant.input("u")
    >>> a = plant.state("a", "u - 3*a")
    >>> v = plant.state("v", "a - v")
    >>> y = plant.output("y", plant.state("x", v))
    >>> relay = Block("relay")
    >>> e = relay.input("e")
    >>> u = relay.output("u", "max(min(100*e, 2), -2)")
    >>> s = System(name="s")
    >>> p, r = s.add(plant), s.add(relay)
    >>> s.connect(r.u, p.u)
    >>> s.connect(-p.y, r.e)
    >>> [balance] = harmonic_balance(s, "relay.u", "relay.e")
    >>> round(balance.frequency, 4), round(balance.gain.real, 4)
    (1.7321, 12.0)
    """
    return _Parts.of(
        with_numbers(model, at, parameters), output, input, gain, amplitudes
    ).balances()


@worded
def limit_cycles(
    model: ModelLike,
    output: str,
    input: str,  # noqa: A002 - the word of the field
    gain: Gain | None = None,
    *,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    amplitudes: ArrayLike | None = None,
) -> list[LimitCycle]:
    """Return the limit cycles of a continuous System with one nonlinearity, by amplitude.

    Harmonic balance predicts them; shooting with the System itself finds the orbits.

    Args:
        model: a continuous System.
        output: the port that the nonlinearity drives.
        input: what it is a function of: a port, a state or a formula.
        gain: its describing function, from amplitudes to gains; by default that of what the System
            itself computes there.
        at: coordinates (m, rad), speeds and other states of the operating point by name.
        parameters: of parameters and inputs by name.
        amplitudes: in which cycles are looked for; by default all that matter.

    >>> from linkwright import Block, System
    >>> plant = Block("plant")
    >>> u = plant.input("u")
    >>> a = plant.state("a", "u - 3*a")
    >>> v = plant.state("v", "a - v")
    >>> y = plant.output("y", plant.state("x", v))
    >>> relay = Block("relay")
    >>> e = relay.input("e")
    >>> u = relay.output("u", "max(min(100*e, 2), -2)")
    >>> s = System(name="s")
    >>> p, r = s.add(plant), s.add(relay)
    >>> s.connect(r.u, p.u)
    >>> s.connect(-p.y, r.e)
    >>> limit_cycles(s, "relay.u", "relay.e")
    [LimitCycle(1.6879 rad/s, amplitude 0.22027, stable)]
    """
    parts = _Parts.of(with_numbers(model, at, parameters), output, input, gain, amplitudes)
    balances = parts.balances()
    if not balances:
        raise Error(
            f"harmonic balance finds no limit cycle of {parts.system.name!r} through {output!r}",
            remedy="the loop may be stable at every amplitude, or grow without end",
            code="R611",
        )
    found: list[LimitCycle] = []
    for balance in balances:
        cycle = parts.cycle(balance)
        if cycle is not None and not any(_same(cycle, other) for other in found):
            found.append(cycle)
    if not found:
        told = ", ".join(f"{b.frequency:.4g} rad/s" for b in balances)
        raise Error(
            f"shooting finds no orbit of {parts.system.name!r} near the predicted {told}",
            remedy="harmonics are large here: simulate it, and look where it goes",
            code="R611",
        )
    return sorted(found, key=lambda c: c.amplitude)


def _same(a: LimitCycle, b: LimitCycle) -> bool:
    return math.isclose(a.frequency, b.frequency, rel_tol=1e-5) and math.isclose(
        a.amplitude, b.amplitude, rel_tol=1e-4
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """A System with a nonlinearity, and both parts of the loop."""

    system: System
    output: str
    input: str
    linear: LinearModel
    gain: Gain
    amplitudes: Array

    @staticmethod
    def of(
        system: System, output: str, signal: str, gain: Gain | None, amplitudes: ArrayLike | None
    ) -> _Parts:
        if system.clock().schedules:
            raise Error(
                f"{system.name!r} has sampled members, and their ticks do not repeat with a cycle",
                remedy="use continuous controllers, or simulate it",
                code="R613",
            )
        if _reads_time(system):
            raise Error(
                f"{system.name!r} is driven by time, so it has no orbit of its own",
                remedy="connect constants in the place of signals that depend on t",
                code="R613",
            )
        found = cut(system, output, [signal])
        linear = linearize(found.system)
        if gain is None:
            law = law_of(found, signal, linear)
            gain, usual = law.gain, law.amplitudes()
        else:
            usual = np.geomspace(1e-8, 1e4, 1201)
        sizes = usual if amplitudes is None else np.unique(np.asarray(amplitudes, dtype=float))
        row = list(linear.outputs).index(signal)
        linear = _at_rest(linear, row)
        seen = replace(linear, c=linear.c[[row]], d=linear.d[[row]], outputs=(linear.outputs[row],))
        return _Parts(system, output, signal, seen, gain, sizes)

    def balances(self) -> list[HarmonicBalance]:
        """Return all solutions of 1/G(jw) = N(A) on a grid, refined."""
        from scipy.optimize import root

        w, a = grid(self.linear), self.amplitudes
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = 1 / transfer(self.linear, w)[:, 0, 0]
        gains = np.asarray(self.gain(a), dtype=complex)
        gap = wanted[:, None] - gains[None, :]
        cells = np.logical_and(_changes(gap.real), _changes(gap.imag))

        def error(z: Array) -> Array:
            x, size = np.exp(z)
            g = transfer(self.linear, np.array([x]))[0, 0, 0]
            value = 1 - g * np.asarray(self.gain(np.array([size])), dtype=complex)[0]
            return np.array([value.real, value.imag])

        found: list[HarmonicBalance] = []
        for i, k in zip(*np.nonzero(cells), strict=True):
            middle = np.log([math.sqrt(w[i] * w[i + 1]), math.sqrt(a[k] * a[k + 1])])
            solved = root(error, middle, tol=1e-12)
            x, size = (float(v) for v in np.exp(solved.x))
            inside = w[0] <= x <= w[-1] and a[0] <= size <= a[-1]
            if np.abs(error(solved.x)).max() < 1e-8 and inside:
                near = HarmonicBalance(x, size, complex(np.asarray(self.gain(np.array([size])))[0]))
                if not any(_close(near, other) for other in found):
                    found.append(near)
        return sorted(found, key=lambda b: b.amplitude)

    def cycle(self, balance: HarmonicBalance) -> LimitCycle | None:
        """Return the orbit near a prediction, or None where shooting finds none."""
        linear = self.linear
        whole = replace(
            linear, c=np.eye(len(linear.a)), d=np.zeros(linear.b.shape), outputs=linear.states
        )
        g = transfer(linear, np.array([balance.frequency]))[0, 0, 0]
        drive = balance.amplitude / g  # so that the input is a sine
        moved = transfer(whole, np.array([balance.frequency]))[0, :, 0] * drive
        start = {
            n: linear.point[n] + float(m.imag) for n, m in zip(linear.states, moved, strict=True)
        }
        sizes = {n: float(abs(m)) for n, m in zip(linear.states, moved, strict=True)}
        orbit = shoot(self.system, start, 2 * math.pi / balance.frequency, sizes)
        if not orbit.residual < _CONVERGED:
            return None
        return self._described(orbit, balance)

    def _described(self, orbit: PeriodicOrbit, balance: HarmonicBalance) -> LimitCycle | None:
        system = self.system.copy()
        system.set_initial(orbit.start)
        if "watched" not in system.exposed_outputs:
            system.expose("watched", self.input)
        run = simulate(system, orbit.period, step=orbit.period / _SAMPLES, every=1)
        values = run["watched"]
        amplitude = (_peak(values) + _peak(-values)) / 2
        if not amplitude > 1e-3 * balance.amplitude:
            return None  # it fell to rest
        return LimitCycle(
            orbit.frequency, amplitude, orbit.multipliers, balance, orbit.start, run.recording
        )


def _at_rest(linear: LinearModel, row: int) -> LinearModel:
    """Return a linear model about the point where all rests and the nonlinearity's input is 0.

    A model that does not move where it starts stays there; so does one that rests nowhere.
    """
    size = float(np.abs(linear.drift).max(initial=0.0))
    if not size > 1e-12:
        return linear
    left = np.block([[linear.a, linear.b], [linear.c[[row]], linear.d[[row]]]])
    right = -np.append(linear.drift, linear.level[row])
    move = np.linalg.lstsq(left, right, rcond=1e-13)[0]
    if not np.abs(left @ move - right).max() < 1e-6 * np.abs(right).max():
        return linear
    moved = {n: linear.point[n] + float(m) for n, m in zip(linear.states, move, strict=False)}
    return replace(linear, point={**linear.point, **moved})


def _reads_time(system: System) -> bool:
    phases = system.phases(())
    program = phases.derivative
    inner = [x for statement in walk(program.statements) for x in statement.operands]
    return phases.time in free_symbols(*program.output_values(), *inner)


def _changes(values: Array) -> NDArray[np.bool_]:
    """Return the cells of a grid on whose corners values have both signs."""
    corners = np.stack([values[:-1, :-1], values[1:, :-1], values[:-1, 1:], values[1:, 1:]])
    both: NDArray[np.bool_] = np.logical_and(corners.min(axis=0) <= 0, corners.max(axis=0) >= 0)
    return both


def _close(a: HarmonicBalance, b: HarmonicBalance) -> bool:
    return math.isclose(a.frequency, b.frequency, rel_tol=1e-6) and math.isclose(
        a.amplitude, b.amplitude, rel_tol=1e-6
    )


def _peak(values: Array) -> float:
    """Return the top of samples of a period, by the parabola through the highest three."""
    k = int(np.argmax(values[:-1]))
    left, top, right = (float(values[i % (len(values) - 1)]) for i in (k - 1, k, k + 1))
    bend = left - 2 * top + right
    return top if bend == 0 else top - (right - left) ** 2 / (8 * bend)
