"""How large the terms are that the outputs of a Program are made of.

A value that is zero but for rounding has no scale of its own; its rounding errors depend on the
terms that cancel in it. Their magnitude is that of running error analysis (N. J. Higham,
*Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 3.3), without its factors of
rounding: for sums the sum of magnitudes, for products the largest magnitude of a factor times the
values of the others, so that a square of what nearly cancels stays small; angles count up to 1.
What a loop, a solve or another function gives counts by its own size.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, absolute, as_expr, maximum, minimum
from linkwright.algebra.expr import product, raised
from linkwright.algebra.walk import fill
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import Assign, Call, Namer, Program, ProgramPort, Statement

_CHOICES = ("min", "max", "abs", "select")


def magnitudes(given: Program, values: Sequence[Expr], name: str, *, share: float = 1.0) -> Program:
    """Return the Program of one output, the magnitude of each of some output values of another.

    With `share` it is that part of them.

    >>> from linkwright.program import interpret, lower, program
    >>> p = program("f", {"x": ["x", "y"]}, {"g": lambda x, y: [2 * x - y, x * (x - y)]})
    >>> terms = magnitudes(p, p.output_values(), "size")
    >>> [float(x) for x in interpret(lower(terms), [[1.0, 2.0]])[0]]
    [4.0, 3.0]
    """
    namer = Namer(given, "size_")
    statements: list[Statement] = []
    known: dict[Expr, Expr] = {}

    def size(node: Expr) -> Expr:
        args = [known[x] for x in node.args]
        if node.op == "sum":
            made = as_expr(abs(node.data[0]))
            for x, c in zip(args, node.data[1:], strict=True):
                made += abs(c) * x
        elif node.op == "scale":
            made = abs(node.data) * args[0]
        elif node.op == "prod":
            made = absolute(node)
            for x, own, power in zip(args, node.args, node.data, strict=True):
                others = absolute(product([node, raised(own, -power)]))
                if power >= 1:
                    made = maximum(made, power * x * raised(absolute(own), power - 1) * others)
        elif node.op in ("sin", "cos", "tan"):
            made = maximum(absolute(node), minimum(1, args[0]))
        elif node.op in _CHOICES:
            made = maximum(*args[node.op == "select" :], 0)
        else:
            return absolute(node)
        local = namer()
        statements.append(Assign(local, made))
        return local

    for statement in given.statements:
        statements.append(statement)
        if isinstance(statement, Assign):
            fill(known, [statement.value], size)
            known[statement.target] = known[statement.value]
        elif isinstance(statement, Call):
            inner = statement.program
            made = magnitudes(inner, inner.output_values(), name)
            targets = tuple(namer() for _ in statement.targets)
            statements.append(Call(made, statement.arguments, targets))
            known.update(zip(statement.targets, targets, strict=True))
    fill(known, values, size)
    port = ProgramPort(name, (len(values),), tuple(share * known[x] for x in values))
    return liveness(given.with_statements(statements, [port]))
