"""Numbers for the symbols of a mechanism, and Programs evaluated with them.

The arrays of a Program of equations are always named alike: `q` (coordinates, then extra states),
`u` (speeds), `a` (their rates), `p` (parameters), `w` (inputs), `t` (time); an array that a Program
does not need is not among its inputs. An `Evaluator` keeps the parameters in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, free_symbols
from linkwright.algebra.units import Amount
from linkwright.mechanism import Mechanism, MechanismError
from linkwright.program import Loop, Program, Statement, program
from linkwright.program.program import walk

Array = NDArray[np.float64]


def all_values(mechanism: Mechanism, values: Mapping[str, Amount] | None) -> dict[str, float]:
    """Return the mechanism's values with some replaced; an unknown name is an error."""
    known = {**mechanism.parameters, **mechanism.inputs}
    given = mechanism.amounts(values, "parameters")
    for name in given:
        if name not in known:
            mechanism.unknown(name, known, "parameter")
    return {**mechanism.values, **given}


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
    statements: Sequence[Statement] = (),
    **arrays: Sequence[Expr],
) -> Program:
    """Return a Program over the mechanism's symbols that computes expressions of them."""
    used = set(free_symbols(*roots))
    for s in walk(statements):
        used.update(free_symbols(*s.operands))
        if isinstance(s, Loop):
            used.update(s.outer_reads)
    inputs: dict[str, Sequence[Expr]] = {k: v for k, v in arrays.items() if v}
    parameters = [p for _, p in sorted(mechanism.parameters.items()) if p in used]
    given = [x for x in mechanism.inputs.values() if x in used]
    if parameters:
        inputs["p"] = parameters
    if given:
        inputs["w"] = given
    if mechanism.time in used:
        inputs["t"] = [mechanism.time]
    return program(f"{mechanism.name}_{name}", inputs, results, statements=statements)


Signals = Callable[[float], Mapping[str, float]]


class Evaluator:
    """A Program of a mechanism, compiled, with its parameters in place."""

    def __init__(
        self,
        mechanism: Mechanism,
        program: Program,
        values: Mapping[str, float],
        backend: str = "llvm",
        signals: Signals | None = None,
    ) -> None:
        from linkwright.backends.kernel import compile as compiled

        self.program = program
        self._own: dict[str, Array] = {"t": np.zeros(1)}
        self._signals: tuple[Signals, tuple[str, ...]] | None = None
        for port in program.inputs:
            if port.name in ("p", "w"):
                self._own[port.name] = numbers(mechanism, port.entries, values)
            if port.name == "w" and signals is not None:
                self._signals = signals, tuple(x.name for x in port.entries)
        self._inputs = tuple(port.name for port in program.inputs)
        self._arrays = tuple(n for n in self._inputs if n not in self._own)
        self._scalar = compiled(program, backend=backend).scalar
        self._single = len(program.outputs) == 1
        self._fixed = tuple(self._own[n] for n in self._inputs if n in self._own)
        tail = self._inputs[len(self._arrays) :]
        assert all(n in self._own for n in tail), "p, w and t come after the other inputs"

    def __call__(self, t: float = 0.0, **arrays: Array) -> tuple[Array, ...]:
        """Return the outputs for arrays q, u, a at a time."""
        self._own["t"][0] = t
        if self._signals is not None:
            read, names = self._signals
            now = read(t)
            self._own["w"][:] = [now[n] for n in names]
        found = self._scalar(*[arrays[n] for n in self._arrays], *self._fixed)
        return (found,) if self._single else found

    def fill(self, t: float, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        """Evaluate into arrays that are given, in the order of inputs and outputs."""
        self._own["t"][0] = t
        if self._signals is not None:
            read, names = self._signals
            now = read(t)
            self._own["w"][:] = [now[n] for n in names]
        self._scalar(*arrays, *self._fixed, *out)


class BatchEvaluator:
    """A Program of a mechanism over rows of coordinates, with its parameters in place."""

    def __init__(self, mechanism: Mechanism, program: Program) -> None:
        from linkwright.backends.kernel import compile as compiled

        self._kernel = compiled(program)
        self._fixed = [
            np.zeros(1) if port.name == "t" else numbers(mechanism, port.entries, mechanism.values)
            for port in program.inputs[1:]
        ]

    def __call__(self, q: Array, threads: int = 1) -> tuple[Array, ...]:
        """Return the outputs, one row for each of the rows."""
        rows = np.ascontiguousarray(q)
        found = self._kernel.batch(rows, *self._fixed, size=len(rows), threads=threads)
        return found if isinstance(found, tuple) else (found,)
