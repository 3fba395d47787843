"""What a written program consists of, as plain data, before it is put into a language.

From a System (a mechanism alone is one too) come the Programs of all that happens in a run, and
tables of everything that users see: parameters, inputs, initial values, channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwright.algebra import ONE, Expr, total
from linkwright.algebra.calculus import gradient
from linkwright.backends.llvm.backend import has_fma
from linkwright.base.errors import Error
from linkwright.codegen.units import ShownUnits, general_name
from linkwright.equations.closure import Relations, independent_columns
from linkwright.equations.equations import Equations, derive
from linkwright.equations.formulations import QUICK
from linkwright.equations.meanings import parameter_units, parameter_words
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.mechanism.parts import Output, Timing
from linkwright.mechanism.quantities import quantities_of
from linkwright.program import Program, program
from linkwright.program.passes import optimize
from linkwright.simulation.native.methods import METHODS as NATIVE, method_named
from linkwright.simulation.native.schedule import RunSchedule, make_schedule
from linkwright.simulation.settings import divided, spacing
from linkwright.system import Phases, System
from linkwright.system.forms import Form
from linkwright.system.phases import Signal, of_guard

METHODS = ("midpoint", "rk4")
"""The methods that a program offers by default."""

RUN_WORDS = ("STEP", "STOPT", "IPRINT", "METHOD", "SEED")
"""Keywords of a parameter file that set the run itself."""

_WORDS = ("PARSFILE", "TITLE", "END", *RUN_WORDS)
_TIMING = Timing(10.0, 0.01, 10)


@dataclass(frozen=True, slots=True)
class InputItem:
    """A value that users give: `inside = shown * factor`."""

    name: str
    shown: float
    factor: float
    unit: str
    doc: str


@dataclass(frozen=True, slots=True)
class OutputChannel:
    """A channel of results: `shown = inside / factor`."""

    name: str
    short: str
    doc: str
    unit: str
    general: str
    body: str
    factor: float


@dataclass(frozen=True, slots=True)
class Content:
    """All that a written program holds."""

    system: System  # what it simulates
    # those of its mechanism, for documentation; None where nothing moves
    equations: Equations | None
    phases: Phases  # the flattened System
    schedules: tuple[RunSchedule, ...]  # what a run does, for each method that the program offers
    timing: Timing  # step, end and interval of output
    parameters: tuple[InputItem, ...]  # in the order of the array p
    inputs: tuple[InputItem, ...]  # in the order of the array w
    # coordinates and extra states of the mechanism, the first part of the array x
    coordinates: tuple[InputItem, ...]
    speeds: tuple[InputItem, ...]  # independent speeds, which follow in x
    states: tuple[InputItem, ...]  # those of members, the rest of x
    # discrete states and held outputs, the array d but for what guards remember
    memory: tuple[InputItem, ...]
    channels: tuple[OutputChannel, ...]  # the array y
    # places of the coordinates that are computed from relations of position
    computed: tuple[int, ...]
    relations: tuple[str, ...]  # names of the relations of position
    closure: Program | None  # the relations of position and their Jacobian, or None
    fuse: bool  # whether products and sums round once

    @property
    def longest(self) -> float:
        """How long a step may be for the end stops of joints, s."""
        return float((self.phases.meta or {}).get("stops", {}).get("longest", math.inf))

    @property
    def ranges(self) -> list[tuple[int, float, float]]:
        """Between which end stops coordinates start: places in x, lower and upper."""
        ranges = (self.phases.meta or {}).get("stops", {}).get("ranges", {})
        found = []
        for i, signal in enumerate(self.phases.x):
            if signal.name in ranges:
                low, high = ranges[signal.name]
                lower, upper = (-math.inf if low is None else low), high
                found.append((i, lower, math.inf if upper is None else upper))
        return found

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the System."""
        return self.system.mechanism

    @property
    def free(self) -> int:
        """The number of coordinates that a relation of position can move; extra states follow."""
        return 0 if self.equations is None else len(self.equations.coordinates)

    @property
    def sampled(self) -> bool:
        """Whether something happens at ticks, so that the base tick is fixed."""
        return bool(self.phases.ticks)

    @property
    def programs(self) -> Iterator[tuple[str, Program, Program]]:
        """Names, constants and Programs of all that runs but steps; these are of fixed sizes."""
        for part in self.schedules[0].parts:
            if part.name != "breaks":
                yield part.name, part.constants, part.main

    @property
    def following(self) -> Iterator[tuple[str, Program]]:
        """Names and Programs that follow events, where there are any."""
        steps = self.schedules[0].steps
        if "look" in steps:
            yield from ((name, steps[name]) for name in ("slope", "middle", "look"))


def make_content(
    model: Any,
    *,
    timing: Timing | None = None,
    channels: Sequence[str] = (),
    units: str = "auto",
    formulation: str = "auto",
    methods: Sequence[str] = METHODS,
    fuse: bool | None = None,
    guarded: bool = True,
) -> Content:
    """Return the content of a written program.

    >>> from linkwright.models import load_model
    >>> content = make_content(load_model("slider-crank"))
    >>> content.computed, [c.name for c in content.channels]
    ((1, 2), ['x'])
    """
    system = system_of(model, formulation)
    mechanism = system.mechanism
    given = {
        n: 1.0 for n in (*mechanism.parameters, *mechanism.inputs) if n not in mechanism.values
    }
    system.values = {**given, **system.values}
    outputs = _outputs(system, channels)
    ports = [x.name for m in system.members.values() for _, xs, _ in m.outputs() for x in xs]
    kept = mechanism
    system.mechanism = mechanism.with_outputs(outputs)
    form = Form(guarded=guarded)  # a program has no other form to go on with, and stops
    phases = system.numbered(system.flattened([*(o.name for o in outputs), *ports], form))
    system.mechanism = kept
    chosen = [method_named(name) for name in methods]
    for method in chosen:
        if method.adaptive:
            raise Error(
                f"a written program has fixed steps, and {method.name} does not",
                remedy="choose among " + ", ".join(n for n, m in NATIVE.items() if not m.adaptive),
            )
    _refuse_words([s.name for s in (*phases.p, *phases.w, *phases.x, *phases.d)])
    moving = bool(mechanism.kinematics().speeds)
    equations = derive(mechanism, QUICK) if moving or mechanism.states else None
    zero = [] if equations is None else _relations(equations.mechanism)
    values = {s.name: s.value for s in (*phases.p, *phases.w)}
    shown = ShownUnits(mechanism, units)
    count = 0 if equations is None else len(equations.coordinates) + len(equations.states)
    speeds = 0 if equations is None else len(equations.speeds)
    items = _states(phases, shown, mechanism)
    return Content(
        system,
        equations,
        phases,
        tuple(make_schedule(phases, method) for method in chosen),
        timing or timing_of(system, {}),
        _given(mechanism, phases.p, shown),
        _given(mechanism, phases.w, shown),
        items[:count],
        items[count : count + speeds],
        items[count + speeds :],
        tuple(
            _item(s.name, s.value, s.long_name, shown.shown(s.unit))
            for s in phases.d
            if not of_guard(s.name)
        ),
        _channels(mechanism, outputs, phases, shown),
        _computed(equations, phases, values) if equations is not None and zero else (),
        tuple(name for name, _ in zero),
        _closure(equations, phases, [g for _, g in zero])
        if equations is not None and zero
        else None,
        has_fma() if fuse is None else fuse,
    )


def system_of(model: Any, formulation: str = "quick") -> System:
    """Return a System that can be changed, of a System, a mechanism or a robot."""
    if isinstance(model, System):
        return model.copy()
    return System(mechanism_of(model), formulation=formulation)


def timing_of(model: Any, settings: Mapping[str, float]) -> Timing:
    """Return the timing of a model's run with some of it changed.

    >>> timing_of(Mechanism("m"), {"STEP": 0.5})
    Timing(until=10.0, step=0.5, every=10)
    """
    system = system_of(model)
    own = system.mechanism.timing or _TIMING
    clock = system.clock()
    if clock.schedules:  # output goes by base ticks, and a step is no longer than one
        own = Timing(
            own.until, float(clock.tick), spacing(divided(own.until, float(clock.tick))[0])
        )
    until, step = settings.get("STOPT", own.until), settings.get("STEP", own.step)
    every = settings.get("IPRINT", own.every)
    if not 0 < step <= until or every < 1 or every != int(every):
        raise Error(
            f"a run of {until:g} s cannot go in steps of {step:g} s, put out every {every:g}"
        )
    return Timing(until, step, int(every))


def _outputs(system: System, channels: Sequence[str]) -> tuple[Output, ...]:
    """Return the outputs of a System's mechanism, with all quantities of some kinds."""
    mechanism = system.mechanism
    own = mechanism.outputs or system.members
    kinds = channels or (() if own else ("coordinates", "speeds"))
    extra = [q for kind in kinds for q in quantities_of(mechanism, kind)]
    taken = {o.name for o in mechanism.outputs}
    more = (Output(q.name, q.value, q.unit, q.doc, q.body) for q in extra if q.name not in taken)
    return (*mechanism.outputs, *more)


def _relations(mechanism: Mechanism) -> list[tuple[str, Expr]]:
    """Return names and expressions of the relations of position, unit quaternions among them."""
    found = [(c.name, c.position) for c in mechanism.constraints if c.position is not None]
    for body in mechanism.bodies.values():
        if body.joint.quaternion:
            length = total(e**2 for e in body.rotations) - ONE
            found.append((f"the quaternion of {body.name} has unit length", length))
    return found


def _closure(equations: Equations, phases: Phases, zero: Sequence[Expr]) -> Program:
    """Return the relations of position and their Jacobian."""
    rows = [gradient(g, list(equations.coordinates)) for g in zero]
    arrays = {name: [s.symbol for s in getattr(phases, name)] for name in "xpw"}
    name = f"{equations.mechanism.name}_closure"
    return optimize(program(name, {**arrays, "t": [phases.time]}, {"g": list(zero), "G": rows}))


def _computed(equations: Equations, phases: Phases, values: Mapping[str, float]) -> tuple[int, ...]:
    """Return the coordinates to compute from the relations of position, the others being given.

    First choices are what the analyst asked for, then what has no initial value, then coordinates
    whose rates were eliminated.
    """
    mechanism = equations.mechanism
    relations = Relations(mechanism, {**mechanism.values, **values}, backend="python")
    start = [s.value for s in phases.x[: len(equations.coordinates) + len(equations.states)]]
    _, jacobian = relations.position(np.array(start), 0.0)
    asked = {c.eliminate_coordinate for c in mechanism.constraints}
    rates = equations.kinematics.rates
    eliminated = set(equations.reduction.dependent)

    def rank(k: int) -> tuple[bool, bool, bool, int]:
        q = equations.coordinates[k]
        return q in asked, q.name not in mechanism.initial, rates[q] in eliminated, k

    order = sorted(range(len(equations.coordinates)), key=rank)
    return tuple(sorted(order[k] for k in independent_columns(jacobian[:, order])))


def _refuse_words(names: Iterable[str]) -> None:
    for name in names:
        if name in _WORDS or name.startswith("*"):
            raise Error(
                f"{name!r} is a keyword of parameter files, so it cannot name a parameter",
                remedy="rename it in the model",
            )


# -- tables ----------------------------------------------------------------------------------------
def _given(
    mechanism: Mechanism, signals: Sequence[Signal], shown: ShownUnits
) -> tuple[InputItem, ...]:
    words, units = parameter_words(mechanism), parameter_units(mechanism)
    return tuple(
        _item(
            s.name,
            s.value,
            words.get(s.name, s.long_name),
            shown.shown(units.get(s.name, s.unit)),
        )
        for s in signals
    )


def _states(phases: Phases, shown: ShownUnits, mechanism: Mechanism) -> tuple[InputItem, ...]:
    known = {
        q.name: q for kind in ("coordinates", "speeds") for q in quantities_of(mechanism, kind)
    }
    found = []
    for s in phases.x:
        own = known.get(s.name)
        if own is None:
            found.append(_item(s.name, s.value, s.long_name, shown.shown(s.unit)))
        else:
            found.append(_item(s.name, s.value, own.doc, shown.shown(own.unit)))
    return tuple(found)


def _item(name: str, inside: float, doc: str, shown: tuple[str, float]) -> InputItem:
    unit, factor = shown
    return InputItem(name, _shortest(inside, factor), factor, _unit_text(unit), doc)


def _unit_text(unit: str) -> str:
    return "-" if unit == "1" else unit


def _shortest(inside: float, factor: float) -> float:
    """Return the value in shown units with the fewest digits that gives the value inside."""
    exact = inside / factor
    for digits in range(1, 17):
        rounded = float(f"{exact:.{digits}g}")
        if rounded * factor == inside:
            return rounded
    near = (exact, float(np.nextafter(exact, np.inf)), float(np.nextafter(exact, -np.inf)))
    return next((x for x in near if x * factor == inside), exact)


def _channels(
    mechanism: Mechanism, outputs: Sequence[Output], phases: Phases, shown: ShownUnits
) -> tuple[OutputChannel, ...]:
    bodies = {load.name: load.point.body.name for load in mechanism.forces}
    bodies |= {load.name: load.body.name for load in mechanism.moments}
    own = {o.name: o for o in outputs}
    made = []
    shorts = short_names([s.name for s in phases.outputs])
    for s, short in zip(phases.outputs, shorts, strict=True):
        o = own.get(s.name) or Output(s.name, ONE, s.unit, s.long_name, s.body)
        state = o.value.op == "sym" and o.name == o.value.name
        unit, factor = shown.shown(o.unit, output=not state)
        body = o.body or bodies.get(o.name, "n")
        told = mechanism.bodies[body].doc if body in mechanism.bodies else ""
        general = general_name(o.unit, coordinate=o.name in mechanism.coordinates)
        made.append(
            OutputChannel(
                o.name, short, o.doc or o.name, _unit_text(unit), general, told or body, factor
            )
        )
    return tuple(made)


def short_names(names: Sequence[str], width: int = 8) -> list[str]:
    """Return names cut to a width, distinguished by a number where the cut makes them equal.

    >>> short_names(["yaw rate", "steer rate of F", "steer rate of B"])
    ['yaw rate', 'steer ra', 'steer r2']
    """
    found: list[str] = []
    for name in names:
        short, k = name[:width], 1
        while short in found:
            k += 1
            short = name[: width - len(str(k))] + str(k)
        found.append(short)
    return found
