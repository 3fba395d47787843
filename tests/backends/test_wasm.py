"""WebAssembly: arithmetic that it has not, bit by bit, and modules that are put together."""

from __future__ import annotations

import base64
import ctypes
import math
import random
import struct
from typing import Any

import pytest

from linkwright.backends.llvm.compile import native
from linkwright.backends.wasm.arithmetic import fused_text
from linkwright.backends.wasm.module import assemble, leb, sleb
from linkwright.base.errors import CompileError
from tests.seeds import seeds
from tests.support.chromium import opened

HARD = """
define double @hard(double %a, double %b, double %c) {
  %z = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %z
}
define double @far(double %a, double %b, double %c) {
  %z = call double @lw.fma.far(double %a, double %b, double %c)
  ret double %z
}
declare double @llvm.fma.f64(double, double, double)
"""
EDGES = (0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 2.0**-1022, 2.0**1023, 1.0, -1.0)


def _triple(pick: random.Random) -> tuple[float, float, float]:
    """Return numbers of any exponent, near the smallest results, and sums that nearly cancel."""

    def one() -> float:
        kind = pick.random()
        if kind < 0.05:
            return pick.choice(EDGES)
        if kind < 0.4:
            return float(struct.unpack("d", struct.pack("Q", pick.getrandbits(64)))[0])
        return pick.choice((-1, 1)) * pick.random() * 2.0 ** pick.randint(-60, 60)

    a, b, c = one(), one(), one()
    kind = pick.random()
    if kind < 0.3:
        return a, b, -a * b * (1 + pick.choice((0, 1, -1, 3)) * 2.0**-52)
    if kind < 0.5:
        return a * 2.0**-500, b * 2.0**-530, c * 2.0 ** pick.randint(-1074, -900)
    if kind < 0.6:
        a, b = (pick.random() * 2.0 ** pick.randint(*k) for k in ((-540, -500), (-580, -500)))
        return a, b, pick.choice((1, -1)) * 2.0**-1022 * (1 + pick.randint(-4, 4) * 2.0**-52)
    return a, b, c


@pytest.mark.parametrize("seed", seeds(12, daily=1))
def test_a_fused_multiply_add_has_the_bits_of_the_processor(seed: int) -> None:
    d = ctypes.c_double
    text = fused_text("soft").replace("define hidden", "define") + HARD
    code = native(text, ["soft", "hard", "far"])
    soft, hard, far = (code.function(name, d, d, d, d) for name in ("soft", "hard", "far"))
    pick = random.Random(seed)
    for _ in range(20_000):
        given = _triple(pick)
        wanted = hard(*given)
        for found in (soft(*given), far(*given)):
            same = struct.pack("d", found) == struct.pack("d", wanted)
            assert same or (math.isnan(found) and math.isnan(wanted)), [x.hex() for x in given]


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_numbers_of_any_size_are_written_as_the_format_says(seed: int) -> None:
    def read(data: bytes, signed: bool) -> int:
        value = sum((byte & 0x7F) << 7 * k for k, byte in enumerate(data))
        return value - (1 << 7 * len(data)) if signed and data[-1] & 0x40 else value

    pick = random.Random(seed)
    for _ in range(500):
        number = pick.getrandbits(pick.randint(1, 31))
        assert read(leb(number), False) == read(leb(number, 5), False) == number
        assert all(read(sleb(n, k), True) == n for n in (number, -number) for k in (0, 5))


MODULE = """
@table = internal constant [3 x double] [double 2.0, double 3.0, double 5.0]
@chosen = internal global ptr @twice
define double @twice(double %x) {
  %y = fmul double %x, 2.0
  ret double %y
}
define double @called(double %x) {
  %f = load ptr, ptr @chosen
  %y = call double %f(double %x)
  ret double %y
}
define double @entry(i32 %k) {
  %at = getelementptr double, ptr @table, i32 %k
  %y = load double, ptr %at
  ret double %y
}
define double @spilled(i32 %k) {
  %room = alloca [64 x double]
  %at = getelementptr double, ptr %room, i32 %k
  store double 7.0, ptr %at
  %y = load volatile double, ptr %at
  ret double %y
}
"""


def test_data_tables_of_functions_and_the_stack_are_where_code_looks_for_them() -> None:
    names = ["called", "entry", "spilled"]
    code = assemble([MODULE], names).bytes_with([(1 << 20, b"\1" * 8)], (1 << 20) + 8)
    script = """async (text) => {
        const made = (await WebAssembly.instantiate(
            Uint8Array.from(atob(text), (c) => c.charCodeAt(0)))).instance.exports;
        const kept = new Uint8Array(made.memory.buffer)[1 << 20];
        return [made.called(21), made.entry(2), made.spilled(5), kept]; }"""
    with opened("about:blank") as (page, wrong):
        found: Any = page.evaluate(script, base64.b64encode(code).decode())
    assert (found, wrong) == ([42, 5, 7, 1], [])


def test_what_a_page_does_not_have_is_named() -> None:
    called = MODULE.replace("fmul double %x, 2.0", "call double @erf(double %x)")
    text = "declare double @erf(double)\n" + called
    with pytest.raises(CompileError, match="a page has no function erf"):
        assemble([text], ["called"])
    with pytest.raises(CompileError, match="does not define absent"):
        assemble([MODULE], ["absent"])
