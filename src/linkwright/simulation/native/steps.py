"""From phases to the text of their native unit: all Programs, and the step of a method.

A step of an explicit method is a Program; that of an implicit one is native text around Programs.
What depends on parameters alone is split off each Program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkwright.backends.llvm import codegen
from linkwright.backends.llvm.backend import has_fma
from linkwright.backends.llvm.lines import Module
from linkwright.backends.llvm.target import host
from linkwright.program import Port, Program, Rate, lower, split, symbol_rate
from linkwright.simulation.native import explicit, implicit, tableaux
from linkwright.simulation.native.bundle import SIZES, phase_programs
from linkwright.simulation.native.dop853 import DOP853
from linkwright.simulation.native.implicit_speeds import implicit_speeds_step
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.rosenbrock import NODES
from linkwright.simulation.native.tableaux import Tableau
from linkwright.system.phases import Phases

TABLEAUX: dict[str, Tableau] = {
    "midpoint": tableaux.MIDPOINT,
    "rk4": tableaux.RK4,
    "dopri5": tableaux.DOPRI5,
    "dop853": DOP853,
}
"""The explicit Runge-Kutta methods."""

Turns = Callable[[Program, tuple[int, ...], tuple[tuple[int, int, int, int], ...]], Program]
MOVING: dict[str, Turns] = {
    "semi-implicit": explicit.semi_implicit_step,
    "implicit-speeds": implicit_speeds_step,
    "verlet": explicit.verlet_step,
}
"""The methods that move coordinates and the other states in turn."""


def bundle_ir(phases: Phases, method: Method, width: int) -> str:
    """Return the text of the unit."""
    module = Module("f64", min(4, host().lanes("f64")))
    sizes: list[int] = []
    rest = 0

    def write(name: str, made: Program) -> None:
        codegen.write_function(module, lower(made, fuse=has_fma()), name, width)

    for name, given in phase_programs(phases):
        constants, made = prepared(given)
        sizes.append(made.port("p").size)
        write(f"constants_{name}", constants)
        if name != "step":
            write(name, made)
            continue
        rest = write_step(module, phases, made, method, width)
    values = ", ".join(f"i64 {n}" for n in (*sizes, rest))
    module.declare([f"@{SIZES} = constant [{len(sizes) + 1} x i64] [{values}]"])
    return module.text()


def write_step(
    module: Module, phases: Phases, derivative: Program, method: Method, width: int
) -> int:
    """Write the step of a method and what goes with it; return the size of its array r."""

    def write(name: str, made: Program) -> None:
        codegen.write_function(module, lower(made, fuse=has_fma()), name, width)

    n = len(phases.x)
    if method.implicit:
        write("jacobian", implicit.jacobian_program(derivative))
        for k in range(len(NODES)):
            write(f"stage{k}", implicit.stage_program(derivative, k))
        end = implicit.end_program(derivative)
        write("end", end)
        module.functions.append(implicit.step_ir(n, width))
        rest = end.port("r").size
    else:
        step = step_program(phases, derivative, method)
        write("step", step)
        if not method.adaptive:
            return 0
        write("slope", derivative)
        rest = step.port("r").size
    write("first", explicit.first_size(derivative, method.order - 1))
    if method.interpolates and width == 1:
        inside = implicit.interpolant(n) if method.implicit else explicit.interpolant(n)
        write("dense", inside)
    return rest


def step_program(phases: Phases, derivative: Program, method: Method) -> Program:
    """Return the Program of a step of an explicit method."""
    if method.name in MOVING:
        return MOVING[method.name](derivative, phases.coordinates, phases.quaternions)
    tableau = TABLEAUX[method.name]
    make = explicit.adaptive_step if method.adaptive else explicit.fixed_step
    return make(derivative, tableau)


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
        Port("p", handed.shape, handed.entries) if port.name == "p" else port
        for port in program.inputs
    )
    first = replace(first, inputs=(given,))
    return first, replace(second, inputs=inputs)
