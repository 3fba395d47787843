"""Frequency responses: how a linear model, or what was measured, answers to sines.

In discrete time a response is that at the instants: H(z) with z = exp(j w T), up to half the rate.
Where a signal has several values in a period, its response is that of the part of the output that
has the input's own frequency: with U the input of a period, lifted, the mean of exp(-j w t) Y.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error, InputError
from linkwright.base.optional import extra
from linkwright.base.results import Result
from linkwright.linear.linearization import LinearModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

POINTS = 60
"""Points of a default grid in a decade of frequency."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrequencyResponse(Result):
    """Complex gains from one signal to another over frequency.

    Args:
        frequencies: rad/s, rising.
        values: output over input at each, complex.
        input: name of the input.
        output: name of the output.
        model: the linear model that it is of; None for one that was measured.
        parts: how many values the signals have in the model's period.
        name: how it is called in figures; from where to where by default.

    >>> from linkwright.linear import frequency_response
    >>> from linkwright import Mechanism
    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x - 0.4*v", at=b.origin, along="x")
    >>> answer = frequency_response(m, "b", "b", [1.0, 2.0])
    >>> answer.magnitude.round(4), answer.phase.round(4)
    (array([0.1663, 1.25  ]), array([-0.0666, -1.5708]))
    """

    frequencies: Array
    values: Complex
    input: str
    output: str
    model: LinearModel | None = None
    parts: int = 1
    name: str = ""
    _units = (("frequencies", "rad/s"),)

    def __repr__(self) -> str:
        w = self.frequencies
        span = f"{w[0]:.4g} to {w[-1]:.4g} rad/s" if len(w) else "no frequencies"
        return f"FrequencyResponse({self.label}: {len(w)} points, {span})"

    @property
    def label(self) -> str:
        """Its name, or from where to where it goes."""
        return self.name or f"{self.input} → {self.output}"

    @property
    def magnitude(self) -> Array:
        """Absolute values."""
        return np.abs(self.values)

    @property
    def decibels(self) -> Array:
        """Absolute values in dB."""
        with np.errstate(divide="ignore"):
            return np.asarray(20 * np.log10(np.abs(self.values)))

    @property
    def phase(self) -> Array:
        """Phases, rad, without jumps of a full turn."""
        return np.asarray(np.unwrap(np.angle(self.values)))

    @property
    def period(self) -> float:
        """Time from one value of the signals to the next, s; 0 for continuous ones."""
        return 0.0 if self.model is None else self.model.period / self.parts

    def at(self, frequencies: ArrayLike) -> FrequencyResponse:
        """Return the response at other frequencies; one that was measured has only its own.

        Args:
            frequencies: rad/s.
        """
        if self.model is None:
            raise Error(
                "a measured response is known at its own frequencies only",
                remedy="measure it at the ones that you need",
                code="R607",
            )
        w = checked_frequencies(frequencies, self.period)
        return replace(self, frequencies=w, values=fundamental(self.model, w, self.parts))

    def bode(self, *others: FrequencyResponse) -> Figure:
        """Return magnitude and phase over frequency as a figure.

        Args:
            *others: responses to draw beside it.
        """
        from linkwright.linear.response_plots import bode

        return bode([self, *others])

    def nyquist(self, *others: FrequencyResponse) -> Figure:
        """Return the curve in the complex plane, with the point -1, as a figure.

        Args:
            *others: responses to draw beside it.
        """
        from linkwright.linear.response_plots import nyquist

        return nyquist([self, *others])

    def nichols(self, *others: FrequencyResponse) -> Figure:
        """Return magnitude over phase, with lines of equal closed-loop gain, as a figure.

        Args:
            *others: responses to draw beside it.
        """
        from linkwright.linear.response_plots import nichols

        return nichols([self, *others])

    def to_control(self) -> Any:
        """Return the response as frequency response data (FRD) of python-control.

        python-control comes with `pip install linkwright[analysis]`.
        """
        control = extra("control", "analysis")
        return control.FRD(
            self.values[None, None, :],
            self.frequencies,
            self.period or None,
            inputs=[self.input.replace(".", "_")],
            outputs=[self.output.replace(".", "_")],
        )


def checked_frequencies(given: ArrayLike, period: float = 0.0) -> Array:
    """Return frequencies in rising order, or say what is wrong with them.

    >>> checked_frequencies([3.0, 1.0])
    array([1., 3.])
    """
    w = np.unique(np.asarray(given, dtype=float))
    if not len(w) or not np.all(np.isfinite(w)) or w[0] < 0:
        raise InputError(
            "frequencies must be finite and not negative",
            remedy="give some, in rad/s",
            code="R605",
        )
    if period and w[-1] > math.pi / period * (1 + 1e-9):
        raise InputError(
            f"a signal with a value every {period:g} s has no frequency above "
            f"{math.pi / period:.6g} rad/s, but {w[-1]:.6g} was asked for",
            remedy="stay below half the rate",
            code="R605",
        )
    return w


def transfer(model: LinearModel, frequencies: Array) -> Complex:
    """Return C (s I - A)^-1 B + D at each frequency; infinite at a pole.

    >>> a = np.array([[-1.0]])
    >>> one = np.ones((1, 1))
    >>> model = LinearModel(a, one, one, 0 * one, ("x",), ("u",), ("y",))
    >>> transfer(model, np.array([0.0, 1.0]))[:, 0, 0]
    array([1. +0.j , 0.5-0.5j])
    """
    s = 1j * frequencies
    if model.period:
        s = np.exp(s * model.period)
    n = len(model.a)
    left = s[:, None, None] * np.eye(n) - model.a
    right = np.broadcast_to(model.b.astype(complex), (len(s), *model.b.shape))
    poles = np.zeros(len(s), dtype=bool)
    try:
        states = np.linalg.solve(left, right)
    except np.linalg.LinAlgError:
        poles = np.linalg.matrix_rank(left) < n
        left[poles] = np.eye(n)
        states = np.linalg.solve(left, right)
    found = model.c @ states + model.d
    found[poles] = np.inf
    return np.asarray(found)


def fundamental(model: LinearModel, frequencies: Array, parts: int = 1) -> Complex:
    """Return the response of a (lifted) model at the input's own frequency."""
    whole = transfer(model, frequencies)
    if parts == 1:
        return np.asarray(whole[:, 0, 0])
    shifts = harmonic(model, frequencies, parts)
    return np.asarray(np.einsum("fi,fij,fj->f", shifts.conj(), whole, shifts) / parts)


def harmonic(model: LinearModel, frequencies: Array, parts: int) -> Complex:
    """Return the values in a period of a sine of each frequency, (frequency, part)."""
    angles = np.outer(frequencies, np.arange(parts)) * model.period / parts
    return np.asarray(np.exp(1j * angles))


def grid(model: LinearModel, parts: int = 1, points: Iterable[complex] = ()) -> Array:
    """Return frequencies that show a model: over all its poles and zeros, dense at resonances.

    More `points` of the plane of s (or z) are shown like poles.

    >>> a = np.array([[0.0, 1.0], [-100.0, -0.2]])
    >>> model = LinearModel(a, np.eye(2)[:, 1:], np.eye(2)[:1], np.zeros((1, 1)), (), (), ())
    >>> w = grid(model)
    >>> bool(w[0] < 0.4 and w[-1] > 299), bool(np.min(np.abs(w - 10)) < 1e-9)
    (True, True)
    """
    points = [*np.linalg.eigvals(model.a), *zeros(model), *points]
    if model.period:
        points = [np.log(complex(p)) / model.period for p in points if abs(p) > 1e-12]
    size = np.array([abs(p) for p in points if np.isfinite(p) and abs(p) > 1e-6])
    top = math.pi * parts / model.period if model.period else math.inf
    low, high = (size.min(), size.max()) if len(size) else (1.0, 1.0)
    low, high = min(low, top / 10) / 30, min(high * 30, top)
    low = max(low, high * 1e-9)
    found = [np.geomspace(low, high, max(2, round(POINTS * math.log10(high / low))))]
    for p in points:
        w = abs(p.imag)
        if np.isfinite(p) and w > 1e-6 and abs(p.real) < 0.5 * w:
            width = max(abs(p.real), 1e-4 * w)
            near = w + width * np.concatenate(
                [-np.geomspace(20, 0.02, 30), np.geomspace(0.02, 20, 30)]
            )
            found += [near, np.array([w])]
    every = np.unique(np.concatenate(found))
    return np.asarray(every[(every >= low) & (every <= high)])


def zeros(model: LinearModel) -> Complex:
    """Return the finite transmission zeros of a square model."""
    from scipy.linalg import eig

    n, m = model.b.shape
    if m != len(model.c):
        return np.zeros(0, dtype=complex)
    left = np.block([[model.a, model.b], [model.c, model.d]])
    right = np.zeros((n + m, n + m))
    right[:n, :n] = np.eye(n)
    pairs = eig(left, right, right=False, homogeneous_eigvals=True)
    finite = np.abs(pairs[1]) > 1e-9 * np.abs(pairs).max(axis=0)
    return np.asarray(pairs[0][finite] / pairs[1][finite])
