"""What the quantities of a robot are written from: its tree, its independent speeds, its ports.

A quantity is written by a function of a `Writer` that returns expressions; `Tree.program` makes a
Program of it, with only those inputs that the quantity is a function of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from linkwright.algebra import ZERO, Expr, as_expr, free_symbols, total
from linkwright.equations.constraints import Reduction
from linkwright.equations.equations import folded
from linkwright.equations.writer import Matrix, Triple, Writer
from linkwright.formats.robot.description import Place
from linkwright.mechanism import Body, Kinematics
from linkwright.program import Assign, Loop, Program, ProgramPort, Statement, program
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import check, walk

Results: TypeAlias = Mapping[str, Any]
Write: TypeAlias = Callable[[Writer], Results]

_REST = "rest"  # symbols that intermediate results may hold, and results may not


@dataclass(frozen=True, slots=True, eq=False)
class FixedFrame:
    """A frame that is fixed in a body."""

    body: Body
    rotation: Matrix
    position: Triple


def spot_in(body: Body, place: Place) -> FixedFrame:
    """Return a frame from its place in a body."""
    a, b, c = ((as_expr(x), as_expr(y), as_expr(z)) for x, y, z in place.rotation)
    x, y, z = (as_expr(v) for v in place.position)
    return FixedFrame(body, (a, b, c), (x, y, z))


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree of bodies with the relations between its speeds."""

    kinematics: Kinematics
    reduction: Reduction | None = None
    statements: tuple[Assign, ...] = ()
    values: Mapping[Expr, Expr | float] | None = None

    @property
    def coordinates(self) -> tuple[Expr, ...]:
        """The coordinates, in the order of the port `q`."""
        put_in = self.values or {}
        return tuple(q for q in self.kinematics.mechanism.coordinates.values() if q not in put_in)

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
        none = [ZERO] * height
        made = [list(columns.get(u, none)) for u in self.speeds]
        if self.reduction is None:
            return made
        for u, row in zip(self.reduction.dependent, self.reduction.matrix, strict=True):
            column = columns.get(u)
            if column is None:
                continue
            for k, factor in enumerate(row):
                if factor is not ZERO:
                    made[k] = [
                        writer.hold(x + factor * y) for x, y in zip(made[k], column, strict=True)
                    ]
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
        writer = Writer(mechanism.name, self.statements, len(self.statements))
        results: dict[str, Any] = dict(write(writer))
        statements: list[Statement] = list(writer.statements)
        if self.values:
            statements, found = folded(
                statements, {k: [x] for k, x in results.items()}, self.values
            )
            results = {k: x for k, (x,) in found.items()}
        ports = {"q": self.coordinates, "u": self.speeds, "a": self.accelerations}
        inputs = {key: ports[key] for key in takes} | {k: tuple(v) for k, v in (more or {}).items()}
        parameters = [p for _, p in sorted(mechanism.parameters.items())]
        others = [x for key, port in ports.items() if key not in inputs for x in port]
        made = liveness(
            program(name, {**inputs, _REST: parameters + others}, results, statements=statements)
        )
        made = _without_idle(made, parameters)
        check(made)
        return made


def _without_idle(made: Program, parameters: Sequence[Expr]) -> Program:
    """Return the Program with only those parameters as inputs that it reads."""
    read: set[Expr] = set(free_symbols(*made.output_values()))
    for s in walk(made.statements):
        read.update(free_symbols(*s.operands))
        if isinstance(s, Loop):
            read.update(s.outer_reads)
    used = tuple(p for p in parameters if p in read)
    rest = tuple(p for p in made.inputs if p.name != _REST)
    ports = (*rest, ProgramPort("p", (len(used),), used)) if used else rest
    return replace(made, inputs=ports)
