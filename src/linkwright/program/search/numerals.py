"""Numbers with many digits as symbols, while a search is under way.

Products of floating-point numbers are rounded, and so not exact in a finite field. A number such as
0.0203 therefore becomes a parameter that is other than zero, and is put back at the end, when the
parameter stage is folded into numbers again. Small binary fractions stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from linkwright.algebra.expr import Expr, constant, product, scaled, total
from linkwright.algebra.numbers import Number
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.algebra.symbols import symbol
from linkwright.algebra.walk import postorder
from linkwright.program.passes.replacement import rebuilt, replaced
from linkwright.program.program import Assign, Program, ProgramPort

_MOST = 2**10  # larger numerators and denominators make a number long


def with_symbols(program: Program) -> tuple[Program, dict[Expr, Expr]]:
    """Return the Program with symbols for long numbers, and the number of each symbol.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [0.3 * x + 0.5 * y]})
    >>> with_symbols(p)[0].outputs[0].entries
    (0.5*y + number1*x,)
    """
    if any(not isinstance(s, Assign) for s in program.statements):
        return program, {}
    found = _Numbers(program)
    with smallness_threshold(KEEP_ALL):
        statements = [s.with_operands(found.replaced(s.operands)) for s in program.statements]
        outputs = program.map_outputs(found.replaced(program.output_values()))
    if not found.symbols:
        return program, {}
    port = ProgramPort(
        "numbers of the search", (len(found.symbols),), tuple(found.symbols.values())
    )
    made = Program(
        program.name,
        (*program.inputs, port),
        outputs,
        tuple(statements),
        program.slow,
        program.auxiliary,
    )
    return made, {x: constant(n) for n, x in found.symbols.items()}


def with_numbers(program: Program, like: Program, numbers: dict[Expr, Expr]) -> Program:
    """Return a Program with the numbers put back."""
    if not numbers:
        return program
    with smallness_threshold(KEEP_ALL):
        statements = [s.with_operands(replaced(s.operands, numbers)) for s in program.statements]
        outputs = like.map_outputs(replaced(program.output_values(), numbers))
    return like.with_statements(statements, outputs)


class _Numbers:
    def __init__(self, program: Program) -> None:
        self.symbols: dict[Number, Expr] = {}
        self.known: dict[Expr, Expr] = {}
        self.taken = {x.name for x in program.input_symbols()}
        for statement in program.statements:
            self.taken.update(x.name for x in statement.targets)

    def replaced(self, exprs: Sequence[Expr]) -> list[Expr]:
        known = self.known
        for node in postorder(exprs, stop=known.__contains__):
            if node not in known:
                known[node] = self.node(node, [known[a] for a in node.args])
        return [known[x] for x in exprs]

    def node(self, node: Expr, args: list[Expr]) -> Expr:
        if node.op == "num":
            return self.number(node.data)
        if node.op == "scale":
            return product([self.number(node.data), args[0]])
        if node.op == "sum":
            terms = [product([self.number(c), x]) for c, x in zip(node.data[1:], args, strict=True)]
            return total([self.number(node.data[0]), *terms])
        return rebuilt(node, tuple(args))

    def number(self, value: Number) -> Expr:
        if not isinstance(value, float) or value - value != 0:
            return constant(value)
        exact = Fraction(value)
        if abs(exact.numerator) <= _MOST and exact.denominator <= _MOST:
            return constant(value)
        found = self.symbols.get(abs(value))
        if found is None:
            k = len(self.symbols) + 1
            while f"number{k}" in self.taken:
                k += 1
            self.taken.add(f"number{k}")
            found = self.symbols[abs(value)] = symbol(f"number{k}", sign="positive")
        return scaled(-1 if value < 0 else 1, found)
