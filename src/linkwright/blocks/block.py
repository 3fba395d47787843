"""The Block: a part of a System that turns inputs into outputs, with or without memory.

A block is described as a mechanism is: it owns its symbols, and every part of it is an expression.

- `state`: continuous; integrated with its rate. In a block that is added at a rate, it advances at
  the block's instants instead, exactly for inputs that hold (`linkwright.blocks.discretization`).
- `memory`: discrete; gets its next value at the block's instants, or, in a continuous block, once
  after each accepted step of the integration, never within one.
- `output`: computed from inputs, states and memory as they are *before* the update. Outputs of a
  sampled block hold until its next instant (a zero-order hold).

The rate is part of what a block is: what needs instants (noise, delays, the period) rejects to be
added without a rate.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from linkwright.algebra import PI, Expr, cos, evaluate, exp, free_symbols, log, sqrt, symbol, where
from linkwright.base.arguments import worded
from linkwright.blocks.numbers import checked
from linkwright.blocks.ports import BlockRelation, BlockState, Crossing, Noise, Parameter, Port
from linkwright.blocks.rates import BlockError, Continuous, Rate, Sampled, Ticks
from linkwright.blocks.workspace import BlockWorkspace, Value


class Block(BlockWorkspace):
    """A part of a System.

    Args:
        name: a word that names it.
        rate: hertz, a `Rate`, or None where that is said when it is added.
        doc: one line that says what it is.

    >>> b = Block("lag")
    >>> u = b.input("u", unit="V")
    >>> T = b.parameter("T", 0.1, unit="s", sign="positive")
    >>> x = b.state("x", unit="V")
    >>> b.derivative(x, (u - x) / T)
    >>> b.output("y", x, unit="V")
    y
    >>> b.states[x].following
    (u - x)/T
    """

    learns_rate: ClassVar[bool] = False
    """Whether it is made anew for the rate at which it is added."""

    # -- what goes in ------------------------------------------------------------------------------
    def input(self, name: str, default: Value = 0.0, *, unit: str = "?", doc: str = "") -> Expr:
        """Return the symbol of a new input port.

        Args:
            name: its name.
            default: what it is where nothing drives it.
            unit: its unit.
            doc: what it is.

        >>> Block("b").input("u", unit="N")
        u
        """
        return self._input(name, (), [default], unit, doc)[0]

    def input_vector(
        self,
        name: str,
        count: int | tuple[int, ...],
        default: Value | Sequence[Value] = 0.0,
        *,
        unit: str | Sequence[str] = "?",
        doc: str = "",
    ) -> tuple[Expr, ...]:
        """Return the symbols of a new input port with several entries, in C order.

        Args:
            name: its name.
            count: its number of entries, or its shape.
            default: what its entries are where nothing drives it: one for all, or one each.
            unit: the unit of the entries, or one for each.
            doc: what it is.

        >>> Block("b").input_vector("q", 2)
        (q[0], q[1])
        """
        shape = (count,) if isinstance(count, int) else count
        alone = isinstance(default, int | float | str | Expr)
        values = [default] * math.prod(shape) if alone else list(default)
        return self._input(name, shape, values, unit, doc)

    def _input(
        self,
        name: str,
        shape: tuple[int, ...],
        values: Sequence[Value],
        unit: str | Sequence[str],
        doc: str,
    ) -> tuple[Expr, ...]:
        self._refuse_taken(name)
        for value in values:
            if isinstance(value, float):
                checked(value, f"{name} of {self.name!r}")
        defaults = tuple(self.expr(v) for v in values)
        made = self._symbols(name, shape, "input", unit)
        self.inputs[name] = Port(name, _common(made), shape, made, defaults, doc=doc)
        return made

    def default_source(self, port: str, block: Block, name: str) -> None:
        """Let an input port be driven by another block of the same System unless it is connected.

        A parameter is that of the other block unless it is given a value.

        Args:
            port: of this block, or its parameter.
            block: the other one, which is added to the System before this one.
            name: of the other block's output, state or parameter.

        >>> from linkwright import System
        >>> first, second = Block("first"), Block("second")
        >>> y, u = first.output("y", 3), second.input("u")
        >>> second.default_source("u", first, "y")
        >>> s = System(name="s")
        >>> members = s.add(first), s.add(second)
        >>> s.inputs()
        {}
        """
        if port not in self.inputs and port not in self.parameters:
            raise BlockError(f"the block {self.name!r} has no input or parameter {port!r}")
        self.sources[port] = (block, name)

    @worded
    def parameter(
        self,
        name: str,
        value: float | Expr,
        *,
        unit: str = "?",
        sign: str = "",
        doc: str = "",
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> Expr:
        """Return a new parameter.

        Args:
            name: its name.
            value: its value unless another is given: a finite number; or an expression of other
                parameters, which it follows wherever they are set, until it is set itself.
            unit: its unit.
            sign: "positive" or "nonzero" where that is promised.
            doc: what it is.
            lower: the smallest value that makes sense; a smaller one is rejected, here and where a
                run gives it another value.
            upper: the greatest.

        >>> b = Block("b")
        >>> K = b.parameter("K", 10.0, unit="N/m")
        >>> c = b.parameter("c", 2 * K)
        >>> b.parameters["c"].value
        20.0
        """
        self._refuse_taken(name)
        default = value if isinstance(value, Expr) else None
        number: float = 0.0 if isinstance(value, Expr) else value
        if default is not None:
            number = evaluate(default, self._known_numbers(default, f"{name} of {self.name!r}"))
        made = self._symbol(name, "parameter", unit, sign)
        blank = Parameter(made, 0.0, unit, doc, lower, upper, default)
        self.parameters[name] = replace(blank, value=blank.checked(number, self.name))
        return made

    def require(self, holds: Value, why: str = "") -> None:
        """Reject values of parameters for which a relation does not hold, here and in runs.

        Args:
            holds: such as `low < high`, of parameters, of the period, and of inputs while nothing
                drives them.
            why: in a few words.

        >>> b = Block("b")
        >>> low, high = b.parameter("low", 0.0), b.parameter("high", 1.0)
        >>> b.require(low < high)
        """
        relation = BlockRelation(self.expr(holds), why)
        pairs = [z for p in self.inputs.values() for z in zip(p.symbols, p.values, strict=True)]
        open_ = {x: float(value.data) for x, value in pairs if value.op == "num"}
        if self.period not in free_symbols(relation.holds):  # which is known where it is added
            known = self._known_numbers(relation.holds, f"a relation of {self.name!r}", open_)
            relation.check(known, self.name)
        self.requirements.append(relation)

    def _known_numbers(
        self, read: Expr, what: str, more: Mapping[Expr, float] | None = None
    ) -> dict[Expr, float]:
        """Return the values of parameters in an expression that may read nothing else."""
        known = {p.symbol: p.value for p in self.parameters.values()} | dict(more or {})
        for x in free_symbols(read):
            if x not in known:
                raise BlockError(f"{what} depends on {x}, which is not a parameter of it")
        return known

    def noise(self, name: str = "noise") -> Expr:
        """Return a standard normal number that is new at each instant of the block.

        Args:
            name: of its stream; it depends on the seed, the block's name, the run and the instant.

        >>> b = Block("sensor", rate=100)
        >>> n = b.noise()
        >>> [stream.name for stream in b.noises]
        ['noise']
        """
        stream = self._stream(name)
        return sqrt(-2 * log(stream.first)) * cos(2 * PI * stream.second)

    def uniform(self, name: str = "noise") -> Expr:
        """Return a number, uniform in (0, 1), that is new at each instant of the block.

        Args:
            name: of its stream.

        >>> b = Block("dither", rate=100)
        >>> b.output("y", b.uniform() - 0.5)
        y
        """
        return self._stream(name).first

    def _stream(self, name: str) -> Noise:
        self._refuse_taken(name)
        a, b = (symbol(f"{name}.{c}", "input", owner=self.owner, unit="1") for c in ("a", "b"))
        made = Noise(name, a, b)
        self.noises.append(made)
        self._streams.add(name)
        return made

    # -- what it remembers -------------------------------------------------------------------------
    def state(
        self,
        name: str,
        derivative: Value = None,
        initial: Value = 0.0,
        *,
        unit: str = "?",
        doc: str = "",
    ) -> Expr:
        """Return a new continuous state.

        Args:
            name: its name.
            derivative: its rate; or say it later, with `derivative`.
            initial: where it starts, a number or an expression of parameters.
            unit: its unit.
            doc: what it is.

        >>> b = Block("b")
        >>> b.state("x", "-2*x", 1.0)
        x
        """
        return self._state(self.states, name, "coordinate", derivative, initial, unit, doc)

    def derivative(self, state: Expr, value: Value, *, step: Value = None) -> None:
        """Say the rate of a continuous state.

        Args:
            state: what `state` returned.
            value: its rate.
            step: its next value where the block runs at a rate, with `period`; by default the
                exact one for inputs that hold.
        """
        self._follow(self.states, state, value, "continuous state")
        if step is not None:
            self.states[state] = replace(self.states[state], step=self.expr(step))

    def discrete_state(
        self,
        name: str,
        update: Value = None,
        initial: Value = 0.0,
        *,
        unit: str = "?",
        doc: str = "",
    ) -> Expr:
        """Return a new discrete state.

        Args:
            name: its name.
            update: its next value; or say it later, with `update`.
            initial: where it starts.
            unit: its unit.
            doc: what it is.

        >>> b = Block("counter", rate=10)
        >>> n = b.discrete_state("n", "n + 1")
        >>> b.discrete_states[n].following
        1 + n
        """
        return self._state(self.discrete_states, name, "discrete", update, initial, unit, doc)

    def update(self, memory: Expr, value: Value) -> None:
        """Say the next value of a discrete state.

        Args:
            memory: what `memory` returned.
            value: its next value.
        """
        self._follow(self.discrete_states, memory, value, "discrete state")

    def delay(self, value: Value, ticks: int, initial: Value = 0.0, *, name: str = "") -> Expr:
        """Return what a value was so many instants of the block ago.

        Args:
            value: an expression of the block.
            ticks: how many instants, 1 or more.
            initial: what it was before the start; None for what it is at the first instant.
            name: of the places that remember it.

        >>> b = Block("late", rate=100)
        >>> u = b.input("u")
        >>> b.delay(u, 2)
        late1[0]
        """
        if not float(ticks).is_integer() or ticks < 1:
            raise BlockError(
                f"block {self.name!r} cannot delay by {ticks} instants",
                remedy="delay by a whole number of them, 1 or more",
            )
        stem = name or f"late{1 + sum(m.name.endswith('[0]') for m in self.discrete_states)}"
        coming = now = self.expr(value)
        begun = self.discrete_state(f"{stem}_begun", 1) if initial is None else None
        start = 0.0 if initial is None else initial
        for i in reversed(range(int(ticks))):
            following = coming if begun is None else where(begun > 0, coming, now)
            coming = self.discrete_state(f"{stem}[{i}]", following, start)
        return coming if begun is None else where(begun > 0, coming, now)

    def _state(
        self,
        table: dict[Expr, BlockState],
        name: str,
        role: str,
        following: Value,
        initial: Value,
        unit: str,
        doc: str,
    ) -> Expr:
        self._refuse_taken(name)
        start = self.expr(initial)
        made = self._symbol(name, role, unit)
        table[made] = BlockState(made, None, start, unit, doc)
        if following is not None:
            table[made] = BlockState(made, self.expr(following), start, unit, doc)
        return made

    def _follow(self, table: dict[Expr, BlockState], state: Expr, value: Value, what: str) -> None:
        known = table.get(state)
        if known is None:
            raise BlockError(f"{state} is not a {what} of the block {self.name!r}")
        table[state] = BlockState(state, self.expr(value), known.initial, known.unit, known.doc)

    # -- what comes out ----------------------------------------------------------------------------
    def output(
        self, name: str, value: Value, *, unit: str = "?", initial: float = 0.0, doc: str = ""
    ) -> Expr:
        """Return the symbol of a new output port.

        Args:
            name: its name.
            value: what it is.
            unit: its unit.
            initial: what it holds before the first instant of a sampled block.
            doc: what it is.

        >>> b = Block("b")
        >>> u = b.input("u")
        >>> b.output("y", 2 * u)
        y
        """
        return self._output(name, (), [value], unit, initial, doc)[0]

    def output_vector(
        self,
        name: str,
        values: Sequence[Value],
        *,
        unit: str | Sequence[str] = "?",
        initial: float = 0.0,
        doc: str = "",
        labels: Sequence[str] = (),
    ) -> tuple[Expr, ...]:
        """Return the symbols of a new output port with several entries.

        Args:
            name: its name.
            values: what its entries are.
            unit: the unit of the entries, or one for each.
            initial: what they hold before the first instant of a sampled block.
            doc: what it is.
            labels: names of the entries; by default they are numbered.

        >>> b = Block("b")
        >>> b.output_vector("tau", [1, 2])
        (tau[0], tau[1])
        """
        return self._output(name, (len(values),), values, unit, initial, doc, tuple(labels))

    def _output(
        self,
        name: str,
        shape: tuple[int, ...],
        values: Sequence[Value],
        unit: str | Sequence[str],
        initial: float,
        doc: str,
        labels: tuple[str, ...] = (),
    ) -> tuple[Expr, ...]:
        exprs = tuple(self.expr(v) for v in values)
        self._refuse_taken(name)
        made = self._symbols(name, shape, "input", unit, labels)
        self.outputs[name] = Port(
            name, _common(made), shape, made, exprs, float(initial), doc, labels
        )
        return made

    def event(
        self,
        name: str,
        value: Value,
        *,
        direction: int = 0,
        terminal: bool = False,
        resets: Mapping[Expr, Value] | None = None,
        at_start: bool = False,
    ) -> None:
        """Let something happen where a value goes through zero.

        Args:
            name: what happens then.
            value: the expression.
            direction: 1 where it rises, -1 where it falls, 0 for both.
            terminal: whether the run ends there.
            resets: new values of states and memory, by symbol.
            at_start: whether it happens at the start, too, where the value is beyond zero there,
                in its direction; where it is zero, as soon as it goes beyond.
        """
        if at_start and not direction:
            raise BlockError(
                f"the event {name!r} of {self.name!r} cannot happen at the start",
                remedy="give it a direction, 1 or -1, which says on which side it is beyond zero",
            )
        new = tuple((x, self.expr(v)) for x, v in (resets or {}).items())
        made = Crossing(name, self.expr(value), direction, terminal, new, at_start)
        self.crossings.append(made)

    # -- checks ------------------------------------------------------------------------------------
    @property
    def needs_rate(self) -> bool:
        """Whether the block makes sense only at instants: noise, the period, a Python function."""
        if self.noises or self.function is not None:
            return True
        return self.period in free_symbols(*self.expressions())

    def expressions(self) -> Iterable[Expr]:
        """Yield everything that the block computes."""
        for statement in self.statements:
            yield from statement.operands
        for port in self.outputs.values():
            yield from port.values
        for state in (*self.states.values(), *self.discrete_states.values()):
            if state.following is None:
                raise BlockError(
                    f"block {self.name!r} does not say how {state.symbol} goes on",
                    remedy="give its derivative or its update",
                )
            yield state.following
        for crossing in self.crossings:
            yield crossing.value
            yield from (value for _, value in crossing.resets)

    def check_rate(self, rate: Rate) -> None:
        """Reject a rate with which the block makes no sense."""
        if isinstance(rate, Continuous) and self.needs_rate:
            raise BlockError(
                f"block {self.name!r} works at instants, but it was given no rate",
                remedy="add it with rate=..., in hertz",
            )
        made = self.designed_for
        runs = rate.period if isinstance(rate, Sampled) else None
        if made not in (None, runs) and not isinstance(rate, Ticks):  # which a clock makes a period
            raise BlockError(
                f"block {self.name!r} was made for {Sampled(made)}, but it is to run at {rate}",
                remedy="make it for the rate at which it runs, or give no rate where it is added",
            )

    def at_rate(self, rate: Rate) -> Block:
        """Return the block as it runs at a rate: itself, unless its numbers depend on that.

        >>> from linkwright.blocks import sampled
        >>> from linkwright.control import PID
        >>> PID(2.0, kd=1.0).at_rate(sampled(100)).needs_rate
        True
        """
        self.check_rate(rate)
        if not self.learns_rate or self.rate is not None or isinstance(rate, Continuous):
            return self
        if "rate" not in inspect.signature(type(self)).parameters:
            raise BlockError(
                f"block {self.name!r} is made for its rate, but a {type(self).__name__} takes none",
                remedy=f"let {type(self).__name__} take rate=..., and hand it on",
            )
        return type(self)(**{**self.made_with[1], "rate": rate})

    def slope_of_lag(self, a: Expr) -> Expr:
        """Return by what a value less its lag, x' = a (u - x), is multiplied to be its slope.

        That is a itself, or, in a block that is made with a rate, what is exact for values that
        change evenly between instants: (1 - exp(-a period)) / period.

        Args:
            a: of the lag, 1/s.

        >>> b = Block("b", rate=100)
        >>> b.slope_of_lag(b.parameter("a", 2.0))
        -(exp(-a*period) - 1)/period
        """
        return a if self.rate is None else (1 - exp(-a * self.period)) / self.period

    def __repr__(self) -> str:
        taken, given = ", ".join(self.inputs), ", ".join(self.outputs)
        return f"{type(self).__name__}({self.name}: {taken or 'nothing'} -> {given or 'nothing'})"


def _common(entries: Sequence[Expr]) -> str:
    """Return the unit of a port, "?" where entries have different ones."""
    units = {x.data.unit for x in entries}
    return units.pop() if len(units) == 1 else "?"
