"""Functions of a few instructions: square root, absolute value, sign, extremes, rounding.

Minimum and maximum give nan if either argument is nan, as NumPy's do; of two zeros of unlike sign
either may come back. The sign of a zero is that zero and the sign of nan is nan.
"""

from linkwright.backends.llvm.functions.emitter import Emitter


def sqrt(e: Emitter, x: str) -> list[str]:
    """Square root, correctly rounded; nan below zero."""
    return [e.sqrt(x)]


def absolute(e: Emitter, x: str) -> list[str]:
    """|x|."""
    return [e.abs(x)]


def sign(e: Emitter, x: str) -> list[str]:
    """1, -1, or x itself where it is zero or nan."""
    zero = e.const(0.0)
    below = e.select(e.compare("olt", x, zero), e.const(-1.0), x)
    return [e.select(e.compare("ogt", x, zero), e.const(1.0), below)]


def minimum(e: Emitter, a: str, b: str) -> list[str]:
    """The smaller of a and b."""
    return [_keep_nan(e, a, e.select(e.compare("olt", a, b), a, b))]


def maximum(e: Emitter, a: str, b: str) -> list[str]:
    """The larger of a and b."""
    return [_keep_nan(e, a, e.select(e.compare("ogt", a, b), a, b))]


def _keep_nan(e: Emitter, a: str, chosen: str) -> str:
    """`chosen` is b wherever a comparison was unordered; give a instead where a is nan."""
    return e.select(e.compare("uno", a, a), a, chosen)


def floor(e: Emitter, x: str) -> list[str]:
    """Largest whole number not above x."""
    return [e.intrinsic("floor", x)]


def ceil(e: Emitter, x: str) -> list[str]:
    """Smallest whole number not below x."""
    return [e.intrinsic("ceil", x)]


def trunc(e: Emitter, x: str) -> list[str]:
    """x without its fraction."""
    return [e.intrinsic("trunc", x)]
