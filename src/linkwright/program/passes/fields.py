"""Values in a finite field, by which passes recognize equal expressions.

Every symbol has a value in the integers modulo 2**127 - 1 that depends on its name only; sums and
products are computed there, so that two expressions that are equal as polynomials have the same
value, however they are grouped or factored, and unequal ones differ (but for odds of about 1e-36;
Schwartz and Zippel). Sine and cosine of an angle are the coordinates of a rational point of the
unit circle, so that their squares add up to one. Every other function, and the reciprocal, has as
its value a hash of its arguments' values: divisions and branches are never merged because numbers
happen to agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from linkwright.algebra.expr import Expr
from linkwright.algebra.numbers import Number
from linkwright.algebra.walk import fill
from linkwright.program.code import CONDITIONS

PRIME = 2**127 - 1


def number_value(x: Number) -> int:
    """Return the field value of a constant.

    >>> number_value(-1) == PRIME - 1
    True
    """
    if isinstance(x, int):
        return x % PRIME
    if isinstance(x, float) and x - x != 0:
        return opaque_value("infinity", None, (x > 0,))
    exact = Fraction(x)
    return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME


def opaque_value(op: str, data: Any, args: Sequence[int]) -> int:
    """Return the field value of a function that is only known by its name."""
    digest = None if data is None else getattr(data, "digest", data)
    text = repr((op, digest, tuple(args)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big") % PRIME


def inverse_value(x: int) -> int:
    """Return the field value of a reciprocal: opaque, but odd as reciprocals are."""
    if x == 0:
        return opaque_value("inverse", None, (0,))
    if x > PRIME - x:
        return PRIME - opaque_value("inverse", None, (PRIME - x,))
    return opaque_value("inverse", None, (x,))


def function_value(op: str, data: Any, args: Sequence[int]) -> int:
    """Return the field value of a function's node from those of its arguments."""
    if op in ("sin", "cos"):
        half = opaque_value("half angle", None, args)
        below = pow(1 + half * half, -1, PRIME)
        above = 2 * half if op == "sin" else 1 - half * half
        return above * below % PRIME
    if op == "power":
        return pow(args[0], data, PRIME)
    return opaque_value(op, data, args)


class FieldValues:
    """The field values of expressions, remembered."""

    __slots__ = ("conditions", "known")

    def __init__(self) -> None:
        self.known: dict[Expr, int] = {}
        self.conditions: set[int] = set()

    def of(self, root: Expr) -> int:
        """Return the value of an expression; symbols that were not defined are free."""
        known = self.known
        found = known.get(root)
        if found is not None:
            return found
        fill(known, (root,), self._node)
        return known[root]

    def _node(self, node: Expr) -> int:
        op = node.op
        if op == "num":
            return number_value(node.data)
        if op == "sym":
            return opaque_value("symbol", None, (node.data.digest,))
        args = [self.known[a] for a in node.args]
        if op == "scale":
            return number_value(node.data) * args[0] % PRIME
        if op == "prod":
            value = 1
            for x, e in zip(args, node.data, strict=True):
                value = value * pow(x if e > 0 else inverse_value(x), abs(e), PRIME) % PRIME
            return value
        if op == "sum":
            value = number_value(node.data[0])
            for x, c in zip(args, node.data[1:], strict=True):
                value += number_value(c) * x
            return value % PRIME
        if op not in CONDITIONS:
            return function_value(op, node.data, args)
        if op == "ne" and 0 in args and max(args) in self.conditions:
            return max(args)  # that a condition is other than zero says the same
        value = function_value(op, node.data, args)
        self.conditions.add(value)
        return value
