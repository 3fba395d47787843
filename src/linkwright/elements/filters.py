"""Butterworth filters, with the cutoff in percent of half the rate as SL has it."""

from __future__ import annotations

import math
from fractions import Fraction

from linkwright.algebra import Expr
from linkwright.blocks import Block, Rate, checked


class Butterworth(Block):
    """A low-pass filter of second order: input `u`, output `y`.

    With K = tan(pi c / 200) and D = 1 + sqrt(2) K + K^2 its coefficients are b = (K^2, 2 K^2,
    K^2) / D and a = (1, 2 (K^2 - 1) / D, (1 - sqrt(2) K + K^2) / D). A cutoff of 0 or 100 passes
    everything. It starts at rest at the initial value.

    Args:
        cutoff: percent of half the rate.
        rate: instants in a second.
        initial: value at the start.
        name: of the block.

    >>> Butterworth(20, rate=500)
    Butterworth(butterworth: u -> y)
    """

    needs_rate = True
    """It has memory from instant to instant."""

    def __init__(
        self,
        cutoff: float,
        *,
        rate: Rate | float | Fraction | None = None,
        initial: float = 0.0,
        name: str = "butterworth",
    ) -> None:
        super().__init__(name, rate=rate, doc="low-pass filter of second order")
        checked(cutoff, f"the cutoff of {name!r}, in percent,", least=0, most=100)
        checked(initial, f"the initial value of {name!r}")
        u = self.input("u", initial)
        self.output("y", low_passed(self, u, cutoff, initial), initial=initial)


def low_passed(
    block: Block, u: Expr, cutoff: float, initial: float = 0.0, *, suffix: str = ""
) -> Expr:
    """Return a value behind a Butterworth filter, whose memory becomes part of a block.

    >>> b = Block("b", rate=100)
    >>> low_passed(b, b.input("u"), 100)
    u
    """
    if cutoff in (0, 100):
        return u
    b, a = coefficients(cutoff)
    # transposed direct form II
    first = block.discrete_state(f"first{suffix}", initial=(1 - b[0]) * initial)
    second = block.discrete_state(f"second{suffix}", initial=(b[2] - a[2]) * initial)
    y = block.intermediate(b[0] * u + first)
    block.update(first, b[1] * u - a[1] * y + second)
    block.update(second, b[2] * u - a[2] * y)
    return y


def coefficients(cutoff: float) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the coefficients b and a of the filter.

    >>> b, a = coefficients(20)
    >>> round(sum(b) / sum(a), 12)
    1.0
    """
    k = math.tan(math.pi * cutoff / 200)
    d = 1 + math.sqrt(2) * k + k * k
    b = k * k / d
    return (b, 2 * b, b), (1.0, 2 * (k * k - 1) / d, (1 - math.sqrt(2) * k + k * k) / d)
