"""Where the actuators of a mount must be for the dish to look along a direction, tick by tick.

Everything is in the unit vector d, so that no direction is special except where the mount itself is
singular. A mount with closed loops takes one step of Newton's method at each tick, from where its
coordinates are expected by their last rates and accelerations. With g(x, d) = 0 for the closed
loops and the direction, and J = dg/dx,

    dx = -J+ g,    x' = J+ (0, d'),    x'' = J+ ((0, d'') - J' x'),

where J+ is the least-squares inverse (Nocedal and Wright, *Numerical Optimization*, section 10.3).
The step squares an error of the third order in the time of a tick. A mount of two axes in series
has its angles in closed form instead: near its keyhole no step of Newton's method would follow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import (
    Expr,
    absolute,
    acos,
    as_expr,
    atan2,
    constant,
    cos,
    evaluate_all,
    floor,
    free_symbols,
    maximum,
    minimum,
    sin,
    symbol,
    total,
    where,
)
from linkwright.algebra.calculus import gradient, tangents
from linkwright.blocks import Element
from linkwright.equations.closing import known_expressions, residuals
from linkwright.equations.closure import assemble
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.errors import InputError
from linkwright.mechanism import ModelLike
from linkwright.program import Assign, Namer, Program, Statement, program
from linkwright.program.linear import ldlt

Array = NDArray[np.float64]

_WEAK = 1e-13
"""Damping, of the mean square of a column: idle motions get the shortest step."""
_TURNS = 12
"""Of Newton's method on the way to where a run begins."""
_CLOSED = 1e-11
_OWNER = "inverse pointing"


def held_words(machine: ParallelMachine) -> tuple[str, ...]:
    """Return what a mount with more than two freedoms keeps besides its direction.

    With three it keeps the platform's distance from the origin, with more its position.
    """
    spare = len(machine.actuators) - 2
    if spare < 0:
        raise InputError(
            f"{machine.mechanism.name!r} has {len(machine.actuators)} actuator, and a direction "
            "has two freedoms",
            remedy="name two or more actuators",
        )
    return {0: (), 1: ("distance",)}.get(spare, ("position",))


def step_program(machine: ParallelMachine, held: Sequence[str] = ()) -> Program:
    """Return the Program of one step of inverse kinematics.

    Its inputs are `x` (expected coordinates), `direction`, `rate`, `bend` (the direction's second
    derivative) and `held` (values of what is kept); its outputs `q`, `u`, `a` of all coordinates,
    and `residual`, the square sum of what the relations were off before the step.

    Args:
        held: words of `linkwright.equations.closing.KNOWN` that are kept.
    """
    d, d1, d2 = (
        [symbol(f"{n}.{c}", "input", owner=_OWNER) for c in "xyz"] for n in ("d", "v", "b")
    )
    kept = known_expressions(machine, held)
    values = [symbol(f"kept.{k}", "input", owner=_OWNER) for k in range(len(kept))]
    x = list(machine.coordinates)
    g = residuals(machine, ("direction", *held), [*d, *values])
    still = [as_expr(0)] * (len(g) - 3 - len(kept))
    none = [as_expr(0)] * len(kept)
    namer = Namer(None, "k")
    statements: list[Statement] = []

    def hold(value: Expr) -> Expr:
        if value.is_atom or value.op == "num":
            return value
        target = namer()
        statements.append(Assign(target, value))
        return target

    rows = [[hold(e) for e in gradient(row, x)] for row in g]
    columns = list(zip(*rows, strict=True))
    n = len(x)
    products = [
        [hold(total(a * b for a, b in zip(columns[i], columns[j], strict=True)))
         for j in range(i + 1)]
        for i in range(n)
    ]  # fmt: skip
    weak = hold(total(products[i][i] for i in range(n)) * constant(_WEAK / n))
    matrix = [[products[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    for i in range(n):
        matrix[i][i] = hold(matrix[i][i] + weak)

    def solved(*sides: Sequence[Expr]) -> list[list[Expr]]:
        right = [
            [hold(total(a * b for a, b in zip(c, side, strict=True))) for c in columns]
            for side in sides
        ]
        made, found = ldlt(matrix, right, namer)
        statements.extend(made)
        return [[hold(e) for e in row] for row in found]

    off = [hold(-e) for e in g]
    step, rate = solved(off, [*still, *d1, *none])
    swept = tangents(tangents(g, dict(zip(x, rate, strict=True))), dict(zip(x, rate, strict=True)))
    bends = [*still, *d2, *none]
    (bend,) = solved([b - s for b, s in zip(bends, swept, strict=True)])
    used = set(free_symbols(*g))
    inputs: dict[str, Sequence[Expr]] = {"x": x, "direction": d, "rate": d1, "bend": d2}
    if kept:
        inputs["held"] = values
    inputs["p"] = [p for p in machine.parameters if p in used]
    outputs = {
        "q": [a + b for a, b in zip(x, step, strict=True)],
        "u": rate,
        "a": bend,
        "residual": [total(e**2 for e in g)],
    }
    return program(
        f"{machine.mechanism.name}_pointing",
        {k: v for k, v in inputs.items() if v},
        outputs,
        statements=statements,
    )


class InversePointing(Element):
    """Inverse kinematics of a mount as a sampled element: from a direction to its actuators.

    Inputs are the unit vector `d` in the mount's axes, `d_dot` and `d_ddot`. Outputs are
    `q`, `u` and `a` of the actuators as the servos are to follow them, within `fastest`;
    `short`, how far the fastest of them is behind where it should be (rad or m); and `residual`.

    Args:
        mount: a mechanism or robot with actuators and platform.
        start: all coordinates at the beginning, by name.
        fastest: rad/s or m/s of each actuator; none for no limit.
        name: of the element.
    """

    def __init__(
        self,
        mount: Any,
        start: Mapping[str, float],
        fastest: Sequence[float] | None = None,
        name: str = "inverse",
    ) -> None:
        super().__init__(name, mount, doc="where actuators must be for the dish to look there")
        machine = parallel_machine(self.mechanism)
        d = self.input_vector("d", 3, (0, 0, 1), unit="1")
        rate = self.input_vector("d_dot", 3, unit="1/s")
        bend = self.input_vector("d_ddot", 3, unit="1/s^2")
        held = held_words(machine)
        x = machine.coordinates
        known = {q: start[q.name] for q in x}
        values = {p: self.mechanism.values[n] for n, p in self.mechanism.parameters.items()}
        serial = _two_axes(machine, {**known, **values})
        q0, u0, a0 = (
            [self.discrete_state(f"{n}_{i}", initial=known[s] if n == "q" else 0.0)
             for i, s in enumerate(x)]
            for n in "qua"
        )  # fmt: skip
        begun = self.discrete_state("begun", 1.0)
        if serial is None:
            h = self.period * begun
            expected = [q + h * (u + h * a / 2) for q, u, a in zip(q0, u0, a0, strict=True)]
        else:
            expected = [self.intermediate(e) for e in serial.angles(self, d, q0)]
        kept = evaluate_all(known_expressions(machine, held), {**known, **values})
        arguments: dict[str, Sequence[Any]] = {
            "x": expected,
            "direction": d,
            "rate": rate,
            "bend": bend,
            "held": [float(k) for k in kept],
        }
        made = step_program(machine, held)
        names = {port.name for port in made.inputs}
        found = self.embed(made, {k: v for k, v in arguments.items() if k in names})
        q, u, a = (
            [self.intermediate(e) for e in found[n]] if serial is None or n != "q" else expected
            for n in "qua"
        )
        for states, new in ((q0, q), (u0, u), (a0, a)):
            for state, value in zip(states, new, strict=True):
                self.update(state, value)
        place = {s: i for i, s in enumerate(x)}
        chosen = [place[s] for s in machine.actuators]
        parts = [[part[i] for i in chosen] for part in (q, u, a)]
        short = as_expr(0)
        if fastest is not None:
            starts = [known[s] for s in machine.actuators]
            parts, short = self._limited(parts, starts, fastest)
        for port, part in zip("qua", parts, strict=True):
            self.output_vector(port, part)
        self.output("short", short)
        self.output("residual", found["residual"][0])

    def _limited(
        self, parts: list[list[Expr]], starts: Sequence[float], fastest: Sequence[float]
    ) -> tuple[list[list[Expr]], Expr]:
        """Return references that no actuator follows faster than it can."""
        made: list[list[Expr]] = [[], [], []]
        short = as_expr(0)
        rows = zip(*parts, starts, fastest, strict=True)
        for i, (q, u, a, at, top) in enumerate(rows):
            limit = self.parameter(f"fastest_{i}", top, least=0.0)
            before = self.discrete_state(f"reference_{i}", initial=at)
            reach = self.intermediate(limit * self.period)
            way = self.intermediate(q - before)
            taken = self.intermediate(maximum(-reach, minimum(reach, way)))
            slow = self.intermediate(absolute(way) <= reach)
            new = self.intermediate(where(slow, q, before + taken))
            self.update(before, new)
            made[0].append(new)
            made[1].append(where(slow, maximum(-limit, minimum(limit, u)), taken / self.period))
            made[2].append(where(slow & (absolute(u) <= limit), a, 0))
            short = maximum(short, absolute(q - new))
        return made, short


class _TwoAxes:
    """A mount of two axes in series: its angles for a direction, in closed form.

    With the first axis e and w(s) = k0 + k1 cos s + k2 sin s the direction at the first angle zero,
    e w(s) = e d gives the second angle, and the turn about e from w(s) to d the first.
    """

    def __init__(self, e: Any, k: Any, sign: float) -> None:
        self.e, self.k, self.sign = e, k, sign

    def angles(self, element: Element, d: Sequence[Expr], last: Sequence[Expr]) -> list[Expr]:
        """Return both angles, each the turn nearest to the last."""
        e, (k0, k1, k2) = self.e, self.k
        c, a, b = (float(e @ v) for v in (k0, k1, k2))
        along = element.intermediate(total(float(x) * y for x, y in zip(e, d, strict=True)))
        share = maximum(-1.0, minimum(1.0, (along - c) / math.hypot(a, b)))
        second = element.intermediate(math.atan2(b, a) + self.sign * acos(share))
        cs, sn = element.intermediate(cos(second)), element.intermediate(sin(second))
        w = [
            element.intermediate(float(x) + float(y) * cs + float(z) * sn)
            for x, y, z in zip(k0, k1, k2, strict=True)
        ]
        turned = (
            w[1] * d[2] - w[2] * d[1],
            w[2] * d[0] - w[0] * d[2],
            w[0] * d[1] - w[1] * d[0],
        )
        across = total(float(x) * y for x, y in zip(e, turned, strict=True))
        inner = total(x * y for x, y in zip(w, d, strict=True))
        level = total(float(x) * y for x, y in zip(e, w, strict=True))
        first = element.intermediate(atan2(across, inner - level * along))
        turn = 2 * math.pi
        return [
            now - turn * floor((now - before) / turn + 0.5)
            for now, before in zip((first, second), last, strict=True)
        ]


def _two_axes(machine: ParallelMachine, known: Mapping[Expr, float]) -> _TwoAxes | None:
    """Return a mount of two axes in series, or None for another."""
    x = machine.coordinates
    if machine.relations or len(x) != 2 or tuple(machine.actuators) != tuple(x):
        return None
    bodies = [next(b for b in machine.mechanism.bodies.values() if q in b.coordinates) for q in x]
    if any(q not in b.rotations for q, b in zip(x, bodies, strict=True)):
        return None

    def at(first: float, second: float) -> Any:
        given = {**known, x[0]: first, x[1]: second}
        return np.array(evaluate_all(machine.direction, given), dtype=float)

    axis = bodies[0].frame.spins[0][1].components(machine.mechanism.ground.frame)
    e = np.array(evaluate_all(axis, known), dtype=float)
    w = [at(0.0, s) for s in (0.0, math.pi, math.pi / 2)]
    k0 = (w[0] + w[1]) / 2
    k = (k0, (w[0] - w[1]) / 2, w[2] - k0)
    a, b = (float(e @ v) for v in k[1:])
    if math.hypot(a, b) < 1e-9:
        raise InputError(
            f"the two axes of {machine.mechanism.name!r} do not turn its dish in two ways",
            remedy="let the second axis stand across the first, and the dish across the second",
        )
    swing = math.remainder(known[x[1]] - math.atan2(b, a), 2 * math.pi)
    return _TwoAxes(e, k, 1.0 if swing >= 0 else -1.0)


def start_at(mount: ModelLike, direction: ArrayLike) -> dict[str, float]:
    """Return all coordinates of a mount that looks along a direction, on the branch of its own.

    The dish goes there along the great circle from where the model starts.

    Args:
        mount: a mechanism, a robot, a file or the name of a shipped model.
        direction: unit vector in the mount's axes.
    """
    machine = parallel_machine(mount)
    m = machine.mechanism
    own = assemble(m).coordinates
    values = {p: m.values[n] for n, p in m.parameters.items()}
    known = {q: own[q.name] for q in machine.coordinates}
    d = np.asarray(direction, dtype=float)
    serial = _two_axes(machine, {**known, **values})
    if serial is not None:
        block = Element("start", m)
        given = block.input_vector("d", 3)
        last = [as_expr(known[q]) for q in machine.coordinates]
        found = serial.angles(block, given, last)
        numbers = dict(zip(given, d.tolist(), strict=True))
        for s in block.statements:
            assert isinstance(s, Assign)
            (numbers[s.target],) = evaluate_all([s.value], numbers)
        angles = evaluate_all(found, numbers)
        return {q.name: float(x) for q, x in zip(machine.coordinates, angles, strict=True)}
    pose = _Pose(machine)
    first = np.array(evaluate_all(machine.direction, {**known, **values}), dtype=float)
    x = np.array([known[q] for q in machine.coordinates])
    for step in _great_circle(first, d)[1:]:
        for _ in range(_TURNS):
            off, jacobian = pose.at(x, step)
            if np.abs(off).max() < _CLOSED:
                break
            x = x + np.linalg.lstsq(jacobian, off, rcond=1e-9)[0]
        else:
            raise InputError(
                f"{m.name!r} cannot look along ({d[0]:.4f}, {d[1]:.4f}, {d[2]:.4f})",
                remedy="choose a direction within its reach: `linkwright chart` shows it",
            )
    return {q.name: float(v) for q, v in zip(machine.coordinates, x, strict=True)}


def actuator_rates(mount: ModelLike, at: Mapping[str, float], d_dot: ArrayLike) -> dict[str, float]:
    """Return the rates of a mount's actuators while its direction changes, by their names.

    Args:
        at: all coordinates by name.
        d_dot: rate of the direction in the mount's axes, 1/s.
    """
    machine = parallel_machine(mount)
    m, first = machine.mechanism, len(machine.relations)
    pose = _Pose(machine)
    off, jacobian = pose.at(np.array([at[q.name] for q in machine.coordinates]), np.zeros(3))
    right = np.zeros(len(off))
    right[first : first + 3] = np.asarray(d_dot, dtype=float)
    rates = np.linalg.lstsq(jacobian, right, rcond=1e-9)[0]
    names = {q: m.kinematics().rates[q].name for q in machine.actuators}
    rows = zip(machine.coordinates, rates, strict=True)
    return {names[q]: float(v) for q, v in rows if q in names}


class _Pose:
    """What the relations of a mount and its direction are off, and their Jacobian, in numbers."""

    def __init__(self, machine: ParallelMachine) -> None:
        m, held = machine.mechanism, held_words(machine)
        start = dict(m.initial)
        self.x = machine.coordinates
        self.values = {p: m.values[n] for n, p in m.parameters.items()}
        own = {q: start.get(q.name, 0.0) for q in self.x} | self.values
        self.d = [symbol(f"d.{c}", "input", owner=_OWNER) for c in "xyz"]
        kept = [as_expr(float(k)) for k in evaluate_all(known_expressions(machine, held), own)]
        self.g = residuals(machine, ("direction", *held), [*self.d, *kept])
        self.rows = [e for row in self.g for e in gradient(row, self.x)]

    def at(self, x: Array, d: Array) -> tuple[Array, Array]:
        """Return what is missing, and the Jacobian."""
        numbers = dict(zip([*self.x, *self.d], [*x.tolist(), *d.tolist()], strict=True))
        found = np.array(evaluate_all([*self.g, *self.rows], numbers | self.values), dtype=float)
        n = len(self.g)
        return -found[:n], found[n:].reshape(n, len(self.x))


def _great_circle(first: Array, last: Array, step: float = 0.05) -> Array:
    """Return unit vectors from one direction to another, rad apart at most."""
    across = last - first * float(first @ last)
    size = float(np.linalg.norm(across))
    angle = math.atan2(size, float(first @ last))
    if size < 1e-12:
        return np.array([first, last])
    s = np.linspace(0.0, angle, max(2, math.ceil(angle / step) + 1))[:, None]
    return np.asarray(np.cos(s) * first + np.sin(s) * across / size)
