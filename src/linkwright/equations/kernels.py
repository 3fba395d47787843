"""Inverse dynamics and mass matrix as Programs of their own.

Inverse dynamics is one recursion with the accelerations as inputs (Luh, Walker and Paul 1980),
never M times the accelerations less f. Where speeds are eliminated, the dependent accelerations
follow from the independent ones, and the forces are projected on the independent speeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from linkwright.algebra import Expr, as_expr, total
from linkwright.equations.choices import Choices
from linkwright.equations.constraints import Reduction
from linkwright.equations.equations import Equations, folded, has_loops, in_order
from linkwright.equations.looped import looped_forces
from linkwright.equations.projection import project
from linkwright.equations.repeated_bodies import plan
from linkwright.equations.search import Search, weight
from linkwright.equations.tree import TreeDynamics, inverse, mass_matrix
from linkwright.equations.writer import Writer
from linkwright.errors import InputError
from linkwright.mechanism import Kinematics
from linkwright.program import Assign, Program, Statement

KERNELS = ("forward", "inverse", "mass")

_Write = Callable[[Writer, Choices], list[list[Expr]]]


def kernel_program(equations: Equations, kernel: str) -> Program:
    """Return one of the `KERNELS` of a mechanism as a Program.

    >>> from linkwright.models import load_model
    >>> e = __import__("linkwright.equations", fromlist=["derive"]).derive(
    ...     load_model("pendulum")
    ... )
    >>> [port.name for port in kernel_program(e, "inverse").inputs]
    ['q', 'u', 'a', 'p']
    """
    if kernel not in KERNELS:
        raise InputError(f"there is no kernel {kernel!r}; there are {', '.join(KERNELS)}")
    if kernel == "inverse":
        return inverse_dynamics_program(equations)
    return mass_matrix_program(equations) if kernel == "mass" else equations.program(outputs=False)


def inverse_dynamics_program(equations: Equations, choices: Choices | None = None) -> Program:
    """Return the Program of the forces that accelerations take: `tau` = M a - f.

    Its input `a` holds the rates of the independent speeds. The model's inputs count as zero, so
    that with joint torques as inputs `tau` is what they must be; the other loads act.
    """
    kinematics, reduction = equations.kinematics, equations.reduction
    given = [kinematics.accelerations[u] for u in equations.speeds]
    name = f"{equations.mechanism.name}_inverse"
    if choices is None and has_loops(equations):
        made, forces = _looped_inverse(equations, given)
        return made.assemble(name, {"tau": forces}, {}, forces, more={"a": given})

    def write(writer: Writer, chosen: Choices) -> list[list[Expr]]:
        rates = _all_rates(kinematics, reduction, given, writer)
        forces = inverse(kinematics, writer, rates, chosen)
        return [_on_independent(kinematics, reduction, forces, writer)]

    statements, (forces,) = _written(equations, write, choices)
    made = equations.with_statements(statements)
    return made.assemble(name, {"tau": forces}, {}, forces, more={"a": given})


def _looped_inverse(equations: Equations, given: Sequence[Expr]) -> tuple[Equations, list[Expr]]:
    """Return the forces that accelerations of a tree take, in loops over like bodies."""
    kinematics, inputs = equations.kinematics, equations.mechanism.inputs.values()
    writer = Writer(equations.mechanism.name)
    items = plan(kinematics, without=tuple(inputs))
    forces = looped_forces(kinematics, writer, given, items)
    silent = dict.fromkeys(inputs, 0.0)
    statements = in_order([*writer.statements, *writer.loops], {})
    kept, found = folded(statements, {"forces": forces}, silent)
    return equations.with_statements(kept), [as_expr(x) for x in found["forces"]]


def mass_matrix_program(equations: Equations, choices: Choices | None = None) -> Program:
    """Return the Program of the mass matrix of the independent speeds, `M`."""
    kinematics, reduction = equations.kinematics, equations.reduction

    def write(writer: Writer, chosen: Choices) -> list[list[Expr]]:
        mass = mass_matrix(kinematics, writer, chosen)
        tree = TreeDynamics(mass, tuple(x * 0 for x, *_ in mass))
        return [list(row) for row in project(kinematics, reduction, tree, writer).mass]

    statements, mass = _written(equations, write, choices)
    roots = [x for row in mass for x in row]
    made = equations.with_statements(statements)
    return made.assemble(f"{equations.mechanism.name}_mass", {"M": mass}, {}, roots)


def _written(
    equations: Equations, write: _Write, choices: Choices | None
) -> tuple[list[Statement], list[list[Expr]]]:
    """Return what is written with the cheapest choices, inputs and steady speeds put in."""
    start = _continued(equations)
    known: dict[Expr, Expr | float] = dict.fromkeys(equations.mechanism.inputs.values(), 0.0)
    defined = {x for s in equations.statements for x in s.targets}
    for u, offset in zip(equations.reduction.dependent, equations.reduction.offset, strict=True):
        if u not in defined:
            known[u] = offset

    def settled(writer: Writer, chosen: Choices) -> tuple[list[Statement], list[list[Expr]]]:
        rows = write(writer, chosen)
        statements, found = folded(writer.statements, {"rows": rows}, known)
        return statements, [[as_expr(x) for x in row] for row in found["rows"]]  # type: ignore[attr-defined]

    names: dict[Expr, Expr] = {}

    def price(trial: Choices) -> int:
        statements, rows = settled(start.trial(names), trial)
        return weight(_assignments(statements), [x for row in rows for x in row])

    chosen = Search(equations.kinematics, price).best() if choices is None else choices
    return settled(start.copy(), chosen)


def _continued(equations: Equations) -> Writer:
    """Return a writer that goes on after the statements of the equations, under new names."""
    if has_loops(equations):
        return Writer(equations.mechanism.name)  # a tree: nothing of it is needed
    statements = _assignments(equations.statements)
    numbers = [re.fullmatch(r"(?:z|pc)(\d+)", s.target.name) for s in statements]
    last = max((int(m[1]) for m in numbers if m), default=0)
    return Writer(equations.mechanism.name, statements, last)


def _assignments(statements: Iterable[Statement]) -> list[Assign]:
    return [s for s in statements if isinstance(s, Assign)]


def _all_rates(
    kinematics: Kinematics, reduction: Reduction, given: Sequence[Expr], writer: Writer
) -> list[Expr]:
    """Return the rates of all speeds of the tree from those of the independent ones."""
    known = dict(zip(reduction.independent, given, strict=True))
    for u, row, drift in zip(reduction.dependent, reduction.matrix, reduction.drift, strict=True):
        shares = (x * a for x, a in zip(row, given, strict=True))
        known[u] = writer.hold(total([drift, *shares]))
    return [known[s.symbol] for s in kinematics.speeds]


def _on_independent(
    kinematics: Kinematics, reduction: Reduction, forces: Sequence[Expr], writer: Writer
) -> list[Expr]:
    place = {s.symbol: k for k, s in enumerate(kinematics.speeds)}
    tied = [place[u] for u in reduction.dependent]
    rows = list(zip(tied, reduction.matrix, strict=True))
    return [
        writer.hold(total([forces[place[u]], *(row[r] * forces[i] for i, row in rows)]))
        for r, u in enumerate(reduction.independent)
    ]
