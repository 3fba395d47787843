"""The numbers of the array: 32 bits in two's complement, in units of 2⁻³⁰, between −2 and 2.

Everything is cut toward zero, as in the printed display of the SCAP simulator (J. Funda, *SCAP
Simulator/Debugger*, University of Pennsylvania, 1988). A result that does not fit is fatal:
`ArrayFault`. All functions take whole numbers or arrays of them and return arrays of 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import DomainError, InputError

Words = Any  # an array of np.int64, or one of them
"""Words of the array, each between `LEAST` and `MOST`."""

ONE = 1 << 30
LEAST, MOST = -(1 << 31), (1 << 31) - 1
_BEYOND = 1 << 40  # no quotient of words is as large: it stands for x/0


class ArrayFault(DomainError):
    """A fatal error in a processing element: an overflow, or a unit that was used too early.

    Args:
        what: what was wrong, in one sentence without a final full stop.
        remedy: what the caller can do about it.
        code: its number, where it has one.
        elements: which entries of the operands it concerns, counted from 0.

    Example:
        >>> print(ArrayFault("the sum does not fit", remedy="scale the data"))
        the sum does not fit; scale the data
    """

    def __init__(
        self,
        what: str,
        *,
        remedy: str | None = None,
        code: str | None = None,
        elements: tuple[int, ...] = (),
    ) -> None:
        super().__init__(what, remedy=remedy, code=code)
        self.elements = elements


def to_words(values: ArrayLike) -> Words:
    """Return numbers as words, cut toward zero.

    Args:
        values: numbers between −2 and 2, without those two.

    Example:
        >>> int(to_words(0.02)), f"{float(to_numbers(to_words(0.02))):.16f}"
        (21474836, '0.0199999995529652')
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("words are made of numbers", remedy="give numbers") from None
    bad = ~(np.abs(numbers) < 2)  # what is not a number too
    if bad.any():
        worst = numbers[bad].ravel()[0]
        raise ArrayFault(
            f"{worst:g} is out of the range (−2, 2)",
            remedy="scale the data, and the result back",
            elements=_where(bad),
        )
    return np.trunc(numbers * ONE).astype(np.int64)


def to_numbers(words: ArrayLike) -> NDArray[np.float64]:
    """Return words as numbers, exactly.

    Args:
        words: whole numbers in units of 2⁻³⁰.

    Example:
        >>> float(to_numbers(3 << 29))
        1.5
    """
    return np.asarray(words, dtype=np.int64) / ONE


def add(a: Words, b: Words) -> Words:
    """Return a + b.

    >>> float(to_numbers(add(to_words(0.5), to_words(0.25))))
    0.75
    """
    return _kept(np.asarray(a + b), "sum")


def subtract(a: Words, b: Words) -> Words:
    """Return a − b exactly, as the array does it in two cycles: the complement of (~a + b).

    >>> float(to_numbers(subtract(to_words(0.5), to_words(0.75))))
    -0.25
    """
    return ~add(~a, b)


def magnitude(a: Words) -> Words:
    """Return the larger of a and its one's complement: |a|, one unit less where a is negative.

    >>> [int(magnitude(np.int64(a))) for a in (5, 0, -5)]
    [5, 0, 4]
    """
    return np.maximum(a, ~a)


def multiply(a: Words, b: Words) -> Words:
    """Return a·b, cut toward zero.

    >>> float(to_numbers(multiply(to_words(0.08), to_words(0.04))))
    0.0031999992206692696
    """
    whole = np.asarray(a * b)  # of 62 bits and the sign at most
    return _kept(np.where(whole < 0, -(-whole >> 30), whole >> 30), "product")


def divide(a: Words, b: Words) -> Words:
    """Return a/b, cut toward zero; 0/0 is 0, and anything else over 0 does not fit.

    >>> [float(to_numbers(divide(to_words(a), to_words(b)))) for a, b in ((0.5, -1), (0, 0))]
    [-0.5, 0.0]
    """
    a, b = np.broadcast_arrays(a, b)
    top, bottom = np.abs(a), np.abs(b)
    quotient = (top << 30) // np.maximum(bottom, 1)
    quotient = np.where((bottom == 0) & (top != 0), _BEYOND, quotient)
    return _kept(np.where((a < 0) != (b < 0), -quotient, quotient), "quotient")


def normalize(x: Words, y: Words) -> tuple[Words, Words]:
    """Return x and y times one power of two: |x| then is in [1, 2), if y can go that far too.

    Example:
        >>> x, y = normalize(to_words(0.04), to_words(0.02))
        >>> f"{float(to_numbers(x)):.16f} {float(to_numbers(y)):.16f}"
        '1.2799999713897705 0.6399999856948853'
    """
    largest = np.maximum(magnitude(x), magnitude(y))
    # magnitude(-2**k) is 2**k - 1: a negative power of two is shifted as far as its word allows
    room = 31 - np.frexp(largest.astype(np.float64))[1]
    own = np.where(x != 0, 31 - np.frexp(np.abs(x).astype(np.float64))[1], room)
    shift = np.clip(np.minimum(room, own), 0, 30)
    return x << shift, y << shift


def _kept(words: NDArray[Any], what: str) -> Words:
    """Return words that fit."""
    if words.size and (words.max() > MOST or words.min() < LEAST):
        bad = (words > MOST) | (words < LEAST)
        first = int(words[bad].ravel()[0])
        shown = "x/0" if abs(first) == _BEYOND else f"{first / ONE:.6g}"
        raise ArrayFault(
            f"overflow: the {what} is {shown}, out of the range [−2, 2)",
            remedy="scale the data, and the result back",
            elements=_where(bad),
        )
    return words


def _where(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(bad))
