"""Derivatives, substitution and solving on expressions.

Every function walks the expression once, iteratively, and shares what is shared in it. Total time
derivatives take the rates of the symbols as a mapping, because a symbol itself does not move: the
mechanism that owns it knows its rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from linkwright.algebra.expr import (
    ONE,
    ZERO,
    Expr,
    Scalar,
    as_expr,
    linear_combination,
    mul,
    product,
    raised,
    scaled,
    total,
)
from linkwright.algebra.functions import FUNCTIONS
from linkwright.algebra.nodes import (
    ACCELERATION,
    COORDINATE,
    DISCRETE,
    INPUT,
    LOCAL,
    SPEED,
    TIME,
    ExprError,
    by_key,
)
from linkwright.algebra.walk import postorder, rebuild
from linkwright.base.arguments import worded

_WITH_RATE = COORDINATE | SPEED | ACCELERATION | INPUT | LOCAL
_MOVING = COORDINATE | SPEED | ACCELERATION | INPUT | TIME | DISCRETE | LOCAL


def free_symbols(*exprs: Expr) -> tuple[Expr, ...]:
    """Return the symbols in the expressions, in canonical order.

    >>> from linkwright.algebra import symbols, sin
    >>> a, q = symbols("a q")
    >>> free_symbols(a * sin(q) + q)
    (a, q)
    """
    seen, found = set(exprs), []
    stack = list(seen)
    while stack:
        node = stack.pop()
        if node.op == "sym":
            found.append(node)
        for x in node.args:
            if x not in seen:
                seen.add(x)
                stack.append(x)
    return tuple(sorted(found, key=by_key))


@worded
def substitute(expr: Expr, replacements: Mapping[Expr, Scalar]) -> Expr:
    """Return the expression with nodes replaced, simultaneously.

    Args:
        expr: where to replace.
        replacements: new expression or number for each node (usually symbols).

    >>> from linkwright.algebra import symbols
    >>> a, b = symbols("a b")
    >>> substitute(a + 2 * b, {a: b, b: a})
    2*a + b
    """
    return substitute_all([expr], replacements)[0]


def substitute_all(exprs: Iterable[Expr], replacements: Mapping[Expr, Scalar]) -> list[Expr]:
    """Return several expressions with the same replacements made in each."""
    exprs = list(exprs)
    new: dict[Expr, Expr] = {}
    for node in postorder(exprs, stop=lambda x: x in replacements):
        if node in replacements:
            new[node] = as_expr(replacements[node])
        else:
            new[node] = rebuild(node, tuple([new[a] for a in node.args])) if node.args else node
    return [new[x] for x in exprs]


def tangents(exprs: Iterable[Expr], rates: Mapping[Expr, Expr]) -> list[Expr]:
    """Return the directional derivative of each expression where the symbols have these rates."""
    exprs = list(exprs)
    rate: dict[Expr, Expr] = dict(rates)
    for node in postorder(exprs, stop=lambda x: x in rates):
        if node not in rate:
            rate[node] = _node_rate(node, rate)
    return [rate[x] for x in exprs]


def _node_rate(node: Expr, rate: Mapping[Expr, Expr]) -> Expr:
    moving = [i for i, a in enumerate(node.args) if rate[a] is not ZERO]
    if not moving:
        return ZERO
    op, args, data = node.op, node.args, node.data
    if op == "scale":
        return scaled(data, rate[args[0]])
    if op == "sum":
        return linear_combination((data[i + 1], rate[args[i]]) for i in moving)
    if op == "prod":
        return total(
            product(
                [
                    as_expr(data[i]),
                    rate[args[i]],
                    *[
                        raised(b, e - (j == i))
                        for j, (b, e) in enumerate(zip(args, data, strict=True))
                    ],
                ]
            )
            for i in moving
        )
    tangent = FUNCTIONS[op].tangent
    if tangent is not None:
        return tangent(args, data, tuple([rate[a] for a in args]))
    partial_of = FUNCTIONS[op].partial
    return total(mul(partial_of(args, data, i), rate[args[i]]) for i in moving)


@worded
def diff(expr: Expr, variable: Expr) -> Expr:
    """Return the partial derivative by a symbol.

    Args:
        expr: what to differentiate.
        variable: the symbol.

    >>> from linkwright.algebra import symbols, sin
    >>> a, x = symbols("a x")
    >>> diff(a * sin(x) ** 2, x)
    2*a*cos(x)*sin(x)
    """
    if variable.op != "sym":
        raise ExprError(f"cannot differentiate by {variable}: it is not a symbol")
    return tangents([expr], {variable: ONE})[0]


def gradient(expr: Expr, variables: Iterable[Expr]) -> list[Expr]:
    """Return the partial derivatives by several symbols.

    One walk finds the nodes and what each depends on; a derivative looks only at those above it.

    >>> from linkwright.algebra import symbols, sin
    >>> a, x = symbols("a x")
    >>> gradient(a * sin(x), [x, a])
    [a*cos(x), sin(x)]
    """
    variables = list(variables)
    for x in variables:
        if x.op != "sym":
            raise ExprError(f"cannot differentiate by {x}: it is not a symbol")
    bits = {x: 1 << k for k, x in enumerate(dict.fromkeys(variables))}
    below: dict[Expr, int] = {}
    for node in postorder([expr]):
        mask = bits.get(node, 0)
        for a in node.args:
            mask |= below[a]
        below[node] = mask
    found = []
    for x in variables:
        bit = bits[x]
        rate: dict[Expr, Expr] = defaultdict(lambda: ZERO, {x: ONE})
        for node, mask in below.items():
            if mask & bit and node is not x:
                rate[node] = _node_rate(node, rate)
        found.append(rate[expr])
    return found


def time_derivative(expr: Expr, rates: Mapping[Expr, Scalar]) -> Expr:
    """Return the total time derivative.

    >>> from linkwright.algebra import symbol, sin
    >>> q, u = symbol("q", "coordinate"), symbol("u", "speed")
    >>> time_derivative(sin(q), {q: u})
    u*cos(q)
    """
    known = {x: as_expr(rate) for x, rate in rates.items()}
    for x in free_symbols(expr):
        if x.roles & TIME:
            known.setdefault(x, ONE)
        elif x.roles & _WITH_RATE and x not in known:
            raise ExprError(
                f"the rate of {x.name!r} is not known; give it in `rates` (0 where it stands still)"
            )
    return tangents([expr], known)[0]


def nominal(expr: Expr) -> Expr:
    """Return the expression with every coordinate and speed at zero."""
    states = [x for x in free_symbols(expr) if x.roles & (COORDINATE | SPEED)]
    return substitute(expr, dict.fromkeys(states, ZERO))


def constant_part(expr: Expr) -> Expr:
    """Return the terms that hold only parameters and numbers.

    >>> from linkwright.algebra import symbol, cos
    >>> a, q = symbol("a"), symbol("q", "coordinate")
    >>> constant_part(a + 2 + a * cos(q))
    2 + a
    """
    if not expr.roles & _MOVING:
        return expr
    if expr.op == "sum":
        pairs = zip(expr.data[1:], expr.args, strict=True)
        return linear_combination(((c, t) for c, t in pairs if not t.roles & _MOVING), expr.data[0])
    if expr.op == "scale":
        return scaled(expr.data, constant_part(expr.args[0]))
    return ZERO


def linear_coefficients(expr: Expr, variables: Iterable[Expr]) -> tuple[dict[Expr, Expr], Expr]:
    """Return the coefficients and the rest of an expression that is linear in the variables.

    >>> from linkwright.algebra import symbols
    >>> a, b, x, y = symbols("a b x y")
    >>> linear_coefficients(a * (x - y) + b, [x, y])
    ({x: a, y: -a}, b)
    """
    variables = list(variables)
    coefficients = dict(zip(variables, gradient(expr, variables), strict=True))
    here = set(variables)
    for x, c in coefficients.items():
        if not here.isdisjoint(free_symbols(c)):
            raise ExprError(f"the expression {expr} is not linear in {x.name!r}")
    return coefficients, substitute(expr, dict.fromkeys(variables, ZERO))


def solve_for(unknown: Expr, left: Expr, right: Scalar = 0, *, newton: bool = False) -> Expr:
    """Return the unknown from the equation left = right.

    >>> from linkwright.algebra import symbols
    >>> a, b, x = symbols("a b x")
    >>> solve_for(x, a * x, b)
    b/a
    """
    residual = left - as_expr(right)
    slope = diff(residual, unknown)
    if slope is ZERO:
        raise ExprError(
            f"the equation does not contain {unknown.name!r}; it cannot be solved for it"
        )
    if unknown not in free_symbols(slope):
        return -substitute(residual, {unknown: ZERO}) / slope
    if not newton:
        raise ExprError(
            f"the equation is not linear in {unknown.name!r}; newton=True gives the Newton update"
        )
    return unknown - residual / slope
