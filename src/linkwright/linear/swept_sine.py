"""Swept sines: the frequency response of the nonlinear System, measured in runs.

Each frequency is a run of its own, and the runs go together through the lanes of a batch. A sine is
added at an input. After the transient has died out, the output is correlated with the sine over a
whole number of periods, with Hann's window: its spectrum has zeros at zero and at all harmonics, so
a mean and harmonics do not count (Harris, Proceedings of the IEEE 66, 1978). The correlation is
integrated with the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra import Expr, cos, sin, where
from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.blocks import Block, Sampled, exact
from linkwright.linear.cuts import with_input
from linkwright.linear.frequency import unstable_poles, with_numbers
from linkwright.linear.linearization import LinearModel, linearize
from linkwright.linear.responses import (
    Array,
    Complex,
    FrequencyResponse,
    checked_frequencies,
    transfer,
)
from linkwright.mechanism import ModelLike
from linkwright.simulation import simulate_batch
from linkwright.system import System

_SPAN = 4.0  # largest ratio of frequencies in a batch, since all runs of it end together
_CONSTANTS = 14.0  # time constants after which a transient is gone: exp(-14) = 8e-7


@worded
def swept_sine(
    model: ModelLike,
    input: str,  # noqa: A002 - the word of the field
    output: str,
    frequencies: ArrayLike,
    *,
    amplitude: float,
    settle: float | None = None,
    periods: int = 6,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    tolerance: float = 1e-9,
) -> FrequencyResponse:
    """Return the response of a System as sines of some size measure it, nonlinear as it is.

    It is what `frequency_response` computes for a sine so small that nothing but slopes matter.

    Args:
        model: a System, a mechanism, a robot, a file, or the name of a shipped model.
        input: where the sine is added, as for `frequency_response`.
        output: a port, a state, a coordinate, a speed, or a formula of these.
        frequencies: rad/s, above zero.
        amplitude: of the sine, in the unit of the input.
        settle: time before the output counts, s; by default for the slowest pole to die out.
        periods: over which the output is correlated, at least.
        at: where the runs start: coordinates (m, rad), speeds and other states by name.
        parameters: of parameters and inputs by name.
        tolerance: relative error of a step.

    >>> from linkwright import Block, System
    >>> lag = Block("lag")
    >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "min(u, 0.5) - x"))
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> small = swept_sine(s, "lag.u", "lag.y", [1.0], amplitude=0.1)
    >>> large = swept_sine(s, "lag.u", "lag.y", [1.0], amplitude=10.0)
    >>> small.values.round(6), abs(large.values).round(3)
    (array([0.5-0.5j]), array([0.376]))
    """
    if not (amplitude > 0 and math.isfinite(amplitude) and periods >= 2):
        raise Error(
            f"a sine of amplitude {amplitude!r} over {periods!r} periods measures nothing",
            remedy="give an amplitude above zero, and 2 periods or more",
            code="R605",
        )
    system = with_input(with_numbers(model, at, parameters), input, [output])
    linear = linearize(system)
    w = checked_frequencies(frequencies, linear.period)
    if w[0] <= 0:
        raise Error("a sine has a frequency above zero", remedy="leave zero out", code="R605")
    growing = unstable_poles(linear)
    if growing:
        raise Error(
            f"{system.name!r} does not settle: a pole at {growing[0]:.4g} is unstable",
            remedy="stabilize it first, or measure it inside a loop that does",
            code="R606",
        )
    rest = _settling(linear) if settle is None else float(settle)
    bench = _Bench.of(system, output, linear, amplitude)
    found = [bench.measured(part, rest, periods, tolerance) for part in _groups(w)]
    name = f"{input} → {output}, sines of {amplitude:g}"
    return FrequencyResponse(w, np.concatenate(found), input, output, name=name)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A System with a block that drives its input with a sine and correlates its output."""

    system: System
    linear: LinearModel
    amplitude: float

    @staticmethod
    def of(system: System, output: str, linear: LinearModel, amplitude: float) -> _Bench:
        (port,) = system.exposed_inputs.values()
        (x,) = port.symbols
        (shown,) = system.exposed_outputs[output].values
        bias = system.inputs()[x.name]
        made = system.copy()
        made.exposed_inputs, made.exposed_outputs = {}, {}
        made.values.pop(x.name, None)
        rate = Sampled(exact(linear.period)) if linear.period else None
        sweep = made.add(_sweep(bias, amplitude), rate=rate, name="sweep")
        made.connect(sweep.signal, [x])
        made.connect([shown], [sweep.measured])
        return _Bench(made, linear, amplitude)

    def measured(self, w: Array, settle: float, periods: int, tolerance: float) -> Complex:
        """Return the response at some frequencies, one lane each."""
        period = self.linear.period
        until = settle + periods * 2 * math.pi / w[0]
        if period:
            until = period * math.ceil(until / period)
        whole = np.floor((until - settle) * w / (2 * math.pi) * (1 + 1e-12))
        span = whole * 2 * math.pi / w
        expected = np.abs(transfer(self.linear, w)[:, 0, 0]) * self.amplitude
        scale = np.where(np.isfinite(expected) & (expected > 1e-300), expected, 1.0)
        runs = simulate_batch(
            self.system,
            until,
            initial=self._on_the_orbit(w),
            parameters={
                "sweep.frequency": w,
                "sweep.begin": until - span,
                "sweep.span": span,
                "sweep.scale": scale,
            },
            every=0,
            tolerance=tolerance,
        )
        stopped = [k for k in range(len(w)) if np.isfinite(runs.stopped[k])]
        if stopped:
            raise Error(
                f"the run at {w[stopped[0]]:.6g} rad/s ended at {runs.stopped[stopped[0]]:.6g} s: "
                f"{runs.reasons[stopped[0]]}",
                remedy="measure with a smaller amplitude, or at other frequencies",
                code="R608",
            )
        real, imaginary, weight = (runs[f"sweep.{n}"] for n in ("real", "imaginary", "weight"))
        return np.asarray(2j * (real - 1j * imaginary) * scale / (self.amplitude * weight))

    def _on_the_orbit(self, w: Array) -> dict[str, ArrayLike]:
        """Return where the runs start: on the orbits of the linear model, where these are known."""
        point = self.linear.point
        if self.linear.period or any(name not in point for name in self.linear.states):
            return {}
        states = LinearModel(
            self.linear.a,
            self.linear.b,
            np.eye(len(self.linear.a)),
            np.zeros(self.linear.b.shape),
            self.linear.states,
            (),
            self.linear.states,
        )
        moved = transfer(states, w)[:, :, 0] * self.amplitude
        moved[~np.isfinite(moved)] = 0
        return {n: point[n] + moved[:, k].imag for k, n in enumerate(self.linear.states)}


def _sweep(bias: float, amplitude: float) -> Block:
    """Return the block that drives and measures."""
    b = Block("sweep", doc="sine, and what it is correlated with")
    w, begin, span = (b.parameter(n, 1.0) for n in ("frequency", "begin", "span"))
    scale = b.parameter("scale", 1.0)
    y, t = b.input("measured"), b.time
    window: Expr = where(t > begin, 1 - cos(2 * math.pi * (t - begin) / span), 0)
    b.output("signal", bias + amplitude * sin(w * t))
    b.state("real", window * cos(w * t) * y / scale)
    b.state("imaginary", window * sin(w * t) * y / scale)
    b.state("weight", window)
    return b


def _settling(linear: LinearModel) -> float:
    """Return how long transients last, s."""
    poles = np.linalg.eigvals(linear.a)
    if linear.period:
        with np.errstate(divide="ignore"):
            poles = np.log(poles) / linear.period
    size = float(np.abs(poles[np.isfinite(poles)]).max(initial=0.0))
    decays = -poles.real[poles.real < -1e-7 * size]
    return _CONSTANTS / float(decays.min()) if len(decays) else 0.0


def _groups(w: Array) -> Iterator[Array]:
    """Yield frequencies in groups that end together."""
    left = w
    while len(left):
        inside = left <= _SPAN * left[0]
        yield left[inside]
        left = left[~inside]
