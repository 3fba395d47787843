"""Applying a transformation of networks to every block of a Program.

A block is the Program's own list of statements, the body of a loop, or a called Program. Loops are
treated from the inside out: what does not change from turn to turn leaves the body. A called
Program is treated once, however often it is called; inside it nothing is free, because its
parameters are whatever the caller passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from linkwright.algebra.expr import Expr
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.program.passes.emission import NetworkWriter
from linkwright.program.passes.network import Network
from linkwright.program.program import Call, Loop, Namer, Program, Statement
from linkwright.program.rates import Rate, symbol_rate

Transform = Callable[[Network], None]


def through_networks(program: Program, transform: Transform, *, keep: bool = True) -> Program:
    """Return the Program with each of its blocks transformed as a network.

    >>> from linkwright.program import count_operations, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x + y]})
    >>> through_networks(p, lambda network: None).outputs[0].entries
    (x + y,)
    """
    with smallness_threshold(KEEP_ALL):
        return Rewriting(program, transform, keep).run(Rate.PARAMETER)


class Rewriting:
    """One run over a Program; see `through_networks`, which most callers want."""

    def __init__(
        self,
        program: Program,
        transform: Transform,
        keep: bool,
        called: dict[int, Program] | None = None,
    ) -> None:
        self.program = program
        self.transform = transform
        self.keep = keep
        self.called = {} if called is None else called
        self.locals = Namer(program, "z")
        self.constants = Namer(program, "c")

    def run(self, free: Rate) -> Program:
        """Return the rewritten Program; what has at most the rate `free` costs nothing."""
        fixed, statements, roots = self.blocks(free)
        program = self.program
        return program.with_statements([*fixed, *statements], program.map_outputs(roots))

    def blocks(
        self, free: Rate, *, name_roots: bool = False
    ) -> tuple[list[Statement], list[Statement], list[Expr]]:
        """Return fixed statements, moving statements and output values."""
        program = self.program
        moving = {
            x: int(rate)
            for x in program.input_symbols()
            if (rate := symbol_rate(x, program.slow)) > free
        }
        return self.block(program.statements, program.output_values(), moving, name_roots)

    def block(
        self,
        statements: Sequence[Statement],
        roots: Sequence[Expr],
        moving: Mapping[Expr, int],
        name_roots: bool = False,
    ) -> tuple[list[Statement], list[Statement], list[Expr]]:
        inside: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Loop):
                hoisted, loop = self.loop(statement)
                inside.extend(hoisted)
                inside.append(loop)
            elif isinstance(statement, Call):
                inside.append(replace(statement, program=self.callee(statement.program)))
            else:
                inside.append(statement)
        network = self.network(inside, roots, moving)
        return NetworkWriter(network, self.locals, self.constants).write(name_roots=name_roots)

    def network(
        self, statements: Sequence[Statement], roots: Sequence[Expr], moving: Mapping[Expr, int]
    ) -> Network:
        """Return the transformed network of a block in which loops and calls are done."""
        network = Network(moving, keep=self.keep)
        network.read(statements, roots)
        self.transform(network)
        return network

    def loop(self, loop: Loop) -> tuple[list[Statement], Loop]:
        """Return what the loop's body computes only once, and the loop without that."""
        moving = dict.fromkeys(loop.inner_symbols, int(Rate.ACCELERATION))
        hoisted, body, inner = self.block(loop.body, loop.inner_operands, moving)
        cut = len(loop.carried)
        carried = zip(loop.carried, inner[:cut], strict=True)
        stacked = zip(loop.stacked, inner[cut:], strict=True)
        return hoisted, replace(
            loop,
            carried=tuple(replace(c, following=x) for c, x in carried),
            stacked=tuple(replace(s, value=x) for s, x in stacked),
            body=tuple(body),
        )

    def callee(self, program: Program) -> Program:
        known = self.called.get(id(program))
        if known is None:
            inner = self.another(program)
            known = self.called[id(program)] = inner.run(Rate.CONSTANT)
        return known

    def another(self, program: Program) -> Rewriting:
        """Return the same rewriting of a Program that this one calls."""
        return Rewriting(program, self.transform, self.keep, self.called)
