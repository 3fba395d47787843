"""The two arithmetics of an axis controller: whole numbers of 32 bits, and SI.

float64 carries whole numbers exactly below 2^53. Products of two numbers of 32 bits may be larger;
the sum of their sizes then shows it, for rounding is monotonic: where the exact sum is below 2^53,
so is the computed one, and it is exact; where it is not, neither is the computed one.
"""

from __future__ import annotations

from typing import Protocol

from linkwright.algebra import ONE, ZERO, Expr, absolute, floor, where
from linkwright.blocks import Block
from linkwright.control.axis.codes import WORD

_EXACT = 2.0**53
_LARGE = 1e300


class Arithmetic(Protocol):
    """How an axis controller counts."""

    def divided(self, block: Block, top: Expr, bottom: Expr) -> Expr:
        """Return a quotient."""

    def halved(self, x: Expr) -> Expr:
        """Return a half."""

    def fits(self, x: Expr) -> Expr:
        """Return whether a result is a number of this arithmetic."""

    def exact(self, terms: list[Expr]) -> Expr:
        """Return whether a sum of products is exact."""


class Whole:
    """Whole numbers; division truncates toward zero."""

    def divided(self, block: Block, top: Expr, bottom: Expr) -> Expr:
        """Return the quotient, truncated.

        The rounded quotient may be the whole number just above the exact one; the remainder, which
        is exact, then is negative.
        """
        m, n = block.intermediate(absolute(top)), block.intermediate(absolute(bottom))
        rounded = block.intermediate(floor(m / n))
        q = block.intermediate(where(rounded * n > m, rounded - 1, rounded))
        return where(top < 0, where(bottom < 0, q, -q), where(bottom < 0, -q, q))

    def scaled_down(self, x: Expr, power: int) -> Expr:
        """Return the quotient by a power of two, truncated; exact without more ado."""
        return where(x < 0, -floor(-x / power), floor(x / power))

    def halved(self, x: Expr) -> Expr:
        """Return a half, truncated."""
        return self.scaled_down(x, 2)

    def fits(self, x: Expr) -> Expr:
        """Return whether a number has 32 bits."""
        return absolute(x) <= WORD

    def exact(self, terms: list[Expr]) -> Expr:
        """Return whether a sum of products is exact."""
        size: Expr = ZERO
        for term in terms:
            size = size + absolute(term)
        return size < _EXACT


class Real:
    """Real numbers in SI units."""

    def divided(self, block: Block, top: Expr, bottom: Expr) -> Expr:
        """Return the quotient."""
        return top / bottom

    def halved(self, x: Expr) -> Expr:
        """Return a half."""
        return x / 2

    def fits(self, x: Expr) -> Expr:
        """Return whether a number is finite."""
        return absolute(x) <= _LARGE

    def exact(self, terms: list[Expr]) -> Expr:
        """Return 1: real numbers round."""
        return ONE
