"""Reference interpreter of primitive code with NumPy: slow, plain, the measure of the backends.

`interpret` executes `Code` instruction by instruction on arrays. `interpret_with_bound` also
carries, for every value, a bound on the rounding errors so far: the running error analysis of
Wilkinson and Higham (*Accuracy and Stability of Numerical Algorithms*, section 3.3). Two ways to
round the same Program agree within a small multiple of that bound; where rounding could turn a
branch, the bound is as large as the branches differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwright.algebra.functions import FUNCTIONS
from linkwright.program.code import Code, Instruction
from linkwright.program.program import ProgramError

Array = npt.NDArray[np.float64]

_UNIT = 2.0**-53
_FUNCTION_UNITS = 4.0  # an elementary function may be wrong by this many halves of an ulp
_STEP = 1e-6
_COMPARISONS = frozenset({"lt", "le", "eq", "ne"})


def interpret(code: Code, inputs: Sequence[npt.ArrayLike]) -> list[Array]:
    """Return the outputs of a lowered Program.

    >>> from linkwright.program import lower, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x, x / y]})
    >>> interpret(lower(p), [[6.0, 2.0]])
    [array([18.,  3.])]
    """
    flat, batch = _flat_inputs(code, inputs)
    results = execute(code, flat, _plain)
    return _shaped(code, results, batch)


def interpret_with_bound(
    code: Code, inputs: Sequence[npt.ArrayLike]
) -> tuple[list[Array], list[Array]]:
    """Return the outputs and, for each of their entries, a bound on its rounding error.

    >>> from linkwright.program import lower, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x - y]})
    >>> values, bounds = interpret_with_bound(lower(p), [[1.0, 0.75]])
    >>> bool(bounds[0][0] <= 2**-53)
    True
    """
    flat, batch = _flat_inputs(code, inputs)
    results = execute(code, [_Bounded(x, np.zeros(())) for x in flat], _bounded)
    values = _shaped(code, [r.value for r in results], batch)
    bounds = _shaped(code, [r.error for r in results], batch)
    return values, bounds


# -- arrays in and out -----------------------------------------------------------------------------
def _flat_inputs(code: Code, inputs: Sequence[npt.ArrayLike]) -> tuple[list[Any], tuple[int, ...]]:
    if len(inputs) != len(code.inputs):
        names = ", ".join(port.name for port in code.inputs)
        raise ProgramError(
            f"program {code.name!r} takes {len(code.inputs)} arrays ({names}), not {len(inputs)}"
        )
    flat: list[Any] = []
    batches = []
    for port, given in zip(code.inputs, inputs, strict=True):
        array = np.asarray(given, dtype=float)
        axes = array.ndim - len(port.shape)
        if axes < 0 or array.shape[axes:] != port.shape:
            raise ProgramError(
                f"the input {port.name!r} of {code.name!r} has the shape {port.shape}, "
                f"which an array of shape {array.shape} does not end in"
            )
        batch = array.shape[:axes]
        batches.append(batch)
        array = array.reshape(*batch, port.size)
        flat.extend(array[..., k] for k in range(port.size))
    return flat, np.broadcast_shapes(*batches)


def _shaped(code: Code, flat: Sequence[Any], batch: tuple[int, ...]) -> list[Array]:
    rest = iter(flat)
    outputs: list[Array] = []
    for port, _ in code.outputs:
        entries = [np.broadcast_to(np.asarray(next(rest), float), batch) for _ in port.entries]
        stacked = np.stack(entries, axis=-1) if entries else np.zeros((*batch, 0))
        outputs.append(stacked.reshape((*batch, *port.shape)))
    return outputs


# -- control flow ----------------------------------------------------------------------------------
Arithmetic = Callable[[str, Any, list[Any]], Any]


def execute(code: Code, inputs: Sequence[Any], arithmetic: Arithmetic) -> list[Any]:
    """Return the output entries of a lowered Program in any arithmetic."""
    starts = []
    start = 0
    for port in code.inputs:
        starts.append(start)
        start += port.size
    values: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        _block(code.instructions, values, inputs, starts, arithmetic)
    return [values[i] for i in code.output_ids()]


def _block(
    instructions: Iterable[Instruction],
    values: dict[int, Any],
    inputs: Sequence[Any],
    starts: Sequence[int],
    arithmetic: Arithmetic,
) -> None:
    for instruction in instructions:
        op = instruction.op
        if op == "input":
            port, k = instruction.data
            values[instruction.id] = inputs[starts[port] + k]
            continue
        args = [values[a] for a in instruction.args]
        if op == "result":
            values[instruction.id] = args[0][instruction.data]
        elif op == "call":
            values[instruction.id] = execute(instruction.data, args, arithmetic)
        elif op == "loop":
            values[instruction.id] = _loop(instruction, args, values, inputs, starts, arithmetic)
        else:
            values[instruction.id] = arithmetic(op, instruction.data, args)


def _loop(
    instruction: Instruction,
    args: list[Any],
    values: dict[int, Any],
    inputs: Sequence[Any],
    starts: Sequence[int],
    arithmetic: Arithmetic,
) -> list[Any]:
    loop = instruction.data
    kept = len(loop.carried)
    state = args[:kept]
    arrays = [
        args[kept + k * loop.count : kept + (k + 1) * loop.count] for k in range(len(loop.scanned))
    ]
    stacks: list[list[Any]] = [[] for _ in loop.stacked]
    for turn in range(loop.count):
        values.update(zip(loop.carried, state, strict=True))
        for inner, array in zip(loop.scanned, arrays, strict=True):
            values[inner] = array[turn]
        _block(loop.body, values, inputs, starts, arithmetic)
        state = [values[i] for i in loop.following]
        for stack, i in zip(stacks, loop.stacked, strict=True):
            stack.append(values[i])
    return [*state, *(x for stack in stacks for x in stack)]


# -- plain arithmetic ------------------------------------------------------------------------------
def _fused(a: Any, b: Any, c: Any) -> Any:
    """Return a*b+c rounded once, as nearly as the platform's long double allows."""
    exact = np.asarray(a, np.longdouble) * b + c
    return np.asarray(exact, float)


_PRIMITIVES: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "fma": _fused,
    "fms": lambda a, b, c: _fused(a, b, -c),
    "fnma": lambda a, b, c: _fused(-a, b, c),
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "number": lambda a: np.where(a, 1.0, 0.0),
    "select": lambda c, a, b: np.where(c, a, b),
}


def _plain(op: str, data: Any, args: list[Any]) -> Any:
    if op == "const":
        return np.asarray(data, float)
    primitive = _PRIMITIVES.get(op)
    if primitive is not None:
        return primitive(*args)
    function = FUNCTIONS.get(op)
    if function is None:
        raise ProgramError(f"the interpreter does not know the instruction {op!r}")
    return function.evaluate(data, *args)


# -- arithmetic with a running error bound ---------------------------------------------------------
@dataclass(slots=True)
class _Bounded:
    """A value and a bound on its error; for a condition, where it may be the other one."""

    value: Any
    error: Any


def _bounded(op: str, data: Any, args: list[Any]) -> _Bounded:
    values = [a.value for a in args]
    errors = [a.error for a in args]
    value = _plain(op, data, values)
    if op in _COMPARISONS and args[0] is args[1]:
        return _Bounded(value, np.zeros((), bool))  # a value equals itself, however wrong it is
    error = _error(op, data, value, values, errors)
    return _Bounded(value, error if error.dtype == bool else np.where(error >= 0, error, np.inf))


def _error(op: str, data: Any, value: Any, values: list[Any], errors: list[Any]) -> Any:
    """Return the bound on the error of one operation; it may be nan where it has no limit."""
    size = np.abs(value) if np.asarray(value).dtype != bool else 0.0
    if op in ("const", "neg", "abs"):
        return errors[0] if errors else np.zeros(())
    if op in ("add", "sub"):
        return errors[0] + errors[1] + _UNIT * size
    if op == "mul":
        return _product_error(values, errors) + _UNIT * size
    if op in ("fma", "fms", "fnma"):
        product = np.abs(values[0] * values[1])
        return _product_error(values, errors) + errors[2] + _UNIT * (product + size)
    if op == "div":
        margin = np.maximum(np.abs(values[1]) - errors[1], 0.0)
        return (errors[0] + size * errors[1]) / margin + _UNIT * size
    if op in ("min", "max"):
        return np.maximum(errors[0], errors[1])
    if op in _COMPARISONS:
        distance = np.abs(values[0] - values[1])
        unsure = errors[0] + errors[1]
        return (distance <= unsure) & (unsure > 0)
    if op == "not":
        return errors[0]
    if op in ("and", "or"):
        return errors[0] | errors[1]
    if op == "number":
        return np.where(errors[0], 1.0, 0.0)
    if op == "select":
        chosen = np.where(values[0], errors[1], errors[2])
        other = np.abs(values[1] - values[2]) + np.maximum(errors[1], errors[2])
        return np.where(errors[0], other, chosen)
    if op == "floor":
        reach = np.floor(values[0] + errors[0]) - np.floor(values[0] - errors[0])
        return np.where(errors[0] > 0, reach, 0.0)
    if op == "sign":
        return np.where((np.abs(values[0]) <= errors[0]) & (errors[0] > 0), 2.0, 0.0)
    return _function_error(op, data, value, values, errors) + _FUNCTION_UNITS * _UNIT * size


_PERIODIC = {"sin": 2.0, "cos": 2.0, "tan": np.inf}  # what they can differ by at any two angles


def _product_error(values: list[Any], errors: list[Any]) -> Any:
    crossed = np.abs(values[0]) * errors[1] + np.abs(values[1]) * errors[0]
    return crossed + errors[0] * errors[1]


def _function_error(op: str, data: Any, value: Any, values: list[Any], errors: list[Any]) -> Any:
    """Return the error that the arguments' errors make, by difference quotients around them."""
    total = np.zeros(())
    if op in _PERIODIC:  # an angle that is not known says nothing
        total = np.where(errors[0] > 0.5, _PERIODIC[op], 0.0)
    for k, error in enumerate(errors):
        if not np.any(error):
            continue
        step = np.maximum(_STEP * np.clip(np.abs(values[k]), 1.0, 1e3), 2 * error)
        change = np.zeros(())
        for side in (step, -step):
            moved = [*values[:k], values[k] + side, *values[k + 1 :]]
            change = np.fmax(change, np.abs(_plain(op, data, moved) - value))
        total = total + 1.5 * change / step * error
    return total
