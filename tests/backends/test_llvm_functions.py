"""Elementary functions in LLVM IR: errors against mpmath, special values against NumPy's.

Every function is compiled into a loop over arrays and held to its stated bound in ERROR_BOUNDS.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.backends.llvm.functions import (
    ERROR_BOUNDS,
    FUNCTIONS,
    RANGE_LIMIT,
    TEXT_VERSION,
    definition,
    dependencies,
    function_name,
    guarded_group,
    inline,
)
from linkwright.backends.llvm.functions.emitter import SCALARS, value_type
from linkwright.base.errors import Error
from tests.seeds import cases, examples

Array = NDArray[np.float64] | NDArray[np.float32]

MANTISSA = {"f64": (53, -1074), "f32": (24, -149)}
POINTS = examples(4000, daily=1600)
HOST = llvm.get_host_cpu_features()
CPUS = ["host", "x86-64-v3"] if HOST.get("avx2") and HOST.get("fma") else ["host"]
"""Processors to compile for: without AVX-512 other instructions are chosen."""

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def cast(values: object, scalar: str) -> Array:
    """An array of the scalar kind."""
    if scalar == "f64":
        return np.asarray(values, np.float64)
    return np.asarray(values, np.float32)


class Native:
    """Code compiled from IR text, kept alive with its engine."""

    def __init__(self, text: str, cpu: str) -> None:
        module = llvm.parse_assembly(text)
        module.verify()
        host = cpu == "host"
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name() if host else cpu,
            features=HOST.flatten() if host else "",
            opt=2,
        )
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()

    def call(self, count: int, arrays: list[Array]) -> None:
        """Run the function @apply over `count` elements of the arrays."""
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))
        kind(self.engine.get_function_address("apply"))(count, *[a.ctypes.data for a in arrays])


def loop_text(body: str, inputs: int, outputs: int, step: int) -> str:
    """@apply(n, inputs..., outputs...): `body` at every `step`-th index %i."""
    names = [f"ptr %a{k}" for k in range(inputs)] + [f"ptr %o{k}" for k in range(outputs)]
    return f"""
define void @apply(i64 %n, {", ".join(names)}) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %tail ]
  br label %body
body:
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


def load(pointer: str, name: str, scalar: str, width: int, index: str = "%i") -> str:
    """Text that loads one value from an array."""
    element = SCALARS[scalar]
    return (
        f"  {name}.p = getelementptr {element}, ptr {pointer}, i64 {index}\n"
        f"  {name} = load {value_type(scalar, width)}, ptr {name}.p, align 4\n"
    )


def store(pointer: str, value: str, tag: str, scalar: str, width: int, index: str = "%i") -> str:
    """Text that stores one value into an array."""
    element = SCALARS[scalar]
    return (
        f"  %{tag}.p = getelementptr {element}, ptr {pointer}, i64 {index}\n"
        f"  store {value_type(scalar, width)} {value}, ptr %{tag}.p, align 4\n"
    )


@cache
def compiled(name: str, scalar: str, width: int, guarded: bool, cpu: str) -> Native:
    """A loop that calls the definition of one function."""
    function = FUNCTIONS[name]
    kind = value_type(scalar, width)
    returned = kind if function.results == 1 else f"{{ {kind}, {kind} }}"
    body = "".join(load(f"%a{k}", f"%v{k}", scalar, width) for k in range(function.arity))
    args = ", ".join(f"{kind} %v{k}" for k in range(function.arity))
    body += f"  %r = call {returned} @{function_name(name, scalar, width)}({args})\n"
    for k in range(function.results):
        value = "%r"
        if function.results > 1:
            body += f"  %e{k} = extractvalue {returned} %r, {k}\n"
            value = f"%e{k}"
        body += store(f"%o{k}", value, f"q{k}", scalar, width)
    text = "\n".join(dependencies(name, scalar, width)) if guarded else ""
    text += definition(name, scalar, width, guarded=guarded)
    return Native(text + loop_text(body, function.arity, function.results, width), cpu)


def evaluate(
    name: str,
    scalar: str,
    width: int,
    *arguments: Array,
    guarded: bool = False,
    cpu: str = "host",
) -> list[Array]:
    """The results of one of our functions over arrays."""
    count = -(-len(arguments[0]) // width) * width
    inputs = [cast(np.zeros(count), scalar) for _ in arguments]
    for padded, given in zip(inputs, arguments, strict=True):
        padded[: len(given)] = given
    outputs = [cast(np.zeros(count), scalar) for _ in range(FUNCTIONS[name].results)]
    compiled(name, scalar, width, guarded, cpu).call(count, [*inputs, *outputs])
    return [out[: len(arguments[0])] for out in outputs]


def ulps(value: float, exact: mpmath.mpf, scalar: str) -> float:
    """Distance in units in the last place of the exact result."""
    bits, least = MANTISSA[scalar]
    if not np.isfinite(value):
        return float("inf")
    unit = mpmath.ldexp(1, max(int(mpmath.frexp(exact)[1]) - bits, least))
    return float(abs(mpmath.mpf(float(value)) - exact) / unit)


def worst(results: Array, scalar: str, oracle: Callable[..., mpmath.mpf], *args: Array) -> float:
    """Largest error of `results` in units in the last place, at 250 bits."""
    with mpmath.workprec(250):
        return max(
            ulps(value, oracle(*(mpmath.mpf(float(a)) for a in point)), scalar)
            for value, *point in zip(results, *args, strict=True)
        )


def near_quarter_turns(scalar: str, limit: float, count: int) -> Array:
    """The machine numbers up to `limit` that are nearest to multiples of π/2, closest first.

    In a binade the distance of k·π/2 to the grid of machine numbers is the fraction of k·α; 64 bits
    of it by wrapping multiplication rank all k at once.
    """
    bits = MANTISSA[scalar][0]
    ks, sizes = [], []
    with mpmath.workprec(400):
        for exponent in range(int(np.log2(limit)) + 1):
            first = int(mpmath.ceil(mpmath.mpf(2) ** exponent / (mpmath.pi / 2)))
            last = int(min(mpmath.mpf(2) ** (exponent + 1), limit) / (mpmath.pi / 2))
            alpha = mpmath.pi / 2 * mpmath.mpf(2) ** (bits - 1 - exponent)
            step = np.uint64(int((alpha - mpmath.floor(alpha)) * 2**64))
            for start in range(first, last + 1, 1 << 20):
                k = np.arange(start, min(start + (1 << 20), last + 1), dtype=np.uint64)
                size = np.abs((k * step).view(np.int64))
                few = np.flatnonzero(size < 2**57)
                ks.append(k[few])
                sizes.append(size[few] * 2.0**exponent)
        k, size = np.concatenate(ks), np.concatenate(sizes)
        chosen = k[np.argsort(size, kind="stable")[:count]]
        return cast([float(int(i) * mpmath.pi / 2) for i in chosen], scalar)


RNG_SEED = 20250611


def random_points(name: str, scalar: str) -> list[Array]:
    """Seeded arguments over the domain of a function, small and large."""
    rng = np.random.default_rng(RNG_SEED)
    n = POINTS // 2
    spread = 300.0 if scalar == "f64" else 35.0

    def scales(low: float, high: float) -> Array:
        sign = rng.choice([-1.0, 1.0], n)
        return cast(sign * 10.0 ** rng.uniform(low, high, n), scalar)

    def uniform(low: float, high: float) -> Array:
        return cast(rng.uniform(low, high, n), scalar)

    limit = RANGE_LIMIT[scalar]
    top, bottom = (709.7, -745.0) if scalar == "f64" else (88.7, -103.9)
    points: dict[str, list[Array]] = {
        "asin": [np.concatenate([uniform(-1, 1), np.clip(1 - np.abs(scales(-16, 0)), -1, 1)])],
        "atan": [np.concatenate([uniform(-4, 4), scales(-spread, spread)])],
        "exp": [np.concatenate([uniform(-1, 1), uniform(bottom, top)])],
        "tanh": [np.concatenate([uniform(-0.5, 0.5), uniform(-4, 4), scales(-spread, 2)])],
        "log": [np.concatenate([uniform(0.4, 2.5), np.abs(scales(-spread, spread))])],
        "pow": [
            np.concatenate([uniform(0.9, 1.1), np.abs(scales(-3, 3))]),
            np.concatenate([uniform(-500, 500), uniform(-10, 10)]),
        ],
        "sqrt": [np.abs(np.concatenate([uniform(0, 4), scales(-spread, spread)]))],
        "atan2": [
            np.concatenate([uniform(-4, 4), scales(-spread / 2, spread / 2)]),
            np.concatenate([uniform(-4, 4), scales(-spread / 2, spread / 2)]),
        ],
    }
    points["acos"] = points["asin"]
    turning = [np.concatenate([uniform(-7, 7), uniform(-limit, limit)])]
    return points.get(name, turning)


ORACLES: dict[str, Callable[..., mpmath.mpf]] = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "atan2": mpmath.atan2,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "tanh": mpmath.tanh,
    "pow": mpmath.power,
    "sqrt": mpmath.sqrt,
}


@pytest.mark.parametrize("scalar", ["f64", "f32"])
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_error_is_within_the_stated_bound(name: str, scalar: str) -> None:
    arguments = random_points(name, scalar)
    (result,) = evaluate(name, scalar, 8, *arguments)
    assert worst(result, scalar, ORACLES[name], *arguments) <= ERROR_BOUNDS[name][scalar]


@pytest.mark.parametrize("scalar", ["f64", "f32"])
def test_sine_cosine_tangent_next_to_every_kind_of_quarter_turn(scalar: str) -> None:
    x = near_quarter_turns(scalar, RANGE_LIMIT[scalar], 300)
    x = cast(np.concatenate([x, -x, np.nextafter(x, cast(np.inf, scalar))]), scalar)
    sine, cosine = evaluate("sincos", scalar, 8, x)
    (tangent,) = evaluate("tan", scalar, 8, x)
    assert worst(sine, scalar, mpmath.sin, x) <= ERROR_BOUNDS["sin"][scalar]
    assert worst(cosine, scalar, mpmath.cos, x) <= ERROR_BOUNDS["cos"][scalar]
    assert worst(tangent, scalar, mpmath.tan, x) <= ERROR_BOUNDS["tan"][scalar]


def test_search_finds_the_known_hard_case() -> None:
    """29·π/2 is the multiple below 1e8 that lies closest to a double, 6e-19 away."""
    with mpmath.workprec(200):
        assert near_quarter_turns("f64", 1e8, 1)[0] == float(29 * mpmath.pi / 2)


def test_float_sine_and_cosine_over_a_grid_of_all_floats() -> None:
    """Every 97th float up to the limit against NumPy's double, whose error is negligible here."""
    last = int(np.float32(RANGE_LIMIT["f32"]).view(np.uint32))
    part = 97 * 2**18  # a part at a time takes little memory
    for first in range(0x30000000, last, part):
        x = np.arange(first, min(first + part, last), 97, dtype=np.uint32).view(np.float32)
        for result, exact in zip(
            evaluate("sincos", "f32", 16, x),
            (np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))),
            strict=True,
        ):
            unit = np.ldexp(1.0, np.frexp(exact)[1] - 24)
            assert float(np.max(np.abs(result - exact) / unit)) <= ERROR_BOUNDS["sincos"]["f32"]


@pytest.mark.parametrize(
    ("name", "scalar", "cpu"),
    cases(itertools.product(sorted(FUNCTIONS), ["f64", "f32"], CPUS), daily=17),
)
def test_every_width_and_processor_gives_the_same_bits(name: str, scalar: str, cpu: str) -> None:
    rng = np.random.default_rng(3)
    values = cast(np.concatenate([rng.normal(size=40) * 3, SPECIAL]), scalar)
    arguments = [values, np.roll(values, 7)][: FUNCTIONS[name].arity]
    reference = evaluate(name, scalar, 1, *arguments)
    for width in (4, 8, 16):
        for one, other in zip(
            reference, evaluate(name, scalar, width, *arguments, cpu=cpu), strict=True
        ):
            np.testing.assert_array_equal(one, other)
            finite = ~np.isnan(one)
            np.testing.assert_array_equal(np.signbit(one)[finite], np.signbit(other)[finite])


_POSITIVE = [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e-40, 1e-30, 1e30, np.inf, np.nan]
SPECIAL = np.array([sign * x for x in _POSITIVE for sign in (1.0, -1.0)])

NUMPY: dict[str, Callable[..., Array]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "pow": np.power,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "min": np.minimum,
    "max": np.maximum,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}


@pytest.mark.parametrize("scalar", ["f64", "f32"])
@pytest.mark.parametrize("name", sorted(NUMPY))
def test_special_values_are_those_of_numpy(name: str, scalar: str) -> None:
    """Every pair of zeros, ones, infinities, nan, tiny and huge numbers, signs of zero included."""
    special = cast(SPECIAL, scalar)
    if FUNCTIONS[name].arity == 2:
        left, right = np.meshgrid(special, special)
        arguments = [cast(left.ravel(), scalar), cast(right.ravel(), scalar)]
    else:
        arguments = [special]
    with np.errstate(all="ignore"):
        expected = NUMPY[name](*arguments)
    (result,) = evaluate(name, scalar, 4, *arguments, guarded=True)
    np.testing.assert_allclose(
        result, expected, rtol=4 * float(np.finfo(special.dtype).eps), atol=0
    )
    if name not in ("min", "max", "sign"):  # the sign of their zero is left open
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("scalar", ["f64", "f32"])
def test_exponential_underflows_gradually_and_overflows(scalar: str) -> None:
    edge = -745.0 if scalar == "f64" else -103.0
    x = cast(np.linspace(edge, edge + 40, 400), scalar)
    (result,) = evaluate("exp", scalar, 8, x)
    assert np.any((result > 0) & (result < np.finfo(x.dtype).tiny))
    assert worst(result, scalar, mpmath.exp, x) <= ERROR_BOUNDS["exp"][scalar]
    (ends,) = evaluate("exp", scalar, 1, np.array([710.0, -800.0, 1e30, -1e30]))
    assert ends.tolist() == [np.inf, 0.0, np.inf, 0.0]


@pytest.mark.parametrize("scalar", ["f64", "f32"])
def test_logarithm_of_subnormal_numbers(scalar: str) -> None:
    tiny = 2.0 ** MANTISSA[scalar][1]
    x = cast(tiny * np.array([1, 2, 3, 7, 1000, 4_000_000]), scalar)
    (result,) = evaluate("log", scalar, 1, x)
    assert worst(result, scalar, mpmath.log, x) <= ERROR_BOUNDS["log"][scalar]


@pytest.mark.parametrize(
    ("name", "scalar", "width"),
    cases(itertools.product(["sin", "cos", "sincos", "tan"], ["f64", "f32"], [1, 4, 8]), daily=7),
)
def test_arguments_of_any_size_are_right_when_guarded(name: str, scalar: str, width: int) -> None:
    rng = np.random.default_rng(11)
    top = 300 if scalar == "f64" else 38
    large = cast(10.0 ** rng.uniform(5, top, 200), scalar)
    small = cast(rng.uniform(-10, 10, 200), scalar)
    mixed = cast(np.stack([small, large], axis=1).ravel(), scalar)
    results = evaluate(name, scalar, width, mixed, guarded=True)
    alone = evaluate(name, scalar, 1, small, guarded=True)
    oracles = {"sincos": (mpmath.sin, mpmath.cos)}.get(name, (ORACLES.get(name),))
    for result, single, oracle in zip(results, alone, oracles, strict=True):
        assert oracle is not None
        with mpmath.workprec(1400):
            exact = [oracle(mpmath.mpf(float(x))) for x in mixed]
        errors = [ulps(r, e, scalar) for r, e in zip(result, exact, strict=True)]
        assert max(errors) <= ERROR_BOUNDS[name][scalar]
        np.testing.assert_array_equal(result[::2], single)  # a far neighbor changes nothing


def test_largest_and_hardest_arguments() -> None:
    """6381956970095103·2^797 is the double closest to a multiple of π/2 (W. Kahan)."""
    x = np.array([6381956970095103 * 2.0**797, np.finfo(np.float64).max, 2.0**1023, 2.0**27, 1e22])
    x = np.concatenate([x, -x])
    sine, cosine = evaluate("sincos", "f64", 4, x, guarded=True)
    (tangent,) = evaluate("tan", "f64", 4, x, guarded=True)
    for result, oracle in ((sine, mpmath.sin), (cosine, mpmath.cos), (tangent, mpmath.tan)):
        with mpmath.workprec(1400):
            exact = [oracle(mpmath.mpf(float(v))) for v in x]
        errors = [ulps(r, e, "f64") for r, e in zip(result, exact, strict=True)]
        assert max(errors) <= ERROR_BOUNDS["sincos"]["f64"]
    assert abs(cosine[0]) < 1e-18


def test_modules_need_nothing_from_outside() -> None:
    """No function calls the C library: object code has no symbol to resolve."""
    for name in FUNCTIONS:
        text = "\n".join((*dependencies(name, "f64", 4), definition(name, "f64", 4)))
        module = llvm.parse_assembly(text)
        declared = [f.name for f in module.functions if f.is_declaration]
        assert all(f.startswith("llvm.") for f in declared)


def test_just_beyond_the_limit_the_exact_route_is_taken() -> None:
    """The doubles around the limit give the same alone and beside small angles."""
    limit = RANGE_LIMIT["f64"]
    x = np.array([limit, np.nextafter(limit, np.inf), -np.nextafter(limit, np.inf), 1.0])
    one = evaluate("sincos", "f64", 1, x, guarded=True)
    four = evaluate("sincos", "f64", 4, x, guarded=True)
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a, b)
    assert worst(one[0], "f64", mpmath.sin, x) <= ERROR_BOUNDS["sin"]["f64"]


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_packed_group_equals_single_calls(lanes: int) -> None:
    """Seven angles of three functions in one scalar group, near and far, in every packing."""
    names = ["sincos", "sin", "sincos", "tan", "sincos", "cos", "sincos"]
    requests = [(name, f"%v{k}") for k, name in enumerate(names)]
    group = guarded_group("f64", 1, requests, "g.", lanes=lanes)
    body = "".join(load("%a0", f"%v{k}", "f64", 1, str(k)) for k in range(len(names)))
    body += "\n".join(group.lines) + "\n"
    flat = [value for values in group.results for value in values]
    body += "".join(store("%o0", v, f"s{k}", "f64", 1, str(k)) for k, v in enumerate(flat))
    native = Native("\n".join(group.definitions) + loop_text(body, 1, 1, 1), "host")
    for far in ([], [2], [0, 3, 6]):
        x = np.linspace(-4.0, 9.0, len(names))
        x[far] *= 1e12
        out = np.zeros(len(flat))
        native.call(1, [x, out])
        expected = [
            float(r[0])
            for name, value in zip(names, x, strict=True)
            for r in evaluate(name, "f64", 1, np.array([value]), guarded=True)
        ]
        assert out.tolist() == expected


def test_inlined_text_has_no_branch_and_no_call_but_intrinsics() -> None:
    for name, function in FUNCTIONS.items():
        for scalar in SCALARS:
            lines, results = inline(name, scalar, 4, ["%x", "%y"][: function.arity], "p.")
            assert len(results) == function.results
            assert all(line.startswith("  %p.") for line in lines)
            assert all("@llvm." in line for line in lines if " call " in line)
            assert not any(" br " in line or " phi " in line for line in lines)


def test_every_function_states_its_error() -> None:
    assert set(ERROR_BOUNDS) == set(FUNCTIONS)
    assert all(set(bounds) == set(SCALARS) for bounds in ERROR_BOUNDS.values())
    assert max(ERROR_BOUNDS["sincos"].values()) <= 1.6
    assert ERROR_BOUNDS["sincos"]["f64"] <= 1.5


def test_mistakes_are_named() -> None:
    with pytest.raises(Error, match="no elementary function is called 'sinh'"):
        inline("sinh", "f64", 1, ["%x"], "p")
    with pytest.raises(Error, match="atan2 takes 2 arguments, not 1"):
        inline("atan2", "f64", 1, ["%x"], "p")
    with pytest.raises(Error, match="unknown scalar kind 'f16'"):
        inline("sin", "f16", 1, ["%x"], "p")
    with pytest.raises(Error, match="'exp' needs no range guard"):
        guarded_group("f64", 1, [("exp", "%x")], "p")


TEXT_DIGESTS = {1: "a0776b6bbe0c549e", 2: "da2e50f4c617720d"}


def test_a_change_of_text_changes_the_version() -> None:
    """Caches are keyed by TEXT_VERSION: when this fails, count it up and note the new digest."""
    text = "".join(
        "".join((*dependencies(name, scalar, width), definition(name, scalar, width)))
        for name in FUNCTIONS
        for scalar in SCALARS
        for width in (1, 4)
    )
    assert TEXT_DIGESTS[TEXT_VERSION] == hashlib.sha256(text.encode()).hexdigest()[:16]
