"""Splitting a Program by rate: what changes seldom is computed apart and handed over.

One split gives AUTOSIM's precomputed constants (after `PARAMETER`), the background and foreground
dynamics of a motion server (after `SLOW`), and kernels of the configuration only (after
`CONFIGURATION`). The first Program computes everything up to the rate, the second the rest.
"""

from __future__ import annotations

from linkwright.algebra.expr import Expr
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.algebra.walk import postorder
from linkwright.program.passes.blocks import Rewriting
from linkwright.program.program import Loop, Program, ProgramError, ProgramPort, Statement, check
from linkwright.program.rates import Rate, symbol_rate


def split(program: Program, after: Rate, *, carried: str = "constants") -> tuple[Program, Program]:
    """Return two Programs that do together what one does.

    The first has the inputs with entries up to the rate, and one output, an array named `carried`.
    The second has the other inputs, then that array, and the outputs of the Program.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> A, B = symbols("A B")
    >>> (x,) = symbols("x", "coordinate")
    >>> p = program("f", {"k": [A, B], "x": x}, {"f": (A + B) * x + A * B})
    >>> first, second = split(p, Rate.PARAMETER)
    >>> [port.name for port in second.inputs], count_operations(second).total
    (['x', 'constants'], 2)
    """
    if any(port.name == carried for port in (*program.inputs, *program.outputs)):
        raise ProgramError(f"program {program.name!r} has an array {carried!r}; name another one")
    with smallness_threshold(KEEP_ALL):
        rewriting = Rewriting(program, lambda network: None, keep=True)
        fixed, statements, roots = rewriting.blocks(after, name_roots=True)
    slow = {x for x in program.input_symbols() if symbol_rate(x, program.slow) <= after}
    fast_ports = tuple(p for p in program.inputs if any(x not in slow for x in p.entries))
    slow_ports = tuple(p for p in program.inputs if any(x in slow for x in p.entries))
    at_hand = {x for p in fast_ports for x in p.entries}
    made = {x for s in fixed for x in s.targets}
    handed = [x for x in _reads(statements, roots) if x in made or (x in slow and x not in at_hand)]
    port = ProgramPort(carried, (len(handed),), tuple(handed))
    first = Program(
        f"{program.name}_{after.label}",
        slow_ports,
        (port,),
        tuple(fixed),
        program.slow & slow,
    )
    second = Program(
        program.name,
        (*fast_ports, port),
        program.map_outputs(roots),
        tuple(statements),
        program.slow & (at_hand | set(handed)),
        program.auxiliary,
    )
    check(first)
    check(second)
    return first, second


def _reads(statements: list[Statement], roots: list[Expr]) -> list[Expr]:
    """Return the symbols that are read, in the order in which they are met."""
    found: dict[Expr, None] = {}
    exprs: list[Expr] = []
    for statement in statements:
        exprs.extend(statement.operands)
        if isinstance(statement, Loop):
            exprs.extend(statement.outer_reads)
    for node in postorder([*exprs, *roots]):
        if node.op == "sym":
            found[node] = None
    return list(found)
