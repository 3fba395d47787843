"""Passes: they keep what a Program computes, and none makes it cost more."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.algebra import (
    ZERO,
    Expr,
    cos,
    evaluate,
    exp,
    postorder,
    sin,
    smallness_threshold,
    symbol,
    symbols,
    tan,
    total,
    where,
)
from linkwright.algebra.foreign import foreign
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Counts,
    Loop,
    Program,
    ProgramError,
    Rate,
    Scanned,
    Solve,
    Stacked,
    check,
    count_operations,
    interpret,
    interpret_with_bound,
    lower,
    program,
    stage_counts,
)
from linkwright.program.passes import (
    DEFAULT,
    PASSES,
    common_subexpressions,
    factor,
    inline_single_use,
    liveness,
    merge_constants,
    optimize,
    pressure,
    report,
    schedule,
    schedule_code,
    split,
    value_numbering,
)
from linkwright.program.passes.auxiliary import without_auxiliary
from linkwright.program.passes.choice import cost
from linkwright.program.passes.fields import FieldValues
from linkwright.program.report import as_text, ops_as_dict, passes_table
from tests.random.programs import ARITHMETIC, FUNCTIONS, programs, sample_inputs
from tests.seeds import examples

A, B, C, D = symbols("A B C D")
x, y, z, w = symbols("x y z w", "coordinate")


def of(*outputs: Expr, statements: tuple[Assign, ...] = ()) -> Program:
    """Return a Program of the symbols above."""
    inputs = {"k": [A, B, C, D], "q": [x, y, z, w]}
    return program("p", inputs, {"f": list(outputs)}, statements=statements)


def local(name: str) -> Expr:
    return symbol(name, "local")


def assert_same_values(before: Program, after: Program, seed: int = 0) -> None:
    """The outputs agree within the running error bounds of the two ways to compute them."""
    check(after)
    inputs = sample_inputs(before, seed, (4,))
    expected, bound = interpret_with_bound(lower(before), inputs)
    found, other = interpret_with_bound(lower(after), inputs)
    for e, f, a, b in zip(expected, found, bound, other, strict=True):
        assert np.all(np.abs(e - f) <= 2 * a + 2 * b)


# -- every pass ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", list(PASSES))
@settings(max_examples=examples(8, daily=3), deadline=None)
@given(made=programs())
def test_a_pass_keeps_the_outputs_and_the_counts(name: str, made: Program) -> None:
    after = PASSES[name](made)
    assert_same_values(made, after)
    assert cost(after) <= cost(made)


@settings(max_examples=examples(15, daily=5), deadline=None)
@given(programs(), st.integers(0, 9))
def test_all_passes_together(made: Program, seed: int) -> None:
    after = optimize(made)
    assert_same_values(made, after, seed)
    assert cost(after) <= cost(made)
    assert cost(optimize(after)) <= cost(after)


@settings(max_examples=examples(15, daily=5), deadline=None)
@given(programs(forms=ARITHMETIC, loops=False, calls=False, solves=False, size=20))
def test_arithmetic_alone(made: Program) -> None:
    after = optimize(made)
    assert_same_values(made, after)
    assert cost(after) <= cost(made)


SMOOTH = {**ARITHMETIC, **FUNCTIONS}


@settings(max_examples=examples(15, daily=5), deadline=None)
@given(programs(forms=SMOOTH, loops=False, calls=False, solves=False))
def test_no_two_definitions_are_equal(made: Program) -> None:
    """Methods, check 28; the values of definitions are compared at a random point."""
    after = optimize(made)
    rng = np.random.default_rng(1)
    known: dict[Expr, object] = {s: rng.uniform(0.5, 1.5) for s in after.input_symbols()}
    seen: list[float] = []
    for statement in after.statements:
        assert isinstance(statement, Assign)
        known[statement.target] = evaluate(statement.value, known)
        seen.append(abs(float(evaluate(statement.target, known))))
    for a, b in pairwise(sorted(seen)):
        assert b - a > 1e-13 * b


@settings(max_examples=examples(15, daily=5), deadline=None)
@given(programs(forms=SMOOTH, loops=False, calls=False, solves=False))
def test_no_definition_is_used_once(made: Program) -> None:
    """Methods, check 22: what is used once stands where it is used; fixed parts have names.

    So have sums with a number before them, which would be distributed over their terms, and what
    the derivative hands to auxiliary outputs, which are left out here.
    """
    after = optimize(without_auxiliary(made))
    roots = [x for s in after.statements for x in s.operands] + list(after.output_values())
    uses = dict.fromkeys(roots, 0)
    for root in roots:
        uses[root] += 1
    for node in postorder(roots):
        for k, x in enumerate(node.args):
            times = abs(node.data[k]) if node.op == "prod" else 1
            uses[x] = uses.get(x, 0) + times
    rates = {i.name: i.rate for i in lower(after).instructions}
    before = {x for n in postorder(roots) if n.op == "scale" for x in n.args}
    for n in postorder(roots):
        if n.op == "sum":
            before |= {x for c, x in zip(n.data[1:], n.args, strict=True) if abs(c) != 1}
    for s in after.statements:
        target, value = s.targets[0], s.operands[0]
        value = value.args[0] if value.op == "scale" else value
        if value.op == "sum" and target in before:
            continue
        assert uses[target] > 1 or rates.get(target.name, 0) <= Rate.PARAMETER


@settings(max_examples=examples(15, daily=5), deadline=None)
@given(programs(loops=False, calls=False, solves=False))
def test_an_output_adds_nothing_to_the_derivative(made: Program) -> None:
    """Methods, check 23; a loop, solve or call that both need is not taken apart."""
    outputs = tuple(p for p in made.outputs if p.name != "extra")
    alone = optimize(Program(made.name, made.inputs, outputs, made.statements, made.slow))
    asked = optimize(replace(made, auxiliary=frozenset({"extra"})))
    assert cost(asked)[0] <= cost(alone)[0]
    assert_same_values(made, asked)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("named", [False, True])
def test_a_quotient_cancels_against_its_divisor(power: int, named: bool) -> None:
    """With y = b/k, b - k*y is zero, whether or not 1/k has a name of its own."""
    b, c = symbols("b c", "coordinate")
    (k,) = symbols("k")
    y, inverse = symbols("y inverse", "local")
    below = k**power
    steps = [Assign(y, b / below)]
    if named:
        steps = [Assign(inverse, 1 / below), Assign(y, b * inverse)]
    made = program("f", {"x": [b, c], "k": [k]}, {"f": [c * (b - below * y), y]}, statements=steps)
    after = optimize(made)
    assert after.output_values()[0] is ZERO
    assert count_operations(after).total == 1
    (values,) = interpret(lower(after), [[3.0, 5.0], [2.0]])
    np.testing.assert_array_equal(values, [0.0, 3.0 / 2.0**power])


def test_the_registry_is_what_is_documented() -> None:
    assert next(iter(PASSES)) == "liveness"
    assert set(DEFAULT) <= set(PASSES)
    with pytest.raises(ProgramError, match="there is no pass 'inline'; there are liveness"):
        optimize(of(x), ["inline"])


# -- value numbering -------------------------------------------------------------------------------
def test_values_equal_after_expansion_are_one() -> None:
    a, b = local("a"), local("b")
    made = of(a * x, b * y, statements=(Assign(a, z * (x + y)), Assign(b, -(z * x) - z * y)))
    after = value_numbering(made)
    assert [s.targets for s in after.statements] == [(a,)]
    assert after.outputs[0].entries == (a * x, -a * y)
    assert_same_values(made, after)


def test_squares_of_sine_and_cosine_add_up_through_locals() -> None:
    s, c = local("s"), local("c")
    made = of(x + s**2 + c**2, statements=(Assign(s, sin(x)), Assign(c, cos(x))))
    assert optimize(made).outputs[0].entries == (1 + x,)


def test_divisions_and_branches_are_not_cancelled() -> None:
    """(x² - y²)/(x - y) equals x + y only where x differs from y."""
    made = of((x**2 - y**2) / (x - y), x + y, where(x < y, x + y, (x + y) * 1))
    after = optimize(made)
    x_minus_y_is_zero = [[1.0] * 4, [2.0, 2.0, 1.0, 1.0]]
    (found,) = interpret(lower(after), x_minus_y_is_zero)
    assert np.isnan(found[0])
    assert found[1] == 4.0


def test_field_values_tell_apart_what_differs() -> None:
    values = FieldValues()
    seen = [values.of(e) for e in (x, y, x + y, x * y, x - y, sin(x), cos(x), exp(x), 1 / x, x**2)]
    assert len(set(seen)) == len(seen)
    assert values.of((x + y) ** 2) == values.of(x**2 + 2 * x * y + y**2)
    assert values.of(x / y * y) == values.of(x)
    assert values.of(y * (x / (y + z)) + z * (x / (y + z))) != values.of(x)


# -- common subexpressions, factoring --------------------------------------------------------------
@pytest.mark.parametrize(
    ("outputs", "before", "after"),
    [
        ([x * z * w, y * z * w], 4, 3),
        ([x + z + w, y + z + w], 4, 3),
        ([x - z - w, y + z + w], 4, 3),
        ([x + 3 * z + 3 * w, y + z + w], 6, 4),
        ([x + 3 * z + 6 * w, y + z + 2 * w, 5 * z + 10 * w], 9, 6),
        ([A * z + 2 * A * w + x, z + 2 * w], 6, 4),
        ([A * z + A * w + x, B * z + B * w + y], 8, 5),
        ([x / (z * w), y / (z * w)], 3, 3),
        ([x * z / w, y * z / w], 4, 3),
        ([x**2 * y, x * y], 3, 2),
        ([x * y + x * z + x * w], 5, 3),
        ([x * z + y * z + x * w + y * w], 7, 3),
    ],
)
def test_partial_sums_and_products_are_shared(outputs: list[Expr], before: int, after: int) -> None:
    made = of(*outputs)
    assert count_operations(made).total == before
    found = common_subexpressions(made)
    assert count_operations(found).total == after
    assert_same_values(made, found)


@pytest.mark.parametrize(
    ("outputs", "after"),
    [
        ([x * y + z * x * w], [x * (y + z * w)]),
        ([A * x + A * y], [A * (x + y)]),
        ([x * y + x * z + x * w], [x * (y + z + w)]),
        ([x / z + y / z], [(x + y) / z]),
        ([x * y + z * w], [x * y + z * w]),
    ],
)
def test_common_factors_are_taken_out(outputs: list[Expr], after: list[Expr]) -> None:
    assert list(factor(of(*outputs)).outputs[0].entries) == after


def test_nothing_is_divided_by_a_parameter() -> None:
    """Coefficients in proportion would share a sum after a division; the parameter may be zero."""
    made = of(A * x + B * y + z, A * C * x + B * C * y + w)
    after = optimize(made)
    values = [[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]
    (found,) = interpret(lower(after), values)
    np.testing.assert_array_equal(found, [3.0, 4.0])


# -- constants -------------------------------------------------------------------------------------
def test_constants_merge_into_the_parameter_stage() -> None:
    """A*(B*X + C*Y): two constants and two multiplications per evaluation (methods, check 21)."""
    made = of(A * (B * x + C * y))
    after = merge_constants(made)
    assert count_operations(after) == Counts(add=1, mul=2)
    assert [s.targets[0].name for s in after.statements] == ["c1", "c2"]
    assert_same_values(made, after)


def test_a_constant_that_every_use_has_goes_into_the_sum() -> None:
    s = local("s")
    made = of(A * s * x, A * s * y, statements=(Assign(s, B * z + C * w),))
    after = merge_constants(made)
    assert (count_operations(made).mul, count_operations(after).mul) == (5, 4)
    assert_same_values(made, after)


def test_constant_parts_are_outside_the_derivative() -> None:
    """Methods, check 24: no operation of a later stage has only parameters as operands."""
    made = of((A + B) * x + C / D * y, sin(A) * x * y, A * B + C)
    code = lower(optimize(made))
    rates = {i.id: i.rate for i in code.instructions}
    for i in code.instructions:
        if i.args:
            assert i.rate == max(rates[a] for a in i.args)
    assert stage_counts(code)[Rate.PARAMETER].total >= 3


# -- liveness, inlining ----------------------------------------------------------------------------
def loop_of_three(keep: str) -> Program:
    """A loop that carries three values of which one feeds another, and stacks two arrays."""
    a, b, c, item = (local(n) for n in ("a", "b", "c", "item"))
    ends = [local(n) for n in ("a_end", "b_end", "c_end")]
    p, q = (tuple(local(f"{n}{i}") for i in range(3)) for n in "pq")
    dead = local("dead")
    loop = Loop(
        3,
        (
            Carried(a, x, a + b * item, ends[0]),
            Carried(b, y, 2 * b, ends[1]),
            Carried(c, z, c * c, ends[2]),
        ),
        (Scanned(item, (x, y, z)),),
        (Stacked(a * w, p), Stacked(c + 1, q)),
        (Assign(dead, a * b * c),),
    )
    wanted = {"a": [ends[0]], "c": [ends[2]], "q": list(q), "p": [p[1]]}[keep]
    return program("loop", {"q": [x, y, z, w]}, {"f": wanted}, statements=[loop])


@pytest.mark.parametrize(
    ("keep", "carried", "scanned", "stacked"),
    [("a", 2, 1, 0), ("c", 1, 0, 0), ("q", 1, 0, 1), ("p", 2, 1, 1)],
)
def test_dead_parts_of_loops_go(keep: str, carried: int, scanned: int, stacked: int) -> None:
    made = loop_of_three(keep)
    after = liveness(made)
    (loop,) = after.statements
    assert isinstance(loop, Loop)
    assert (len(loop.carried), len(loop.scanned), len(loop.stacked)) == (carried, scanned, stacked)
    assert loop.body == ()
    assert_same_values(made, after)
    assert_same_values(made, optimize(made))


def test_dead_right_sides_go() -> None:
    t = [local(f"t{i}") for i in range(4)]
    solve = Solve(2, (x + 3, y, z, w + 3), (A, B, C, D), tuple(t))
    inputs = {"k": [A, B, C, D], "q": [x, y, z, w]}
    made = program("p", inputs, {"f": t[3]}, statements=[solve])
    (kept,) = liveness(made).statements
    assert isinstance(kept, Solve)
    assert kept.targets == (t[2], t[3])
    assert_same_values(made, liveness(made))


def test_what_does_not_change_leaves_the_loop() -> None:
    """Work on values from outside is done once, before the loop, and not at each turn."""
    a, item, end = local("a"), local("item"), local("end")
    inner = sin(x) * y * a + (x + y) * z * item
    loop = Loop(10, (Carried(a, w, inner, end),), (Scanned(item, (x, y) * 5),), (), ())
    made = program("loop", {"q": [x, y, z, w]}, {"f": end}, statements=[loop])
    after = optimize(made)
    assert count_operations(after) == Counts(add=11, mul=22, call=1)
    assert_same_values(made, after)


def test_single_uses_are_written_in_place() -> None:
    a, b, c = local("a"), local("b"), local("c")
    statements = (Assign(a, x * y), Assign(b, a + z), Assign(c, sin(b)))
    after = inline_single_use(of(c * w, c + w, statements=statements))
    assert after.statements == (Assign(c, sin(x * y + z)),)


def test_a_square_of_a_product_is_not_multiplied_out() -> None:
    a = local("a")
    made = of(a**2, statements=(Assign(a, x * y * z),))
    assert count_operations(made).mul == count_operations(inline_single_use(made)).mul == 3


# -- scheduling ------------------------------------------------------------------------------------
def wide_program(width: int) -> Program:
    """First all products, then all sums of them: a bad order for registers."""
    first = [Assign(local(f"a{i}"), sin(x + i) * y) for i in range(width)]
    second = [Assign(local(f"b{i}"), s.target * z + s.target**2) for i, s in enumerate(first)]
    return of(*[s.target + w for s in second], statements=(*first, *second))


def test_statements_come_shortly_before_their_use() -> None:
    made = wide_program(20)
    after = schedule(made)
    assert [s.targets[0].name for s in after.statements[:4]] == ["a0", "b0", "a1", "b1"]
    assert_same_values(made, after)


@settings(max_examples=examples(12, daily=5), deadline=None)
@given(programs())
def test_scheduled_code_computes_the_same_bits(made: Program) -> None:
    code = lower(made)
    scheduled = schedule_code(code)
    inputs = sample_inputs(made, 2, (3,))
    for a, b in zip(interpret(code, inputs), interpret(scheduled, inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    assert sorted(i.id for i in code.walk()) == sorted(i.id for i in scheduled.walk())
    ids = code.output_ids()
    assert pressure(scheduled.instructions, ids) <= pressure(code.instructions, ids)


def test_scheduling_lowers_the_pressure() -> None:
    code = lower(wide_program(20))
    ids = code.output_ids()
    assert pressure(code.instructions, ids) >= 20
    assert pressure(schedule_code(code).instructions, ids) <= 4


# -- splitting -------------------------------------------------------------------------------------
def run_split(made: Program, after: Rate, seed: int) -> None:
    first, second = split(made, after)
    inputs = dict(zip([p.name for p in made.inputs], sample_inputs(made, seed, (3,)), strict=True))
    expected, bound = interpret_with_bound(lower(made), list(inputs.values()))
    (carried,) = interpret(lower(first), [inputs[p.name] for p in first.inputs])
    inputs["constants"] = carried
    found, other = interpret_with_bound(lower(second), [inputs[p.name] for p in second.inputs])
    for e, f, a, b in zip(expected, found, bound, other, strict=True):
        assert np.all(np.abs(e - f) <= 3 * a + 3 * b + 1e-13)


@pytest.mark.parametrize("after", [Rate.PARAMETER, Rate.SLOW, Rate.CONFIGURATION, Rate.VELOCITY])
@settings(max_examples=examples(10, daily=4), deadline=None)
@given(made=programs(), seed=st.integers(0, 9))
def test_the_two_parts_do_what_the_whole_does(made: Program, after: Rate, seed: int) -> None:
    run_split(made, after, seed)


def test_precomputed_constants_leave_no_parameter_work() -> None:
    made = of((A + B) * x + A * B / C * y, sin(D) + x)
    first, second = split(made, Rate.PARAMETER)
    assert [p.name for p in first.inputs] == ["k"]
    assert [p.name for p in second.inputs] == ["q", "constants"]
    assert stage_counts(second)[Rate.PARAMETER] == Counts()
    assert count_operations(second) == count_operations(made)


def test_a_slow_symbol_goes_to_the_background() -> None:
    """The foreground multiplies what the background has computed from slow symbols."""
    u, v = symbols("u v", "speed")
    heavy = sin(x) * cos(y) + x * y
    made = program("servo", {"q": [x, y], "u": [u, v]}, {"f": heavy * u + v}, slow=[x, y])
    background, foreground = split(made, Rate.SLOW)
    assert count_operations(foreground) == Counts(add=1, mul=1)
    assert count_operations(background).call == 2
    run_split(made, Rate.SLOW, 0)


def test_the_carried_array_needs_a_free_name() -> None:
    made = program("p", {"constants": [A], "x": x}, {"f": A * x})
    with pytest.raises(ProgramError, match="name another one"):
        split(made, Rate.PARAMETER)
    assert split(made, Rate.PARAMETER, carried="pc")[1].inputs[1].name == "pc"


# -- calls, smallness, reports ---------------------------------------------------------------------
def test_a_called_program_is_optimized_once() -> None:
    a, b = symbols("a b")
    inner = program("inner", {"a": a, "b": b}, {"f": [a * b + a * a, a * b + b]})
    t = [local(f"t{i}") for i in range(4)]
    calls = [Call(inner, (x, y), (t[0], t[1])), Call(inner, (y, z), (t[2], t[3]))]
    made = program("p", {"q": [x, y, z]}, {"f": t}, statements=calls)
    after = optimize(made)
    first, second = (s for s in after.statements if isinstance(s, Call))
    assert first.program is second.program
    assert_same_values(made, after)


def test_small_terms_are_dropped_once_only() -> None:
    """A local hides the order of its value: regrouping must not drop a second-order term."""
    s = symbol("s", "coordinate", small=1)
    a, b = local("a"), local("b")
    with smallness_threshold(100):
        statements = [Assign(a, s * y), Assign(b, a + s * s * z)]
    made = program("p", {"q": [s, y, z]}, {"f": [b, b * a]}, statements=statements)
    assert_same_values(made, optimize(made))
    assert count_operations(optimize(made)).total >= 4


def test_reports_show_each_pass() -> None:
    made = of(x * y + x * z, A * (B * x + C * y))
    rows = report(made)
    assert [name for name, _ in rows] == ["start", *PASSES]
    totals = [
        sum((c for r, c in s.items() if r > Rate.PARAMETER), start=Counts()).total for _, s in rows
    ]
    assert totals == sorted(totals, reverse=True)
    text = as_text(passes_table(made, ["factor", "merge_constants"])).splitlines()
    assert text[0].split() == ["pass", "add", "mul", "call", "select", "parameter"]
    assert text[1].split() == ["start", "2", "5", "0", "0", "0"]
    assert text[3].split() == ["merge_constants", "2", "3", "0", "0", "2"]
    data = ops_as_dict(made, ["factor"])
    assert isinstance(data["passes"], list)
    assert data["passes"][1]["derivative"]["mul"] == 4


def test_long_chains_and_wide_sums_are_no_trouble() -> None:
    """Depth 1,500 through the passes, and a sum of 500 terms."""
    chain = x
    for _ in range(1_500):
        chain = sin(chain) + y
    made = of(chain)
    assert count_operations(optimize(made)).call == 1_500
    many = [symbol(f"v{i}", "coordinate") for i in range(500)]
    wide = program(
        "wide", {"v": many, "x": x}, {"f": total([v * (i + 2) for i, v in enumerate(many)])}
    )
    assert count_operations(optimize(wide)).total == count_operations(wide).total


def test_an_impure_function_is_called_at_every_evaluation_and_turn() -> None:
    """Noise of a parameter is not a parameter, and a loop asks for it again at each turn."""
    calls: list[float] = []

    def sample(value: float) -> float:
        calls.append(value)
        return value + len(calls)

    noise = foreign("noise", python=sample, pure=False)
    a, end = local("a"), local("end")
    loop = Loop(3, (Carried(a, x, a + noise(A), end),), (), (), ())
    statements = [loop]
    made = program("p", {"k": A, "x": x}, {"f": [end, noise(A) * x]}, statements=statements)
    for p in (made, optimize(made), optimize(made, list(PASSES))):
        assert stage_counts(p)[Rate.PARAMETER] == Counts()
        assert count_operations(p).call == 4
        calls.clear()
        (found,) = interpret(lower(p), [10.0, 0.0])
        assert len(calls) == 4
        assert found[0] == 36.0 or found[0] == 39.0
    first, second = split(made, Rate.PARAMETER)
    assert count_operations(first).call == 0
    assert count_operations(second).call == 4


def test_a_pure_function_is_called_once() -> None:
    square = foreign("square", python=lambda v: v * v)
    a, b = local("a"), local("b")
    statements = (Assign(a, x * (y + z)), Assign(b, x * y + x * z))
    made = of(square(a) + w, square(b), statements=statements)
    after = optimize(made)
    assert (count_operations(made).call, count_operations(after).call) == (2, 1)
    assert_same_values(made, after)


def test_costs_are_found_by_several_threads_at_once() -> None:
    """What is remembered of the last ones is shared, and none trips over another."""
    made = [program(f"f{i}", {"k": ["a"]}, {"f": lambda a: [a * a + a]}) for i in range(9)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda k: cost(made[k % 9]), range(4000)))
    finally:
        sys.setswitchinterval(before)
    assert set(found) == {cost(p) for p in made}


def test_the_sine_of_an_angle_that_is_not_known_can_be_anything() -> None:
    """The bound by differences nearby says little where the angle is off by many turns."""
    q = symbol("q", "coordinate")
    made = program("far", {"q": q}, {"y": [sin(exp(q)), tan(exp(q))]})
    _, (bound,) = interpret_with_bound(lower(made), [np.linspace(50.0, 60.0, 40)])
    assert bound[..., 0].min() >= 2.0
    assert np.isinf(bound[..., 1]).all()
