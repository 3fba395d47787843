"""No Program leaves the optimizer without being compared with what went in.

Oracle for what is different: exact values in a finite field, after one number of a random Program
was changed. What is equal but for rounding, the comparison has to let pass.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.algebra import (
    Expr,
    constant,
    cos,
    log,
    maximum,
    minimum,
    sin,
    sqrt,
    symbols,
    where,
)
from linkwright.algebra.foreign import foreign
from linkwright.program import (
    Assign,
    Carried,
    Loop,
    Program,
    Scanned,
    Stacked,
    interpret,
    lower,
    optimize,
    program,
)
from linkwright.program.passes import careful, liveness
from linkwright.program.passes.comparison import agree
from linkwright.program.search import field_outputs, removal
from tests.random.programs import ARITHMETIC, FUNCTIONS, programs, sample_inputs
from tests.seeds import examples

A, B, C, D = symbols("a b c d", "coordinate")
K = symbols("k")[0]
SMOOTH = {**ARITHMETIC, **{n: FUNCTIONS[n] for n in ("sin", "cos", "sqrt", "atan", "atan2")}}


def of(*outputs: Expr | float) -> Program:
    return program("f", {"x": [A, B, C, D], "k": [K]}, {"y": list(outputs)})


def changed(p: Program, draw: random.Random) -> Program:
    """The Program with one operand, turn of a loop or output changed a little."""
    k = draw.randrange(len(p.statements) + 1)
    if k == len(p.statements):
        values = list(p.output_values())
        values[draw.randrange(len(values))] += 0.01
        return p.with_statements(p.statements, p.map_outputs(values))
    statement = p.statements[k]
    if isinstance(statement, Loop) and statement.carried and draw.random() < 0.5:
        first, *rest = statement.carried
        first = replace(first, following=first.following + 0.1)
        statement = replace(statement, carried=(first, *rest))
    elif statement.operands:
        operands = list(statement.operands)
        operands[draw.randrange(len(operands))] += 0.1
        statement = statement.with_operands(operands)
    return p.with_statements([*p.statements[:k], statement, *p.statements[k + 1 :]])


@settings(max_examples=examples(40, daily=16), deadline=None)
@given(programs(forms=SMOOTH, size=5), st.integers(0, 10**6))
def test_a_change_anywhere_is_seen(p: Program, seed: int) -> None:
    """In assignments, loops, calls and solves."""
    p = liveness(p)
    other = changed(p, random.Random(seed))
    assert agree(p, p)
    same = field_outputs(p) == field_outputs(other)
    if not same:  # nor is atan2(0, x) the same for all x > 0 in a field, where nothing is positive
        inputs = sample_inputs(p, batch=(5,))
        found = zip(interpret(lower(p), inputs), interpret(lower(other), inputs), strict=True)
        same = all(np.array_equal(x, y) for x, y in found)
    # a turn that nothing reads counts too, where a loop makes more than are compared one by one
    some = same and any(isinstance(s, Loop) and s.count > 3 for s in p.statements)
    assert some or agree(p, other) == same


@pytest.mark.parametrize(
    "choice",
    [
        lambda x, y: where(A < B, x, y),
        lambda x, y: where(A < 1e6, x, y),
        lambda x, y: where((A > 1e6) | (B > 1e6), x, y),
        lambda x, y: minimum(x, y + 50),
        lambda x, y: maximum(x, y - 50),
    ],
)
def test_both_sides_of_a_choice_are_compared(choice: object) -> None:
    """Also the side that is taken at hardly any state."""
    assert callable(choice)
    p = of(choice(0.3 * A + 1.7, 0.3 * B + C))
    assert agree(p, optimize(p))
    assert not agree(p, of(choice(0.3 * A, 0.3 * B + C)))
    assert not agree(p, of(choice(0.3 * A + 1.7, 0.3 * B)))


def test_what_a_long_loop_scans_is_compared() -> None:
    x, y, z, last = symbols("x_ y_ z_ last", "local")
    targets = symbols(" ".join(f"t{k}" for k in range(9)), "local")

    def scan(middle: Expr, offset: float) -> Program:
        values = tuple(middle if k == 4 else sin(A * k) + B for k in range(9))
        loop = Loop(9, (Carried(x, A, 0.3 * x + y + offset, last),), (Scanned(y, values),),
                    (Stacked(x * y, tuple(targets)),), ())  # fmt: skip
        return program("scan", {"x": [A, B]}, {"y": [last, z]},
                       statements=[loop, Assign(z, targets[7] + targets[2])])  # fmt: skip

    p = scan(A + 0.1, 2.9)
    assert agree(p, optimize(p))
    assert not agree(p, scan(A + 0.1001, 2.9))
    assert not agree(p, scan(A + 0.1, 0.0))


def test_nothing_foreign_is_called() -> None:
    def fails(x: float, y: float) -> float:
        raise AssertionError("called")

    f = foreign("device", 2, python=fails, pure=False)
    call = f(A, B)
    p = of(0.3 * call + 2.9, call * C + call * D)
    optimize(p)
    assert agree(p, of(0.3 * call + 2.9, call * (C + D)))
    assert not agree(p, of(0.3 * call, call * (C + D)))


def test_where_no_state_has_a_value_the_field_decides() -> None:
    root = sqrt(-1 - A**2)
    p = of(root * B + root * C, log(-2 - B**2) + 0.25)
    assert agree(p, of(root * (B + C), log(-2 - B**2) + 0.25))
    assert not agree(p, of(root * (B + D), log(-2 - B**2) + 0.25))
    assert not agree(p, of(root * (B + C), log(-2 - B**2)))


def test_rounding_is_no_difference() -> None:
    """Sums that cancel, squares that add up to one, quotients near a pole."""
    (z,) = symbols("z_", "local")
    p = program("f", {"x": [A, B]}, {"y": [z - 1e9 + B, (z - 1e9) * (z - 1e9 - A)]},
                statements=[Assign(z, A + 1e9)])  # fmt: skip
    assert agree(p, program("f", {"x": [A, B]}, {"y": [A + B, constant(0)]}))
    assert agree(of(0.1 * A + 0.2 * A), of(constant(0.1 + 0.2) * A))
    turned = sum((cos(K) * (cos(K) * x) + sin(K) * (sin(K) * x) for x in (A, B)), constant(0))
    assert agree(of(turned * 0.3), of(0.3 * A + 0.3 * B))


def test_a_pass_that_loses_a_constant_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Program that was given comes back, and a warning says so."""
    p = of(0.3 * (A + B) - 2.9, C * A + C * B)

    def wrong(given: Program) -> Program:
        values = [x + 2.9 if k == 0 else x for k, x in enumerate(given.output_values())]
        return given.with_statements((), given.map_outputs(values))

    monkeypatch.setattr(removal, "swept", lambda given: wrong(of(0.3 * A + 0.3 * B - 2.9, C)))
    for rewrite in (optimize, careful):
        with pytest.warns(RuntimeWarning, match="fault of Linkwright"):
            made = rewrite(p)
        (found,) = interpret(lower(made), [[1.0, 2.0, 3.0, 4.0], [5.0]])
        assert found == pytest.approx([-2.0, 9.0])


def test_what_a_loop_stacks_at_a_late_turn_is_compared() -> None:
    """It may depend on what was scanned turns before, and on nothing else of its own turn."""

    def late(first: Expr | float, chain: int) -> Program:
        t = symbols("t1 t2 t3 t4 t5 t6 t7 t8 t9 t10", "local")
        carried = [Carried(t[0], A, 0.5 * t[0] + t[3] if chain == 1 else t[1], t[4])]
        if chain > 1:
            carried.append(Carried(t[1], B, 0.5 * t[1] + t[3], t[5]))
        scanned = (Scanned(t[3], (B + first, B, C, D)),)
        loop = Loop(4, tuple(carried), scanned, (Stacked(sin(t[0]), tuple(t[6:10])),), ())
        return program("f", {"x": [A, B, C, D], "k": [K]}, {"y": [t[9]]}, statements=[loop])

    for chain in (1, 2):
        assert agree(late(0, chain), late(0, chain))
        assert not agree(late(0, chain), late(0.1, chain))
