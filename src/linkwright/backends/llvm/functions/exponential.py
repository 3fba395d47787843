"""Exponential, logarithm and power, without a branch.

exp: x = n·ln 2 + r, |r| ≤ (ln 2)/2, e^r = 1 + r + r²·Q(r) with a minimax Q, scaled by 2^n in two
steps so that subnormal results come out rounded once.

tanh: the same e^r - 1 = r + r²·Q(r) without the 1, so that nothing cancels near zero.

log: x = 2^k·m with m in [√½, √2), s = (m-1)/(m+1), log m = 2 artanh s. The arrangement of the
last sum is the published one of fdlibm's e_log.c (Sun Microsystems, 1993); the coefficients are
our own fit.

pow: log x as an unevaluated sum of two doubles (about 66 bits), times y, then exp of both parts.
The error-free sums and products are those of T. J. Dekker, *Numerische Mathematik* 18 (1971),
with FMA.
"""

from linkwright.backends.llvm.functions.emitter import Emitter

LN2_HIGH = float.fromhex("0x1.62e42fefa39efp-1")
LN2_LOW = float.fromhex("0x1.abc9e3b39803fp-56")
LN2_SHORT = float.fromhex("0x1.62e42fee00000p-1")
LN2_REST = float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2 as the nearest double and its rest, and as 32 bits and their rest (k·LN2_SHORT is exact)."""

LOG2_E = 1.4426950408889634
ROUNDER = 1.5 * 2.0**52
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
ONE_BITS = 0x3FF0000000000000

EXP_COEFFICIENTS = (
    float.fromhex("0x1.000000000000ap-1"),
    float.fromhex("0x1.55555555554fap-3"),
    float.fromhex("0x1.555555555087cp-5"),
    float.fromhex("0x1.1111111127be7p-7"),
    float.fromhex("0x1.6c16c1842a147p-10"),
    float.fromhex("0x1.a01a012a56ed6p-13"),
    float.fromhex("0x1.a0199a0c601d7p-16"),
    float.fromhex("0x1.71df25540e6b0p-19"),
    float.fromhex("0x1.28ad72d2dd387p-22"),
    float.fromhex("0x1.ad7f6c022bccep-26"),
)
"""Q in e^r = 1 + r + r²·Q(r), relative error below 2^-56."""

LOG_COEFFICIENTS = (
    float.fromhex("0x1.5555555555592p-1"),
    float.fromhex("0x1.999999997ff4ep-2"),
    float.fromhex("0x1.24924941dd2eap-2"),
    float.fromhex("0x1.c71c52181c813p-3"),
    float.fromhex("0x1.74663c1ec342ep-3"),
    float.fromhex("0x1.39a1fd8cdb7b2p-3"),
    float.fromhex("0x1.2f02ee4720122p-3"),
)
"""L in 2 artanh s = 2s + s³·L(s²), relative error below 2^-59."""

ARTANH_TAIL = (
    float.fromhex("0x1.9999999999996p-3"),
    float.fromhex("0x1.2492492492f51p-3"),
    float.fromhex("0x1.c71c71c5968bep-4"),
    float.fromhex("0x1.745d18295a4edp-4"),
    float.fromhex("0x1.3b1364c7c7179p-4"),
    float.fromhex("0x1.11206f78e38f3p-4"),
    float.fromhex("0x1.de3d626cf620dp-5"),
    float.fromhex("0x1.eac6448073dd5p-5"),
)
"""T in artanh s = s + s³/3 + s⁵·T(s²), relative error below 2^-73."""


def exp(e: Emitter, x: str) -> list[str]:
    """e^x: inf above the range, 0 below it, subnormal results correctly scaled."""
    return [_exp_of_sum(e, _clamped(e, x), None)]


def _clamped(e: Emitter, x: str) -> str:
    """x held where the result is already 0 or inf; nan passes."""
    low, high = e.const(-746.0), e.const(710.0)
    held = e.select(e.compare("olt", x, low), low, x)
    return e.select(e.compare("ogt", held, high), high, held)


def _exp_of_sum(e: Emitter, x: str, rest: str | None) -> str:
    """e^(x + rest) for clamped x and a rest that is at most a few units in its last place."""
    rounder = e.const(ROUNDER)
    shifted = e.fma(x, e.const(LOG2_E), rounder)
    n = e.sub(shifted, rounder)
    r = e.fma(n, e.const(-LN2_HIGH), x)
    r = e.fma(n, e.const(-LN2_LOW), r)
    if rest is not None:
        r = e.add(r, rest)
    square = e.mul(r, r)
    mantissa = e.add(e.const(1.0), e.fma(square, e.horner(r, EXP_COEFFICIENTS), r))
    # n into two halves: 4096 makes it positive, so that a logical shift halves it
    rounder_bits = 0x4338000000000000
    biased = e.integer_op("sub", e.to_bits(shifted), e.int_const(rounder_bits - 4096))
    half = e.integer_op("lshr", biased, e.int_const(1))
    other = e.integer_op("sub", biased, half)
    for part in (half, other):
        exponent = e.integer_op("add", part, e.int_const(1023 - 2048))
        power = e.from_bits(e.integer_op("shl", exponent, e.int_const(52)))
        mantissa = e.mul(mantissa, power)
    return mantissa


def tanh(e: Emitter, x: str) -> list[str]:
    """Hyperbolic tangent, by e^y - 1 of y = 2|x|: that over itself plus 2, with the sign of x."""
    size = e.abs(x)
    held = e.select(e.compare("ogt", size, e.const(22.0)), e.const(22.0), size)  # 1 there already
    y = e.add(held, held)
    rounder = e.const(ROUNDER)
    shifted = e.fma(y, e.const(LOG2_E), rounder)
    n = e.sub(shifted, rounder)
    r = e.fma(n, e.const(-LN2_HIGH), y)
    r = e.fma(n, e.const(-LN2_LOW), r)
    small = e.fma(e.mul(r, r), e.horner(r, EXP_COEFFICIENTS), r)
    # 2^n from the integer in the low bits of the shifted value
    exponent = e.integer_op("sub", e.to_bits(shifted), e.int_const(0x4338000000000000 - 1023))
    scale = e.from_bits(e.integer_op("shl", exponent, e.int_const(52)))
    grown = e.fma(small, scale, e.sub(scale, e.const(1.0)))
    return [e.copysign(e.div(grown, e.add(grown, e.const(2.0))), x)]


def _split(e: Emitter, x: str) -> tuple[str, str]:
    """k (as a value) and m in [√½, √2) with x = 2^k·m, for finite x > 0."""
    tiny = e.compare("olt", x, e.const(2.0**-1022))
    scaled = e.select(tiny, e.mul(x, e.const(2.0**54)), x)
    shifted = e.integer_op("add", e.to_bits(scaled), e.int_const(ONE_BITS - ROOT_HALF_BITS))
    exponent = e.integer_op("lshr", shifted, e.int_const(52))
    # exponent in the low bits of 2^52 turns an integer into a value with one subtraction
    counted = e.from_bits(e.integer_op("or", exponent, e.int_const(0x4330000000000000)))
    bias = e.select(tiny, e.const(2.0**52 + 1023 + 54), e.const(2.0**52 + 1023))
    fraction = e.integer_op("and", shifted, e.int_const((1 << 52) - 1))
    m = e.from_bits(e.integer_op("add", fraction, e.int_const(ROOT_HALF_BITS)))
    return e.sub(counted, bias), m


def log(e: Emitter, x: str) -> list[str]:
    """Natural logarithm: -inf at zero of either sign, nan below."""
    k, m = _split(e, x)
    f = e.sub(m, e.const(1.0))
    s = e.div(f, e.add(f, e.const(2.0)))
    z = e.mul(s, s)
    tail = e.mul(z, e.horner(z, LOG_COEFFICIENTS))
    half_square = e.mul(e.mul(f, f), e.const(0.5))
    inner = e.fma(s, e.add(half_square, tail), e.mul(k, e.const(LN2_REST)))
    small = e.sub(e.sub(half_square, inner), f)
    value = e.sub(e.mul(k, e.const(LN2_SHORT)), small)
    return [_log_special(e, x, value)]


def _log_special(e: Emitter, x: str, value: str) -> str:
    """Logarithm of zero, inf, nan and negative numbers."""
    zero, infinity = e.const(0.0), e.const(float("inf"))
    finite = e.compare("olt", x, infinity)
    value = e.select(finite, value, x)
    value = e.select(e.compare("olt", x, zero), e.const(float("nan")), value)
    return e.select(e.compare("oeq", x, zero), e.const(float("-inf")), value)


def _two_sum(e: Emitter, a: str, b: str) -> tuple[str, str]:
    """a + b and its rounding error, for |a| ≥ |b| or a = 0."""
    total = e.add(a, b)
    return total, e.sub(b, e.sub(total, a))


def _two_product(e: Emitter, a: str, b: str) -> tuple[str, str]:
    """a·b and its rounding error."""
    product = e.mul(a, b)
    return product, e.fma(a, b, e.neg(product))


def _log_sum(e: Emitter, x: str) -> tuple[str, str]:
    """log x of a positive finite x as high + low."""
    k, m = _split(e, x)
    # s = f / (2 + f) with its remainder; f is exact, 2 + f is not
    f = e.sub(m, e.const(1.0))
    den = e.add(f, e.const(2.0))
    den_low = e.sub(f, e.sub(den, e.const(2.0)))
    s = e.div(f, den)
    left = e.fma(e.neg(s), den, f)
    left = e.fma(e.neg(s), den_low, left)
    s_low = e.div(left, den)
    # z = s² and c = z/3 in two parts each, then the tail in one
    z, z_low = _two_product(e, s, s)
    z_low = e.fma(e.add(s, s), s_low, z_low)
    third, third_low = e.const(1.0 / 3.0), e.const(float.fromhex("0x1.5555555555555p-56"))
    c, c_low = _two_product(e, z, third)
    c_low = e.fma(z, third_low, c_low)
    c_low = e.fma(z_low, third, c_low)
    c_low = e.fma(e.mul(z, z), e.horner(z, ARTANH_TAIL), c_low)
    c, c_low = _two_sum(e, c, c_low)
    # artanh s = s + s·c
    p, p_low = _two_product(e, s, c)
    p_low = e.fma(s, c_low, p_low)
    p_low = e.fma(s_low, c, p_low)
    high, low = _two_sum(e, s, p)
    low = e.add(low, e.add(p_low, s_low))
    two = e.const(2.0)
    high, low = e.mul(high, two), e.mul(low, two)
    # k·ln 2 is exactly representable in its short part
    total, error = _two_sum(e, e.mul(k, e.const(LN2_SHORT)), high)
    rest, rest_low = _two_product(e, k, e.const(LN2_REST))
    total, carried = _two_sum(e, total, rest)
    low = e.add(low, e.add(e.add(error, carried), e.fma(k, e.const(LN2_REST_LOW), rest_low)))
    return _two_sum(e, total, low)


LN2_REST_LOW = float.fromhex("0x1.cc01f97b57a08p-87")


def power(e: Emitter, x: str, y: str) -> list[str]:
    """x^y with the special cases of C99 Annex F."""
    size = e.abs(x)
    high, low = _log_sum(e, size)
    product, rest = _two_product(e, high, y)
    rest = e.fma(low, y, rest)
    held = _clamped(e, product)
    rest = e.select(e.compare("oeq", held, product), rest, e.const(0.0))
    value = _exp_of_sum(e, held, rest)
    return [_power_special(e, x, y, size, value)]


def power_through_log(e: Emitter, x: str, y: str) -> list[str]:
    """x^y from one-double logarithms: enough where the result is rounded to float."""
    size = e.abs(x)
    exponent = e.mul(log(e, size)[0], y)
    return [_power_special(e, x, y, size, _exp_of_sum(e, _clamped(e, exponent), None))]


def _power_special(e: Emitter, x: str, y: str, size: str, value: str) -> str:
    """Zeros, infinities, nan, negative x and the exact ones."""
    zero, one, infinity = e.const(0.0), e.const(1.0), e.const(float("inf"))
    nan = e.const(float("nan"))
    # |x| is 0 or inf: the result is 0 or inf by the sign of y
    grows = e.compare("ogt", y, zero)
    at_zero = e.select(grows, zero, infinity)
    at_infinity = e.select(grows, infinity, zero)
    value = e.select(e.compare("oeq", size, zero), at_zero, value)
    value = e.select(e.compare("oeq", size, infinity), at_infinity, value)
    # |y| is inf: 0, 1 or inf by the size of x
    large = e.compare("oeq", e.abs(y), infinity)
    toward = e.select(e.compare("ogt", size, one), at_infinity, at_zero)
    toward = e.select(e.compare("oeq", size, one), one, toward)
    value = e.select(large, toward, value)
    # negative x: the sign of an odd power, nan where y is not whole
    whole = e.compare("oeq", e.intrinsic("floor", y), y)
    half = e.mul(y, e.const(0.5))
    odd = e.both(whole, e.compare("one", e.intrinsic("floor", half), half))
    negative = e.int_compare("slt", e.to_bits(x), e.int_const(0))
    flipped = e.select(odd, e.neg(value), value)
    finite_below = e.both(e.compare("olt", x, zero), e.compare("one", size, infinity))
    outside = e.select(whole, flipped, nan)
    value = e.select(negative, flipped, value)
    value = e.select(finite_below, outside, value)
    value = e.select(e.compare("uno", x, y), nan, value)
    value = e.select(e.compare("oeq", y, zero), one, value)
    return e.select(e.compare("oeq", x, one), one, value)
