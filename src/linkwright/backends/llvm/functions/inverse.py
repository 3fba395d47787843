"""Inverse trigonometric functions, without a branch.

atan: |x| is mapped into [-1/2, 1/2] by one division (x, (x-1)/(x+1) between 1/2 and 3, or -1/x),
and the multiple of π/4 that it stands for is added in two parts. atan2 does the same on the ratio
of the smaller to the larger magnitude, so that it neither overflows nor loses a small quotient.
asin and acos use asin x = π/2 - 2 asin √((1-x)/2) above one half. The polynomials are our own
minimax fits, relative error below 2^-57 (atan) and 2^-55 (asin).
"""

from linkwright.backends.llvm.functions.emitter import Emitter

HALF_PI = float.fromhex("0x1.921fb54442d18p+0")
HALF_PI_LOW = float.fromhex("0x1.1a62633145c07p-54")

ATAN_COEFFICIENTS = (
    float.fromhex("-0x1.5555555555516p-2"),
    float.fromhex("0x1.999999999113bp-3"),
    float.fromhex("-0x1.249249215da9dp-3"),
    float.fromhex("0x1.c71c7090d1600p-4"),
    float.fromhex("-0x1.745cf4c8ab15dp-4"),
    float.fromhex("0x1.3b113d967dcb7p-4"),
    float.fromhex("-0x1.10f31d534e3a7p-4"),
    float.fromhex("0x1.dfe95eb14ce08p-5"),
    float.fromhex("-0x1.a397f2653673dp-5"),
    float.fromhex("0x1.56f477f84e193p-5"),
    float.fromhex("-0x1.c17b85fa4bc76p-6"),
    float.fromhex("0x1.4b7de753caa02p-7"),
)
"""A in atan t = t + t³·A(t²), |t| ≤ 1/2."""

ASIN_COEFFICIENTS = (
    float.fromhex("0x1.555555555538ep-3"),
    float.fromhex("0x1.333333336ec42p-4"),
    float.fromhex("0x1.6db6db424b663p-5"),
    float.fromhex("0x1.f1c72c48feb7ep-6"),
    float.fromhex("0x1.6e89f2ae2a518p-6"),
    float.fromhex("0x1.1c6bfa3ec605dp-6"),
    float.fromhex("0x1.c6fbcb8adfc50p-7"),
    float.fromhex("0x1.8ed03ff25f905p-7"),
    float.fromhex("0x1.ab5980ca79c4cp-8"),
    float.fromhex("0x1.40475b2e46684p-6"),
    float.fromhex("-0x1.0a580d6247c79p-6"),
    float.fromhex("0x1.059c049e4c21ap-5"),
)
"""B in asin s = s + s³·B(s²), |s| ≤ 1/2."""


def atan(e: Emitter, x: str) -> list[str]:
    """Inverse tangent, in [-π/2, π/2] rad."""
    size, one = e.abs(x), e.const(1.0)
    middle = e.compare("ogt", size, e.const(0.5))
    large = e.compare("ogt", size, e.const(3.0))
    top = e.select(middle, e.sub(size, one), size)
    bottom = e.select(middle, e.add(size, one), one)
    top = e.select(large, e.const(-1.0), top)
    bottom = e.select(large, size, bottom)
    high = e.select(middle, e.const(HALF_PI / 2), e.const(0.0))
    high = e.select(large, e.const(HALF_PI), high)
    low = e.select(middle, e.const(HALF_PI_LOW / 2), e.const(0.0))
    low = e.select(large, e.const(HALF_PI_LOW), low)
    return [e.copysign(_atan_sum(e, e.div(top, bottom), high, low), x)]


def _atan_sum(e: Emitter, t: str, high: str, low: str) -> str:
    """high + low + atan t for |t| ≤ 1/2 and high zero or at least |t|."""
    z = e.mul(t, t)
    rest = e.fma(e.mul(t, z), e.horner(z, ATAN_COEFFICIENTS), low)
    total = e.add(high, t)
    lost = e.add(e.sub(high, total), t)
    return e.add(total, e.add(lost, rest))


def atan2(e: Emitter, y: str, x: str) -> list[str]:
    """Angle of the point (x, y), in [-π, π] rad, with C99's values at zeros and infinities."""
    zero, one = e.const(0.0), e.const(1.0)
    across, up = e.abs(x), e.abs(y)
    steep = e.compare("ogt", up, across)
    larger = e.select(steep, up, across)
    smaller = e.select(steep, across, up)
    # both infinite: any equal pair; both zero: the quotient 0/1
    endless = e.compare("oeq", smaller, e.const(float("inf")))
    smaller = e.select(endless, one, smaller)
    larger = e.select(endless, one, larger)
    larger = e.select(e.compare("oeq", larger, zero), one, larger)
    # keep the sum of the two below the largest double
    huge = e.compare("ogt", larger, e.const(2.0**1020))
    scale = e.select(huge, e.const(2.0**-4), one)
    smaller, larger = e.mul(smaller, scale), e.mul(larger, scale)
    middle = e.compare("ogt", smaller, e.mul(larger, e.const(0.5)))
    top = e.select(middle, e.sub(smaller, larger), smaller)
    bottom = e.select(middle, e.add(smaller, larger), larger)
    t = e.div(top, bottom)
    # the angle is an eighth-turn count of π/4 plus or minus atan t
    backward = e.int_compare("slt", e.to_bits(x), e.int_const(0))
    reflected = e.differ(steep, backward)
    base = e.select(backward, e.const(4.0), zero)
    base = e.select(steep, e.const(2.0), base)
    step = e.select(middle, one, zero)
    step = e.select(reflected, e.neg(step), step)
    count = e.add(base, step)
    quarter, quarter_low = e.const(HALF_PI / 2), e.const(HALF_PI_LOW / 2)
    high = e.mul(count, quarter)
    low = e.fma(count, quarter_low, e.fma(count, quarter, e.neg(high)))
    t = e.select(reflected, e.neg(t), t)
    value = _atan_sum(e, t, high, low)
    value = e.select(e.compare("uno", x, y), e.const(float("nan")), value)
    return [e.copysign(value, y)]


def _asin_parts(e: Emitter, size: str, large: str) -> tuple[str, str]:
    """s and its correction: s + rest is asin of |x|, or of √((1-|x|)/2) where `large` holds."""
    half = e.const(0.5)
    z = e.select(large, e.fma(size, e.const(-0.5), half), e.mul(size, size))
    s = e.select(large, e.sqrt(z), size)
    return s, e.mul(e.mul(s, z), e.horner(z, ASIN_COEFFICIENTS))


def asin(e: Emitter, x: str) -> list[str]:
    """Inverse sine, in [-π/2, π/2] rad; nan outside [-1, 1]."""
    size = e.abs(x)
    large = e.compare("ogt", size, e.const(0.5))
    s, rest = _asin_parts(e, size, large)
    minus_two, half_pi = e.const(-2.0), e.const(HALF_PI)
    turned = e.fma(s, minus_two, half_pi)
    lost = e.fma(s, minus_two, e.sub(half_pi, turned))
    base = e.select(large, turned, s)
    low = e.add(lost, e.const(HALF_PI_LOW))
    correction = e.select(large, e.fma(rest, minus_two, low), rest)
    return [e.copysign(e.add(base, correction), x)]


def acos(e: Emitter, x: str) -> list[str]:
    """Inverse cosine, in [0, π] rad; nan outside [-1, 1]."""
    size, zero = e.abs(x), e.const(0.0)
    large = e.compare("ogt", size, e.const(0.5))
    s, rest = _asin_parts(e, size, large)
    below = e.compare("olt", x, zero)
    # acos x = offset + factor·asin: π/2 ∓ asin|x|, 2 asin s, or π - 2 asin s
    factor = e.select(large, e.const(2.0), e.const(-1.0))
    factor = e.select(below, e.neg(factor), factor)
    turn = e.select(below, e.const(2.0), zero)
    turn = e.select(large, turn, e.const(1.0))
    base = e.fma(s, factor, e.mul(turn, e.const(HALF_PI)))
    correction = e.fma(rest, factor, e.mul(turn, e.const(HALF_PI_LOW)))
    return [e.add(base, correction)]
