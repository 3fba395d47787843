"""Sine, cosine and tangent: three-part reduction by π/2 with FMA, minimax kernels, no branch.

The argument is reduced as in W. J. Cody and W. Waite, *Software Manual for the Elementary
Functions* (1980), chapter 8: x = n·π/2 + r with π/2 = P1 + P2 + P3. n comes from adding 1.5·2^52,
which leaves n in the low bits of the sum. x - n·P1 is exact in one FMA: it is a multiple of the
last bit of P1 and below 1.

Double: P2 has 27 bits and n at most 26, so n·P2 is exact, and so is the rounding error of the
second step that one more FMA recovers; r comes as high + low. Sine adds low to its cubic term and
is then off by less than 0.8 units in the last place; cosine does without low, and its roundings
add up to at most 1.3 at |r| = π/4. That holds next to the multiples of π/2 too: over all of them
up to 1e8 the high part has the sign of r and low is at most 0.51 of it.

Float: P2 and P3 have 24 bits and r is one number, rounded twice when it is small.

The polynomials are our own minimax fits (Remez exchange at 300 bits, coefficients rounded one
after the other and the rest refitted) on |r| ≤ π/4 with a margin; relative error below 2^-57
(sin), 2^-63 (cos) and 2^-56 (tan) in double, 2^-27 (sin) and 2^-32 (cos) in float.
"""

from linkwright.backends.llvm.functions.emitter import Emitter

RANGE_LIMIT = {"f64": 1e8, "f32": 1e5}
"""Largest |x| of the branch-free sine, cosine and tangent; beyond it see the module `guard`."""

TWO_OVER_PI = 0.6366197723675814
ROUNDER = {"f64": 1.5 * 2.0**52, "f32": 1.5 * 2.0**23}
HALF_PI_PARTS = {
    "f64": (
        float.fromhex("0x1.921fb54442d18p+0"),
        float.fromhex("0x1.1a62634p-54"),
        float.fromhex("-0x1.d747f23e32ed7p-83"),
    ),
    "f32": (
        float.fromhex("0x1.921fb4p+0"),
        float.fromhex("0x1.4442d0p-24"),
        float.fromhex("0x1.84698ap-48"),
    ),
}
"""π/2 in three parts; those that are subtracted from r are positive, so a negative zero stays."""

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


def reduce(e: Emitter, x: str) -> tuple[str, str | None, str]:
    """r in [-π/4, π/4] as high and low part, and the bits of n, with x = n·π/2 + r."""
    rounder = e.const(ROUNDER[e.scalar])
    shifted = e.fma(x, e.const(TWO_OVER_PI), rounder)
    n = e.sub(shifted, rounder)
    first, second, third = (e.const(-part) for part in HALF_PI_PARTS[e.scalar])
    exact = e.fma(n, first, x)
    r = e.fma(n, second, exact)
    if e.scalar == "f32":
        return e.fma(n, third, r), None, e.to_bits(shifted)
    low = e.fma(n, third, e.fma(n, second, e.sub(exact, r)))
    return r, low, e.to_bits(shifted)


def kernels(e: Emitter, r: str, low: str | None) -> tuple[str, str]:
    """Bits of sin and cos of r + low for |r| ≤ π/4; the sign of a zero r is kept."""
    z = e.mul(r, r)
    cube, sine_tail = e.mul(r, z), e.horner(z, SIN_COEFFICIENTS[e.scalar])
    if low is None:
        sine = e.fma(cube, sine_tail, r)
    else:
        sine = e.add(r, e.fma(cube, sine_tail, low))
    cosine = e.fma(z, e.horner(z, COS_COEFFICIENTS[e.scalar]), e.const(1.0))
    sign = e.integer_op("and", e.to_bits(r), e.int_const(e.sign_mask))
    return e.integer_op("or", e.to_bits(sine), sign), e.to_bits(cosine)


def sincos(e: Emitter, x: str) -> list[str]:
    """Sine and cosine of x, one reduction for both."""
    return sincos_reduced(e, *reduce(e, x))


def sin(e: Emitter, x: str) -> list[str]:
    """Sine of x."""
    return sin_reduced(e, *reduce(e, x))


def cos(e: Emitter, x: str) -> list[str]:
    """Cosine of x."""
    return cos_reduced(e, *reduce(e, x))


def tan(e: Emitter, x: str) -> list[str]:
    """Tangent of x in double."""
    (value,) = tan_reduced(e, *reduce(e, x))
    return [e.select(e.compare("oeq", x, e.const(0.0)), x, value)]


def sincos_reduced(e: Emitter, r: str, low: str | None, q: str) -> list[str]:
    """Sine and cosine of q·π/2 + r + low."""
    sine, cosine = kernels(e, r, low)
    odd_sign = e.integer_op("shl", q, e.int_const(e.bits - 1))
    odd = e.int_compare("slt", odd_sign, e.int_const(0))
    half_sign = e.integer_op("shl", q, e.int_const(e.bits - 2))
    turned = e.integer_op("xor", half_sign, odd_sign)
    return [
        _signed(e, e.int_select(odd, cosine, sine), half_sign),
        _signed(e, e.int_select(odd, sine, cosine), turned),
    ]


def sin_reduced(e: Emitter, r: str, low: str | None, q: str) -> list[str]:
    """Sine of q·π/2 + r + low."""
    sine, cosine = kernels(e, r, low)
    odd = e.int_compare("slt", e.integer_op("shl", q, e.int_const(e.bits - 1)), e.int_const(0))
    half_sign = e.integer_op("shl", q, e.int_const(e.bits - 2))
    return [_signed(e, e.int_select(odd, cosine, sine), half_sign)]


def cos_reduced(e: Emitter, r: str, low: str | None, q: str) -> list[str]:
    """Cosine of q·π/2 + r + low."""
    sine, cosine = kernels(e, r, low)
    odd_sign = e.integer_op("shl", q, e.int_const(e.bits - 1))
    odd = e.int_compare("slt", odd_sign, e.int_const(0))
    turned = e.integer_op("xor", e.integer_op("shl", q, e.int_const(e.bits - 2)), odd_sign)
    return [_signed(e, e.int_select(odd, sine, cosine), turned)]


def _signed(e: Emitter, bits: str, sign: str) -> str:
    """The value of `bits`, negated where the top bit of `sign` is set."""
    flip = e.integer_op("and", sign, e.int_const(e.sign_mask))
    return e.from_bits(e.integer_op("xor", bits, flip))


def tan_reduced(e: Emitter, r: str, low: str | None, q: str) -> list[str]:
    """Tangent of q·π/2 + r + low: tan r in even quadrants, -1/tan r in odd ones."""
    low = low or e.const(0.0)
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
    return [e.select(odd, corrected, value)]
