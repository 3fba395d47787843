"""Kernels of every backend against the reference interpreter, within the running error bound.

The bound (Higham, section 3.3) is carried through the primitive code operation by operation; where
a branch lies within rounding of its border the bound is as wide as the branches differ.
"""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import linkwright as lw
from linkwright.algebra import ZERO, Expr, symbol
from linkwright.backends import kernel as kernels
from linkwright.backends.c import compile_c
from linkwright.backends.c.compiler import load_library
from linkwright.backends.c.file import write_file
from linkwright.backends.foreign import foreign_functions
from linkwright.backends.llvm import backend, codegen
from linkwright.backends.llvm.compile import native
from linkwright.backends.llvm.lines import IrModule
from linkwright.backends.llvm.signature import make_signature
from linkwright.backends.llvm.slowcall import make_slow_call
from linkwright.backends.parts import cut
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Code,
    Loop,
    Program,
    Scanned,
    Solve,
    Stacked,
    gated,
    interpret,
    interpret_with_bound,
    lower,
    program,
)
from tests.random.programs import programs, sample_inputs
from tests.seeds import examples

Array = npt.NDArray[Any]
BACKENDS = tuple(name for name in kernels.BACKENDS if name != "cuda")  # which needs a card
SINGLE = 2.0**29  # unit roundoff of float32 over that of float64

few = settings(
    max_examples=examples(5, daily=3),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def as_list(result: Any) -> list[Array]:
    """Return the outputs of a kernel as a list of arrays."""
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def assert_within(got: Sequence[Array], code: Code, inputs: Sequence[Array], factor: float) -> None:
    """Hold results to the interpreter's, within `factor` times the bound on rounding errors."""
    values, bounds = interpret_with_bound(code, inputs)
    for result, value, bound in zip(got, values, bounds, strict=True):
        allowed = np.where(np.isfinite(bound), factor * bound, np.inf)
        finite = np.isfinite(value)
        assert np.array_equal(np.isnan(result)[finite], np.isnan(value)[finite])
        difference = np.abs(result - value)
        worst = np.where(finite & (difference > allowed), difference, 0.0)
        assert not worst.any(), (result, value, bound)


def sample_program() -> Program:
    """Return a Program with a loop, a call, a solve, branches and every stage."""
    k, q, u = symbol("k", sign="positive"), symbol("q", "coordinate"), symbol("u", "speed")
    a, b = symbol("a"), symbol("b", "coordinate")
    inner = program("inner", {"a": a, "b": b}, {"y": [lw.sin(a) * b, lw.sqrt(1 + a**2)]})
    t = [symbol(f"t{i}", "local") for i in range(12)]
    statements = (
        Call(inner, (k, q), (t[0], t[1])),
        Loop(
            3,
            (Carried(t[2], t[0], lw.cos(t[2]) + t[3] * k, t[4]),),
            (Scanned(t[3], (q, u, q * u)),),
            (Stacked(t[2] * t[3], (t[5], t[6], t[7])),),
            (),
        ),
        Solve(2, (0.1 * lw.sin(q), 3 + k, 2 + k, 0.2 * lw.cos(u)), (t[5], t[4]), (t[8], t[9])),
        Assign(t[10], lw.where(q < u, t[8], t[9] - lw.absolute(u))),
        Assign(t[11], 3 * k**2 / (1 + k)),
    )
    return program(
        "sample",
        {"k": k, "qu": [q, u]},
        {"y": [[t[10], t[6]], [t[7] * t[11], lw.maximum(t[1], u)]], "z": t[4] + t[11]},
        statements=statements,
    )


# -- all backends ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", BACKENDS)
@few
@given(made=programs())
def test_random_programs_agree_with_the_interpreter(name: str, made: Program) -> None:
    """Loops, calls, solves and all functions; single arrays and a batch with a tail."""
    inputs = sample_inputs(made, seed=1, batch=(5,))
    if name == "c":  # without optimization, because gcc's time is most of this test's
        kernel = compile_c(made, flags=("-O0",))
    else:
        kernel = lw.compile(made, backend=name)
    assert_within(as_list(kernel(*inputs)), lower(made), inputs, 4.0)
    single = [x[2] for x in inputs]
    assert_within(as_list(kernel(*single)), lower(made), single, 4.0)


@pytest.mark.parametrize("name", BACKENDS)
def test_single_precision(name: str) -> None:
    """float32 kernels agree within the bound for numbers of 24 bits."""
    made = sample_program()
    inputs = [x.astype(np.float32) for x in sample_inputs(made, seed=3, batch=(40,))]
    results = as_list(lw.compile(made, backend=name, dtype="float32")(*inputs))
    assert [x.dtype for x in results] == [np.float32, np.float32]
    _, bounds = interpret_with_bound(lower(made), inputs)
    values = interpret(lower(made), inputs)
    for result, value, bound in zip(results, values, bounds, strict=True):
        allowed = 4 * SINGLE * np.where(np.isfinite(bound), bound + 2.0**-53 * np.abs(value), 1.0)
        assert (np.abs(result - value) <= allowed).all()


@few
@given(made=programs())
def test_generated_c_and_unfused_native_code_have_the_same_bits(made: Program) -> None:
    """With elementary functions replaced there is nothing but arithmetic, which rounds one way."""
    code = _without_functions(lower(made))
    module = IrModule("f64")
    codegen.write_function(module, code, "kernel", 1)
    loaded = native(module.text(), ["kernel"])
    file, _, _ = write_file(code, "kernel", "double", stages=False)
    text = "\n".join(["#include <math.h>", *file.preamble(), *file.functions])
    library = load_library(text, ["-O1"])
    address = ctypes.cast(library.kernel, ctypes.c_void_p).value or 0
    signature = make_signature(
        [(p.name, p.shape) for p in made.inputs], [(p.name, p.shape) for p in made.outputs]
    )
    by_llvm = make_slow_call(loaded.address("kernel"), signature, keep=loaded)
    by_c = make_slow_call(address, signature, keep=library)
    inputs = sample_inputs(made, seed=5)
    wanted = interpret(code, inputs)
    first_results, second_results = as_list(by_llvm(*inputs)), as_list(by_c(*inputs))
    for first, second, third in zip(first_results, second_results, wanted, strict=True):
        np.testing.assert_array_equal(first, third)
        np.testing.assert_array_equal(second, third)


def _without_functions(code: Code) -> Code:
    """Replace each elementary function by its argument."""
    seen: set[int] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        seen.add(id(current))
        for i in current.walk():
            if i.op in ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh"):
                i.op, i.args = "mul", (i.args[0], i.args[0])
            elif i.op in ("atan2", "pow"):
                i.op = "add"
            elif i.op == "call" and id(i.data) not in seen:
                pending.append(i.data)
    return code


@pytest.mark.parametrize("name", BACKENDS)
def test_tables_and_foreign_functions(name: str) -> None:
    """Inside, at the points, outside and at nan, all backends give the algebra's own values."""
    x, y = lw.symbols("x y", "coordinate")
    rise = lw.Lookup1D([0, 0.1, 0.3, 1], [0, 9, 11, 3], kind="cubic", outside="linear", name="rise")
    lift = lw.Lookup2D([0, 1, 2], [0, 2, 3], [[0, 2, 1], [1, 5, 2], [3, 3, 9]], kind="cubic")
    bump = lw.foreign("bump", 2, python=lambda a, b: a * a + b)
    pair = lw.foreign("pair", python=lambda a: (a + 1, math.sin(a)), outputs=2)
    cubed = lw.foreign("cubed", c_source="double cubed(double x) { return x*x*x; }",
                       python=lambda a: a * a * a)  # fmt: skip
    first, second = pair(x + y)
    entries = [rise(x), rise.derivative()(x), lift(x, y), lift.derivative(0)(x, y),
               bump(x, y) * rise(y), first * second, cubed(x) + 1]  # fmt: skip
    made = program("outside", {"x": [x, y]}, {"o": entries})
    points = np.random.default_rng(0).uniform(-1, 4, (37, 2))
    points[3, 0], points[4], points[5] = np.nan, (0.1, 2.0), (1.0, 3.0)
    (wanted,) = interpret(lower(made), [points])
    kernel = lw.compile(made, backend=name)
    np.testing.assert_array_equal(kernel(points), wanted)
    np.testing.assert_array_equal(kernel(points[4]), wanted[4])
    assert [f.name for f in foreign_functions(made)] == ["bump", "cubed", "pair"]


@pytest.mark.parametrize("name", BACKENDS)
def test_one_call_of_a_foreign_function_gives_all_its_outputs(name: str) -> None:
    calls: list[float] = []

    def count(x: float) -> tuple[float, float]:
        calls.append(float(x))
        return len(calls), x

    (x,) = lw.symbols("x", "coordinate")
    counter = lw.foreign("counter", python=count, outputs=2, pure=False)
    first, second = counter(x)
    kernel = lw.compile(program("calls", {"x": x}, {"o": [first, second]}), backend=name)
    assert kernel(3.0).tolist() == [1.0, 3.0]
    assert calls == [3.0]


def test_foreign_functions_of_the_same_declaration_keep_apart() -> None:
    """Two kernels whose object code is the same are bound to their own callables."""
    (x,) = lw.symbols("x")
    kernels = []
    for shift in (1.0, 2.0):
        f = lw.foreign("shifted", python=lambda a, shift=shift: a + shift)
        kernels.append(lw.compile(program("shift", {"x": x}, {"y": f(x)})))
    assert [k(1.0) for k in kernels] == [2.0, 3.0]


def test_a_foreign_function_that_nothing_provides_is_reported() -> None:
    (x,) = lw.symbols("x")
    made = program("p", {"x": x}, {"y": lw.foreign("lw_no_such_function")(x)})
    with pytest.raises(lw.CompileError, match="lw_no_such_function"):
        lw.compile(made)(1.0)
    f, g = (lw.foreign("twice", python=lambda a: a, pure=pure) for pure in (True, False))
    two = program("p", {"x": x}, {"y": f(x) + g(x)})
    with pytest.raises(lw.CompileError, match="two different foreign functions"):
        lw.compile(two)(1.0)


HOSTILE = [
    "import os; os.system('false')",
    '"""\nraise SystemExit',
    "*/ int main(void) { return 1; } /*",
    "a\\",
    "np",
    "double",
    "lw_real",
    "range",
    "??/",
    "",
    "θ",
    "random",
]


@pytest.mark.parametrize("name", BACKENDS)
def test_hostile_names_are_only_names(name: str) -> None:
    """Names of programs, arrays and called programs, in every language's dangerous spelling."""
    x, y = lw.symbols("x y")
    z = symbol("z", "local")
    for k, text in enumerate(HOSTILE):
        other = HOSTILE[k - 1]
        called = program(text, {other: x}, {text: 2 * x})
        made = program(
            other,
            {text: [symbol("lambda", doc=text, unit="m"), y]},
            {other: [z + y], "plain": symbol("lambda", doc=text, unit="m") * y},
            statements=[Call(called, (y,), (z,))],
        )
        if name == "c":
            kernel = compile_c(made, flags=("-Wall", "-Wextra", "-Werror", "-pedantic"))
        else:
            kernel = lw.compile(made, backend=name)
        first, second = kernel([3.0, 5.0])
        assert (first.tolist(), second) == ([15.0], 15.0)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_foreign_function_keeps_its_name_and_others_give_way(name: str) -> None:
    """A program, a table, an array and a local are all named like a foreign function."""
    x, bump = symbol("x"), symbol("bump", "local")
    double = lw.foreign("bump", python=lambda a: 2 * a)
    table = lw.Lookup1D([0, 9], [0, 9], name="bump")
    made = program(
        "bump", {"bump": x}, {"table_bump": double(bump)}, statements=[Assign(bump, table(x) + 1)]
    )
    assert lw.compile(made, backend=name)(3.0) == 8.0


def test_a_foreign_function_does_not_replace_one_of_the_c_library() -> None:
    """All keep both apart; one C file cannot hold the sources of both, and says so."""
    (x,) = lw.symbols("x")
    other = lw.foreign("sin", python=lambda a: a + 1)
    made = program("p", {"x": x}, {"y": [other(x), lw.sin(x)]})
    for name in BACKENDS:
        expected = pytest.approx([3.0, np.sin(2.0)], rel=1e-15)
        assert lw.compile(made, backend=name)(2.0) == expected
    other = lw.foreign("sin", c_source="double sin(double a) { return a + 1; }")
    made = program("p", {"x": x}, {"y": [other(x), lw.sin(x)]})
    assert lw.compile(made)(2.0) == pytest.approx([3.0, np.sin(2.0)], rel=1e-15)
    with pytest.raises(lw.CompileError, match="'sin' has the name of a word of C"):
        lw.compile(made, backend="c")(2.0)


def test_symbols_of_the_same_name_stay_apart() -> None:
    a, b = symbol("L1", owner="cart"), symbol("L1", owner="pole")
    made = program("both", {"L1": [a, b]}, {"d": a - 2 * b})
    assert [lw.compile(made, backend=name)([7.0, 2.0]) for name in BACKENDS] == [3.0] * 3


# -- the native backend ----------------------------------------------------------------------------
@few
@given(made=programs())
def test_a_lane_has_the_same_bits_at_any_place(made: Program) -> None:
    """Whatever its index, the size of the batch and the number of threads."""
    inputs = sample_inputs(made, seed=7, batch=(37,))
    kernel = lw.compile(made)
    whole = as_list(kernel.batch(*inputs))
    shifted = as_list(kernel.batch(*[x[3:20] for x in inputs], threads=3))
    alone = as_list(kernel.batch(*[x[19:20] for x in inputs]))
    for all_lanes, some, one in zip(whole, shifted, alone, strict=True):
        np.testing.assert_array_equal(all_lanes[3:20], some)
        np.testing.assert_array_equal(all_lanes[19], one[0])


@few
@given(made=programs())
def test_scalar_and_batch_have_the_same_bits(made: Program) -> None:
    """Both write the same operations, so that a batch can be checked lane by lane."""
    inputs = sample_inputs(made, seed=11, batch=(3,))
    kernel = lw.compile(made)
    together = as_list(kernel.batch(*inputs))
    single = [as_list(kernel.scalar(*[x[k] for x in inputs])) for k in range(3)]
    for p, port in enumerate(made.outputs):
        for k in range(3):
            np.testing.assert_array_equal(together[p][k], single[k][p], err_msg=port.name)


def test_many_threads_call_one_kernel() -> None:
    """Threads that compile, call and batch the same kernel at once all get the right numbers."""
    made = sample_program()
    kernel = lw.compile(made)
    inputs = sample_inputs(made, seed=2, batch=(64,))
    wanted = as_list(lw.compile(made).batch(*inputs))
    wrong: list[int] = []

    def work(seed: int) -> None:
        for k in range(seed, 64, 4):
            one = as_list(kernel(*[x[k] for x in inputs]))
            if not all(np.array_equal(a, b[k]) for a, b in zip(one, wanted, strict=True)):
                wrong.append(k)
        many = as_list(kernel.batch(*inputs, threads=2))
        if not all(np.array_equal(a, b) for a, b in zip(many, wanted, strict=True)):
            wrong.append(-seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def long_program(size: int) -> Program:
    """Return a Program of about `size` operations in which late values read early ones."""
    rng = np.random.default_rng(size)
    q = [symbol(f"q{i}", "coordinate") for i in range(8)]
    values: list[Expr] = list(q)
    statements = []
    for k in range(size // 4):
        a, b, c = (values[-1 - min(len(values) - 1, int(j))] for j in rng.exponential(50, 3))
        target = symbol(f"t{k}", "local")
        made = lw.where(a < b, a, 0.3 * lw.sin(c)) if k % 25 == 0 else 0.5 * (a * b + c) - 0.3 * a
        statements.append(Assign(target, made))
        values.append(target)
    return program("long", {"q": q}, {"y": values[-5:]}, statements=statements)


def test_native_text_grows_with_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the operations are twice the lines, in functions that never grow beyond a limit."""
    monkeypatch.setattr(codegen, "_WHOLE", 500)
    monkeypatch.setattr(codegen, "_PART", 250)
    sizes, lengths, longest = [], [], []
    for size in (1_000, 2_000, 4_000):
        made = long_program(size)
        text = backend.scalar_ir(made)
        sizes.append(len(lower(made, fuse=backend.has_fma()).instructions))
        lengths.append(len(text.splitlines()))
        longest.append(max(len(f.splitlines()) for f in text.split("\ndefine ")))
    rates = [b / a for a, b in zip(sizes, lengths, strict=True)]
    assert rates[2] < 1.05 * rates[1]
    assert max(longest) < 1.3 * min(longest)


@pytest.mark.parametrize("name", BACKENDS)
def test_long_programs_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that hand values and conditions over give what the whole gives."""
    monkeypatch.setattr(codegen, "_WHOLE", 300)
    monkeypatch.setattr(codegen, "_PART", 100)
    monkeypatch.setattr("linkwright.backends.c.writer._WHOLE", 300)
    monkeypatch.setattr("linkwright.backends.c.writer._PART", 100)
    made = long_program(1_200)
    inputs = sample_inputs(made, seed=1, batch=(9,))
    assert_within(as_list(lw.compile(made, backend=name)(*inputs)), lower(made), inputs, 4.0)


def test_slots_of_a_workspace_are_used_again() -> None:
    """Each part finds what it reads, and no two live values share a slot."""
    plan = lower(long_program(2_000)).instructions
    parts = cut(plan, 100)
    assert sum(len(p.instructions) for p in parts.parts) == len(plan)
    assert parts.size < len(plan) / 4
    for part in parts.parts:
        assert len(set(part.slots.values())) == len(part.slots)
        own = {i.id for i in part.instructions}
        again = {i.id for i in plan if i.op in ("const", "input")}
        reads = {a for i in part.instructions for a in i.args}
        assert reads <= own | again | set(part.slots)


def test_sines_of_sines_are_in_order() -> None:
    """Directly chained sines, and an angle that a loop carries, both once went wrong."""
    x, c, f = symbol("x", "coordinate"), symbol("c", "local"), symbol("f", "local")
    loop = Loop(3, (Carried(c, x, lw.sin(lw.sin(c)) + c, f),), (), (), ())
    made = program("chain", {"x": x}, {"y": [lw.sin(lw.sin(x)), f]}, statements=[loop])
    value = 0.7
    for _ in range(3):
        value += math.sin(math.sin(value))
    np.testing.assert_allclose(
        lw.compile(made)(0.7), [math.sin(math.sin(0.7)), value], rtol=1e-15, atol=0
    )


def test_a_long_chain_of_sines_is_written_in_parts() -> None:
    """Each sine of a sine has a range check of its own; LLVM is slow with hundreds in one place."""
    x = symbol("x", "coordinate")
    angle, value = x, 0.7
    for _ in range(150):
        angle, value = lw.sin(angle) * x + 0.5, math.sin(value) * 0.7 + 0.5
    made = program("sines", {"x": x}, {"y": angle})
    assert lw.compile(made)(0.7) == pytest.approx(value, rel=1e-14)
    functions = backend.scalar_ir(made).split("\ndefine ")
    checks = [text.count("enter:") for text in functions]
    assert sum(checks) == 150
    assert max(checks) <= 60


@pytest.mark.parametrize("name", BACKENDS)
def test_a_gate_that_is_shut_gives_zeros_and_costs_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open it changes nothing, whole or in parts, called or alone, whatever the other lanes do."""
    plain = long_program(240)
    gate = gated(plain, "on")
    targets = tuple(symbol(f"r{k}", "local") for k in range(len(plain.output_values())))
    call = Call(gate, gate.input_symbols(), targets)
    outer = gate.with_statements([call], gate.map_outputs(targets))
    inputs = sample_inputs(plain, seed=2, batch=(9,))
    on = np.array([0.0, 1.0, 0.0, 0.0, 2.0, 0.0, -1.0, 0.0, 0.0])
    for most in (10_000, 100):
        monkeypatch.setattr(codegen, "_WHOLE", most)
        monkeypatch.setattr("linkwright.backends.c.writer._WHOLE", most)
        wanted = as_list(lw.compile(plain, backend=name)(*inputs))
        for made in (gate, replace(outer, gate="", name=f"outer{most}")):
            kernel = lw.compile(replace(made, name=f"{made.name}{most}"), backend=name)
            for found, full in zip(as_list(kernel(*inputs, on)), wanted, strict=True):
                np.testing.assert_array_equal(found[on == 0], 0.0 * full[on == 0])
                np.testing.assert_array_equal(found[on != 0], full[on != 0])
            one = [x[0] for x in inputs]
            for found, full in zip(as_list(kernel(*one, 0.0)), wanted, strict=True):
                np.testing.assert_array_equal(found, 0.0 * full[0])
    if name != "python":
        source = lw.compile(gate, backend=name).source
        assert "gate.shut" in source or "return;" in source


@pytest.mark.parametrize("name", BACKENDS)
def test_a_call_in_a_loop_takes_an_array_from_outside(name: str) -> None:
    """An array that only such a call reads, whole and in place, once was not found."""
    c, d, f = symbol("c", "local"), symbol("d", "local"), symbol("f", "local")
    a, b = lw.symbols("a b", "coordinate")
    inner = program("inner", {"v": [a, b], "c": c}, {"y": c + a * b})
    v, w, x = lw.symbols("v w x", "coordinate")
    loop = Loop(3, (Carried(c, x, d, f),), (), (), (Call(inner, (v, w, c), (d,)),))
    made = program("outer", {"v": [v, w], "x": x}, {"y": f}, statements=[loop])
    assert lw.compile(made, backend=name)([2.0, 3.0], 0.5) == 18.5


# -- the interface ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", BACKENDS)
def test_calls_and_what_they_return(name: str) -> None:
    """Floats, arrays and tuples; `out`; shared inputs; the attributes of a kernel."""
    x, y = lw.symbols("x y", "coordinate")
    two = program("two", {"x": x, "v": [y]}, {"a": x + y, "b": [x, x * y]})
    kernel = lw.compile(two, backend=name)
    a, b = kernel(2, [3])
    assert (a, b.tolist()) == (5.0, [2.0, 6.0])
    assert isinstance(a, float)
    a, b = kernel(2.0, [[3.0], [4.0]])
    assert (a.tolist(), b.tolist()) == ([5.0, 6.0], [[2.0, 6.0], [2.0, 8.0]])
    room = np.zeros(()), np.zeros(2)
    assert kernel(1.0, [7.0], out=room) is None
    assert (float(room[0]), room[1].tolist()) == (8.0, [1.0, 7.0])
    rows = np.zeros(2), np.zeros((2, 2))
    assert kernel([1.0, 2.0], [7.0], out=rows) is None
    assert rows[1].tolist() == [[1.0, 7.0], [2.0, 14.0]]
    assert kernel.batch(1.0, [7.0], size=2)[0].tolist() == [8.0, 8.0]
    assert (kernel.counts.add, kernel.counts.mul) == (1, 1)
    assert [p.name for p in (*kernel.inputs, *kernel.outputs)] == ["x", "v", "a", "b"]
    assert repr(kernel) == f"Kernel(two(x, v[1]) -> a, b[2], backend={name!r}, dtype='float64')"
    assert "two" in kernel.source or "define void @kernel" in kernel.source
    for wrong in ((1.0,), (1.0, [1.0, 2.0]), (1.0, [[[[1.0]]], 2])):
        with pytest.raises(lw.ShapeError):
            kernel(*wrong)


@pytest.mark.parametrize("name", BACKENDS)
def test_batches_of_no_rows_and_of_wrong_ones(name: str) -> None:
    x, y = lw.symbols("x y", "coordinate")
    made = program("p", {"x": [x], "m": [[y]]}, {"a": x + y, "b": [x, x * y]})
    kernel = lw.compile(made, backend=name)
    a, b = kernel(np.ones((0, 1)), [[2.0]])
    assert (a.shape, b.shape) == ((0,), (0, 2))
    with pytest.raises(lw.ShapeError, match=r"differ in their number of rows \(x: 2, m: 3\)"):
        kernel(np.ones((2, 1)), np.ones((3, 1, 1)))
    with pytest.raises(lw.ShapeError, match=r"input 'x' has shape \(4, 2, 1\)"):
        kernel(np.ones((4, 2, 1)), [[2.0]])


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("threads", [2.5, "2", None, 0, -1])
def test_what_is_no_number_of_threads_is_refused(name: str, threads: Any) -> None:
    f = lw.compile(program("double", {"x": ["x"]}, {"y": lambda x: [2 * x]}), backend=name)
    with pytest.raises(lw.ShapeError, match=rf"threads(=| must be an integer, not ){threads!r}"):
        f.batch(np.ones((3, 1)), threads=threads)
    assert f.batch(np.ones((3, 1)), threads=np.int64(2)).tolist() == [[2.0]] * 3


def test_unknown_backends_and_types_are_refused() -> None:
    made = program("id", {"x": ["x"]}, {"y": lambda x: [x]})
    with pytest.raises(lw.BackendError, match="choose one of llvm, c, cuda, python"):
        lw.compile(made, backend="fortran")
    with pytest.raises(lw.BackendError, match="float64 or float32"):
        lw.compile(made, dtype="float16")
    with pytest.raises(lw.CompileError, match="float64 or float32"):
        lw.c_source(made, dtype="float16")


def test_a_missing_compiler_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    made = program("id", {"x": ["x"]}, {"y": lambda x: [x]})
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(lw.BackendError, match=r"no-such-compiler.*install one"):
        lw.compile(made, backend="c")([1.0])
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(lw.BackendError, match="no C compiler"):
        lw.compile(made, backend="c")([1.0])


def test_what_the_compiler_says_is_passed_on() -> None:
    with pytest.raises(lw.CompileError, match=r"rejected the C source: .*error"):
        load_library("int f(void) { return nothing; }")


def test_python_source_stands_alone() -> None:
    """The text needs nothing but NumPy, and no line is longer than a page is wide."""
    made = sample_program()
    text = lw.python_source(made)
    space: dict[str, Any] = {}
    exec(compile(text, "sample.py", "exec"), space)  # noqa: S102
    inputs = sample_inputs(made, seed=4, batch=(2, 3))
    assert_within(list(space["sample"](*inputs)), lower(made), inputs, 4.0)
    assert re.findall(r"^import .*$", text, re.MULTILINE) == ["import numpy as np"]
    assert max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("backend_name", ["llvm", "c", "python"])
def test_floor_is_exact_everywhere(backend_name: str) -> None:
    x = symbol("x", "coordinate")
    made = program("steps", {"x": [x]}, {"y": [lw.floor(x / 0.25), lw.floor(-x)]})
    t = np.array([-1.01, -1.0, -0.25, -1e-300, 0.0, 0.2, 0.25, 0.9999, 3.0, 1e17])
    found = lw.compile(made, backend=backend_name).batch(t[:, None])
    assert np.array_equal(found, np.column_stack([np.floor(t / 0.25), np.floor(-t)]))
    assert lw.diff(lw.floor(x * 3), x) == ZERO
