"""Definitions: what each symbol of a System stands for, and in which order to compute it.

Ports, intermediate results and equations of motion are one table from symbols to statements. A
Program of a phase is the part of the table that its results need, in order. Where there is no
order, the wiring has an algebraic loop: each member of it needs the others' values at the same
instant.

A loop may be declared solved: its unknowns z = F(z) are found by Newton's method, in one step
where F is linear in z, otherwise in a given number of steps from zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linkwright.algebra import ONE, ZERO, Expr, diff, free_symbols, substitute_all, symbol
from linkwright.blocks import BlockError, with_targets
from linkwright.blocks.element import stepped
from linkwright.program import Assign, Loop, Solve, Statement
from linkwright.program.passes.replacement import with_reads

PASSES = 3
"""Of a table with choices that change what they follow from."""


class AlgebraicLoop(BlockError):
    """Members of a System that need each other's outputs at the same instant."""


@dataclass(slots=True)
class Definitions:
    """A table of statements."""

    statements: dict[Expr, Statement] = field(default_factory=dict)
    homes: dict[Expr, str] = field(default_factory=dict)
    _reads: dict[Expr, tuple[Expr, ...]] = field(default_factory=dict)

    def add(self, statement: Statement, home: str) -> None:
        """Enter a statement; `home` names the member that it belongs to."""
        for target in statement.targets:
            self.statements[target] = statement
            self.homes[target] = home

    def let(self, target: Expr, value: Expr, home: str) -> None:
        """Enter what a symbol stands for."""
        self.add(Assign(target, value), home)

    def copy(self) -> Definitions:
        """Return a table that can be added to without changing this one."""
        return Definitions(dict(self.statements), dict(self.homes), dict(self._reads))

    def replaced(self, values: Mapping[Expr, Expr], home: str) -> Definitions:
        """Return the table with other values of some symbols."""
        made = self.copy()
        for target, value in values.items():
            made._reads.pop(target, None)
            made.let(target, value, home)
        return made

    def reads(self, target: Expr) -> tuple[Expr, ...]:
        """Return the symbols that the definition of one needs directly."""
        found = self._reads.get(target)
        if found is None:
            statement = self.statements[target]
            found = free_symbols(*statement.operands)
            if isinstance(statement, Loop):
                found = (*found, *statement.outer_reads)
            self._reads[target] = found
        return found

    def ordered(self, roots: Iterable[Expr]) -> list[Statement]:
        """Return the statements that expressions need, each after those it reads."""
        order: list[Statement] = []
        done: set[Expr] = set()
        for root in free_symbols(*roots):
            path: dict[Expr, Iterator[Expr]] = {}
            self._enter(root, path, done)
            while path:
                top = next(reversed(path))
                following = next(path[top], None)
                if following is None:
                    del path[top]
                    if top not in done:
                        statement = self.statements[top]
                        done.update(statement.targets)
                        order.append(statement)
                elif following in path:
                    self._complain(list(path), following)
                else:
                    self._enter(following, path, done)
        return order

    def _enter(self, x: Expr, path: dict[Expr, Iterator[Expr]], done: set[Expr]) -> None:
        if x in self.statements and x not in done:
            path[x] = iter(self.reads(x))

    def _complain(self, path: Sequence[Expr], again: Expr) -> None:
        names: list[str] = []
        for x in path[path.index(again) :]:
            if not names or names[-1] != self.homes[x]:
                names.append(self.homes[x])
        if len(names) > 1 and names[0] == names[-1]:
            names.pop()
        shown = loop_in_words(names[::-1])
        raise AlgebraicLoop(
            f"algebraic loop: {shown}; each needs the value before it at the same instant",
            remedy="give one of them a state, a rate or a delay, or connect with solve=True",
        )

    def leaves(self, statements: Iterable[Statement], roots: Iterable[Expr]) -> set[Expr]:
        """Return the symbols that statements and expressions read but that have no definition."""
        found = {x for x in free_symbols(*roots) if x not in self.statements}
        for statement in statements:
            for x in self.reads(statement.targets[0]):
                if x not in self.statements:
                    found.add(x)
        return found

    def reached(self, roots: Iterable[Expr], wanted: Mapping[Expr, str]) -> set[str]:
        """Return what is found behind expressions: the names of the wanted symbols there."""
        return {wanted[x] for x in self.leaves(self.ordered(roots), roots) if x in wanted}


def loop_in_words(names: Sequence[str]) -> str:
    """Return a loop of members as text, beginning with the first by name.

    >>> loop_in_words(["c", "a", "b"])
    'a -> b -> c -> a'
    """
    first = names.index(min(names))
    return " -> ".join([*names[first:], *names[:first], names[first]])


def with_solution(
    table: Definitions, unknowns: Mapping[Expr, Expr], steps: int, owner: str
) -> Definitions:
    """Return the table with the unknowns of algebraic loops solved for."""
    z = list(unknowns)
    apart = table.copy()
    for x in z:
        apart.statements.pop(x, None)
    image = _inlined(apart, list(unknowns.values()))
    slopes = [[diff(f, x) for x in z] for f in image]
    unknown = set(z)
    linear = not any(unknown & set(free_symbols(s)) for row in slopes for s in row)
    made = apart.copy()
    guess: list[Expr] = [ZERO] * len(z)
    for k in range(1 if linear else steps):
        now = dict(zip(z, guess, strict=True))
        matrix = [
            (ONE if i == j else ZERO) - s
            for i, row in enumerate(slopes)
            for j, s in enumerate(substitute_all(row, now))
        ]
        right = [f - g for f, g in zip(substitute_all(image, now), guess, strict=True)]
        moves = [symbol(f"loop{k}.{i}", "local", owner=owner) for i in range(len(z))]
        home = " and ".join(sorted({table.homes.get(x, "a connection") for x in z}))
        made.add(Solve(len(z), tuple(matrix), tuple(right), tuple(moves)), home)
        following = [symbol(f"loop{k}.{i}.z", "local", owner=owner) for i in range(len(z))]
        for x, old, move in zip(following, guess, moves, strict=True):
            made.let(x, old + move, home)
        guess = list(following)
    for x, value in zip(z, guess, strict=True):
        made.let(x, value, table.homes.get(x, "a connection"))
    return made


def with_choices(table: Definitions, guesses: Mapping[Expr, Expr], owner: str) -> Definitions:
    """Return the table with choices made that depend on what they change.

    Each pass computes all that depends on the choices from those before it, and makes them again.
    One pass finds a single choice. Signs of torques, of which there is one set since each joint's
    torque falls with its acceleration, are found by three: 200,000 random arms took no more.
    """

    def of_pass(x: Expr, k: int) -> Expr:
        return symbol(f"{x.name}.pass{k}", "local", owner=owner)

    apart = table.copy()
    values = [apart.statements.pop(x).operands[0] for x in guesses]
    for x in guesses:
        apart._reads.pop(x, None)
    made, ordered, now = apart.copy(), apart.ordered(values), dict(guesses)
    for k in range(min(len(guesses), PASSES) + 1):
        if k:
            names = dict(now)
            for statement in ordered:
                read, plain = apart.reads(statement.targets[0]), stepped(statement.operands)
                if any(x in names for x in read) or tuple(plain) != tuple(statement.operands):
                    names |= {x: of_pass(x, k) for x in statement.targets}
                    renamed = with_names(statement.with_operands(plain), names)
                    made.add(renamed, table.homes[statement.targets[0]])
            now = dict(zip(guesses, stepped(substitute_all(values, names)), strict=True))
        for x, value in now.items():
            now[x] = of_pass(x, k)
            made.let(now[x], value, table.homes[x])
    for x, value in now.items():
        made.let(x, value, table.homes[x])
    return made


def with_names(statement: Statement, names: Mapping[Expr, Expr]) -> Statement:
    """Return a statement with some symbols under other names."""
    made = with_reads(statement, names)
    made = made.with_operands(substitute_all(made.operands, names))
    if any(x in names for x in statement.targets):
        made = with_targets(made, [names.get(x, x) for x in statement.targets])
    return made


def _inlined(table: Definitions, roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions with everything that is assigned put in."""
    known: dict[Expr, Expr] = {}
    for statement in table.ordered(roots):
        if not isinstance(statement, Assign):
            continue
        known[statement.target] = substitute_all([statement.value], known)[0]
    return substitute_all(roots, known)
