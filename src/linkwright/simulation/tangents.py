"""Phases with their derivatives by parameters and starts, as phases: forward sensitivities.

Beside each state s of x and d stand its derivatives by each of m numbers. They are states of the
same System: the tangent of a Program moves them, so a step, a tick and an action move state and
derivatives at once, and every loop, batch and card runs them as they are.

At an event g(x, d, p, t) = 0 the time of the event moves as well. With f the rates before it, f+
those behind, A the action and S the derivatives (Rozenvasser 1967; Hiskens and Pai, Trajectory
sensitivity analysis of hybrid systems, IEEE Trans. Circuits and Systems 47, 2000):

    T = -(g_x S + g_d Sd + g_p) / (g_x f + g_t),
    S+ = A_x (S + f T) + A_d Sd + A_p + A_t T - f+ T

An event whose value jumps at a tick happens at the tick: T = 0. A run that an event ends is given
where it ends: the last term is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkwright.algebra import ONE, ZERO, Expr, absolute, as_expr, symbol, where
from linkwright.base.errors import Error
from linkwright.program import (
    Assign,
    Call,
    Namer,
    Program,
    ProgramPort,
    Statement,
    optimize,
    program,
)
from linkwright.program.derivatives.forward import ForwardCalls, Lanes, forward
from linkwright.simulation.native.dry_friction import dry_friction
from linkwright.system.phases import Event, Phases, Signal, Tick

AT_ONCE = 1e-9
"""How long before or behind its time an event may be noticed, s: one that is farther away is at a
tick."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tangent:
    """A Program of values and their derivatives, given those of what it is given."""

    made: Program
    values: tuple[ProgramPort, ...]
    rates: tuple[tuple[Expr, ...], ...]  # for each output and each number its derivatives in a row


def with_derivatives(
    phases: Phases,
    by: Sequence[str],
    starts: Mapping[str, Mapping[str, float]],
) -> Phases:
    """Return phases with the derivatives of all states and outputs by some numbers.

    A number is a parameter, an input, or the start of a state; `starts` gives for each of them how
    the start of each state moves with it.
    """
    _refuse(phases)
    return _Widened(phases, tuple(by), starts).phases()


def derivative_name(name: str, by: str) -> str:
    """Return how the derivative of a state or output is called.

    >>> derivative_name("q1", "kp")
    'd q1 / d kp'
    """
    return f"d {name} / d {by}"


def _refuse(phases: Phases) -> None:
    for tick in phases.ticks:
        if tick.called:
            raise Error(
                f"{tick.name!r} is a function in Python, which has no exact derivative",
                remedy="write it as expressions",
            )
    if dry_friction(phases.derivative) is not None:
        raise Error(
            f"{phases.name!r} has dry friction, which sticks: its derivative jumps",
            remedy="give friction a width of speed, or leave it out",
        )


class _Widened:
    def __init__(
        self, phases: Phases, by: tuple[str, ...], starts: Mapping[str, Mapping[str, float]]
    ) -> None:
        self.old, self.by = phases, by
        self.count = len(by)
        self.moving: dict[Expr, Lanes] = {}
        for array in ("p", "w"):
            for s in getattr(phases, array):
                if s.name in by:
                    self.moving[s.symbol] = {by.index(s.name): ONE}
        self.x, self.sx = self.wide("x", starts)
        self.d, self.sd = self.wide("d", starts)
        self.given: dict[Expr, Lanes] = {
            **self.moving,
            **{a: dict(enumerate(row)) for a, row in zip(_symbols(phases.x), self.sx, strict=True)},
            **{a: dict(enumerate(row)) for a, row in zip(_symbols(phases.d), self.sd, strict=True)},
        }

    def wide(
        self, array: str, starts: Mapping[str, Mapping[str, float]]
    ) -> tuple[tuple[Signal, ...], list[list[Expr]]]:
        """Return signals with their derivatives behind them, and the symbols of these."""
        rows: list[list[Expr]] = []
        more: list[Signal] = []
        signals: tuple[Signal, ...] = getattr(self.old, array)
        for s in signals:
            names = [derivative_name(s.name, name) for name in self.by]
            at = f"sensitivity_{array}{len(rows)}"
            rows.append([symbol(f"{at}_{k}", "speed") for k in range(self.count)])
            more += [
                replace(s, name=name, symbol=x, unit="?", value=starts.get(b, {}).get(s.name, 0.0))
                for name, x, b in zip(names, rows[-1], self.by, strict=True)
            ]
        return (*signals, *more), rows

    # -- Programs ----------------------------------------------------------------------------------
    def inputs(self, made: Program, more: Sequence[ProgramPort] = ()) -> tuple[ProgramPort, ...]:
        """Return the arrays of a Program with the wider ones."""
        found = []
        for port in made.inputs:
            signals = {"x": self.x, "d": self.d}.get(port.name)
            if signals is not None:
                own = port.entries  # a Program may have symbols of its own for what it is given
                entries = (*own, *_symbols(signals[len(own) :]))
                port = ProgramPort(port.name, (len(entries),), entries)
            found.append(port)
        return (*found, *more)

    def seeds(self, made: Program) -> dict[Expr, Lanes]:
        """Return what moves of what a Program is given."""
        found: dict[Expr, Lanes] = {}
        for port in made.inputs:
            signals = getattr(self.old, port.name, ()) if port.name in ("x", "d", "p", "w") else ()
            for entry, s in zip(port.entries, signals, strict=False):
                if s.symbol in self.given:
                    found[entry] = self.given[s.symbol]
        return found

    def tangent(self, made: Program) -> _Tangent:
        """Return a Program with the derivatives of its outputs."""
        found = forward(made, self.seeds(made), ForwardCalls())
        values = tuple(made.map_outputs(found.values))
        rates, at = [], 0
        for port in made.outputs:
            lanes = found.lanes[at : at + port.size]
            rates.append(tuple(lane.get(k, ZERO) for lane in lanes for k in range(self.count)))
            at += port.size
        whole = replace(made, inputs=self.inputs(made), outputs=values, statements=found.statements)
        return _Tangent(whole, values, tuple(rates))

    def widened(self, made: Program | None) -> Program | None:
        """Return a Program whose outputs have their derivatives behind them."""
        if made is None:
            return None
        found = self.tangent(made)
        ports = tuple(
            ProgramPort(p.name, (p.size * (1 + self.count),), (*p.entries, *rates))
            for p, rates in zip(found.values, found.rates, strict=True)
        )
        wide = replace(found.made, name=f"{made.name}_sensitive", outputs=ports)
        return optimize(wide, rounds=1)

    def plain(self, made: Program | None) -> Program | None:
        """Return a Program of values alone, given the wider arrays."""
        if made is None:
            return None
        more = []
        for port in made.inputs:
            if port.name == "d_x":  # rates of the states, for those of events
                fill = tuple(symbol(f"unused{i}", "speed") for i in range(port.size * self.count))
                more.append(
                    ProgramPort(port.name, (port.size + len(fill),), (*port.entries, *fill))
                )
        wide = self.inputs(made)
        named = {port.name: port for port in more}
        return replace(made, inputs=tuple(named.get(port.name, port) for port in wide))

    def phases(self) -> Phases:
        """Return the wider phases."""
        old = self.old
        derivative, output = self.widened(old.derivative), self.widened(old.output)
        assert derivative is not None
        outputs = [
            Signal(derivative_name(s.name, b), None, unit="?") for s in old.outputs for b in self.by
        ]
        return replace(
            old,
            x=self.x,
            d=self.d,
            derivative=derivative,
            ticks=tuple(self.tick(tick) for tick in old.ticks),
            accepted=self.widened(old.accepted),
            output=output,
            outputs=(*old.outputs, *outputs),
            events=self.plain(old.events),
            event_list=tuple(self.event(e, i) for i, e in enumerate(old.event_list)),
            turns=self.plain(old.turns),
            terms=self.plain(old.terms),
            breaks=self.plain(old.breaks),
            initialize=self.widened(old.initialize),
            rates=None,
        )

    def tick(self, tick: Tick) -> Tick:
        """Return a tick that writes derivatives too."""
        made = self.widened(tick.program)
        assert made is not None
        size = len(self.old.d)
        more = [size + slot * self.count + k for slot in tick.slots for k in range(self.count)]
        return replace(tick, program=made, slots=(*tick.slots, *more))

    # -- events ------------------------------------------------------------------------------------
    def event(self, event: Event, index: int) -> Event:
        """Return an event whose action moves derivatives as well."""
        if event.guard or (event.action is None and not event.terminal):
            return event
        return replace(event, action=self.action(event, index))

    def action(self, event: Event, index: int) -> Program:
        """Return the action of an event: what is above, as a Program."""
        old, m = self.old, self.count
        assert old.events is not None
        arrays = {n: _symbols(getattr(old, n)) for n in ("x", "d", "p", "w")}
        arrays["t"] = [old.time]
        base = [x for n in ("x", "d", "p", "w", "t") for x in arrays[n]]
        namer = Namer(None, "jump")
        statements: list[Statement] = []

        def called(made: Program, given: Sequence[Expr]) -> list[Expr]:
            targets = [namer() for port in made.outputs for _ in range(port.size)]
            statements.append(Call(made, tuple(given), tuple(targets)))
            return targets

        def let(value: Expr) -> Expr:
            target = namer()
            statements.append(Assign(target, as_expr(value)))
            return target

        def rows(names: Sequence[Signal]) -> list[dict[int, Expr]]:
            return [{k: namer() for k in range(m)} for _ in names]

        rates = called(old.derivative, base)
        # the value of the event, how it moves with each number, and with time
        g = replace(old.events, outputs=(_entry(old.events, index),))
        flow = [namer() for _ in old.x]
        gx, gd = rows(old.x), rows(old.d)
        seeds = self.renamed(g, gx, gd)
        for entry, f in zip(g.port("x").entries, flow, strict=True):
            seeds[entry] = {**seeds.get(entry, {}), m: f}
        seeds[g.port("t").entries[0]] = {m: ONE}
        value, *moves = called(
            _tangent_program(g, seeds, m + 1, [*_flat(gx), *_flat(gd), *flow]),
            [*base, *_flat(self.sx), *_flat(self.sd), *rates],
        )
        speed = moves[m]
        near = absolute(value) <= AT_ONCE * (1 + absolute(old.time)) * absolute(speed)
        safe = where(speed, speed, 1)
        times = [let(where(near, -moves[k] / safe, 0)) for k in range(m)]
        before = [
            [let(s[k] + f * times[k]) for k in range(m)]
            for s, f in zip(self.sx, rates, strict=True)
        ]
        # the action
        act = event.action or _kept(old)
        ax, ad, at = rows(old.x), rows(old.d), [namer() for _ in range(m)]
        seeds = self.renamed(act, ax, ad)
        seeds[act.port("t").entries[0]] = dict(enumerate(at))
        n, nd = len(old.x), len(old.d)
        found = called(
            _tangent_program(act, seeds, m, [*_flat(ax), *_flat(ad), *at]),
            [*base, *_flat(before), *_flat(self.sd), *times],
        )
        x, d, rest = found[:n], found[n : n + nd], found[n + nd :]
        moved_x, moved_d = rest[: n * m], rest[n * m :]
        if not event.terminal:
            behind = called(old.derivative, [*x, *d, *arrays["p"], *arrays["w"], old.time])
            moved_x = [
                let(moved_x[i * m + k] - behind[i] * times[k]) for i in range(n) for k in range(m)
            ]
        inputs = {name: [*arrays[name]] for name in arrays}
        inputs["x"] += _flat(self.sx)
        inputs["d"] += _flat(self.sd)
        outputs = {"x_new": [*x, *moved_x], "d_new": [*d, *moved_d]}
        return program(f"{act.name}_sensitive", inputs, outputs, statements=statements)

    def renamed(self, made: Program, x: Sequence[Lanes], d: Sequence[Lanes]) -> dict[Expr, Lanes]:
        """Return what moves of what a Program is given, with other symbols for the derivatives."""
        seeds = self.seeds(made)
        seeds.update(zip(made.port("x").entries, x, strict=True))
        seeds.update(zip(made.port("d").entries, d, strict=True))
        return seeds


def _flat(rows: Sequence[Lanes] | Sequence[Sequence[Expr]]) -> list[Expr]:
    return [x for row in rows for x in (row.values() if isinstance(row, dict) else row)]


def _symbols(signals: Sequence[Signal]) -> list[Expr]:
    return [s.symbol for s in signals if s.symbol is not None]


def _entry(made: Program, index: int) -> ProgramPort:
    port = made.outputs[0]
    return ProgramPort(port.name, (1,), (port.entries[index],))


def _kept(phases: Phases) -> Program:
    """Return an action that leaves everything as it is."""
    arrays = {n: _symbols(getattr(phases, n)) for n in ("x", "d", "p", "w")}
    outputs = {"x_new": arrays["x"], "d_new": arrays["d"]}
    return program("end", {**arrays, "t": [phases.time]}, outputs)


def _tangent_program(
    made: Program, seeds: Mapping[Expr, Lanes], count: int, given: Sequence[Expr]
) -> Program:
    """Return the values of a Program and their derivatives, given those of what it is given."""
    found = forward(made, seeds, ForwardCalls())
    rates = tuple(lane.get(k, ZERO) for lane in found.lanes for k in range(count))
    return replace(
        made,
        name=f"{made.name}_tangent",
        inputs=(*made.inputs, ProgramPort("moves", (len(given),), tuple(given))),
        outputs=(*made.map_outputs(found.values), ProgramPort("moved", (len(rates),), rates)),
        statements=found.statements,
    )
