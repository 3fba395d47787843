"""Derivatives of Programs where the answer is known: branches, loops, calls, solves, cost."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from linkwright.algebra import (
    Expr,
    absolute,
    acos,
    atan2,
    cos,
    exp,
    log,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    symbol,
    symbols,
    where,
)
from linkwright.algebra.foreign import foreign
from linkwright.algebra.tables import Lookup1D, Lookup2D
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Counts,
    Loop,
    Program,
    ProgramError,
    Scanned,
    Solve,
    Stacked,
    Statement,
    count_operations,
    interpret,
    lower,
    program,
)
from linkwright.program.derivatives import (
    derivative,
    hessian_vector,
    jacobian_vector,
    sparsity,
    vector_jacobian,
)
from tests.seeds import cases, seldom

Array = npt.NDArray[np.float64]
MODES = ("forward", "reverse")
x, y, z = symbols("x y z", "coordinate")


def gradient(made: Program, mode: str, *inputs: npt.ArrayLike) -> Array:
    """Return the first Jacobian of a Program."""
    return interpret(lower(derivative(made, mode=mode)), inputs)[0]


def scalar(value: Expr, *statements: Statement) -> Program:
    return program("f", {"x": [x, y, z]}, {"f": value}, statements=statements)


def local(name: str) -> Expr:
    return symbol(name, "local")


# -- where a derivative does not exist -------------------------------------------------------------
SINGULAR: dict[str, tuple[Expr, list[float], list[float]]] = {
    "sqrt not taken at 0": (where(x > 0, sqrt(x), 0), [0, 1, 1], [0, 0, 0]),
    "sqrt taken": (where(x > 0, sqrt(x), 0), [4, 1, 1], [0.25, 0, 0]),
    "atan2 not taken at the origin": (
        z * where(x**2 + y**2 > 0, atan2(y, x), 0),
        [0, 0, 2],
        [0, 0, 0],
    ),
    "atan2 taken": (where(x**2 + y**2 > 0, atan2(y, x), 0), [0, 2, 0], [-0.5, 0, 0]),
    "power law contact at onset": (
        where(x < 0, (-x) * sqrt(-x) * (1 - y), 0),
        [0, 1, 1],
        [0, 0, 0],
    ),
    "power law contact pressed": (
        where(x < 0, (-x) * sqrt(-x) * (1 - y), 0),
        [-4, 0, 0],
        [-3, -8, 0],
    ),
    "log of a friction speed at rest": (
        where(absolute(x) > 1e-9, sign(x) * log(absolute(x)), y * x),
        [0, 3, 0],
        [3, 0, 0],
    ),
    "normal of a vanishing vector": (
        where(x**2 + y**2 > 0, x / sqrt(x**2 + y**2), z),
        [0, 0, 5],
        [0, 0, 1],
    ),
    "inner branch not taken": (
        where(x > 0, where(y > 0, sqrt(x) * log(y), 3 * z), x * z),
        [1, 0, 2],
        [0, 0, 3],
    ),
    "both branches not taken": (
        where(x > 0, where(y > 0, sqrt(x) * log(y), 3 * z), x * z),
        [0, 0, 2],
        [2, 0, 0],
    ),
    "shared value under two guards, none holds": (
        where(y > 0, sqrt(x), 0) + where(z > 0, 2 * sqrt(x), 0),
        [0, -1, -1],
        [0, 0, 0],
    ),
    "shared value under two guards, one holds": (
        where(y > 0, sqrt(x), 0) + where(z > 0, 2 * sqrt(x), 0),
        [4, -1, 1],
        [0.5, 0, 0],
    ),
    "shared value in both branches": (where(y > 0, sqrt(x), -sqrt(x)), [4, -1, 1], [-0.25, 0, 0]),
    "inner maximum": (maximum(sqrt(x) - 1, 0), [0, 1, 1], [0, 0, 0]),
    "arc cosine at its end, not taken": (minimum(z, acos(x) + 5), [1, 0, 2], [0, 0, 1]),
    "minimum of equals takes the first": (minimum(x, y, z), [1, 1, 1], [1, 0, 0]),
    "maximum of equals takes the first": (maximum(x, y, z), [1, 1, 1], [1, 0, 0]),
    "maximum takes the largest": (maximum(x, y, z), [1, 3, 2], [0, 1, 0]),
    "absolute value at 0": (absolute(x) + y, [0, 1, 1], [0, 1, 0]),
    "absolute value": (absolute(x) * y, [-3, 2, 1], [-2, 3, 0]),
    "sign": (sign(x) * y, [-3, 2, 1], [0, -1, 0]),
    "condition as a number": ((x < y) * z, [1, 2, 5], [0, 0, 1]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", sorted(SINGULAR))
def test_branches_that_are_not_taken_do_no_harm(case: str, mode: str) -> None:
    value, at, expected = SINGULAR[case]
    np.testing.assert_allclose(gradient(scalar(value), mode, at), expected, atol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_quotients_and_powers(mode: str) -> None:
    at = np.array([1.5, -0.75, 2.0])
    X, Y, Z = at
    cases = [
        (1 / x, [-1 / X**2, 0, 0]),
        (x**-3, [-3 / X**4, 0, 0]),
        (x**5, [5 * X**4, 0, 0]),
        (x / y**2, [1 / Y**2, -2 * X / Y**3, 0]),
        (3 * x * y / (z * x), [0, 3 / Z, -3 * Y / Z**2]),
        (1 / (x * y * z), [-1 / (X**2 * Y * Z), -1 / (X * Y**2 * Z), -1 / (X * Y * Z**2)]),
        (x**z, [Z * X ** (Z - 1), 0, X**Z * np.log(X)]),
    ]
    for value, expected in cases:
        np.testing.assert_allclose(gradient(scalar(value), mode, at), expected, rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_unguarded_singularities_are_not_hidden(mode: str) -> None:
    assert gradient(scalar(sqrt(x)), mode, [0, 0, 0])[0] == np.inf
    assert np.isnan(gradient(scalar(atan2(y, x)), mode, [0, 0, 0])[0])


@pytest.mark.parametrize("mode", MODES)
def test_guards_reach_through_calls(mode: str) -> None:
    a, b = symbols("a b", "coordinate")
    root = program("root", {"a": [a, b]}, {"r": [sqrt(a), a * b]})
    r, s = local("r"), local("s")
    made = scalar(where(y > 0, r, 0) + where(z > 0, s, 0), Call(root, (x, y), (r, s)))
    np.testing.assert_allclose(gradient(made, mode, [0, -1, -1]), [0, 0, 0])
    np.testing.assert_allclose(gradient(made, mode, [0, -1, 1]), [-1, 0, 0])
    np.testing.assert_allclose(gradient(made, mode, [4, 1, 1]), [0.25 + 1, 4, 0])


def test_calls_that_are_computed_again_on_the_way_back_have_the_same_adjoints() -> None:
    a, b = symbols("a b", "coordinate")
    root = program("root", {"a": [a, b]}, {"r": [sqrt(a), a * exp(b)]})
    r = [local(f"r{i}") for i in range(4)]
    calls = (Call(root, (x, y), (r[0], r[1])), Call(root, (r[0] + 1, z), (r[2], r[3])))
    made = scalar(where(y > 0, r[2], 0) + r[1] * where(z > 0, r[3], 2), *calls)
    kept, again = (vector_jacobian(made, again=asked) for asked in (False, True))
    assert any(
        p.name == "kept" for s in kept.statements for p in getattr(s, "program", made).inputs
    )
    assert all(
        p.name != "kept" for s in again.statements for p in getattr(s, "program", made).inputs
    )
    for at in ([4.0, 1.0, 1.0], [4.0, -1.0, 1.0], [2.0, 1.0, -1.0]):
        found = interpret(lower(again), [at, 1.0])[0]
        np.testing.assert_allclose(found, gradient(made, "forward", at), rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_guards_reach_through_loops(mode: str) -> None:
    """A square root at 0 in the first turn, which a later turn forgets, has no influence."""
    v, g, end = local("v"), local("g"), local("end")
    step = Loop(
        2,
        (Carried(v, x, where(g > 0, sqrt(v) * y, z * v), end),),
        (Scanned(g, (y, z)),),
        (),
        (),
    )
    forget = scalar(where(z > 0, end, y), step)
    np.testing.assert_allclose(gradient(forget, mode, [0, 1, -1]), [0, 1, 0])
    # v1 = sqrt(x)*y, end = z*v1 for y > 0, z <= 0
    used = scalar(end, step)
    np.testing.assert_allclose(gradient(used, mode, [4, 3, -1]), [-0.75, -2, 6])


@pytest.mark.parametrize("mode", MODES)
def test_unused_last_turn_of_a_singular_loop_does_no_harm(mode: str) -> None:
    """Only the first stacked value is used; the later ones have infinite derivatives."""
    v, end, t1, t2 = (local(n) for n in ("v", "end", "t1", "t2"))
    loop = Loop(2, (Carried(v, x, v - 4, end),), (), (Stacked(sqrt(v), (t1, t2)),), ())
    np.testing.assert_allclose(gradient(scalar(t1, loop), mode, [4, 0, 0]), [0.25, 0, 0])


# -- statements ------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", MODES)
def test_loop_of_the_logistic_map(mode: str) -> None:
    """Fifty turns of v' = r v (1 - v): the sensitivities follow from their own recursion."""
    v, end = local("v"), local("end")
    loop = Loop(50, (Carried(v, x, y * v * (1 - v), end),), (), (), ())
    value, dx, dr = 0.3, 1.0, 0.0
    r = 3.3
    for _ in range(50):
        dx, dr = r * (1 - 2 * value) * dx, value * (1 - value) + r * (1 - 2 * value) * dr
        value = r * value * (1 - value)
    got = gradient(scalar(end, loop), mode, [0.3, r, 0])
    np.testing.assert_allclose(got, [dx, dr, 0], rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_loops_inside_loops(mode: str) -> None:
    """Powers of powers: three turns of v' = (v*y, five times), so end = x * y**15."""
    v, w, inner, end = (local(n) for n in ("v", "w", "inner", "end"))
    body = Loop(5, (Carried(w, v, w * y, inner),), (), (), ())
    loop = Loop(3, (Carried(v, x, inner, end),), (), (), (body,))
    got = gradient(scalar(end, loop), mode, [2, 1.1, 0])
    np.testing.assert_allclose(got, [1.1**15, 30 * 1.1**14, 0], rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_loop_with_exchanged_and_scanned_values(mode: str) -> None:
    """The Fibonacci recursion with weights: each turn exchanges its two carried values."""
    a, b, w, ea, eb = (local(n) for n in ("a", "b", "w", "ea", "eb"))
    outs = tuple(local(f"o{i}") for i in range(3))
    loop = Loop(
        3,
        (Carried(a, x, b, ea), Carried(b, y, a + w * b, eb)),
        (Scanned(w, (x, z, y)),),
        (Stacked(a * w, outs),),
        (),
    )
    made = program("f", {"x": [x, y, z]}, {"f": [eb, *outs]}, statements=[loop])
    # a, b: (x, y), (y, x+xy), (x+xy, y+z(x+xy)); eb = (x+xy) + y(y+z(x+xy))
    at = np.array([1.5, -0.5, 2.0])
    X, Y, Z = at
    expected = [
        [1 + Y + Y * Z * (1 + Y), X + 2 * Y + Z * X * (1 + 2 * Y), Y * X * (1 + Y)],
        [2 * X, 0, 0],
        [0, Z, Y],
        [Y * (1 + Y), X + 2 * X * Y, 0],
    ]
    np.testing.assert_allclose(gradient(made, mode, at), expected, rtol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_solve_against_the_formula(mode: str) -> None:
    n = 4
    entries = [[symbol(f"a{i}{j}", "coordinate") for j in range(n)] for i in range(n)]
    right = [symbol(f"b{i}", "coordinate") for i in range(n)]
    unknowns = tuple(local(f"u{i}") for i in range(n))
    solve = Solve(n, tuple(e for row in entries for e in row), tuple(right), unknowns)
    made = program("s", {"A": entries, "b": right}, {"u": list(unknowns)}, statements=[solve])
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    got = interpret(lower(derivative(made, mode=mode)), [A, b])
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(got[1], inverse, rtol=1e-11, atol=1e-13)
    by_matrix = -np.einsum("ki,j->kij", inverse, inverse @ b)
    np.testing.assert_allclose(got[0], by_matrix, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_a_called_program_stays_one_function(mode: str) -> None:
    a, b = symbols("a b", "coordinate")
    inner = program("inner", {"a": [a, b]}, {"c": sin(a) * exp(b)})
    c = [local(f"c{i}") for i in range(4)]
    calls = [Call(inner, (x, y), (c[0],))]
    calls += [Call(inner, (c[i], y), (c[i + 1],)) for i in range(3)]
    made = scalar(c[3], *calls)
    d = derivative(made, "f", "x", mode=mode)
    used = {s.program.name for s in d.statements if isinstance(s, Call)}
    assert len(used) <= 4
    at = np.array([0.3, 0.2, 0.0])
    h = 1e-6

    def f(first: float, second: float) -> float:
        value = first
        for _ in range(4):
            value = np.sin(value) * np.exp(second)
        return value

    expected = [
        (f(at[0] + h, at[1]) - f(at[0] - h, at[1])) / (2 * h),
        (f(at[0], at[1] + h) - f(at[0], at[1] - h)) / (2 * h),
        0,
    ]
    np.testing.assert_allclose(gradient(made, mode, at), expected, rtol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_tables_and_foreign_functions(mode: str) -> None:
    curve = Lookup1D([0, 1, 2, 4], [0, 1, 4, 5], kind="cubic")
    field = Lookup2D([0, 1, 2], [0, 1], [[0, 1], [2, 5], [3, 4]])
    cube = foreign("cube", python=lambda a: a**3, derivatives=[lambda a: 3 * a**2])
    value = curve(x) * y + field(x, y) + cube(z * x)
    made = scalar(value)
    at = np.array([1.3, 0.4, 0.7])
    code = lower(made)
    expected = []
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-6
        up, down = interpret(code, [at + step])[0], interpret(code, [at - step])[0]
        expected.append((up - down) / 2e-6)
    np.testing.assert_allclose(gradient(made, mode, at), expected, rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_no_term_is_dropped_for_smallness(mode: str) -> None:
    """The local 1 + e hides its order, so the value keeps it; the derivative must, too."""
    e, w = symbol("e", "coordinate", small=1), local("w")
    made = program("f", {"e": e, "y": y}, {"f": y + w**3 * e * y}, statements=[Assign(w, 1 + e)])
    at = 0.25
    expected = 2.0 * ((1 + at) ** 3 + 3 * at * (1 + at) ** 2)
    np.testing.assert_allclose(gradient(made, mode, at, 2.0), expected, rtol=1e-14)


# -- cost ------------------------------------------------------------------------------------------
def _weight(c: Counts) -> int:
    return c.add + c.mul + c.select + c.call


@pytest.mark.parametrize("n", cases([5, 50], daily=[5]))
def test_a_gradient_costs_at_most_five_times_the_function(n: int) -> None:
    xs = [symbol(f"x{i}", "coordinate") for i in range(n)]
    rng = np.random.default_rng(n)
    values = list(xs)
    statements: list[Statement] = []
    for i in range(20 * n):
        a, b, c = (values[k] for k in rng.integers(0, len(values), 3))
        forms = [a * b + c, sin(a) * b - c, a / (2 + b**2), a * b * c, sqrt(1 + a**2) * cos(b)]
        statements.append(Assign(local(f"v{i}"), forms[int(rng.integers(0, len(forms)))]))
        values.append(statements[-1].targets[0])
    made = program("f", {"x": xs}, {"f": sum(values, start=x * 0)}, statements=statements)
    own = count_operations(made)
    reverse = count_operations(derivative(made, mode="reverse"))
    assert _weight(reverse) <= 5 * _weight(own)
    assert reverse.total <= 5 * own.total


def test_a_gradient_through_a_loop_costs_at_most_five_times_the_function() -> None:
    v, w, end = local("v"), local("w"), local("end")
    inputs = [symbol(f"x{i}", "coordinate") for i in range(30)]
    body = [Assign(local("s"), sin(v) * w)]
    following = local("s") * v + w * w
    loop = Loop(
        30, (Carried(v, inputs[0], following, end),), (Scanned(w, tuple(inputs)),), (), tuple(body)
    )
    made = program("f", {"x": inputs}, {"f": end}, statements=[loop])
    own, reverse = count_operations(made), count_operations(derivative(made, mode="reverse"))
    assert _weight(reverse) <= 5 * _weight(own)


def test_auto_takes_the_cheaper_way() -> None:
    xs = [symbol(f"x{i}", "coordinate") for i in range(8)]
    norm = program("f", {"x": xs}, {"f": sqrt(sum((a**2 for a in xs), start=x * 0)) * sin(xs[0])})
    core = sin(x * cos(x * exp(x * sin(x))))
    curve = program("g", {"x": x}, {"g": [cos(k * core) for k in range(1, 8)]})
    for made, best, other in ((norm, "reverse", "forward"), (curve, "forward", "reverse")):
        cost = {
            mode: _weight(count_operations(derivative(made, mode=mode)))
            for mode in (*MODES, "auto")
        }
        assert cost["auto"] == cost[best] < cost[other]


def test_structure_of_a_chain_is_a_triangle() -> None:
    """Position k of a planar chain depends on the first k + 1 angles."""
    q = [symbol(f"q{i}", "coordinate") for i in range(5)]
    heading, places = q[0] * 0, []
    position = q[0] * 0
    for angle in q:
        heading = heading + angle
        position = position + cos(heading)
        places.append(position)
    made = program("chain", {"q": q}, {"p": places})
    where = sparsity(made, "p", "q")
    rows, columns = np.tril_indices(5)
    assert where.rows == tuple(rows)
    assert where.columns == tuple(columns)


def test_depth_and_size_do_not_matter() -> None:
    """A chain of 5,000 nodes is differentiated without recursion, in linear size."""
    value = x
    for i in range(2_500):
        value = sin(value + y) if i % 2 else value * z + 1
    made = derivative(scalar(value), mode="reverse")
    assert len(made.statements) < 6 * 5_000


def test_hessian_of_a_loop() -> None:
    """end = x * y**10: the Hessian times (1, 2, 0)."""
    v, end = local("v"), local("end")
    made = scalar(end, Loop(10, (Carried(v, x, v * y, end),), (), (), ()))
    product = hessian_vector(made, "f")
    got = interpret(lower(product), [[2.0, 1.1, 0.0], [1.0, 2.0, 0.0]])[0]
    mixed, second = 10 * 1.1**9, 2 * 90 * 1.1**8
    np.testing.assert_allclose(got, [2 * mixed, mixed + 2 * second, 0], rtol=1e-12)


# -- names, errors, determinism --------------------------------------------------------------------
def test_names_shapes_and_values() -> None:
    made = program("f", {"q": [[x, y]], "k": z}, {"tau": [x * z, y], "e": x * y})
    d = derivative(made, "tau", ("q", "k"), values=True)
    assert [(p.name, p.shape) for p in d.outputs] == [
        ("tau", (2,)),
        ("e", ()),
        ("d_tau_d_q", (2, 1, 2)),
        ("d_tau_d_k", (2,)),
    ]
    twice = jacobian_vector(jacobian_vector(made))
    assert len({p.name for p in (*twice.inputs, *twice.outputs)}) == 8 + 2
    assert made.derivative("e", "k").outputs[0].entries == (x * 0,)


def test_wrong_requests_say_what_there_is() -> None:
    made = program("f", {"q": x}, {"tau": [x, x**2]})
    with pytest.raises(ProgramError, match="no output named 'tua'; it has tau"):
        derivative(made, "tua")
    with pytest.raises(ProgramError, match="no input named 'tau'; it has q"):
        derivative(made, "tau", "tau")
    with pytest.raises(ProgramError, match="'forward'"):
        derivative(made, mode="sideways")
    with pytest.raises(ProgramError, match="single entry"):
        hessian_vector(made, "tau")


_FINGERPRINTS = """
from linkwright.algebra import *
from linkwright.program import *
from linkwright.program.derivatives import *
x, y, z = symbols("x y z", "coordinate")
v, w, end, r = (symbol(n, "local") for n in ("v", "w", "end", "r"))
inner = program("inner", {"a": ["a", "b"]}, {"c": lambda a, b: sin(a) * sqrt(b)})
loop = Loop(4, (Carried(v, x, where(v > 0, v * y + sin(v), w), end),),
            (Scanned(w, (x, y, z, x * y)),), (), ())
made = program("f", {"x": [x, y, z]}, {"f": [end * r, x * y * z / (2 + x)]},
               statements=[loop, Call(inner, (end, z), (r,))])
for mode in ("forward", "reverse"):
    print(derivative(made, mode=mode).fingerprint())
print(jacobian_vector(derivative(made, mode="reverse")).fingerprint())
"""


@seldom(
    daily="tests/program/test_program.py::test_programs_and_passes_are_the_same_under_any_hash_seed"
)
def test_the_same_bytes_under_any_hash_seed() -> None:
    seen = set()
    for seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", _FINGERPRINTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1
    assert len(seen.pop().split()) == 3
