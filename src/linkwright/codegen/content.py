"""What a written program consists of, as plain data, before it is put into a language.

From a mechanism come the codes of each stage (constants, derivative, outputs, relations of
position) and tables of everything that users see: parameters, inputs, initial values, channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwright.algebra import ONE, Expr, free_symbols, total
from linkwright.algebra.calculus import gradient
from linkwright.backends.c.stages import split_outputs, split_parameters
from linkwright.codegen.units import ShownUnits, general_name
from linkwright.equations.closure import (
    Assembly,
    Relations,
    assemble,
    independent_columns,
)
from linkwright.equations.equations import Equations, derive
from linkwright.equations.meanings import parameter_units, parameter_words
from linkwright.equations.shipped import with_shipped
from linkwright.errors import Error
from linkwright.mechanism import Mechanism
from linkwright.mechanism.parts import Output, Timing
from linkwright.mechanism.quantities import quantities_of
from linkwright.program import Code, Program, ProgramPort, lower, program
from linkwright.program.passes import optimize
from linkwright.simulation.forms import corrected_coordinates

RUN_WORDS = ("STEP", "STOPT", "IPRINT", "METHOD")
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
    """All that a written program holds.

    Args:
        mechanism: what it simulates.
        equations: its equations of motion.
        program: the optimized Program of derivative and outputs.
        timing: step, end and interval of output.
        parameters: in the order of the array p.
        inputs: in the order of the array w.
        coordinates: coordinates and extra states, the array q.
        speeds: independent speeds, the array u.
        channels: the array y.
        computed: places of the coordinates that are computed from relations of position.
        corrected: places of those that are moved onto the relations after each step.
        relations: names of the relations of position.
        prepare: code of the constants.
        derivative: code of q', u' and what the outputs need.
        output: code of the channels.
        closure: code of the relations of position and their Jacobian, or None.
    """

    mechanism: Mechanism
    equations: Equations
    program: Program
    timing: Timing
    parameters: tuple[InputItem, ...]
    inputs: tuple[InputItem, ...]
    coordinates: tuple[InputItem, ...]
    speeds: tuple[InputItem, ...]
    channels: tuple[OutputChannel, ...]
    computed: tuple[int, ...]
    corrected: tuple[int, ...]
    relations: tuple[str, ...]
    prepare: Code
    derivative: Code
    output: Code
    closure: Code | None

    @property
    def free(self) -> int:
        """The number of coordinates that a relation of position can move; extra states follow."""
        return len(self.equations.coordinates)


def make_content(
    mechanism: Mechanism,
    *,
    timing: Timing | None = None,
    channels: Sequence[str] = (),
    units: str = "auto",
    formulation: str = "auto",
) -> Content:
    """Return the content of a written program.

    >>> from linkwright.models import load_model
    >>> content = make_content(load_model("slider-crank"))
    >>> content.computed, [c.name for c in content.channels]
    ((1, 2), ['x'])
    """
    values = dict.fromkeys((*mechanism.parameters, *mechanism.inputs), 1.0) | mechanism.values
    kinds = channels or (() if mechanism.outputs else ("coordinates", "speeds"))
    extra = [q for kind in kinds for q in quantities_of(mechanism, kind)]
    taken = {o.name for o in mechanism.outputs}
    more = (Output(q.name, q.value, q.unit, q.doc, q.body) for q in extra if q.name not in taken)
    outputs = (*mechanism.outputs, *more)
    view = mechanism.with_parts(outputs=outputs)
    equations = derive(view, formulation, values=values)
    if formulation == "auto":
        equations = with_shipped(equations)
    mechanism = equations.mechanism.with_parts(outputs=mechanism.outputs)
    zero = _relations(mechanism)
    used = {x.name for x in (*equations.parameters(), *free_symbols(*(g for _, g in zero)))}
    p = [x for name, x in sorted(mechanism.parameters.items()) if name in used]
    w = list(mechanism.inputs.values())
    own = {"p": p, "w": w, "t": [mechanism.time]}
    motion = optimize(_with_inputs(equations.program(), own))
    prepare, rest = (_without_empty(c) for c in split_parameters(lower(motion)))
    derivative, output = split_outputs(rest, motion.auxiliary)
    start = assemble(mechanism, values=values)
    _refuse_words([*(x.name for x in (*p, *w)), *start.coordinates, *start.speeds])
    relations = Relations(mechanism, values, backend="python")
    moved = corrected_coordinates(equations, relations)
    shown = ShownUnits(mechanism, units)
    speeds = {u.name: start.speeds[u.name] for u in equations.speeds}
    coordinates = {n: mechanism.initial.get(n, v) for n, v in start.coordinates.items()}
    return Content(
        mechanism,
        equations,
        motion,
        timing or timing_of(mechanism, {}),
        _given(mechanism, p, values, shown),
        _given(mechanism, w, values, shown),
        _states(mechanism, "coordinates", coordinates, shown),
        _states(mechanism, "speeds", speeds, shown),
        _channels(mechanism, outputs, shown),
        _computed(equations, relations, start),
        tuple(range(len(equations.coordinates)) if moved is None else moved),
        tuple(name for name, _ in zero),
        prepare,
        derivative,
        output,
        _closure(equations, [g for _, g in zero], own) if zero else None,
    )


def timing_of(mechanism: Mechanism, settings: Mapping[str, float]) -> Timing:
    """Return the timing of a mechanism's run with some of it changed.

    >>> timing_of(Mechanism("m"), {"STEP": 0.5})
    Timing(until=10.0, step=0.5, every=10)
    """
    own = mechanism.timing or _TIMING
    until, step = settings.get("STOPT", own.until), settings.get("STEP", own.step)
    every = settings.get("IPRINT", own.every)
    if not 0 < step <= until or every < 1 or every != int(every):
        raise Error(
            f"a run of {until:g} s cannot go in steps of {step:g} s, put out every {every:g}"
        )
    return Timing(until, step, int(every))


def _with_inputs(motion: Program, own: Mapping[str, Sequence[Expr]]) -> Program:
    """Return a Program whose arrays p, w and t are complete, whatever it reads of them."""
    states = tuple(port for port in motion.inputs if port.name in ("q", "u"))
    others = tuple(ProgramPort(n, (len(v),), tuple(v)) for n, v in own.items() if v)
    return replace(motion, inputs=(*states, *others))


def _without_empty(code: Code) -> Code:
    """Return code without an array of constants of size zero."""
    inputs = code.inputs[:-1] if code.inputs and not code.inputs[-1].size else code.inputs
    outputs = tuple((port, ids) for port, ids in code.outputs if port.size)
    return replace(code, inputs=inputs, outputs=outputs)


def _relations(mechanism: Mechanism) -> list[tuple[str, Expr]]:
    """Return names and expressions of the relations of position, unit quaternions among them."""
    found = [(c.name, c.position) for c in mechanism.constraints if c.position is not None]
    for body in mechanism.bodies.values():
        if body.joint.quaternion:
            length = total(e**2 for e in body.rotations) - ONE
            found.append((f"the quaternion of {body.name} has unit length", length))
    return found


def _closure(equations: Equations, zero: Sequence[Expr], own: Mapping[str, Sequence[Expr]]) -> Code:
    """Return the code of the relations of position and their Jacobian."""
    q = [*equations.coordinates, *equations.states]
    rows = [gradient(g, list(equations.coordinates)) for g in zero]
    inputs = {"q": q, **{n: list(v) for n, v in own.items() if v}}
    name = f"{equations.mechanism.name}_closure"
    return lower(optimize(program(name, inputs, {"g": list(zero), "G": rows})))


def _computed(equations: Equations, relations: Relations, start: Assembly) -> tuple[int, ...]:
    """Return the coordinates to compute from the relations of position, the others being given.

    First choices are what the analyst asked for, then what has no initial value, then coordinates
    whose rates were eliminated.
    """
    mechanism = equations.mechanism
    _, jacobian = relations.position(np.array(list(start.coordinates.values())), 0.0)
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
    mechanism: Mechanism, symbols: Sequence[Expr], values: Mapping[str, float], shown: ShownUnits
) -> tuple[InputItem, ...]:
    words, units = parameter_words(mechanism), parameter_units(mechanism)
    return tuple(
        _item(x.name, values[x.name], words[x.name], shown.shown(units[x.name])) for x in symbols
    )


def _states(
    mechanism: Mechanism, kind: str, values: Mapping[str, float], shown: ShownUnits
) -> tuple[InputItem, ...]:
    known = {q.name: q for q in quantities_of(mechanism, kind)}
    return tuple(
        _item(name, value, known[name].doc, shown.of_state(known[name].unit))
        for name, value in values.items()
    )


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
    mechanism: Mechanism, outputs: Sequence[Output], shown: ShownUnits
) -> tuple[OutputChannel, ...]:
    bodies = {load.name: load.point.body.name for load in mechanism.forces}
    bodies |= {load.name: load.body.name for load in mechanism.moments}
    made = []
    shorts = short_names([o.name for o in outputs])
    for o, short in zip(outputs, shorts, strict=True):
        state = o.value.is_atom and o.name == o.value.name
        unit, factor = shown.of_state(o.unit) if state else shown.shown(o.unit, output=True)
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
    """Return names cut to a width, told apart by a number where the cut makes them equal.

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
