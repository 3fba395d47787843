"""Linear models of mechanisms and Systems: exact A, B, C, D at an operating point.

The Jacobians are Programs made from the Programs of a System's phases, so they are exact. The
states of the linear model are independent coordinates, extra states, independent speeds and the
states of members. Coordinates that loops compute follow the independent ones: with G the Jacobian
of the relations of position, small changes satisfy G dq = 0. Speeds that constraints eliminate are
functions of the state already.

A quaternion has three states, the small rotation dθ in body axes (the tangent space, with
Pinocchio's convention e ⊕ dθ = e * exp(dθ/2)); its rate is dω - ω × dθ.

A System with sampled members has a model in discrete time, over the shortest period after which
all its ticks repeat (Chen and Francis, Optimal Sampled-Data Control Systems, 1995, chapter 8):

    z[k+1] = A z[k] + B w[k],   y[k] = C z[k] + D w[k]

with z = (x, discrete states) just before the ticks of an instant at which the period begins, inputs
w that hold for a period, and outputs y just after these ticks. Between ticks the continuous part
moves by its matrix exponential while d holds; at a tick the Jacobian of the tick acts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount
from linkwright.backends.kernel import Kernel, compile as compile_kernel
from linkwright.base.arguments import worded
from linkwright.base.energies import ENERGIES
from linkwright.base.errors import Error
from linkwright.base.lazy import guide
from linkwright.base.optional import extra
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.equations.closure import Relations, independent_columns
from linkwright.equations.poles import refuse_pole
from linkwright.linear.lifting import counters, every_ticks, over_a_period
from linkwright.linear.modes import Mode, modes, moving_states
from linkwright.mechanism import Mechanism, ModelLike
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.program import Program
from linkwright.system import Phases, System, system_of
from linkwright.system.forms import Form
from linkwright.system.numbers import beginnings, numbered, parameters

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class LinearModel(Result):
    """x' = A x + B w, y = C x + D w for small changes about an operating point.

    With a period it is a model in discrete time: x[k+1] = A x[k] + B w[k], y[k] = C x[k] + D w[k].

    Args:
        a: system matrix.
        b: effect of the inputs.
        c: outputs from states.
        d: outputs from inputs.
        states: names of the states, coordinates first.
        inputs: names of the inputs.
        outputs: names of the outputs.
        point: the operating point: value of every coordinate, speed and extra state.
        drift: the rates of the states at the operating point, or how they change in a period;
            zero in an equilibrium.
        computed: coordinates that follow the others through loops.
        period: of a model in discrete time, s; 0 for one in continuous time.
        level: what the outputs are at the operating point.

    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x - 4*v", at=b.origin, along="x")
    >>> model = linearize(m)
    >>> model.states, round(model.modes()[0].damping, 6)
    (('b', 'b_dot'), 0.5)
    """

    a: Array
    b: Array
    c: Array
    d: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    point: dict[str, float] = field(default_factory=dict)
    drift: Array = field(default_factory=lambda: np.zeros(0))
    computed: tuple[str, ...] = ()
    period: float = 0.0
    level: Array = field(default_factory=lambda: np.zeros(0))

    if not TYPE_CHECKING:
        __getattr__ = guide

    def __repr__(self) -> str:
        counts = (("state", self.states), ("input", self.inputs), ("output", self.outputs))
        told = ", ".join(f"{len(x)} {word}{'' if len(x) == 1 else 's'}" for word, x in counts)
        told += f", every {self.period:g} s" if self.period else ""
        return f"LinearModel({told}: {brief(list(self.states))[1:-1]})"

    def modes(self) -> list[Mode]:
        """Return eigenvalues and shapes, states on which nothing depends set aside."""
        return modes(self.a, self.states, self.period)

    def eigenvalues(self) -> NDArray[np.complex128]:
        """Return the eigenvalues of the states on which something depends, by real part.

        Conjugates stand side by side. `neutral` names the states that were set aside.
        """
        kept = moving_states(self.a)
        values = np.linalg.eigvals(self.a[np.ix_(kept, kept)]) if kept else np.zeros(0)
        return np.array(sorted(values, key=lambda v: (v.real, v.imag)), dtype=complex)

    @property
    def neutral(self) -> tuple[str, ...]:
        """The states on which nothing depends; each has an eigenvalue 0."""
        kept = set(moving_states(self.a))
        return tuple(n for k, n in enumerate(self.states) if k not in kept)

    def to_control(self) -> Any:
        """Return the model as a state space system of python-control.

        Its outputs are those of the model, or the states where the model has none. python-control
        comes with `pip install linkwright[analysis]`.
        """
        control = extra("control", "analysis")
        c, d, outputs = self.c, self.d, self.outputs
        if not outputs:
            c, d = np.eye(len(self.states)), np.zeros((len(self.states), len(self.inputs)))
            outputs = self.states
        return control.ss(
            self.a,
            self.b,
            c,
            d,
            states=[_plain(n) for n in self.states],
            inputs=[_plain(n) for n in self.inputs] or 0,
            outputs=[_plain(n) for n in outputs],
            dt=self.period,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""
        return {
            "A": self.a.tolist(),
            "B": self.b.tolist(),
            "C": self.c.tolist(),
            "D": self.d.tolist(),
            "states": list(self.states),
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "eigenvalues": [{"real": v.real, "imag": v.imag} for v in self.eigenvalues()],
            "modes": [
                {
                    "eigenvalue": {"real": m.eigenvalue.real, "imag": m.eigenvalue.imag},
                    "frequency": m.frequency,
                    "damping": m.damping,
                    "shape": {k: [s.real, s.imag] for k, s in m.shape.items()},
                }
                for m in self.modes()
            ],
            "neutral": list(self.neutral),
            "point": self.point,
            "computed": list(self.computed),
            "period": self.period,
        }


@worded
def linearize(
    model: ModelLike,
    at: Mapping[str, Amount] | None = None,
    *,
    parameters: Mapping[str, Amount] | None = None,
    time: float = 0.0,
) -> LinearModel:
    """Return the linear model of a mechanism or a System at an operating point.

    The inputs and outputs of a System are those that it exposes; where it exposes none, all that
    nothing drives and all that it puts out. With sampled members the model is in discrete time.

    Args:
        model: a mechanism, a robot, a System, a file, or the name of a shipped model.
        at: coordinates (m, rad), speeds and other states by name; by default the initial values.
            Loops are closed and dependent speeds found from them.
        parameters: values of parameters and inputs by name.
        time: s.

    >>> m = Mechanism("oscillator")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("spring", "-8*x", at=b.origin, along="x")
    >>> linearize(m).eigenvalues().round(6) + 0
    array([0.-2.j, 0.+2.j])
    """
    return linearize_along(model, [at or {}], parameters=parameters, times=[time])[0]


@worded
def linearize_along(
    model: ModelLike,
    states: Sequence[Mapping[str, Amount]],
    *,
    parameters: Mapping[str, Amount] | None = None,
    times: Iterable[float] | None = None,
) -> list[LinearModel]:
    """Return the linear models at several states, for instance along a motion.

    Args:
        model: as for `linearize`.
        states: coordinates, speeds and other states by name, for each model.
        parameters: values of parameters and inputs by name.
        times: s, one for each; 0 by default.

    >>> m = Mechanism("pendulum")
    >>> b = m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> m.gravity("-y")
    >>> [float(l.a[1, 0].round(2)) for l in linearize_along(m, [{"b": 0.0}, {"b": 1.0}])]
    [0.0, 8.25]
    """
    system = system_of(model).copy()
    system.set_parameters(parameters or {})
    slopes = None
    result = []
    for state, time in zip(states, times or [0.0] * len(states), strict=True):
        now = system.copy()
        now.set_initial(state)
        slopes = slopes or _Slopes.of(now)
        result.append(slopes.at(now, time))
        _refuse_lost(now, state, result[-1].point)
    return result


def _refuse_lost(system: System, asked: Mapping[str, Amount], found: Mapping[str, float]) -> None:
    """Reject speeds that were asked for and that the constraints do not allow."""
    given = {s.symbol.name for s in system.mechanism.kinematics().speeds} & set(asked)
    for name in sorted(given & set(found)):
        wanted, held = float(system.initial[name]), found[name]
        if abs(held - wanted) > 1e-6 * (1 + abs(wanted)):
            raise Error(
                f"{name} cannot be {wanted:g} with the other speeds: the constraints make it "
                f"{held:.6g}",
                remedy="give all speeds that move with it, or the parameter that sets it",
            )


def lifted(system: System, every: int, start: int) -> tuple[LinearModel, int]:
    """Return the linear model of a sampled System where it starts, and the parts of its period.

    The inputs are new in each part. They and the outputs come once for each part, in order
    (lifting: Chen and Francis, 1995, chapter 8).
    """
    slopes = _Slopes.of(system)
    parts = math.lcm(every, *every_ticks(slopes.phases, slopes.cycles(system))) // every
    return slopes.at(system, 0.0, parts, start), parts


@dataclass(frozen=True, slots=True)
class _Slopes:
    """The Programs of a System's phases with their Jacobians, ready to be evaluated."""

    phases: Phases
    mechanism: Mechanism
    relations: Relations
    derivative: Kernel
    output: Kernel | None
    ticks: tuple[Kernel, ...]

    @staticmethod
    def of(system: System) -> _Slopes:
        """Differentiate the phases of a System."""
        known = {*system.mechanism.parameters, *system.mechanism.inputs}
        own = {n: v for n, v in system.values.items() if n in known}
        refuse_unreal(system.mechanism.with_parameters(own))
        for member in system.members.values():
            if member.block.uneven:
                raise Error(
                    f"{member.name!r} has no linear model over one instant: {member.block.uneven}",
                    remedy="linearize a System in which all of its instants are alike",
                )
        found = system.flattened(form=Form(guarded=False))
        for tick in found.phases.ticks:
            if tick.foreign is not None:
                raise Error(
                    f"{tick.name!r} is a Python function, and these have no derivative",
                    remedy="put a Block with the same formula into its place",
                )
        mechanism = found.mechanism.with_parameters(own)
        return _Slopes(
            found.phases,
            mechanism,
            Relations(mechanism, mechanism.values, "python"),
            _kernel(found.phases.derivative),
            None if found.phases.output is None else _kernel(found.phases.output),
            tuple(_kernel(tick.program) for tick in found.phases.ticks),
        )

    def at(self, system: System, time: float, parts: int = 1, start: int = 0) -> LinearModel:
        """Return the linear model where a System starts, in discrete time lifted to some parts."""
        point = beginnings(system, parameters(system), self.mechanism, time, self.relations)
        refuse_pole(self.mechanism, point, "there is no linear model")
        phases = numbered(system, self.phases, self.mechanism, point)
        names = [s.name for s in (*phases.x, *phases.d)]
        names += [x.name for x in (*self.relations.coordinates, *self.relations.speeds)]
        point = {name: point[name] for name in names}
        known = {
            name: np.array([s.value for s in signals])
            for name, signals in zip("xdpw", (phases.x, phases.d, phases.p, phases.w), strict=True)
        }
        cycles = self.cycles(system)
        for repeated in cycles:
            for slot, value in repeated[0].items():
                known["d"][slot] = point[phases.d[slot].name] = value
        known |= {"t": np.array([time]), "k": np.array([round(time / phases.tick_seconds)])}
        for tick, kernel in zip(phases.ticks, self.ticks, strict=True):  # what members hold here
            for slot, value in zip(tick.slots, _evaluate(kernel, known)["d_new"], strict=True):
                if phases.d[slot].kind == "held":
                    known["d"][slot] = point[phases.d[slot].name] = value
        rates = _evaluate(self.derivative, known)
        back, turning = _rows(phases, known["x"], 1, 4), _rows(phases, rates["x_dot"], 0, 4)
        free, tied, lift = self._closed(known["x"], time)
        by_x, *others = _slopes(rates, "x_dot", known)
        moved = [(back @ by_x + turning) @ lift, *(back @ part for part in others)]
        flow = np.hstack(moved)[free]

        def seen(kernel: Kernel, output: str) -> Array:
            by_x, *others = _slopes(_evaluate(kernel, known), output, known)
            return np.hstack([by_x @ lift, *others])

        inputs, outputs = _inputs(system, phases), _outputs(system, phases)
        rows = [] if self.output is None else [row for _, row in outputs]
        y = flow[:0] if self.output is None else seen(self.output, "y")[rows]
        period, states = 0.0, list(range(len(free)))
        names = [_labels(phases)[k] for k in free]
        first = len(free) + len(phases.d)
        if phases.ticks:
            ticks: list[list[Array]] = []
            here = known["d"].copy()
            for tick, kernel, instants in zip(phases.ticks, self.ticks, cycles, strict=True):
                ticks.append([])
                for counted in instants:
                    known["d"][list(counted)] = list(counted.values())
                    new = seen(kernel, "d_new")
                    for place in counted:  # counters are known: no states of the linear model
                        new[tick.slots.index(place)] = 0.0
                        new[tick.slots.index(place), -1] = here[place]
                    ticks[-1].append(new)
                known["d"] = here.copy()
            flow, y, period = over_a_period(phases, flow, y, ticks, known["d"], parts, start)
            names += [s.name for s in phases.d]
            held = [k for k, s in enumerate(phases.d, len(free)) if s.kind == "held"]
            states = _read(flow, y, range(len(names)), set(held))
        every = range(parts if phases.ticks else 1)
        columns = [first + j * len(phases.w) + k for j in every for _, k in inputs]
        return LinearModel(
            flow[np.ix_(states, states)],
            flow[np.ix_(states, columns)],
            y[:, states],
            y[:, columns],
            tuple(names[k] for k in states),
            tuple(_at_part(name, j) for j in every for name, _ in inputs),
            tuple(_at_part(name, j) for j in every for name, _ in outputs),
            point,
            flow[states, -1],
            tuple(_labels(phases)[k] for k in tied),
            period,
            y[:, -1],
        )

    def cycles(self, system: System) -> list[list[dict[int, float]]]:
        """Return the values of each tick's counters, by slot, at the instants until they repeat."""
        known, found = counters(system), []
        for tick in self.phases.ticks:
            names = {slot: self.phases.d[slot].name for slot in tick.slots}
            own = {slot: known[name] for slot, name in names.items() if name in known}
            count = math.lcm(*(len(values) for values in own.values()))
            found.append([{k: v[i % len(v)] for k, v in own.items()} for i in range(count)])
        return found

    def _closed(self, x: Array, time: float) -> tuple[list[int], list[int], Array]:
        """Return the tangent states that are free, those that loops compute, and dx by the free."""
        lift, relations = _rows(self.phases, x, 1, 1).T, self.relations
        place = {s.name: k for k, s in enumerate(self.phases.x)}
        rows = [place[q.name] for q in relations.coordinates]
        extra_states = [place[s.symbol.name] for s in self.mechanism.states]
        _, g = relations.position(x[[*rows, *extra_states]], time)
        g = g @ lift[rows]
        tied = independent_columns(g) if g.size and np.abs(g).max() > 0 else []
        free = [k for k in range(lift.shape[1]) if k not in set(tied)]
        follow = np.eye(lift.shape[1])[:, free]
        if tied:
            follow[tied] = -np.linalg.lstsq(g[:, tied], g[:, free], rcond=None)[0]
        return free, tied, lift @ follow


def _kernel(program: Program) -> Kernel:
    """Return a Program with its Jacobians by x, d and w."""
    wanted = [p.name for p in program.inputs if p.name in ("x", "d", "w") and p.size]
    if wanted:  # forward is right for about as many results as variables, and soon made
        program = program.derivative(None, wanted, mode="forward", values=True, optimized=False)
    return compile_kernel(program, backend="python")


def _evaluate(kernel: Kernel, known: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs of a kernel; noise is what it is on average."""
    program = kernel.program
    noise = np.array([0.5, 0.25] * (sum(p.size for p in program.inputs if p.name == "n") // 2))
    found = kernel(*(known[p.name] if p.name != "n" else noise for p in program.inputs))
    many = found if isinstance(found, tuple) else (found,)
    return dict(zip((p.name for p in program.outputs), many, strict=True))


def _slopes(found: Mapping[str, Array], output: str, known: Mapping[str, Array]) -> list[Array]:
    """Return the Jacobians of an output by x, d and w, and its value as a column."""
    value = np.ravel(found[output])
    parts = []
    for v in "xdw":
        shape = len(value), len(known[v])
        parts.append(np.reshape(found.get(f"d_{output}_d_{v}", np.zeros(shape)), shape))
    return [*parts, value[:, None]]


# -- names -----------------------------------------------------------------------------------------
def _inputs(system: System, phases: Phases) -> list[tuple[str, int]]:
    """Return the names of the inputs, with their places in w."""
    place = {s.symbol: k for k, s in enumerate(phases.w)}
    if not system.exposed_inputs:
        return [(s.name, k) for k, s in enumerate(phases.w)]
    ports = system.exposed_inputs.values()
    return [(n, place[x]) for p in ports for n, x in p.entries() if x in place]


def _outputs(system: System, phases: Phases) -> list[tuple[str, int]]:
    """Return the names of the outputs, with their places among the channels."""
    place = {s.name: k for k, s in enumerate(phases.outputs)}
    if not system.exposed_outputs:
        apart = {*ENERGIES, *(s.name for s in phases.w)} - {
            o.name for o in system.mechanism.outputs
        }
        names = [s.name for s in phases.outputs if s.kind == "output" and s.name not in apart]
        return [(name, place[name]) for name in names]
    ports = system.exposed_outputs.values()
    return [(name, place[name]) for port in ports for name, _ in port.entries()]


# -- the tangent space -----------------------------------------------------------------------------
def _labels(phases: Phases) -> list[str]:
    """Return the names of the tangent states."""
    first = {four[0] for four in phases.quaternions}
    inside = {k for four in phases.quaternions for k in four}
    found: list[str] = []
    for k, s in enumerate(phases.x):
        if k in first:
            found += [f"{s.body}.turn_{axis}" for axis in "xyz"]
        elif k not in inside:
            found.append(s.name)
    return found


def _rows(phases: Phases, x: Array, plain: float, factor: float) -> Array:
    """Return a row over x for each tangent state: of a quaternion, E(x)ᵀ/2 times the factor.

    dθ = 2 E(e)ᵀ de, and so its rate is 2 E(e')ᵀ de + 2 E(e)ᵀ de'.
    """
    first = {four[0]: list(four) for four in phases.quaternions}
    inside = {k for four in phases.quaternions for k in four}
    found: list[Array] = []
    for k, unit in enumerate(np.eye(len(x))):
        if k in first:
            rows = np.zeros((3, len(x)))
            rows[:, first[k]] = factor * _half_turns(x[first[k]]).T
            found += list(rows)
        elif k not in inside:
            found.append(plain * unit)
    return np.reshape(found, (len(found), len(x)))


def _half_turns(e: Array) -> Array:
    """Return E(e)/2, the change of a quaternion with a small rotation in body axes."""
    w, i, j, k = e
    return 0.5 * np.array([[-i, -j, -k], [w, -k, j], [k, w, -i], [-j, i, w]])


def _read(flow: Array, y: Array, states: Iterable[int], held: set[int]) -> list[int]:
    """Return the states, without held values that are new before anything reads them."""
    kept = list(states)
    while idle := [k for k in kept if k in held and not flow[kept, k].any() and not y[:, k].any()]:
        kept = [k for k in kept if k not in idle]
    return kept


def _plain(name: str) -> str:
    """Return a name as python-control accepts it."""
    return name.replace(".", "_")


def _at_part(name: str, part: int) -> str:
    """Return the name of an input or output of a lifted model: its name, then `name@1`, ..."""
    return f"{name}@{part}" if part else name
