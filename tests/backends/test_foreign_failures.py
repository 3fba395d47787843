"""What Python functions below native code do wrong comes out of the call that led there.

Too many values, too few, none, no numbers, exceptions and Ctrl-C, in every backend, single and in
batches, and in native runs.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import evaluate
from linkwright.program import program
from tests.seeds import cases

BACKENDS = ("llvm", "c", "python")
X = lw.symbols("x", "coordinate")[0]

WRONG: dict[str, tuple[Callable[[float], Any], str]] = {
    "too many": (lambda x: (x, x, x), "'f' returned 3 values; it is declared to return 2"),
    "far too many": (lambda x: [x] * 1000, "'f' returned 1000 values"),
    "too few": (lambda x: (x,), "'f' returned 1 values"),
    "one number": (lambda x: x, "'f' returned 1 values"),
    "none": (lambda x: None, "'f' returned None"),
    "no number": (lambda x: (x, "two"), "'f' returned 'two', which is not a number"),
    "nested": (lambda x: (x, (x, x)), "'f' returned 2 values"),
    "exception": (lambda x: 1 / 0, "the function 'f' failed: ZeroDivisionError"),
}


def raised(call: Callable[[], object], kind: type[BaseException]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_function_that_returns_what_it_did_not_declare_is_an_error(
    backend: str, wrong: str
) -> None:
    python, words = WRONG[wrong]
    first, second = lw.foreign("f", python=python, outputs=2)(X)
    kernel = lw.compile(program("p", {"x": X}, {"y": [first, second]}), backend=backend)
    rows = np.arange(19.0)
    assert words in raised(lambda: kernel(1.0), lw.Error)
    assert words in raised(lambda: kernel.scalar(1.0), lw.Error)
    assert words in raised(lambda: kernel.batch(rows), lw.Error)
    assert words in raised(lambda: kernel.batch(rows, threads=2), lw.Error)
    assert words in raised(lambda: evaluate(first, {X: 1.0}), lw.Error)
    assert words in raised(lambda: evaluate(first, {X: rows}), lw.Error)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("returned", "words"),
    [((1.0, 2.0), "2 values"), (None, "None"), ([], "0 values"), ("one", "'one', which is no")],
)
def test_one_value_is_one_value(backend: str, returned: object, words: str) -> None:
    f = lw.foreign("f", python=lambda x: returned)
    kernel = lw.compile(program("p", {"x": X}, {"y": f(X)}), backend=backend)
    assert f"'f' returned {words}" in raised(lambda: kernel(1.0), lw.ShapeError)
    assert f"'f' returned {words}" in raised(lambda: kernel.batch(np.ones(3)), lw.ShapeError)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [list, tuple, np.array, iter])
def test_several_values_may_come_in_any_sequence(backend: str, kind: Callable[..., Any]) -> None:
    first, second = lw.foreign("f", python=lambda x: kind([x, 2 * x]), outputs=2)(X)
    kernel = lw.compile(program("p", {"x": X}, {"y": [first, second]}), backend=backend)
    assert kernel(1.5).tolist() == [1.5, 3.0]
    assert kernel.batch([1.0, 2.0, 3.0]).tolist() == [[1, 2], [2, 4], [3, 6]]


def test_a_vectorized_function_returns_arrays_of_its_arguments_size() -> None:
    wrong = lw.foreign("f", python=lambda x: np.ones(len(x) + 1), vectorized=True)
    kernel = lw.compile(program("p", {"x": X}, {"y": wrong(X)}), backend="python")
    assert "for arrays of shape (4,)" in raised(lambda: kernel.batch(np.ones(4)), lw.ShapeError)
    right = lw.foreign("f", python=lambda x: x + 1, vectorized=True)
    kernel = lw.compile(program("p", {"x": X}, {"y": right(X)}), backend="python")
    assert kernel.batch([1.0, 2.0]).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_kernel_works_again_after_a_failure(backend: str) -> None:
    """The failure belongs to the call and the thread in which it came."""

    def root(x: float) -> float:
        return float(np.emath.sqrt(x).real) if x >= 0 else 1 / 0

    f = lw.foreign("root", python=root)
    kernel = lw.compile(program("p", {"x": X}, {"y": f(X)}), backend=backend)
    for _ in range(2):
        with pytest.raises(lw.Error, match="'root' failed"):
            kernel(-1.0)
        assert kernel(4.0) == 2.0
    found: list[object] = []

    def other() -> None:
        for _ in range(50):
            found.append(kernel(9.0))

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(50):
        with pytest.raises(lw.Error, match="'root' failed"):
            kernel(-1.0)
    thread.join()
    assert found == [3.0] * 50


def test_a_function_that_calls_a_kernel_passes_its_failure_on() -> None:
    inner = lw.compile(
        program("inner", {"x": X}, {"y": lw.foreign("f", python=lambda x: 1 / 0)(X)})
    )
    outer = lw.compile(program("outer", {"x": X}, {"y": lw.foreign("g", python=inner)(X)}))
    assert "'g' failed: Error: the function 'f' failed" in raised(lambda: outer(1.0), lw.Error)


# -- runs ------------------------------------------------------------------------------------------
def pulled(pull: Callable[[float], Any]) -> lw.Mechanism:
    """Return a mass that a Python function pulls."""
    m = lw.Mechanism("pulled")
    b = m.body("b", translate="x", mass=1)
    f = lw.foreign("pull", python=pull)
    m.force("f", f(m.coordinates["b"]), at=b.origin, along="x")
    m.set_initial(b=1.0)
    return m


DOORS: dict[str, Callable[[lw.Mechanism], object]] = {
    "simulate": lambda m: lw.simulate(m, 1.0),
    "rk4": lambda m: lw.simulate(m, 1.0, method="rk4", step=0.01),
    "redundant": lambda m: lw.simulate(m, 1.0, form="redundant"),
    "System": lambda m: lw.simulate(lw.System(m, base=100), 1.0),
    "batch": lambda m: lw.simulate_batch(lw.System(m, base=100), 1.0, runs=3, threads=2),
    "linearize": lambda m: lw.linearize(m),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_failure_in_a_run_ends_it_with_the_name(door: str) -> None:
    m = pulled(lambda x: (x, x))
    if door == "linearize":
        with pytest.raises(lw.Error):
            DOORS[door](m)
        return
    assert "'pull' returned 2 values" in raised(lambda: DOORS[door](m), lw.ShapeError)


@pytest.mark.parametrize("door", [d for d in DOORS if d != "linearize"])
@pytest.mark.parametrize("at", cases([1, 40], daily=[40]))
def test_ctrl_c_in_a_function_ends_a_run_as_an_interrupt(door: str, at: int) -> None:
    """It comes while the function is at work."""
    calls = [0]

    def pull(x: float) -> float:
        calls[0] += 1
        if calls[0] == at:
            raise KeyboardInterrupt
        return -x

    with pytest.raises(KeyboardInterrupt):
        DOORS[door](pulled(pull))
    assert calls[0] < at + 5


def test_ctrl_c_in_a_function_leaves_a_session_whole() -> None:
    """It stands a few steps before, and goes on to the same bits."""
    from linkwright.simulation.native.session import Session

    calls = [0]

    def pull(x: float) -> float:
        calls[0] += 1
        if calls[0] == 1000:
            raise KeyboardInterrupt
        return -x

    phases = lw.System(pulled(pull), base=100).phases()
    session = Session(phases, 5.0, method="rk4")
    with pytest.raises(KeyboardInterrupt):
        session.run()
    assert 1.5 < session.time < 2.5
    interrupted = session.run()
    whole = Session(phases, 5.0, method="rk4").run()
    np.testing.assert_array_equal(interrupted.samples.values, whole.samples.values)
    assert interrupted.x == whole.x
    assert whole.x["b"] == pytest.approx(np.cos(5.0), abs=1e-8)


SIGNALS = r"""
import os, signal, sys
import linkwright as lw
from linkwright.program import program

(x,) = lw.symbols("x", "coordinate")
calls = []
inside = [False]


def quick(a):
    calls.append(a)
    if inside[0]:
        os.kill(os.getpid(), signal.SIGINT)
    return a + 1


press = lw.foreign(
    "press",
    c_source="#include <signal.h>\ndouble press(double x){ if (x > 50) raise(SIGINT); return x; }",
    pure=False,
)
f = lw.foreign("quick", python=quick, pure=False)
for backend in ("llvm", "c"):
    kernel = lw.compile(program("p", {"x": x}, {"y": f(press(f(x)))}), backend=backend)
    for a, inside[0] in ((1.0, False), (100.0, False), (1.0, True), (100.0, True)) * 20:
        calls.clear()
        try:
            value = kernel(a)
        except KeyboardInterrupt:
            assert inside[0] or a > 50, "an interrupt that nobody sent"
            assert len(calls) == 1, calls
        else:
            assert not inside[0] and a < 50, "an interrupt was lost"
            assert value == a + 2, value
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print("all")
"""


def test_no_signal_is_lost_between_native_code_and_python() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(lw.__file__).parents[1])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("all")
    assert not done.stderr
