"""Borders between Python and native code: what is handed over is what the code was made for."""

import gc
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import linkwright as lw
from linkwright.backends.kernel import Kernel
from linkwright.backends.llvm import compile as compile_module
from linkwright.program import program
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.tables import WHOLE
from linkwright.system.phases import Tick

BACKENDS = ("llvm", "c", "python")


def doubled(backend: str, shape: tuple[int, ...] = (2, 2)) -> Kernel:
    names = " ".join(f"x{k}" for k in range(int(np.prod(shape))))
    x = np.array(lw.symbols(names, "coordinate"), dtype=object).reshape(shape).tolist()
    twice = np.array(x, dtype=object) * 2
    return lw.compile(program("twice", {"x": x}, {"y": twice.tolist()}), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strides", [(8, 8), (16, 8), (0, 8), (8, 0), (24, 16), (8, 24)])
def test_an_output_that_overlaps_itself_is_refused(backend: str, strides: tuple[int, int]) -> None:
    memory = np.zeros(64)
    out = as_strided(memory, (2, 2), strides)
    places = {(i * strides[0] + j * strides[1]) // 8 for i in range(2) for j in range(2)}
    kernel = doubled(backend)
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    if len(places) == 4:
        kernel(x, out=out)
        assert out.tolist() == [[2, 4], [6, 8]]
        return
    with pytest.raises(lw.ShapeError, match="'y' overlaps itself"):
        kernel(x, out=out)
    rows = as_strided(memory, (9, 2, 2), (16, *strides))
    with pytest.raises(lw.ShapeError, match="'y' overlaps itself"):
        kernel.batch(np.ones((9, 2, 2)), out=rows)
    assert not memory.any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("step", [1, 3])
def test_rows_that_overlap_each_other_are_refused(backend: str, step: int) -> None:
    memory = np.zeros(64)
    rows = as_strided(memory, (9, 2, 2), (8 * step, 16, 8))
    with pytest.raises(lw.ShapeError, match="'y' overlaps itself"):
        doubled(backend).batch(np.ones((9, 2, 2)), out=rows)
    assert not memory.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_with_gaps_and_turned_around_are_filled(backend: str) -> None:
    kernel = doubled(backend)
    x = np.arange(36.0).reshape(9, 2, 2)
    memory = np.full((9, 5, 7), np.nan)
    for out in (
        memory[:, 1:3, 2:6:3],
        memory[::-1, 3:1:-1, 4:2:-1],
        memory[:, :2, :2].swapaxes(1, 2),
    ):
        kernel.batch(x, out=out)
        np.testing.assert_array_equal(out, 2 * x)
        kernel(x[3], out=out[4])
        np.testing.assert_array_equal(out[4], 2 * x[3])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [True, False, -1, 2.0, "3", [3], np.True_])
def test_a_batch_size_is_a_whole_number(backend: str, size: Any) -> None:
    with pytest.raises(lw.ShapeError, match="must be a number of rows"):
        doubled(backend).batch(np.ones((2, 2)), size=size)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_may_be_empty_or_of_any_integer_type(backend: str) -> None:
    kernel = doubled(backend)
    assert kernel.batch(np.ones((2, 2)), size=0).shape == (0, 2, 2)
    assert kernel.batch(np.ones((2, 2)), size=np.int32(3)).shape == (3, 2, 2)


# -- code lives as long as anything that can call it -----------------------------------------------
COLLECTED = """
import gc
import numpy as np
import linkwright as lw
from linkwright.program import program

(x,) = lw.symbols("x", "coordinate")
said = []


class Owner:
    def __init__(self, call, given):
        self.call, self.given, self.own = call, given, self

    def __del__(self):
        said.append(float(self.call(self.given).ravel()[0]))


def owned(backend, kind, number, foreign):
    # the owner is the younger one, so that the collector comes to the code before
    f = lw.foreign("f", python=lambda a: a + number) if foreign else lambda a: a + number
    made = lw.compile(program("p", {"x": [x]}, {"y": [f(x)]}), backend=backend)
    call = {"call": made, "scalar": made.scalar, "batch": made.batch}[kind]
    given = np.ones((9, 1)) if kind == "batch" else np.ones(1)
    call(given)
    return Owner(call, given)


gc.disable()
for backend in ("llvm", "c"):
    for kind in ("call", "scalar", "batch"):
        for foreign in (False, True):
            print(backend, kind, foreign, flush=True)
            made = owned(backend, kind, 6, foreign)
            assert not said
            del made
            gc.collect()
            assert said == [7.0], said
            said.clear()
print("whole")
"""


def test_a_kernel_may_be_called_while_it_is_collected() -> None:
    """By the `__del__` of an owner in a cycle that is freed together with it."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(lw.__file__).parents[1])},
    )
    last = done.stdout.splitlines()[-1:]
    assert (done.returncode, last) == (0, ["whole"]), (last, done.stderr[-2000:])


def test_code_is_freed_with_its_kernel() -> None:
    x = lw.symbols("x", "coordinate")[0]
    gc.collect()
    before = len(compile_module._engines)
    kernels = [lw.compile(program("p", {"x": x}, {"y": x + k})) for k in range(3)]
    assert [k(1.0) for k in kernels] == [1.0, 2.0, 3.0]
    assert len(compile_module._engines) >= before + 3
    del kernels
    gc.collect()
    assert len(compile_module._engines) == before


def test_the_collector_does_not_see_what_holds_code() -> None:
    code = compile_module.native(compile_module.HALF_EXAMPLE, ["half"])
    assert not gc.is_tracked(code._engine)


# -- native runs -----------------------------------------------------------------------------------
def running() -> Session:
    m = lw.Mechanism("m")
    m.body("b", translate="x", mass=1)
    m.set_initial(b_dot=1.0)
    return Session(lw.System(m, base=100).phases(), 1.0)


@pytest.mark.parametrize("field", ["row", "logged", "cursor"])
@pytest.mark.parametrize("value", [-1, 10**9])
def test_a_damaged_state_is_not_restored(field: str, value: int) -> None:
    """Native code writes where these say."""
    session = running()
    saved = session.snapshot()
    saved["whole"][0, WHOLE[field]] = value
    with pytest.raises(lw.ShapeError, match=f"damaged: its {field}"):
        session.restore(saved)
    assert session.run().x["b"] == pytest.approx(1.0)


def test_blocks_that_are_not_there_are_not_run() -> None:
    machine = running().machine
    for first, count in ((0, 2), (1, 1), (-1, 1)):
        with pytest.raises(lw.ShapeError, match="there are 1 blocks"):
            machine.run(first, count)


def test_phases_whose_programs_do_not_fit_are_refused() -> None:
    """They would write past the arrays of the run."""
    phases = running().phases
    x = lw.symbols("x", "coordinate")[0]
    wide = program("wide", {"x": x}, {"a": [x, x, x]})
    tick = Tick("t", program("t", {"x": x}, {"a": [x]}), ())
    for changed in (
        replace(phases, derivative=wide),
        replace(phases, output=wide),
        replace(phases, ticks=(tick,)),
    ):
        with pytest.raises(lw.ShapeError):
            Session(changed, 1.0)
