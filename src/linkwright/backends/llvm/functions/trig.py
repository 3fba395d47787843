"""Sine, cosine and tangent: three-part reduction by π/2 with FMA, minimax kernels, no branch.

The argument is reduced as in W. J. Cody and W. Waite, *Software Manual for the Elementary
Functions* (1980), chapter 8: x = n·π/2 + r with π/2 = P1 + P2 + P3. n comes from adding 1.5·2^52,
which leaves n in the low bits of the sum. x - n·P1 is exact in one FMA (a multiple of the last
bit of P1 and below 1), so only the second and third steps round, relative to r itself: the result
keeps its relative accuracy next to the zeros of sine and cosine.

The polynomials are our own minimax fits (Remez exchange at 300 bits, coefficients rounded one
after the other and the rest refitted), relative error below 2^-57 (sin) and 2^-63 (cos) in
double, 2^-27 and 2^-32 in float, on |r| ≤ π/4 with a margin.

Worst case of the sum of the roundings, in units of the last place: sin 1.5 (r just above a power
of two with sin r just below it: 1 from r, 1/2 from the last addition), cos 1.3. Both serve both.
"""

from linkwright.backends.llvm.functions.emitter import Emitter

RANGE_LIMIT = {"f64": 1e8, "f32": 1e5}
"""Largest |x| of the branch-free sine, cosine and tangent; beyond it see the module `guard`."""

TWO_OVER_PI = 0.6366197723675814
ROUNDER = {"f64": 1.5 * 2.0**52, "f32": 1.5 * 2.0**23}
HALF_PI_PARTS = {
    "f64": (
        float.fromhex("0x1.921fb54442d18p+0"),
        float.fromhex("0x1.1a62633145c06p-54"),
        float.fromhex("0x1.c1cd129024e09p-107"),
    ),
    "f32": (
        float.fromhex("0x1.921fb4p+0"),
        float.fromhex("0x1.4442d0p-24"),
        float.fromhex("0x1.84698ap-48"),
    ),
}
"""π/2 in three parts, each rounded down, so that no step turns a negative zero positive."""

SIN_COEFFICIENTS = {
    "f64": (
        float.fromhex("-0x1.5555555555548p-3"),
        float.fromhex("0x1.111111110f730p-7"),
        float.fromhex("-0x1.a01a019be9217p-13"),
        float.fromhex("0x1.71de35552b52cp-19"),
        float.fromhex("-0x1.ae5e4b80fb329p-26"),
        float.fromhex("0x1.5d8b52fbe7b4cp-33"),
    ),
    "f32": (
        float.fromhex("-0x1.555544p-3"),
        float.fromhex("0x1.1106c6p-7"),
        float.fromhex("-0x1.991c26p-13"),
    ),
}
"""S in sin r = r + r³·S(r²)."""

COS_COEFFICIENTS = {
    "f64": (
        -0.5,
        float.fromhex("0x1.555555555554bp-5"),
        float.fromhex("-0x1.6c16c16c15015p-10"),
        float.fromhex("0x1.a01a019c8f254p-16"),
        float.fromhex("-0x1.27e4f7f19148bp-22"),
        float.fromhex("0x1.1ee9dbcefbddep-29"),
        float.fromhex("-0x1.8fa684873f909p-37"),
    ),
    "f32": (
        -0.5,
        float.fromhex("0x1.55554ap-5"),
        float.fromhex("-0x1.6c0c24p-10"),
        float.fromhex("0x1.99e61cp-16"),
    ),
}
"""C in cos r = 1 + r²·C(r²)."""

TAN_COEFFICIENTS = (
    float.fromhex("0x1.55555555554f2p-2"),
    float.fromhex("0x1.11111111182c8p-3"),
    float.fromhex("0x1.ba1ba1b46c09cp-5"),
    float.fromhex("0x1.664f49a850797p-6"),
    float.fromhex("0x1.226e125d84969p-7"),
    float.fromhex("0x1.d6d9334acc156p-9"),
    float.fromhex("0x1.7d5b61bcca6e5p-10"),
    float.fromhex("0x1.37fa5f82e2151p-11"),
    float.fromhex("0x1.d272cfad1e2dep-13"),
    float.fromhex("0x1.1e24d465cc6c7p-13"),
    float.fromhex("-0x1.b8c7840299fbdp-16"),
    float.fromhex("0x1.76c16f4f41aa9p-14"),
    float.fromhex("-0x1.77fc40aaec517p-15"),
    float.fromhex("0x1.5dcdd66829b28p-16"),
)
"""T in tan r = r + r³·T(r²), relative error below 2^-55."""


def reduce(e: Emitter, x: str) -> tuple[str, str]:
    """r in [-π/4, π/4] and the bits of n with x = n·π/2 + r."""
    rounder = e.const(ROUNDER[e.scalar])
    shifted = e.fma(x, e.const(TWO_OVER_PI), rounder)
    n = e.sub(shifted, rounder)
    r = x
    for part in HALF_PI_PARTS[e.scalar]:
        r = e.fma(n, e.const(-part), r)
    return r, e.to_bits(shifted)


def kernels(e: Emitter, r: str) -> tuple[str, str]:
    """Bits of sin r and cos r for |r| ≤ π/4; the sign of a zero r is kept."""
    z = e.mul(r, r)
    sine = e.fma(e.mul(r, z), e.horner(z, SIN_COEFFICIENTS[e.scalar]), r)
    cosine = e.fma(z, e.horner(z, COS_COEFFICIENTS[e.scalar]), e.const(1.0))
    sign = e.integer_op("and", e.to_bits(r), e.int_const(e.sign_mask))
    return e.integer_op("or", e.to_bits(sine), sign), e.to_bits(cosine)


def sincos(e: Emitter, x: str) -> list[str]:
    """Sine and cosine of x, one reduction for both."""
    r, q = reduce(e, x)
    sine, cosine = kernels(e, r)
    odd_sign = e.integer_op("shl", q, e.int_const(e.bits - 1))
    odd = e.int_compare("slt", odd_sign, e.int_const(0))
    half_sign = e.integer_op("shl", q, e.int_const(e.bits - 2))
    turned = e.integer_op("xor", half_sign, odd_sign)
    return [
        _signed(e, e.int_select(odd, cosine, sine), half_sign),
        _signed(e, e.int_select(odd, sine, cosine), turned),
    ]


def _signed(e: Emitter, bits: str, sign: str) -> str:
    """The value of `bits`, negated where the top bit of `sign` is set."""
    flip = e.integer_op("and", sign, e.int_const(e.sign_mask))
    return e.from_bits(e.integer_op("xor", bits, flip))


def sin(e: Emitter, x: str) -> list[str]:
    """Sine of x."""
    r, q = reduce(e, x)
    sine, cosine = kernels(e, r)
    odd = e.int_compare("slt", e.integer_op("shl", q, e.int_const(e.bits - 1)), e.int_const(0))
    half_sign = e.integer_op("shl", q, e.int_const(e.bits - 2))
    return [_signed(e, e.int_select(odd, cosine, sine), half_sign)]


def cos(e: Emitter, x: str) -> list[str]:
    """Cosine of x."""
    r, q = reduce(e, x)
    sine, cosine = kernels(e, r)
    odd_sign = e.integer_op("shl", q, e.int_const(e.bits - 1))
    odd = e.int_compare("slt", odd_sign, e.int_const(0))
    turned = e.integer_op("xor", e.integer_op("shl", q, e.int_const(e.bits - 2)), odd_sign)
    return [_signed(e, e.int_select(odd, sine, cosine), turned)]


def reduce_to_sum(e: Emitter, x: str) -> tuple[str, str, str]:
    """As `reduce`, with r as a sum high + low good to far beyond one double."""
    rounder = e.const(ROUNDER[e.scalar])
    shifted = e.fma(x, e.const(TWO_OVER_PI), rounder)
    n = e.sub(shifted, rounder)
    first, second, third = HALF_PI_PARTS[e.scalar]
    r = e.fma(n, e.const(-first), x)
    # r - n·second without error: the product in two parts, the sum by Knuth's two-sum
    p = e.mul(n, e.const(-second))
    p_low = e.fma(n, e.const(-second), e.neg(p))
    total = e.add(r, p)
    added = e.sub(total, r)
    error = e.add(e.sub(r, e.sub(total, added)), e.sub(p, added))
    low = e.fma(n, e.const(-third), e.add(error, p_low))
    high = e.add(total, low)
    return high, e.add(e.sub(total, high), low), e.to_bits(shifted)


def tan(e: Emitter, x: str) -> list[str]:
    """Tangent of x: tan r in even quadrants, -1/tan r in odd ones; a float goes by double."""
    if e.scalar == "f32":
        return e.through_double(tan, x)
    r, low, q = reduce_to_sum(e, x)
    z = e.mul(r, r)
    # tan(r + low) = tan r + low·(1 + tan² r), and 1 + z is near enough for so small a term
    rest = e.fma(e.mul(r, z), e.horner(z, TAN_COEFFICIENTS), e.fma(low, z, low))
    value = e.add(r, rest)
    lost = e.add(e.sub(r, value), rest)
    odd = e.int_compare("slt", e.integer_op("shl", q, e.int_const(e.bits - 1)), e.int_const(0))
    # -1/(value + lost): one quotient and its first-order correction
    inverse = e.div(e.const(-1.0), value)
    residual = e.fma(inverse, value, e.const(1.0))
    residual = e.fma(inverse, lost, residual)
    corrected = e.fma(inverse, residual, inverse)
    value = e.select(odd, corrected, value)
    return [e.select(e.compare("oeq", x, e.const(0.0)), x, value)]
