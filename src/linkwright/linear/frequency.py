"""Frequency responses of Systems, and loops that are cut at a port: margins and sensitivity.

With negative feedback, what comes back at a cut is -L times what goes in. The closed loop is
S = 1/(1 + L) from an addition at the cut to the signal after it (sensitivity), and T = L/(1 + L) =
1 - S (complementary sensitivity). All of them are exact: they come from the linear model of the cut
System, in z where it is sampled.

A signal with N values in the period of a sampled System has a lifted loop, a matrix of N by N. It
is stable with another gain or phase as long as no eigenvalue of L goes through -1 (MacFarlane and
Postlethwaite, International Journal of Control 25, 1977); its sensitivity is the largest singular
value of the matrix.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.base.results import Result, plain
from linkwright.linear.cuts import INJECTED, Cut, cut, with_input
from linkwright.linear.linearization import LinearModel, lifted, linearize
from linkwright.linear.modes import moving_states
from linkwright.linear.responses import (
    Array,
    Complex,
    FrequencyResponse,
    checked_frequencies,
    fundamental,
    grid,
    harmonic,
    transfer,
)
from linkwright.mechanism import ModelLike
from linkwright.system import System, system_of

_SLOWEST = 1e-7
"""A pole that is slower than the fastest one by this factor is taken for an integrator: rounding
moves the poles of two integrators in a row by the square root of its size."""


@dataclass(frozen=True, slots=True)
class Margins(Result):
    """How far a loop is from the border of stability.

    Args:
        gain: factor by which the loop gain may grow; infinite where any may.
        least_gain: factor down to which it may fall; 0 where it may fall to nothing.
        phase: lag that may be added at the worst crossing of gain 1, rad; infinite where there is
            none.
        delay: dead time that may be added, s.
        modulus: smallest distance from -1, 1 over the largest sensitivity.
        gain_frequency: where the loop gain is -1/gain, rad/s; 0 at rest, NaN where there is none.
        phase_frequency: where the loop gain is 1 with the least phase margin, rad/s.
        delay_frequency: where it is 1 with the least delay margin, rad/s.
        modulus_frequency: where the distance is smallest, rad/s; infinite where it is the limit.

    >>> Margins(2.0, 0.0, math.pi / 3, 0.01, 0.5).decibels
    6.020599913279624
    """

    gain: float
    least_gain: float
    phase: float
    delay: float
    modulus: float
    gain_frequency: float = math.nan
    phase_frequency: float = math.nan
    delay_frequency: float = math.nan
    modulus_frequency: float = math.nan

    @property
    def decibels(self) -> float:
        """The gain margin in dB."""
        return 20 * math.log10(self.gain)

    @property
    def degrees(self) -> float:
        """The phase margin in degrees."""
        return math.degrees(self.phase)

    def as_dict(self) -> dict[str, Any]:
        """Return the margins by names with units; None for one that is not finite."""
        found = {
            "gain": self.gain,
            "gain_frequency_rad_s": self.gain_frequency,
            "phase_deg": self.degrees,
            "phase_frequency_rad_s": self.phase_frequency,
            "delay_s": self.delay,
            "delay_frequency_rad_s": self.delay_frequency,
            "modulus": self.modulus,
            "modulus_frequency_rad_s": self.modulus_frequency,
        }
        return {name: plain(value) for name, value in found.items()}

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows: each margin, its unit, and the frequency where it is."""
        return [
            ("margin", "value", "unit", "at rad/s"),
            ("gain", f"{self.gain:.4g}", "", f"{self.gain_frequency:.4g}"),
            ("phase", f"{self.degrees:.4g}", "deg", f"{self.phase_frequency:.4g}"),
            ("delay", f"{self.delay:.4g}", "s", ""),
            ("modulus", f"{self.modulus:.4g}", "", f"{self.modulus_frequency:.4g}"),
        ]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenLoop(Result):
    """A System cut at a port.

    Args:
        port: where it is cut.
        model: from what goes in at the cut to what comes back; lifted where it is sampled.
        parts: how many values the signal has in the model's period.

    >>> from linkwright import Block, System
    >>> lag = Block("lag")
    >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "u - x"))
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> s.connect(-5 * member.y, member.u)
    >>> cut_loop(s, "lag.u")
    OpenLoop(at lag.u, 1 state, stable when closed)
    """

    port: str
    model: LinearModel
    parts: int = 1

    def __repr__(self) -> str:
        state = "stable" if self.stable else "unstable"
        count = len(self.model.states)
        words = f"{count} state{'' if count == 1 else 's'}"
        return f"OpenLoop(at {self.port}, {words}, {state} when closed)"

    def closed(self) -> LinearModel:
        """Return the closed loop: from an addition at the cut to the signal after it."""
        m = self.model
        size = len(m.d)
        through: Array = np.linalg.inv(np.eye(size) - m.d).astype(float)
        return replace(
            m,
            a=m.a + m.b @ through @ m.c,
            b=m.b @ through,
            c=through @ m.c,
            d=through,
            outputs=m.inputs,
        )

    @property
    def stable(self) -> bool:
        """Whether the closed loop is stable; states on which nothing depends are set aside."""
        return not unstable_poles(self.closed())

    def response(self, frequencies: ArrayLike | None = None) -> FrequencyResponse:
        """Return the loop gain L.

        Args:
            frequencies: rad/s; by default all that matter.
        """
        return self._response(_negative(self.model), "loop gain", frequencies)

    def sensitivity(self, frequencies: ArrayLike | None = None) -> FrequencyResponse:
        """Return S = 1/(1 + L), from an addition at the cut to the signal after it.

        Args:
            frequencies: rad/s; by default all that matter.
        """
        self._refuse_unstable()
        return self._response(self.closed(), "sensitivity", frequencies)

    def complementary(self, frequencies: ArrayLike | None = None) -> FrequencyResponse:
        """Return T = L/(1 + L), from an addition at the cut to minus what comes back.

        Args:
            frequencies: rad/s; by default all that matter.
        """
        self._refuse_unstable()
        s = self.closed()
        t = replace(s, c=-s.c, d=np.eye(len(s.d)) - s.d, outputs=self.model.outputs)
        return self._response(t, "complementary sensitivity", frequencies)

    def margins(self) -> Margins:
        """Return gain, phase, delay and modulus margins of the closed loop, which must be stable.

        >>> from linkwright import Block, System
        >>> plant = Block("plant")
        >>> u = plant.input("u")
        >>> y = plant.output("y", plant.state("x", plant.state("v", "u - 2*v")))
        >>> s = System(name="servo")
        >>> member = s.add(plant)
        >>> s.connect(-8 * member.y, member.u)
        >>> found = cut_loop(s, "plant.u").margins()
        >>> round(found.degrees, 2), round(found.phase_frequency, 4), found.gain
        (38.67, 2.4992, inf)
        """
        self._refuse_unstable()
        return _margins(_negative(self.model), self.closed(), self.parts)

    def _response(
        self, model: LinearModel, name: str, frequencies: ArrayLike | None
    ) -> FrequencyResponse:
        found = _response(model, self.port, self.port, frequencies, self.parts)
        return replace(found, name=f"{name} at {self.port}")

    def _refuse_unstable(self) -> None:
        poles = unstable_poles(self.closed())
        if poles:
            raise Error(
                f"the loop through {self.port!r} is unstable when closed, with a pole at "
                f"{poles[0]:.4g}",
                remedy="stabilize it first; response() gives its loop gain",
                code="R606",
            )


@worded
def frequency_response(
    model: ModelLike,
    input: str,  # noqa: A002 - the word of the field
    output: str,
    frequencies: ArrayLike | None = None,
    *,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
) -> FrequencyResponse:
    """Return the exact response of a System, linearized, from one signal to another.

    Where something drives the input, the sine is added to that, so loops stay closed. In a System
    with sampled members the input holds for a period, and the output is that at the instants.

    Args:
        model: a System, a mechanism, a robot, a file, or the name of a shipped model.
        input: an input port, an input of the mechanism, or a coordinate, which a load then acts on
            (N or N·m): the response of a coordinate to its own load is the compliance.
        output: a port, a state, a coordinate, a speed, or a formula of these.
        frequencies: rad/s; by default all that matter.
        at: coordinates (m, rad), speeds and other states of the operating point by name.
        parameters: of parameters and inputs by name.

    >>> from linkwright import Block, System
    >>> lag = Block("lag")
    >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "u - x"))
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> frequency_response(s, "lag.u", "lag.y", [0.0, 1.0]).values
    array([1. +0.j , 0.5-0.5j])
    """
    system = with_numbers(model, at, parameters)
    found = linearize(with_input(system, input, [output]))
    return _response(found, input, output, frequencies)


@worded
def compliance(
    model: ModelLike,
    joint: str,
    frequencies: ArrayLike | None = None,
    *,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
) -> FrequencyResponse:
    """Return how a coordinate gives way to a load on it, m/N or rad/(N·m), loops closed.

    Args:
        model: a System, a mechanism, a robot, a file, or the name of a shipped model.
        joint: the coordinate.
        frequencies: rad/s; by default all that matter.
        at: coordinates (m, rad), speeds and other states of the operating point by name.
        parameters: of parameters and inputs by name.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x - 4*v", at=b.origin, along="x")
    >>> float(compliance(m, "b", [0.0]).magnitude[0])
    0.125
    """
    found = frequency_response(model, joint, joint, frequencies, at=at, parameters=parameters)
    assert found.model is not None
    poles = unstable_poles(found.model)
    if poles:
        raise Error(
            f"{joint!r} does not hold still: a pole at {poles[0]:.4g} is unstable",
            remedy="stabilize it first; frequency_response gives the response all the same",
            code="R606",
        )
    return found


@worded
def cut_loop(
    model: ModelLike,
    port: str,
    *,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
) -> OpenLoop:
    """Return the loop of a System that is cut at a port, linearized.

    In a System with sampled members, cut where the signal is sampled. A signal that has several
    values in the period of the System gives a lifted loop.

    Args:
        model: a System, or what has one.
        port: an input that something drives, or an output that drives something.
        at: coordinates (m, rad), speeds and other states of the operating point by name.
        parameters: of parameters and inputs by name.

    >>> from linkwright import Block, System
    >>> lag = Block("lag")
    >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "u - x"))
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> s.connect(-5 * member.y, member.u)
    >>> loop = cut_loop(s, "lag.u")
    >>> loop.response([1.0]).values, loop.sensitivity([0.0]).values.round(6)
    (array([2.5-2.5j]), array([0.166667+0.j]))
    """
    found = cut(with_numbers(model, at, parameters), port)
    loop = _opened(found)
    level = float(loop.model.level[0])
    if level:  # what goes in is what comes back there, or a limit may be reached
        (x,) = found.system.exposed_inputs[INJECTED].symbols
        found.system.set_parameters({x.name: level})
        loop = _opened(found)
    return loop


def _opened(found: Cut) -> OpenLoop:
    """Return the linear model of a cut System."""
    if not found.every:
        return OpenLoop(found.port, linearize(found.system))
    return OpenLoop(found.port, *lifted(found.system, found.every, found.offset))


def unstable_poles(model: LinearModel) -> list[complex]:
    """Return the poles that do not decay; states on which nothing depends are set aside.

    >>> one = np.ones((1, 1))
    >>> unstable_poles(LinearModel(np.diag([2.0, -1.0]), one, one, one, (), (), ()))
    [(2+0j)]
    """
    kept = moving_states(model.a)
    poles = np.linalg.eigvals(model.a[np.ix_(kept, kept)]) if kept else np.zeros(0)
    size = 1.0 if model.period else float(np.abs(poles).max(initial=0.0))
    growth = np.abs(poles) - 1 if model.period else poles.real
    moves = np.abs(poles - 1) if model.period else np.abs(poles)
    found = poles[(growth > 1e-9 * size) & (moves > _SLOWEST * size)]
    return [complex(p) for p in found]


def with_numbers(
    model: ModelLike, at: Mapping[str, Amount] | None, values: Mapping[str, Amount] | None
) -> System:
    """Return a copy of a System with other numbers, and where it starts."""
    system = system_of(model).copy()
    system.set_parameters(values or {})
    system.set_initial(at or {})
    return system


def _negative(model: LinearModel) -> LinearModel:
    return replace(model, c=-model.c, d=-model.d)


def _response(
    model: LinearModel, input_: str, output: str, frequencies: ArrayLike | None, parts: int = 1
) -> FrequencyResponse:
    step = model.period / parts
    w = grid(model, parts) if frequencies is None else checked_frequencies(frequencies, step)
    return FrequencyResponse(w, fundamental(model, w, parts), input_, output, model, parts)


# -- margins ---------------------------------------------------------------------------------------
def _margins(loop: LinearModel, closed: LinearModel, parts: int) -> Margins:
    """Return the margins of a loop gain: crossings on a grid, then refined to the last digits.

    Loci are mirrored at both ends of the axis, at rest and at half the rate (or at infinity), so
    they may be real there, and the sensitivity largest, without a change of sign.
    """
    from scipy.optimize import brentq, minimize_scalar

    top = math.pi / loop.period if loop.period else math.inf
    poles = [*np.linalg.eigvals(closed.a), *([-1 + 0j] if loop.period else [])]
    w = grid(loop, points=poles)  # what is crossed lies near poles of the closed loop, too
    rest = 1e-4 * float(w[0])
    loci = _loci(loop, w)
    gains: list[tuple[float, float, complex]] = []  # factor, frequency, value
    lags: list[tuple[float, float, complex]] = []  # phase, frequency, value
    for k in range(loci.shape[1]):

        def value(x: float, k: int = k) -> complex:
            return _nearest(loop, x, w, loci[:, k])

        for x in _crossings(w, loci[:, k].imag, lambda x: value(x).imag, brentq):
            if (v := value(x)).real < 0:
                gains.append((-1 / v.real, x, v))
        for x in _crossings(w, np.abs(loci[:, k]) - 1, lambda x: abs(value(x)) - 1, brentq):
            lags.append(((math.pi + cmath.phase(value(x))) % (2 * math.pi), x, value(x)))
        v, size = value(rest), abs(loci[0, k])
        if size < 2 * abs(v) < 4 * size:  # neither an integrator nor a differentiator
            gains += _real_end(v, rest)
    last = _loci(loop, np.array([top]))[0] if loop.period else np.linalg.eigvals(loop.d)
    gains += [end for v in last for end in _real_end(complex(v), top)]

    def sensitivity(x: Array) -> Array:
        return np.asarray(np.linalg.norm(transfer(closed, x), 2, axis=(1, 2)))

    every = np.unique([rest, *w, *(x for _, x, _ in gains + lags if x < math.inf)])
    every = every[np.append(True, np.diff(every) > 1e-9 * every[1:])]
    sizes = sensitivity(every)
    peaks = [*zip(sizes, every, strict=True), (float(np.linalg.norm(closed.d, 2)), math.inf)]
    peaks = peaks[:-1] if loop.period else peaks
    inner = sizes[1:-1]
    high = (inner >= sizes[:-2]) & (inner >= sizes[2:]) & (inner > 0.5 * sizes.max())
    for k in (np.flatnonzero(high) + 1).tolist():
        found = minimize_scalar(
            lambda x: -float(sensitivity(np.array([x]))[0]),
            bounds=(every[k - 1], every[k + 1]),
            method="bounded",
            options={"xatol": 1e-10 * every[k + 1]},
        )
        peaks.append((-float(found.fun), float(found.x)))
    nothing = (math.inf, math.nan, 0j)
    up = min((end for end in gains if end[0] > 1), key=lambda end: end[0], default=nothing)
    down = max((g for g, _, _ in gains if g < 1), default=0.0)
    told = [(p, _frequency(loop, x, v, parts)) for p, x, v in lags]
    phase = min(((min(p, 2 * math.pi - p), abs(x)) for p, x in told), default=nothing[:2])
    delay = min(((p / x % (2 * math.pi / abs(x)), abs(x)) for p, x in told), default=nothing[:2])
    peak, where = max(peaks)
    at = [_frequency(loop, up[1], up[2], parts), _frequency(closed, where, None, parts)]
    at = [0.0 if x == rest else abs(x) for x in at]
    return Margins(
        up[0], down, phase[0], delay[0], float(1 / peak), at[0], phase[1], delay[1], at[1]
    )


def _real_end(value: complex, x: float) -> list[tuple[float, float, complex]]:
    """Return the factor by which a locus reaches -1 at an end of the axis, if it does."""
    real = abs(value.imag) < 1e-3 * abs(value) and -1e9 < value.real < -1e-9
    return [(-1 / value.real, x, value)] if real else []


def _loci(loop: LinearModel, w: Array) -> Complex:
    """Return the eigenvalues of a loop gain over frequency, each in a column of its own."""
    values = np.linalg.eigvals(transfer(loop, w))
    for k in range(1, len(w)):
        left = list(values[k])
        for j, before in enumerate(values[k - 1]):
            i = int(np.argmin([abs(v - before) for v in left]))
            values[k, j] = left.pop(i)
    return np.asarray(values)


def _nearest(loop: LinearModel, x: float, w: Array, locus: Complex) -> complex:
    """Return the eigenvalue at a frequency that belongs to a locus."""
    values = np.linalg.eigvals(transfer(loop, np.array([x])))[0]
    guess = np.interp(x, w, locus.real) + 1j * np.interp(x, w, locus.imag)
    return complex(values[np.argmin(np.abs(values - guess))])


def _crossings(
    w: Array, sizes: Array, function: Callable[[float], float], solve: Callable[..., float]
) -> list[float]:
    """Return where a function goes through zero, between points of a grid."""
    found = []
    for a, b, first, second in zip(w[:-1], w[1:], sizes[:-1], sizes[1:], strict=True):
        if np.isfinite(first) and np.isfinite(second) and (first < 0) != (second < 0):
            found.append(float(solve(function, a, b, xtol=1e-13 * b, rtol=1e-14)))
    return found


def _frequency(model: LinearModel, x: float, value: complex | None, parts: int) -> float:
    """Return the frequency of an eigenvalue (or of the largest gain), with a sign.

    Of a lifted loop it is that of the largest harmonic.
    """
    if parts == 1 or math.isnan(x):
        return float(x)
    whole = transfer(model, np.array([x]))[0]
    vector = np.linalg.svd(whole)[2][0].conj()
    if value is not None:
        values, vectors = np.linalg.eig(whole)
        vector = vectors[:, int(np.argmin(np.abs(values - value)))]
    shifts = np.arange(-(parts // 2), parts - parts // 2)
    every: Array = x + (2 * math.pi / model.period) * shifts.astype(float)
    shares = np.abs(harmonic(model, every, parts).conj() @ vector)
    return float(every[int(np.argmax(shares))])
