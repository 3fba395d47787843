"""Loops over the turns of a run, written as if there were one turn.

A recursion goes over a run in sweeps, outward or inward. Each is written once, with symbols for
what the turn before hands over and for what differs from turn to turn. What is handed over and is
zero to begin with stays structurally zero as long as the turn leaves it so; so planar chains stay
planar. What a sweep computes and a later one reads is kept in an array. What depends on parameters
alone leaves the sweeps: it is computed in a loop of the parameter stage, or, where all parameters
are numbers, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from linkwright.algebra import ZERO, Expr, constant, evaluate_all, free_symbols, symbol
from linkwright.equations.templates import TemplateHole
from linkwright.equations.writer import Writer
from linkwright.program import Assign, Loop, Statement
from linkwright.program.program import Carried, Scanned, Stacked

Turn: TypeAlias = Callable[[Writer, Sequence[Expr]], tuple[Sequence[Expr], Sequence[Expr]]]
"""Writes one turn: from what is handed over to what is handed on, and what is kept."""


@dataclass(slots=True, eq=False)
class _Sweep:
    inward: bool
    carried: tuple[Carried, ...]
    statements: list[Assign]
    kept: list[tuple[Expr, tuple[Expr, ...]]]
    arrays: dict[Expr, tuple[Expr, ...]] = field(default_factory=dict)

    def reads(self) -> tuple[Expr, ...]:
        """Return the symbols that a turn reads and does not define."""
        own = {s.target for s in self.statements} | {c.symbol for c in self.carried}
        roots = [s.value for s in self.statements] + [c.following for c in self.carried]
        found = free_symbols(*roots, *(x for x, _ in self.kept))
        return tuple(x for x in found if x not in own)

    def defines(self) -> Iterable[Expr]:
        """Return the symbols that exist inside the sweep."""
        return (*(s.target for s in self.statements), *(c.symbol for c in self.carried))


class Sweeps:
    """The sweeps over one run.

    >>> x, y = symbol("x", "coordinate"), symbol("y", "coordinate")
    >>> h = symbol("h", "local")
    >>> sweeps = Sweeps("", "r", 2, [TemplateHole(h, (x, y))])
    >>> (end,), (sums,) = sweeps.sweep([x], lambda writer, s: ([s[0] + h], [s[0] * h]))
    >>> end, sums
    (r1end1, (r1kept1[0], r1kept1[1]))
    >>> (loop,) = sweeps.statements()
    >>> loop.carried[0].following
    h + r1c1
    """

    def __init__(self, owner: str, prefix: str, turns: int, holes: Iterable[TemplateHole]) -> None:
        self.owner, self.prefix, self.turns = owner, prefix, turns
        self.holes: dict[Expr, tuple[Expr, ...]] = {h.symbol: h.column for h in holes}
        self.inside = Writer(owner, prefix=prefix)
        self.sweeps: list[_Sweep] = []

    def sweep(
        self, initial: Sequence[Expr], turn: Turn, *, inward: bool = False, role: str = "local"
    ) -> tuple[list[Expr], list[tuple[Expr, ...]]]:
        """Write a sweep; return what the last turn hands on, and what is kept of all turns."""
        number = len(self.sweeps) + 1
        stem = f"{self.prefix}{number}"

        def name(text: str) -> Expr:
            return symbol(f"{stem}{text}", role, owner=self.owner)

        moves = [x is not ZERO for x in initial]
        while True:
            trial = self.inside.copy()
            given = [name(f"c{k + 1}") if m else ZERO for k, m in enumerate(moves)]
            following, kept = turn(trial, given)
            now = [m or x is not ZERO for m, x in zip(moves, following, strict=True)]
            if now == moves:
                break
            moves = now
        start = len(self.inside.statements)
        self.inside = trial
        finals = [name(f"end{k + 1}") if m else ZERO for k, m in enumerate(moves)]
        carried = tuple(
            Carried(x, initial[k], following[k], finals[k]) for k, x in enumerate(given) if moves[k]
        )
        arrays = [
            (x,) * self.turns
            if x.op == "num"
            else tuple(name(f"kept{k + 1}[{i}]") for i in range(self.turns))
            for k, x in enumerate(kept)
        ]
        own = trial.statements[start:]
        pairs = [(x, array) for x, array in zip(kept, arrays, strict=True) if x.op != "num"]
        self.sweeps.append(_Sweep(inward, carried, own, pairs))
        return finals, arrays

    def statements(self) -> list[Statement]:
        """Return the loops of all sweeps, and what they need of the parameter stage."""
        fixed = _Fixed(self, [s for w in self.sweeps for s in w.statements])
        for sweep in self.sweeps:
            sweep.statements = [s for s in sweep.statements if s.target not in fixed.targets]
        maker = {x: sweep for sweep in self.sweeps for x in sweep.defines()}
        scanned: list[list[Scanned]] = []
        for sweep in self.sweeps:
            scanned.append([])
            for x in sweep.reads():
                column = self.holes.get(x)
                if column is None and x in fixed.targets:
                    column = fixed.column(x)
                if column is None and x in maker:
                    column = self._kept(maker[x], x)
                if column is not None:
                    scanned[-1].append(Scanned(x, column[::-1] if sweep.inward else column))
        loops = [self._loop(s, tuple(a)) for s, a in zip(self.sweeps, scanned, strict=True)]
        return [*fixed.statements(), *loops]

    def _kept(self, sweep: _Sweep, x: Expr) -> tuple[Expr, ...]:
        """Return the array in which a sweep keeps a value for later ones."""
        if x not in sweep.arrays:
            sweep.arrays[x] = self.array(x)
        return sweep.arrays[x]

    def array(self, x: Expr) -> tuple[Expr, ...]:
        """Return symbols for the values of a symbol in all turns."""
        info = x.data
        return tuple(
            symbol(f"{info.name}[{i}]", info.role, owner=self.owner) for i in range(self.turns)
        )

    def _loop(self, sweep: _Sweep, scanned: tuple[Scanned, ...]) -> Loop:
        step = -1 if sweep.inward else 1
        pairs = [*sweep.kept, *sweep.arrays.items()]
        stacked = tuple(Stacked(x, targets[::step]) for x, targets in pairs)
        return Loop(self.turns, sweep.carried, scanned, stacked, tuple(sweep.statements))


class _Fixed:
    """What sweeps compute from parameters alone."""

    def __init__(self, sweeps: Sweeps, statements: Sequence[Assign]) -> None:
        self.sweeps = sweeps
        moving = {x for s in sweeps.sweeps for c in s.carried for x in (c.symbol,)}
        made: list[Assign] = []
        varying: set[Expr] = set(sweeps.holes)
        self.once: list[Assign] = []
        for s in statements:
            reads = free_symbols(s.value)
            if not s.value.is_constant or any(x in moving for x in reads):
                moving.add(s.target)
                continue
            if any(x in varying for x in reads):
                varying.add(s.target)
                made.append(s)
            else:
                self.once.append(s)
        self.made = made
        self.targets = {s.target for s in made} | {s.target for s in self.once}
        self.numbers = self._numbers()
        self.arrays: dict[Expr, tuple[Expr, ...]] = {}

    def _numbers(self) -> dict[Expr, tuple[Expr, ...]]:
        """Return the values in all turns, where they are numbers."""
        known: dict[Expr, np.ndarray] = {}
        for s in self.made:
            reads = free_symbols(s.value)
            for x in reads:
                column = self.sweeps.holes.get(x)
                if column is not None and x not in known and all(y.op == "num" for y in column):
                    known[x] = np.array([float(y.data) for y in column])
            if all(x in known for x in reads):
                known[s.target] = np.asarray(evaluate_all([s.value], known)[0], dtype=float)
        return {
            s.target: tuple(constant(float(v)) for v in known[s.target])
            for s in self.made
            if s.target in known
        }

    def column(self, x: Expr) -> tuple[Expr, ...] | None:
        """Return the values of a symbol in all turns; None where they are the same."""
        if x in self.numbers:
            return self.numbers[x]
        if all(s.target is not x for s in self.made):
            return None
        if x not in self.arrays:
            self.arrays[x] = self.sweeps.array(x)
        return self.arrays[x]

    def statements(self) -> list[Statement]:
        """Return what is computed once, and the loop of the rest."""
        result: list[Statement] = list(self.once)
        if self.arrays:
            body = [s for s in self.made if s.target not in self.numbers]
            roots = free_symbols(*(s.value for s in body))
            sources: Mapping[Expr, tuple[Expr, ...]] = {**self.sweeps.holes, **self.numbers}
            scanned = tuple(Scanned(x, sources[x]) for x in roots if x in sources)
            stacked = tuple(Stacked(x, targets) for x, targets in self.arrays.items())
            result.append(Loop(self.sweeps.turns, (), scanned, stacked, tuple(body)))
        return result
