"""Generated C: what it looks like, that compilers accept it everywhere, and its two stages."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import linkwright as lw
from linkwright.algebra import symbol, symbols
from linkwright.backends.c import compile_c, writer
from linkwright.backends.c.compiler import find_compiler, load_library
from linkwright.program import (
    Carried,
    Loop,
    Program,
    Scanned,
    Stacked,
    interpret,
    interpret_with_bound,
    lower,
    program,
)
from tests.random.programs import programs, sample_inputs
from tests.seeds import examples

GOLDEN = Path(__file__).parents[1] / "golden"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")


def accept(source: str) -> None:
    """Compile with every warning an error."""
    done = subprocess.run(
        [*find_compiler(), *STRICT, "-c", "-x", "c", "-", "-o", "/dev/null"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + source


def pendulum_on_a_cart() -> Program:
    """Return a small model: a cart with a pendulum, accelerations from forces."""
    M = symbol("M", unit="kg", sign="positive", doc="mass of the cart")
    m = symbol("m", unit="kg", sign="positive", doc="mass of the bob")
    length = symbol("L", unit="m", sign="positive", doc="length of the rod")
    g = symbol("g", unit="m/s^2", doc="gravity")
    x, angle = symbol("x", "coordinate", unit="m"), symbol("theta", "coordinate", unit="rad")
    v, rate = symbol("v", "speed", unit="m/s"), symbol("omega", "speed", unit="rad/s")
    force = symbol("F", "input", unit="N", doc="push on the cart")
    s, c = lw.sin(angle), lw.cos(angle)
    cart = (force + m * s * (length * rate**2 + g * c)) / (M + m * s**2)
    return program(
        "cart",
        {"parameters": [M, m, length, g], "q": [x, angle], "u": [v, rate], "F": force},
        {"a": [cart, -(cart * c + g * s) / length], "energy": m * length**2 * rate**2 / 2},
        auxiliary=["energy"],
    )


@pytest.mark.parametrize(
    ("file", "options"),
    [("cart.c", {}), ("cart_stages.c", {"stages": True}), ("cart_float.c", {"dtype": "float32"})],
)
def test_golden_source(file: str, options: dict[str, Any]) -> None:
    """The file is what was reviewed; after a wanted change, write it anew and read the diff."""
    assert lw.c_source(pendulum_on_a_cart(), **options) == (GOLDEN / file).read_text()


def test_the_heading_tells_names_units_counts_and_origin() -> None:
    made = pendulum_on_a_cart()
    heading = lw.c_source(made).partition("*/")[0]
    for text in (
        lw.__version__,
        made.fingerprint(),
        "m (kg): mass of the bob",
        "a[2]",
        "configuration",
    ):
        assert text in heading


@settings(
    max_examples=examples(12, daily=4),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(made=programs())
def test_random_programs_compile_without_warnings(made: Program) -> None:
    accept(lw.c_source(made))
    accept(lw.c_source(made, dtype="float32", stages=True, fuse=True))


def test_arrays_that_nothing_reads_or_writes_are_no_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = lw.symbols("x y", "coordinate")
    made = program("few", {"x": x, "y": y, "no": []}, {"s": lw.sin(x), "c": 1, "none": []})
    accept(lw.c_source(made))
    accept(lw.c_source(made, stages=True))
    monkeypatch.setattr(writer, "_WHOLE", 0)
    accept(lw.c_source(made))


def test_an_input_that_a_loop_takes_in_vain_is_no_warning() -> None:
    """The loop scans it, and its body does not read what was scanned."""
    x, y = symbols("x y", "coordinate")
    c, s, final = symbols("c s final", "local")
    loop = Loop(1, (Carried(c, x, c + 1, final),), (Scanned(s, (y,)),), (), ())
    accept(lw.c_source(program("vain", {"x": x, "y": y}, {"f": final}, statements=[loop])))


def test_a_loop_is_a_loop() -> None:
    """Ten thousand turns are as many lines as ten; what a loop makes in vain is not a warning."""
    texts = []
    for count in (10, 1000):
        c, s, f, x = (symbol(n, "local") for n in "csfx")
        q = [symbol(f"q{i}", "coordinate") for i in range(count)]
        stacked = tuple(symbol(f"y{i}", "local") for i in range(count))
        loop = Loop(
            count,
            (Carried(c, q[0], c + s, f), Carried(x, q[1], c, symbol("unused", "local"))),
            (Scanned(s, tuple(q)),),
            (Stacked(s * c, stacked),),
            (),
        )
        made = program("sum", {"q": q}, {"f": f}, statements=[loop])
        texts.append(lw.c_source(made))
        accept(texts[-1])
        values = np.arange(float(count))
        assert lw.compile(made, backend="c")(values) == values.sum()
    body = [text[text.index("for (int") :].partition("}")[0] for text in texts]
    assert body[0] == body[1].replace("1000", "10")


def test_parameters_are_prepared_once() -> None:
    """The two functions together compute what the one does, and the second reads no parameter."""
    made = pendulum_on_a_cart()
    text = lw.c_source(made, stages=True)
    accept(text)
    assert "parameters" not in text[text.rindex("void cart(") :]
    library = load_library(text)
    parameters, q, u, force = sample_inputs(made, seed=1)
    room = np.zeros(64)
    library.cart_prepare(*[x.ctypes.data_as(ctypes.c_void_p) for x in (parameters, room)])
    a, energy = np.zeros(2), np.zeros(())
    arrays = (q, u, force, room, a, energy)
    library.cart(*[x.ctypes.data_as(ctypes.c_void_p) for x in arrays])
    wanted = interpret(lower(made), [parameters, q, u, force])
    np.testing.assert_allclose(a, wanted[0], rtol=1e-14)
    np.testing.assert_allclose(energy, wanted[1], rtol=1e-14)


def test_conditions_cross_from_stage_to_stage() -> None:
    k, q = symbol("k"), symbol("q", "coordinate")
    made = program("choice", {"k": k, "q": q}, {"y": lw.where(k < 1, q, 2 * q), "k2": k})
    text = lw.c_source(made, stages=True)
    accept(text)
    library = load_library(text)
    for value, wanted in ((0.5, 3.0), (1.5, 6.0)):
        k_in, q_in, room, y, k2 = (np.array(x) for x in (value, 3.0, [0.0] * 8, 0.0, 0.0))
        library.choice_prepare(*[x.ctypes.data_as(ctypes.c_void_p) for x in (k_in, room)])
        library.choice(*[x.ctypes.data_as(ctypes.c_void_p) for x in (q_in, room, y, k2)])
        assert (float(y), float(k2)) == (wanted, value)


def test_fused_operations_round_as_the_code_says() -> None:
    """With `fuse` the C compiler's fma stands where the interpreter has one."""
    made = pendulum_on_a_cart()
    inputs = sample_inputs(made, seed=2)
    code = lower(made, fuse=True)
    assert "fma(" in lw.c_source(made, fuse=True)
    values, bounds = interpret_with_bound(code, inputs)
    for got, value, bound in zip(compile_c(made, fuse=True)(*inputs), values, bounds, strict=True):
        assert (np.abs(got - value) <= 2 * bound).all()


def test_special_numbers_are_written_and_kept() -> None:
    """Literals read back to the same bits; minimum, maximum and sign treat nan as NumPy does."""
    (x,) = lw.symbols("x", "coordinate")
    numbers = [0.1, 1e-320, 1.7976931348623157e308, 1 / 3, 2.0**-1074, -5e-8]
    entries = [x * n for n in numbers] + [lw.minimum(x, 1), lw.maximum(x, 1), lw.sign(x)]
    made = program("numbers", {"x": x}, {"y": entries})
    accept(lw.c_source(made))
    kernel = lw.compile(made, backend="c")
    assert kernel(1.0).tolist() == [*numbers, 1.0, 1.0, 1.0]
    assert np.isnan(kernel(np.nan)).all()
