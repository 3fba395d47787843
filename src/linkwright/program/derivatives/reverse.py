"""Reverse accumulation: the statements, then adjoints in the opposite order.

There are several lanes, one for each output entry that is differentiated. What the way back reads
of the way forth is kept: a loop stacks it, turn by turn, for a loop that runs backward; a called
Program returns it for a second Program. For A x = b the adjoints are those of the transposed
system: Aᵀ λ = x̄ gives b̄ += λ and Ā -= λ xᵀ.

See Griewank and Walther, Evaluating Derivatives (2nd edition), chapter 3 for the accumulation and
its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from linkwright.algebra.calculus import substitute_all
from linkwright.algebra.expr import ONE, Expr, mul, scaled
from linkwright.algebra.symbols import symbol
from linkwright.program.derivatives.adjoints import Adjoints, Guarded, both, either
from linkwright.program.derivatives.edges import edges
from linkwright.program.derivatives.flat import Builder, FlatScope, is_light, rename, symbols_read
from linkwright.program.derivatives.forward import seed_port, unused
from linkwright.program.derivatives.reverse_loop import loop_back
from linkwright.program.derivatives.structure import Masks, MaskSpreader
from linkwright.program.program import (
    Assign,
    Call,
    Loop,
    Namer,
    Program,
    ProgramPort,
    Solve,
    Statement,
)

Pattern = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A called Program cut in two."""

    source: Program  # the Program itself
    forth: Program  # the Program that also returns what the way back needs
    back: Program  # the Program from that and the adjoints of outputs to the adjoints of inputs
    inputs_read: tuple[int, ...]  # the input entries of `source` that `back` takes
    kept: int  # how many values `forth` returns beside the outputs
    moved: Pattern  # for each result of `back` the input entry and lane that it is the adjoint of


@dataclass(slots=True)
class ReverseCalls:
    """The Programs for calls: by called Program, arguments that matter, adjoints that are given."""

    structure: MaskSpreader = field(default_factory=MaskSpreader)
    made: dict[tuple[int, tuple[int, ...], Pattern], Split] = field(default_factory=dict)
    again: bool = False  # whether the way back computes again what it needs of the way forth


@dataclass(slots=True)
class AdjointResult:
    """What reverse accumulation made of a Program."""

    forth: tuple[Statement, ...]
    back: tuple[Statement, ...]
    values: tuple[Expr, ...]
    lanes: tuple[dict[int, Expr], ...]


def reverse(
    program: Program,
    inputs: Iterable[Expr],
    seeds: Callable[[tuple[Expr, ...]], Iterable[tuple[Expr, int, Expr]]],
    calls: ReverseCalls,
) -> AdjointResult:
    """Accumulate adjoints through a Program."""
    wanted = tuple(inputs)
    builder = Builder(program)
    for statement in program.statements:
        builder.flatten(statement)
    values = tuple(builder.atom(x) for x in program.output_values())
    forth = builder.scope.out
    masks: Masks = dict.fromkeys(wanted, 1)
    calls.structure.spread(forth, masks)
    way_back = FlatScope()
    with builder.inside(way_back):
        sweep = ReverseSweep(builder, masks, calls)
        for value, lane, adjoint in seeds(values):
            sweep.give(value, lane, Guarded(ONE, adjoint))
        sweep.back_over(forth)
        lanes = tuple(
            {k: builder.settled("b", a.plain) for k, a in sweep.adjoints.take(x, builder).items()}
            for x in wanted
        )
    return AdjointResult(tuple(forth), tuple(way_back.out), values, lanes)


class ReverseSweep:
    """One way back over a block of flat statements, writing to the builder's last scope."""

    def __init__(self, builder: Builder, masks: Masks, calls: ReverseCalls) -> None:
        self.builder = builder
        self.masks = masks
        self.calls = calls
        self.adjoints = Adjoints()

    def varies(self, x: Expr) -> bool:
        """Whether a symbol depends on a wanted input."""
        return bool(self.masks.get(x, 0))

    def give(self, x: Expr, lane: int, contribution: Guarded) -> None:
        """Add to the adjoint of an atom, if that matters."""
        if x.op == "sym" and self.varies(x):
            self.adjoints.add(x, lane, contribution)

    def back_over(self, statements: list[Statement]) -> None:
        """Go back over statements; loops and calls are replaced by ones that keep more."""
        for i in reversed(range(len(statements))):
            statement = statements[i]
            if isinstance(statement, Assign):
                self._assign(statement)
            elif isinstance(statement, Solve):
                self._solve(statement)
            elif isinstance(statement, Call):
                statements[i] = self._call(statement)
            else:
                inner = ReverseSweep(self.builder, self.masks, self.calls)
                statements[i] = loop_back(self, inner, statement)

    def _assign(self, assign: Assign) -> None:
        adjoints = self.adjoints.take(assign.target, self.builder)
        if not adjoints:
            return
        for edge in edges(assign, self.varies):
            weight = self.builder.weight(edge.weight)
            if len(adjoints) > 1 and not is_light(weight):
                weight = self.builder.settled("p", weight)
            for lane, adjoint in adjoints.items():
                guard = both(adjoint.guard, edge.condition)
                value = mul(adjoint.value, weight)
                self.adjoints.add(edge.operand, lane, Guarded(guard, value))

    def _solve(self, solve: Solve) -> None:
        n = solve.size
        adjoints = [self.adjoints.take(x, self.builder) for x in solve.targets]
        columns: list[tuple[int, int, Expr]] = []
        right: list[Expr] = []
        for first in range(0, len(solve.targets), n):
            column = adjoints[first : first + n]
            for lane in sorted({k for a in column for k in a}):
                given = [a[lane] for a in column if lane in a]
                columns.append((first, lane, either(dict.fromkeys(g.guard for g in given))))
                for a in column:
                    value = a[lane].plain if lane in a else scaled(0, ONE)
                    right.append(self.builder.settled("b", value))
        if not columns:
            return
        fresh = tuple(self.builder.fresh("b") for _ in right)
        transposed = tuple(solve.matrix[j * n + i] for i in range(n) for j in range(n))
        self.builder.scope.out.append(Solve(n, transposed, tuple(right), fresh))
        for c, (first, lane, guard) in enumerate(columns):
            unknowns = solve.targets[first : first + n]
            for i, multiplier in enumerate(fresh[c * n : (c + 1) * n]):
                self.give(solve.right[first + i], lane, Guarded(guard, multiplier))
                for j, x in enumerate(unknowns):
                    entry = solve.matrix[i * n + j]
                    self.give(entry, lane, Guarded(guard, scaled(-1, mul(multiplier, x))))

    def _call(self, call: Call) -> Call:
        """Append the way back through a call, one for each guard, and return the way forth."""
        adjoints = [self.adjoints.take(x, self.builder) for x in call.targets]
        guards = dict.fromkeys(a.guard for lanes in adjoints for a in lanes.values())
        wanted = tuple(i for i, x in enumerate(call.arguments) if x.op == "sym" and self.varies(x))
        forth = call
        for guard in guards:
            forth = self._call_back(call, forth, adjoints, guard, wanted)
        return forth

    def _call_back(
        self,
        call: Call,
        forth: Call,
        adjoints: list[dict[int, Guarded]],
        guard: Expr,
        wanted: tuple[int, ...],
    ) -> Call:
        given = [
            (i, lane, a.value)
            for i, lanes in enumerate(adjoints)
            for lane, a in lanes.items()
            if a.guard is guard
        ]
        names = sorted({lane for _, lane, _ in given})
        order = {lane: k for k, lane in enumerate(names)}
        pattern = tuple((i, order[lane]) for i, lane, _ in given)
        split = split_call(call.program, wanted, pattern, self.calls)
        if not split.moved:
            return forth
        kept = tuple(self.builder.fresh("w") for _ in range(split.kept))
        arguments = (
            *(call.arguments[i] for i in split.inputs_read),
            *kept,
            *(value for _, _, value in given),
        )
        results = tuple(self.builder.fresh("b") for _ in split.moved)
        self.builder.scope.out.append(Call(split.back, arguments, results))
        for (i, k), result in zip(split.moved, results, strict=True):
            self.give(call.arguments[i], names[k], Guarded(guard, result))
        if forth is call:
            return Call(split.forth, call.arguments, (*call.targets, *kept))
        # A second guard needs values of its own: they come from a call that stands on the way back.
        spare = tuple(self.builder.fresh("w") for _ in call.targets)
        again = Call(split.forth, call.arguments, (*spare, *kept))
        self.builder.scope.out.insert(-1, again)
        return forth


def split_call(
    program: Program, wanted: tuple[int, ...], pattern: Pattern, calls: ReverseCalls
) -> Split:
    """Return a called Program cut into its way forth and its way back."""
    key = (id(program), wanted, pattern)
    known = calls.made.get(key)
    if known is not None:
        return known
    seeds, _ = seed_port(program, "seeds", len(pattern))
    entries = program.input_symbols()

    def given(values: tuple[Expr, ...]) -> Iterable[tuple[Expr, int, Expr]]:
        return [(values[i], lane, seed) for (i, lane), seed in zip(pattern, seeds, strict=True)]

    result = reverse(program, [entries[i] for i in wanted], given, calls)
    moved = tuple((wanted[j], k) for j, lanes in enumerate(result.lanes) for k in lanes)
    adjoints = [a for lanes in result.lanes for a in lanes.values()]
    if calls.again:
        whole = Program(
            f"{program.name}_back{len(calls.made) or ''}",
            (*program.inputs, *_ports((unused(program, "seeds"), seeds))),
            _ports(("adjoints", tuple(adjoints))),
            (*result.forth, *result.back),
            program.slow,
        )
        split = Split(program, program, whole, tuple(range(len(entries))), 0, moved)
        calls.made[key] = split
        return split
    read = symbols_read(result.back, adjoints)
    made_back = {x for s in result.back for x in s.targets}
    inner = _inner_symbols(result.back)
    position = {x: i for i, x in enumerate(entries)}
    inputs_read = tuple(sorted(position[x] for x in read if x in position))
    excluded = {*seeds, *made_back, *inner, *position}
    kept = tuple(x for x in read if x not in excluded)
    namer = Namer(program, "k")
    names = {x: symbol(namer().name, "input") for x in kept}
    index = 1 + sum(1 for other in calls.made if other[0] == id(program))
    number = str(index) if index > 1 else ""
    forth = Program(
        f"{program.name}_forth{number}",
        program.inputs,
        (*program.map_outputs(result.values), *_ports((unused(program, "kept"), kept))),
        result.forth,
        program.slow,
    )
    arguments = tuple(entries[i] for i in inputs_read)
    back = Program(
        f"{program.name}_back{number}",
        _ports(("arguments", arguments), ("kept", tuple(names.values())), ("seeds", seeds)),
        _ports(("adjoints", tuple(substitute_all(adjoints, names)))),
        rename(result.back, names),
        frozenset(x for x in arguments if x in program.slow),
    )
    split = Split(program, forth, back, inputs_read, len(kept), moved)
    calls.made[key] = split
    return split


def _ports(*arrays: tuple[str, tuple[Expr, ...]]) -> tuple[ProgramPort, ...]:
    """Return a port for each array that has entries."""
    return tuple(ProgramPort(name, (len(x),), x) for name, x in arrays if x)


def _inner_symbols(statements: Iterable[Statement]) -> set[Expr]:
    """Return all symbols that exist only inside the loops among the statements."""
    result: set[Expr] = set()
    blocks = [list(statements)]
    while blocks:
        for statement in blocks.pop():
            if isinstance(statement, Loop):
                result.update(statement.inner_symbols)
                for inner in statement.body:
                    result.update(inner.targets)
                blocks.append(list(statement.body))
    return result
