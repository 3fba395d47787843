"""What kernels are written from: a tree of bodies, its independent speeds, its ports.

Without constraints all speeds are independent. A joint that follows another has its coordinate put
in wherever it occurs, so that it is not an input of any quantity. A loop keeps all coordinates as
inputs, which must satisfy it; its dependent speeds follow from the independent ones.

A quantity is written by a function of a `Writer` that returns expressions; `Tree.program` makes a
Program of it, with only those inputs that the quantity is a function of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from linkwright.algebra import ZERO, Expr, free_symbols, total
from linkwright.algebra.smallness import current_threshold, terms_kept
from linkwright.equations.closure import closed_samples, with_exact_rates
from linkwright.equations.constraints import Reduction, choose, reduce
from linkwright.equations.equations import Equations, folded, has_loops, in_order
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics, Mechanism
from linkwright.program import Assign, Loop, Namer, Program, ProgramPort, Statement, program
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import check, walk

Results: TypeAlias = Mapping[str, Any]
Write: TypeAlias = Callable[[Writer], Results]

_REST = "rest"  # symbols that intermediate results may hold, and results may not


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree of bodies with the relations between its speeds."""

    kinematics: Kinematics
    reduction: Reduction | None = None
    statements: tuple[Assign, ...] = ()
    values: Mapping[Expr, Expr | float] | None = None
    states: tuple[Expr, ...] = ()
    last: int = 0
    looped: bool = False

    def writer(self) -> Writer:
        """Return a writer that goes on after the statements, under new names."""
        return Writer(self.kinematics.mechanism.name, self.statements, self.last)

    @property
    def coordinates(self) -> tuple[Expr, ...]:
        """The coordinates, in the order of the port `q`; the analyst's states follow.

        Without constraints it is that of the speeds, with them that of entry, as in
        `ParallelMachine`.
        """
        put_in, free = self.values or {}, self.reduction is None
        own = self.kinematics.rates if free else self.kinematics.mechanism.coordinates.values()
        return (*(q for q in own if q not in put_in), *self.states)

    @property
    def speeds(self) -> tuple[Expr, ...]:
        """The independent speeds, in the order of the port `u`."""
        if self.reduction is not None:
            return self.reduction.independent
        return tuple(s.symbol for s in self.kinematics.speeds)

    @property
    def accelerations(self) -> tuple[Expr, ...]:
        """The rates of the independent speeds, in the order of the port `a`."""
        return tuple(self.kinematics.accelerations[u] for u in self.speeds)

    def at_rest(self) -> Tree:
        """Return the tree with all speeds zero."""
        still: dict[Expr, Expr | float] = dict(self.values or {})
        still.update(dict.fromkeys((s.symbol for s in self.kinematics.speeds), ZERO))
        drift = self.reduction
        if drift is not None:
            drift = replace(drift, drift=tuple(ZERO for _ in drift.drift))
        return replace(self, reduction=drift, values=still)

    def all_rates(self, writer: Writer, given: Sequence[Expr] | None = None) -> dict[Expr, Expr]:
        """Return the rate of every speed of the tree from those of the independent ones."""
        rates = dict(zip(self.speeds, given or [ZERO] * len(self.speeds), strict=True))
        if self.reduction is not None:
            rows = zip(
                self.reduction.dependent, self.reduction.matrix, self.reduction.drift, strict=True
            )
            for u, row, drift in rows:
                shares = (x * a for x, a in zip(row, rates.values(), strict=False))
                rates[u] = writer.hold(total([drift, *shares]))
        return rates

    def on_independent(
        self, writer: Writer, columns: Mapping[Expr, Sequence[Expr]], height: int
    ) -> list[list[Expr]]:
        """Return the columns of a Jacobian for the independent speeds."""
        tied = self.reduction
        rows = () if tied is None else zip(tied.dependent, tied.matrix, strict=True)
        shares = [(columns[u], row) for u, row in rows if u in columns]
        made = []
        for k, u in enumerate(self.speeds):
            column = list(columns.get(u, [ZERO] * height))
            more = [(other, row[k]) for other, row in shares if row[k] is not ZERO]
            if more:
                column = [
                    writer.hold(total([x, *(factor * other[i] for other, factor in more)]))
                    for i, x in enumerate(column)
                ]
            made.append(column)
        return made

    def program(
        self,
        name: str,
        takes: Sequence[str],
        write: Write,
        more: Mapping[str, Sequence[Expr]] | None = None,
    ) -> Program:
        """Return the Program of what `write` returns."""
        mechanism = self.kinematics.mechanism
        statements, results = self.settled(self.writer(), write)
        ports = {"q": self.coordinates, "u": self.speeds, "a": self.accelerations}
        inputs = {key: ports[key] for key in takes} | {k: tuple(v) for k, v in (more or {}).items()}
        known = set(self.values or ())
        given = {
            "p": [p for _, p in sorted(mechanism.parameters.items())],
            "w": [w for w in mechanism.inputs.values() if w not in known],
            "t": [mechanism.time],
        }
        others = [x for key, port in ports.items() if key not in inputs for x in port]
        rest = [*(x for port in given.values() for x in port), *others]
        made = liveness(program(name, {**inputs, _REST: rest}, results, statements=statements))
        made = _with_used(made, given)
        check(made)
        return made

    def settled(self, writer: Writer, write: Write) -> tuple[list[Statement], dict[str, Any]]:
        """Return what is written, with the known values put in."""
        results: dict[str, Any] = dict(write(writer))
        statements: list[Statement] = list(writer.statements)
        if writer.loops:
            statements = in_order([*statements, *writer.loops])
        if not self.values:
            return statements, results
        statements, found = folded(statements, {k: [x] for k, x in results.items()}, self.values)
        return statements, {k: x for k, (x,) in found.items()}


def _with_used(made: Program, given: Mapping[str, Sequence[Expr]]) -> Program:
    """Return the Program with only those of the further inputs that it reads."""
    read: set[Expr] = set(free_symbols(*made.output_values()))
    for s in walk(made.statements):
        read.update(free_symbols(*s.operands))
        if isinstance(s, Loop):
            read.update(s.outer_reads)
    ports = [p for p in made.inputs if p.name != _REST]
    for name, entries in given.items():
        used = tuple(x for x in entries if x in read)
        if used:
            ports.append(ProgramPort(name, (len(used),), used))
    return replace(made, inputs=tuple(ports))


def tree_of(mechanism: Mechanism, known: Mapping[Expr, Expr | float] | None = None) -> Tree:
    """Return the tree of a mechanism.

    >>> m = Mechanism("swing")
    >>> rod = m.body("rod", rotate="y", mass=1, com=(1, 0, 0), inertia=0)
    >>> tree_of(m).speeds
    (rod_dot,)
    """
    if current_threshold() <= mechanism.small_order:
        with terms_kept(mechanism.small_order):
            return tree_of(mechanism, known)
    kinematics = mechanism.kinematics()
    put_in = dict(known or {})
    if not mechanism.constraints:
        return Tree(kinematics, values=put_in or None)
    samples = closed_samples(mechanism, mechanism.values, None)
    mechanism = with_exact_rates(mechanism, samples)
    kinematics = mechanism.kinematics()
    eliminations = choose(kinematics, mechanism.values, samples)
    writer = Writer(mechanism.name)
    rates = dict(kinematics.rates)
    reduction = reduce(
        kinematics,
        eliminations,
        rates,
        writer,
        Namer(None, "r"),
        mechanism.values,
        samples,
        guarded=bool(mechanism.actuators),
    )
    statements = [s for s in in_order(writer.statements) if isinstance(s, Assign)]
    return Tree(kinematics, reduction, tuple(statements), put_in or None, last=len(statements))


def tree_from(equations: Equations) -> Tree:
    """Return the tree of a mechanism whose equations were derived; its inputs count as zero."""
    reduction, looped = equations.reduction, has_loops(equations)
    statements = () if looped else equations.assignments
    known: dict[Expr, Expr | float] = dict.fromkeys(equations.mechanism.inputs.values(), 0.0)
    defined = {x for s in equations.statements for x in s.targets}
    for u, offset in zip(reduction.dependent, reduction.offset, strict=True):
        if u not in defined:
            known[u] = offset
    numbers = [re.fullmatch(r"(?:z|pc)(\d+)", s.target.name) for s in statements]
    last = max((int(m[1]) for m in numbers if m), default=0)
    return Tree(
        equations.kinematics,
        reduction if reduction.dependent else None,
        statements,
        known,
        equations.states,
        last,
        looped,
    )
