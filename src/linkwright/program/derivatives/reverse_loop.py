"""The way back through a loop: a loop that runs backward over what the way forth has stacked.

In each turn the adjoints of what the loop carries are carried the other way; those of scanned
arrays are stacked; those of symbols from outside are added up. Where an adjoint can be absent in
some turns (the body selects, or what comes in is under a guard) each carried adjoint has a flag
beside it that says whether its guard holds, so that no absent adjoint is ever multiplied by an
infinite local derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwright.algebra.calculus import substitute_all
from linkwright.algebra.expr import ONE, ZERO, Expr, add
from linkwright.algebra.functions import apply, not_equal
from linkwright.program.derivatives.adjoints import Guarded
from linkwright.program.derivatives.edges import choice
from linkwright.program.derivatives.flat import FlatScope, rename, symbols_read, with_inner
from linkwright.program.derivatives.structure import Masks, bits
from linkwright.program.program import Assign, Carried, Loop, Scanned, Stacked, Statement, walk

if TYPE_CHECKING:
    from linkwright.program.derivatives.reverse import ReverseSweep

_FINITE = frozenset(
    {"num", "sym", "scale", "sum", "sin", "cos", "exp", "atan", "tanh", "abs", "sign"}
)
_ABSENT = Guarded(ZERO, ZERO)
Lanes = dict[int, Guarded]


def loop_back(outer: ReverseSweep, inner: ReverseSweep, loop: Loop) -> Loop:
    """Append the way back through a flat loop, and return the loop that stacks what it reads."""
    builder = outer.builder
    finals = [outer.adjoints.take(c.final, builder) for c in loop.carried]
    stacks = [[outer.adjoints.take(t, builder) for t in s.targets] for s in loop.stacked]
    lanes = _carried_lanes(outer, loop, finals, stacks)
    if not any(lanes) and not any(t for stack in stacks for t in stack):
        return loop
    flagged = _needs_flags(loop.body, finals, stacks, lanes)
    body = list(loop.body)
    scope = FlatScope()
    with builder.inside(builder.body_scopes[id(loop)], scope):
        back = _Back(outer, inner, loop, flagged)
        back.carry(finals, lanes)
        for s, stack in zip(loop.stacked, stacks, strict=True):
            back.scan(s, stack)
        inner.back_over(body)
        back.finish()
    kept, names = back.keep(body, scope.out)
    inner_operands = substitute_all([*back.followings(), *(s.value for s in back.stacked)], names)
    statement = Loop(
        loop.count,
        tuple(Carried(c.symbol, c.initial, c.symbol, c.final) for c in back.carried),
        tuple(back.scanned),
        tuple(back.stacked),
        (),
    )
    builder.scope.out.append(with_inner(statement, inner_operands, rename(scope.out, names)))
    for operand, lane, contribution in back.results:
        outer.give(operand, lane, contribution)
    return Loop(loop.count, loop.carried, loop.scanned, (*loop.stacked, *kept), tuple(body))


@dataclass(slots=True)
class _Entry:
    """A carried value whose adjoint is carried backward in one lane."""

    forth: Carried
    lane: int
    adjoint: Carried
    flag: Carried | None


class _Back:
    """The parts of the backward loop while it is made; its turns count from the last one."""

    def __init__(self, outer: ReverseSweep, inner: ReverseSweep, loop: Loop, flagged: bool) -> None:
        self.builder = outer.builder
        self.inner = inner
        self.loop = loop
        self.flagged = flagged
        self.entries: list[_Entry] = []
        self.carried: list[Carried] = []
        self.scanned: list[Scanned] = []
        self.stacked: list[Stacked] = []
        self.results: list[tuple[Expr, int, Guarded]] = []

    def followings(self) -> list[Expr]:
        return [c.following for c in self.carried]

    def _carried(self, prefix: str, initial: Expr, following: Expr = ZERO) -> Carried:
        return Carried(self.builder.fresh(prefix), initial, following, self.builder.fresh(prefix))

    def carry(self, finals: Sequence[Lanes], lanes: Sequence[Sequence[int]]) -> None:
        """Let the adjoints of carried values come in."""
        for c, known, wanted in zip(self.loop.carried, finals, lanes, strict=True):
            for lane in wanted:
                start = known.get(lane, _ABSENT)
                adjoint = self._carried("b", start.value)
                flag = self._carried("g", start.guard) if self.flagged else None
                self.entries.append(_Entry(c, lane, adjoint, flag))
                guard = ONE if flag is None else not_equal(flag.symbol, ZERO)
                self.inner.give(c.following, lane, Guarded(guard, adjoint.symbol))

    def scan(self, stacked: Stacked, given: Sequence[Lanes]) -> None:
        """Let the adjoints of a stacked array come in, the last turn first."""
        for lane in sorted({lane for t in given for lane in t}):
            turns = [t.get(lane, _ABSENT) for t in reversed(given)]
            value, flag = self.builder.fresh("b"), self.builder.fresh("g")
            self.scanned.append(Scanned(value, tuple(t.value for t in turns)))
            guard: Expr = ONE
            if self.flagged and any(t.guard is not ONE for t in turns):
                self.scanned.append(Scanned(flag, tuple(t.guard for t in turns)))
                guard = not_equal(flag, ZERO)
            self.inner.give(stacked.value, lane, Guarded(guard, value))

    def finish(self) -> None:
        """Take the adjoints that the body has given, and say where they go after the loop."""
        taken = {
            c.symbol: self.inner.adjoints.take(c.symbol, self.builder) for c in self.loop.carried
        }
        for entry in self.entries:
            end = taken[entry.forth.symbol].get(entry.lane, _ABSENT)
            a, g = entry.adjoint, entry.flag
            self.carried.append(Carried(a.symbol, a.initial, end.value, a.final))
            guard: Expr = ONE
            if g is not None:
                self.carried.append(Carried(g.symbol, g.initial, end.guard, g.final))
                guard = not_equal(g.final, ZERO)
            self.results.append((entry.forth.initial, entry.lane, Guarded(guard, a.final)))
        for s in self.loop.scanned:
            for lane, end in self.inner.adjoints.take(s.symbol, self.builder).items():
                self._stack(s, lane, end)
        for x in self.inner.adjoints.symbols():
            for lane, end in self.inner.adjoints.take(x, self.builder).items():
                self._add_up(x, lane, end)

    def _stack(self, scanned: Scanned, lane: int, end: Guarded) -> None:
        targets = tuple(self.builder.fresh("b") for _ in scanned.values)
        self.stacked.append(Stacked(end.value, targets))
        guards: list[Expr] = [ONE] * len(targets)
        if end.guard is not ONE:
            flags = tuple(self.builder.fresh("g") for _ in targets)
            self.stacked.append(Stacked(end.guard, flags))
            guards = [not_equal(flag, ZERO) for flag in flags]
        for operand, guard, target in zip(reversed(scanned.values), guards, targets, strict=True):
            self.results.append((operand, lane, Guarded(guard, target)))

    def _add_up(self, x: Expr, lane: int, end: Guarded) -> None:
        sum_so_far = self._carried("b", ZERO)
        symbol, final = sum_so_far.symbol, sum_so_far.final
        self.carried.append(Carried(symbol, ZERO, add(symbol, end.plain), final))
        guard: Expr = ONE
        if end.guard is not ONE:
            flag = self._carried("g", ZERO)
            following = apply("or", (not_equal(flag.symbol, ZERO), end.guard))
            self.carried.append(Carried(flag.symbol, ZERO, following, flag.final))
            guard = not_equal(flag.final, ZERO)
        self.results.append((x, lane, Guarded(guard, final)))

    def keep(
        self, body: Sequence[Statement], back: Sequence[Statement]
    ) -> tuple[list[Stacked], dict[Expr, Expr]]:
        """Return what the way forth must stack, and the names of that on the way back."""
        inside = {x for statement in body for x in statement.targets}
        arrays = {s.symbol: s.values for s in self.loop.scanned}
        inside.update(c.symbol for c in self.loop.carried)
        kept: list[Stacked] = []
        names: dict[Expr, Expr] = {}
        read = symbols_read(back, [*self.followings(), *(s.value for s in self.stacked)])
        for x in read:
            if x not in inside and x not in arrays:
                continue
            values = arrays.get(x)
            if values is None:
                values = tuple(self.builder.fresh("w") for _ in range(self.loop.count))
                kept.append(Stacked(x, values))
            names[x] = self.builder.fresh("w")
            self.scanned.append(Scanned(names[x], tuple(reversed(values))))
        return kept, names


def _carried_lanes(
    sweep: ReverseSweep, loop: Loop, finals: Sequence[Lanes], stacks: Sequence[Sequence[Lanes]]
) -> list[list[int]]:
    """Return the lanes in which the adjoint of each carried value can be other than zero."""
    structure = sweep.calls.structure
    masks: Masks = {c.symbol: 1 << j for j, c in enumerate(loop.carried)}
    structure.spread(loop.body, masks)
    known: Masks = {}
    lanes = [set(t) for t in finals]
    for s, given in zip(loop.stacked, stacks, strict=True):
        reached = {lane for t in given for lane in t}
        for j in bits(structure.mask(s.value, masks, known)):
            lanes[j] |= reached
    feeds = [bits(structure.mask(c.following, masks, known)) for c in loop.carried]
    growing = True
    while growing:
        growing = False
        for j, sources in enumerate(feeds):
            for k in sources:
                if not lanes[j] <= lanes[k]:
                    lanes[k] |= lanes[j]
                    growing = True
    return [
        sorted(found) if sweep.varies(c.symbol) else []
        for found, c in zip(lanes, loop.carried, strict=True)
    ]


def _needs_flags(
    body: Sequence[Statement],
    finals: Sequence[Lanes],
    stacks: Sequence[Sequence[Lanes]],
    lanes: Sequence[Sequence[int]],
) -> bool:
    """Whether an adjoint can be absent in some turn and meet an infinite local derivative."""
    given = [*finals, *(t for stack in stacks for t in stack)]
    if any(a.guard is not ONE for t in given for a in t.values()):
        return True
    steps = list(walk(body))
    if any(isinstance(s, Assign) and choice(s.value) is not None for s in steps):
        return True
    if all(_is_finite(s) for s in steps):
        return False
    absent = any(lane not in t for t, wanted in zip(finals, lanes, strict=True) for lane in wanted)
    return absent or any(t.keys() != stack[0].keys() for stack in stacks for t in stack)


def _is_finite(statement: Statement) -> bool:
    if isinstance(statement, Loop):
        return True
    if not isinstance(statement, Assign):
        return False
    value = statement.value
    if value.op == "prod":
        return all(e > 0 for e in value.data)
    return value.op in _FINITE
