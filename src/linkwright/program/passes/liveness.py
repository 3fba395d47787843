"""Liveness: statements that no output needs are removed, inside loops as well.

AUTOSIM decides what to print after the derivation, because a recursive derivation cannot know
earlier what will be needed (Sayers' thesis, sections 5.3 and 8.5). A loop keeps the carried values
and arrays that something reads, directly or through other carried values; a solve keeps the right
sides whose unknowns are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linkwright.algebra.expr import Expr
from linkwright.program.program import Call, Loop, Program, Solve, Statement


def liveness(program: Program) -> Program:
    """Return the Program without what no output needs.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.program import Assign, program
    >>> x, a, b = symbol("x", "coordinate"), symbol("a", "local"), symbol("b", "local")
    >>> p = program("f", {"x": x}, {"f": a}, statements=[Assign(a, 2 * x), Assign(b, 3 * a)])
    >>> [s.target for s in liveness(p).statements]
    [a]
    """
    called: dict[int, Program] = {}
    return _program(program, called)


def _program(program: Program, called: dict[int, Program]) -> Program:
    live = _Live()
    live.need(program.output_values())
    statements = _block(program.statements, live, called)
    return program.with_statements(statements)


class _Live:
    """The expressions that are needed, symbols among them."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: set[Expr] = set()

    def need(self, exprs: Iterable[Expr]) -> None:
        seen = self.seen
        stack = [x for x in exprs if x not in seen]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(node.args)

    def any(self, symbols: Iterable[Expr]) -> bool:
        return any(x in self.seen for x in symbols)


def _block(
    statements: Sequence[Statement], live: _Live, called: dict[int, Program]
) -> list[Statement]:
    kept: list[Statement] = []
    for statement in reversed(statements):
        if not live.any(statement.targets):
            continue
        if isinstance(statement, Loop):
            statement = _loop(statement, live, called)
            live.need(statement.outer_reads)
        elif isinstance(statement, Solve):
            statement = _solve(statement, live)
        elif isinstance(statement, Call):
            inner = called.get(id(statement.program))
            if inner is None:
                inner = called[id(statement.program)] = _program(statement.program, called)
            statement = replace(statement, program=inner)
        live.need(statement.operands)
        kept.append(statement)
    kept.reverse()
    return kept


def _solve(solve: Solve, live: _Live) -> Solve:
    n = solve.size
    columns = [k for k in range(0, len(solve.targets), n) if live.any(solve.targets[k : k + n])]
    return replace(
        solve,
        right=tuple(x for k in columns for x in solve.right[k : k + n]),
        targets=tuple(x for k in columns for x in solve.targets[k : k + n]),
    )


def _loop(loop: Loop, outside: _Live, called: dict[int, Program]) -> Loop:
    stacked = tuple(s for s in loop.stacked if outside.any(s.targets))
    carried = {c.symbol for c in loop.carried if c.final in outside.seen}
    while True:
        inside = _Live()
        inside.need(c.following for c in loop.carried if c.symbol in carried)
        inside.need(s.value for s in stacked)
        body = _block(loop.body, inside, called)
        more = {c.symbol for c in loop.carried if c.symbol in inside.seen} | carried
        if more == carried:
            break
        carried = more
    return replace(
        loop,
        carried=tuple(c for c in loop.carried if c.symbol in carried),
        scanned=tuple(s for s in loop.scanned if s.symbol in inside.seen),
        stacked=stacked,
        body=tuple(body),
    )
