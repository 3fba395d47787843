"""A System from one instant of a filter to the next, as Programs.

The states are those of the System that a run carries on: continuous states, and discrete states and
held outputs that are read before they are written. They are taken just before the ticks of an
instant; what is measured, just after them. Between ticks the continuous part takes steps of the
classic method of Runge and Kutta, so that the step is one Program, whose Jacobians are exact.

Where modes are fast, that method is not accurate, then not stable. There the linear part at the
start uses its matrix exponential, exactly, and the rest by the method of the same order around
it (Cox and Matthews, Journal of Computational Physics 176, 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, as_expr, free_symbols, symbol
from linkwright.algebra.triples import combination
from linkwright.backends.kernel import compile as compile_kernel
from linkwright.base.errors import Error, unknown
from linkwright.blocks import Block, BlockError
from linkwright.control.step_model import ModelParameter, StepModel
from linkwright.program import Program, Statement, optimize, program
from linkwright.system.forms import Form
from linkwright.system.phases import Phases
from linkwright.system.system import System

MEAN_NOISE = (0.5, 0.25)
"""The two uniform numbers of which a normal number is its mean, 0."""

FAST = 0.3
"""A mode is fast where a step is longer than this part of its time constant: up to there the method
of Runge and Kutta is right to 2e-5."""

Array = NDArray[np.float64]


def with_sensors(system: System, sensors: Sequence[str]) -> tuple[System, list[str]]:
    """Return a copy of a System with an output port for each sensor, and their names."""
    made = system.copy()
    made.exposed_outputs = {}
    names = []
    for k, what in enumerate(sensors):
        names.append(f"sensor{k}")
        made.expose(names[-1], what)
    return made, names


def step_model(
    system: System,
    sensors: Sequence[str],
    period: Fraction,  # from one instant to the next, s
    *,
    inputs: Sequence[str] | None = None,
    steps: int = 1,
) -> StepModel:
    """Return a System from one instant to the next.

    >>> lag = Block("lag")
    >>> u, x = lag.input("u"), lag.state("x", "u - x")
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> step_model(s, ["lag.x"], Fraction(1, 10)).states
    ('lag.x',)
    """
    made, names = with_sensors(system, sensors)
    _refuse(made)
    phases = made.numbered(made.flattened(names, Form(guarded=False)))
    known = [s.name for s in phases.w]
    chosen = known if inputs is None else list(inputs)
    for name in chosen:
        if name not in known:
            raise unknown(
                "open input", name, known, owner=repr(system.name), kind=BlockError, code="R508"
            )
    sketch = _Composed(phases, chosen, period, steps)
    return sketch.model(tuple(sensors))


class _Composed:
    """Programs of phases put one after the other, over symbols of their own."""

    def __init__(self, phases: Phases, inputs: Sequence[str], period: Fraction, steps: int) -> None:
        self.phases, self.inputs, self.steps = phases, tuple(inputs), steps
        self.period = float(period)
        self.ticks = round(self.period / phases.tick_seconds)
        _refuse_period(phases, self.period)
        self.scratch = Block("model")
        owner = self.scratch.owner

        def made(array: str, k: int) -> Expr:
            return symbol(f"{array}[{k}]", "input", owner=owner)

        self.x = [made("x", k) for k in range(len(phases.x))]
        self.d = [made("d", k) for k in range(len(phases.d))]
        self.p = [
            symbol(f"p[{k}]", "parameter", owner=owner, sign=s.symbol.data.sign)
            for k, s in enumerate(phases.p)
            if s.symbol is not None
        ]
        self.u = [made("u", k) for k in range(len(inputs))]
        by_name = dict(zip(inputs, self.u, strict=True))
        self.w = [by_name.get(s.name, as_expr(s.value)) for s in phases.w]
        self.t = self.scratch.time
        self.slope = _slope(phases)

    def call(self, what: Program, x: list[Expr], d: list[Expr], t: Expr) -> tuple[Expr, ...]:
        """Return the first output of a Program."""
        given: dict[str, Sequence[Expr]] = {"x": x, "d": d, "p": self.p, "w": self.w, "t": [t]}
        for port in what.inputs:
            if port.name == "k":
                given["k"] = [t / self.phases.tick_seconds]
            elif port.name == "n":
                given["n"] = [as_expr(v) for v in MEAN_NOISE * (port.size // 2)]
        return self.scratch.embed(what, given)[what.outputs[0].name]

    def ticked(self, at: int, x: list[Expr], d: list[Expr], t: Expr) -> list[Expr]:
        """Return d after what happens at a tick of the period."""
        d = list(d)
        for tick in self.phases.ticks:
            if (at - tick.offset) % tick.every == 0:
                new = self.call(tick.program, x, d, t)
                for slot, value in zip(tick.slots, new, strict=True):
                    d[slot] = value
        return d

    def flown(self, x: list[Expr], d: list[Expr], t: Expr, span: float) -> list[Expr]:
        """Return x after a time in which d holds."""
        count = max(1, round(self.steps * span / self.period)) if self.x else 0
        h = span / max(count, 1)
        fastest = float(np.abs(np.linalg.eigvals(self.slope)).max(initial=0.0))
        for k in range(count):
            step = self._exponential if fastest * h > FAST else self._classic
            x = step(x, d, t + k * h, h)
        return x

    def _classic(self, x: list[Expr], d: list[Expr], t: Expr, h: float) -> list[Expr]:
        rate, keep = self.phases.derivative, self.scratch.intermediate
        a = self.call(rate, x, d, t)
        b = self.call(rate, _ahead(keep, x, a, h / 2), d, t + h / 2)
        c = self.call(rate, _ahead(keep, x, b, h / 2), d, t + h / 2)
        e = self.call(rate, _ahead(keep, x, c, h), d, t + h)
        return [keep(v + (h / 6) * (a[i] + 2 * b[i] + 2 * c[i] + e[i])) for i, v in enumerate(x)]

    def _exponential(self, x: list[Expr], d: list[Expr], t: Expr, h: float) -> list[Expr]:
        keep = self.scratch.intermediate

        def rest(x: list[Expr], t: Expr) -> list[Expr]:
            rates = self.call(self.phases.derivative, x, d, t)
            return [keep(r - combination(row, x)) for r, row in zip(rates, self.slope, strict=True)]

        def mixed(*parts: tuple[Array, list[Expr]]) -> list[Expr]:
            rows = range(len(x))
            return [keep(sum((combination(m[i], v) for m, v in parts), as_expr(0))) for i in rows]

        half, G, *_ = _phi(self.slope, h / 2)
        whole, first, second, third = _phi(self.slope, h)
        n = rest(x, t)
        a = mixed((half, x), (G, n))
        na = rest(a, t + h / 2)
        nb = rest(mixed((half, x), (G, na)), t + h / 2)
        c = mixed((half, a), (G, [2 * v - w for v, w in zip(nb, n, strict=True)]))
        both = [keep(v + w) for v, w in zip(na, nb, strict=True)]
        return mixed(
            (whole, x),
            (first - 3 * second + 4 * third, n),
            (2 * second - 4 * third, both),
            (4 * third - second, rest(c, t + h)),
        )

    def model(self, sensors: tuple[str, ...]) -> StepModel:
        """Return the whole."""
        phases, t = self.phases, as_expr(self.t)
        d = self.ticked(0, self.x, self.d, t)
        assert phases.output is not None
        z = self.call(phases.output, self.x, d, t)
        due = {
            0,
            *(
                k
                for tick in phases.ticks
                for k in range(tick.offset % tick.every, self.ticks, tick.every)
            ),
        }
        x, instants = list(self.x), sorted(due)
        for k, following in zip(instants, [*instants[1:], self.ticks], strict=True):
            now = t + k * phases.tick_seconds
            if k:
                d = self.ticked(k, x, d, now)
            span = (following - k) * phases.tick_seconds if phases.ticks else self.period
            x = self.flown(x, d, now, span)
        statements = self.scratch.statements
        kept = [k for k, signal in enumerate(phases.d) if signal.kind == "discrete"]
        while True:  # a held output that is new before anything reads it is no state
            read = _leaves(statements, [*x, *z, *(d[k] for k in kept)])
            new = [k for k, held in enumerate(self.d) if held in read and k not in kept]
            if not new:
                break
            kept = sorted([*kept, *new])
        inputs = {
            "x": [*self.x, *(self.d[k] for k in kept)],
            "u": self.u,
            "p": self.p,
            "t": [self.t],
        }
        signals = [*phases.x, *(phases.d[k] for k in kept)]
        after = [*x, *(d[k] for k in kept)]
        return StepModel(
            tuple(s.name for s in signals),
            self.inputs,
            sensors,
            _program("step", inputs, {"x_next": after}, statements),
            _program("measure", inputs, {"z": list(z)}, statements),
            tuple(s.value for s in signals),
            tuple(ModelParameter(s.name, s.value, s.unit) for s in phases.p),
        )


def _slope(phases: Phases) -> Array:
    """Return the Jacobian of the rates at the start."""
    n = len(phases.x)
    if not n:
        return np.zeros((0, 0))
    made = phases.derivative.derivative(None, "x", mode="forward", optimized=False)
    known = {
        name: np.array([s.value for s in signals])
        for name, signals in zip("xdpw", (phases.x, phases.d, phases.p, phases.w), strict=True)
    }
    known |= {"t": np.zeros(1), "k": np.zeros(1)}
    found = compile_kernel(made, backend="python")(*(known[p.name] for p in made.inputs))
    slope = np.reshape(found, (n, n)).astype(float)
    return slope if np.isfinite(slope).all() else np.zeros((n, n))


def _phi(a: Array, h: float) -> list[Array]:
    """Return exp(a h) and the first three integrals of it, with h: h φ1, h φ2, h φ3."""
    from scipy.linalg import expm

    n = len(a)
    whole = np.zeros((4 * n, 4 * n))
    whole[:n, :n] = a * h
    for k in range(n, 4 * n):
        whole[k - n, k] += 1.0
    found = expm(whole)[:n]
    return [found[:, :n], *(h * found[:, k * n : (k + 1) * n] for k in (1, 2, 3))]


def _ahead(
    keep: Callable[[Expr], Expr], x: list[Expr], rate: Sequence[Expr], h: float
) -> list[Expr]:
    return [keep(v + h * r) for v, r in zip(x, rate, strict=True)]


def _program(
    name: str,
    inputs: Mapping[str, list[Expr]],
    outputs: Mapping[str, list[Expr]],
    statements: Sequence[Statement],
) -> Program:
    """Return a Program of those statements that its outputs need."""
    needed, kept = set(free_symbols(*(v for values in outputs.values() for v in values))), []
    for statement in reversed(statements):
        if needed & set(statement.targets):
            kept.append(statement)
            needed |= set(free_symbols(*statement.operands))
    return optimize(program(name, inputs, outputs, statements=kept[::-1]))


def _leaves(statements: Sequence[Statement], roots: Sequence[Expr]) -> set[Expr]:
    """Return what values depend on in the end."""
    needed = set(free_symbols(*roots))
    for statement in reversed(statements):
        if needed & set(statement.targets):
            needed -= set(statement.targets)
            needed |= set(free_symbols(*statement.operands))
    return needed


# -- what has no such model ------------------------------------------------------------------------
def refuse_functions(system: System) -> None:
    """Reject a System with Python functions."""
    for member in system.members.values():
        if member.block.function is not None:
            raise Error(
                f"{member.name!r} is a Python function, and these have no derivative",
                remedy="put a Block with the same formula into its place",
                code="R508",
            )


def _refuse(system: System) -> None:
    for member in system.members.values():
        if not member.held and any(True for _ in member.remembered()):
            raise Error(
                f"{member.name!r} has memory that changes after steps of the integration, which a "
                "filter cannot follow",
                remedy="add it at a rate, or use an element without memory",
                code="R508",
            )
    if any(body.joint.quaternion for body in system.mechanism.bodies.values()):
        raise Error(
            f"{system.name!r} turns by a quaternion, whose four numbers are not independent",
            remedy='describe the joint by angles, or take kind="time-varying"',
            code="R508",
        )


def _refuse_period(phases: Phases, period: float) -> None:
    """Reject instants at which members of the System are not always at the same point."""
    for tick in phases.ticks:
        count = period / (tick.every * phases.tick_seconds)
        if abs(count - round(count)) > 1e-9 or count < 0.5:
            every = tick.every * phases.tick_seconds
            raise Error(
                f"{tick.name!r} runs every {every:g} s, the filter every {period:g} s",
                remedy="let the filter's period be a whole number of those of all members",
                code="R508",
            )


def delayed(model: StepModel, late: Sequence[int]) -> StepModel:
    """Return a model whose sensors show what was true some instants ago; that becomes states."""
    scratch = Block("late")
    x = list(model.step.port("x").entries)
    taken = {name: list(model.step.port(name).entries) for name in ("u", "p", "t")}
    known: dict[str, Sequence[Expr]] = {"x": x, **taken}
    following = list(scratch.embed(model.step, known)["x_next"])
    shown = list(scratch.embed(model.measure, known)["z"])
    names, start = list(model.states), list(model.start)
    for k, count in enumerate(late):
        for j in range(count):
            made = symbol(f"late[{k},{j}]", "input", owner=scratch.owner)
            x.append(made)
            following.append(shown[k])
            shown[k] = made
            names.append(f"{model.sensors[k]} late by {j + 1}")
            start.append(0.0)
    inputs = {"x": x, **taken}
    return replace(
        model,
        states=tuple(names),
        step=_program("step", inputs, {"x_next": following}, scratch.statements),
        measure=_program("measure", inputs, {"z": shown}, scratch.statements),
        start=tuple(start),
    )
