"""The thorough search: smaller Programs with the same values, the same ones every time.

Oracles: exact values in a finite field, 50-digit arithmetic by mpmath, NumPy, and hand counts.
"""

from __future__ import annotations

import json
import operator
import random
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest

from bench.bench_counts import BARS
from linkwright.algebra import Expr, cos, sin, sqrt, symbol, symbols
from linkwright.algebra.assumptions import is_nonzero
from linkwright.algebra.expr import constant
from linkwright.cli import main
from linkwright.equations import FORMULATIONS
from linkwright.equations.kernels import kernel_program
from linkwright.equations.shipped import shipped_program
from linkwright.models.smallest import SHIPPED, Shipped, file_text
from linkwright.program import (
    Assign,
    Carried,
    Counts,
    Loop,
    Program,
    Rate,
    Stacked,
    count_operations,
    interpret,
    lower,
    optimize,
    program,
    stage_counts,
)
from linkwright.program.passes import PASSES
from linkwright.program.passes.fields import PRIME, FieldValues
from linkwright.program.passes.replacement import replaced
from linkwright.program.search import (
    VerificationError,
    field_outputs,
    rounding_errors,
    thorough,
    verify,
)
from linkwright.program.search.coefficients import Coefficients
from linkwright.program.search.doubled import doubled
from linkwright.program.search.moves import collapse
from linkwright.program.search.numerals import with_numbers, with_symbols
from linkwright.program.search.sharing import Rejected, settle
from linkwright.program.search.sheet import Sheet, row_cost
from linkwright.program.text import read, written
from tests.seeds import cases, seldom
from tests.support.model_states import equations, optimized

A, B, C, D = symbols("a b c d", "coordinate")
K, L, M = symbols("k l m")
#: A loop, arms forward and inverse, and a machine that rolls: they are derived soonest.
QUICK = [s for s in SHIPPED if s.path.stem in ("stanford-arm", "cart")]


def polynomials(seed: int, size: int = 6) -> Program:
    """Sums of random products of four coordinates and three parameters."""
    draw = random.Random(seed)
    moving, fixed = [A, B, C, D, sin(A), cos(A)], [K, L, M, K + L, K * M]

    def term() -> Expr:
        made: Expr = draw.choice(fixed) * draw.choice((1, -1, 2))
        for _ in range(draw.randint(1, 3)):
            made = made * draw.choice(moving)
        return made

    outputs = [sum((term() for _ in range(draw.randint(2, size))), K * 0) for _ in range(4)]
    return program("polynomials", {"x": [A, B, C, D], "p": [K, L, M]}, {"y": outputs})


@pytest.mark.parametrize("seed", cases(range(4), daily=2))
def test_random_polynomials_keep_their_values_and_do_not_grow(seed: int) -> None:
    p = polynomials(seed)
    found = thorough(p, moves=150, seed=seed)
    assert count_operations(found).total <= count_operations(optimize(p)).total
    draw = np.random.default_rng(seed)
    inputs = [draw.uniform(-1, 1, (7, 4)), draw.uniform(-1, 1, (7, 3))]
    (expected,), (got,) = interpret(lower(p), inputs), interpret(lower(found), inputs)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


def test_the_same_seed_gives_the_same_program_and_another_one_may_differ() -> None:
    p = polynomials(3, 24)
    prints = {seed: thorough(p, moves=120, seed=seed).fingerprint() for seed in (0, 1, 2)}
    assert thorough(p, moves=120, seed=1).fingerprint() == prints[1]
    assert len(set(prints.values())) > 1


def test_what_is_hidden_by_expansion_is_found_again() -> None:
    hidden = (A + K * B) * (C - D * L) * (A + M * D)
    terms = [A, K * B]
    for factor in ((C, -D * L), (A, M * D)):
        terms = [x * y for x in terms for y in factor]
    p = program("hidden", {"x": [A, B, C, D], "p": [K, L, M]}, {"y": [sum(terms, K * 0)]})
    by_hand = count_operations(program("h", {"x": [A, B, C, D], "p": [K, L, M]}, {"y": [hidden]}))
    assert by_hand.total == 8
    assert count_operations(thorough(p, moves=400)).total <= by_hand.total


def test_linear_systems_become_one_coefficient_for_each_entry() -> None:
    """Two outputs linear in two inputs: 4 multiplies and 2 adds, whatever the detour."""
    z = [symbol(f"z{k}", "local") for k in range(3)]
    statements = [
        Assign(z[0], K * A + L * B),
        Assign(z[1], M * z[0] - K * B),
        Assign(z[2], L * z[0] + M * z[1] + A),
    ]
    p = program(
        "linear",
        {"x": [A, B], "p": [K, L, M]},
        {"y": [z[1] * K + z[2], z[2] * M - z[0]]},
        statements=statements,
    )
    assert count_operations(thorough(p, moves=200)).total <= 6


def test_nothing_divides_by_a_parameter_that_may_be_zero() -> None:
    """k*a + l*b, k*c + l*d times m: dividing by k would save a multiplication but is not safe."""
    p = program(
        "ratios",
        {"x": [A, B, C, D], "p": [K, L, M]},
        {"y": [K * A * C + L * B * C, K * A * D + L * B * D, M * (K * A + L * B)]},
    )
    found = thorough(p, moves=300)
    assert all(i.op != "div" for i in lower(found).instructions)
    safe = symbol("k", sign="positive")
    q = program("ratios", {"x": [A, B], "p": [safe]}, {"y": [A / safe + B]})
    (value,) = interpret(lower(thorough(q, moves=50)), [[1.0, 2.0], [4.0]])
    assert value == pytest.approx([2.25])


@seldom(daily="test_shipped_programs_stand_any_parameter_at_zero")
def test_zero_parameters_do_no_harm() -> None:
    p = equations("stanford-arm", "auto").program(outputs=False)
    found = thorough(p, moves=80)
    draw = np.random.default_rng(0)
    inputs = [draw.uniform(-1, 1, port.shape) for port in p.inputs]
    names = [x.name for x in p.port("p").entries]
    inputs[2][names.index(next(n for n in names if n.startswith("D")))] = 0.0
    for a, b in zip(interpret(lower(p), inputs), interpret(lower(found), inputs), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_long_numbers_are_no_hindrance() -> None:
    """Their products are rounded, so that exact comparison must not see them."""
    p = polynomials(2, 16)
    numbers = {K: constant(0.3), L: constant(-1.7), M: constant(0.0203)}
    q = program("numbers", {"x": [A, B, C, D]}, {"y": replaced(p.output_values(), numbers)})
    found = thorough(q, moves=150)
    assert count_operations(found).total < count_operations(optimize(q)).total
    x = np.random.default_rng(0).uniform(-1, 1, (5, 4))
    (expected,), (got,) = interpret(lower(q), [x]), interpret(lower(found), [x])
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
    again, values = with_symbols(q)
    assert with_numbers(again, q, values).fingerprint() == q.fingerprint()


def test_a_sum_that_is_zero_vanishes() -> None:
    """(a + b)/c - a/c - b/c is zero for every c that the Program divides by anyway."""
    p = program("zero", {"x": [A, B, C, D]}, {"y": [((A + B) / C - A / C - B / C) * D + A / C]})
    assert count_operations(thorough(p, moves=40)).total == 1


def test_a_quotient_never_stands_in_for_what_needs_no_division() -> None:
    """z/c is a + b, but only where c is not zero; the other outputs are to be had there as well."""
    z = symbol("z", "local")
    p = program(
        "guarded",
        {"x": [A, B, C, D]},
        {"y": [z / C, (A + B) * D, (A + B) * C * D + D]},
        statements=[Assign(z, A * C + B * C)],
    )
    (value,) = interpret(lower(thorough(p, moves=200)), [[1.0, 2.0, 0.0, 5.0]])
    np.testing.assert_array_equal(value[1:], [15.0, 5.0])


def test_an_interrupt_keeps_the_best_so_far() -> None:
    p = polynomials(1, 20)
    seen: list[int] = []

    def stop(made: int, total: int, operations: int) -> None:
        seen.append(made)
        if made >= 100:
            raise KeyboardInterrupt

    found = thorough(p, moves=100_000, progress=stop)
    assert seen[-1] == 100
    assert count_operations(found).total <= count_operations(optimize(p)).total
    assert field_outputs(found) == field_outputs(p)


def test_loops_and_auxiliary_outputs_pass_through() -> None:
    x, y, z = symbol("x_", "local"), symbol("x_end", "local"), symbol("each", "local")
    loop = Loop(3, (Carried(x, A, x * K + x * B + A * K + A * B, y),), (), (), ())
    p = program("loop", {"x": [A, B], "p": [K]}, {"y": [y], "more": [y * A]}, statements=[loop],
                auxiliary=["more"])  # fmt: skip
    found = thorough(p, moves=60)
    assert field_outputs(found) == field_outputs(p)
    assert count_operations(found).total < count_operations(p).total
    assert stage_counts(found)[Rate.OUTPUT].mul == 1
    stacked = Loop(2, (Carried(x, A, x * B, y),), (), (Stacked(x, (z, symbol("z2", "local"))),), ())
    q = program("stack", {"x": [A, B]}, {"y": [z]}, statements=[stacked])
    assert field_outputs(thorough(q, moves=5)) == field_outputs(q)


# -- the sheet -------------------------------------------------------------------------------------
def random_sheet(seed: int) -> Sheet:
    draw = random.Random(seed)
    table = Coefficients(FieldValues())
    fixed = [1, -1, *(table.of(x) for x in (K, L, M))]
    sheet = Sheet(table)
    atoms = [sheet.add_node(draw.randrange(PRIME), is_sum=False) for _ in range(5)]
    known = list(atoms)
    for _ in range(12):
        rows = {
            tuple(sorted(2 * draw.choice(known) for _ in range(draw.randint(1, 3))))
            for _ in range(draw.randint(2, 4))
        }
        chosen = [(literals, draw.choice(fixed)) for literals in sorted(rows)]
        value = sum(sheet.row_value(*row) for row in chosen) % PRIME
        node = sheet.add_node(value, is_sum=True)
        for literals, coefficient in chosen:
            sheet.add(node, literals, coefficient)
        sheet.held[node] = draw.random() < 0.3
        known.append(node)
    sheet.held[known[-1]] = 1
    return sheet


def content(sheet: Sheet) -> list[dict[tuple[int, ...], int]]:
    return [{l: sheet.coefficient[r] for l, r in rows.items()} for rows in sheet.rows]


def recount(sheet: Sheet) -> int:
    return sum(
        max(len(rows) - 1, 0) + sum(row_cost(l, sheet.coefficient[r]) for l, r in rows.items())
        for rows in sheet.rows
    )


@pytest.mark.parametrize("seed", range(4))
def test_moves_keep_values_and_counts_and_can_be_taken_back(seed: int) -> None:
    sheet = random_sheet(seed)
    chance = random.Random(seed).random
    for _ in range(30):
        before, tables = content(sheet), (set(sheet.pairs), set(sheet.divisors))
        by_value = dict(sheet.by_value)
        mark = sheet.mark()
        try:
            nodes = [n for n in range(len(sheet.value)) if sheet.rows[n]]
            collapse(sheet, chance, nodes)
            settle(sheet, chance)
        except Rejected:
            sheet.undo(mark)
            continue
        assert sheet.cost == recount(sheet)
        for node, rows in enumerate(sheet.rows):
            if rows:
                found = sum(sheet.row_value(l, sheet.coefficient[r]) for l, r in rows.items())
                assert found % PRIME == sheet.value[node]
        if chance() < 0.5:
            sheet.undo(mark)
            assert content(sheet) == before
            assert (set(sheet.pairs), set(sheet.divisors)) == tables
            assert sheet.by_value == by_value


def test_coefficients_have_formulas_of_their_values() -> None:
    table = Coefficients(FieldValues())
    k, l = table.of(K), table.of(L)
    total = table.plus(table.times(k, -l), table.times(k, k))
    assert table.expression(total) is K * K - K * L
    assert table.value(total) == table.fields.of(K * (K - L))
    assert table.ratio(table.times(k, l), k) == l
    assert table.ratio(l, k) == 0  # k may be zero
    assert table.expression(table.ratio(l, table.of(constant(2)))) is L / 2


# -- verification ----------------------------------------------------------------------------------
def test_the_field_knows_the_unit_circle_and_odd_sines() -> None:
    one = program("f", {"q": A, "p": K}, {"y": [sin(A) ** 2 * K + cos(A) ** 2 * K, sin(-A), K / K]})
    two = program("f", {"q": A, "p": K}, {"y": [K, -sin(A), 1]})
    assert field_outputs(one) == field_outputs(two)
    three = program("f", {"q": A, "p": K}, {"y": [K, sin(A), 1]})
    assert field_outputs(one) != field_outputs(three)


def test_a_wrong_program_is_refused() -> None:
    p = program("f", {"x": [A, B]}, {"y": [A * B + A]})
    q = program("f", {"x": [A, B]}, {"y": [A * B + B]})
    with pytest.raises(VerificationError, match="differs"):
        verify(p, q)


def test_lost_digits_are_refused() -> None:
    """Equal in exact arithmetic, but the second one subtracts what it added, eight digits up."""
    big = symbol("big")
    z = symbol("z", "local")
    p = program("f", {"x": [A, B], "p": [big]}, {"y": [A - B]})
    huge = constant(10**9)
    q = program(
        "f",
        {"x": [A, B], "p": [big]},
        {"y": [z - huge * big - B]},
        statements=[Assign(z, A + huge * big)],
    )
    assert field_outputs(p) == field_outputs(q)
    with pytest.raises(VerificationError, match="rounding"):
        verify(p, q)


def test_rounding_errors_agree_with_mpmath() -> None:
    p = program("f", {"x": [A, B], "p": [K]}, {"y": [sin(A) * K / (2 + B) + sqrt(2 + cos(B))]})
    ((found,),) = rounding_errors([p], states=5, seed=4)
    draw = np.random.default_rng(4)
    x, k = draw.uniform(-1, 1, (5, 2)), 1 + draw.uniform(-1, 1, (5, 1)) / 2
    (values,) = interpret(lower(p), [x, k])
    mpmath.mp.dps = 40
    worst = 0.0
    for row, (third,), (y,) in zip(x.tolist(), k.tolist(), values.tolist(), strict=True):
        a, b, c = (mpmath.mpf(v) for v in (*row, third))
        exact = mpmath.sin(a) * c / (2 + b) + mpmath.sqrt(2 + mpmath.cos(b))
        worst = max(worst, float(abs((y - exact) / exact)))
    assert found == pytest.approx(worst, rel=1e-6)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "sqrt", "sin", "cos", "floor"])
def test_doubled_precision_agrees_with_mpmath(op: str) -> None:
    """Pairs of all sizes: 30 digits of the result, for sums of their larger operand."""
    mpmath.mp.dps = 60
    draw = np.random.default_rng(5)
    size = 10.0 ** draw.uniform(-6, 4, (2, 300))
    high = draw.uniform(-1, 1, (2, 300)) * size
    high[0] = np.abs(high[0]) if op == "sqrt" else high[0]
    a, b = ((x, x * y * 1e-17) for x, y in zip(high, draw.uniform(-1, 1, high.shape), strict=True))
    unary = op in ("sqrt", "sin", "cos", "floor")
    found = doubled(op, None, [a] if unary else [a, b])
    two = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
    for k in range(300):
        x, y = (mpmath.mpf(float(p[0][k])) + mpmath.mpf(float(p[1][k])) for p in (a, b))
        exact = getattr(mpmath, op)(x) if unary else two[op](x, y)
        scale = max(abs(x), abs(y)) if op in ("add", "sub") else max(abs(exact), abs(x) * 1e-4)
        off = mpmath.mpf(float(found[0][k])) + mpmath.mpf(float(found[1][k])) - exact
        assert abs(off) <= mpmath.mpf(10) ** -30 * scale


# -- text and shipped programs ---------------------------------------------------------------------
@pytest.mark.parametrize("name", cases(["cart", "spacecraft-1", "car-small"], daily=["car-small"]))
def test_text_reads_as_the_same_program(name: str) -> None:
    source = equations(name, "auto").program(outputs=False)
    data = json.loads(json.dumps(written(optimize(source), source)))
    again = read(data, source)
    assert field_outputs(again) == field_outputs(source)
    assert written(again, source) == data


@cache
def derived(shipped: Shipped) -> tuple[Program, Program | None]:
    """Return a program that ships, once as it is derived and once as it ships."""
    source = kernel_program(equations(shipped.model, "auto"), shipped.kernel)
    return source, shipped_program(source)


@pytest.mark.parametrize("shipped", cases(SHIPPED, daily=QUICK), ids=lambda s: s.path.stem)
def test_shipped_programs_are_right_and_as_small_as_they_say(shipped: Shipped) -> None:
    """In the field, in floating point, and in count; and fast mode gives what it always gives."""
    source, found = derived(shipped)
    if found is None:
        pytest.fail(f"{shipped.path.name} does not fit the equations; run make regenerate")
    verify(source, found, states=200)
    data = json.loads(shipped.path.read_text(encoding="utf-8"))
    assert count_operations(found).as_dict() == data["counts"]
    fast = optimized(shipped.model, shipped.kernel)
    assert count_operations(found).total <= count_operations(fast).total
    _hold_to_bar(shipped.path.stem, count_operations(found), count_operations(fast))
    verify(source, fast, states=200)
    assert optimize(source).fingerprint() == fast.fingerprint()


@pytest.mark.parametrize("shipped", cases(SHIPPED, daily=QUICK), ids=lambda s: s.path.stem)
def test_shipped_programs_stand_any_parameter_at_zero(shipped: Shipped) -> None:
    """Where the derived equations have a value with a parameter at zero, so has the program.

    Only parameters that the model declares to be other than zero may have become divisors.
    """
    source, found = derived(shipped)
    assert found is not None
    draw = np.random.default_rng(1)
    inputs = [draw.uniform(0.5, 1.5, port.shape) for port in source.inputs]
    (at,) = (k for k, port in enumerate(source.inputs) if port.name == "p")
    before, after = lower(source), lower(found)
    free = [k for k, p in enumerate(source.inputs[at].entries) if not is_nonzero(p)]
    told = 0
    for k in free:
        given = [x.copy() for x in inputs]
        given[at][k] = 0.0
        with np.errstate(all="ignore"):
            expected, values = (
                np.concatenate([np.ravel(y) for y in interpret(code, given)])
                for code in (before, after)
            )
        if not np.isfinite(expected).all():
            continue  # a divisor of the model's own
        told += 1
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-8 * scale)
    assert told >= len(free) // 2 > 0


def _hold_to_bar(name: str, smallest: Counts, fast: Counts) -> None:
    bar = BARS[name]
    limit = bar.add + bar.mul
    calls = (smallest.call, fast.call) if bar.with_calls else (0, 0)
    assert smallest.total + calls[0] <= limit
    assert smallest.add <= 1.03 * bar.add
    assert smallest.mul + calls[0] <= 1.03 * bar.mul
    assert fast.total + calls[1] <= 1.08 * limit


def test_the_page_tells_the_counts_of_the_shipped_programs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "smallest-programs.md").read_text("utf-8")
    for shipped in SHIPPED:
        told = json.loads(shipped.path.read_text(encoding="utf-8"))["counts"]
        name = f"{shipped.model} --kernel {shipped.kernel}".removesuffix(" --kernel forward")
        line = next(row for row in page.splitlines() if row.startswith(f"| `{name}` |"))
        assert line.endswith(f"| {told['add']} / {told['mul']} / {told['call']} |")


def test_the_command_counts_shipped_programs_searches_and_compares(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (small,) = (s for s in SHIPPED if s.model == "car-small")
    counts = json.loads(small.path.read_text(encoding="utf-8"))["counts"]
    for options in (["--thorough"], ["--moves", "400"]):
        assert main(["analyze", "ops", "car-small", "--json", *options]) == 0
        found = json.loads(capsys.readouterr().out)["derivative"]
        assert found["add"] + found["mul"] <= counts["add"] + counts["mul"] + 1
    assert main(["analyze", "ops", "pendulum", "--compare", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["formulation"] for row in rows} == set(FORMULATIONS)
    assert {row["after"] for row in rows} == {"written", *PASSES, "all, fast"}


def test_a_shipped_program_can_be_regenerated_byte_for_byte() -> None:
    (small,) = (s for s in SHIPPED if s.model == "car-small")
    source = small.source()
    written = json.loads(small.path.read_text(encoding="utf-8"))["source"]
    assert written == source.fingerprint(), "the equations have changed: run make regenerate"
    found = thorough(source, moves=small.moves, seed=small.seed)
    assert file_text(small, source, found) == small.path.read_text(encoding="utf-8")
