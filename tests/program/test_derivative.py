"""Derivatives of Programs against differences, SymPy, closed forms, and each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings, strategies as st

from linkwright.algebra import (
    ZERO,
    Expr,
    postorder,
)
from linkwright.program import (
    Assign,
    Program,
    count_operations,
    interpret,
    lower,
)
from linkwright.program.derivatives import (
    derivative,
    hessian_vector,
    jacobian_vector,
    sparsity,
    vector_jacobian,
)
from linkwright.program.passes import optimize
from tests.random.programs import ARITHMETIC, FUNCTIONS, programs, sample_inputs
from tests.seeds import examples
from tests.support.late import Late

if TYPE_CHECKING:
    import sympy
else:
    sympy = Late("sympy")

Array = npt.NDArray[np.float64]
MODES = ("forward", "reverse")
SMOOTH = {**ARITHMETIC, **FUNCTIONS}
quick = settings(
    max_examples=examples(8, daily=4), deadline=None, suppress_health_check=list(HealthCheck)
)


def run(made: Program, *inputs: npt.ArrayLike) -> dict[str, Array]:
    """Return the outputs of a Program by name."""
    values = interpret(lower(made), inputs)
    return {p.name: v for p, v in zip(made.outputs, values, strict=True)}


def matrix(made: dict[str, Array], source: Program) -> Array:
    """Return all Jacobians of a Program's derivative as one matrix."""
    return np.block(
        [
            [made[f"d_{y.name}_d_{x.name}"].reshape(y.size, x.size) for x in source.inputs]
            for y in source.outputs
        ]
    )


def flat_run(made: Program, x: Array) -> Array:
    """Return all outputs of a Program from all its inputs, each as one vector."""
    arrays, first = [], 0
    for port in made.inputs:
        arrays.append(x[first : first + port.size].reshape(port.shape))
        first += port.size
    return np.concatenate([np.ravel(v) for v in interpret(lower(made), arrays)])


def differences(made: Program, x: Array) -> tuple[Array, Array]:
    """Return the Jacobian by central differences, and where the function is smooth enough."""
    columns, trusted = [], []
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = 1e-6
        near = (flat_run(made, x + step) - flat_run(made, x - step)) / 2e-6
        far = (flat_run(made, x + 2 * step) - flat_run(made, x - 2 * step)) / 4e-6
        ahead = (flat_run(made, x + step) - flat_run(made, x)) / 1e-6
        scale = 1 + np.abs(near)
        columns.append(near)
        trusted.append((np.abs(near - far) < 1e-5 * scale) & (np.abs(near - ahead) < 1e-3 * scale))
    return np.stack(columns, axis=1), np.stack(trusted, axis=1)


def joined(inputs: list[Array]) -> Array:
    return np.concatenate([np.ravel(x) for x in inputs])


# -- random Programs -------------------------------------------------------------------------------
@quick
@given(programs(), st.integers(0, 1000))
def test_both_accumulations_agree_with_differences(made: Program, seed: int) -> None:
    inputs = sample_inputs(made, seed)
    forward = matrix(run(derivative(made, mode="forward"), *inputs), made)
    reverse = matrix(run(derivative(made, mode="reverse"), *inputs), made)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9)
    expected, trusted = differences(made, joined(inputs))
    error = np.abs(forward - expected) / (1 + np.abs(expected))
    assert np.all(error[trusted] < 1e-4)
    assert np.mean(trusted) > 0.5


@quick
@given(programs(), st.integers(0, 1000))
def test_products_with_vectors_agree_with_the_jacobian(made: Program, seed: int) -> None:
    inputs = sample_inputs(made, seed)
    rng = np.random.default_rng(seed)
    jacobian = matrix(run(derivative(made, mode="forward"), *inputs), made)
    tangents = [rng.uniform(-1, 1, p.shape) for p in made.inputs]
    moved = run(jacobian_vector(made), *inputs, *tangents)
    got = joined([moved[f"d_{p.name}"] for p in made.outputs])
    np.testing.assert_allclose(got, jacobian @ joined(tangents), rtol=1e-9, atol=1e-9)
    adjoints = [rng.uniform(-1, 1, p.shape) for p in made.outputs]
    pulled = run(vector_jacobian(made), *inputs, *adjoints)
    got = joined([pulled[f"bar_{p.name}"] for p in made.inputs])
    np.testing.assert_allclose(got, joined(adjoints) @ jacobian, rtol=1e-9, atol=1e-9)


@settings(quick, max_examples=examples(5, daily=3))
@given(programs(forms=SMOOTH, size=5), st.integers(0, 1000))
def test_hessian_times_vector_is_the_change_of_the_gradient(made: Program, seed: int) -> None:
    inputs = sample_inputs(made, seed)
    gradient = derivative(made, "s", "q", mode="forward")
    product = hessian_vector(made, "s", "q")
    direction = np.array([0.6, -0.8])
    got = run(product, *inputs, direction)["d_d_s_d_q"]
    step = 1e-5 * direction

    def at(shift: Array) -> Array:
        return run(gradient, inputs[0], inputs[1] + shift, *inputs[2:])["d_s_d_q"]

    expected = (at(step) - at(-step)) / 2e-5
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * (1 + np.max(np.abs(got))))


@settings(quick, max_examples=examples(5, daily=3))
@given(programs(size=5), st.integers(0, 1000))
def test_optimized_derivatives_have_the_same_values(made: Program, seed: int) -> None:
    inputs = sample_inputs(made, seed)
    for mode in MODES:
        plain = derivative(made, mode=mode)
        small = optimize(plain)
        for a, b in zip(run(plain, *inputs).values(), run(small, *inputs).values(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
        assert count_operations(small).total <= count_operations(plain).total


@settings(quick, max_examples=examples(5, daily=3))
@given(programs(size=4), st.integers(0, 1000))
def test_second_derivatives_are_symmetric(made: Program, seed: int) -> None:
    inputs = sample_inputs(made, seed)
    first = derivative(made, "s", "q", mode="forward")
    hessians = [
        run(derivative(first, "d_s_d_q", "q", mode=mode), *inputs)["d_d_s_d_q_d_q"]
        for mode in MODES
    ]
    np.testing.assert_allclose(hessians[0], hessians[1], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(hessians[0], hessians[0].T, rtol=1e-8, atol=1e-8)


@quick
@given(programs())
def test_sparse_entries_are_those_of_the_dense_jacobian_and_the_rest_is_zero(made: Program) -> None:
    for mode in MODES:
        dense = derivative(made, "y", "q", mode=mode)
        sparse = derivative(made, "y", "q", mode=mode, sparse=True)
        where = sparsity(made, "y", "q")
        assert sparse.outputs[0].shape == (len(where.rows),)
        entries = dense.outputs[0].entries
        named = set(zip(where.rows, where.columns, strict=True))
        for r, c in np.ndindex(where.shape):
            assert (r, c) in named or entries[r * where.shape[1] + c] is ZERO
        inputs = sample_inputs(made, 1)
        full = run(dense, *inputs)["d_y_d_q"].reshape(where.shape)
        got = run(sparse, *inputs)["d_y_d_q"]
        np.testing.assert_allclose(got, full[list(where.rows), list(where.columns)], rtol=1e-12)


# -- SymPy -----------------------------------------------------------------------------------------
def as_sympy(root: Expr, names: dict[Expr, Any]) -> Any:
    """Return an expression as a SymPy one."""
    known: dict[Expr, Any] = dict(names)
    for node in postorder([root], stop=known.__contains__):
        if node in known:
            continue
        args = [known[a] for a in node.args]
        if node.op == "num":
            known[node] = sympy.Rational(str(node.data))
        elif node.op == "scale":
            known[node] = sympy.Rational(str(node.data)) * args[0]
        elif node.op == "prod":
            known[node] = sympy.Mul(*[b**e for b, e in zip(args, node.data, strict=True)])
        elif node.op == "sum":
            numbers = [sympy.Rational(str(c)) for c in node.data]
            terms = [c * t for c, t in zip(numbers[1:], args, strict=True)]
            known[node] = sympy.Add(numbers[0], *terms)
        elif node.op == "pow":
            known[node] = args[0] ** args[1]
        else:
            known[node] = getattr(sympy, node.op)(*args)
    return known[root]


@settings(quick, max_examples=examples(5, daily=2))
@given(programs(forms=SMOOTH, loops=False, calls=False, solves=False, size=4), st.integers(0, 99))
def test_jacobian_is_that_of_sympy(made: Program, seed: int) -> None:
    inputs = sample_inputs(made, seed)
    names: dict[Expr, Any] = {x: sympy.Symbol(x.name) for x in made.input_symbols()}
    values = {
        names[x]: sympy.Float(float(v), 40)
        for x, v in zip(made.input_symbols(), joined(inputs), strict=True)
    }
    tangents: dict[Any, Any] = {}
    q = [names[x] for x in made.port("q").entries]
    for x, name in list(names.items()):
        tangents[x] = [sympy.Integer(int(name == y)) for y in q]
        names[x] = values[name]

    def at(value: Expr) -> tuple[Any, list[Any]]:
        read = [x for x in postorder([value]) if x.op == "sym"]
        dummies = {x: sympy.Symbol(f"s{i}") for i, x in enumerate(read)}
        formula = as_sympy(value, dummies)
        point = {dummies[x]: names[x] for x in read}
        slopes = {x: sympy.diff(formula, dummies[x]).subs(point).evalf(40) for x in read}
        moved = [sum(slopes[x] * tangents[x][i] for x in read) for i in range(len(q))]
        return formula.subs(point).evalf(40), moved

    for statement in made.statements:
        assert isinstance(statement, Assign)
        names[statement.target], tangents[statement.target] = at(statement.value)
    expected = np.array([[float(d) for d in at(x)[1]] for x in made.port("y").entries])
    for mode in MODES:
        got = run(derivative(made, "y", "q", mode=mode), *inputs)["d_y_d_q"]
        scale = 1 + np.max(np.abs(expected))
        np.testing.assert_allclose(got.reshape(expected.shape), expected, atol=1e-11 * scale)
