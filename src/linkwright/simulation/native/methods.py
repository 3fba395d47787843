"""The integration methods of native runs: one line each.

| name | order | steps | for |
|---|---|---|---|
| midpoint | 2 | fixed | the integrator of AUTOSIM |
| rk4 | 4 | fixed | smooth motion, known step |
| semi-implicit | 1 | fixed | contacts; holds energy and quaternions |
| verlet | 2 | fixed | the same, more exact where forces depend on places alone |
| dopri5 | 5(4) | adaptive | smooth motion, wanted accuracy |
| dop853 | 8(5, 3) | adaptive | high accuracy |
| rodas4 | 4(3) | adaptive | stiff systems, with the exact Jacobian |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.errors import Error
from linkwright.program import Program
from linkwright.simulation.native import explicit, implicit, tableaux
from linkwright.simulation.native.dop853 import DOP853
from linkwright.simulation.native.tableaux import Tableau
from linkwright.system.phases import Phases


@dataclass(frozen=True, slots=True)
class Method:
    """An integration method.

    Args:
        name: how it is asked for.
        order: of the error of a step's result.
        evaluations: of the derivative in a step.
        step: from phases and their derivative to the Program of a step.
        tableau: of an explicit method.
        adaptive: whether steps are as long as the error allows.
        implicit: whether the step is one of `linkwright.simulation.native.implicit`.
        interpolates: whether samples inside a step are interpolated.
    """

    name: str
    order: int
    evaluations: int
    step: Callable[[Phases, Program], Program] | None
    tableau: Tableau | None = None
    adaptive: bool = False
    implicit: bool = False
    interpolates: bool = False


def _fixed(name: str, tableau: Tableau) -> Method:
    return Method(
        name,
        tableau.order,
        len(tableau.nodes),
        lambda phases, derivative: explicit.fixed_step(derivative, tableau),
        tableau,
    )


def _adaptive(name: str, tableau: Tableau) -> Method:
    return Method(
        name,
        tableau.order,
        len(tableau.nodes),
        lambda phases, derivative: explicit.adaptive_step(derivative, tableau),
        tableau,
        adaptive=True,
        interpolates=bool(tableau.middle),
    )


def _semi_implicit(phases: Phases, derivative: Program) -> Program:
    return explicit.semi_implicit_step(derivative, phases.coordinates, phases.quaternions)


def _verlet(phases: Phases, derivative: Program) -> Program:
    return explicit.verlet_step(derivative, phases.coordinates, phases.quaternions)


METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        _fixed("midpoint", tableaux.MIDPOINT),
        _fixed("rk4", tableaux.RK4),
        Method("semi-implicit", 1, 1, _semi_implicit),
        Method("verlet", 2, 1, _verlet),
        _adaptive("dopri5", tableaux.DOPRI5),
        _adaptive("dop853", DOP853),
        Method(
            "rodas4",
            implicit.ORDER,
            len(implicit.NODES),
            None,
            adaptive=True,
            implicit=True,
            interpolates=True,
        ),
    )
}


ALIASES = {"implicit": "rodas4", "rosenbrock": "rodas4"}
"""Other words for methods."""


def method_named(name: str) -> Method:
    """Return a method; a name that is not known is an error.

    Args:
        name: one of `METHODS` or `ALIASES`.

    Example:
        >>> method_named("rk4").order
        4
    """
    known = ALIASES.get(name, name)
    if known not in METHODS:
        raise Error(f"there is no method {name!r}", remedy=f"choose one of {', '.join(METHODS)}")
    return METHODS[known]
