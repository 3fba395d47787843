"""Exact and floating constants, each value with one representation.

Whole numbers and small rationals are exact (`int`, `Fraction`); every other value is a `float`. Two
equal values always have the same representation, so that equal expressions can be the same object:
a float that is a small dyadic rational (2.0, 0.5, -0.125) becomes exact, and an exact number that
grows past what a float holds without rounding becomes a float.
"""

from __future__ import annotations

import math
import numbers
import struct
from fractions import Fraction
from typing import TypeAlias

from linkwright.base.errors import Error

Number: TypeAlias = int | Fraction | float

_LIMIT = 2**53
_DIGEST_MASK = (1 << 60) - 1
_DYADIC_LIMIT = 1024
_LARGEST_EXACT_EXPONENT = 1100


class NumberError(Error):
    """A constant that cannot stand in an expression (nan, complex, too large)."""


def number(value: object) -> Number:
    """Return the one representation of a numeric value.

    >>> number(2.0), number(0.5), number(0.1)
    (2, Fraction(1, 2), 0.1)
    """
    if type(value) is int:
        return value if -_LIMIT <= value <= _LIMIT else _too_long(value)
    if type(value) is float:
        return _from_float(value)
    if isinstance(value, Fraction):
        return _from_fraction(value)
    if isinstance(value, numbers.Integral):
        return number(int(value))
    if isinstance(value, numbers.Real):
        return _from_float(float(value))
    raise NumberError(f"{value!r} is not a real number")


def _too_long(value: int) -> Number:
    try:
        return _from_float(float(value))
    except OverflowError:
        raise NumberError("a constant is larger than the largest float") from None


def _from_float(value: float) -> Number:
    if value.is_integer():
        return int(value) if abs(value) <= _LIMIT else value
    if value != value:
        raise NumberError("nan is not a constant; an expression cannot hold it")
    if math.isinf(value):
        return value
    numerator, denominator = value.as_integer_ratio()
    if denominator <= _DYADIC_LIMIT and abs(numerator) <= _LIMIT:
        return Fraction(numerator, denominator)
    return value


def _from_fraction(value: Fraction) -> Number:
    numerator, denominator = value.numerator, value.denominator
    if denominator == 1:
        return number(numerator)
    if abs(numerator) > _LIMIT or denominator > _LIMIT:
        return _from_float(numerator / denominator)
    if denominator > _DYADIC_LIMIT and denominator & (denominator - 1) == 0:
        return numerator / denominator
    return value


def times(a: Number, b: Number) -> Number:
    """Return the product of two constants in canonical form."""
    product = a * b
    if type(product) is int and -_LIMIT <= product <= _LIMIT:
        return product
    return number(product)


def plus(a: Number, b: Number) -> Number:
    """Return the sum of two constants in canonical form."""
    total = a + b
    if type(total) is int and -_LIMIT <= total <= _LIMIT:
        return total
    return number(total)


def size(a: Number) -> Number:
    """Return the absolute value of a constant."""
    return a if a >= 0 else -a


def over(a: Number, b: Number) -> Number:
    """Return a/b where the quotient is exact: b divides a, or is 1 or -1, or has the size of a."""
    if a == b:
        return 1
    if type(a) is int and type(b) is int:
        return a // b
    return times(-1, a) if b == -1 else number(a / b)


def power(base: Number, exponent: int) -> Number:
    """Return `base` to a whole exponent in canonical form.

    >>> power(2, -2), power(3, 2)
    (Fraction(1, 4), 9)
    """
    if base == 0 and exponent < 0:
        raise NumberError("division by zero: a denominator is identically 0")
    if abs(exponent) > _LARGEST_EXACT_EXPONENT and abs(base) != 1:
        base = float(base)
    if isinstance(base, float):
        try:
            return number(base**exponent)
        except OverflowError:
            raise NumberError(f"{base}**{exponent} is larger than the largest float") from None
    return number(base**exponent if exponent >= 0 else Fraction(1) / Fraction(base) ** -exponent)


def number_digest(value: Number) -> int:
    """Return a non-negative integer that identifies the value, the same in every process."""
    if type(value) is int:
        return 2 * value if value >= 0 else -2 * value - 1
    if isinstance(value, Fraction):
        return hash((number_digest(value.numerator), value.denominator, 7)) & _DIGEST_MASK
    return hash((*struct.unpack(">II", struct.pack(">d", value)), 11)) & _DIGEST_MASK


def number_text(value: Number) -> str:
    """Return the constant as people write it: `0.5` rather than `1/2`, `1/3` where exact.

    >>> number_text(Fraction(1, 2)), number_text(Fraction(1, 3)), number_text(1e-9)
    ('0.5', '1/3', '1e-09')
    """
    if isinstance(value, Fraction) and value.denominator & (value.denominator - 1) == 0:
        return repr(float(value))
    return str(value) if isinstance(value, Fraction) else repr(value)
