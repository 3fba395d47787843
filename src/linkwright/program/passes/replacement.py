"""Replacing symbols in expressions and in the bodies of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linkwright.algebra.expr import Expr, function_node
from linkwright.algebra.functions import apply
from linkwright.algebra.nodes import SMALL
from linkwright.algebra.walk import postorder, rebuild
from linkwright.program.program import Loop, Statement


def rebuilt(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return the form of `node` over other arguments, without expanding small angles again."""
    if args == node.args:
        return node
    if node.op in ("sum", "prod", "scale"):
        return rebuild(node, args)
    if any(a.roles & SMALL for a in args):
        return function_node(node.op, args, node.data)
    return apply(node.op, args, node.data)


def with_reads(statement: Statement, changed: Mapping[Expr, Expr]) -> Statement:
    """Return a loop whose body reads other expressions for some symbols from outside it."""
    if not changed or not isinstance(statement, Loop):
        return statement
    return mapped_loop(statement, changed)


def mapped_loop(loop: Loop, changed: Mapping[Expr, Expr]) -> Loop:
    """Return the loop with symbols replaced inside it."""

    def new(exprs: Sequence[Expr]) -> list[Expr]:
        return replaced(exprs, changed)

    body: list[Statement] = []
    for statement in loop.body:
        statement = statement.with_operands(new(statement.operands))
        body.append(mapped_loop(statement, changed) if isinstance(statement, Loop) else statement)
    inner = new(loop.inner_operands)
    cut = len(loop.carried)
    return replace(
        loop,
        carried=tuple(
            replace(c, following=x) for c, x in zip(loop.carried, inner[:cut], strict=True)
        ),
        stacked=tuple(replace(s, value=x) for s, x in zip(loop.stacked, inner[cut:], strict=True)),
        body=tuple(body),
    )


def replaced(exprs: Sequence[Expr], changed: Mapping[Expr, Expr]) -> list[Expr]:
    """Return expressions with some of their symbols replaced."""
    known: dict[Expr, Expr] = dict(changed)
    for node in postorder(exprs, stop=known.__contains__):
        if node not in known:
            known[node] = rebuilt(node, tuple(known[a] for a in node.args))
    return [known[x] for x in exprs]
