"""Fresh names for local symbols: s1, s2, ... in the order of the statements."""

from __future__ import annotations

from linkwright.algebra.expr import Expr
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.program.passes.replacement import replaced
from linkwright.program.program import Assign, Namer, Program, Statement


def renamed(program: Program, fresh: Namer | None = None) -> Program:
    """Return the Program with other names for what its assignments define.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.program import program
    >>> x, a = symbol("x"), symbol("a", "local")
    >>> p = program("f", {"x": x}, {"f": a * x}, statements=[Assign(a, x + 1)])
    >>> renamed(p).outputs[0].entries
    (s1*x,)
    """
    if any(not isinstance(s, Assign) for s in program.statements):
        return program
    fresh = fresh or Namer(Program(program.name, program.inputs, ()), "s")
    names: dict[Expr, Expr] = {}
    statements: list[Statement] = []
    with smallness_threshold(KEEP_ALL):
        for statement in program.statements:
            assert isinstance(statement, Assign)
            (value,) = replaced(statement.operands, names)
            names[statement.target] = fresh()
            statements.append(Assign(names[statement.target], value, statement.note))
        outputs = program.map_outputs(replaced(program.output_values(), names))
    return program.with_statements(statements, outputs)
