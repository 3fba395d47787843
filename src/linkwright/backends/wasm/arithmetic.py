"""What processors have and WebAssembly has not: fused multiply-adds, and products of 128 bits.

Most fused multiply-adds are done in floating-point numbers: the product as a sum of two (Dekker),
three numbers summed without an error, and the part that is below the last bit rounded to odd
(S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums, IEEE TC 2008). Where an
exponent is far out, and for what is not a number, whole numbers do it: the product of 106 bits is
shifted against the third, and the last bit stands for all that was shifted out.
"""

from __future__ import annotations

from linkwright.backends.llvm.functions.emitter import float_literal


def _number(value: float) -> str:
    return float_literal(value, "f64")


def _two_sum(high: str, low: str, a: str, b: str) -> list[str]:
    """Return lines that give a + b and its rounding error (Knuth)."""
    return [
        f"%{high} = fadd double {a}, {b}",
        f"%{high}.b = fsub double %{high}, {a}",
        f"%{high}.a = fsub double %{high}, %{high}.b",
        f"%{high}.db = fsub double {b}, %{high}.b",
        f"%{high}.da = fsub double {a}, %{high}.a",
        f"%{low} = fadd double %{high}.da, %{high}.db",
    ]


def _halves(x: str) -> list[str]:
    """Return lines that give two halves of 26 bits of a number (Veltkamp)."""
    return [
        f"%{x}.t = fmul double %{x}, {_number(134217729.0)}",
        f"%{x}.d = fsub double %{x}.t, %{x}",
        f"%{x}.h = fsub double %{x}.t, %{x}.d",
        f"%{x}.l = fsub double %{x}, %{x}.h",
    ]


def _lines(*lines: str) -> str:
    return "".join(f"  {line}\n" for line in lines)


def _error() -> list[str]:
    """Return lines that give what %p = %a * %b was rounded by."""
    return [
        *_halves("a"),
        *_halves("b"),
        "%hh = fmul double %a.h, %b.h",
        "%hl = fmul double %a.h, %b.l",
        "%lh = fmul double %a.l, %b.h",
        "%ll = fmul double %a.l, %b.l",
        "%q0 = fsub double %hh, %p",
        "%q1 = fadd double %q0, %hl",
        "%q2 = fadd double %q1, %lh",
        "%q = fadd double %q2, %ll",
    ]


def _rounded() -> str:
    """Return lines that give the sum as it is nearly always, and whether a tie may have spoiled it.

    The sum of three is off only where the sum of what was rounded away was rounded itself, and
    brought the whole to the middle of two numbers: then a nudge of the remainder moves it.
    """
    return _lines(
        *_error(),
        *_two_sum("s", "t", "%p", "%c"),
        "%v = fadd double %t, %q",
        "%z = fadd double %s, %v",
        "%z.s = fsub double %z, %s",
        "%r = fsub double %v, %z.s",
        f"%r.more = fmul double %r, {_number(1 + 2.0**-50)}",
        "%z.more = fadd double %z, %r.more",
        "%same = fcmp oeq double %z, %z.more",
        "%p.size = call double @llvm.fabs.f64(double %p)",
        f"%p.near = fcmp ogt double %p.size, {_number(2.0**-800)}",
    )


def _to_odd() -> str:
    """Return lines that give the sum where it may be a tie: what is below is rounded to odd."""
    return _lines(
        *_two_sum("u", "ul", "%c", "%q"),
        *_two_sum("w", "wl", "%p", "%u"),
        *_two_sum("o", "e", "%wl", "%ul"),
        "%bits = bitcast double %o to i64",
        "%toward = bitcast double %e to i64",
        "%apart = xor i64 %bits, %toward",
        "%other = icmp slt i64 %apart, 0",
        "%up = select i1 %other, i64 -1, i64 1",
        "%last = trunc i64 %bits to i1",
        "%whole = fcmp oeq double %e, 0.0",
        "%keep = or i1 %last, %whole",
        "%by = select i1 %keep, i64 0, i64 %up",
        "%odd.bits = add i64 %bits, %by",
        "%below = bitcast i64 %odd.bits to double",
        "%made = fadd double %w, %below",
        "ret double %made",
    )


_NORMAL = """
define internal i64 @lw.exponent(double %x) nounwind {
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %e = and i64 %shifted, 2047
  %plain = icmp ne i64 %e, 0
  %larger = fmul double %x, TWO63
  %bits2 = bitcast double %larger to i64
  %shifted2 = lshr i64 %bits2, 52
  %e2 = and i64 %shifted2, 2047
  %small = sub i64 %e2, 63
  %made = select i1 %plain, i64 %e, i64 %small
  %place = sub i64 %made, 1076
  ret i64 %place
}
define internal i64 @lw.fraction(double %x) nounwind {
  %bits = bitcast double %x to i64
  %shifted = and i64 %bits, 9218868437227405312
  %plain = icmp ne i64 %shifted, 0
  %larger = fmul double %x, TWO63
  %chosen = select i1 %plain, double %x, double %larger
  %bits2 = bitcast double %chosen to i64
  %part = and i64 %bits2, 4503599627370495
  %whole = or i64 %part, 4503599627370496
  %made = shl i64 %whole, 1
  ret i64 %made
}
define internal i64 @lw.sticky(i64 %x) nounwind {
  %some = icmp ne i64 %x, 0
  %bit = zext i1 %some to i64
  ret i64 %bit
}
define internal double @lw.power(i64 %n) nounwind {
  %low = icmp slt i64 %n, -969
  %n1 = select i1 %low, i64 -969, i64 %n
  %high = icmp sgt i64 %n1, 1023
  %n2 = select i1 %high, i64 1023, i64 %n1
  %biased = add i64 %n2, 1023
  %bits = shl i64 %biased, 52
  %x = bitcast i64 %bits to double
  ret double %x
}
define internal double @lw.scaled(double %x, i64 %n) nounwind {
  %one = call double @lw.power(i64 %n)
  %y = fmul double %x, %one
  %low = icmp slt i64 %n, -969
  %n1 = select i1 %low, i64 -969, i64 %n
  %high = icmp sgt i64 %n1, 1023
  %n2 = select i1 %high, i64 1023, i64 %n1
  %left = sub i64 %n, %n2
  %two = call double @lw.power(i64 %left)
  %z = fmul double %y, %two
  ret double %z
}
define internal double @lw.signed(i64 %size, i1 %minus) nounwind {
  %other = sub i64 0, %size
  %i = select i1 %minus, i64 %other, i64 %size
  %x = sitofp i64 %i to double
  ret double %x
}
"""
_HIGH = """
define internal i64 @lw.high(i64 %a, i64 %b) nounwind {
  %al = and i64 %a, 4294967295
  %ah = lshr i64 %a, 32
  %bl = and i64 %b, 4294967295
  %bh = lshr i64 %b, 32
  %ll = mul i64 %al, %bl
  %lh = mul i64 %al, %bh
  %hl = mul i64 %ah, %bl
  %hh = mul i64 %ah, %bh
  %carry = lshr i64 %ll, 32
  %m0 = add i64 %hl, %carry
  %m1 = and i64 %m0, 4294967295
  %m2 = add i64 %lh, %m1
  %t0 = lshr i64 %m0, 32
  %t1 = lshr i64 %m2, 32
  %h0 = add i64 %hh, %t0
  %h1 = add i64 %h0, %t1
  ret i64 %h1
}
"""
_SLOW = """
define internal double @lw.fma.far(double %a, double %b, double %c) nounwind noinline {
entry:
  %p = fmul double %a, %b
  %sum = fadd double %p, %c
  %a0 = fcmp oeq double %a, 0.0
  %b0 = fcmp oeq double %b, 0.0
  %c0 = fcmp oeq double %c, 0.0
  %az = fsub double %a, %a
  %bz = fsub double %b, %b
  %cz = fsub double %c, %c
  %az.bad = fcmp une double %az, 0.0
  %bz.bad = fcmp une double %bz, 0.0
  %cz.bad = fcmp une double %cz, 0.0
  %s0 = or i1 %a0, %b0
  %s1 = or i1 %az.bad, %bz.bad
  %special = or i1 %s0, %s1
  br i1 %special, label %simple, label %third
simple:
  ret double %sum
third:
  br i1 %cz.bad, label %given, label %zero
given:
  %twice = fadd double %c, %c
  ret double %twice
zero:
  br i1 %c0, label %product, label %far
product:
  ret double %p
far:
  %am = call i64 @lw.fraction(double %a)
  %bm = call i64 @lw.fraction(double %b)
  %cm = call i64 @lw.fraction(double %c)
  %ae = call i64 @lw.exponent(double %a)
  %be = call i64 @lw.exponent(double %b)
  %ce = call i64 @lw.exponent(double %c)
  %ab = bitcast double %a to i64
  %bb = bitcast double %b to i64
  %cb = bitcast double %c to i64
  %pb = xor i64 %ab, %bb
  %minus = icmp slt i64 %pb, 0
  %db = xor i64 %pb, %cb
  %differ = icmp slt i64 %db, 0
  %rl0 = mul i64 %am, %bm
  %rh0 = call i64 @lw.high(i64 %am, i64 %bm)
  %e0 = add i64 %ae, %be
  %d = sub i64 %ce, %e0
  %ahead = icmp sgt i64 %d, 0
  br i1 %ahead, label %larger, label %smaller
larger:
  %near = icmp slt i64 %d, 64
  br i1 %near, label %larger.near, label %larger.far
larger.near:
  %cl.n = shl i64 %cm, %d
  %back.n = sub i64 64, %d
  %ch.n = lshr i64 %cm, %back.n
  br label %add
larger.far:
  %e.f = sub i64 %ce, 64
  %d.f = sub i64 %d, 64
  %same = icmp eq i64 %d.f, 0
  br i1 %same, label %add, label %shift
shift:
  %inside = icmp slt i64 %d.f, 64
  br i1 %inside, label %shift.near, label %shift.far
shift.near:
  %back.s = sub i64 64, %d.f
  %s.h = shl i64 %rh0, %back.s
  %s.l = lshr i64 %rl0, %d.f
  %s.out = shl i64 %rl0, %back.s
  %s.bit = call i64 @lw.sticky(i64 %s.out)
  %s.hl = or i64 %s.h, %s.l
  %rl.s = or i64 %s.hl, %s.bit
  %rh.s = lshr i64 %rh0, %d.f
  br label %add
shift.far:
  br label %add
smaller:
  %d.m = sub i64 0, %d
  %level = icmp eq i64 %d.m, 0
  br i1 %level, label %add, label %down
down:
  %d.near = icmp slt i64 %d.m, 64
  br i1 %d.near, label %down.near, label %down.far
down.near:
  %c.sh = lshr i64 %cm, %d.m
  %back.d = sub i64 64, %d.m
  %c.out = shl i64 %cm, %back.d
  %c.bit = call i64 @lw.sticky(i64 %c.out)
  %cl.d = or i64 %c.sh, %c.bit
  br label %add
down.far:
  br label %add
add:
SHIFTED  br i1 %differ, label %less, label %more
more:
  %ml = add i64 %rl, %cl
  %m.over = icmp ult i64 %ml, %cl
  %m.carry = zext i1 %m.over to i64
  %m.h = add i64 %rh, %ch
  %mh = add i64 %m.h, %m.carry
  br label %top
less:
  %ll = sub i64 %rl, %cl
  %l.under = icmp ult i64 %rl, %cl
  %l.borrow = zext i1 %l.under to i64
  %l.h = sub i64 %rh, %ch
  %lh = sub i64 %l.h, %l.borrow
  %turned = icmp slt i64 %lh, 0
  %nl = sub i64 0, %ll
  %n.bit = call i64 @lw.sticky(i64 %ll)
  %n.h = sub i64 0, %lh
  %nh = sub i64 %n.h, %n.bit
  %l.l = select i1 %turned, i64 %nl, i64 %ll
  %l.hh = select i1 %turned, i64 %nh, i64 %lh
  %l.minus = xor i1 %minus, %turned
  br label %top
top:
  %xl = phi i64 [ %ml, %more ], [ %l.l, %less ]
  %xh = phi i64 [ %mh, %more ], [ %l.hh, %less ]
  %sign = phi i1 [ %minus, %more ], [ %l.minus, %less ]
  %high = icmp ne i64 %xh, 0
  br i1 %high, label %both, label %lower
both:
  %e.b = add i64 %e1, 64
  %zeros.b = call i64 @llvm.ctlz.i64(i64 %xh, i1 false)
  %d.b = sub i64 %zeros.b, 1
  %b.h = shl i64 %xh, %d.b
  %b.back = sub i64 64, %d.b
  %b.l = lshr i64 %xl, %b.back
  %b.out = shl i64 %xl, %d.b
  %b.bit = call i64 @lw.sticky(i64 %b.out)
  %b.hl = or i64 %b.h, %b.l
  %b.x = or i64 %b.hl, %b.bit
  br label %round
lower:
  %some = icmp ne i64 %xl, 0
  br i1 %some, label %only, label %simple
only:
  %zeros.o = call i64 @llvm.ctlz.i64(i64 %xl, i1 false)
  %d.o = sub i64 %zeros.o, 1
  %full = icmp slt i64 %d.o, 0
  %o.half = lshr i64 %xl, 1
  %o.bit = and i64 %xl, 1
  %o.down = or i64 %o.half, %o.bit
  %o.safe = and i64 %d.o, 63
  %o.up = shl i64 %xl, %o.safe
  %o.x = select i1 %full, i64 %o.down, i64 %o.up
  br label %round
round:
  %x = phi i64 [ %b.x, %both ], [ %o.x, %only ]
  %x.e = phi i64 [ %e.b, %both ], [ %e1, %only ]
  %x.d = phi i64 [ %d.b, %both ], [ %d.o, %only ]
  %e = sub i64 %x.e, %x.d
  %r = call double @lw.signed(i64 %x, i1 %sign)
  %tiny = icmp slt i64 %e, -1084
  br i1 %tiny, label %subnormal, label %normal
normal:
  %made = call double @lw.scaled(double %r, i64 %e)
  ret double %made
subnormal:
  %border = icmp eq i64 %e, -1085
  br i1 %border, label %edge, label %deep
edge:
  %c63 = select i1 %sign, double MINUS63, double TWO63
  %whole = fcmp oeq double %r, %c63
  %lost = shl i64 %x, 53
  %exact = icmp eq i64 %lost, 0
  %plain = or i1 %whole, %exact
  br i1 %plain, label %normal, label %inexact
inexact:
  %i.half = lshr i64 %x, 1
  %i.bit = and i64 %x, 1
  %i.hb = or i64 %i.half, %i.bit
  %i.x = or i64 %i.hb, 4611686018427387904
  %i.r = call double @lw.signed(i64 %i.x, i1 %sign)
  %i.two = fmul double %i.r, 2.0
  %i.y = fsub double %i.two, %c63
  %i.made = call double @lw.scaled(double %i.y, i64 %e)
  ret double %i.made
deep:
  %k.down = lshr i64 %x, 10
  %k.out = shl i64 %x, 54
  %k.bit = call i64 @lw.sticky(i64 %k.out)
  %k.or = or i64 %k.down, %k.bit
  %k.x = shl i64 %k.or, 10
  %k.r = call double @lw.signed(i64 %k.x, i1 %sign)
  %k.made = call double @lw.scaled(double %k.r, i64 %e)
  ret double %k.made
}
declare i64 @llvm.ctlz.i64(i64, i1)
declare double @llvm.fabs.f64(double)
"""
_WAYS = ["larger.near", "larger.far", "shift.near", "shift.far", "smaller", "down.near", "down.far"]
_SHIFTED = {  # what comes from each way: both words of the third, of the product, the exponent
    "cl": "%cl.n 0 0 0 %cm %cl.d 1",
    "ch": "%ch.n %cm %cm %cm 0 0 0",
    "rl": "%rl0 %rl0 %rl.s 1 %rl0 %rl0 %rl0",
    "rh": "%rh0 %rh0 %rh.s 0 %rh0 %rh0 %rh0",
    "e1": "%e0 %e.f %e.f %e.f %e0 %e0 %e0",
}
_PRODUCT = """
define hidden i128 @__multi3(i128 %a, i128 %b) nounwind {
  %a.l = trunc i128 %a to i64
  %b.l = trunc i128 %b to i64
  %a.w = lshr i128 %a, 64
  %b.w = lshr i128 %b, 64
  %a.h = trunc i128 %a.w to i64
  %b.h = trunc i128 %b.w to i64
  %low = mul i64 %a.l, %b.l
  %high = call i64 @lw.high(i64 %a.l, i64 %b.l)
  %one = mul i64 %a.l, %b.h
  %two = mul i64 %a.h, %b.l
  %h1 = add i64 %high, %one
  %h2 = add i64 %h1, %two
  %low.w = zext i64 %low to i128
  %high.w = zext i64 %h2 to i128
  %high.up = shl i128 %high.w, 64
  %made = or i128 %high.up, %low.w
  ret i128 %made
}
"""


def fused_text(name: str = "fma") -> str:
    """Return the text of a function that multiplies and adds with one rounding."""
    sizes = [f"%{n}.size = call double @llvm.fabs.f64(double %{n})" for n in "abc"]
    main = (
        f"define hidden double @{name}(double %a, double %b, double %c) nounwind {{\nentry:\n"
        "  %p = fmul double %a, %b\n"
        f"{_rounded()}"
        "  br i1 %p.near, label %near, label %small\n"
        "near:\n  br i1 %same, label %done, label %tie\n"
        "done:\n  ret double %z\n"
        "small:\n"
        "  %a0 = fcmp oeq double %a, 0.0\n"
        "  %b0 = fcmp oeq double %b, 0.0\n"
        "  %none = or i1 %a0, %b0\n"
        "  %sum = fadd double %p, %c\n"
        "  br i1 %none, label %only, label %slow\n"
        "only:\n  ret double %sum\n"
        f"tie:\n{_lines(*sizes)}"
        f"  %a.near = fcmp olt double %a.size, {_number(2.0**200)}\n"
        f"  %b.near = fcmp olt double %b.size, {_number(2.0**200)}\n"
        f"  %c.near = fcmp olt double %c.size, {_number(2.0**900)}\n"
        "  %ab.near = and i1 %a.near, %b.near\n"
        "  %abc.near = and i1 %ab.near, %c.near\n"
        f"  br i1 %abc.near, label %odd, label %slow\nodd:\n{_to_odd()}slow:\n"
        "  %far = call double @lw.fma.far(double %a, double %b, double %c)\n"
        "  ret double %far\n}\n"
    )
    shifted = [
        f"%{n} = phi i64 "
        + ", ".join(f"[ {v}, %{way} ]" for v, way in zip(values.split(), _WAYS, strict=True))
        for n, values in _SHIFTED.items()
    ]
    rest = (_NORMAL + _HIGH + _SLOW).replace("SHIFTED", _lines(*shifted))
    rest = rest.replace("TWO63", _number(2.0**63))
    return main + rest.replace("MINUS63", _number(-(2.0**63)))


def near_text(name: str = "fma") -> str:
    """Return the text of a function that multiplies and adds, off by little more than one rounding:
    enough for the reduction of angles, and without a branch."""
    body = _lines(
        "%p = fmul double %a, %b",
        *_error(),
        *_two_sum("s", "e", "%p", "%c"),
        "%rest = fadd double %e, %q",
        "%z = fadd double %s, %rest",
        "ret double %z",
    )
    head = f"define hidden double @{name}(double %a, double %b, double %c) nounwind {{"
    return f"{head}\nentry:\n{body}}}\n"


def arithmetic_text(*, exact: bool) -> str:
    """Return the text of all that LLVM calls where WebAssembly has no instruction."""
    return (fused_text() if exact else near_text() + _HIGH) + _PRODUCT
