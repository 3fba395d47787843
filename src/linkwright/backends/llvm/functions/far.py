"""Sine, cosine and tangent of arguments beyond the range of the branch-free reduction.

The reduction is that of M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric
functions", ACM SIGNUM Newsletter 18 (1983): x = m·2^e with a 53-bit integer m, and of 2/π only
the 192 bits that matter are multiplied by m. Those before them contribute whole turns, those
after them less than 2^-137 of a quarter turn, while no double is closer than 2^-62 to a multiple
of π/2. The fraction is multiplied by π/2 in two parts, and the kernels of `trig` do the rest, to
the same bound as there.

These functions are scalar, cold and called, not inlined, and compiled without optimization, since
they are in every module with an angle and almost never run. The first word of the fraction is
never zero, by that same distance.
"""

from linkwright.backends.llvm.functions import trig
from linkwright.backends.llvm.functions.emitter import Emitter, float_literal

TWO_OVER_PI_WORDS = (
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)
"""The first 1280 bits of 2/π."""

HALF_PI = float.fromhex("0x1.921fb54442d18p+0")
HALF_PI_LOW = float.fromhex("0x1.1a62633145c07p-54")

RESULTS = {"sincos": 2, "tan": 1}
"""Functions written here, and how many values they give."""


def far_name(name: str) -> str:
    """Name of the scalar function for large arguments.

    >>> far_name("tan")
    'lw.tan.far'
    """
    return f"lw.{name}.far"


def far_definition(name: str) -> str:
    """Scalar function of a finite double with |x| ≥ 1: sincos gives a structure of two doubles."""
    e = Emitter("f64", 1, "t")
    finish = {"sincos": trig.sincos_reduced, "tan": trig.tan_reduced}[name]
    results = finish(e, "%r", "%low", "%q")
    kind, value = "double", results[0]
    tail = []
    if len(results) == 2:
        kind = "{ double, double }"
        tail = [
            f"  %first = insertvalue {kind} poison, double {results[0]}, 0",
            f"  %both = insertvalue {kind} %first, double {results[1]}, 1",
        ]
        value = "%both"
    lines = [
        f"define internal {kind} @{far_name(name)}(double %x) noinline optnone cold nounwind {{",
        "  %reduced = call { double, double, i64 } @lw.reduce.far(double %x)",
        "  %r = extractvalue { double, double, i64 } %reduced, 0",
        "  %low = extractvalue { double, double, i64 } %reduced, 1",
        "  %q = extractvalue { double, double, i64 } %reduced, 2",
        *e.lines,
        *tail,
        f"  ret {kind} {value}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def reduction_definition() -> str:
    """@lw.reduce.far: r and low with |r| ≤ π/4, and the quadrant, of a finite |x| ≥ 1."""
    # 64 zero bits in front, so that the window may begin before the first bit of 2/π
    words = ", ".join(f"i64 {_signed(word)}" for word in (0, *TWO_OVER_PI_WORDS))
    count = len(TWO_OVER_PI_WORDS) + 1
    literal = {
        name: float_literal(value, "f64")
        for name, value in {
            "half_pi": HALF_PI,
            "half_pi_low": HALF_PI_LOW,
            "unit": 2.0**-53,
            "unit_low": 2.0**-117,
        }.items()
    }
    return f"""\
@lw.twooverpi = private unnamed_addr constant [{count} x i64] [{words}]

define internal {{ double, double, i64 }} @lw.reduce.far(double %x)
    noinline optnone cold nounwind {{
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %biased = and i64 %shifted, 2047
  %fraction = and i64 %bits, 4503599627370495
  %mantissa = or i64 %fraction, 4503599627370496
  ; the window begins with the bit of weight 2 in 2^e * 2/pi, e = biased - 1075
  %start = add i64 %biased, -1013
  %word = lshr i64 %start, 6
  %skip = and i64 %start, 63
  %p0 = getelementptr [{count} x i64], ptr @lw.twooverpi, i64 0, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %w0 = load i64, ptr %p0
  %w1 = load i64, ptr %p1
  %w2 = load i64, ptr %p2
  %w3 = load i64, ptr %p3
  %x0 = call i64 @llvm.fshl.i64(i64 %w0, i64 %w1, i64 %skip)
  %x1 = call i64 @llvm.fshl.i64(i64 %w1, i64 %w2, i64 %skip)
  %x2 = call i64 @llvm.fshl.i64(i64 %w2, i64 %w3, i64 %skip)
  ; product = window * mantissa in three words, two bits before the point and 190 after it
  %m.wide = zext i64 %mantissa to i128
  %x1.wide = zext i64 %x1 to i128
  %x2.wide = zext i64 %x2 to i128
  %y2 = mul i128 %x2.wide, %m.wide
  %y1 = mul i128 %x1.wide, %m.wide
  %y0 = mul i64 %x0, %mantissa
  %carry = lshr i128 %y2, 64
  %y1.sum = add i128 %y1, %carry
  %y1.high = lshr i128 %y1.sum, 64
  %y1.top = trunc i128 %y1.high to i64
  %product0 = add i64 %y0, %y1.top
  %product1 = trunc i128 %y1.sum to i64
  %product2 = trunc i128 %y2 to i64
  %rounded = add i64 %product0, 2305843009213693952
  %quadrant = lshr i64 %rounded, 62
  ; the signed fraction, 192 bits after the point; its size, with the first one on top
  %f0 = call i64 @llvm.fshl.i64(i64 %product0, i64 %product1, i64 2)
  %f1 = call i64 @llvm.fshl.i64(i64 %product1, i64 %product2, i64 2)
  %f2 = shl i64 %product2, 2
  %below = icmp slt i64 %f0, 0
  %mask = ashr i64 %f0, 63
  %g0 = xor i64 %f0, %mask
  %g1 = xor i64 %f1, %mask
  %g2 = xor i64 %f2, %mask
  %zeros = call i64 @llvm.ctlz.i64(i64 %g0, i1 false)
  %top = call i64 @llvm.fshl.i64(i64 %g0, i64 %g1, i64 %zeros)
  %next = call i64 @llvm.fshl.i64(i64 %g1, i64 %g2, i64 %zeros)
  %high.bits = lshr i64 %top, 11
  %low.top = shl i64 %top, 53
  %low.bottom = lshr i64 %next, 11
  %low.bits = or i64 %low.top, %low.bottom
  %high.int = sitofp i64 %high.bits to double
  %low.half = lshr i64 %low.bits, 1
  %low.int = sitofp i64 %low.half to double
  %low.whole = fmul double %low.int, 2.0
  %exponent = sub i64 1023, %zeros
  %scale.bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %high.unit = fmul double %high.int, {literal["unit"]}
  %low.unit = fmul double %low.whole, {literal["unit_low"]}
  %h = fmul double %high.unit, %scale
  %l = fmul double %low.unit, %scale
  ; times pi/2 in two parts
  %r0 = fmul double %h, {literal["half_pi"]}
  %r0.minus = fneg double %r0
  %r1 = call double @llvm.fma.f64(double %h, double {literal["half_pi"]}, double %r0.minus)
  %r2 = call double @llvm.fma.f64(double %h, double {literal["half_pi_low"]}, double %r1)
  %r3 = call double @llvm.fma.f64(double %l, double {literal["half_pi"]}, double %r2)
  %r = fadd double %r0, %r3
  %lost = fsub double %r0, %r
  %low = fadd double %lost, %r3
  ; an odd function of x
  %negative = icmp slt i64 %bits, 0
  %turn = xor i1 %below, %negative
  %r.minus = fneg double %r
  %low.minus = fneg double %low
  %quadrant.minus = sub i64 0, %quadrant
  %r.out = select i1 %turn, double %r.minus, double %r
  %low.out = select i1 %turn, double %low.minus, double %low
  %q.out = select i1 %negative, i64 %quadrant.minus, i64 %quadrant
  %out0 = insertvalue {{ double, double, i64 }} poison, double %r.out, 0
  %out1 = insertvalue {{ double, double, i64 }} %out0, double %low.out, 1
  %out2 = insertvalue {{ double, double, i64 }} %out1, i64 %q.out, 2
  ret {{ double, double, i64 }} %out2
}}
"""


def _signed(word: int) -> int:
    """The word as LLVM writes an i64."""
    return word - (1 << 64) if word >> 63 else word
