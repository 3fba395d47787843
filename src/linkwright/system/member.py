"""Members of a System: blocks under names of their own.

A block owns its symbols; its member in a System has the System's, called `member.name`. Ports of a
member are these symbols, so that wiring is by expressions: `s.connect(2 * a.y - b.y, c.u)`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from linkwright.algebra import Expr, as_expr, free_symbols, substitute_all, symbol
from linkwright.blocks import (
    Block,
    BlockError,
    BlockState,
    Continuous,
    Element,
    Port,
    Rate,
    Sampled,
    Ticks,
    with_targets,
)
from linkwright.blocks.discretization import advanced
from linkwright.program import Assign, Call, Statement


@dataclass(frozen=True, slots=True)
class Wire:
    """What drives an input: an expression, and whether it closes a loop that is to be solved."""

    value: Expr
    solved: bool = False


class Member:
    """A block in a System. Ports are its attributes: one symbol, or a tuple of an array's."""

    def __init__(self, name: str, block: Block, rate: Rate, owner: str, time: Expr) -> None:
        self.name = name
        self.block = self.added_block = block
        """What it runs, and what was added: not the same where numbers depend on the rate."""
        self.rate = rate
        self.held = not isinstance(rate, Continuous)
        self.symbols: dict[Expr, Expr] = {block.time: time}
        if isinstance(block, Element):
            self.symbols[block.mechanism.time] = time
        if isinstance(rate, Sampled):
            self.set_period(rate.period)
        self._owner = owner
        self._now: dict[Expr, Expr] = {}
        self._advanced: tuple[dict[Expr, Expr], list[Call]] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Take up what was added to the block since."""
        self.symbols |= _symbols(self.name, self.block, self.held, self._owner)
        computed = self.held and self.block.function is None
        self._now = _read_inside(self.name, self.block, self._owner) if computed else {}
        self._advanced = None

    def __getattr__(self, name: str) -> Any:
        """Return the symbol of a port, state or parameter; of an array, the tuple of symbols."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        """Return the same by name, where the name is that of something else too."""
        block = self.block
        port = block.inputs.get(name) or block.outputs.get(name)
        if port is not None:
            found = self.of(port.symbols)
            return found if port.shape else found[0]
        inner = block.names().get(name)
        if isinstance(inner, Expr):
            return self.symbols[inner]
        there = ", ".join([*block.inputs, *block.outputs])
        raise BlockError(f"{self.name!r} has no port {name!r}", remedy=f"it has {there}")

    def of(self, exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        """Return expressions of the block in the System's symbols."""
        exprs = tuple(exprs)
        known = [self.symbols.get(x) for x in exprs]  # most are symbols
        if any(x is None for x in known):
            return tuple(substitute_all(exprs, self.symbols))
        return cast("tuple[Expr, ...]", tuple(known))

    def _inside(self, exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        """Return expressions that the block computes at an instant: there, its own outputs are
        what they become at this instant, and not what was held until then."""
        known: Mapping[Expr, Expr] = (
            ChainMap(self._now, self.symbols) if self._now else self.symbols
        )
        return tuple(substitute_all(exprs, known))

    def inputs(self) -> Iterable[tuple[Port, tuple[Expr, ...]]]:
        """Yield the input ports with their symbols in the System."""
        for port in self.block.inputs.values():
            yield port, self.of(port.symbols)

    def outputs(self) -> Iterable[tuple[Port, tuple[Expr, ...], tuple[Expr, ...]]]:
        """Yield the output ports with their symbols and their values."""
        for port in self.block.outputs.values():
            yield port, self.of(port.symbols), self._inside(port.values)

    def statements(self) -> Iterable[Statement]:
        """Yield what the block computes on the way."""
        calls = self._stepped()[1] if self.held and self.block.states else []
        for statement in (*self.block.statements, *calls):
            read = statement.with_operands(self._inside(statement.operands))
            yield with_targets(read, self.of(statement.targets))
        for port in self.block.outputs.values():
            for x, value in zip(port.symbols, self._inside(port.values), strict=True):
                if x in self._now:
                    yield Assign(self._now[x], value)

    def integrated(self) -> Iterable[tuple[BlockState, Expr, Expr]]:
        """Yield the states that are integrated, with their symbols and rates."""
        if not self.held:
            yield from self._states(self.block.states)

    def remembered(self) -> Iterable[tuple[BlockState, Expr, Expr]]:
        """Yield the discrete states with their symbols and next values."""
        yield from self._states(self.block.discrete_states)
        if self.held:
            new, _ = self._stepped()
            for state, x, _ in self._states(self.block.states):
                yield state, x, self._inside([new[state.symbol]])[0]

    def _stepped(self) -> tuple[dict[Expr, Expr], list[Call]]:
        """Return the next values of the states of a block with a rate, and what they read."""
        if self._advanced is None:
            self._advanced = advanced(self.block, self.symbols[self.block.period])
            for x in (x for call in self._advanced[1] for x in call.targets):
                self.symbols[x] = symbol(f"{self.name}.{x.name}", "local", owner=self._owner)
        return self._advanced

    def beginnings(self) -> Iterable[tuple[Expr, Expr]]:
        """Yield the states, integrated and discrete, each with where it starts."""
        states = [*self.block.states.values(), *self.block.discrete_states.values()]
        symbols = self.of(state.symbol for state in states)
        yield from zip(symbols, self.of(state.initial for state in states), strict=True)

    def _states(self, table: Mapping[Expr, BlockState]) -> Iterable[tuple[BlockState, Expr, Expr]]:
        states = list(table.values())
        following: list[Expr] = []
        for state in states:
            if state.following is None:
                raise BlockError(
                    f"block {self.name!r} does not say how {state.symbol} goes on",
                    remedy="give its derivative or its update",
                )
            following.append(state.following)
        symbols = self.of(state.symbol for state in states)
        yield from zip(states, symbols, self._inside(following), strict=True)

    def set_period(self, period: Fraction) -> None:
        """Let the block know its period, s, where it counts ticks of the System's base clock."""
        if isinstance(self.rate, Ticks):
            self.block.check_rate(Sampled(period))
        self.symbols[self.block.period] = as_expr(period)
        self._advanced = None

    def __repr__(self) -> str:
        return f"Member({self.name}, {self.rate})"


def _read_inside(name: str, block: Block, owner: str) -> dict[Expr, Expr]:
    """Return a symbol for each output that the block itself reads, for its value at an instant."""
    read = [x for statement in block.statements for x in statement.operands]
    read += [value for port in block.outputs.values() for value in port.values]
    for state in (*block.states.values(), *block.discrete_states.values()):
        read += [x for x in (state.following, state.step) if x is not None]
    inside = set(free_symbols(*read))
    return {
        x: symbol(f"{name}.now.{x.name}", "local", owner=owner, unit=x.data.unit)
        for port in block.outputs.values()
        for x in port.symbols
        if x in inside
    }


def _symbols(name: str, block: Block, held: bool, owner: str) -> dict[Expr, Expr]:
    """Return the System's symbol for each symbol of a block."""

    def own(x: Expr, role: str) -> Expr:
        info = x.data
        return symbol(f"{name}.{x.name}", role, owner=owner, unit=info.unit, sign=info.sign)

    found: dict[Expr, Expr] = {}
    for port in block.inputs.values():
        found.update((x, own(x, "input")) for x in port.symbols)
    for port in block.outputs.values():
        found.update((x, own(x, "discrete" if held else "input")) for x in port.symbols)
    found.update((p.symbol, own(p.symbol, "parameter")) for p in block.parameters.values())
    found.update((x, own(x, "discrete" if held else "coordinate")) for x in block.states)
    found.update((x, own(x, "discrete")) for x in block.discrete_states)
    for stream in block.noises:
        found.update((x, own(x, "input")) for x in (stream.first, stream.second))
    for statement in block.statements:
        found.update((x, own(x, "local")) for x in statement.targets)
    return found
