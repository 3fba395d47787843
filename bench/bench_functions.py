"""Our own elementary functions: largest errors found, and speed against libm and NumPy.

Errors in double are found against the 80-bit functions of the C library where long double has 64
bits of mantissa, else against mpmath on fewer points; next to multiples of π/2 always against
mpmath. Float sine and cosine are tried on every float up to the limit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from bench.measure import Row, interleaved
from linkwright.backends.llvm.compile import NativeCode, native
from linkwright.backends.llvm.functions import (
    ERROR_BOUNDS,
    FUNCTIONS,
    RANGE_LIMIT,
    guarded_group,
    inline,
)
from linkwright.backends.llvm.functions.emitter import SCALARS, value_type
from linkwright.backends.llvm.target import host, register_bits

TITLE = "elementary functions"
POINTS = 1_000_000
EXTENDED = np.finfo(np.longdouble).nmant >= 63
ANGLES = 6

Array = NDArray[Any]


def run() -> list[Row]:
    """Measure errors, then speed."""
    return [*error_rows(), *speed_rows()]


# errors


def error_rows() -> list[Row]:
    """Largest error of each function over many points of its domain."""
    rows = []
    for name, (oracle, exact, make) in DOMAINS.items():
        points = make(np.random.default_rng(1), POINTS if EXTENDED else 4000)
        error = largest_error(name, points, oracle, exact)
        bar = 1.5 if name in ("sin", "cos") else ERROR_BOUNDS[name]["f64"]
        rows.append(
            Row(f"{name} double, largest error in ulp", error, bar=bar, note=describe(points))
        )
    for name in ("sin", "cos", "tan"):
        x = quarter_turns(np.random.default_rng(2), 3000)
        (result,) = apply(name, "f64", lanes("f64"), [x])
        error = largest_against_mpmath(result, [x], getattr(mpmath, name))
        bar = 1.5 if name != "tan" else ERROR_BOUNDS[name]["f64"]
        note = f"{len(x)} doubles next to k·π/2 up to 1e8, k = 29 included"
        rows.append(Row(f"{name} double, next to multiples of π/2", error, bar=bar, note=note))
    limit = ERROR_BOUNDS["sincos"]["f32"]
    note = f"every float from 2^-14 to {RANGE_LIMIT['f32']:g}, against ours in double"
    error = exhaustive_float_error()
    return [*rows, Row("sin and cos float, largest error in ulp", error, bar=limit, note=note)]


def _uniform(low: float, high: float) -> Callable[[np.random.Generator, int], list[Array]]:
    return lambda rng, n: [rng.uniform(low, high, n)]


def _plane(rng: np.random.Generator, n: int) -> list[Array]:
    return [rng.normal(size=n), rng.normal(size=n)]


def _powers(rng: np.random.Generator, n: int) -> list[Array]:
    return [2.0 ** rng.uniform(-10, 10, n), rng.uniform(-60, 60, n)]


DOMAINS: dict[str, tuple[Any, Any, Callable[[np.random.Generator, int], list[Array]]]] = {
    "sin": (np.sin, mpmath.sin, _uniform(-1e8, 1e8)),
    "cos": (np.cos, mpmath.cos, _uniform(-1e8, 1e8)),
    "tan": (np.tan, mpmath.tan, _uniform(-1e8, 1e8)),
    "asin": (np.arcsin, mpmath.asin, _uniform(-1, 1)),
    "acos": (np.arccos, mpmath.acos, _uniform(-1, 1)),
    "atan": (np.arctan, mpmath.atan, _uniform(-4, 4)),
    "atan2": (np.arctan2, mpmath.atan2, _plane),
    "exp": (np.exp, mpmath.exp, _uniform(-745, 709.7)),
    "log": (np.log, mpmath.log, _uniform(0.2, 5)),
    "pow": (np.power, mpmath.power, _powers),
}


def describe(points: list[Array]) -> str:
    """What the points were."""
    spans = ", ".join(f"{np.min(p):.3g} to {np.max(p):.3g}" for p in points)
    return f"{len(points[0])} random points, {spans}, {'80-bit' if EXTENDED else 'mpmath'} oracle"


def largest_error(name: str, points: list[Array], oracle: Any, exact: Any) -> float:
    """Largest error in units in the last place."""
    (result,) = apply(name, "f64", lanes("f64"), points)
    if not EXTENDED:
        return largest_against_mpmath(result, points, exact)
    true = oracle(*(p.astype(np.longdouble) for p in points))
    unit = np.ldexp(np.longdouble(1), np.maximum(np.frexp(true)[1] - 53, -1074))
    return float(np.max(np.abs(result - true) / unit))


def largest_against_mpmath(result: Array, points: list[Array], exact: Any) -> float:
    """Largest error in units in the last place, at 250 bits."""
    with mpmath.workprec(250):
        errors = []
        for value, *arguments in zip(result, *points, strict=True):
            true = exact(*(mpmath.mpf(float(a)) for a in arguments))
            unit = mpmath.ldexp(1, max(int(mpmath.frexp(true)[1]) - 53, -1074))
            errors.append(float(abs(mpmath.mpf(float(value)) - true) / unit))
        return max(errors)


def quarter_turns(rng: np.random.Generator, count: int) -> Array:
    """Doubles nearest to random multiples of π/2 up to 1e8, with the hard cases k = 29, 9206271."""
    last = int(RANGE_LIMIT["f64"] / (np.pi / 2))
    k = np.concatenate([[29, 58, 9206271, 18412542, 36825084], rng.integers(1, last, count)])
    with mpmath.workprec(250):
        return np.array([float(int(i) * mpmath.pi / 2) for i in k])


def exhaustive_float_error() -> float:
    """Largest error of float sine and cosine over all floats of the range."""
    first, last = (int(np.float32(x).view(np.uint32)) for x in (2.0**-14, RANGE_LIMIT["f32"]))
    worst, step = 0.0, 1 << 18
    for start in range(first, last, step):
        x = np.arange(start, min(start + step, last), dtype=np.uint32).view(np.float32)
        wide = apply("sincos", "f64", lanes("f64"), [x.astype(np.float64)])
        for result, true in zip(apply("sincos", "f32", lanes("f32"), [x]), wide, strict=True):
            unit = np.ldexp(1.0, np.frexp(true)[1] - 24)
            worst = max(worst, float(np.max(np.abs(result - true) / unit)))
    return worst


# speed


def speed_rows() -> list[Row]:
    """Time of one sine and cosine pair, and of six angles in a scalar kernel."""
    x = np.random.default_rng(3).uniform(-100.0, 100.0, 4096)
    single = x.astype(np.float32)
    calls: dict[str, Callable[[], object]] = {"libm": prepared(LIBM_LOOP, "f64", 1, [x], 2)}
    calls["numpy"] = lambda: (np.sin(x), np.cos(x))
    for label, scalar, width, points in (
        ("ours x1 double", "f64", 1, x),
        (f"ours x{lanes('f64')} double", "f64", lanes("f64"), x),
        (f"ours x{lanes('f32')} float", "f32", lanes("f32"), single),
    ):
        calls[label] = prepared(loop_text("sincos", scalar, width), scalar, width, [points], 2)
    times = interleaved(calls, rounds=41, calls=4)
    rows = []
    for label, seconds in times.items():
        share = seconds / times["numpy"]
        note = f"{seconds / len(x) * 1e9:.2f} ns a pair; {share:.3f} of NumPy's time"
        rows.append(Row(f"sin + cos, {label}, over libm", seconds / times["libm"], note=note))
    return [*rows, *packing_rows()]


def packing_rows() -> list[Row]:
    """Six angles with the range guard: libm, one by one, and packed into vectors."""
    x = np.random.default_rng(4).uniform(-3.0, 3.0, ANGLES)
    variants = {"libm": six_angles_libm(), "packed by 1": six_angles(1)}
    size = 2
    while size <= lanes("f64"):
        variants[f"packed by {size}"] = six_angles(size)
        size *= 2
    calls = {name: prepared(text, "f64", 1, [x], 1, 1000) for name, text in variants.items()}
    times = interleaved(calls, rounds=41)
    return [
        Row(
            f"{ANGLES} angles of a scalar kernel, {name}, over libm",
            seconds / times["libm"],
            note=f"{seconds / 1000 * 1e9:.1f} ns for all, any size of argument",
        )
        for name, seconds in times.items()
    ]


def lanes(scalar: str) -> int:
    """Elements of one vector register of this machine."""
    return register_bits(host().features) // (64 if scalar == "f64" else 32)


# native loops


def apply(name: str, scalar: str, width: int, points: list[Array]) -> list[Array]:
    """Results of one function over arrays."""
    count = -(-len(points[0]) // width) * width
    kind = np.float64 if scalar == "f64" else np.float32
    padded = [np.zeros(count, kind) for _ in points]
    for target, source in zip(padded, points, strict=True):
        target[: len(source)] = source
    code = native(loop_text(name, scalar, width), ["apply"])
    outputs = [np.zeros(count, kind) for _ in range(FUNCTIONS[name].results)]
    call(code, count, [*padded, *outputs])
    return [out[: len(points[0])] for out in outputs]


def call(code: NativeCode, count: int, arrays: list[Array]) -> None:
    """Call @apply(count, arrays...)."""
    pointers = [ctypes.c_void_p] * len(arrays)
    function = code.function("apply", None, ctypes.c_int64, *pointers)
    function(count, *(a.ctypes.data for a in arrays))


def prepared(
    text: str, scalar: str, width: int, points: list[Array], outputs: int, count: int | None = None
) -> Callable[[], object]:
    """A call of @apply with everything looked up beforehand."""
    code = native(text, ["apply"])
    kind = np.float64 if scalar == "f64" else np.float32
    arrays = [*points, *(np.zeros(len(points[0]) + 64 * k + 64, kind) for k in range(outputs))]
    addresses = [a.ctypes.data for a in arrays]
    function = code.function("apply", None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))
    number = len(points[0]) if count is None else count

    def again(kept: list[Array] = arrays) -> None:
        function(number, *addresses)

    return again


def loop_text(name: str, scalar: str, width: int) -> str:
    """@apply over arrays with the function written in place."""
    function, element, kind = FUNCTIONS[name], SCALARS[scalar], value_type(scalar, width)
    body = []
    for k in range(function.arity):
        body.append(f"  %p{k} = getelementptr {element}, ptr %a{k}, i64 %i")
        body.append(f"  %x{k} = load {kind}, ptr %p{k}, align 4")
    lines, results = inline(name, scalar, width, [f"%x{k}" for k in range(function.arity)], "t.")
    body += lines
    for k, result in enumerate(results):
        body.append(f"  %q{k} = getelementptr {element}, ptr %o{k}, i64 %i")
        body.append(f"  store {kind} {result}, ptr %q{k}, align 4")
    names = [f"ptr %a{k}" for k in range(function.arity)] + [
        f"ptr %o{k}" for k in range(len(results))
    ]
    return looped(", ".join(names), "\n".join(body), width)


def looped(parameters: str, body: str, step: int) -> str:
    """@apply(n, parameters): the body for %i = 0, step, ... below n."""
    return f"""
define void @apply(i64 %n, {parameters}) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %tail ]
{body}
  br label %tail
tail:
  %next = add i64 %i, {step}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}}
"""


LIBRARY = "declare double @sin(double)\ndeclare double @cos(double)\n"

LIBM_LOOP = LIBRARY + looped(
    "ptr %a, ptr %s, ptr %c",
    """  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %sine = call double @sin(double %x)
  %cosine = call double @cos(double %x)
  %sp = getelementptr double, ptr %s, i64 %i
  store double %sine, ptr %sp
  %cp = getelementptr double, ptr %c, i64 %i
  store double %cosine, ptr %cp""",
    1,
)


def six_angles_libm() -> str:
    """Six sines and cosines by the C library, again and again."""
    values = []
    body = []
    for k in range(ANGLES):
        body.append(f"  %s{k} = call double @sin(double %x{k})")
        body.append(f"  %c{k} = call double @cos(double %x{k})")
        values += [f"%s{k}", f"%c{k}"]
    return LIBRARY + _angles_loop(body, values)


def six_angles(size: int) -> str:
    """Six sines and cosines as one guarded group, packed into vectors of `size`."""
    requests = [("sincos", f"%x{k}") for k in range(ANGLES)]
    group = guarded_group("f64", 1, requests, "g.", lanes=size)
    values = [value for pair in group.results for value in pair]
    return "\n".join(group.definitions) + "\n" + _angles_loop(group.lines, values)


def _angles_loop(lines: list[str], values: list[str]) -> str:
    body = []
    for k in range(ANGLES):
        body.append(f"  %p{k} = getelementptr double, ptr %a, i64 {k}")
        body.append(f"  %x{k} = load volatile double, ptr %p{k}")
    body += lines
    for k, value in enumerate(values):
        body.append(f"  %q{k} = getelementptr double, ptr %o, i64 {k}")
        body.append(f"  store double {value}, ptr %q{k}")
    return looped("ptr %a, ptr %o", "\n".join(body), 1)
