"""Dry friction in steps: the sign of a slip is solved for with the step, not sampled.

Where the rates of a System hold sign(s), s being the slip of a joint or a shaft, Coulomb's law
means any value within [-1, 1] at s = 0. With v = sign(s) as unknowns the rates are f(x, v), affine
in v. So is the rate of the slips, s' = b + W v, where W is the inverse inertia that the friction
forces feel, times their levels: coupled joints are solved together.

At the start of a step each friction is in one *mode*: it slips to one side, v = +1 or -1, or it
sticks. The modes are those of the complementarity problem

    s + T (b + W v) = 0 with |v| <= 1,   or v = the sign of that

over the time T: the whole step where its size is fixed (Moreau's time stepping), a moment where it
is adaptive. They are found by exchange of all that contradict the law, then of one at a time
(Murty, Linear Complementarity, chapter 4). In the step modes do not change, so that its stages are
smooth: where a friction sticks, each stage solves b + W v = -s(start)/h, which takes the slip to
zero at the end of the step, or leaves it there, whatever the loads.

An adaptive step ends where a slip comes to zero, and where a friction that sticks needs more than
it can give: it is refused with the size that leads there, by the secant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    absolute,
    as_expr,
    free_symbols,
    maximum,
    minimum,
    postorder,
    sign,
    substitute,
    substitute_all,
    symbol,
    total,
    where,
)
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Namer,
    Program,
    ProgramPort,
    Scanned,
    Solve,
    Statement,
    derivative as jacobians,
    gated,
    optimize,
    program,
)
from linkwright.program.inline import inlined
from linkwright.program.passes.replacement import replaced

if TYPE_CHECKING:
    from linkwright.simulation.native.explicit import Stages

MOMENT = 1e-12
"""s, over which an adaptive step looks ahead to tell what sticks."""
_AT_ONCE = 6  # exchanges of all that contradict the law, before one at a time
_SOON = 1e-11  # s, of each second of the run, up to which a break-away by a jump may be late
_FIRM = 1e-12  # part of its own inertia with which a friction gives way where several are redundant

Places = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class DryFriction:
    """The dry friction in the Program of a derivative.

    Args:
        loaded: the rates f(x, v): the derivative with v as one more input.
        linear: to one output: f(x, 0), s, b, then what the matrices df/dv, W and ds/dx have beside
            zeros at `pushes`, `couplings` and `slopes`.
        groups: frictions that are coupled.
        states: of the frictions whose slip is a state itself, the place of that in x.
        slips: in terms of the inputs.
    """

    loaded: Program
    linear: Program
    pushes: Places
    couplings: Places
    slopes: Places
    groups: tuple[tuple[int, ...], ...]
    states: Mapping[int, int]
    slips: tuple[Expr, ...]

    @property
    def count(self) -> int:
        """How many frictions there are."""
        return self.loaded.inputs[-1].size

    def without(self) -> Program:
        """Return the derivative without dry friction."""
        made = self.loaded
        none = [Assign(v, ZERO) for v in made.inputs[-1].entries]
        return replace(made, inputs=made.inputs[:-1], statements=(*none, *made.statements))


def dry_friction(derivative: Program) -> DryFriction | None:
    """Return the dry friction in the Program of a derivative; None where there is none.

    A sign whose argument does not feel it at once (that of a position, say) is none, and one that
    the rates are not affine in is left as it is.
    """
    if not _signs(derivative):
        return None
    derivative = _opened(derivative)
    left: set[Expr] = set()
    while True:
        made, slips = _extracted(derivative, left)
        if not slips:
            return None
        found, wrong = _linear(made, slips)
        if found is not None:
            return found
        left |= wrong


# -- what the derivative has of it -----------------------------------------------------------------
def _inner(statement: Statement) -> Iterator[Expr]:
    """Yield every expression of a statement, those inside of loops and calls included."""
    yield from statement.operands
    if isinstance(statement, Loop):
        yield from statement.inner_operands
        for inside in statement.body:
            yield from _inner(inside)
    elif isinstance(statement, Call):
        yield from _expressions(statement.program)


def _expressions(made: Program) -> Iterator[Expr]:
    for statement in made.statements:
        yield from _inner(statement)
    yield from made.output_values()


def _signs(made: Program) -> bool:
    return any(node.op == "sign" for node in postorder(_expressions(made)))


def _opened(made: Program) -> Program:
    """Return a derivative whose signs stand outside of calls and loops, where they can."""
    statements: list[Statement] = []
    namer = Namer(made, "dry_")
    for statement in made.statements:
        if isinstance(statement, Call) and _signs(statement.program):
            called = _opened(statement.program)
            if not any(isinstance(s, Loop) for s in called.statements):
                rest = iter(statement.arguments)
                given = {p.name: [next(rest) for _ in p.entries] for p in called.inputs}
                inside, outputs = inlined(called, given, namer)
                statements += inside
                values = [x for p in called.outputs for x in outputs[p.name]]
                statements += map(Assign, statement.targets, values)
                continue
        statements.append(_hoisted(statement, namer) if isinstance(statement, Loop) else statement)
    return made.with_statements(statements)


def _hoisted(loop: Loop, namer: Namer) -> Loop:
    """Return a loop that is given the signs of what it scans."""
    used = {x for x in postorder(list(_inner(loop))) if x.op == "sign"}
    new: dict[Expr, Expr] = {}
    scanned = list(loop.scanned)
    for array in loop.scanned:
        node = sign(array.symbol)
        if node in used:
            new[node] = namer()
            scanned.append(Scanned(new[node], tuple(sign(v) for v in array.values)))
    if not new:
        return loop

    def turned(statement: Statement) -> Statement:
        return statement.with_operands(replaced(statement.operands, new))

    return replace(
        loop,
        scanned=tuple(scanned),
        carried=tuple(replace(c, following=replaced([c.following], new)[0]) for c in loop.carried),
        stacked=tuple(replace(s, value=replaced([s.value], new)[0]) for s in loop.stacked),
        body=tuple(turned(s) for s in loop.body),
    )


def with_friction(
    made: Program, derivative: Program, found: Callable[[], DryFriction | None]
) -> Program:
    """Return another Program of a phase with the friction that there is, also at rest, for signs.

    Args:
        derivative: of the same phases.
        found: gives its dry friction.
    """
    from linkwright.simulation.native.explicit import Stages

    dry = found() if _signs(made) else None
    if dry is None:
        return made
    whole, slips = _extracted(_opened(made), set(), dry.slips)
    if not slips:
        return made
    stages = Stages(derivative, dry, adaptive=True)
    friction = stages.friction
    assert friction is not None
    stages.h = ONE
    stages.begin(stages.x, stages.t)
    v = dict(zip(dry.slips, friction.seen[0][1], strict=True))
    values = {"v": [v[slip] for slip in slips.values()]}
    name = f"{derivative.name}_held"
    call = program(name, dict(stages.arrays), values, statements=stages.statements)
    arguments = tuple(x for port in made.inputs[: len(derivative.inputs)] for x in port.entries)
    statements = (Call(call, arguments, tuple(slips)), *whole.statements)
    return replace(whole, inputs=made.inputs, statements=statements)


def _extracted(
    made: Program, left: set[Expr], among: Sequence[Expr] | None = None
) -> tuple[Program, dict[Expr, Expr]]:
    """Return a Program with unknowns for signs, one for each slip, and the slips by them.

    A slip that is a state times what does not change is that state.

    Args:
        left: slips whose signs stay.
        among: the slips that count; all others by default.
    """
    states = set(made.inputs[0].entries)
    fixed = set(made.port("p").entries)
    given = set(made.input_symbols()) - states
    known: dict[Expr, Expr] = {}  # of what is computed, in terms of inputs
    unknowns: dict[Expr, Expr] = {}  # by slip
    new: dict[Expr, Expr] = {}

    def take(node: Expr) -> None:
        (slip,) = substitute_all([node.args[0]], known)
        of = [x for x in free_symbols(slip) if x not in fixed]
        if slip in left or not set(of) - given:
            return
        factor = ONE
        if len(of) == 1 and of[0] in states and slip.op in ("prod", "scale"):
            rest = substitute(slip, {of[0]: ONE})
            if substitute(slip, {of[0]: 2}) is 2 * rest:
                slip, factor = of[0], sign(rest)
        if slip in left or (among is not None and slip not in among):
            return
        if slip not in unknowns:
            unknowns[slip] = symbol(f"dry{len(unknowns)}", "input", owner=f"{made.name} friction")
        new[node] = factor * unknowns[slip]

    statements: list[Statement] = []
    for statement in made.statements:
        for node in postorder(statement.operands):
            if node.op == "sign" and node not in new:
                take(node)
        statements.append(statement.with_operands(replaced(statement.operands, new)))
        if isinstance(statement, Assign):
            (value,) = substitute_all([statement.value], known)
            if sum(1 for _ in postorder([value])) < 40:
                known[statement.target] = value
    for node in postorder(made.output_values()):
        if node.op == "sign" and node not in new:
            take(node)
    outputs = made.map_outputs(replaced(made.output_values(), new))
    given = ProgramPort("v", (len(unknowns),), tuple(unknowns.values()))
    whole = replace(
        made, inputs=(*made.inputs, given), outputs=outputs, statements=tuple(statements)
    )
    return whole, {v: slip for slip, v in unknowns.items()}


def _linear(made: Program, slips: Mapping[Expr, Expr]) -> tuple[DryFriction | None, set[Expr]]:
    """Return the dry friction of a derivative, or None and the slips whose signs are none."""
    from linkwright.simulation.native.explicit import inputs_of

    unknowns, x = list(slips), made.inputs[0].entries
    n, k = len(x), len(unknowns)
    slip_port = ProgramPort("slip", (k,), tuple(slips.values()))
    both = replace(made, outputs=(*made.outputs, slip_port))
    by = jacobians(both, [made.outputs[0].name, "slip"], ["v", "x", "t"], values=True)
    ports = {port.name: port for port in by.outputs}
    rate = made.outputs[0].name
    push = ports[f"d_{rate}_d_v"].entries
    slope, drift = ports["d_slip_d_x"].entries, ports["d_slip_d_t"].entries
    pushes = [(i, j) for i in range(n) for j in range(k) if push[i * k + j] is not ZERO]
    bent = inputs_of(by, [push[i * k + j] for i, j in pushes]) & set(unknowns)
    slopes = [(j, i) for j in range(k) for i in range(n) if slope[j * n + i] is not ZERO]
    pushed = dict.fromkeys(pushes)
    couplings = sorted({(j, m) for j, i in slopes for m in range(k) if (i, m) in pushed})
    deaf = {v for j, v in enumerate(unknowns) if (j, j) not in couplings}
    if bent or deaf:
        return None, {slips[v] for v in (bent or deaf)}
    values = [ports[rate].entries[i] for i in range(n)]
    s = ports["slip"].entries
    base = [
        drift[j] + total(slope[j * n + i] * values[i] for m, i in slopes if m == j)
        for j in range(k)
    ]
    coupled = [
        total(slope[j * n + i] * push[i * k + m] for a, i in slopes if a == j and (i, m) in pushed)
        for j, m in couplings
    ]
    entries = [
        *values,
        *s,
        *base,
        *(push[i * k + j] for i, j in pushes),
        *coupled,
        *(slope[j * n + i] for j, i in slopes),
    ]
    flat = replace(
        by,
        name=f"{made.name}_friction",
        inputs=made.inputs[:-1],
        outputs=(ProgramPort("found", (len(entries),), tuple(entries)),),
        statements=(*(Assign(v, ZERO) for v in unknowns), *by.statements),
    )
    direct = {j: x.index(slip) for j, slip in enumerate(slips.values()) if slip in x}
    made = replace(made, name=f"{made.name}_given_friction")
    return (
        DryFriction(
            made,
            optimize(flat, rounds=1),
            tuple(pushes),
            tuple(couplings),
            tuple(slopes),
            _groups(k, couplings),
            direct,
            tuple(slips.values()),
        ),
        set(),
    )


def _groups(count: int, couplings: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return which of some frictions are coupled.

    >>> _groups(4, [(0, 0), (1, 1), (2, 2), (3, 3), (0, 2)])
    ((0, 2), (1,), (3,))
    """
    home = list(range(count))
    for i, j in couplings:
        a, b = sorted((home[i], home[j]))
        home = [a if h == b else h for h in home]
    return tuple(tuple(i for i in range(count) if home[i] == h) for h in sorted(set(home)))


# -- modes, and what holds -------------------------------------------------------------------------
def _hold(size: int) -> Program:
    """Return the Program of v where it sticks, m = 0: W v = r there, v = r elsewhere.

    What has lost its grip in a step has a v of 0.
    """
    W, right, m = (_array(name, n) for name, n in (("W", size * size), ("r", size), ("m", size)))
    held = [absolute(x) < 0.5 for x in m]
    stuck = [h & (W[i * size + i] < 0) for i, h in enumerate(held)]
    known = [where(s, r, where(h, 0, r)) for s, h, r in zip(stuck, held, right, strict=True)]
    matrix = [
        where(stuck[i], W[i * size + j] * (1 + _FIRM * (i == j)), float(i == j))
        for i in range(size)
        for j in range(size)
    ]
    v = _array("v", size)
    made = program(
        f"hold{size}",
        {"W": W, "r": right, "m": m},
        {"held": [where(here, x, 0) for here, x in zip(stuck, v, strict=True)]},
        statements=[Solve(size, tuple(matrix), tuple(known), tuple(v))],
    )
    return gated(made, "on")


def _exchange(size: int) -> Program:
    """Return the Program of how modes change: (z, W, m, single) to (dm, how many are wrong)."""
    z, W, m = (_array(name, n) for name, n in (("z", size), ("W", size * size), ("m", size)))
    (single,) = _array("single", 1)
    held = _array("held", size)
    right = [where(absolute(a) < 0.5, -x, a) for a, x in zip(m, z, strict=True)]
    v = [a + b for a, b in zip(m, held, strict=True)]
    statements: list[Statement] = [Call(_hold(size), (*W, *right, *m, ONE), tuple(held))]
    better = []
    for i in range(size):
        row = W[i * size : (i + 1) * size]
        y = z[i] + total(a * b for a, b in zip(row, v, strict=True))
        noise = 1e-12 * (absolute(z[i]) + total(absolute(a) for a in row))
        against = where(m[i] * y < -noise, where(row[i] < 0, 0, m[i]), m[i])
        beyond = where(v[i] > 1, 1, where(v[i] < -1, -1, 0))
        better.append(where(absolute(m[i]) < 0.5, beyond, against))
    change = _array("change", size)
    statements += [Assign(c, b - a) for c, b, a in zip(change, better, m, strict=True)]
    later, moves = ZERO, []
    for c in reversed(change):
        moves.append(where(single * later > 0, 0, c))
        later = later + absolute(c)
    made = program(
        f"exchange{size}",
        {"z": z, "W": W, "m": m, "single": [single]},
        {"dm": moves[::-1], "wrong": [later]},
        statements=statements,
    )
    return gated(made, "on")


def _array(name: str, size: int) -> list[Expr]:
    return [symbol(f"{name}{i}", "input", owner="dry friction") for i in range(size)]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What `DryFriction.linear` gives at a state, and v there."""

    rates: list[Expr]
    slips: list[Expr]
    base: list[Expr]
    pushes: dict[tuple[int, int], Expr]
    couplings: dict[tuple[int, int], Expr]
    slopes: dict[tuple[int, int], Expr]
    groups: tuple[tuple[int, ...], ...]

    def columns(self) -> list[list[Expr]]:
        """Return df/dv, column by column."""
        n, k = len(self.rates), len(self.slips)
        return [[self.pushes.get((i, j), ZERO) for i in range(n)] for j in range(k)]

    def with_rates(self, rates: Sequence[Expr], columns: Sequence[Sequence[Expr]]) -> Found:
        """Return what is found with other rates f(x, 0) and df/dv."""
        n, k = len(self.rates), len(self.slips)

        def along(j: int, f: Sequence[Expr]) -> Expr:
            return total(slope * f[i] for (a, i), slope in self.slopes.items() if a == j)

        more = [a - b for a, b in zip(rates, self.rates, strict=True)]
        return replace(
            self,
            rates=list(rates),
            base=[b + along(j, more) for j, b in enumerate(self.base)],
            pushes={(i, j): columns[j][i] for j in range(k) for i in range(n)},
            couplings={(j, m): along(j, columns[m]) for j in range(k) for m in range(k)},
            groups=(tuple(range(k)),),
        )


class FrictionInStep:
    """The dry friction of a step while the step is put together."""

    def __init__(self, stages: Stages, dry: DryFriction, span: Expr) -> None:
        self.stages, self.dry, self.span = stages, dry, span
        self.modes: list[Expr] = []
        self.targets: list[Expr] = []
        self.seen: list[tuple[Found, list[Expr]]] = []

    def named(self, values: Sequence[Expr]) -> list[Expr]:
        """Return names for values."""
        names = [self.stages.namer() for _ in values]
        self.stages.statements.extend(map(Assign, names, values))
        return names

    def found(self, x: Sequence[Expr], t: Expr) -> Found:
        """Return what the rates are made of at a state."""
        dry = self.dry
        rest = iter(self.stages.rates_of(dry.linear, x, t))
        n, k = len(self.stages.x), dry.count
        return Found(
            *([next(rest) for _ in range(size)] for size in (n, k, k)),
            *({place: next(rest) for place in p} for p in (dry.pushes, dry.couplings, dry.slopes)),
            dry.groups,
        )

    def begin(self, found: Found) -> list[Expr]:
        """Settle the modes by what is found at the start; return the rates there."""
        h = self.stages.h
        time = h if self.span is h else maximum(h, self.span)
        self.targets = self.named([-s / time for s in found.slips])
        z = self.named([s / self.span + b for s, b in zip(found.slips, found.base, strict=True)])
        modes: dict[int, Expr] = {}
        for group in found.groups:
            modes |= zip(group, self._group_modes(group, [z[i] for i in group], found), strict=True)
        self.modes = [modes[i] for i in range(len(z))]
        return self.rates(found)

    def _group_modes(self, group: Sequence[int], z: Sequence[Expr], found: Found) -> list[Expr]:
        W = [found.couplings.get((i, j), ZERO) for i in group for j in group]
        k = len(group)
        start = []
        for i, x in enumerate(z):
            most = total(absolute(w) for w in W[i * k : (i + 1) * k])
            slides = where(x < 0, -1, 1)
            start.append(where(absolute(x) > most, slides, where(W[i * k + i] < 0, 0, slides)))
        modes = self.named(start)
        if k == 1:
            return modes
        stages = self.stages
        inside, out, moves = ([stages.namer() for _ in group] for _ in range(3))
        on, wrong, single, over = (stages.namer() for _ in range(4))
        turns = _AT_ONCE + 2 * k
        exchanged = Call(_exchange(k), (*z, *W, *inside, single, on), (*moves, wrong))
        any_holds = total(1 - absolute(m) for m in modes)
        carried = [
            Carried(m, first, m + dm, end)
            for m, first, dm, end in zip(inside, modes, moves, out, strict=True)
        ]
        carried.append(Carried(on, any_holds, wrong, over))
        flags = Scanned(single, tuple(as_expr(int(i >= _AT_ONCE)) for i in range(turns)))
        stages.statements.append(Loop(turns, tuple(carried), (flags,), (), (exchanged,)))
        return out

    def solved(
        self, found: Found, right: Sequence[Expr], modes: Sequence[Expr], slides: Sequence[Expr]
    ) -> list[Expr]:
        """Return v: the solution of W v = right where it sticks, and `slides` elsewhere."""
        v: dict[int, Expr] = {}
        for group in found.groups:
            W = [found.couplings.get((i, j), ZERO) for i in group for j in group]
            m, stuck = [modes[i] for i in group], [absolute(modes[i]) < 0.5 for i in group]
            if len(group) == 1:
                (i,), (here,), grips = group, stuck, W[0] < 0
                v[i] = where(here, where(grips, right[i] / where(grips, W[0], 1), 0), slides[i])
                continue
            sides = [where(h, right[i], slides[i]) for h, i in zip(stuck, group, strict=True)]
            held = [self.stages.namer() for _ in group]
            holds = total(1 - absolute(x) for x in m)
            self.stages.statements.append(
                Call(_hold(len(group)), (*W, *sides, *m, holds), tuple(held))
            )
            rows = zip(group, stuck, held, strict=True)
            v |= {i: where(here, x, slides[i]) for i, here, x in rows}
        return self.named([v[i] for i in range(len(modes))])

    def rates(self, found: Found) -> list[Expr]:
        """Return the rates at a state, with the friction that the modes say."""
        right = [c - b for c, b in zip(self.targets, found.base, strict=True)]
        v = self.solved(found, right, self.modes, self.modes)
        self.seen.append((found, v))
        rates = self.pushed(found.rates, found, v)
        for j, i in self.dry.states.items():
            rates[i] = where(absolute(self.modes[j]) < 0.5, self.targets[j], rates[i])
        return self.named(rates)

    def pushed(self, x: Sequence[Expr], found: Found, v: Sequence[Expr]) -> list[Expr]:
        """Return x with df/dv times v added."""
        parts: list[list[Expr]] = [[a] for a in x]
        for (i, j), push in found.pushes.items():
            parts[i].append(push * v[j])
        return [total(p) for p in parts]

    def still(self, x: Sequence[Expr], modes: Sequence[Expr] | None = None) -> list[Expr]:
        """Return x with slips that are states at zero where they stick."""
        new = list(x)
        for j, i in self.dry.states.items():
            stuck = absolute((self.modes if modes is None else modes)[j]) < 0.5
            new[i] = where(stuck, 0, new[i])
        return self.named(new)

    # -- adaptive steps ----------------------------------------------------------------------------
    def unresolved(self, weights: Sequence[object]) -> Expr:
        """Return the error of v over the step where it sticks, in units of a thousandth."""
        from linkwright.simulation.native.explicit import number

        errors = []
        for j, m in enumerate(self.modes):
            rows = zip(weights, self.seen, strict=False)
            change = total(number(w) * v[j] for w, (_, v) in rows if w)
            errors.append(where(absolute(m) < 0.5, 1e3 * absolute(change), 0))
        return where(self.stages.h > self.soon, maximum(*errors, 0), 0)

    @property
    def soon(self) -> Expr:
        """Return the size of a step in which a jump of the load is taken as it comes."""
        return _SOON * (1 + absolute(self.stages.t))

    def ended(
        self, x: Sequence[Expr], control: Sequence[Expr], relative: Expr, least: Expr
    ) -> tuple[list[Expr], list[Expr]]:
        """Return the new state and what the control of steps is told, slips at zero where they end.

        The rates at the new state have been asked for last.
        """
        (first, v0), (last, v1), h = self.seen[0], self.seen[-1], self.stages.h
        sizes, landed = [], []
        for j, m in enumerate(self.modes):
            stuck = absolute(m) < 0.5
            s0, s1 = (m * f.slips[j] for f in (first, last))
            a0, a1 = (
                m * (f.base[j] + total(f.couplings[i, k] * v[k] for i, k in f.couplings if i == j))
                for f, v in ((first, v0), (last, v1))
            )
            # the slip between the ends, by Hermite's cubic where its rate is zero by the secant
            at = where(a1 > a0, minimum(1, maximum(0, -a0 / where(a1 > a0, a1 - a0, 1))), 0)
            dip = (1 - at) ** 2 * (s0 + at * (2 * s0 + h * a0))
            dip = dip + at**2 * (s1 + (1 - at) * (2 * s1 - h * a1))
            room, band = self.named([0.1 * (relative * absolute(s0) + least), 0.1 * relative])
            way = where(s1 < -room, s0 - s1, 1)
            crossed = where(s1 < -room, maximum(1e-3, (s0 + 0.5 * room) / way), 2)
            crossed = where(dip < minimum(s0, s1, 0) - room, minimum(crossed, 0.5), crossed)
            beyond = absolute(v1[j]) - 1
            torn = where(beyond > band, where(h > self.soon, 1, 0), 0)
            needed = absolute(v1[j]) - absolute(v0[j])
            part = (1 + 0.5 * band - absolute(v0[j])) / where(torn > 0, needed, 1)
            inner = [absolute(v[j]) for _, v in self.seen[1:-1]]
            early = where(maximum(ZERO, *inner) > 1.001, 0.5, 2) if inner else as_expr(2)
            torn = where(torn > 0, maximum(1e-3, part), early)
            rubs = [f.couplings[j, j] < 0 for f in (first, last)]
            crossed = where(rubs[0], where(h > self.soon, crossed, 2), 2)
            sizes.append(where(stuck, torn, crossed))
            ends = where(s1 <= where(s0 > room, room, 0), where(rubs[1], 0, m), m)
            landed.append(where(stuck, 0, ends))
        error, longer, shorter = control
        (cut,) = self.named([minimum(*sizes, 2)])
        bad = cut < 1.5
        told = [
            where(bad, maximum(error, 2), error),
            longer,
            where(bad, minimum(cut, where(error > 1, shorter, 1), 1 - 1e-12), shorter),
        ]
        modes = self.named(landed)
        none = [ZERO] * len(modes)
        impulse = self.solved(last, [-s for s in last.slips], modes, none)
        return self.still(self.pushed(x, last, impulse), modes), told
