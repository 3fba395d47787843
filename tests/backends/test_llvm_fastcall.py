"""Calling a scalar kernel from Python: right results, refusals, slow paths, references.

The oracle is NumPy: the kernel computes a*x + y element by element, without fusing.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import linkwright as lw
from linkwright.backends.llvm import fastcall, layout
from linkwright.backends.llvm.compile import native
from linkwright.backends.llvm.fastcall import make_scalar_call
from linkwright.backends.llvm.signature import Dtype
from tests.support.native_ir import axpy_scalar, fresh_cache

INPUTS = [("a", 3), ("x", 3), ("y", 3)]
OUTPUTS = [("out", 3)]
ROUTES = ["fast", "ctypes"]
Floats = NDArray[Any]


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        fresh_cache(patch, tmp_path_factory.mktemp("fastcall"))
        yield


def axpy(route: str = "fast", dtype: Dtype = "f64", slow: Any = None) -> Callable[..., Any]:
    code = native(axpy_scalar(3, "double" if dtype == "f64" else "float"), ["axpy"])
    with pytest.MonkeyPatch.context() as patch:
        if route == "ctypes":
            patch.setattr(fastcall, "find_layout", lambda: None)
        call = make_scalar_call(
            code.address("axpy"), INPUTS, OUTPUTS, dtype, slow, name="axpy", keep=code
        )
    assert (type(call) is type(len)) == (route == "fast")
    return call


@lru_cache(maxsize=1)
def shared() -> Callable[..., Any]:
    """One fast call for the tests that need no special one."""
    return axpy()


def arrays(dtype: Any = np.float64) -> tuple[Floats, Floats, Floats]:
    random = np.random.default_rng(5)
    a, x, y = (random.normal(size=3).astype(dtype) for _ in range(3))
    return a, x, y


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_results_equal_those_of_numpy(route: str, dtype: Dtype) -> None:
    call = axpy(route, dtype)
    a, x, y = arrays(np.float64 if dtype == "f64" else np.float32)
    out = np.zeros_like(a)
    assert call(a, x, y, out) is None
    assert np.array_equal(out, a * x + y)
    fresh = call(a, x, y)
    assert fresh.dtype == a.dtype
    assert fresh.flags.owndata
    assert np.array_equal(fresh, out)


@given(hnp.arrays(np.float64, (3, 3), elements=st.floats(allow_nan=True, width=64)))
def test_any_values_pass_through_unchanged(values: Floats) -> None:
    with np.errstate(all="ignore"):
        expected = values[0] * values[1] + values[2]
    assert np.array_equal(shared()(*values), expected, equal_nan=True)


def given_slow() -> tuple[Callable[..., Any], list[tuple[object, ...]]]:
    """The fast call with a slow path that only notes what it got."""
    seen: list[tuple[object, ...]] = []
    return axpy(slow=lambda *args, **named: seen.append((*args, named))), seen


def strided(x: Floats) -> Floats:
    return np.repeat(x, 2)[::2]


class Subclass(np.ndarray):
    """An array type that could override anything."""


def revived(x: Floats) -> Floats:
    """An array whose dtype is equal to float64 but another object, as after unpickling."""
    fresh = x.astype(np.dtype("f8", False, True), copy=True)
    assert fresh.dtype == np.float64
    assert fresh.dtype is not np.dtype(np.float64)
    return fresh


CONVERTED: dict[str, Callable[[Floats], object]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "float32": lambda x: x.astype(np.float32),
    "integers": lambda x: np.array([1, 2, 3]),
    "strided": strided,
    "reversed": lambda x: x[::-1],
    "subclass": lambda x: x.view(Subclass),
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "another dtype object": revived,
    "unaligned": lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float64),
    "read-only": lambda x: np.frombuffer(x.tobytes()),
}


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("case", CONVERTED)
@pytest.mark.parametrize("route", ROUTES)
def test_other_inputs_are_converted(case: str, position: int, route: str) -> None:
    values: list[Any] = list(arrays())
    values[position] = CONVERTED[case](values[position])
    a, x, y = (np.asarray(v, np.float64) for v in values)
    assert np.array_equal(axpy(route)(*values), a * x + y)


@pytest.mark.parametrize("case", sorted(set(CONVERTED) - {"read-only"}))
def test_other_inputs_take_the_slow_path(case: str) -> None:
    call, seen = given_slow()
    a, x, y = arrays()
    other = CONVERTED[case](a)
    assert call(other, x, y) is None
    assert len(seen) == 1
    assert seen[0][0] is other
    assert seen[0][3] == {}


REFUSED: dict[str, tuple[Callable[[Floats], object], str]] = {
    "short": (lambda x: x[:2], r"'x' has shape \(2,\); it must be \(3,\)"),
    "long": (lambda x: np.zeros(4), "shape"),
    "2-d": (lambda x: x.reshape(3, 1), "shape"),
    "0-d": (lambda x: np.float64(1.0), "shape"),
    "empty": (lambda x: np.zeros(0), "shape"),
    "complex": (lambda x: x.astype(complex), "complex128"),
    "text": (lambda x: np.array(["1", "2", "3"]), "real number"),
    "objects": (lambda x: np.array([1.0, None, 2.0], object), "real number"),
    "ragged": (lambda x: [[1.0], [1.0, 2.0], 3.0], "rectangular"),
    "masked": (lambda x: np.ma.masked_less(x, 0), "masked"),
    "None": (lambda x: None, "real number"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("route", ROUTES)
def test_wrong_inputs_are_refused_with_their_name(case: str, route: str) -> None:
    a, x, y = arrays()
    make, message = REFUSED[case]
    with pytest.raises(lw.Error, match=message) as caught:
        axpy(route)(a, make(x), y)
    assert "'x'" in str(caught.value)


def read_only() -> Floats:
    array = np.zeros(3)
    array.flags.writeable = False
    return array


BAD_OUTPUTS: dict[str, tuple[Callable[[], object], str]] = {
    "list": (lambda: [0.0, 0.0, 0.0], "is a list"),
    "read-only": (read_only, "read-only"),
    "short": (lambda: np.zeros(2), "shape"),
    "2-d": (lambda: np.zeros((1, 3)), "shape"),
    "integers": (lambda: np.zeros(3, int), "int64"),
    "repeating itself": (
        lambda: np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)),
        "overlaps itself",
    ),
}


@pytest.mark.parametrize("case", BAD_OUTPUTS)
@pytest.mark.parametrize("route", ROUTES)
def test_wrong_outputs_are_refused_and_untouched(case: str, route: str) -> None:
    make, message = BAD_OUTPUTS[case]
    out: Any = make()
    with pytest.raises(lw.Error, match=message):
        axpy(route)(*arrays(), out)
    assert np.all(np.asarray(out) == 0)


GOOD_OUTPUTS: dict[str, Callable[[], Floats]] = {
    "strided": lambda: np.zeros(6)[::2],
    "reversed": lambda: np.zeros(3)[::-1],
    "float32": lambda: np.zeros(3, np.float32),
    "byte-swapped": lambda: np.zeros(3, np.dtype(np.float64).newbyteorder()),
    "unaligned": lambda: np.zeros(25, np.uint8)[1:].view(np.float64),
    "subclass": lambda: np.zeros(3).view(Subclass),
}


@pytest.mark.parametrize("case", GOOD_OUTPUTS)
@pytest.mark.parametrize("route", ROUTES)
def test_other_outputs_are_filled(case: str, route: str) -> None:
    out = GOOD_OUTPUTS[case]()
    a, x, y = arrays()
    assert axpy(route)(a, x, y, out) is None
    assert np.array_equal(out, (a * x + y).astype(out.dtype))


@pytest.mark.parametrize("shift", [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("route", ROUTES)
def test_an_output_may_overlap_an_input(route: str, position: int, shift: int) -> None:
    """The result is that of separate arrays, and the native path sees only arrays apart."""
    buffer = np.arange(9.0) + 1
    values = list(arrays())
    values[position] = buffer[3:6]
    expected = values[0] * values[1] + values[2]
    axpy(route)(*values, buffer[3 + shift : 6 + shift])
    assert np.array_equal(buffer[3 + shift : 6 + shift], expected)
    call, seen = given_slow()
    call(*values, buffer[3 + shift : 6 + shift])
    assert len(seen) == (abs(shift) < 3)


PAIR = """
define void @pair(ptr %x, ptr %p, ptr %q) {
  %v = load double, ptr %x
  %s = fmul double %v, %v
  %at = getelementptr double, ptr %p, i64 1
  store double %v, ptr %p
  store double %s, ptr %at
  store double %s, ptr %q
  ret void
}
"""


def pair() -> Callable[..., Any]:
    code = native(PAIR, ["pair"])
    return make_scalar_call(
        code.address("pair"), [("x", ())], [("p", (2, 1)), ("q", ())], name="pair", keep=code
    )


def test_outputs_that_overlap_each_other_are_refused() -> None:
    buffer = np.zeros(2)
    with pytest.raises(lw.Error, match="'p' and 'q' overlap"):
        pair()(3.0, buffer.reshape(2, 1), buffer[1:].reshape(()))
    assert np.all(buffer == 0)


@pytest.mark.parametrize(
    "value", [3.0, np.float64(3.0), np.array(3.0), 3, np.float32(3.0), True + 2]
)
def test_scalars_may_be_numbers_and_are_returned_as_floats(value: object) -> None:
    p, q = pair()(value)
    assert p.shape == (2, 1)
    assert p.tolist() == [[3.0], [9.0]]
    assert type(q) is float
    assert q == 9.0


def test_scalars_of_a_float32_kernel() -> None:
    code = native(axpy_scalar(1, "float"), ["axpy"])
    shapes = [("a", ()), ("x", ()), ("y", ())]
    call = make_scalar_call(code.address("axpy"), shapes, [("out", ())], "f32", keep=code)
    third = np.float32(1 / 3)
    expected = float(third * third + third)
    for value in (third, 1 / 3, np.array(third)):
        result = call(value, third, value)
        assert type(result) is float
        assert result == expected


def test_shapes_of_two_axes_are_compared_exactly() -> None:
    code = native(axpy_scalar(6), ["axpy"])
    shapes: list[Any] = [("a", (2, 3)), ("x", (2, 3)), ("y", (2, 3))]
    call = make_scalar_call(code.address("axpy"), shapes, [("out", (2, 3))], keep=code)
    m = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(call(m, m, m), m * m + m)
    f = np.asfortranarray(m)
    assert np.array_equal(call(f, f, f), m * m + m)
    for wrong in (m.reshape(3, 2), m.reshape(6), m.reshape(1, 2, 3)):
        with pytest.raises(lw.Error, match="shape"):
            call(wrong, m, m)


def test_arguments_may_be_named() -> None:
    a, x, y = arrays()
    out = np.zeros(3)
    assert shared()(a, y=y, x=x, out=out) is None
    assert np.array_equal(out, a * x + y)
    assert np.array_equal(shared()(x=x, y=y, a=a), out)


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "takes 3 arrays, or 4"),
        ((1, 2), {}, "takes 3 arrays"),
        ((1, 2, 3, 4, 5), {}, "got 5"),
        ((1, 2), {"z": 3}, "lacks 'y' and got z"),
        ((1, 2), {"x": 3}, "lacks 'y' and got x"),
    ],
)
def test_wrong_arguments_say_how_to_call(args: Any, named: Any, message: str) -> None:
    with pytest.raises(lw.Error, match=message) as caught:
        shared()(*args, **named)
    assert "axpy(a[3], x[3], y[3][, out[3]])" in str(caught.value)


def test_an_exception_of_the_slow_path_arrives() -> None:
    def fail(*args: object) -> None:
        raise ZeroDivisionError("from the slow path")

    with pytest.raises(ZeroDivisionError, match="from the slow path"):
        axpy(slow=fail)([1.0], 2, 3)


def test_a_kernel_without_outputs_or_without_inputs_can_be_called() -> None:
    code = native("define void @f(ptr %x) {\n store double 7.0, ptr %x\n ret void\n}", ["f"])
    x = np.zeros(1)
    assert make_scalar_call(code.address("f"), [("x", 1)], [], keep=code)(x) is None
    assert x[0] == 7.0
    source = make_scalar_call(code.address("f"), [], [("x", 1)], keep=code)
    assert source().tolist() == [7.0]
    assert source(x) is None


def test_empty_arrays_are_allowed() -> None:
    code = native("define void @f(ptr %x, ptr %y) {\n ret void\n}", ["f"])
    call = make_scalar_call(code.address("f"), [("x", 0)], [("y", (0, 3))], keep=code)
    empty = np.zeros(0)
    assert call(empty).shape == (0, 3)
    assert call(empty, np.zeros((0, 3))) is None


def test_repeated_calls_keep_every_reference_count() -> None:
    call, (a, x, y), out = shared(), arrays(), np.zeros(3)
    watched = (None, a, x, y, out, np.dtype(np.float64), np.ndarray, call)
    gc.collect()
    before = [sys.getrefcount(thing) for thing in watched]
    for _ in range(4_000):
        call(a, x, y, out)
        call(a, x, y)
    for _ in range(200):
        call([1.0, 2.0, 3.0], x, y)
        with suppress(lw.Error):
            call(a, x)
    gc.collect()
    after = [sys.getrefcount(thing) for thing in watched]
    assert max(abs(b - a) for a, b in zip(before, after, strict=True)) < 100


def test_repeated_calls_keep_no_memory() -> None:
    call, several = shared(), pair()
    a, x, y = arrays()
    out = np.zeros(3)

    def work(count: int) -> None:
        for _ in range(count):
            call(a, x, y, out)
            call(a, x, y)
            several(2.0)

    work(100)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work(6_000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 5_000


class Token:
    """Something whose end can be watched."""


@pytest.mark.parametrize("route", ROUTES)
def test_code_lives_as_long_as_the_callable_and_no_longer(route: str) -> None:
    code = native(axpy_scalar(3), ["axpy"])
    token = Token()
    with pytest.MonkeyPatch.context() as patch:
        if route == "ctypes":
            patch.setattr(fastcall, "find_layout", lambda: None)
        call = make_scalar_call(code.address("axpy"), INPUTS, OUTPUTS, keep=(code, token))
    watch = weakref.ref(token)
    del code, token
    gc.collect()
    a, x, y = arrays()
    assert watch() is not None
    assert np.array_equal(call(a, x, y), a * x + y)
    del call
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize(
    "field", ["TYPE", "DATA", "NDIM", "DIMENSIONS", "DESCRIPTOR", "FLAGS", "SCALAR_VALUE"]
)
def test_a_layout_that_differs_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert layout.find_layout.__wrapped__() is not None
    shift = -8 if field in ("DATA", "FLAGS", "SCALAR_VALUE") else 8
    monkeypatch.setattr(layout, field, getattr(layout, field) + shift)
    if field == "DIMENSIONS":  # The neighbor holds another pointer, to the strides.
        assert layout.DIMENSIONS == 40
    assert layout.find_layout.__wrapped__() is None


@pytest.mark.parametrize("flag", ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])
def test_a_flag_that_differs_is_noticed(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, flag, 0x8000)
    assert layout.find_layout.__wrapped__() is None


def test_other_interpreters_take_the_ctypes_route(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version", sys.version.replace(" (", " free-threading build (", 1))
    assert layout.find_layout.__wrapped__() is None
    monkeypatch.undo()
    monkeypatch.setattr(layout, "_ABI_VERSIONS", (0x03000000,))
    assert layout.find_layout.__wrapped__() is None


def test_a_wrapper_that_fails_its_trial_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper that does not look at flags would write into read-only arrays."""
    assert layout.find_layout() is not None  # Found before the change, and remembered.
    expected = shared()(*arrays())
    monkeypatch.setattr(layout, "WRITEABLE", 0)
    monkeypatch.setattr(fastcall, "fingerprint", lambda _: "without flags")
    code = native(axpy_scalar(3), ["axpy"])
    call = make_scalar_call(code.address("axpy"), INPUTS, OUTPUTS, keep=code)
    assert type(call) is not type(len)
    assert np.array_equal(call(*arrays()), expected)


def test_the_trial_does_not_leave_its_recorder_behind() -> None:
    """Calls with the arrays of another call reach the kernel, with the right pointers."""
    for _ in range(3):
        a, x, y = arrays()
        out = np.full(3, np.nan)
        axpy()(a, x, y, out)
        assert np.array_equal(out, a * x + y)
