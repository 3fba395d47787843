"""What it costs to call a scalar kernel from Python, over the kernel itself in a native loop.

The kernel has 500 operations (250 fused multiply-adds) on three arrays of six values, about the
size and shape of the inverse dynamics of a six-axis arm. Also: how long until a kernel of
10,000 operations is ready, built and from the cache.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from bench.measure import Row, interleaved
from linkwright.backends.llvm.compile import NativeCode, cached_native, native
from linkwright.backends.llvm.fastcall import make_scalar_call
from linkwright.backends.llvm.signature import make_signature
from linkwright.backends.llvm.slowcall import make_slow_call

TITLE = "calling a scalar kernel from Python"
WIDTH = 6
CALLS = 1000
INPUTS = [("q", WIDTH), ("u", WIDTH), ("a", WIDTH)]
OUTPUTS = [("tau", WIDTH)]


def kernel_ir(operations: int) -> str:
    """A kernel of so many multiplications and additions, all of them needed, and a loop over it.

    The six outputs are running sums; each step replaces one by its product with an input plus the
    next one.
    """
    lines = ["define void @kernel(ptr %q, ptr %u, ptr %a, ptr %tau) noinline {"]
    for name in ("q", "u", "a"):
        for i in range(WIDTH):
            lines.append(f"  %{name}p{i} = getelementptr double, ptr %{name}, i64 {i}")
            lines.append(f"  %{name}{i} = load double, ptr %{name}p{i}")
    factors = [f"%{name}{i}" for name in ("q", "u") for i in range(WIDTH)]
    sums = [f"%a{i}" for i in range(WIDTH)]
    for k in range(operations // 2):
        here, following = k % WIDTH, (k + 1) % WIDTH
        lines.append(f"  %m{k} = fmul contract double {sums[here]}, {factors[k % len(factors)]}")
        lines.append(f"  %s{k} = fadd contract double %m{k}, {sums[following]}")
        sums[here] = f"%s{k}"
    for i, value in enumerate(sums):
        lines.append(f"  %tp{i} = getelementptr double, ptr %tau, i64 {i}")
        lines.append(f"  store double {value}, ptr %tp{i}")
    return "\n".join([*lines, "  ret void", "}", LOOP])


LOOP = """
define void @loop(ptr %q, ptr %u, ptr %a, ptr %tau, i64 %count) {
entry:
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  call void @kernel(ptr %q, ptr %u, ptr %a, ptr %tau)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}
"""


def run() -> list[Row]:
    """Time the routes in turn, then the time until a kernel is ready."""
    return [*routes(), *readiness()]


def repeated(call: Callable[..., object], *arguments: object) -> Callable[[], None]:
    """A function that makes the call many times from Python."""

    def turn() -> None:
        for _ in range(CALLS):
            call(*arguments)

    return turn


def routes() -> list[Row]:
    """Each way to call, over the bare kernel."""
    code = native(kernel_ir(500), ["kernel", "loop"])
    address = code.address("kernel")
    q, u, a = np.random.default_rng(1).normal(size=(3, WIDTH))
    tau = np.zeros(WIDTH)
    fast = make_scalar_call(address, INPUTS, OUTPUTS, keep=code)
    slow = make_slow_call(address, make_signature(INPUTS, OUTPUTS), keep=code)
    pointers = [x.ctypes.data for x in (q, u, a, tau)]
    plain = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
    array = np.ctypeslib.ndpointer(np.float64, 1, shape=(WIDTH,), flags="C_CONTIGUOUS")
    checked: Any = ctypes.CFUNCTYPE(None, *[array] * 4)(address)
    loop = code.function("loop", None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    times = interleaved(
        {
            "bare": lambda: loop(*pointers, CALLS),
            "len": repeated(len, q),
            "filled": repeated(fast, q, u, a, tau),
            "fresh": repeated(fast, q, u, a),
            "list": repeated(fast, q.tolist(), u, a),
            "slow": repeated(slow, q, u, a, tau),
            "addresses": repeated(plain, *pointers),
            "ndpointer": repeated(checked, q, u, a, tau),
        },
        rounds=31,
    )
    bare = times["bare"] / CALLS
    over = {name: value / CALLS - bare for name, value in times.items()}

    def row(what: str, name: str, bar: float | None = None) -> Row:
        total = over[name] + bare
        note = f"{total * 1e9:.0f} ns in all, {total / bare:.2f} of the bare kernel"
        return Row(what, over[name], "s", bar=bar, note=note)

    return [
        Row("bare kernel in a native loop", bare, "s", note="500 operations, 3 x 6 in, 6 out"),
        Row("len(array), for comparison", over["len"] + bare, "s", note="a built-in from Python"),
        row("native wrapper, result into an array: over bare", "filled", 250e-9),
        row("native wrapper, new array: over bare", "fresh", 250e-9),
        row("native wrapper, one input a list: over bare", "list"),
        row("Python's careful route: over bare", "slow"),
        row("ctypes, addresses known beforehand, unchecked: over bare", "addresses"),
        row("ctypes, ndpointer: over bare", "ndpointer"),
    ]


def readiness() -> list[Row]:
    """Seconds until a kernel of 10,000 operations can be called, without imports."""

    def prepare(key: int) -> tuple[NativeCode, float]:
        start = time.perf_counter()
        code = cached_native(b"bench %d" % key, lambda: kernel_ir(10_000), ["kernel"])
        make_scalar_call(code.address("kernel"), INPUTS, OUTPUTS, keep=code)
        return code, time.perf_counter() - start

    before = os.environ.get("LINKWRIGHT_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LINKWRIGHT_CACHE_DIR"] = f"{folder}/cache"
        try:
            built = [prepare(key) for key in range(5)]
            cached = [prepare(key) for key in range(5) for _ in range(5)]
        finally:
            if before is None:
                del os.environ["LINKWRIGHT_CACHE_DIR"]
            else:
                os.environ["LINKWRIGHT_CACHE_DIR"] = before
    size = f"{cached[0][0].object_size / 1000:.0f} kB of object code; the wrapper is included"
    return [
        Row("10,000 operations, built and ready", median(t for _, t in built), "s"),
        Row("the same from the cache", median(t for _, t in cached), "s", bar=20e-3, note=size),
    ]
