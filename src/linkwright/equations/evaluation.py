"""Numbers for the symbols of a mechanism, and Programs evaluated with them.

The arrays of a Program of equations are always named alike: `q` (coordinates, then extra states),
`u` (speeds), `a` (their rates), `p` (parameters), `w` (inputs), `t` (time); an array that a Program
does not need is not among its inputs. An `Evaluator` keeps the parameters in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, free_symbols
from linkwright.mechanism import Mechanism, MechanismError
from linkwright.program import Program, program

Array = NDArray[np.float64]


def all_values(mechanism: Mechanism, values: Mapping[str, float] | None) -> dict[str, float]:
    """Return the mechanism's values with some replaced; an unknown name is an error.

    Args:
        mechanism: what they belong to.
        values: values of parameters and inputs by name.
    """
    known = {**mechanism.parameters, **mechanism.inputs}
    for name in values or {}:
        if name not in known:
            mechanism.unknown(name, known, "parameter")
    return {**mechanism.values, **(values or {})}


def numbers(mechanism: Mechanism, wanted: Iterable[Expr], values: Mapping[str, float]) -> Array:
    """Return the values of symbols; those that have none are named in the error."""
    names = [x.name for x in wanted]
    missing = sorted(n for n in names if n not in values)
    if missing:
        raise MechanismError(
            f"{mechanism.name!r} has no value for {', '.join(missing)}",
            remedy="give values={...}, or defaults to the mechanism",
        )
    return np.array([values[n] for n in names], dtype=float)


def quantities(
    mechanism: Mechanism,
    name: str,
    results: Mapping[str, Sequence[object]],
    roots: Iterable[Expr],
    **arrays: Sequence[Expr],
) -> Program:
    """Return a Program over the mechanism's symbols that computes expressions of them.

    Args:
        mechanism: whose symbols these are.
        name: of the Program.
        results: what it computes.
        roots: the expressions in the results.
        arrays: inputs beside parameters, inputs and time, such as q and u.
    """
    used = set(free_symbols(*roots))
    inputs: dict[str, Sequence[Expr]] = {k: v for k, v in arrays.items() if v}
    parameters = [p for _, p in sorted(mechanism.parameters.items()) if p in used]
    given = [x for x in mechanism.inputs.values() if x in used]
    if parameters:
        inputs["p"] = parameters
    if given:
        inputs["w"] = given
    if mechanism.time in used:
        inputs["t"] = [mechanism.time]
    return program(f"{mechanism.name}_{name}", inputs, results)


class Evaluator:
    """A Program of a mechanism, compiled, with its parameters in place.

    Args:
        mechanism: whose symbols its inputs are.
        program: what to evaluate.
        values: numbers of the parameters, and of the inputs where none are given in a call.
        backend: which kernels are used; see `linkwright.compile`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        program: Program,
        values: Mapping[str, float],
        backend: str = "llvm",
    ) -> None:
        from linkwright.backends.kernel import compile as compiled

        self.program = program
        self._fixed: dict[str, Array] = {}
        for port in program.inputs:
            if port.name in ("p", "w"):
                self._fixed[port.name] = numbers(mechanism, port.entries, values)
        self.inputs = tuple(port.name for port in program.inputs)
        self._kernel = compiled(program, backend=backend)
        self._single = len(program.outputs) == 1

    def __call__(self, **arrays: Any) -> tuple[Array, ...]:
        """Return the outputs for arrays q, u, a, w and a number t."""
        given = []
        for name in self.inputs:
            if name in arrays and not (name == "w" and arrays[name] is None):
                x = arrays[name]
                given.append(np.array([x], dtype=float) if name == "t" else x)
            else:
                given.append(self._fixed[name])
        found = self._kernel.scalar(*given)
        return (found,) if self._single else found
