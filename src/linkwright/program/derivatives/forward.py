"""Forward accumulation: each statement is followed by the tangents of what it defines.

There are several lanes, one for each direction of differentiation; a tangent that is structurally
zero in a lane is not there. A loop carries the tangents beside the values. A call becomes one
call of a Program that returns values and tangents. The solution of A x = b has the tangent A⁻¹(db
- dA x): a second solve with the same matrix, whose elimination is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linkwright.algebra.expr import ZERO, Expr, mul, scaled, total
from linkwright.algebra.functions import where
from linkwright.algebra.symbols import symbol
from linkwright.program.derivatives.edges import choice, edges
from linkwright.program.derivatives.flat import Builder, FlatScope, is_light
from linkwright.program.derivatives.structure import Masks, MaskSpreader, bits
from linkwright.program.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Namer,
    Program,
    ProgramPort,
    Scanned,
    Solve,
    Stacked,
    Statement,
)

Lanes = dict[int, Expr]
Pattern = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Tangents:
    """What forward accumulation made of a Program."""

    statements: tuple[Statement, ...]
    values: tuple[Expr, ...]
    lanes: tuple[Lanes, ...]


@dataclass(slots=True)
class ForwardCalls:
    """The Programs for calls: by called Program and pattern of (argument, lane) that move."""

    structure: MaskSpreader = field(default_factory=MaskSpreader)
    made: dict[tuple[int, Pattern], tuple[Program, Program, Pattern]] = field(default_factory=dict)


def forward(program: Program, seeds: Mapping[Expr, Lanes], calls: ForwardCalls) -> Tangents:
    """Accumulate tangents through a Program."""
    run = _Forward(program, seeds, calls)
    for statement in program.statements:
        run.statement(statement)
    values = tuple(run.builder.atom(x) for x in program.output_values())
    run.follow()
    lanes = tuple(run.lanes(x) for x in values)
    return Tangents(tuple(run.builder.scope.out), values, lanes)


class _Forward:
    def __init__(self, program: Program, seeds: Mapping[Expr, Lanes], calls: ForwardCalls) -> None:
        self.calls = calls
        self.tangents: dict[Expr, Lanes] = {x: dict(t) for x, t in seeds.items() if t}
        self.builder = Builder(program)
        self.done = 0
        self.follow()

    def lanes(self, x: Expr) -> Lanes:
        return self.tangents.get(x, {}) if x.op == "sym" else {}

    def moves(self, x: Expr) -> bool:
        return bool(self.tangents.get(x))

    def atom(self, x: Expr) -> Expr:
        """Return the atom of an expression, with the tangents of what that took."""
        found = self.builder.atom(x)
        self.follow()
        return found

    def follow(self) -> None:
        """Give tangents to the assignments that were appended since the last time."""
        out = self.builder.scope.out
        end = len(out)
        for i in range(self.done, end):
            statement = out[i]
            assert isinstance(statement, Assign)
            self.assign(statement)
        self.done = len(out)

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Loop):
            self.loop(statement)
        elif isinstance(statement, Assign):
            self.builder.flatten(statement)
            self.follow()
        else:
            operands = [self.atom(x) for x in statement.operands]
            flat = statement.with_operands(operands)
            if isinstance(flat, Call):
                self.call(flat)
            else:
                self.solve(flat)
            self.done = len(self.builder.scope.out)
            for x in statement.targets:
                self.builder.plain(x)
            self.follow()

    def keep(self, target: Expr, lane: int, value: Expr) -> None:
        if value is not ZERO:
            light = self.builder.settled("t", value)
            self.tangents.setdefault(target, {})[lane] = light

    # -- assignments -------------------------------------------------------------------------------
    def assign(self, assign: Assign) -> None:
        branches = choice(assign.value)
        if branches is not None:
            condition, yes, no = branches
            first, second = self.lanes(yes), self.lanes(no)
            for lane in sorted(first.keys() | second.keys()):
                value = where(condition, first.get(lane, ZERO), second.get(lane, ZERO))
                self.keep(assign.target, lane, value)
            return
        terms: dict[int, list[Expr]] = {}
        for edge in edges(assign, self.moves):
            lanes = self.tangents[edge.operand]
            weight = self.builder.weight(edge.weight)
            if len(lanes) > 1 and not is_light(weight):
                weight = self.builder.settled("p", weight)
            for lane, tangent in lanes.items():
                terms.setdefault(lane, []).append(mul(weight, tangent))
        for lane in sorted(terms):
            self.keep(assign.target, lane, total(terms[lane]))

    # -- solves ------------------------------------------------------------------------------------
    def solve(self, solve: Solve) -> None:
        out = self.builder.scope.out
        out.append(solve)
        n = solve.size
        right: list[Expr] = []
        targets: list[tuple[Expr, int]] = []
        for first in range(0, len(solve.right), n):
            unknowns = solve.targets[first : first + n]
            given = solve.right[first : first + n]
            lanes: set[int] = set()
            for x in (*solve.matrix, *given):
                lanes.update(self.lanes(x))
            for lane in sorted(lanes):
                for i in range(n):
                    row = solve.matrix[i * n : (i + 1) * n]
                    moved = [
                        scaled(-1, mul(self.lanes(a)[lane], x))
                        for a, x in zip(row, unknowns, strict=True)
                        if lane in self.lanes(a)
                    ]
                    value = total([self.lanes(given[i]).get(lane, ZERO), *moved])
                    right.append(self.builder.settled("t", value))
                    targets.append((unknowns[i], lane))
        if not right:
            return
        fresh = tuple(self.builder.fresh("t") for _ in right)
        out.append(Solve(n, solve.matrix, tuple(right), fresh))
        for (target, lane), tangent in zip(targets, fresh, strict=True):
            self.tangents.setdefault(target, {})[lane] = tangent

    # -- calls -------------------------------------------------------------------------------------
    def call(self, call: Call) -> None:
        lanes: set[int] = set()
        for x in call.arguments:
            lanes.update(self.lanes(x))
        if not lanes:
            self.builder.scope.out.append(call)
            return
        order = {lane: k for k, lane in enumerate(sorted(lanes))}
        pattern: list[tuple[int, int]] = []
        seeds: list[Expr] = []
        for i, x in enumerate(call.arguments):
            for lane, tangent in sorted(self.lanes(x).items()):
                pattern.append((i, order[lane]))
                seeds.append(tangent)
        program, moved = called(call.program, tuple(pattern), self.calls)
        fresh = tuple(self.builder.fresh("t") for _ in moved)
        self.builder.scope.out.append(
            Call(program, (*call.arguments, *seeds), (*call.targets, *fresh))
        )
        names = sorted(lanes)
        for (i, k), tangent in zip(moved, fresh, strict=True):
            self.tangents.setdefault(call.targets[i], {})[names[k]] = tangent

    # -- loops -------------------------------------------------------------------------------------
    def loop(self, loop: Loop) -> None:
        outer = loop.with_operands([self.atom(x) for x in loop.operands])
        masks: Masks = {}
        for x in (*outer.operands, *outer.outer_reads):
            for lane in self.lanes(self.builder.atom(x)):
                masks[x] = masks.get(x, 0) | (1 << lane)
        self.calls.structure.spread([outer], masks)
        inner_lanes: dict[Expr, list[Expr]] = {}
        for x in outer.inner_symbols:
            lanes = bits(masks.get(x, 0))
            inner_lanes[x] = [self.builder.fresh("t") for _ in lanes]
            self.tangents[x] = dict(zip(lanes, inner_lanes[x], strict=True))
        scope = FlatScope()
        done, self.done = self.done, 0
        with self.builder.inside(scope):
            for x in loop.inner_symbols:
                self.builder.plain(x)
            self.follow()
            for statement in loop.body:
                self.statement(statement)
            inner = [self.atom(x) for x in loop.inner_operands]
        self.done = done
        result = self._moving(outer, inner, masks, tuple(scope.out))
        self.builder.scope.out.append(result)
        self.done = len(self.builder.scope.out)
        for x in outer.targets:
            self.builder.plain(x)
        self.follow()

    def _moving(
        self, loop: Loop, inner: Sequence[Expr], masks: Masks, body: tuple[Statement, ...]
    ) -> Loop:
        """Return the loop that also carries, scans and stacks tangents."""
        rest = iter(inner)
        carried: list[Carried] = []
        for c in loop.carried:
            following = next(rest)
            carried.append(Carried(c.symbol, c.initial, following, c.final))
            for lane, tangent in self.lanes(c.symbol).items():
                final = self.builder.fresh("t")
                start = self.lanes(c.initial).get(lane, ZERO)
                carried.append(
                    Carried(tangent, start, self.lanes(following).get(lane, ZERO), final)
                )
                self.tangents.setdefault(c.final, {})[lane] = final
        scanned: list[Scanned] = []
        for s in loop.scanned:
            scanned.append(s)
            for lane, tangent in self.lanes(s.symbol).items():
                values = tuple(self.lanes(v).get(lane, ZERO) for v in s.values)
                scanned.append(Scanned(tangent, values))
        stacked: list[Stacked] = []
        for out in loop.stacked:
            value = next(rest)
            stacked.append(Stacked(value, out.targets))
            for lane, tangent in sorted(self.lanes(value).items()):
                fresh = tuple(self.builder.fresh("t") for _ in out.targets)
                stacked.append(Stacked(tangent, fresh))
                for target, name in zip(out.targets, fresh, strict=True):
                    self.tangents.setdefault(target, {})[lane] = name
        return Loop(loop.count, tuple(carried), tuple(scanned), tuple(stacked), body)


def called(program: Program, pattern: Pattern, calls: ForwardCalls) -> tuple[Program, Pattern]:
    """Return the Program of values and tangents, and which (output, lane) the tangents are."""
    known = calls.made.get((id(program), pattern))
    if known is not None:
        return known[1], known[2]
    seeds, port = seed_port(program, unused(program, "seeds"), len(pattern))
    lanes: dict[Expr, Lanes] = {}
    entries = program.input_symbols()
    for (i, lane), seed in zip(pattern, seeds, strict=True):
        lanes.setdefault(entries[i], {})[lane] = seed
    result = forward(program, lanes, calls)
    moved = tuple((i, k) for i, t in enumerate(result.lanes) for k in sorted(t))
    tangents = tuple(result.lanes[i][k] for i, k in moved)
    index = 1 + sum(1 for key in calls.made if key[0] == id(program))
    made = Program(
        f"{program.name}_forward{index if index > 1 else ''}",
        (*program.inputs, port),
        (
            *program.map_outputs(result.values),
            ProgramPort(unused(program, "tangents"), (len(tangents),), tangents),
        ),
        result.statements,
        program.slow,
    )
    calls.made[id(program), pattern] = (program, made, moved)
    return made, moved


def seed_port(program: Program, name: str, count: int) -> tuple[tuple[Expr, ...], ProgramPort]:
    """Return new input symbols for a Program, and the port that holds them."""
    namer = Namer(program, "s")
    seeds = tuple(symbol(namer().name, "input") for _ in range(count))
    return seeds, ProgramPort(name, (count,), seeds)


def unused(program: Program, name: str) -> str:
    """Return a name that no port of the Program has: this one, if need be with a number."""
    taken = {p.name for p in (*program.inputs, *program.outputs)}
    candidate, k = name, 1
    while candidate in taken:
        k += 1
        candidate = f"{name}_{k}"
    return candidate
