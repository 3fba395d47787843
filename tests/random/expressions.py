"""Random expressions and points for property tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from linkwright import Error
from linkwright.algebra import (
    PI,
    ZERO,
    Expr,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    constant,
    cos,
    equal,
    evaluate_all,
    exp,
    log,
    maximum,
    minimum,
    not_equal,
    postorder,
    sign,
    sin,
    sqrt,
    symbols,
    tan,
    tanh,
    where,
)

ATOMS = symbols("a b c d q1 q2")

_leaves = st.one_of(
    st.sampled_from(ATOMS),
    st.sampled_from(ATOMS),
    st.integers(-4, 4).map(constant),
    st.fractions(-3, 3, max_denominator=12).map(constant),
    st.floats(-9, 9, allow_nan=False, width=32).map(constant),
    st.just(PI),
)

_UNARY: list[Callable[[Expr], Expr]] = [
    sin, cos, tan, asin, acos, atan, sqrt, exp, log, tanh, absolute, sign,
    lambda x: -x, lambda x: ~x, lambda x: x**2, lambda x: x**3, lambda x: x**5, lambda x: 1 / x,
    lambda x: x**-2, lambda x: x**0.3,
]  # fmt: skip
_BINARY: list[Callable[[Expr, Expr], Expr]] = [
    lambda x, y: x + y, lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
    lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x**y, atan2, lambda x, y: x < y,
    lambda x, y: x <= y, equal, not_equal, lambda x, y: x & y, lambda x, y: x | y,
    minimum, maximum,
]  # fmt: skip
_TERNARY: list[Callable[[Expr, Expr, Expr], Expr]] = [
    where, minimum, maximum, lambda x, y, z: x * y / z, lambda x, y, z: x * (y - z),
    lambda x, y, z: x - y / z,
]  # fmt: skip


def _made(build: Callable[..., Expr], *args: Expr) -> Expr:
    """Return the expression, or the first argument where it has no value."""
    try:
        return build(*args)
    except (Error, ArithmeticError, ValueError):
        return args[0]


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(_made, st.sampled_from(_BINARY), inner, inner),
        st.builds(_made, st.sampled_from(_BINARY), inner, inner),
        st.builds(_made, st.sampled_from(_UNARY), inner),
        st.builds(_made, st.sampled_from(_TERNARY), inner, inner, inner),
    )


expressions = st.recursive(_leaves, _larger, max_leaves=12)


def well_conditioned_points(expr: Expr, seed: int, count: int = 20) -> dict[Expr, np.ndarray]:
    """Return points near which the value of an expression is smooth and of moderate size."""
    rng = np.random.default_rng(seed)
    points = {x: rng.uniform(-2, 2, size=400) for x in ATOMS}
    nodes = list(postorder([expr, *ATOMS]))
    with np.errstate(all="ignore"):
        found = evaluate_all(nodes, points)
    values = {x: np.broadcast_to(v, 400) for x, v in zip(nodes, found, strict=True)}
    good = np.ones(400, dtype=bool)
    with np.errstate(all="ignore"):  # infinity minus infinity is not smooth, and no reason to stop
        for x in nodes:
            good &= np.abs(values[x]) < 50
            good &= _smooth(x, [values[a] for a in x.args])
    return {x: points[x][good][:count] for x in ATOMS}


def _smooth(x: Expr, args: list[np.ndarray]) -> np.ndarray:
    good = np.ones(400, dtype=bool)
    if x.op == "prod":
        for value, exponent in zip(args, x.data, strict=True):
            if exponent < 0:
                good &= np.abs(value) > 0.05
    if x.op in ("lt", "le", "eq", "ne") and x.args[1] is not ZERO:
        good &= np.abs(args[0] - args[1]) > 1e-3
    if x.op in ("sqrt", "log", "sign", "pow", "lt", "le", "eq", "ne"):
        good &= np.abs(args[0]) > 0.01
    if x.op in ("asin", "acos"):
        good &= np.abs(args[0]) < 0.99
    if x.op == "atan2":
        good &= np.hypot(args[0], args[1]) > 0.01
        good &= (np.abs(args[0]) > 1e-3) | (args[1] > 0)
    return good
