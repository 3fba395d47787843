"""What a run does, as data: the Programs of each tick, step, event and sample, for any target.

A `RunSchedule` says nothing of how a target runs it. Each Program is cut in two: what depends on
parameters alone, computed once for a run, and the rest, which finds that in place of the
parameters. A step of an explicit method is a Program too. LLVM, C and Python write the Programs in
their own words, and each has one loop that follows the tables of ticks and events in the phases:
`linkwright.simulation.loop`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from linkwright.base.lazy import later
from linkwright.program import Program, ProgramPort, Rate, split, symbol_rate
from linkwright.simulation.native import explicit, guards, tableaux
from linkwright.simulation.native.bundle import phase_programs
from linkwright.simulation.native.dop853 import DOP853
from linkwright.simulation.native.dry_friction import DryFriction, dry_friction, with_friction
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.tableaux import Tableau
from linkwright.system.phases import Phases

TABLEAUX: dict[str, Tableau] = {
    "midpoint": tableaux.MIDPOINT,
    "rk4": tableaux.RK4,
    "dopri5": tableaux.DOPRI5,
    "dop853": DOP853,
}
"""The explicit Runge-Kutta methods."""

Turns = Callable[
    [Program, tuple[int, ...], tuple[tuple[int, int, int, int], ...], DryFriction | None], Program
]
MOVING: dict[str, Turns] = {
    "semi-implicit": explicit.semi_implicit_step,
    "implicit-speeds": later("linkwright.simulation.native.implicit_speeds:implicit_speeds_step"),
    "verlet": explicit.verlet_step,
}
"""The methods that move coordinates and the other states in turn."""


@dataclass(frozen=True, slots=True, eq=False)
class SchedulePart:
    """A Program of a run: what depends on parameters alone, and the rest, given that as `p`."""

    name: str
    constants: Program
    main: Program


@dataclass(frozen=True, slots=True, eq=False)
class RunSchedule:
    """What a run does."""

    phases: Phases  # the flattened System: its arrays, ticks and events
    method: Method  # how it is integrated
    # by name: `step` (its main Program is the derivative), `accepted`, `output`, `events`, `turns`,
    # `terms`, `breaks`, `tick0` and so on for each tick, `action0` and so on for each event that
    # has an action
    parts: tuple[SchedulePart, ...]
    # the Programs of a step by name, all with the constants of the derivative: `step` (or, for an
    # implicit method, `jacobian`, `stage0` and so on, and `end`); for an adaptive one `slope`, the
    # derivative, `first`, the size of the first step, and `dense`, the state inside a step, with
    # `curve` where that takes more evaluations; where there are events, `slope`, `middle` and
    # `look`, and for an adaptive one `calm`
    steps: dict[str, Program]
    rest: int  # how many values the interpolant of a step needs


def make_schedule(phases: Phases, method: Method, *, dense: bool = True) -> RunSchedule:
    """Return what a run of phases with a method does.

    >>> from linkwright.simulation.native.methods import METHODS
    >>> from linkwright.system import System
    >>> made = make_schedule(System(name="s").phases(), METHODS["rk4"])
    >>> [part.name for part in made.parts], list(made.steps)
    (['step'], ['step'])
    """
    found = cache(lambda: dry_friction(phases.derivative))
    parts = []
    for name, given in phase_programs(phases):
        if name in ("output", "events", "terms"):
            given = with_friction(given, phases.derivative, found)
        parts.append(SchedulePart(name, *prepared(given)))
    derivative = parts[0].main
    dry = dry_friction(derivative)
    steps: dict[str, Program] = {}
    inside = explicit.interpolant
    if method.implicit:
        from linkwright.simulation.native import implicit
        from linkwright.simulation.native.rosenbrock import NODES

        inside = implicit.interpolant
        steps["jacobian"] = implicit.jacobian_program(derivative, dry)
        for k in range(len(NODES)):
            steps[f"stage{k}"] = implicit.stage_program(derivative, k, dry)
        steps["end"] = implicit.end_program(derivative, dry)
    else:
        steps["step"] = step_program(phases, derivative, method, dry, dense=dense)
    rest = 0
    events = phases.event_list
    if count := guards.followed(events):
        steps["middle"] = guards.middle_program(len(phases.x))
        if method.adaptive:
            steps["calm"] = guards.calm_program(count)
        steps["look"] = guards.look_program(events)
    if count or (method.adaptive and not method.implicit):
        steps["slope"] = explicit.slope(derivative, dry)
    if method.adaptive:
        rest = steps["end" if method.implicit else "step"].port("r").size
        steps["first"] = explicit.first_size(derivative, method.order - 1, dry)
        tableau = TABLEAUX.get(method.name)
        if dense and tableau is not None and tableau.inner_nodes:
            steps["curve"] = explicit.curve(derivative, tableau, dry)
            steps["dense"] = explicit.on_curve(len(phases.x), tableau)
        elif dense:
            steps["dense"] = inside(len(phases.x), dry=dry is not None)
    return RunSchedule(phases, method, tuple(parts), steps, rest)


def step_program(
    phases: Phases,
    derivative: Program,
    method: Method,
    dry: DryFriction | None = None,
    *,
    dense: bool = True,
) -> Program:
    """Return the Program of a step of an explicit method."""
    if method.name in MOVING:
        return MOVING[method.name](derivative, phases.coordinates, phases.quaternions, dry)
    tableau = TABLEAUX[method.name]
    if method.adaptive:
        return explicit.adaptive_step(derivative, tableau, dry, dense=dense)
    return explicit.fixed_step(derivative, tableau, dry)


def prepared(program: Program) -> tuple[Program, Program]:
    """Return what a Program computes from parameters alone, and the Program that is given that.

    The second has the same arrays, but `p` holds the results of the first.
    """
    given = program.port("p")
    others = [x for port in program.inputs if port.name != "p" for x in port.entries]
    splits = (
        bool(given.entries)
        and all(symbol_rate(x, program.slow) <= Rate.PARAMETER for x in given.entries)
        and all(symbol_rate(x, program.slow) > Rate.PARAMETER for x in others)
    )
    if not splits:
        copy = Program(f"{program.name}_constants", (given,), (replace(given, name="c"),))
        return copy, program
    first, second = split(program, Rate.PARAMETER, carried="constants")
    handed = second.port("constants")
    inputs = tuple(
        ProgramPort("p", handed.shape, handed.entries) if port.name == "p" else port
        for port in program.inputs
    )
    first = replace(first, inputs=(given,))
    return first, replace(second, inputs=inputs)
