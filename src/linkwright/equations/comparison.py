"""What every formulation of a mechanism's equations costs, as written and after each pass.

Accelerations are formed in all ways of `FORMULATIONS`. Forces and the mass matrix have one method
each, a recursion and composite bodies; there the ways differ in what is chosen for the bodies: by
counting, as usual, or without regrouping parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from linkwright.equations.choices import Choices
from linkwright.equations.equations import Equations, derive
from linkwright.equations.formulations import FORMULATIONS
from linkwright.equations.kernels import (
    inverse_dynamics_program,
    kernel_program,
    mass_matrix_program,
)
from linkwright.mechanism import Mechanism, MechanismError
from linkwright.program import Counts, Program, count_operations
from linkwright.program.passes import PASSES, optimize

WRITTEN, FAST = "written", "all, fast"
_MANY = 100  # speeds beyond which no mass matrix is written out
_LONG = ("articulated", "articulated-looped")
_WAYS: dict[str, Choices | None] = {
    "": None,
    "-usual": Choices(),
    "-plain": Choices(regroup=False),
}
_Make = Callable[[], Program]


@dataclass(frozen=True, slots=True)
class Compared:
    """One formulation after one step."""

    formulation: str
    after: str
    counts: Counts | None
    refused: str = ""


def compared(
    mechanism: Mechanism,
    kernel: str = "forward",
    *,
    further: Mapping[str, Callable[[Program], Program]] | None = None,
) -> Iterator[Compared]:
    """Yield the operations of every formulation, as it is written and after each pass.

    Passes run one after the other; "all, fast" is fast mode, which has an order of its own.

    >>> from linkwright.models import load_model
    >>> rows = [r for r in compared(load_model("pendulum")) if r.after == "all, fast"]
    >>> [r.counts.total for r in rows if r.formulation == "composite"]
    [1]
    """
    for name, make in _formulations(mechanism, kernel).items():
        try:
            program = make()
        except MechanismError as error:
            yield Compared(name, "", None, error.what)
            continue
        yield Compared(name, WRITTEN, count_operations(program))
        passed = program
        for step, one in PASSES.items():
            passed = one(passed)
            yield Compared(name, step, count_operations(passed))
        for step, whole in {FAST: optimize, **(further or {})}.items():
            yield Compared(name, step, count_operations(whole(program)))


def _formulations(mechanism: Mechanism, kernel: str) -> dict[str, _Make]:
    """Return what writes each formulation, by its name."""
    if kernel in ("inverse", "mass"):
        return _choices(derive(mechanism), kernel)

    speeds = len(mechanism.kinematics().speeds)

    def written(name: str) -> _Make:
        def make() -> Program:
            if speeds > _MANY and name not in _LONG:
                raise MechanismError(f"a mass matrix of {speeds} speeds is left out")
            return kernel_program(derive(mechanism, name), kernel)

        return make

    return {name: written(name) for name in FORMULATIONS}


def _choices(equations: Equations, kernel: str) -> dict[str, _Make]:
    write = inverse_dynamics_program if kernel == "inverse" else mass_matrix_program
    method = "recursive" if kernel == "inverse" else "composite"

    def written(choices: Choices | None) -> _Make:
        return lambda: write(equations, choices)

    return {f"{method}{ending}": written(choices) for ending, choices in _WAYS.items()}
