"""What leaves the optimizer is compared with what went in, in doubles at random points.

Every operation gets a random error of one unit of rounding, to the first order, in the imaginary
part of its value, so that the imaginary part of a result says what rounding may do to it
(stochastic arithmetic: J. Vignes, *Math. Comput. Simul.* 35, 1993). Results apart by a large
multiple of that are not the same. Where it is large (roots of negative numbers, choices that
rounding could turn, sums that cancel) a result shows nothing, and another point is tried; where
none shows anything, the Programs have to be near each other, or equal in the finite field.

Nothing foreign is called: passes know its name and arguments only, so any function of them serves;
so for linear systems. A loop makes three turns, which read combinations of all that it scans; what
it stacks at later ones lies between what it stacked at these. Few choices are then made the other
way round at the same point, unless a pass has taken one away.
"""

from __future__ import annotations

import cmath
import math
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import cycle
from random import Random
from typing import Generic, TypeVar

import numpy as np

from linkwright.algebra.expr import Expr
from linkwright.algebra.functions import FUNCTIONS
from linkwright.algebra.nodes import LOCAL
from linkwright.base.errors import Error
from linkwright.program.program import Assign, Call, Loop, Program, Statement
from linkwright.program.rates import Rate, symbol_rate

T = TypeVar("T")

_TIMES = 1e4  # of the errors to be expected that results may be apart
_TELLING = 1e-3  # an error beyond this part of 1 + |value| tells nothing
_POINTS, _TRIES = 3, 4  # tries with other errors, before results are taken to be different
_LEAST = 1e-20  # what products of rounding errors may differ by
_FEW = 2  # choices, which are then made both ways; of more, some decide on others
_ANALYTIC = {"sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log", "tanh"}


def agree(program: Program, made: Program) -> bool:
    """Whether two Programs have equal outputs but for rounding.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [0.3 * (x + y) - 2.9]})
    >>> q = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [0.3 * (x + y)]})
    >>> agree(p, p), agree(p, q)
    (True, False)
    """
    unknown = set(range(len(program.output_values())))
    near, far = set[int](), set[int]()
    doubles = Doubles(0)
    for point in range(2 * _POINTS):
        if point % 2 and not 0 < doubles.choices <= _FEW:
            continue
        errors = [_LEAST] * len(program.output_values())
        for attempt in range(_TRIES):
            doubles, apart = Doubles(point, attempt), False
            known: dict[Expr, complex] = {}
            ours = doubles.called(program, known)
            same = {x: v for x, v in known.items() if not x.roles & LOCAL}
            made_ours, doubles.choices = doubles.choices, 0
            theirs = doubles.called(made, same)
            if point % 2 and doubles.choices and doubles.choices != made_ours:
                break  # fewer are left
            for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                errors[k] += _TIMES * (abs(a.imag) + abs(b.imag))
                if not point % 2 and math.isfinite(a.real) and not 1e-3 < abs(a.imag) < math.inf:
                    same_value = abs(a.real - b.real) <= 1e-6 * (1 + abs(a.real))
                    (near if same_value else far).add(k)
                telling = _TELLING * (1 + abs(a.real))
                if not abs(a.imag) * _TIMES < telling or errors[k] >= telling:
                    continue
                if not abs(a.real - b.real) <= errors[k]:
                    apart = True
                elif not point % 2:
                    unknown.discard(k)
            if not apart:
                break
        else:
            if doubles.choices <= _FEW or point == 2 * _POINTS - 2:
                return False  # ties of many choices fall here and there, but not at every point
            continue
        if not unknown and (point % 2 or not 0 < doubles.choices <= _FEW):
            return True
    unknown -= near - far
    if not unknown or (doubles.choices > _FEW and not unknown & far):
        return True  # or nothing can be told, because choices are unsure at every point
    from linkwright.program.search.verification import field_outputs  # which needs the passes

    values, others = field_outputs(program), field_outputs(made)
    return all(values[k] == others[k] for k in unknown)


class Evaluation(Generic[T]):
    """The values of a Program in some arithmetic: `values` of expressions, `any_of` for others."""

    turns = sys.maxsize  # that a loop makes at most

    def values(self, exprs: Sequence[Expr], known: dict[Expr, T]) -> list[T]:
        raise NotImplementedError

    def any_of(self, values: Sequence[T], key: int) -> T:
        raise NotImplementedError

    def between(self, values: Sequence[T], key: int) -> T:
        """Return something between values: theirs, where they are the same."""
        raise NotImplementedError

    def called(self, program: Program, known: dict[Expr, T]) -> list[T]:
        """Return the outputs of a Program whose inputs are known."""
        self.run(program.statements, known)
        return self.values(program.output_values(), known)

    def run(self, statements: Iterable[Statement], known: dict[Expr, T]) -> None:
        for statement in statements:
            results = self.values(statement.operands, known)
            if isinstance(statement, Call):
                inner = zip(statement.program.input_symbols(), results, strict=True)
                results = self.called(statement.program, dict(inner))
            elif isinstance(statement, Loop):
                results = self.looped(statement, results, known)
            elif not isinstance(statement, Assign):
                n = statement.size
                sides = [results[k : k + n] for k in range(n * n, len(results), n)]
                matrix = results[: n * n]
                results = [self.any_of(matrix + side, i) for side in sides for i in range(n)]
            known.update(zip(statement.targets, results, strict=True))

    def looped(self, loop: Loop, operands: list[T], known: dict[Expr, T]) -> list[T]:
        kept, turns = len(loop.carried), min(loop.count, self.turns)
        rows = [operands[:kept]]
        for turn in range(turns):
            inner = {**known, **dict(zip(loop.inner_symbols, rows[-1], strict=False))}
            for k, array in enumerate(loop.scanned):
                first = kept + k * loop.count
                read = operands[first + turn : first + loop.count : turns]
                inner[array.symbol] = self.any_of(read, turn) if len(read) > 1 else read[0]
            self.run(loop.body, inner)
            rows.append(self.values(loop.inner_operands, inner))
        stacks = range(kept, kept + len(loop.stacked))
        made = rows[1:]
        stacked = [
            made[turn][k] if turn < turns else self.between([row[k] for row in made], turn)
            for k in stacks
            for turn in range(loop.count)
        ]
        return rows[-1][:kept] + stacked


class Doubles(Evaluation[complex]):
    """Values in doubles at a random point, their errors in the imaginary parts."""

    turns = 3

    def __init__(self, point: int, seed: int = 0) -> None:
        self.point, self.errors, self.choices = point, cycle(_errors(seed)), 0

    def values(self, exprs: Sequence[Expr], known: dict[Expr, complex]) -> list[complex]:
        stack, errors = list(exprs), self.errors
        while stack:
            node = stack.pop()
            args, data, op = node.args, node.data, node.op
            for a in args:
                if a not in known:
                    stack += node, a
                    break
            else:
                if node in known:
                    continue
                try:
                    if op == "prod":
                        value = next(errors)
                        for a, e in zip(args, data, strict=True):
                            value *= known[a] if e == 1 else known[a] ** e
                    elif op == "sum":
                        value = data[0] * next(errors)
                        largest = abs(value.real)
                        for a, c in zip(args, data[1:], strict=True):
                            term = known[a] if c == 1 else float(c) * known[a]
                            value += term
                            largest = max(largest, abs(term.real))
                        value += 1j * next(errors).imag * largest  # also where they cancel
                    else:
                        value = self.other(node, [known[a] for a in args])
                except (ArithmeticError, ValueError, Error):
                    value = complex(math.nan, math.nan)
                known[node] = value
        return [known[x] for x in exprs]

    def other(self, node: Expr, args: list[complex]) -> complex:
        """Return the value of what is neither a sum nor a product."""
        op, data, turned = node.op, node.data, self.point % 2
        if op == "scale" or op == "num":
            return float(data) * (args[0] if args else next(self.errors))
        if op == "sym":
            part = _part(data.digest, self.point // 2)
            above = data.sign or self.point // 2 == 1 or symbol_rate(node) <= Rate.PARAMETER
            return (0.5 + part if above else 2 * part - 1) * next(self.errors)
        if op in _ANALYTIC:
            return complex(getattr(cmath, op)(args[0]) * next(self.errors))
        if op == "foreign":
            return self.any_of(args, data.digest)
        self.choices += op in ("select", "min", "max")
        if op == "select":
            chosen = args[1 if (args[0].real != 0) != turned else 2]
            return complex(chosen.real, math.inf) if args[0].imag else chosen
        if op in ("min", "max"):
            return (min if (op == "min") != turned else max)(args, key=lambda x: x.real)
        function = FUNCTIONS[op]
        with np.errstate(all="ignore"):
            value, above, below = (
                float(function.evaluate(data, *[x.real + t * x.imag for x in args]))
                for t in (0.0, _TIMES, -_TIMES)
            )
        made = complex(value, (above - below) / (2 * _TIMES))
        return made if function.column == "select" else made * next(self.errors)

    def between(self, values: Sequence[complex], key: int) -> complex:
        first, *rest = values
        share = _part(key, len(rest)) / len(rest)
        return first + sum((share * (x - first) for x in rest), start=0j)

    def any_of(self, values: Sequence[complex], key: int) -> complex:
        parts = ((0.5 + _part(key, k)) * x for k, x in enumerate(values))
        return sum(parts, start=0j) * next(self.errors)


@lru_cache(maxsize=_TRIES)
def _errors(seed: int) -> list[complex]:
    draw = Random(seed).uniform
    return [complex(1.0, draw(-1.0, 1.0) * 2.0**-53) for _ in range(1009)]


def _part(key: int, other: int) -> float:
    """Return a number between 0 and 1 that looks random."""
    return hash((key, other)) % 2**32 / 2**32  # which no seed of Python's changes
