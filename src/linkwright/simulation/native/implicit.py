"""Steps for stiff systems: Rosenbrock methods with the exact Jacobian.

RODAS4 has six stages, order 4 with an estimate of order 3, is L-stable and stiffly accurate (Hairer
and Wanner, Solving Ordinary Differential Equations II, 2nd ed., section IV.7 and its program
RODAS). With J the Jacobian of the rates by x and f' their rate of change with time, each stage
solves

    (1/(h g) - J) U_i = f(t + a_i h, x + sum a_ij U_j) + sum c_ij/h U_j + g_i h f'

with one factorization for all stages. J comes from the Program of the derivative, the right sides
are Programs too; between them stands a dense elimination with pivoting, written here for one lane
at a time, because each lane may exchange its rows in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import ONE, ZERO, Expr, maximum, total
from linkwright.backends.llvm.ir import IrWriter
from linkwright.program import (
    Call,
    Program,
    ProgramPort,
    derivative as jacobians,
    optimize,
    program,
)
from linkwright.simulation.native.dry_friction import DryFriction
from linkwright.simulation.native.explicit import Stages, Tolerances, control, held, number
from linkwright.simulation.native.rosenbrock import (
    COUPLING,
    ERROR_ORDER,
    GAMMA,
    MIDDLE,
    NODES,
    SLOPES,
    STAGES,
)

_COUNT = len(NODES)


def jacobian_program(derivative: Program, dry: DryFriction | None = None) -> Program:
    """Return the Program of the rates, their derivatives by time, and those by x, row by row."""
    if dry is not None:
        return _jacobian_with_friction(derivative, dry)
    made = jacobians(derivative, derivative.outputs[0].name, ["t", "x"], values=True)
    rates, by_time, by_x = made.outputs
    flat = Program(
        f"{derivative.name}_jacobian",
        made.inputs,
        (rates, _flat(by_time), _flat(by_x)),
        made.statements,
        made.slow,
    )
    return optimize(flat, rounds=1)


def _jacobian_with_friction(derivative: Program, dry: DryFriction) -> Program:
    """Return the same with the friction v that the rates have, and what it does where it sticks.

    From S f(x, v) = const with S = ds/dx follows W dv = -S df: what a change of x or t does to the
    rates is df + df/dv dv.
    """
    made = jacobians(dry.loaded, dry.loaded.outputs[0].name, ["t", "x"], values=True)
    stages = Stages(derivative, dry, adaptive=True)
    stages.h, friction, n = ONE, stages.friction, len(stages.x)
    assert friction is not None
    found = friction.found(stages.x, stages.t)
    friction.begin(found)
    _, v = friction.seen[0]
    targets = [stages.namer() for _ in made.output_values()]
    given = [x for port in derivative.inputs for x in port.entries]
    stages.statements.append(Call(optimize(made, rounds=1), (*given, *v), tuple(targets)))
    rates, rest = targets[:n], targets[n:]
    columns = []
    for j in range(n + 1):
        column = rest[:n] if j == 0 else rest[n + j - 1 :: n]
        right = [ZERO] * dry.count
        for (a, i), slope in found.slopes.items():
            right[a] = right[a] - slope * column[i]
        dv = friction.solved(found, right, friction.modes, [ZERO] * dry.count)
        columns.append(friction.still(friction.pushed(column, found, dv)))
    by_x = [columns[j + 1][i] for i in range(n) for j in range(n)]
    outputs = {"rates": rates, "by_time": columns[0], "by_x": by_x}
    inputs: dict[str, object] = dict(stages.arrays)
    name = f"{derivative.name}_jacobian"
    return program(name, inputs, outputs, statements=stages.statements)


def _flat(port: ProgramPort) -> ProgramPort:
    return ProgramPort(port.name, (port.size,), port.entries)


class _Rosenbrock(Stages):
    """A stage or the end of a step; U are the stages so far, f' the rates' derivative by time."""

    def __init__(self, derivative: Program, dry: DryFriction | None) -> None:
        super().__init__(derivative, dry, adaptive=True)
        if dry is not None:
            self.begin(self.x, self.t)
        n = len(self.x)
        self.increments = [[self.namer() for _ in range(n)] for _ in range(_COUNT)]
        self.by_time = [self.namer() for _ in range(n)]

    def summed(self, weights: Sequence[float]) -> list[Expr]:
        """Return a weighted sum of the stages."""
        pairs = [(number(a), u) for a, u in zip(weights, self.increments, strict=False) if a]
        return [total([a * u[i] for a, u in pairs]) for i in range(len(self.x))]

    @property
    def more(self) -> dict[str, object]:
        """The arrays that a stage takes besides those of a phase and the step's size."""
        return {"f_t": self.by_time, "u": [x for row in self.increments for x in row]}


def stage_program(derivative: Program, index: int, dry: DryFriction | None = None) -> Program:
    """Return the Program of the right side of a stage."""
    s = _Rosenbrock(derivative, dry)
    place = [a + b for a, b in zip(s.x, s.summed(STAGES[index]), strict=True)]
    rates = s.rates(place, s.t + number(NODES[index]) * s.h)
    coupled = s.summed(COUPLING[index])
    slope = number(SLOPES[index]) * s.h
    right = [f + c / s.h + slope * f_t for f, c, f_t in zip(rates, coupled, s.by_time, strict=True)]
    return s.finished(s.more, {"right": right})


def end_program(derivative: Program, dry: DryFriction | None = None) -> Program:
    """Return the Program of the end of a step: new state, error and factors, interpolant."""
    s = _Rosenbrock(derivative, dry)
    tolerances, before = Tolerances(s), s.namer()
    new = held(s, [a + b for a, b in zip(s.x, s.summed((*STAGES[-1], 1.0)), strict=True)])
    error = tolerances.norm(s.increments[-1], new)
    middle = [s.summed(row) for row in MIDDLE]
    if s.friction:
        rows = zip(s.x, new, *middle, strict=True)
        inside = s.friction.named([0.5 * (a + b) + 0.25 * c + 0.125 * d for a, b, c, d in rows])
        s.rates(inside, s.t + 0.5 * s.h)
        s.rates(new, s.t + s.h)
        error = maximum(error, s.friction.unresolved((0.25, -0.5, 0.25)))
    told = control(s, error, before, ERROR_ORDER + 1)
    if s.friction:
        new, told = s.friction.ended(new, told, tolerances.relative, tolerances.least)
    return s.finished(
        {**s.more, "c": tolerances.given, "b": [before]},
        {
            "x_new": new,
            "e": told,
            "r": [x for row in middle for x in row],
        },
    )


def interpolant(states: int, *, dry: bool = False) -> Program:
    """Return the Program of the state inside a step, with dry friction or without."""
    from linkwright.algebra import symbol

    def array(name: str, count: int = states) -> list[Expr]:
        return [symbol(f"{name}{i}", "local") for i in range(count)]

    x, y, r = array("x"), array("y"), array("r", 2 * states)
    theta = symbol("theta", "local")
    inside = [
        (1 - theta) * a + theta * (b + (1 - theta) * (c + theta * d))
        for a, b, c, d in zip(x, y, r[:states], r[states:], strict=True)
    ]
    inputs = {"x": x, "y": y, "f": array("f"), "g": array("g"), "r": r, "h": [symbol("h", "local")]}
    return program("inside", {**inputs, "theta": [theta]}, {"z": inside})


# -- native text -----------------------------------------------------------------------------------
def step_ir(states: int, width: int) -> str:
    """Return the text of the step around the Programs `jacobian`, `stage0` ... and `end`."""
    return _factor(width) + _solve(width) + _step(states, width)


def _step(n: int, width: int) -> str:
    w = IrWriter(width)
    rates, by_time = w.reserve(w.value, n), w.reserve(w.value, n)
    matrix = w.reserve(w.value, n * n)
    increments, order = w.reserve(w.value, _COUNT * n), w.reserve("i64", n * width)
    with w.count(str(_COUNT * n)) as i:
        w.store(w.value, w.number(0.0), w.at(increments, i, w.value))
    phase = "ptr %x, ptr %d, ptr %p, ptr %w"
    w.do(f"call void @jacobian({phase}, ptr %t, ptr {rates}, ptr {by_time}, ptr {matrix})")
    h = w.load(w.value, "%h")
    shift = w.f("fdiv", w.number(1.0 / GAMMA), h)
    with w.count(str(n)) as i, w.count(str(n)) as j:
        place = w.at(matrix, w.i("add", w.i("mul", i, str(n)), j), w.value)
        entry = w.op(f"fneg {w.value} {w.load(w.value, place)}")
        same = w.i("icmp eq", i, j)
        shifted = w.f("fadd", entry, shift)
        chosen = w.op(f"select i1 {same}, {w.value} {shifted}, {w.value} {entry}")
        w.store(w.value, chosen, place)
    for lane in range(width):
        own = w.at(order, str(lane * n))
        w.do(f"call void @factor(ptr {w.at(matrix, str(lane), 'double')}, ptr {own}, i64 {n})")
    for k in range(_COUNT):
        right = w.at(increments, str(k * n), w.value)
        extra = f"ptr %t, ptr %h, ptr {by_time}, ptr {increments}"
        held_apart = w.reserve(w.value, n)
        w.do(f"call void @stage{k}({phase}, {extra}, ptr {held_apart})")
        with w.count(str(n)) as i:
            value = w.load(w.value, w.at(held_apart, i, w.value))
            w.store(w.value, value, w.at(right, i, w.value))
        for lane in range(width):
            own = w.at(order, str(lane * n))
            a, b = (w.at(m, str(lane), "double") for m in (matrix, right))
            w.do(f"call void @solve(ptr {a}, ptr {own}, ptr {b}, i64 {n})")
    extra = f"ptr %t, ptr %h, ptr {by_time}, ptr {increments}, ptr %c, ptr %b"
    w.do(f"call void @end({phase}, {extra}, ptr %y, ptr %e, ptr %r)")
    names = ("x", "d", "p", "w", "t", "h", "f", "c", "b", "y", "y_f", "e", "r")
    return w.function(f"void @step({', '.join(f'ptr %{a}' for a in names)})", "ret void")


class _Lane:
    """Addresses of a matrix and a vector of one lane, whose values lie `width` apart."""

    def __init__(self, width: int) -> None:
        self.w = IrWriter(1)
        self.width = str(width)

    def entry(self, i: str, j: str) -> str:
        w = self.w
        index = w.i("add", w.i("mul", i, "%n"), j)
        return w.at("%a", w.i("mul", index, self.width), "double")

    def value(self, i: str) -> str:
        w = self.w
        return w.at("%right", w.i("mul", i, self.width), "double")

    def exchange(self, first: str, second: str) -> None:
        w = self.w
        a, b = w.load("double", first), w.load("double", second)
        w.store("double", b, first)
        w.store("double", a, second)

    def subtract(self, place: str, factor: str, other: str) -> None:
        """Take factor times what is at another address from what is at a place."""
        w = self.w
        product = w.op(f"fmul double {factor}, {w.load('double', other)}")
        w.store("double", w.op(f"fsub double {w.load('double', place)}, {product}"), place)


def _factor(width: int) -> str:
    """Return the text that factors a matrix of one lane in place, with its order of rows."""
    lane = _Lane(width)
    w = lane.w
    with w.count("%n") as k:
        best, size = w.variable("i64", k), w.variable("double", "-1.0")
        with w.count("%n", k) as i:
            entry = w.load("double", lane.entry(i, k))
            magnitude = w.op(f"call double @llvm.fabs.f64(double {entry})")
            with w.when(w.op(f"fcmp ogt double {magnitude}, {size.get()}")):
                size.set(magnitude)
                best.set(i)
        row = best.get()
        w.store("i64", row, w.at("%order", k))
        with w.when(w.i("icmp ne", row, k)), w.count("%n") as j:
            lane.exchange(lane.entry(k, j), lane.entry(row, j))
        pivot = w.load("double", lane.entry(k, k))
        after = w.i("add", k, "1")
        with w.count("%n", after) as i:
            place = lane.entry(i, k)
            factor = w.op(f"fdiv double {w.load('double', place)}, {pivot}")
            w.store("double", factor, place)
            with w.count("%n", after) as j:
                lane.subtract(lane.entry(i, j), factor, lane.entry(k, j))
    return w.function("internal void @factor(ptr %a, ptr %order, i64 %n)", "ret void")


def _solve(width: int) -> str:
    """Return the text that solves for one right side of one lane in place."""
    lane = _Lane(width)
    w = lane.w
    with w.count("%n") as k:
        row = w.load("i64", w.at("%order", k))
        lane.exchange(lane.value(k), lane.value(row))
    with w.count("%n") as i, w.count(i) as j:
        factor = w.load("double", lane.entry(i, j))
        lane.subtract(lane.value(i), factor, lane.value(j))
    with w.count("%n") as back:
        i = w.i("sub", w.i("sub", "%n", "1"), back)
        with w.count("%n", w.i("add", i, "1")) as j:
            factor = w.load("double", lane.entry(i, j))
            lane.subtract(lane.value(i), factor, lane.value(j))
        place = lane.value(i)
        pivot = w.load("double", lane.entry(i, i))
        w.store("double", w.op(f"fdiv double {w.load('double', place)}, {pivot}"), place)
    head = "internal void @solve(ptr %a, ptr %order, ptr %right, i64 %n)"
    return w.function(head, "ret void")
