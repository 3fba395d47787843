"""Programs: well-formedness, lowering, counts against a recount, the same bytes everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from linkwright.algebra import Expr, cos, evaluate, sin, sqrt, symbol, symbols, where
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Code,
    Counts,
    Instruction,
    Loop,
    Namer,
    Program,
    ProgramError,
    ProgramPort,
    Rate,
    Scanned,
    Solve,
    Stacked,
    as_text,
    check,
    count_operations,
    counts_as_dict,
    interpret,
    interpret_with_bound,
    lower,
    ops_table,
    program,
    stage_counts,
)
from tests.random.programs import programs, sample_inputs
from tests.seeds import examples

k1, k2 = symbols("k1 k2")
x, y, z = symbols("x y z", "coordinate")
u = symbol("u", "speed")
a, b, c = symbols("a b c", "local")


# -- well-formedness -------------------------------------------------------------------------------
def test_reading_before_defining_is_refused() -> None:
    with pytest.raises(ProgramError, match="reads a but nothing defines it"):
        program("p", {"x": x}, {"f": a + x})
    with pytest.raises(ProgramError, match="reads b"):
        program("p", {"x": x}, {"f": a}, statements=[Assign(a, b), Assign(b, x)])


def test_defining_twice_is_refused() -> None:
    with pytest.raises(ProgramError, match="a is defined twice"):
        program("p", {"x": x}, {"f": a}, statements=[Assign(a, x), Assign(a, 2 * x)])
    with pytest.raises(ProgramError, match="x is an input twice"):
        program("p", {"x": x, "y": [x]}, {"f": x})
    with pytest.raises(ProgramError, match="two arrays named x"):
        program("p", {"x": x}, {"x": x})
    with pytest.raises(ProgramError, match="is defined twice"):
        program("p", {"x": x}, {"f": x}, statements=[Assign(x, 2 * x)])


def test_inner_symbols_stay_inside_their_loop() -> None:
    loop = Loop(2, (Carried(a, x, a * b, c),), (), (), (Assign(b, a + 1),))
    with pytest.raises(ProgramError, match="reads b"):
        program("p", {"x": x}, {"f": b}, statements=[loop])
    assert program("p", {"x": x}, {"f": c}, statements=[loop]).outputs[0].entries == (c,)


def test_inner_symbols_hide_nothing() -> None:
    """A turn that called an input by its own name would read the wrong one of the two."""
    hiding = Loop(2, (Carried(x, y, x + 1, c),), (), (), ())
    with pytest.raises(ProgramError, match="x is defined twice"):
        program("p", {"x": x, "y": y}, {"f": c}, statements=[hiding])
    double = Loop(2, (Carried(a, y, a + 1, c),), (Scanned(a, (x, y)),), (), ())
    with pytest.raises(ProgramError, match="a is defined twice"):
        program("p", {"x": x, "y": y}, {"f": c}, statements=[double])
    with pytest.raises(ProgramError, match=r"assigns to 2\*a, which is not a symbol"):
        program("p", {"x": x}, {"f": x}, statements=[Assign(2 * a, x)])


def test_shapes_are_checked() -> None:
    with pytest.raises(ProgramError, match="do not fill the shape"):
        ProgramPort("x", (2,), (x,))
    with pytest.raises(ProgramError, match="different lengths"):
        program("p", {"x": [[x, y], [z]]}, {"f": x})
    with pytest.raises(ProgramError, match="at least one turn"):
        Loop(0, (), (), (), ())
    with pytest.raises(ProgramError, match="does not have 2 values"):
        Loop(2, (), (Scanned(a, (x,)),), (), ())
    with pytest.raises(ProgramError, match="does not have 2 targets"):
        Loop(2, (), (), (Stacked(x, (a,)),), ())
    with pytest.raises(ProgramError, match="arrays of other sizes"):
        Solve(2, (x,) * 3, (x, y), (a, b))
    with pytest.raises(ProgramError, match="at least one unknown"):
        Solve(0, (), (), ())
    inner = program("inner", {"x": x}, {"f": x})
    with pytest.raises(ProgramError, match="needs 1 arguments and 1 targets"):
        Call(inner, (x, y), (a,))


def test_unknown_outputs_and_ports_are_named() -> None:
    with pytest.raises(ProgramError, match="no output named g"):
        program("p", {"x": x}, {"f": x}, auxiliary=["g"])
    with pytest.raises(ProgramError, match="has no input or output 'g'; it has x, f"):
        program("p", {"x": x}, {"f": x}).port("g")
    with pytest.raises(ProgramError, match="is not a symbol"):
        check(Program("p", (ProgramPort("x", (), (2 * x,)),), ()))


def test_names_are_fresh() -> None:
    loop = Loop(1, (Carried(symbol("z2", "local"), x, x, symbol("z3", "local")),), (), (), ())
    made = program("p", {"x": [x, symbol("z1")]}, {"f": x}, statements=[loop])
    namer = Namer(made, "z")
    assert [namer().name, namer().name] == ["z4", "z5"]


# -- values ----------------------------------------------------------------------------------------
@settings(max_examples=examples(60, daily=24), deadline=None)
@given(programs(loops=False, calls=False, solves=False))
def test_code_computes_what_the_expressions_say(made: Program) -> None:
    """The interpreter of code against the evaluation of the expressions."""
    inputs = sample_inputs(made, 3)
    known: dict[Expr, object] = {}
    for port, array in zip(made.inputs, inputs, strict=True):
        known.update(zip(port.entries, array.ravel(), strict=True))
    for statement in made.statements:
        assert isinstance(statement, Assign)
        known[statement.target] = evaluate(statement.value, known)
    expected = [float(evaluate(e, known)) for e in made.output_values()]
    for fuse in (False, True):
        values, bounds = interpret_with_bound(lower(made, fuse=fuse), inputs)
        found = np.concatenate([v.ravel() for v in values])
        bound = np.concatenate([v.ravel() for v in bounds])
        assert np.all(np.abs(found - expected) <= 3 * bound)


def test_the_running_bound_holds_against_exact_arithmetic() -> None:
    """Fifty digits of mpmath against double: the error is within the bound, and not far below."""
    import mpmath

    e = ((x - y) * sqrt(x) + z / (x - y)) * (x + y) ** 3
    made = program("p", {"q": [x, y, z]}, {"f": e})
    worst = 0.0
    rng = np.random.default_rng(5)
    for _ in range(200):
        v = rng.uniform(0.5, 1.5, 3)
        value, bound = (r[0] for r in interpret_with_bound(lower(made), [v]))
        with mpmath.workdps(50):
            p, q, r = (mpmath.mpf(float(t)) for t in v)
            exact = ((p - q) * mpmath.sqrt(p) + r / (p - q)) * (p + q) ** 3
            error = float(abs(exact - mpmath.mpf(float(value))))
        assert error <= bound
        worst = max(worst, error / float(bound))
    assert worst > 0.1


def fibonacci(turns: int) -> Program:
    """The sequence that starts with x, y, as a loop that carries two values."""
    ends = symbols("end1 end2", "local")
    steps = tuple(symbol(f"s{i}", "local") for i in range(turns))
    loop = Loop(
        turns,
        (Carried(a, x, b, ends[0]), Carried(b, y, a + b, ends[1])),
        (),
        (Stacked(a, steps),),
        (),
    )
    return program("fibonacci", {"x": x, "y": y}, {"all": steps, "f": ends}, statements=[loop])


def test_loops_carry_and_stack() -> None:
    everything, last = interpret(lower(fibonacci(8)), [0.0, 1.0])
    assert everything.tolist() == [0, 1, 1, 2, 3, 5, 8, 13]
    assert last.tolist() == [21, 34]


def test_loops_scan_and_nest() -> None:
    """Horner's rule in a loop in a loop: the sum of p(t) over two points."""
    coefficients = [symbol(f"p{i}") for i in range(4)]
    t, p, value, point, total = symbols("t p value point total", "local")
    inner_end, outer_end = symbols("inner_end outer_end", "local")
    inner = Loop(
        4,
        (Carried(value, 0 * x, value * t + p, inner_end),),
        (Scanned(p, tuple(coefficients)),),
        (),
        (),
    )
    outer = Loop(
        2,
        (Carried(total, 0 * x, total + inner_end, outer_end),),
        (Scanned(point, (x, y)),),
        (),
        (Assign(t, 2 * point), inner),
    )
    made = program("horner", {"p": coefficients, "q": [x, y]}, {"f": outer_end}, statements=[outer])
    (found,) = interpret(lower(made), [[1.0, -2.0, 3.0, 4.0], [0.25, 1.5]])
    assert found == np.polyval([1, -2, 3, 4], 0.5) + np.polyval([1, -2, 3, 4], 3.0)
    assert count_operations(made) == Counts(add=2 * (4 + 1), mul=2 * (4 + 1))


def test_batches_go_along_leading_axes() -> None:
    made = program("p", {"q": [x, y], "k": k1}, {"f": [[x * k1, y], [x + y, k1]]})
    q = np.arange(12.0).reshape(3, 2, 2)
    (found,) = interpret(lower(made), [q, 10.0])
    assert found.shape == (3, 2, 2, 2)
    np.testing.assert_array_equal(found[..., 0, 0], q[..., 0] * 10)
    np.testing.assert_array_equal(found[..., 1, 0], q.sum(axis=-1))
    with pytest.raises(ProgramError, match=r"takes 2 arrays \(q, k\), not 1"):
        interpret(lower(made), [q])
    with pytest.raises(ProgramError, match="does not end in"):
        interpret(lower(made), [np.zeros(3), 1.0])


# -- counts ----------------------------------------------------------------------------------------
def recount(code: Code) -> Counts:
    """Count operations by executing the code and noting each one, whatever loops and calls do."""
    totals = dict.fromkeys(("add", "mul", "call", "select"), 0)
    column = {"add": "add", "sub": "add", "mul": "mul", "div": "mul", "sqrt": "mul"}
    for name, words in (
        ("select", "lt le eq ne and or not select min max abs sign"),
        ("call", "sin cos tan asin acos atan atan2 exp log pow tanh"),
    ):
        column.update(dict.fromkeys(words.split(), name))

    def run(instructions: list[Instruction], everything: bool) -> None:
        for i in instructions:
            if not everything and not Rate.PARAMETER < i.rate < Rate.OUTPUT:
                continue
            if i.op == "loop":
                for _ in range(i.data.count):
                    run(i.data.body, True)
            elif i.op == "call":
                run(i.data.instructions, True)
            elif i.op in column:
                totals[column[i.op]] += 1
            else:
                assert i.op in ("input", "const", "neg", "number", "result")

    run(code.instructions, False)
    return Counts(**totals)


@settings(max_examples=examples(30, daily=12), deadline=None)
@given(programs())
def test_counts_agree_with_a_recount(made: Program) -> None:
    code = lower(made)
    assert count_operations(code) == recount(code)


def term_cost(term: Expr) -> tuple[int, int, int]:
    """Return adds, multiplies and calls of an expression in which nothing occurs twice."""
    adds = muls = calls = 0
    stack = [term]
    while stack:
        node = stack.pop()
        stack.extend(node.args)
        if node.op == "sum":
            adds += len(node.args) - (node.data[0] == 0)
            muls += sum(1 for d in node.data[1:] if abs(d) != 1)
        elif node.op == "scale":
            muls += abs(node.data) != 1
        elif node.op == "prod":
            above = sum(e for e in node.data if e > 0)
            below = sum(-e for e in node.data if e < 0)
            muls += max(above - 1, 0) + below
        elif node.op == "sqrt":
            muls += 1
        elif not node.is_atom:
            calls += 1
    return adds, muls, calls


@pytest.mark.parametrize(
    "e",
    [
        x + y - z,
        2 * x - 3 * y + 1,
        x * y * z,
        x / (y * z),
        1 / (x + y),
        -x * y + z,
        x**2 + y**3,
        sin(x) * cos(y) - sqrt(z),
        (x + y) * (z - u) / sin(u + 1),
        x / 2 + y / 3,
    ],
)
def test_counts_of_single_expressions_follow_the_convention(e: Expr) -> None:
    """Terms less one, factors less one, divisors: counted on the tree, not on the code."""
    made = program("p", {"q": [x, y, z], "u": u}, {"f": e})
    assert (
        count_operations(made).add,
        count_operations(made).mul,
        count_operations(made).call,
    ) == term_cost(e)


def test_higher_powers_count_their_multiplications() -> None:
    powers = [count_operations(program("p", {"q": x}, {"f": x**n})).mul for n in (2, 3, 4, 8, 15)]
    assert powers == [1, 2, 2, 3, 6]


def test_branches_stand_in_their_own_column() -> None:
    made = program("p", {"q": [x, y]}, {"f": where(x < y, x, abs(y))})
    assert count_operations(made) == Counts(select=3)


def test_parameters_are_free_and_outputs_apart() -> None:
    outputs = {"f": k1 * k2 * x + k1 / k2, "extra": x * y}
    made = program("p", {"k": [k1, k2], "q": [x, y]}, outputs, auxiliary=["extra"])
    stages = stage_counts(made)
    assert stages[Rate.PARAMETER] == Counts(mul=2)
    assert stages[Rate.OUTPUT] == Counts(mul=1)
    assert count_operations(made) == Counts(add=1, mul=1)
    data = counts_as_dict(made)
    assert data["derivative"] == {"add": 1, "mul": 1, "call": 0, "select": 0}
    assert data["parameters"] == 2
    assert as_text(ops_table(made)).splitlines()[-1].split() == ["derivative", "1", "1", "0", "0"]


def test_what_a_loop_needs_belongs_to_the_derivative() -> None:
    """Work that leaves a loop's body is not an output's because only the body reads it."""
    loop = Loop(3, (Carried(a, x, a * (y * z), b),), (), (), ())
    made = program(
        "p", {"q": [x, y, z]}, {"f": b, "extra": x + 1}, statements=[loop], auxiliary=["extra"]
    )
    stages = stage_counts(made)
    assert stages[Rate.CONFIGURATION] == Counts(mul=4)
    assert stages[Rate.OUTPUT] == Counts(add=1)


def test_parameters_meet_parameters_first() -> None:
    """In a product of mixed rates, each stage does its own part."""
    made = program("p", {"k": [k1, k2], "q": [x, y], "u": u}, {"f": u * k1 * y * k2 * x})
    stages = stage_counts(made)
    assert [stages[r].mul for r in (Rate.PARAMETER, Rate.CONFIGURATION, Rate.VELOCITY)] == [1, 2, 1]


# -- determinism -----------------------------------------------------------------------------------
SCRIPT = """
from hypothesis import Phase, given, seed, settings
from linkwright.program import lower
from linkwright.program.passes import PASSES, optimize
from tests.random.programs import programs

@seed(1)
@settings(max_examples=12, database=None, deadline=None, phases=[Phase.generate])
@given(programs())
def show(made):
    print(made.fingerprint(), optimize(made).fingerprint(), len(lower(optimize(made)).instructions))
    for name, function in PASSES.items():
        print(name, function(made).fingerprint())
    print(optimize(made).statements)

show()
"""


def test_programs_and_passes_are_the_same_under_any_hash_seed() -> None:
    root = Path(__file__).resolve().parents[2]
    outputs = []
    for hash_seed in ("0", "12345"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert len(outputs[0]) > 1000
    assert outputs[0] == outputs[1]


def test_fingerprints_tell_programs_apart() -> None:
    made = program("p", {"q": [x, y]}, {"f": x + y})
    others = [
        program("p", {"q": [x, y]}, {"f": x - y}),
        program("p2", {"q": [x, y]}, {"f": x + y}),
        program("p", {"q": [y, x]}, {"f": x + y}),
        program("p", {"q": [x, y]}, {"f": [x + y]}),
        program("p", {"q": [x, y]}, {"f": x + y}, slow=[x]),
        program("p", {"q": [x, y]}, {"f": x + y}, auxiliary=["f"]),
        fibonacci(3),
        fibonacci(4),
    ]
    prints = {p.fingerprint() for p in (made, *others)}
    assert len(prints) == len(others) + 1
    assert made.fingerprint() == program("p", {"q": [x, y]}, {"f": y + x}).fingerprint()
