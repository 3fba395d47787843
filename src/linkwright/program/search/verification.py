"""Checks that a rewritten Program still computes what the first one did.

In the field: both Programs are evaluated over the integers modulo 2**61 - 1 at several random
states, with sines and cosines on the unit circle and exact reciprocals; functions that are known by
name only get a hash of their arguments. Unequal Programs pass with odds of about 1e-17 a state.

In floating point: both are evaluated in double precision, and the first one also with twice as many
digits. The rewritten one may be at most ten times as wrong as the first one, plus 1e-14 of the
output's norm, over a thousand random states.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from linkwright.algebra.expr import Expr
from linkwright.algebra.numbers import Number
from linkwright.algebra.walk import fill
from linkwright.program.code import CONDITIONS, Code
from linkwright.program.interpret import execute, interpret
from linkwright.program.lowering import lower
from linkwright.program.passes.comparison import Evaluation
from linkwright.program.program import Program, ProgramError
from linkwright.program.rates import Rate, symbol_rate
from linkwright.program.search.doubled import Array, doubled, pair

FIELD = 2**61 - 1
STATES = 1_000

_TIMES, _PLUS = 10.0, 1e-14


class VerificationError(ProgramError):
    """A rewritten Program that does not compute what it should."""


def verify(program: Program, rewritten: Program, *, states: int = STATES, seed: int = 0) -> None:
    """Raise a `VerificationError` unless two Programs agree in the field and in floating point.

    >>> from linkwright.program import optimize, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> verify(p, optimize(p))
    """
    verify_exactly(program, rewritten, seed=seed)
    verify_rounding(program, rewritten, states=states, seed=seed)


def verify_exactly(program: Program, rewritten: Program, *, seed: int = 0) -> None:
    """Raise a `VerificationError` unless two Programs agree at three states of the field."""
    for state in range(3):
        if field_outputs(program, seed + state) != field_outputs(rewritten, seed + state):
            raise VerificationError(
                f"the rewritten {program.name!r} differs from what it was at a random state"
            )


def verify_rounding(
    program: Program, rewritten: Program, *, states: int = STATES, seed: int = 0
) -> None:
    """Raise a `VerificationError` if rounding errors grew too much."""
    before, after = rounding_errors([program, rewritten], states=states, seed=seed)
    for port, was, now in zip(program.outputs, before, after, strict=True):
        if not now <= _TIMES * was + _PLUS:
            raise VerificationError(
                f"rounding errors of {port.name!r} in the rewritten {program.name!r} grew "
                f"from {was:.1e} to {now:.1e}"
            )


# -- in the field ----------------------------------------------------------------------------------
def field_outputs(program: Program, seed: int = 0) -> list[int]:
    """Return the output entries at a random state, modulo 2**61 - 1.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> q = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * (y + 1)]})
    >>> field_outputs(p, 3) == field_outputs(q, 3)
    True
    """
    known = {x: _hashed("input", x.data.digest, seed) for x in program.input_symbols()}
    return _Field().called(program, known)


class _Field(Evaluation[int]):
    """Values modulo 2**61 - 1."""

    def values(self, exprs: Sequence[Expr], known: dict[Expr, int]) -> list[int]:
        fill(known, exprs, lambda node: _node(node, [known[a] for a in node.args]))
        return [known[x] for x in exprs]

    def any_of(self, values: Sequence[int], key: int) -> int:
        return _hashed("any", key, *values)


class _Truth(int):
    """The value of a condition; that it is other than zero says the same."""


def _node(node: Expr, args: list[int]) -> int:
    op = node.op
    if op in CONDITIONS:
        if op == "ne" and 0 in args:
            other = args[0] or args[1]
            if isinstance(other, _Truth):
                return other
        return _Truth(_hashed(op, None, *args))
    if op == "num":
        return _number(node.data)
    if op == "scale":
        return _number(node.data) * args[0] % FIELD
    if op == "prod":
        value = 1
        for x, e in zip(args, node.data, strict=True):
            value = value * (pow(x, e, FIELD) if x else 0) % FIELD
        return value
    if op == "sum":
        return (
            sum(
                (_number(c) * x for x, c in zip(args, node.data[1:], strict=True)),
                start=_number(node.data[0]),
            )
            % FIELD
        )
    if op in ("sin", "cos"):
        return _on_circle(op, args[0])
    data = None if node.data is None else getattr(node.data, "digest", node.data)
    return _hashed(op, data, *args)


def _on_circle(op: str, angle: int) -> int:
    turned = angle > FIELD - angle  # sines are odd
    half = _hashed("half angle", None, FIELD - angle if turned else angle)
    below = pow(1 + half * half, -1, FIELD)
    if op == "cos":
        return (1 - half * half) * below % FIELD
    return (-2 if turned else 2) * half * below % FIELD


def _number(x: Number) -> int:
    if isinstance(x, float) and not math.isfinite(x):
        return _hashed("infinity", str(x))
    exact = Fraction(x)
    return exact.numerator * pow(exact.denominator, -1, FIELD) % FIELD


def _hashed(op: str, data: object, *args: int) -> int:
    text = repr((op, data, args))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % FIELD


# -- in floating point -----------------------------------------------------------------------------
def rounding_errors(
    programs: Sequence[Program], *, states: int = STATES, seed: int = 0
) -> list[list[float]]:
    """Return for each Program and output the largest error of double precision, in its norm."""
    first = programs[0]
    inputs = _random_inputs(first, states, seed)
    exact = _precise(lower(first), inputs, states)
    return [
        [
            _worst(values.reshape(states, -1), high, low)
            for values, (high, low) in zip(interpret(lower(p), inputs), exact, strict=True)
        ]
        for p in programs
    ]


def _worst(found: Array, high: Array, low: Array) -> float:
    """Return the largest error in the norm of a row, of those that have finite values."""
    there = np.all(np.isfinite(high) & np.isfinite(low), axis=1)
    if not np.any(there):
        return 0.0
    found, high, low = found[there], high[there], low[there]
    if not np.all(np.isfinite(found)):
        return math.inf
    off = np.linalg.norm((found - high) - low, axis=1)
    size = np.linalg.norm(high, axis=1)
    return float(np.max(off / np.where(size == 0, 1.0, size)))


def _random_inputs(program: Program, states: int, seed: int) -> list[Array]:
    draw = np.random.default_rng(seed)
    arrays = []
    for port in program.inputs:
        values = draw.uniform(-1.0, 1.0, size=(states, port.size))
        for k, x in enumerate(port.entries):
            if symbol_rate(x, program.slow) <= Rate.PARAMETER:
                values[:, k] = 1.0 + values[:, k] / 2
        arrays.append(values.reshape(states, *port.shape))
    return arrays


def _precise(code: Code, inputs: Sequence[Array], states: int) -> list[tuple[Array, Array]]:
    """Return for each output two arrays whose sum it is, a row for each state."""
    flat = [pair(x) for array in inputs for x in array.reshape(states, -1).T]
    rest = iter(execute(code, flat, doubled))
    result = []
    for port, _ in code.outputs:
        parts = np.zeros((2, port.size, states))
        for k in range(port.size):
            parts[:, k] = np.broadcast_arrays(*next(rest), np.zeros(states))[:2]
        result.append((parts[0].T, parts[1].T))
    return result
