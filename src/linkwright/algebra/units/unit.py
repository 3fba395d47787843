"""A unit: exponents over the base dimensions and a factor to SI.

Angle is a dimension of its own, so that rad/s and 1/s, N*m and N*m/rad are distinguished where they
are shown; but a radian is the number 1, so angle never makes two units incompatible.

Equations are unit-neutral (AUTOSIM, section 9.1): values are converted where they enter and leave,
and the factor matters only there. It is held as an exact number times a power of pi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from linkwright.algebra.numbers import Number, number
from linkwright.base.errors import UnitError

DIMENSIONS = ("length", "mass", "time", "angle", "current", "temperature")
LENGTH, MASS, TIME, ANGLE, CURRENT, TEMPERATURE = range(6)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement.

    >>> from linkwright.algebra.units import parse_unit
    >>> parse_unit("N") * parse_unit("m") / parse_unit("s")
    W
    """

    exponents: tuple[int | Fraction, ...]
    scale: Number = 1
    pi: int = 0
    name: str = field(default="", compare=False)

    @property
    def factor(self) -> float:
        """What one of this unit is in SI."""
        return float(self.scale) * math.pi**self.pi

    @property
    def is_dimensionless(self) -> bool:
        """Whether this is a number or an angle."""
        return not any(e for i, e in enumerate(self.exponents) if i != ANGLE)

    @property
    def si(self) -> Unit:
        """The coherent SI unit of the same dimension."""
        return Unit(self.exponents)

    def __mul__(self, other: Unit) -> Unit:
        exponents = tuple(
            [_whole(a + b) for a, b in zip(self.exponents, other.exponents, strict=True)]
        )
        return Unit(exponents, number(self.scale * other.scale), self.pi + other.pi)

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __pow__(self, exponent: int | Fraction) -> Unit:
        power = Fraction(exponent)
        exponents = tuple([_whole(e * power) for e in self.exponents])
        if power.denominator == 1 and not isinstance(self.scale, float):
            scale = number(Fraction(self.scale) ** power.numerator)
            return Unit(exponents, scale, self.pi * power.numerator)
        pi = self.pi * power
        if pi.denominator == 1:
            return Unit(exponents, number(float(self.scale) ** float(power)), pi.numerator)
        return Unit(exponents, number(self.factor ** float(power)))

    def fits(self, other: Unit) -> bool:
        """Whether both measure the same kind of quantity; a radian counts as 1.

        >>> from linkwright.algebra.units import parse_unit
        >>> parse_unit("rpm").fits(parse_unit("1/s")), parse_unit("kg").fits(parse_unit("N"))
        (True, False)
        """
        return all(
            a == b
            for i, (a, b) in enumerate(zip(self.exponents, other.exponents, strict=True))
            if i != ANGLE
        )

    def stands_for(self, other: Unit) -> bool:
        """Whether a value in this unit can be given in another.

        K cannot be given for degC, nor Hz for rad/s, which some take as 1 and others as 2 pi.

        >>> from linkwright.algebra.units import parse_unit
        >>> parse_unit("K").stands_for(parse_unit("degC")), parse_unit("K").fits(parse_unit("degC"))
        (False, True)
        >>> parse_unit("Hz").stands_for(parse_unit("rad/s"))
        False
        """
        if (self.name == "degC") != (other.name == "degC"):
            return False
        cycles = any(
            a.name.endswith("Hz") and b.exponents[ANGLE] for a, b in ((self, other), (other, self))
        )
        return self.fits(other) and not cycles

    def to(self, other: Unit) -> float:
        """Return the number that takes a value in this unit to the value in another.

        >>> from linkwright.algebra.units import parse_unit
        >>> parse_unit("ft").to(parse_unit("in"))
        12.0
        """
        if not self.fits(other):
            raise UnitError(
                f"{self} cannot be converted to {other}",
                remedy=f"their dimensions are {dimension_text(self)} and {dimension_text(other)}",
            )
        if isinstance(self.scale, float) or isinstance(other.scale, float):
            ratio = float(self.scale) / float(other.scale)
        else:
            ratio = float(Fraction(self.scale) / Fraction(other.scale))
        return ratio * math.pi ** (self.pi - other.pi)

    def __str__(self) -> str:
        from linkwright.algebra.units.display import unit_text

        return self.name or unit_text(self)

    __repr__ = __str__


def _whole(exponent: int | Fraction) -> int | Fraction:
    """Return the exponent as an integer where it is one."""
    if isinstance(exponent, int) or exponent.denominator != 1:
        return exponent
    return exponent.numerator


def base_unit(dimension: int, scale: Number = 1, pi: int = 0) -> Unit:
    """Return a unit of one base dimension."""
    exponents = tuple(int(i == dimension) for i in range(len(DIMENSIONS)))
    return Unit(exponents, scale, pi)


ONE_UNIT = Unit((0,) * len(DIMENSIONS))


def dimension_text(unit: Unit) -> str:
    """Return the dimension of a unit in words.

    >>> from linkwright.algebra.units import parse_unit
    >>> dimension_text(parse_unit("m/s^2"))
    'length time^-2'
    """
    words = [
        word if e == 1 else f"{word}^{e}"
        for word, e in zip(DIMENSIONS, unit.exponents, strict=True)
        if e
    ]
    return " ".join(words) or "none"


@lru_cache(maxsize=4096)
def without_needless_angle(unit: Unit) -> Unit:
    """Return a unit with radians left out where engineers leave them out.

    A radius times rad/s is m/s, and a torque by rad/s^2 is kg*m^2; but N*m/rad, N/rad and rad/s
    keep their radian. The rule: beside a length or a mass a radian is dropped from above the bar,
    and from below it where no time is involved.
    """
    exponents = unit.exponents
    angle = exponents[ANGLE]
    material = any(exponents[i] for i in (LENGTH, MASS, CURRENT, TEMPERATURE))
    if angle == 0 or not material or (angle < 0 and exponents[TIME] != 0):
        return unit
    return Unit(
        tuple(0 if i == ANGLE else e for i, e in enumerate(exponents)),
        unit.scale,
        unit.pi,
    )
