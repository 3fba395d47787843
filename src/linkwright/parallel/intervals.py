"""Arithmetic with intervals that hold every real result: rigorous, and fast on arrays.

An interval is a pair of arrays, lower and upper ends. Sums, products, quotients and roots of
doubles are rounded to nearest by the processor (IEEE 754), so an end that is moved outward by one
unit in the last place is on the safe side; nothing here trusts a library's sine. Sine and cosine
come from their Taylor series after a reduction by multiples of pi/2 that is itself done in
intervals (Moore, Kearfott and Cloud, *Introduction to Interval Analysis*, 2009; the reduction is
that of Cody and Waite). `ball_arithmetic` does the same with the balls of python-flint, to any
precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import DomainError
from linkwright.base.optional import extra
from linkwright.program import Code
from linkwright.program.interpret import execute

Array = NDArray[np.float64]
Interval = tuple[Any, Any]

_ULP = 2.0**-52
_TINY = 1e-300
# pi/2 in three parts; the first two have few bits, so that whole multiples of them are exact
_FIRST = 1.570796325802803
_SECOND = 9.920935791635221e-10
_THIRD = (5.170182981794105e-19, 5.170182981794106e-19)
_TURNS = 2.0**19
_TERMS = 11


def evaluated(code: Code, inputs: Sequence[Interval]) -> list[Interval]:
    """Return intervals that hold the outputs of a lowered Program, entry by entry."""
    return execute(code, inputs, interval_arithmetic)


def exact(x: Any) -> Interval:
    """Return the interval of a number alone."""
    return x, x


def middle_and_radius(x: Interval) -> tuple[Array, Array]:
    """Return a middle and a radius that hold an interval."""
    low, high = np.asarray(x[0], float), np.asarray(x[1], float)
    middle = 0.5 * (low + high)
    return middle, _up(np.maximum(high - middle, middle - low))


def interval_arithmetic(op: str, data: Any, args: list[Interval]) -> Interval:
    """Return the interval of one instruction; one that has no rule is refused by name."""
    if op == "const":
        return float(data), float(data)
    rule = _RULES.get(op)
    if rule is None:
        raise DomainError(
            f"intervals have no rule for {op!r}",
            remedy="a proof needs relations of sums, products, quotients, roots, sines and cosines",
        )
    found: Interval = rule(*args)
    return found


def _down(x: Any) -> Any:
    return x - (np.abs(x) * _ULP + _TINY)


def _up(x: Any) -> Any:
    return x + (np.abs(x) * _ULP + _TINY)


def _add(a: Interval, b: Interval) -> Interval:
    return _down(a[0] + b[0]), _up(a[1] + b[1])


def _subtract(a: Interval, b: Interval) -> Interval:
    return _down(a[0] - b[1]), _up(a[1] - b[0])


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _multiply(a: Interval, b: Interval) -> Interval:
    if a[0] is a[1] and b[0] is b[1]:
        product = a[0] * b[0]
        return _down(product), _up(product)
    if a[0] is a[1]:
        p, q = a[0] * b[0], a[0] * b[1]
        return _down(np.minimum(p, q)), _up(np.maximum(p, q))
    if b[0] is b[1]:
        return _multiply(b, a)
    if a is b:
        return _square(a)
    p, q, r, s = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    low = np.minimum(np.minimum(p, q), np.minimum(r, s))
    return _down(low), _up(np.maximum(np.maximum(p, q), np.maximum(r, s)))


def _square(a: Interval) -> Interval:
    p, q = a[0] * a[0], a[1] * a[1]
    low = np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.maximum(_down(np.minimum(p, q)), 0.0))
    return low, _up(np.maximum(p, q))


def _divide(a: Interval, b: Interval) -> Interval:
    around = (b[0] <= 0) & (b[1] >= 0)
    low = np.where(around, -np.inf, _down(1.0 / np.where(around, 1.0, b[1])))
    high = np.where(around, np.inf, _up(1.0 / np.where(around, 1.0, b[0])))
    inside, outside = _multiply(a, (low, high))
    return np.where(around, -np.inf, inside), np.where(around, np.inf, outside)


def _root(a: Interval) -> Interval:
    low = np.maximum(_down(np.sqrt(np.maximum(a[0], 0.0))), 0.0)
    high = np.where(a[1] >= 0, _up(np.sqrt(np.maximum(a[1], 0.0))), np.nan)
    return np.where(a[0] < 0, np.nan, low), np.where(a[0] < 0, np.nan, high)


def _absolute(a: Interval) -> Interval:
    low = np.maximum(np.maximum(a[0], -a[1]), 0.0)
    return low, np.maximum(-a[0], a[1])


def _minimum(a: Interval, b: Interval) -> Interval:
    return np.minimum(a[0], b[0]), np.minimum(a[1], b[1])


def _maximum(a: Interval, b: Interval) -> Interval:
    return np.maximum(a[0], b[0]), np.maximum(a[1], b[1])


def _sine(a: Interval) -> Interval:
    return _waves(a)[0]


def _cosine(a: Interval) -> Interval:
    return _waves(a)[1]


def _waves(a: Interval) -> tuple[Interval, Interval]:
    """Return sine and cosine of an interval."""
    middle, radius = middle_and_radius(a)
    sine, cosine = waves_at_points(middle)
    ones = np.ones_like(middle)
    near = _down(1.0 - _up(0.5 * _up(radius * radius))), ones
    small = -radius, radius
    # sin(m + t) = sin m cos t + cos m sin t with |sin t| <= |t| and 1 - t^2/2 <= cos t <= 1
    first = _add(_multiply(sine, near), _multiply(cosine, small))
    second = _subtract(_multiply(cosine, near), _multiply(sine, small))
    wide = ~(radius < 1.0) | ~(np.abs(middle) < _TURNS)
    return _clipped(first, wide), _clipped(second, wide)


def _clipped(x: Interval, wide: Any) -> Interval:
    low, high = np.where(wide, -1.0, x[0]), np.where(wide, 1.0, x[1])
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def waves_at_points(m: Array) -> tuple[Interval, Interval]:
    """Return sine and cosine of numbers as intervals, by series about multiples of pi/2."""
    safe = np.where(np.abs(m) < _TURNS, m, 0.0)
    k = np.rint(safe / (np.pi / 2))
    x = _subtract(exact(safe), exact(k * _FIRST))
    x = _subtract(x, exact(k * _SECOND))
    x = _subtract(x, _multiply(exact(k), (np.full_like(k, _THIRD[0]), np.full_like(k, _THIRD[1]))))
    square = _square(x)
    s, c = _series(square, 1), _series(square, 0)
    s = _multiply(x, s)
    turn = np.mod(k, 4.0)
    sine = _chosen(turn, (s, c, _negative(s), _negative(c)))
    cosine = _chosen(turn, (c, _negative(s), _negative(c), s))
    return sine, cosine


def _chosen(turn: Array, given: tuple[Interval, Interval, Interval, Interval]) -> Interval:
    low = np.choose(turn.astype(int), [g[0] for g in given])
    high = np.choose(turn.astype(int), [g[1] for g in given])
    return low, high


def _series(square: Interval, odd: int) -> Interval:
    """Return sin(x)/x or cos(x) from x^2 below 0.65: 1 - x^2/(1*2) (1 - x^2/(3*4) (1 - ...))."""
    # the series alternates and falls: what is left out, in parentheses, is between 0.9 and 1
    found: Interval = (np.full_like(square[0], 0.9), np.full_like(square[0], 1.0))
    for n in range(_TERMS - 1, -1, -1):
        factor = float((2 * n + 1 + odd) * (2 * n + 2 + odd))
        step = _divide(_multiply(square, found), exact(np.float64(factor)))
        found = _subtract(exact(np.float64(1.0)), step)
    return found


_RULES: dict[str, Any] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "neg": _negative,
    "fma": lambda a, b, c: _add(_multiply(a, b), c),
    "fms": lambda a, b, c: _subtract(_multiply(a, b), c),
    "fnma": lambda a, b, c: _subtract(c, _multiply(a, b)),
    "sqrt": _root,
    "abs": _absolute,
    "min": _minimum,
    "max": _maximum,
    "sin": _sine,
    "cos": _cosine,
}


# -- balls -----------------------------------------------------------------------------------------
def ball_arithmetic(op: str, data: Any, args: list[Any]) -> Any:
    """Return the ball of python-flint of one instruction; one that has no rule is refused by name.

    Needs the extra `certify`.
    """
    flint = extra("flint", "certify")
    if op == "const":
        return flint.arb(float(data))
    rule = _BALL_RULES.get(op)
    if rule is None:
        raise DomainError(f"balls have no rule for {op!r}")
    return rule(*args)


_BALL_RULES: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sqrt": lambda a: a.sqrt(),
    "abs": abs,
    "min": lambda a, b: a.min(b),
    "max": lambda a, b: a.max(b),
    "sin": lambda a: a.sin(),
    "cos": lambda a: a.cos(),
    "tan": lambda a: a.tan(),
    "asin": lambda a: a.asin(),
    "acos": lambda a: a.acos(),
    "atan": lambda a: a.atan(),
    "atan2": lambda a, b: type(a).atan2(a, b),
    "exp": lambda a: a.exp(),
    "log": lambda a: a.log(),
    "sinh": lambda a: a.sinh(),
    "cosh": lambda a: a.cosh(),
    "tanh": lambda a: a.tanh(),
    "pow": lambda a, b: a**b,
}
