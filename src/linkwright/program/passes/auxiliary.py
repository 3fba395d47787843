"""Auxiliary outputs never add operations to the derivative (AUTOSIM's OUTPUT routine, check 23).

The Program is optimized as if nobody asked for them; then they are computed from what is there
already, recognized by value, and from what else they need. A loop, solve or call that both need is
not taken apart: what it computes for an output stays in it.
"""

from __future__ import annotations

from dataclasses import replace

from linkwright.algebra.expr import Expr
from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.liveness import liveness
from linkwright.program.passes.network import Network
from linkwright.program.passes.replacement import replaced, with_reads
from linkwright.program.program import Assign, Namer, Program, Statement


def without_auxiliary(program: Program) -> Program:
    """Return the Program without its auxiliary outputs.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.program import program
    >>> q = symbol("q", "coordinate")
    >>> p = program("f", {"q": q}, {"a": 2 * q, "extra": 3 * q}, auxiliary=["extra"])
    >>> [port.name for port in without_auxiliary(p).outputs]
    ['a']
    """
    outputs = tuple(p for p in program.outputs if p.name not in program.auxiliary)
    return Program(program.name, program.inputs, outputs, program.statements, program.slow)


def with_auxiliary(program: Program, optimized: Program) -> Program:
    """Return the optimized Program with the auxiliary outputs that the first one has."""
    return through_networks(_both(program, optimized), _as_it_is)


def beside_auxiliary(program: Program, optimized: Program) -> Program:
    """Return the optimized Program as it is, with the auxiliary outputs computed on their own.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.program import program
    >>> q = symbol("q", "coordinate")
    >>> p = program("f", {"q": q}, {"a": 2 * q, "extra": 3 * q}, auxiliary=["extra"])
    >>> [port.name for port in beside_auxiliary(p, without_auxiliary(p)).outputs]
    ['a', 'extra']
    """
    return liveness(_both(program, optimized))


def _both(program: Program, optimized: Program) -> Program:
    ports = {p.name: p for p in optimized.outputs}
    statements, changed = _under_other_names(program, optimized)
    outputs = (
        ports.get(p.name) or replace(p, entries=tuple(replaced(p.entries, changed)))
        for p in program.outputs
    )
    return Program(
        program.name,
        program.inputs,
        tuple(outputs),
        (*optimized.statements, *statements),
        program.slow,
        program.auxiliary,
    )


def _under_other_names(
    program: Program, optimized: Program
) -> tuple[list[Statement], dict[Expr, Expr]]:
    """Return the statements of the first Program, and what they call what both define.

    Passes give out names anew, so a name may stand for different values in the two. The optimized
    outputs come first, under names of their own, so that equal values are computed as they are.
    """
    statements = (*optimized.statements, *program.statements)
    names = Namer(Program(program.name, program.inputs, (), statements), "z")
    taken = {x for s in optimized.statements for x in s.targets}
    changed: dict[Expr, Expr] = {}
    result: list[Statement] = [
        Assign(names(), x) for x in optimized.output_values() if not x.is_atom
    ]
    for s in program.statements:
        made = with_reads(s.with_operands(replaced(s.operands, changed)), changed)
        if isinstance(made, Assign) and made.target in taken:
            changed[made.target] = names()
            made = Assign(changed[made.target], made.value, made.note)
        result.append(made)
    return result, changed


def _as_it_is(network: Network) -> None:
    """Building the network finds equal values; nothing else is to be done."""
