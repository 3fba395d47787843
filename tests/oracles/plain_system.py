"""A System executed in plain Python, written from the pages that say what a System is.

- At a tick the members that are due compute their outputs, each after those it needs, all reading
  the same states and memory; then all memory changes at once. Outputs hold until the next tick.
- Between ticks the continuous part is integrated (here in fixed steps of Runge and Kutta's method)
  with held values; memory of continuous members changes after each step; where the value of an
  event goes through zero the step is cut there, and states get their new values.
- A connection is a weighted sum of ports, states, coordinates and time; members that need each
  other's values at the same instant are a `LoopFound`, unless the connection is to be solved.

It reads the formulas of blocks, and nothing of what `linkwright.system` makes of them. The
mechanism is a cart with a rod on it, whose equations are written out by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwright.algebra import Expr, free_symbols
from linkwright.algebra.evaluate import evaluate_all
from linkwright.blocks import KEEP, Block, Element
from linkwright.program import Assign, Statement

Ref = tuple[str, str]
"""A member and the name of a port's entry or a state; "" and a name of the mechanism."""

CART = {"cart": 2.0, "rod": 0.7, "length": 0.6, "inertia": 0.05, "gravity": 9.81}
"""Masses (kg), distance of the rod's center of mass (m), its inertia (kg m^2), gravity (m/s^2)."""


_PARTS = 40
"""Steps of Runge and Kutta's rule in a period of a member with continuous states."""


class LoopFound(Exception):
    """Members that need each other's values at the same instant."""


@dataclass
class Source:
    """What drives an entry of a port: weights of references, a constant, and a slope over time."""

    terms: list[tuple[float, Ref]]
    constant: float = 0.0
    slope: float = 0.0
    solved: bool = False


@dataclass
class Part:
    """A member: its block, or a function with the sizes of its outputs; when it runs."""

    name: str
    block: Block
    every: int = 0
    offset: int = 0
    function: Callable[[float, Mapping[str, float]], Any] | None = None
    given: bool = False  # its outputs are taken from the run that is checked: noise

    def due(self, k: int) -> bool:
        """Whether it runs at a tick."""
        return self.every > 0 and k >= self.offset and (k - self.offset) % self.every == 0


class Formulas:
    """Expressions of a block, with the partial results that they need."""

    def __init__(self, block: Block, roots: Sequence[Expr]) -> None:
        made = {x: s for s in block.statements for x in s.targets}
        wanted: dict[int, Statement] = {}
        seen: set[Expr] = set()
        open_ = list(free_symbols(*roots))
        while open_:
            x = open_.pop()
            if x in seen:
                continue
            seen.add(x)
            if x in made:
                assert isinstance(made[x], Assign)
                wanted[block.statements.index(made[x])] = made[x]
                open_ += free_symbols(*made[x].operands)
        self.roots = list(roots)
        self.steps = [wanted[i] for i in sorted(wanted)]
        self.reads = seen - set(made)

    def __call__(self, values: Mapping[Expr, float]) -> list[float]:
        """Return the values of the expressions."""
        known = dict(values)
        for step in self.steps:
            known[step.targets[0]] = evaluate_all(step.operands, known)[0]
        return [float(x) for x in evaluate_all(self.roots, known)]


@dataclass
class PlainSystem:
    """Runs parts that are wired to each other.

    Args:
        parts: the members.
        wires: what drives the entries of input ports; others have their defaults.
        tick: the base tick, s.
        steps: of the integration in a tick.
        mechanism: the cart with its rod, or None.
        start: of its coordinates and speeds.
        noise: the outputs of members that are given, by name, for each tick.
    """

    parts: list[Part]
    wires: dict[Ref, Source]
    tick: float
    steps: int
    mechanism: Any = None
    start: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rows: list[dict[str, float]] = field(default_factory=list)
    read: dict[Ref, float] = field(default_factory=dict)
    happened: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_name = {p.name: p for p in self.parts}
        self.x: dict[Ref, float] = {("", n): v for n, v in self.start.items()}
        self.memory: dict[Ref, float] = {}
        self.held: dict[Ref, float] = {}
        self.t, self.k = 0.0, 0
        self.computing: set[str] = set()
        self.cache: dict[Ref, float] = {}
        self.z: dict[Ref, float] | None = None
        self.now: set[str] = set()
        self.loops = [r for r, s in self.wires.items() if s.solved]
        self.formulas: dict[str, dict[str, Formulas]] = {}
        for p in self.parts:
            b = p.block
            for port in b.outputs.values():
                for s in port.symbols:
                    if p.every:
                        self.held[p.name, s.name] = port.initial
            for table, continuous in ((b.states, not p.every), (b.discrete_states, False)):
                for s, state in table.items():
                    where = self.x if continuous else self.memory
                    values = self._constants(p)
                    where[p.name, s.name] = Formulas(b, [state.initial])(values)[0]
            if p.function is None and not p.given:
                self.formulas[p.name] = (
                    {
                        s.name: Formulas(b, [v])
                        for port in b.outputs.values()
                        for s, v in zip(port.symbols, port.values, strict=True)
                    }
                    | {
                        f"next {s.name}": Formulas(b, [state.following])
                        for s, state in (*b.states.items(), *b.discrete_states.items())
                        if state.following is not None
                    }
                    | {
                        f"step {s.name}": Formulas(b, [state.step])
                        for s, state in b.states.items()
                        if state.step is not None
                    }
                )

    # -- values at an instant ----------------------------------------------------------------------
    def _constants(self, p: Part) -> dict[Expr, float]:
        found = {q.symbol: q.value for q in p.block.parameters.values()}
        if p.every:
            found[p.block.period] = p.every * self.tick
        if isinstance(p.block, Element):
            m = p.block.mechanism
            found |= {m.parameters[n]: m.values[n] for n in m.parameters if n in m.values}
        return found

    def value(self, ref: Ref) -> float:
        """Return a port's entry, a state or a coordinate as it is now."""
        for table in (self.x, self.memory, self.cache):
            if ref in table:
                return table[ref]
        part = self.by_name[ref[0]]
        if part.every and part.name not in self.now:
            return self.held[ref]
        if part.every:
            self._sampled_outputs(part)
            return self.held[ref]
        found = self._formula(part, ref[1])
        self.cache[ref] = found
        return found

    def _sampled_outputs(self, part: Part) -> None:
        """Compute the outputs of a member that is due."""
        if part.name in self.computing:
            raise LoopFound(part.name)
        self.computing.add(part.name)
        names = [s.name for port in part.block.outputs.values() for s in port.symbols]
        if part.given:
            values = [self.noise[f"{part.name}.{n}"][self.k] for n in names]
        elif part.function is not None:
            ports = part.block.inputs.values()
            given = {s.name: self.entry((part.name, s.name)) for p in ports for s in p.symbols}
            found = part.function(self.t, given)
            values = [self.held[part.name, n] for n in names] if found is KEEP else list(found)
        else:
            values = [self._formula(part, n) for n in names]
        for n, v in zip(names, values, strict=True):
            self.held[part.name, n] = float(v)
        self.computing.discard(part.name)
        self.now.discard(part.name)
        self.cache.clear()

    def entry(self, ref: Ref) -> float:
        """Return what drives an entry of an input port."""
        source = self.wires.get(ref)
        if source is None:
            return self._default(ref)
        if source.solved:
            if self.z is None:
                self._solve()
            assert self.z is not None
            return self.z[ref]
        return self._sum(source)

    def _sum(self, source: Source) -> float:
        found = source.constant + source.slope * self.t
        return found + math.fsum(w * self.value(r) for w, r in source.terms)

    def _default(self, ref: Ref) -> float:
        part = self.by_name[ref[0]]
        for port in part.block.inputs.values():
            for s, v in zip(port.symbols, port.values, strict=True):
                if s.name == ref[1]:
                    return Formulas(part.block, [v])(self._own(part))[0]
        raise KeyError(ref)

    def _solve(self) -> None:
        """Solve z = F(z) by Newton's method with differences."""
        z = np.zeros(len(self.loops))
        kept, self.computing = self.computing, {c for c in self.computing if c in self.by_name}
        for _ in range(12):
            first = self._image(z)
            h = 1e-6
            slopes = np.column_stack(
                [
                    (self._image(z + h * e) - self._image(z - h * e)) / (2 * h)
                    for e in np.eye(len(z))
                ]
            )
            z = z + np.linalg.solve(np.eye(len(z)) - slopes, first - z)
        self._image(z)
        self.computing = kept

    def _image(self, z: Any) -> Any:
        self.z = dict(zip(self.loops, z, strict=True))
        self.cache.clear()
        return np.array([self._sum(self.wires[r]) for r in self.loops])

    def _own(self, part: Part) -> dict[Expr, float]:
        """Return what a block's formulas may read without its inputs."""
        b = part.block
        found = self._constants(part)
        found[b.time] = self.t
        for s in b.states:
            found[s] = self.value((part.name, s.name))
        for s in b.discrete_states:
            found[s] = self.memory[part.name, s.name]
        if isinstance(b, Element):
            m = b.mechanism
            found[m.time] = self.t
            found |= {q: self.x["", q.name] for q in m.coordinates.values()}
            found |= {s.symbol: self.x["", s.symbol.name] for s in m.kinematics().speeds}
        return found

    def _formula(self, part: Part, name: str) -> float:
        formulas = self.formulas[part.name][name]
        key = f"{part.name} {name}"
        if key in self.computing:
            raise LoopFound(part.name)
        self.computing.add(key)
        values = self._own(part)
        for port in part.block.inputs.values():
            for s in port.symbols:
                if s in formulas.reads:
                    ref = (part.name, s.name)
                    values[s] = self.read[ref] if ref in self.read else self.entry(ref)
        for port in part.block.outputs.values():
            for s in port.symbols:
                if s in formulas.reads:
                    values[s] = self.value((part.name, s.name))
        found = formulas(values)[0]
        self.computing.discard(key)
        return found

    # -- a tick ------------------------------------------------------------------------------------
    def at_tick(self) -> None:
        """Run what is due, then let memory change."""
        due = [p for p in self.parts if p.due(self.k)]
        self._fresh()
        self.now = {p.name for p in due}
        for p in due:
            if p.name in self.now:
                self._sampled_outputs(p)
        self._fresh()
        new: dict[Ref, float] = {}
        for p in due:
            for s in p.block.discrete_states:
                new[p.name, s.name] = self._formula(p, f"next {s.name}")
            new |= self._advanced(p)
        self.memory |= new
        self._fresh()

    def _advanced(self, p: Part) -> dict[Ref, float]:
        """Return the continuous states of a member a period later, its inputs held.

        What says how it goes on from instant to instant, as an integral that is unwound, does so.
        """
        said = self.formulas.get(p.name, {})
        own = [s.name for s in p.block.states if f"step {s.name}" in said]
        given = {(p.name, s): self._formula(p, f"step {s}") for s in own}
        names = [(p.name, s.name) for s in p.block.states if s.name not in own]
        start = {ref: self.memory[ref] for ref in names}
        h, now = p.every * self.tick / _PARTS, dict(start)
        reads = {x for ref in names for x in said[f"next {ref[1]}"].reads}
        inputs = [s for port in p.block.inputs.values() for s in port.symbols if s in reads]
        held = {(p.name, s.name): self.entry((p.name, s.name)) for s in inputs}
        self.read = held  # also where an input is one of its own states

        def rates(at: dict[Ref, float]) -> dict[Ref, float]:
            self.memory |= at
            self._fresh()
            return {ref: self._formula(p, f"next {ref[1]}") for ref in names}

        for _ in range(_PARTS if names else 0):
            slopes = [rates(now)]
            for part in (0.5, 0.5, 1.0):
                slopes.append(rates({r: now[r] + part * h * slopes[-1][r] for r in names}))
            now = {
                r: now[r] + h / 6 * sum(w * k[r] for w, k in zip((1, 2, 2, 1), slopes, strict=True))
                for r in names
            }
        self.memory |= start
        self.read = {}
        self._fresh()
        return now | given

    def _fresh(self) -> None:
        self.cache, self.z, self.now = {}, None, set()
        self.computing.clear()

    # -- between ticks -----------------------------------------------------------------------------
    def _rates(self, t: float, x: dict[Ref, float]) -> dict[Ref, float]:
        kept = self.t, self.x
        self.t, self.x = t, x
        self._fresh()
        rates = {
            (p.name, s.name): self._formula(p, f"next {s.name}")
            for p in self.parts
            if not p.every
            for s in p.block.states
        }
        if self.mechanism is not None:
            rates |= self._accelerations()
        self.t, self.x = kept
        return rates

    def _accelerations(self) -> dict[Ref, float]:
        """The cart and its rod, written out by hand."""
        force = {"cart": 0.0, "rod": 0.0}
        for p in self.parts:
            if isinstance(p.block, Element):
                for name, body in p.block.in_joints.items():
                    force[body.name] += self.value((p.name, name))
        ml = CART["rod"] * CART["length"]
        rod, u = self.x["", "rod"], self.x["", "rod_dot"]
        side = -ml * math.sin(rod)
        mass = [[CART["cart"] + CART["rod"], side], [side, ml * CART["length"] + CART["inertia"]]]
        right = [
            force["cart"] + ml * math.cos(rod) * u**2,
            force["rod"] - ml * CART["gravity"] * math.cos(rod),
        ]
        a, b = np.linalg.solve(mass, right)
        return {
            ("", "cart"): self.x["", "cart_dot"],
            ("", "rod"): u,
            ("", "cart_dot"): float(a),
            ("", "rod_dot"): float(b),
        }

    def _step(self, h: float) -> dict[Ref, float]:
        """Return the continuous states after a step."""

        def moved(by: dict[Ref, float], part: float) -> dict[Ref, float]:
            return {r: v + part * by[r] for r, v in self.x.items()}

        a = self._rates(self.t, self.x)
        b = self._rates(self.t + h / 2, moved(a, h / 2))
        c = self._rates(self.t + h / 2, moved(b, h / 2))
        d = self._rates(self.t + h, moved(c, h))
        return {r: v + h / 6 * (a[r] + 2 * b[r] + 2 * c[r] + d[r]) for r, v in self.x.items()}

    def _crossings(self) -> list[tuple[Part, int, float]]:
        self._fresh()
        found = []
        for p in self.parts:
            for i, c in enumerate(p.block.crossings):
                if not p.every:
                    found.append((p, i, Formulas(p.block, [c.value])(self._own(p))[0]))
        return found

    def advance(self, h: float) -> None:
        """Integrate over a time, with events on the way."""
        while h > 0:
            before = self._crossings()
            start = self.t, self.x
            after = self._try(start, h)
            hit = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if _through(a, b)]
            part = h
            if hit:
                low, high = 0.0, h
                for _ in range(50):
                    middle = (low + high) / 2
                    found = self._try(start, middle)
                    if any(_through(before[i], found[i]) for i in hit):
                        high = middle
                    else:
                        low = middle
                part = high
                after = self._try(start, part)
            self._accepted()
            for i in hit:
                if _through(before[i], after[i]):
                    self._act(*after[i][:2])
            h = h - part if h - part > 1e-12 else 0.0

    def _try(self, start: tuple[float, dict[Ref, float]], h: float) -> list[Any]:
        self.t, self.x = start
        self.x = self._step(h)
        self.t = start[0] + h
        return self._crossings()

    def _act(self, part: Part, number: int) -> None:
        crossing = part.block.crossings[number]
        self.happened.append((f"{part.name}.{crossing.name}", self.t))
        self._fresh()
        values = Formulas(part.block, [v for _, v in crossing.resets])(self._own(part))
        for (s, _), v in zip(crossing.resets, values, strict=True):
            ref = part.name, s.name
            (self.x if ref in self.x else self.memory)[ref] = v

    def _accepted(self) -> None:
        self._fresh()
        new = {
            (p.name, s.name): self._formula(p, f"next {s.name}")
            for p in self.parts
            if not p.every
            for s in p.block.discrete_states
        }
        self.memory |= new

    # -- a run -------------------------------------------------------------------------------------
    def run(self, ticks: int) -> None:
        """Run to a tick, with a row of all values at each."""
        self.at_tick()
        self._record()
        for k in range(1, ticks + 1):
            for i in range(self.steps):
                self.t = (k - 1 + i / self.steps) * self.tick
                self.advance(self.tick / self.steps)
            self.k, self.t = k, k * self.tick
            self.at_tick()
            self._record()

    def _record(self) -> None:
        row = {_name(r): v for r, v in (*self.x.items(), *self.memory.items())}
        for p in self.parts:
            for port in p.block.outputs.values():
                for s in port.symbols:
                    row[f"{p.name}.{s.name}"] = self.value((p.name, s.name))
        self.rows.append(row)


def _name(ref: Ref) -> str:
    return f"{ref[0]}.{ref[1]}" if ref[0] else ref[1]


def _through(before: tuple[Part, int, float], after: tuple[Part, int, float]) -> bool:
    """Whether the value of an event has gone through zero in its direction."""
    direction = before[0].block.crossings[before[1]].direction
    up = before[2] < 0 <= after[2]
    down = before[2] > 0 >= after[2]
    return (up and direction >= 0) or (down and direction <= 0)
