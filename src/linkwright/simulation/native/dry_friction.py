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
it can give: it is rejected with the size that leads there, by the secant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    as_expr,
    free_symbols,
    postorder,
    sign,
    substitute,
    substitute_all,
    symbol,
    total,
)
from linkwright.base.errors import Error
from linkwright.program import (
    Assign,
    Call,
    Loop,
    Namer,
    Program,
    ProgramPort,
    Scanned,
    Stacked,
    Statement,
    optimize,
    program,
)
from linkwright.program.passes import liveness, value_numbering
from linkwright.program.passes.replacement import replaced

FEW = 16
"""Frictions up to which df/dv is written out; that of more is computed column by column."""
SMALL = 600
"""Numbers in df/dv up to which that holds, too."""
MOST = 40
"""Coupled frictions that are solved with the step; more are rejected."""

Places = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class DryFriction:
    """The dry friction in the Program of a derivative."""

    loaded: Program  # the rates f(x, v): the derivative with v as one more input
    # to one output: f(x, 0), s, b, then what the matrices df/dv, W and ds/dx have beside zeros at
    # `pushes`, `couplings` and `slopes`
    linear: Program
    pushes: Places
    couplings: Places
    slopes: Places
    groups: tuple[tuple[int, ...], ...]  # frictions that are coupled
    # of the frictions whose slip is a state itself, the place of that in x
    states: Mapping[int, int]
    slips: tuple[Expr, ...]  # in terms of the inputs

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

    A sign whose argument does not feel it at once (that of a position, say) is not dry friction,
    and one that the rates are not affine in is left as it is. More than `MOST` coupled ones are
    rejected.
    """
    if not _signs(derivative):
        return None
    derivative = _opened(derivative)
    left: set[Expr] = set()
    while True:
        made, slips = _extracted(derivative, left)
        if not slips:
            return None
        if len(slips) > MOST and (most := max(map(len, _coupled(made, slips)))) > MOST:
            raise Error(
                f"{most} dry frictions are coupled with each other in {derivative.name!r}, and at "
                f"most {MOST} can be solved with a step",
                remedy="leave out the friction of some joints (URDF friction, MJCF frictionloss), "
                "or smooth it: elements.Friction(..., smoothing=...) or LuGre",
            )
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
    from linkwright.program.inline import inlined

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
    """Return another Program of a phase with the friction that there is, also at rest."""
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
    v_port = ProgramPort("v", (len(unknowns),), tuple(unknowns.values()))
    whole = replace(
        made, inputs=(*made.inputs, v_port), outputs=outputs, statements=tuple(statements)
    )
    return whole, {v: slip for slip, v in unknowns.items()}


def _linear(made: Program, slips: Mapping[Expr, Expr]) -> tuple[DryFriction | None, set[Expr]]:
    """Return the dry friction of a derivative, or None and the slips whose signs are not dry
    friction."""
    from linkwright.program import derivative as jacobians
    from linkwright.simulation.native.explicit import inputs_of

    unknowns, x = list(slips), made.inputs[0].entries
    n, k = len(x), len(unknowns)
    slip_port = ProgramPort("slip", (k,), tuple(slips.values()))
    both = replace(made, outputs=(*made.outputs, slip_port))
    large = k > FEW or n * k > SMALL
    if large:
        by = _by_columns(both, unknowns)
    else:
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
            liveness(value_numbering(flat)) if large else optimize(flat, rounds=1),
            tuple(pushes),
            tuple(couplings),
            tuple(slopes),
            _groups(k, couplings),
            direct,
            tuple(slips.values()),
        ),
        set(),
    )


def _by_columns(both: Program, unknowns: Sequence[Expr]) -> Program:
    """Return values and Jacobians as `jacobians` does, df/dv by a loop over the unknowns."""
    from linkwright.program import derivative as jacobians, jacobian_vector, sparsity
    from linkwright.simulation.native.explicit import inputs_of

    rate, k = both.outputs[0], len(unknowns)
    by = jacobians(both, "slip", ["x", "t"], values=True)
    along = jacobian_vector(both, rate.name, ["v"])
    pushes = sparsity(both, rate.name, "v")
    namer = Namer(by, "column_")
    inside, column = ([namer() for _ in range(size)] for size in (k, rate.size))
    units = [
        Scanned(e, tuple(as_expr(int(i == j)) for j in range(k))) for i, e in enumerate(inside)
    ]
    entries = [ZERO] * (rate.size * k)
    for place in zip(pushes.rows, pushes.columns, strict=True):
        entries[place[0] * k + place[1]] = namer()
    rows = [entries[i * k : (i + 1) * k] for i in range(rate.size)]
    stacked = tuple(
        Stacked(column[i], tuple(namer() if x is ZERO else x for x in row))
        for i, row in enumerate(rows)
        if any(x is not ZERO for x in row)
    )
    bent = inputs_of(along, along.output_values())
    given = [x for port in both.inputs for x in port.entries]
    given = [ZERO if x in unknowns and x not in bent else x for x in given]
    called = Call(along, (*given, *inside), tuple(column))
    loop = Loop(k, (), tuple(units), stacked, (called,))
    port = ProgramPort(f"d_{rate.name}_d_v", (rate.size, k), tuple(entries))
    return replace(by, outputs=(*by.outputs, port), statements=(*by.statements, loop))


def _coupled(made: Program, slips: Mapping[Expr, Expr]) -> tuple[tuple[int, ...], ...]:
    """Return which frictions are coupled, by what depends on what."""
    from linkwright.program import sparsity

    slip_port = ProgramPort("slip", (len(slips),), tuple(slips.values()))
    both = replace(made, outputs=(*made.outputs, slip_port))
    pushes = sparsity(both, made.outputs[0].name, "v")
    slopes = sparsity(both, "slip", "x")
    pushed: dict[int, list[int]] = {}
    for i, j in zip(pushes.rows, pushes.columns, strict=True):
        pushed.setdefault(i, []).append(j)
    rows = zip(slopes.rows, slopes.columns, strict=True)
    return _groups(len(slips), [(j, m) for j, i in rows for m in pushed.get(i, ())])


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
