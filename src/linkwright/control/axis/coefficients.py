"""Coefficients of an axis' compensator D(z), and what rounding them to integers does."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.blocks import checked


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

    >>> AxisCoefficients(2.0).b0
    1.0
    """

    a0: float = 1.0
    a1: float = 0.0
    a2: float = 0.0
    b0: float = 1.0
    b1: float = 0.0
    b2: float = 0.0


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
