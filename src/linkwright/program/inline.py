"""One Program written into another: its statements under new names, its inputs replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linkwright.algebra.expr import Expr
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.program.passes.replacement import replaced
from linkwright.program.program import Assign, Call, Loop, Namer, Program, ProgramError, Statement


def inlined(
    program: Program, given: Mapping[str, Sequence[Expr]], namer: Namer
) -> tuple[list[Statement], dict[str, tuple[Expr, ...]]]:
    """Return the statements of a Program for given inputs, and its outputs by name.

    >>> from linkwright.program import program as make
    >>> from linkwright.algebra import symbols
    >>> p = make("double", {"x": ["x"]}, {"y": lambda x: [x + x]})
    >>> inlined(p, {"x": symbols("a")}, Namer(None, "z"))
    ([], {'y': (2*a,)})
    """
    names: dict[Expr, Expr] = {}
    for port in program.inputs:
        names.update(zip(port.entries, given[port.name], strict=True))
    statements: list[Statement] = []
    with smallness_threshold(KEEP_ALL):
        for statement in program.statements:
            if isinstance(statement, Loop):
                raise ProgramError(f"program {program.name!r} holds a loop; call it instead")
            operands = replaced(statement.operands, names)
            if isinstance(statement, Assign):
                (value,) = operands
                if value.is_atom or (
                    value.op == "scale" and value.data == -1 and value.args[0].is_atom
                ):
                    names[statement.target] = value
                    continue
                names[statement.target] = namer()
                statements.append(Assign(names[statement.target], value, statement.note))
                continue
            fresh = tuple(namer() for _ in statement.targets)
            names.update(zip(statement.targets, fresh, strict=True))
            moved = statement.with_operands(operands)
            assert not isinstance(moved, Assign | Loop)
            statements.append(_targeting(moved, fresh))
        outputs = {port.name: tuple(replaced(port.entries, names)) for port in program.outputs}
    return statements, outputs


def _targeting(statement: Statement, targets: tuple[Expr, ...]) -> Statement:
    if isinstance(statement, Call):
        return replace(statement, targets=targets)
    assert not isinstance(statement, Assign | Loop)
    return replace(statement, targets=targets)
