"""What a block owns: its symbols and parts, how texts become expressions, and partial results."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

from linkwright.algebra import Expr, Scalar, as_expr, substitute_all, symbol
from linkwright.algebra.language import Scope, SymbolScope, parse
from linkwright.algebra.triples import Triple, held
from linkwright.algebra.units import checked_unit
from linkwright.base.arguments import worded
from linkwright.blocks.ports import BlockRelation, BlockState, Crossing, Noise, Parameter, Port
from linkwright.blocks.rates import BlockError, Rate, as_rate
from linkwright.program import Assign, Call, Loop, Program, Solve, Statement

Value = Any
"""A number, an expression, or a text that is read as one."""

_WORD = re.compile(r"[^\W\d]\w*\Z")


class Made:
    """Something that remembers how it was made, so that it can be written as text.

    >>> from linkwright.blocks import Delay
    >>> Delay(3, name="late").made_with
    ('Delay', {'ticks': 3, 'name': 'late'})
    """

    made_with: tuple[str, dict[str, Any]]
    """The name of what made it, and the arguments that were given."""

    def __new__(cls, *args: Any, **named: Any) -> Self:
        made = super().__new__(cls)
        keys = list(inspect.signature(cls).parameters)
        made.made_with = (cls.__name__, {**dict(zip(keys, args, strict=False)), **named})
        return made


class BlockWorkspace(Made):
    """The symbols and parts of a block; `Block` adds the words with which it is described."""

    @worded
    def __init__(
        self, name: str, *, rate: Rate | float | Fraction | None = None, doc: str = ""
    ) -> None:
        if not _WORD.match(name):
            raise BlockError(
                f"{name!r} cannot name a block", remedy="use letters, digits and underscores"
            )
        self.name = name
        self.doc = doc
        self.rate: Rate | None = None if rate is None else as_rate(rate)
        self.owner = f"block {name}"
        self.time = symbol("t", "time", owner=self.owner, unit="s")
        self.period = symbol("period", owner=self.owner, unit="s", sign="positive")
        self.inputs: dict[str, Port] = {}
        self.outputs: dict[str, Port] = {}
        self.sources: dict[str, tuple[Any, str]] = {}
        """What drives an input that is not connected: another block, and the name of a part."""
        self.parameters: dict[str, Parameter] = {}
        self.requirements: list[BlockRelation] = []
        self.states: dict[Expr, BlockState] = {}
        self.discrete_states: dict[Expr, BlockState] = {}
        self.noises: list[Noise] = []
        self.crossings: list[Crossing] = []
        self.statements: list[Statement] = []
        self._locals = 0
        self._names: dict[str, object] = {"t": self.time, "period": self.period}
        self._streams: set[str] = set()
        self.function: Callable[..., Any] | None = None
        self.uneven = ""
        """Why its instants differ from each other, so that none stands for all in linear models."""
        self.designed_for: Fraction | None = None
        """The period, s, that numbers in it count with; it runs at no other."""

    def content(self) -> tuple[object, ...]:
        """Return all that the block is made of; equal as long as nothing of it changes.

        >>> from linkwright.blocks import Block
        >>> b = Block("b")
        >>> before = b.content()
        >>> u = b.input("u")
        >>> b.content() == before
        False
        """
        tables = (self.inputs, self.outputs, self.parameters, self.states, self.discrete_states)
        lists = (self.noises, self.crossings, self.statements)
        return (*(tuple(t.values()) for t in tables), *(tuple(part) for part in lists))

    # -- what it computes on the way ---------------------------------------------------------------
    def intermediate(self, value: Value) -> Expr:
        """Return a symbol for a partial result, so that sums which share it compute it once.

        Args:
            value: the expression.

        >>> from linkwright.blocks import Block
        >>> b = Block("b")
        >>> u = b.input("u")
        >>> b.intermediate(u + 1)
        s1
        """
        made = self._local()
        self.statements.append(Assign(made, self.expr(value)))
        return made

    def _triple(self, v: Iterable[Expr]) -> Triple:
        """Return symbols for three components, numbers and symbols as they are."""
        return held(self.intermediate, v)

    def embed(
        self, program: Program, arguments: Mapping[str, Sequence[Value]]
    ) -> dict[str, tuple[Expr, ...]]:
        """Return the outputs of a Program whose inputs are expressions of this block.

        A Program with loops or with a gate becomes one call.

        Args:
            program: its parameters stay what they are where no argument is given for them.
            arguments: for its inputs by name the entries in C order.

        >>> from linkwright.program import program
        >>> from linkwright.blocks import Block
        >>> b = Block("b")
        >>> u = b.input("u")
        >>> p = program("twice", {"x": ["x"]}, {"y": lambda x: [2 * x]})
        >>> b.embed(p, {"x": [u]})
        {'y': (2*u,)}
        """
        known: dict[Expr, Scalar] = {}
        for port in program.inputs:
            if port.name in arguments:
                given = [self.expr(v) for v in arguments[port.name]]
                known.update(zip(port.entries, given, strict=True))
        if program.gate or any(isinstance(s, Loop) for s in program.statements):
            passed = tuple(as_expr(known.get(x, x)) for x in program.input_symbols())
            results = tuple(self._local() for port in program.outputs for _ in port.entries)
            self.statements.append(Call(program, passed, results))
            rest = iter(results)
            return {p.name: tuple(next(rest) for _ in p.entries) for p in program.outputs}
        for statement in program.statements:
            read = substitute_all(statement.operands, known)
            if isinstance(statement, Assign) and (read[0].is_atom or read[0].op == "num"):
                known[statement.target] = read[0]
                continue
            targets = tuple(self._local() for _ in statement.targets)
            known.update(zip(statement.targets, targets, strict=True))
            self.statements.append(with_targets(statement.with_operands(read), targets))
        return {port.name: tuple(substitute_all(port.entries, known)) for port in program.outputs}

    def _solved(
        self, matrix: Sequence[Sequence[Expr]], *rights: Sequence[Expr]
    ) -> list[tuple[Expr, ...]]:
        """Return the solutions of a linear system, with pivoting at run time."""
        n, right = len(matrix), tuple(x for column in rights for x in column)
        targets = tuple(self._local() for _ in right)
        flat = tuple(x for row in matrix for x in row)
        self.statements.append(Solve(n, flat, right, targets))
        return [targets[k : k + n] for k in range(0, len(right), n)]

    def _local(self) -> Expr:
        self._locals += 1
        return symbol(f"s{self._locals}", "local", owner=self.owner)

    # -- texts, names, checks ----------------------------------------------------------------------
    def expr(self, value: Value) -> Expr:
        """Return a number, expression or text as an expression of this block.

        Args:
            value: what to read; a text may use the names of the block's symbols, `t` and `period`.

        >>> from linkwright.blocks import Block
        >>> b = Block("b")
        >>> u = b.input("u")
        >>> b.expr("2*u + t")
        t + 2*u
        """
        return parse(value, self.scope()) if isinstance(value, str) else as_expr(value)

    def alias(self, name: str, value: Expr) -> None:
        """Let texts of this block refer to an expression by a name."""
        self._names[name] = value

    def scope(self) -> Scope:
        """Return what texts may refer to."""
        return SymbolScope(self.names())

    def names(self) -> Mapping[str, object]:
        """Return the symbols of the block by name."""
        return self._names

    def _symbol(self, name: str, role: str, unit: str, sign: str = "") -> Expr:
        """Return a new symbol of the block, which texts may refer to."""
        checked_unit(unit, f"{self.name}.{name}")
        made = symbol(name, role, owner=self.owner, unit=unit, sign=sign)
        self._names[name] = made
        return made

    def _symbols(
        self,
        name: str,
        shape: tuple[int, ...],
        role: str,
        unit: str | Sequence[str],
        labels: Sequence[str] = (),
    ) -> tuple[Expr, ...]:
        ends = [f".{label}" for label in labels] or indices(shape)
        units = [unit] * len(ends) if isinstance(unit, str) else unit
        for each in dict.fromkeys(units):
            checked_unit(each, f"{self.name}.{name}")
        return tuple(self._symbol(name + k, role, u) for k, u in zip(ends, units, strict=True))

    def _refuse_taken(self, name: str) -> None:
        taken = (self._names, self.inputs, self.outputs, self._streams)
        if any(name in names for names in taken):
            raise BlockError(f"the name {name!r} is taken in the block {self.name!r}")


def indices(shape: tuple[int, ...]) -> list[str]:
    """Return the endings of the names of an array's entries, in C order.

    >>> indices(()), indices((2,)), indices((1, 2))
    ([''], ['[0]', '[1]'], ['[0,0]', '[0,1]'])
    """
    found: list[tuple[int, ...]] = [()]
    for size in shape:
        found = [(*start, i) for start in found for i in range(size)]
    return [f"[{','.join(map(str, index))}]" if index else "" for index in found]


def with_targets(statement: Statement, targets: Sequence[Expr]) -> Statement:
    """Return an assignment, solve or call that defines other symbols.

    >>> x, y = symbol("x"), symbol("y")
    >>> with_targets(Assign(x, as_expr(2)), [y]).target
    y
    """
    if isinstance(statement, Assign):
        return replace(statement, target=targets[0])
    if isinstance(statement, Loop):
        raise BlockError("the results of a loop cannot be given other names")
    return replace(statement, targets=tuple(targets))
