"""Compiling, loading and describing the host: small kernels in IR against NumPy and libm."""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.backends.llvm import elf, target
from linkwright.backends.llvm.compile import (
    NativeCode,
    cached_native,
    compile_ir,
    load,
    native,
)
from linkwright.program import program
from tests.support.native_ir import HANDSHAKE, fresh_cache

UNARY = (ctypes.c_double, ctypes.c_double)


def unary(call: str) -> str:
    return f"define double @f(double %x) {{\n  %y = {call}\n  ret double %y\n}}\n"


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh_cache(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tan", "exp", "log", "atan", "sqrt", "fabs", "cbrt"]
)
def test_functions_of_libm_are_found_by_name(name: str) -> None:
    code = native(
        f"declare double @{name}(double)\n" + unary(f"call double @{name}(double %x)"), ["f"]
    )
    assert code.function("f", *UNARY)(0.7) == getattr(math, name)(0.7)


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "pow"])
def test_intrinsics_that_llvm_turns_into_libm_calls_are_linked(name: str) -> None:
    kind = "double, double" if name == "pow" else "double"
    values = "double %x, double %x" if name == "pow" else "double %x"
    ir = f"declare double @llvm.{name}.f64({kind})\n"
    code = native(ir + unary(f"call double @llvm.{name}.f64({values})"), ["f"])
    expected = math.pow(0.7, 0.7) if name == "pow" else getattr(math, name)(0.7)
    assert code.function("f", *UNARY)(0.7) == expected


def test_an_unknown_external_function_is_an_error_and_not_the_end_of_the_process() -> None:
    ir = "declare double @no_such_function(double)\n" + unary(
        "call double @no_such_function(double %x)"
    )
    with pytest.raises(lw.Error, match="no_such_function"):
        native(ir, ["f"])


def test_faulty_ir_is_an_error_with_the_place() -> None:
    with pytest.raises(lw.Error, match="expected"):
        native("define double @f(double %x) {\n  ret flout %x\n}", ["f"])
    with pytest.raises(lw.Error, match="rejected"):
        native(unary("fadd double %x, %y"), ["f"])


def test_a_symbol_that_is_not_there_is_an_error() -> None:
    code = compile_ir(unary("fadd double %x, 1.0"))
    with pytest.raises(lw.Error, match="does not define g"):
        load(code, ["f", "g"])
    with pytest.raises(lw.Error, match="no symbol 'g'"):
        load(code, ["f"]).address("g")


def test_a_binding_holds_for_its_own_load_and_for_no_later_one() -> None:
    double = ctypes.CFUNCTYPE(*UNARY)(lambda x: 2 * x)
    triple = ctypes.CFUNCTYPE(*UNARY)(lambda x: 3 * x)
    ir = "declare double @user(double)\n" + unary("call double @user(double %x)")
    address = [int(ctypes.cast(f, ctypes.c_void_p).value or 0) for f in (double, triple)]
    first = native(ir, ["f"], bind={"user": address[0]})
    second = native(ir, ["f"], bind={"user": address[1]})
    assert second.from_cache
    assert (first.function("f", *UNARY)(5.0), second.function("f", *UNARY)(5.0)) == (10.0, 15.0)
    with pytest.raises(lw.Error, match="user"):
        native(ir, ["f"])


def test_binding_a_name_of_libm_does_not_last() -> None:
    ir = "declare double @erf(double)\n" + unary("call double @erf(double %x)")
    fake = ctypes.CFUNCTYPE(*UNARY)(lambda x: -1.0)
    address = int(ctypes.cast(fake, ctypes.c_void_p).value or 0)
    assert native(ir, ["f"], bind={"erf": address}).function("f", *UNARY)(0.5) == -1.0
    assert native(ir, ["f"]).function("f", *UNARY)(0.5) == math.erf(0.5)


def big_constants(seed: int, count: int) -> tuple[str, np.ndarray]:
    """A kernel that sums products with `count` literal constants and a table of as many."""
    values = np.random.default_rng(seed).normal(size=(2, count))
    table = ", ".join(f"double {v:.17e}" for v in values[1])
    lines = [f"@table = private constant [{count} x double] [{table}]"]
    lines += ["declare double @sin(double)", "define double @f(double %x) {"]
    lines += ["  %s0 = call double @sin(double %x)"]
    for i, value in enumerate(values[0]):
        lines += [
            f"  %p{i} = getelementptr double, ptr @table, i64 {i}",
            f"  %t{i} = load volatile double, ptr %p{i}",
            f"  %m{i} = fmul double %t{i}, {value:.17e}",
            f"  %s{i + 1} = fadd double %s{i}, %m{i}",
        ]
    return "\n".join([*lines, f"  ret double %s{count}", "}"]), values


def summed(values: np.ndarray, x: float) -> float:
    total = math.sin(x)
    for a, b in zip(values[1], values[0], strict=True):
        total += a * b
    return total


def test_relocations_hold_when_memory_is_crowded() -> None:
    """Many modules with big constants, with gigabytes of address space reserved in between."""
    kernels: list[tuple[NativeCode, float]] = []
    reserved = []
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    for seed in range(12):
        ir, values = big_constants(seed, 400)
        code = native(ir, ["f"])
        kernels.append((code, summed(values, 0.3)))
        reserved.append(mmap.mmap(-1, 3 << 30, flags=private, prot=mmap.PROT_READ))
        if seed % 3 == 2:
            reserved.pop(0).close()
            del kernels[0]
            gc.collect()
    assert len({code.address("f") for code, _ in kernels}) == len(kernels)
    for code, expected in kernels:
        assert code.function("f", *UNARY)(0.3) == expected


def test_one_large_module_of_constants_is_loaded_as_one_block() -> None:
    ir, values = big_constants(7, 5_000)
    code = compile_ir(ir)
    facts = elf.read_facts(code)
    assert facts is not None
    assert facts.one_block == (target.preferred_model() == "small")
    assert load(code, ["f"]).function("f", *UNARY)(-1.0) == summed(values, -1.0)


def test_the_address_of_an_external_function_can_be_stored_in_data() -> None:
    ir = "declare double @cos(double)\n@slot = global ptr @cos\n" + (
        "define double @f(double %x) {\n  %g = load volatile ptr, ptr @slot\n"
        "  %y = call double %g(double %x)\n  ret double %y\n}\n"
    )
    assert native(ir, ["f"]).function("f", *UNARY)(0.25) == math.cos(0.25)


def test_code_that_cannot_lie_in_one_block_takes_the_default_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(data: bytes) -> elf.ObjectFacts | None:
        facts = read(data)
        return facts and elf.ObjectFacts(facts.defined, facts.undefined, one_block=False)

    read = elf.read_facts
    monkeypatch.setattr(elf, "read_facts", never)
    ir, values = big_constants(3, 200)
    assert native(ir, ["f"]).function("f", *UNARY)(2.0) == summed(values, 2.0)


def test_the_ir_is_written_only_when_the_cache_has_no_entry() -> None:
    written: list[int] = []

    def make_ir() -> str:
        written.append(1)
        return unary("fadd double %x, 1.0")

    first = cached_native(b"program 1", make_ir, ["f"])
    second = cached_native(b"program 1", make_ir, ["f"])
    cached_native(b"program 1", make_ir, ["f"], opt=1)
    assert (first.from_cache, second.from_cache, len(written)) == (False, True, 2)
    assert second.function("f", *UNARY)(1.0) == 2.0


def test_many_threads_may_compile_and_load_at_once() -> None:
    def build(k: int) -> float:
        code = native(unary(f"fmul double %x, {float(k):.1f}"), ["f"])
        return float(code.function("f", *UNARY)(2.0))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(build, range(40))) == [2.0 * k for k in range(40)]


def test_another_python_thread_runs_during_a_native_call() -> None:
    """The native code waits for a flag that only this thread sets, after seeing that it waits."""
    code = native(HANDSHAKE, ["handshake"])
    handshake = code.function("handshake", ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    flags = (ctypes.c_int64 * 2)(0, 0)
    turns_left: list[int] = []
    worker = threading.Thread(target=lambda: turns_left.append(handshake(flags, 10_000_000_000)))
    worker.start()
    while not flags[0]:
        time.sleep(0)
    flags[1] = 1
    worker.join()
    assert turns_left[0] > 0


def test_a_function_keeps_its_code_alive() -> None:
    """Ten functions whose code nothing else refers to, called after a collection."""
    calls = [
        native(unary(f"fmul double %x, {float(k):.1f}"), ["f"]).function("f", *UNARY)
        for k in range(10)
    ]
    gc.collect()
    assert [call(1.0) for call in calls] == list(range(10))


@pytest.mark.parametrize(
    ("features", "bits"),
    [
        ("+sse2,-avx,-avx2", 128),
        ("+sse2,+avx,+avx2,+fma,-avx512f", 256),
        ("+avx2,+avx512f,+avx512dq,+avx512vl", 512),
        ("+neon,+fp-armv8", 128),
        ("", 128),
    ],
)
def test_register_width_follows_from_the_features(features: str, bits: int) -> None:
    host = target.Host("", "", features, target.register_bits(features))
    assert (host.lanes("f64"), host.lanes("f32")) == (bits // 64, bits // 32)


def test_settings_for_keys_name_processor_features_versions_and_effort() -> None:
    settings = target.code_settings(2)
    assert target.host().cpu in settings
    assert target.host().features in settings
    assert "llvm " in settings
    assert "llvmlite " in settings
    assert settings != target.code_settings(3)


def test_kernels_with_arrays_of_the_same_shapes_are_not_confused() -> None:
    """Each call keeps its own kernel, whatever was compiled after it."""
    x = lw.symbol("x", "coordinate")
    made = [lw.compile(program(f"times{k}", {"x": [x]}, {"y": [k * x]})) for k in (2, 3, 5)]
    one = np.ones(1)
    for _ in range(2):
        assert [float(call(one)[0]) for call in made] == [2.0, 3.0, 5.0]
    del made[1]
    gc.collect()
    assert [float(call([1.0])[0]) for call in made] == [2.0, 5.0]  # by the slow way, too


def test_quantities_of_a_robot_with_arrays_of_the_same_shapes_are_not_confused() -> None:
    arm = lw.Robot("tests/robots/oblique_arm.urdf")
    q, v = np.full(len(arm.coordinates), 0.3), np.full(len(arm.speeds), 0.2)
    first, mass = arm.inverse_dynamics(q, v, v), arm.mass_matrix(q)
    arm.forward_dynamics(q, v, v)
    arm.inverse_mass_matrix(q)
    assert np.array_equal(arm.inverse_dynamics(q, v, v), first)
    assert np.array_equal(arm.mass_matrix(q), mass)
    assert arm.forward_dynamics(q, v, first) == pytest.approx(v)
