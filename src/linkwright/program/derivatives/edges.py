"""Local derivatives of the elementary operations: one edge for each operand that matters.

The derivative of a quotient or negative power is written with its own value, which is known
already. Minimum and maximum are selections: their edges have a condition instead of a factor 0 or
1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linkwright.algebra.expr import ONE, Expr, constant, product, raised, scaled
from linkwright.algebra.functions import FUNCTIONS, apply, is_flat
from linkwright.program.program import Assign


@dataclass(frozen=True, slots=True)
class Edge:
    """The derivative of a flat assignment by one operand, which holds only under a condition."""

    operand: Expr
    weight: Expr
    condition: Expr = ONE


def choice(value: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Return the condition and both branches if a flat value is a selection, minimum or maximum."""
    if value.op == "select":
        condition, yes, no = value.args
        return condition, yes, no
    if value.op == "min":
        a, b = value.args
        return apply("le", (a, b)), a, b
    if value.op == "max":
        a, b = value.args
        return apply("le", (b, a)), a, b
    return None


def edges(assign: Assign, wanted: Callable[[Expr], bool]) -> Iterator[Edge]:
    """Yield the edges of a flat assignment to the operands that are wanted."""
    value = assign.value
    op, args, data = value.op, value.args, value.data
    if is_flat(op) or op == "sym":
        if op == "sym" and wanted(value):
            yield Edge(value, ONE)
        return
    branches = choice(value)
    if branches is not None:
        condition, yes, no = branches
        if yes.op == "sym" and wanted(yes):
            yield Edge(yes, ONE, condition)
        if no.op == "sym" and wanted(no):
            yield Edge(no, ONE, apply("not", (condition,)))
        return
    for i, x in enumerate(args):
        if x.op != "sym" or not wanted(x):
            continue
        if op == "scale":
            yield Edge(x, constant(data))
        elif op == "sum":
            yield Edge(x, constant(data[i + 1]))
        elif op == "prod":
            yield Edge(x, _factor(assign.target, args, data, i))
        else:
            yield Edge(x, FUNCTIONS[op].partial(args, data, i))


def _factor(target: Expr, args: tuple[Expr, ...], exponents: tuple[int, ...], i: int) -> Expr:
    exponent = exponents[i]
    if exponent == -1 and len(args) == 1:
        return scaled(-1, raised(target, 2))
    if exponent < 0:
        return scaled(exponent, product((target, raised(args[i], -1))))
    lowered = [
        raised(x, e - (j == i)) for j, (x, e) in enumerate(zip(args, exponents, strict=True))
    ]
    return scaled(exponent, product(lowered))
