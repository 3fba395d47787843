"""Native kernels against gcc: run time of scalar and batch kernels, and compile time.

gcc gets the same lowered Program, instruction by instruction in the same order, with libm, at -O3
-march=native. Scalar kernels of both are called through the same C loop over 1,024 states; batches
run over the same states in the blocked layout unless said. Medians of interleaved rounds, one
thread.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.arms import PUMA560, forward_dynamics, inverse_dynamics, random_chain
from bench.measure import Row, interleaved
from linkwright.backends.kernel import compile as compile_kernel
from linkwright.backends.llvm import backend, target
from linkwright.backends.llvm.blocks import empty_aligned, to_blocked
from linkwright.backends.llvm.compile import compile_ir
from linkwright.program import Code, Program, count_operations, lower

TITLE = "native kernels against gcc -O3 -march=native with libm, the same Program in the same order"
STATES = 1024
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

DRIVER = """
typedef void (*kernel3)(const double*, const double*, const double*, double*);
void drive(kernel3 f, const double* a, const double* b, const double* c, double* out,
           long n, long width)
{
    for (long i = 0; i < n; i++)
        f(a + i*width, b + i*width, c + i*width, out + i*width);
}
"""


def c_text(code: Code) -> str:
    """The lowered Program in C, one statement an instruction."""
    lines = ["#include <math.h>"]
    arrays = ", ".join(
        [f"const double* restrict i{k}" for k in range(len(code.inputs))]
        + [f"double* restrict o{k}" for k in range(len(code.outputs))]
    )
    lines.append(f"void kernel({arrays}) {{")
    for i in code.instructions:
        a = [f"v{k}" for k in i.args]
        if i.op == "const":
            text = float(i.data).hex()
        elif i.op == "input":
            text = f"i{i.data[0]}[{i.data[1]}]"
        elif i.op in _INFIX:
            text = f"{a[0]} {_INFIX[i.op]} {a[1]}"
        elif i.op == "neg":
            text = f"-{a[0]}"
        else:
            text = f"{i.op}({', '.join(a)})"
        lines.append(f"double v{i.id} = {text};")
    for k, (_, ids) in enumerate(code.outputs):
        lines.extend(f"o{k}[{j}] = v{i};" for j, i in enumerate(ids))
    return "\n".join([*lines, "}", ""])


def build(text: str, folder: Path, name: str) -> tuple[ctypes.CDLL, float]:
    """Compile C text with gcc; return the library and the seconds it took."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    start = time.perf_counter()
    subprocess.run(
        ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(library)), time.perf_counter() - start


def run() -> list[Row]:
    """Return the table."""
    rows: list[Row] = []
    os.environ["LINKWRIGHT_CACHE_DIR"] = "off"
    cases = [
        ("PUMA 560 inverse dynamics", inverse_dynamics(PUMA560, "puma_id"), 6, 0.7, 4.5, 9.0),
        (
            "30-dof chain forward dynamics",
            forward_dynamics(random_chain(30), "fd30"),
            30,
            1.0,
            3.0,
            6.0,
        ),
    ]
    wide = target.host().register_bits == 512
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        driver, _ = build(DRIVER, folder, "driver")
        for label, program, width, bar, bar64, bar32 in cases:
            rows += _case(
                label,
                program,
                width,
                bar,
                bar64 if wide else bar64 / 2,
                bar32 if wide else bar32 / 2,
                driver,
                folder,
            )
        rows += _compile_times(folder)
        rows.append(_ready_from_cache(folder))
    return rows


def _case(
    label: str,
    program: Program,
    width: int,
    bar: float,
    bar64: float,
    bar32: float,
    driver: ctypes.CDLL,
    folder: Path,
) -> list[Row]:
    code = lower(program)
    ops = count_operations(program)
    library, _ = build(c_text(code), folder, program.name)
    native = backend.scalar_code(program)
    rng = np.random.default_rng(7)
    inputs = [rng.normal(size=(STATES, width)) for _ in range(3)]
    out = np.empty((STATES, width))
    reference = np.empty((STATES, width))
    drive = driver.drive
    drive.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_long] * 2
    pointers = [x.ctypes.data for x in inputs]
    ours = native.address(backend.SCALAR)
    theirs = ctypes.cast(library.kernel, ctypes.c_void_p).value
    wide, narrow = backend.batch_call(program), backend.batch_call(program, "f32")
    contenders: dict[str, Any] = {
        "gcc": lambda: drive(theirs, *pointers, reference.ctypes.data, STATES, width),
        "scalar": lambda: drive(ours, *pointers, out.ctypes.data, STATES, width),
    }
    lanes = {"f64": target.host().lanes("f64"), "f32": target.host().lanes("f32")}
    for name, call, dtype in (("batch", wide, "f64"), ("batch32", narrow, "f32")):
        blocked = [
            to_blocked(x.astype(np.float64 if dtype == "f64" else np.float32), lanes[dtype])
            for x in inputs
        ]
        arrays = [*blocked, empty_aligned(blocked[0].shape, blocked[0].dtype)]
        contenders[name] = _native(call.blocked, arrays, [lanes[dtype] * width] * 4, lanes[dtype])
    plain = [*inputs, np.empty((STATES, width))]
    contenders["rows"] = _native(wide.rows, plain, [width] * 4, lanes["f64"])
    repeats = max(1, 40_000 // ops.total)
    times = interleaved(contenders, rounds=11, calls=repeats)
    ns = {k: v / STATES * 1e9 for k, v in times.items()}
    error = np.abs(out - reference).max() / np.abs(reference).max()
    size = f"{ops.add + ops.mul + ops.call} operations"
    return [
        Row(
            f"{label}: scalar / gcc",
            ns["scalar"] / ns["gcc"],
            bar=bar,
            note=f"{ns['scalar']:.0f} / {ns['gcc']:.0f} ns; {size}; difference {error:.0e}",
        ),
        Row(
            f"{label}: batch x{lanes['f64']} double over scalar",
            ns["scalar"] / ns["batch"],
            bar=bar64,
            better="higher",
            note=f"{ns['batch']:.1f} ns",
        ),
        Row(
            f"{label}: batch x{lanes['f32']} float over scalar",
            ns["scalar"] / ns["batch32"],
            bar=bar32,
            better="higher",
            note=f"{ns['batch32']:.1f} ns",
        ),
        Row(
            f"{label}: (N, n) rows / blocked",
            ns["rows"] / ns["batch"],
            bar=1.3,
            note=f"{ns['rows']:.1f} ns",
        ),
    ]


def _native(
    entry: Callable[[Any, int, int], None], arrays: list[Any], strides: list[int], lanes: int
) -> Callable[[], None]:
    """A call of a batch entry on fixed arrays, as `linkwright.backends.llvm.batch` describes it."""
    table = (ctypes.c_int64 * (2 * len(arrays)))()
    for k, (array, stride) in enumerate(zip(arrays, strides, strict=True)):
        table[2 * k], table[2 * k + 1] = array.ctypes.data, stride
    address = ctypes.addressof(table)

    def call(keep: object = (table, arrays)) -> None:
        entry(address, 0, STATES // lanes)

    return call


def _compile_times(folder: Path) -> list[Row]:
    rows = []
    per_op: dict[int, float] = {}
    for links, with_gcc in ((2, False), (21, True), (110, False), (220, False)):
        program = forward_dynamics(random_chain(links), f"fd{links}")
        code = lower(program)
        size = len(code.instructions)
        ours = []
        for _ in range(3 if size < 50_000 else 1):
            start = time.perf_counter()
            compile_ir(backend.scalar_ir(program))
            ours.append(time.perf_counter() - start)
        seconds = median(ours)
        per_op[size] = seconds / size * 1e6
        note = f"{size} instructions, {seconds:.2f} s, {per_op[size]:.0f} us each"
        if with_gcc:
            _, theirs = build(c_text(code), folder, program.name)
            rows.append(
                Row(
                    "compile time / gcc's at 10,000 operations",
                    seconds / theirs,
                    bar=1 / 3,
                    note=f"{note}; gcc {theirs:.2f} s",
                )
            )
        else:
            rows.append(
                Row(f"compile time per operation, {links} links", per_op[size], "us", note=note)
            )
    sizes = sorted(per_op)
    rows.append(
        Row(
            "time per operation, largest over 10,000",
            per_op[sizes[-1]] / per_op[sizes[1]],
            bar=1.3,
            note=f"{sizes[-1]} against {sizes[1]} instructions; linear is 1",
        )
    )
    return rows


def _ready_from_cache(folder: Path) -> Row:
    """Time from a Program to its first result where the cache holds the object code."""
    program = forward_dynamics(random_chain(21), "fd21")
    x = np.zeros(21)
    os.environ["LINKWRIGHT_CACHE_DIR"] = str(folder / "cache")
    compile_kernel(program)(x, x, x)
    seconds = []
    for _ in range(9):
        start = time.perf_counter()
        compile_kernel(program)(x, x, x)
        seconds.append(time.perf_counter() - start)
    os.environ["LINKWRIGHT_CACHE_DIR"] = "off"
    size = len(lower(program).instructions)
    return Row(
        "cached kernel, from Program to first result",
        median(seconds) * 1e3,
        "ms",
        bar=20.0,
        note=f"{size} instructions; key, look-up, load, wrapper and call",
    )
