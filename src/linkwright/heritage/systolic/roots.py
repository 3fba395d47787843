"""The square root of the array: without a branch, from a seed and one step of Newton.

With X = max(|x|, r), u = min(|x|, r)/X and w = u², √(r² + x²) = X·√(1 + w). The seed f₀ of √(1 + w)
is the quadratic polynomial of least largest error (6.4e-4) on [0, 1]; a step of Newton,
(f₀ + (1 + w)/f₀)/2, leaves 2.1e-7. After the report's appendix A.4, section 4.6.2, whose printed
coefficients are lost. 1 + w may reach 2, which no word holds, so h = f₀/2 and q = (1 + w)/4 are
computed instead: √(1 + w) ≈ h + q/h.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.heritage.systolic import fixed

SEED = (1.00064469, 0.48492551, -0.07226837)
"""f₀ = SEED[0] + SEED[1]·w + SEED[2]·w²."""

HALVES = tuple(int(fixed.to_words(a / 2)) for a in SEED)
"""The coefficients of h = f₀/2, as words."""

QUARTER = fixed.ONE // 4


def root(r: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
    """Return √(r² + x²) by the seed and one step of Newton, in floats.

    Args:
        r: at least 0.
        x: any.

    Example:
        >>> abs(float(root(3.0, -4.0)) - 5) < 5e-6
        True
        >>> float(root(0.0, 0.0))
        0.0
    """
    try:
        a, b = np.abs(np.asarray(r, dtype=np.float64)), np.abs(np.asarray(x, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError("the root is of numbers") from None
    large, small = np.maximum(a, b), np.minimum(a, b)
    w = (small / np.where(large == 0, 1.0, large)) ** 2
    h = (SEED[0] + w * (SEED[1] + w * SEED[2])) / 2
    return np.asarray(large * (h + (1 + w) / 4 / h))


def fixed_root(r: NDArray[Any], x: NDArray[Any]) -> fixed.Words:
    """Return √(r² + x²) in words, as the array computes it.

    Example:
        >>> t = fixed_root(fixed.to_words(0.3), fixed.to_words(-0.4))
        >>> abs(float(fixed.to_numbers(t)) - 0.5) < 5e-7
        True
    """
    size = fixed.magnitude(x)
    large, small = np.maximum(size, r), np.minimum(size, r)
    u = fixed.divide(small, large)
    w = fixed.multiply(u, u)
    inner = fixed.add(fixed.multiply(w, np.int64(HALVES[2])), np.int64(HALVES[1]))
    h = fixed.add(fixed.multiply(inner, w), np.int64(HALVES[0]))
    q = fixed.add(fixed.multiply(w, np.int64(QUARTER)), np.int64(QUARTER))
    return fixed.multiply(large, fixed.add(h, fixed.divide(q, h)))
