"""Steps of explicit methods, as Programs around the Program of the derivative.

A step is a Program like any other, so it is compiled for one run or for W lanes from the same text,
and the derivative is one function in the same unit that each stage calls.

A fixed step takes x, d, p, w, t and the size h, and gives the new x. An adaptive step also takes
the rate f at its start, the tolerances c (relative, absolute, and the size of the states at the
start of the run, see `Tolerances`) and the error b of the step before;
it gives the new x, the rate there, e (the error in units of the tolerance, the factor by which the
next step may be longer, the factor for another try) and r, what the interpolant needs.

The factors are those of a proportional-integral controller (Hairer, Nørsett and Wanner 1993,
section II.4).

What is done to every state alike is written out for a few states, and is a loop for many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    absolute,
    as_expr,
    cos,
    exp,
    free_symbols,
    log,
    maximum,
    minimum,
    sin,
    sqrt,
    symbol,
    total,
    where,
)
from linkwright.algebra.triples import dot
from linkwright.program import Assign, Call, Loop, Namer, Program, ProgramPort, Statement, program
from linkwright.program.program import Carried, Scanned, Stacked
from linkwright.simulation.native.dry_friction import DryFriction
from linkwright.simulation.native.tableaux import Tableau
from linkwright.system.breaks import LEAST, NEAR
from linkwright.system.phases import ARRAYS

if TYPE_CHECKING:
    from linkwright.simulation.native.friction_steps import FrictionInStep


_BETA = 0.04
_SAFETY = 0.9
_LONGEST, _SHORTEST = 10.0, 0.2
_LEAST = 1e-10
_APART = 0.05  # of the distance of an interpolant from its last stage, what counts as its error
_MANY = 100  # states from which on they share loops
_SOME = 4  # the same in what runs where a sample is taken, so that it is there sooner
_SMALL = 1e3  # of the largest state, below which the absolute tolerance is one of it

Each = Callable[..., Expr]


class Stages:
    """A step while it is put together."""

    def __init__(
        self, derivative: Program, dry: DryFriction | None = None, *, adaptive: bool = False
    ) -> None:
        self.derivative = derivative
        self.namer = Namer(derivative, "step_")
        self.statements: list[Statement] = []
        self.arrays = {port.name: list(port.entries) for port in derivative.inputs}
        self.x = self.arrays["x"]
        self.t = self.arrays["t"][0]
        self.h = self.namer()
        self.many = _MANY  # states from which on they share loops
        self._within = ZERO
        if not adaptive and self.t in inputs_of(derivative, derivative.output_values()):
            self._within = self.namer()
            near = minimum(NEAR * absolute(self.t) + LEAST, self.h / 64)
            self.statements.append(Assign(self._within, near))
        self.friction: FrictionInStep | None = None
        if dry is not None:
            from linkwright.simulation.native.friction_steps import MOMENT, FrictionInStep

            self.friction = FrictionInStep(self, dry, as_expr(MOMENT) if adaptive else self.h)

    def at(self, part: object) -> Expr:
        """Return the time of a part of the step, 0 to 1.

        The ends of a fixed step are just inside of it: what jumps there in time has its value of
        this step at all stages. Adaptive steps end at such instants (`linkwright.system.breaks`).
        """
        part = number(part)
        return self.t + self._within + part * (self.h - 2 * self._within)

    def begin(self, x: Sequence[Expr], t: Expr) -> list[Expr]:
        """Return the first rates of a step, by which its dry friction sticks or slips."""
        if self.friction is None:
            return self.rates(x, t)
        return self.friction.begin(self.friction.found(x, t))

    def rates(self, x: Sequence[Expr], t: Expr) -> list[Expr]:
        """Return the rates at a state, by another call."""
        if self.friction is None:
            return self.rates_of(self.derivative, x, t)
        return self.friction.rates(self.friction.found(x, t))

    def rates_of(self, called: Program, x: Sequence[Expr], t: Expr) -> list[Expr]:
        """Return what another Program of the same arrays gives at a state."""
        arguments = [*x, *(e for name in ARRAYS[1:4] for e in self.arrays[name]), t]
        targets = [self.namer() for _ in called.output_values()]
        self.statements.append(Call(called, tuple(arguments), tuple(targets)))
        return targets

    def each(self, write: Each, *arrays: Sequence[Expr]) -> list[Expr]:
        """Return a function of the entries of arrays, entry by entry."""
        made, statements = each(self.namer, write, arrays, self.many)
        self.statements.extend(statements)
        return made

    def sum_of(self, write: Each, *arrays: Sequence[Expr]) -> Expr:
        """Return the sum of a function of the entries of arrays."""
        if len(arrays[0]) < self.many:
            return total([write(*row) for row in zip(*arrays, strict=True)])
        inside, so_far, final = [self.namer() for _ in arrays], self.namer(), self.namer()
        carried = Carried(so_far, as_expr(0), so_far + write(*inside), final)
        self.statements.append(Loop(len(arrays[0]), (carried,), _scanned(inside, arrays), (), ()))
        return final

    def largest(self, values: Sequence[Expr], least: Expr) -> Expr:
        """Return the largest of a number and the sizes of values."""
        if len(values) < _MANY:
            return reduce(lambda most, a: maximum(most, absolute(a)), values, least)
        inside, so_far, final = self.namer(), self.namer(), self.namer()
        carried = Carried(so_far, least, maximum(so_far, absolute(inside)), final)
        self.statements.append(Loop(len(values), (carried,), _scanned([inside], [values]), (), ()))
        return final

    def moved(self, rates: Sequence[Sequence[Expr]], weights: Iterable[object]) -> list[Expr]:
        """Return x moved by h times a weighted sum of rates."""
        factors, used = self._weighted(rates, weights)
        return self.each(lambda a, *k: a + _weighted_sum(factors, k), self.x, *used)

    def change(self, rates: Sequence[Sequence[Expr]], weights: Iterable[object]) -> list[Expr]:
        """Return h times a weighted sum of rates."""
        factors, used = self._weighted(rates, weights)
        return self.each(lambda *k: _weighted_sum(factors, k), *used)

    def _weighted(
        self, rates: Sequence[Sequence[Expr]], weights: Iterable[object]
    ) -> tuple[list[Expr], list[Sequence[Expr]]]:
        parts = [(self.h * number(b), k) for b, k in zip(weights, rates, strict=False) if b]
        return [b for b, _ in parts], [k for _, k in parts]

    def finished(self, more: Mapping[str, object], outputs: Mapping[str, object]) -> Program:
        """Return the Program of the step."""
        inputs: dict[str, object] = {**self.arrays, "h": [self.h], **more}
        return program(f"{self.derivative.name}_step", inputs, outputs, statements=self.statements)


def each(
    namer: Namer, write: Each, arrays: Sequence[Sequence[Expr]], many: int = _MANY
) -> tuple[list[Expr], list[Statement]]:
    """Return a function of the entries of arrays, entry by entry, and the loop that it takes."""
    if len(arrays[0]) < many:
        return [write(*row) for row in zip(*arrays, strict=True)], []
    inside = [namer() for _ in arrays]
    targets = [namer() for _ in arrays[0]]
    stacked = Stacked(write(*inside), tuple(targets))
    return targets, [Loop(len(targets), (), _scanned(inside, arrays), (stacked,), ())]


def _scanned(inside: Sequence[Expr], arrays: Sequence[Sequence[Expr]]) -> tuple[Scanned, ...]:
    return tuple(Scanned(s, tuple(a)) for s, a in zip(inside, arrays, strict=True))


def _weighted_sum(factors: Sequence[Expr], values: Sequence[Expr]) -> Expr:
    return dot(factors, values)


def number(value: object) -> Expr:
    """Return a coefficient as it is rounded, so that no fraction is left to the kernel."""
    if isinstance(value, Fraction) and value.denominator & (value.denominator - 1):
        return as_expr(float(value))
    return as_expr(value)


def fixed_step(derivative: Program, tableau: Tableau, dry: DryFriction | None = None) -> Program:
    """Return the step of a method without an error estimate."""
    stages = Stages(derivative, dry)
    rates = _stage_rates(stages, tableau, stages.begin(stages.x, stages.at(0)))
    new = stages.moved(rates, tableau.weights)
    return stages.finished({}, {"x_new": stages.friction.still(new) if stages.friction else new})


def _stage_rates(stages: Stages, tableau: Tableau, first: list[Expr]) -> list[list[Expr]]:
    rates = [first]
    for node, row in zip(tableau.nodes[1:], tableau.stages, strict=True):
        rates.append(stages.rates(stages.moved(rates, row), stages.at(node)))
    return rates


def adaptive_step(
    derivative: Program, tableau: Tableau, dry: DryFriction | None = None, *, dense: bool = True
) -> Program:
    """Return the step of a method with an error estimate; `dense` keeps what `curve` needs."""
    stages = Stages(derivative, dry, adaptive=True)
    given, before = [stages.namer() for _ in stages.x], stages.namer()
    tolerances, friction = Tolerances(stages), stages.friction
    first = stages.begin(stages.x, stages.t) if friction else list(given)
    rates = _stage_rates(stages, tableau, first)
    new = held(stages, stages.moved(rates, tableau.weights))
    rates.append(stages.rates(new, stages.t + stages.h))
    norms = [tolerances.norm(stages.change(rates, row), new) for row in tableau.errors]
    if len(norms) == 2:  # dop853: the estimate of order 5 where that of order 3 agrees
        high, low = norms
        size = maximum(high**2 + 0.01 * low**2, 1e-300)
        error = high**2 / sqrt(size)
    else:
        error = norms[0]
    middle = stages.change(rates, tableau.middle) if tableau.middle else []
    kept = [rate for k in tableau.kept for rate in rates[k]] if dense else []
    if friction:
        error = maximum(error, friction.unresolved(tableau.errors[0]))
    told = control(stages, error, before, tableau.error_order + 1)
    if friction:
        new, told = friction.ended(new, told, tolerances.relative, tolerances.least)
        middle += [*first, *rates[-1]] if middle else []
    return stages.finished(
        {"f": given, "c": tolerances.given, "b": [before]},
        {
            "x_new": new,
            "f_new": rates[-1],
            "e": told,
            "r": middle + kept,
        },
    )


def curve(derivative: Program, tableau: Tableau, dry: DryFriction | None = None) -> Program:
    """Return the Program of the coefficients of an interpolant with stages of its own.

    It runs only where a sample lies inside a step. The first three coefficients are those of the
    cubic of Hermite, the others are h times weighted sums of all rates (Hairer, Nørsett and Wanner,
    section II.6). Where a step is as long as its stability allows, the error of an interpolant is
    some thousand times that of the step: it is seen by how far it is from the state at the last
    stage, which is two to twenty times more (y' = z y, |z| up to 6), and gives the factor `fit`.
    """
    stages = Stages(derivative, dry, adaptive=True)
    stages.many = _SOME
    count, h, tolerances = len(stages.x), stages.h, Tolerances(stages)
    given, new, last = ([stages.namer() for _ in stages.x] for _ in range(3))
    kept = [[stages.namer() for _ in stages.x] for _ in tableau.kept]
    first = stages.begin(stages.x, stages.t) if stages.friction else list(given)
    between = [[ZERO] * count for _ in range(1, tableau.kept.start)]  # without a weight
    rates = [first, *between, *kept, last]
    for node, row in zip(tableau.inner_nodes, tableau.inner_stages, strict=True):
        rates.append(stages.rates(stages.moved(rates, row), stages.at(node)))
    change = stages.each(lambda a, b: b - a, stages.x, new)
    bend = stages.each(lambda d, f: h * f - d, change, first)
    rest = stages.each(lambda d, f, g: 2 * d - h * (g + f), change, first, last)
    more = [stages.change(rates, row) for row in tableau.inner_weights]
    parts = [change, bend, rest, *more]
    theta = number(tableau.inner_nodes[-1])
    moved = stages.change(rates, tableau.inner_stages[-1])
    apart = stages.each(lambda a, *parts: _inside(theta, parts) - a, moved, *parts)
    logarithm = log(maximum(_APART * tolerances.norm(apart, new), _LEAST))
    longer = _SAFETY * exp(-logarithm / tableau.order)
    return stages.finished(
        {
            "f": given,
            "c": tolerances.given,
            "y": new,
            "g": last,
            "r": [rate for row in kept for rate in row],
        },
        {
            "curve": [a for part in parts[1:] for a in part],
            "fit": [minimum(_LONGEST, maximum(_SHORTEST, longer))],
        },
    )


def _inside(theta: Expr, parts: Sequence[Expr]) -> Expr:
    """Return the change up to a part of a step, by the coefficients of an interpolant."""
    value = ZERO
    for k, part in reversed(list(enumerate(parts))):
        value = (part + value) * (1 - theta if k % 2 else theta)
    return value


def on_curve(states: int, tableau: Tableau) -> Program:
    """Return the Program of the state inside a step, by the coefficients that `curve` gives."""
    x, y, f, g = (_locals(name, states) for name in ("x", "y", "f", "g"))
    parts = [_locals(f"r{k}_", states) for k in range(2 + len(tableau.inner_weights))]
    h, theta = symbol("h", "local"), symbol("theta", "local")

    def write(x: Expr, y: Expr, *parts: Expr) -> Expr:
        return x + _inside(theta, (y - x, *parts))

    inside, statements = each(Namer(None, "inside_"), write, [x, y, *parts], _SOME)
    flat = [a for part in parts for a in part]
    inputs: dict[str, object] = {"x": x, "y": y, "f": f, "g": g, "r": flat}
    inputs |= {"h": [h], "theta": [theta]}
    return program("inside", inputs, {"z": inside}, statements=statements)


def _locals(name: str, count: int) -> list[Expr]:
    return [symbol(f"{name}{i}", "local") for i in range(count)]


def held(stages: Stages, values: Sequence[Expr]) -> list[Expr]:
    """Return names for values that are used more than once."""
    if all(v.op == "sym" for v in values):
        return list(values)
    names = [stages.namer() for _ in values]
    stages.statements.extend(Assign(n, v) for n, v in zip(names, values, strict=True))
    return names


class Tolerances:
    """The tolerances of a step, whose absolute part follows the size of small states.

    Rounding errors of a state are relative to the largest one, so that is what counts: where it is
    below 1/1000, at the start of the run and now, the absolute tolerance is a thousand times that
    much of itself. An absolute tolerance that is given comes with the size 1, and holds as it is.
    """

    def __init__(self, stages: Stages) -> None:
        self.stages, self.given = stages, [stages.namer() for _ in range(3)]
        relative, least, size = self.given
        factor = minimum(1.0, _SMALL * stages.largest(stages.x, size))
        self.relative, (self.least,) = relative, held(stages, [least * factor])

    def norm(self, change: Sequence[Expr], new: Sequence[Expr]) -> Expr:
        """Return the root mean square of a change in units of the tolerance."""
        relative, least, x = self.relative, self.least, self.stages.x
        whole = self.stages.sum_of(
            lambda e, a, b: (e / (least + relative * maximum(absolute(a), absolute(b)))) ** 2,
            change,
            x,
            new,
        )
        return sqrt(whole * (1.0 / max(len(x), 1)))


def control(stages: Stages, error: Expr, before: Expr, order: int) -> list[Expr]:
    """Return error, factor after a step that is taken, factor after one that is not."""
    (error,) = held(stages, [error])
    logarithm = log(maximum(error, _LEAST))
    steady = 1.0 / order - 0.75 * _BETA
    grown = _SAFETY * exp(_BETA * log(maximum(before, _LEAST)) - steady * logarithm)
    shrunk = _SAFETY * exp(-logarithm / order)
    return [error, minimum(_LONGEST, maximum(_SHORTEST, grown)), maximum(_SHORTEST, shrunk)]


def first_size(derivative: Program, order: int, dry: DryFriction | None = None) -> Program:
    """Return the Program of the size of the first step (Hairer, Nørsett, Wanner, section II.4)."""
    stages = Stages(derivative, dry, adaptive=True)
    tolerances, x = Tolerances(stages), stages.x
    stages.h = ONE
    rates = stages.begin(x, stages.t)
    size = tolerances.norm(x, x)
    pace = tolerances.norm(rates, x)
    (trial,) = held(
        stages, [where(minimum(size, pace) > 1e-5, 0.01 * size / maximum(pace, 1e-300), 1e-6)]
    )
    ahead = stages.each(lambda x, r: x + trial * r, stages.x, rates)
    later = stages.rates(ahead, stages.t + trial)
    turn = stages.each(lambda a, b: b - a, rates, later)
    bend = tolerances.norm(turn, x) / trial
    most = maximum(pace, bend)
    slow = maximum(1e-6, 1e-3 * trial)
    power = 1.0 / (order + 1)
    best = where(most > 1e-15, exp(power * log(0.01 / maximum(most, 1e-300))), slow)
    inputs: dict[str, object] = {**stages.arrays, "c": tolerances.given}
    return program(
        f"{derivative.name}_first",
        inputs,
        {"h": [minimum(100 * trial, best)]},
        statements=stages.statements,
    )


def slope(derivative: Program, dry: DryFriction | None = None) -> Program:
    """Return the Program of the rates where a step begins."""
    if dry is None:
        return derivative
    stages = Stages(derivative, dry, adaptive=True)
    stages.h = ONE
    rates = stages.begin(stages.x, stages.t)
    inputs: dict[str, object] = dict(stages.arrays)
    return program(f"{derivative.name}_slope", inputs, {"f": rates}, statements=stages.statements)


def interpolant(states: int, *, dry: bool = False) -> Program:
    """Return the Program of the state inside a step of dopri5.

    With dry friction, which may jump where a step begins, `r` holds the rates at both ends too.
    """
    arrays = {name: _locals(name, states) for name in ("x", "y", "f", "g", "r")}
    inputs: dict[str, object] = dict(arrays)
    if dry:
        inputs |= {name: [symbol(f"{name}_{i}", "local") for i in range(states)] for name in "fg"}
        inputs["r"] = [*arrays["r"], *arrays["f"], *arrays["g"]]
    h, theta = symbol("h", "local"), symbol("theta", "local")

    def write(x: Expr, y: Expr, f: Expr, g: Expr, r: Expr) -> Expr:
        change = y - x
        bend = h * f - change
        rest = change - h * g - bend
        return x + theta * (change + (1 - theta) * (bend + theta * (rest + (1 - theta) * r)))

    inside, statements = each(Namer(None, "inside_"), write, list(arrays.values()))
    inputs |= {"h": [h], "theta": [theta]}
    return program("inside", inputs, {"z": inside}, statements=statements)


def semi_implicit_step(
    derivative: Program,
    coordinates: Sequence[int],
    quaternions: Sequence[Sequence[int]],
    dry: DryFriction | None = None,
) -> Program:
    """Return the step of the semi-implicit (symplectic) Euler method.

    Speeds and other states go first, with the rates at the start; coordinates follow, with their
    rates at the new speeds.
    """
    stages = Stages(derivative, dry)
    moving = AlternatingSteps(stages, coordinates, quaternions)
    x, h = stages.x, stages.h
    kicked = moving.kicked(x, stages.begin(x, stages.at(0)))
    return stages.finished({}, {"x_new": moving.drifted(kicked, stages.at(1), h)})


def verlet_step(
    derivative: Program,
    coordinates: Sequence[int],
    quaternions: Sequence[Sequence[int]],
    dry: DryFriction | None = None,
) -> Program:
    """Return the step of Störmer and Verlet's method.

    Coordinates go half a step, speeds and other states a whole one with the rates there, then
    coordinates the other half with the new speeds (Hairer, Lubich and Wanner, Geometric Numerical
    Integration, section I.1.4). Where rates depend on speeds (bodies that turn in space, Coriolis
    forces, damping) they are taken at the speeds of the middle, by a second evaluation; where
    rates of coordinates depend on coordinates, these move by the midpoint rule. So it is of order 2
    always.
    """
    stages = Stages(derivative, dry)
    moving = AlternatingSteps(stages, coordinates, quaternions)
    half = number(Fraction(1, 2)) * stages.h
    middle = stages.t + half
    there = moving.drifted(stages.x, stages.at(0), half, exactly=True)
    rates = stages.begin(there, middle)
    places = set(moving.order)
    others = [i for i in range(len(stages.x)) if i not in places]
    speeds = {stages.x[i] for i in others}
    if speeds & inputs_of(derivative, [derivative.outputs[0].entries[i] for i in others]):
        rates = stages.rates(moving.kicked(there, rates, half), middle)
    kicked = moving.kicked(there, rates)
    return stages.finished({}, {"x_new": moving.drifted(kicked, middle, half, exactly=True)})


def inputs_of(made: Program, values: Iterable[Expr]) -> set[Expr]:
    """Return the inputs of a Program on which some of its values depend."""
    statements = {x: s for s in made.statements for x in s.targets}
    found: set[Expr] = set()
    waiting = list(free_symbols(*values))
    while waiting:
        x = waiting.pop()
        if x in found:
            continue
        found.add(x)
        statement = statements.get(x)
        if statement is not None:
            waiting += free_symbols(*statement.operands)
            if isinstance(statement, Loop):
                waiting += statement.outer_reads
    return found - set(statements)


class AlternatingSteps:
    """Steps that move coordinates and the other states in turn.

    A quaternion moves along the great circle that its rate is tangent to, which is the exponential
    of the angular velocity, and keeps its length.
    """

    def __init__(
        self, stages: Stages, coordinates: Sequence[int], quaternions: Sequence[Sequence[int]]
    ) -> None:
        self.stages = stages
        self.quaternions = quaternions
        self.order = sorted(coordinates)
        derivative = stages.derivative
        out = derivative.outputs[0]
        part = ProgramPort(out.name, (len(self.order),), tuple(out.entries[i] for i in self.order))
        self.paces = Program(
            f"{derivative.name}_rates",
            derivative.inputs,
            (part,),
            derivative.statements,
            derivative.slow,
        )
        turned = {i for four in quaternions for i in four}
        straight = [out.entries[i] for i in self.order if i not in turned]
        places = {stages.x[i] for i in self.order}
        self.bent = bool(places & inputs_of(derivative, straight))

    def kicked(self, x: Sequence[Expr], rates: Sequence[Expr], h: Expr | None = None) -> list[Expr]:
        """Return x with speeds and other states moved by a time h, a whole step by default."""
        places, size = set(self.order), self.stages.h if h is None else h
        moved = [a + size * r for a, r in zip(x, rates, strict=True)]
        if self.stages.friction and h is None:
            moved = self.stages.friction.still(moved)
        new = iter(held(self.stages, [m for i, m in enumerate(moved) if i not in places]))
        return [a if i in places else next(new) for i, a in enumerate(x)]

    def drifted(self, x: Sequence[Expr], t: Expr, h: Expr, *, exactly: bool = False) -> list[Expr]:
        """Return x with coordinates moved by a time h, with their rates at x.

        `exactly` lets those whose rates depend on coordinates move by the midpoint rule.
        """
        if not self.order:
            return list(x)
        pace = dict(zip(self.order, self._rates(x, t), strict=True))
        if exactly and self.bent:
            there = self._moved(x, pace, number(Fraction(1, 2)) * h)
            later = self._rates(there, t)
            turned = {i for four in self.quaternions for i in four}
            pace |= {i: r for i, r in zip(self.order, later, strict=True) if i not in turned}
        return self._moved(x, pace, h)

    def _rates(self, x: Sequence[Expr], t: Expr) -> list[Expr]:
        """Return the rates of coordinates; where they are speeds themselves, without a call."""
        states = dict(zip(self.stages.x, x, strict=True))
        rates = self.paces.outputs[0].entries
        if all(r in states for r in rates):
            return [states[r] for r in rates]
        return self.stages.rates_of(self.paces, x, t)

    def _moved(self, x: Sequence[Expr], pace: Mapping[int, Expr], h: Expr) -> list[Expr]:
        stages = self.stages
        new = [a + h * pace[i] if i in pace else a for i, a in enumerate(x)]
        for four in self.quaternions:
            speed = held(stages, [sqrt(total([pace[i] ** 2 for i in four]))])[0]
            along = cos(h * speed)
            across = where(speed > 0, sin(h * speed) / maximum(speed, 1e-300), h)
            for i in four:
                new[i] = along * x[i] + across * pace[i]
        return held(stages, new)
