"""Coefficients of an axis' compensator D(z), and what rounding them to integers does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.results import Result
from linkwright.blocks import Block, BlockError, checked
from linkwright.control.pid import PidGains

_AT_ONE = 1e-9


@dataclass(frozen=True, slots=True)
class AxisCoefficients:
    """D(z) = (a0 + a1/z + a2/z^2) / (b0 + b1/z + b2/z^2).

    Args:
        a0: of the error.
        a1: of the error a sample ago.
        a2: of the error two samples ago.
        b0: by which all is divided.
        b1: of the output a sample ago.
        b2: of the output two samples ago.

    >>> AxisCoefficients(2.0, b1=-0.5).poles
    (0.5,)
    """

    a0: float = 1.0
    a1: float = 0.0
    a2: float = 0.0
    b0: float = 1.0
    b1: float = 0.0
    b2: float = 0.0

    @property
    def poles(self) -> tuple[complex, ...]:
        """The poles of D(z), the largest first; those at 0 are left out."""
        return _roots((self.b0, self.b1, self.b2))

    @property
    def zeros(self) -> tuple[complex, ...]:
        """The zeros of D(z), the largest first; those at 0 are left out."""
        return _roots((self.a0, self.a1, self.a2))

    @property
    def gain(self) -> float:
        """The gain at rest; infinite with a pole at 1."""
        top, bottom = self.a0 + self.a1 + self.a2, self.b0 + self.b1 + self.b2
        return top / bottom if bottom else math.copysign(math.inf, top)


@dataclass(frozen=True, slots=True)
class RoundedCoefficients(Result):
    """Coefficients as integers, and what rounding did to them.

    Args:
        exact: the coefficients before rounding, b0 = 1.
        whole: the integers.

    >>> integer_coefficients(PidGains(2.0), period=0.001).whole.a0
    32768.0
    """

    exact: AxisCoefficients
    whole: AxisCoefficients

    @property
    def moved(self) -> float:
        """How far the pole moved that moved farthest."""
        pairs = zip(self.exact.poles, self.whole.poles, strict=False)
        return max((abs(a - b) for a, b in pairs), default=0.0)

    @property
    def start(self) -> dict[str, float]:
        """The integers by the names of the controller's inputs."""
        keys = ("a0", "a1", "a2", "b0", "b1", "b2")
        return dict(zip(keys, astuple(self.whole), strict=True))

    def __str__(self) -> str:
        lines = [", ".join(f"{k} = {v:.0f}" for k, v in self.start.items())]
        rows = zip(self.exact.poles, self.whole.poles, strict=False)
        lines += [f"pole {_shown(a)} becomes {_shown(b)}" for a, b in rows]
        return "\n".join(lines)


def pid_coefficients(
    kp: float, ki: float = 0.0, kd: float = 0.0, *, period: float
) -> AxisCoefficients:
    """Return the coefficients of a PID law: trapezoidal integral, backward derivative.

    Args:
        kp: proportional gain.
        ki: integral gain, 1/s.
        kd: derivative gain, s.
        period: from one sample to the next, s.

    >>> pid_coefficients(2.0, kd=0.01, period=0.001).a0
    12.0
    """
    checked(period, "the period of a PID law", above=0)
    for what, value in (("kp", kp), ("ki", ki), ("kd", kd)):
        checked(value, f"{what} of a PID law")
    slope = kd / period
    if not ki:
        return AxisCoefficients(kp + slope, -slope)
    half = ki * period / 2
    return AxisCoefficients(kp + half + slope, -kp + half - 2 * slope, slope, 1.0, -1.0)


def axis_coefficients(
    law: Block | PidGains | AxisCoefficients, *, period: float
) -> AxisCoefficients:
    """Return the coefficients of a law of at most second order, by the bilinear rule.

    Args:
        law: a `PID`, `PidGains`, `LeadLag`, `TransferFunction` or `StateSpace` of one input and
            one output; of coefficients, these themselves.
        period: from one sample to the next, s.

    >>> from linkwright.control import LeadLag
    >>> found = axis_coefficients(LeadLag(zero=10.0, pole=100.0), period=0.01)
    >>> round(found.poles[0], 6), round(found.gain, 6)
    (0.333333, 1.0)
    """
    checked(period, "the period of an axis", above=0)
    if isinstance(law, AxisCoefficients):
        return law
    from scipy.signal import cont2discrete

    top, bottom = _transfer(law)
    if len(bottom) > 3 or len(top) > len(bottom):
        raise BlockError(
            f"an axis has a compensator of second order, and {law!r} has none such",
            remedy="split it, or use a notch for a part of it",
        )
    if len(bottom) == 1:
        return AxisCoefficients(float(top[0] / bottom[0]))
    b, a, _ = cont2discrete((top, bottom), period, method="bilinear")
    a3, b3 = (np.pad(np.ravel(x), (0, 3 - len(np.ravel(x)))) for x in (b, a))
    return AxisCoefficients(*(float(x) for x in (*(a3 / b3[0]), *(b3 / b3[0]))))


def integer_coefficients(
    law: Block | PidGains | AxisCoefficients,
    *,
    period: float,
    scale: float = 1.0,
    most: int = 2**15,
) -> RoundedCoefficients:
    """Return the integer coefficients of a law, with its poles before and after rounding.

    A pole at 1, an integral, stays exactly there. All are as large as `most` allows, times a power
    of two, for then rounding does least.

    Args:
        law: as `axis_coefficients` takes it.
        period: from one sample to the next, s.
        scale: what the law's output for an error of one count is in D/A units.
        most: the largest coefficient; with 2^15, errors below 2^14 fit into 32 bits.

    >>> from linkwright.control import PID
    >>> print(integer_coefficients(PID(2.0, ki=5.0), period=0.002))
    a0 = 16425, a1 = -16343, a2 = 0, b0 = 8192, b1 = -8192, b2 = 0
    pole 1 becomes 1
    """
    exact = axis_coefficients(law, period=period)
    checked(scale, "scale", above=0)
    top = [scale * x for x in (exact.a0, exact.a1, exact.a2)]
    bottom = [exact.b0, exact.b1, exact.b2]
    largest = max(abs(x) for x in (*top, *bottom))
    if most < 1 or largest > most:
        raise BlockError(
            f"coefficients up to {largest:.3g} do not fit below {most}",
            remedy="give a smaller scale, or a larger most",
        )
    factor = 2.0 ** math.floor(math.log2(most / largest))
    a = [float(round(factor * x)) for x in top]
    b = [float(round(factor * x)) for x in bottom]
    if abs(sum(bottom)) < _AT_ONE * sum(abs(x) for x in bottom):
        b[1] = -b[0] - b[2]
    if b[0] == 0:
        raise BlockError(f"b0 rounds to 0 below {most}", remedy="give a smaller scale")
    named = AxisCoefficients(*top, *bottom)
    return RoundedCoefficients(named, AxisCoefficients(*a, *b))


def notch_coefficients(
    frequency: float, *, period: float, width: float = 0.7, depth: float = 0.05
) -> dict[str, float]:
    """Return the inputs n0 to d2 of an axis' notch filter, by the bilinear rule.

    The filter is (s^2 + 2 depth width w s + w^2) / (s^2 + 2 width w s + w^2); its middle is exact.

    Args:
        frequency: of its middle, Hz, below half the sample rate.
        period: from one sample to the next, s.
        width: damping of its poles.
        depth: what is left of the amplitude in the middle.

    >>> found = notch_coefficients(80.0, period=0.001, depth=0.0)
    >>> round(found["n0"] - found["n2"], 12)
    0.0
    """
    checked(period, "the period of an axis", above=0)
    checked(frequency, "the frequency of a notch, Hz,", above=0, most=0.499 / period)
    checked(width, "the width of a notch", above=0)
    checked(depth, "the depth of a notch", least=0, most=1)
    t = math.tan(math.pi * frequency * period)
    below = 1 + 2 * width * t + t * t
    n1 = 2 * (t * t - 1) / below
    half = 2 * depth * width * t
    return {
        "n0": (1 + half + t * t) / below,
        "n1": n1,
        "n2": (1 - half + t * t) / below,
        "d1": n1,
        "d2": (1 - 2 * width * t + t * t) / below,
    }


def _transfer(law: Block | PidGains) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numerator and denominator of a continuous law, highest power of s first."""
    kind, given = ("PidGains", {}) if isinstance(law, PidGains) else law.made_with
    if kind == "PID":
        keys = ("kp", "ki", "kd", "low", "high", "filter", "unwind", "weight")
        law = PidGains(**{key: given[key] for key in keys if key in given})
    if isinstance(law, PidGains):
        return _pid_transfer(law)
    if kind == "LeadLag":
        zero, pole, gain = (float(given.get(k, 1.0)) for k in ("zero", "pole", "gain"))
        return np.array([gain / zero, gain]), np.array([1 / pole, 1.0])
    if kind == "TransferFunction":
        top, bottom = (np.trim_zeros(np.asarray(given[k], dtype=float), "f")
                       for k in ("numerator", "denominator"))  # fmt: skip
        return top, bottom
    if kind == "StateSpace" and law.rate is None:
        from scipy.signal import ss2tf

        matrices = [np.atleast_2d(np.asarray(given[k], dtype=float)) for k in "abc"]
        direct = given.get("d")
        d = np.zeros((1, 1)) if direct is None else np.atleast_2d(np.asarray(direct, dtype=float))
        if matrices[1].shape[1] == 1 and len(matrices[2]) == 1:
            found, under = ss2tf(*matrices, d)
            return np.trim_zeros(np.ravel(found), "f"), np.ravel(under)
    raise BlockError(
        f"an axis cannot take {law!r}",
        remedy="give a PID, LeadLag, TransferFunction or continuous StateSpace of one input",
    )


def _pid_transfer(law: PidGains) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the transfer function from the error of a PID law with a filtered derivative."""
    if law.weight != 1.0:
        raise BlockError("an axis compensates the error alone", remedy="give the PID law weight=1")
    top, bottom = np.array([law.kp]), np.array([1.0])
    if law.kd:  # kp + kd N s/(s + N)
        n = law.filter
        top, bottom = np.array([law.kp + law.kd * n, law.kp * n]), np.array([1.0, n])
    if law.ki:
        top = np.polyadd(np.polymul(top, [1.0, 0.0]), law.ki * bottom)
        bottom = np.polymul(bottom, [1.0, 0.0])
    return top, bottom


def _roots(given: Sequence[float]) -> tuple[complex, ...]:
    found = np.roots(np.trim_zeros(np.asarray(given, dtype=float), "b"))
    ordered = sorted(found.tolist(), key=lambda z: (-abs(z), -z.imag))
    return tuple(z.real if abs(z.imag) < 1e-15 else z for z in ordered)


def _shown(z: complex) -> str:
    return f"{z.real:.8g}" if not z.imag else f"{z.real:.8g}{z.imag:+.8g}j"
