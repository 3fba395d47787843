"""Numbers a + ε b with ε² = 0 and complex parts, of expressions; parts that are zero cost nothing.

With both imaginary parts zero they are dual numbers, with both dual parts zero complex ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr
from linkwright.algebra.triples import Hold


@dataclass(frozen=True, slots=True)
class DualNumber:
    """A dual number with complex parts."""

    re: Expr = ZERO  # real part
    du: Expr = ZERO  # what belongs to ε
    im: Expr = ZERO  # imaginary part
    im_du: Expr = ZERO  # imaginary part of what belongs to ε

    @property
    def parts(self) -> tuple[Expr, Expr, Expr, Expr]:
        """All four parts."""
        return self.re, self.du, self.im, self.im_du

    def __add__(self, other: DualNumber) -> DualNumber:
        return DualNumber(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __neg__(self) -> DualNumber:
        return DualNumber(*(-a for a in self.parts))

    def __sub__(self, other: DualNumber) -> DualNumber:
        return self + -other

    def __mul__(self, other: DualNumber) -> DualNumber:
        a, b = self, other
        return DualNumber(
            a.re * b.re - a.im * b.im,
            a.re * b.du + a.du * b.re - a.im * b.im_du - a.im_du * b.im,
            a.re * b.im + a.im * b.re,
            a.re * b.im_du + a.im * b.du + a.du * b.im + a.im_du * b.re,
        )

    def turned(self) -> DualNumber:
        """Return i times the number."""
        return DualNumber(-self.im, -self.im_du, self.re, self.du)

    def conjugate(self) -> DualNumber:
        """Return the number with the other imaginary parts."""
        return DualNumber(self.re, self.du, -self.im, -self.im_du)

    def doubled(self) -> DualNumber:
        """Return twice the number."""
        return DualNumber(*(2 * a for a in self.parts))

    def held(self, hold: Hold) -> DualNumber:
        """Return the number with names for its parts."""
        return DualNumber(*(hold(a) for a in self.parts))


def held(hold: Hold, numbers: Sequence[DualNumber]) -> list[DualNumber]:
    """Return numbers with names for their parts."""
    return [x.held(hold) for x in numbers]


def crossed(a: Sequence[DualNumber], b: Sequence[DualNumber]) -> list[DualNumber]:
    """Return the cross product of three numbers and three others."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def dotted(a: Sequence[DualNumber], b: Sequence[DualNumber]) -> DualNumber:
    """Return the sum of products."""
    found = DualNumber()
    for x, y in zip(a, b, strict=True):
        found = found + x * y
    return found
