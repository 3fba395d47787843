"""Divisions by one value as multiplications with its reciprocal.

A processor divides in the time of a dozen multiplications, while our counts, which are those of the
literature, take both for one. So this pass makes a Program with several divisions by one value
quicker and, by the count, larger by one operation for each such value. It is not in `optimize`,
which counts; those who compile for speed run it last.
"""

from __future__ import annotations

from collections import Counter

from linkwright.algebra.expr import Expr, product, raised
from linkwright.algebra.walk import postorder
from linkwright.program.passes.replacement import rebuilt, with_reads
from linkwright.program.program import Assign, Namer, Program, Statement

_USES = 2  # divisions by one value from which on the reciprocal pays


def shared_reciprocals(program: Program) -> Program:
    """Return the Program with one division by each value that moves and is divided by repeatedly.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> a, b, c = symbols("a b c", "coordinate")
    >>> p = program("f", {"x": [a, b, c]}, {"f": [a / c, b / c]})
    >>> q = shared_reciprocals(p)
    >>> [str(s.value) for s in q.statements], [str(x) for x in q.outputs[0].entries]
    (['1/c'], ['a*s1', 'b*s1'])
    """
    roots = [x for s in program.statements for x in s.operands] + list(program.output_values())
    uses = Counter(
        base for node in postorder(roots) if node.op == "prod" for base in _divisors(node)
    )
    shared = {base for base, n in uses.items() if n >= _USES}
    if not shared:
        return program
    namer = Namer(program, "s")
    made: list[Statement] = []
    reciprocal: dict[Expr, Expr] = {}
    known: dict[Expr, Expr] = {}

    def new(exprs: tuple[Expr, ...]) -> list[Expr]:
        for node in postorder(exprs, stop=known.__contains__):
            below = [b for b in _divisors(node) if b in shared] if node.op == "prod" else []
            if not below:
                known[node] = rebuilt(node, tuple(known[a] for a in node.args))
                continue
            for base in below:
                if base not in reciprocal:
                    reciprocal[base] = namer()
                    made.append(Assign(reciprocal[base], raised(known[base], -1)))
            known[node] = product(
                reciprocal[b] if b in below and e == -1 else raised(known[b], e)
                for b, e in zip(node.args, node.data, strict=True)
            )
        return [known[x] for x in exprs]

    for statement in program.statements:
        operands = new(statement.operands)
        made.append(with_reads(statement.with_operands(operands), {}))
    values = new(program.output_values())
    return program.with_statements(made, program.map_outputs(values))


def _divisors(node: Expr) -> list[Expr]:
    """Return what a product that moves divides by once."""
    return [
        base
        for base, exponent in zip(node.args, node.data, strict=True)
        if exponent == -1 and not base.is_constant
    ]
