"""Arithmetic with twice the digits of double precision, over arrays of states.

A number is a pair of arrays (high, low) whose exact sum it is, with low at most half a unit in the
last place of high: about 32 digits. Sums are Knuth's two-sum, products Dekker's (1971) with
Veltkamp's splitting, quotients and roots one Newton step beyond double precision; sine and cosine
are Taylor's series after taking away quarter turns of the circle with 48 digits of pi. Where a
result is not finite both parts are nan. Other functions have the accuracy of double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwright.algebra.functions import FUNCTIONS

Array: TypeAlias = npt.NDArray[np.float64]
Pair: TypeAlias = tuple[Array, Array]

_SPLITTER = 2.0**27 + 1
_PI = Fraction(3141592653589793238462643383279502884197169399375, 10**48)


def pair(x: npt.ArrayLike) -> Pair:
    """Return doubles as pairs.

    >>> high, low = over(pair(1.0), pair(3.0))
    >>> Fraction(float(high)) + Fraction(float(low)) - Fraction(1, 3) < Fraction(1, 10**32)
    True
    """
    values = np.asarray(x, dtype=np.float64)
    return values, np.zeros_like(values)


def plus(a: Pair, b: Pair) -> Pair:
    """Return a + b."""
    high, low = _two_sum(a[0], b[0])
    more, least = _two_sum(a[1], b[1])
    high, low = _quick_sum(high, low + more)
    return _quick_sum(high, low + least)


def minus(a: Pair, b: Pair) -> Pair:
    """Return a - b."""
    return plus(a, (-b[0], -b[1]))


def times(a: Pair, b: Pair) -> Pair:
    """Return a * b."""
    high, low = _two_product(a[0], b[0])
    return _quick_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def over(a: Pair, b: Pair) -> Pair:
    """Return a / b."""
    first = a[0] / b[0]
    rest = minus(a, times(b, (first, np.zeros_like(first))))
    second = rest[0] / b[0]
    rest = minus(rest, times(b, (second, np.zeros_like(second))))
    return plus(_quick_sum(first, second), pair(rest[0] / b[0]))


def root(a: Pair) -> Pair:
    """Return the square root of a."""
    first = np.sqrt(a[0])
    rest = minus(a, times(pair(first), pair(first)))
    step = np.where(first == 0, 0.0, rest[0] / np.where(first == 0, 1.0, 2 * first))
    return _quick_sum(first, step)


def sine(a: Pair, *, cosine: bool = False) -> Pair:
    """Return the sine or cosine of a."""
    turns = np.round(a[0] / (np.pi / 2))
    rest = a
    for part in _HALF_PI:
        rest = minus(rest, times(pair(turns), pair(part)))
    quarter = np.mod(turns + (1 if cosine else 0), 4)
    square = times(rest, rest)
    odd = times(rest, _series(square, _ODD))
    even = _series(square, _EVEN)
    sign = np.where(quarter >= 2, -1.0, 1.0)
    swap = np.mod(quarter, 2) == 1
    high, low = np.where(swap, even[0], odd[0]), np.where(swap, even[1], odd[1])
    return sign * high, sign * low


def _series(x: Pair, coefficients: list[Pair]) -> Pair:
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = plus(times(total, x), c)
    return total


def _two_sum(a: Array, b: Array) -> Pair:
    high = a + b
    back = high - a
    return high, (a - (high - back)) + (b - back)


def _quick_sum(a: Array, b: Array) -> Pair:
    high = a + b
    return high, b - (high - a)


def _two_product(a: Array, b: Array) -> Pair:
    high = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _split(a: Array) -> Pair:
    large = _SPLITTER * a
    high = large - (large - a)
    return high, a - high


def _parts(x: Fraction, count: int) -> list[float]:
    """Return doubles whose sum is a number."""
    found = []
    for _ in range(count):
        found.append(float(x))
        x -= Fraction(found[-1])
    return found


def _constants(first: int) -> list[Pair]:
    """Return +-1/n! for every second n up to 30."""
    return [
        (np.asarray(high), np.asarray(low))
        for n in range(first, 31, 2)
        for high, low in [_parts(Fraction((-1) ** (n // 2), factorial(n)), 2)]
    ]


_HALF_PI = _parts(_PI / 2, 3)
_ODD, _EVEN = _constants(1), _constants(0)


def _less(a: Pair, b: Pair) -> npt.NDArray[np.bool_]:
    return np.asarray((a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1])))


def _same(a: Pair, b: Pair) -> npt.NDArray[np.bool_]:
    return np.asarray((a[0] == b[0]) & (a[1] == b[1]))


def _chosen(condition: npt.NDArray[np.bool_], a: Pair, b: Pair) -> Pair:
    return np.where(condition, a[0], b[0]), np.where(condition, a[1], b[1])


def _floor(a: Pair) -> Pair:
    high = np.floor(a[0])
    return _quick_sum(high, np.where(high == a[0], np.floor(a[1]), 0.0))


_ZERO = pair(0.0)

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": plus,
    "sub": minus,
    "mul": times,
    "div": over,
    "neg": lambda a: (-a[0], -a[1]),
    "fma": lambda a, b, c: plus(times(a, b), c),
    "fms": lambda a, b, c: minus(times(a, b), c),
    "fnma": lambda a, b, c: minus(c, times(a, b)),
    "sqrt": root,
    "sin": sine,
    "cos": lambda a: sine(a, cosine=True),
    "abs": lambda a: _chosen(_less(a, _ZERO), (-a[0], -a[1]), a),
    "sign": lambda a: pair(np.sign(a[0])),
    "floor": _floor,
    "min": lambda a, b: _chosen(_less(b, a), b, a),
    "max": lambda a, b: _chosen(_less(a, b), b, a),
    "lt": _less,
    "le": lambda a, b: _less(a, b) | _same(a, b),
    "eq": _same,
    "ne": lambda a, b: ~_same(a, b),
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "number": lambda a: pair(np.where(a, 1.0, 0.0)),
    "select": _chosen,
}


def doubled(op: str, data: Any, args: list[Any]) -> Any:
    """Compute one instruction of lowered code: the arithmetic for `interpret.execute`."""
    if op == "const":
        return pair(data)
    known = _OPERATIONS.get(op)
    if known is not None:
        return known(*args)
    return pair(FUNCTIONS[op].evaluate(data, *(a[0] for a in args)))


__all__ = ["Array", "Pair", "doubled", "minus", "over", "pair", "plus", "root", "sine", "times"]
