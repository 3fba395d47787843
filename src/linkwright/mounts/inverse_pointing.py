"""Where the actuators of a mount must be for the dish to look along a direction, tick by tick.

Everything is in the unit vector d, so that no direction is special except where the mount itself is
singular. A mount with closed loops takes one step of Newton's method at each tick, from where its
coordinates are expected by their last rates and accelerations. With g(x, d) = 0 for the closed
loops and the direction, and J = dg/dx,

    dx = -J+ g,    x' = J+ (0, d'),    x'' = J+ ((0, d'') - J' x'),

where J+ is the least-squares inverse (Nocedal and Wright, *Numerical Optimization*, section 10.3).
The step squares an error of the third order in the time of a tick. A mount of two or three axes in
series has its angles in closed form instead (`linkwright.mounts.chains`): near its keyhole no step
of Newton's method would follow.
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
    as_expr,
    constant,
    cos,
    evaluate_all,
    free_symbols,
    maximum,
    minimum,
    sin,
    symbol,
    total,
    where,
)
from linkwright.algebra.calculus import gradient, tangents
from linkwright.algebra.triples import cross, dot
from linkwright.backends.kernel import compile as compiled
from linkwright.base.errors import InputError
from linkwright.blocks import Element
from linkwright.equations.closing import known_expressions, residuals
from linkwright.equations.closure import assemble
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.mounts.chains import SHARE, AxisChain, chain_of, limits_of, refuse_beyond
from linkwright.program import Namer, Program, program
from linkwright.program.linear import AssignedNames, gram, ldlt

Array = NDArray[np.float64]

_WEAK = 1e-13
"""Damping, of the mean square of a column: idle motions get the shortest step."""
_TURNS = 12
"""Of Newton's method on the way to where a run begins."""
_CLOSED = 1e-11
_EVERY = 4
"""Rows of a path from one to the next at which a mount with loops is looked at."""
_OWNER = "inverse pointing"


def held_words(machine: ParallelMachine) -> tuple[str, ...]:
    """Return what a mount with more than two freedoms keeps besides its direction.

    With three it keeps the platform's distance from the origin, with more its position; of three
    axes in series the first goes as commanded.
    """
    if len(machine.actuators) == 3 and chain_of(machine) is not None:
        return (machine.coordinates[0].name,)
    spare = len(machine.actuators) - 2
    if spare < 0:
        raise InputError(
            f"{machine.mechanism.name!r} has {len(machine.actuators)} actuator, and a direction "
            "has two freedoms",
            remedy="name two or more actuators",
        )
    return {0: (), 1: ("distance",)}.get(spare, ("position",))


def step_program(
    machine: ParallelMachine, held: Sequence[str] = (), *, moves: bool = False
) -> Program:
    """Return the Program of one step of inverse kinematics.

    Its inputs are `x` (expected coordinates), `direction`, `rate`, `bend` (the direction's second
    derivative) and `held` (values of what is kept, with `held_rate` and `held_bend` if it moves);
    its outputs `q`, `u`, `a` of all coordinates, and `residual`, the square sum of what the
    relations were off before the step.
    """
    d, d1, d2 = (
        [symbol(f"{n}.{c}", "input", owner=_OWNER) for c in "xyz"] for n in ("d", "v", "b")
    )
    kept = known_expressions(machine, held)
    values, rates, bends = (
        [symbol(f"{n}.{k}", "input", owner=_OWNER) for k in range(len(kept))]
        for n in ("kept", "swept", "bent")
    )
    if not moves:
        rates, bends = ([as_expr(0)] * len(kept) for _ in range(2))
    x = list(machine.coordinates)
    g = residuals(machine, ("direction", *held), [*d, *values])
    still = [as_expr(0)] * (len(g) - 3 - len(kept))
    names = AssignedNames(Namer(None, "k"))
    hold = names.hold
    rows = [[hold(e) for e in gradient(row, x)] for row in g]
    columns = list(zip(*rows, strict=True))
    n = len(x)
    matrix = gram(hold, columns)
    weak = hold(total(matrix[i][i] for i in range(n)) * constant(_WEAK / n))
    for i in range(n):
        matrix[i][i] = hold(matrix[i][i] + weak)

    def solved(*sides: Sequence[Expr]) -> list[list[Expr]]:
        right = [[hold(dot(c, side)) for c in columns] for side in sides]
        made, found = ldlt(matrix, right, names.namer)
        names.statements.extend(made)
        return [[hold(e) for e in row] for row in found]

    off = [hold(-e) for e in g]
    step, rate = solved(off, [*still, *d1, *rates])
    swept = tangents(tangents(g, dict(zip(x, rate, strict=True))), dict(zip(x, rate, strict=True)))
    (bend,) = solved([b - s for b, s in zip([*still, *d2, *bends], swept, strict=True)])
    used = set(free_symbols(*g))
    inputs: dict[str, Sequence[Expr]] = {"x": x, "direction": d, "rate": d1, "bend": d2}
    inputs |= {"held": values, **({"held_rate": rates, "held_bend": bends} if moves else {})}
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
        statements=names.statements,
    )


class InversePointing(Element):
    """Inverse kinematics of a mount as a sampled element: from a direction to its actuators.

    Inputs are the unit vector `d` in the mount's axes, `d_dot` and `d_ddot`. Outputs are
    `q`, `u` and `a` of the actuators as the servos are to follow them, within `fastest`;
    `short`, how far the fastest of them is behind where it should be (rad or m); and `residual`.
    """

    def __init__(
        self,
        mount: Any,
        start: Mapping[str, float],
        fastest: Sequence[float] | None = None,  # rad/s or m/s of each actuator; none for no limit
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
        chain = chain_of(machine, start=np.array([known[q] for q in x]))
        q0, u0, a0 = (
            [self.discrete_state(f"{n}_{i}", initial=known[s] if n == "q" else 0.0)
             for i, s in enumerate(x)]
            for n in "qua"
        )  # fmt: skip
        begun = self.discrete_state("begun", 1.0)
        kept: list[Any] = [
            float(k) for k in evaluate_all(known_expressions(machine, held), {**known, **values})
        ]
        swept: list[list[Any]] = [[0.0] * len(kept), [0.0] * len(kept)]
        if chain is None:
            h = self.period * begun
            expected = [q + h * (u + h * a / 2) for q, u, a in zip(q0, u0, a0, strict=True)]
        elif len(chain.pairs) == 1:
            expected = chain.pairs[0].angles(self, d, q0, chain.pairs[0].own)
            expected = [self.intermediate(e) for e in expected]
        else:
            expected, *swept = self._three(chain, d, q0, u0[0], fastest)
            kept = expected[:1]
        arguments: dict[str, Sequence[Any]] = {
            "x": expected,
            "direction": d,
            "rate": rate,
            "bend": bend,
            "held": kept,
            "held_rate": swept[0],
            "held_bend": swept[1],
        }
        made = step_program(machine, held, moves=chain is not None)
        names = {port.name for port in made.inputs}
        found = self.embed(made, {k: v for k, v in arguments.items() if k in names})
        q, u, a = (
            [self.intermediate(e) for e in found[n]] if chain is None or n != "q" else expected
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

    def _three(
        self,
        chain: AxisChain,
        d: Sequence[Expr],
        q0: Sequence[Expr],
        u0: Expr,
        fastest: Sequence[float] | None,
    ) -> tuple[list[Expr], list[Expr], list[Expr]]:
        """Return three angles, and speed and acceleration of the first, which lags behind."""
        one, two = chain.pairs
        before = self.discrete_state("wanted", initial=float(chain.own[0]))
        wanted = self.intermediate(one.angles(self, d, [before, q0[1]], one.own)[0])
        self.update(before, wanted)
        way, follows = wanted - q0[0], as_expr(1)
        if fastest is not None:
            reach = self.intermediate(self.period * (SHARE * fastest[0]))
            follows = self.intermediate(absolute(way) <= reach)
            way = maximum(-reach, minimum(reach, way))
        first = self.intermediate(q0[0] + way)
        rate = self.intermediate((first - q0[0]) / self.period)
        c, s = self.intermediate(cos(first)), self.intermediate(sin(first))
        e = [float(v) for v in one.e]
        along = self.intermediate(dot(e, d))
        inside = [
            self.intermediate(c * v - s * w + (1 - c) * along * x)
            for v, w, x in zip(d, cross(e, d), e, strict=True)
        ]
        rest = [self.intermediate(a) for a in two.angles(self, inside, q0[1:], two.own)]
        return [first, *rest], [rate], [where(follows, (rate - u0) / self.period, 0)]

    def _limited(
        self, parts: list[list[Expr]], starts: Sequence[float], fastest: Sequence[float]
    ) -> tuple[list[list[Expr]], Expr]:
        """Return references that no actuator follows faster than it can."""
        made: list[list[Expr]] = [[], [], []]
        short = as_expr(0)
        rows = zip(*parts, starts, fastest, strict=True)
        for i, (q, u, a, at, top) in enumerate(rows):
            limit = self.parameter(f"fastest_{i}", top, lower=0.0)
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


def start_at(
    mount: ModelLike, direction: ArrayLike, *, step: float = 1.0, speed: float = math.inf
) -> dict[str, float]:
    """Return all coordinates of a mount that looks along a direction, on the branch of its own.

    The dish turns there about the vertical from where the model starts, then rises; the angles of
    axes in series are those from which the limits of the joints let it follow the whole path.

    Units: `step` in s, `speed` in rad/s.
    """
    machine = parallel_machine(mount)
    m = machine.mechanism
    own = assemble(m).coordinates
    values = {p: m.values[n] for n, p in m.parameters.items()}
    known = {q: own[q.name] for q in machine.coordinates}
    path = np.atleast_2d(np.asarray(direction, dtype=float))
    d = path[0]
    what = f"look along {_words(d)}" if len(path) == 1 else "follow this path"
    chain = chain_of(machine, speed=speed)
    if chain is not None:
        q = chain.values(path, step)
        refuse_beyond(m.name, chain.names, q, chain.limits, what)
        return dict(zip(chain.names, q[0].tolist(), strict=True))
    pose = _Pose(machine)
    first = np.array(evaluate_all(machine.direction, {**known, **values}), dtype=float)
    x = np.array([known[q] for q in machine.coordinates])
    limits, names = limits_of(machine), [q.name for q in machine.coordinates]
    passive = [i for i, q in enumerate(machine.coordinates) if q not in set(machine.actuators)]
    begun, sides = x, set()
    approach = way_to(first, d)
    for k, way in enumerate((*approach, *path[_EVERY::_EVERY])):
        for _ in range(_TURNS):
            off, jacobian = pose.at(x, way / np.linalg.norm(way))
            if np.abs(off).max() < _CLOSED:
                break
            x = x + np.linalg.lstsq(jacobian, off, rcond=1e-9)[0]
        else:
            raise InputError(
                f"{m.name!r} cannot {what}: {_words(way)} is out of its reach",
                remedy="choose a direction within its reach: `linkwright parallel chart` shows it",
            )
        if k < len(approach) - 1:
            continue
        begun = x if k == len(approach) - 1 else begun
        refuse_beyond(m.name, names, x[None], limits, what)
        held = jacobian[: len(machine.relations), passive]
        if held.shape[0] == held.shape[1]:
            sides.add(float(np.linalg.slogdet(held)[0]))
        if len(sides) > 1:
            raise InputError(
                f"{m.name!r} cannot {what}: near {_words(way)} it is singular, and its actuators "
                "do not hold it",
                remedy="choose another pass: `linkwright parallel singularities` shows where"
                + (
                    "; or spend spare freedoms: --spare 'farthest from singular'"
                    if held_words(machine)
                    else ""
                ),
            )
    return dict(zip(names, begun.tolist(), strict=True))


def _words(d: Array) -> str:
    return f"({d[0]:.4f}, {d[1]:.4f}, {d[2]:.4f})"


def actuator_rates(mount: ModelLike, at: Mapping[str, float], d_dot: ArrayLike) -> dict[str, float]:
    """Return the rates of a mount's actuators while its direction changes, by their names.

    Units: `d_dot` in 1/s.
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
        values = {p: m.values[n] for n, p in m.parameters.items()}
        own = {q: start.get(q.name, 0.0) for q in self.x} | values
        d = [symbol(f"d.{c}", "input", owner=_OWNER) for c in "xyz"]
        kept = [as_expr(float(k)) for k in evaluate_all(known_expressions(machine, held), own)]
        g = residuals(machine, ("direction", *held), [*d, *kept])
        rows = [gradient(row, self.x) for row in g]
        inputs = {"x": list(self.x), "d": d, "p": list(values)}
        self.kernel = compiled(program("pose", inputs, {"g": g, "rows": rows}))
        self.values = np.array(list(values.values()))

    def at(self, x: Array, d: Array) -> tuple[Array, Array]:
        """Return what is missing, and the Jacobian."""
        g, rows = self.kernel(x, d, self.values)
        return -g, rows


def way_to(first: Array, last: Array, step: float = 0.05) -> Array:
    """Return unit vectors from one direction to another, rad apart at most, both included.

    They turn about the vertical, then rise or fall: a turntable leads around the zenith.
    """
    (tilt, turn), (low, end) = (
        (math.atan2(math.hypot(x, y), z), math.atan2(y, x)) for x, y, z in (first, last)
    )
    turn = end if tilt < 1e-9 else turn
    around = math.remainder(end - turn, 2 * math.pi)
    rows = [(tilt, turn + around * s) for s in np.linspace(0, 1, math.ceil(abs(around) / step) + 1)]
    rows += [
        (tilt + (low - tilt) * s, end)
        for s in np.linspace(0, 1, max(2, math.ceil(abs(low - tilt) / step) + 1))[1:]
    ]
    made = [(math.sin(a) * math.cos(b), math.sin(a) * math.sin(b), math.cos(a)) for a, b in rows]
    return np.array([*made[:-1], last])
